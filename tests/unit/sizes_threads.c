/* sizes_threads.c - sessions of one plan go from size to size at once, each in a thread of its own,
 * and some make larger plans meanwhile: they share the template, packed weights, plans of earlier
 * sizes, and bodies of loops. Results have the bits of a plan made for the size alone.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

/* Sized in place; values of a constant that depends on the size. */
static const char plain[] =
    "model m(x: f32[n, 16]) {\n"
    "  param w: f32[16, 16] = normal(0, 1)\n"
    "  h = relu(matmul(x, w) + cast(iota(shape=[n, 16], axis=0), dtype=f32))\n"
    "  return y = softmax(h) + reduce_sum(h, axes=[0])\n"
    "}\n";

/* A subgraph: every size has a plan, kept with that of the range. */
static const char chosen[] = "model m(x: f32[n, 16]) {\n"
                             "  y = if(reduce_sum(x) > 0.0, x,\n"
                             "    then=graph(x: f32[n, 16]) { return x * 2.0 },\n"
                             "    else=graph(x: f32[n, 16]) { return cumsum(x, axis=0) })\n"
                             "  return y\n"
                             "}\n";

/* Values decide a size in the middle of a run. */
static const char found[] = "model m(x: f32[n, 16]) {\n"
                            "  places, count = find_true(reduce_sum(x, axes=[1]) > 0.0)\n"
                            "  l = length(count, names=[kept], bounds=[n], tops=[n])\n"
                            "  those = gather(x, sized(places, shape=[kept]), axis=0)\n"
                            "  return y = x + reduce_sum(exp(those), axes=[0])\n"
                            "}\n";

/* And in the body of a loop, in which a branch has plans of its own. */
static const char repeated[] =
    "model m(x: f32[n, 16]) {\n"
    "  z = loop(6, true, 0.0, x, carried=1,\n"
    "    body=graph(i: i64[], c: bool[], h: f32[], x: f32[n, 16]) {\n"
    "      places, count = find_true(reduce_sum(x, axes=[1]) > cast(i, dtype=f32))\n"
    "      l = length(count, names=[kept], bounds=[n], tops=[n])\n"
    "      those = gather(x, sized(places, shape=[kept]), axis=0)\n"
    "      s = if(h > 9.0, those,\n"
    "        then=graph(t: f32[kept, 16]) { return reduce_sum(t * 2.0) },\n"
    "        else=graph(t: f32[kept, 16]) { return reduce_sum(exp(t)) })\n"
    "      return c, h + s\n"
    "    })\n"
    "  return y = x + z\n"
    "}\n";

enum { THREADS = 4, WIDTH = 16, LEAST = 2, MOST = 12, LARGER = 18, ROUNDS = 24 };

typedef struct worker {
    const takt_model *model;
    takt_session *session;
    int number;
    int wrong; /* runs that failed or gave something else */
} worker;

static takt_ctx *ctx;
static float wanted[LARGER + 1][LARGER * WIDTH];
static atomic_int waiting;

static void fill(float *x, int rows)
{
    for (int i = 0; i < rows * WIDTH; i++)
        x[i] = (float)((i * 7 + rows * 3) % 23) / 8 - 1.4f;
}

static bool run(takt_session *s, float *x, int rows)
{
    const takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {rows, WIDTH}, .data = x};
    fill(x, rows);
    return takt_session_bind(s, "x", &v) == TAKT_OK && takt_session_run(s) == TAKT_OK;
}

static bool is_right(takt_session *s, int rows)
{
    const takt_tensor_view *y = takt_session_output(s, 0);
    return y != NULL && y->dims[0] == rows &&
           memcmp(y->data, wanted[rows], sizeof(float) * (size_t)rows * WIDTH) == 0;
}

static void *work(void *user)
{
    worker *w = user;
    float x[LARGER * WIDTH];
    atomic_fetch_sub(&waiting, 1);
    while (atomic_load(&waiting) > 0)
        ;
    int most = MOST;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 3 + w->number && w->number % 2 == 0) { /* others continue meanwhile */
            w->wrong += takt_session_reshape(w->session, w->model, "n=2..18") != TAKT_OK;
            most = LARGER;
        }
        const int rows = LEAST + (i * 5 + w->number * 3) % (most - LEAST + 1);
        w->wrong += !run(w->session, x, rows) || !is_right(w->session, rows);
    }
    return NULL;
}

static void run_at_once(const takt_model *m, takt_plan *plan, const char *what)
{
    worker all[THREADS] = {0};
    pthread_t threads[THREADS];
    int started = 0;
    atomic_store(&waiting, THREADS);
    for (int i = 0; i < THREADS; i++) {
        all[i].number = i;
        all[i].model = m;
        EXPECT_OK(NULL, takt_session_create(plan, NULL, &all[i].session));
    }
    for (; started < THREADS; started++)
        if (!EXPECT_EQ(pthread_create(&threads[started], NULL, work, &all[started]), 0))
            break;
    atomic_fetch_sub(&waiting, THREADS - started);
    for (int i = 0; i < started; i++) {
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
        EXPECT(all[i].wrong == 0, "%s: %d runs of thread %d: %s", what, all[i].wrong, i,
               takt_session_error(all[i].session)->message);
    }
    for (int i = 0; i < THREADS; i++)
        takt_session_destroy(all[i].session);
}

/* What plans of one size say. */
static bool find_wanted(const takt_model *m, const char *what)
{
    float x[LARGER * WIDTH];
    bool is_good = true;
    for (int rows = LEAST; rows <= LARGER && is_good; rows++) {
        char sizes[16];
        takt_plan *plan = NULL;
        takt_session *s = NULL;
        snprintf(sizes, sizeof sizes, "n=%d", rows);
        const takt_plan_options o = {.sizes = sizes, .threads = 1};
        is_good = EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
                  EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) &&
                  EXPECT(run(s, x, rows), "%s: %s", what, takt_session_error(s)->message);
        if (is_good)
            memcpy(wanted[rows], takt_session_output(s, 0)->data,
                   sizeof(float) * (size_t)rows * WIDTH);
        takt_session_destroy(s);
        takt_plan_destroy(plan);
    }
    return is_good;
}

static void check(const char *what, const char *text)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    const takt_plan_options o = {.sizes = "n=2..12", .threads = 1};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, what, text, strlen(text), NULL, &m)) &&
        find_wanted(m, what) && EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        for (int i = 0; i < 2; i++)
            run_at_once(m, plan, what);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    check("plain", plain);
    check("chosen", chosen);
    check("found", found);
    check("repeated", repeated);
    takt_ctx_destroy(ctx);
    return test_done();
}
