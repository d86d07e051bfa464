/* op_values.c - results of structural ops computed by hand, and their faults.
 *
 * tests/unit/ops.c compares evaluation, lowering and gradient with each other; this test fixes
 * their values.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interp/interp.h"
#include "lang/parse.h"
#include "op/ops.h"
#include "test.h"

typedef struct row {
    const char *body; /* of a model without inputs; its first output counts */
    const char *type;
    double want[12];
} row;

static const row rows[] = {
    /* contractions and windows */
    {"return matmul(constant(i32[2, 2], [1, 2, 3, 4]), constant(i32[2, 2], [5, 6, 7, 8]))",
     "i32[2, 2]",
     {19, 22, 43, 50}},
    {"return matmul(constant(i8[1, 2], [100, 100]), constant(i8[2], [1, 1]))", "i8[1]", {-56}},
    {"return op.conv(reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3]), "
     "reshape(iota(dtype=f32, shape=[4]), shape=[1, 1, 2, 2]))",
     "f32[1, 1, 2, 2]",
     {19, 25, 37, 43}},
    {"x = reshape(iota(dtype=f32, shape=[4]), shape=[1, 1, 2, 2])\n"
     "return conv_dx(x, x, shape=[1, 1, 3, 3])",
     "f32[1, 1, 3, 3]",
     {0, 0, 1, 0, 4, 6, 4, 12, 9}},
    {"return conv_dw(reshape(iota(dtype=f32, shape=[3]), shape=[1, 1, 3]), "
     "constant(f32[1, 1, 2], [1, 10]), shape=[1, 1, 2])",
     "f32[1, 1, 2]",
     {10, 21}},
    {"return op.max_pool(reshape(iota(dtype=f32, shape=[6]), shape=[1, 1, 2, 3]), kernel=[2, 2])",
     "f32[1, 1, 1, 2]",
     {4, 5}},
    {"return op.max_pool(reshape(iota(dtype=f32, shape=[5]), shape=[1, 1, 5]), kernel=[2], "
     "stride=[2], ceil=true)",
     "f32[1, 1, 3]",
     {1, 3, 4}},
    {"return op.avg_pool(reshape(iota(dtype=f32, shape=[3]), shape=[1, 1, 3]), kernel=[2], "
     "pad=[1, 1])",
     "f32[1, 1, 4]",
     {0, 0.5, 1.5, 2}},
    {"return op.avg_pool(reshape(iota(dtype=f32, shape=[3]), shape=[1, 1, 3]), kernel=[2], "
     "pad=[1, 1], count_pad=true)",
     "f32[1, 1, 4]",
     {0, 0.5, 1.5, 1}},
    {"return op.avg_pool(reshape(iota(dtype=f64, shape=[5]), shape=[1, 1, 5]), kernel=[3], "
     "stride=[2], pad=[1, 0], ceil=true, count_pad=true)",
     "f64[1, 1, 3]",
     {1 / 3.0, 2, 3.5}},
    {"return einsum(reshape(iota(shape=[9]), shape=[3, 3]), equation=\"ii\")", "i64[]", {12}},
    {"return einsum(reshape(iota(shape=[4]), shape=[2, 2]), equation=\"ba\")",
     "i64[2, 2]",
     {0, 2, 1, 3}},
    /* zeros around dy are multiplied, even by infinite weights; positions between strides are
     * not */
    {"return conv_dx(constant(f32[1, 1, 2], [1, 1]), constant(f32[1, 1, 3], [1, 2, inf]), "
     "stride=[2], shape=[1, 1, 5])",
     "f32[1, 1, 5]",
     {NAN, 2, INFINITY, 2, INFINITY}},
    /* no offsets: the convolution above; half a column to the right: means of neighbours */
    {"x = reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3])\n"
     "return deform_conv(x, reshape(iota(dtype=f32, shape=[4]), shape=[1, 1, 2, 2]), "
     "broadcast(constant(f32[], [0]), shape=[1, 8, 2, 2]))",
     "f32[1, 1, 2, 2]",
     {19, 25, 37, 43}},
    {"x = reshape(iota(dtype=f32, shape=[4]), shape=[1, 1, 1, 4])\n"
     "return deform_conv(x, constant(f32[1, 1, 1, 1], [1]), reshape(constant(f32[8], "
     "[0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5]), shape=[1, 2, 1, 4]))",
     "f32[1, 1, 1, 4]",
     {0.5, 1.5, 2.5, 1.5}},
    /* regions: rows 0 to 1 and columns 1 to 2 of 0 … 8, in one bin and in two */
    {"x = reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3])\n"
     "return max_roi_pool(x, constant(f32[1, 5], [0, 1, 0, 2, 1]), height=2)",
     "f32[1, 1, 2, 1]",
     {2, 5}},
    {"x = reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3])\n"
     "return max_roi_pool(x, constant(f32[2, 5], [0, 7, 7, 9, 9, 0, 0, 0, 0, 0]))",
     "f32[2, 1, 1, 1]",
     {0, 0}},
    {"x = reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3])\n"
     "return max_roi_pool_dx(x, constant(f32[2, 5], [0, 1, 0, 2, 1, 0, 0, 0, 2, 2]), "
     "reshape(constant(f32[2], [10, 1]), shape=[2, 1, 1, 1]))",
     "f32[1, 1, 3, 3]",
     {0, 0, 0, 0, 0, 10, 0, 0, 1}},
    {"x = reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3])\n"
     "return roi_align(x, constant(f32[1, 4], [0, 0, 2, 2]), constant(i64[1], [-1]), height=2, "
     "width=2, samples=1)",
     "f32[1, 1, 2, 2]",
     {0, 1, 3, 4}},
    {"x = reshape(iota(dtype=f32, shape=[9]), shape=[1, 1, 3, 3])\n"
     "return roi_align(x, constant(f32[1, 4], [0, 0, 2, 2]), constant(i64[1], [0]), "
     "aligned=false)",
     "f32[1, 1, 1, 1]",
     {4}},
    {"x = reshape(iota(dtype=f32, shape=[4]), shape=[1, 1, 2, 2])\n"
     "return roi_align_dx(x, constant(f32[1, 4], [0, 0, 2, 2]), constant(i64[1], [0]), "
     "constant(f32[1, 1, 1, 1], [8]), samples=1)",
     "f32[1, 1, 2, 2]",
     {2, 2, 2, 2}},
    /* probabilities of 0 and 1 leave nothing to chance */
    {"zero = constant(u64[], [0])\n"
     "return bernoulli(constant(f32[4], [0, 1, 0, 1]), zero, zero, zero, stream=1, dtype=i32)",
     "i32[4]",
     {0, 1, 0, 1}},
    {"zero = constant(u64[], [0])\n"
     "return multinomial(constant(f32[1, 3], [-inf, 0, -inf]), zero, zero, zero, stream=1, "
     "samples=4)",
     "i64[1, 4]",
     {1, 1, 1, 1}},
    {"zero = constant(u64[], [0])\n"
     "y, kept = op.dropout(constant(f32[3], [1, 2, 3]), zero, zero, zero, stream=1, rate=0)\n"
     "return y",
     "f32[3]",
     {1, 2, 3}},
    /* moves */
    {"return slice(iota(shape=[6]), start=[-2], stop=[-6], step=[-2])", "i64[2]", {4, 2}},
    {"return slice(iota(shape=[3]), start=[-99], stop=[99])", "i64[3]", {0, 1, 2}},
    {"return slice(iota(shape=[4]), start=[-1], stop=[-99], step=[-1])", "i64[4]", {3, 2, 1, 0}},
    {"return pad(iota(shape=[3]), before=[2], after=[1], mode=reflect)",
     "i64[6]",
     {2, 1, 0, 1, 2, 1}},
    {"return pad(iota(shape=[3]), before=[1], after=[2], mode=wrap)", "i64[6]", {2, 0, 1, 2, 0, 1}},
    {"return pad(iota(shape=[2]), before=[1], after=[2], value=7)", "i64[5]", {7, 0, 1, 7, 7}},
    {"return concat(iota(shape=[2]), iota(shape=[3]))", "i64[5]", {0, 1, 0, 1, 2}},
    {"return transpose(reshape(iota(shape=[6]), shape=[1, 2, 3]), perm=[2, 0, 1])",
     "i64[3, 1, 2]",
     {0, 3, 1, 4, 2, 5}},
    {"return tile(reshape(iota(shape=[2]), shape=[1, 2]), repeats=[2, 2])",
     "i64[2, 4]",
     {0, 1, 0, 1, 0, 1, 0, 1}},
    {"return depth_to_space(reshape(iota(shape=[8]), shape=[1, 8, 1, 1]), block=2)",
     "i64[1, 2, 2, 2]",
     {0, 2, 4, 6, 1, 3, 5, 7}},
    {"return depth_to_space(reshape(iota(shape=[8]), shape=[1, 8, 1, 1]), block=2, mode=crd)",
     "i64[1, 2, 2, 2]",
     {0, 1, 2, 3, 4, 5, 6, 7}},
    {"return trilu(reshape(iota(shape=[4]), shape=[2, 2]), upper=false, k=-1)",
     "i64[2, 2]",
     {0, 0, 2, 0}},
    /* indices */
    {"return gather(iota(shape=[3]), constant(i64[2], [-1, 0]))", "i64[2]", {2, 0}},
    {"return gather_nd(reshape(iota(shape=[4]), shape=[2, 2]), constant(i64[2, 2], [0, 1, -1, 0]))",
     "i64[2]",
     {1, 2}},
    {"return index_add(iota(shape=[3]), constant(i64[2], [1, 1]), constant(i64[2], [7, 9]))",
     "i64[3]",
     {0, 17, 2}},
    {"return scatter_elements(iota(shape=[4]), constant(i64[2], [1, 1]), "
     "constant(i64[2], [7, 9]))",
     "i64[4]",
     {0, 9, 2, 3}},
    {"return scatter_elements(iota(shape=[4]), constant(i64[2], [1, 1]), "
     "constant(i64[2], [7, 5]), reduce=max)",
     "i64[4]",
     {0, 7, 2, 3}},
    {"return dynamic_slice(iota(shape=[5]), constant(i64[], -2), size=[2])", "i64[2]", {3, 4}},
    {"return update_slice(iota(shape=[4]), constant(i64[2], [8, 9]), constant(i32[], 1))",
     "i64[4]",
     {0, 8, 9, 3}},
    {"v, i = top_k(constant(f32[5], [1, 3, 3, 2, 3]), k=3)\nreturn i", "i64[3]", {1, 2, 4}},
    {"v, i = top_k(constant(f32[4], [4, 1, 2, 5]), k=2)\nreturn i", "i64[2]", {3, 0}},
    {"v, i = top_k(constant(f32[4], [4, 1, 2, 5]), k=2, sorted=false)\nreturn i", "i64[2]", {0, 3}},
    {"v, i = sort(constant(f32[4], [2, nan, 1, 3]))\nreturn i", "i64[4]", {2, 0, 3, 1}},
    {"v, i = sort(constant(f32[4], [2, nan, 1, 3]), descending=true)\nreturn i",
     "i64[4]",
     {1, 3, 0, 2}},
    {"v, i = sort(constant(u64[2], [18446744073709551615, 1]))\nreturn i", "i64[2]", {1, 0}},
    {"return one_hot(constant(i64[3], [1, -1, 5]), depth=2, dtype=i8)",
     "i8[3, 2]",
     {0, 1, 0, 1, 0, 0}},
    /* numbers */
    {"return quantize(constant(f32[5], [0.5, 1.5, 2.5, -300, 300]), constant(f32[], 1), "
     "constant(i8[], 10), axis=0)",
     "i8[5]",
     {10, 12, 12, -128, 127}},
    {"return quantize(constant(f32[4], [1, 0, -1, nan]), constant(f32[], 0), constant(u8[], 9), "
     "axis=0, dtype=u8)",
     "u8[4]",
     {255, 9, 0, 9}},
    {"return dequantize(constant(u8[2], [0, 255]), constant(f32[2], [0.5, 2]), "
     "constant(u8[2], [128, 0]), axis=0)",
     "f32[2]",
     {-64, 510}},
    {"z = constant(u64[], 0)\nreturn rand(z, z, constant(u64[], 1), stream=0, dist=bits, "
     "dtype=u32, shape=[2])",
     "u32[2]",
     {0xe169c58d, 0xbc57ac4c}},
    {"z = constant(u64[], 0)\nreturn rand(z, z, z, stream=0, dtype=f32, shape=[1])",
     "f32[1]",
     {0x6627e8 * 0x1p-24}},
    /* attention */
    {"q = constant(f32[1, 2, 1], [1, 0])\nv = constant(f32[1, 2, 1], [3, 5])\n"
     "return op.attention(q, q, v, causal=true)",
     "f32[1, 2, 1]",
     {3, 4}},
    /* control flow */
    {"return if(constant(bool[], 0), iota(shape=[2]), then=graph(a: i64[2]) { return a }, "
     "else=graph(a: i64[2]) { return neg(a) })",
     "i64[2]",
     {0, -1}},
    {"return loop(constant(i64[], 5), constant(bool[], 1), constant(i64[], 0), carried=1, "
     "body=graph(i: i64[], c: bool[], h: i64[]) { return c, add(h, i) })",
     "i64[]",
     {10}},
    {"h, s = loop(constant(i64[], 9), constant(bool[], 1), constant(i64[], 0), carried=1, "
     "length=[5], body=graph(i: i64[], c: bool[], h: i64[]) { return lt(i, 2), add(h, i), i })\n"
     "return s",
     "i64[5]",
     {0, 1, 2, 0, 0}},
    {"h, s = scan(constant(i64[], 10), iota(shape=[4]), carried=1, reverse=true, "
     "body=graph(h: i64[], x: i64[]) { a = add(h, x)\nreturn a, a })\nreturn s",
     "i64[4]",
     {16, 16, 15, 13}},
    {"return custom(iota(shape=[3]), name=\"twice\", body=graph(x: i64[3]) { return add(x, x) })",
     "i64[3]",
     {0, 2, 4}},
};

