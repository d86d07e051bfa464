/* ggml_few.c - checks products of few rows with panels of blocks against the scalar one. */
#include "kernel/ggml_few/ggml_few.h"

#include <stdio.h>
#include <string.h>

#include "check_ggml.h"

enum { A = GGML_SLOTS, C, WANT };

check_fn check_ggml_few;

static void one(takt_check *c, const takt_kernel *reference, takt_ggml_few g, unsigned bits)
{
    const size_t k = g.blocks * takt_ggml_formats[g.format].weights;
    const int where = (int)(bits % CHECK_PLACES), values = (int)(bits / 7 % CHECK_VALUES);
    check_case(c, "%s m=%zu n=%zu blocks=%zu values %d place %d", takt_ggml_formats[g.format].name,
               g.m, g.n, g.blocks, values, where);
    g.a_row = k + bits % 3;
    g.ldc = g.n + bits % 2;
    g.panels = check_ggml(c, g.format, g.n, g.blocks, bits % 4 != 0);
    const size_t a_count = g.m && k ? (g.m - 1) * g.a_row + k : 0;
    const size_t c_count = g.m && g.n ? (g.m - 1) * g.ldc + g.n : 0;
    float *a = check_place(c, A, a_count * 4, where);
    check_fill_f32(c, a, a_count, bits & 8 ? values : CHECK_PLAIN);
    float *want = check_place(c, WANT, c_count * 4, CHECK_AT_END);
    float *got = check_place(c, C, c_count * 4, where);
    memset(want, 0x5a, c_count * 4);
    memset(got, 0x5a, c_count * 4);
    g.a = a;
    g.c = want;
    takt_kernel_as_ggml_few(reference)(&g);
    g.c = got;
    CHECK_CALL(c, takt_kernel_as_ggml_few(c->kernel)(&g));
    check_same_f32(c, got, want, c_count);
    check_intact(c, C);
    check_intact(c, GGML_PANELS);
}

static void bench(takt_check *c, takt_ggml_format format, size_t m)
{
    const takt_ggml_info *info = &takt_ggml_formats[format];
    const size_t k = 2048, n = c->kernel->rank > 0 ? 512 : 16, blocks = k / info->weights;
    takt_ggml_few g = {.format = format, .m = m, .n = n, .blocks = blocks, .a_row = k, .ldc = n};
    char what[64];
    float *a = check_place(c, A, m * k * 4, CHECK_AT_START);
    g.c = check_place(c, C, m * n * 4, CHECK_AT_START);
    g.panels = check_ggml(c, format, n, blocks, true);
    check_fill_f32(c, a, m * k, CHECK_PLAIN);
    g.a = a;
    snprintf(what, sizeof what, "%s, %zux%zux%zu", info->name, m, n, k);
    CHECK_BENCH(c, what, (double)(n * blocks * info->bytes + 4 * m * (k + n)),
                2.0 * (double)m * (double)n * (double)k, takt_kernel_as_ggml_few(c->kernel)(&g));
}

void check_ggml_few(takt_check *c, const takt_kernel *reference)
{
    static const size_t rows[] = {1, 2, 4, 1, 7}, columns[] = {1, 3, 15, 16, 17, 31, 33, 70};
    unsigned bits = 0;
    for (int f = check_ggml_next(0); f < TAKT_GGML_FORMATS; f = check_ggml_next(f + 1)) {
        const bool is_super = takt_ggml_formats[f].weights == 256;
        for (size_t blocks = 1; blocks < (is_super ? 4U : 19U); blocks += is_super ? 1 : 3)
            for (size_t i = 0; i < sizeof columns / sizeof *columns; i++, bits++) {
                const takt_ggml_few g = {.format = (takt_ggml_format)f,
                                         .m = rows[(bits + i) % 5],
                                         .n = columns[i],
                                         .blocks = blocks};
                one(c, reference, g, bits * 5 + (unsigned)i);
            }
    }
    for (int f = check_ggml_next(0); f < TAKT_GGML_FORMATS; f = check_ggml_next(f + 1))
        for (size_t i = 0; i < check_timed(c, 2, 1); i++)
            bench(c, (takt_ggml_format)f, i == 0 ? 1 : 4);
}
