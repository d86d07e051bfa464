/* shrink_models.c - pruning, thin factors and distillation on models whose right answer is known.
 */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "test.h"
#include "util/inject.h"
#include "util/shrinking.h"

static takt_ctx *ctx;
static const takt_verdict faster[] = {TAKT_FASTER}, slower[] = {TAKT_SLOWER};

static takt_model *load(takt_ctx *own, const char *text, bool training)
{
    takt_model *m = NULL;
    const takt_load_options o = {.training = training};
    EXPECT_OK(own, takt_model_load_memory(own, "m.takt", text, strlen(text), &o, &m));
    return m;
}

/* The first output on inputs that depend on their index alone. */
static void run(const takt_model *m, float *y, size_t count)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (!EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan)) ||
        !EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)))
        return;
    const takt_tensor_view *x = takt_session_input(s, 0);
    size_t size = 1;
    for (int d = 0; d < x->rank; d++)
        size *= (size_t)x->dims[d];
    for (size_t i = 0; i < size; i++)
        ((float *)x->data)[i] = (float)sin(0.7 * (double)i + 0.3);
    EXPECT(takt_session_run(s) == TAKT_OK, "it runs");
    memcpy(y, takt_session_output(s, 0)->data, count * sizeof *y);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static takt_model *prune(const takt_model *m, takt_prune_options o, takt_prune_summary *s)
{
    shrink_told t = {.verdicts = faster, .count = 1};
    char report[SHRINK_REPORT] = "";
    takt_model *small = NULL;
    o.compare = shrink_tell;
    o.compare_user = &t;
    o.summary = s;
    EXPECT_OK(ctx, takt_model_prune(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small));
    return small;
}

/* ---- pruning ---- */

/* Channels whose weights are zero in every leaf change nothing when they go. */
static void dead_channels(void)
{
    static const char text[] =
        "model m(x: f32[2, 4]) seed=3 {\n"
        "  w = constant(f32[4, 6], [1, 0, 2, 0, 3, 0, 1, 0, -2, 0, 1, 0, 2, 0, 1, 0, 1, 0, 1, 0, "
        "3, 0, 2, 0])\n"
        "  h = relu(x @ w)\n"
        "  v = constant(f32[6, 2], [1, 2, 0, 0, 3, 1, 0, 0, 1, -1, 0, 0])\n"
        "  return h @ v\n"
        "}\n";
    takt_model *m = load(ctx, text, false);
    takt_prune_summary s;
    takt_model *small = prune(m, (takt_prune_options){.amount = 0.5}, &s);
    float before[4], after[4];
    if (small != NULL) {
        run(m, before, 4);
        run(small, after, 4);
        EXPECT(memcmp(before, after, sizeof before) == 0, "dead channels changed the result");
        EXPECT(s.channels_before - s.channels_after == 3 && s.parameters_after == 18,
               "%llu parameters", (unsigned long long)s.parameters_after);
        EXPECT(s.macs_after == s.macs_before / 2, "%g of %g", s.macs_after, s.macs_before);
    }
    takt_model_destroy(small);
    takt_model_destroy(m);
}

/* Residuals, concatenations, depthwise and grouped convolutions, norms, heads. */
static const struct {
    const char *text;
    uint64_t before, after; /* sets of channels */
} kinds[] = {
    {"model m(x: f32[1, 3, 8, 8]) seed=1 { h = conv(x, 8) |> batch_norm() |> relu()\n"
     "g = conv(h, 8) + h\nreturn dense(flatten(relu(g)), 4) }\n",
     12, 8}, /* 8 that the residual ties, 4 outputs that stay */
    {"model m(x: f32[1, 3, 8, 8]) seed=1 { a = conv(x, 4)\nb = conv(x, 6)\n"
     "h = concat(a, b, axis=1)\nreturn dense(flatten(conv(h, 4)), 2) }\n",
     16, 9},
    {"model m(x: f32[1, 3, 8, 8]) seed=1 { h = conv(x, 8) |> relu()\nh = conv(h, 8, groups=8)\n"
     "h = conv(h, 8, groups=2)\nreturn dense(flatten(h), 2) }\n",
     10, 6}, /* 4 pairs before the groups, 4 behind them, 2 outputs */
    {"model m(x: f32[1, 8, 8, 3]) seed=1 { h = conv(x, 8, layout=nhwc) |> "
     "batch_norm(layout=nhwc)\nh = max_pool(h, 2, stride=2, layout=nhwc)\n"
     "return dense(reshape(h, shape=[1, 128]), 2) }\n",
     10, 6},
    {"model m(x: f32[1, 5, 16]) seed=1 { return transformer_block(x, heads=4, hidden=32) }\n", 0,
     0},
    {"model m(x: f32[1, 6]) seed=1 { param w: f32[8, 6] = glorot\n"
     "return dense(relu(x @ transpose(w)), 2) }\n",
     10, 6},
    {"model m(x: f32[1, 3, 4, 4]) seed=1 { h = conv(x, 4)\n"
     "return dense(flatten(conv_transpose(h, 6)), 2) }\n",
     12, 7},
    {"model m(x: f32[1, 5, 8]) seed=1 { param own: f32[4, 5, 5] = normal(0, 1)\n"
     "h = op.attention(dense(x, 8), dense(x, 8), dense(x, 8), own, heads=4)\n"
     "return dense(h, 2) }\n",
     6, 4}, /* 4 heads, each with its part of the mask */
};

