/* shrink_math.c - the numbers behind smaller models: ranges of values, singular values and grids
 * against formulas. */
#include <math.h>
#include <string.h>

#include <takt/shrink.h>

#include "ir/dtype.h"
#include "shrink/range.h"
#include "shrink/svd.h"
#include "test.h"

/* ---- ranges ---- */

static void ranges(void)
{
    static takt_range_seen r;
    static float values[10000];
    uint32_t state = 3;
    for (size_t i = 0; i < 10000; i++) {
        state = state * 1664525U + 1013904223U;
        values[i] = (float)(state >> 8) / 0x1p24F * 3 - 1; /* -1 to 2 */
    }
    values[77] = 50; /* far outside */
    for (size_t i = 0; i < 10000; i += 100)
        takt_range_add(&r, values + i, 100);
    const takt_quant_grid all = takt_range_grid(&r, TAKT_RANGE_MINMAX, 0, 8, false);
    EXPECT(fabs((double)all.scale - 51.0 / 255) < 1e-3, "minmax: %g", (double)all.scale);
    EXPECT((double)(all.greatest - all.zero) * (double)all.scale > 49.8, "its end");
    const takt_quant_grid most = takt_range_grid(&r, TAKT_RANGE_PERCENTILE, 99.9, 8, false);
    EXPECT(fabs((double)most.scale - 3.0 / 255) < 3e-4, "percentile: %g", (double)most.scale);
    /* One value in 10,000 that costs (50 - end)^2 against the rounding of the others. */
    const takt_quant_grid best = takt_range_grid(&r, TAKT_RANGE_MSE, 0, 8, false);
    double sums[2] = {0};
    const takt_quant_grid *grids[] = {&all, &best};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 10000; i++) {
            const takt_quant_grid *g = grids[k];
            double q = nearbyint((double)values[i] / (double)g->scale) + g->zero;
            q = fmin(fmax(q, g->least), g->greatest);
            const double d = (double)values[i] - (q - g->zero) * (double)g->scale;
            sums[k] += d * d;
        }
    EXPECT(sums[1] <= sums[0] * 1.01, "mse %g is no better than minmax %g", sums[1], sums[0]);
    const takt_quant_grid even = takt_range_grid(&r, TAKT_RANGE_MINMAX, 0, 8, true);
    EXPECT(even.zero == 0 && even.least == -127 && fabs((double)even.scale - 50.0 / 127) < 1e-3,
           "symmetric: %g", (double)even.scale);
    const takt_quant_grid cut = takt_range_grid(&r, TAKT_RANGE_ENTROPY, 0, 8, false);
    EXPECT(cut.scale < all.scale, "entropy does not cut a lone value");
    static takt_range_seen zeros;
    memset(values, 0, sizeof values);
    takt_range_add(&zeros, values, 10);
    EXPECT(takt_range_grid(&zeros, TAKT_RANGE_MSE, 0, 8, false).scale == 1, "nothing but zeros");
}

/* ---- singular values ---- */

static double noise(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return (double)(*state >> 8) / 0x1p23 - 1;
}

/* The matrix is reproduced, columns are orthonormal, and the error of a rank is that of the
 * discarded values. */
static void check_svd(takt_ctx *ctx, int64_t rows, int64_t columns)
{
    enum { MOST = 40 * 40 };
    static double a[MOST];
    uint32_t state = (uint32_t)(rows * 100 + columns);
    takt_arena arena;
    takt_svd svd;
    takt_arena_init(&arena, ctx);
    for (int64_t i = 0; i < rows * columns; i++)
        a[i] = noise(&state) * (i % 7 == 0 ? 10 : 1);
    if (!EXPECT_OK(ctx, takt_svd_make(&arena, a, rows, columns, NULL, &svd)))
        return;
    for (int64_t i = 0; i < svd.count; i++) {
        EXPECT(i == 0 || svd.s[i] <= svd.s[i - 1], "values do not fall");
        for (int64_t j = 0; j < svd.count; j++) {
            double uu = 0, vv = 0;
            for (int64_t k = 0; k < rows; k++)
                uu += svd.u[k * svd.count + i] * svd.u[k * svd.count + j];
            for (int64_t k = 0; k < columns; k++)
                vv += svd.v[k * svd.count + i] * svd.v[k * svd.count + j];
            EXPECT(fabs(uu - (i == j)) < 1e-12 && fabs(vv - (i == j)) < 1e-12,
                   "%lld x %lld: %g and %g", (long long)rows, (long long)columns, uu, vv);
        }
    }
    for (int64_t rank = 0; rank <= svd.count; rank += 3) {
        double error = 0, all = 0;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++) {
                double sum = 0;
                for (int64_t r = 0; r < rank; r++)
                    sum += svd.u[i * svd.count + r] * svd.s[r] * svd.v[j * svd.count + r];
                error += (a[i * columns + j] - sum) * (a[i * columns + j] - sum);
                all += a[i * columns + j] * a[i * columns + j];
            }
        EXPECT(fabs(sqrt(error / all) - takt_svd_error(&svd, rank)) < 1e-9, "rank %lld: %g, not %g",
               (long long)rank, sqrt(error / all), takt_svd_error(&svd, rank));
    }
    EXPECT(takt_svd_rank(&svd, 1e-9) == 1 && takt_svd_rank(&svd, 1) <= svd.count, "ranks");
    takt_svd alone;
    if (EXPECT_OK(ctx, takt_svd_values(&arena, a, rows, columns, &alone)))
        for (int64_t i = 0; i < svd.count; i++)
            EXPECT(fabs(alone.s[i] - svd.s[i]) <= 1e-7 * svd.s[0], "value %lld: %g, not %g",
                   (long long)i, alone.s[i], svd.s[i]);
    takt_arena_deinit(&arena);
}

