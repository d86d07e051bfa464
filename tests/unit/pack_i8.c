/* pack_i8.c - packed 8-bit weights: every element is where the layout says, whatever the strides of
 * the source, and column sums match the packed values. */
#include "kernel/gemm_i8/gemm_i8.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { MOST = 16000 };

static size_t up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Element (i, j) according to the contract. */
static int8_t element(const takt_pack_i8_job *p, size_t i, size_t j)
{
    const int x = p->src[i * p->row + j * p->col];
    return (int8_t)(p->is_unsigned ? (x & 255) - 128 : x);
}

static void check(const takt_pack_i8_job *p)
{
    const size_t lines = up(p->k, p->group), bytes = up(p->n, 16) * lines * 16 * p->group;
    size_t wrong = 0;
    for (size_t at = 0; at < bytes; at++) {
        const size_t panel = at / (lines * 16 * p->group), rest = at % (lines * 16 * p->group);
        const size_t i = rest / (16 * p->group) * p->group + rest % p->group;
        const size_t j = panel * 16 + rest % (16 * p->group) / p->group;
        const int8_t want = i < p->k && j < p->n ? element(p, i, j) : 0;
        wrong += p->dst[at] != want;
    }
    for (size_t j = 0; p->sums != NULL && j < p->n; j++) {
        int32_t sum = 0;
        for (size_t i = 0; i < p->k; i++)
            sum += element(p, i, j);
        wrong += p->sums[j] != sum;
    }
    EXPECT(wrong == 0, "k %zu, n %zu, group %zu, row %zu, col %zu: %zu are wrong", p->k, p->n,
           p->group, p->row, p->col, wrong);
}

/* Source and result are blocks of their exact sizes, for tools that detect accesses beyond them. */
static void pack(takt_pack_i8_job p, const int8_t *values)
{
    const size_t bytes = up(p.n, 16) * up(p.k, p.group) * 16 * p.group;
    const size_t count = (p.k - 1) * p.row + (p.n - 1) * p.col + 1;
    int8_t *src = malloc(count), *dst = malloc(bytes);
    int32_t *sums = malloc(p.n * sizeof *sums);
    if (EXPECT(src != NULL && dst != NULL && sums != NULL && count <= MOST)) {
        memcpy(src, values, count);
        memset(dst, 0x5a, bytes);
        p.src = src;
        p.dst = dst;
        p.sums = p.k % 2 != 0 ? sums : NULL;
        takt_pack_i8(&p);
        check(&p);
    }
    free(sums);
    free(dst);
    free(src);
}

int main(void)
{
    static const size_t ks[] = {1, 3, 4, 5, 8, 9, 15, 16, 33}, ns[] = {1, 15, 16, 17, 48, 64, 81};
    static int8_t values[MOST];
    for (size_t i = 0; i < MOST; i++)
        values[i] = (int8_t)(i * i * 37 + i / 7);
    for (size_t a = 0; a < sizeof ks / sizeof *ks; a++)
        for (size_t b = 0; b < sizeof ns / sizeof *ns; b++)
            for (unsigned bits = 0; bits < 16; bits++) {
                const size_t k = ks[a], n = ns[b], gap = bits & 1 ? 3 : 0;
                takt_pack_i8_job p = {.k = k, .n = n, .group = bits & 2 ? 8 : 4};
                p.is_unsigned = (bits & 4) != 0;
                p.row = bits & 8 ? 1 : n + gap;
                p.col = bits & 8 ? k + gap : 1;
                pack(p, values);
                p.row = 2 * p.row;
                p.col = bits & 8 ? p.col * 2 : 1;
                pack(p, values);
            }
    return test_done();
}
