/* depthwise_i8_avx512vnni.c - sixty-four channels by four taps at a time: vpdpbusd takes unsigned
 * bytes, so signed ones are taken plus 128.
 */
#include "kernel/depthwise_i8/depthwise_i8.h"

#include <immintrin.h>

#include "kernel/gemm_i8/finish_x86.inc"

#define INLINE static inline __attribute__((always_inline))

typedef takt_depthwise_spot spot;

enum { PARTS = 4, WIDE = 16 * PARTS };

typedef struct sums_64 {
    __m512i at[PARTS];
} sums_64;

/* What does not change from position to position. */
typedef struct block_64 {
    size_t c, n; /* channels [c, c + n) */
    __mmask64 have;
    __m512i flip; /* 128 where bytes are signed */
    finish_16 finish[PARTS];
    sums_64 begin;
} block_64;

/* How many of the block's channels lie in part v. */
INLINE size_t part_of(const block_64 *b, size_t v)
{
    return finish_count(b->n, v, 16);
}

INLINE __mmask16 mask_of(const block_64 *b, size_t v)
{
    return (__mmask16)((1u << part_of(b, v)) - 1);
}

/* Channels in the order in which unpacking two times brings them to their places. */
INLINE __m512i tap_64(const uint8_t *x, const block_64 *b)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi8(b->have, x));
    return _mm512_xor_si512(bytes, b->flip);
}

INLINE __m512i dot(__m512i sums, __m512i x, const int8_t *w, const block_64 *b, size_t v)
{
    return _mm512_dpbusd_epi32(sums, x, _mm512_maskz_loadu_epi32(mask_of(b, v), w + 64 * v));
}

/* Taps that do not exist have weight 0: any byte will do for them. */
INLINE sums_64 add_four(const uint8_t *const x[4], size_t at, const int8_t *w, const block_64 *b,
                        sums_64 s)
{
    const __m512i p = tap_64(x[0] + at, b), q = tap_64(x[1] + at, b), r = tap_64(x[2] + at, b),
                  t = tap_64(x[3] + at, b);
    const __m512i pq = _mm512_unpacklo_epi8(p, q), rt = _mm512_unpacklo_epi8(r, t),
                  pq_high = _mm512_unpackhi_epi8(p, q), rt_high = _mm512_unpackhi_epi8(r, t);
    s.at[0] = dot(s.at[0], _mm512_unpacklo_epi16(pq, rt), w, b, 0);
    s.at[1] = dot(s.at[1], _mm512_unpackhi_epi16(pq, rt), w, b, 1);
    s.at[2] = dot(s.at[2], _mm512_unpacklo_epi16(pq_high, rt_high), w, b, 2);
    s.at[3] = dot(s.at[3], _mm512_unpackhi_epi16(pq_high, rt_high), w, b, 3);
    return s;
}

/* A byte in 32 bits is a tap with three more of value 0. */
INLINE sums_64 add_one(const uint8_t *x, const int8_t *w, const block_64 *b, sums_64 s)
{
    for (size_t v = 0; v < PARTS; v++) {
        const __m128i bytes = _mm_xor_si128(_mm_maskz_loadu_epi8(mask_of(b, v), x + 16 * v),
                                            _mm512_castsi512_si128(b->flip));
        s.at[v] = dot(s.at[v], _mm512_cvtepu8_epi32(bytes), w, b, v);
    }
    return s;
}

INLINE sums_64 dot_taps(const takt_depthwise_i8 *d, spot given, const block_64 *b)
{
    const uint8_t *const *x = given.x;
    const size_t at = given.at + b->c, last = d->taps - 1;
    const int8_t *w = d->w_dot + 4 * b->c;
    sums_64 s = b->begin;
    size_t k = 0;
    for (; k + 4 <= d->taps; k += 4, w += 4 * d->channels)
        s = add_four(x + k, at, w, b, s);
    if (k > last)
        return s;
    if (k == last)
        return add_one(x[k] + at, w, b, s);
    const uint8_t *const rest[4] = {x[k], x[k + 1], x[k + 2 < last ? k + 2 : last], x[last]};
    return add_four(rest, at, w, b, s);
}

INLINE block_64 block_at(const takt_depthwise_i8 *d, size_t c, size_t n, const finish_way way)
{
    block_64 b = {.c = c, .n = n, .have = n < WIDE ? (UINT64_C(1) << n) - 1 : UINT64_MAX};
    b.flip = _mm512_set1_epi8(d->x_unsigned ? 0 : INT8_MIN);
    for (size_t v = 0; v < PARTS; v++) {
        const size_t from = c + 16 * v, count = part_of(&b, v);
        sums_16 begin = no_sums();
        if (count > 0 && d->requant->bias != NULL)
            begin = load_first(d->requant->bias + from, count);
        if (count > 0 && !d->x_unsigned)
            begin = less_sums(begin, load_first(d->w_sum + from, count), -INT8_MIN);
        b.begin.at[v] = begin.at[0];
        if (count > 0)
            b.finish[v] = finish_begin(d->requant, from, count, way);
    }
    return b;
}

/* Works on a copy of `d`: no byte that is stored could be part of that. */
INLINE void walk_64(const takt_depthwise_i8 *given, size_t c, size_t n, const finish_way way)
{
    const takt_depthwise_i8 d = *given;
    const block_64 b = block_at(&d, c, n, way);
    uint8_t *y = (uint8_t *)d.y + c;
    for (size_t p = 0; p < d.positions; p++, y += d.channels) {
        const sums_64 s = dot_taps(&d, d.spots[p], &b);
        for (size_t v = 0; v < PARTS && part_of(&b, v) > 0; v++)
            finish_put(y + 16 * v, finish_bytes(&b.finish[v], (sums_16){{s.at[v]}}, way),
                       part_of(&b, v));
    }
}

static void by_scale(const takt_depthwise_i8 *d, size_t c, size_t n)
{
    walk_64(d, c, n, FINISH_SCALE);
}

static void by_shift(const takt_depthwise_i8 *d, size_t c, size_t n)
{
    walk_64(d, c, n, FINISH_FIXED);
}

/* Sixteen channels and fewer take pairs of taps: most of a wide block would be empty. */
static bool is_wide(const takt_depthwise_i8 *d)
{
    return d->channels > 16 && d->taps > 0 && d->w_dot != NULL && finish_is_bytes(d->requant) &&
           d->requant->wide == NULL;
}

static void run(const takt_depthwise_i8 *d)
{
    const size_t n = d->channels;
    if (!is_wide(d)) {
        takt_depthwise_i8_pairs(d);
        return;
    }
    for (size_t c = 0; c < n; c += WIDE) {
        const size_t count = n - c < WIDE ? n - c : WIDE;
        if (d->requant->multiplier == NULL)
            by_scale(d, c, count);
        else
            by_shift(d, c, count);
    }
}

TAKT_KERNELS(depthwise_i8, TAKT_KERNEL(depthwise_i8, "avx512vnni", 30, run, NULL));
