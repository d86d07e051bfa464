/* verify_linear.c - linear bounds: lines hold over random boxes, and kernel results are within the
 * bounds of every output. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "op/util/relax.h"
#include "test.h"
#include "verify/alpha.h"
#include "verify/goal.h"
#include "verify/products.h"
#include "verify/program.h"

static takt_ctx *ctx;
static uint64_t state = 7;

static double uniform(void)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (double)(state >> 11) * 0x1p-53;
}

static double between(double lo, double hi)
{
    return lo + (hi - lo) * uniform();
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

/* ---- lines ---- */

typedef struct setting {
    double least, most; /* of the first input */
} setting;

static setting setting_of(const takt_op *op)
{
    if (op == &takt_op_log || op == &takt_op_sqrt)
        return (setting){1e-3, 50};
    if (op == &takt_op_exp)
        return (setting){-20, 20};
    return (setting){-9, 9};
}

static double result(const takt_node *n, const double *x)
{
    takt_scalar s = {.attr = n->attr, .dtype = TAKT_F64};
    return n->op->scalar_f(&s, x);
}

/* One box, 50 points of it. */
static bool lines_hold(const takt_node *n, bool chooses)
{
    const setting s = setting_of(n->op);
    double lo[2], hi[2], slopes[4], at[2], choice[2] = {uniform(), uniform()};
    takt_relaxing r = {.node = n, .count = 1, .below_at = &at[0], .above_at = &at[1]};
    for (int k = 0; k < n->op->in_max; k++) {
        const double width = pow(10, between(-6, 1)), from = between(s.least, s.most);
        lo[k] = from;
        hi[k] = fmin(from + width, s.most);
        if (uniform() < 0.1)
            lo[k] = hi[k] = from;
        r.lo[k] = &lo[k];
        r.hi[k] = &hi[k];
        r.below[k] = &slopes[k];
        r.above[k] = &slopes[2 + k];
        r.choice[k] = chooses ? &choice[k] : NULL;
    }
    if (chooses) {
        r.choice[0] = &choice[0];
        r.choice[1] = &choice[1];
    }
    n->op->relax(&r);
    for (int i = 0; i < 50; i++) {
        double x[2] = {0}, below = at[0], above = at[1];
        for (int k = 0; k < n->op->in_max; k++) {
            x[k] = i == 0 ? lo[k] : i == 1 ? hi[k] : between(lo[k], hi[k]);
            below += slopes[k] * x[k];
            above += slopes[2 + k] * x[k];
        }
        const double y = result(n, x), slack = 1e-14 * (fabs(below) + fabs(above) + fabs(y));
        if (!EXPECT(below <= y + slack && y <= above + slack,
                    "%s on [%.17g, %.17g]: %.17g <= %.17g <= %.17g at %.17g", n->op->name, lo[0],
                    hi[0], below, y, above, x[0]))
            return false;
    }
    return true;
}

static void lines(void)
{
    int count = 0;
    for (size_t i = 0; i < takt_op_count; i++) {
        takt_attr attrs[TAKT_MAX_ATTRS] = {0};
        takt_node n = {.op = takt_ops[i], .attr = attrs};
        if (n.op->relax == NULL)
            continue;
        count++;
        for (size_t k = 0; k < takt_op_attr_count(n.op); k++)
            attrs[k] = n.op->attrs[k].fallback;
        if (n.op == &takt_op_clip) {
            attrs[0] = (takt_attr){.f64 = -1, .is_set = true};
            attrs[1] = (takt_attr){.f64 = 2.5, .is_set = true};
        }
        for (int k = 0; k < 2000; k++)
            if (!lines_hold(&n, k % 2 == 1))
                break;
    }
    EXPECT(count >= 18, "%d ops have lines", count);
}

/* Far below 0, 1 + tanh has lost its digits, and lines for real numbers hold nevertheless. */
static void tails(void)
{
    takt_attr attrs[TAKT_MAX_ATTRS] = {{.i64 = 1}}; /* approximate=tanh */
    const takt_node n = {.op = &takt_op_gelu, .attr = attrs};
    for (double x = -9; x < -5; x += 0.001) {
        double slopes[2], at[2], hi = x + 1e-9;
        takt_relaxing r = {.node = &n, .count = 1, .below_at = &at[0], .above_at = &at[1]};
        r.lo[0] = &x;
        r.hi[0] = &hi;
        r.below[0] = &slopes[0];
        r.above[0] = &slopes[1];
        n.op->relax(&r);
        const double y = x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
        if (!EXPECT(slopes[0] * x + at[0] <= y && y <= slopes[1] * x + at[1],
                    "%g <= %g <= %g at %g", slopes[0] * x + at[0], y, slopes[1] * x + at[1], x))
            return;
    }
}

