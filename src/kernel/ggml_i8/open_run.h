/* open_run.h - rows of bytes by blocks as they are in a file, of formats without panels.
 *
 * A part of ggml_i8_body.h. One row multiplies levels as they are opened. Of more rows, blocks of
 * sixteen columns are opened to L1 first.
 */
#include "kernel/ggml_i8/open_sum.h"

/* ---- nvfp4: parts have floats as scales, and each its own sum ---- */

typedef struct open_nvfp4 {
    open_i8 level[4];
    open_f32 scale;
} open_nvfp4;

FIXED open_f32 open_e4m3(const uint8_t *b)
{
    const open_u32 x = {b[0], b[1], b[2], b[3]};
    const open_u32 exponent = x >> 3 & 15, rest = x & 7;
    const open_f32 small = __builtin_convertvector((open_i32)rest, open_f32) * 0x1p-10F;
    const open_u32 usual = (exponent + 119) << 23 | rest << 20,
                   is_small = (open_u32)(exponent == 0);
    return (open_f32)(((is_small & (open_u32)small) | (~is_small & usual)) & (open_u32)(x != 127));
}

FIXED void open_block_nvfp4(const uint8_t *b, open_nvfp4 *o)
{
    static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    UNROLL for (int part = 0; part < 4; part++)
    {
        uint64_t x;
        memcpy(&x, b + 4 + 8 * part, sizeof x);
        const uint64_t low = UINT64_C(0x0f0f0f0f0f0f0f0f);
        o->level[part] = open_look_up(e2m1, (open_u8)(open_u64){x & low, x >> 4 & low});
    }
    o->scale = open_e4m3(b);
}

FIXED open_f32 open_add_nvfp4(const open_nvfp4 *o, const int8_t *q, float dx, open_f32 acc)
{
    const open_f32 dot = __builtin_convertvector(open_fours(o->level, q), open_f32);
    return open_fma(o->scale * dx, dot, acc);
}

