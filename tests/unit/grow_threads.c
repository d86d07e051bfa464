/* grow_threads.c - sessions of one plan grow their caches concurrently, one thread each: with the
 * first sizes every session makes its own plan from the shared one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"

static const char text[] = "model m(x: f32[b, s, 2, 3], past: f32[b, 2, p, 3]) {\n"
                           "  all = concat(past, transpose(x, perm=[0, 2, 1, 3]), axis=2)\n"
                           "  return y = reduce_sum(all * 2.0, axes=[2]), present = all\n"
                           "}\n";

enum { THREADS = 4, BATCH = 2, ROOM = 12, WIDTH = 6, ROUNDS = 20 };

typedef struct worker {
    takt_session *session;
    int number;
    int wrong; /* runs that failed or gave something else */
} worker;

static atomic_int waiting;

/* Pieces of other sizes in every thread and round, until the room is full. */
static void round_of(worker *w, int round)
{
    float x[BATCH * ROOM * WIDTH], sums[BATCH * WIDTH] = {0};
    for (int64_t rows, past = 0; past < ROOM; past += rows) {
        rows = 1 + (past + w->number + round) % 4;
        rows = past + rows > ROOM ? ROOM - past : rows;
        const takt_tensor_view v = {
            .dtype = TAKT_F32, .rank = 4, .dims = {BATCH, rows, 2, 3}, .data = x};
        for (int64_t i = 0; i < BATCH * rows * WIDTH; i++) {
            x[i] = (float)((past * 7 + i * 5 + w->number) % 11) - 4;
            sums[i / (rows * WIDTH) * WIDTH + i % WIDTH] += 2 * x[i];
        }
        if (takt_session_bind(w->session, "x", &v) != TAKT_OK ||
            takt_session_run(w->session) != TAKT_OK ||
            memcmp(takt_session_output(w->session, 0)->data, sums, sizeof sums) != 0)
            w->wrong++;
    }
    takt_session_reset(w->session);
}

static void *work(void *user)
{
    worker *w = user;
    atomic_fetch_sub(&waiting, 1);
    while (atomic_load(&waiting) > 0)
        ;
    for (int i = 0; i < ROUNDS; i++)
        round_of(w, i);
    return NULL;
}

static void grow_at_once(takt_plan *plan)
{
    worker all[THREADS] = {0};
    pthread_t threads[THREADS];
    int started = 0;
    atomic_store(&waiting, THREADS);
    for (int i = 0; i < THREADS; i++) {
        all[i].number = i;
        EXPECT_OK(NULL, takt_session_create(plan, NULL, &all[i].session));
    }
    for (; started < THREADS; started++)
        if (!EXPECT_EQ(pthread_create(&threads[started], NULL, work, &all[started]), 0))
            break;
    atomic_fetch_sub(&waiting, THREADS - started);
    for (int i = 0; i < started; i++) {
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
        EXPECT(all[i].wrong == 0, "%d runs of thread %d: %s", all[i].wrong, i,
               takt_session_error(all[i].session)->message);
    }
    for (int i = 0; i < THREADS; i++)
        takt_session_destroy(all[i].session);
}

int main(void)
{
    takt_ctx *ctx;
    takt_model *m = NULL, *grown = NULL;
    takt_plan *plan = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    EXPECT_OK(ctx, takt_model_grow(m, ROOM, &grown));
    const takt_plan_options o = {.sizes = "b=2,s=1..4", .threads = 1};
    if (EXPECT_OK(ctx, takt_plan_create(grown, &o, &plan)))
        for (int i = 0; i < 3; i++)
            grow_at_once(plan);
    takt_plan_destroy(plan);
    takt_model_destroy(grown);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
    return test_done();
}
