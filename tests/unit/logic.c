/* logic.c - every connective and aggregator under every semantics, and gradients.
 *
 * The formulas below are those of docs/logic.md, written again in C.
 */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "grad/grad.h"
#include "interp/interp.h"
#include "lang/parse.h"
#include "test.h"
#include "util/random_array.h"

static takt_ctx *ctx;

/* ---- connectives ---- */

typedef double connective(double a, double b);

static double larger(double a, double b)
{
    return a > b ? a : b;
}
static double lesser(double a, double b)
{
    return a < b ? a : b;
}
static double times(double a, double b)
{
    return a * b;
}
static double probabilistic_or(double a, double b)
{
    return a + b - a * b;
}
static double bounded_and(double a, double b)
{
    return larger(0, a + b - 1);
}
static double bounded_or(double a, double b)
{
    return lesser(1, a + b);
}
static double godel_implies(double a, double b)
{
    return a <= b ? 1 : b;
}
static double product_implies(double a, double b)
{
    return 1 - a + a * b;
}
static double lukasiewicz_implies(double a, double b)
{
    return lesser(1, 1 - a + b);
}

/* NULL: the semantics have none. */
static const struct {
    const char *name;
    connective *both, *either, *implies;
    bool has_not;
} semantics[] = {
    {"boolean", lesser, larger, godel_implies, true},
    {"godel", lesser, larger, godel_implies, true},
    {"product", times, probabilistic_or, product_implies, true},
    {"lukasiewicz", bounded_and, bounded_or, lukasiewicz_implies, true},
    {"viterbi", times, larger, NULL, false},
};
enum { SEMANTICS = sizeof semantics / sizeof *semantics, SIDE = 5 };

/* The value of output `name` of a text whose inputs a and b are the grid 0, 1/4 .. 1. */
static bool grid(const char *text, takt_session **s, takt_plan **plan, takt_model **m)
{
    if (takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, m) != TAKT_OK)
        return false;
    if (!EXPECT_OK(ctx, takt_plan_create(*m, NULL, plan)) ||
        !EXPECT_OK(ctx, takt_session_create(*plan, NULL, s)))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const takt_tensor_view *v = takt_session_input(*s, i);
        for (size_t k = 0; k < SIDE; k++)
            if (v->dtype == TAKT_BOOL)
                ((uint8_t *)v->data)[k] = k >= 2;
            else
                ((float *)v->data)[k] = (float)k / (SIDE - 1);
    }
    return EXPECT(takt_session_run(*s) == TAKT_OK, "%s", takt_session_error(*s)->message);
}

static void release(takt_session *s, takt_plan *plan, takt_model *m)
{
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static double element(const takt_tensor_view *v, size_t at)
{
    if (v->dtype == TAKT_F32)
        return ((const float *)v->data)[at];
    if (v->dtype == TAKT_BOOL)
        return ((const uint8_t *)v->data)[at];
    return (double)(((const uint64_t *)v->data)[at / SIDE] >> at % SIDE & 1);
}

static void table(size_t which, const char *formula, connective *want)
{
    char text[512];
    takt_session *s = NULL;
    takt_plan *plan = NULL;
    takt_model *m = NULL;
    snprintf(text, sizeof text,
             "domain d = %d\nmodel m() semantics=%s {\n  relation a(d)\n  relation b(d)\n"
             "  rule r(x, y) = %s\n  return r\n}\n",
             SIDE, semantics[which].name, formula);
    const bool is_good = grid(text, &s, &plan, &m);
    EXPECT(is_good == (want != NULL), "%s: %s", text, takt_last_error(ctx));
    EXPECT(is_good || takt_last_error_info(ctx)->id == TAKT_E_SEMANTICS, "%s",
           takt_last_error(ctx));
    for (size_t i = 0; is_good && want != NULL && i < SIDE * SIDE; i++) {
        double a = (double)(i / SIDE) / (SIDE - 1), b = (double)(i % SIDE) / (SIDE - 1);
        if (which == 0) {
            a = i / SIDE >= 2;
            b = i % SIDE >= 2;
        }
        const double got = element(takt_session_output(s, 0), i);
        EXPECT(fabs(got - want(a, b)) < 1e-6 && got >= 0 && got <= 1,
               "%s: %s of %g and %g is %g, not %g", semantics[which].name, formula, a, b, got,
               want(a, b));
    }
    release(s, plan, m);
}

static connective *current_implies, *current_both;
static double iff(double a, double b)
{
    return current_both(current_implies(a, b), current_implies(b, a));
}
static double not_a(double a, double b)
{
    (void)b;
    return 1 - a;
}

static void connectives(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < SEMANTICS; i++) {
        current_both = semantics[i].both;
        current_implies = semantics[i].implies;
        table(i, "a(x) and b(y)", semantics[i].both);
        table(i, "a(x) or b(y)", semantics[i].either);
        table(i, "a(x) implies b(y)", semantics[i].implies);
        table(i, "a(x) iff b(y)", semantics[i].implies != NULL ? iff : NULL);
        table(i, "not a(x) and (b(y) or true)", semantics[i].has_not ? not_a : NULL);
    }
    takt_ctx_destroy(ctx);
}

