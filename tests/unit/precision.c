/* precision.c - weights in 16 bits: half the bytes, with the bits of f32 arithmetic on the rounded
 * weights, for any threads and instruction set.
 */
#define _POSIX_C_SOURCE 200809L
#include "test.h"
#include "util/run_once.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <takt/takt.h>

#include "api/model.h"
#include "op/ops.h"
#include "pass/passes.h"

static takt_ctx *ctx;

/* A product of one row and of several, a table, convolutions of both kinds, and a batch norm that
 * is folded into weights. */
static const char text[] = "model m(x: f32[n, 12, 12, 3], i: i64[n]) -> (y: f32[n, 40]) seed=5 {\n"
                           "  param k: f32[32, 3, 3, 3] = normal(0, 0.3)\n"
                           "  param l: f32[24, 3, 3, 32] = normal(0, 0.1)\n"
                           "  param p: f32[20, 1, 1, 24] = normal(0, 0.2)\n"
                           "  param t: f32[10, 20] = normal(0, 1)\n"
                           "  param w: f32[20, 40] = normal(0, 0.3)\n"
                           "  param s: f32[24] = normal(1, 0.3)\n"
                           "  a = relu(op.conv(x, k, pad=[1, 1, 1, 1], layout=nhwc))\n"
                           "  b = op.conv(a, l, pad=[1, 1, 1, 1], layout=nhwc)\n"
                           "  c = op.conv(b, p, layout=nhwc) * s[:20]\n"
                           "  d = op.reduce_mean(c, axes=[1, 2])\n"
                           "  return y = op.matmul(d + op.gather(t, i, axis=0), w)\n"
                           "}\n";

/* Every weight is a small integer: nothing is lost in 16 bits. */
static const char whole[] =
    "model m(x: f32[n, 9, 9, 2]) -> (y: f32[n, 9, 9, 5]) {\n"
    "  k = op.reshape(op.cast(op.iota(dtype=i64, shape=[90], axis=0), dtype=f32) - 40, "
    "shape=[5, 3, 3, 2])\n"
    "  return y = op.conv(x, k, pad=[1, 1, 1, 1], layout=nhwc)\n"
    "}\n";

enum { MOST = 4096 };

