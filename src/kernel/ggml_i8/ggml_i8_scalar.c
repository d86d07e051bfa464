/* ggml_i8_scalar.c - the contract, word for word. */
#include <math.h>
#include <string.h>

#include "kernel/ggml_i8/rounded.h"
#include "kernel/simd/half.h"

/* ---- rounding ---- */

static float greatest(const float *a, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++) {
        const float x = fabsf(a[i]);
        most = most != most || x != x ? NAN : x > most ? x : most;
    }
    return most;
}

static int8_t rounded(float x)
{
    if (x != x)
        return 0;
    return (int8_t)(x > 127 ? 127 : x < -127 ? -127 : rintf(x));
}

static void round_rows(const takt_ggml_round *r)
{
    const rounded_rows to = rounded_at(r->format, r->m, r->blocks, r->to);
    const size_t size = takt_ggml_formats[r->format].weights;
    for (size_t row = r->first; row < r->end; row++) {
        const float *a = r->a + row * r->a_row;
        int8_t *q = to.q + row * to.k;
        for (size_t b = 0; b < to.blocks; b++) {
            const float most = greatest(a + b * size, size), inverse = 127 / most;
            to.dx[row * to.blocks + b] = most / 127;
            for (size_t k = b * size; k < (b + 1) * size; k++)
                q[k] = rounded(a[k] * inverse);
        }
        rounded_sums(&to, row);
    }
}

/* ---- blocks ---- */

/* A block in numbers. */
typedef struct numbers {
    int size, span; /* weights, and those of a part */
    bool has_min;
    float d, least; /* least: for blocks of 32 the minimum itself, otherwise minus the unit of the
                     * minima */
    int level[256]; /* less its zero point */
    int scale[16], minimum[16]; /* of parts; 1 in blocks of 32 */
} numbers;

static float f16_at(const uint8_t *p)
{
    return half_from_f16((uint16_t)(p[0] | p[1] << 8));
}

static void small(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    const bool is_five = format == TAKT_GGML_Q5_0 || format == TAKT_GGML_Q5_1;
    const int zero = format == TAKT_GGML_Q4_0 ? 8 : format == TAKT_GGML_Q5_0 ? 16 : 0;
    const uint8_t *plane = b + 2 + 2 * o->has_min, *levels = plane + (is_five ? 4 : 0);
    o->d = f16_at(b);
    o->least = o->has_min ? f16_at(b + 2) : 0;
    o->scale[0] = o->minimum[0] = 1;
    for (int k = 0; k < 32; k++) {
        const int fifth = is_five ? (plane[k / 8] >> k % 8 & 1) << 4 : 0;
        const int low = levels[k % 16] >> k / 16 * 4 & 15;
        o->level[k] = format == TAKT_GGML_Q8_0 ? (int8_t)b[2 + k] : (low | fifth) - zero;
    }
}

