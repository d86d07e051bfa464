/* logic_probability.c - rules under `probability`: random programs against an enumeration of all
 * worlds, batches, rows that exclude each other, and refusals.
 *
 * Arguments: the first seed and the number of programs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/random_array.h"

static takt_ctx *ctx;

static bool start(const char *text, takt_model **m, takt_plan **p, takt_session **s)
{
    *s = NULL;
    *p = NULL;
    *m = NULL;
    return takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, m) == TAKT_OK &&
           takt_plan_create(*m, NULL, p) == TAKT_OK && takt_session_create(*p, NULL, s) == TAKT_OK;
}

static void stop(takt_model *m, takt_plan *p, takt_session *s)
{
    takt_session_destroy(s);
    takt_plan_destroy(p);
    takt_model_destroy(m);
}

/* ---- random programs ---- */

/* Events: u(x) for SIDE values, and e(x, y); rules of a random formula over p(x) and the closure
 * of e. A formula is a tree of depth 3 over the variables x and y. */
enum { SIDE = 3, EVENTS = SIDE + SIDE * SIDE, NODES = 64 };
enum { U, E, PATH, SAME, LESS, AND, OR, NOT, IMPLIES, IFF, EXISTS, FORALL, TWO, KINDS };

typedef struct tree {
    int kind[NODES], a[NODES], b[NODES], var[NODES][2];
    int count;
    char text[8192];
    size_t length;
} tree;

static int below(takt_random *r, int limit)
{
    return (int)takt_random_below(r, (size_t)limit);
}

static void say(tree *t, const char *text)
{
    t->length += (size_t)snprintf(t->text + t->length, sizeof t->text - t->length, "%s", text);
}

static int grow(tree *t, takt_random *r, int depth, int vars)
{
    static const char *const words[] = {
        [AND] = " and ", [OR] = " or ", [IMPLIES] = " implies ", [IFF] = " iff "};
    char name[64];
    const int at = t->count++;
    const bool may_bind = vars < 4 && depth > 0;
    do
        t->kind[at] = depth == 0 ? below(r, AND) : below(r, KINDS);
    while (t->kind[at] >= EXISTS && !may_bind);
    const int k = t->kind[at];
    for (int i = 0; i < 2; i++)
        t->var[at][i] = below(r, vars);
    if (k < AND) {
        static const char *const forms[] = {"u(v%d)", "e(v%d, v%d)", "path(v%d, v%d)", "v%d == v%d",
                                            "v%d < v%d"};
        snprintf(name, sizeof name, forms[k], t->var[at][0], t->var[at][1]);
        say(t, name);
        return at;
    }
    say(t, "(");
    if (k >= EXISTS) {
        t->var[at][0] = vars;
        snprintf(name, sizeof name, "%s v%d in d: ",
                 k == EXISTS   ? "exists"
                 : k == FORALL ? "forall"
                               : "at_least(2)",
                 vars);
        say(t, name);
        t->a[at] = grow(t, r, depth - 1, vars + 1);
    } else if (k == NOT) {
        say(t, "not ");
        t->a[at] = grow(t, r, depth - 1, vars);
    } else {
        t->a[at] = grow(t, r, depth - 1, vars);
        say(t, words[k]);
        t->b[at] = grow(t, r, depth - 1, vars);
    }
    say(t, ")");
    return at;
}

typedef struct world {
    bool u[SIDE], e[SIDE][SIDE], path[SIDE][SIDE];
} world;

static bool holds(const tree *t, int at, const world *w, int *env)
{
    const int x = env[t->var[at][0]], y = env[t->var[at][1]], k = t->kind[at];
    if (k >= EXISTS) {
        int count = 0;
        for (int i = 0; i < SIDE; i++) {
            env[t->var[at][0]] = i;
            count += holds(t, t->a[at], w, env);
        }
        return k == EXISTS ? count > 0 : k == FORALL ? count == SIDE : count >= 2;
    }
    switch (k) {
    case U: return w->u[x];
    case E: return w->e[x][y];
    case PATH: return w->path[x][y];
    case SAME: return x == y;
    case LESS: return x < y;
    case NOT: return !holds(t, t->a[at], w, env);
    default: break;
    }
    const bool a = holds(t, t->a[at], w, env), b = holds(t, t->b[at], w, env);
    return k == AND ? a && b : k == OR ? a || b : k == IMPLIES ? !a || b : a == b;
}

