/* gemm_i8.c - packing of 8-bit weights. */
#include "kernel/gemm_i8/gemm_i8.h"

#include <string.h>

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

void takt_pack_i8(const takt_pack_i8_job *p)
{
    const size_t groups = ceil_div(p->k, p->group), line = 16 * p->group;
    const uint8_t flip = p->is_unsigned ? 0x80 : 0;
    memset(p->dst, 0, ceil_div(p->n, 16) * groups * line);
    for (size_t j = 0; j < p->n; j++) {
        int8_t *to = p->dst + j / 16 * groups * line + j % 16 * p->group;
        int64_t sum = 0;
        for (size_t i = 0; i < p->k; i++) {
            const int8_t x = (int8_t)((uint8_t)p->src[i * p->row + j * p->col] ^ flip);
            to[i / p->group * line + i % p->group] = x;
            sum += x;
        }
        if (p->sums)
            p->sums[j] = (int32_t)(uint32_t)sum;
    }
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
