/* winograd_bf16_bf16.c - Winograd's F(2x2, 3x3) by bfmmla.
 *
 * A block is some strips of four units, eight tiles. Their transformed inputs are written as packed
 * A; the 16 products leave their sums in the instruction's order, two tiles by two channels, and
 * are transformed back in it: only outputs are reordered.
 */
#include "kernel/winograd_bf16/winograd_bf16.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernel/product_bf16/tile.inc"

#define INLINE static inline __attribute__((always_inline))

enum { POINTS = TAKT_WINOGRAD_BF16_POINTS, PAIRS = MR / 2, IN = 4, ACROSS = 6 };
enum { BLOCK_BYTES = 360 << 10, STRIPS_MAX = 8 };

TILE_FUNCTIONS(ZERO, SUMS)

static void tile_sums(size_t pairs, size_t cols, const tile_job *t)
{
    static tile_fn *const by_pairs[2][4] = TILE_TABLE(tile_ZERO_SUMS);
    by_pairs[cols == WIDE][pairs - 1](t);
}

static const takt_panels widths = {WIDE, NARROW};

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- sizes ---- */

/* Elements of one strip at one point. */
static size_t v_count(size_t cin)
{
    return MR * round_up(cin, GROUP);
}

static size_t m_count(size_t cout)
{
    return MR * takt_panels_columns(widths, cout);
}

static size_t strips_of(size_t cin, size_t cout)
{
    const size_t each = POINTS * (v_count(cin) * sizeof(uint16_t) + m_count(cout) * sizeof(float));
    const size_t fit = BLOCK_BYTES / (each + 1);
    return fit < 1 ? 1 : fit > STRIPS_MAX ? STRIPS_MAX : fit;
}

/* Bytes from one point to the next: an odd number of lines, or all would fall into few sets. */
static size_t v_bytes(size_t cin, size_t strips)
{
    return ((strips * v_count(cin) * sizeof(uint16_t) + 63) / 64 | 1) * 64;
}

static size_t m_bytes(size_t cout, size_t strips)
{
    return ((strips * m_count(cout) * sizeof(float) + 63) / 64 | 1) * 64;
}

static size_t bias_bytes(size_t cout)
{
    return round_up(2 * takt_panels_columns(widths, cout) * sizeof(float), 64);
}

static size_t dump_bytes(size_t cout)
{
    return round_up(cout * sizeof(uint16_t), 64);
}

static size_t scratch_bytes(size_t cin, size_t cout)
{
    const size_t strips = strips_of(cin, cout);
    return POINTS * (v_bytes(cin, strips) + m_bytes(cout, strips)) + bias_bytes(cout) +
           dump_bytes(cout);
}

/* The kernel's memory, and the part of a block that is in it. */
typedef struct block {
    const takt_winograd_bf16 *w;
    char *v, *m;
    size_t v_bytes, m_bytes; /* from point to point */
    float *bias;             /* vectors of [b0 b1 b0 b1] */
    uint16_t *dump;          /* outputs that do not exist */
    size_t first, units;
} block;

/* ---- there ---- */

/* The lower or higher four of `n` channels, at most eight. */
INLINE float32x4_t load_four(const uint16_t *p, size_t n, const bool is_high)
{
    const uint16x8_t none = vdupq_n_u16(0);
    uint16_t part[8] = {0};
    if (n < 8)
        memcpy(part, p, n * sizeof *p);
    const uint16x8_t x = vld1q_u16(n < 8 ? part : p);
    return vreinterpretq_f32_u16(is_high ? vzip2q_u16(none, x) : vzip1q_u16(none, x));
}

/* A compiler barrier between loads: without it compilers load all inputs first and run out of
 * registers. */
#define SETTLE __asm__ volatile("" ::: "memory")

INLINE void load_row(const uint16_t *const *taps, size_t c, size_t n, const bool is_high,
                     float32x4_t x[ACROSS])
{
    for (size_t j = 0; j < ACROSS; j++)
        x[j] = load_four(taps[j] + c, n, is_high);
}

