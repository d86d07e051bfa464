/* fake_quantize.c - rounding to a grid and its gradient, as in PyTorch. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;

enum { ELEMENTS = 16 };
static const float xs[ELEMENTS] = {-3.1F,   -1.28F,  -1.2749F, -0.634F, -0.0151F, -0.0049F,
                                   0,       0.0049F, 0.0149F,  0.0251F, 0.3F,     0.7777F,
                                   1.2649F, 1.2651F, 1.3F,     2.9F};
static const float dys[ELEMENTS] = {0.5F, -1, 2,    0.25F, 1, 1, -2, 3,
                                    -1,   1,  0.5F, 0.5F,  2, 1, -3, 4};

/* torch 2.15, _fake_quantize_learnable_per_tensor_affine with scale 0.01 and zero point 5, and
 * fake_quantize_per_channel_affine with four scales and levels -7 to 7. */
typedef struct torch_case {
    const char *model;
    double y[ELEMENTS], dx[ELEMENTS];
    double dscale, dzero; /* 0: PyTorch has none */
} torch_case;
static const torch_case torch_cases[] = {
    {"model m(x: f32[16], dy: f32[16], s: f32[], z: f32[]) {\n"
     "  y = fake_quantize(x, s, z)\n"
     "  return y = y, loss = reduce_sum(y * dy)\n"
     "}\n",
     {-1.33, -1.28, -1.27, -0.63, -0.02, 0, 0, 0, 0.01, 0.03, 0.3, 0.78, 1.22, 1.22, 1.22, 1.22},
     {0, -1, 2, 0.25, 1, 1, -2, 3, -1, 1, 0.5, 0.5, 0, 0, 0, 0},
     422.2049865722656,
     -0.044999994337558746},
    {"model m(x: f32[16], dy: f32[16], s: f32[4, 1], z: f32[]) {\n"
     "  y = reshape(fake_quantize(reshape(x, shape=[4, 4]), s, z, low=-7, high=7), shape=[16])\n"
     "  return y = y, loss = reduce_sum(y * dy)\n"
     "}\n",
     {-2.1, -1.2, -1.2, -0.6, 0, 0, 0, 0, 0, 0, 0.3, 0.7, 1.2, 1.2, 1.2, 2.8},
     {0, -1, 2, 0.25, 1, 1, -2, 3, -1, 1, 0.5, 0, 2, 1, -3, 4},
     0,
     0},
};

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    const takt_load_options o = {.training = true};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), &o, &m));
    return m;
}

static void put(takt_session *s, size_t index, const float *values, size_t count)
{
    const takt_tensor_view *v = takt_session_input(s, index);
    if (EXPECT(v != NULL, "input %zu", index))
        memcpy(v->data, values, count * sizeof *values);
}

static void check_output(takt_session *s, const char *name, size_t index, const double *want,
                         size_t count)
{
    const takt_tensor_view *v = takt_session_output(s, index);
    for (size_t i = 0; v != NULL && i < count; i++) {
        const double have = (double)((const float *)v->data)[i];
        EXPECT(fabs(have - want[i]) <= 1e-6 + 1e-5 * fabs(want[i]), "%s %zu: %.9g, not %.9g", name,
               i, have, want[i]);
    }
}

static void like_torch(void)
{
    static const float scales[] = {0.3F, 0.05F, 0.1F, 0.4F};
    for (size_t k = 0; k < sizeof torch_cases / sizeof *torch_cases; k++) {
        const torch_case *c = &torch_cases[k];
        static const char *const backends[] = {"cpu", "ref"};
        takt_model *m = load(c->model), *g = NULL;
        if (m == NULL || !EXPECT_OK(ctx, takt_model_gradient(m, "loss", "x,s,z", &g)))
            return;
        for (size_t b = 0; b < 2; b++) {
            const takt_plan_options o = {.backend = backends[b]};
            takt_plan *plan = NULL;
            takt_session *s = NULL;
            EXPECT_OK(ctx, takt_plan_create(g, &o, &plan));
            EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
            put(s, 0, xs, ELEMENTS);
            put(s, 1, dys, ELEMENTS);
            put(s, 2, k == 0 ? (const float[]){0.01F} : scales, k == 0 ? 1 : 4);
            put(s, 3, k == 0 ? (const float[]){5} : (const float[]){0}, 1);
            EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
            check_output(s, "y", 0, c->y, ELEMENTS);
            check_output(s, "dx", 2, c->dx, ELEMENTS);
            if (c->dscale != 0) {
                check_output(s, "dscale", 3, &c->dscale, 1);
                check_output(s, "dzero", 4, &c->dzero, 1);
            }
            takt_session_destroy(s);
            takt_plan_destroy(plan);
        }
        takt_model_destroy(g);
        takt_model_destroy(m);
    }
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, like_torch, end)
