/* gpu_views.c - buffers in device memory, DLPack from there, the caller's streams, and runs without
 * a thread, with the tests' driver. */
#include "backend/gpu_session.h"

#include <takt/dlpack.h>

#include "api/session/session.h"

static const char text[] =
    "model views(x: f32[3, 64], r: f32[3, 20]) -> (y: f32[3, 20], z: f32[3, "
    "20]) seed=1 {\n"
    "  h = x |> dense(20)\n  return y = relu(h) @ (transpose(r, perm=[1, 0]) "
    "@ r), z = tanh(h + r)\n}\n";

typedef struct bench {
    takt_ctx *ctx;
    takt_model *m;
    takt_session *gpu, *cpu;
} bench;

static bool begin(bench *b, const gpu_settings *set, const char *source, void *stream)
{
    const takt_plan_options o = {.backend = "gpu", .threads = 1};
    const takt_session_options how = {.stream = stream};
    takt_plan *plan = NULL;
    size_t away;
    *b = (bench){0};
    gpu_driver(set);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &b->ctx));
    EXPECT_OK(b->ctx, takt_backend_add(b->ctx, gpu_backend()));
    EXPECT_OK(b->ctx, takt_model_load_memory(b->ctx, "m", source, strlen(source), NULL, &b->m));
    if (EXPECT_OK(b->ctx, takt_plan_create(b->m, &o, &plan)))
        EXPECT_OK(b->ctx, takt_session_create(plan, &how, &b->gpu));
    takt_plan_destroy(plan);
    b->cpu = open_session(b->ctx, b->m, &(model){.path = "views"}, "cpu", &away);
    EXPECT_OK(NULL, takt_session_run(b->cpu));
    return b->gpu != NULL;
}

static void end(bench *b)
{
    takt_session_destroy(b->gpu);
    takt_session_destroy(b->cpu);
    takt_model_destroy(b->m);
    takt_ctx_destroy(b->ctx);
    EXPECT(gpu_count().wrong == NULL, "%s", gpu_count().wrong);
    EXPECT(gpu_count().live_objects == 0 && gpu_count().live_bytes == 0 &&
               gpu_count().pinned_bytes == 0,
           "%d objects, %zu bytes", gpu_count().live_objects, gpu_count().live_bytes);
}

/* The same values as input or output `index` of the cpu's session, `shift` bytes into a block. */
static takt_tensor_view away(const bench *b, size_t index, bool is_input, size_t shift,
                             void **block)
{
    takt_tensor_view v =
        is_input ? *takt_session_input(b->cpu, index) : *takt_session_output(b->cpu, index);
    *block = gpu_foreign(bytes_of(&v) + 64, 0);
    char *at = (char *)*block + shift;
    if (is_input)
        memcpy(at, v.data, bytes_of(&v));
    else
        memset(at, 0xee, bytes_of(&v));
    v.data = at;
    v.device = 1;
    return v;
}

static void same(const bench *b, const takt_tensor_view *outs, const char *what)
{
    for (size_t i = 0; i < takt_session_output_count(b->cpu); i++) {
        const takt_tensor_view *want = takt_session_output(b->cpu, i);
        EXPECT(memcmp(want->data, outs[i].data, bytes_of(want)) == 0, "%s: output %zu differs",
               what, i);
    }
}

/* Nothing is copied between host and device, whatever the alignment, and other pointers do not need
 * a new graph.
 */
static void where_they_lie(void)
{
    static const size_t shifts[] = {0, 16, 4};
    bench b;
    if (!begin(&b, &(gpu_settings){0}, text, NULL)) {
        end(&b);
        return;
    }
    void *blocks[4];
    takt_tensor_view in[2], out[2];
    for (size_t k = 0; k < 3; k++) {
        const uint64_t made = gpu_count().graphs_made;
        for (size_t i = 0; i < 2; i++) {
            in[i] = away(&b, i, true, shifts[k], &blocks[i]);
            out[i] = away(&b, i, false, shifts[k], &blocks[2 + i]);
            EXPECT(takt_session_bind(b.gpu, i == 0 ? "x" : "r", &in[i]) == TAKT_OK, "%s",
                   takt_session_error(b.gpu)->message);
            EXPECT(takt_session_bind(b.gpu, i == 0 ? "y" : "z", &out[i]) == TAKT_OK, "%s",
                   takt_session_error(b.gpu)->message);
        }
        EXPECT(k != 1 || gpu_count().graphs_made == made, "other pointers made a graph");
        const gpu_counts before = gpu_count();
        for (int run = 0; run < 2; run++)
            EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
        EXPECT(gpu_count().up_bytes == before.up_bytes &&
                   gpu_count().down_bytes == before.down_bytes,
               "buffers of the device went through the host");
        EXPECT(gpu_count().graphs_made == before.graphs_made, "a run made a graph");
        same(&b, out, "where they lie");
        EXPECT_EQ(takt_session_output(b.gpu, 0)->device, 1);
        EXPECT_SAME(takt_session_output(b.gpu, 0)->data, out[0].data);
        for (size_t i = 0; i < 2; i++)
            EXPECT(memcmp(in[i].data, takt_session_input(b.cpu, i)->data, bytes_of(&in[i])) == 0,
                   "an input was written over");
        for (size_t i = 0; k < 2 && i < 4; i++)
            gpu_foreign_put(blocks[i]);
    }
    /* and back to the host */
    for (size_t i = 0; i < 2; i++) {
        EXPECT_OK(NULL, takt_session_bind(b.gpu, i == 0 ? "x" : "r", takt_session_input(b.cpu, i)));
        EXPECT_OK(NULL, takt_session_bind(b.gpu, i == 0 ? "y" : "z", &(takt_tensor_view){0}));
    }
    for (size_t i = 0; i < 4; i++)
        gpu_foreign_put(blocks[i]);
    EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
    const takt_tensor_view home[2] = {*takt_session_output(b.gpu, 0),
                                      *takt_session_output(b.gpu, 1)};
    same(&b, home, "on the host again");
    end(&b);
}

