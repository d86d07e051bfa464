/* depthwise_bf16_bf16.c - depthwise convolution by bfmlalb and bfmlalt: even and odd channels.
 *
 * Kernels of 3 x 3 compute four neighbouring outputs of two lines at a time, which share what they
 * read. Where each position is read is looked up in a table, so that borders are like the inside:
 * what does not exist is read from zeros, and written to a row that nobody wants.
 */
#include "kernel/depthwise_bf16/depthwise_bf16.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { VECTOR = 8, ABREAST = 4, LINES = 2, TAPS = 9 };
enum { ROWS_MAX = 5, COLUMNS_MAX = 9 }; /* that four outputs of two lines read with stride 2 */

typedef struct window {
    const uint16_t *x[ROWS_MAX][COLUMNS_MAX];
    uint16_t *y[LINES * ABREAST];
} window;

/* `n` channels from `c` on: weights and sums. */
typedef struct slice {
    size_t c, n;
    bfloat16x8_t w[TAPS];
    float32x4_t even[LINES * ABREAST], odd[LINES * ABREAST];
} slice;

INLINE bfloat16x8_t load(const uint16_t *p, size_t n)
{
    uint16_t part[VECTOR] = {0};
    if (n == VECTOR)
        return vreinterpretq_bf16_u16(vld1q_u16(p));
    memcpy(part, p, n * sizeof *p);
    return vreinterpretq_bf16_u16(vld1q_u16(part));
}

INLINE float32x4x2_t load_bias(const takt_depthwise_bf16 *d, size_t c, size_t n)
{
    float part[VECTOR] = {0};
    if (d->bias != NULL && n == VECTOR)
        return vld2q_f32(d->bias + c);
    if (d->bias != NULL)
        memcpy(part, d->bias + c, n * sizeof *part);
    return vld2q_f32(part);
}

/* Rounded; halves away from zero. The last 16 bits of a NaN are zeros, so it stays one. */
INLINE void store(const takt_depthwise_bf16 *d, uint16_t *p, size_t n, float32x4_t even,
                  float32x4_t odd)
{
    const float32x4_t lo = vdupq_n_f32(d->lo), hi = vdupq_n_f32(d->hi);
    const uint32x4_t half = vdupq_n_u32(0x8000);
    const uint32x4_t e = vreinterpretq_u32_f32(vminq_f32(vmaxq_f32(even, lo), hi));
    const uint32x4_t o = vreinterpretq_u32_f32(vminq_f32(vmaxq_f32(odd, lo), hi));
    const uint16x8_t both =
        vreinterpretq_u16_u32(vsriq_n_u32(vaddq_u32(o, half), vaddq_u32(e, half), 16));
    uint16_t part[VECTOR];
    if (n == VECTOR) {
        vst1q_u16(p, both);
        return;
    }
    vst1q_u16(part, both);
    memcpy(p, part, n * sizeof *p);
}

/* ---- 3 x 3 ---- */

/* What position (i, j) of the window gives to each output that reads it. */
INLINE void position(const window *o, slice *s, const size_t i, const size_t j, const size_t lines,
                     const size_t stride)
{
    const bfloat16x8_t x = load(o->x[i][j] + s->c, s->n);
    for (size_t l = 0; l < lines; l++)
        for (size_t q = 0; q < ABREAST; q++) {
            const size_t a = i - l * stride, b = j - q * stride; /* wrap where there is no tap */
            if (a >= 3 || b >= 3)
                continue;
            s->even[ABREAST * l + q] = vbfmlalbq_f32(s->even[ABREAST * l + q], x, s->w[3 * a + b]);
            s->odd[ABREAST * l + q] = vbfmlaltq_f32(s->odd[ABREAST * l + q], x, s->w[3 * a + b]);
        }
}

/* Written out, since compilers do not unroll loops of this length. */
INLINE void row(const window *o, slice *s, const size_t i, const size_t lines, const size_t stride)
{
    position(o, s, i, 0, lines, stride);
    position(o, s, i, 1, lines, stride);
    position(o, s, i, 2, lines, stride);
    position(o, s, i, 3, lines, stride);
    position(o, s, i, 4, lines, stride);
    position(o, s, i, 5, lines, stride);
    if (stride == 1)
        return;
    position(o, s, i, 6, lines, stride);
    position(o, s, i, 7, lines, stride);
    position(o, s, i, 8, lines, stride);
}