/* ---- aggregators over the values 0, 1/4, 1/2, 3/4 and 1, or those from 1/2 on ---- */

static double scalar(const char *name, const char *formula)
{
    char text[512];
    takt_session *s = NULL;
    takt_plan *plan = NULL;
    takt_model *m = NULL;
    snprintf(text, sizeof text,
             "domain d = %d\nmodel m(a: f32[d], b: f32[d]) semantics=%s {\n  relation t(d) = a\n"
             "  rule r() = %s\n  return r\n}\n",
             SIDE, name, formula);
    const double got = grid(text, &s, &plan, &m) ? element(takt_session_output(s, 0), 0) : NAN;
    release(s, plan, m);
    return got;
}

static void expect_scalar(const char *name, const char *formula, double want)
{
    const double got = scalar(name, formula);
    EXPECT(fabs(got - want) < 2e-6, "%s: %s is %.9g, not %.9g: %s", name, formula, got, want,
           takt_last_error(ctx));
}

/* LTN's stable means of powers. */
static double mean_power(double p, bool is_exists, size_t from)
{
    double sum = 0;
    for (size_t i = from; i < SIDE; i++) {
        const double x = (double)i / (SIDE - 1) * (1 - 1e-4);
        sum += pow(is_exists ? x + 1e-4 : 1 - x, p);
    }
    const double root = pow(sum / (double)(SIDE - from), 1 / p);
    return is_exists ? root : 1 - root;
}

static void aggregators(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    expect_scalar("godel", "exists x: t(x)", 1);
    expect_scalar("godel", "forall x where x > 1: t(x)", 0.5);
    expect_scalar("godel", "at_least(2) x: t(x)", 0.75);
    expect_scalar("godel", "at_least(5) x: t(x)", 0);
    expect_scalar("godel", "at_least(6) x: t(x)", 0);
    expect_scalar("product", "exists x where x < 3: t(x)", 1 - 1 * 0.75 * 0.5);
    expect_scalar("product", "forall x where x > 1: t(x)", 0.5 * 0.75);
    expect_scalar("product", "exists x where x < 0: t(x)", 0);
    expect_scalar("product", "forall x where x < 0: t(x)", 1);
    expect_scalar("product", "exists x, y in d where y < 2: t(x) and x < 3",
                  1 - 0.75 * 0.75 * 0.25);
    expect_scalar("lukasiewicz", "exists x where x < 3: t(x)", 0.75);
    expect_scalar("lukasiewicz", "forall x where x > 2: t(x)", 0.75);
    expect_scalar("lukasiewicz", "forall x: t(x)", 0);
    expect_scalar("viterbi", "exists x where x < 4: t(x)", 0.75);
    expect_scalar("viterbi", "forall x where x > 1: t(x)", 0.375);
    for (int p = 1; p <= 6; p++) {
        char text[64];
        snprintf(text, sizeof text, "exists(p=%d) x: t(x)", p);
        expect_scalar("product", text, mean_power(p, true, 0));
        snprintf(text, sizeof text, "forall(p=%d) x where x >= 2: t(x)", p);
        expect_scalar("product", text, mean_power(p, false, 2));
    }
    expect_scalar("product", "forall(p=2) x where x < 0: t(x)", 1);
    expect_scalar("product", "exists(p=2) x where x < 0: t(x)", 0);
    expect_scalar("product",
                  "(sum x: a[x]) == 2.5 and (max x in d: x) == 4 and (min x in d: x + 1) == 1", 1);
    expect_scalar("product",
                  "(mean x where x > 1: a[x]) == 0.75 and (product x in d: x + 1) == 120", 1);
    expect_scalar("product", "(count x: a[x] > 0.4) == 3 and (sum x in d: x if x > 2 else 0) == 7",
                  1);
    expect_scalar("product", "0.5 if a[1] == 0.25 else 0.1", 0.5);
    takt_ctx_destroy(ctx);
}

/* ---- gradients ---- */

