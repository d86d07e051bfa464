/* integer_add.c - sums of bytes on grids of their own; operands of one shape. */
#include "op/record/integer_add.h"
#include "backend/cpu/flat.h"
#include "backend/cpu/pace.h"
#include "kernel/sum_i8/sum_i8.h"

enum { BITS = 20, PIECE = TAKT_PACE / 4 }; /* an element takes as long as moving several */

typedef struct facts {
    size_t count;
    takt_sum_i8 like;
    takt_sum_i8_fn *run;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_integer_add &&
           takt_type_same(g->dims, takt_type_of(g, n->in[0]), takt_type_of(g, n->in[1]));
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const uint8_t *a = takt_view_data(t, &s->in[0]), *b = takt_view_data(t, &s->in[1]);
    uint8_t *y = takt_view_data(t, &s->out[0]);
    takt_sum_i8 job = f->like;
    size_t first, end;
    takt_cpu_share(f->count, TAKT_FLAT_GRAIN, t->index, s->task_count, &first, &end);
    for (; first < end && !takt_poll_stops(t->poll); first += job.n) {
        job.n = end - first < PIECE ? end - first : PIECE;
        job.a = a + first;
        job.b = b + first;
        job.y = y + first;
        f->run(&job);
    }
}

static int32_t number(const takt_node *n, const char *name)
{
    return (int32_t)takt_node_int(n, name);
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_cpu_flat(p, 16, &f->count));
    f->like = (takt_sum_i8){
        .is_unsigned = n->type->dtype == TAKT_U8,
        .is_less = takt_node_attr(n, "minus")->boolean,
        .of = {{number(n, "x_zero"), number(n, "x_multiplier"), number(n, "x_shift")},
               {number(n, "y_zero"), number(n, "y_multiplier"), number(n, "y_shift")}},
        .bits = BITS,
        .multiplier = number(n, "multiplier"),
        .shift = number(n, "shift"),
        .zero = number(n, "zero"),
        .lo = number(n, "low"),
        .hi = number(n, "high")};
    f->like.has_ties =
        takt_sum_i8_ties(&f->like, &f->like.of[0]) || takt_sum_i8_ties(&f->like, &f->like.of[1]);
    f->run = takt_kernel_as_sum_i8(takt_planner_kernel(p, "sum_i8"));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_integer_add = {.name = "integer_add",
                                            .family = TAKT_FAMILY_MAP,
                                            .accepts = accepts,
                                            .keeps = keeps,
                                            .compile = compile};
