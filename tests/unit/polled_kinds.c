/* polled_kinds.c - every kind of step asks for the deadline inside its work.
 *
 * The clock is the test's: it counts how often it is read and stands still otherwise, so no load of
 * the machine matters. A step must ask at least once for every ELEMENTS that it reads and writes
 * and for every FLOPS that it computes, each some two milliseconds of a slow core; when the clock
 * goes on, the run must end within a few questions. The kinds are those that the backend is built
 * from: a new one without a model here fails the test.
 */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "api/session/session.h"
#include "backend/cpu/cpu.h"

enum { ELEMENTS = 1 << 19, FLOPS = 40000000, SLACK = 8 };

#define TAKT_CPU(kind) extern const takt_cpu_kind takt_cpu_##kind;
#include "cpu_list.inc"
#undef TAKT_CPU

static struct {
    const char *name;
    const takt_cpu_kind *kind;
    bool is_seen;
} kinds[] = {
#define TAKT_CPU(kind) {#kind, &takt_cpu_##kind, false},
#include "cpu_list.inc"
#undef TAKT_CPU
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Not polled inside, and the reason. */
static const struct {
    const char *name, *why;
} exempt[] = {
    {"custom", "the function of the caller, which include/takt/op.h says"},
    {"if", "it runs one of two plans, whose steps are polled"},
    {"fill", "shapes alone decide its result: it runs when the plan is made"},
    {"nms", "values decide how much it does; it asks after every few boxes that it takes"},
    {"unique", "its sort is not interrupted: docs/options.md says so"},
    {"narrow_conv", "its kernels are for processors with products of bf16; see fast_models"},
    {"conv_planes", "not all processors have kernels that take planes"},
};

typedef struct counting_clock {
    uint64_t now, step;
    size_t looks;
} counting_clock;

static uint64_t read_clock(void *user)
{
    counting_clock *c = user;
    c->looks++;
    return c->now += c->step;
}

#define PICK(x, i) "model m(x: f32[" x "], i: i64[" i "]) { return "
static const char *const models[] = {
    /* products */
    "model m(x: f32[500, 700], w: f32[700, 700]) { return x @ w }",
    "model m(x: f32[32, 20000], w: f32[20000, 96]) { return x @ w }",
    "model m(x: f32[1, 3000], w: f32[3000, 1000]) { return x @ w }",
    "model m(x: f32[1, 64], w: f32[64, 40000]) { return x @ w }",
    "model m(x: f16[64, 2000], w: f16[2000, 500]) { return x @ w }",
    "model m(x: f64[300, 500], w: f64[500, 500]) { return x @ w }",
    "model m(x: i32[150, 300], w: i32[300, 300]) { return op.matmul(x, w) }",
    "model m(x: f32[300, 700]) { return dense(x, 700) }",
    "model m(a: u8[500, 700], b: i8[700, 700]) { return op.integer_matmul(a, b) }",
    "model m(a: f32[2, 2048], b: u4[1024, 2048], s: f32[1024, 64]) {\n"
    "  return op.block_matmul(a, b, s) }",
    "model m(a: f32[64, 1024], b: u4[512, 1024], s: f32[512, 32]) {\n"
    "  return op.block_matmul(a, b, s) }",
    "model m(a: f32[64, 1024], b: i8[512, 1024], s: f32[512, 32]) {\n"
    "  return op.block_matmul(a, b, s, compute=int8) }",
    "model m(a: f32[1, 1024], b: i8[2048, 1024], s: f32[2048, 32]) {\n"
    "  return op.block_matmul(a, b, s, compute=int8) }",
    "model m(x: f32[2, 4096], w: u8[1024, 2304]) { return op.ggml_matmul(x, w, format=q4_0) }",
    "model m(x: f32[64, 1024], w: u8[700, 576]) { return op.ggml_matmul(x, w, format=q4_0) }",
    "model m(x: f32[64, 1, 1024], w: u8[4, 700, 576], i: i64[64, 2]) {\n"
    "  return op.ggml_experts_i8(x, w, i, format=q4_0) }",
    "model m(w: u8[1500, 2304]) { return op.ggml_dequantize(w, format=q4_0) }",
    "model m(x: f32[1500, 1024]) { return op.ggml_quantize(x, format=q8_0) }",
    "model m(a: f32[200, 300], b: f32[300, 300]) {\n"
    "  return op.semiring_matmul(a, b, semiring=max_min) }",
    "model m(a: f64[60, 200], b: f64[200, 200]) {\n"
    "  return op.semiring_matmul(a, b, semiring=max_mul) }",
    "model m(a: u64[2000, 8], b: u64[500, 8]) {\n"
    "  return op.semiring_matmul(a, b, semiring=or_and) }",
    "model m(q: f32[1, 400, 128], k: f32[1, 400, 128], v: f32[1, 400, 128]) {\n"
    "  return op.attention(q, k, v, heads=4) }",
    "model m(q: f32[1, 1, 64], k: f32[1, 30000, 64], v: f32[1, 30000, 64]) {\n"
    "  return op.attention(q, k, v, heads=1) }",
    /* convolutions and pools */
    "model m(x: f32[1, 8, 100, 100]) { return conv(x, 64, 5) }",
    "model m(x: f32[1, 32, 100, 100]) { return conv(x, 32, 3) }",
    "model m(x: f32[1, 64, 100, 100]) { return conv(x, 64, 1) }",
    "model m(x: f32[4, 3, 120, 120]) { return conv(x, 8, 3) }",
    "model m(x: f32[4, 32, 100, 100]) { return depthwise(x, 3) }",
    "model m(x: f32[1, 8, 161, 167]) { return x |> conv(72, 1) |> relu6() |> "
    "depthwise(3, stride=2) |> relu6() |> conv(2, 1) }",
    "model m(x: f32[1, 100, 100, 16], w: f32[16, 3, 3, 16]) {\n"
    "  return op.winograd_conv(x, w, pad=[1, 1, 1, 1], layout=nhwc) }",
    "model m(x: bf16[1, 80, 80, 32], w: bf16[32, 3, 3, 32]) {\n"
    "  return op.narrow_conv(x, w, pad=[1, 1, 1, 1], layout=nhwc) }",
    "model m(x: bf16[1, 120, 120, 64], w: bf16[64, 1, 1, 64]) {\n"
    "  return op.narrow_conv(x, w, layout=nhwc) }",
    "model m(x: u8[1, 100, 100, 32], w: i8[32, 3, 3, 32], z: u8[]) {\n"
    "  return op.integer_conv(x, w, z, pad=[1, 1, 1, 1], layout=nhwc) }",
    "model m(x: u8[4, 100, 100, 48], w: i8[48, 3, 3, 1], z: u8[]) {\n"
    "  return op.integer_conv(x, w, z, groups=48, pad=[1, 1, 1, 1], layout=nhwc) }",
    "model m(y: f32[1, 80, 80, 32], w: f32[32, 3, 3, 32]) {\n"
    "  return op.conv_dx(y, w, pad=[1, 1, 1, 1], layout=nhwc, shape=[1, 80, 80, 32]) }",
    "model m(x: f32[1, 80, 80, 32], y: f32[1, 80, 80, 32]) {\n"
    "  return op.conv_dw(x, y, pad=[1, 1, 1, 1], layout=nhwc, shape=[32, 3, 3, 32]) }",
    "model m(y: f32[1, 80, 80, 32], w: f32[32, 5, 5, 32]) {\n"
    "  return op.conv_dx(y, w, pad=[2, 2, 2, 2], layout=nhwc, shape=[1, 80, 80, 32]) }",
    "model m(x: f32[1, 80, 80, 32], y: f32[1, 80, 80, 32]) {\n"
    "  return op.conv_dw(x, y, pad=[2, 2, 2, 2], layout=nhwc, shape=[32, 5, 5, 32]) }",
    "model m(x: f32[2, 100, 100, 3], y: f32[2, 100, 100, 16]) {\n"
    "  return op.conv_dw(x, y, pad=[1, 1, 1, 1], layout=nhwc, shape=[16, 3, 3, 3]) }",
    "model m(y: f32[2, 100, 100, 32], w: f32[32, 3, 3, 1]) {\n"
    "  return op.conv_dx(y, w, pad=[1, 1, 1, 1], groups=32, layout=nhwc,\n"
    "                    shape=[2, 100, 100, 32]) }",
    "model m(x: f32[2, 100, 100, 32], y: f32[2, 100, 100, 32]) {\n"
    "  return op.conv_dw(x, y, pad=[1, 1, 1, 1], groups=32, layout=nhwc, shape=[32, 3, 3, 1]) }",
    "model m(x: i32[1, 8, 60, 60], w: i32[8, 8, 3, 3]) {\n"
    "  return op.conv(x, w, pad=[1, 1, 1, 1]) }",
    "model m(x: f32[4, 32, 120, 120]) { return max_pool(x, 3) }",
    "model m(x: f32[4, 100, 100, 32], y: f32[4, 50, 50, 32]) {\n"
    "  return op.max_pool_dx(x, y, kernel=[2, 2], stride=[2, 2], layout=nhwc) }",
    "model m(x: f32[1, 16, 64, 64], r: f32[400, 4], b: i64[400]) {\n"
    "  return op.roi_align(x, r, b, height=7, width=7, samples=2) }",
    "model m(x: f32[1, 16, 64, 64], r: f32[1, 4], b: i64[1]) {\n"
    "  return op.roi_align(x, r, b, height=1, width=1, samples=900) }",
    "model m(x: f32[1, 16, 64, 64], r: f32[400, 5]) {\n"
    "  return op.max_roi_pool(x, r, height=7, width=7) }",
    /* rows, sums, orders */
    "model m(x: f32[4000, 500]) { return softmax(x) }",
    "model m(x: f32[1, 3000000]) { return softmax(x) }",
    "model m(x: f32[1, 3000000]) { return op.log_softmax(x) }",
    "model m(x: f64[1, 2000000], g: f64[2000000]) { return op.layer_norm(x, g) }",
    "model m(x: f32[1, 3000000], g: f32[3000000]) { return op.rms_norm(x, g) }",
    "model m(x: f32[4000, 1000]) { return op.reduce_sum(x, axes=[1]) }",
    "model m(x: f32[100, 60000]) { return op.reduce_max(x, axes=[1]) }",
    "model m(x: f32[200, 100, 100]) { return op.reduce_sum(x, axes=[1]) }",
    "model m(x: f32[4000000, 2]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: f32[8, 500000, 2]) { return op.reduce_sum(x, axes=[0, 2]) }",
    "model m(x: f32[8000000]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: f16[4000000]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: f32[8000000]) { return op.argmax(x, axis=0) }",
    "model m(x: f32[2000000, 3]) { return op.argmin(x, axis=0) }",
    "model m(x: i32[2, 4000000]) { return op.reduce_max(x, axes=[1]) }",
    "model m(x: i64[3000000]) { return op.argmax(x, axis=0) }",
    "model m(x: f32[1, 2000000]) { return op.cumsum(x, axis=1) }",
    "model m(x: f32[2000, 1000]) { return op.cumsum(x, axis=0) }",
    "model m(x: f32[1000000]) { v, i = op.sort(x, axis=0)\n return v }",
    "model m(x: f32[2000, 500]) { v, i = op.sort(x, axis=1)\n return v }",
    "model m(x: f32[2000000]) { v, i = op.top_k(x, k=100000, axis=0)\n return v }",
    "model m(x: f32[20000, 3], b: i32[0, 5], s: f32[0], r: i32[60], g: i32[1, 2], w: f32[1]) {\n"
    "  return op.tree_ensemble(x, b, s, r, g, w, targets=1, leaves=1, depth=1) }",
    "model m(y: f32[4000, 500], d: f32[4000, 500]) { return op.softmax_dx(y, d, axis=-1) }",
    "model m(y: f32[1, 3000000], d: f32[1, 3000000]) { return op.softmax_dx(y, d, axis=-1) }",
    "model m(x: f32[64, 50000], l: i64[64]) { return op.cross_entropy(x, l) }",
    "model m(x: f32[1, 20000, 128], c: f32[20000, 64], s: f32[20000, 64]) {\n"
    "  return op.rotary_embedding(x, c, s) }",
    "model m(q: f32[1, 500, 128], k: f32[1, 500, 128], v: f32[1, 500, 128],\n"
    "        d: f32[1, 500, 128]) {\n"
    "  a, b, c = op.attention_dx(q, k, v, d, heads=4)\n  return a }",
    "model m(d: f32[16, 64], h: f32[600, 16, 64], y: f32[600, 16, 64], q: f32[600, 16, 64],\n"
    "        z: f32[600, 16, 64], b: f32[600, 16, 64], m: f32[600, 16, 64], r: f32[64, 192]) {\n"
    "  e, f, g = scan(d, h, y, q, z, b, m, r, carried=1, sequences=6, reverse=true,\n"
    "    body=graph(d: f32[16, 64], h: f32[16, 64], y: f32[16, 64], q: f32[16, 64],\n"
    "      z: f32[16, 64], b: f32[16, 64], m: f32[16, 64], r: f32[64, 192]) {\n"
    "      a = d + y\n      t = 1 - z\n      n = a * t * (1 - m * m)\n"
    "      p = n * b * (q * (1 - q))\n      s = (a * h + op.neg(a * m)) * (z * t)\n"
    "      v = op.concat(p, s, n * q, axis=1)\n"
    "      return a * z + op.matmul(v, r, transpose_b=true), op.concat(p, s, n, axis=1), v\n"
    "    })\n  return e }",
    /* elements */
    "model m(x: f32[2000000]) { return op.exp(op.sin(x)) }",
    "model m(x: f32[4000000]) { return op.cast(x, dtype=bf16) }",
    "model m(x: f32[2000000]) { return op.cast(x, dtype=i4) }",
    "model m(x: i4[4000000]) { return op.slice(x, start=[1], stop=[3999999], step=[1]) }",
    "model m(x: f32[3000000], s: f32[]) { return op.quantize(x, s) }",
    "model m(x: f32[2000000], s: f32[]) { return op.quantize(x, s, dtype=i4) }",
    "model m(x: u8[8000000], a: f32[], b: f32[], c: u8[], d: i8[]) {\n"
    "  return op.requantize(x, a, b, c, d) }",
    "model m(x: u8[8000000], t: u8[256]) { return op.look_up(x, t) }",
    "model m(x: f32[4000000], s: f32[]) { return op.quantize_away(x, s) }",
    "model m(x: i8[4000000], y: i8[4000000]) {\n"
    "  return op.integer_add(x, y, x_multiplier=1073741824, y_multiplier=1503238553,\n"
    "                        multiplier=1234567890, shift=-18, low=-128) }",
    "model m(x: i8[4000000], y: i8[4000000]) {\n"
    "  return op.integer_mul(x, y, multiplier=1503238553, shift=-8, low=-128) }",
    "model m(x: i8[4000000], y: i8[]) {\n"
    "  return op.integer_mul(x, y, multiplier=1503238553, shift=-8, low=-128) }",
    "model m(x: i8[4000000], t: i32[256]) { return op.integer_softmax(x, t) }",
    "model m(x: u16[4000000], t: i32[65536]) { return op.look_up(x, t) }",
    "model m(a: u64[], b: u64[], c: u64[]) {\n"
    "  return op.rand(a, b, c, stream=1, dist=normal, shape=[400000]) }",
    "model m(a: u64[], b: u64[], c: u64[]) {\n"
    "  return op.rand(a, b, c, stream=1, dist=bits, dtype=u32, shape=[2000000]) }",
    "model m(x: bool[2, 4000000]) { return op.pack_bits(x) }",
    /* moves */
    "model m(x: f32[8, 100000], i: i64[2, 200000], w: f32[2, 200000]) {\n"
    "  return op.gather_sum(x, i, w) }",
    "model m(x: f32[2, 2000000], i: i64[2, 2], w: f32[2, 2]) {\n"
    "  return op.gather_sum(x, i, w, axis=0) }",
    "model m(x: f32[160, 160, 160]) { return op.transpose(x, perm=[2, 0, 1]) }",
    "model m(x: f32[2, 2000000], y: f32[2, 1000000]) { return op.concat(x, y, axis=1) }",
    "model m(x: u8[4000000, 1], y: u8[4000000, 1]) { return op.concat(x, y, axis=1) }",
    "model m(x: f32[1000, 2000]) { return op.pad(x, before=[1, 2], after=[3, 4]) }",
    "model m(x: f32[4000000]) { return op.check(x, x >= 0) }",
    PICK("10, 300000", "12") "op.gather(x, i) }",
    PICK("5", "2000000") "op.gather(x, i) }",
    PICK("2, 2000000", "2, 2000000") "op.gather_elements(x, i, axis=1) }",
    PICK("10, 300000", "12, 1") "op.gather_nd(x, i) }",
    "model m(x: f32[4000000], i: i64[]) { return op.dynamic_slice(x, i, axis=0, size=[3000000]) }",
    "model m(x: f32[4000000], u: f32[3000000], i: i64[]) { return op.update_slice(x, u, i) }",
    "model m(x: f32[10, 300000], i: i64[12], u: f32[12, 300000]) { return op.index_add(x, i, u) }",
    "model m(x: f16[10, 300000], i: i64[12], u: f16[12, 300000]) { return op.index_add(x, i, u) }",
    "model m(x: f32[5], i: i64[2000000], u: f32[2000000]) {\n"
    "  return op.scatter_elements(x, i, u) }",
    "model m(x: f32[10, 300000], i: i64[12, 1], u: f32[12, 300000]) {\n"
    "  return op.scatter_nd(x, i, u) }",
    "model m(x: bool[3000000]) { i, n = op.find_true(x)\n  return i }",
    "model m(w: u8[64, 2304], i: i64[1000]) { return op.ggml_rows(w, i, format=q4_0) }",
    /* control flow and rules */
    "model m(x: f32[1, 300, 256]) { return lstm(x, 256) }",
    "model m(x: f32[400, 2, 256]) { return gru(x, 256) }",
    "model m(x: f32[64, 100000]) {\n  s = x[0]\n  for r in x {\n    s = op.max(s, r)\n  }\n"
    "  return s }",
    "model m(x: f32[100000]) {\n  s = x\n  for i in 64 {\n    s = op.sin(s)\n  }\n  return s }",
    "model m(a: u32[2000, 1], b: u32[1000, 1]) {\n"
    "  return op.fixpoint(a, b, program=\"2 : 1 1 ; 0(a, b) <- 1(a), 2(b)\", capacity=[10]) }",
};

static size_t elements_of(const takt_view *v, size_t count)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = 1;
        for (int d = 0; d < v[i].rank; d++)
            n *= (size_t)v[i].dim[d];
        all += n;
    }
    return all;
}

