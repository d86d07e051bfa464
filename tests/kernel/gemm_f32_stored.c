/* gemm_f32_stored.c - products with B in another form: the bits of the product with B as f32. */
#include "gemm_f32_stored.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "kernel/gemm_f32/gemm_f32.h"

enum { A, B, C, BIAS, SCRATCH, WANT, PLAIN, WIDE };

typedef struct shape {
    size_t m, n, k;
} shape;

static takt_panels panels_of(const takt_kernel *kernel)
{
    return ((const takt_gemm_f32_info *)kernel->info)->panels;
}

static float widened(takt_dtype dtype, uint16_t bits)
{
    if (dtype == TAKT_F32) /* the form that kernels do not know: bytes and a scale */
        return 0.25f * (float)(int8_t)(bits & 0xff);
    return (float)(dtype == TAKT_F16 ? takt_f16_to_f64(bits) : takt_bf16_to_f64(bits));
}

/* Types that kernels do not support are widened element by element. */
static void widen_other(const takt_gemm_stored *s, const takt_gemm_piece *piece, float *to)
{
    const uint16_t *data = s->data;
    const size_t at = (s->first + piece->p) * s->columns + piece->col * piece->k;
    for (size_t i = 0; i < piece->cols * piece->k; i++)
        to[i] = widened(TAKT_F32, data[at + i]);
}

typedef struct matrix {
    const uint16_t *plain; /* [k][n] */
    shape s;
    takt_dtype dtype;
} matrix;

/* In the panels of `kernel`, in its own type or as f32. */
static void *packed(takt_check *c, int slot, const takt_kernel *kernel, const matrix *x, bool wide)
{
    const takt_panels panels = panels_of(kernel);
    const size_t k = x->s.k, n = x->s.n, bytes = wide ? sizeof(float) : sizeof(uint16_t);
    const size_t count = takt_panels_columns(panels, n) * k;
    void *to = check_place(c, slot, count * bytes, CHECK_AT_END);
    memset(to, 0, count * bytes);
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++) {
            const size_t at = takt_packed_at(panels, k, n, p, j);
            if (wide)
                ((float *)to)[at] = widened(x->dtype, x->plain[p * n + j]);
            else
                ((uint16_t *)to)[at] = x->plain[p * n + j];
        }
    return to;
}

static float *scratch_for(takt_check *c, const takt_kernel *kernel, const takt_gemm_f32 *g)
{
    const size_t bytes = ((const takt_gemm_f32_info *)kernel->info)->scratch_bytes(g);
    return check_scratch(c, SCRATCH, bytes);
}

static uint16_t *random_bits(takt_check *c, size_t count, takt_dtype dtype, bool plain)
{
    uint16_t *p = check_place(c, PLAIN, count * sizeof *p, CHECK_AT_END);
    check_fill_bytes(c, p, count * sizeof *p);
    for (size_t i = 0; plain && i < count; i++) {
        const double x = (double)(int16_t)p[i] / 8192;
        p[i] = dtype == TAKT_BF16 ? takt_bf16_from_f64(x) : takt_f16_from_f64(x);
    }
    return p;
}

static takt_gemm_stored stored_of(takt_dtype dtype, const void *data, const takt_kernel *kernel,
                                  size_t n)
{
    const takt_kernel *convert = takt_kernel_find("convert", takt_isa_detect(), NULL, 0, NULL);
    return (takt_gemm_stored){.widen = dtype == TAKT_F32 ? widen_other : takt_gemm_widen_half,
                              .data = data,
                              .dtype = dtype,
                              .columns = takt_panels_columns(panels_of(kernel), n),
                              .convert = takt_kernel_as_convert(convert)};
}

