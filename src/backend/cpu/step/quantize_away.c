/* quantize_away.c - floats to bytes, halves away from zero, by one scale. */
#include "op/record/quantize_away.h"
#include "backend/cpu/flat.h"
#include "backend/cpu/pace.h"
#include "kernel/affine_f32/affine_f32.h"

enum { X, SCALE };

typedef struct facts {
    size_t count;
    takt_affine_f32 like;
    takt_affine_f32_fn *run;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_quantize_away && takt_dtype_bits(n->type->dtype) == 8;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const float *x = takt_view_data(t, &s->in[X]);
    uint8_t *y = takt_view_data(t, &s->out[0]);
    takt_affine_f32 a = f->like;
    size_t first, end;
    a.scale = *(const float *)takt_view_data(t, &s->in[SCALE]);
    takt_cpu_share(f->count, TAKT_FLAT_GRAIN, t->index, s->task_count, &first, &end);
    for (; first < end && !takt_poll_stops(t->poll); first += a.n) {
        a.n = end - first < TAKT_PACE ? end - first : TAKT_PACE;
        a.x = x + first;
        a.y = y + first;
        f->run(&a);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_cpu_flat(p, 8, &f->count));
    f->like = (takt_affine_f32){.kind = TAKT_AFFINE_AWAY,
                                .is_unsigned = n->type->dtype == TAKT_U8,
                                .is_product = takt_node_attr(n, "times")->boolean,
                                .zero = (int32_t)takt_node_int(n, "zero"),
                                .lo = (int32_t)takt_node_int(n, "low"),
                                .hi = (int32_t)takt_node_int(n, "high")};
    f->run = takt_kernel_as_affine_f32(takt_planner_kernel(p, "affine_f32"));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_quantize_away = {.name = "quantize",
                                              .is_cheap = true,
                                              .family = TAKT_FAMILY_MAP,
                                              .accepts = accepts,
                                              .keeps = keeps,
                                              .compile = compile};
