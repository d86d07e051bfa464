/* move_cuda_pick.cu - elements whose place depends on an index, on an edge, or on nothing else. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"

#include "kernel/cuda/element.inc"

DEVICE uint64_t bits_at(const void *src, int64_t at, uint32_t bytes)
{
    switch (bytes) {
    case 1: return ((const uint8_t *)src)[at];
    case 2: return ((const uint16_t *)src)[at];
    case 4: return ((const uint32_t *)src)[at];
    default: return ((const uint64_t *)src)[at];
    }
}

DEVICE void put_bits(void *dst, uint64_t at, uint64_t bits, uint32_t bytes)
{
    switch (bytes) {
    case 1: ((uint8_t *)dst)[at] = (uint8_t)bits; break;
    case 2: ((uint16_t *)dst)[at] = (uint16_t)bits; break;
    case 4: ((uint32_t *)dst)[at] = (uint32_t)bits; break;
    default: ((uint64_t *)dst)[at] = bits; break;
    }
}

/* Index number `i` in [0, size); a bad one is recorded and read as 0. */
DEVICE int64_t index_at(const takt_cuda_pick_args *p, uint64_t i, int64_t size)
{
    int64_t at = p->is_narrow ? ((const int32_t *)p->index)[i] : ((const int64_t *)p->index)[i];
    at = at < 0 ? at + size : at;
    if (at >= 0 && at < size)
        return at;
    least(p->fault, i);
    return 0;
}

/* The start of a part; -1, and recorded, if it does not fit there. */
DEVICE int64_t start_at(const takt_cuda_pick_args *p, uint64_t i)
{
    const int64_t size = (int64_t)p->size;
    int64_t at = p->is_narrow ? ((const int32_t *)p->index)[i] : ((const int64_t *)p->index)[i];
    at = at < 0 ? at + size : at;
    if (at >= 0 && at <= size - (int64_t)p->piece)
        return at;
    least(p->fault, i);
    return -1;
}

/* The source of position `i` of an axis of `size`; -1: the constant. */
DEVICE int64_t padded(uint32_t mode, int64_t i, int64_t size)
{
    enum { CONSTANT, EDGE, REFLECT };
    if (i >= 0 && i < size)
        return i;
    switch (mode) {
    case CONSTANT: return -1;
    case EDGE: return i < 0 ? 0 : size - 1;
    case REFLECT: return i < 0 ? -i : 2 * (size - 1) - i;
    default: return i < 0 ? i + size : i - size;
    }
}

DEVICE uint64_t pad(const takt_cuda_pick_args *p, uint64_t i)
{
    int64_t at = 0, dense = 1;
    for (uint32_t d = p->dims; d-- > 0;) {
        const int64_t place = (int64_t)(i % (uint64_t)p->dim[d]);
        const int64_t from = padded(p->mode, place - p->before[d], p->from[d]);
        if (from < 0)
            return p->value;
        at += from * dense;
        dense *= p->from[d];
        i /= (uint64_t)p->dim[d];
    }
    return bits_at(p->src, at, p->bytes);
}

DEVICE uint64_t piece(const takt_cuda_pick_args *p, uint64_t i)
{
    const uint64_t run = p->piece * p->inner;
    const int64_t start = start_at(p, 0);
    const uint64_t from = (i / run * p->size + (start < 0 ? 0 : (uint64_t)start)) * p->inner;
    return bits_at(p->src, (int64_t)(from + i % run), p->bytes);
}

DEVICE uint64_t updated(const takt_cuda_pick_args *p, uint64_t i)
{
    const uint64_t row = p->size * p->inner, o = i / row, place = i % row / p->inner;
    const int64_t start = start_at(p, o / (p->outer / p->starts));
    if (start < 0 || place < (uint64_t)start || place >= (uint64_t)start + p->piece)
        return bits_at(p->src, (int64_t)i, p->bytes);
    const uint64_t from = (o * p->piece + place - (uint64_t)start) * p->inner + i % p->inner;
    return bits_at(p->part, (int64_t)from, p->bytes);
}

/* Element `i` of the part goes to its position. */
DEVICE void append(const takt_cuda_pick_args *p, uint64_t i)
{
    const uint64_t run = p->piece * p->inner, o = i / run;
    const int64_t start = start_at(p, o / (p->outer / p->starts));
    if (start >= 0)
        put_bits(p->dst, (o * p->size + (uint64_t)start) * p->inner + i % run,
                 bits_at(p->part, (int64_t)i, p->bytes), p->bytes);
}

DEVICE uint64_t element(const takt_cuda_pick_args *p, uint64_t i)
{
    uint64_t rest = i;
    int64_t at = index_at(p, i, (int64_t)p->size) * p->stride[p->axis];
    for (uint32_t d = p->dims; d-- > 0;) {
        const int64_t place = (int64_t)(rest % (uint64_t)p->dim[d]);
        at += d == p->axis ? 0 : place * p->stride[d];
        rest /= (uint64_t)p->dim[d];
    }
    return bits_at(p->src, at, p->bytes);
}

DEVICE uint64_t of_block(const takt_cuda_pick_args *p, uint64_t i)
{
    const uint64_t row = i / p->block;
    int64_t at = (int64_t)(row / p->rows_each);
    for (uint32_t k = 0; k < p->dims; k++)
        at = at * p->from[k] + index_at(p, row * p->dims + k, p->from[k]);
    return bits_at(p->src, at * (int64_t)p->block + (int64_t)(i % p->block), p->bytes);
}

DEVICE uint64_t counted(const takt_cuda_pick_args *p, uint64_t i)
{
    const int64_t value = p->first + (int64_t)(i / p->inner % p->size);
    return narrowed((uint8_t)p->dtype, TAKT_I64, false, (uint64_t)value);
}

/* Word `i`, of up to 64 bools, the first of which is its lowest bit. */
DEVICE uint64_t packed(const takt_cuda_pick_args *p, uint64_t i)
{
    const uint64_t first = i % p->inner * 64, left = p->size - first;
    const uint8_t *from = (const uint8_t *)p->src + i / p->inner * p->size + first;
    uint64_t bits = 0;
    for (uint32_t k = 0; k < 64 && k < left; k++)
        bits |= (uint64_t)(from[k] != 0) << k;
    return bits;
}

DEVICE uint64_t unpacked(const takt_cuda_pick_args *p, uint64_t i)
{
    const uint64_t row = i / p->size, k = i % p->size;
    return ((const uint64_t *)p->src)[row * p->inner + k / 64] >> k % 64 & 1;
}

KERNEL(takt_cuda_pick, takt_cuda_pick_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    uint64_t bits;
    switch (ARG.kind) {
    case TAKT_CUDA_PAD: bits = pad(&ARG, i); break;
    case TAKT_CUDA_IOTA: bits = counted(&ARG, i); break;
    case TAKT_CUDA_PIECE: bits = piece(&ARG, i); break;
    case TAKT_CUDA_UPDATE: bits = updated(&ARG, i); break;
    case TAKT_CUDA_ELEMENTS: bits = element(&ARG, i); break;
    case TAKT_CUDA_BLOCKS: bits = of_block(&ARG, i); break;
    case TAKT_CUDA_PACK: bits = packed(&ARG, i); break;
    case TAKT_CUDA_UNPACK: bits = unpacked(&ARG, i); break;
    default: append(&ARG, i); return;
    }
    put_bits(ARG.dst, i, bits, ARG.bytes);
}
