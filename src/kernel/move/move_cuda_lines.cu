/* move_cuda_lines.cu - running sums along an axis, and its elements in order. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"

#include "kernel/cuda/element.inc"

DEVICE word added(uint8_t as, word a, word b)
{
    return as == TAKT_F64   ? word_of_f64(f64_of(a) + f64_of(b))
           : as == TAKT_F32 ? word_of_f32(f32_of(a) + f32_of(b))
                            : a + b;
}

/* One thread per line, element by element: the order is part of the definition. */
KERNEL(takt_cuda_lines_sum, takt_cuda_lines_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t line = INDEX;
    const uint8_t dtype = (uint8_t)ARG.dtype, as = compute_of(dtype);
    if (line >= ARG.outer * ARG.inner)
        return;
    const uint64_t base = line / ARG.inner * ARG.size * ARG.inner + line % ARG.inner;
    word sum = 0;
    for (uint64_t k = 0; k < ARG.size; k++) {
        const int64_t at =
            (int64_t)(base + (ARG.is_reverse ? ARG.size - 1 - k : k) * ARG.inner);
        const word next = added(as, sum, loaded(dtype, ARG.src, at));
        stored(dtype, ARG.dst, at, narrowed(dtype, as, false, ARG.is_exclusive ? sum : next));
        sum = next;
    }
}

/* -0 and +0 are equal, and so are all NaN, which are largest. */
DEVICE uint64_t key_at(const takt_cuda_lines_args *a, uint64_t at)
{
    const uint8_t dtype = (uint8_t)a->dtype, as = compute_of(dtype);
    const word w = loaded(dtype, a->src, (int64_t)at);
    uint64_t key = w;
    if (as == TAKT_F64 || as == TAKT_F32) {
        const double x = as == TAKT_F64 ? f64_of(w) : (double)f32_of(w);
        const uint64_t bits = word_of_f64(x + 0.0);
        key = x != x ? UINT64_MAX : bits >> 63 != 0 ? ~bits : bits | 1ULL << 63;
    } else if (as == TAKT_I64) {
        key = w ^ 1ULL << 63;
    } else if (as == TAKT_I32) {
        key = w ^ 1ULL << 31;
    }
    return a->is_descending ? ~key : key;
}

/* The element bit for bit, even a NaN. */
DEVICE word bits_at(uint8_t dtype, const void *data, uint64_t at)
{
    switch (dtype) {
    case TAKT_F64:
    case TAKT_I64:
    case TAKT_U64: return ((const uint64_t *)data)[at];
    case TAKT_F32:
    case TAKT_I32:
    case TAKT_U32: return ((const uint32_t *)data)[at];
    case TAKT_F16:
    case TAKT_BF16:
    case TAKT_I16:
    case TAKT_U16: return ((const uint16_t *)data)[at];
    default: return ((const uint8_t *)data)[at];
    }
}

/* An element's place is the number of those before it; of equals the lower one comes first. */
KERNEL(takt_cuda_lines_order, takt_cuda_lines_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    const uint8_t dtype = (uint8_t)ARG.dtype;
    if (i >= ARG.outer * ARG.size * ARG.inner)
        return;
    const uint64_t inner = i % ARG.inner, own = i / ARG.inner % ARG.size;
    const uint64_t outer = i / ARG.inner / ARG.size;
    const uint64_t base = outer * ARG.size * ARG.inner + inner, key = key_at(&ARG, i);
    uint64_t before = 0;
    for (uint64_t k = 0; k < ARG.size; k++) {
        const uint64_t other = key_at(&ARG, base + k * ARG.inner);
        before += other < key || (other == key && k < own);
    }
    if (before >= ARG.keep)
        return;
    const int64_t to = (int64_t)((outer * ARG.keep + before) * ARG.inner + inner);
    stored(dtype, ARG.dst, to, bits_at(dtype, ARG.src, i));
    ARG.places[to] = (int64_t)own;
}