/* A step that writes over its input does not write over the caller's. */
static void in_place(void)
{
    static const char chain[] = "model chain(x: f32[40]) -> (y: f32[40]) {\n"
                                "  return y = tanh(op.cumsum(x * 2, axis=0) + x)\n}\n";
    static const char one[] = "model one(x: f32[4000]) -> (y: f32[4000]) {\n"
                              "  return y = relu(x)\n}\n";
    const char *texts[] = {chain, one};
    for (size_t k = 0; k < 2; k++) {
        bench b;
        void *blocks[2];
        if (begin(&b, &(gpu_settings){0}, texts[k], NULL)) {
            const takt_tensor_view x = away(&b, 0, true, 0, &blocks[0]);
            const takt_tensor_view y = away(&b, 0, false, 0, &blocks[1]);
            EXPECT_OK(NULL, takt_session_bind(b.gpu, "x", &x));
            EXPECT_OK(NULL, takt_session_bind(b.gpu, "y", &y));
            for (int run = 0; run < 2; run++)
                EXPECT_OK(NULL, takt_session_run(b.gpu));
            same(&b, &y, "in place");
            EXPECT(memcmp(x.data, takt_session_input(b.cpu, 0)->data, bytes_of(&x)) == 0,
                   "the input was written over");
            gpu_foreign_put(blocks[0]);
            gpu_foreign_put(blocks[1]);
        }
        end(&b);
    }
}

/* A value that the host needs as well is copied by every run. */
static void needed_here(void)
{
    static const char both[] = "model both(x: f32[1, 512]) -> (y: f32[1, 512], z: f32[1, 512]) "
                               "seed=1 {\n"
                               "  return y = x |> dense(512) |> dense(512), z = x + "
                               "cast(pow(cast(x * 3, dtype=i64), cast(x > 0, dtype=i64) + 2), "
                               "dtype=f32)\n}\n";
    bench b;
    void *blocks[2];
    if (begin(&b, &(gpu_settings){0}, both, NULL)) {
        const takt_tensor_view x = away(&b, 0, true, 0, &blocks[0]);
        const takt_tensor_view y = away(&b, 0, false, 0, &blocks[1]);
        EXPECT(takt_session_bind(b.gpu, "x", &x) == TAKT_OK, "%s",
               takt_session_error(b.gpu)->message);
        EXPECT_OK(NULL, takt_session_bind(b.gpu, "y", &y));
        EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
        const takt_tensor_view outs[2] = {y, *takt_session_output(b.gpu, 1)};
        same(&b, outs, "needed here");
        gpu_foreign_put(blocks[0]);
        gpu_foreign_put(blocks[1]);
    }
    end(&b);
}

static void refused(takt_session *s, const takt_tensor_view *v, const char *says)
{
    EXPECT_STATUS(NULL, takt_session_bind(s, "x", v), TAKT_ERR_ARGUMENT);
    EXPECT(takt_session_error(s)->id == TAKT_E_BINDING &&
               strstr(takt_session_error(s)->message, says) != NULL,
           "wanted '%s', got %s", says, takt_session_error(s)->message);
}

