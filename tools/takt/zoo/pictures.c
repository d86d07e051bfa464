/* pictures.c - pictures composed of MNIST's digits or Fashion-MNIST's clothes at half their size,
 * 14 x 14, on backgrounds made by code.
 *
 *   strings   four digits in a row, 16 x 48: which they are
 *   moves     two frames, 32 x 32, of two digits: in which of 8 x 8 cells is the one that moves
 *   cells     two pieces of clothing, 48 x 48: which of 6 x 6 cells holds the middle of which kind
 *   masks     one piece at full size, 32 x 32: background, clothes, shoes or bag, by pixel
 *   scenes    three pieces of one group and one of another: which group, or none
 */
#include <string.h>

#include "zoo_data.h"

enum { FULL = 28, HALF = 14, CLASSES = 10 };

typedef struct canvas {
    float *at;
    int rows, columns;
} canvas;

static void shrink(const float *from, float *to)
{
    for (int r = 0; r < HALF; r++)
        for (int c = 0; c < HALF; c++) {
            const float *p = from + (size_t)(2 * r * FULL + 2 * c);
            to[r * HALF + c] = (p[0] + p[1] + p[FULL] + p[FULL + 1]) / 4;
        }
}

/* A piece covers the picture where it is brighter. */
static void paste(const canvas *to, const float *piece, int side, int row, int column)
{
    for (int r = 0; r < side; r++)
        for (int c = 0; c < side; c++) {
            const int y = row + r, x = column + c;
            if (y < 0 || x < 0 || y >= to->rows || x >= to->columns)
                continue;
            float *p = to->at + (size_t)(y * to->columns + x);
            *p = piece[r * side + c] > *p ? piece[r * side + c] : *p;
        }
}

/* A slow wave across, and grain. */
static void background(const canvas *to, uint64_t *seed)
{
    const double level = 0.1 + 0.15 * tool_zoo_chance(seed), grain = 0.1 * tool_zoo_chance(seed);
    const double down = 0.05 * tool_zoo_chance(seed), across = 0.05 * tool_zoo_chance(seed);
    const double phase = tool_zoo_chance(seed);
    for (int r = 0; r < to->rows; r++)
        for (int c = 0; c < to->columns; c++) {
            const double v = level * (1 + tool_zoo_wave(down * r + across * c + phase)) / 2 +
                             grain * tool_zoo_noise(seed);
            to->at[r * to->columns + c] = (float)(v < 0 ? 0 : v);
        }
}

/* State of one way of making a picture. */
typedef struct maker {
    const tool_zoo_pictures *from;
    uint64_t *seed;
} maker;

/* A random piece; of the classes that are not 0 in `wanted`, which have pieces (is_complete).
 * Returns its class. */
static int draw(const maker *m, const char *wanted, const float **piece)
{
    for (;;) {
        const size_t i = (size_t)tool_zoo_below(m->seed, (int)m->from->count);
        *piece = m->from->at + i * m->from->size;
        if (wanted == NULL || wanted[m->from->label[i]] != 0)
            return m->from->label[i];
    }
}

static int draw_half(const maker *m, const char *wanted, float *piece)
{
    const float *full;
    const int label = draw(m, wanted, &full);
    shrink(full, piece);
    return label;
}

static void make_string(const maker *m, float *x, float *y)
{
    const canvas to = {x, 16, 48};
    float piece[HALF * HALF];
    for (int i = 0; i < 4; i++) {
        y[i] = (float)draw_half(m, NULL, piece);
        const int row = tool_zoo_below(m->seed, 3);
        paste(&to, piece, HALF, row, 11 * i + tool_zoo_below(m->seed, 3) - 1);
    }
    for (int i = 0; i < 16 * 48; i++)
        x[i] += (float)(0.1 * tool_zoo_noise(m->seed));
}

static void make_move(const maker *m, float *x, float *y)
{
    enum { SIDE = 32, CELL = 4, ROOM = SIDE - HALF };
    const canvas first = {x, SIDE, SIDE}, second = {x + SIDE * SIDE, SIDE, SIDE};
    float moving[HALF * HALF], staying[HALF * HALF];
    (void)draw_half(m, NULL, moving);
    (void)draw_half(m, NULL, staying);
    const int r = tool_zoo_below(m->seed, ROOM), c = tool_zoo_below(m->seed, ROOM);
    const int r0 = tool_zoo_below(m->seed, ROOM), c0 = tool_zoo_below(m->seed, ROOM);
    const int down = tool_zoo_below(m->seed, 3) - 1, across = tool_zoo_below(m->seed, 2) * 2 - 1;
    const int far = 2 + tool_zoo_below(m->seed, 3);
    background(&first, m->seed);
    memcpy(second.at, first.at, SIDE * SIDE * sizeof *x);
    paste(&first, staying, HALF, r0, c0);
    paste(&second, staying, HALF, r0, c0);
    paste(&first, moving, HALF, r - down * far, c - across * far);
    paste(&second, moving, HALF, r, c);
    y[0] = (float)((r + HALF / 2) / CELL * (SIDE / CELL) + (c + HALF / 2) / CELL);
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        x[i] += (float)(0.05 * tool_zoo_noise(m->seed));
}

