/* narrow_computed.c - products of two computed matrices in bf16 under `numerics = fast`. */
#include "test.h"

#include <string.h>

#include <takt/takt.h>

#include "kernel/gemm_bf16/gemm_bf16.h"
#include "util/run_once.h"

static takt_ctx *ctx;

enum { MOST = 16384 };

/* ---- packing ---- */

/* Numbers that are bf16 already: both ways of packing see the same. */
static void fill(float *wide, uint16_t *narrow, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        narrow[i] = takt_bf16_round((float)(i * 37 % 1009) - 500);
        const uint32_t bits = (uint32_t)narrow[i] << 16;
        memcpy(wide + i, &bits, sizeof bits);
    }
}

static void one_packing(const takt_gemm_bf16_info *info, size_t k, size_t n, bool by_columns)
{
    static float wide[MOST];
    static uint16_t narrow[MOST], want[MOST], got[MOST];
    const size_t row = by_columns ? 1 : n, col = by_columns ? k : 1;
    const size_t count = takt_gemm_bf16_count(info, k, n);
    EXPECT(count <= MOST, "%zu by %zu", k, n);
    fill(wide, narrow, k * n);
    memset(got, 0xff, sizeof got);
    takt_gemm_bf16_pack(info, &(takt_gemm_bf16_matrix){k, n, wide, row, col}, want);
    takt_gemm_bf16_pack_rounded(info, &(takt_gemm_bf16_rounded){k, n, narrow, row, col}, got);
    EXPECT(memcmp(got, want, count * sizeof *got) == 0, "%zu by %zu, group of %zu", k, n,
           info->group);
}

static void packing_is_that_of_constants(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7, 16, 31, 33, 64};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    for (size_t group = 1; group <= 4; group *= 2)
        for (size_t i = 0; i < 2 * COUNT * COUNT; i++) {
            const takt_gemm_bf16_info info = {
                .gemm.panels = {24 / group, 8}, .group = group, .chunk = 32};
            one_packing(&info, sizes[i % COUNT], sizes[i / COUNT % COUNT], i % 2 != 0);
        }
}

/* ---- products ---- */

static const char *const texts[] = {
    "model a(x: f32[3, n, 21], z: f32[3, 21, 45]) -> (y: f32[3, n, 45]) {\n"
    "  return y = op.matmul(x, z) * 0.5\n"
    "}\n",
    "model b(x: f32[5, n, 64], z: f32[5, 50, 64]) -> (y: f32[5, n, 50]) {\n"
    "  return y = op.matmul(x, z, transpose_b=true)\n"
    "}\n",
    "model c(x: f32[4, 2, n, 37], z: f32[4, 1, 37, 64]) -> (y: f32[4, 2, n, 64]) {\n"
    "  return y = relu(op.matmul(x, relu(z)))\n"
    "}\n",
    "model d(x: f32[2, n, 700], z: f32[2, 700, 20]) -> (y: f32[2, n, 20]) {\n"
    "  return y = op.matmul(x, z)\n"
    "}\n",
    "model e(x: f32[n, 300], z: f32[300, 29]) -> (y: f32[n, 29]) {\n"
    "  return y = relu(op.matmul(x, z) + 0.5)\n"
    "}\n",
    "model f(x: f32[70, n], z: f32[40, 70]) -> (y: f32[n, 40]) {\n"
    "  return y = op.matmul(x, z, transpose_a=true, transpose_b=true)\n"
    "}\n",
};

static bool has_bf16(void)
{
    const takt_kernel *k = takt_kernel_find("gemm_bf16", takt_isa_detect(), NULL, 0, NULL);
    return k != NULL && k->rank > 0;
}

static void one_model(const char *text, const char *sizes, bool is_many)
{
    static float exact[MOST], got[MOST], other[MOST];
    takt_model *m = run_model(ctx, text);
    takt_plan_options o = {.sizes = sizes, .threads = 1};
    const size_t count = run_once(ctx, m, &o, (run_results){exact, MOST});
    o.numerics = "fast";
    run_once(ctx, m, &o, (run_results){got, MOST});
    const double far = run_distance(got, exact, count);
    const bool is_same = memcmp(got, exact, count * sizeof *got) == 0;
    EXPECT(far < 1e-2, "%s: %g from exact", sizes, far);
    EXPECT(is_same == !(is_many && has_bf16()), "%s: %g from exact", sizes, far);
    o.threads = 3;
    run_once(ctx, m, &o, (run_results){other, MOST});
    EXPECT(memcmp(got, other, count * sizeof *got) == 0, "%s: 3 threads change bits", sizes);
    takt_model_destroy(m);
}

int main(void)
{
    packing_is_that_of_constants();
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            one_model(texts[i], "n=16", true);
            one_model(texts[i], "n=29", true);
            one_model(texts[i], "n=15", false);
            if (i >= 3) /* large enough for several threads to share a product */
                one_model(texts[i], "n=400", true);
        }
    takt_ctx_destroy(ctx);
    return test_done();
}
