/* block_i8_avx512vnni.c - levels by vpdpbusd, which takes them unsigned as they are: one row by
 * four distant panels, four rows by one. */
#include "kernel/block_i8/block_i8.h"

#include <immintrin.h>
#include <string.h>

enum { DISTANT = 4, MR = 4 };
#define LEVEL_SHIFT(bits) 0

typedef const int8_t *act;

static inline act act_load(const int8_t *p)
{
    return p;
}

static inline __attribute__((always_inline)) __m512i levels(__m512i word, const unsigned bits,
                                                            const unsigned j)
{
    if (bits == 8)
        return word;
    return _mm512_and_si512(_mm512_srli_epi32(word, bits * j),
                            _mm512_set1_epi8((char)((1U << bits) - 1)));
}

static inline __attribute__((always_inline)) __m512i dot4(__m512i sum, __m512i level, act a,
                                                          const int lane, const unsigned bits)
{
    int32_t four;
    (void)bits;
    memcpy(&four, a + 4 * lane, sizeof four);
    return _mm512_dpbusd_epi32(sum, level, _mm512_set1_epi32(four));
}

#include "kernel/block_i8/body.h"

static void run(const takt_block_i8 *g)
{
    run_rows(g);
}

static size_t scratch_bytes(const takt_block_i8 *g)
{
    return rows_scratch(g);
}

static const takt_block_i8_info info = {MR, scratch_bytes};

TAKT_KERNELS(block_i8, TAKT_KERNEL(block_i8, "avx512vnni_4x16", 40, run, &info));
