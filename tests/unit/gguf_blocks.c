/* gguf_blocks.c - super-blocks, IQ4_NL and importance matrices: ggml's own bytes with and without
 * importances, malformed files, and a smaller error where importances are known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "io/gguf/gguf_write.h"
#include "op/util/ggml.h"
#include "test.h"
#include "util/inject.h"

enum { ROWS = 8, COLUMNS = 512, COUNT = ROWS * COLUMNS };

static takt_ctx *ctx;
static float x[COUNT], importance[COLUMNS];

static double drawn(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (double)(*state >> 8) / 0x1p23 - 1;
}

static void fill(void)
{
    uint32_t state = 7;
    for (size_t i = 0; i < COUNT; i++) {
        const double a = drawn(&state), b = drawn(&state);
        x[i] = (float)(a * a * a * (1 + 3 * b * b));
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        state = state * 1664525U + 1013904223U;
        const double a = (double)(state >> 8) / 0x1p24;
        importance[i] = (float)(a * a * 10 + 0.001);
    }
    memset(x + 600, 0, 64 * sizeof *x);
    memset(x + 1024, 0, 256 * sizeof *x);
}

static size_t encode(const takt_gguf_type *type, bool is_weighted, uint8_t *to)
{
    const size_t row = COLUMNS / type->elements * type->bytes;
    for (size_t r = 0; r < ROWS; r++)
        takt_gguf_encode(type, x + r * COLUMNS, COLUMNS, is_weighted ? importance : NULL,
                         to + r * row);
    return ROWS * row;
}

/* FNV hashes of the output of quantize_q2_K and the others of llama.cpp's ggml-quants.c, compiled
 * without fused multiplication. */
static void ggml_bytes(void)
{
    static const struct {
        const char *name;
        uint64_t plain, weighted;
    } rows[] = {{"Q2_K", 0x0e1307bd8a153e29U, 0x65361717ae0315b2U},
                {"Q3_K", 0x6d440fd9f0a0de3bU, 0x194b90b39a2f67b1U},
                {"Q4_K", 0x1db5bf74dcd75e7aU, 0x947307e902fa3491U},
                {"Q5_K", 0xb9f738f5a6e4cce6U, 0x8a608dd56b910d8bU},
                {"Q6_K", 0x577a037b9e42b181U, 0x545d6e391b4954ceU},
                {"Q4_0", 0x8a74f3cd44626286U, 0x3f94c8119996fe7aU},
                {"Q4_1", 0x3e5efc78861a3648U, 0x10aa1d9f7ad724faU},
                {"Q5_0", 0x2540f46d04c5a231U, 0x0227eb86ef4b8ebeU},
                {"Q5_1", 0xb8461fbf096670c0U, 0xf011193c5ca62bd2U},
                {"Q8_0", 0x91e0c20f28884740U, 0x91e0c20f28884740U},
                {"IQ4_NL", 0x256e7a97ec791011U, 0x07d07df6207d9421U}};
    static uint8_t bytes[4 * COUNT];
    static float back[COUNT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const takt_gguf_type *type = takt_gguf_written_type(rows[i].name);
        double lost[2] = {0, 0};
        for (size_t k = 0; type != NULL && k < 2; k++) {
            const size_t size = encode(type, k == 1, bytes);
            uint64_t hash = 1469598103934665603U;
            for (size_t b = 0; b < size; b++)
                hash = (hash ^ bytes[b]) * 1099511628211U;
            EXPECT(hash == (k == 1 ? rows[i].weighted : rows[i].plain), "%s, %zu: %016llx",
                   rows[i].name, k, (unsigned long long)hash);
            takt_ggml_decode(takt_gguf_format(type), bytes, COUNT / type->elements, back);
            for (size_t e = 0; e < COUNT; e++)
                lost[k] += (double)importance[e % COLUMNS] * pow((double)(back[e] - x[e]), 2);
        }
        EXPECT(type != NULL && (lost[1] < lost[0] || type->number == 8),
               "%s: importances lose %g, not less than %g", rows[i].name, lost[1], lost[0]);
    }
}

