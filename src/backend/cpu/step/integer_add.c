/* integer_add.c - sums of bytes on grids of their own. */
#include "op/record/integer_add.h"
#include "backend/cpu/byte_pair.h"
#include "kernel/sum_i8/sum_i8.h"

enum { BITS = 20 };

typedef struct facts {
    takt_byte_pair pair;
    takt_sum_i8 like;
    takt_sum_i8_fn *run;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_integer_add;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static void run_piece(const void *user, const takt_byte_piece *piece)
{
    const facts *f = user;
    takt_sum_i8 job = f->like;
    job.n = piece->n;
    job.a = piece->a;
    job.b = piece->b;
    job.y = piece->y;
    f->run(&job);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_byte_pair_run(&f->pair, s, t, run_piece, f);
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
    TAKT_TRY(takt_byte_pair_plan(p, 16, &f->pair));
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
