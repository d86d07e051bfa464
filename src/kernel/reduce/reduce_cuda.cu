/* reduce_cuda.cu - reductions of any element type over any axes on a device.
 *
 * Sixteen threads have a result: they are the lanes of reduce.h, fold 8-4-2-1, and add chunks of 4096
 * elements in order.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"
#include "kernel/cuda/math.inc"

#include "kernel/cuda/element.inc"
#include "kernel/reduce/reduce.h"

enum { WIDE = TAKT_REDUCE_LANES, CHUNK = TAKT_REDUCE_CHUNK };

DEVICE int64_t place_of(const takt_cuda_walk *w, uint64_t i)
{
    int64_t at = 0;
    for (uint32_t d = w->dims; d-- > 1;) {
        at += (int64_t)(i % (uint64_t)w->dim[d]) * w->stride[d];
        i /= (uint64_t)w->dim[d];
    }
    return w->dims > 0 ? at + (int64_t)i * w->stride[0] : 0;
}

/* Whether a < b; of integers. */
DEVICE bool is_less(uint32_t as, word a, word b)
{
    switch (as) {
    case TAKT_I64: return (int64_t)a < (int64_t)b;
    case TAKT_I32: return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    default: return a < b;
    }
}

/* The initial value of sums. */
DEVICE word start_of(uint32_t op, uint32_t as)
{
    const bool is_max = op == TAKT_REDUCE_MAX;
    if (op == TAKT_REDUCE_SUM || op == TAKT_REDUCE_SUMSQ)
        return 0;
    if (as == TAKT_F64)
        return word_of_f64(op == TAKT_REDUCE_PROD ? 1.0 : is_max ? -(double)INFINITY : (double)INFINITY);
    if (as == TAKT_F32)
        return word_of_f32(op == TAKT_REDUCE_PROD ? 1.0f : is_max ? -INFINITY : INFINITY);
    if (op == TAKT_REDUCE_PROD)
        return 1;
    const uint64_t all = as == TAKT_I64 || as == TAKT_U64 ? UINT64_MAX : UINT32_MAX;
    const uint64_t sign = (all >> 1) + 1;
    const bool is_signed = as == TAKT_I64 || as == TAKT_I32;
    return is_max ? (is_signed ? sign : 0) : is_signed ? sign - 1 : all;
}

DEVICE double joined_f64(uint32_t op, double a, double x)
{
    return op == TAKT_REDUCE_SUM     ? a + x
           : op == TAKT_REDUCE_SUMSQ ? fma(x, x, a)
           : op == TAKT_REDUCE_PROD  ? a * x
           : op == TAKT_REDUCE_MAX   ? vd_max(a, x)
                                     : vd_min(a, x);
}
DEVICE float joined_f32(uint32_t op, float a, float x)
{
    return op == TAKT_REDUCE_SUM     ? a + x
           : op == TAKT_REDUCE_SUMSQ ? fmaf(x, x, a)
           : op == TAKT_REDUCE_PROD  ? a * x
           : op == TAKT_REDUCE_MAX   ? vf_max(a, x)
                                     : vf_min(a, x);
}
DEVICE word joined(uint32_t op, uint32_t as, word a, word x)
{
    if (as == TAKT_F64)
        return word_of_f64(joined_f64(op, f64_of(a), f64_of(x)));
    if (as == TAKT_F32)
        return word_of_f32(joined_f32(op, f32_of(a), f32_of(x)));
    const word sum = op == TAKT_REDUCE_SUM     ? a + x
                     : op == TAKT_REDUCE_SUMSQ ? a + x * x
                     : op == TAKT_REDUCE_PROD  ? a * x
                     : op == TAKT_REDUCE_MAX   ? (is_less(as, a, x) ? x : a)
                                               : (is_less(as, x, a) ? x : a);
    return as == TAKT_I32 || as == TAKT_U32 ? (uint32_t)sum : sum;
}

/* Combines sixteen lanes. */
DEVICE word folded(uint32_t op, uint32_t as, const word *lane)
{
    word v[WIDE / 2];
    op = op == TAKT_REDUCE_SUMSQ ? TAKT_REDUCE_SUM : op;
    for (int k = 0; k < 8; k++)
        v[k] = joined(op, as, lane[k], lane[k + 8]);
    for (int k = 0; k < 4; k++)
        v[k] = joined(op, as, v[k], v[k + 4]);
    return joined(op, as, joined(op, as, v[0], v[2]), joined(op, as, v[1], v[3]));
}

