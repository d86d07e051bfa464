/* gpu_cut.c - long segments are split, so that a run can be interrupted between them; an
 * asynchronous run is not split; a session may be destroyed during its run. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "backend/gpu_session.h"
#include "plan/finish.h"
#include "test.h"
#include "util/gpu.h"

static const char text[] = "model m(i: i64[3], t: f32[5, 7], x: f32[9, 7]) -> (y: f32[9, 3]) {\n"
                           "  h = softmax(x @ transpose(t, perm=[1, 0]), axis=1)\n"
                           "  g = op.gather(t, i, axis=0)\n"
                           "  a = softmax(h @ t, axis=1)\n"
                           "  return y = a @ transpose(g, perm=[1, 0])\n}\n";

typedef struct bench {
    takt_ctx *ctx;
    takt_model *m;
    takt_plan *plan;
    takt_session *gpu, *cpu;
} bench;

static void set_index(takt_session *s, int64_t value)
{
    int64_t *index = takt_session_input(s, 0)->data;
    index[0] = 4;
    index[1] = value;
    index[2] = 0;
}

static bool begin(bench *b, const gpu_settings *set, const takt_config *config, void *stream)
{
    const takt_plan_options o = {.backend = "gpu", .threads = 1};
    const takt_session_options how = {.stream = stream};
    size_t away;
    *b = (bench){0};
    gpu_driver(set);
    EXPECT_OK(NULL, takt_ctx_create(config, &b->ctx));
    EXPECT_OK(b->ctx, takt_backend_add(b->ctx, gpu_backend()));
    EXPECT_OK(b->ctx, takt_model_load_memory(b->ctx, "m", text, strlen(text), NULL, &b->m));
    if (!EXPECT_OK(b->ctx, takt_plan_create(b->m, &o, &b->plan)) ||
        !EXPECT_OK(b->ctx, takt_session_create(b->plan, &how, &b->gpu)))
        return false;
    b->cpu = open_session(b->ctx, b->m, &(model){.path = "cut"}, "cpu", &away);
    for (size_t i = 0; i < takt_session_input_count(b->gpu); i++)
        fill(takt_session_input(b->gpu, i), 12345 + (uint32_t)i);
    set_index(b->gpu, 1);
    set_index(b->cpu, 1);
    EXPECT_OK(NULL, takt_session_run(b->cpu));
    return true;
}

static void end(bench *b)
{
    takt_session_destroy(b->gpu);
    takt_session_destroy(b->cpu);
    takt_plan_destroy(b->plan);
    takt_model_destroy(b->m);
    takt_ctx_destroy(b->ctx);
    EXPECT(gpu_count().wrong == NULL, "%s", gpu_count().wrong);
    EXPECT_EQ(gpu_count().live_objects, 0);
    EXPECT_EQ(gpu_count().live_bytes, 0);
}

static void same(const bench *b)
{
    const takt_tensor_view *y = takt_session_output(b->gpu, 0);
    EXPECT_EQ(memcmp(y->data, takt_session_output(b->cpu, 0)->data, 9 * 3 * sizeof(float)), 0);
}

static int gather(void *user, const char *piece, size_t length)
{
    char *to = user;
    const size_t at = strlen(to);
    if (at + length < 8192) {
        memcpy(to + at, piece, length);
        to[at + length] = '\0';
    }
    return 0;
}

/* Two steps of 0.7 ms do not fit into one segment: the bits are the same as in one, and `takt plan`
 * shows the cuts. */
