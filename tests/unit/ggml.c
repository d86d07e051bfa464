/* ggml.c - weights in ggml's block formats: their floats, and products with them.
 *
 * Floats are compared with sums from gguf-py, ggml's own package, for the same bytes. A product has
 * the bits of the product with those floats, for few and many rows, tails, threads and instruction
 * sets. A plan holds the bytes of the blocks and nothing else.
 */
#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "base/hash.h"
#include "kernel/ggml_f32/ggml_f32.h"
#include "op/util/ggml.h"
#include "util/run_once.h"

static takt_ctx *ctx;

/* Where the high bytes of f16 numbers are in a block; -1: no more. Random ones are made finite. */
static const int halves[TAKT_GGML_FORMATS][2] = {
    [TAKT_GGML_Q4_0] = {1, -1},   [TAKT_GGML_Q4_1] = {1, 3},    [TAKT_GGML_Q5_0] = {1, -1},
    [TAKT_GGML_Q5_1] = {1, 3},    [TAKT_GGML_Q8_0] = {1, -1},   [TAKT_GGML_Q2_K] = {81, 83},
    [TAKT_GGML_Q3_K] = {109, -1}, [TAKT_GGML_Q4_K] = {1, 3},    [TAKT_GGML_Q5_K] = {1, 3},
    [TAKT_GGML_Q6_K] = {209, -1}, [TAKT_GGML_IQ4_NL] = {1, -1}, [TAKT_GGML_IQ4_XS] = {1, -1},
    [TAKT_GGML_MXFP4] = {-1, -1}, [TAKT_GGML_NVFP4] = {-1, -1}, [TAKT_GGML_Q1_0] = {1, -1},
    [TAKT_GGML_Q2_0] = {1, -1},   [TAKT_GGML_TQ1_0] = {53, -1}, [TAKT_GGML_TQ2_0] = {65, -1},
    [TAKT_GGML_IQ1_S] = {1, -1},  [TAKT_GGML_IQ1_M] = {55, -1}, [TAKT_GGML_IQ2_XXS] = {1, -1},
    [TAKT_GGML_IQ2_XS] = {1, -1}, [TAKT_GGML_IQ2_S] = {1, -1},  [TAKT_GGML_IQ3_XXS] = {1, -1},
    [TAKT_GGML_IQ3_S] = {1, -1},
};

static void fill(takt_ggml_format format, uint8_t *to, size_t blocks, uint32_t seed)
{
    const takt_ggml_info *info = &takt_ggml_formats[format];
    for (size_t i = 0; i < blocks * info->bytes; i++) {
        seed = seed * 1664525 + 1013904223;
        to[i] = (uint8_t)(seed >> 24);
    }
    for (size_t i = 0; i < blocks; i++) {
        for (int k = 0; k < 2 && halves[format][k] >= 0; k++)
            to[i * info->bytes + (size_t)halves[format][k]] &= 0xbf; /* below 2 */
        if (format == TAKT_GGML_MXFP4)
            to[i * info->bytes] = (uint8_t)(to[i * info->bytes] % 3 + (i % 2 == 0 ? 0 : 120));
    }
}

/* FNV-1a of the bits of 64 blocks filled from seed 1 + format; from gguf.quants.dequantize of
 * gguf-py 0.19.0, and from dequantize_row_q1_0 and _q2_0 of ggml, which it lacks. */
static const uint32_t sums[TAKT_GGML_FORMATS] = {
    0x87d4c41c, 0x53542073, 0x39128627, 0x6b9bf16c, 0xd0b7b991, 0x30758105, 0x171f1c08,
    0x376ecde5, 0x67c205f5, 0xaec6a300, 0xbd50f5bf, 0x49a21f67, 0x4adaaeab, 0x7a3743d0,
    0xbdcda945, 0x83d81b65, 0xb7398f4e, 0xfca84379, 0xd114e842, 0xc7422762, 0x7a5ea5a7,
    0xcd85cf91, 0x91d949b6, 0x3afbb648, 0xf5eeed98};

