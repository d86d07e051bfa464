/* ggml_quantize.c - rows rounded to blocks of 8 bits, as a cache keeps them. */
#include "op/record/ggml_quantize.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/ggml_f32/ggml_f32.h"
#include "op/ops.h"

enum { SIZE = 32, BYTES = 34 };

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_ggml_quantize ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const float *x = takt_view_data(t, &s->in[0]);
    uint8_t *to = takt_view_data(t, &s->out[0]);
    const size_t blocks = *(const size_t *)s->data, most = takt_pace_piece(SIZE, 1);
    size_t first, end;
    takt_cpu_share(blocks, 1, t->index, s->task_count, &first, &end);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = end - first < most ? end - first : most;
        takt_ggml_round_q8_0(x + first * SIZE, n, to + first * BYTES);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    size_t *blocks = takt_planner_get(p, sizeof *blocks), index, bytes;
    if (blocks == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, &bytes);
    *blocks = bytes / BYTES;
    p->step->data = blocks;
    p->step->run = run;
    p->step->task_count =
        takt_cpu_tasks(p, 8.0 * (double)bytes, 5.0 * (double)bytes, *blocks > 0 ? *blocks : 1);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_ggml_quantize = {
    .name = "ggml_quantize", .family = TAKT_FAMILY_MAP, .accepts = accepts, .compile = compile};