static void close_paths(world *w)
{
    memcpy(w->path, w->e, sizeof w->path);
    for (int k = 0; k < SIDE; k++)
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++)
                w->path[i][j] = w->path[i][j] || (w->path[i][k] && w->path[k][j]);
}

static void expected(const tree *t, const double *p, double want[SIDE][SIDE])
{
    memset(want, 0, sizeof(double[SIDE][SIDE]));
    for (int all = 0; all < 1 << EVENTS; all++) {
        world w;
        double weight = 1;
        for (int i = 0; i < EVENTS; i++) {
            const bool is = (all >> i & 1) != 0;
            weight *= is ? p[i] : 1 - p[i];
            *(i < SIDE ? &w.u[i] : &w.e[(i - SIDE) / SIDE][(i - SIDE) % SIDE]) = is;
        }
        if (weight == 0)
            continue;
        close_paths(&w);
        for (int x = 0; x < SIDE; x++)
            for (int y = 0; y < SIDE; y++) {
                int env[8] = {x, y};
                want[x][y] += holds(t, 0, &w, env) ? weight : 0;
            }
    }
}

static bool answer(takt_session *s, float *u, float *e, double *got)
{
    const takt_tensor_view views[] = {
        {.dtype = TAKT_F32, .rank = 1, .dims = {SIDE}, .data = u},
        {.dtype = TAKT_F32, .rank = 2, .dims = {SIDE, SIDE}, .data = e}};
    if (!EXPECT_OK(ctx, takt_session_bind(s, "u", &views[0])) ||
        !EXPECT_OK(ctx, takt_session_bind(s, "e", &views[1])) ||
        !EXPECT_OK(ctx, takt_session_run(s)))
        return false;
    const takt_tensor_view *out = takt_session_output(s, 0);
    for (int i = 0; i < SIDE * SIDE; i++)
        got[i] = out->dtype == TAKT_F64 ? ((const double *)out->data)[i]
                                        : (double)((const float *)out->data)[i];
    return true;
}

static void program(uint64_t seed)
{
    static tree t;
    static char text[12000];
    double p[EVENTS], want[SIDE][SIDE];
    float u[SIDE], e[SIDE * SIDE];
    double got[SIDE * SIDE];
    const bool is_wide = seed % 2 == 1;
    takt_model *m;
    takt_plan *plan;
    takt_session *s;
    takt_random r;
    r.state = seed * 7919;
    t = (tree){.count = 0};
    grow(&t, &r, 3, 2);
    for (int i = 0; i < EVENTS; i++) {
        const int kind = below(&r, 4);
        p[i] = kind == 0 ? 0 : (double)(1 + below(&r, 15)) / 16;
        p[i] = kind == 1 && below(&r, 3) == 0 ? 1 : p[i];
        *(i < SIDE ? &u[i] : &e[i - SIDE]) = (float)p[i];
    }
    snprintf(text, sizeof text,
             "domain d = %d\nmodel m(u: f32[d], e: f32[d, d]) semantics=probability %s {\n"
             "  rule path(x, z) = e(x, z) or exists y: e(x, y) and path(y, z)\n"
             "  rule r(v0: d, v1: d) = %s\n  return r\n}\n",
             SIDE, is_wide ? "truth=f64" : "", t.text);
    expected(&t, p, want);
    const bool is_good = EXPECT(start(text, &m, &plan, &s), "seed %llu: %s\n%s",
                                (unsigned long long)seed, takt_last_error(ctx), text);
    if (is_good && answer(s, u, e, got))
        for (int i = 0; i < SIDE * SIDE; i++)
            EXPECT(fabs(got[i] - want[i / SIDE][i % SIDE]) < (is_wide ? 1e-12 : 2e-6) &&
                       got[i] >= 0 && got[i] <= 1,
                   "seed %llu, %d: %.17g instead of %.17g\n%s", (unsigned long long)seed, i, got[i],
                   want[i / SIDE][i % SIDE], text);
    stop(m, plan, s);
}

