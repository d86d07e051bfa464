/* session_strides.c - buffers whose strides lead out of the address space are refused when they are
 * bound; negative ones within it are accepted. */
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static void strides(void)
{
    static const char text[] = "model m(x: f32[3, 4]) { return relu(x) }\n";
    static const int64_t far[] = {INT64_MAX,     INT64_MIN,     INT64_MAX / 2,
                                  INT64_MIN / 2, INT64_MAX / 8, INT64_MAX / 4 + 1};
    takt_ctx *ctx = NULL;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    float data[64] = {0};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {3, 4}};
        const char *const ports[] = {"x", "out"};
        for (size_t p = 0; p < 2; p++)
            for (size_t i = 0; i < sizeof far / sizeof *far; i++)
                for (int d = 0; d < 2; d++) {
                    v.data = data + 32;
                    v.strides[d] = far[i];
                    v.strides[1 - d] = 1;
                    EXPECT(takt_session_bind(s, ports[p], &v) == TAKT_ERR_ARGUMENT ||
                               strstr(takt_session_error(s)->message, "address space") != NULL,
                           "%s: stride %lld of axis %d is taken", ports[p], (long long)far[i], d);
                }
        v.strides[0] = -8;
        v.strides[1] = 1;
        EXPECT(takt_session_bind(s, "x", &v) == TAKT_OK, "%s", takt_session_error(s)->message);
        for (int i = 0; i < 64; i++)
            data[i] = (float)i;
        EXPECT_OK(NULL, takt_session_run(s));
        const float *y = takt_session_output(s, 0)->data;
        EXPECT(y[0] == 32 && y[4] == 24 && y[11] == 19, "%g %g %g", (double)y[0], (double)y[4],
               (double)y[11]);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(strides)
