/* finish_amx.h - sums of tiles become results, sixteen at a time; part of gemm_i8_amx.c.
 *
 * Where k is short that is as much work as the products. So sums wait until the next ones are
 * multiplied, and some rows of them are finished after every step of that.
 */

/* What is added to all sums of a column, and what they are multiplied by. */
typedef struct constants {
    uint32_t base[NR];
    float scale[NR];
    __mmask16 there[2]; /* columns that exist */
} constants;

/* Sums of a tile; those at from[i] belong to row to[i] of the block. */
typedef struct tile_sums {
    uint32_t at[MR][NR];
    size_t count, done;
    uint8_t from[MR];
    size_t to[MR];
} tile_sums;

static __mmask16 mask_of(size_t columns)
{
    return columns >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << columns) - 1);
}

static constants constants_of(const block *o)
{
    const takt_gemm_i8 *g = o->g;
    const takt_requant *q = g->requant;
    constants f = {.there = {mask_of(o->cols), mask_of(o->cols > 16 ? o->cols - 16 : 0)}};
    for (size_t j = 0; j < o->cols; j++) {
        const uint32_t bias = q->bias ? (uint32_t)q->bias[o->col + j] : 0;
        f.base[j] = bias - (o->shift ? o->shift * (uint32_t)g->b_sum[o->col + j] : 0);
        if (q->to != TAKT_REQUANT_I32 && q->multiplier == NULL && q->wide == NULL)
            f.scale[j] = q->scale[q->scale_per_column ? o->col + j : 0];
    }
    return f;
}

/* Exact sums of sixteen columns of a row, to C. */
INLINE void put(const block *o, const constants *f, __m512i x, size_t row, size_t j)
{
    const takt_requant *q = o->g->requant;
    const __mmask16 there = f->there[j / 16];
    const size_t at = row * o->g->ldc + o->col + j;
    if (q->to == TAKT_REQUANT_I32) {
        _mm512_mask_storeu_epi32((int32_t *)o->g->c + at, there, x);
        return;
    }
    if ((q->multiplier != NULL || q->wide != NULL) && q->to != TAKT_REQUANT_F32) {
        uint32_t sums[16];
        _mm512_storeu_si512(sums, x);
        (void)narrow_otherwise(q, sums, o->col + j, least(o->cols - j, 16),
                               (uint8_t *)o->g->c + at);
        return;
    }
    const __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(x), _mm512_loadu_ps(f->scale + j));
    if (q->to == TAKT_REQUANT_F32)
        _mm512_mask_storeu_ps((float *)o->g->c + at, there, y);
    else
        narrow_sixteen(q, y, (uint8_t *)o->g->c + at, there);
}

INLINE void finish_sums(const block *o, const constants *f, const uint32_t *x, size_t at)
{
    const takt_gemm_i8 *g = o->g;
    const takt_epilogue_f32 *e = g->requant->to == TAKT_REQUANT_F32 ? g->requant->epilogue : NULL;
    const size_t row = o->row + at;
    for (size_t j = 0; j < NR && f->there[j / 16]; j += 16) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(x + j), _mm512_loadu_si512(f->base + j));
        if (g->b_zero) {
            const __m512i zero = _mm512_maskz_loadu_epi32(f->there[j / 16], g->b_zero + o->col + j);
            const __m512i less =
                _mm512_mullo_epi32(_mm512_set1_epi32((int32_t)o->row_sums[at]), zero);
            sum = _mm512_sub_epi32(sum, less);
        }
        put(o, f, sum, row, j);
    }
    if (e)
        finish_row(e, (float *)g->c + row * g->ldc + o->col, row, o->col, o->cols);
}

/* The next `rows` rows of sums that wait. */
INLINE void finish_some(const block *o, const constants *f, tile_sums *s, size_t rows)
{
    const size_t end = least(s->done + rows, s->count);
    for (; s->done < end; s->done++)
        finish_sums(o, f, s->at[s->from[s->done]], s->to[s->done]);
}