/* ---- rows and batches ---- */

/* Sums of two digits: d and e exclude their like, batches are batches. */
static void sums(void)
{
    static const char text[] =
        "domain total = 5\n"
        "model add(x: f32[batch, 2, 3], label: i64[batch]) semantics=probability {\n"
        "  digit = softmax(x)\n"
        "  rule adds(i, s: total) = exists d, e: digit(i, 0, d) and digit(i, 1, e) and s == d + e\n"
        "  rule one(i, p) = exists d: digit(i, p, d)\n"
        "  rule two(i, p) = exists d, e where d < e: digit(i, p, d) and digit(i, p, e)\n"
        "  constraint right = forall i: adds(i, label[i])\n"
        "  return adds, one, two\n}\n";
    float x[4 * 6];
    const int64_t label[] = {0, 3, 4, 9};
    takt_model *m;
    takt_plan *plan;
    takt_session *s;
    double product = 1, loss = 0;
    const takt_plan_options options = {.size = sizeof options, .sizes = "batch=3"};
    for (int i = 0; i < 18; i++)
        x[i] = (float)(i * 7 % 5) / 2;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, sizeof text - 1, NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, &options, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    const takt_tensor_view in[] = {
        {.dtype = TAKT_F32, .rank = 3, .dims = {3, 2, 3}, .data = x},
        {.dtype = TAKT_I64, .rank = 1, .dims = {3}, .data = (void *)(uintptr_t)label}};
    EXPECT_OK(ctx, takt_session_bind(s, "x", &in[0]));
    EXPECT_OK(ctx, takt_session_bind(s, "label", &in[1]));
    EXPECT_OK(ctx, takt_session_run(s));
    const float *adds = takt_session_output(s, 0)->data;
    for (int i = 0; i < 3; i++) {
        double row[2][3], want[5] = {0};
        for (int k = 0; k < 2; k++) {
            double sum = 0;
            for (int d = 0; d < 3; d++)
                sum += exp((double)x[i * 6 + k * 3 + d]);
            for (int d = 0; d < 3; d++)
                row[k][d] = exp((double)x[i * 6 + k * 3 + d]) / sum;
        }
        for (int d = 0; d < 9; d++)
            want[d / 3 + d % 3] += row[0][d / 3] * row[1][d % 3];
        for (int k = 0; k < 5; k++)
            EXPECT(fabs((double)adds[i * 5 + k] - want[k]) < 1e-6, "%d, %d: %g instead of %g", i, k,
                   (double)adds[i * 5 + k], want[k]);
        product *= want[label[i]];
        loss -= log(want[label[i]]);
    }
    const float *one = takt_session_output(s, 1)->data, *two = takt_session_output(s, 2)->data;
    for (int i = 0; i < 6; i++)
        EXPECT(fabs((double)one[i] - 1) < 1e-6 && two[i] == 0, "a row has %g and %g",
               (double)one[i], (double)two[i]);
    const float right = *(const float *)takt_session_output(s, 3)->data;
    const float got = *(const float *)takt_session_output(s, 4)->data;
    EXPECT(fabs((double)right - product) < 1e-7, "truth %g instead of %g", (double)right, product);
    EXPECT(fabs((double)got - loss) < 1e-5, "loss %g instead of %g", (double)got, loss);
    stop(m, plan, s);
}

/* ---- what is refused ---- */

