/* transpose.c - transposes a matrix four by four, or eight by eight, elements at a time, in
 * registers. */
#include "backend/cpu/transpose.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t quad __attribute__((vector_size(16)));

enum {
    BYTES = 4,
    SIDE = 4,
    ROWS = 16, /* of a block: one cache line of each source row */
    COLS = 64,
    COLS_FAR = 1024,
    LINE = 16,             /* elements of a cache line */
    FAR_BYTES = 256 << 10, /* from the first row of the result to the last */
    COLLIDING = 2048,      /* bytes between rows that share few places of L1 */
    READ_AHEAD = 32,       /* source rows */
    WRITTEN_AHEAD = 256    /* bytes */
};

static inline quad load(const char *p)
{
    quad v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(char *p, quad v)
{
    memcpy(p, &v, sizeof v);
}

static inline void transpose_block(const char *from, ptrdiff_t from_step, char *to,
                                   ptrdiff_t to_step)
{
    const quad a = load(from), b = load(from + from_step), c = load(from + 2 * from_step),
               d = load(from + 3 * from_step);
    const quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store(to + to_step, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store(to + 2 * to_step, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store(to + 3 * to_step, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

static void column(const char *from, char *to, ptrdiff_t to_step, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + (ptrdiff_t)r * to_step, from + r * BYTES, BYTES);
}

/* What a block of rows is about to write and to read: lines of as many rows of the result, and of
 * LINE source rows, which the hardware sees no order in. */
static void prefetch(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t left)
{
    for (size_t r = 0; r < rows; r++)
        __builtin_prefetch(to.data + (ptrdiff_t)r * to.step + WRITTEN_AHEAD, 1);
    for (size_t i = READ_AHEAD; i < READ_AHEAD + LINE; i++) /* or what the next block reads */
        __builtin_prefetch(i < left ? from.data + (ptrdiff_t)i * from.step
                                    : from.data + (ptrdiff_t)(i - left) * from.step + ROWS * BYTES);
}

static void block(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols, bool is_far)
{
    size_t c = 0;
    for (; c + SIDE <= cols; c += SIDE, from.data += SIDE * from.step, to.data += SIDE * BYTES) {
        size_t r = 0;
        if (is_far && c % LINE == 0)
            prefetch(from, to, rows, cols - c);
        for (int i = 0; i < SIDE && !is_far; i++) /* what the next block of rows reads */
            __builtin_prefetch(from.data + i * from.step + ROWS * BYTES);
        for (; r + SIDE <= rows; r += SIDE)
            transpose_block(from.data + r * BYTES, from.step, to.data + (ptrdiff_t)r * to.step,
                            to.step);
        for (int i = 0; i < SIDE && r < rows; i++)
            column(from.data + i * from.step + r * BYTES,
                   to.data + (ptrdiff_t)r * to.step + i * BYTES, to.step, rows - r);
    }
    for (; c < cols; c++, from.data += from.step, to.data += BYTES)
        column(from.data, to.data, to.step, rows);
}

/* Three source rows to rows of three: an image's channels, from first to last. */
static void three(const char *from, ptrdiff_t from_step, char *to, size_t rows)
{
    size_t r = 0;
    for (; r + SIDE <= rows; r += SIDE, to += 3 * sizeof(quad)) {
        const char *p = from + r * BYTES;
        const quad a = load(p), b = load(p + from_step), c = load(p + 2 * from_step);
        const quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                   bc = __builtin_shufflevector(b, c, 1, 5, 2, 6),
                   ca = __builtin_shufflevector(c, a, 2, 7, 3, 3);
        store(to, __builtin_shufflevector(ab, c, 0, 1, 4, 2));
        store(to + sizeof(quad), __builtin_shufflevector(bc, a, 0, 1, 6, 2));
        store(to + 2 * sizeof(quad), __builtin_shufflevector(ca, b, 0, 1, 7, 2));
    }
    for (; r < rows; r++, to += 3 * BYTES)
        for (int i = 0; i < 3; i++)
            memcpy(to + i * BYTES, from + i * from_step + r * BYTES, BYTES);
}

/* Rows of three to three rows of the result: an image's channels, from last to first. */
static void apart(const char *from, char *to, ptrdiff_t to_step, size_t cols)
{
    size_t c = 0;
    for (; c + SIDE <= cols; c += SIDE, from += 3 * sizeof(quad)) {
        char *y = to + c * BYTES;
        const quad p = load(from), q = load(from + sizeof(quad)), r = load(from + 2 * sizeof(quad));
        const quad first = __builtin_shufflevector(p, q, 0, 3, 6, 6),
                   second = __builtin_shufflevector(p, q, 1, 4, 7, 7),
                   third = __builtin_shufflevector(p, q, 2, 5, 5, 5);
        store(y, __builtin_shufflevector(first, r, 0, 1, 2, 5));
        store(y + to_step, __builtin_shufflevector(second, r, 0, 1, 2, 6));
        store(y + 2 * to_step, __builtin_shufflevector(third, r, 0, 1, 4, 7));
    }
    for (; c < cols; c++, from += 3 * BYTES)
        for (int i = 0; i < 3; i++)
            memcpy(to + i * to_step + c * BYTES, from + i * BYTES, BYTES);
}

/* A few source rows at a time: their cache lines are used up before they are evicted. Where rows of
 * the result are long and far apart, long pieces of each, which the hardware prefetches, too; fewer
 * of them where they share places of L1. */
void takt_transpose_4(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    if (cols == 3 && to.step == 3 * BYTES) {
        three(from.data, from.step, to.data, rows);
        return;
    }
    if (rows == 3 && from.step == 3 * BYTES) {
        apart(from.data, to.data, to.step, cols);
        return;
    }
    const bool is_far = cols > COLS && rows * (size_t)to.step >= FAR_BYTES;
    const size_t high = is_far && to.step % COLLIDING == 0 ? ROWS / 2 : ROWS;
    const size_t wide = is_far ? COLS_FAR : COLS;
    for (size_t c = 0; c < cols; c += wide)
        for (size_t r = 0; r < rows; r += high)
            block((takt_matrix_at){from.data + (ptrdiff_t)c * from.step + r * BYTES, from.step},
                  (takt_matrix_at){to.data + (ptrdiff_t)r * to.step + c * BYTES, to.step},
                  rows - r < high ? rows - r : high, cols - c < wide ? cols - c : wide, is_far);
}

/* ---- elements of two bytes ---- */

typedef uint16_t octet __attribute__((vector_size(16)));

enum { EIGHT = 8, SHORT = 2 };

static inline octet load_eight(const char *p)
{
    octet v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline octet low(octet a, octet b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

static inline octet high(octet a, octet b)
{
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* Three rounds of interleaving rows that are half the square apart. */
static inline void transpose_eight(const char *from, ptrdiff_t from_step, char *to,
                                   ptrdiff_t to_step)
{
    octet x[EIGHT], y[EIGHT];
    for (int i = 0; i < EIGHT; i++)
        x[i] = load_eight(from + i * from_step);
    for (int i = 0; i < EIGHT / 2; i++) {
        y[2 * i] = low(x[i], x[i + 4]);
        y[2 * i + 1] = high(x[i], x[i + 4]);
    }
    for (int i = 0; i < EIGHT / 2; i++) {
        x[2 * i] = low(y[i], y[i + 4]);
        x[2 * i + 1] = high(y[i], y[i + 4]);
    }
    for (int i = 0; i < EIGHT / 2; i++) {
        const octet a = low(x[i], x[i + 4]), b = high(x[i], x[i + 4]);
        memcpy(to + 2 * i * to_step, &a, sizeof a);
        memcpy(to + (2 * i + 1) * to_step, &b, sizeof b);
    }
}

static void single(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    for (size_t c = 0; c < cols; c++)
        for (size_t r = 0; r < rows; r++)
            memcpy(to.data + (ptrdiff_t)r * to.step + c * SHORT,
                   from.data + (ptrdiff_t)c * from.step + r * SHORT, SHORT);
}

/* A block whose cache lines are used up before they are evicted: at most LINES rows. */
static void block_of_shorts(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    const size_t whole = rows / EIGHT * EIGHT;
    size_t c = 0;
    for (; c + EIGHT <= cols; c += EIGHT) {
        char *source = from.data + (ptrdiff_t)c * from.step, *target = to.data + c * SHORT;
        for (int i = 0; i < EIGHT; i++) /* what the next block reads */
            __builtin_prefetch(source + i * from.step + rows * SHORT);
        for (size_t r = 0; r < whole; r += EIGHT)
            transpose_eight(source + r * SHORT, from.step, target + (ptrdiff_t)r * to.step,
                            to.step);
        single((takt_matrix_at){source + whole * SHORT, from.step},
               (takt_matrix_at){target + (ptrdiff_t)whole * to.step, to.step}, rows - whole, EIGHT);
    }
    single((takt_matrix_at){from.data + (ptrdiff_t)c * from.step, from.step},
           (takt_matrix_at){to.data + c * SHORT, to.step}, rows, cols - c);
}

void takt_transpose_2(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    enum { LINES = 32, MOST = 64 };
    for (size_t c = 0; c < cols; c += MOST)
        for (size_t r = 0; r < rows; r += LINES) {
            const takt_matrix_at source = {from.data + (ptrdiff_t)c * from.step + r * SHORT,
                                           from.step};
            const takt_matrix_at target = {to.data + (ptrdiff_t)r * to.step + c * SHORT, to.step};
            block_of_shorts(source, target, rows - r < LINES ? rows - r : LINES,
                            cols - c < MOST ? cols - c : MOST);
        }
}
