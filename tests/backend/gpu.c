/* gpu.c - the cuda backend over a driver of the tests: every op's samples, and models with the
 * cpu's bits. gpu_faults.c has what goes wrong. */
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "backend/gpu_session.h"
#include "backend/samples.h"
#include "util/gpu.h"

/* ---- samples ---- */

static void conforms(void)
{
    gpu_driver(&(gpu_settings){.order = GRID_SHUFFLED});
    samples_run run = {.backend = "gpu", .added = gpu_backend(), .may_fall_back = true};
    for (size_t i = 0; i < takt_op_count; i++)
        samples_visit(takt_ops[i], &run, false);
    EXPECT(run.checked > 100 && run.refused == 0, "%zu samples checked, %zu refused", run.checked,
           run.refused);
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s", n.wrong);
    EXPECT(n.launches > 1000, "%llu launches", (unsigned long long)n.launches);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "%d objects, %zu bytes, %zu pinned are left", n.live_objects, n.live_bytes,
           n.pinned_bytes);
}

/* ---- models ---- */

#define ATTENTION(name, keys, heads, kv, more)                                                     \
    "model " name "(q: f32[2, 9, 24], k: f32[2, " #keys ", " #kv " * 4], v: f32[2, " #keys         \
    ", " #kv " * 5]) -> (y: f32[2, 9, " #heads " * 5]) {\n"                                        \
    "  return y = op.attention(q, k, v, heads=" #heads ", kv_heads=" #kv more ")\n}\n"

static const model models[] = {
    {.path = "examples/mlp.takt", .sizes = "batch=3", .may_stay = false},
    {.path = "examples/mlp.takt", .sizes = "batch=33", .may_stay = false},
    {.path = "examples/cnn.takt", .sizes = "batch=2", .may_stay = true},
    {.path = "examples/encoder.takt", .sizes = "batch=2,seq=19", .may_stay = false},
    {.path = "examples/gpt.takt", .sizes = NULL, .may_stay = false},
    {.path = "examples/stream.takt", .sizes = NULL, .may_stay = true},
    {"all", NULL, false, ATTENTION("all", 700, 6, 6, ""), "attention", 1},
    {"causal", NULL, false, ATTENTION("causal", 11, 6, 2, ", causal=true"), "attention", 1},
    {"ending", NULL, false,
     "model ending(x: f32[37, 300], r: f32[37, 66]) -> (y: f32[37, 66]) seed=1 {\n"
     "  h = x |> dense(66) |> relu6()\n  return y = tanh(h + r) * 2 - r\n}\n",
     "gemm", 1},
    {"block", NULL, false,
     "model block(x: f32[2, 8, 19, 17]) -> (y: f32[2, 8, 19, 17]) seed=1 {\n"
     "  h = x |> conv(12, 1) |> relu6() |> depthwise(3) |> relu6()\n"
     "  h = h |> conv(8, 3, bias=false) |> batch_norm()\n  return y = relu(h + x)\n}\n",
     "conv", 5},
    {"sum", NULL, false,
     "model sum(x: f32[5000003]) -> (y: f32[]) {\n  return y = op.reduce_sum(x)\n}\n", "reduce", 1},
    {"winograd", NULL, false,
     "model winograd(x: f32[2, 24, 22, 19]) -> (y: f32[2, 24, 22, 19]) seed=1 {\n"
     "  h = x |> conv(32, 3) |> relu6()\n"
     "  h = h |> conv(24, 3, bias=false) |> batch_norm()\n  return y = relu(h + x)\n}\n",
     "winograd", 4},
    {"types", NULL, false,
     "model types(x: f32[3, 70], i: i64[70]) -> (y: f16[3, 70], z: i8[70], w: f64[3, 70]) {\n"
     "  h = cast(x, dtype=bf16) * cast(i, dtype=bf16)\n"
     "  d = exp(cast(h, dtype=f64)) + cast(i % 3 - 1, dtype=f64)\n"
     "  return y = cast(h, dtype=f16) / cast(x, dtype=f16), z = cast(i * 77, dtype=i8), w = d\n}\n",
     "map", 7},
};

static void same_bits(const model *row)
{
    takt_ctx *ctx;
    takt_model *m;
    size_t away, none;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    if (EXPECT_OK(ctx, row->text == NULL ? takt_model_load(ctx, row->path, NULL, &m)
                                         : takt_model_load_memory(ctx, row->path, row->text,
                                                                  strlen(row->text), NULL, &m))) {
        takt_session *gpu = open_session(ctx, m, row, "gpu", &away);
        takt_session *cpu = open_session(ctx, m, row, "cpu", &none);
        EXPECT(away > 0 || row->may_stay, "%s: nothing runs on the device", row->path);
        for (int run = 0; gpu != NULL && cpu != NULL && run < 3; run++) {
            const uint64_t made = gpu_count().graphs_made;
            EXPECT(takt_session_run(gpu) == TAKT_OK, "%s: %s", row->path,
                   takt_session_error(gpu)->message);
            EXPECT(takt_session_run(cpu) == TAKT_OK);
            EXPECT(gpu_count().graphs_made == made, "a run makes graphs");
            for (size_t i = 0; i < takt_session_output_count(cpu); i++)
                EXPECT(memcmp(takt_session_output(cpu, i)->data, takt_session_output(gpu, i)->data,
                              bytes_of(takt_session_output(cpu, i))) == 0,
                       "%s: output %zu of run %d differs", row->path, i, run);
        }
        takt_session_destroy(gpu);
        takt_session_destroy(cpu);
        takt_model_destroy(m);
    }
    takt_ctx_destroy(ctx);
    const gpu_counts n = gpu_count();
    EXPECT(n.wrong == NULL, "%s: %s", row->path, n.wrong);
    EXPECT(n.live_objects == 0 && n.live_bytes == 0 && n.pinned_bytes == 0,
           "%s: %d objects, %zu bytes, %zu pinned are left", row->path, n.live_objects,
           n.live_bytes, n.pinned_bytes);
}

static void model_bits(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gpu_driver(&(gpu_settings){.order = (grid_order)(i % GRID_ORDERS)});
        same_bits(&models[i]);
    }
}

TEST_MAIN(model_bits, conforms)
