/* op_named.c - structural ops on dimensions that have names: result types, and gradients that are
 * the same whether sizes are substituted before or after differentiation. */
#include <string.h>

#include "grad/grad.h"
#include "interp/interp.h"
#include "lang/parse.h"
#include "op/ops.h"
#include "pass/pass.h"
#include "test.h"
#include "util/random_array.h"
#include "util/sample.h"

typedef struct row {
    const char *call, *type; /* of the first result */
} row;

static const row rows[] = {
    {"matmul(f32[batch, 3], f32[3, n])", "f32[batch, n]"},
    {"matmul(f32[b, s, k], f32[k, 4])", "f32[b, s, 4]"},
    {"matmul(f32[b, 1, s, 8], f32[h, t, 8], transpose_b=true)", "f32[b, h, s, t]"},
    {"einsum(f32[b, i, j], f32[b, j, k], equation=\"bij,bjk->bki\")", "f32[b, k, i]"},
    {"conv(f32[n, 3, h, w], f32[8, 3, 3, 3], pad=[1, 1, 1, 1])", "f32[n, 8, h, w]"},
    {"conv(f32[n, h, w, 3], f32[8, 3, 3, 3], layout=nhwc)", "f32[n, h - 2, w - 2, 8]"},
    {"max_pool(f32[n, c, 2*h, 8], kernel=[2, 2], stride=[2, 2])", "f32[n, c, h, 4]"},
    {"avg_pool(f32[n, 3, len], kernel=[3], pad=[1, 1])", "f32[n, 3, len]"},
    {"global_avg_pool(f32[n, c, h, w])", "f32[n, c, 1, 1]"},
    {"reshape(f32[b, 28, 28], shape=[b, 784])", "f32[b, 784]"},
    {"flatten(f32[b, 3, s])", "f32[b, 3*s]"},
    {"transpose(f32[b, s, 4], perm=[0, 2, 1])", "f32[b, 4, s]"},
    {"broadcast(f32[1, s], shape=[b, s])", "f32[b, s]"},
    {"slice(f32[b, s], axes=[1], start=[1], stop=[9223372036854775807])", "f32[b, s - 1]"},
    {"slice(f32[b, s], axes=[1], start=[0], stop=[-1])", "f32[b, s - 1]"},
    {"slice(f32[s], start=[-1], stop=[-9223372036854775807], step=[-1])", "f32[s]"},
    {"slice(f32[2*s], start=[0], stop=[9223372036854775807], step=[2])", "f32[s]"},
    {"pad(f32[s, 2], before=[2, 0], after=[1, 0])", "f32[s + 3, 2]"},
    {"concat(f32[a, 2], f32[b, 2])", "f32[a + b, 2]"},
    {"concat(f32[s, 2], f32[1, 2], f32[s, 2])", "f32[2*s + 1, 2]"},
    {"stack(f32[s], f32[s], axis=1)", "f32[s, 2]"},
    {"tile(f32[s, 3], repeats=[2, 1])", "f32[2*s, 3]"},
    {"squeeze(f32[1, s], axes=[0])", "f32[s]"},
    {"unsqueeze(f32[s], axes=[0])", "f32[1, s]"},
    {"gather(f32[vocab, 8], i64[b, s])", "f32[b, s, 8]"},
    {"index_add(f32[vocab, 8], i64[b, s], f32[b, s, 8])", "f32[vocab, 8]"},
    {"gather_elements(f32[b, n], i64[b, 3], axis=1)", "f32[b, 3]"},
    {"gather_sum(f32[b, n, c], i64[2, m], f32[2, m], axis=1)", "f32[b, m, c]"},
    {"gather_sum(f32[b, c, n], i32[b, 4, m], f32[b, 4, m], bool[b, 4, m], batch_dims=1)",
     "f32[b, c, m]"},
    {"scatter_elements(f32[b, n], i64[b, 3], f32[b, 3], axis=1)", "f32[b, n]"},
    {"gather_nd(f32[b, n, 4], i64[b, k, 1], batch=1)", "f32[b, k, 4]"},
    {"dynamic_slice(f32[s, 4], i64[], size=[3])", "f32[3, 4]"},
    {"update_slice(f32[b, s, 4], f32[b, t, 4], i64[], axis=1)", "f32[b, s, 4]"},
    {"top_k(f32[b, n], k=2)", "f32[b, 2]"},
    {"one_hot(i64[b], depth=10)", "f32[b, 10]"},
    {"dequantize(i8[n, 4], f32[4])", "f32[n, 4]"},
    {"attention(f32[b, s, 8], f32[b, t, 8], f32[b, t, 8], heads=2, causal=true)", "f32[b, s, 8]"},
    {"rotary_embedding(f32[b, s, 8], f32[s, 4], f32[s, 4])", "f32[b, s, 8]"},
    {"depth_to_space(f32[n, 4*c, h, w], block=2)", "f32[n, c, 2*h, 2*w]"},
    {"trilu(f32[s, s])", "f32[s, s]"},
    {"iota(shape=[s])", "i64[s]"},
    {"scan(f32[3], f32[s, 3], carried=1, body=graph(h: f32[3], x: f32[3]) { return add(h, x) })",
     "f32[3]"},
};

