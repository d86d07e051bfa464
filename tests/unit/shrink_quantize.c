/* shrink_quantize.c - `takt_model_quantize`: the changes and their reasons, with a fake timer; bad
 * data; running out of memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "op/ops.h"
#include "test.h"
#include "util/inject.h"
#include "util/shrinking.h"
#include "verify/program.h"

enum { SAMPLES = SHRINK_SAMPLES, WIDTH = 8, CLASSES = SHRINK_CLASSES };

static takt_ctx *ctx;

static const char text[] = "model m(x: f32[batch, 8]) seed=3 {\n"
                           "  h = dense(x, 32, act=relu)\n"
                           "  h = dense(h, 32, act=relu) + h\n"
                           "  return dense(h, 4)\n"
                           "}\n";
static const char conv_text[] = "model c(x: f32[batch, 1, 8, 8]) seed=5 {\n"
                                "  h = conv2d(x, 8, kernel=3, act=relu)\n"
                                "  h = max_pool(h, 2, stride=2)\n"
                                "  h = conv2d(h, 8, kernel=3, act=relu6, bias=false)\n"
                                "  return dense(reshape(h, shape=[batch, 128]), 4)\n"
                                "}\n";

static takt_model *load(const char *body)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", body, strlen(body), NULL, &m));
    return m;
}

static size_t count_op(const takt_model *m, const takt_op *op)
{
    const takt_plan_options options = {.sizes = "batch=2", .backend = "cpu"};
    takt_graph *g = NULL;
    size_t count = 0;
    if (!EXPECT_OK(ctx, takt_program_graph(m, &options, &g)))
        return 0;
    for (size_t i = 0; i < g->count; i++)
        count += g->nodes[i].op == op;
    takt_graph_destroy(g);
    return count;
}

/* Largest difference over the largest value, on the data's first sample. */
static double distance(const takt_model *a, const takt_model *b, const takt_data *data)
{
    float y[2][CLASSES] = {{0}};
    const takt_model *models[] = {a, b};
    for (size_t k = 0; k < 2; k++) {
        takt_plan *plan = NULL;
        takt_session *s = NULL;
        const uint64_t row = 1;
        EXPECT_OK(ctx, takt_plan_create(models[k], &(takt_plan_options){.threads = 1}, &plan));
        if (plan == NULL || takt_session_create(plan, NULL, &s) != TAKT_OK)
            return INFINITY;
        const takt_tensor_view *x = takt_session_input(s, 0);
        size_t size = 1;
        for (int d = 1; d < x->rank; d++)
            size *= (size_t)x->dims[d];
        takt_tensor_view flat = {
            .dtype = TAKT_F32, .rank = 2, .dims = {1, (int64_t)size}, .data = x->data};
        EXPECT_OK(ctx, takt_data_take(data, "x", &row, 1, &flat));
        EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
        memcpy(y[k], takt_session_output(s, 0)->data, sizeof y[k]);
        takt_session_destroy(s);
        takt_plan_destroy(plan);
    }
    double most = 0, error = 0;
    for (size_t i = 0; i < CLASSES; i++) {
        most = fmax(most, fabs((double)y[0][i]));
        error = fmax(error, fabs((double)y[0][i] - (double)y[1][i]));
    }
    return error / most;
}

static void types(const char *body, size_t width, const takt_op *integer, size_t expected)
{
    static const struct {
        const char *type;
        double most;
        bool is_integer;
    } cases[] = {{"int8", 0.05, true},
                 {"w8", 0.02, false},
                 {"int4", 0.3, false},
                 {"int16x8", 0.02, false},
                 {"w4a8", 0.4, true}};
    static const takt_verdict faster[] = {TAKT_FASTER};
    static const char *const methods[] = {"minmax", "percentile", "mse", "entropy"};
    takt_model *m = load(body);
    takt_data *data = shrink_data(ctx, "types", width, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && m != NULL && data != NULL; i++) {
        shrink_told t = {.verdicts = faster, .count = 1};
        char report[8192] = "";
        takt_quantize_summary s;
        takt_model *small = NULL;
        const takt_quantize_options o = {.type = cases[i].type,
                                         .method = methods[i % 4],
                                         .calib = data,
                                         .compare = shrink_tell,
                                         .compare_user = &t,
                                         .summary = &s};
        if (!EXPECT_OK(ctx, takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report,
                                                &small)))
            continue;
        EXPECT(s.taken == 3 && s.layers == 3, "%s: %zu of %zu", cases[i].type, s.taken, s.layers);
        EXPECT(s.bytes_after < s.bytes_before / 2, "%s: %llu bytes", cases[i].type,
               (unsigned long long)s.bytes_after);
        EXPECT(strstr(report, "3 of 3") != NULL, "%s", report);
        const double d = distance(m, small, data);
        EXPECT(d > 0 && d < cases[i].most, "%s: %g away", cases[i].type, d);
        if (cases[i].is_integer)
            EXPECT(count_op(small, integer) == expected && s.returns == 0,
                   "%s: %zu layers of integers, %zu returns", cases[i].type,
                   count_op(small, integer), s.returns);
        takt_model_destroy(small);
    }
    takt_data_destroy(data);
    takt_model_destroy(m);
}