static void surgery(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        takt_model *m = load(ctx, kinds[i].text, false);
        takt_prune_summary s = {0};
        takt_model *small = prune(m, (takt_prune_options){.amount = 0.5}, &s);
        float y[4];
        if (small != NULL) {
            run(small, y, 2);
            EXPECT(isfinite(y[0]) && isfinite(y[1]), "model %zu", i);
            EXPECT(s.parameters_after < s.parameters_before * 7 / 10, "model %zu: %llu of %llu", i,
                   (unsigned long long)s.parameters_after, (unsigned long long)s.parameters_before);
            if (kinds[i].before > 0)
                EXPECT(s.channels_before == kinds[i].before && s.channels_after == kinds[i].after,
                       "model %zu: %llu to %llu", i, (unsigned long long)s.channels_before,
                       (unsigned long long)s.channels_after);
        }
        takt_model_destroy(small);
        takt_model_destroy(m);
    }
}

/* The scale of the norm decides: the four smallest are removed, whatever the weights. */
static void by_scale(void)
{
    static const char text[] =
        "model m(x: f32[1, 2, 4, 4]) seed=1 {\n"
        "  s = constant(f32[4], [0.1, 5, 0.2, 4])\n  z = constant(f32[4], 0)\n"
        "  o = constant(f32[4], 1)\n"
        "  h = op.batch_norm(conv(x, 4, bias=false), s, z, z, o)\n"
        "  return dense(flatten(h), 2)\n}\n";
    takt_model *m = load(ctx, text, false);
    takt_prune_summary s;
    takt_model *small = prune(m, (takt_prune_options){.amount = 0.5, .criterion = "bn"}, &s);
    bool found = false;
    for (size_t i = 0; small != NULL && i < small->graph->count; i++) {
        const takt_node *n = &small->graph->nodes[i];
        if (strcmp(n->op->name, "constant") != 0 || n->type->rank != 1 || n->type->dim[0] != 2)
            continue;
        const float *v = takt_tensor_data(n->attr[0].tensor);
        found = found || (v[0] == 5 && v[1] == 4);
    }
    EXPECT(found, "the largest scales are not what is left");
    takt_model_destroy(small);
    small = prune(m, (takt_prune_options){.amount = 0.5, .unstructured = true}, &s);
    EXPECT(s.zeros > 0 && s.zeros <= s.parameters_before / 2 + 1 &&
               s.parameters_after == s.parameters_before,
           "%llu zeros", (unsigned long long)s.zeros);
    takt_model_destroy(small);
    takt_model_destroy(m);
}

/* Of 32 channels, the nearest multiple of four is kept, unless set otherwise. */
static void multiples(void)
{
    static const struct {
        double amount;
        int64_t multiple;
        uint64_t left;
    } rows[] = {{0.3, 0, 24}, {0.3, 1, 23}, {0.3, 8, 24},  {0.1, 0, 28},
                {0.99, 0, 4}, {0.99, 1, 1}, {0.3, 16, 23}, {0.3, INT64_MAX, 23}};
    takt_model *m = load(ctx,
                         "model m(x: f32[1, 3, 4, 4]) seed=1 { h = conv(x, 32, act=relu)\n"
                         "return dense(flatten(h), 2) }\n",
                         false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        takt_prune_summary s = {0};
        takt_model *small = prune(
            m, (takt_prune_options){.amount = rows[i].amount, .multiple = rows[i].multiple}, &s);
        EXPECT(s.channels_after == rows[i].left + 2, "%g by %lld: %llu channels", rows[i].amount,
               (long long)rows[i].multiple, (unsigned long long)s.channels_after);
        takt_model_destroy(small);
    }
    takt_model_destroy(m);
}

/* Eight channels of the first layer are far less important than the others, those of the second
 * almost equal: the first loses all eight. */