static bool same(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

static void bits_depend_on_neither_threads_nor_instructions(const char *precision)
{
    static float want[MOST], got[MOST];
    static const char *const sizes[] = {"n=1", "n=3"};
    takt_model *m = run_model(ctx, text);
    for (int i = 0; i < 2; i++) {
        const takt_plan_options plain = {.sizes = sizes[i], .threads = 1, .precision = precision};
        const size_t count = run_once(ctx, m, &plain, (run_results){want, MOST});
        takt_plan_options o = plain;
        o.threads = 3;
        run_once(ctx, m, &o, (run_results){got, MOST});
        EXPECT(same(got, want, count), "%s %s: threads change bits", precision, sizes[i]);
        o.isa = "scalar";
        run_once(ctx, m, &o, (run_results){got, MOST});
        EXPECT(same(got, want, count), "%s %s: scalar kernels change bits", precision, sizes[i]);
    }
    takt_model_destroy(m);
}

/* The interpreter rounds the same weights; f32 does not. Winograd's form is not rounded again. */
static void the_interpreter_agrees(const char *precision, double least, double most)
{
    static float got[MOST], ref[MOST], wide[MOST];
    takt_model *m = run_model(ctx, text);
    takt_plan_options o = {.sizes = "n=2", .precision = precision, .passes = "-winograd"};
    const size_t count = run_once(ctx, m, &o, (run_results){got, MOST});
    o.backend = "ref";
    run_once(ctx, m, &o, (run_results){ref, MOST});
    o = (takt_plan_options){.sizes = "n=2"};
    run_once(ctx, m, &o, (run_results){wide, MOST});
    EXPECT(run_distance(got, ref, count) < 1e-6, "%s: %g from the interpreter", precision,
           run_distance(got, ref, count));
    EXPECT(run_distance(got, wide, count) > least && run_distance(got, wide, count) < most,
           "%s: %g from f32", precision, run_distance(got, wide, count));
    o.precision = precision;
    run_once(ctx, m, &o, (run_results){got, MOST});
    EXPECT(run_distance(got, wide, count) > least && run_distance(got, wide, count) < most,
           "%s: %g from f32 with Winograd", precision, run_distance(got, wide, count));
    takt_model_destroy(m);
}

static void weights_that_fit_keep_all_bits(void)
{
    static float got[MOST], want[MOST];
    takt_model *m = run_model(ctx, whole);
    const size_t count =
        run_once(ctx, m, &(takt_plan_options){.sizes = "n=2"}, (run_results){want, MOST});
    run_once(ctx, m, &(takt_plan_options){.sizes = "n=2", .precision = "f16"},
             (run_results){got, MOST});
    EXPECT(same(got, want, count), "f16 changes whole numbers");
    run_once(ctx, m, &(takt_plan_options){.sizes = "n=2", .precision = "bf16"},
             (run_results){got, MOST});
    EXPECT(same(got, want, count), "bf16 changes whole numbers");
    takt_model_destroy(m);
}

/* Winograd's form does not get smaller. */
static takt_plan_info info_of(const takt_model *m, const char *precision, bool dry)
{
    takt_plan *plan;
    takt_plan_info info = {0};
    const takt_plan_options o = {
        .sizes = "n=2", .precision = precision, .dry = dry, .passes = "-winograd"};
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    return info;
}

static void bytes_are_halved(void)
{
    takt_model *m = run_model(ctx, text);
    const takt_plan_info wide = info_of(m, NULL, false), half = info_of(m, "bf16", false),
                         dry = info_of(m, "bf16", true);
    /* The 27 rows of k may be taken in pairs, as factors of 16 bits are: one more row of 32. */
    const uint64_t more = 2 * half.packed - wide.packed;
    EXPECT(more == 0 || more == 2 * 32 * sizeof(uint16_t), "packed %llu, %llu in f32",
           (unsigned long long)half.packed, (unsigned long long)wide.packed);
    EXPECT(half.weights + 400 == wide.weights, "weights %llu, %llu in f32: the table's 400 less",
           (unsigned long long)half.weights, (unsigned long long)wide.weights);
    EXPECT(dry.packed == half.packed && dry.weights == half.weights && dry.arena == half.arena,
           "a dry plan has other sizes");
    takt_model_destroy(m);
}

static void files_hold_half_the_bytes(void)
{
    static float got[MOST], want[MOST];
    char path[64];
    snprintf(path, sizeof path, "takt_precision_%ld.taktp", (long)getpid());
    takt_model *m = run_model(ctx, text), *read = NULL;
    const takt_plan_options o = {.sizes = "n=2"};
    takt_plan_options narrow = o;
    narrow.precision = "f16";
    if (EXPECT_OK(ctx, takt_model_save(m, path, &(takt_save_options){.precision = "f16"})) &&
        EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &read))) {
        const size_t count = run_once(ctx, m, &narrow, (run_results){want, MOST});
        run_once(ctx, read, &o, (run_results){got, MOST});
        EXPECT(same(got, want, count), "the file gives other bits: %g",
               run_distance(got, want, count));
        EXPECT(info_of(read, NULL, false).packed == info_of(m, "f16", false).packed,
               "the file's plan is not packed in f16");
        struct stat facts = {0};
        EXPECT(stat(path, &facts) == 0 &&
                   facts.st_size < 2 * (32 * 27 + 24 * 288 + 480 + 1000) + 3000,
               "the file has %lld bytes", (long long)facts.st_size);
    }
    EXPECT_STATUS(ctx, takt_model_save(m, path, &(takt_save_options){.precision = "f12"}),
                  TAKT_ERR_ARGUMENT);
    takt_model_destroy(read);
    takt_model_destroy(m);
    unlink(path);
}

/* A weight that is a constant keeps f32 (tests/pass/precision-f16); one that is computed does not
 * show before it is packed. */
static void computed_weights_beyond_the_range_are_refused(void)
{
    static const char large[] = "model m(x: f32[n, 3]) -> (y: f32[n, 2]) {\n"
                                "  w = constant(f32[3, 2], [1, 2, 3, 4, 5, 6]) * 20000\n"
                                "  return y = op.matmul(x, w)\n"
                                "}\n";
    takt_model *m = run_model(ctx, large);
    takt_plan *plan;
    EXPECT_STATUS(
        ctx, takt_plan_create(m, &(takt_plan_options){.sizes = "n=2", .precision = "f16"}, &plan),
        TAKT_ERR_RANGE);
    EXPECT(takt_last_error_info(ctx)->id == 4006, "%s", takt_last_error(ctx));
    float got[MOST];
    EXPECT(run_once(ctx, m, &(takt_plan_options){.sizes = "n=2", .precision = "bf16"},
                    (run_results){got, MOST}) == 4,
           "bf16");
    takt_model_destroy(m);
}