/* Marks the kinds of a plan's steps as seen. */
static void see(const takt_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        for (size_t k = 0; k < KINDS; k++) {
            const takt_cpu_kind *kind = kinds[k].kind;
            if (s->kind == NULL || strcmp(s->kind, kind->name) != 0 || s->node_count == 0)
                continue;
            if (kind->continues != NULL || kind->accepts(plan->graph, s->nodes[0]) == NULL)
                kinds[k].is_seen = true;
        }
    }
}

/* How often a run must poll: the sum over its steps. */
static double least_looks(const takt_plan *plan)
{
    double least = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        least += s->cost.flops / FLOPS +
                 (double)(elements_of(s->in, s->in_count) + elements_of(s->out, s->out_count)) /
                     ELEMENTS;
    }
    return least;
}

static void look_inside(const char *text, const char *backend, counting_clock *clock,
                        takt_session *s)
{
    const takt_plan *plan = s->plan;
    const double least = least_looks(plan);
    clock->looks = 0;
    EXPECT(takt_session_run_deadline(s, 1000) == TAKT_OK, "%s: %s", text,
           takt_session_error(s)->message);
    const size_t looks = clock->looks;
    EXPECT((double)looks + 2 >= least, "%s on %s: %zu looks, %.1f wanted", text, backend, looks,
           least);
    clock->step = 1;
    clock->looks = 0;
    EXPECT(takt_session_run_deadline(s, looks / 2) == TAKT_ERR_DEADLINE, "%s on %s", text, backend);
    EXPECT(clock->looks <= looks / 2 + SLACK, "%s on %s: %zu looks, late after %zu", text, backend,
           clock->looks, looks / 2);
    clock->step = 0;
    EXPECT(takt_session_run_deadline(s, 1000) == TAKT_OK, "%s: the next run is hit", text);
    takt_session_cancel(s);
    clock->looks = 0;
    EXPECT(takt_session_run_deadline(s, 1000) == TAKT_ERR_CANCELLED, "%s: is not cancelled", text);
}

