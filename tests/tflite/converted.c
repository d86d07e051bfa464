/* converted.c - models of one operator that TensorFlow's converter made give the bits that were
 * compared with LiteRT's reference kernels.
 *
 * converted.tsv has name, size, kind of inputs and digest of the results of every model;
 * converted.bin has the models, one after another. converter_slow.py makes and compares them. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"

enum { LEAST = 600, MOST_BYTES = 1 << 16 };

static takt_ctx *ctx;

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

/* The numbers of converter_slow.py: a linear congruential generator, its upper bits. */
static void fill(const takt_tensor_view *x, bool is_positive, uint32_t *state)
{
    for (size_t i = 0; i < count_of(x); i++) {
        *state = *state * 1664525U + 1013904223U;
        const float v = (float)(*state >> 8) / 0x1p23F - 1;
        switch (x->dtype) {
        case TAKT_F32: ((float *)x->data)[i] = is_positive ? (v < 0 ? -v : v) + 0.1F : v; break;
        case TAKT_I32: ((int32_t *)x->data)[i] = (int32_t)(*state >> 30); break;
        case TAKT_I16: ((int16_t *)x->data)[i] = (int16_t)(*state >> 16); break;
        case TAKT_BOOL: ((uint8_t *)x->data)[i] = (uint8_t)(*state >> 31); break;
        default: ((uint8_t *)x->data)[i] = (uint8_t)(*state >> 24);
        }
    }
}

static uint64_t hash_of(uint64_t hash, const takt_tensor_view *v)
{
    const size_t bytes = count_of(v) * (size_t)takt_dtype_bits(v->dtype) / 8;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)v->data)[i]) * 0x100000001b3;
    return hash;
}

static void run(const char *name, const void *data, size_t size, bool is_positive, uint64_t want)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    uint32_t state = 7;
    uint64_t hash = 0xcbf29ce484222325;
    const takt_plan_options o = {.threads = 1};
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.tflite", data, size, NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (size_t i = 0; i < takt_session_input_count(s); i++)
            fill(takt_session_input(s, i), is_positive, &state);
        EXPECT_OK(ctx, takt_session_run(s));
        for (size_t i = 0; i < takt_session_output_count(s); i++)
            hash = hash_of(hash, takt_session_output(s, i));
        EXPECT(hash == want, "%s: %016llx, not %016llx", name, (unsigned long long)hash,
               (unsigned long long)want);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

static void all(void)
{
    FILE *list = fopen("tests/tflite/converted.tsv", "r");
    FILE *models = fopen("tests/tflite/converted.bin", "rb");
    char name[128], kind[16];
    unsigned long long size, hash;
    size_t count = 0;
    void *data = malloc(MOST_BYTES);
    if (EXPECT(list != NULL && models != NULL && data != NULL, "the models are missing"))
        while (fscanf(list, "%127[^\t]\t%llu\t%15[^\t]\t%llx\n", name, &size, kind, &hash) == 4) {
            if (!EXPECT(size <= MOST_BYTES && fread(data, 1, (size_t)size, models) == size,
                        "%s is cut off", name))
                break;
            run(name, data, (size_t)size, strcmp(kind, "positive") == 0, hash);
            count++;
        }
    EXPECT(count >= LEAST && feof(list) && fgetc(models) == EOF, "%zu models", count);
    free(data);
    if (list != NULL)
        fclose(list);
    if (models != NULL)
        fclose(models);
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, all, end)
