/* trained_net.h - a small classifier, its batches, and its model for a trainer. */
#ifndef TAKT_TESTS_TRAINED_NET_H
#define TAKT_TESTS_TRAINED_NET_H

#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"

static takt_ctx *ctx;
static char folder[1024];

static const char net[] = "model net(x: f32[batch, 12]) seed=3 {\n"
                          "  h = dense(x, 16, act=relu) |> dropout(0.25)\n"
                          "  h = dense(h, 8, act=tanh)\n"
                          "  return dense(h, 4, act=softmax)\n"
                          "}\n";
enum { ROWS = 24, WIDTH = 12, CLASSES = 4 };

static float x[ROWS * WIDTH];
static int64_t labels[ROWS];

static inline void fill_batch(unsigned seed)
{
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)sin((double)(i * 7 + seed * 13 + 1));
    for (size_t i = 0; i < ROWS; i++)
        labels[i] = (int64_t)((i * 5 + seed) % CLASSES);
}

static inline size_t batch_of(takt_named_view views[2], int64_t rows)
{
    views[0] =
        (takt_named_view){"x", {.dtype = TAKT_F32, .rank = 2, .dims = {rows, WIDTH}, .data = x}};
    views[1] =
        (takt_named_view){"labels", {.dtype = TAKT_I64, .rank = 1, .dims = {rows}, .data = labels}};
    return 2;
}

static inline takt_model *load(const char *text)
{
    takt_model *m = NULL;
    const takt_load_options o = {.training = true};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), &o, &m));
    return m;
}

#endif