static double loss_of(const takt_graph *g, const takt_array *slots)
{
    takt_array out[8] = {{0}};
    double value = NAN;
    if (EXPECT_OK(ctx, takt_interpret_arrays(ctx, g, NULL, slots, out, NULL)))
        value = out[g->output_count - 1].f[0];
    for (size_t i = 0; i < g->output_count; i++)
        takt_array_release(ctx, &out[i]);
    return value;
}

/* The loss of a constraint over parameters: its gradient against differences. f32 has few digits,
 * so the step is large and the tolerance as well. */
static void gradient(const char *name, const char *formula)
{
    char text[1024];
    takt_graph *g = NULL, *back = NULL;
    takt_array slots[2] = {{0}}, out[8] = {{0}};
    takt_random random = {.state = 5};
    const takt_sample_range range = {true, 0.15, 0.85};
    snprintf(text, sizeof text,
             "domain d = 3\nmodel m() semantics=%s {\n  param p: [d, d]\n  param q: [d, d]\n"
             "  relation a(d, d) = p\n  relation b(d, d) = q\n"
             "  constraint c weight=2 = %s\n}\n",
             name, formula);
    if (EXPECT(takt_parse(ctx, "m.takt", text, strlen(text), NULL, &g) == TAKT_OK, "%s\n%s", text,
               takt_last_error(ctx)) &&
        EXPECT_OK(ctx, takt_grad(ctx, g, "loss", NULL, 0, &back))) {
        for (size_t i = 0; i < 2; i++)
            EXPECT_OK(ctx, takt_random_array(ctx, &random, &g->slots[i].type, &range, &slots[i]));
        EXPECT_OK(ctx, takt_interpret_arrays(ctx, back, NULL, slots, out, NULL));
        const size_t first = back->output_count - 2;
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; out[first].f != NULL && k < slots[i].count; k++) {
                const double old = slots[i].f[k], step = 0x1p-10;
                slots[i].f[k] = (float)(old + step);
                const double high = loss_of(g, slots), up = slots[i].f[k];
                slots[i].f[k] = (float)(old - step);
                const double slope = (high - loss_of(g, slots)) / (up - slots[i].f[k]);
                slots[i].f[k] = old;
                EXPECT(fabs(slope - out[first + i].f[k]) < 4e-3 * (1 + fabs(slope)),
                       "%s: %s: element %zu of %s is %g, not %g", name, formula, k,
                       g->slots[i].name, out[first + i].f[k], slope);
            }
        for (size_t i = 0; i < back->output_count; i++)
            takt_array_release(ctx, &out[i]);
    }
    for (size_t i = 0; i < 2; i++)
        takt_array_release(ctx, &slots[i]);
    takt_graph_destroy(back);
    takt_graph_destroy(g);
}

static void gradients(void)
{
    static const char *const names[] = {"godel", "product", "lukasiewicz"};
    static const char *const formulas[] = {
        "forall(p=2) x, y: a(x, y) implies b(y, x)",
        "exists(p=3) x, y where x != y: a(x, y) and not b(x, y)",
        "forall(p=2) x, z: exists y: a(x, y) and b(y, z)",
        "exists x: forall(p=2) y: a(x, y) or b(x, y)",
        "forall(p=2) x: (exists y: a(x, y)) iff b(x, x)",
    };
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof formulas / sizeof *formulas; k++)
            gradient(names[i], formulas[k]);
    gradient("product", "forall x: exists y: a(x, y)");
    gradient("viterbi", "exists x, z: exists y: a(x, y) and b(y, z)");
    takt_ctx_destroy(ctx);
}

/* ---- losses ---- */

/* Truth under its name, then the weighted sum of the violations. */
static void losses(void)
{
    static const char text[] = "domain d = 5\nmodel m(a: f32[d], b: f32[d]) semantics=product {\n"
                               "  constraint one weight=3 = a(1)\n"
                               "  constraint two weight=0.5 = b(2) and b(3)\n"
                               "  constraint sure semantics=boolean = forall x in d: x < 5\n}\n";
    static const double want[] = {0.25, 0.375, 1, 3 * 0.75 + 0.5 * 0.625};
    takt_session *s = NULL;
    takt_plan *plan = NULL;
    takt_model *m = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT(grid(text, &s, &plan, &m), "%s", takt_last_error(ctx)))
        for (size_t i = 0; i < 4; i++)
            EXPECT(fabs(element(takt_session_output(s, i), 0) - want[i]) < 1e-6, "%zu: %g", i,
                   element(takt_session_output(s, i), 0));
    release(s, plan, m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(connectives, aggregators, gradients, losses)