static void cut(void)
{
    static char said[8192];
    bench b;
    if (begin(&b, &(gpu_settings){0}, NULL, NULL)) {
        EXPECT(b.plan->segment_count == 1, "%zu segments", b.plan->segment_count);
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        same(&b);
    }
    end(&b);
    if (begin(&b, &(gpu_settings){.is_slow = true}, NULL, NULL)) {
        EXPECT(b.plan->segment_count > 3, "%zu segments", b.plan->segment_count);
        for (size_t i = 0; i < b.plan->segment_count; i++) {
            const takt_segment *g = &b.plan->segments[i];
            const double us = takt_segment_us(b.plan, g);
            EXPECT(takt_segment_goes_on(b.plan, i) == (i > 0) &&
                       (us <= TAKT_SEGMENT_US || g->end - g->first == 1),
                   "segment %zu, %f us", i, us);
        }
        for (int i = 0; i < 2; i++)
            EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
        same(&b);
        set_index(b.gpu, 5);
        EXPECT_IS(takt_session_run(b.gpu), !=, TAKT_OK);
        EXPECT_EQ(takt_session_error(b.gpu)->id, TAKT_E_INDEX);
        said[0] = '\0';
        EXPECT_OK(NULL, takt_plan_describe(b.plan, TAKT_FORMAT_TEXT, gather, said));
        EXPECT(strstr(said, ", cut\n") != NULL && strstr(said, "before each segment") != NULL, "%s",
               said);
    }
    end(&b);
}

/* A clock that advances whenever it is read. */
static uint64_t tick(void *user)
{
    return *(uint64_t *)user += 1000;
}

/* A deadline ends a run between two of them: not all graphs are launched. */
static void interrupted(void)
{
    bench b;
    uint64_t now = 0;
    const takt_config config = {.now_ns = tick, .clock_user = &now};
    if (begin(&b, &(gpu_settings){.is_slow = true}, &config, NULL)) {
        size_t between = 0;
        bool is_late = true;
        for (uint64_t budget = 1000; is_late && budget < 1000000; budget += 1000) {
            const uint64_t before = gpu_count().graph_launches;
            is_late = takt_session_run_deadline(b.gpu, budget) != TAKT_OK;
            const uint64_t launched = gpu_count().graph_launches - before;
            between += is_late && launched > 0 && launched < b.plan->segment_count;
            EXPECT(!is_late || takt_session_error(b.gpu)->id == TAKT_E_DEADLINE);
        }
        EXPECT(between > 0 && !is_late, "no deadline came between segments");
        same(&b);
    }
    end(&b);
}

/* There is no wait between pieces on the caller's stream: their graphs follow each other, and the
 * final wait finds a fault of any of them. */
static void streamed(void)
{
    int queue;
    bench b;
    if (begin(&b, &(gpu_settings){.is_slow = true, .is_late = true}, NULL, &queue)) {
        const uint64_t before = gpu_count().graph_launches;
        EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
        EXPECT(takt_session_wait(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
        EXPECT_EQ(gpu_count().graph_launches - before, b.plan->segment_count);
        same(&b);
        set_index(b.gpu, 5);
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT_IS(takt_session_wait(b.gpu), !=, TAKT_OK);
        EXPECT_EQ(takt_session_error(b.gpu)->id, TAKT_E_INDEX);
        set_index(b.gpu, 1);
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT_OK(NULL, takt_session_wait(b.gpu));
        same(&b);
    }
    end(&b);
}

/* The run ends first, or its memory would be gone under it; the device stays usable. */
static void destroyed(void)
{
    bench b;
    if (begin(&b, &(gpu_settings){.is_late = true}, NULL, NULL)) {
        takt_session *other = NULL;
        EXPECT_OK(b.ctx, takt_run_async(b.gpu, NULL, NULL));
        const uint64_t before = gpu_count().launches;
        takt_session_destroy(b.gpu);
        EXPECT(gpu_count().launches > before, "the run did not end");
        b.gpu = NULL;
        if (EXPECT_OK(b.ctx, takt_session_create(b.plan, NULL, &other))) {
            b.gpu = other;
            for (size_t i = 0; i < takt_session_input_count(other); i++)
                fill(takt_session_input(other, i), 12345 + (uint32_t)i);
            set_index(other, 1);
            EXPECT_OK(NULL, takt_session_run(other));
            same(&b);
        }
    }
    end(&b);
}

TEST_MAIN(cut, interrupted, streamed, destroyed)
