/* pack_avx2.c - transposes in registers: blocks of 8 x 8 words or 4 x 4 double words. */
#include "kernel/pack/pack.h"

#include <immintrin.h>
#include <string.h>

#include "kernel/pack/walk.inc"

static __m256 load(const char *from)
{
    __m256 x;
    memcpy(&x, from, sizeof x);
    return x;
}

static void store(char *to, __m256d x)
{
    memcpy(to, &x, sizeof x);
}

#define PD(x) _mm256_castps_pd(x)

/* Two pairs of columns, interleaved: four k of four columns in two halves. */
static inline void block_4x4(const __m256d *ab, const __m256d *cd, __m256d *out)
{
    out[0] = _mm256_unpacklo_pd(ab[0], cd[0]);
    out[1] = _mm256_unpackhi_pd(ab[0], cd[0]);
    out[2] = _mm256_unpacklo_pd(ab[1], cd[1]);
    out[3] = _mm256_unpackhi_pd(ab[1], cd[1]);
}

/* Eight columns, eight k: 32 bytes in each of eight rows of the panel. */
static inline void block_4(const char *from, size_t ld, char *to)
{
    __m256d pairs[4][2], quads[2][4];
    for (size_t i = 0; i < 4; i++) {
        const __m256 a = load(from + 2 * i * ld), b = load(from + (2 * i + 1) * ld);
        pairs[i][0] = PD(_mm256_unpacklo_ps(a, b));
        pairs[i][1] = PD(_mm256_unpackhi_ps(a, b));
    }
    block_4x4(pairs[0], pairs[1], quads[0]);
    block_4x4(pairs[2], pairs[3], quads[1]);
    for (size_t i = 0; i < 4; i++) {
        store(to + i * 64, _mm256_permute2f128_pd(quads[0][i], quads[1][i], 0x20));
        store(to + (i + 4) * 64, _mm256_permute2f128_pd(quads[0][i], quads[1][i], 0x31));
    }
}

/* Four columns, four k. */
static inline void block_8(const char *from, size_t ld, char *to)
{
    const __m256d a = PD(load(from)), b = PD(load(from + ld)), c = PD(load(from + 2 * ld)),
                  d = PD(load(from + 3 * ld));
    const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    const __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    store(to, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    store(to + 64, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    store(to + 128, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    store(to + 192, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

/* Panels of 64 bytes, which are those of this instruction set's products. */
static size_t transpose(const part *p)
{
    const size_t step = p->bytes == 4 ? 8 : 4, half = 32 / p->bytes;
    if (p->bytes == 2 || p->width * p->bytes != 64)
        return 0;
    for (size_t i = 0; i + step <= p->k; i += step) {
        const char *from = p->from + i * p->bytes;
        char *to = p->to + i * 64;
        if (p->bytes == 4) {
            block_4(from, p->col, to);
            block_4(from + half * p->col, p->col, to + 32);
        } else {
            block_8(from, p->col, to);
            block_8(from + half * p->col, p->col, to + 32);
        }
    }
    return p->k / step * step;
}

TAKT_KERNELS(pack, TAKT_KERNEL(pack, "avx2", 20, run, NULL));