/* ---- nets ---- */

static const char *const models[] = {
    "model m(x: f32[1, 6]) seed=1 {\n  h = dense(x, 9, act=relu)\n  h = dense(h, 8, act=relu)\n"
    "  return dense(h, 3)\n}\n",
    "model m(x: f32[1, 6]) seed=2 {\n  h = sigmoid(dense(x, 9))\n  h = tanh(dense(h, 8))\n"
    "  return gelu(dense(h, 3))\n}\n",
    "model m(x: f32[1, 6]) seed=3 {\n  h = leaky_relu(dense(x, 9))\n  h = silu(dense(h, 8))\n"
    "  return op.clip(dense(h, 3), min=-0.25, max=0.5)\n}\n",
    "model m(x: f32[1, 6]) seed=4 {\n  h = dense(x, 5)\n"
    "  return softmax(dense(relu(h) - h, 4))\n}\n",
    "model m(x: f32[1, 6]) seed=5 {\n  a = dense(x, 4)\n  b = dense(x, 4)\n"
    "  return op.max(a, b) * op.min(a, b)\n}\n",
    "model m(x: f32[1, 6]) seed=6 {\n  a = dense(x, 4)\n"
    "  return exp(a) / (2 + sigmoid(a)) + a * a\n}\n",
    "model m(x: f32[1, 2, 6, 5]) seed=7 {\n  h = conv(x, 3, kernel=3, act=relu)\n"
    "  h = max_pool(h, 2)\n  return dense(flatten(h), 4)\n}\n",
    "model m(x: f32[1, 2, 6, 5]) seed=8 {\n  h = conv(x, 4, kernel=3, stride=2, pad=1)\n"
    "  h = avg_pool(relu(h), 2)\n  return op.reduce_sum(h, axes=[2, 3])\n}\n",
    "model m(x: f32[1, 6], z: f32[1, 2]) seed=9 {\n  y = concat(dense(x, 3), z, axis=1)\n"
    "  return relu(dense(y, 4)) + y[:, 1:5]\n}\n",
    "model m(x: f32[4, 3]) seed=10 {\n  q = dense(x, 4)\n  k = dense(x, 4)\n"
    "  return softmax(op.matmul(q, k, transpose_b=true)) @ x\n}\n",
    "model m(x: f32[2, 6]) seed=11 {\n  return layer_norm(dense(x, 5) + 3)\n}\n",
    "model m(x: f32[1, 3, 4]) seed=13 {\n  h = sigmoid(dense((x - 0.5) / 0.25, 9))\n"
    "  return dense(tanh(dense(h, 9))[:, 0], 3)\n}\n",
    "model m(x: f32[1, 70]) seed=12 {\n  h = relu(dense(relu(dense(x, 80)), 96))\n"
    "  return dense(sigmoid(dense(h, 72)), 9)\n}\n",
};

typedef struct bench {
    takt_model *model;
    takt_graph *graph;
    takt_net net;
    takt_region region;
    takt_session *session;
    takt_plan *plan;
    double *lo, *hi, *lower, *upper;
    struct takt_alpha *alpha; /* lines that are chosen for each row */
    double total[3];          /* widths of all boxes: by intervals, lines, chosen lines */
} bench;

static bool open_bench(bench *b, const char *text, bool is_real)
{
    const takt_plan_options options = {.threads = 1, .backend = "cpu", .checks = "off"};
    *b = (bench){0};
    return EXPECT_OK(ctx,
                     takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &b->model)) &&
           EXPECT_OK(ctx, takt_program_graph(b->model, &options, &b->graph)) &&
           EXPECT(takt_net_init(b->graph, is_real, &b->net) == TAKT_OK, "%s\n%s",
                  takt_last_error(ctx), text) &&
           EXPECT_OK(ctx, takt_products_net(&b->net, false)) &&
           EXPECT_OK(ctx, takt_region_init(&b->net, TAKT_REGION_ROWS, &b->region)) &&
           EXPECT_OK(ctx, takt_alpha_init(&b->region, 6)) && (b->alpha = b->region.alpha) != NULL &&
           EXPECT_OK(ctx, takt_plan_create(b->model, &options, &b->plan)) &&
           EXPECT_OK(ctx, takt_session_create(b->plan, NULL, &b->session)) &&
           (b->lo = calloc(4 * 256, sizeof *b->lo)) != NULL;
}

