/* gpu.c - the cuda backend with the tests' driver: samples of every op, and models with the cpu's
 * bits. gpu_faults.c tests failures. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/backends.h"
#include "backend/gpu_bytes.h"
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
    {.path = "examples/kv.takt", .sizes = NULL, .may_stay = false},
    {.path = "tests/corpus/gguf/tiny.gguf", .sizes = "seq=8,count=1", .may_stay = false},
    {"all", NULL, false, ATTENTION("all", 700, 6, 6, ""), "attention", 1},
    {"causal", NULL, false, ATTENTION("causal", 11, 6, 2, ", causal=true"), "attention", 1},
    {"many", NULL, false, /* enough queries that k is transposed first */
     "model many(q: f32[2, 520, 12], k: f32[2, 36, 6], v: f32[2, 36, 4]) -> (y: f32[2, 520, 8]) {\n"
     "  return y = op.attention(q, k, v, heads=4, kv_heads=2)\n}\n",
     "attention", 1},
    {"many, causal", NULL, false,
     "model many(q: f32[1, 513, 4], k: f32[1, 515, 4], v: f32[1, 515, 3]) -> (y: f32[1, 513, 3]) "
     "{\n  return y = op.attention(q, k, v, heads=1, causal=true)\n}\n",
     "attention", 1},
    {"lines", NULL, false, /* A is transposed first */
     "model lines(a: f32[256, 512], b: f32[512, 512]) { return relu(a @ b) }\n", "gemm", 1},
    {"lines to the middle of a tile", NULL, false,
     "model lines(a: f32[508, 1000], b: f32[1000, 1020], c: f32[1020], r: f32[508, 1020]) {\n"
     "  return a @ b + c + r\n}\n",
     "gemm", 1},
    {"panels", NULL, false, /* more panels than blocks, the last of 4 rows; half a chunk */
     "model panels(q: f32[1, 132, 144], k: f32[1, 1152, 48], v: f32[1, 1152, 216]) -> "
     "(y: f32[1, 132, 648]) {\n  return y = op.attention(q, k, v, heads=9, kv_heads=3)\n}\n",
     "attention", 1},
    {"panels, v between quads", NULL, false,
     "model panels(q: f32[1, 132, 144], k: f32[1, 1024, 48], x: f32[221185]) -> "
     "(y: f32[1, 132, 648]) {\n"
     "  v = reshape(slice(x, axes=[0], start=[1], stop=[221185]), shape=[1, 1024, 216])\n"
     "  return y = op.attention(q, k, v, heads=9, kv_heads=3)\n}\n",
     "attention", 1},
    {"panels, out between quads", NULL, false,
     "model panels(q: f32[1, 132, 144], k: f32[1, 1024, 48], v: f32[1, 1024, 216], b: f32[1]) -> "
     "(y: f32[85537]) {\n  a = op.attention(q, k, v, heads=9, kv_heads=3)\n"
     "  return y = concat(b + 1, reshape(a, shape=[85536]), axis=0)\n}\n",
     "attention", 2},
    {"transposed", NULL, true,
     "model turned(x: f32[3, 40, 5, 9], i: i32[70, 33]) -> (a: f32[3, 5, 9, 40], b: i32[33, 70], "
     "c: f32[3, 40, 9, 5]) {\n"
     "  return a = transpose(x, perm=[0, 2, 3, 1]), b = transpose(i, perm=[1, 0]), c = "
     "transpose(x, perm=[0, 1, 3, 2])\n}\n",
     NULL, 0},
    {"softmax of a product", NULL, false,
     "model choice(x: f32[9, 300]) -> (a: f32[9, 10], b: f32[9, 32], c: f32[9, 16]) seed=1 {\n"
     "  return a = dense(x, 10, act=softmax), b = dense(x, 32, bias=false, act=softmax), c = "
     "dense(x, 16) |> relu() |> softmax(axis=1)\n}\n",
     "rows", 4},
    {"softmax of few rows", NULL, false, /* each by another kernel */
     "model few(x: f32[1, 600], y: f32[3, 300], z: f32[8, 300]) -> (a: f32[1, 10], b: f32[3, 17], "
     "c: f32[8, 32]) seed=1 {\n"
     "  return a = dense(x, 10, act=softmax), b = dense(y, 17, act=softmax), c = dense(z, 32, "
     "act=softmax)\n}\n",
     "gemm", 3},
    {"ending", NULL, false,
     "model ending(x: f32[37, 300], r: f32[37, 66]) -> (y: f32[37, 66]) seed=1 {\n"
     "  h = x |> dense(66) |> relu6()\n  return y = tanh(h + r) * 2 - r\n}\n",
     "gemm", 1},
    {"block", NULL, false,
     "model block(x: f32[2, 8, 19, 17]) -> (y: f32[2, 8, 19, 17]) seed=1 {\n"
     "  h = x |> conv(12, 1) |> relu6() |> depthwise(3) |> relu6()\n"
     "  h = h |> conv(8, 3, bias=false) |> batch_norm()\n  return y = relu(h + x)\n}\n",
     "conv", 5},
    {"image", NULL, false,
     "model image(x: f32[2, 3, 37, 41]) -> (y: f32[2, 6]) seed=1 {\n"
     "  h = x |> conv(20, 7, stride=2) |> relu() |> depthwise(3, stride=2) |> relu6()\n"
     "  h = h + (h |> depthwise(3))\n"
     "  return y = h |> global_avg_pool() |> flatten() |> dense(300) |> relu() |> dense(6)\n}\n",
     "conv", 8},
    {"signs", NULL,
     false, /* sums of -0 stay so, though pixels of three channels are read as four */
     "model signs(x: f32[1, 3, 9, 11]) -> (y: f32[1, 5, 9, 11]) seed=1 {\n"
     "  return y = (x * 1e-44) |> conv(5, 2, bias=false)\n}\n",
     "conv", 4},
    {"sum", NULL, false,
     "model sum(x: f32[5000003]) -> (y: f32[]) {\n  return y = op.reduce_sum(x)\n}\n", "reduce", 1},
    {"large", NULL, false,
     "model large(x: f32[1, 1700]) -> (y: f32[1, 1700]) seed=1 {\n"
     "  return y = x |> dense(1700)\n}\n",
     "gemm", 1},
    {"long sum", NULL, false,
     "model sum(x: f32[16800003]) -> (y: f32[]) {\n  return y = op.reduce_sum(x)\n}\n", "reduce",
     1},
    {"winograd", NULL, false,
     "model winograd(x: f32[2, 24, 22, 19]) -> (y: f32[2, 24, 22, 19]) seed=1 {\n"
     "  h = x |> conv(32, 3) |> relu6()\n"
     "  h = h |> conv(24, 3, bias=false) |> batch_norm()\n  return y = relu(h + x)\n}\n",
     "winograd", 4},
    {"winograd, many channels", NULL, false,
     "model winograd(x: f32[1, 257, 9, 6]) -> (y: f32[1, 258, 9, 6]) seed=1 {\n"
     "  return y = x |> conv(258, 3) |> relu6()\n}\n",
     "winograd", 3},
    {"lengths", NULL, false,
     "model lengths(q: f32[2, 5, 24], k: f32[2, 600, 8], v: f32[2, 600, 10], n: i64[2]) -> (y: "
     "f32[2, 5, 30], z: f32[2, 5, 30], w: f32[2, 5, 30]) {\n"
     "  y = op.attention(q, k, v, none, n, heads=6, kv_heads=2)\n"
     "  z = op.attention(q, cast(k, dtype=f16), cast(v, dtype=bf16), none, n + 500, heads=6, "
     "kv_heads=2, causal=true)\n"
     "  w = op.attention(q, cast(k, dtype=f16), v, heads=6, kv_heads=2)\n"
     "  return y = y, z = z, w = w\n}\n",
     "attention", 9},
    {"blocks", NULL, false,
     "model blocks(x: f32[11, 512], i: i64[5], a: u8[37, 288], b: u8[37, 210 * 2], c: u8[37, 544], "
     "r: f32[11, 37]) -> (y: f32[11, 37], z: f32[11, 37], w: f32[5, 512]) {\n"
     "  y = relu(op.ggml_matmul(x, a, format=q4_0)) + r\n"
     "  z = tanh(op.ggml_matmul(x, b, format=q6_k))\n"
     "  return y = y, z = z * op.ggml_matmul(x, c, format=q8_0), w = op.ggml_rows(c, i, "
     "format=q8_0)\n}\n",
     "ggml", 6},
    {"picks", NULL, false,
     "model picks(x: f32[3, 40, 6], u: f32[3, 9, 6], i: i64[3, 9, 6], s: i64[]) -> (a: f32[3, 47, "
     "8], b: f32[3, 40, 6], c: f32[3, 9, 6], d: f32[3, 9, 6], e: f32[9]) {\n"
     "  a = pad(x, before=[0, 3, 2], after=[0, 4, 0], mode=reflect)\n"
     "  b = update_slice(x, u, s, axis=1)\n"
     "  c = dynamic_slice(x, s, axis=1, size=9)\n"
     "  d = gather_elements(x, i, axis=1)\n"
     "  return a = a, b = b, c = c, d = d, e = iota(dtype=f32, shape=[9], axis=0) + cast(s, "
     "dtype=f32)\n}\n",
     "pick", 9},
    {"others", NULL, false,
     "model others(x: f32[3, 17, 300], w: f32[300, 9], i: i64[17, 300], j: i64[300, 5]) -> (a: "
     "f64[3, 17, 9], b: f16[3, 17, 9], c: i64[17, 5], d: f64[17], e: f32[17], f: bf16[3, 300], g: "
     "i64[17], h: f16[3, 17, 300]) {\n"
     "  d = cast(x, dtype=f64)\n  h = cast(x, dtype=f16)\n"
     "  a = matmul(d, cast(w, dtype=f64))\n  b = matmul(h, cast(w, dtype=f16))\n"
     "  return a = a, b = b, c = matmul(i, j), d = reduce_sum(d, axes=[0, 2]), e = reduce_max(x, "
     "axes=[0, 2]), f = reduce_sum(cast(x, dtype=bf16), axes=[1]), g = argmax(i, axis=1), h = "
     "cumsum(h, axis=1)\n}\n",
     "reduce", 14},
    {"scattered", NULL, false,
     "model scattered(x: f32[3, 9, 6], u: f32[3, 5, 6], i: i64[3, 5, 6], r: f32[3, 7, 6], "
     "j: i64[7], c: i64[4, 1], b: f32[4, 9, 6]) -> (a: f32[3, 9, 6], b: f32[3, 9, 6], "
     "c: f32[3, 9, 6], d: f16[3, 9, 6], e: i8[3, 9, 6], f: bf16[3, 9, 6]) {\n"
     "  h = cast(x, dtype=f16)\n  w = cast(x * 50, dtype=i8)\n"
     "  return a = scatter_elements(x, i, u, axis=1, reduce=add), "
     "b = index_add(x, j, r, axis=1), c = scatter_nd(x, c % 3, b, reduce=max), "
     "d = index_add(h, j, cast(r, dtype=f16), axis=1), "
     "e = scatter_elements(w, i, cast(u * 50, dtype=i8), axis=1, reduce=mul), "
     "f = scatter_elements(cast(x, dtype=bf16), i, cast(u, dtype=bf16), axis=1)\n}\n",
     "scatter", 16},
    {"quantised", NULL, false,
     "model quantised(x: f32[5, 33, 4], s: f32[33]) -> (a: f32[5, 33, 4], b: u8[5, 33, 4], c: "
     "i16[5, 33, 4], d: f16[5, 33, 4], e: f64[5, 33, 4]) {\n"
     "  t = abs(s) * 0.01 + 0.002\n  z = cast(s * 9, dtype=i8)\n"
     "  q = quantize(x, t, z, axis=1)\n  w = cast(x, dtype=f64)\n"
     "  k = quantize(w, cast(t, dtype=f64), cast(z, dtype=i32), axis=1, dtype=i32)\n"
     "  return a = dequantize(q, t, z, axis=1), b = quantize(x, reduce_max(t), dtype=u8), c = "
     "quantize(cast(x, dtype=f16), cast(t, dtype=f16), axis=1, dtype=i16), d = dequantize(q, "
     "cast(t, dtype=f16), axis=1), e = dequantize(k, cast(t, dtype=f64), axis=1)\n}\n",
     "quantize", 20},
    {"ordered", NULL, false,
     "model ordered(x: f32[3, 300], i: i64[40, 2]) -> (a: f32[3, 300], b: i64[3, 300], c: i64[7, "
     "2], d: i64[7, 2]) {\n"
     "  a, b = sort(x, axis=1)\n  c, d = top_k(i, k=7, axis=0)\n"
     "  return a = a, b = b, c = c, d = d\n}\n",
     "lines", 2},
    {"gradients", NULL, false,
     "model gradients(x: f32[2, 5, 17, 33], y: f32[2, 6, 17, 33], g: f32[2, 9, 17, 6], w: f32[6, "
     "5, 3, 3], v: f32[6, 3, 3, 2]) -> (a: f32[2, 5, 17, 33], b: f32[2, 17, 33, 4], c: f32[6, 5, "
     "3, 3], d: f16[6, 5, 3, 3], e: f64[2, 17, 33, 4], f: i32[6, 5, 3, 3], h: f64[2, 6, 17, 33], "
     "i: bf16[2, 5, 17, 33]) {\n"
     "  p = cast(g, dtype=f64)\n  q = cast(v, dtype=f64)\n"
     "  a = conv_dx(y, w, pad=[1, 1, 1, 1], shape=[2, 5, 17, 33])\n"
     "  b = conv_dx(g, v, stride=[2, 2], pad=[1, 1, 1, 1], groups=2, layout=nhwc, shape=[2, 17, "
     "33, 4])\n"
     "  c = conv_dw(x, y, pad=[1, 1, 1, 1], shape=[6, 5, 3, 3])\n"
     "  d = conv_dw(cast(x, dtype=f16), cast(y, dtype=f16), pad=[1, 1, 1, 1], shape=[6, 5, 3, "
     "3])\n"
     "  e = conv_dx(p, q, stride=[2, 2], pad=[1, 1, 1, 1], groups=2, layout=nhwc, shape=[2, 17, "
     "33, 4])\n"
     "  f = conv_dw(cast(x * 9, dtype=i32), cast(y * 9, dtype=i32), pad=[1, 1, 1, 1], shape=[6, "
     "5, 3, 3])\n"
     "  h = conv(cast(x, dtype=f64), cast(w, dtype=f64), pad=[1, 1, 1, 1])\n"
     "  i = conv_dx(cast(y, dtype=bf16), cast(w, dtype=bf16), pad=[1, 1, 1, 1], shape=[2, 5, 17, "
     "33])\n"
     "  return a = a, b = b, c = c, d = d, e = e, f = f, h = h, i = i\n}\n",
     "conv", 40},
    {"pools", NULL, false,
     "model pools(x: f32[2, 3, 9, 14], y: f32[2, 3, 5, 7], b: u8[2, 9, 14, 4]) -> (a: f64[2, 3, 5, "
     "7], b: u8[2, 5, 7, 4], c: f16[2, 3, 9, 13], d: f32[2, 3, 9, 14], e: f32[2, 3, 9, 14], f: "
     "bf16[2, 3, 5, 7], g: f32[2, 3, 5, 7], h: i8[2, 9, 14, 4]) {\n"
     "  z = select(x > 0.9, 0 * x, select(x < -0.9, -0.0 * abs(x), x))\n"
     "  a = max_pool(cast(z, dtype=f64), kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1])\n"
     "  e = max_pool_dx(z, y, kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1])\n"
     "  d = avg_pool_dx(y, kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], shape=[2, 3, 9, 14])\n"
     "  g = max_pool_pick(z, x * 3, kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1])\n"
     "  return a = a, b = max_pool(b, kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], "
     "layout=nhwc), c = avg_pool(cast(x, dtype=f16), kernel=[1, 2]), d = d, e = e, f = "
     "max_pool(cast(z, dtype=bf16), kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]), g = g, h = "
     "max_pool(cast(b, dtype=i8), kernel=[1, 1], layout=nhwc)\n}\n",
     "pool", 30},
    {"levels", NULL, false,
     "model levels(x: f32[11, 600], y: f32[1, 90], b: u8[37, 600], c: u8[40, 90], s: f32[37, 19], "
     "t: f32[40, 3]) -> (p: f32[11, 37], q: f32[1, 40], r: f32[1, 40]) {\n"
     "  w = cast(c % 16, dtype=u4)\n  v = cast(c % 16 - 8, dtype=i4)\n"
     "  p = block_matmul(x, b, s, s * 9, block=32)\n"
     "  q = block_matmul(y, w, cast(t, dtype=f16), cast(cast(abs(t) * 3, dtype=i32), dtype=u4), "
     "block=32)\n"
     "  return p = p, q = q, r = block_matmul(y, v, t, block=32)\n}\n",
     "block", 12},
    {"semirings", NULL, false,
     "model semirings(x: f32[2, 5, 33], y: f32[2, 33, 40], s: f32[]) -> (a: f32[2, 5, 40], b: "
     "f32[2, "
     "5, 40], c: f32[2, 5, 40], d: f32[2, 5, 40], e: f64[2, 5, 40], f: f64[2, 5, 40]) {\n"
     "  p = abs(x) * 0.4\n  q = abs(y) * 0.4\n  u = cast(p, dtype=f64)\n  v = cast(q, "
     "dtype=f64)\n"
     "  return a = semiring_matmul(x, y, semiring=max_min), b = semiring_matmul(x, y, "
     "semiring=max_mul), c = semiring_matmul(x, y, semiring=min_add), d = semiring_matmul(p, q, "
     "semiring=noisy_or), e = semiring_matmul(u, v, semiring=lukasiewicz), f = "
     "semiring_matmul(u, v, semiring=noisy_or)\n}\n",
     "semiring", 20},
    {"rows", NULL, true,
     "model rows(x: f32[5, 300], g: f32[300]) -> (a: f64[5, 300], b: f16[5, 300], c: f64[5, 300]) "
     "{\n"
     "  d = cast(x, dtype=f64)\n  h = cast(x, dtype=f16)\n"
     "  g = cast(g, dtype=f64)\n"
     "  a = softmax(d, axis=1)\n  b = softmax(h, axis=1)\n"
     "  return a = a, b = b, c = layer_norm(d, g, g, axis=-1)\n}\n",
     NULL, 0},
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
        if (gpu != NULL)
            expect_device_bytes(row->path, gpu->plan);
        takt_session *cpu = open_session(ctx, m, row, "cpu", &none);
        EXPECT(away > 0 || row->may_stay, "%s: nothing runs on the device", row->path);
        for (int run = 0; gpu != NULL && cpu != NULL && run < 3; run++) {
            const uint64_t made = gpu_count().graphs_made;
            const size_t had = gpu_count().live_bytes;
            EXPECT(takt_session_run(gpu) == TAKT_OK, "%s: %s", row->path,
                   takt_session_error(gpu)->message);
            EXPECT_OK(NULL, takt_session_run(cpu));
            EXPECT(gpu_count().graphs_made == made, "a run makes graphs");
            EXPECT(gpu_count().live_bytes == had && gpu_count().peak_bytes == had,
                   "a run gets memory");
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

/* Steps that need much shared memory, on a device that has it and on one of capability 7.5. */
static void large(void)
{
    static const model row = {
        .path = "large",
        .text = "model large(a: f32[260, 300], b: f32[300, 140], x: f32[1, 4300000], z: f32[2, "
                "20000]) -> (p: f32[260, 140], s: f32[1], w: f32[2, 20000]) {\n"
                "  return p = a @ b, s = reduce_sum(x, axes=[1]), w = softmax(z, axis=1)\n}\n"};
    static const int capabilities[] = {90, 75};
    for (size_t i = 0; i < 2; i++) {
        gpu_driver(&(gpu_settings){.capability = capabilities[i], .order = GRID_SHUFFLED});
        same_bits(&row);
        EXPECT((gpu_count().together > 0) == (i == 0), "%llu cooperative launches",
               (unsigned long long)gpu_count().together);
    }
}

/* A limit that no kernel can meet is refused with the figures. */
static void too_large(void)
{
    const char *text = "model m(q: f32[1, 2, 4], k: f32[1, 20000, 4], v: f32[1, 20000, 4]) -> (y: "
                       "f32[1, 2, 4]) {\n  return y = op.attention(q, k, v, heads=1)\n}\n";
    const takt_plan_options o = {.backend = "gpu", .threads = 1};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    gpu_driver(&(gpu_settings){.capability = 75});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    EXPECT_IS(takt_plan_create(m, &o, &plan), !=, TAKT_OK);
    EXPECT_EQ(ctx->error.id, TAKT_E_PLAN_LIMIT);
    EXPECT(strstr(ctx->error.message, "this device has 65536") != NULL, "%s", ctx->error.message);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* A limit of the device's memory is met to the byte, counters included. */
static void limited(void)
{
    const char *text = "model m(x: f32[1, 1700], w: f32[1700, 1700]) { return relu(x @ w) }\n";
    char limit[40];
    takt_plan_options o = {.backend = "gpu", .threads = 1};
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL, *less = NULL, *same = NULL;
    gpu_driver(&(gpu_settings){.capability = 90});
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_backend_add(ctx, gpu_backend()));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &m));
    if (EXPECT_OK(ctx, takt_plan_create(m, &o, &plan))) {
        const size_t sum = stated_device_bytes(plan);
        EXPECT(takt_session_memory_of(plan, 1).counters > 0);
        o.space_limits = limit;
        snprintf(limit, sizeof limit, "gpu=%zu", sum - 1);
        EXPECT_IS(takt_plan_create(m, &o, &less), !=, TAKT_OK);
        EXPECT_EQ(ctx->error.id, TAKT_E_PLAN_LIMIT);
        snprintf(limit, sizeof limit, "gpu=%zu", sum);
        EXPECT_OK(ctx, takt_plan_create(m, &o, &same));
    }
    takt_plan_destroy(plan);
    takt_plan_destroy(less);
    takt_plan_destroy(same);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(model_bits, large, too_large, limited, conforms)
