/* narrow.c - weights that products read in 16 bits. */
#include "backend/cpu/narrow.h"

#include <stdint.h>

#include "base/mem.h"
#include "ir/dtype.h"

static bool is_half(takt_dtype dtype)
{
    return dtype == TAKT_F16 || dtype == TAKT_BF16;
}

takt_narrow takt_narrow_of(const takt_planner *p, takt_id weights, size_t bytes)
{
    const takt_node *n = &p->graph->nodes[weights];
    takt_narrow narrow = {.from = weights, .dtype = TAKT_F32, .bytes = bytes};
    if (!takt_planner_is_constant(p, weights) || takt_planner_in_prologue(p))
        return narrow;
    const bool is_cast = n->op == &takt_op_cast && n->type->dtype == TAKT_F32;
    const takt_id from = is_cast ? n->in[0] : weights;
    const takt_dtype dtype = takt_type_of(p->graph, from)->dtype;
    if (!is_half(dtype))
        return narrow;
    const takt_kernel *convert = takt_kernel_find("convert", p->step->isas, NULL, 0, NULL);
    return (takt_narrow){.from = from,
                         .dtype = dtype,
                         .bytes = sizeof(uint16_t),
                         .is_rounded = is_cast,
                         .convert = takt_kernel_as_convert(convert)};
}

void takt_narrow_use(takt_gemm_f32 *g, const takt_narrow *n, const void *data, size_t columns,
                     takt_gemm_stored *room)
{
    if (!takt_is_narrow(n)) {
        g->b = data;
        return;
    }
    *room = (takt_gemm_stored){.widen = takt_gemm_widen_half,
                               .data = data,
                               .dtype = n->dtype,
                               .columns = columns,
                               .convert = n->convert};
    g->stored = room;
}

takt_status takt_narrow_check(takt_ctx *ctx, const takt_narrow *n, const void *data, size_t count)
{
    const uint16_t *bits = data;
    for (size_t i = 0; n->dtype == TAKT_F16 && n->is_rounded && i < count; i++)
        if ((bits[i] & 0x7fff) == 0x7c00) {
            takt_fail(ctx, TAKT_E_PLAN_RANGE,
                      "weight %zu of %zu is infinite in f16, whose largest number is 65504", i,
                      count);
            return takt_fail_hint(ctx, "bf16 has the range of f32: --precision bf16");
        }
    return TAKT_OK;
}

takt_status takt_narrow_pack(const takt_narrow_job *job, const takt_narrow *n, const void *from,
                             void *to)
{
    void *wide, *packed;
    TAKT_TRY(takt_narrow_check(job->ctx, n, from, job->count));
    TAKT_TRY(takt_mem_get(job->ctx, job->count * sizeof(float), "weights to pack", &wide));
    const takt_status status =
        takt_mem_get(job->ctx, job->packed * sizeof(float), "packed weights", &packed);
    if (status == TAKT_OK) {
        n->convert(&(takt_convert){.to = TAKT_F32, .from = n->dtype}, wide, from, job->count);
        job->pack(job->user, wide, packed);
        n->convert(&(takt_convert){.to = job->to, .from = TAKT_F32}, to, packed, job->packed);
        takt_mem_put(job->ctx, packed, job->packed * sizeof(float));
    }
    takt_mem_put(job->ctx, wide, job->count * sizeof(float));
    return status;
}

const char *takt_narrow_format(takt_planner *p, const takt_narrow *n, const char *format)
{
    if (!takt_is_narrow(n))
        return format;
    return takt_arena_format(&p->plan->arena, "%s %s", format, takt_dtype_name(n->dtype));
}