FIXED float open_end_nvfp4(open_f32 acc)
{
    return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

static void open_columns_nvfp4(const takt_ggml_i8 *g, const rounded_rows *a)
{
    for (size_t column = 0; column < g->n; column++)
        for (size_t row = 0; row < g->m; row++) {
            const uint8_t *b = (const uint8_t *)g->panels + column * g->blocks * 36;
            const int8_t *q = a->q + row * a->k;
            open_f32 acc = {0, 0, 0, 0};
            for (size_t i = 0; i < g->blocks; i++) {
                open_nvfp4 o;
                open_block_nvfp4(b + 36 * i, &o);
                acc = open_add_nvfp4(&o, q + 64 * i, a->dx[row * a->blocks + i], acc);
            }
            g->c[row * g->ldc + column] = open_end_nvfp4(acc);
        }
}

/* ---- one row ---- */

FIXED int32_t open_dot(const takt_ggml_format format, const uint8_t *b, const int8_t *q)
{
    open_sum sum = open_zero();
    UNROLL for (int i = 0; i < open_weights(format) / 32; i++)
    {
        open_part o;
        open_levels(format, b, i, &o);
        sum = open_add(sum, &o, q + 32 * i, open_scales(format));
    }
    return open_total(sum);
}

FIXED void open_row(const takt_ggml_format format, const takt_ggml_i8 *g, const rounded_rows *a)
{
    const size_t weights = (size_t)open_weights(format), bytes = takt_ggml_formats[format].bytes;
    const uint8_t *b = g->panels;
    for (size_t column = 0; column < g->n; column++) {
        float acc = 0;
        for (size_t i = 0; i < g->blocks; i++, b += bytes)
            acc = fmaf(open_d(format, b) * a->dx[i], (float)open_dot(format, b, a->q + weights * i),
                       acc);
        g->c[column] = acc;
    }
}

/* ---- more rows ---- */

typedef struct open_block {
    int8_t level[256];
    int scale[16];
    float d;
} open_block;

FIXED void open_all(const takt_ggml_format format, const uint8_t *b, open_block *to)
{
    UNROLL for (int i = 0; i < open_weights(format) / 32; i++)
    {
        open_part o;
        open_levels(format, b, i, &o);
        memcpy(to->level + 32 * i, o.level, 32);
        memcpy(to->scale + 2 * i, o.scale, sizeof o.scale);
    }
    to->d = open_d(format, b);
}

static int32_t open_dot_of(const open_block *b, const int8_t *q, size_t weights)
{
    open_sum sum = open_zero();
    for (size_t i = 0; i < weights / 32; i++) {
        open_part o;
        memcpy(o.level, b->level + 32 * i, 32);
        memcpy(o.scale, b->scale + 2 * i, sizeof o.scale);
        sum = open_add(sum, &o, q + 32 * i, 2);
    }
    return open_total(sum);
}

/* ---- every format ---- */

typedef struct open_kind {
    void (*row)(const takt_ggml_i8 *g, const rounded_rows *a);
    void (*open)(const uint8_t *b, open_block *to);
} open_kind;

#define OPEN_FORMATS(X)                                                                            \
    X(Q1_0)                                                                                        \
    X(Q2_0)                                                                                        \
    X(TQ1_0) X(TQ2_0) X(IQ1_S) X(IQ1_M) X(IQ2_XXS) X(IQ2_XS) X(IQ2_S) X(IQ3_XXS) X(IQ3_S)
#define OPEN(name)                                                                                 \
    static void open_row_##name(const takt_ggml_i8 *g, const rounded_rows *a)                      \
    {                                                                                              \
        open_row(TAKT_GGML_##name, g, a);                                                          \
    }                                                                                              \
    static void open_all_##name(const uint8_t *b, open_block *to)                                  \
    {                                                                                              \
        open_all(TAKT_GGML_##name, b, to);                                                         \
    }
OPEN_FORMATS(OPEN)
#define OPEN_ENTRY(name) [TAKT_GGML_##name] = {open_row_##name, open_all_##name},
static const open_kind open_kinds[TAKT_GGML_FORMATS] = {OPEN_FORMATS(OPEN_ENTRY)};

/* All rows by `columns` columns from `first` on, one block of k after the other. */
static void open_strip(const takt_ggml_i8 *g, const rounded_rows *a, size_t first, size_t columns)
{
    const takt_ggml_info *info = &takt_ggml_formats[g->format];
    const uint8_t *from = (const uint8_t *)g->panels + first * g->blocks * info->bytes;
    open_block block[TAKT_GGML_PANEL];
    for (size_t row = 0; row < g->m; row++)
        memset(g->c + row * g->ldc + first, 0, columns * sizeof *g->c);
    for (size_t i = 0; i < g->blocks; i++) {
        for (size_t j = 0; j < columns; j++)
            open_kinds[g->format].open(from + (j * g->blocks + i) * info->bytes, &block[j]);
        for (size_t row = 0; row < g->m; row++) {
            const int8_t *q = a->q + row * a->k + i * info->weights;
            const float dx = a->dx[row * a->blocks + i];
            float *c = g->c + row * g->ldc + first;
            for (size_t j = 0; j < columns; j++)
                c[j] = fmaf(block[j].d * dx, (float)open_dot_of(&block[j], q, info->weights), c[j]);
        }
    }
}

static void open_run(const takt_ggml_i8 *g, const rounded_rows *a)
{
    if (g->format == TAKT_GGML_NVFP4) {
        open_columns_nvfp4(g, a);
    } else if (g->m == 1) {
        open_kinds[g->format].row(g, a);
    } else {
        for (size_t j = 0; j < g->n; j += TAKT_GGML_PANEL)
            open_strip(g, a, j, g->n - j < TAKT_GGML_PANEL ? g->n - j : TAKT_GGML_PANEL);
    }
}