static void mistakes(void)
{
    bench b;
    void *block, *other, *small;
    float host[3 * 64];
    if (begin(&b, &(gpu_settings){.devices = 2}, text, NULL)) {
        takt_tensor_view good = away(&b, 0, true, 0, &block), v = good;
        other = gpu_foreign(4096, 1);
        small = gpu_foreign(3 * 64 * 4 - 4, 0);
        v.device = 2;
        refused(b.gpu, &v, "no step of the plan runs there");
        refused(b.cpu, &good, "no step of the plan runs there");
        v = good, v.data = other;
        refused(b.gpu, &v, "lies on device 2");
        v.data = host;
        refused(b.gpu, &v, "is not memory of a device");
        v.data = small;
        refused(b.gpu, &v, "takes 768 bytes, the buffer on device 1 has 764");
        v.data = (char *)block + 2;
        refused(b.gpu, &v, "not aligned for f32");
        v = good, v.strides[0] = 1, v.strides[1] = 3;
        refused(b.gpu, &v, "dense row-major");
        EXPECT(takt_session_bind(b.gpu, "x", &good) == TAKT_OK, "usable after mistakes");
        gpu_foreign_put(other);
        gpu_foreign_put(small);
        EXPECT_OK(NULL, takt_session_bind(b.gpu, "x", takt_session_input(b.cpu, 0)));
        gpu_foreign_put(block);
    }
    end(&b);
}

/* A tensor of another library, there and back. */
static void dlpack(void)
{
    bench b;
    void *block;
    if (begin(&b, &(gpu_settings){0}, text, NULL)) {
        const takt_tensor_view x = away(&b, 0, true, 0, &block);
        takt_dlpack d = {0};
        takt_tensor_view v = {0};
        EXPECT_OK(b.ctx, takt_view_to_dlpack(b.ctx, &x, NULL, &d));
        EXPECT_EQ(d.versioned->tensor.device.type, TAKT_DL_CUDA);
        EXPECT_EQ(d.versioned->tensor.device.id, 0);
        EXPECT_OK(b.ctx, takt_view_from_dlpack(b.ctx, &d, &v, NULL));
        EXPECT_EQ(v.device, 1);
        EXPECT_SAME(v.data, x.data);
        EXPECT_OK(NULL, takt_session_bind(b.gpu, "x", &v));
        takt_dlpack_release(&d);
        EXPECT_OK(NULL, takt_session_bind(b.gpu, "x", takt_session_input(b.cpu, 0)));
        gpu_foreign_put(block);
    }
    end(&b);
}

/* A run on the caller's stream is complete when the stream reaches it, not before. */
static void streams(void)
{
    int queue;
    bench b;
    void *blocks[4];
    takt_tensor_view out[2];
    if (begin(&b, &(gpu_settings){.is_late = true, .stream = &queue}, text, &queue)) {
        for (size_t i = 0; i < 2; i++) {
            const takt_tensor_view in = away(&b, i, true, 0, &blocks[i]);
            out[i] = away(&b, i, false, 0, &blocks[2 + i]);
            EXPECT_OK(NULL, takt_session_bind(b.gpu, i == 0 ? "x" : "r", &in));
            EXPECT_OK(NULL, takt_session_bind(b.gpu, i == 0 ? "y" : "z", &out[i]));
        }
        for (int run = 0; run < 3; run++)
            EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
        EXPECT(gpu_count().streamed == 3, "%llu graphs on the stream",
               (unsigned long long)gpu_count().streamed);
        EXPECT(((unsigned char *)out[0].data)[0] == 0xee, "a run waited");
        EXPECT_OK(NULL, takt_session_wait(b.gpu));
        same(&b, out, "stream");
        /* outputs on the host come with the wait */
        EXPECT_OK(NULL, takt_session_bind(b.gpu, "y", &(takt_tensor_view){0}));
        memset(takt_session_output(b.gpu, 0)->data, 0xee, bytes_of(&out[0]));
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT_EQ(((unsigned char *)takt_session_output(b.gpu, 0)->data)[0], 0xee);
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT_OK(NULL, takt_session_wait(b.gpu));
        out[0] = *takt_session_output(b.gpu, 0);
        same(&b, out, "stream, to the host");
        EXPECT_OK(NULL, takt_session_run(b.gpu)); /* and its end waits */
        takt_session_destroy(b.gpu);
        b.gpu = NULL;
        for (size_t i = 0; i < 4; i++)
            gpu_foreign_put(blocks[i]);
    }
    end(&b);
}

static void faults_of_streams(void)
{
    static const char pick[] = "model pick(x: i64[3], t: f32[7, 5]) -> (y: f32[3, 5]) {\n"
                               "  return y = op.gather(t, x, axis=0) * 2\n}\n";
    int queue;
    bench b;
    if (begin(&b, &(gpu_settings){.is_late = true}, pick, &queue)) {
        int64_t *index = takt_session_input(b.gpu, 0)->data;
        (void)takt_session_input(b.gpu, 1);
        index[1] = 9;
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT_IS(takt_session_wait(b.gpu), !=, TAKT_OK);
        EXPECT(takt_session_error(b.gpu)->id == TAKT_E_INDEX, "%s",
               takt_session_error(b.gpu)->message);
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT(takt_session_run(b.gpu) != TAKT_OK, "the next run tells of it");
        index[1] = 0;
        EXPECT_OK(NULL, takt_session_run(b.gpu));
        EXPECT_OK(NULL, takt_session_wait(b.gpu));
    }
    end(&b);
}

