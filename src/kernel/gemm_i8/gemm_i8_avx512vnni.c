/* gemm_i8_avx512vnni.c - tiles of 14 x 32 by vpdpbusd.
 *
 * vpdpbusd multiplies unsigned by signed bytes: signed A is moved up by 128, and the sums of B's
 * columns compensate for that.
 */
#include "kernel/gemm_i8/direct.h"

#include <immintrin.h>

#define REQUANT_ROW takt_requant_row_avx512
#include "kernel/gemm_i8/finish_x86.inc"
#include "kernel/gemm_i8/requant.inc"

enum { GROUP = 4, PANELS = 2, MR = 14, A_BYTES = 512 << 10, A_SIZE = 1 };
enum { PIECE = 16, ROW_PAD = 1 };

#define FINISHES_BYTES
#define READS_ROW true
#include "kernel/gemm_i8/blocked.inc"
#include "kernel/gemm_i8/finish_block.inc"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

static int32_t flip(const takt_gemm_i8 *g)
{
    return g->a_unsigned ? 0 : 128;
}

static size_t packed_bytes(size_t rows, size_t k)
{
    return rows * round_up(k, PIECE);
}

/* k bytes, 16 at a time, to places `step` bytes apart, each flipped by `top`; the last is padded.
 */
static void pack_row(const char *a, size_t k, char *to, size_t step, int top)
{
    const __m128i flips = _mm_set1_epi8((char)top);
    for (size_t i = 0; i < k; i += 16, to += step) {
        __m128i x = _mm_setzero_si128();
        if (k - i >= 16)
            x = _mm_loadu_si128((const __m128i *)(const void *)(a + i));
        else
            memcpy(&x, a + i, k - i);
        _mm_storeu_si128((__m128i *)(void *)to, _mm_xor_si128(x, flips));
    }
}

/* To [k / 16][rows][16]. */
static void pack_tile(const takt_gemm_i8 *g, const strip *s, size_t k, char *to)
{
    for (size_t r = 0; r < s->rows; r++)
        pack_row((const char *)s->at[r], k, to + 16 * r, 16 * s->rows, g->a_unsigned ? 0 : 0x80);
}

INLINE __m512i four_of_a(const char *a)
{
    int x;
    memcpy(&x, a, sizeof x);
    return _mm512_set1_epi32(x);
}

INLINE void tile_fixed(const tile_job *t, const size_t rows, const size_t wide)
{
    __m512i acc[MR][2];
    UNROLL for (size_t r = 0; r < rows; r++) acc[r][0] = acc[r][1] = _mm512_setzero_si512();
    const char *a = t->a;
    const int8_t *b = t->b;
    for (size_t p = 0; p < t->k; p += 4, a += 16 * rows) {
        const size_t steps = least(t->k - p, 4);
        for (size_t q = 0; q < steps; q++, b += LINE) {
            const __m512i left = _mm512_loadu_si512(b);
            const __m512i right = wide == 2 ? _mm512_loadu_si512(b + t->b_panel) : left;
            UNROLL for (size_t r = 0; r < rows; r++)
            {
                const __m512i x = four_of_a(a + 16 * r + 4 * q);
                acc[r][0] = _mm512_dpbusd_epi32(acc[r][0], x, left);
                if (wide == 2)
                    acc[r][1] = _mm512_dpbusd_epi32(acc[r][1], x, right);
            }
        }
    }
    UNROLL for (size_t r = 0; r < rows; r++) for (size_t j = 0; j < wide; j++)
    {
        if (t->sum)
            acc[r][j] = _mm512_add_epi32(acc[r][j], _mm512_loadu_si512(t->sum + r * NR + 16 * j));
        _mm512_storeu_si512(t->c + r * NR + 16 * j, acc[r][j]);
    }
}

#include "kernel/simd/heights.h"

HEIGHTS_2_TO_14(TILE)
HEIGHTS_2_TO_14(THIN)

static void tile(size_t rows, size_t panels, const tile_job *t)
{
    static void (*const by_rows[2][MR - 1])(const tile_job *) = {{HEIGHTS_2_TO_14(THIN_NAME)},
                                                                 {HEIGHTS_2_TO_14(TILE_NAME)}};
    by_rows[panels - 1][rows - 2](t);
}

#include "kernel/gemm_i8/row_avx512.inc"

/* ---- one row, to bytes: no call and no block for each panel ---- */

/* Sixteen columns. */
FINISH_INLINE void row_put(const takt_gemm_i8 *g, const block *o, const int32_t *sums, size_t col,
                           const finish_way way)
{
    const finish_16 f = finish_begin(g->requant, col, 16, way);
    const sums_16 s = add_sums(load_sums(sums), finish_offset(g, o, col, 16));
    finish_put((uint8_t *)g->c + col, finish_bytes(&f, s, way), 16);
}

/* Four neighbours at once: their panels follow each other in memory. */
FINISH_INLINE void row_way(const takt_gemm_i8 *g, const block *o, const finish_way way)
{
    const size_t panels = g->n / 16;
    int32_t sums[4 * 16] __attribute__((aligned(64)));
    for (size_t j = 0, count; j < panels; j += count) {
        count = panels - j >= 4 ? 4 : 1;
        row_sums(g, g->b + j * g->b_panel, g->b_panel, sums, count);
        for (size_t i = 0; i < count; i++)
            row_put(g, o, sums + 16 * i, 16 * (j + i), way);
    }
}

static bool is_row(const takt_gemm_i8 *g)
{
    return g->m == 1 && g->n % 16 == 0 && g->n > 0 && g->image == NULL && g->b_zero == NULL &&
           finish_is_bytes(g->requant);
}

static void run_row(const takt_gemm_i8 *g)
{
    const block o = {.rows = 1, .shift = (uint32_t)g->a_zero + (uint32_t)flip(g)};
    switch (finish_way_of(g->requant, 0, g->n)) {
    case FINISH_SCALE: row_way(g, &o, FINISH_SCALE); break;
    case FINISH_RIGHT: row_way(g, &o, FINISH_RIGHT); break;
    case FINISH_FIXED: row_way(g, &o, FINISH_FIXED); break;
    case FINISH_WIDE: row_way(g, &o, FINISH_WIDE); break;
    }
}

#include "kernel/gemm_i8/direct_avx512.inc"

size_t takt_gemm_i8_vnni_bytes(const takt_gemm_i8 *g)
{
    return direct_fits(g) ? 0 : scratch_bytes(g);
}

void takt_gemm_i8_vnni(const takt_gemm_i8 *g)
{
    if (direct_fits(g))
        takt_gemm_i8_direct(g);
    else if (is_row(g))
        run_row(g);
    else
        run(g);
}

static const takt_gemm_i8_info info = {
    .rows = MR,
    .columns = NR,
    .group = GROUP,
    .scratch_bytes = takt_gemm_i8_vnni_bytes,
    .image = GROUP,
    .few_image = GROUP,
    .few = SIZE_MAX,
    .reads_runs = true,
    .wants_unsigned = true,
};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "avx512vnni_14x32", 40, takt_gemm_i8_vnni, &info));
