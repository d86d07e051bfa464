/* product_bf16.c - checks products of bf16 rows against their bound, and against scalar sums. */
#include "kernel/product_bf16/product_bf16.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernel/product_bf16/round.h"

enum { A, B, C, BIAS, RESIDUAL, SCRATCH, WANT, PLAIN, WIDE };

check_fn check_product_bf16;

typedef struct shape {
    size_t m, n, k;
} shape;

static const takt_product_bf16_info *info_of(const takt_kernel *kernel)
{
    return kernel->info;
}

static uint16_t *packed(takt_check *c, int slot, const takt_kernel *kernel, const float *b, shape s)
{
    const takt_gemm_bf16_matrix m = {.k = s.k, .n = s.n, .src = b, .row = s.n, .col = 1};
    const takt_gemm_bf16_info *pack = &info_of(kernel)->pack;
    uint16_t *to =
        check_place(c, slot, takt_gemm_bf16_count(pack, s.k, s.n) * sizeof *to, CHECK_AT_END);
    takt_gemm_bf16_pack(pack, &m, to);
    return to;
}

static void fill(takt_check *c, uint16_t *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = takt_bf16_round((float)check_below(c, 1 << 20) / (1 << 18) - 2);
}

/* A 16-bit result: within half a unit of a value that is within the bound of the exact sum.
 */
static void hold(takt_check *c, const takt_product_bf16 *g, const float *b, size_t ldb)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < g->k; p++) {
                const double x = (double)widen(g->a[i * g->a_row + p]) *
                                 (double)widen(takt_bf16_round(b[p * ldb + g->b_first + j]));
                sum += x;
                size += fabs(x);
            }
            const double more[2] = {g->bias != NULL ? g->bias[j] : 0,
                                    g->residual != NULL ? widen(g->residual[i * g->ldr + j]) : 0};
            sum += more[0] + more[1];
            size += fabs(more[0]) + fabs(more[1]);
            const double want = fmin(fmax(sum, g->lo), g->hi), got = widen(g->c[i * g->ldc + j]);
            const double slack = takt_product_bf16_bound(g->k) * size;
            if (!(fabs(got - want) <= slack + fabs(want) / 255)) {
                check_fail(c, "[%zu, %zu] is %.9g; exactly %.9g", i, j, got, want);
                return;
            }
        }
}

static void one(takt_check *c, shape s, unsigned i)
{
    check_case(c, "m=%zu n=%zu k=%zu, %u", s.m, s.n, s.k, i);
    takt_product_bf16 g = {.m = s.m,
                           .k = s.k,
                           .a_row = s.k + i % 3,
                           .b_n = s.n,
                           .ldr = s.n + i % 5,
                           .lo = i % 2 ? 0 : -INFINITY,
                           .hi = i % 4 > 1 ? 6 : INFINITY,
                           .ldc = s.n + i % 4};
    g.a_padded = i % 5 == 4;
    g.a_row = g.a_padded ? (s.k + 31) / 32 * 32 : g.a_row;
    const size_t rows = g.a_padded ? s.m * g.a_row : (s.m - 1) * g.a_row + s.k;
    const size_t span = (s.m - 1) * g.ldc + s.n;
    uint16_t *a = check_place(c, A, rows * sizeof *a, CHECK_AT_END);
    float *plain = check_place(c, PLAIN, s.k * s.n * sizeof *plain, CHECK_AT_END);
    float *bias = check_place(c, BIAS, s.n * sizeof *bias, CHECK_AT_END);
    const size_t extent = (s.m - 1) * g.ldr + s.n;
    uint16_t *residual = check_place(c, RESIDUAL, extent * sizeof *residual, CHECK_AT_END);
    fill(c, a, rows);
    for (size_t q = 0; g.a_padded && q < rows; q++)
        a[q] = q % g.a_row < s.k ? a[q] : 0;
    fill(c, residual, extent);
    check_fill_f32(c, plain, s.k * s.n, CHECK_PLAIN);
    check_fill_f32(c, bias, s.n, CHECK_PLAIN);
    g.a = a;
    g.b = packed(c, B, c->kernel, plain, s);
    uint16_t *to = check_place(c, C, span * sizeof *to, CHECK_AT_END);
    for (size_t q = 0, first, end; q < 2; q++) { /* in two parts */
        takt_panels_share(info_of(c->kernel)->pack.gemm.panels, s.n, q, 2, &first, &end);
        g.n = end - first;
        g.b_first = first;
        g.c = to + first;
        g.bias = i % 8 < 4 ? bias + first : NULL;
        g.residual = i % 3 == 0 ? residual + first : NULL;
        const size_t bytes = info_of(c->kernel)->scratch_bytes(g.m, g.n, g.k);
        g.scratch = check_scratch(c, SCRATCH, bytes);
        CHECK_CALL(c, takt_kernel_as_product_bf16(c->kernel)(&g));
        c->cases++;
        hold(c, &g, plain, s.n);
    }
    for (int slot = A; slot <= SCRATCH; slot++)
        check_intact(c, slot);
}

