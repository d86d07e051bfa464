/* narrow.c - weights that products read in 16 bits, and products that are computed in them. */
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

/* The scalar kernels of these families are no faster than those of f32. */
static bool is_here(const takt_kernel *kernel)
{
    return kernel != NULL && kernel->rank > 0;
}

bool takt_narrow_prefers_f16(const takt_kernel *f16, const takt_kernel *bf16, size_t rows,
                             size_t weights)
{
    enum { NEAR_WEIGHTS = (1 << 20) / sizeof(uint16_t) }; /* weights that stay in L2 between runs */
    if (!is_here(f16) || !is_here(bf16))
        return is_here(f16);
    const takt_gemm_bf16_info *info = bf16->info;
    const size_t from = weights <= NEAR_WEIGHTS ? info->f16_rows_near : info->f16_rows;
    return from == 0 || rows < from;
}

static size_t count_of(const takt_planner *p, takt_id weights)
{
    size_t count;
    return takt_type_count(takt_type_of(p->graph, weights), &count) ? count : SIZE_MAX;
}

const takt_kernel *takt_narrow_fast(takt_planner *p, takt_id weights, size_t rows, takt_narrow *n)
{
    if (!p->settings->is_fast || takt_planner_in_prologue(p))
        return NULL;
    const takt_kernel *f16 = takt_planner_find(p, "gemm_f16");
    const takt_kernel *bf16 = takt_planner_find(p, "gemm_bf16");
    const bool is_f16 =
        n->dtype == TAKT_F16 && takt_narrow_prefers_f16(f16, bf16, rows, count_of(p, weights));
    const char *why = NULL;
    if (!is_f16 && !is_here(bf16))
        why = n->dtype == TAKT_F16 ? "numerics fast: there is no f16 arithmetic here"
                                   : "numerics fast: there are no bf16 dot products here";
    else if (!takt_planner_is_constant(p, weights))
        why = "numerics fast: the second factor is computed, not constant";
    if (why != NULL) {
        takt_planner_lacks_fast(p, why);
        return NULL;
    }
    if (n->dtype == TAKT_F16 && !is_f16 && is_here(f16))
        takt_planner_lacks_fast(
            p, "numerics fast: with this many rows f16 weights are faster as bf16 here");
    const takt_kernel *kernel = takt_planner_kernel(p, is_f16 ? "gemm_f16" : "gemm_bf16");
    n->fast = kernel->info; /* gemm_bf16's begins with the same fields */
    n->is_fast_f16 = is_f16;
    n->bytes = sizeof(uint16_t);
    return kernel;
}

const takt_kernel *takt_narrow_computed(takt_planner *p, size_t rows, takt_narrow *n)
{
    enum { ROWS = 16 }; /* fewer do not pay for packing */
    const takt_kernel *bf16 = takt_planner_find(p, "gemm_bf16");
    if (!p->settings->is_fast || takt_planner_in_prologue(p) || !is_here(bf16))
        return NULL;
    if (rows < ROWS) {
        takt_planner_lacks_fast(
            p, "numerics fast: the second factor is computed, for fewer than 16 rows");
        return NULL;
    }
    const takt_kernel *kernel = takt_planner_kernel(p, "gemm_bf16");
    n->fast = kernel->info;
    n->bytes = sizeof(uint16_t);
    return kernel;
}

void takt_narrow_pack_computed(const takt_narrow *n, takt_convert_fn *convert,
                               const takt_gemm_bf16_matrix *m, uint16_t *to)
{
    uint16_t *rounded = to + takt_narrow_count(n, m->k, m->n);
    const takt_gemm_bf16_rounded from = {m->k, m->n, rounded, m->row, m->col};
    convert(&(takt_convert){.to = TAKT_BF16, .from = TAKT_F32}, rounded, m->src, m->k * m->n);
    takt_gemm_bf16_pack_rounded(takt_narrow_bf16(n), &from, to);
}

const takt_gemm_bf16_info *takt_narrow_bf16(const takt_narrow *n)
{
    return n->is_fast_f16 ? NULL : (const takt_gemm_bf16_info *)(const void *)n->fast;
}

size_t takt_narrow_count(const takt_narrow *n, size_t k, size_t columns)
{
    return n->is_fast_f16 ? takt_gemm_f16_count(n->fast, k, columns)
                          : takt_gemm_bf16_count(takt_narrow_bf16(n), k, columns);
}

static void pack_matrix(const takt_narrow *n, const takt_fast_weights *w, const float *from,
                        uint16_t *to)
{
    if (n->is_fast_f16)
        takt_gemm_f16_pack(n->fast, &(takt_gemm_f16_matrix){w->k, w->n, from, w->row, w->col}, to);
    else
        takt_gemm_bf16_pack(takt_narrow_bf16(n),
                            &(takt_gemm_bf16_matrix){w->k, w->n, from, w->row, w->col}, to);
}

void takt_narrow_use(takt_gemm_f32 *g, const takt_narrow *n, const void *data, size_t columns,
                     takt_gemm_stored *room)
{
    if (!takt_is_narrow(n) && n->fast == NULL) {
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
                      "a weight is infinite in f16, whose largest number is 65504");
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

/* The constant's elements as f32: in place, or in `*room`. */
static takt_status widened(const takt_narrow_job *job, const takt_narrow *n, const void *from,
                           void **room, const float **wide)
{
    *room = NULL;
    *wide = from;
    if (!takt_is_narrow(n))
        return TAKT_OK;
    TAKT_TRY(takt_narrow_check(job->ctx, n, from, job->count));
    TAKT_TRY(takt_mem_get(job->ctx, job->count * sizeof(float), "weights to pack", room));
    n->convert(&(takt_convert){.to = TAKT_F32, .from = n->dtype}, *room, from, job->count);
    *wide = *room;
    return TAKT_OK;
}

takt_status takt_narrow_pack_fast(const takt_narrow_job *job, const takt_narrow *n,
                                  const takt_fast_weights *w, const void *from, void *to)
{
    void *room, *ordered = NULL;
    const float *wide;
    TAKT_TRY(widened(job, n, from, &room, &wide));
    takt_status status = TAKT_OK;
    if (job->pack != NULL)
        status = takt_mem_get(job->ctx, job->packed * sizeof(float), "weights to pack", &ordered);
    if (status == TAKT_OK && job->pack != NULL) {
        job->pack(job->user, wide, ordered);
        wide = ordered;
    }
    const size_t count = takt_narrow_count(n, w->k, w->n);
    for (size_t i = 0; status == TAKT_OK && i < w->matrices; i++)
        pack_matrix(n, w, wide + i * w->each, (uint16_t *)to + i * count);
    takt_mem_put(job->ctx, ordered, job->packed * sizeof(float));
    takt_mem_put(job->ctx, room, job->count * sizeof(float));
    return status;
}

const char *takt_narrow_format(takt_planner *p, const takt_narrow *n, const char *format)
{
    if (n->fast != NULL)
        return takt_planner_text(p, "%s fast%s", format, n->is_fast_f16 ? " f16" : "");
    if (!takt_is_narrow(n))
        return format;
    if (n->is_rounded)
        p->step->weights = takt_dtype_name(n->dtype);
    return takt_planner_text(p, "%s %s", format, takt_dtype_name(n->dtype));
}