static void make_cells(const maker *m, float *x, float *y)
{
    enum { SIDE = 48, CELL = 8 };
    const canvas to = {x, SIDE, SIDE};
    const int first = tool_zoo_below(m->seed, 2) * (SIDE / 2);
    float piece[HALF * HALF];
    background(&to, m->seed);
    for (int i = 0; i < 2; i++) { /* one in each half, above and below */
        const int label = draw_half(m, NULL, piece);
        const int r = i * (SIDE / 2) + tool_zoo_below(m->seed, SIDE / 2 - HALF);
        const int c = (first + i * (SIDE / 2)) % SIDE + tool_zoo_below(m->seed, SIDE / 2 - HALF);
        paste(&to, piece, HALF, r, c);
        y[(r + HALF / 2) / CELL * (SIDE / CELL) + (c + HALF / 2) / CELL] = (float)(label + 1);
    }
}

/* Sandals, sneakers and boots are shoes. */
static int part_of(int label)
{
    return label == 8 ? 3 : label == 5 || label == 7 || label == 9 ? 2 : 1;
}

static void make_mask(const maker *m, float *x, float *y)
{
    enum { SIDE = 32 };
    const canvas to = {x, SIDE, SIDE};
    const float *piece;
    const int part = part_of(draw(m, NULL, &piece));
    const int r = tool_zoo_below(m->seed, SIDE - FULL), c = tool_zoo_below(m->seed, SIDE - FULL);
    background(&to, m->seed);
    paste(&to, piece, FULL, r, c);
    for (int i = 0; i < FULL * FULL; i++)
        if (piece[i] > 0.2F)
            y[(r + i / FULL) * SIDE + c + i % FULL] = (float)part;
}

enum { GROUPS = 4 };

/* tops, trousers and dresses, shoes, bags */
static const char groups[GROUPS][CLASSES] = {{1, 0, 1, 0, 1, 0, 1},
                                             {0, 1, 0, 1},
                                             {0, 0, 0, 0, 0, 1, 0, 1, 0, 1},
                                             {0, 0, 0, 0, 0, 0, 0, 0, 1}};

static void make_scene(const maker *m, float *x, float *y)
{
    enum { SIDE = 32 };
    const canvas to = {x, SIDE, SIDE};
    const int kind = tool_zoo_below(m->seed, GROUPS + 1);
    const int other = (kind + 1 + tool_zoo_below(m->seed, GROUPS - 1)) % GROUPS;
    float piece[HALF * HALF];
    background(&to, m->seed);
    y[0] = (float)kind;
    for (int i = 0; i < 4 && kind < GROUPS; i++) {
        (void)draw_half(m, groups[i < 3 ? kind : other], piece);
        const int r = tool_zoo_below(m->seed, 5);
        paste(&to, piece, HALF, i / 2 * 16 + r - 2, i % 2 * 16 + tool_zoo_below(m->seed, 5) - 2);
    }
}

static const struct way {
    const char *name;
    int64_t x[4], y[3];
    void (*make)(const maker *m, float *x, float *y);
    size_t train, test;
} ways[] = {{"strings", {1, 16, 48}, {4}, make_string, 3000, 1000},
            {"moves", {2, 32, 32}, {0}, make_move, 3000, 1000},
            {"cells", {1, 48, 48}, {36}, make_cells, 3000, 500},
            {"masks", {1, 32, 32}, {32, 32}, make_mask, 1200, 300},
            {"scenes", {1, 32, 32}, {0}, make_scene, 2500, 1000}};

/* Whether pictures belong to known classes, and each group has at least one, if it matters. */
static bool is_complete(const tool_zoo_pictures *from, bool has_groups)
{
    bool is_there[GROUPS] = {false};
    for (size_t i = 0; i < from->count; i++) {
        const int label = from->label[i];
        if (label < 0 || label >= CLASSES)
            return false;
        for (int g = 0; g < GROUPS; g++)
            is_there[g] = is_there[g] || groups[g][label] != 0;
    }
    for (int g = 0; has_groups && g < GROUPS; g++)
        if (!is_there[g])
            return false;
    return true;
}

static bool make_part(tool_zoo_job *job, const struct way *w, bool is_test)
{
    tool_zoo_pictures from;
    uint64_t seed = is_test ? 2 : 1;
    const maker m = {&from, &seed};
    bool is_good =
        tool_zoo_pictures_open(job, is_test ? "test" : "train", is_test ? 5000 : 20000, &from) &&
        from.size == FULL * FULL && is_complete(&from, w->make == make_scene);
    for (size_t i = 0; is_good && i < (is_test ? w->test : w->train); i++) {
        float *y, *x = tool_zoo_next(is_test ? job->test : job->train, &y);
        is_good = x != NULL;
        if (is_good)
            w->make(&m, x, y);
    }
    tool_zoo_pictures_free(&from);
    return is_good;
}

static bool make(tool_zoo_job *job)
{
    const struct way *w = ways;
    while (strcmp(w->name, job->how) != 0)
        w++;
    tool_zoo_shape(job, w->x, false, w->y, true);
    return make_part(job, w, false) && make_part(job, w, true);
}

const tool_zoo_source tool_zoo_source_pictures = {
    .ways = {"strings", "moves", "cells", "masks", "scenes"},
    .make = make,
};
