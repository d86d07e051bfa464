/* transpose.c - transposes a matrix four by four, or eight by eight, elements at a time, in
 * registers. */
#include "backend/cpu/transpose.h"

#include <stdint.h>
#include <string.h>

typedef uint32_t quad __attribute__((vector_size(16)));

enum {
    BYTES = 4,
    SIDE = 4,
    ROWS = 16, /* of a block: one cache line of each source row */
    COLS = 64
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

static void block(const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step, size_t rows,
                  size_t cols)
{
    size_t c = 0;
    for (; c + SIDE <= cols; c += SIDE, from += SIDE * from_step, to += SIDE * BYTES) {
        size_t r = 0;
        for (int i = 0; i < SIDE; i++) /* what the next block of rows reads: too many streams for */
            __builtin_prefetch(from + i * from_step + ROWS * BYTES); /* the hardware to see */
        for (; r + SIDE <= rows; r += SIDE)
            transpose_block(from + r * BYTES, from_step, to + (ptrdiff_t)r * to_step, to_step);
        for (int i = 0; i < SIDE && r < rows; i++)
            column(from + i * from_step + r * BYTES, to + (ptrdiff_t)r * to_step + i * BYTES,
                   to_step, rows - r);
    }
    for (; c < cols; c++, from += from_step, to += BYTES)
        column(from, to, to_step, rows);
}

/* ROWS by ROWS elements, one line of the result after the other. */
static void lines(const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step)
{
    for (int i = 0; i < ROWS; i++)
        __builtin_prefetch(from + i * from_step + ROWS * BYTES);
    for (int r = 0; r < ROWS; r += SIDE)
        for (int c = 0; c < ROWS; c += SIDE)
            transpose_block(from + c * from_step + r * BYTES, from_step,
                            to + r * to_step + c * BYTES, to_step);
}

/* The same as block() for rows of the result so far apart that they share few places in L1, which
 * would evict lines before they are whole. */
static void block_of_lines(const char *from, ptrdiff_t from_step, char *to, ptrdiff_t to_step,
                           size_t rows, size_t cols)
{
    size_t c = 0;
    for (; rows == ROWS && c + ROWS <= cols; c += ROWS)
        lines(from + (ptrdiff_t)c * from_step, from_step, to + c * BYTES, to_step);
    block(from + (ptrdiff_t)c * from_step, from_step, to + c * BYTES, to_step, rows, cols - c);
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

/* A few source rows at a time: their cache lines are used up before they are evicted. */
void takt_transpose_4(takt_matrix_at from, takt_matrix_at to, size_t rows, size_t cols)
{
    if (cols == 3 && to.step == 3 * BYTES) {
        three(from.data, from.step, to.data, rows);
        return;
    }
    void (*const run)(const char *, ptrdiff_t, char *, ptrdiff_t, size_t, size_t) =
        to.step % 2048 == 0 ? block_of_lines : block;
    for (size_t c = 0; c < cols; c += COLS)
        for (size_t r = 0; r < rows; r += ROWS)
            run(from.data + (ptrdiff_t)c * from.step + r * BYTES, from.step,
                to.data + (ptrdiff_t)r * to.step + c * BYTES, to.step,
                rows - r < ROWS ? rows - r : ROWS, cols - c < COLS ? cols - c : COLS);
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
