/* open_run.h - rows of bytes by blocks as they are in a file, of formats without panels.
 *
 * A part of ggml_i8_body.h. One row multiplies levels as they are opened, and so do two. Of more
 * rows, blocks of some columns are opened to L1 first.
 */
#include "kernel/ggml_i8/open_sum.h"

/* ---- nvfp4: parts have floats as scales, and each its own sum ---- */

enum { OPEN_TOGETHER = 4, OPEN_COLUMNS = 8 }; /* columns: of one row of nvfp4, of more rows */

FIXED open_f32 open_e4m3(const uint8_t *b)
{
    const open_u32 x = open_widened(open_32(b));
    const open_u32 rest = x & 7, is_small = (open_u32)((x & 120) == 0);
    const open_f32 small = __builtin_convertvector((open_i32)rest, open_f32) * 0x1p-10F;
    const open_u32 usual = ((x & 127) << 20) + (119U << 23);
    return (open_f32)(((is_small & (open_u32)small) | (~is_small & usual)) & (open_u32)(x != 127));
}

/* Two vectors of sixteen as two whose first half is that of both: 0 to 7 and 16 to 23, the rest. */
FIXED void open_cross(const int8_t *q, open_i8 *to)
{
    open_u64 x[2];
    memcpy(x, q, sizeof x);
    to[0] = (open_i8)(open_u64){x[0][0], x[1][0]};
    to[1] = (open_i8)(open_u64){x[0][1], x[1][1]};
}

/* 64 weights by crossed bytes. A byte has weight i and i + 8 of a part. */
FIXED open_f32 open_add_nvfp4(const uint8_t *b, const open_i8 *q, float dx, open_f32 acc)
{
    static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    open_i8 level[4];
    UNROLL for (int i = 0; i < 2; i++)
    {
        const open_u8 x = open_bytes(b + 4 + 16 * i);
        level[2 * i] = open_look_up(e2m1, x & 15);
        level[2 * i + 1] = open_look_up(e2m1, x >> 4);
    }
    return open_fma(open_e4m3(b) * dx, __builtin_convertvector(open_fours(level, q), open_f32),
                    acc);
}

/* One row by `columns` columns, which share what is done with the row's bytes. */
FIXED void open_some_nvfp4(const uint8_t *b, const takt_ggml_i8 *g, const int8_t *q,
                           const float *dx, float *c, const size_t columns)
{
    open_f32 acc[OPEN_TOGETHER];
    UNROLL for (size_t j = 0; j < columns; j++) acc[j] = (open_f32){0, 0, 0, 0};
    for (size_t i = 0; i < g->blocks; i++, q += 64) {
        open_i8 crossed[4];
        open_cross(q, crossed);
        open_cross(q + 32, crossed + 2);
        UNROLL for (size_t j = 0; j < columns; j++) acc[j] =
            open_add_nvfp4(b + (j * g->blocks + i) * 36, crossed, dx[i], acc[j]);
    }
    UNROLL for (size_t j = 0; j < columns; j++) c[j] =
        (acc[j][0] + acc[j][1]) + (acc[j][2] + acc[j][3]);
}

static void open_nvfp4(const takt_ggml_i8 *g, const rounded_rows *a)
{
    size_t j = 0;
    for (size_t n; j < g->n; j += n) {
        const uint8_t *b = (const uint8_t *)g->panels + j * g->blocks * 36;
        n = g->n - j >= OPEN_TOGETHER ? OPEN_TOGETHER : 1;
        for (size_t row = 0; row < g->m; row++) {
            const int8_t *q = a->q + row * a->k;
            const float *dx = a->dx + row * a->blocks;
            if (n == OPEN_TOGETHER)
                open_some_nvfp4(b, g, q, dx, g->c + row * g->ldc + j, OPEN_TOGETHER);
            else
                open_some_nvfp4(b, g, q, dx, g->c + row * g->ldc + j, 1);
        }
    }
}

/* ---- one row ---- */

/* The sum of a block's bytes. */
FIXED int32_t open_bytes_sum(const int32_t *sums, const int count)
{
    int32_t sum = 0;
    UNROLL for (int i = 0; i < count; i++) sum += sums[i];
    return sum;
}

FIXED int32_t open_dot(const takt_ggml_format format, const uint8_t *b, const int8_t *q,
                       const int32_t *sums)
{
    open_sum sum = open_zero();
    UNROLL for (int i = 0; i < open_weights(format) / 32; i++)
    {
        open_part o;
        open_levels(format, b, i, true, &o);
        sum = open_add(sum, &o, q + 32 * i, open_scales(format));
    }
    if (open_scales(format) > 0)
        return open_total(sum);
    return open_factor(format) * open_total(sum) - open_bytes_sum(sums, open_weights(format) / 32);
}

FIXED void open_row(const takt_ggml_format format, const takt_ggml_i8 *g, const rounded_rows *a)
{
    const size_t weights = (size_t)open_weights(format), bytes = takt_ggml_formats[format].bytes;
    for (size_t row = 0; row < g->m; row++) {
        const uint8_t *b = g->panels;
        const int8_t *q = a->q + row * a->k;
        const int32_t *sums = a->sums + row * a->parts;
        for (size_t column = 0; column < g->n; column++) {
            float acc = 0;
            for (size_t i = 0; i < g->blocks; i++, b += bytes)
                acc =
                    fmaf(open_d(format, b) * a->dx[row * a->blocks + i],
                         (float)open_dot(format, b, q + weights * i, sums + weights / 32 * i), acc);
            g->c[row * g->ldc + column] = acc;
        }
    }
}

/* ---- more rows ---- */

typedef struct open_block {
    int8_t level[256];
    open_by by[16];
    float d;
} open_block;

FIXED void open_all(const takt_ggml_format format, const uint8_t *b, open_block *to)
{
    UNROLL for (int i = 0; i < open_weights(format) / 32; i++)
    {
        open_part o;
        open_levels(format, b, i, false, &o);
        memcpy(to->level + 32 * i, o.level, 32);
        UNROLL for (int h = 0; h < 2; h++) to->by[2 * i + h] = open_by_of(o.scale[h]);
    }
    to->d = open_d(format, b);
}

static int32_t open_dot_of(const open_block *b, const int8_t *q, size_t weights)
{
    open_sum x = open_zero(), y = open_zero();
    for (size_t i = 0; i < weights; i += 64) {
        x = open_add_by(x, b->level + i, b->by + i / 16, q + i);
        y = open_add_by(y, b->level + i + 32, b->by + i / 16 + 2, q + i + 32);
    }
    return open_total(open_both(x, y));
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
    open_block block[OPEN_COLUMNS];
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
    enum { FEW = 2 }; /* rows for which it is not worth it to write levels */
    if (g->format == TAKT_GGML_NVFP4) {
        open_nvfp4(g, a);
    } else if (g->m <= FEW) {
        open_kinds[g->format].row(g, a);
    } else {
        for (size_t j = 0; j < g->n; j += OPEN_COLUMNS)
            open_strip(g, a, j, g->n - j < OPEN_COLUMNS ? g->n - j : OPEN_COLUMNS);
    }
}