static void clear_inputs(takt_session *s)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_tensor_view *v = takt_session_input(s, i);
        if (!EXPECT(v != NULL))
            return;
        size_t bits = (size_t)takt_dtype_bits(v->dtype);
        for (int d = 0; d < v->rank; d++)
            bits *= (size_t)v->dims[d];
        memset(v->data, 0, (bits + 7) / 8);
    }
}

static void try_model(const char *text, const char *backend, const char *numerics)
{
    counting_clock clock = {.now = 1};
    const takt_config config = {.now_ns = read_clock, .clock_user = &clock};
    const takt_plan_options options = {.threads = 1, .backend = backend, .numerics = numerics};
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    if (EXPECT(takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model) == TAKT_OK &&
                   takt_plan_create(model, &options, &plan) == TAKT_OK &&
                   takt_session_create(plan, NULL, &s) == TAKT_OK,
               "%s: %s", text, takt_last_error(ctx))) {
        clear_inputs(s);
        if (strcmp(backend, "cpu") == 0)
            see(s->plan);
        look_inside(text, backend, &clock, s);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
}

static void every_model(void)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        try_model(models[i], "cpu", NULL);
}

/* Where the processor has them, products and convolutions of 16 bits. */
static const char *const fast_models[] = {
    "model m(x: f32[300, 700]) { return dense(x, 700) }",
    "model m(x: f32[1, 32, 80, 80]) { return x |> conv(32, 3) |> relu() |> conv(32, 3) }",
    "model m(x: f32[1, 64, 100, 100]) { return x |> conv(64, 1) |> relu() |> conv(64, 1) }",
    "model m(x: f32[1, 32, 80, 80]) { return x |> depthwise(3) |> relu() |> conv(32, 5) }",
};