/* Each is measured separately: the second of three is slower and stays a float layer. */
static void taken_and_left(void)
{
    static const takt_verdict verdicts[] = {TAKT_FASTER, TAKT_SLOWER, TAKT_INCONCLUSIVE,
                                            TAKT_FASTER};
    takt_model *m = load(text), *small = NULL;
    takt_data *data = shrink_data(ctx, "left", WIDTH, 0);
    shrink_told t = {.verdicts = verdicts, .count = 4};
    char report[8192] = "";
    takt_quantize_summary s;
    takt_quantize_options o = {
        .calib = data, .test = data, .compare = shrink_tell, .compare_user = &t, .summary = &s};
    if (EXPECT_OK(ctx,
                  takt_model_quantize(m, &o, TAKT_FORMAT_JSON, shrink_keep_text, report, &small))) {
        EXPECT(s.taken == 1 && t.calls == 4, "%zu taken, %zu comparisons", s.taken, t.calls);
        EXPECT(s.samples == SAMPLES, "%llu scored", (unsigned long long)s.samples);
        EXPECT(strstr(report, "left: slower") != NULL &&
                   strstr(report, "left: not clearly faster") != NULL,
               "%s", report);
        EXPECT(count_op(small, &takt_op_integer_matmul) == 1, "one layer of integers");
    }
    takt_model_destroy(small);
    t.calls = 0;
    o.size_first = true;
    if (EXPECT_OK(ctx,
                  takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small)))
        EXPECT(s.taken == 3, "size first: %zu", s.taken);
    takt_model_destroy(small);
    takt_data_destroy(data);
    takt_model_destroy(m);
}

/* ---- failures ---- */

static bool keep_all(void *user, const char *layer)
{
    (void)user;
    return strstr(layer, "dense") != NULL;
}

static void fails(const takt_model *m, takt_quantize_options o, takt_status status, int id,
                  const char *words)
{
    static const takt_verdict faster[] = {TAKT_FASTER};
    shrink_told t = {.verdicts = faster, .count = 1};
    takt_model *small = NULL;
    char report[8192] = "";
    if (o.compare == NULL) {
        o.compare = shrink_tell;
        o.compare_user = &t;
    }
    const takt_status got =
        takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small);
    EXPECT(got == status && takt_last_error_info(ctx)->id == id && small == NULL, "%s: %d, %s",
           words, (int)got, takt_last_error(ctx));
    EXPECT(strstr(takt_last_error(ctx), words) != NULL, "%s is not in %s", words,
           takt_last_error(ctx));
    takt_model_destroy(small);
}

