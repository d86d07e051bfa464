/* reduce_long.c - parts of long rows and columns, and their combination in order. */
#include "backend/cpu/reduce_long.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHUNK = TAKT_REDUCE_CHUNK };

size_t takt_reduce_long_chunks(const takt_reduce_long *l)
{
    return (l->n + CHUNK - 1) / CHUNK;
}

/* Columns of a unit: as many as the kernels take at a time. */
static size_t blocks_of(const takt_reduce_long *l)
{
    return (l->inner + TAKT_REDUCE_LANES - 1) / TAKT_REDUCE_LANES;
}

size_t takt_reduce_long_units(const takt_reduce_long *l)
{
    return l->rows * takt_reduce_long_chunks(l) * blocks_of(l);
}

static void parts_of_rows(const takt_reduce_long *l, const void *x, size_t first, size_t end,
                          void *parts)
{
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    for (size_t count; first < end; first += count) {
        const size_t row = first / chunks, chunk = first % chunks;
        const size_t whole = l->n / CHUNK > chunk ? l->n / CHUNK - chunk : 0;
        count = whole == 0 ? 1 : whole < end - first ? whole : end - first;
        const size_t n = whole == 0 ? l->n % CHUNK : CHUNK;
        const takt_reduce r = {.op = l->op,
                               .dst = (char *)parts + first * bytes,
                               .src = (const char *)x + (row * l->n + chunk * CHUNK) * bytes,
                               .count = count,
                               .across = CHUNK,
                               .n = n,
                               .run = n,
                               .step = 1};
        l->run(&r);
    }
}

static void parts_of_columns(const takt_reduce_long *l, const void *x, size_t first, size_t end,
                             void *parts)
{
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    const size_t blocks = blocks_of(l);
    for (size_t count; first < end; first += count) {
        const size_t part = first / blocks, column = first % blocks * TAKT_REDUCE_LANES;
        const size_t at = part % chunks * CHUNK, n = l->n - at < CHUNK ? l->n - at : CHUNK;
        count = blocks - first % blocks < end - first ? blocks - first % blocks : end - first;
        const size_t left = l->inner - column, columns = count * TAKT_REDUCE_LANES;
        const takt_reduce r = {.op = l->op,
                               .dst = (char *)parts + (part * l->inner + column) * bytes,
                               .src = (const char *)x +
                                      ((part / chunks * l->n + at) * l->inner + column) * bytes,
                               .count = left < columns ? left : columns,
                               .across = 1,
                               .n = n,
                               .run = n,
                               .step = l->inner};
        l->run(&r);
    }
}

void takt_reduce_long_parts(const takt_reduce_long *l, const void *x, size_t first, size_t end,
                            void *parts)
{
    if (l->inner == 1)
        parts_of_rows(l, x, first, end, parts);
    else
        parts_of_columns(l, x, first, end, parts);
}

/* Columns that are widened at a time. */
static size_t widened_columns(const takt_reduce_long *l)
{
    enum { MOST = 4 * TAKT_REDUCE_LANES };
    return l->inner < MOST ? l->inner : MOST;
}

size_t takt_reduce_long_room(const takt_reduce_long *l)
{
    return (l->n < CHUNK ? l->n : CHUNK) * widened_columns(l);
}

/* `rows` rows of some columns, widened side by side. */
static void widen_columns(const takt_reduce_long *l, const char *x, size_t rows, size_t columns,
                          char *to)
{
    const size_t wide = (size_t)takt_dtype_bits(l->dtype) / 8;
    const size_t narrow = (size_t)takt_dtype_bits(l->from) / 8;
    const takt_convert c = {.to = l->dtype, .from = l->from};
    if (columns == l->inner)
        l->convert(&c, to, x, rows * columns);
    else
        for (size_t i = 0; i < rows; i++)
            l->convert(&c, to + i * columns * wide, x + i * l->inner * narrow, columns);
}

