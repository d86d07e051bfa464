/* op_rejects.c - bad attributes and shapes of structural ops fail with the right error and words.
 */
#include <string.h>

#include "lang/parse.h"
#include "op/ops.h"
#include "test.h"

typedef struct row {
    const char *call;
    takt_error_id id;
    const char *words; /* part of the message */
} row;

static const row rows[] = {
    /* contractions */
    {"matmul(f32[4, 3], f32[5, 2])", TAKT_E_SHAPE,
     "matmul: inner dimensions differ: lhs is f32[4, 3], rhs is f32[5, 2]"},
    {"matmul(f32[2, 4, 3], f32[3, 3, 2])", TAKT_E_SHAPE, "leading dimensions differ"},
    {"matmul(f32[], f32[3])", TAKT_E_RANK, "rank 1"},
    {"matmul(f32[3], f32[3, 2], transpose_a=true)", TAKT_E_ATTR, "nothing to transpose"},
    {"einsum(f32[2, 3], equation=\"i\")", TAKT_E_SHAPE, "names 1 axes of input 0"},
    {"einsum(f32[2, 3], equation=\"ij,jk\")", TAKT_E_ARITY, "more operands"},
    {"einsum(f32[2], f32[2], equation=\"i\")", TAKT_E_ARITY, "1 operands"},
    {"einsum(f32[2, 3], equation=\"ij->ik\")", TAKT_E_ATTR, "no operand has"},
    {"einsum(f32[2, 3], equation=\"ij->ii\")", TAKT_E_ATTR, "twice"},
    {"einsum(f32[2, 3], equation=\"i1\")", TAKT_E_ATTR, "character 2"},
    {"einsum(f32[2, 3], f32[4, 2], equation=\"ij,jk\")", TAKT_E_SHAPE, "same letter"},
    {"einsum(f32[2, 3], equation=\"......\")", TAKT_E_ATTR, "second"},
    /* windows */
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], stride=[0, 1])", TAKT_E_ATTR, "stride must be"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], dilation=[1, 0])", TAKT_E_ATTR, "dilation must be"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], pad=[1, 1, -1, 1])", TAKT_E_ATTR, "pad must be"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], pad=[1, 1])", TAKT_E_ATTR, "pad has 2 entries"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], stride=[1])", TAKT_E_ATTR, "stride has 1 entries"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], dilation=[1, 1, 1])", TAKT_E_ATTR, "dilation has 3"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], groups=0)", TAKT_E_ATTR, "groups must be"},
    {"conv(f32[1, 4, 5, 5], f32[3, 2, 3, 3], groups=2)", TAKT_E_ATTR, "do not divide"},
    {"conv(f32[1, 3, 5, 5], f32[4, 2, 3, 3])", TAKT_E_SHAPE, "channels differ"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 6, 3])", TAKT_E_SHAPE, "spans 6"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 0, 3])", TAKT_E_SHAPE, "positive number"},
    {"conv(f32[1, 3, 5, 5], f32[4, 3, 3, 3], dilation=[2147483648, 1])", TAKT_E_SHAPE, "spans"},
    {"conv(f32[3, 5], f32[4, 3])", TAKT_E_RANK, "same rank, 3 to 5"},
    {"winograd_conv_dx(f32[1, 4, 7, 5], f32[4, 3, 3, 3], pad=[3, 1, 1, 1], shape=[1, 3, 5, 5])",
     TAKT_E_ATTR, "pad is 3"},
    {"winograd_conv_dw(f32[1, 3, 5, 5], f32[1, 4, 1, 1], shape=[4, 3, 5, 5])", TAKT_E_ATTR,
     "only 3x3 kernels"},
    {"conv_dx(f32[1, 4, 5, 5], f32[4, 3, 3, 3], shape=[1, 3, 5, 5])", TAKT_E_SHAPE,
     "needs f32[1, 4, 3, 3]"},
    {"conv_dw(f32[1, 3, 5, 5], f32[1, 4, 5, 5], shape=[4, 3, 3])", TAKT_E_RANK, "same rank"},
    {"max_pool(f32[1, 3, 5, 5], kernel=[0, 2])", TAKT_E_ATTR, "kernel must be"},
    {"max_pool(f32[1, 3, 5, 5], kernel=[])", TAKT_E_ATTR, "kernel is empty"},
    {"max_pool(f32[1, 3, 5, 5], kernel=[6, 2])", TAKT_E_SHAPE, "spans 6"},
    {"avg_pool(f32[1, 3, 5, 5], kernel=[2, 2], pad=[2, 0, 0, 0])", TAKT_E_ATTR, "but padding"},
    {"max_pool(f32[1, 3, 0], kernel=[3], pad=[2, 2])", TAKT_E_SHAPE, "axis 0 is empty"},
    {"max_pool(f32[1, 8, 2, 2, 2], kernel=[1100217349, 2095806807, 1], "
     "pad=[1100217348, 2095806806, 0, 1100217348, 2095806806, 0])",
     TAKT_E_ATTR, "a window has more than 2147483648 elements"},
    {"avg_pool(f32[3, 5], kernel=[2])", TAKT_E_RANK, "rank 3 to 5"},
    {"max_pool_dx(f32[1, 1, 4], f32[1, 1, 4], kernel=[2])", TAKT_E_SHAPE, "needs f32[1, 1, 3]"},
    {"deform_conv(f32[1, 2, 5, 5], f32[3, 1, 2, 2], f32[1, 8, 4, 4])", TAKT_E_SHAPE, "1 groups"},
    {"deform_conv(f32[1, 2, 5, 5], f32[3, 2, 2, 2], f32[1, 4, 4, 4])", TAKT_E_SHAPE, "two numbers"},
    {"deform_conv(f32[1, 2, 5, 5], f32[3, 2, 2, 2], f32[1, 8, 4, 4], f32[1, 8, 4, 4])",
     TAKT_E_SHAPE, "one number"},
    {"deform_conv(f32[1, 2, 1, 5], f32[3, 2, 2, 2], f32[1, 8, 4, 4])", TAKT_E_SHAPE, "larger"},
    {"deform_conv(f32[1, 2, 5, 5], f32[3, 2, 0, 2], f32[1, 8, 4, 4])", TAKT_E_SHAPE, "1 to 4096"},
    {"deform_conv(f32[1, 2, 5, 5], f32[3, 2, 2, 2], f32[1, 8, 4, 4], stride=[0, 1])", TAKT_E_ATTR,
     "stride must be"},
    {"roi_align(f32[1, 2, 5, 5], f32[3, 5], i64[3])", TAKT_E_SHAPE, "each has 4 numbers"},
    {"roi_align(f32[1, 2, 5, 5], f32[3, 4], i64[2])", TAKT_E_SHAPE, "roi_align"},
    {"roi_align(f32[1, 2, 5, 5], f32[3, 4], i64[3], height=0)", TAKT_E_ATTR, "height must be"},
    {"roi_align(f32[2, 5, 5], f32[3, 4], i64[3])", TAKT_E_RANK, "roi_align"},
    {"roi_align(f32[1, 2, 5, 5], f64[3, 4], i64[3])", TAKT_E_DTYPE, "f64"},
    {"max_roi_pool(f32[1, 2, 5, 5], f32[3, 4])", TAKT_E_SHAPE, "each has 5 numbers"},
    {"max_roi_pool_dx(f32[1, 2, 5, 5], f32[3, 5], f32[3, 2, 2, 1])", TAKT_E_SHAPE, "a bin for"},
    /* random numbers */
    {"random_uniform(u64[], u64[], u64[], stream=1, dtype=i32, shape=[2])", TAKT_E_DTYPE, "i32"},
    {"random_normal(u64[], u64[2], u64[], stream=1, shape=[2])", TAKT_E_RANK, "step"},
    {"bernoulli(f32[2], u64[], u64[], u32[], stream=1)", TAKT_E_DTYPE, "u32"},
    {"bernoulli(f32[2], u64[], u64[], u64[], stream=1, dtype=f8e5m2)", TAKT_E_DTYPE, "f8e5m2"},
    {"multinomial(f32[2, 0], u64[], u64[], u64[], stream=1)", TAKT_E_SHAPE, "no class"},
    {"multinomial(f32[2, 3], u64[], u64[], u64[], stream=1, dtype=u8)", TAKT_E_DTYPE, "i64 or i32"},
    {"dropout(f32[2, 3], u64[], u64[], u64[], stream=1, rate=1.5)", TAKT_E_ATTR, "from 0 to 1"},
    {"dropout(f32[2, 3], u64[], u64[], u64[], stream=-1)", TAKT_E_ATTR, "stream must be"},
    /* moves */
    {"reshape(f32[2, 3], shape=[4])", TAKT_E_SHAPE, "as many elements"},
    {"transpose(f32[2, 3], perm=[0, 0])", TAKT_E_ATTR, "twice"},
    {"transpose(f32[2, 3], perm=[0, 2])", TAKT_E_ATTR, "axis 2"},
    {"transpose(f32[2, 3], perm=[0])", TAKT_E_ATTR, "perm has 1 entries"},
    {"broadcast(f32[2, 3], shape=[2, 4])", TAKT_E_SHAPE, "does not broadcast"},
    {"broadcast(f32[2, 3], shape=[3])", TAKT_E_SHAPE, "does not broadcast"},
    {"slice(f32[4], start=[0], stop=[4], step=[0])", TAKT_E_ATTR, "step may not be 0"},
    {"slice(f32[4], start=[0], stop=[4], step=[-9223372036854775808])", TAKT_E_ATTR, "step may"},
    {"slice(f32[4], start=[0, 0], stop=[4])", TAKT_E_ATTR, "stop has 1"},
    {"slice(f32[4], start=[0, 0], stop=[4, 4])", TAKT_E_ATTR, "2 entries for 1 axes"},
    {"slice(f32[4, 4], axes=[0, -2], start=[0, 0], stop=[4, 4])", TAKT_E_ATTR, "twice"},
    {"pad(f32[4], before=[-1], after=[0])", TAKT_E_ATTR, "before must be"},
    {"pad(f32[4], before=[1, 1], after=[0])", TAKT_E_ATTR, "before has 2"},
    {"pad(f32[4], before=[4], after=[0], mode=reflect)", TAKT_E_ATTR, "more than 3"},
    {"pad(f32[4], before=[9223372036854775807], after=[0])", TAKT_E_DIM, ""},
    {"concat(f32[2, 3], f32[2, 3], axis=2)", TAKT_E_ATTR, "axis 2"},
    {"concat(f32[2, 3], f32[3, 3], axis=1)", TAKT_E_SHAPE, "input 1 is f32[3, 3]"},
    {"split(f32[5], sizes=[2, 2])", TAKT_E_SHAPE, "add up to 4"},
    {"split(f32[5], sizes=[6, -1])", TAKT_E_ATTR, "sizes must be"},
    {"squeeze(f32[1, 2, 1], axes=[0, -3])", TAKT_E_ATTR, "twice"},
    {"squeeze(f32[1, 2, 1], axes=[1])", TAKT_E_SHAPE, "is not 1"},
    {"unsqueeze(f32[2], axes=[0, 0])", TAKT_E_ATTR, "twice"},
    {"unsqueeze(f32[2], axes=[3])", TAKT_E_ATTR, "axis 3"},
    {"flatten(f32[2, 3], axis=3)", TAKT_E_ATTR, "axis 3"},
    {"stack(f32[2], f32[3])", TAKT_E_SHAPE, "needs f32[2]"},
    {"tile(f32[2], repeats=[-1])", TAKT_E_ATTR, "repeats must be"},
    {"tile(f32[2, 2], repeats=[2])", TAKT_E_ATTR, "1 entries for 2 axes"},
    {"tile(f32[4294967296, 4294967296], repeats=[2147483648, 2147483648])", TAKT_E_DIM, ""},
    {"depth_to_space(f32[1, 6, 2, 2], block=2)", TAKT_E_SHAPE, "does not divide"},
    {"depth_to_space(f32[1, 4, 2, 2], block=0)", TAKT_E_ATTR, "block must be"},
    {"space_to_depth(f32[1, 1, 3, 2], block=2)", TAKT_E_SHAPE, "does not divide"},
    {"trilu(f32[3])", TAKT_E_RANK, "rank 2"},
    {"iota(dtype=bool, shape=[3])", TAKT_E_DTYPE, "number"},
    {"iota(shape=[3], axis=1)", TAKT_E_ATTR, "axis 1"},
    {"rand(u64[], u64[], u64[], stream=-1, shape=[2])", TAKT_E_ATTR, "stream"},
    {"rand(u64[], u64[], u64[], stream=1, dtype=i32, shape=[2])", TAKT_E_DTYPE, "does not give"},
    {"dim(f32[2], axis=1)", TAKT_E_ATTR, "axis 1"},
    /* indices */
    {"gather(f32[3, 2], f32[2])", TAKT_E_DTYPE, "index must be i32 or i64"},
    {"gather(f32[3, 2], i64[2], axis=2)", TAKT_E_ATTR, "axis 2"},
    {"index_add(f32[3, 2], i64[4], f32[3, 2])", TAKT_E_SHAPE, "needs f32[4, 2]"},
    {"index_add(f32[3, 2], i64[4], f64[4, 2])", TAKT_E_DTYPE, "different element types"},
    {"gather_elements(f32[3, 2], i64[3, 3])", TAKT_E_SHAPE, "does not fit"},
    {"scatter_elements(f32[3, 2], i64[2, 2], f32[2, 1])", TAKT_E_SHAPE, "needs f32[2, 2]"},
    {"gather_nd(f32[3, 2], i64[4, 3])", TAKT_E_SHAPE, "1 to 2 coordinates"},
    {"gather_nd(f32[3, 2], i64[3, 1], batch=2)", TAKT_E_ATTR, "batch is 2"},
    {"scatter_nd(f32[3, 2], i64[4, 1], f32[4, 3])", TAKT_E_SHAPE, "needs f32[4, 2]"},
    {"dynamic_slice(f32[3], i64[], size=[4])", TAKT_E_SHAPE, "more than axis 0"},
    {"dynamic_slice(f32[3], i64[1], size=[2])", TAKT_E_RANK, "rank 0"},
    {"update_slice(f32[3], f32[4], i64[])", TAKT_E_SHAPE, "longer"},
    {"update_slice(f32[3, 2], f32[2, 3], i64[])", TAKT_E_SHAPE, "dimension 1 of x"},
    {"top_k(f32[3], k=4)", TAKT_E_ATTR, "k is 4"},
    {"top_k(f32[3], k=-1)", TAKT_E_ATTR, "k must be"},
    {"sort(f32[])", TAKT_E_ATTR, "axis -1"},
    {"one_hot(i64[2], depth=-1)", TAKT_E_ATTR, "depth must be"},
    {"one_hot(f32[2], depth=2)", TAKT_E_DTYPE, ""},
    /* quantisation */
    {"quantize(f32[2, 3], f32[2])", TAKT_E_SHAPE, "dimension 1 of x"},
    {"quantize(f32[2, 3], f32[], u8[])", TAKT_E_DTYPE, "zero is u8"},
    {"quantize(f32[2, 3], f32[], dtype=f32)", TAKT_E_ATTR, "integer"},
    {"dequantize(f32[2, 3], f32[])", TAKT_E_DTYPE, "an integer"},
    {"dequantize(i8[2, 3], f32[1, 3])", TAKT_E_RANK, "scale"},
    /* attention */
    {"attention(f32[1, 2, 6], f32[1, 2, 6], f32[1, 2, 6], heads=4)", TAKT_E_SHAPE, "multiples"},
    {"attention(f32[1, 2, 6], f32[1, 2, 4], f32[1, 2, 4], heads=3, kv_heads=2)", TAKT_E_ATTR,
     "does not divide heads"},
    {"attention(f32[1, 2, 6], f32[1, 2, 4], f32[1, 2, 4])", TAKT_E_SHAPE, "differ in size"},
    {"attention(f32[1, 3, 6], f32[1, 2, 6], f32[1, 2, 6], causal=true)", TAKT_E_SHAPE, "causal"},
    {"attention(f32[1, 2, 6], f32[1, 3, 6], f32[1, 3, 6], f32[3, 3])", TAKT_E_SHAPE, "mask is"},
    {"attention(f32[1, 2, 6], f32[2, 2, 6], f32[1, 2, 6])", TAKT_E_SHAPE, "dimension 0 of q"},
    {"attention(i64[1, 2, 6], i64[1, 2, 6], i64[1, 2, 6])", TAKT_E_DTYPE, "input 0 is i64"},
    {"attention(f32[1, 2, 6], f32[1, 2, 6], f64[1, 2, 6])", TAKT_E_DTYPE, "f64"},
    {"attention(f32[1, 2, 6], f32[1, 2, 6], f32[1, 2, 6], none, i64[2])", TAKT_E_SHAPE, "length"},
    {"attention(f32[1, 2, 6], f32[1, 2, 6], f32[1, 2, 6], none, f32[1])", TAKT_E_DTYPE, "length"},
    {"rotary_embedding(f32[4, 6], f32[4, 4], f32[4, 4])", TAKT_E_SHAPE, "at most half"},
    {"rotary_embedding(f32[4, 6], f32[5, 3], f32[5, 3])", TAKT_E_SHAPE, "does not broadcast"},
    {"gather_sum(f32[4, 6], f32[2, 3], f32[2, 3])", TAKT_E_DTYPE, "i64"},
    {"gather_sum(f32[4, 6], i64[2, 3], f64[2, 3])", TAKT_E_DTYPE, "f64"},
    {"gather_sum(f32[4, 6], i64[3], f32[3])", TAKT_E_SHAPE, "taps and places"},
    {"gather_sum(f32[4, 6], i64[0, 3], f32[0, 3])", TAKT_E_SHAPE, "number of taps"},
    {"gather_sum(f32[4, 6], i64[2, 3], f32[2, 4])", TAKT_E_SHAPE, "index"},
    {"gather_sum(f32[4, 6], i64[2, 3], f32[2, 3], bool[3])", TAKT_E_SHAPE, "index"},
    {"gather_sum(f32[4, 6], i64[2, 3], f32[2, 3], f32[2, 3])", TAKT_E_DTYPE, "bool"},
    {"gather_sum(f32[4, 6], i64[3, 2, 3], f32[3, 2, 3], batch_dims=1)", TAKT_E_SHAPE,
     "dimension 0"},
    {"gather_sum(f32[4, 6], i64[2, 3], f32[2, 3], batch_dims=2)", TAKT_E_ATTR, "batch_dims"},
    /* control flow */
    {"if(i64[], f32[2], then=graph(a: f32[2]) { return a }, else=graph(a: f32[2]) { return a })",
     TAKT_E_DTYPE, "bool"},
    {"if(bool[], f32[2], then=graph(a: f32[2]) { return a }, else=graph(a: f32[2]) "
     "{ return reduce_sum(a) })",
     TAKT_E_SHAPE, "result of else 0 is f32[]"},
    {"if(bool[], f32[3], then=graph(a: f32[2]) { return a }, else=graph(a: f32[2]) { return a })",
     TAKT_E_SHAPE, "input 1 is f32[3]"},
    {"if(bool[], then=graph(a: f32[2]) { return a }, else=graph(a: f32[2]) { return a })",
     TAKT_E_ARITY, "is given 0"},
    {"loop(i64[], bool[], f32[2], carried=2, body=graph(i: i64[], c: bool[], h: f32[2]) "
     "{ return c, h })",
     TAKT_E_ATTR, "carried is 2"},
    {"loop(i64[], bool[], f32[2], carried=1, body=graph(i: i64[], c: bool[], h: f32[2]) "
     "{ return c, h, h })",
     TAKT_E_ATTR, "length must"},
    {"loop(i64[], bool[], f32[2], carried=1, body=graph(i: i64[], c: bool[], h: f32[2]) "
     "{ return c, reduce_sum(h) })",
     TAKT_E_SHAPE, "carried result 0 is f32[]"},
    {"scan(f32[2], carried=1, body=graph(h: f32[2]) { return h })", TAKT_E_ATTR, "sequences 1"},
    {"scan(f32[2], f32[3, 4], carried=1, body=graph(h: f32[2], x: f32[3]) { return h })",
     TAKT_E_SHAPE, "element of sequence 0 is f32[4]"},
    {"scan(f32[2], f32[3, 4], carried=1, axes=[0, 0], body=graph(h: f32[2], x: f32[4]) "
     "{ return h })",
     TAKT_E_ATTR, "axes has 2"},
    {"custom(f32[2], name=\"\", body=graph(x: f32[2]) { return x })", TAKT_E_ATTR, "empty"},
};

static void rejects(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        takt_graph *g = NULL;
        const takt_status status = takt_sample_graph(ctx, NULL, rows[i].call, &g, NULL);
        const takt_error *error = takt_last_error_info(ctx);
        EXPECT(status != TAKT_OK, "%s was accepted", rows[i].call);
        EXPECT(status == TAKT_OK || error->id == (int)rows[i].id, "%s: error %d, expected %d: %s",
               rows[i].call, error->id, (int)rows[i].id, error->message);
        EXPECT(status == TAKT_OK || strstr(error->message, rows[i].words) != NULL,
               "%s: \"%s\" does not say \"%s\"", rows[i].call, error->message, rows[i].words);
        takt_graph_destroy(g);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(rejects)