static void bad_input(void)
{
    takt_model *m = load(text), *bare = load("model b(x: f32[batch, 8]) { return relu(x) }\n");
    takt_data *good = shrink_data(ctx, "good", WIDTH, 0),
              *flat = shrink_data(ctx, "flat", WIDTH, 1);
    takt_data *infinite = shrink_data(ctx, "infinite", WIDTH, 2),
              *wide = shrink_data(ctx, "wide", WIDTH + 1, 0);
    static const takt_verdict slower[] = {TAKT_SLOWER};
    shrink_told t = {.verdicts = slower, .count = 1};
    const takt_quantize_options none = {0}, o = {.calib = good};
    fails(m, none, TAKT_ERR_ARGUMENT, TAKT_E_SHRINK_DATA, "needs data");
    fails(m, (takt_quantize_options){.calib = flat}, TAKT_ERR_ARGUMENT, TAKT_E_SHRINK_DATA,
          "every element of x is 0.5");
    fails(m, (takt_quantize_options){.calib = infinite}, TAKT_ERR_ARGUMENT, TAKT_E_SHRINK_DATA,
          "NaN or infinite");
    fails(m, (takt_quantize_options){.calib = wide}, TAKT_ERR_ARGUMENT, TAKT_E_SHRINK_DATA,
          "has 9 elements");
    fails(bare, o, TAKT_ERR_UNSUPPORTED, TAKT_E_SHRINK_NOTHING, "no convolution");
    fails(m, (takt_quantize_options){.calib = good, .keeps = keep_all}, TAKT_ERR_UNSUPPORTED,
          TAKT_E_SHRINK_NOTHING, "to be kept");
    fails(m, (takt_quantize_options){.calib = good, .compare = shrink_tell, .compare_user = &t},
          TAKT_ERR_UNSUPPORTED, TAKT_E_SHRINK_NOTHING, "no layer is measured faster");
    fails(m, (takt_quantize_options){.calib = good, .type = "int3"}, TAKT_ERR_ARGUMENT,
          TAKT_E_OPTION, "int3");
    fails(m, (takt_quantize_options){.calib = good, .method = "percentile:101"}, TAKT_ERR_ARGUMENT,
          TAKT_E_OPTION, "percentile:101");
    fails(m, (takt_quantize_options){.calib = good, .metric = "f1"}, TAKT_ERR_ARGUMENT,
          TAKT_E_OPTION, "f1");
    fails(m, (takt_quantize_options){.calib = good, .accuracy_drop = "much"}, TAKT_ERR_ARGUMENT,
          TAKT_E_OPTION, "much");
    fails(m, (takt_quantize_options){.calib = good, .accuracy_drop = "1%"}, TAKT_ERR_ARGUMENT,
          TAKT_E_SHRINK_DATA, "labels");
    EXPECT(takt_model_quantize(NULL, &o, TAKT_FORMAT_TEXT, NULL, NULL, NULL) == TAKT_ERR_ARGUMENT,
           "no model");
    EXPECT(takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, NULL, NULL, NULL) == TAKT_ERR_ARGUMENT,
           "nowhere to put it");
    takt_data_destroy(good);
    takt_data_destroy(flat);
    takt_data_destroy(infinite);
    takt_data_destroy(wide);
    takt_model_destroy(m);
    takt_model_destroy(bare);
}

/* Weights that 4 bits cannot represent: one large weight per row hides all the others. The labels
 * are the model's own predictions. */
static const char hard_text[] =
    "model h(x: f32[batch, 8]) seed=1 {\n"
    "  a = dense(x, 8, act=relu)\n"
    "  w = concat(constant(f32[8, 4], [0.01, -0.012, 0.008, 0.011, -0.01, 0.009, 0.012, -0.008, "
    "0.012, 0.01, -0.011, 0.009, 0.008, -0.012, 0.01, 0.011, -0.009, 0.011, 0.012, -0.01, 0.01, "
    "0.008, -0.012, 0.012, 0.011, -0.008, 0.009, 0.01, -0.012, 0.012, 0.01, -0.009]), "
    "constant(f32[1, 4], [9, 9, 9, 9]), axis=0)\n"
    "  z = concat(a, x[:, :1] * 0, axis=1)\n"
    "  return z @ w\n"
    "}\n";

/* Labels are the model's own predictions. */
static takt_data *own_labels(const takt_model *m, const takt_data *plain)
{
    char path[512];
    const char *folder = getenv("TAKT_TEST_TMP");
    takt_data *own = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    snprintf(path, sizeof path, "%s/own.csv", folder != NULL ? folder : "/tmp");
    FILE *f = fopen(path, "w");
    EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    if (f == NULL || s == NULL)
        return NULL;
    fprintf(f, "a,b,c,d,e,f,g,h,label\n");
    for (uint64_t i = 0; i < SAMPLES; i++) {
        const takt_tensor_view *x = takt_session_input(s, 0);
        EXPECT_OK(ctx, takt_data_take(plain, "x", &i, 1, x));
        EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
        const float *y = takt_session_output(s, 0)->data;
        int best = 0;
        for (int k = 1; k < CLASSES; k++)
            best = y[k] > y[best] ? k : best;
        for (int k = 0; k < WIDTH; k++)
            fprintf(f, "%.9g,", (double)((const float *)x->data)[k]);
        fprintf(f, "%d\n", best);
    }
    fclose(f);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    EXPECT_OK(ctx, takt_data_open(ctx, path, NULL, &own));
    return own;
}

