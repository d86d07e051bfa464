/* row512.h - one row by vdpbf16ps, for variants of 512 bits: a tile of AMX would multiply fifteen
 * rows of zeros. After blocked.h and round512.h. */
#include "kernel/gemm_half/row.h"

static void round_chunk(const takt_gemm_f32 *g, const block *o)
{
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    for (size_t p = 0; p < o->k; p += 16)
        _mm256_storeu_si256((__m256i *)(void *)(to + p),
                            sixteen_of(g, g->a + o->p * g->a_col, p, o->k));
}

/* A pair of k by `vectors` of sixteen columns of each panel. */
static inline __attribute__((always_inline)) void
row_step(const row_job *r, size_t p, __m512 (*sum)[2], const size_t count, const size_t vectors)
{
    int32_t pair;
    memcpy(&pair, r->a + p, sizeof pair);
    const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++) {
            const uint16_t *b = r->b + i * r->b_step + p * 16 * vectors + 32 * j;
            sum[i][j] = _mm512_dpbf16_ps(sum[i][j], x, (__m512bh)_mm512_loadu_si512(b));
        }
}

/* Two sums for each, to hide latency. */
static inline __attribute__((always_inline)) void row_fixed(const row_job *r, const size_t count,
                                                            const size_t vectors)
{
    __m512 even[4][2], odd[4][2];
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++)
            even[i][j] = odd[i][j] = _mm512_setzero_ps();
    size_t p = 0;
    for (; p + 4 <= r->k; p += 4) {
        row_step(r, p, even, count, vectors);
        row_step(r, p + 2, odd, count, vectors);
    }
    if (p < r->k)
        row_step(r, p, even, count, vectors);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < vectors; j++) {
            float *to = r->c + i * r->c_step + 16 * j;
            const __m512 sum = _mm512_add_ps(even[i][j], odd[i][j]);
            _mm512_storeu_ps(to, r->adds ? _mm512_add_ps(_mm512_loadu_ps(to), sum) : sum);
        }
}

/* There are never four narrow panels. */
static void row_panels(const row_job *r, size_t count, size_t cols)
{
    if (cols == NARROW)
        row_fixed(r, 1, 1);
    else if (count == 4)
        row_fixed(r, 4, 2);
    else
        row_fixed(r, 1, 2);
}

static bool is_one_row(const takt_gemm_f32 *g)
{
    return g->m == 1 && g->n > 0 && g->image == NULL;
}

static void run_row(const takt_gemm_f32 *g)
{
    one_row(g, (block){.rows = 1, .edge = (float *)(void *)((char *)g->scratch + a_bytes(g))});
}
