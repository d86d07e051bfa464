/* gemm_f16.c - packing of the right-hand side in f16, and the powers of two of both factors. */
#include "kernel/gemm_f16/gemm_f16.h"

#include <math.h>
#include <string.h>

#include "kernel/simd/half.h"

int takt_f16_log2(float x)
{
    return (int)(half_bits(x) >> 23 & 0xff) - 127;
}

float takt_f16_power(int e)
{
    return half_float(e >= -126 ? (uint32_t)(e + 127) << 23 : UINT32_C(1) << (e + 149));
}

int takt_gemm_f16_exponent(float largest)
{
    const int e = largest > 0 ? 8 - takt_f16_log2(largest) : 0;
    return e > 126 ? 126 : e;
}

void takt_gemm_f16_unscale(float *c, size_t n, int e)
{
    while (e != 0) {
        const int part = e > 126 ? 126 : e < -126 ? -126 : e;
        const float factor = takt_f16_power(part);
        for (size_t j = 0; j < n; j++)
            c[j] *= factor;
        e -= part;
    }
}

size_t takt_gemm_f16_count(const takt_gemm_f32_info *info, size_t k, size_t n)
{
    return TAKT_F16_HEAD + takt_panels_columns(info->panels, n) * k;
}

/* The power of two for all of B. */
static int exponent_of(const takt_gemm_f16_matrix *m)
{
    float largest = 0;
    for (size_t p = 0; p < m->k; p++)
        for (size_t j = 0; j < m->n; j++) {
            const float size = fabsf(m->src[p * m->row + j * m->col]);
            largest = size > largest && isfinite(size) ? size : largest;
        }
    const int e = largest > 0 ? -1 - takt_f16_log2(largest) : 0;
    return e > 126 ? 126 : e;
}

/* One row of one panel. */
static void pack_row(const takt_gemm_f16_matrix *m, const float *src, size_t cols, size_t width,
                     float factor, uint16_t *to)
{
    for (size_t j = 0; j < width; j++)
        to[j] = j < cols ? half_to_f16(src[j * m->col] * factor) : 0;
}

void takt_gemm_f16_pack(const takt_gemm_f32_info *info, const takt_gemm_f16_matrix *m,
                        uint16_t *dst)
{
    const takt_panels panels = info->panels;
    const size_t count = takt_panels_count(panels, m->n);
    memset(dst, 0, TAKT_F16_HEAD * sizeof *dst);
    const int exponent = exponent_of(m);
    const float factor = takt_f16_power(exponent);
    dst[0] = (uint16_t)exponent;
    dst += TAKT_F16_HEAD;
    for (size_t p = 0; p < m->k; p += TAKT_F16_CHUNK) {
        const size_t k = m->k - p < TAKT_F16_CHUNK ? m->k - p : TAKT_F16_CHUNK;
        for (size_t i = 0; i < count; i++) {
            const size_t col = takt_panels_column(panels, m->n, i);
            const size_t width = takt_panels_column(panels, m->n, i + 1) - col;
            const size_t cols = m->n - col < width ? m->n - col : width;
            const float *src = m->src + p * m->row + col * m->col;
            for (size_t q = 0; q < k; q++, src += m->row, dst += width)
                pack_row(m, src, cols, width, factor, dst);
        }
    }
}