static void close_bench(bench *b)
{
    free(b->lo);
    takt_session_destroy(b->session);
    takt_plan_destroy(b->plan);
    takt_region_deinit(&b->region);
    takt_net_deinit(&b->net);
    takt_graph_destroy(b->graph);
    takt_model_destroy(b->model);
}

/* Points of the box, including corners: outputs of a run are within the bounds. */
static bool inside(bench *b, int points, double slack)
{
    for (int p = 0; p < points; p++) {
        size_t at = 0;
        for (size_t i = 0; i < takt_session_input_count(b->session); i++) {
            float *x = takt_session_input(b->session, i)->data;
            const uint32_t count = b->net.nodes[b->net.inputs[i]].count;
            for (uint32_t k = 0; k < count; k++, at++)
                x[k] = (float)(p % 2 == 0        ? between(b->lo[at], b->hi[at])
                               : uniform() < 0.5 ? b->lo[at]
                                                 : b->hi[at]);
        }
        if (!EXPECT_OK(ctx, takt_session_run(b->session)))
            return false;
        const float *y = takt_session_output(b->session, 0)->data;
        for (size_t k = 0; k < b->net.output_count; k++)
            if (!EXPECT((double)y[k] >= b->lower[k] - slack && (double)y[k] <= b->upper[k] + slack,
                        "output %zu: %.9g is not in [%.17g, %.17g]", k, (double)y[k], b->lower[k],
                        b->upper[k]))
                return false;
    }
    return true;
}

static bool boxes(bench *b, bool is_real)
{
    b->hi = b->lo + 256;
    b->lower = b->hi + 256;
    b->upper = b->lower + 256;
    for (int i = 0; i < 12; i++) {
        const double width = i == 0 ? 0 : pow(10, between(-5, 0.3));
        for (size_t k = 0; k < b->net.input_count; k++) {
            b->lo[k] = (double)(float)between(-1, 1);
            b->hi[k] = (double)(float)(b->lo[k] + width * uniform());
        }
        double widths[3] = {0};
        for (int refines = 0; refines < 3; refines++) {
            b->region.alpha = refines == 2 ? b->alpha : NULL;
            takt_region_box(&b->region, b->lo, b->hi);
            takt_region_bound(&b->region, refines > 0);
            takt_goal_outputs(&b->region, refines > 0, b->lower, b->upper);
            for (size_t k = 0; k < b->net.output_count; k++)
                widths[refines] += b->upper[k] - b->lower[k];
            b->total[refines] += widths[refines];
            if (!inside(b, 40, is_real ? 1e-4 : 0))
                return false;
        }
        if (!EXPECT(!(widths[1] > widths[0] * (1 + 1e-9)), "lines are wider: %g, %g", widths[1],
                    widths[0]))
            return false;
    }
    return EXPECT(!(b->total[2] > b->total[1] * (1 + 1e-3)), "chosen lines are wider: %g, %g",
                  b->total[2], b->total[1]);
}

static void nets(void)
{
    for (size_t i = 0; i < 2 * (sizeof models / sizeof *models); i++) {
        bench b;
        const bool is_real = i % 2 == 1;
        if (open_bench(&b, models[i / 2], is_real) && !boxes(&b, is_real))
            EXPECT(false, "%s", models[i / 2]);
        /* Sigmoids alone: tangents are chosen, not only slopes of relus. */
        EXPECT(i / 2 != 1 || b.total[2] < 0.995 * b.total[1], "%g by chosen lines, %g by lines",
               b.total[2], b.total[1]);
        close_bench(&b);
    }
}

/* Rounding that is counted makes bounds wider, and by little. */
static void rounding(void)
{
    bench b[2];
    double widths[2] = {0};
    for (int k = 0; k < 2; k++) {
        if (open_bench(&b[k], models[0], k == 1)) {
            b[k].hi = b[k].lo + 256;
            b[k].lower = b[k].hi + 256;
            b[k].upper = b[k].lower + 256;
            for (int i = 0; i < 6; i++) {
                b[k].lo[i] = 0.25;
                b[k].hi[i] = 0.5;
            }
            takt_region_box(&b[k].region, b[k].lo, b[k].hi);
            takt_region_bound(&b[k].region, true);
            takt_goal_outputs(&b[k].region, true, b[k].lower, b[k].upper);
            widths[k] = b[k].upper[0] - b[k].lower[0];
        }
        close_bench(&b[k]);
    }
    EXPECT(widths[0] > widths[1] && widths[0] < 1.02 * widths[1], "%g, %g", widths[0], widths[1]);
}