static takt_ctx *ctx;

static void check_type(const row *r, const takt_graph *g)
{
    char got[TAKT_TYPE_TEXT];
    takt_type_text(g->dims, takt_type_of(g, g->outputs[0].id), got);
    EXPECT(strcmp(got, r->type) == 0, "%s is %s, expected %s", r->call, got, r->type);
}

enum { SIZE = 4, NAMES = 8 };

/* Numbers for all names. */
static takt_status put_numbers(const takt_graph *g, takt_graph **out)
{
    int64_t sizes[NAMES];
    for (size_t i = 0; i < NAMES; i++)
        sizes[i] = SIZE;
    return takt_graph_specialize(g, sizes, takt_dims_name_count(g->dims), out);
}

/* Makes the gradients of the sum of squares by all float inputs the only outputs. */
static takt_status differentiate(takt_graph *g)
{
    takt_id in[TAKT_SAMPLE_INPUTS], result[TAKT_SAMPLE_INPUTS];
    const takt_id y = g->outputs[0].id, out = takt_mul(g, y, y);
    size_t count = 0;
    for (size_t i = 0; i < g->input_count; i++)
        if (takt_dtype_is_float(takt_type_of(g, g->inputs[i].id)->dtype))
            in[count++] = g->inputs[i].id;
    const takt_grad_request request = {
        .out_count = 1, .out = &out, .in_count = count, .in = in, .result = result};
    TAKT_TRY(takt_grad_append(g, &request));
    g->output_count = 0;
    for (size_t i = 0; i < count; i++) {
        const char name[] = {'g', (char)('0' + i), '\0'};
        EXPECT(takt_type_same(g->dims, takt_type_of(g, in[i]), takt_type_of(g, result[i])),
               "the gradient of input %zu has another type", i);
        takt_graph_output(g, name, result[i]);
    }
    TAKT_TRY(g->status);
    return takt_graph_verify(g);
}

static takt_status run(const takt_graph *g, takt_array *out)
{
    takt_array in[TAKT_SAMPLE_INPUTS] = {0};
    takt_random random = {.state = 7};
    const takt_sample_range index = {.is_set = true, .low = 0, .high = 0};
    const takt_sample_range value = {.is_set = true, .low = -2, .high = 2};
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < g->input_count && status == TAKT_OK; i++) {
        const takt_type *type = takt_type_of(g, g->inputs[i].id);
        const bool is_float = takt_dtype_is_float(type->dtype);
        status = takt_random_array(ctx, &random, type, is_float ? &value : &index, &in[i]);
    }
    if (status == TAKT_OK)
        status = takt_interpret_arrays(ctx, g, in, NULL, out, NULL);
    for (size_t i = 0; i < g->input_count; i++)
        takt_array_release(ctx, &in[i]);
    return status;
}

/* Gradients of the sample, with sizes substituted before or after; `out` receives them. */
static takt_status gradients(const char *call, bool before, takt_array *out, size_t *count)
{
    takt_graph *g = NULL, *numbers = NULL;
    takt_status status = takt_sample_graph(ctx, NULL, call, &g, NULL);
    if (status == TAKT_OK && !before)
        status = differentiate(g);
    if (status == TAKT_OK)
        status = put_numbers(g, &numbers);
    if (status == TAKT_OK && before)
        status = differentiate(numbers);
    if (status == TAKT_OK) {
        *count = numbers->output_count;
        status = run(numbers, out);
    }
    takt_graph_destroy(numbers);
    takt_graph_destroy(g);
    return status;
}

static void check_gradient(const row *r, const takt_graph *g)
{
    takt_array first[TAKT_MAX_OUTPUTS] = {0}, second[TAKT_MAX_OUTPUTS] = {0};
    size_t count = 0, same = 0;
    if (!takt_dtype_is_float(takt_type_of(g, g->outputs[0].id)->dtype) ||
        strncmp(r->call, "scan", 4) == 0 || strncmp(r->call, "one_hot", 7) == 0)
        return;
    const takt_status a = gradients(r->call, true, first, &count);
    EXPECT(a == TAKT_OK, "%s: with numbers: %s", r->call, takt_last_error(ctx));
    const takt_status b = gradients(r->call, false, second, &same);
    EXPECT(b == TAKT_OK, "%s: with names: %s", r->call, takt_last_error(ctx));
    for (size_t i = 0; i < count && a == TAKT_OK && b == TAKT_OK; i++) {
        const double d = takt_array_distance(&first[i], &second[i]);
        EXPECT(d < 1e-6, "%s: gradient of input %zu differs by %g", r->call, i, d);
    }
    for (size_t i = 0; i < TAKT_MAX_OUTPUTS; i++) {
        takt_array_release(ctx, &first[i]);
        takt_array_release(ctx, &second[i]);
    }
}

static void named(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        takt_graph *g = NULL;
        const takt_status status = takt_sample_graph(ctx, NULL, rows[i].call, &g, NULL);
        if (EXPECT(status == TAKT_OK, "%s: %s", rows[i].call, takt_last_error(ctx))) {
            check_type(&rows[i], g);
            check_gradient(&rows[i], g);
        }
        takt_graph_destroy(g);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(named)
