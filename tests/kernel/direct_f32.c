/* direct_f32.c - checks products with a matrix read in place against the scalar ones, and those
 * against the product of packed weights: one order of arithmetic. */
#include "kernel/direct_f32/direct_f32.h"

#include <string.h>

#include "check.h"
#include "kernel/gemm_f32/gemm_f32.h"

enum { A, B, RESULT, WANT, PACKED, PLACES };

check_fn check_direct_f32;

/* Floats from the first to the last of `rows` rows. */
static size_t span(size_t rows, size_t cols, size_t ld)
{
    return rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
}

/* The same product by gemm_f32's scalar kernel. */
static void packed(takt_check *c, const takt_direct_f32 *g)
{
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    const takt_kernel *gemm = takt_kernel_find("gemm_f32", scalar, NULL, 0, NULL);
    const takt_panels panels = ((const takt_gemm_f32_info *)gemm->info)->panels;
    const size_t count = takt_panels_columns(panels, g->n) * g->k;
    float *b = check_place(c, PACKED, count * sizeof *b, CHECK_AT_END);
    memset(b, 0, count * sizeof *b);
    for (size_t p = 0; p < g->k; p++)
        for (size_t j = 0; j < g->n; j++)
            b[takt_packed_at(panels, g->k, g->n, p, j)] =
                g->b_at != NULL ? g->b[g->b_at[p] + j] : g->b[p * g->b_row + j * g->b_col];
    const takt_gemm_f32 same = {.m = g->m,
                                .n = g->n,
                                .k = g->k,
                                .a = g->a,
                                .a_row = g->a_row,
                                .a_col = 1,
                                .b = b,
                                .b_n = g->n,
                                .c = g->c,
                                .ldc = g->ldc};
    takt_kernel_as_gemm_f32(gemm)(&same);
}

static void one(takt_check *c, const takt_kernel *reference, takt_direct_f32 g, int round)
{
    const int where = round % CHECK_PLACES, values = round % 5 < 3 ? CHECK_PLAIN : round % 5;
    const bool by_rows = round % 2 == 0;
    const size_t gap = round % 3 == 0 ? 0 : 1 + check_below(c, 7);
    const size_t ld = (by_rows ? g.n : g.k) + gap;
    check_case(c, "%s m=%zu n=%zu k=%zu gap %zu", by_rows ? "rows" : "columns", g.m, g.n, g.k, gap);
    const size_t b_count = by_rows ? span(g.k, g.n, ld) : span(g.n, g.k, ld);
    g.a_row = g.k + gap;
    g.b_row = by_rows ? ld : 1;
    g.b_col = by_rows ? 1 : ld;
    g.ldc = g.n + gap;
    float *a = check_place(c, A, span(g.m, g.k, g.a_row) * sizeof *a, where);
    float *b = check_place(c, B, b_count * sizeof *b, where);
    check_fill_f32(c, a, span(g.m, g.k, g.a_row), values);
    check_fill_f32(c, b, b_count, values);
    g.a = a;
    g.b = b;
    if (by_rows && round % 4 == 0) { /* rows in any order, and some of them twice */
        size_t *at = check_place(c, PLACES, g.k * sizeof *at, where);
        for (size_t p = 0; p < g.k; p++)
            at[p] = check_below(c, (uint32_t)g.k) * ld;
        g.b_at = at;
        g.b_row = g.b_col = 0;
    }
    const size_t bytes = span(g.m, g.n, g.ldc) * sizeof *g.c;
    float *want = check_place(c, WANT, bytes, CHECK_AT_END);
    memset(want, 0x5a, bytes);
    g.c = want;
    if (round % 8 < 3)
        packed(c, &g);
    else
        takt_kernel_as_direct_f32(reference)(&g);
    float *got = check_place(c, RESULT, bytes, where);
    memset(got, 0x5a, bytes);
    g.c = got;
    CHECK_CALL(c, takt_kernel_as_direct_f32(c->kernel)(&g));
    check_same_f32(c, got, want, bytes / sizeof *got);
    check_intact(c, A);
    check_intact(c, B);
    check_intact(c, RESULT);
}

static void bench(takt_check *c)
{
    enum { DIM = 64, KEYS = 1024, ROW = 512 }; /* a head of eight: 256 bytes of every 2,048 */
    float *a = check_place(c, A, 4 * KEYS * sizeof *a, CHECK_AT_START);
    float *b = check_place(c, B, KEYS * ROW * sizeof *b, CHECK_AT_START);
    float *y = check_place(c, RESULT, 4 * KEYS * sizeof *y, CHECK_AT_START);
    check_fill_f32(c, a, 4 * KEYS, CHECK_PLAIN);
    check_fill_f32(c, b, KEYS * ROW, CHECK_PLAIN);
    for (size_t i = 0; i < check_timed(c, 4, 2); i++) {
        static const char *const names[] = {"scores, 1 row", "values, 1 row", "scores, 4 rows",
                                            "values, 4 rows"};
        const bool is_scores = i % 2 == 0;
        const takt_direct_f32 g = {.m = i < 2 ? 1 : 4,
                                   .n = is_scores ? KEYS : DIM,
                                   .k = is_scores ? DIM : KEYS,
                                   .a = a,
                                   .a_row = is_scores ? DIM : KEYS,
                                   .b = b,
                                   .b_row = is_scores ? 1 : ROW,
                                   .b_col = is_scores ? ROW : 1,
                                   .c = y,
                                   .ldc = is_scores ? KEYS : DIM};
        CHECK_BENCH(c, names[i], 4.0 * DIM * KEYS, 2.0 * (double)g.m * DIM * KEYS,
                    takt_kernel_as_direct_f32(c->kernel)(&g));
    }
}

void check_direct_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t depths[] = {0, 1, 3, 4, 7, 64, 255, 256, 257, 700};
    int round = 0;
    for (size_t n = 1; n <= CHECK_TAILS; n++)
        for (size_t i = 0; i < 6; i++, round++) {
            const size_t deep = depths[check_below(c, n < 40 ? 10 : 7)];
            const takt_direct_f32 g = {.m = 1 + check_below(c, 9),
                                       .n = i < 4 ? n : 1 + check_below(c, 70),
                                       .k = i < 4 ? deep : n};
            one(c, reference, g, round);
        }
    /* Widths of whole tiles, of every length of vector, and depths of several chunks. */
    for (size_t n = 32; n <= 128; n += 32)
        for (size_t i = 0; i < 12; i++) {
            const takt_direct_f32 g = {.m = 1 + i % 6, .n = n, .k = i % 2 ? 33 : 545};
            one(c, reference, g, 4 * (int)i + 2);
        }
    bench(c);
}