static void one(takt_check *c, const takt_kernel *reference, shape s, takt_dtype dtype, unsigned i)
{
    const bool transposed = i % 3 == 1;
    check_case(c, "stored as %d, m=%zu n=%zu k=%zu%s", (int)dtype, s.m, s.n, s.k,
               transposed ? " A transposed" : "");
    takt_epilogue_f32 e = {.act = (takt_gemm_act)(i % 5), .lo = -1, .hi = 6, .slope = 0.1f};
    float *bias = check_place(c, BIAS, s.n * sizeof *bias, CHECK_AT_END);
    check_fill_f32(c, bias, s.n, CHECK_PLAIN);
    e.bias = bias;
    float *a = check_place(c, A, s.m * s.k * sizeof *a, CHECK_AT_END);
    check_fill_f32(c, a, s.m * s.k, i % 4 ? CHECK_PLAIN : CHECK_MIXED);
    const matrix b = {random_bits(c, s.k * s.n, dtype, i % 2), s, dtype};
    takt_gemm_f32 g = {.m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .a = a,
                       .a_row = transposed ? 1 : s.k,
                       .a_col = transposed ? s.m : 1,
                       .b_n = s.n,
                       .ldc = s.n,
                       .epilogue = i % 7 ? &e : NULL};
    float *want = check_place(c, WANT, s.m * s.n * sizeof *want, CHECK_AT_END);
    g.c = want;
    g.b = packed(c, WIDE, reference, &b, true);
    takt_kernel_as_gemm_f32(reference)(&g);
    const takt_gemm_stored stored =
        stored_of(dtype, packed(c, B, c->kernel, &b, false), c->kernel, s.n);
    g.b = NULL;
    g.stored = &stored;
    g.c = check_place(c, C, s.m * s.n * sizeof *g.c, CHECK_AT_END);
    g.scratch = scratch_for(c, c->kernel, &g);
    CHECK_CALL(c, takt_kernel_as_gemm_f32(c->kernel)(&g));
    check_same_f32(c, g.c, want, s.m * s.n);
    for (int slot = A; slot <= SCRATCH; slot++)
        check_intact(c, slot);
}

/* Columns cut where panels begin, each part with the least scratch, and k split in chunks. */
static void pieces(takt_check *c, const takt_kernel *reference, shape s, takt_dtype dtype)
{
    check_case(c, "stored as %d, cut, m=%zu n=%zu k=%zu", (int)dtype, s.m, s.n, s.k);
    float *a = check_place(c, A, s.m * s.k * sizeof *a, CHECK_AT_END);
    check_fill_f32(c, a, s.m * s.k, CHECK_PLAIN);
    const matrix b = {random_bits(c, s.k * s.n, dtype, true), s, dtype};
    float *want = check_place(c, WANT, s.m * s.n * sizeof *want, CHECK_AT_END);
    takt_gemm_f32 g = {.m = s.m, .n = s.n, .k = s.k, .a = a, .a_row = s.k, .a_col = 1};
    g.b_n = g.ldc = s.n;
    g.c = want;
    g.b = packed(c, WIDE, reference, &b, true);
    takt_kernel_as_gemm_f32(reference)(&g);
    const takt_gemm_stored stored =
        stored_of(dtype, packed(c, B, c->kernel, &b, false), c->kernel, s.n);
    g.stored = &stored;
    g.c = check_place(c, C, s.m * s.n * sizeof *g.c, CHECK_AT_END);
    const takt_panels panels = panels_of(c->kernel);
    for (size_t q = 0, first, end; q < 3; q++) {
        takt_panels_share(panels, s.n, q, 3, &first, &end);
        takt_gemm_f32 h = g;
        h.n = end - first;
        h.b_first = first;
        h.c = g.c + first;
        h.scratch = scratch_for(c, c->kernel, &h);
        CHECK_CALL(c, takt_kernel_as_gemm_f32(c->kernel)(&h));
    }
    check_same_f32(c, g.c, want, s.m * s.n);
    const size_t chunks = (s.k + TAKT_GEMM_CHUNK - 1) / TAKT_GEMM_CHUNK;
    float *partial = check_place(c, PLAIN, chunks * s.m * s.n * sizeof *partial, CHECK_AT_END);
    g.scratch = scratch_for(c, c->kernel, &g);
    CHECK_CALL(c, takt_gemm_f32_chunks(c->kernel, &g, 0, chunks, partial));
    takt_gemm_f32_sum(&g, partial, chunks);
    check_same_f32(c, g.c, want, s.m * s.n);
}

/* A product that is lost to minus zero, and weights of minus zero after it: the sum keeps its
 * sign, however weights are widened. */
