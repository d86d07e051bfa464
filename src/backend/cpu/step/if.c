/* if.c - one of two subgraphs, planned separately; they share memory. */
#include "backend/cpu/child.h"
#include "backend/cpu/cpu.h"

typedef struct facts {
    takt_child yes, no;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_if ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const unsigned char *condition = takt_view_data(t, &s->in[0]);
    const takt_child *child = *condition != 0 ? &f->yes : &f->no;
    const takt_child_room room = takt_child_open(child, t);
    for (size_t i = 1; i < s->in_count; i++)
        room.in[i - 1] = takt_view_data(t, &s->in[i]);
    for (size_t i = 0; i < s->out_count; i++)
        room.out[i] = takt_view_data(t, &s->out[i]);
    (void)takt_child_run(child, &room, t);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_outputs(p, id));
    TAKT_TRY(takt_child_compile(p, takt_node_attr(n, "then")->graph, &f->yes));
    const size_t first = p->step->scratch_bytes;
    p->step->scratch_bytes = 0; /* only one of them runs */
    TAKT_TRY(takt_child_compile(p, takt_node_attr(n, "else")->graph, &f->no));
    if (p->step->scratch_bytes < first)
        p->step->scratch_bytes = first;
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_if = {.name = "if", .accepts = accepts, .compile = compile};
