/* hf_order.c - a tensor of a folder that is read in parts has the elements of one that is read as a
 * whole, and each of them is where the layout says. */
#include "io/hf/order.h"

#include <string.h>

#include "test.h"

enum { MOST = 512 };

static uint16_t file[MOST], whole[MOST], parts[MOST];

static void fill(void)
{
    for (size_t i = 0; i < MOST; i++)
        file[i] = (uint16_t)(i + 1);
    memset(whole, 0, sizeof whole);
    memset(parts, 0, sizeof parts);
}

/* `rows` rows of the file make a grain. */
static void compare(const takt_hf_order *o, size_t bytes, size_t rows)
{
    const size_t grain = takt_hf_grain(o, bytes);
    fill();
    EXPECT_EQ(grain, bytes / o->rows * rows);
    takt_hf_put_rows(o, (const uint8_t *)file, 0, o->rows, (uint8_t *)whole);
    for (size_t i = 0; i < o->rows / rows; i++)
        takt_hf_put_rows(o, (const uint8_t *)file + i * rows * o->width, 0, rows,
                         (uint8_t *)parts + i * grain);
    EXPECT(memcmp(whole, parts, bytes) == 0, "move %d: other elements", (int)o->move);
}

/* [3, 4, 10]; every other column of it, or all. */
static void swapped(void)
{
    enum { N = 3, A = 4, B = 10 };
    static const takt_hf_move moves[] = {TAKT_HF_SWAPPED, TAKT_HF_EVEN, TAKT_HF_ODD};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        const size_t step = i == 0 ? 1 : 2, columns = B / step;
        const takt_hf_order o = {.move = moves[i],
                                 .element = sizeof *file,
                                 .rows = N * A,
                                 .width = B * sizeof *file,
                                 .inner = A};
        compare(&o, N * A * columns * sizeof *file, A);
        for (size_t n = 0; n < N; n++)
            for (size_t a = 0; a < A; a++)
                for (size_t b = 0; b < columns; b++)
                    EXPECT_EQ(whole[(n * columns + b) * A + a],
                              file[(n * A + a) * B + b * step + (i == 2)]);
    }
}

static void paired(void)
{
    const takt_hf_order o = {
        .move = TAKT_HF_PAIRS, .element = 2, .rows = 24, .width = 10, .size = 8};
    compare(&o, 240, 8);
}

/* Heads of the file in the order of the tensor: all of q, all of k, all of v. */
static void grouped(void)
{
    static const size_t shapes[][2] = {{1, 1}, {4, 1}, {1, 5}, {3, 2}, {8, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t groups = shapes[i][0], queries = shapes[i][1], all = queries + 2;
        const takt_hf_order o = {.move = TAKT_HF_GROUPED,
                                 .rows = groups * all * 2,
                                 .width = 6,
                                 .size = 2,
                                 .groups = groups,
                                 .queries = queries};
        size_t head = 0;
        EXPECT_EQ(takt_hf_grain(&o, o.rows * o.width), 12);
        for (size_t g = 0; g < groups; g++)
            for (size_t q = 0; q < queries; q++)
                EXPECT_EQ(takt_hf_grouped(&o, head++), g * all + q);
        for (size_t part = queries; part < all; part++)
            for (size_t g = 0; g < groups; g++)
                EXPECT_EQ(takt_hf_grouped(&o, head++), g * all + part);
    }
}

/* More rows than are taken at a time, in parts of the file, of either size of element. */
static void transposed(void)
{
    enum { ROWS = 70, COLUMNS = 3 };
    for (size_t n = 1; n <= 2; n++) { /* 16-bit units of an element */
        const takt_hf_order o = {.move = TAKT_HF_TRANSPOSED,
                                 .element = n * sizeof *file,
                                 .rows = ROWS,
                                 .width = n * COLUMNS * sizeof *file};
        fill();
        EXPECT_EQ(takt_hf_grain(&o, ROWS * o.width), 0);
        for (size_t i = 0, count; i < ROWS; i += count) {
            count = ROWS - i < 41 ? ROWS - i : 41;
            takt_hf_put_rows(&o, (const uint8_t *)file + i * o.width, i, count, (uint8_t *)whole);
        }
        for (size_t i = 0; i < ROWS * COLUMNS * n; i++)
            EXPECT_EQ(whole[i], file[(i / n % ROWS * COLUMNS + i / n / ROWS) * n + i % n]);
    }
}

TEST_MAIN(swapped, paired, grouped, transposed)