/* A in an image of rows with gaps between them, against the same rows stored contiguously. */
static void image(takt_check *c, shape s, size_t channels, unsigned i)
{
    enum { PITCH = 9, WIDTH = 7 };
    const size_t taps = s.k / channels, lines = (s.m - 1) / WIDTH + 4;
    const size_t count = (lines * PITCH + TAKT_BF16_BEYOND) * channels;
    size_t at[8];
    check_case(c, "image of %zu channels, m=%zu n=%zu k=%zu", channels, s.m, s.n, s.k);
    uint16_t *data = check_place(c, A, count * sizeof *data, CHECK_AT_END);
    float *plain = check_place(c, PLAIN, s.k * s.n * sizeof *plain, CHECK_AT_END);
    float *bias = check_place(c, BIAS, s.n * sizeof *bias, CHECK_AT_END);
    uint16_t *residual = check_place(c, RESIDUAL, s.m * s.n * sizeof *residual, CHECK_AT_END);
    uint16_t *rows = check_place(c, WIDE, s.m * s.k * sizeof *rows, CHECK_AT_END);
    fill(c, data, count);
    fill(c, residual, s.m * s.n);
    check_fill_f32(c, plain, s.k * s.n, CHECK_PLAIN);
    check_fill_f32(c, bias, s.n, CHECK_PLAIN);
    for (size_t t = 0; t < taps; t++)
        at[t] = (t % 3 * PITCH + t / 3) * channels;
    const takt_bf16_image m = {
        .data = data, .width = WIDTH, .pitch = PITCH, .channels = channels, .at = at};
    for (size_t q = 0; q < s.m * s.k; q++)
        rows[q] = *takt_bf16_image_at(&m, q / s.k, q % s.k);
    takt_product_bf16 g = {.m = s.m,
                           .n = s.n,
                           .k = s.k,
                           .image = &m,
                           .b = packed(c, B, c->kernel, plain, s),
                           .b_n = s.n,
                           .bias = i % 2 ? bias : NULL,
                           .residual = i % 3 == 0 ? residual : NULL,
                           .ldr = s.n,
                           .lo = i % 4 > 1 ? 0 : -INFINITY,
                           .hi = i % 5 > 2 ? 6 : INFINITY,
                           .ldc = s.n};
    const size_t bytes = info_of(c->kernel)->scratch_bytes(g.m, g.n, g.k);
    g.scratch = check_scratch(c, SCRATCH, bytes);
    g.c = check_place(c, C, s.m * s.n * sizeof *g.c, CHECK_AT_END);
    memset(g.c, 0x5a, s.m * s.n * sizeof *g.c);
    CHECK_CALL(c, takt_kernel_as_product_bf16(c->kernel)(&g));
    c->cases++;
    g.a = rows;
    g.a_row = s.k;
    hold(c, &g, plain, s.n);
    for (int slot = A; slot <= SCRATCH; slot++)
        check_intact(c, slot);
}

static void images(takt_check *c)
{
    static const size_t ms[] = {1, 7, 8, 20, 33, 100}, ns[] = {1, 16, 33, 70};
    const size_t least = info_of(c->kernel)->pack.image;
    unsigned round = 0;
    for (size_t i = 0; least > 0 && i < 24; i++)
        for (size_t taps = 1; taps <= 5; taps += 4)
            for (size_t more = 1; more <= 3; more += 2)
                image(c, (shape){ms[i % 6], ns[i / 6], taps * least * more}, least * more, round++);
    for (size_t n = 31; least > 0 && n < 34; n++) /* more than a chunk of k */
        image(c, (shape){40, n, 8 * 192}, 192, round++);
}