/* Levels that are places in a table. */
static void look_up(takt_ggml_format format, const uint8_t *levels, int *to)
{
    static const int8_t curve[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
    static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    for (int k = 0; k < 32; k++)
        to[k] = (format == TAKT_GGML_MXFP4 ? e2m1 : curve)[levels[k % 16] >> k / 16 * 4 & 15];
}

static void iq4_nl(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    o->d = f16_at(b);
    o->scale[0] = 1;
    look_up(format, b + 2, o->level);
}

/* The scale is 2^(e - 128). */
static void mxfp4(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    const uint32_t e = b[0];
    o->d = half_float(e < 2 ? UINT32_C(0x200000) << e : (e - 1) << 23);
    o->scale[0] = 1;
    look_up(format, b + 1, o->level);
}

static void iq4_xs(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    const int high = b[2] | b[3] << 8;
    o->d = f16_at(b);
    for (int part = 0; part < 8; part++) {
        const int low = b[4 + part / 2] >> part % 2 * 4 & 15;
        o->scale[part] = (low | (high >> 2 * part & 3) << 4) - 32;
        look_up(format, b + 8 + 16 * part, o->level + 32 * part);
    }
}

static void six_bits(const uint8_t *p, int part, numbers *o)
{
    o->scale[part] = part < 4 ? p[part] & 63 : (p[part + 4] & 15) | p[part - 4] >> 6 << 4;
    o->minimum[part] = part < 4 ? p[part + 4] & 63 : p[part + 4] >> 4 | p[part] >> 6 << 4;
}

static void q4_k(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    const bool is_five = format == TAKT_GGML_Q5_K;
    const uint8_t *plane = b + 16, *levels = b + (is_five ? 48 : 16);
    o->d = f16_at(b);
    o->least = -f16_at(b + 2);
    for (int part = 0; part < 8; part++)
        six_bits(b + 4, part, o);
    for (int k = 0; k < 256; k++) {
        const int part = k / 32, fifth = is_five ? (plane[k % 32] >> part & 1) << 4 : 0;
        o->level[k] = (levels[part / 2 * 32 + k % 32] >> part % 2 * 4 & 15) | fifth;
    }
}

static void q2_k(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b + 80);
    o->least = -f16_at(b + 82);
    for (int part = 0; part < 16; part++) {
        o->scale[part] = b[part] & 15;
        o->minimum[part] = b[part] >> 4;
    }
    for (int k = 0; k < 256; k++)
        o->level[k] = b[16 + k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3;
}

static void q3_k(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    const uint8_t *scales = b + 96;
    (void)format;
    o->d = f16_at(b + 108);
    for (int part = 0; part < 16; part++) {
        const int low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
        o->scale[part] = (low | (scales[8 + part % 4] >> part / 4 * 2 & 3) << 4) - 32;
    }
    for (int k = 0; k < 256; k++)
        o->level[k] = (b[32 + k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3) -
                      ((b[k % 32] >> k / 32 & 1) != 0 ? 0 : 4);
}

static void q6_k(takt_ggml_format format, const uint8_t *b, numbers *o)
{
    (void)format;
    o->d = f16_at(b + 208);
    for (int part = 0; part < 16; part++)
        o->scale[part] = (int8_t)b[192 + part];
    for (int k = 0; k < 256; k++) {
        const int quarter = k % 128 / 32, at = k % 32;
        const int low = b[k / 128 * 64 + quarter % 2 * 32 + at] >> quarter / 2 * 4 & 15;
        o->level[k] = (low | (b[128 + k / 128 * 32 + at] >> quarter * 2 & 3) << 4) - 32;
    }
}

#include "kernel/ggml_i8/scalar_open.inc"

typedef void read_fn(takt_ggml_format format, const uint8_t *b, numbers *o);

static const struct kind {
    read_fn *read;
    int size, span;
    bool has_min;
} kinds[TAKT_GGML_FORMATS] = {
    [TAKT_GGML_Q4_0] = {small, 32, 32, false},
    [TAKT_GGML_Q4_1] = {small, 32, 32, true},
    [TAKT_GGML_Q5_0] = {small, 32, 32, false},
    [TAKT_GGML_Q5_1] = {small, 32, 32, true},
    [TAKT_GGML_Q8_0] = {small, 32, 32, false},
    [TAKT_GGML_Q2_K] = {q2_k, 256, 16, true},
    [TAKT_GGML_Q3_K] = {q3_k, 256, 16, false},
    [TAKT_GGML_Q4_K] = {q4_k, 256, 32, true},
    [TAKT_GGML_Q5_K] = {q4_k, 256, 32, true},
    [TAKT_GGML_Q6_K] = {q6_k, 256, 16, false},
    [TAKT_GGML_IQ4_NL] = {iq4_nl, 32, 32, false},
    [TAKT_GGML_IQ4_XS] = {iq4_xs, 256, 32, false},
    [TAKT_GGML_MXFP4] = {mxfp4, 32, 32, false},
    [TAKT_GGML_Q1_0] = {q1_0, 128, 32, false},
    [TAKT_GGML_Q2_0] = {q2_0, 64, 32, false},
    [TAKT_GGML_TQ1_0] = {tq1_0, 256, 32, false},
    [TAKT_GGML_TQ2_0] = {tq2_0, 256, 32, false},
    [TAKT_GGML_IQ1_S] = {iq1_s, 256, 32, false},
    [TAKT_GGML_IQ1_M] = {iq1_m, 256, 16, false},
    [TAKT_GGML_IQ2_XXS] = {iq2_xxs, 256, 32, false},
    [TAKT_GGML_IQ2_XS] = {iq2_xs, 256, 16, false},
    [TAKT_GGML_IQ2_S] = {iq2_s, 256, 16, false},
    [TAKT_GGML_IQ3_XXS] = {iq3_xxs, 256, 32, false},
    [TAKT_GGML_IQ3_S] = {iq3_s, 256, 32, false},
};

/* ---- products ---- */

static float add_block(const numbers *o, const int8_t *q, float dx, float acc)
{
    int32_t dot = 0, sum = 0;
    for (int part = 0; part < o->size / o->span; part++) {
        int32_t products = 0, bytes = 0;
        for (int k = part * o->span; k < (part + 1) * o->span; k++) {
            products += q[k] * o->level[k];
            bytes += q[k];
        }
        dot += o->scale[part] * products;
        sum += o->minimum[part] * bytes;
    }
    acc = fmaf(o->d * dx, (float)dot, acc);
    return o->has_min ? fmaf(o->least * dx, (float)sum, acc) : acc;
}

/* Block b of a column, in the file's format. */
static void read_block(const takt_ggml_i8 *g, size_t column, size_t b, uint8_t *to)
{
    const size_t bytes = takt_ggml_formats[g->format].bytes;
    const size_t panel = column / TAKT_GGML_PANEL * g->blocks + b;
    if (takt_ggml_has_panels(g->format))
        takt_ggml_unpack(g->format,
                         (const uint8_t *)g->panels + panel * takt_ggml_panel_block(g->format),
                         column % TAKT_GGML_PANEL, to);
    else
        memcpy(to, (const uint8_t *)g->panels + (column * g->blocks + b) * bytes, bytes);
}

static void run(const takt_ggml_i8 *g)
{
    const struct kind *kind = &kinds[g->format];
    const rounded_rows a = rounded_at(g->format, g->m, g->blocks, (void *)(uintptr_t)g->rounded);
    if (g->format == TAKT_GGML_NVFP4) {
        run_nvfp4(g, &a);
        return;
    }
    for (size_t column = 0; column < g->n; column++) {
        for (size_t row = 0; row < g->m; row++)
            g->c[row * g->ldc + column] = 0;
        for (size_t b = 0; b < g->blocks; b++) {
            uint8_t block[256];
            numbers o = {.size = kind->size, .span = kind->span, .has_min = kind->has_min};
            read_block(g, column, b, block);
            kind->read(g->format, block, &o);
            for (size_t row = 0; row < g->m; row++) {
                float *c = g->c + row * g->ldc + column;
                *c = add_block(&o, a.q + row * a.k + b * (size_t)o.size, a.dx[row * a.blocks + b],
                               *c);
            }
        }
    }
}

static const takt_ggml_i8_info info = {1, rounded_bytes, round_rows};

TAKT_KERNELS(ggml_i8, TAKT_KERNEL(ggml_i8, "scalar", 0, run, &info));