INLINE void vector(const takt_depthwise_bf16 *d, const window *o, size_t c, size_t n,
                   const size_t lines, const size_t stride)
{
    slice s = {.c = c, .n = n};
    const float32x4x2_t bias = load_bias(d, c, n);
    for (size_t t = 0; t < TAPS; t++)
        s.w[t] = load(d->w + t * d->channels + c, n);
    for (size_t q = 0; q < lines * ABREAST; q++) {
        s.even[q] = bias.val[0];
        s.odd[q] = bias.val[1];
    }
    row(o, &s, 0, lines, stride);
    row(o, &s, 1, lines, stride);
    row(o, &s, 2, lines, stride);
    if (lines == 2)
        row(o, &s, 3, lines, stride);
    if (lines == 2 && stride == 2)
        row(o, &s, 4, lines, stride);
    for (size_t q = 0; q < lines * ABREAST; q++)
        store(d, o->y[q] + c, n, s.even[q], s.odd[q]);
}

INLINE void vectors(const takt_depthwise_bf16 *given, const window *o, const size_t lines,
                    const size_t stride)
{
    const takt_depthwise_bf16 d = *given; /* whose fields stores cannot change */
    size_t c = 0;
    for (; c + VECTOR <= d.channels; c += VECTOR)
        vector(&d, o, c, VECTOR, lines, stride);
    if (c < d.channels)
        vector(&d, o, c, d.channels - c, lines, stride);
}

static void vectors_2_1(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 2, 1);
}

static void vectors_1_1(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 1, 1);
}

static void vectors_2_2(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 2, 2);
}

static void vectors_1_2(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 1, 2);
}

/* Four outputs from column q on, of `lines` lines. */
static void find(const takt_depthwise_bf16 *d, size_t line, size_t lines, size_t q, window *o)
{
    const size_t rows = (lines - 1) * d->stride + 3, columns = (ABREAST - 1) * d->stride + 3;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            const size_t padded = q * d->stride + j;
            const uint16_t *from = d->x[line * d->x_step + i];
            const bool is_inside =
                from != NULL && padded >= d->before && padded - d->before < d->width;
            o->x[i][j] = is_inside ? from + (padded - d->before) * d->channels : d->zeros;
        }
    for (size_t l = 0; l < lines; l++)
        for (size_t a = 0; a < ABREAST; a++)
            o->y[ABREAST * l + a] = q + a < d->columns
                                        ? d->y + ((line + l) * d->columns + q + a) * d->channels
                                        : d->room;
}

static void three_by_three(const takt_depthwise_bf16 *d)
{
    typedef void vectors_fn(const takt_depthwise_bf16 *d, const window *o);
    static vectors_fn *const by_shape[2][2] = {{vectors_1_1, vectors_1_2},
                                               {vectors_2_1, vectors_2_2}};
    window o;
    for (size_t line = 0, lines; line < d->lines; line += lines) {
        lines = d->lines - line < LINES ? 1 : LINES;
        for (size_t q = 0; q < d->columns; q += ABREAST) {
            find(d, line, lines, q, &o);
            by_shape[lines - 1][d->stride - 1](d, &o);
        }
    }
}

/* ---- any other ---- */

INLINE void tap_vector(const takt_depthwise_bf16 *d, const uint16_t *const *from, uint16_t *y,
                       size_t c, size_t n)
{
    float32x4x2_t s = load_bias(d, c, n);
    const uint16_t *w = d->w + c;
    for (size_t t = 0; t < d->rows * d->taps; t++, w += d->channels) {
        const bfloat16x8_t x = load(from[t] + c, n), v = load(w, n);
        s.val[0] = vbfmlalbq_f32(s.val[0], x, v);
        s.val[1] = vbfmlaltq_f32(s.val[1], x, v);
    }
    store(d, y + c, n, s.val[0], s.val[1]);
}

static void any(const takt_depthwise_bf16 *d, size_t line, size_t q)
{
    const uint16_t *from[TAKT_DEPTHWISE_BF16_TAPS];
    uint16_t *y = d->y + (line * d->columns + q) * d->channels;
    for (size_t i = 0; i < d->rows; i++)
        for (size_t j = 0; j < d->taps; j++)
            from[i * d->taps + j] = takt_depthwise_bf16_at(d, line * d->x_step + i, q, j);
    size_t c = 0;
    for (; c + VECTOR <= d->channels; c += VECTOR)
        tap_vector(d, from, y, c, VECTOR);
    if (c < d->channels)
        tap_vector(d, from, y, c, d->channels - c);
}

static void run(const takt_depthwise_bf16 *d)
{
    if (d->rows == 3 && d->taps == 3 && d->dilation == 1 && d->stride <= 2 &&
        d->x_step == d->stride) {
        three_by_three(d);
        return;
    }
    for (size_t line = 0; line < d->lines; line++)
        for (size_t q = 0; q < d->columns; q++)
            any(d, line, q);
}

TAKT_KERNELS(depthwise_bf16, TAKT_KERNEL(depthwise_bf16, "bf16", 20, run, NULL));
