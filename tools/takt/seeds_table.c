/* seeds_table.c - the figures of the guides, as models in the language. */
#include <string.h>

#include "seeds.h"

#define MLP                                                                                        \
    "model mlp(x: f32[batch, 784]) -> f32[batch, 10] {\n"                                          \
    "  h = dense(x, 256, act=relu)\n  return dense(h, 10, act=softmax)\n}\n"
#define PRODUCT(type, n)                                                                           \
    "model gemm(a: " type "[" n ", " n "], b: " type "[" n ", " n "]) -> " type "[" n ", " n       \
    "] {\n  return matmul(a, b)\n}\n"
#define GEMM(n) PRODUCT("f32", n)
#define ONE(name, type, out, body)                                                                 \
    "model " name "(x: " type ") -> " out " {\n  return " body "\n}\n"
#define BLOCK                                                                                      \
    "model block(x: f32[batch, 64, 56, 56]) -> f32[batch, 64, 56, 56] {\n"                         \
    "  h = conv(x, 64, 3, act=relu)\n  return relu(conv(h, 64, 3) + x)\n}\n"
#define ENCODER                                                                                    \
    "model layer(x: f32[batch, 128, 768]) -> f32[batch, 128, 768] {\n"                             \
    "  return transformer_block(x, heads=12, hidden=3072, norm_first=false)\n}\n"
#define SMALL /* about the 39,000 parameters that guide 002's models have on average */            \
    "model small(x: f32[batch, 128]) -> f32[batch, 10] {\n"                                        \
    "  h = dense(x, 160, act=relu)\n  h = dense(h, 100, act=relu)\n"                               \
    "  return dense(h, 10, act=softmax)\n}\n"
#define NORM ONE("norm", "f32[32, 768]", "f32[32, 768]", "layer_norm(x)")
#define SOFTMAX ONE("top", "f32[32, 10000]", "f32[32, 10000]", "softmax(x)")
#define MAP(type) ONE("map", type "[1048576]", type "[1048576]", "relu(x)")
#define SUM(type) ONE("sum", type "[1048576]", type "[]", "reduce_sum(x)")
#define THREE(a, b, c)                                                                             \
    {                                                                                              \
        {"Zig", a}, {"Rust", b},                                                                   \
        {                                                                                          \
            "Julia", c                                                                             \
        }                                                                                          \
    }

const seed_claim seed_claims[] = {
    {"MLP 784-256-10, batch 1", MLP, "batch=1", "000", THREE(19, 22, 45)},
    {"MLP 784-256-10, batch 32", MLP, "batch=32", "000", THREE(128, 145, 320)},
    {"ResNet-18 block 64x56x56", BLOCK, NULL, "000", THREE(340, 380, 890)},
    {"encoder layer 128x768", ENCODER, NULL, "000", THREE(820, 950, 2100)},
    {"LayerNorm 768, batch 32", NORM, NULL, "000", THREE(15, 18, 28)},
    {"softmax 10000, batch 32", SOFTMAX, NULL, "000", THREE(58, 62, 85)},
    {"GEMM 64", GEMM("64"), NULL, "002", {{"Zig", 101}}},
    {"GEMM 128", GEMM("128"), NULL, "002", {{"Zig", 893}}},
    {"GEMM 256", GEMM("256"), NULL, "002", {{"Zig", 10100}}},
    {"GEMM 512", GEMM("512"), NULL, "002", {{"Zig", 82000}}},
    {"GEMM 1000", GEMM("1000"), NULL, "001", {{"CPU", 10000}}},
    {"element-wise, 1M", MAP("f32"), NULL, "001", {{"CPU", 1000}}},
    {"reduction, 1M", SUM("f32"), NULL, "001", {{"CPU", 2000}}},
    {"GEMM 1000, f64", PRODUCT("f64", "1000"), NULL, "001", {{"CPU", 10000}}},
    {"element-wise, 1M, f64", MAP("f64"), NULL, "001", {{"CPU", 1000}}},
    {"reduction, 1M, f64", SUM("f64"), NULL, "001", {{"CPU", 2000}}},
    {"small model, 38k parameters", SMALL, NULL, "002", {{"said", 640}, {"target", 2000}}},
};
const size_t seed_claim_count = sizeof seed_claims / sizeof *seed_claims;

const char *seed_dtype(const seed_claim *c)
{
    return strstr(c->text, "f64[") != NULL ? "f64" : "f32";
}

const seed_claim *seed_find(const char *name)
{
    for (size_t i = 0; i < seed_claim_count; i++)
        if (strcmp(seed_claims[i].name, name) == 0)
            return &seed_claims[i];
    return &seed_claims[0];
}