typedef struct fault {
    const char *body;
    takt_error_id id;
} fault;

static const fault faults[] = {
    {"return gather(iota(shape=[3]), constant(i64[1], [3]))", TAKT_E_INDEX},
    {"return gather(iota(shape=[3]), constant(i64[1], [-4]))", TAKT_E_INDEX},
    {"return gather(iota(shape=[3]), constant(i64[1], [-9223372036854775808]))", TAKT_E_INDEX},
    {"return gather_nd(iota(shape=[3]), constant(i64[1, 1], [3]))", TAKT_E_INDEX},
    {"return scatter_elements(iota(shape=[3]), constant(i64[1], [9223372036854775807]), "
     "constant(i64[1], [1]))",
     TAKT_E_INDEX},
    {"return index_add(iota(shape=[3]), constant(i32[1], [-4]), constant(i64[1], [1]))",
     TAKT_E_INDEX},
    {"return dynamic_slice(iota(shape=[3]), constant(i64[], 2), size=[2])", TAKT_E_INDEX},
    {"return dynamic_slice(iota(shape=[3]), constant(i64[], -9223372036854775808), size=[2])",
     TAKT_E_INDEX},
    {"return update_slice(iota(shape=[3]), iota(shape=[2]), constant(i64[], -1))", TAKT_E_INDEX},
    {"return loop(constant(i64[], 9223372036854775807), constant(bool[], 1), constant(i64[], 0), "
     "carried=1, body=graph(i: i64[], c: bool[], h: i64[]) { return c, h })",
     TAKT_E_TRIP_COUNT},
    {"h, s = loop(constant(i64[], 3), constant(bool[], 1), constant(i64[], 0), carried=1, "
     "length=[2], body=graph(i: i64[], c: bool[], h: i64[]) { return c, h, h })\nreturn s",
     TAKT_E_TRIP_COUNT},
};