/* No worse than llama.cpp's output; skipped without the shared data. */
static void stored_bytes(const char *name, const char *file)
{
    const char *folder = getenv("TAKT_DATA");
    char path[1024];
    static float from[4096], back[4096];
    static uint8_t want[4096], made[4096];
    const takt_gguf_type *type = takt_gguf_written_type(name);
    folder = folder != NULL ? folder : "../shared/data";
    snprintf(path, sizeof path, "%s/quant/ggml/src.f32", folder);
    FILE *in = fopen(path, "rb");
    snprintf(path, sizeof path, "%s/quant/ggml/%s", folder, file);
    FILE *blocks = fopen(path, "rb");
    if (in == NULL || blocks == NULL || type == NULL) {
        printf("skipped: %s is not there\n", path);
    } else if (EXPECT(fread(from, sizeof *from, 4096, in) == 4096, "src.f32")) {
        const size_t size = 4096 / type->elements * type->bytes;
        EXPECT(fread(want, 1, size, blocks) == size, "%s", file);
        takt_gguf_encode(type, from, 4096, NULL, made);
        double lost[2] = {0, 0};
        for (size_t k = 0; k < 2; k++) {
            takt_ggml_decode(takt_gguf_format(type), k == 0 ? want : made, 4096 / type->elements,
                             back);
            for (size_t i = 0; i < 4096; i++)
                lost[k] += pow((double)(back[i] - from[i]), 2);
        }
        /* Fused multiplication, which they were made with, decides between scales as good. */
        EXPECT(lost[1] < 1.06 * lost[0], "%s: %g is lost, not %g", name, lost[1], lost[0]);
    }
    if (in != NULL)
        fclose(in);
    if (blocks != NULL)
        fclose(blocks);
}

static void stored(void)
{
    stored_bytes("Q4_K", "q4_K.bin");
    stored_bytes("Q6_K", "q6_K.bin");
}

/* Nothing of a block is undefined where its numbers are not finite. */
static void not_finite(void)
{
    static const char *const names[] = {"Q2_K", "Q3_K", "Q4_K", "Q5_K",  "Q6_K",
                                        "Q4_0", "Q4_1", "Q5_1", "IQ4_NL"};
    static float odd[256];
    static uint8_t bytes[512];
    const float bad[] = {NAN, INFINITY, -INFINITY, 3.4e38F, -3.4e38F, 1e-30F, 1};
    for (size_t k = 0; k < 256; k++)
        odd[k] = bad[k * k % 7];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < 3; k++)
            takt_gguf_encode(takt_gguf_written_type(names[i]), odd, 256,
                             k == 0   ? NULL
                             : k == 1 ? importance
                                      : odd,
                             bytes);
}

/* ---- importance matrices ---- */

static const char tiny[] = "tests/corpus/gguf/tiny.gguf";
static char matrix[512], made[512];

static void paths(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(matrix, sizeof matrix, "%s/blocks-im.gguf", tmp != NULL ? tmp : "/tmp");
    snprintf(made, sizeof made, "%s/blocks-made.gguf", tmp != NULL ? tmp : "/tmp");
}

static void expect_id(takt_status status, int id)
{
    EXPECT(status != TAKT_OK && takt_last_error_info(ctx)->id == id, "expected %d, got %d: %s", id,
           takt_last_error_info(ctx)->id, takt_last_error(ctx));
}

static const char *strange(void *user, const char *tensor)
{
    (void)tensor;
    return user;
}

static void bad_input(void)
{
    static const int32_t few[] = {1, 2, 1, 2}, outside[] = {1, 1 << 20};
    size_t matrices = 0;
    const takt_imatrix_options o = {.context = 4, .threads = 1, .matrices = &matrices};
    expect_id(takt_imatrix_write(ctx, tiny, few, 1, NULL, matrix), TAKT_E_SHRINK_DATA);
    expect_id(takt_imatrix_write(ctx, tiny, outside, 2, NULL, matrix), TAKT_E_SHRINK_DATA);
    EXPECT_OK(ctx, takt_imatrix_write(ctx, tiny, few, 4, &o, matrix));
    EXPECT(matrices > 0, "no matrix was seen");
    takt_text_quantize_options q = {.type = "q4_0", .imatrix = matrix};
    EXPECT_OK(ctx, takt_text_quantize(ctx, tiny, made, &q));
    q.imatrix = tiny; /* GGUF, but of another kind */
    expect_id(takt_text_quantize(ctx, tiny, made, &q), TAKT_E_SHRINK_DATA);
    q.imatrix = "tests/unit/gguf_blocks.c";
    expect_id(takt_text_quantize(ctx, tiny, made, &q), TAKT_E_SHRINK_DATA);
    q = (takt_text_quantize_options){.type = "q9_9"};
    expect_id(takt_text_quantize(ctx, tiny, made, &q), TAKT_E_OPTION);
    q = (takt_text_quantize_options){.type = "f16", .type_of = strange, .user = (void *)"q9_9"};
    expect_id(takt_text_quantize(ctx, tiny, made, &q), TAKT_E_OPTION);
    q.user = (void *)"q6_k";
    EXPECT_OK(ctx, takt_text_quantize(ctx, tiny, made, &q));
}