/* One row of Bt x, of both tiles, to its four points. */
INLINE void put_row(const float32x4_t t[ACROSS], char *to, size_t step)
{
    const uint32x4_t none = vdupq_n_u32(0);
    uint32x4_t v[2][IN];
    for (size_t k = 0; k < 2; k++) {
        const float32x4_t *s = t + 2 * k;
        v[k][0] = vreinterpretq_u32_f32(vsubq_f32(s[0], s[2]));
        v[k][1] = vreinterpretq_u32_f32(vaddq_f32(s[1], s[2]));
        v[k][2] = vreinterpretq_u32_f32(vsubq_f32(s[2], s[1]));
        v[k][3] = vreinterpretq_u32_f32(vsubq_f32(s[1], s[3]));
    }
    for (size_t j = 0; j < IN; j++)
        vst1q_u16((uint16_t *)(void *)(to + j * step),
                  vraddhn_high_u32(vraddhn_u32(v[0][j], none), v[1][j], none));
}

/* Four channels of a unit: `to` is the destination of point 0. */
INLINE void transform_four(const uint16_t *const *taps, size_t c, size_t n, const bool is_high,
                           char *to, size_t step)
{
    float32x4_t x[ACROSS], b[ACROSS], a[ACROSS], t[ACROSS];
    load_row(taps, c, n, is_high, x);
    load_row(taps + 2 * ACROSS, c, n, is_high, b);
    for (size_t j = 0; j < ACROSS; j++)
        t[j] = vsubq_f32(x[j], b[j]);
    put_row(t, to, step);
    load_row(taps + ACROSS, c, n, is_high, a);
    for (size_t j = 0; j < ACROSS; j++)
        t[j] = vaddq_f32(a[j], b[j]);
    put_row(t, to + IN * step, step);
    for (size_t j = 0; j < ACROSS; j++)
        t[j] = vsubq_f32(b[j], a[j]);
    put_row(t, to + 2 * IN * step, step);
    load_row(taps + 3 * ACROSS, c, n, is_high, x);
    for (size_t j = 0; j < ACROSS; j++)
        t[j] = vsubq_f32(a[j], x[j]);
    put_row(t, to + 3 * IN * step, step);
}

/* Pointers to the 4 x 6 inputs of a unit, some of them to zeros. */
static void find_taps(const takt_winograd_bf16 *w, size_t unit, const uint16_t **taps)
{
    const size_t across = (w->out[1] + 3) / 4;
    const size_t top = unit / across * 2 - w->before[0], left = unit % across * 4 - w->before[1];
    for (size_t i = 0; i < IN; i++)
        for (size_t j = 0; j < ACROSS; j++) {
            const size_t row = top + i, column = left + j; /* wrapped around if they are before x */
            taps[ACROSS * i + j] = row < w->in[0] && column < w->in[1]
                                       ? w->x + (row * w->in[1] + column) * w->cin
                                       : w->zeros;
        }
}

static void transform_inputs(const block *b)
{
    const takt_winograd_bf16 *w = b->w;
    const uint16_t *taps[IN * ACROSS];
    for (size_t i = 0; i < b->units; i++) {
        const size_t strip = i / PAIRS, rest = b->units - strip * PAIRS;
        const size_t pairs = rest < PAIRS ? rest : PAIRS, step = pairs * 16;
        char *to = b->v + strip * v_count(w->cin) * sizeof(uint16_t) + i % PAIRS * 16;
        find_taps(w, b->first + i, taps);
        size_t c = 0;
        for (; c + 8 <= w->cin; c += 8, to += 2 * step) {
            transform_four(taps, c, 8, false, to, b->v_bytes);
            transform_four(taps, c, 8, true, to + step, b->v_bytes);
        }
        if (c < w->cin)
            transform_four(taps, c, w->cin - c, false, to, b->v_bytes);
        if (c + 4 < w->cin)
            transform_four(taps, c, w->cin - c, true, to + step, b->v_bytes);
    }
}

/* ---- products ---- */

static void multiply(const block *b, size_t point)
{
    const takt_winograd_bf16 *w = b->w;
    const size_t k = round_up(w->cin, GROUP), columns = takt_panels_columns(widths, w->cout);
    const size_t wide = WIDE * takt_panels_wide(widths, w->cout);
    const char *v = b->v + point * b->v_bytes;
    const size_t whole = b->units / PAIRS, rest = b->units % PAIRS;
    tile_job t = {.steps = k / GROUP};
    for (size_t col = 0, width; col < columns; col += width) {
        width = col < wide ? WIDE : NARROW;
        float *m = (float *)(void *)(b->m + point * b->m_bytes);
        t.b = w->u + (point * columns + col) * k;
        t.a = (const uint16_t *)(const void *)v;
        t.c = m + col * 2 * PAIRS;
        t.strips = whole;
        t.c_skip = MR * (columns - width) * sizeof *m;
        if (whole > 0)
            tile_sums(PAIRS, width, &t);
        t.a += whole * MR * k;
        t.c = m + whole * MR * columns + col * 2 * rest;
        t.strips = 1;
        if (rest > 0)
            tile_sums(rest, width, &t);
    }
}

