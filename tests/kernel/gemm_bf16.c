/* gemm_bf16.c - holds products by bf16 dot products to their error bound, and to scalar's sums. */
#include "kernel/gemm_bf16/gemm_bf16.h"

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

static const takt_gemm_bf16_info *info_of(const takt_kernel *kernel)
{
    return kernel->info;
}

static void *packed(takt_check *c, int slot, const takt_kernel *kernel, const float *b, shape s)
{
    const takt_gemm_bf16_matrix m = {.k = s.k, .n = s.n, .src = b, .row = s.n, .col = 1};
    const size_t bytes = takt_gemm_bf16_count(info_of(kernel), s.k, s.n) * sizeof(uint16_t);
    uint16_t *to = check_place(c, slot, bytes, CHECK_AT_END);
    takt_gemm_bf16_pack(info_of(kernel), &m, to);
    return to;
}

static float *scratch_for(takt_check *c, const takt_gemm_f32 *g)
{
    const size_t bytes = info_of(c->kernel)->gemm.scratch_bytes(g);
    float *p = check_place(c, SCRATCH, bytes, CHECK_AT_END);
    memset(p, 0xff, bytes);
    return p;
}

/* Every result against the exact sum, and more closely against what scalar makes of it, which
 * rounds the factors alike. Neither feeds the digest: variants may differ. */
static void hold(takt_check *c, const takt_gemm_f32 *g, const float *b, const float *want)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < g->k; p++) {
                const double x = (double)g->a[i * g->a_row + p * g->a_col] * b[p * g->n + j];
                sum += x;
                size += fabs(x);
            }
            const double got = g->c[i * g->ldc + j], scalar = want[i * g->n + j];
            if (!(fabs(got - sum) <= takt_gemm_bf16_bound(g->k) * size) ||
                !(fabs(got - scalar) <= (double)(g->k + 8) / (1 << 21) * size)) {
                check_fail(c, "[%zu, %zu] is %.9g; exactly %.9g, scalar %.9g", i, j, got, sum,
                           scalar);
                return;
            }
        }
}

static void one(takt_check *c, const takt_kernel *reference, shape s, unsigned i)
{
    const bool transposed = i % 3 == 1;
    check_case(c, "m=%zu n=%zu k=%zu%s", s.m, s.n, s.k, transposed ? " A transposed" : "");
    float *a = check_place(c, A, s.m * s.k * sizeof *a, CHECK_AT_END);
    float *plain = check_place(c, PLAIN, s.k * s.n * sizeof *plain, CHECK_AT_END);
    float *want = check_place(c, WANT, s.m * s.n * sizeof *want, CHECK_AT_END);
    check_fill_f32(c, a, s.m * s.k, CHECK_PLAIN);
    check_fill_f32(c, plain, s.k * s.n, CHECK_PLAIN);
    takt_gemm_stored stored = {.data = packed(c, WIDE, reference, plain, s)};
    takt_gemm_f32 g = {.m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .a = a,
                       .a_row = transposed ? 1 : s.k,
                       .a_col = transposed ? s.m : 1,
                       .stored = &stored,
                       .b_n = s.n,
                       .c = want,
                       .ldc = s.n};
    takt_kernel_as_gemm_bf16(reference)(&g);
    stored.data = packed(c, B, c->kernel, plain, s);
    g.ldc = s.n + i % 4;
    const size_t span = (s.m - 1) * g.ldc + s.n;
    g.c = check_place(c, C, span * sizeof *g.c, CHECK_AT_END);
    memset(g.c, 0x5a, span * sizeof *g.c);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, takt_kernel_as_gemm_bf16(c->kernel)(&g));
    c->cases++;
    hold(c, &g, plain, want);
    for (int slot = A; slot <= SCRATCH; slot++)
        if (c->placed[slot].p)
            check_intact(c, slot);
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
        takt_panels_share(info_of(c->kernel)->gemm.panels, s.n, q, 2, &first, &end);
        g.n = end - first;
        g.b_first = first;
        g.c = result + first;
        e.bias = bias + first;
        g.epilogue = &e;
        g.scratch = scratch_for(c, &g);
        CHECK_CALL(c, takt_kernel_as_gemm_bf16(c->kernel)(&g));
    }
    check_same_f32(c, result, want, s.m * s.n);
}