static void singular_values(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    check_svd(ctx, 1, 1);
    check_svd(ctx, 7, 3);
    check_svd(ctx, 3, 7);
    check_svd(ctx, 40, 37);
    float w[6] = {1, 2, 3, 2, 4, 6}, u[2], v[3]; /* of rank 1 */
    const takt_tensor_view a = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = w};
    const takt_tensor_view b = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 1}, .data = u};
    takt_tensor_view c = {.dtype = TAKT_F32, .rank = 2, .dims = {1, 3}, .data = v};
    double error = 1;
    EXPECT_OK(ctx, takt_low_rank(ctx, &a, &b, &c, &error));
    for (int i = 0; i < 6; i++)
        EXPECT(fabs((double)(u[i / 3] * v[i % 3] - w[i])) < 1e-5 && error < 1e-7, "element %d", i);
    c.dims[0] = 2;
    EXPECT(takt_low_rank(ctx, &a, &b, &c, NULL) == TAKT_ERR_ARGUMENT &&
               takt_last_error_info(ctx)->id == TAKT_E_SHRINK_RANK,
           "%s", takt_last_error(ctx));
    c.dims[0] = 1;
    w[3] = INFINITY;
    EXPECT(takt_low_rank(ctx, &a, &b, &c, NULL) == TAKT_ERR_ARGUMENT, "infinite");
    takt_ctx_destroy(ctx);
}

/* ---- grids ---- */

static void fake_quantize(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    float w[5] = {-1, -0.26F, 0, 0.3F, 2}, y[5];
    takt_tensor_view a = {.dtype = TAKT_F32, .rank = 1, .dims = {5}, .data = w};
    const takt_tensor_view b = {.dtype = TAKT_F32, .rank = 1, .dims = {5}, .data = y};
    EXPECT_OK(ctx, takt_fake_quantize(ctx, &a, 3, true, &b)); /* steps of 2/3 */
    const double even[5] = {-4.0 / 3, 0, 0, 0, 2};            /* -1.5 steps go to the even -2 */
    for (int i = 0; i < 5; i++)
        EXPECT(fabs((double)y[i] - even[i]) < 1e-6, "symmetric %d: %g", i, (double)y[i]);
    EXPECT_OK(ctx, takt_fake_quantize(ctx, &a, 2, false, &b)); /* -1, 0, 1, 2 */
    const double whole[5] = {-1, 0, 0, 0, 2};
    for (int i = 0; i < 5; i++)
        EXPECT(fabs((double)y[i] - whole[i]) < 1e-6, "affine %d: %g", i, (double)y[i]);
    EXPECT_OK(ctx, takt_fake_quantize(ctx, &a, 16, true, &a)); /* in place */
    EXPECT(fabs((double)w[3] - 0.3) < 1e-4, "16 bits: %g", (double)w[3]);
    EXPECT(takt_fake_quantize(ctx, &a, 17, true, &b) == TAKT_ERR_ARGUMENT, "17 bits");
    w[1] = NAN;
    EXPECT(takt_fake_quantize(ctx, &a, 8, true, &b) == TAKT_ERR_ARGUMENT, "NaN");
    takt_ctx_destroy(ctx);
}

/* ---- losses ---- */

