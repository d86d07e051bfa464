/* move_cuda_scatter.cu - combines elements with those already there: scatter_elements, scatter_nd,
 * index_add.
 *
 * Updates of one place happen in the order of the indices. A thread takes a line: places that no
 * other thread writes, and the updates that go there, one after another. f16 and bf16 are
 * accumulated in f32 and rounded once.
 */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"

#include "kernel/cuda/element.inc"

/* Converts n elements from one type to another. */
KERNEL(takt_cuda_scatter_convert, takt_cuda_scatter_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    const uint8_t from = (uint8_t)ARG.dtype, to = (uint8_t)ARG.as;
    if (i < ARG.count)
        stored(to, ARG.dst, (int64_t)i,
               narrowed(to, compute_of(from), false, loaded(from, ARG.part, (int64_t)i)));
}

/* NaN wins over everything. */
#define FLOATS(T)                                                                                  \
    DEVICE T combined_##T(uint32_t how, T a, T b)                                                  \
    {                                                                                              \
        if (how == TAKT_SCATTER_ADD || a != a || b != b)                                           \
            return how == TAKT_SCATTER_MUL ? a * b : a + b;                                        \
        if (how == TAKT_SCATTER_MUL)                                                               \
            return a * b;                                                                          \
        return (how == TAKT_SCATTER_MAX) == (a > b) && a != b ? a : b;                             \
    }
FLOATS(float)
FLOATS(double)

DEVICE word combined(uint32_t how, uint8_t as, word a, word b)
{
    if (as == TAKT_F64)
        return word_of_f64(combined_double(how, f64_of(a), f64_of(b)));
    if (as == TAKT_F32)
        return word_of_f32(combined_float(how, f32_of(a), f32_of(b)));
    if (how == TAKT_SCATTER_ADD)
        return a + b;
    if (how == TAKT_SCATTER_MUL)
        return a * b;
    const bool is_less = as == TAKT_I64   ? (int64_t)a < (int64_t)b
                         : as == TAKT_I32 ? (int32_t)(uint32_t)a < (int32_t)(uint32_t)b
                                          : a < b;
    return is_less == (how == TAKT_SCATTER_MAX) ? b : a;
}

/* One element of `part` to one place. */
DEVICE void meet(const takt_cuda_scatter_args *s, int64_t at, int64_t from)
{
    const uint8_t dtype = (uint8_t)s->dtype, to = (uint8_t)s->as, as = compute_of(to);
    if (s->how == TAKT_SCATTER_SET) {
        switch (s->bytes) {
        case 1: ((uint8_t *)s->dst)[at] = ((const uint8_t *)s->part)[from]; break;
        case 2: ((uint16_t *)s->dst)[at] = ((const uint16_t *)s->part)[from]; break;
        case 4: ((uint32_t *)s->dst)[at] = ((const uint32_t *)s->part)[from]; break;
        default: ((uint64_t *)s->dst)[at] = ((const uint64_t *)s->part)[from]; break;
        }
        return;
    }
    const word sum = combined(s->how, as, loaded(to, s->dst, at), loaded(dtype, s->part, from));
    stored(to, s->dst, at, narrowed(to, as, false, sum));
}

/* Index number `i` in [0, size); -1, and recorded, if it is out of range. */
DEVICE int64_t index_at(const takt_cuda_scatter_args *s, uint64_t i, int64_t size)
{
    int64_t at = s->is_narrow ? ((const int32_t *)s->index)[i] : ((const int64_t *)s->index)[i];
    at = at < 0 ? at + size : at;
    if (at >= 0 && at < size)
        return at;
    least(s->fault, i);
    return -1;
}

/* x is [outer, size, inner], the part [outer, picks, inner]. */
DEVICE void add_rows(const takt_cuda_scatter_args *s, uint64_t line)
{
    const uint64_t o = line / s->inner, k = line % s->inner;
    for (uint64_t j = 0; j < s->picks; j++) {
        const int64_t at = index_at(s, j, (int64_t)s->size);
        if (at >= 0)
            meet(s, (int64_t)((o * s->size + (uint64_t)at) * s->inner + k),
                 (int64_t)((o * s->picks + j) * s->inner + k));
    }
}

/* A line of indices along the axis. */
DEVICE void put_elements(const takt_cuda_scatter_args *s, uint64_t line)
{
    int64_t base = 0, first = 0, dense = 1, along = 1;
    for (uint32_t d = s->dims; d-- > 0;) {
        if (d == s->axis) {
            along = dense;
        } else {
            const int64_t place = (int64_t)(line % (uint64_t)s->dim[d]);
            base += place * s->stride[d];
            first += place * dense;
            line /= (uint64_t)s->dim[d];
        }
        dense *= s->dim[d];
    }
    for (uint64_t j = 0; j < s->picks; j++) {
        const int64_t from = first + (int64_t)j * along;
        const int64_t at = index_at(s, (uint64_t)from, (int64_t)s->size);
        if (at >= 0)
            meet(s, base + at * s->stride[s->axis], from);
    }
}

/* One element of every block of a batch: `picks` rows of coordinates. */
DEVICE void put_blocks(const takt_cuda_scatter_args *s, uint64_t line)
{
    const uint64_t batch = line / s->inner, k = line % s->inner;
    for (uint64_t j = 0; j < s->picks; j++) {
        const uint64_t row = batch * s->picks + j;
        int64_t at = (int64_t)batch;
        bool is_good = true;
        for (uint32_t d = 0; d < s->dims; d++) {
            const int64_t next = index_at(s, row * s->dims + d, s->dim[d]);
            is_good = is_good && next >= 0;
            at = at * s->dim[d] + next;
        }
        if (is_good)
            meet(s, at * (int64_t)s->inner + (int64_t)k, (int64_t)(row * s->inner + k));
    }
}

KERNEL(takt_cuda_scatter, takt_cuda_scatter_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t line = INDEX;
    if (line >= ARG.count)
        return;
    if (ARG.kind == TAKT_CUDA_SCATTER_ROWS)
        add_rows(&ARG, line);
    else if (ARG.kind == TAKT_CUDA_SCATTER_ELEMENTS)
        put_elements(&ARG, line);
    else
        put_blocks(&ARG, line);
}