static void competing(void)
{
    char text[1024] = "model m(x: f32[2, 1]) {\n"
                      "  a = constant(f32[1, 10], [1, 90, 1, 80, 2, 2, 1, 2, 1, 2])\n"
                      "  b = constant(f32[10, 10], [";
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i > 0 ? ", " : "",
                 (i / 10 == 1 || i / 10 == 3 ? 500 : 1) + i * 7 % 3);
    strcat(text, "])\n  c = constant(f32[10, 2], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, "
                 "1, 2, 1, 2])\n  return relu(relu(x @ a) @ b) @ c\n}\n");
    takt_model *m = load(ctx, text, false);
    takt_prune_summary each = {0}, all = {0}, most = {0};
    takt_model *made[] = {
        prune(m, (takt_prune_options){.amount = 0.4, .criterion = "magnitude"}, &each),
        prune(m, (takt_prune_options){.amount = 0.4, .is_global = true}, &all),
        prune(m, (takt_prune_options){.amount = 0.99, .is_global = true}, &most)};
    EXPECT(each.channels_before == 22 && each.channels_after == 14 && all.channels_after == 14,
           "%llu, %llu and %llu channels", (unsigned long long)each.channels_before,
           (unsigned long long)each.channels_after, (unsigned long long)all.channels_after);
    EXPECT(each.parameters_after == 6 + 36 + 12, "%llu", (unsigned long long)each.parameters_after);
    EXPECT(all.parameters_after == 2 + 20 + 20, "%llu", (unsigned long long)all.parameters_after);
    EXPECT(most.channels_after == 2 + 2 + 2, "%llu are left",
           (unsigned long long)most.channels_after);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        takt_model_destroy(made[i]);
    takt_model_destroy(m);
}

static void prune_fails(const takt_model *m, takt_prune_options o, int id, const char *words)
{
    takt_model *small = NULL;
    char report[SHRINK_REPORT] = "";
    EXPECT(takt_model_prune(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small) != TAKT_OK &&
               takt_last_error_info(ctx)->id == id && small == NULL &&
               strstr(takt_last_error(ctx), words) != NULL,
           "%s: %s", words, takt_last_error(ctx));
}

static void nothing_to_prune(void)
{
    takt_model *m = load(ctx, "model m(x: f32[1, 4]) { return dense(x, 3) }\n", false);
    prune_fails(m, (takt_prune_options){.amount = 0.4}, TAKT_E_SHRINK_NOTHING, "no channel can go");
    prune_fails(m, (takt_prune_options){.amount = 1}, TAKT_E_SHRINK_CHANNELS, "last");
    prune_fails(m, (takt_prune_options){0}, TAKT_E_SHRINK_CHANNELS, "would lose nothing");
    prune_fails(m, (takt_prune_options){.amount = 0.5, .criterion = "taylor"}, TAKT_E_SHRINK_DATA,
                "labels");
    prune_fails(m, (takt_prune_options){.amount = 0.5, .criterion = "age"}, TAKT_E_OPTION, "age");
    takt_model_destroy(m);
}

/* ---- thin factors ---- */

/* Two layers are faster by themselves. */
static const takt_verdict slower_whole[] = {TAKT_FASTER, TAKT_FASTER, TAKT_SLOWER};

static takt_model *thin(const takt_model *m, takt_lowrank_options o, const takt_verdict *verdict,
                        takt_lowrank_summary *s, takt_status expected)
{
    shrink_told t = {.verdicts = verdict, .count = verdict == slower_whole ? 3 : 1};
    char report[SHRINK_REPORT] = "";
    takt_model *made = NULL;
    o.compare = shrink_tell;
    o.compare_user = &t;
    o.summary = s;
    EXPECT_STATUS(ctx, takt_model_lowrank(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &made),
                  expected);
    return made;
}