/* An importance matrix with one number changed, or of another width. */
static void lies(void)
{
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(matrix, "rb");
    const size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file != NULL)
        fclose(file);
    const takt_text_quantize_options q = {.type = "q4_0", .imatrix = matrix};
    const float nan = NAN;
    if (!EXPECT(size > 64 && size < sizeof bytes, "%zu bytes", size))
        return;
    for (size_t cut = 0; cut < size; cut += 1 + size / 23) { /* up to what was written */
        file = fopen(matrix, "wb");
        EXPECT(file != NULL && fwrite(bytes, 1, cut, file) == cut && fclose(file) == 0, "write");
        EXPECT(takt_text_quantize(ctx, tiny, made, &q) != TAKT_OK, "%zu bytes are enough", cut);
    }
    for (size_t at = size - 64; at + 4 <= size; at += 4)
        memcpy(bytes + at, &nan, 4);
    file = fopen(matrix, "wb");
    EXPECT(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "write");
    const takt_status status = takt_text_quantize(ctx, tiny, made, &q);
    EXPECT(status == TAKT_OK || takt_last_error_info(ctx)->id == TAKT_E_SHRINK_DATA, "%s",
           takt_last_error(ctx));
}

/* ---- what it is worth ---- */

/* Two texts that the model has written itself. */
static const char story[] =
    "Once upon a time, there was a little girl named Lily. She lived in a small house "
    "with her mommy. One day, Lily went to the store with her mommy. They saw a small "
    "box and looked at the shop. Lily wanted to play with it, but she wanted to see "
    "what it was.\n"
    "So, Lily really wanted to play with the boy. She didn't want to buy the box\n"
    "Once upon a time, there was a big ambulance. It was a little mouse. The animals "
    "lived in a big lake with many toys. One day, the animals decided to join them.\n"
    "The animals were so proud of the big house. They took the animals in the water. "
    "They both went to the forest\n"
    "Once upon a time, there was a little girl named Lily. She had a chubby baby. She "
    "loved to watch the baby and make it brown. One day, she was playing with her "
    "toys in the garden.\n"
    "When she found a red baby baby chair, she wanted to clean it with the baby. She "
    "asked her mommy, \"Can I have a\n"
    "Once upon a time, there was a little girl named Lily. She loved to play with her "
    "toys all day long. One day, she saw a big hole on the ground. She wanted to eat "
    "it, so she ran to the hole and said, \"Look, Lily! I found a big, juicy hole in "
    "the ground.\"\n"
    "Lily looked at the hole and saw a big tree. She saw a big\n"
    "Once upon a time, there was a little girl named Lily. She had a big blue brown "
    "box with purple shi\n";
static const char another[] =
    "One day, a little birdie named Tom found a big pile of candy. Tom was very "
    "scared. He wanted to help him.\n"
    "At the pile, Tom saw a big, jumping on the floor. He wanted to see the candy. He "
    "started to share his bag.\n"
    "Tom started to run to the pillow. He saw a big\n"
    "One day, a little girl named Lucy went for a walk. She saw a big fridge on the "
    "fridge. Lucy asked her mom, \"Can I have a flame with you?\" The frame said, "
    "\"Yes, please!\"\n"
    "Lucy said, \"Yes, I can find a new frame.\" They played with the fruit all day "
    "long.\n"
    "One day, a little boy named Timmy found a clothes. He liked to go outside and "
    "play with his friends. He told his mom to pick some people and cookies. Timmy "
    "didn't want to cook it.\n"
    "Timmy wanted to play with the clothes, but he was too high. The clothes had a "
    "snack, but the clothes were\n"
    "One day, a boy named Tim went to the store to buy some more tape. He saw a big "
    "pile of books in the\n";