static void floats_are_those_of_ggml(void)
{
    enum { BLOCKS = 64 };
    static uint8_t bytes[BLOCKS * 210];
    static float floats[BLOCKS * 256];
    for (int f = 0; f < TAKT_GGML_FORMATS; f++) {
        const takt_ggml_info *info = &takt_ggml_formats[f];
        EXPECT_TEXT(info->name, takt_ggml_names[f]);
        fill((takt_ggml_format)f, bytes, BLOCKS, 1 + (uint32_t)f);
        takt_ggml_decode((takt_ggml_format)f, bytes, BLOCKS, floats);
        uint32_t sum = 2166136261;
        for (size_t i = 0; i < BLOCKS * info->weights; i++) {
            uint32_t bits;
            memcpy(&bits, &floats[i], sizeof bits);
            for (int k = 0; k < 4; k++)
                sum = (sum ^ (bits >> 8 * k & 255)) * 16777619;
        }
        EXPECT(sum == sums[f], "%s: 0x%08" PRIx32 ", not 0x%08" PRIx32, info->name, sum, sums[f]);
    }
}

typedef struct shape {
    size_t m, n, k;
} shape;

static void run(takt_session *s, takt_ggml_format format, shape d)
{
    float *x = takt_session_input(s, 0)->data;
    for (size_t i = 0; i < d.m * d.k; i++)
        x[i] = (float)((int)((i * 2654435761u) >> 8 & 1023) - 512) / 512;
    fill(format, takt_session_input(s, 1)->data, d.n * d.k / takt_ggml_formats[format].weights, 7);
    EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
}

static void compare(takt_ggml_format format, shape d, const takt_plan_options *o)
{
    const takt_ggml_info *info = &takt_ggml_formats[format];
    const size_t bytes = d.k / info->weights * info->bytes;
    char text[400];
    snprintf(text, sizeof text,
             "model m(x: f32[%zu, %zu], w: u8[%zu, %zu]) {\n"
             "  return y = op.ggml_matmul(x, w, format=%s)\n}\n",
             d.m, d.k, d.n, bytes, info->name);
    takt_session *got = run_session(ctx, text, o);
    snprintf(text, sizeof text,
             "model m(x: f32[%zu, %zu], w: u8[%zu, %zu]) {\n"
             "  return y = matmul(x, op.ggml_dequantize(w, format=%s), transpose_b=true)\n}\n",
             d.m, d.k, d.n, bytes, info->name);
    takt_session *want = run_session(ctx, text, &(takt_plan_options){.threads = 1});
    if (got != NULL && want != NULL) {
        run(got, format, d);
        run(want, format, d);
        EXPECT(memcmp(takt_session_output(got, 0)->data, takt_session_output(want, 0)->data,
                      d.m * d.n * sizeof(float)) == 0,
               "%s, %zu x %zu x %zu", info->name, d.m, d.n, d.k);
    }
    takt_session_destroy(got);
    takt_session_destroy(want);
}

static void products_have_the_bits_of_floats(void)
{
    static const shape shapes[] = {{1, 70, 768}, {3, 33, 256}, {9, 200, 512}, {70, 193, 1024}};
    for (int f = 0; f < TAKT_GGML_FORMATS; f++)
        for (size_t i = 0; i < 4; i++) {
            shape d = shapes[i];
            d.k += takt_ggml_formats[f].weights == 32 ? 32 : 0; /* a chunk that is not whole */
            compare((takt_ggml_format)f, d,
                    &(takt_plan_options){.threads = i % 2 == 0 ? 1 : 2,
                                         .isa = f % 4 == 3 ? "scalar" : NULL});
        }
    compare(TAKT_GGML_Q4_K, (shape){260, 5, 256}, NULL);
    compare(TAKT_GGML_Q8_0, (shape){2, 1, 32}, NULL);
}

/* 256 rows of 512 weights in 4.5 bits, used as a table of embeddings and as a head. */
static void blocks_stay_blocks(void)
{
    static const char text[] = "model m(i: i64[1]) seed=1 {\n"
                               "  param w: u8[256, 288] = 0\n"
                               "  x = op.ggml_rows(w, i, format=q4_k)\n"
                               "  return y = op.ggml_matmul(x, w, format=q4_k)\n}\n";
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_plan_info info = {0};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, &(takt_plan_options){.threads = 1}, &plan)))
        takt_plan_query(plan, &info);
    EXPECT(info.weights + info.packed == 256 * 288, "%" PRIu64 " + %" PRIu64 " bytes",
           (uint64_t)info.weights, (uint64_t)info.packed);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, floats_are_those_of_ggml, products_have_the_bits_of_floats, blocks_stay_blocks,
          end)