/* A in an image of rows with gaps between them, against the same rows one after another. */
static void image(takt_check *c, const takt_kernel *reference, shape s, size_t channels)
{
    enum { PITCH = 9, WIDTH = 7 };
    const size_t taps = s.k / channels, lines = (s.m - 1) / WIDTH + 4;
    const size_t count = (lines * PITCH + TAKT_BF16_BEYOND) * channels;
    size_t at[8];
    check_case(c, "image of %zu channels, m=%zu n=%zu k=%zu", channels, s.m, s.n, s.k);
    uint16_t *data = check_place(c, A, count * sizeof *data, CHECK_AT_END);
    float *plain = check_place(c, PLAIN, s.k * s.n * sizeof *plain, CHECK_AT_END);
    float *want = check_place(c, WANT, s.m * s.n * sizeof *want, CHECK_AT_END);
    float *rows = check_place(c, BIAS, s.m * s.k * sizeof *rows, CHECK_AT_END);
    check_fill_f32(c, plain, s.k * s.n, CHECK_PLAIN);
    for (size_t i = 0; i < count; i++)
        data[i] = (uint16_t)(0x3f00 + check_below(c, 256) + check_below(c, 2) * 0x8000);
    for (size_t t = 0; t < taps; t++)
        at[t] = (t % 3 * PITCH + t / 3) * channels;
    const takt_bf16_image m = {
        .data = data, .width = WIDTH, .pitch = PITCH, .channels = channels, .at = at};
    for (size_t i = 0; i < s.m * s.k; i++) {
        const uint32_t wide = (uint32_t)*takt_bf16_image_at(&m, i / s.k, i % s.k) << 16;
        memcpy(rows + i, &wide, sizeof wide);
    }
    takt_gemm_stored stored = {.data = packed(c, WIDE, reference, plain, s)};
    takt_gemm_f32 g = {.m = s.m, .n = s.n, .k = s.k, .a = rows, .a_row = s.k, .a_col = 1};
    g.stored = &stored;
    g.b_n = g.ldc = s.n;
    g.c = want;
    takt_kernel_as_gemm_bf16(reference)(&g);
    stored.data = packed(c, B, c->kernel, plain, s);
    g.image = &m;
    g.c = check_place(c, C, s.m * s.n * sizeof *g.c, CHECK_AT_END);
    memset(g.c, 0x5a, s.m * s.n * sizeof *g.c);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, takt_kernel_as_gemm_bf16(c->kernel)(&g));
    c->cases++;
    hold(c, &g, plain, want);
    for (int slot = A; slot <= SCRATCH; slot++)
        if (c->placed[slot].p)
            check_intact(c, slot);
}

static void images(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {1, 7, 8, 20, 33, 100}, ns[] = {1, 16, 33, 70};
    const size_t least = info_of(c->kernel)->image;
    for (size_t i = 0; least > 0 && i < 24; i++)
        for (size_t taps = 1; taps <= 5; taps += 4)
            for (size_t more = 1; more <= 3; more += 2)
                image(c, reference, (shape){ms[i % 6], ns[i / 6], taps * least * more},
                      least * more);
    for (size_t n = 31; least > 0 && n < 34; n++) /* more than a chunk of k */
        image(c, reference, (shape){40, n, 8 * 192}, 192);
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
    CHECK_CALL(c, takt_kernel_as_gemm_bf16(c->kernel)(&g));
    for (int j = 0; j < N; j++)
        if (!isinf(g.c[j]) || !isnan(g.c[N + j]) || g.c[2 * N + j] != K)
            check_fail(c, "column %d is %g, %g, %g", j, g.c[j], g.c[N + j], g.c[2 * N + j]);
    c->cases++;
}

static void bench(takt_check *c, shape s)
{
    takt_gemm_f32 g = {.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .a_col = 1, .ldc = s.n};
    g.b_n = s.n;
    const size_t count = takt_gemm_bf16_count(info_of(c->kernel), s.k, s.n);
    uint16_t *b = aligned_alloc(64, (count * sizeof *b + 63) / 64 * 64);
    float *memory = aligned_alloc(64, ((s.m * s.k + s.m * s.n) * sizeof *memory + 63) / 64 * 64);
    const takt_gemm_stored stored = {.data = b};
    g.scratch = aligned_alloc(64, info_of(c->kernel)->gemm.scratch_bytes(&g) + 64);
    if (b && memory && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu", s.m, s.n, s.k);
        check_fill_f32(c, memory, s.m * s.k + s.m * s.n, CHECK_PLAIN);
        for (size_t i = 0; i < count; i++)
            b[i] = (uint16_t)(0x3f00 + i % 256);
        g.a = memory;
        g.c = memory + s.m * s.k;
        g.stored = &stored;
        CHECK_BENCH(c, what, 2.0 * (double)count + 4.0 * (double)(s.m * s.k + s.m * s.n),
                    2.0 * (double)s.m * (double)s.n * (double)s.k,
                    takt_kernel_as_gemm_bf16(c->kernel)(&g));
    }
    free(b);
    free(memory);
    free(g.scratch);
}

void check_gemm_bf16(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 33},
                        ns[] = {1, 8, 12, 13, 16, 20, 24, 33, 67},
                        ks[] = {1, 2, 3, 4, 5, 31, 32, 33, 64, 257};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++)
        one(c, reference, (shape){ms[i % MS], ns[i / MS % NS], ks[i / MS / NS]}, i);
    static const shape large[] = {{300, 17, 30},   {20, 33, 1024}, {9, 40, 2060},
                                  {260, 24, 1025}, {1, 300, 1500}, {1, 349, 1027}};
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        one(c, reference, large[i], i);
    for (unsigned i = 0; i < 8; i++)
        whole(c, (shape){1 + 9 * i, 40 + i, 7 + 300 * (i % 5)}, i);
    whole(c, (shape){1, 700, 800}, 2);
    whole(c, (shape){5, 26, 0}, 1);
    images(c, reference);
    special(c);
    static const shape timed[] = {
        {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {1, 256, 784},  {1, 1024, 1024},
        {1, 4096, 4096}, {8, 1024, 1024}, {32, 1024, 1024},   {32, 256, 784}, {3136, 64, 576}};
    for (size_t i = 0; c->bench && reference != c->kernel && i < sizeof timed / sizeof *timed; i++)
        bench(c, timed[i]);
}
