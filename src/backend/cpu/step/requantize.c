/* requantize.c - bytes to bytes by a table of all 256, made when the step runs: it costs less than
 * the step saves, and scales need not be constants. */
#include "backend/cpu/flat.h"
#include "backend/cpu/pace.h"
#include "kernel/affine_f32/affine_f32.h"

enum { Q, SCALE, TO_SCALE, ZERO, TO_ZERO };

typedef struct facts {
    size_t count;
    takt_affine_f32_fn *run;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_requantize;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static void make_table(const takt_step *s, const takt_task *t, uint8_t *table)
{
    const facts *f = s->data;
    const bool from_unsigned = s->in[Q].dtype == TAKT_U8, to_unsigned = s->out[0].dtype == TAKT_U8;
    const uint8_t *zero = takt_view_data(t, &s->in[ZERO]),
                  *to_zero = takt_view_data(t, &s->in[TO_ZERO]);
    uint8_t bytes[256];
    float wide[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    f->run(&(takt_affine_f32){.kind = TAKT_AFFINE_DEQUANTISE,
                              .is_unsigned = from_unsigned,
                              .x = bytes,
                              .y = wide,
                              .n = 256,
                              .scale = *(const float *)takt_view_data(t, &s->in[SCALE]),
                              .zero = from_unsigned ? *zero : (int8_t)*zero});
    f->run(&(takt_affine_f32){.kind = TAKT_AFFINE_QUANTISE,
                              .is_unsigned = to_unsigned,
                              .x = wide,
                              .y = table,
                              .n = 256,
                              .scale = *(const float *)takt_view_data(t, &s->in[TO_SCALE]),
                              .zero = to_unsigned ? *to_zero : (int8_t)*to_zero});
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    uint8_t table[256];
    size_t first, end;
    make_table(s, t, table);
    takt_cpu_share(f->count, TAKT_FLAT_GRAIN, t->index, s->task_count, &first, &end);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = end - first < TAKT_PACE ? end - first : TAKT_PACE;
        f->run(&(takt_affine_f32){.kind = TAKT_AFFINE_LOOK_UP,
                                  .x = (const uint8_t *)takt_view_data(t, &s->in[Q]) + first,
                                  .y = (uint8_t *)takt_view_data(t, &s->out[0]) + first,
                                  .n = n,
                                  .table = table});
    }
}

static takt_status compile(takt_planner *p)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_cpu_flat(p, 16, &f->count));
    f->run = takt_kernel_as_affine_f32(takt_planner_kernel(p, "affine_f32"));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_requantize = {.name = "requantize",
                                           .family = TAKT_FAMILY_MAP,
                                           .accepts = accepts,
                                           .keeps = keeps,
                                           .compile = compile};
