/* reduce_long.c - parts of long rows, and their combination in order. */
#include "backend/cpu/reduce_long.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHUNK = TAKT_REDUCE_CHUNK };

size_t takt_reduce_long_chunks(const takt_reduce_long *l)
{
    return (l->n + CHUNK - 1) / CHUNK;
}

void takt_reduce_long_parts(const takt_reduce_long *l, const void *x, size_t first, size_t end,
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

/* The first part, then one after the other. */
#define IN_ORDER(type)                                                                             \
    static void order_##type(bool is_product, const type *part, size_t n, type *y)                 \
    {                                                                                              \
        type total = part[0];                                                                      \
        for (size_t i = 1; i < n; i++)                                                             \
            total = is_product ? total * part[i] : total + part[i];                                \
        *y = total;                                                                                \
    }
IN_ORDER(float)
IN_ORDER(double)
IN_ORDER(uint32_t) /* integers wrap, signed ones too */
IN_ORDER(uint64_t)

void takt_reduce_long_join(const takt_reduce_long *l, const void *parts, void *y)
{
    const size_t chunks = takt_reduce_long_chunks(l), bytes = (size_t)takt_dtype_bits(l->dtype) / 8;
    const bool is_product = l->op == TAKT_REDUCE_PROD, is_float = takt_dtype_is_float(l->dtype);
    if (l->op == TAKT_REDUCE_MAX || l->op == TAKT_REDUCE_MIN) { /* any order is correct */
        const takt_reduce r = {.op = l->op,
                               .dst = y,
                               .src = parts,
                               .count = l->rows,
                               .across = chunks,
                               .n = chunks,
                               .run = chunks,
                               .step = 1};
        l->run(&r);
        return;
    }
    for (size_t i = 0; i < l->rows; i++) {
        const void *from = (const char *)parts + i * chunks * bytes;
        void *to = (char *)y + i * bytes;
        if (is_float && bytes == 4)
            order_float(is_product, from, chunks, to);
        else if (is_float)
            order_double(is_product, from, chunks, to);
        else if (bytes == 4)
            order_uint32_t(is_product, from, chunks, to);
        else
            order_uint64_t(is_product, from, chunks, to);
    }
}
