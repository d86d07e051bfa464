/* gemm_f16.c - checks products by f16 arithmetic against their error bound, which is smaller on
 * average. */
#include "kernel/gemm_f16/gemm_f16.h"

typedef takt_gemm_f16_matrix matrix;
#define COUNT takt_gemm_f16_count
#define PACK takt_gemm_f16_pack
#define AS_GEMM takt_kernel_as_gemm_f16
#define ELEMENT(i) (uint16_t)((i) < TAKT_F16_HEAD ? 0 : 0x3700 + (i) % 256)

#include "check_gemm_half_body.inc"

enum { SAME = 1000 }; /* the number of the case whose factors are all equal */

/* The largest of `count` elements that lie `step` apart. */
static double largest(const float *x, size_t count, size_t step)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs((double)x[i * step]) > most)
            most = fabs((double)x[i * step]);
    return most;
}

/* Rows of A and all of B with magnitudes that f16 does not have. */
static void stretch(float *a, float *b, shape s, unsigned i)
{
    for (size_t p = 0; p < s.m * s.k; p++)
        a[p] = ldexpf(a[p], (int)(p / s.k * 23 % 80) - 40);
    for (size_t p = 0; p < s.k * s.n; p++)
        b[p] = ldexpf(b[p], i % 2 ? 30 : -30);
}

/* Every result against the exact sum. The bound is that of the worst case; roundings that are up as
 * often as down stay far below it, so their mean square must be smaller. Neither is part of the
 * digest: variants may differ. */
static void hold(takt_check *c, const takt_gemm_f32 *g, const float *b, double most)
{
    const double of_b = largest(b, g->k * g->n, 1);
    double squares = 0;
    for (size_t i = 0; i < g->m; i++) {
        const double least =
            (double)g->k * 0x1p-23 * of_b * largest(g->a + i * g->a_row, g->k, g->a_col);
        for (size_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < g->k; p++) {
                const double x = (double)g->a[i * g->a_row + p * g->a_col] * b[p * g->n + j];
                sum += x;
                size += fabs(x);
            }
            const double got = g->c[i * g->ldc + j], off = fabs(got - sum);
            if (!(off <= takt_gemm_f16_bound(g->k) * size + least)) {
                check_fail(c, "[%zu, %zu] is %.9g; exactly %.9g", i, j, got, sum);
                return;
            }
            squares += size > 0 ? off / size * (off / size) : 0;
        }
    }
    const double mean = sqrt(squares / (double)(g->m * g->n));
    if (mean > most)
        check_fail(c, "the mean error is %.3g of the sum of |a * b|", mean);
}

static void one(takt_check *c, shape s, unsigned i)
{
    const bool transposed = i % 3 == 1, stretched = !transposed && i % 7 > 4;
    check_case(c, "m=%zu n=%zu k=%zu%s%s", s.m, s.n, s.k, transposed ? " A transposed" : "",
               stretched ? " stretched" : "");
    float *a = check_place(c, A, s.m * s.k * sizeof *a, CHECK_AT_END);
    float *plain = check_place(c, PLAIN, s.k * s.n * sizeof *plain, CHECK_AT_END);
    check_fill_f32(c, a, s.m * s.k, CHECK_PLAIN);
    check_fill_f32(c, plain, s.k * s.n, CHECK_PLAIN);
    if (stretched)
        stretch(a, plain, s, i);
    if (i == SAME)
        for (size_t p = 0; p < s.m * s.k || p < s.k * s.n; p++) {
            a[p % (s.m * s.k)] = 1.4f; /* rounding in the same direction in every step
                                        * accumulates */
            plain[p % (s.k * s.n)] = 0.7f;
        }
    const takt_gemm_stored stored = {.data = packed(c, B, c->kernel, plain, s)};
    takt_gemm_f32 g = {.m = s.m,
                       .n = s.n,
                       .k = s.k,
                       .a = a,
                       .a_row = transposed ? 1 : s.k,
                       .a_col = transposed ? s.m : 1,
                       .stored = &stored,
                       .b_n = s.n,
                       .ldc = s.n + i % 4};
    const size_t span = (s.m - 1) * g.ldc + s.n;
    g.c = check_place(c, C, span * sizeof *g.c, CHECK_AT_END);
    memset(g.c, 0x5a, span * sizeof *g.c);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    c->cases++;
    hold(c, &g, plain, i == SAME ? 1 : 0x1p-10);
    for (int slot = A; slot <= SCRATCH; slot++)
        if (c->placed[slot].p)
            check_intact(c, slot);
}

void check_gemm_f16(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 33},
                        ns[] = {1, 8, 12, 13, 16, 20, 24, 33, 67},
                        ks[] = {1, 2, 3, 4, 5, 31, 32, 33, 64, 257};
    enum { MS = sizeof ms / sizeof *ms, NS = sizeof ns / sizeof *ns, KS = sizeof ks / sizeof *ks };
    for (unsigned i = 0; i < MS * NS * KS; i++)
        one(c, (shape){ms[i % MS], ns[i / MS % NS], ks[i / MS / NS]}, i);
    static const shape large[] = {
        {300, 17, 30}, {20, 33, 1024}, {9, 40, 2060}, {260, 24, 1025}, {1, 300, 1500}};
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        one(c, large[i], i);
    one(c, (shape){1, 40, 3000}, SAME);
    one(c, (shape){10, 40, 3000}, SAME);
    for (unsigned i = 0; i < 8; i++)
        whole(c, (shape){1 + 9 * i, 40 + i, 7 + 300 * (i % 5)}, i);
    whole(c, (shape){1, 700, 800}, 2);
    whole(c, (shape){5, 26, 0}, 1);
    special(c);
    static const shape timed[] = {
        {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {1, 256, 784},  {1, 1024, 1024},
        {1, 4096, 4096}, {8, 1024, 1024}, {32, 1024, 1024},   {32, 256, 784}, {3136, 64, 576}};
    (void)reference; /* held to exact sums instead */
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 1);
    for (size_t i = 0; i < count; i++)
        bench(c, timed[i]);
}
