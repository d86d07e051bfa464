/* ggml_i8.c - checks products of rounded rows with panels of blocks against the scalar one. */
#include "kernel/ggml_i8/ggml_i8.h"

#include <stdio.h>
#include <string.h>

#include "check_ggml.h"

enum { A = GGML_SLOTS, C, WANT, ROUNDED };

check_fn check_ggml_i8;

/* Rows rounded in two parts. */
static void round_all(takt_check *c, const takt_ggml_i8_info *info, takt_ggml_i8 *g, const float *a,
                      size_t a_row)
{
    void *to = check_scratch(c, ROUNDED, info->bytes(g->format, g->m, g->blocks));
    takt_ggml_round r = {
        .format = g->format, .m = g->m, .blocks = g->blocks, .a = a, .a_row = a_row, .to = to};
    r.end = g->m / 2;
    info->round(&r);
    r.first = r.end;
    r.end = g->m;
    CHECK_CALL(c, info->round(&r));
    check_intact(c, ROUNDED);
    g->rounded = to;
}

static void one(takt_check *c, const takt_kernel *reference, takt_ggml_i8 g, unsigned bits)
{
    const size_t k = g.blocks * takt_ggml_formats[g.format].weights, a_row = k + bits % 3;
    const int where = (int)(bits % CHECK_PLACES), values = (int)(bits / 7 % CHECK_VALUES);
    check_case(c, "%s m=%zu n=%zu blocks=%zu values %d place %d", takt_ggml_formats[g.format].name,
               g.m, g.n, g.blocks, values, where);
    g.ldc = g.n + bits % 2;
    g.panels = check_ggml(c, g.format, g.n, g.blocks, bits % 4 != 0);
    const size_t a_count = g.m && k ? (g.m - 1) * a_row + k : 0;
    const size_t c_count = g.m && g.n ? (g.m - 1) * g.ldc + g.n : 0;
    float *a = check_place(c, A, a_count * 4, where);
    check_fill_f32(c, a, a_count, bits & 8 ? values : CHECK_PLAIN);
    float *want = check_place(c, WANT, c_count * 4, CHECK_AT_END);
    float *got = check_place(c, C, c_count * 4, where);
    memset(want, 0x5a, c_count * 4);
    memset(got, 0x5a, c_count * 4);
    g.c = want;
    round_all(c, reference->info, &g, a, a_row);
    takt_kernel_as_ggml_i8(reference)(&g);
    g.c = got;
    round_all(c, c->kernel->info, &g, a, a_row);
    CHECK_CALL(c, takt_kernel_as_ggml_i8(c->kernel)(&g));
    check_same_f32(c, got, want, c_count);
    check_intact(c, C);
    check_intact(c, GGML_PANELS);
}

static void bench(takt_check *c, takt_ggml_format format, size_t m)
{
    const takt_ggml_info *info = &takt_ggml_formats[format];
    const size_t k = 2048, n = c->kernel->rank > 0 ? 512 : 16, blocks = k / info->weights;
    takt_ggml_i8 g = {.format = format, .m = m, .n = n, .blocks = blocks, .ldc = n};
    char what[64];
    float *a = check_place(c, A, m * k * 4, CHECK_AT_START);
    g.c = check_place(c, C, m * n * 4, CHECK_AT_START);
    g.panels = check_ggml(c, format, n, blocks, true);
    check_fill_f32(c, a, m * k, CHECK_PLAIN);
    round_all(c, c->kernel->info, &g, a, k);
    snprintf(what, sizeof what, "%s, %zux%zux%zu", info->name, m, n, k);
    CHECK_BENCH(c, what, (double)(n * blocks * info->bytes + m * (k + 4 * n)),
                2.0 * (double)m * (double)n * (double)k, takt_kernel_as_ggml_i8(c->kernel)(&g));
}

void check_ggml_i8(takt_check *c, const takt_kernel *reference)
{
    static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14};
    static const size_t columns[] = {1, 3, 15, 16, 17, 31, 33, 48};
    unsigned bits = 0;
    for (int f = 0; f < TAKT_GGML_FORMATS; f++) {
        const size_t most = takt_ggml_formats[f].weights == 256 ? 3 : 11;
        for (size_t blocks = 0; blocks < most; blocks++)
            for (size_t i = 0; i < sizeof columns / sizeof *columns; i++, bits++) {
                const takt_ggml_i8 g = {.format = (takt_ggml_format)f,
                                        .m = rows[(bits + i) % 11],
                                        .n = columns[i],
                                        .blocks = blocks};
                one(c, reference, g, bits * 5 + (unsigned)i);
            }
    }
    for (int f = 0; f < TAKT_GGML_FORMATS; f++)
        for (size_t i = 0; i < check_timed(c, 2, 1); i++)
            bench(c, (takt_ggml_format)f, i == 0 ? 1 : 32);
}
