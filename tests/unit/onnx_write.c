/* onnx_write.c - writing ONNX: state, named dimensions, weights in a separate file, refusals, and
 * every allocation and file operation failing in turn. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/model.h"
#include "base/error.h"
#include "io/onnx/write/write.h"
#include "op/ops.h"
#include "util/inject.h"

static takt_ctx *ctx;
static char file[1024];

static takt_model *from_text(takt_ctx *with, const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(with, takt_model_load_memory(with, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

static takt_model *again(const takt_model *m)
{
    takt_model *back = NULL;
    EXPECT_OK(ctx, takt_model_save(m, file, NULL));
    EXPECT_OK(ctx, takt_model_load(ctx, file, NULL, &back));
    return back;
}

/* The digest of the outputs after `runs` runs on random inputs. */
static void digest_of(const takt_model *m, const char *sizes, int runs, char text[TAKT_DIGEST_TEXT])
{
    takt_plan *plan;
    takt_session *s;
    const takt_plan_options options = {.sizes = sizes, .threads = 1, .backend = "ref"};
    text[0] = '\0';
    if (!EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)))
        return;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(s, i), 5, (uint32_t)i));
        for (int i = 0; i < runs; i++)
            EXPECT_OK(ctx, takt_session_run(s));
        EXPECT_OK(ctx, takt_view_digest(ctx, takt_session_output(s, 0), 1, text));
        takt_session_destroy(s);
    }
    takt_plan_destroy(plan);
}

static void same(const char *text, const char *sizes, int runs)
{
    char want[TAKT_DIGEST_TEXT], got[TAKT_DIGEST_TEXT];
    takt_model *m = from_text(ctx, text);
    takt_model *back = m != NULL ? again(m) : NULL;
    if (back != NULL) {
        digest_of(m, sizes, runs, want);
        digest_of(back, sizes, runs, got);
        EXPECT(strcmp(want, got) == 0, "%s", text);
        EXPECT(takt_model_input_count(back) == takt_model_input_count(m), "%s", text);
        EXPECT(takt_model_output_count(back) == takt_model_output_count(m), "%s", text);
    }
    takt_model_destroy(back);
    takt_model_destroy(m);
}

static const char stateful[] = "model m(x: f32[2, 3]) -> (y: f32[2, 3]) {\n"
                               "  state h: f32[2, 3] = 0.5\n"
                               "  next h = tanh(h + x)\n"
                               "  return y = h * 2\n}\n";
static const char named[] =
    "model m(x: f32[batch, seq, 4], z: f32[batch, 2*seq]) -> (y: f32[batch, seq*4]) {\n"
    "  param w: f32[4, 4] = uniform(-1, 1, stream=3)\n"
    "  a = op.reshape(x @ w, shape=[batch, seq*4])\n"
    "  b = op.broadcast(op.reduce_sum(z, axes=[1], keep=true), shape=[batch, seq*4])\n"
    "  return y = a + b\n}\n";

static void states_and_names(void)
{
    same(stateful, NULL, 1);
    same(stateful, NULL, 3);
    same(named, "batch=3,seq=5", 1);
    same("model m(x: f32[2]) -> (x: f32[2], again: f32[2]) { return x = x, again = x }", NULL, 1);
    same("model m(x: f32[n]) { return x |> op.pad(before=[1], after=[n]) }", "n=4", 1);
}

static bool file_has(const char *word)
{
    static char bytes[1 << 16];
    FILE *f = fopen(file, "rb");
    const size_t length = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0, n = strlen(word);
    if (f != NULL)
        fclose(f);
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp(bytes + i, word, n) == 0)
            return true;
    return false;
}

/* Next to a transposed matrix a vector is written as a matrix: onnxruntime drops the Transpose of a
 * product with a vector. */
static void vectors(void)
{
    static const char *const texts[] = {
        "model m(x: f32[5, n], w: f32[5]) { return op.matmul(x, w, transpose_a=true) }",
        "model m(x: f32[5], w: f32[n, 5]) { return op.matmul(x, w, transpose_b=true) }",
        "model m(x: f32[2, 5, n], w: f32[5]) { return op.matmul(x, w, transpose_a=true) }"};
    for (size_t i = 0; i < 3; i++) {
        same(texts[i], "n=3", 1);
        EXPECT(file_has("Transpose") && file_has("Unsqueeze"), "%s", texts[i]);
    }
}