static void refuses(int id, const char *text)
{
    takt_model *m = NULL;
    EXPECT(takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m) != TAKT_OK &&
               takt_last_error_info(ctx)->id == id,
           "error %d instead of %d: %s\n%s", takt_last_error_info(ctx)->id, id,
           takt_last_error(ctx), text);
    takt_model_destroy(m);
}

static void refusals(void)
{
    /* The cells of 24 x 24 that hold for a row and a column at once: no small diagram represents
     * that. */
    refuses(2306, "domain d = 26\nmodel m(e: f32[d, d]) semantics=probability {\n"
                  "  rule row() = forall x: exists y: e(x, y)\n"
                  "  rule r() = row() and forall y: exists x: e(x, y)\n  return r\n}\n");
    refuses(2304, "model m(e: f32[n, 2]) semantics=probability {\n"
                  "  rule r() = exists i, j, x: e(i, x) and e(j, x)\n  return r\n}\n");
    refuses(2304, "model m(e: f32[n, 2], w: f32[2]) semantics=probability {\n"
                  "  rule r() = exists i, x: e(i, x) and w(x)\n  return r\n}\n");
    refuses(2304, "model m(e: f32[n, 2]) semantics=probability {\n"
                  "  rule a(x) = exists i: e(i, x)\n  rule b(x) = not a(x)\n  return b\n}\n");
    refuses(2304, "model m(e: f32[n, 2]) semantics=probability {\n"
                  "  rule b(x) = e(0, x)\n  return b\n}\n");
    refuses(2304, "model m(e: f32[2]) semantics=probability {\n"
                  "  rule b(x) = e(x) and 0.5\n  return b\n}\n");
    refuses(2304, "model m(e: f32[2]) semantics=probability {\n"
                  "  rule b() = exists(p=2) x: e(x)\n  return b\n}\n");
    refuses(2304, "model m(e: i32[2]) semantics=probability {\n"
                  "  rule b() = exists x: e(x)\n  return b\n}\n");
}

/* A rule of an earlier group shares its events with later ones; so do Boolean rules of facts. */
static void groups(void)
{
    static const char text[] = "domain d = 2\n"
                               "model m(e: f32[d]) semantics=probability {\n"
                               "  relation f(d, d) = [[0, 1]]\n"
                               "  rule g(x, y) semantics=boolean = f(y, x) or f(x, y)\n"
                               "  rule a() = exists x: e(x)\n"
                               "  z = e * 2.0\n"
                               "  rule b() = a() and not e(0)\n"
                               "  rule c(x) = exists y: g(x, y) and e(y)\n"
                               "  rule h(x) = e(x) if z[x] > 0.5 else a()\n"
                               "  return a, b, c, h\n}\n";
    const float e[] = {0.2F, 0.5F}, want[] = {0.6F, 0.4F, 0.5F, 0.2F, 0.6F, 0.5F};
    takt_model *m;
    takt_plan *plan;
    takt_session *s;
    if (EXPECT(start(text, &m, &plan, &s), "%s", takt_last_error(ctx))) {
        const takt_tensor_view in = {
            .dtype = TAKT_F32, .rank = 1, .dims = {2}, .data = (void *)(uintptr_t)e};
        EXPECT_OK(ctx, takt_session_bind(s, "e", &in));
        EXPECT_OK(ctx, takt_session_run(s));
        int at = 0;
        for (size_t i = 0; i < 4; i++) {
            const takt_tensor_view *v = takt_session_output(s, i);
            for (int k = 0; k < (v->rank > 0 ? 2 : 1); k++, at++)
                EXPECT(fabsf(((const float *)v->data)[k] - want[at]) < 1e-6F,
                       "%d: %g instead of %g", at, (double)((const float *)v->data)[k],
                       (double)want[at]);
        }
    }
    stop(m, plan, s);
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (uint64_t i = 0; i < count; i++)
        program(first + i);
    sums();
    refusals();
    groups();
    takt_ctx_destroy(ctx);
    return test_done();
}
