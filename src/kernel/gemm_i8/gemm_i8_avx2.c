/* gemm_i8_avx2.c - tiles of 3 x 16 by vpmaddwd on bytes widened to 16 bits.
 *
 * vpmaddubsw would be twice as fast, and wrong: it saturates. A is widened while it is packed. A
 * sum of four k of a column takes two lanes, added at the end.
 */
#include "kernel/gemm_i8/gemm_i8.h"

#include <immintrin.h>

#define REQUANT_ONLY_FLOATS
#include "kernel/gemm_i8/finish_x86.inc"
#include "kernel/gemm_i8/requant.h"
#include "kernel/gemm_i8/requant.inc"

enum { GROUP = 4, PANELS = 1, MR = 3, A_BYTES = 128 << 10, A_SIZE = 2 };
enum { PIECE = 16, ROW_PAD = 1 };

#define FINISHES_BYTES
#include "kernel/gemm_i8/blocked.inc"
#include "kernel/gemm_i8/finish_block.inc"

#define INLINE static inline __attribute__((always_inline))

static int32_t flip(const takt_gemm_i8 *g)
{
    (void)g;
    return 0;
}

static size_t packed_bytes(size_t rows, size_t k)
{
    return rows * round_up(k, PIECE) * A_SIZE;
}

/* To [k / 4][rows][4] of 16 bits. */
static void pack_tile(const takt_gemm_i8 *g, const strip *s, size_t k, char *to)
{
    for (size_t r = 0; r < s->rows; r++) {
        const uint8_t *a = s->at[r];
        for (size_t i = 0; i < k; i += 4) {
            uint8_t four[4] = {0};
            int16_t wide[4];
            memcpy(four, a + i, least(k - i, 4));
            for (size_t j = 0; j < 4; j++)
                wide[j] = g->a_unsigned ? four[j] : (int8_t)four[j];
            memcpy(to + (i / 4 * s->rows + r) * sizeof wide, wide, sizeof wide);
        }
    }
}

INLINE __m256i widen(const int8_t *b)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)b));
}

INLINE __m256i four_of_a(const char *a)
{
    long long x;
    memcpy(&x, a, sizeof x);
    return _mm256_set1_epi64x(x);
}

/* acc[row][4] += A * B; a vector of sums belongs to four columns. */
INLINE void product(const char *a, const int8_t *b, size_t steps, __m256i (*acc)[4],
                    const size_t rows)
{
    for (; steps; steps--, a += 8 * rows, b += LINE)
        for (size_t j = 0; j < 4; j++) {
            const __m256i y = widen(b + 16 * j);
            for (size_t r = 0; r < rows; r++)
                acc[r][j] = _mm256_add_epi32(acc[r][j], _mm256_madd_epi16(four_of_a(a + 8 * r), y));
        }
}

/* Eight columns: pairs of lanes added, in the order of columns. */
INLINE __m256i fold(__m256i x, __m256i y)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(x, y), 0xd8);
}

INLINE void put(int32_t *c, __m256i x, const int32_t *sum)
{
    if (sum)
        x = _mm256_add_epi32(x, _mm256_loadu_si256((const __m256i *)(const void *)sum));
    _mm256_storeu_si256((__m256i *)(void *)c, x);
}

INLINE void tile_fixed(const tile_job *t, const size_t rows)
{
    __m256i acc[MR][4];
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < 4; j++)
            acc[r][j] = _mm256_setzero_si256();
    product(t->a, t->b, t->k, acc, rows);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < 2; j++)
            put(t->c + r * NR + 8 * j, fold(acc[r][2 * j], acc[r][2 * j + 1]),
                t->sum ? t->sum + r * NR + 8 * j : NULL);
}

static void tile(size_t rows, size_t panels, const tile_job *t)
{
    (void)panels;
    if (rows == 3)
        tile_fixed(t, 3);
    else if (rows == 2)
        tile_fixed(t, 2);
    else
        tile_fixed(t, 1);
}

static void row_panels(const takt_gemm_i8 *g, const int8_t *b, size_t b_step, size_t steps,
                       int32_t *sums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const tile_job t = {.a = g->scratch, .b = b + i * b_step, .k = steps, .c = sums + 16 * i};
        tile_fixed(&t, 1);
    }
}

void takt_requant_row_avx2(const takt_gemm_i8 *g, const uint32_t *x, size_t row, size_t col,
                           size_t n)
{
    requant_scaled(g, x, row, col, n);
}

static const takt_gemm_i8_info info = {
    .rows = MR,
    .columns = NR,
    .group = GROUP,
    .scratch_bytes = scratch_bytes,
    .image = PIECE,
    .few_image = PIECE,
};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "avx2_3x16", 20, run, &info));