/* NaNs appear where they belong and nowhere else; also with clamping. */
static void special(takt_check *c)
{
    enum { M = 3, N = 20, K = 9 };
    check_case(c, "NaN and infinity");
    uint16_t a[M * K];
    float b[K * N];
    for (int i = 0; i < M * K; i++)
        a[i] = 0x3f80;
    for (int i = 0; i < K * N; i++)
        b[i] = 1;
    a[0] = 0x7f80;
    a[K + 3] = 0xffff;
    const shape s = {M, N, K};
    takt_product_bf16 g = {.m = M, .n = N, .k = K, .a = a, .a_row = K, .b_n = N, .lo = 0, .hi = 6};
    g.b = packed(c, B, c->kernel, b, s);
    g.ldc = N;
    g.c = check_place(c, C, sizeof *g.c * M * N, CHECK_AT_END);
    for (int round = 0; round < 2; round++, g.hi = INFINITY) {
        g.scratch = check_scratch(c, SCRATCH, info_of(c->kernel)->scratch_bytes(M, N, K));
        CHECK_CALL(c, takt_kernel_as_product_bf16(c->kernel)(&g));
        for (int j = 0; j < N; j++)
            if (widen(g.c[j]) != g.hi || !isnan(widen(g.c[N + j])) ||
                widen(g.c[2 * N + j]) != (round ? K : 6))
                check_fail(c, "column %d is %x, %x, %x", j, g.c[j], g.c[N + j], g.c[2 * N + j]);
        c->cases++;
    }
}

static void bench(takt_check *c, shape s)
{
    const takt_product_bf16_info *info = info_of(c->kernel);
    const size_t count = takt_gemm_bf16_count(&info->pack, s.k, s.n);
    const size_t all = count + s.m * (s.k + 2 * s.n);
    uint16_t *b = aligned_alloc(64, (all * sizeof *b + 63) / 64 * 64);
    float *bias = calloc(s.n, sizeof *bias);
    takt_product_bf16 g = {.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .b = b, .b_n = s.n};
    g.scratch = aligned_alloc(64, (info->scratch_bytes(s.m, s.n, s.k) + 63) / 64 * 64);
    if (b && bias && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu", s.m, s.n, s.k);
        for (size_t i = 0; i < all; i++)
            b[i] = (uint16_t)(0x3f00 + i % 256);
        g.a = b + count;
        g.c = b + count + s.m * s.k;
        g.ldc = g.ldr = s.n;
        g.hi = 6;
        g.bias = bias;
        g.residual = s.n < s.k / 2 ? b + count + s.m * (s.k + s.n) : NULL;
        CHECK_BENCH(c, what, 2.0 * (double)all, 2.0 * (double)s.m * (double)s.n * (double)s.k,
                    takt_kernel_as_product_bf16(c->kernel)(&g));
    }
    free(b);
    free(bias);
    free(g.scratch);
}

void check_product_bf16(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {1, 2, 3, 7, 8, 9, 17, 33},
                        ns[] = {1, 8, 12, 13, 16, 20, 24, 33, 67},
                        ks[] = {1, 2, 3, 4, 5, 31, 32, 33, 257};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++)
        one(c, (shape){ms[i % MS], ns[i / MS % NS], ks[i / MS / NS]}, i);
    static const shape large[] = {
        {300, 17, 30}, {20, 33, 1024}, {9, 40, 2060}, {260, 24, 1025}, {5, 26, 0}};
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        one(c, large[i], i);
    images(c);
    special(c);
    (void)reference; /* held to exact sums instead */
    static const shape timed[] = {{784, 192, 32},  {784, 32, 192},  {12544, 32, 27},
                                  {12544, 96, 16}, {3136, 24, 144}, {3136, 144, 24},
                                  {196, 96, 576},  {196, 576, 96},  {49, 160, 960},
                                  {49, 1280, 320}, {3136, 64, 576}, {1024, 1024, 1024}};
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 1);
    for (size_t i = 0; i < count; i++)
        bench(c, timed[i]);
}