static void signs_of_zero(takt_check *c, const takt_kernel *reference, float tiny)
{
    const shape s = {1, 52, 6};
    check_case(c, "stored, sums of minus zero");
    float *a = check_place(c, A, s.k * sizeof *a, CHECK_AT_END);
    uint16_t *bits = check_place(c, PLAIN, s.k * s.n * sizeof *bits, CHECK_AT_END);
    for (size_t p = 0; p < s.k; p++) {
        a[p] = p == 0 ? tiny : 1;
        for (size_t j = 0; j < s.n; j++)
            bits[p * s.n + j] = p == 0 ? 1 : 0x8000; /* 2^-24, then -0 */
    }
    const matrix b = {bits, s, TAKT_F16};
    takt_gemm_f32 g = {.m = 1, .n = s.n, .k = s.k, .a = a, .a_row = s.k, .a_col = 1};
    g.b_n = g.ldc = s.n;
    float *want = check_place(c, WANT, s.n * sizeof *want, CHECK_AT_END);
    g.c = want;
    g.b = packed(c, WIDE, reference, &b, true);
    takt_kernel_as_gemm_f32(reference)(&g);
    if (!signbit(want[0]))
        check_fail(c, "the sum is not minus zero");
    const takt_gemm_stored stored =
        stored_of(TAKT_F16, packed(c, B, c->kernel, &b, false), c->kernel, s.n);
    g.stored = &stored;
    g.c = check_place(c, C, s.n * sizeof *g.c, CHECK_AT_END);
    g.scratch = scratch_for(c, c->kernel, &g);
    CHECK_CALL(c, takt_kernel_as_gemm_f32(c->kernel)(&g));
    check_same_f32(c, g.c, want, s.n);
}

static void bench(takt_check *c, shape s, takt_dtype dtype)
{
    takt_gemm_f32 g = {.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .a_col = 1, .ldc = s.n};
    g.b_n = s.n;
    const size_t count = takt_panels_columns(panels_of(c->kernel), s.n) * s.k;
    uint16_t *b = aligned_alloc(64, (count * sizeof *b + 63) / 64 * 64);
    float *memory = aligned_alloc(64, ((s.m * s.k + s.m * s.n) * sizeof *memory + 63) / 64 * 64);
    const takt_gemm_stored stored = stored_of(dtype, b, c->kernel, s.n);
    g.stored = &stored;
    const takt_gemm_f32_info *info = c->kernel->info;
    g.scratch = aligned_alloc(64, (info->scratch_bytes(&g) + 127) / 64 * 64);
    if (b && memory && g.scratch) {
        char what[64];
        snprintf(what, sizeof what, "%zux%zux%zu %s", s.m, s.n, s.k,
                 dtype == TAKT_F16 ? "f16" : "bf16");
        check_fill_f32(c, memory, s.m * s.k + s.m * s.n, CHECK_PLAIN);
        for (size_t i = 0; i < count; i++)
            b[i] = (uint16_t)(0x3c00 + i % 256); /* about one in both types */
        g.a = memory;
        g.c = memory + s.m * s.k;
        CHECK_BENCH(c, what, 2.0 * (double)count + 4.0 * (double)(s.m * s.k + s.m * s.n),
                    2.0 * (double)s.m * (double)s.n * (double)s.k,
                    takt_kernel_as_gemm_f32(c->kernel)(&g));
    }
    free(b);
    free(memory);
    free(g.scratch);
}

void check_gemm_f32_stored(takt_check *c, const takt_kernel *reference)
{
    static const takt_dtype dtypes[] = {TAKT_F16, TAKT_BF16, TAKT_F32};
    static const size_t ms[] = {1, 2, 3, 6, 7, 8, 9, 14, 15, 29, 47},
                        ns[] = {1, 8, 12, 13, 16, 20, 31, 33, 48, 67, 130},
                        ks[] = {0, 1, 3, 4, 63, 256, 257, 513};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++) {
        const shape s = {ms[i % MS], ns[i / MS % NS], ks[i / MS / NS]};
        if (s.m * s.n * s.k < 100000)
            one(c, reference, s, dtypes[i % 3], i);
    }
    static const shape large[] = {{20, 300, 1030}, {400, 17, 30}, {1, 700, 1000}, {60, 400, 300},
                                  {70, 24, 64},    {9, 700, 600}, {66, 16, 300},  {2, 600, 20}};
    for (unsigned i = 0; i < 3 * sizeof large / sizeof *large; i++)
        one(c, reference, large[i / 3], dtypes[i % 3], i);
    for (int d = 0; d < 3; d++) {
        pieces(c, reference, (shape){31, 100, 520}, dtypes[d]);
        pieces(c, reference, (shape){1, 200, 300}, dtypes[d]);
    }
    signs_of_zero(c, reference, -0x1p-140f);
    signs_of_zero(c, reference, -0x1p-126f); /* the least that is normal */
    static const shape timed[] = {{1, 256, 784},   {1, 1024, 1024},  {1, 4096, 4096},
                                  {8, 4096, 4096}, {32, 1024, 1024}, {512, 512, 512}};
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 1);
    for (size_t i = 0; i < count; i++) {
        bench(c, timed[i], TAKT_F16);
        bench(c, timed[i], TAKT_BF16);
    }
}