/* From the same lines, products in f32 give bounds below those in f64, and by little. */
static void singles(void)
{
    bench b;
    double *at = NULL;
    if (open_bench(&b, models[sizeof models / sizeof *models - 1], true) &&
        EXPECT(b.region.products != NULL, "no product is large")) {
        struct takt_products *products = b.region.products;
        at = calloc(4 * b.net.output_count, sizeof *at);
        for (int i = 0; at != NULL && i < 20; i++) {
            double *lower[2] = {at, at + b.net.output_count};
            double *upper[2] = {lower[1] + b.net.output_count, lower[1] + 2 * b.net.output_count};
            for (size_t k = 0; k < b.net.input_count; k++) {
                b.lo[k] = between(-1, 1);
                b.lo[256 + k] = b.lo[k] + (i == 0 ? 0 : pow(10, -(double)(i % 6))) * uniform();
            }
            b.region.products = NULL;
            takt_region_box(&b.region, b.lo, b.lo + 256);
            takt_region_bound(&b.region, true);
            takt_goal_outputs(&b.region, true, lower[0], upper[0]);
            b.region.products = products;
            for (size_t k = 0; k < b.net.count; k++)
                if (b.net.nodes[k].is_used)
                    takt_region_node(&b.region, k, true);
            takt_goal_outputs(&b.region, true, lower[1], upper[1]);
            for (size_t k = 0; k < b.net.output_count; k++)
                EXPECT(lower[1][k] <= lower[0][k] && upper[1][k] >= upper[0][k] &&
                           upper[1][k] - lower[1][k] <= upper[0][k] - lower[0][k] + 2e-3,
                       "box %d: [%.17g, %.17g] by f32, [%.17g, %.17g] by f64", i, lower[1][k],
                       upper[1][k], lower[0][k], upper[0][k]);
        }
    }
    free(at);
    close_bench(&b);
}

/* Rows are propagated back only from nodes that outputs read, and not from sums of inputs, which
 * are exact. */
static void work(void)
{
    static const char text[] =
        "model m(x: f32[1, 3, 4]) seed=13 {\n  h = sigmoid(dense((x - 0.5) / 0.25, 9))\n"
        "  return dense(tanh(dense(h, 9))[:, 0], 3)\n}\n";
    bench b;
    if (open_bench(&b, text, true)) {
        for (size_t k = 0; k < b.net.input_count; k++)
            b.lo[256 + k] = 0.125;
        b.region.alpha = NULL;
        takt_region_box(&b.region, b.lo, b.lo + 256);
        takt_region_bound(&b.region, true);
        EXPECT(b.region.backs == 2 * 9, "%llu rows", (unsigned long long)b.region.backs);
        EXPECT(b.net.entries[0] != b.net.inputs[0], "rows end where the input is scaled");
    }
    close_bench(&b);
}

/* ---- refusals ---- */

static int drop(void *user, const char *bytes, size_t length)
{
    (void)user, (void)bytes, (void)length;
    return 0;
}

static int refused(const char *text)
{
    takt_model *m = NULL;
    const takt_verify_options options = {.property = "tests/corpus/vnnlib/good_first",
                                         .threads = 1};
    int id = 0;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m)) &&
        takt_model_verify(m, &options, TAKT_FORMAT_TEXT, drop, NULL, NULL) != TAKT_OK)
        id = takt_last_error_info(ctx)->id;
    takt_model_destroy(m);
    return id;
}

static void refusals(void)
{
    EXPECT(refused("model m(x: f32[2]) { return 2 * x }") == 0, "%s", takt_last_error(ctx));
    EXPECT(refused("model m(x: f32[3]) { return x[:2] }") == TAKT_E_PROPERTY_COUNT, "inputs");
    EXPECT(refused("model m(x: f32[2]) { return x[:1] }") == TAKT_E_PROPERTY_COUNT, "outputs");
    EXPECT(refused("model m(x: f32[2]) { return sin(x) }") == TAKT_E_VERIFY_MODEL, "%s",
           takt_last_error(ctx));
    EXPECT(refused("model m(x: i32[2]) { return x }") == TAKT_E_VERIFY_MODEL, "%s",
           takt_last_error(ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, lines, tails, nets, rounding, singles, work, refusals, stop)
