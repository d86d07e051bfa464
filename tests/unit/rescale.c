/* rescale.c - a constant fixed-point factor, which is lowered to fewer operations, gives the bits
 * of one that is not constant. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

enum { COUNT = 64 };

static takt_ctx *ctx;

static takt_session *open(const char *text, takt_model **m, takt_plan **plan)
{
    takt_session *s = NULL;
    *m = NULL;
    *plan = NULL;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, m)) &&
        EXPECT_OK(ctx, takt_plan_create(*m, &(takt_plan_options){.threads = 1}, plan)))
        EXPECT_OK(ctx, takt_session_create(*plan, NULL, &s));
    return s;
}

/* Extremes, neighbours of halves, and others. */
static void fill(int32_t *x, int32_t shift)
{
    static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1, 0, 1, -1};
    const int right = shift < 0 ? -shift & 31 : 0;
    uint32_t state = 77;
    for (size_t i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        const int32_t odd = (int32_t)(2 * i + 1) - COUNT;
        const int64_t half = right > 0 ? (int64_t)odd * (INT64_C(1) << (right - 1)) : odd;
        const bool is_near = half + 1 < INT32_MAX && half - 1 > INT32_MIN;
        x[i] = i < sizeof ends / sizeof *ends ? ends[i]
               : i % 2 == 0 && is_near        ? (int32_t)half + (int32_t)(i % 3) - 1
                                              : (int32_t)state;
    }
}

static void compare(int32_t multiplier, int32_t shift)
{
    char known[256], given[256];
    int32_t x[COUNT];
    takt_model *m[2];
    takt_plan *plan[2];
    snprintf(known, sizeof known,
             "model k(x: i32[%d]) {\n  return op.rescale(x, constant(i32[], [%d]), "
             "constant(i32[], [%d]))\n}\n",
             COUNT, (int)multiplier, (int)shift);
    snprintf(given, sizeof given,
             "model g(x: i32[%d], m: i32[], s: i32[]) {\n  return op.rescale(x, m, s)\n}\n", COUNT);
    takt_session *s[2] = {open(known, &m[0], &plan[0]), open(given, &m[1], &plan[1])};
    fill(x, shift);
    for (size_t k = 0; k < 2 && s[0] != NULL && s[1] != NULL; k++) {
        memcpy(takt_session_input(s[k], 0)->data, x, sizeof x);
        if (k == 1) {
            memcpy(takt_session_input(s[k], 1)->data, &multiplier, sizeof multiplier);
            memcpy(takt_session_input(s[k], 2)->data, &shift, sizeof shift);
        }
        EXPECT_OK(ctx, takt_session_run(s[k]));
    }
    if (s[0] != NULL && s[1] != NULL)
        EXPECT(memcmp(takt_session_output(s[0], 0)->data, takt_session_output(s[1], 0)->data,
                      sizeof x) == 0,
               "multiplier %d, shift %d: other bits", (int)multiplier, (int)shift);
    for (size_t k = 0; k < 2; k++) {
        takt_session_destroy(s[k]);
        takt_plan_destroy(plan[k]);
        takt_model_destroy(m[k]);
    }
}

int main(void)
{
    static const int32_t multipliers[] = {1 << 30,     INT32_MAX, 1450798206,    0,
                                          -1234567890, INT32_MIN, INT32_MIN + 1, 1};
    static const int32_t shifts[] = {0, -1, -2, -7, -30, -31, -32, -70, 1, 5, 31, 33};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    for (size_t i = 0; i < sizeof multipliers / sizeof *multipliers; i++)
        for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++)
            compare(multipliers[i], shifts[k]);
    takt_ctx_destroy(ctx);
    return test_done();
}