static void every_fast_model(void)
{
    for (size_t i = 0; i < sizeof fast_models / sizeof *fast_models; i++)
        try_model(fast_models[i], "cpu", "fast");
}

static void every_kind_is_there(void)
{
    for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++)
        for (size_t k = 0; k < KINDS; k++)
            if (strcmp(kinds[k].name, exempt[i].name) == 0) {
                EXPECT(!kinds[k].is_seen || strcmp(exempt[i].name, "custom") != 0, "%s",
                       exempt[i].why);
                kinds[k].is_seen = true;
            }
    for (size_t k = 0; k < KINDS; k++)
        EXPECT(kinds[k].is_seen, "no model here has a step of kind %s", kinds[k].name);
}

/* The interpreter, which is some hundred times slower. */
static const char *const slow[] = {
    "model m(x: f32[60, 200], w: f32[200, 100]) { return x @ w }",
    "model m(x: f32[1, 4, 40, 40]) { return conv(x, 8, 3) }",
    "model m(x: f32[600000]) { return op.exp(x) }",
    "model m(x: f32[600000]) { return op.reduce_sum(x, axes=[0]) }",
    "model m(x: f32[300, 2000]) { return softmax(x) }",
    "model m(x: f32[8, 10, 80, 80]) { return max_pool(x, 3) }",
    "model m(x: f32[100000]) { v, i = op.sort(x, axis=0)\n return v }",
    "model m(x: f32[80, 80, 80]) { return op.transpose(x, perm=[2, 0, 1]) }",
    PICK("10, 30000", "12") "op.gather(x, i) }",
};

static void the_interpreter(void)
{
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        try_model(slow[i], "ref", NULL);
}

TEST_MAIN(every_model, every_fast_model, every_kind_is_there, the_interpreter)
