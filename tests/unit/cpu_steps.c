/* cpu_steps.c - every op, sample and element type on the cpu backend. A name checks one op alone.
 */
#include "backend/samples.h"

/* Ops whose steps are checked against the interpreter by their own tests as well may still fall
 * back for some types; the list may only shrink. */
static bool may_fall_back(const takt_op *op)
{
    static const char *const names[] = {NULL};
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

/* Large enough that several threads take part, with odd sizes. */
static const char *const large[] = {
    "matmul(f64[67, 96], f64[96, 71])",
    "matmul(f32[5, 33, 40], f32[5, 40, 35])",
    "matmul(f64[3, 300], f64[300, 333])",
    "matmul(f32[9, 520], f32[520, 172])",
    "matmul(f32[9, 520], f32[149, 520], transpose_b=true)",
    "matmul(bf16[65, 300], bf16[300, 49])",
    "matmul(f16[7, 31, 40], f16[7, 40, 35])",
    "matmul(i8[67, 96], i8[71, 96], transpose_b=true)",
    "matmul(u64[67, 70], u64[70, 71])",
    "integer_matmul(u8[67, 96], i8[96, 71], u8[], i8[71], i32[71], f32[71] in (0.001, 0.01), u8[])",
    "integer_matmul(i8[1, 700], u8[700, 333], i8[], u8[])",
    "block_matmul(f32[33, 1010], u4[130, 1010] in (0, 15), f32[130, 32] in (0.01, 0.1), "
    "u4[130, 32] in (0, 15), f32[130], compute=int8)",
    "block_matmul(f32[4, 8200], i8[97, 8200] in (-128, 127), f16[97, 129] in (0.01, 0.1), "
    "block=64, compute=int8)",
    "integer_conv(u8[2, 19, 17, 33], i8[35, 3, 3, 33], u8[], i8[35], i32[35], f32[35] in "
    "(0.0001, 0.001), u8[], pad=[1, 1, 1, 1], layout=nhwc)",
    "integer_conv(u8[1, 30, 31, 3], u8[20, 5, 7, 3], u8[], u8[], stride=[2, 3], pad=[2, 9, 1, 8], "
    "layout=nhwc)",
    "integer_conv(u8[1, 30, 31, 4], i8[8, 3, 3, 2], u8[], i8[], stride=[2, 3], dilation=[1, 2], "
    "groups=2, pad=[2, 4, 1, 3], layout=nhwc)",
    "integer_conv(i8[1, 40, 30, 48], i8[20, 1, 1, 48], i8[], layout=nhwc)",
    "integer_conv(u8[1, 2, 2, 16], i8[16, 3, 3, 16], u8[], i8[], dilation=[1073741824, "
    "1073741824], pad=[1073741824, 1073741824, 1073741824, 1073741824], layout=nhwc)",
    "integer_conv(u8[1, 40, 30, 48], i8[48, 3, 3, 1], u8[], i8[48], i32[48], f32[48] in "
    "(0.001, 0.01), u8[], groups=48, pad=[1, 1, 1, 1], layout=nhwc)",
    "integer_conv(u8[2, 14, 14, 58], i8[58, 3, 3, 1], u8[], i8[58] in (0, 0), i32[58], f32[] in "
    "(0.001, 0.01), i8[], groups=58, stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc)",
    "integer_conv(i8[2, 15, 14, 5], i8[5, 3, 2, 1], i8[], groups=5, stride=[2, 1], "
    "dilation=[1, 2], pad=[2, 0, 1, 3], layout=nhwc)",
    "integer_conv(u8[1, 9, 8, 7, 20], u8[20, 2, 3, 3, 1], u8[], u8[20], groups=20, "
    "pad=[1, 1, 2, 0, 3, 1], layout=nhwc)",
    "integer_conv(u8[2, 32, 31, 3], i8[24, 3, 3, 3], u8[], i8[24] in (0, 0), i32[24], f32[24] in "
    "(0.001, 0.01), u8[], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc)",
    "integer_conv(u8[2, 11, 9, 64], i8[35, 3, 3, 64], u8[], i8[35], i32[35], f32[35] in "
    "(0.0001, 0.001), u8[], pad=[1, 1, 1, 1], layout=nhwc)",
    "integer_conv(i8[3, 12, 17, 64], u8[33, 3, 2, 64], i8[], u8[33], stride=[2, 3], "
    "dilation=[1, 2], pad=[2, 0, 1, 3], layout=nhwc)",
    "integer_conv(u8[1, 9, 8, 128], i8[48, 1, 1, 128], u8[], i8[48] in (0, 0), i32[48], f32[] in "
    "(0.001, 0.01), i8[], stride=[2, 2], pad=[1, 1, 0, 0], layout=nhwc)",
    "integer_conv(u8[1, 30, 120, 256], i8[3, 2, 1, 256], u8[], pad=[1, 0, 0, 0], layout=nhwc)",
    "integer_conv(i8[2, 40, 192], i8[20, 5, 192], i8[], stride=[3], pad=[7, 6], layout=nhwc)",
    "integer_conv(i8[1, 6, 5, 9, 2], i8[5, 5, 4, 3, 2], i8[], pad=[2, 1, 1, 2, 3, 0], layout=nhwc)",
    "max_pool(u8[2, 31, 30, 24], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc)",
    "max_pool(bf16[2, 15, 17, 9], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], layout=nhwc)",
    "max_pool(bf16[1, 5, 8, 7, 33], kernel=[2, 5, 2], stride=[1, 3, 2], dilation=[1, 1, 2], "
    "pad=[1, 2, 1, 0, 1, 0], layout=nhwc)",
    "max_pool(i8[1, 21, 30, 19], kernel=[2, 5], stride=[1, 3], dilation=[2, 1], pad=[1, 3, 0, 2], "
    "layout=nhwc)",
    "max_pool(f32[2, 5, 31, 30], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1])",
    "max_pool(f32[2, 3, 70, 201], kernel=[5, 5], pad=[2, 2, 2, 2])",
    "max_pool(f32[3, 2, 41, 37], kernel=[2, 3], dilation=[3, 2], pad=[1, 0, 2, 4])",
    "max_pool(f32[2, 2, 6, 9, 35], kernel=[2, 3, 3], stride=[2, 1, 2], pad=[1, 1, 0, 1, 0, 2])",
    "max_pool(f32[1, 4, 501], kernel=[4], stride=[3], pad=[2, 1])",
    "max_pool(f32[1, 2, 40, 50], kernel=[2, 2], stride=[2, 2], ceil=true)",
    "avg_pool(f32[2, 5, 56, 57], kernel=[3, 3], pad=[1, 0, 2, 1])",
    "avg_pool(f32[2, 5, 31, 57], kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], count_pad=true)",
    "avg_pool(f32[2, 5, 40, 66], kernel=[2, 2], stride=[2, 2])",
    "avg_pool(f32[2, 3, 9, 40], kernel=[4, 3], stride=[3, 1], pad=[3, 1, 2, 1], ceil=true)",
    "avg_pool(f32[2, 20, 31, 40], kernel=[3, 3], pad=[1, 1, 1, 1], layout=nhwc)",
    "conv(f32[2, 30, 31, 3], f32[20, 3, 3, 3], stride=[2, 2], pad=[0, 1, 0, 1], layout=nhwc)",
    "conv(f32[1, 19, 23, 5], f32[9, 2, 3, 5], stride=[1, 3], pad=[1, 2, 3, 0], layout=nhwc)",
    "conv(f32[1, 19, 23, 4], f32[9, 3, 4, 4], pad=[4, 1, 5, 6], layout=nhwc)",
    "conv(f32[1, 9, 3, 2], f32[9, 3, 5, 2], pad=[1, 1, 1, 1], layout=nhwc)",
    "group_norm(f32[2, 12, 37, 41], f32[12], f32[12], groups=3)",
    "group_norm(f32[2, 37, 11, 12], f32[12], f32[12], groups=3, layout=nhwc)",
    "instance_norm(f32[3, 5, 27, 11], f32[5], f32[5])",
    "instance_norm(f16[3, 5, 1300], f16[5], f16[5])",
    "mul(f32[7, 5, 300], f32[5, 1])",
    "sub(f32[5, 1], f32[7, 5, 2100])",
    "add(i64[2, 3, 700], i64[2, 1, 1])",
    "mul(f64[2, 3, 33, 50], f64[3, 33, 1])",
    "reduce_sum(f32[100001])",
    "reduce_sum(f64[3, 20481], axes=[1])",
    "reduce_prod(f32[2, 16385] in (0.999, 1.001), axes=[1])",
    "reduce_max(f32[3, 20001], axes=[1])",
    "reduce_min(i64[70000])",
    "reduce_sum_square(f32[40960])",
    "reduce_sum(u32[65537])",
    "pad(f32[301, 303], before=[1, 2], after=[3, 4], mode=reflect)",
    "pad(i8[17, 5, 41], before=[2, 1, 5], after=[1, 0, 7], mode=edge)",
    "pad(f64[7, 31, 41], before=[2, 3, 4], after=[1, 0, 7], mode=wrap)",
    "pad(i16[5, 7, 31, 41], before=[0, 0, 3, 9], after=[0, 0, 2, 0], mode=reflect)",
    "pad(i16[301, 303], before=[1, 2], after=[3, 4], value=7)",
    "iota(dtype=f32, shape=[300, 301], axis=1)",
    "cast(f32[90001] in (-9, 9), dtype=i4)",
    "cast(u2[90001], dtype=f64)",
    "transpose(i4[301, 303])",
    "transpose(f32[301, 303])",
    "transpose(f32[303, 512])",
    "transpose(f32[512, 301])",
    "transpose(f32[3, 1024, 70], perm=[0, 2, 1])",
    "transpose(f32[2, 37, 41, 3], perm=[0, 3, 1, 2])",
    "transpose(u8[301, 303])",
    "transpose(u8[2, 3, 101, 97], perm=[0, 2, 3, 1])",
    "transpose(i8[5, 2, 117], perm=[0, 2, 1])",
    "transpose(u8[3, 40, 5], perm=[0, 2, 1])",
    "slice(u8[301, 303], start=[3, 5], stop=[300, 99])",
    "concat(u8[301, 101, 1], u8[301, 101, 1], axis=2)",
    "requantize(u8[301, 303], f32[] in (0.01, 0.1), f32[] in (0.01, 0.1), u8[], i8[])",
    "transpose(f32[2, 3, 101, 97], perm=[0, 2, 3, 1])",
    "transpose(i32[2, 101, 97, 6], perm=[0, 3, 1, 2])",
    "transpose(f16[3, 101, 103], perm=[2, 1, 0])",
    "slice(u2[301, 303], start=[3, 5], stop=[300, 9999], step=[2, 3])",
    "concat(u4[301, 101], u4[301, 102], axis=1)",
    "concat(f32[301, 101, 1], f32[301, 101, 1], axis=2)",
    "concat(f16[301, 103, 1], f16[301, 103, 1], axis=2)",
    "concat(i64[301, 101, 1], i64[301, 101, 1], axis=2)",
    "concat(f32[30001, 1], f32[30001, 3], f32[30001, 16], axis=1)",
    "concat(u8[30001, 2], u8[30001, 1], u8[30001, 5], axis=1)",
    "concat(bf16[7001, 0], bf16[7001, 2], bf16[7001, 1], axis=1)",
    "concat(f64[7001, 2, 3], f64[7001, 1, 3], axis=1)",
    "concat(f16[301, 301], f16[301, 302], axis=1)",
    "gather(f32[99, 301], i64[333] in (-99, 98))",
    "gather(f32[301, 99], i64[133] in (-99, 98), axis=1)",
    "gather(f16[3, 70, 101], i32[90] in (-70, 69), axis=1)",
    "gather(u4[301, 99], i32[130] in (-99, 98), axis=1)",
    "gather_elements(f64[301, 303], i32[301, 203] in (0, 302), axis=1)",
    "gather_nd(f32[31, 33, 57], i64[999, 2] in (-31, 30))",
    "scatter_elements(bf16[301, 53], i64[401, 53] in (0, 300), bf16[401, 53], reduce=add)",
    "scatter_nd(f32[301, 53], i64[401, 1] in (0, 300), f32[401, 53], reduce=max)",
    "index_add(f16[301, 53], i64[401] in (0, 300), f16[401, 53])",
    "update_slice(f32[301, 303], f32[301, 100], i64[] in (0, 203), axis=1)",
    "reduce_sum(f32[90001])",
    "reduce_sum(f64[303, 301])",
    "reduce_max(f32[90001])",
    "reduce_prod(f32[65536] in (0.999, 1.001))",
    "reduce_sum_square(f32[40960])",
    "cumsum(f32[301, 303], axis=0)",
    "cumsum(f32[301, 303], axis=1)",
    "cumsum(u8[51, 2303], axis=0, reverse=true)",
    "cumsum(f64[11, 1100, 3], axis=1, reverse=true)",
    "cumsum(i32[13, 2100], axis=1, exclusive=true)",
    "cumsum(bf16[301, 303], axis=1, exclusive=true, reverse=true)",
    "sort(f32[301, 103])",
    "sort(i64[103, 301], axis=0, descending=true)",
    "top_k(f32[103, 301], k=17)",
    "top_k(f32[4, 3001], k=50)",
    "top_k(f32[3, 2000] in (-2, 2), k=300, largest=false)",
    "top_k(f32[2, 900] in (0, 0), k=31, sorted=false)",
    "top_k(u8[301, 103], k=40, axis=0, largest=false, sorted=false)",
    "rand(u64[], u64[], u64[], stream=1, shape=[301, 303])",
    "rand(u64[], u64[], u64[], stream=2, dist=normal, shape=[301, 303])",
    "rand(u64[], u64[], u64[], stream=3, dist=bits, dtype=u32, shape=[90001])",
    "quantize(f32[301, 303], f32[303] in (0.01, 0.1), i8[303] in (-9, 9))",
    "quantize(f32[301, 303], f32[] in (0.01, 0.1), dtype=i4)",
    "dequantize(u8[301, 303], f32[303] in (0.01, 0.1), u8[303] in (0, 200))",
};

static void check_large(samples_run *run, const char *only)
{
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const size_t length = strcspn(large[i], "(");
        const takt_op *op = takt_op_find(large[i], length);
        if (only == NULL || (strlen(only) == length && strncmp(only, large[i], length) == 0)) {
            const size_t refused = run->refused;
            samples_check(run, op, large[i]);
            EXPECT(run->refused == refused, "%s was refused", large[i]);
        }
    }
}

int main(int argc, char **argv)
{
    samples_run run = {.backend = "cpu"};
    for (size_t i = 0; i < takt_op_count; i++) {
        if (argc > 1 && strcmp(argv[1], takt_ops[i]->name) != 0)
            continue;
        run.may_fall_back = may_fall_back(takt_ops[i]);
        samples_visit(takt_ops[i], &run, true);
    }
    check_large(&run, argc > 1 ? argv[1] : NULL);
    EXPECT(run.checked > (argc > 1 ? 0u : 500u), "only %zu samples were checked", run.checked);
    printf("%zu samples checked, %zu refused by inference\n", run.checked, run.refused);
    return test_done();
}