static void distillation_loss(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    float student[6] = {1, 2, 3, 0, 0, 1}, teacher[6] = {3, 1, 0, 0, 1, 2};
    int64_t labels[2] = {2, 0};
    takt_tensor_view s = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = student},
                     t = {.dtype = TAKT_F32, .rank = 2, .dims = {2, 3}, .data = teacher},
                     l = {.dtype = TAKT_I64, .rank = 1, .dims = {2}, .data = labels};
    const struct {
        takt_distill_options o;
        const takt_tensor_view *labels;
        double want; /* by the formula in double, in Python */
    } cases[] = {{{0}, &l, 1.02916198894244},
                 {{0}, NULL, 0.53939931934833},
                 {{.temperature = 3, .alpha = 0.25}, &l, 1.01397592559596},
                 {{.labels_only = true}, &l, 0.979525339188216}};
    double loss = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_OK(ctx, takt_distillation_loss(ctx, &s, &t, cases[i].labels, &cases[i].o, &loss));
        EXPECT(fabs(loss - cases[i].want) < 1e-12, "case %zu: %.17g", i, loss);
    }
    EXPECT_OK(ctx, takt_distillation_loss(ctx, &s, &s, NULL, NULL, &loss));
    EXPECT(fabs(loss) < 1e-15, "of the same logits: %g", loss);
    teacher[0] = -INFINITY; /* a class that is ruled out */
    EXPECT_OK(ctx, takt_distillation_loss(ctx, &t, &t, NULL, NULL, &loss));
    EXPECT(fabs(loss) < 1e-15, "of the same logits with -inf: %g", loss);
    teacher[0] = 3;
    labels[1] = 3;
    EXPECT(takt_distillation_loss(ctx, &s, &t, &l, NULL, &loss) == TAKT_ERR_ARGUMENT, "class 3");
    const takt_distill_options cold = {.temperature = -1};
    EXPECT(takt_distillation_loss(ctx, &s, &t, NULL, &cold, &loss) == TAKT_ERR_ARGUMENT, "below 0");
    t.dims[1] = 2;
    EXPECT(takt_distillation_loss(ctx, &s, &t, NULL, NULL, &loss) == TAKT_ERR_ARGUMENT,
           "2 classes");
    takt_ctx_destroy(ctx);
}

/* ---- blocks ---- */

static size_t read_file(const char *name, void *to, size_t size)
{
    char path[512];
    const char *folder = getenv("TAKT_DATA");
    snprintf(path, sizeof path, "%s/quant/ggml/%s", folder != NULL ? folder : "../shared/data",
             name);
    FILE *f = fopen(path, "rb");
    const size_t length = f != NULL ? fread(to, 1, size, f) : 0;
    if (f != NULL)
        fclose(f);
    return length;
}

/* The meaning of a block, by its definition. */
static double level(const uint8_t *b, int bits, bool has_least, int i)
{
    const double d = takt_dtype_get_f(TAKT_F16, b, 0);
    if (bits == 8)
        return d * (int8_t)b[2 + i];
    const double m = has_least ? takt_dtype_get_f(TAKT_F16, b, 1) : 0;
    const uint8_t *at = b + (has_least ? 4 : 2);
    const int high = bits == 5 ? at[i / 8] >> (i % 8) & 1 : 0;
    at += bits == 5 ? 4 : 0;
    const int q = (i < 16 ? at[i] & 15 : at[i - 16] >> 4) | high << 4;
    return has_least ? d * q + m : d * (q - (1 << (bits - 1)));
}

static void blocks(void)
{
    static const struct {
        const char *type;
        int bits;
        bool has_least;
        uint64_t digest; /* of the bytes that gguf.quants makes of the same weights */
    } all[] = {{"Q4_0", 4, false, UINT64_C(0x559a77c6f721995b)},
               {"Q4_1", 4, true, UINT64_C(0x206399a488cbcf6f)},
               {"Q5_0", 5, false, UINT64_C(0x58131a3199d43eac)},
               {"Q5_1", 5, true, UINT64_C(0xd0104d450bb17117)},
               {"Q8_0", 8, false, UINT64_C(0xc9aabcf69183cc12)}};
    static float w[4096];
    static uint8_t made[8192];
    takt_ctx *ctx;
    uint32_t state = 5;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    const bool real = read_file("src.f32", w, sizeof w) == sizeof w;
    for (size_t i = 0; !real && i < 4096; i++)
        w[i] = (float)noise(&state);
    memset(w, 0, 32 * sizeof *w * (real ? 0 : 1)); /* a block of zeros */
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 2, .dims = {64, 64}, .data = w};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        size_t size = 0;
        EXPECT_OK(ctx, takt_block_quantize(ctx, all[k].type, &v, made, sizeof made, &size));
        const size_t each = size / 128;
        for (size_t i = 0; i < 4096; i++) {
            const uint8_t *b = made + i / 32 * each;
            const double step = fabs(takt_dtype_get_f(TAKT_F16, b, 0));
            const double error =
                fabs(level(b, all[k].bits, all[k].has_least, (int)(i % 32)) - (double)w[i]);
            EXPECT(error <= 1.02 * step + 1e-3, "%s: element %zu is %g away", all[k].type, i,
                   error);
        }
        uint64_t digest = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < size; i++)
            digest = (digest ^ made[i]) * UINT64_C(0x100000001b3);
        EXPECT(!real || digest == all[k].digest, "%s: %016llx", all[k].type,
               (unsigned long long)digest);
    }
    EXPECT(takt_block_quantize(ctx, "Q9", &v, NULL, 0, NULL) == TAKT_ERR_ARGUMENT, "Q9");
    EXPECT(takt_block_quantize(ctx, "Q4_0", &v, made, 8, NULL) == TAKT_ERR_ARGUMENT, "no room");
    v.dims[1] = 33;
    EXPECT(takt_block_quantize(ctx, "Q4_0", &v, NULL, 0, NULL) == TAKT_ERR_ARGUMENT, "33");
    takt_ctx_destroy(ctx);
}

TEST_MAIN(ranges, singular_values, fake_quantize, distillation_loss, blocks)
