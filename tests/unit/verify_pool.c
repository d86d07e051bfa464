/* verify_pool.c - maxima in the checker: its bounds over a box are the model's own values at the
 * ends of the box, window by window, and false claims are refused. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "verify/program.h"
#include "verify/recheck.h"

enum { MOST = 64 };

static takt_ctx *ctx;

typedef struct stand {
    takt_model *model;
    takt_graph *graph;
    takt_plan *plan;
    takt_session *session;
    size_t inputs, outputs;
    double lo[MOST], hi[MOST], y[MOST];
} stand;

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    return count;
}

static bool open_stand(stand *s, const char *text)
{
    const takt_plan_options options = {.threads = 1, .backend = "cpu", .checks = "off"};
    *s = (stand){0};
    if (!EXPECT_OK(ctx,
                   takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &s->model)) ||
        !EXPECT_OK(ctx, takt_program_graph(s->model, &options, &s->graph)) ||
        !EXPECT_OK(ctx, takt_plan_create(s->model, &options, &s->plan)) ||
        !EXPECT_OK(ctx, takt_session_create(s->plan, NULL, &s->session)))
        return false;
    s->inputs = count_of(takt_session_input(s->session, 0));
    s->outputs = count_of(takt_session_output(s->session, 0));
    for (size_t i = 0; i < s->inputs; i++) { /* numbers of f32, in no order */
        s->lo[i] = 0.0625 * (double)(i * 37 % 64) - 2;
        s->hi[i] = s->lo[i] + 0.03125 * (double)(i * 11 % 32 + 1);
    }
    return EXPECT(s->inputs <= MOST && s->outputs <= MOST, "%zu", s->inputs);
}

static void close_stand(stand *s)
{
    takt_session_destroy(s->session);
    takt_plan_destroy(s->plan);
    takt_graph_destroy(s->graph);
    takt_model_destroy(s->model);
}

static void run(stand *s, const double *x)
{
    float *to = takt_session_input(s->session, 0)->data;
    for (size_t i = 0; i < s->inputs; i++)
        to[i] = (float)x[i];
    EXPECT_OK(ctx, takt_session_run(s->session));
    const float *from = takt_session_output(s->session, 0)->data;
    for (size_t i = 0; i < s->outputs; i++)
        s->y[i] = (double)from[i];
}

/* Whether the checker confirms that sign * output k is above `bound`. */
static bool confirms(const stand *s, size_t k, double sign, double bound)
{
    const takt_term term = {.index = (uint32_t)k, .factor = sign};
    const takt_halfspace row = {.terms = &term, .count = 1, .bound = bound};
    takt_case one = {.lo = s->lo, .hi = s->hi, .rows = &row, .row_count = 1};
    const takt_property p = {
        .input_count = s->inputs, .output_count = s->outputs, .cases = &one, .case_count = 1};
    const uint32_t proved = 0;
    takt_cut leaf = {.input = UINT32_MAX, .proved = &proved, .proved_count = 1};
    takt_certificate c = {.model = takt_graph_digest(s->graph), .cuts = &leaf, .count = 1};
    bool is_proved = false;
    char why[160];
    size_t boxes;
    takt_property_digest(&p, c.property);
    EXPECT_OK(ctx, takt_recheck_run(s->graph, &p, &c, &is_proved, why, &boxes));
    return is_proved;
}

/* A maximum is monotone in each of its elements: it is least where they are least. */
static void windows(void)
{
    static const char *const models[] = {
        "model m(x: f32[1, 2, 4, 4]) {\n  return op.max_pool(x, kernel=[2, 2], stride=[2, 2])\n}\n",
        "model m(x: f32[1, 1, 5, 7]) {\n  return op.max_pool(x, kernel=[3, 2], stride=[2, 3], "
        "pad=[1, 0, 1, 1])\n}\n",
        "model m(x: f32[1, 5, 5, 2]) {\n  return op.max_pool(x, kernel=[2, 2], dilation=[2, 1], "
        "layout=nhwc)\n}\n",
        "model m(x: f32[2, 1, 8]) {\n  return op.max_pool(x, kernel=[3], stride=[3], "
        "ceil=true)\n}\n",
    };
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        stand s;
        double least[MOST];
        if (!open_stand(&s, models[m])) {
            close_stand(&s);
            continue;
        }
        run(&s, s.lo);
        memcpy(least, s.y, sizeof least);
        run(&s, s.hi);
        for (size_t k = 0; k < s.outputs; k++) {
            EXPECT(confirms(&s, k, 1, least[k] - 1e-6), "model %zu, %zu: at least", m, k);
            EXPECT(!confirms(&s, k, 1, least[k] + 1e-6), "model %zu, %zu: more", m, k);
            EXPECT(confirms(&s, k, -1, -s.y[k] - 1e-6), "model %zu, %zu: at most", m, k);
            EXPECT(!confirms(&s, k, -1, -s.y[k] + 1e-6), "model %zu, %zu: less", m, k);
        }
        close_stand(&s);
    }
}

/* Inside a net: no point is outside the confirmed bounds. */
static void nets(void)
{
    stand s;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (!open_stand(&s, "model m(x: f32[1, 1, 6, 6]) seed=2 {\n"
                        "  h = max_pool(relu(conv(x, 3, kernel=3)), 2)\n"
                        "  return dense(flatten(h), 3)\n}\n")) {
        close_stand(&s);
        return;
    }
    uint64_t state = 3;
    for (int i = 0; i < 2000; i++) {
        double x[MOST];
        for (size_t k = 0; k < s.inputs; k++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            const double part =
                i % 2 == 0 ? (double)(state >> 63) : (double)(state >> 40) * 0x1p-24;
            x[k] = s.lo[k] + part * (s.hi[k] - s.lo[k]);
        }
        run(&s, x);
        for (size_t k = 0; k < 3; k++) {
            low[k] = fmin(low[k], s.y[k]);
            high[k] = fmax(high[k], s.y[k]);
        }
    }
    for (size_t k = 0; k < 3; k++) {
        const double width = high[k] - low[k];
        EXPECT(!confirms(&s, k, 1, low[k]) && !confirms(&s, k, -1, -high[k]), "output %zu", k);
        EXPECT(confirms(&s, k, 1, low[k] - 3 * width), "output %zu: below %g", k, low[k]);
        EXPECT(confirms(&s, k, -1, -high[k] - 3 * width), "output %zu: above %g", k, high[k]);
    }
    close_stand(&s);
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, windows, nets, stop)
