/* ranges_dilated.c - a dilated convolution of a size inside a range has the bits of a plan for that
 * size alone, even if a size of 1 would be substituted before the passes. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static const char text[] = "model m(x: f32[1, 16, 9 + h, 9 + w]) seed=3 {\n"
                           "  return conv(x, 16, 3, dilation=6, pad=6)\n"
                           "}\n";
enum { CHANNELS = 16, EDGE = 9, MOST = CHANNELS * 13 * 13 };

static takt_ctx *ctx;
static float x[MOST];

static takt_session *open(const takt_model *m, const char *sizes)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const takt_plan_options o = {.threads = 1, .sizes = sizes};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    takt_plan_destroy(plan);
    return s;
}

static const float *run(takt_session *s, int64_t h, int64_t w)
{
    const takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = 4, .dims = {1, CHANNELS, EDGE + h, EDGE + w}, .data = x};
    if (!EXPECT(s != NULL) || !EXPECT_OK(ctx, takt_session_bind(s, "x", &view)) ||
        !EXPECT_OK(ctx, takt_session_run(s)))
        return NULL;
    const takt_tensor_view *y = takt_session_output(s, 0);
    return y != NULL ? y->data : NULL;
}

static void agree(const takt_model *m, takt_session *ranged, int64_t h, int64_t w)
{
    char sizes[64];
    snprintf(sizes, sizeof sizes, "h=%d,w=%d", (int)h, (int)w);
    takt_session *alone = open(m, sizes);
    const float *a = run(alone, h, w), *b = run(ranged, h, w);
    const size_t count = (size_t)(CHANNELS * (EDGE + h) * (EDGE + w));
    EXPECT(a != NULL && b != NULL && memcmp(a, b, count * sizeof *a) == 0, "bits at %s", sizes);
    takt_session_destroy(alone);
}

int main(void)
{
    takt_model *m = NULL;
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)((int)(i * 7919 % 2003) - 1000) / 512.0f;
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)) &&
        EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m))) {
        takt_session *ranged = open(m, "h=1..4,w=1..4");
        agree(m, ranged, 1, 1);
        agree(m, ranged, 4, 1);
        agree(m, ranged, 2, 3);
        takt_session_destroy(ranged);
    }
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return test_done();
}
