/* gemm_bf16.c - packing of the right-hand side, from bf16 or rounded to it. */
#include "kernel/gemm_bf16/gemm_bf16.h"

#include <stdint.h>
#include <string.h>

uint16_t takt_bf16_round(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static size_t padded(size_t k, size_t group)
{
    return (k + group - 1) / group * group;
}

size_t takt_gemm_bf16_count(const takt_gemm_bf16_info *info, size_t k, size_t n)
{
    return takt_panels_columns(info->gemm.panels, n) * padded(k, info->group);
}

/* One column of one chunk: `k` values of it from src on, `width` groups apart. */
static void pack_column(const takt_gemm_bf16_matrix *m, const float *src, size_t k, size_t group,
                        size_t width, uint16_t *to)
{
    for (size_t p = 0; p < k; p += group, to += width * group)
        for (size_t q = 0; q < group && p + q < k; q++)
            to[q] = takt_bf16_round(src[(p + q) * m->row]);
}

void takt_gemm_bf16_pack(const takt_gemm_bf16_info *info, const takt_gemm_bf16_matrix *m,
                         uint16_t *dst)
{
    const takt_panels panels = info->gemm.panels;
    const size_t count = takt_panels_count(panels, m->n);
    memset(dst, 0, takt_gemm_bf16_count(info, m->k, m->n) * sizeof *dst);
    for (size_t p = 0; p < m->k; p += info->chunk) {
        const size_t k = m->k - p < info->chunk ? m->k - p : info->chunk;
        for (size_t i = 0; i < count; i++) {
            const size_t col = takt_panels_column(panels, m->n, i);
            const size_t width = takt_panels_column(panels, m->n, i + 1) - col;
            for (size_t j = 0; j < width && col + j < m->n; j++)
                pack_column(m, m->src + p * m->row + (col + j) * m->col, k, info->group, width,
                            dst + j * info->group);
            dst += width * padded(k, info->group);
        }
    }
}

/* ---- values that are bf16 already: packed in every run ---- */

/* Some columns of a group of k, of which `some` are there; the others were set to zero. */
typedef struct group {
    const uint16_t *src;
    size_t row, col, some, columns;
} group;

static void pack_any(const group *o, size_t size, uint16_t *to)
{
    for (size_t j = 0; j < o->columns; j++)
        for (size_t q = 0; q < o->some; q++)
            to[j * size + q] = o->src[q * o->row + j * o->col];
}

/* Consecutive rows are interleaved, columns copied a group at a time; with compile-time sizes this
 * becomes vectors and single moves. */
static void pack_two(const group *o, uint16_t *restrict to)
{
    const uint16_t *a = o->src, *b = a + o->row;
    for (size_t j = 0; o->col == 1 && j < o->columns; j++) {
        to[2 * j] = a[j];
        to[2 * j + 1] = b[j];
    }
    for (size_t j = 0; o->col != 1 && j < o->columns; j++)
        memcpy(to + 2 * j, a + j * o->col, 2 * sizeof *to);
}

static void pack_four(const group *o, uint16_t *restrict to)
{
    const uint16_t *a = o->src, *b = a + o->row, *c = b + o->row, *d = c + o->row;
    for (size_t j = 0; o->col == 1 && j < o->columns; j++) {
        to[4 * j] = a[j];
        to[4 * j + 1] = b[j];
        to[4 * j + 2] = c[j];
        to[4 * j + 3] = d[j];
    }
    for (size_t j = 0; o->col != 1 && j < o->columns; j++)
        memcpy(to + 4 * j, a + j * o->col, 4 * sizeof *to);
}

static void pack_group(const group *o, size_t size, uint16_t *to)
{
    const bool is_plain = o->some == size && (o->col == 1 || o->row == 1);
    if (is_plain && size == 2)
        pack_two(o, to);
    else if (is_plain && size == 4)
        pack_four(o, to);
    else
        pack_any(o, size, to);
}

void takt_gemm_bf16_pack_rounded(const takt_gemm_bf16_info *info, const takt_gemm_bf16_rounded *m,
                                 uint16_t *dst)
{
    const takt_panels panels = info->gemm.panels;
    const size_t count = takt_panels_count(panels, m->n), size = info->group;
    for (size_t p = 0; p < m->k; p += info->chunk) {
        const size_t k = m->k - p < info->chunk ? m->k - p : info->chunk;
        for (size_t i = 0; i < count; i++) {
            const size_t col = takt_panels_column(panels, m->n, i);
            const size_t width = takt_panels_column(panels, m->n, i + 1) - col;
            group o = {.row = m->row, .col = m->col};
            o.columns = m->n - col < width ? m->n - col : width;
            for (size_t q = 0; q < k; q += size, dst += width * size) {
                o.src = m->src + (p + q) * m->row + col * m->col;
                o.some = k - q < size ? k - q : size;
                if (o.columns < width || o.some < size)
                    memset(dst, 0, width * size * sizeof *dst);
                pack_group(&o, size, dst);
            }
        }
    }
}
