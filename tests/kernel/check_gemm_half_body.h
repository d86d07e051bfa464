/* check_gemm_half_body.h - what is checked alike of all products by arithmetic of 16 bits.
 *
 * A template for element types: before including it, define the type `matrix`, what is packed, the
 * functions COUNT, PACK and AS_GEMM, and ELEMENT(i), a packed B to be timed. It gives shapes and
 * operands, and whole(), special() and bench(). A kernel's info begins with a takt_gemm_f32_info.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "gemm_f32_stored.h"

enum { A, B, C, BIAS, SCRATCH, WANT, PLAIN, WIDE };

typedef struct shape {
    size_t m, n, k;
} shape;

static const takt_gemm_f32_info *gemm_of(const takt_kernel *kernel)
{
    return kernel->info;
}

static void *packed(takt_check *c, int slot, const takt_kernel *kernel, const float *b, shape s)
{
    const matrix m = {.k = s.k, .n = s.n, .src = b, .row = s.n, .col = 1};
    const size_t bytes = COUNT(kernel->info, s.k, s.n) * sizeof(uint16_t);
    uint16_t *to = check_place(c, slot, bytes, CHECK_AT_END);
    PACK(kernel->info, &m, to);
    return to;
}

static float *scratch_for(takt_check *c, const takt_gemm_f32 *g)
{
    return check_scratch(c, SCRATCH, gemm_of(c->kernel)->scratch_bytes(g));
}

/* Small whole numbers: every variant is exact, so the epilogue, cuts and the tail must be too. */
static void whole(takt_check *c, shape s, unsigned i)
{
    check_case(c, "whole numbers, m=%zu n=%zu k=%zu epilogue %u", s.m, s.n, s.k, i);
    float *a = check_place(c, A, s.m * s.k * sizeof *a, CHECK_AT_END);
    float *plain = check_place(c, PLAIN, s.k * s.n * sizeof *plain, CHECK_AT_END);
    float *bias = check_place(c, BIAS, s.n * sizeof *bias, CHECK_AT_END);
    float *want = check_place(c, WANT, s.m * s.n * sizeof *want, CHECK_AT_END);
    for (size_t p = 0; p < s.m * s.k; p++)
        a[p] = (float)check_below(c, 7) - 3;
    for (size_t p = 0; p < s.k * s.n; p++)
        plain[p] = (float)check_below(c, 7) - 3;
    for (size_t p = 0; p < s.n; p++)
        bias[p] = (float)check_below(c, 9) - 4;
    const takt_gemm_stored stored = {.data = packed(c, B, c->kernel, plain, s)};
    takt_gemm_f32 g = {.m = s.m, .n = s.n, .k = s.k, .a = a, .a_row = s.k, .a_col = 1};
    takt_epilogue_f32 e = {.act = i % 2 ? TAKT_GEMM_ACT_RELU : TAKT_GEMM_ACT_NONE,
                           .tail = i % 4 > 1 ? check_gemm_tail : NULL,
                           .user = &g};
    for (size_t r = 0; r < s.m; r++)
        for (size_t j = 0; j < s.n; j++) {
            float x = 0;
            for (size_t p = 0; p < s.k; p++)
                x += a[r * s.k + p] * plain[p * s.n + j];
            x += bias[j];
            x = i % 2 && x < 0 ? 0 : x;
            want[r * s.n + j] = i % 4 > 1 ? x + 1 : x;
        }
    g.stored = &stored;
    g.b_n = g.ldc = s.n;
    float *result = check_place(c, C, s.m * s.n * sizeof *g.c, CHECK_AT_END);
    for (size_t q = 0, first, end; q < 2; q++) {
        takt_panels_share(gemm_of(c->kernel)->panels, s.n, q, 2, &first, &end);
        g.n = end - first;
        g.b_first = first;
        g.c = result + first;
        e.bias = bias + first;
        g.epilogue = &e;
        g.scratch = scratch_for(c, &g);
        CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    }
    check_same_f32(c, result, want, s.m * s.n);
}

/* What is no number stays none, where it belongs and nowhere else. */
static void special(takt_check *c)
{
    enum { M = 3, N = 20, K = 9 };
    check_case(c, "NaN and infinity");
    float a[M * K], b[K * N];
    for (int i = 0; i < M * K; i++)
        a[i] = 1;
    for (int i = 0; i < K * N; i++)
        b[i] = 1;
    a[0] = INFINITY;
    a[K + 3] = NAN;
    const shape s = {M, N, K};
    const takt_gemm_stored stored = {.data = packed(c, B, c->kernel, b, s)};
    takt_gemm_f32 g = {.m = M, .n = N, .k = K, .a = a, .a_row = K, .a_col = 1, .stored = &stored};
    g.b_n = g.ldc = N;
    g.c = check_place(c, C, sizeof(float) * M * N, CHECK_AT_END);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    for (int j = 0; j < N; j++)
        if (!isinf(g.c[j]) || !isnan(g.c[N + j]) || g.c[2 * N + j] != K)
            check_fail(c, "column %d is %g, %g, %g", j, g.c[j], g.c[N + j], g.c[2 * N + j]);
    c->cases++;
}

static void bench(takt_check *c, shape s)
{
    takt_gemm_f32 g = {.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .a_col = 1, .ldc = s.n};
    g.b_n = s.n;
    const size_t count = COUNT(c->kernel->info, s.k, s.n);
    uint16_t *b = aligned_alloc(64, (count * sizeof *b + 63) / 64 * 64);
    float *memory = aligned_alloc(64, ((s.m * s.k + s.m * s.n) * sizeof *memory + 63) / 64 * 64);
    const takt_gemm_stored stored = {.data = b};
    g.scratch = aligned_alloc(64, gemm_of(c->kernel)->scratch_bytes(&g) + 64);
    if (b && memory && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu", s.m, s.n, s.k);
        check_fill_f32(c, memory, s.m * s.k + s.m * s.n, CHECK_PLAIN);
        for (size_t i = 0; i < count; i++)
            b[i] = ELEMENT(i);
        g.a = memory;
        g.c = memory + s.m * s.k;
        g.stored = &stored;
        CHECK_BENCH(c, what, 2.0 * (double)count + 4.0 * (double)(s.m * s.k + s.m * s.n),
                    2.0 * (double)s.m * (double)s.n * (double)s.k, AS_GEMM(c->kernel)(&g));
    }
    free(b);
    free(memory);
    free(g.scratch);
}
