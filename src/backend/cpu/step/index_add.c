/* index_add.c - rows of u added to rows of x, in the order of the indices. */
#include "backend/cpu/axis.h"
#include "backend/cpu/combine.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"

typedef struct facts {
    takt_axis_split x;
    size_t picks; /* indices */
    takt_combine combine;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_index_add ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *u = takt_view_data(t, &s->in[2]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    void *to = takt_combine_begin(&f->combine, s, t);
    takt_pace pace = takt_pace_of(t);
    bool goes_on = true;
    for (size_t j = 0; j < f->picks && goes_on; j++) {
        const int64_t at = takt_index_next(&index, j, (int64_t)f->x.size);
        for (size_t o = 0; o < f->x.outer && at >= 0 && goes_on; o++)
            goes_on = takt_combine_row(&f->combine, to, (o * f->x.size + (size_t)at) * f->x.inner,
                                       u, (o * f->picks + j) * f->x.inner, &pace);
    }
    takt_combine_end(&f->combine, s, t);
    takt_index_close(&index, t);
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_combine_inputs(p, n));
    f->x = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->picks);
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    TAKT_TRY(takt_combine_compile(p, TAKT_ADD, &f->combine));
    f->combine.row = f->x.inner;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_index_add = {
    .name = "scatter", .accepts = accepts, .compile = compile};