static takt_ctx *ctx;

/* Parses and runs; the type of the result as text. */
static takt_status run(const char *body, takt_array *out, char type[static TAKT_TYPE_TEXT])
{
    char text[2048];
    takt_graph *g = NULL;
    snprintf(text, sizeof text, "model t() {\n%s\n}\n", body);
    TAKT_TRY(takt_parse(ctx, "values", text, strlen(text), NULL, &g));
    takt_type_text(g->dims, takt_type_of(g, g->outputs[0].id), type);
    const takt_status status = takt_interpret_arrays(ctx, g, NULL, NULL, out, NULL);
    takt_graph_destroy(g);
    return status;
}

static void values(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        char type[TAKT_TYPE_TEXT] = "";
        takt_array out = {0};
        const takt_status status = run(r->body, &out, type);
        if (!EXPECT(status == TAKT_OK, "%s: %s", r->body, takt_last_error(ctx)))
            continue;
        EXPECT(strcmp(type, r->type) == 0, "%s is %s, expected %s", r->body, type, r->type);
        for (size_t k = 0; k < out.count && k < 12; k++) {
            const double got = out.f != NULL ? out.f[k] : (double)out.i[k];
            const bool same = got == r->want[k] || (isnan(got) && isnan(r->want[k]));
            EXPECT(same || fabs(got - r->want[k]) <= 1e-15 * fabs(r->want[k]),
                   "%s: element %zu is %.17g, "
                   "expected %.17g",
                   r->body, k, got, r->want[k]);
        }
        takt_array_release(ctx, &out);
    }
    takt_ctx_destroy(ctx);
}

static void faulty(void)
{
    const takt_config config = {.limits = {.trip_count = 100}};
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char type[TAKT_TYPE_TEXT];
        takt_array out = {0};
        const takt_status status = run(faults[i].body, &out, type);
        EXPECT(status != TAKT_OK, "%s did not fail", faults[i].body);
        EXPECT(takt_last_error_info(ctx)->id == (int)faults[i].id, "%s: %s", faults[i].body,
               takt_last_error(ctx));
        takt_array_release(ctx, &out);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(values, faulty)