/* ---- and back ---- */

/* Addresses of the outputs of a unit and of their residuals. */
typedef struct places {
    uint16_t *y[2][4];
    const uint16_t *residual[2][4];
} places;

static void find_outputs(const block *b, size_t unit, places *o)
{
    const takt_winograd_bf16 *w = b->w;
    const size_t across = (w->out[1] + 3) / 4, top = unit / across * 2, left = unit % across * 4;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 4; j++) {
            const bool exists = top + i < w->out[0] && left + j < w->out[1];
            const size_t at = exists ? ((top + i) * w->out[1] + left + j) * w->cout : 0;
            o->y[i][j] = exists ? w->y + at : b->dump;
            o->residual[i][j] = w->residual != NULL ? w->residual + at : NULL;
        }
}

/* 2 x 2 outputs of two tiles and two channels. */
INLINE void back(const char *m, size_t step, float32x4_t y[2][2])
{
    float32x4_t t[2][IN];
    for (size_t j = 0; j < IN; j++) {
        float32x4_t x[IN];
        for (size_t i = 0; i < IN; i++)
            x[i] = vld1q_f32((const float *)(const void *)(m + (IN * i + j) * step));
        t[0][j] = vaddq_f32(vaddq_f32(x[0], x[1]), x[2]);
        t[1][j] = vsubq_f32(vsubq_f32(x[1], x[2]), x[3]);
        SETTLE;
    }
    for (size_t i = 0; i < 2; i++) {
        y[i][0] = vaddq_f32(vaddq_f32(t[i][0], t[i][1]), t[i][2]);
        y[i][1] = vsubq_f32(vsubq_f32(t[i][1], t[i][2]), t[i][3]);
    }
}

/* Four channels of one output of each tile, ordered like sums. */
INLINE uint16x8_t residual_of(const uint16_t *first, const uint16_t *second, size_t n)
{
    uint16_t part[2][4] = {{0}};
    if (n < 4) {
        memcpy(part[0], first, n * sizeof *first);
        memcpy(part[1], second, n * sizeof *second);
    }
    const uint16x4_t none = vdup_n_u16(0); /* the upper half, as loads leave it */
    const uint16x8_t x = vcombine_u16(vld1_u16(n < 4 ? part[0] : first), none),
                     y = vcombine_u16(vld1_u16(n < 4 ? part[1] : second), none);
    return vreinterpretq_u16_u32(vzip1q_u32(vreinterpretq_u32_u16(x), vreinterpretq_u32_u16(y)));
}

INLINE void store_four(uint16_t *to, uint16x4_t x, size_t n)
{
    uint16_t part[4];
    if (n == 4) {
        vst1_u16(to, x);
        return;
    }
    vst1_u16(part, x);
    memcpy(to, part, n * sizeof *to);
}

/* The part that all outputs of a call share. */
typedef struct ending {
    float32x4_t lo, hi;
    const float *bias;
    size_t step;     /* bytes from point to point */
    bool adds, caps; /* a residual; an upper bound */
} ending;

/* Channels [c, c + n) of a unit, n at most 4, from sums at `m`. */
INLINE void finish_four(const ending *e, const places *o, const char *m, size_t c, size_t n)
{
    const uint16x8_t none = vdupq_n_u16(0);
    const uint32x4_t z = vreinterpretq_u32_u16(none);
    const float32x4_t bias[2] = {vld1q_f32(e->bias + 2 * c), vld1q_f32(e->bias + 2 * c + 4)};
    float32x4_t y[2][2][2];
    back(m, e->step, y[0]);
    back(m + 16, e->step, y[1]);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) {
            float32x4_t p = vaddq_f32(y[0][i][j], bias[0]), q = vaddq_f32(y[1][i][j], bias[1]);
            if (e->adds) {
                const uint16x8_t r =
                    residual_of(o->residual[i][j] + c, o->residual[i][2 + j] + c, n);
                p = vaddq_f32(p, vreinterpretq_f32_u16(vzip1q_u16(none, r)));
                q = vaddq_f32(q, vreinterpretq_f32_u16(vzip2q_u16(none, r)));
            }
            p = vmaxq_f32(p, e->lo);
            q = vmaxq_f32(q, e->lo);
            if (e->caps) {
                p = vminq_f32(p, e->hi);
                q = vminq_f32(q, e->hi);
            }
            const uint32x4_t both = vreinterpretq_u32_u16(vraddhn_high_u32(
                vraddhn_u32(vreinterpretq_u32_f32(p), z), vreinterpretq_u32_f32(q), z));
            store_four(o->y[i][j] + c, vget_low_u16(vreinterpretq_u16_u32(vuzp1q_u32(both, both))),
                       n);
            store_four(o->y[i][2 + j] + c,
                       vget_low_u16(vreinterpretq_u16_u32(vuzp2q_u32(both, both))), n);
        }
}

