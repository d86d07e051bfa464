/* gemm_i8.c - packing of 8-bit weights. */
#include "kernel/gemm_i8/gemm_i8.h"

#include <string.h>

enum { PANEL = 16, LINE = 4 /* panels */ };

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* Sums are modulo 2^32. */
static inline uint32_t wide(int8_t x)
{
    const int32_t y = x;
    return (uint32_t)y;
}

/* ---- one byte after the other ---- */

/* `count` rows of a column; returns where the group after them begins. */
static int8_t *pack_run(const takt_pack_i8_job *p, const int8_t *from, size_t count, int8_t *to,
                        uint32_t *sum)
{
    const uint8_t flip = p->is_unsigned ? 0x80 : 0;
    for (size_t i = 0; i < count; i += p->group, to += PANEL * p->group)
        for (size_t l = 0; l < p->group && i + l < count; l++, from += p->row) {
            to[l] = (int8_t)((uint8_t)*from ^ flip);
            *sum += wide(to[l]);
        }
    return to;
}

static void pack_column(const takt_pack_i8_job *p, size_t j, size_t groups)
{
    const size_t run = p->run > 0 ? p->run : p->k;
    int8_t *to = p->dst + j / PANEL * groups * PANEL * p->group + j % PANEL * p->group;
    uint32_t sum = 0;
    for (size_t i = 0; i < p->k; i += run)
        to = pack_run(p, p->src + i * p->row + j * p->col, p->k - i < run ? p->k - i : run, to,
                      &sum);
    if (p->sums)
        p->sums[j] = (int32_t)sum;
}

/* ---- rows that are contiguous ----
 *
 * Loops of a fixed number of rounds, which compilers turn into vectors that are interleaved. */

/* `group` rows of a panel; `to` has one column after the other. */
static inline void interleave(const int8_t *from, size_t row, uint8_t flip, int8_t *restrict to,
                              uint32_t *restrict sums, size_t group)
{
    for (size_t j = 0; j < PANEL; j++)
        for (size_t i = 0; i < group; i++)
            to[j * group + i] = (int8_t)((uint8_t)from[i * row + j] ^ flip);
    for (size_t i = 0; i < group; i++)
        for (size_t j = 0; j < PANEL; j++)
            sums[j] += wide((int8_t)((uint8_t)from[i * row + j] ^ flip));
}

/* The full groups of rows of a panel; a line of the cache holds four panels, so they take turns. */
static inline void pack_rows(const takt_pack_i8_job *p, size_t j, size_t panels, size_t group)
{
    const size_t groups = ceil_div(p->k, group), line = PANEL * group;
    const uint8_t flip = p->is_unsigned ? 0x80 : 0;
    uint32_t sums[LINE * PANEL] = {0};
    for (size_t i = 0; i < p->k / group; i++)
        for (size_t k = 0; k < panels; k++)
            interleave(p->src + i * group * p->row + j + k * PANEL, p->row, flip,
                       p->dst + (j / PANEL + k) * groups * line + i * line, sums + k * PANEL,
                       group);
    for (size_t i = p->k / group * group; i < p->k; i++)
        for (size_t k = 0; k < panels * PANEL; k++) {
            const int8_t x = (int8_t)((uint8_t)p->src[i * p->row + j + k] ^ flip);
            p->dst[((j + k) / PANEL * groups + i / group) * line + k % PANEL * group + i % group] =
                x;
            sums[k] += wide(x);
        }
    for (size_t k = 0; p->sums != NULL && k < panels * PANEL; k++)
        p->sums[j + k] = (int32_t)sums[k];
}

/* ---- columns that are contiguous ---- */

static inline void pack_columns(const takt_pack_i8_job *p, size_t j, size_t group)
{
    const size_t groups = ceil_div(p->k, group), line = PANEL * group, full = p->k / group;
    const uint8_t flip = p->is_unsigned ? 0x80 : 0;
    int8_t *to = p->dst + j / PANEL * groups * line;
    for (size_t i = 0; i < full; i++)
        for (size_t k = 0; k < PANEL; k++)
            for (size_t l = 0; l < group; l++)
                to[i * line + k * group + l] =
                    (int8_t)((uint8_t)p->src[(j + k) * p->col + i * group + l] ^ flip);
    for (size_t k = 0; k < PANEL; k++) {
        const int8_t *from = p->src + (j + k) * p->col;
        uint32_t sum = 0;
        for (size_t i = full * group; i < p->k; i++)
            to[full * line + k * group + i % group] = (int8_t)((uint8_t)from[i] ^ flip);
        for (size_t i = 0; i < p->k; i++)
            sum += wide((int8_t)((uint8_t)from[i] ^ flip));
        if (p->sums != NULL)
            p->sums[j + k] = (int32_t)sum;
    }
}

/* As many columns as fill panels; returns how many. */
static inline size_t pack_panels(const takt_pack_i8_job *p, size_t group)
{
    size_t j = 0;
    for (; p->col == 1 && j + LINE * PANEL <= p->n; j += LINE * PANEL)
        pack_rows(p, j, LINE, group);
    for (; p->col == 1 && j + PANEL <= p->n; j += PANEL)
        pack_rows(p, j, 1, group);
    for (; p->row == 1 && j + PANEL <= p->n; j += PANEL)
        pack_columns(p, j, group);
    return j;
}

void takt_pack_i8(const takt_pack_i8_job *p)
{
    const size_t groups = takt_i8_deep(p->k, p->run, p->group) / p->group, line = PANEL * p->group;
    memset(p->dst, 0, ceil_div(p->n, PANEL) * groups * line);
    size_t j = p->run > 0      ? 0
               : p->group == 4 ? pack_panels(p, 4)
               : p->group == 8 ? pack_panels(p, 8)
                               : 0;
    for (; j < p->n; j++)
        pack_column(p, j, groups);
}

void takt_repack_i8(size_t k, size_t n, const int8_t *p16x4, int8_t *p16x8)
{
    const size_t fours = ceil_div(k, 4), eights = ceil_div(k, 8);
    for (size_t panel = 0; panel < ceil_div(n, 16); panel++)
        for (size_t i = 0; i < 2 * eights; i++)
            for (size_t j = 0; j < 16; j++) {
                int8_t *to = p16x8 + (panel * eights + i / 2) * 128 + j * 8 + i % 2 * 4;
                if (i < fours)
                    memcpy(to, p16x4 + (panel * fours + i) * 64 + j * 4, 4);
                else
                    memset(to, 0, 4);
            }
}