static void no_stream(void)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"model drawn(x: f32[1, 4096]) -> (y: f32[1, 4096]) seed=1 {\n  h = x |> dense(4096)\n"
         "  k = pow(cast(h * 3, dtype=i64), cast(h > 0, dtype=i64) + 2)\n"
         "  return y = cast(k, dtype=f32) |> dense(4096)\n}\n",
         "a step runs on the host: "},
        {"model kept(x: f32[1, 512]) -> (y: f32[1, 512]) seed=1 {\n"
         "  state s: f32[1, 512] = 0\n  h = (x + s) |> dense(512)\n  next s = h\n"
         "  return y = h\n}\n",
         "state"}};
    for (size_t i = 0; i < 2; i++) {
        takt_ctx *ctx;
        takt_model *m = NULL;
        takt_plan *plan = NULL;
        takt_session *s = NULL;
        int queue;
        gpu_driver(&(gpu_settings){0});
        EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
        EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
        EXPECT_OK(ctx,
                  takt_model_load_memory(ctx, "m", rows[i].text, strlen(rows[i].text), NULL, &m));
        const takt_plan_options o = {.backend = "gpu", .threads = 1};
        const takt_session_options how = {.stream = &queue};
        if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
            EXPECT_STATUS(NULL, takt_session_create(plan, &how, &s), TAKT_ERR_STATE);
        EXPECT(strstr(takt_last_error(ctx), "cannot run on a stream") != NULL &&
                   strstr(takt_last_error(ctx), rows[i].says) != NULL,
               "%s", takt_last_error(ctx));
        takt_plan_destroy(plan);
        takt_model_destroy(m);
        takt_ctx_destroy(ctx);
    }
}

/* A device needs no thread of ours. */
static void without_thread(void)
{
    bench b;
    if (begin(&b, &(gpu_settings){.is_late = true}, text, NULL)) {
        for (size_t i = 0; i < 2; i++)
            memcpy(takt_session_input(b.gpu, i)->data, takt_session_input(b.cpu, i)->data,
                   bytes_of(takt_session_input(b.cpu, i)));
        memset(takt_session_output(b.gpu, 0)->data, 0xee, 4);
        EXPECT_OK(b.ctx, takt_run_async(b.gpu, NULL, NULL));
        EXPECT(b.gpu->runner.thread == NULL, "a thread was started");
        EXPECT_EQ(*(unsigned char *)takt_session_output(b.gpu, 0)->data, 0xee);
        EXPECT_STATUS(NULL, takt_run_async(b.gpu, NULL, NULL), TAKT_ERR_STATE);
        EXPECT_OK(NULL, takt_session_wait(b.gpu));
        const takt_tensor_view outs[2] = {*takt_session_output(b.gpu, 0),
                                          *takt_session_output(b.gpu, 1)};
        same(&b, outs, "async");
        EXPECT_OK(NULL, takt_session_run(b.gpu));
    }
    end(&b);
}

/* Whichever call fails, the binding is either complete or absent, and nothing leaks. */
static void failing_binds(void)
{
    for (uint64_t k = 1; k < 40; k++) {
        bench b;
        void *block;
        if (begin(&b, &(gpu_settings){0}, text, NULL)) {
            const takt_tensor_view x = away(&b, 0, true, 0, &block);
            memcpy(takt_session_input(b.gpu, 1)->data, takt_session_input(b.cpu, 1)->data,
                   bytes_of(takt_session_input(b.cpu, 1)));
            gpu_fail(k, TAKT_CU_OUT_OF_MEMORY, false);
            const takt_status bound = takt_session_bind(b.gpu, "x", &x);
            gpu_fail(0, 0, false);
            if (bound != TAKT_OK)
                EXPECT_OK(NULL, takt_session_bind(b.gpu, "x", takt_session_input(b.cpu, 0)));
            EXPECT(takt_session_run(b.gpu) == TAKT_OK, "%s", takt_session_error(b.gpu)->message);
            const takt_tensor_view outs[2] = {*takt_session_output(b.gpu, 0),
                                              *takt_session_output(b.gpu, 1)};
            same(&b, outs, "after a failure");
            takt_session_destroy(b.gpu);
            b.gpu = NULL;
            gpu_foreign_put(block);
        }
        end(&b);
    }
}

TEST_MAIN(where_they_lie, in_place, needed_here, mistakes, dlpack, streams, faults_of_streams,
          no_stream, without_thread, failing_binds)
