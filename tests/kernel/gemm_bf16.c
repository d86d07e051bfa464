/* gemm_bf16.c - checks products by bf16 dot products against their error bound, and against scalar
 * sums. */
#include "kernel/gemm_bf16/gemm_bf16.h"

typedef takt_gemm_bf16_matrix matrix;
#define COUNT takt_gemm_bf16_count
#define PACK takt_gemm_bf16_pack
#define AS_GEMM takt_kernel_as_gemm_bf16
#define ELEMENT(i) (uint16_t)(0x3f00 + (i) % 256)

#include "check_gemm_half_body.inc"

/* Every result against the exact sum, and more closely against the scalar result, which rounds the
 * factors the same way. Neither is part of the digest: variants may differ. */
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
    AS_GEMM(reference)(&g);
    stored.data = packed(c, B, c->kernel, plain, s);
    g.ldc = s.n + i % 4;
    const size_t span = (s.m - 1) * g.ldc + s.n;
    g.c = check_place(c, C, span * sizeof *g.c, CHECK_AT_END);
    memset(g.c, 0x5a, span * sizeof *g.c);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    c->cases++;
    hold(c, &g, plain, want);
    for (int slot = A; slot <= SCRATCH; slot++)
        if (c->placed[slot].p)
            check_intact(c, slot);
}

/* A in an image of rows with gaps between them, against the same rows stored contiguously. */
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
    AS_GEMM(reference)(&g);
    stored.data = packed(c, B, c->kernel, plain, s);
    g.image = &m;
    g.c = check_place(c, C, s.m * s.n * sizeof *g.c, CHECK_AT_END);
    memset(g.c, 0x5a, s.m * s.n * sizeof *g.c);
    g.scratch = scratch_for(c, &g);
    CHECK_CALL(c, AS_GEMM(c->kernel)(&g));
    c->cases++;
    hold(c, &g, plain, want);
    for (int slot = A; slot <= SCRATCH; slot++)
        if (c->placed[slot].p)
            check_intact(c, slot);
}

static void images(takt_check *c, const takt_kernel *reference)
{
    static const size_t ms[] = {1, 7, 8, 20, 33, 100}, ns[] = {1, 16, 33, 70};
    const size_t least = ((const takt_gemm_bf16_info *)c->kernel->info)->image;
    for (size_t i = 0; least > 0 && i < 24; i++)
        for (size_t taps = 1; taps <= 5; taps += 4)
            for (size_t more = 1; more <= 3; more += 2)
                image(c, reference, (shape){ms[i % 6], ns[i / 6], taps * least * more},
                      least * more);
    for (size_t n = 31; least > 0 && n < 34; n++) /* more than a chunk of k */
        image(c, reference, (shape){40, n, 8 * 192}, 192);
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
                                  {260, 24, 1025}, {1, 300, 1500}, {1, 349, 1027},
                                  {1, 64, 1033},   {1, 28, 2500},  {1, 256, 263}};
    for (unsigned i = 0; i < sizeof large / sizeof *large; i++)
        one(c, reference, large[i], i);
    for (unsigned i = 0; i < 8; i++)
        whole(c, (shape){1 + 9 * i, 40 + i, 7 + 300 * (i % 5)}, i);
    whole(c, (shape){1, 700, 800}, 2);
    whole(c, (shape){5, 26, 0}, 1);
    /* Blocks of rows, several of k, and many panels whose epilogues are deferred. */
    whole(c, (shape){200, 130, 4200}, 7);
    whole(c, (shape){70, 600, 40}, 5);
    images(c, reference);
    special(c);
    static const shape timed[] = {
        {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {1, 256, 784},  {1, 1024, 1024},
        {1, 4096, 4096}, {8, 1024, 1024}, {32, 1024, 1024},   {32, 256, 784}, {3136, 64, 576}};
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 1);
    for (size_t i = 0; i < count; i++)
        bench(c, timed[i]);
}
