/* gpu_rnn.c - recurrent layers as one kernel of the cuda backend, with the tests' driver: every
 * form of a cell has the cpu's bits, cut into blocks or not, in any order of threads. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "test.h"
#include "util/gpu.h"
#include "util/rnn_run.h"
#include "util/rnn_text.h"

static bool run_on(takt_ctx *ctx, const char *text, const char *backend, rnn_result *r)
{
    return rnn_run(ctx, text, &(takt_plan_options){.backend = backend, .threads = 1}, r);
}

/* `cells`: layers that must be on the device. */
static void check(const char *text, const gpu_settings *settings, size_t cells)
{
    takt_ctx *ctx;
    rnn_result want, got;
    gpu_driver(settings);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    if (run_on(ctx, text, "cpu", &want) && run_on(ctx, text, "gpu", &got)) {
        EXPECT(got.on_backend == cells, "%zu layers are on the device\n%s", got.on_backend, text);
        EXPECT(memcmp(got.digest, want.digest, sizeof got.digest) == 0, "other bits\n%s", text);
    }
    takt_ctx_destroy(ctx);
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s\n%s", n.wrong, text);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "%d objects, %zu bytes, %zu pinned are left", n.live_objects, n.live_bytes,
           n.pinned_bytes);
}

static void check_form(const rnn_text_form *f, const gpu_settings *settings)
{
    rnn_text w = {.length = 0};
    rnn_text_write(&w, f, false);
    check(w.text, settings, 1);
}

static uint32_t state = 1;

static void every_form(void)
{
    for (int i = 0; i < 96; i++) {
        const rnn_text_form f = rnn_text_random(i, &state);
        check_form(&f, &(gpu_settings){.order = (grid_order)(i % GRID_ORDERS)});
    }
}

/* Products of several chunks, blocks that wait for each other, rows in groups and tiles; on a
 * device with little shared memory, weights that do not fit into it. */
static void large_ones(void)
{
    static const int batches[] = {1, 3, 12};
    for (int i = 0; i < 12; i++) {
        rnn_text_form f = rnn_text_random(i % 4 + (i == 7 ? 4 : i == 9 ? 8 : 0), &state);
        f.units = i < 8 ? 270 : 40;
        f.batch = batches[i % 3];
        f.length = 3;
        check_form(&f, &(gpu_settings){.order = (grid_order)(i % GRID_ORDERS),
                                       .capability = i % 2 == 0 ? 90 : 75});
        if (f.units == 270)
            EXPECT(gpu_count().together > 0, "one block has all units");
    }
}

static void layers(void)
{
    static const struct {
        const char *call;
        size_t count;
    } rows[] = {{"lstm(5)", 1},
                {"gru(5)", 1},
                {"rnn(5)", 1},
                {"gru(5, reverse=true)", 1},
                {"lstm(5, bidirectional=true)", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        snprintf(text, sizeof text, "model m(x: f32[2, 6, 3]) seed=3 { return x |> %s }\n",
                 rows[i].call);
        check(text, &(gpu_settings){.order = GRID_SHUFFLED}, rows[i].count);
    }
}

/* Weights that the body itself holds, as in ONNX's Scan. */
static void inner_weights(void)
{
    static const char *const texts[] = {
        "model m(h: f32[2, 3], x: f32[4, 2, 3]) {\n"
        "  last, all = scan(h, x, carried=1, body=graph(h: f32[2, 3], x: f32[2, 3]) {\n"
        "    r = constant(f32[3, 3], [0.5, -0.25, 1, 0.125, 2, -1, 0.75, 0.375, -0.5])\n"
        "    b = constant(f32[3], [0.1, -0.2, 0.3])\n"
        "    a = tanh(x + (matmul(h, r, transpose_b=true) + b))\n    return a, a\n  })\n"
        "  return last, all\n}\n",
        "model m(h: f16[3, 1], c: f16[3, 1], x: f16[5, 3, 4]) {\n"
        "  last, held, all = scan(h, c, x, carried=2, body=graph(h: f16[3, 1], c: f16[3, 1], "
        "x: f16[3, 4]) {\n"
        "    p = constant(f16[3], [0.5, -0.75, 1.5])\n"
        "    g = x + h @ constant(f16[1, 4], [0.5, -0.25, 1, 0.125])\n"
        "    i = sigmoid(g[:, 0:1] + p[0:1] * c)\n    f = sigmoid(g[:, 2:3] + p[2:3] * c)\n"
        "    d = f * c + i * tanh(g[:, 3:4])\n"
        "    a = sigmoid(g[:, 1:2] + p[1:2] * d) * tanh(d)\n    return a, d, a\n  })\n"
        "  return last, held, all\n}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check(texts[i], &(gpu_settings){.order = (grid_order)(i % GRID_ORDERS)}, 1);
}

/* If other steps stay on the host, a layer pays for its copies only if its iterations are long:
 * each takes about 8 us on the device, however few units it has. */
static void island(void)
{
    static const struct {
        int turns, units;
        size_t count;
    } rows[] = {{10, 512, 1}, {100, 32, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "model m(x: f32[1, %d, 2], a: f32[6, 6]) seed=3 {\n  return x |> lstm(%d), "
                 "semiring_matmul_grad(a, a, a, semiring=max_min)\n}\n",
                 rows[i].turns, rows[i].units);
        check(text, &(gpu_settings){0}, rows[i].count);
    }
}

TEST_MAIN(every_form, large_ones, layers, inner_weights, island)
