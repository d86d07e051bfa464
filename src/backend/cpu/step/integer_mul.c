/* integer_mul.c - products of bytes on grids of their own. */
#include "op/record/integer_mul.h"
#include "backend/cpu/byte_pair.h"
#include "kernel/mul_i8/mul_i8.h"

typedef struct facts {
    takt_byte_pair pair;
    takt_mul_i8 like;
    takt_mul_i8_fn *run;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_integer_mul;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static void run_piece(const void *user, const takt_byte_piece *piece)
{
    const facts *f = user;
    takt_mul_i8 job = f->like;
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
    TAKT_TRY(takt_byte_pair_plan(p, 8, &f->pair));
    f->like = (takt_mul_i8){.is_unsigned = n->type->dtype == TAKT_U8,
                            .a_zero = number(n, "x_zero"),
                            .b_zero = number(n, "y_zero"),
                            .multiplier = number(n, "multiplier"),
                            .shift = number(n, "shift"),
                            .zero = number(n, "zero"),
                            .lo = number(n, "low"),
                            .hi = number(n, "high")};
    f->run = takt_kernel_as_mul_i8(takt_planner_kernel(p, "mul_i8"));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_integer_mul = {.name = "integer_mul",
                                            .family = TAKT_FAMILY_MAP,
                                            .accepts = accepts,
                                            .keeps = keeps,
                                            .compile = compile};