/* Settings by name; a table of ranges shows what the graph alone does not. */
static void passes_are_told(void)
{
    static const char computed[] = "model m(x: f32[4, 3]) -> (y: f32[4, 2]) {\n"
                                   "  w = constant(f32[3, 2], [1, 2, 3, 4, 5, 6]) * 20000\n"
                                   "  return y = op.matmul(x, w)\n"
                                   "}\n";
    const takt_pass *pass = &takt_pass_precision;
    takt_pass_given given = takt_pass_defaults(pass);
    EXPECT(given.arg[0] == 0 && given.ranges == NULL);
    EXPECT_OK(ctx, takt_pass_read(ctx, pass, "to=f16", 6, &given));
    EXPECT_EQ(given.arg[0], 1);
    EXPECT_STATUS(ctx, takt_pass_read(ctx, pass, "to=f12", 6, &given), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_pass_read(ctx, pass, "of=f16", 6, &given), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_pass_read(ctx, pass, "to", 2, &given), TAKT_ERR_ARGUMENT);
    takt_model *m = run_model(ctx, computed);
    takt_value_range ranges[32];
    takt_pass_report report;
    takt_graph *out = NULL;
    const takt_graph *g = m != NULL ? m->graph : NULL;
    if (!EXPECT(g != NULL && g->count <= 32))
        return;
    for (size_t i = 0; i < g->count; i++)
        ranges[i] = (takt_value_range){1, 0};
    for (int is_known = 0; is_known < 2; is_known++) {
        for (size_t i = 0; is_known && i < g->count; i++)
            if (g->nodes[i].op == &takt_op_mul)
                ranges[i] = (takt_value_range){20000, 120000};
        given.ranges = ranges;
        takt_pass_report_init(&report, ctx);
        if (EXPECT_OK(ctx, takt_pass_apply_with(pass, &given, g, &report, &out)))
            EXPECT(report.fired == (is_known ? 0 : 1) && report.refused == (is_known ? 1 : 0),
                   "%zu fired, %zu refused", report.fired, report.refused);
        takt_pass_report_deinit(&report);
        takt_graph_destroy(out);
    }
    takt_model_destroy(m);
}

static void the_deviation_is_measured(void)
{
    static float got[MOST], want[MOST];
    takt_model *m = run_model(ctx, text);
    takt_deviation d = {0};
    takt_plan_options o = {.sizes = "n=2", .precision = "bf16"};
    const takt_deviation_input in = {.seed = 3};
    if (EXPECT_OK(ctx, takt_measure_deviation(m, &o, &in, &d))) {
        const size_t count = run_once(ctx, m, &o, (run_results){got, MOST});
        o.precision = NULL;
        run_once(ctx, m, &o, (run_results){want, MOST});
        double largest = 0;
        for (size_t i = 0; i < count; i++)
            if (fabs((double)got[i] - want[i]) > largest)
                largest = fabs((double)got[i] - want[i]);
        EXPECT(d.max_abs == largest && d.count == count, "%g, not %g", d.max_abs, largest);
        EXPECT(fabs(d.rms_relative - run_distance(got, want, count)) < 1e-9, "%g", d.rms_relative);
        EXPECT(strcmp(d.output, "y") == 0 && d.unlike == 0, "%s", d.output);
    }
    EXPECT_OK(ctx, takt_measure_deviation(m, &o, NULL, &d));
    EXPECT(d.max_abs == 0 && d.rms_relative == 0, "f32 differs from itself");
    o.precision = "int9";
    EXPECT_STATUS(ctx, takt_measure_deviation(m, &o, NULL, &d), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    bits_depend_on_neither_threads_nor_instructions("f16");
    bits_depend_on_neither_threads_nor_instructions("bf16");
    the_interpreter_agrees("f16", 1e-5, 1e-3);
    the_interpreter_agrees("bf16", 1e-4, 1e-2);
    weights_that_fit_keep_all_bits();
    bytes_are_halved();
    files_hold_half_the_bytes();
    computed_weights_beyond_the_range_are_refused();
    passes_are_told();
    the_deviation_is_measured();
    takt_ctx_destroy(ctx);
    return test_done();
}
