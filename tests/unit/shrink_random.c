/* shrink_random.c - 200 random models quantised, pruned and factored: the results are valid, run,
 * and are close to the originals. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "test.h"
#include "util/random_array.h"
#include "util/shrinking.h"

enum { MODELS = 200, SIDE = 8, CHANNELS = 3, CLASSES = SHRINK_CLASSES };

static takt_ctx *ctx;
static takt_data *data;
static const takt_verdict faster[] = {TAKT_FASTER};

/* ---- models ---- */

typedef struct writer {
    char text[4096];
    size_t length;
    takt_random *r;
    int channels, side;
} writer;

TAKT_PRINTF(2, 3) static void add(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->length += (size_t)vsnprintf(w->text + w->length, sizeof w->text - w->length, format, args);
    va_end(args);
}

static int below(writer *w, int count)
{
    return (int)takt_random_below(w->r, (size_t)count);
}

static const char *act(writer *w)
{
    static const char *const acts[] = {"relu", "relu6", "sigmoid", "tanh", "silu"};
    return acts[below(w, 5)];
}

/* One more stage behind `h`, which has w->channels and w->side. */
static void stage(writer *w)
{
    const int filters = 4 + 4 * below(w, 3);
    switch (below(w, 8)) {
    case 0: /* a residual */
        add(w, "  h = %s(conv(h, %d, bias=%s) + h)\n", act(w), w->channels,
            below(w, 2) == 0 ? "true" : "false");
        break;
    case 1:
        add(w, "  h = concat(conv(h, %d, kernel=1), h, axis=1)\n", filters);
        w->channels += filters;
        break;
    case 2:
        add(w, "  h = conv(h, %d, groups=%d) |> batch_norm() |> %s()\n", w->channels, w->channels,
            act(w));
        break;
    case 3:
        add(w, "  h = %s_pool(h, 2, stride=2)\n", below(w, 2) == 0 ? "max" : "avg");
        w->side /= 2;
        break;
    case 4: /* a gate */
        add(w, "  h = h * sigmoid(conv(op.global_avg_pool(h), %d, kernel=1))\n", w->channels);
        break;
    case 5:
        add(w, "  h = h |> conv(%d, 1) |> batch_norm()\n", filters);
        w->channels = filters;
        break;
    case 6:
        add(w,
            "  h = transpose(h, perm=[0, 2, 3, 1])\n  h = dense(h, %d, act=%s)\n"
            "  h = transpose(h, perm=[0, 3, 1, 2])\n",
            filters, act(w));
        w->channels = filters;
        break;
    default: add(w, "  h = conv(h, %d, act=%s)\n", filters, act(w)); w->channels = filters;
    }
}

static void write_model(takt_random *r, size_t index, writer *w)
{
    *w = (writer){.r = r, .channels = 8, .side = SIDE};
    add(w, "model m(x: f32[batch, %d, %d, %d]) seed=%zu {\n  h = conv(x, 8, act=%s)\n", CHANNELS,
        SIDE, SIDE, index, act(w));
    const int stages = 1 + below(w, 5);
    for (int i = 0; i < stages; i++)
        if (w->side > 2 || below(w, 2) == 0)
            stage(w);
    if (w->side < 1)
        w->side = 1;
    add(w, "  return dense(%s, %d)\n}\n",
        below(w, 2) == 0 ? "flatten(h)" : "reduce_mean(h, axes=[2, 3])", CLASSES);
}

/* ---- running ---- */

static bool run(const takt_model *m, float y[static CLASSES])
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    const uint64_t row = 3;
    takt_status status = takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    const takt_tensor_view *x = status == TAKT_OK ? takt_session_input(s, 0) : NULL;
    if (x != NULL) {
        const takt_tensor_view flat = {
            .dtype = TAKT_F32, .rank = 2, .dims = {1, CHANNELS * SIDE * SIDE}, .data = x->data};
        status = takt_data_take(data, "x", &row, 1, &flat);
    }
    if (status == TAKT_OK)
        status = takt_session_run(s);
    if (status == TAKT_OK)
        memcpy(y, takt_session_output(s, 0)->data, CLASSES * sizeof *y);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return status == TAKT_OK;
}

static void near(const char *what, const char *text, const takt_model *m, const float *want,
                 double most)
{
    float got[CLASSES] = {0};
    double size = 1e-3, error = 0;
    if (m == NULL || !EXPECT(run(m, got), "%s: %s\n%s", what, takt_last_error(ctx), text))
        return;
    for (int i = 0; i < CLASSES; i++) {
        size = fmax(size, fabs((double)want[i]));
        error = fmax(error, fabs((double)got[i] - (double)want[i]));
    }
    EXPECT(error <= most * size, "%s is %g away:\n%s", what, error / size, text);
}

static void one(takt_random *r, size_t index)
{
    static const char *const types[] = {"int8", "w8", "int16x8", "w4a8", "w4"};
    writer w;
    char report[SHRINK_REPORT] = "";
    float want[CLASSES];
    takt_model *m = NULL, *made = NULL;
    shrink_told t = {.verdicts = faster, .count = 1};
    write_model(r, index, &w);
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", w.text, w.length, NULL, &m)) ||
        !EXPECT(run(m, want), "%s\n%s", takt_last_error(ctx), w.text))
        return;
    const takt_quantize_options q = {.type = types[index % 5],
                                     .calib = data,
                                     .compare = shrink_tell,
                                     .compare_user = &t,
                                     .threads = 1};
    EXPECT(takt_model_quantize(m, &q, TAKT_FORMAT_TEXT, shrink_keep_text, report, &made) == TAKT_OK,
           "%s\n%s", takt_last_error(ctx), w.text);
    near(types[index % 5], w.text, made, want, index % 5 < 3 ? 0.3 : 3);
    takt_model_destroy(made);
    const takt_prune_options p = {
        .amount = 0.3, .compare = shrink_tell, .compare_user = &t, .threads = 1};
    EXPECT(takt_model_prune(m, &p, TAKT_FORMAT_TEXT, shrink_keep_text, report, &made) == TAKT_OK,
           "%s\n%s", takt_last_error(ctx), w.text);
    near("pruned", w.text, made, want, 1e6);
    takt_model_destroy(made);
    const takt_lowrank_options l = {.energy = 1 - 1e-12,
                                    .size_first = true,
                                    .compare = shrink_tell,
                                    .compare_user = &t,
                                    .threads = 1};
    const takt_status status =
        takt_model_lowrank(m, &l, TAKT_FORMAT_TEXT, shrink_keep_text, report, &made);
    EXPECT(status == TAKT_OK || takt_last_error_info(ctx)->id == TAKT_E_SHRINK_NOTHING, "%s\n%s",
           takt_last_error(ctx), w.text);
    if (status == TAKT_OK)
        near("factored", w.text, made, want, 1e-3);
    takt_model_destroy(made);
    takt_model_destroy(m);
}

static void all(void)
{
    takt_random r = {.state = 24};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    data = shrink_data(ctx, "random", (size_t)CHANNELS * SIDE * SIDE, 3);
    for (size_t i = 0; data != NULL && i < MODELS; i++)
        one(&r, i);
    takt_data_destroy(data);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(all)
