/* shrink_sizes.c - quantised models have as few bytes as docs/shrinking.md states; larger models
 * are in tests/cli/shrink_table_slow.py. */
#include <stdio.h>
#include <stdlib.h>

#include <takt/takt.h>

#include "test.h"
#include "util/shrinking.h"

enum { SAMPLES = 2 };

static takt_ctx *ctx;

typedef struct row {
    const char *model, *shape; /* of a sample */
    size_t elements;
} row;
static const row rows[] = {
    {"bench/models/mobilenet_v1_025.takt", "3, 96, 96", (size_t)3 * 96 * 96},
    {"bench/models/resnet18_block.takt", "64, 56, 56", (size_t)64 * 56 * 56},
};

/* Samples of noise in an .npy file. */
static takt_data *noise(const row *r)
{
    char path[512], header[128];
    const char *folder = getenv("TAKT_TEST_TMP");
    takt_data *data = NULL;
    uint32_t state = 7;
    snprintf(path, sizeof path, "%s/sizes.npy", folder != NULL ? folder : "/tmp");
    FILE *f = fopen(path, "wb");
    if (!EXPECT(f != NULL, "%s", path))
        return NULL;
    const int used = snprintf(header, sizeof header,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %s), }",
                              SAMPLES, r->shape);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
    fprintf(f, "%.*s%*s\n", used, header, 117 - used, "");
    for (size_t i = 0; i < SAMPLES * r->elements; i++) {
        state = state * 1664525U + 1013904223U;
        const float v = (float)(state >> 8) / 0x1p23F - 1;
        fwrite(&v, sizeof v, 1, f);
    }
    fclose(f);
    EXPECT_OK(ctx, takt_data_open(ctx, path, NULL, &data));
    return data;
}

/* Every layer is told to be faster; nothing is run to find out. */
static takt_status faster(void *user, takt_session *before, takt_session *after, takt_comparison *c)
{
    (void)user;
    (void)before;
    (void)after;
    *c = (takt_comparison){.verdict = TAKT_FASTER, .a_ns = 2, .b_ns = 1, .ratio = 0.5};
    return TAKT_OK;
}

static int discard(void *user, const char *bytes, size_t length)
{
    (void)user;
    (void)bytes;
    (void)length;
    return 0;
}

static void bytes(const takt_model *m, const char *name, const char *type, const takt_data *calib,
                  double most)
{
    takt_quantize_summary s;
    takt_model *small = NULL;
    const takt_quantize_options o = {.type = type,
                                     .method = "minmax",
                                     .calib = calib,
                                     .threads = 1,
                                     .compare = faster,
                                     .summary = &s};
    if (!EXPECT_OK(ctx, takt_model_quantize(m, &o, TAKT_FORMAT_TEXT, discard, NULL, &small)))
        return;
    const double part = (double)s.bytes_after / (double)s.bytes_before;
    EXPECT(s.taken == s.layers && part <= most, "%s as %s: %zu of %zu layers, %.4f of the bytes",
           name, type, s.taken, s.layers, part);
    takt_model_destroy(small);
}

static void small_enough(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        takt_model *m = NULL;
        if (!EXPECT_OK(ctx, takt_model_load(ctx, rows[i].model, NULL, &m)))
            return;
        takt_data *data = noise(&rows[i]);
        if (data != NULL)
            bytes(m, rows[i].model, "int8", data, 0.27);
        bytes(m, rows[i].model, "w4", NULL, 0.15);
        takt_data_destroy(data);
        takt_model_destroy(m);
    }
}

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, small_enough, end)
