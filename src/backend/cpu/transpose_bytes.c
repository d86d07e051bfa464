/* transpose_bytes.c - transposes a matrix of bytes, sixteen by sixteen at a time, in registers. */
#include <stdint.h>
#include <string.h>

#include "backend/cpu/transpose.h"

typedef uint8_t row __attribute__((vector_size(16)));

enum { SIDE = 16 };

#define LOW(a, b)                                                                                  \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b)                                                                                 \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

static inline row load(const char *p)
{
    row v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(char *p, row v)
{
    memcpy(p, &v, sizeof v);
}

/* Interleaves the elements of the first half with those of the second; four times is a
 * transpose. */
static inline void weave(const row *from, row *to)
{
    for (int i = 0; i < SIDE / 2; i++) {
        to[2 * i] = LOW(from[i], from[i + SIDE / 2]);
        to[2 * i + 1] = HIGH(from[i], from[i + SIDE / 2]);
    }
}

static void transpose_block(const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step)
{
    row a[SIDE], b[SIDE];
    for (int i = 0; i < SIDE; i++)
        a[i] = load(from + i * from_step);
    weave(a, b);
    weave(b, a);
    weave(a, b);
    weave(b, a);
    for (int i = 0; i < SIDE; i++)
        store(to + i * to_step, a[i]);
}

static void one_by_one(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            to.data[(ptrdiff_t)r * to.step + (ptrdiff_t)c] =
                from.data[(ptrdiff_t)c * from.step + (ptrdiff_t)r];
}

/* The last block overlaps the previous one. */
static size_t next(size_t at, size_t size)
{
    return at + SIDE == size ? size : at + 2 * SIDE <= size ? at + SIDE : size - SIDE;
}

void takt_interleave_bytes(const char *a, const char *b, char *to, size_t n)
{
    size_t i = 0;
    for (; i + SIDE <= n; i += SIDE) {
        const row x = load(a + i), y = load(b + i);
        store(to + 2 * i, LOW(x, y));
        store(to + 2 * i + SIDE, HIGH(x, y));
    }
    for (; i < n; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
}

/* Three source rows to rows of three: an image's channels, from first to last. */
static void three(const char *from, ptrdiff_t from_step, char *to, size_t rows)
{
    size_t r = 0;
    for (; r + SIDE <= rows; r += SIDE, to += 3 * SIDE) {
        const row a = load(from + r), b = load(from + from_step + (ptrdiff_t)r),
                  c = load(from + 2 * from_step + (ptrdiff_t)r);
        row ab = __builtin_shufflevector(a, b, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5);
        store(to, __builtin_shufflevector(ab, c, 0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13,
                                          20, 15));
        ab = __builtin_shufflevector(a, b, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26);
        store(to + SIDE, __builtin_shufflevector(ab, c, 0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12,
                                                 25, 14, 15));
        ab =
            __builtin_shufflevector(a, b, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0);
        store(to + 2 * SIDE, __builtin_shufflevector(ab, c, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10,
                                                     11, 30, 13, 14, 31));
    }
    one_by_one((takt_matrix_at){(char *)(uintptr_t)from + r, from_step}, (takt_matrix_at){to, 3},
               rows - r, 3);
}

void takt_transpose_1(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    if (cols == 2 && to.step == 2)
        takt_interleave_bytes(from.data, from.data + from.step, to.data, rows);
    else if (cols == 3 && to.step == 3)
        three(from.data, from.step, to.data, rows);
    else if (rows < SIDE || cols < SIDE)
        one_by_one(from, to, rows, cols);
    else
        for (size_t c = 0; c < cols; c = next(c, cols))
            for (size_t r = 0; r < rows; r = next(r, rows))
                transpose_block(from.data + (ptrdiff_t)c * from.step + (ptrdiff_t)r, from.step,
                                to.data + (ptrdiff_t)r * to.step + (ptrdiff_t)c, to.step);
}
