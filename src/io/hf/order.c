/* order.c - rows of a folder's tensor to their places in GGUF's, some at a time, so that a tensor
 * is never in memory twice. */
#include "io/hf/order.h"

#include <math.h>
#include <string.h>

bool takt_hf_is_plain(const takt_hf_order *o)
{
    return o->move == TAKT_HF_AS_IS || o->move == TAKT_HF_FLAT || o->move == TAKT_HF_BEHIND;
}

size_t takt_hf_grain(const takt_hf_order *o, size_t bytes)
{
    switch (o->move) {
    case TAKT_HF_AS_IS:
    case TAKT_HF_FLAT:
    case TAKT_HF_BEHIND: return 1;
    case TAKT_HF_PAIRS:
    case TAKT_HF_GROUPED: return o->size * o->width; /* rows stay in their head */
    case TAKT_HF_SWAPPED:
    case TAKT_HF_EVEN:
    case TAKT_HF_ODD: return bytes / o->rows * o->inner;
    case TAKT_HF_PLUS_ONE:
    case TAKT_HF_DECAY: return bytes / o->rows;
    default: return 0;
    }
}

/* The two halves of a head of `size` rows are interleaved. */
static size_t paired(const takt_hf_order *o, size_t row)
{
    const size_t in = row % o->size, half = o->size / 2;
    return row - in + (in < half ? 2 * in : 2 * (in - half) + 1);
}

size_t takt_hf_grouped(const takt_hf_order *o, size_t head)
{
    const size_t all = o->groups * o->queries, part = head < all ? 0 : 1 + (head - all) / o->groups;
    const size_t group = part == 0 ? head / o->queries : (head - all) % o->groups;
    return group * (o->queries + 2) + (part == 0 ? head % o->queries : o->queries + part - 1);
}

/* A size that the compiler knows makes a copy one instruction. */
static void put_elements(const uint8_t *from, size_t from_step, size_t count, size_t bytes,
                         uint8_t *to, size_t to_step)
{
    for (size_t i = 0; bytes == 4 && i < count; i++)
        memcpy(to + i * to_step, from + i * from_step, 4);
    for (size_t i = 0; bytes != 4 && i < count; i++)
        memcpy(to + i * to_step, from + i * from_step, 2);
}

/* Rows [first, first + count) of [rows, columns] become columns, a few at a time: their lines, on
 * both sides, stay in the cache. */
static void transpose(const takt_hf_order *o, const uint8_t *from, size_t first, size_t count,
                      uint8_t *to)
{
    enum { TILE = 32 };
    const size_t n = o->element, columns = o->width / n;
    for (size_t i = 0; i < count; i += TILE) {
        const size_t tile = count - i < TILE ? count - i : TILE;
        for (size_t c = 0; c < columns; c++)
            put_elements(from + i * o->width + c * n, o->width, tile, n,
                         to + (c * o->rows + first + i) * n, n);
    }
}

/* Row [i, r] of [n, inner, columns] becomes column r of [i, columns, inner], or every other element
 * of it does. */
static void swap(const takt_hf_order *o, const uint8_t *from, size_t row, uint8_t *to)
{
    const size_t n = o->element, step = o->move == TAKT_HF_SWAPPED ? 1 : 2;
    const size_t columns = o->width / n / step, outer = row / o->inner, r = row % o->inner;
    put_elements(from + (o->move == TAKT_HF_ODD ? n : 0), step * n, columns, n,
                 to + (outer * columns * o->inner + r) * n, o->inner * n);
}

static void compute(const takt_hf_order *o, const uint8_t *from, size_t row, uint8_t *to)
{
    const double x = takt_dtype_get_f(o->dtype, from, 0);
    takt_dtype_put_f(TAKT_F32, to, row,
                     (double)(float)(o->move == TAKT_HF_DECAY ? -exp(x) : x + 1));
}

static void put_row(const takt_hf_order *o, const uint8_t *from, size_t row, uint8_t *to)
{
    switch (o->move) {
    case TAKT_HF_PAIRS: memcpy(to + paired(o, row) * o->width, from, o->width); break;
    case TAKT_HF_SWAPPED:
    case TAKT_HF_EVEN:
    case TAKT_HF_ODD: swap(o, from, row, to); break;
    case TAKT_HF_PLUS_ONE:
    case TAKT_HF_DECAY: compute(o, from, row, to); break;
    default: memcpy(to + row * o->width, from, o->width);
    }
}

void takt_hf_put_rows(const takt_hf_order *o, const uint8_t *rows, size_t first, size_t count,
                      uint8_t *to)
{
    if (o->move == TAKT_HF_TRANSPOSED)
        transpose(o, rows, first, count, to);
    for (size_t i = 0; o->move != TAKT_HF_TRANSPOSED && i < count; i++)
        put_row(o, rows + i * o->width, first + i, to);
}