/* A product of rank 1 and a convolution: with full rank nothing is lost. */
static void factors(void)
{
    static const char text[] =
        "model m(x: f32[1, 4, 6, 6]) seed=2 {\n"
        "  h = conv(x, 16, kernel=3, stride=2, act=relu)\n"
        "  f = reshape(h, shape=[1, 144])\n"
        "  a = constant(f32[144, 1], 0.01)\n  b = constant(f32[1, 8], [1, 2, 3, 4, 5, 6, 7, 8])\n"
        "  return f @ (a * b)\n}\n";
    takt_model *m = load(ctx, text, false);
    takt_lowrank_summary s;
    float before[8], after[8];
    run(m, before, 8);
    takt_model *one = thin(m, (takt_lowrank_options){.energy = 0.999999}, faster, &s, TAKT_OK);
    if (one != NULL) {
        run(one, after, 8);
        EXPECT(s.taken >= 1 && s.parameters_after < s.parameters_before, "%zu taken", s.taken);
        for (size_t i = 0; i < 8; i++)
            EXPECT(fabs((double)(after[i] - before[i])) <= 2e-3 * fabs((double)before[7]),
                   "%zu: %g became %g", i, (double)before[i], (double)after[i]);
    }
    takt_model_destroy(one);
    one = thin(m, (takt_lowrank_options){.rank = 4}, faster, &s, TAKT_OK);
    EXPECT(s.taken == 2, "%zu of %zu", s.taken, s.layers);
    takt_model_destroy(one);
    one = thin(m, (takt_lowrank_options){.rank = 4}, slower, &s, TAKT_ERR_UNSUPPORTED);
    takt_model_destroy(one);
    one = thin(m, (takt_lowrank_options){.rank = 4, .size_first = true}, slower, &s, TAKT_OK);
    takt_model_destroy(one);
    one = thin(m, (takt_lowrank_options){.rank = 4}, slower_whole, &s, TAKT_ERR_UNSUPPORTED);
    EXPECT(one == NULL && s.taken == 2 && strstr(takt_last_error(ctx), "the whole") != NULL,
           "%zu taken: %s", s.taken, takt_last_error(ctx));
    one = thin(m, (takt_lowrank_options){.rank = 4, .size_first = true}, slower_whole, &s, TAKT_OK);
    takt_model_destroy(one);
    one = thin(m, (takt_lowrank_options){.rank = -1}, faster, &s, TAKT_ERR_ARGUMENT);
    EXPECT(takt_last_error_info(ctx)->id == TAKT_E_SHRINK_RANK, "%s", takt_last_error(ctx));
    one = thin(m, (takt_lowrank_options){0}, faster, &s, TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
}

/* ---- distillation ---- */

static const char student_text[] = "model s(x: f32[batch, 4]) seed=5 { return dense(x, 3) }\n";

/* Steps reduce the loss, trained weights are returned, and other classes are refused. */
static void distil(void)
{
    takt_model *student = load(ctx, student_text, true), *both = NULL;
    takt_model *teacher = load(
        ctx,
        "model t(x: f32[n, 4]) seed=9 { return softmax(dense(reshape(x, shape=[n, 4]), 3)) }\n",
        false);
    takt_trainer *trainer = NULL;
    const takt_train_options o = {.optimizer = "sgd", .rate = 0.1};
    if (!EXPECT_OK(ctx, takt_model_distill(student, teacher, NULL, &both)) ||
        !EXPECT_OK(ctx, takt_trainer_create(both, &o, &trainer)))
        return;
    float x[8] = {0.5F, -1, 2, 0.25F, 1, 1, -0.5F, 3};
    int64_t labels[2] = {2, 0};
    const takt_tensor_view xs = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 4}, .data = x};
    const takt_tensor_view ys = {.dtype = TAKT_I64, .rank = 1, .dims = {2}, .data = labels};
    const takt_named_view batch[2] = {{"x", xs}, {"labels", ys}};
    takt_step_result first, last;
    EXPECT_OK(ctx, takt_trainer_step(trainer, batch, 2, &first));
    for (int i = 0; i < 20; i++)
        EXPECT_OK(ctx, takt_trainer_step(trainer, batch, 2, &last));
    EXPECT(last.loss < first.loss, "%g became %g", first.loss, last.loss);
    EXPECT_OK(ctx, takt_trainer_export(trainer, both, false));
    EXPECT_OK(ctx, takt_model_copy_weights(student, both));
    EXPECT(memcmp(takt_tensor_data(&student->slots[0]), takt_tensor_data(&both->slots[0]), 48) == 0,
           "the weights did not come back");
    takt_trainer_destroy(trainer);
    takt_model_destroy(both);
    takt_model_destroy(teacher);
    teacher = load(ctx, "model t(x: f32[n, 4]) seed=9 { return dense(x, 5) }\n", false);
    EXPECT(takt_model_distill(student, teacher, NULL, &both) == TAKT_ERR_SHAPE &&
               takt_last_error_info(ctx)->id == TAKT_E_SHRINK_TEACHER,
           "%s", takt_last_error(ctx));
    takt_model_destroy(teacher);
    takt_model_destroy(student);
}

/* ---- memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    shrink_told t = {.verdicts = faster, .count = 1};
    char report[SHRINK_REPORT] = "";
    takt_model *m = NULL, *small = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    const char *text = kinds[3].text;
    status = takt_model_load_memory(own, "m.takt", text, strlen(text), NULL, &m);
    const takt_prune_options o = {
        .amount = 0.5, .compare = shrink_tell, .compare_user = &t, .threads = 1};
    const takt_lowrank_options r = {
        .rank = 2, .compare = shrink_tell, .compare_user = &t, .threads = 1};
    if (status == TAKT_OK)
        status = takt_model_prune(m, &o, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small);
    takt_model_destroy(small);
    small = NULL;
    if (status == TAKT_OK)
        status = takt_model_lowrank(m, &r, TAKT_FORMAT_TEXT, shrink_keep_text, report, &small);
    takt_model_destroy(small);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY, 40);
    EXPECT(r.is_good, "%s", r.message);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, dead_channels, surgery, by_scale, multiples, competing, nothing_to_prune, factors,
          distil, sweep, end)
