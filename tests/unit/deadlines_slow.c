/* deadlines_slow.c - how late a run ends: at most 5 ms or 10 % after its deadline, on the real
 * clock.
 *
 * A part of `make check`, not of `make test`: a loaded machine takes the processor away for longer
 * than that. Each figure is therefore the best of a few tries; how often the clock is read does not
 * depend on load and is counted by polled_kinds.c.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "os/os.h"

static const struct {
    const char *name, *text;
} models[] = {
    {"product", "model m(x: f32[2000, 2000], w: f32[2000, 2000]) { return x @ w }"},
    {"dense", "model m(x: f32[3000, 2000]) { return dense(x, 2000) }"},
    {"conv", "model m(x: f32[4, 64, 160, 160]) { return conv(x, 64, 5) }"},
    {"winograd", "model m(x: f32[4, 64, 200, 200]) { return conv(x, 128, 3) }"},
    {"depthwise", "model m(x: f32[16, 64, 160, 160]) { return depthwise(x, 5) }"},
    {"attention", "model m(q: f32[1, 3000, 512], k: f32[1, 3000, 512], v: f32[1, 3000, 512]) {\n"
                  "  return op.attention(q, k, v, heads=8) }"},
    {"blocks", "model m(a: f32[256, 4096], b: u4[4096, 4096], s: f32[4096, 128]) {\n"
               "  return op.block_matmul(a, b, s) }"},
    {"ggml", "model m(x: f32[256, 4096], w: u8[4096, 2304]) {\n"
             "  return op.ggml_matmul(x, w, format=q4_0) }"},
    {"integers",
     "model m(a: u8[4000, 2000], b: i8[2000, 4000]) { return op.integer_matmul(a, b) }"},
    {"map", "model m(x: f32[40000000]) { return op.exp(op.sin(op.tanh(x))) }"},
    {"softmax row", "model m(x: f32[1, 60000000]) { return softmax(x) }"},
    {"arg row", "model m(x: i64[60000000]) { return op.argmax(x, axis=0) }"},
    {"columns", "model m(x: f32[4000, 100, 200]) { return op.reduce_sum(x, axes=[1]) }"},
    {"sort", "model m(x: f32[4000000]) { v, i = op.sort(x, axis=0)\n  return v }"},
    {"gather", "model m(x: f32[1000, 40000], i: i64[1500]) { return op.gather(x, i) }"},
    {"scatter", "model m(x: f32[5], i: i64[20000000], u: f32[20000000]) {\n"
                "  return op.scatter_elements(x, i, u) }"},
    {"transpose", "model m(x: f32[400, 400, 300]) { return op.transpose(x, perm=[2, 0, 1]) }"},
    {"pad", "model m(x: f32[4000, 8000]) {\n"
            "  return op.pad(x, before=[1, 2], after=[3, 4], mode=reflect) }"},
    {"trees", "model m(x: f32[400000, 3], b: i32[0, 5], s: f32[0], r: i32[200], g: i32[1, 2],\n"
              "        w: f32[1]) {\n"
              "  return op.tree_ensemble(x, b, s, r, g, w, targets=1, leaves=1, depth=1) }"},
    {"lstm", "model m(x: f32[64, 200, 512]) { return lstm(x, 512) }"},
    {"rules", "model m(a: u32[20000, 1], b: u32[4000, 1]) {\n  return op.fixpoint(a, b, program=\n"
              "    \"2 : 1 1 ; 0(a, b) <- 1(a), 2(b)\", capacity=[10]) }"},
};

static void clear_inputs(takt_session *s)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        if (!EXPECT(v != NULL))
            return;
        size_t bits = (size_t)takt_dtype_bits(v->dtype);
        for (int d = 0; d < v->rank; d++)
            bits *= (size_t)v->dims[d];
        memset(v->data, 0, (bits + 7) / 8);
    }
}

/* Milliseconds of a run with this budget. */
static double timed(takt_session *s, double budget_ms, takt_status *status)
{
    const uint64_t begin = takt_os_now_ns(NULL);
    *status = takt_session_run_deadline(s, (uint64_t)(budget_ms * 1e6));
    return (double)(takt_os_now_ns(NULL) - begin) / 1e6;
}

/* How late the run ends, in milliseconds: the least of a few tries. */
static double lateness(takt_session *s, double budget_ms, double allowed_ms)
{
    enum { TRIES = 5 };
    double least = 1e9;
    for (int i = 0; i < TRIES && least > allowed_ms; i++) {
        takt_status status;
        const double late = timed(s, budget_ms, &status) - budget_ms;
        if (status == TAKT_OK) /* faster than before: no deadline was met */
            return 0;
        EXPECT_STATUS(NULL, status, TAKT_ERR_DEADLINE);
        least = late < least ? late : least;
    }
    return least;
}

static void measure(const char *name, takt_session *s, int threads)
{
    static const double shares[] = {0.1, 0.37, 0.73, 0.97};
    takt_status status;
    (void)timed(s, 600e3, &status);
    const double whole = timed(s, 600e3, &status);
    double worst = 0;
    EXPECT(status == TAKT_OK, "%s: %s", name, takt_session_error(s)->message);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        const double budget = shares[i] * whole;
        const double allowed = budget / 10 > 5 ? budget / 10 : 5;
        const double late = lateness(s, budget, allowed);
        EXPECT(late <= allowed,
               "%s, %d threads: a run of %.1f ms with a deadline of %.1f ms ends "
               "%.2f ms late",
               name, threads, whole, budget, late);
        worst = late > worst ? late : worst;
    }
    printf("%-12s %d threads: %7.1f ms, at most %.2f ms late\n", name, threads, whole, worst);
}

static void runs_end_in_time(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int threads = 1; threads <= 2; threads++) {
            const takt_plan_options options = {.threads = threads};
            takt_ctx *ctx;
            takt_model *model = NULL;
            takt_plan *plan = NULL;
            takt_session *s = NULL;
            if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
                return;
            if (EXPECT(takt_model_load_memory(ctx, "m", models[i].text, strlen(models[i].text),
                                              NULL, &model) == TAKT_OK &&
                           takt_plan_create(model, &options, &plan) == TAKT_OK &&
                           takt_session_create(plan, NULL, &s) == TAKT_OK,
                       "%s: %s", models[i].name, takt_last_error(ctx))) {
                clear_inputs(s);
                measure(models[i].name, s, threads);
            }
            takt_session_destroy(s);
            takt_plan_destroy(plan);
            takt_model_destroy(model);
            takt_ctx_destroy(ctx);
        }
}

TEST_MAIN(runs_end_in_time)