enum { TOKENS = 1024 };

static double surprise(const char *path, const int32_t *ids, size_t count)
{
    static double logs[TOKENS];
    takt_generator *g = NULL;
    const takt_generator_options o = {.context = 512, .threads = 1};
    double sum = 0;
    if (!EXPECT_OK(ctx, takt_generator_open(ctx, path, &o, &g)) ||
        !EXPECT_OK(ctx, takt_generator_rate(g, ids, count, logs)))
        return INFINITY;
    for (size_t i = 0; i + 1 < count; i++)
        sum -= logs[i];
    takt_generator_destroy(g);
    return sum / (double)(count - 1);
}

static size_t tokens_of(const char *model, const char *text, int32_t *ids)
{
    takt_tokenizer *t = NULL;
    takt_token_ids to = {ids, TOKENS, 0};
    if (EXPECT_OK(ctx, takt_tokenizer_load(ctx, model, &t)))
        EXPECT_OK(ctx, takt_tokenize(t, text, strlen(text), TAKT_TOKENIZE_ADD, &to));
    takt_tokenizer_destroy(t);
    return EXPECT(to.count <= TOKENS, "%zu", to.count) ? to.count : TOKENS;
}

static void less_lost(void)
{
    static const char *const types[] = {"Q4_0", "Q4_1", "IQ4_NL"};
    const char *folder = getenv("TAKT_DATA");
    static int32_t learnt[TOKENS], other[TOKENS];
    char model[1024];
    snprintf(model, sizeof model, "%s/llm/stories260K/stories260K-F32.gguf",
             folder != NULL ? folder : "../shared/data");
    FILE *file = fopen(model, "rb");
    if (file == NULL) {
        printf("skipped: %s is not there\n", model);
        return;
    }
    fclose(file);
    const size_t read = tokens_of(model, story, learnt), count = tokens_of(model, another, other);
    const takt_imatrix_options o = {.context = 128, .threads = 1};
    EXPECT_OK(ctx, takt_imatrix_write(ctx, model, learnt, read, &o, matrix));
    const double whole = surprise(model, other, count);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        double lost[2];
        for (size_t k = 0; k < 2; k++) {
            const takt_text_quantize_options q = {.type = types[i],
                                                  .imatrix = k == 1 ? matrix : NULL};
            EXPECT_OK(ctx, takt_text_quantize(ctx, model, made, &q));
            lost[k] = surprise(made, other, count) - whole;
        }
        EXPECT(lost[1] < lost[0], "%s: %g with the matrix, %g without", types[i], lost[1], lost[0]);
    }
}

static const int32_t four[] = {1, 2, 1, 2};
static const takt_imatrix_options short_piece = {.context = 4, .threads = 1};

static takt_status scenario(takt_inject *inject, void *user)
{
    const takt_text_quantize_options q = {.type = "q4_k", .imatrix = matrix};
    takt_config config = {0};
    takt_ctx *own;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = user != NULL ? takt_imatrix_write(own, tiny, four, 4, &short_piece, made)
                          : takt_text_quantize(own, tiny, made, &q);
    takt_ctx_destroy(own);
    return status;
}

static void sweep(void)
{
    EXPECT_OK(ctx, takt_imatrix_write(ctx, tiny, four, 4, &short_piece, matrix));
    takt_sweep_report r =
        takt_sweep_some(scenario, NULL, TAKT_INJECT_MEMORY | TAKT_INJECT_FILES, 40);
    EXPECT(r.is_good, "%s", r.message);
    r = takt_sweep_some(scenario, matrix, TAKT_INJECT_MEMORY, 6);
    EXPECT(r.is_good, "%s", r.message);
    (void)remove(matrix);
    (void)remove(made);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    fill();
    paths();
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, ggml_bytes, stored, not_finite, bad_input, lies, less_lost, sweep, end)