/* `adds` and `caps`: as the ending says, known when this is compiled. */
INLINE void finish_columns(const ending *given, const places *o, const char *m,
                           const size_t range[2], const bool adds, const bool caps)
{
    ending e = *given; /* a copy: stores cannot change its fields */
    const places here = *o;
    e.adds = adds;
    e.caps = caps;
    size_t c = range[0];
    for (; c + 4 <= range[1]; c += 4, m += 32)
        finish_four(&e, &here, m, c, 4);
    if (c < range[1])
        finish_four(&e, &here, m, c, range[1] - c);
}

static void finish_any(const ending *e, const places *o, const char *m, const size_t range[2])
{
    if (e->adds && e->caps)
        finish_columns(e, o, m, range, true, true);
    else if (e->adds)
        finish_columns(e, o, m, range, true, false);
    else if (e->caps)
        finish_columns(e, o, m, range, false, true);
    else
        finish_columns(e, o, m, range, false, false);
}

static void transform_outputs(const block *b)
{
    const takt_winograd_bf16 *w = b->w;
    const size_t wide = WIDE * takt_panels_wide(widths, w->cout),
                 strip_bytes = m_count(w->cout) * sizeof(float);
    const ending e = {vdupq_n_f32(w->lo), vdupq_n_f32(w->hi),  b->bias,
                      b->m_bytes,         w->residual != NULL, w->hi < INFINITY};
    places o;
    for (size_t i = 0; i < b->units; i++) {
        const size_t strip = i / PAIRS, rest = b->units - strip * PAIRS;
        const size_t pairs = rest < PAIRS ? rest : PAIRS;
        const char *m = b->m + strip * strip_bytes;
        find_outputs(b, b->first + i, &o);
        for (size_t col = 0, width; col < w->cout; col += width) {
            width = col < wide ? WIDE : NARROW;
            const char *at = m + (col * 2 * pairs + i % PAIRS * 2 * width) * sizeof(float);
            const size_t range[2] = {col, w->cout - col < width ? w->cout : col + width};
            finish_any(&e, &o, at, range);
        }
    }
}

static void run(const takt_winograd_bf16 *w)
{
    const size_t strips = strips_of(w->cin, w->cout), most = strips * PAIRS;
    block b = {.w = w, .v_bytes = v_bytes(w->cin, strips), .m_bytes = m_bytes(w->cout, strips)};
    b.v = w->scratch;
    b.m = b.v + POINTS * b.v_bytes;
    b.bias = (float *)(void *)(b.m + POINTS * b.m_bytes);
    b.dump = (uint16_t *)(void *)((char *)b.bias + bias_bytes(w->cout));
    memset(b.bias, 0, bias_bytes(w->cout));
    for (size_t j = 0; w->bias != NULL && j < w->cout; j++)
        b.bias[j / 2 * 4 + j % 2] = b.bias[j / 2 * 4 + 2 + j % 2] = w->bias[j];
    for (size_t i = 0; i < w->count; i += b.units) {
        b.first = w->first + i;
        b.units = w->count - i < most ? w->count - i : most;
        transform_inputs(&b);
        for (size_t p = 0; p < POINTS; p++)
            multiply(&b, p);
        transform_outputs(&b);
    }
}

static const takt_winograd_bf16_info info = {
    {{MR, {WIDE, NARROW}, NULL, 0, 0}, GROUP, TAKT_WINOGRAD_BF16_CIN, 0, 0, 0}, scratch_bytes};

TAKT_KERNELS(winograd_bf16, TAKT_KERNEL(winograd_bf16, "bf16", 20, run, &info));