/* Large weights in a separate file; small ones stay in the model. */
static void outside(void)
{
    takt_model *m = from_text(ctx, "model m(x: f32[2, 64]) {\n"
                                   "  param w: f32[64, 64] = uniform(-1, 1, stream=1)\n"
                                   "  param b: f32[64] = normal(0, 1, stream=2)\n"
                                   "  return x @ w + b\n}\n");
    char want[TAKT_DIGEST_TEXT], got[TAKT_DIGEST_TEXT], data[1100];
    takt_model *back = NULL;
    snprintf(data, sizeof data, "%s.data", file);
    remove(data);
    const takt_onnx_options options = {.slots = m->slots, .version = "1", .inline_limit = 4096};
    EXPECT_OK(ctx, takt_onnx_write(m->graph, &options, file));
    if (EXPECT_OK(ctx, takt_model_load(ctx, file, NULL, &back))) {
        digest_of(m, NULL, 1, want);
        digest_of(back, NULL, 1, got);
        EXPECT_TEXT(want, got);
        takt_model_destroy(back);
    }
    FILE *f = fopen(data, "rb");
    if (EXPECT(f != NULL, "%s is missing", data)) {
        EXPECT(fseek(f, 0, SEEK_END) == 0 && ftell(f) == 64 * 64 * 4, "%ld bytes", ftell(f));
        fclose(f);
    }
    EXPECT_EQ(remove(data), 0);
    EXPECT_STATUS(ctx, takt_model_load(ctx, file, NULL, &back), TAKT_ERR_FORMAT);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_ONNX_EXTERNAL);
    takt_model_destroy(m);
}

static void refused(void)
{
    takt_model *m =
        from_text(ctx, "model m(x: f32[2*n]) -> (y: f32[2, n]) {\n"
                       "  return y = op.broadcast(op.reduce_sum(x), shape=[2, n])\n}\n");
    EXPECT_STATUS(ctx, takt_model_save(m, file, NULL), TAKT_ERR_UNSUPPORTED);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_ONNX_WRITE);
    EXPECT(strstr(takt_last_error(ctx), "dimension n is in the shape of no input") != NULL, "%s",
           takt_last_error(ctx));
    const takt_save_options options = {.sizes = "n=3"};
    EXPECT_OK(ctx, takt_model_save(m, file, &options));
    EXPECT_STATUS(ctx, takt_model_save(m, "/no/such/folder/m.onnx", NULL), TAKT_ERR_UNSUPPORTED);
    takt_model_destroy(m);
    m = from_text(ctx, stateful);
    EXPECT_STATUS(ctx, takt_model_save(m, "/no/such/folder/m.onnx", NULL), TAKT_ERR_IO);
    EXPECT_STATUS(ctx, takt_model_save(m, NULL, NULL), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
}

/* The optimised model, for another engine: fewer nodes, close results, the same as text. */
static void optimized(void)
{
    takt_model *m = from_text(ctx, "model m(x: f32[2, 3, 8, 8]) {\n"
                                   "  return x |> conv(4, 3) |> batch_norm() |> relu()\n}\n");
    const takt_save_options options = {.optimize = true};
    char text[1100], one[TAKT_DIGEST_TEXT], other[TAKT_DIGEST_TEXT];
    takt_model *a = NULL, *b = NULL;
    snprintf(text, sizeof text, "%s.takt", file);
    EXPECT_OK(ctx, takt_model_save(m, file, &options));
    EXPECT_OK(ctx, takt_model_save(m, text, &options));
    if (EXPECT_OK(ctx, takt_model_load(ctx, file, NULL, &a)) &&
        EXPECT_OK(ctx, takt_model_load(ctx, text, NULL, &b))) {
        digest_of(a, NULL, 1, one);
        digest_of(b, NULL, 1, other);
        EXPECT_TEXT(one, other);
        size_t count = 0;
        for (size_t i = 0; i < a->graph->count; i++)
            EXPECT(a->graph->nodes[i].op != &takt_op_batch_norm);
        for (size_t i = 0; i < a->graph->count; i++)
            count += (a->graph->nodes[i].op->traits & TAKT_LEAF) == 0;
        EXPECT(count <= 5, "%zu nodes: batch_norm is not folded", count);
    }
    takt_model_destroy(a);
    takt_model_destroy(b);
    takt_model_destroy(m);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL;
    takt_inject_config(inject, &config);
    TAKT_TRY(takt_ctx_create(&config, &own));
    takt_status status = takt_model_load_memory(own, "m", user, strlen(user), NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_save(m, file, NULL);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    static char one[sizeof named], other[sizeof stateful];
    memcpy(one, named, sizeof named);
    memcpy(other, stateful, sizeof stateful);
    takt_sweep_report r = takt_sweep(scenario, one, TAKT_INJECT_ALL);
    EXPECT(r.is_good && r.runs > 50, "%s (%llu runs)", r.message, (unsigned long long)r.runs);
    r = takt_sweep(scenario, other, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(file, sizeof file, "%s/m.onnx", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    states_and_names();
    vectors();
    outside();
    refused();
    optimized();
    sweep();
    takt_ctx_destroy(ctx);
    return test_done();
}