KERNEL(takt_cuda_any_reduce, takt_cuda_reduce_any_args, TAKT_CUDA_REDUCE_THREADS)
{
    SHARED(word, part, TAKT_CUDA_REDUCE_THREADS);
    const uint64_t r = (uint64_t)BLOCK_X * TAKT_CUDA_REDUCE_RESULTS + LANE / WIDE;
    const uint32_t lane = LANE % WIDE;
    const int64_t base = place_of(&ARG.results, r < ARG.count ? r : 0);
    const uint32_t plus = ARG.op == TAKT_REDUCE_SUMSQ ? TAKT_REDUCE_SUM : ARG.op;
    word total = start_of(ARG.op, ARG.as);
    for (uint64_t first = 0; first < ARG.n; first += CHUNK) {
        const uint64_t end = ARG.n - first < CHUNK ? ARG.n : first + CHUNK;
        word acc = start_of(ARG.op, ARG.as);
        for (uint64_t i = first + lane; i < end && r < ARG.count; i += WIDE)
            acc = joined(ARG.op, ARG.as, acc,
                         loaded((uint8_t)ARG.from, ARG.src, base + place_of(&ARG.reduced, i)));
        part[LANE] = acc;
        SYNC();
        if (lane == 0) {
            const word whole = folded(ARG.op, ARG.as, part + LANE);
            total = first == 0 ? whole : joined(plus, ARG.as, total, whole);
        }
        SYNC();
    }
    if (lane == 0 && r < ARG.count)
        stored((uint8_t)ARG.to, ARG.dst, (int64_t)r,
               narrowed((uint8_t)ARG.to, (uint8_t)ARG.as, false, total));
}

/* ---- places of extremes ---- */

typedef struct found {
    word value;
    uint64_t at; /* UINT64_MAX: nothing yet */
} found;

DEVICE bool is_nan_of(uint32_t as, word w)
{
    return as == TAKT_F64 ? f64_of(w) != f64_of(w) : as == TAKT_F32 && f32_of(w) != f32_of(w);
}

/* -1, 0, 1: the order of two values, ignoring positions; NaN comes first. */
DEVICE int32_t rank_of(bool is_max, uint32_t as, word a, word b)
{
    const bool a_nan = is_nan_of(as, a), b_nan = is_nan_of(as, b);
    if (a_nan || b_nan)
        return a_nan && b_nan ? 0 : a_nan ? -1 : 1;
    const bool less = as == TAKT_F64   ? f64_of(a) < f64_of(b)
                      : as == TAKT_F32 ? f32_of(a) < f32_of(b)
                                       : is_less(as, a, b);
    const bool more = as == TAKT_F64   ? f64_of(a) > f64_of(b)
                      : as == TAKT_F32 ? f32_of(a) > f32_of(b)
                                       : is_less(as, b, a);
    return !less && !more ? 0 : less != is_max ? -1 : 1;
}

DEVICE found better(uint32_t op, uint32_t as, found a, found b)
{
    const bool is_max = op == TAKT_REDUCE_ARGMAX || op == TAKT_REDUCE_ARGMAX_LAST;
    const bool is_last = op == TAKT_REDUCE_ARGMAX_LAST || op == TAKT_REDUCE_ARGMIN_LAST;
    if (a.at == UINT64_MAX || b.at == UINT64_MAX)
        return a.at == UINT64_MAX ? b : a;
    const int32_t rank = rank_of(is_max, as, a.value, b.value);
    return rank < 0 || (rank == 0 && (a.at < b.at) != is_last) ? a : b;
}

KERNEL(takt_cuda_any_arg, takt_cuda_reduce_any_args, TAKT_CUDA_REDUCE_THREADS)
{
    SHARED(found, part, TAKT_CUDA_REDUCE_THREADS);
    const uint64_t r = (uint64_t)BLOCK_X * TAKT_CUDA_REDUCE_RESULTS + LANE / WIDE;
    const uint32_t lane = LANE % WIDE;
    const int64_t base = place_of(&ARG.results, r < ARG.count ? r : 0);
    found best = {0, UINT64_MAX};
    for (uint64_t i = lane; i < ARG.n && r < ARG.count; i += WIDE) {
        const found next = {
            loaded((uint8_t)ARG.from, ARG.src, base + place_of(&ARG.reduced, i)), i};
        best = better(ARG.op, ARG.as, best, next);
    }
    part[LANE] = best;
    SYNC();
    for (uint32_t k = 1; k < WIDE && lane == 0; k++)
        best = better(ARG.op, ARG.as, best, part[LANE + k]);
    if (lane == 0 && r < ARG.count)
        ((int64_t *)ARG.dst)[r] = best.at == UINT64_MAX ? 0 : (int64_t)best.at;
}