static void budget(void)
{
    takt_model *m = load(hard_text);
    takt_data *plain = shrink_data(ctx, "budget", WIDTH, 0), *own = own_labels(m, plain);
    static const takt_verdict faster[] = {TAKT_FASTER};
    shrink_told t = {.verdicts = faster, .count = 1};
    takt_quantize_summary sum;
    char report[8192] = "";
    takt_model *small = NULL;
    takt_quantize_options o = {.type = "w4a8",
                               .calib = own,
                               .test = own,
                               .accuracy_drop = "0%",
                               .compare = shrink_tell,
                               .compare_user = &t,
                               .summary = &sum};
    /* The last layer cannot be rounded and stays in f32; the first is taken if accuracy holds. */
    const takt_status status =
        takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small);
    if (status == TAKT_OK)
        EXPECT(sum.taken == 1 && sum.hits_after == sum.hits_before &&
                   strstr(report, "costs too much") != NULL,
               "%s", report);
    else
        EXPECT(status == TAKT_ERR_REQUIREMENT &&
                   takt_last_error_info(ctx)->id == TAKT_E_SHRINK_BUDGET,
               "%s", takt_last_error(ctx));
    takt_model_destroy(small);
    o.keeps = keep_all; /* now only the last one is left to take */
    fails(m, o, TAKT_ERR_REQUIREMENT, TAKT_E_SHRINK_BUDGET, "the nearest, with 1 layer as w4a8");
    o.accuracy_drop = "100%";
    EXPECT_OK(ctx, takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small));
    takt_model_destroy(small);
    takt_data_destroy(plain);
    takt_data_destroy(own);
    takt_model_destroy(m);
}

/* ---- memory ---- */

static takt_status use(takt_ctx *own, const takt_data *data)
{
    static const takt_verdict faster[] = {TAKT_FASTER};
    shrink_told t = {.verdicts = faster, .count = 1};
    takt_model *m = NULL, *small = NULL;
    char report[8192] = "";
    takt_status status = takt_model_load_memory(own, "m.takt", text, strlen(text), NULL, &m);
    const takt_quantize_options o = {
        .calib = data, .test = data, .compare = shrink_tell, .compare_user = &t, .threads = 1};
    if (status == TAKT_OK)
        status = takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small);
    takt_model_destroy(small);
    takt_model_destroy(m);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = use(own, user);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    takt_data *data = shrink_data(ctx, "sweep", WIDTH, 0);
    const takt_sweep_report r = takt_sweep_some(scenario, data, TAKT_INJECT_MEMORY, 50);
    EXPECT(r.is_good, "%s", r.message);
    takt_data_destroy(data);
}

static void all_types(void)
{
    types(text, WIDTH, &takt_op_integer_matmul, 3);
    types(conv_text, 64, &takt_op_integer_conv, 2);
}

/* Convolutions with channels first between transposes keep their activations. */
static void turned(void)
{
    static const char body[] =
        "model t(x: f32[batch, 8, 8, 1]) seed=5 {\n"
        "  h = transpose(conv(transpose(x, perm=[0, 3, 1, 2]), 8, 3), perm=[0, 2, 3, 1])\n"
        "  h = transpose(conv(transpose(relu(h), perm=[0, 3, 1, 2]), 8, 3), perm=[0, 2, 3, 1])\n"
        "  return dense(reduce_mean(relu(h), axes=[1, 2]), 4)\n"
        "}\n";
    static char report[SHRINK_REPORT];
    takt_model *m = load(body), *q = NULL;
    takt_data *data = shrink_data(ctx, "turned", 64, 0);
    const takt_quantize_options o = {.calib = data, .size_first = true};
    if (EXPECT_OK(ctx, takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &q)))
        for (size_t i = 0; i < q->graph->count; i++)
            EXPECT(q->graph->nodes[i].op != &takt_op_relu ||
                       q->graph->nodes[q->graph->nodes[i].in[0]].op != &takt_op_dequantize,
                   "a relu by itself: node %zu", i);
    takt_model_destroy(q);
    takt_data_destroy(data);
    takt_model_destroy(m);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, all_types, turned, taken_and_left, bad_input, budget, sweep, end)