static void widened_columns_parts(const takt_reduce_long *l, const char *x, size_t first,
                                  size_t end, char *parts, void *room)
{
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    const size_t blocks = blocks_of(l), narrow = (size_t)takt_dtype_bits(l->from) / 8;
    const size_t most = (widened_columns(l) + TAKT_REDUCE_LANES - 1) / TAKT_REDUCE_LANES;
    for (size_t count; first < end; first += count) {
        const size_t part = first / blocks, column = first % blocks * TAKT_REDUCE_LANES;
        const size_t at = part % chunks * CHUNK, n = l->n - at < CHUNK ? l->n - at : CHUNK;
        const size_t left =
            blocks - first % blocks < end - first ? blocks - first % blocks : end - first;
        count = left < most ? left : most;
        const size_t width = count * TAKT_REDUCE_LANES;
        const size_t columns = l->inner - column < width ? l->inner - column : width;
        widen_columns(l, x + ((part / chunks * l->n + at) * l->inner + column) * narrow, n, columns,
                      room);
        const takt_reduce r = {.op = l->op,
                               .dst = parts + (part * l->inner + column) * bytes,
                               .src = room,
                               .count = columns,
                               .across = 1,
                               .n = n,
                               .run = n,
                               .step = columns};
        l->run(&r);
    }
}

void takt_reduce_long_widened(const takt_reduce_long *l, const void *x, size_t first, size_t end,
                              void *parts, void *chunk)
{
    if (l->inner > 1) {
        widened_columns_parts(l, x, first, end, parts, chunk);
        return;
    }
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    const size_t narrow = (size_t)takt_dtype_bits(l->from) / 8;
    const takt_convert c = {.to = l->dtype, .from = l->from};
    for (; first < end; first++) {
        const size_t at = first % chunks * CHUNK, n = l->n - at < CHUNK ? l->n - at : CHUNK;
        l->convert(&c, chunk, (const char *)x + (first / chunks * l->n + at) * narrow, n);
        const takt_reduce r = {.op = l->op,
                               .dst = (char *)parts + first * bytes,
                               .src = chunk,
                               .count = 1,
                               .across = n,
                               .n = n,
                               .run = n,
                               .step = 1};
        l->run(&r);
    }
}

/* `n` parts of `inner` results: the first is stored, the others are added in order. */
#define IN_ORDER(type)                                                                             \
    static void order_##type(const takt_reduce_long *l, const type *part, size_t n, type *y)       \
    {                                                                                              \
        const bool is_product = l->op == TAKT_REDUCE_PROD;                                         \
        for (size_t k = 0; k < l->inner; k++)                                                      \
            y[k] = part[k];                                                                        \
        for (size_t i = 1; i < n; i++)                                                             \
            for (size_t k = 0; k < l->inner; k++) {                                                \
                const type more = part[i * l->inner + k];                                          \
                y[k] = is_product ? y[k] * more : y[k] + more;                                     \
            }                                                                                      \
    }
IN_ORDER(float)
IN_ORDER(double)
IN_ORDER(uint32_t) /* integers wrap, signed ones too */
IN_ORDER(uint64_t)

/* Any order is correct. */
static void join_extremes(const takt_reduce_long *l, const void *parts, void *y)
{
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    for (size_t i = 0; i < l->rows; i++) {
        const takt_reduce r = {.op = l->op,
                               .dst = (char *)y + i * l->inner * bytes,
                               .src = (const char *)parts + i * chunks * l->inner * bytes,
                               .count = l->inner,
                               .across = 1,
                               .n = chunks,
                               .run = chunks,
                               .step = l->inner};
        l->run(&r);
    }
}

void takt_reduce_long_join(const takt_reduce_long *l, const void *parts, void *y)
{
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    const bool is_float = takt_dtype_is_float(l->dtype);
    if (l->op == TAKT_REDUCE_MAX || l->op == TAKT_REDUCE_MIN) {
        join_extremes(l, parts, y);
        return;
    }
    for (size_t i = 0; i < l->rows; i++) {
        const void *from = (const char *)parts + i * chunks * l->inner * bytes;
        void *to = (char *)y + i * l->inner * bytes;
        if (is_float && bytes == 4)
            order_float(l, from, chunks, to);
        else if (is_float)
            order_double(l, from, chunks, to);
        else if (bytes == 4)
            order_uint32_t(l, from, chunks, to);
        else
            order_uint64_t(l, from, chunks, to);
    }
}
