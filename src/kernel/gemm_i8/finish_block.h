/* finish_block.h - the sums of a block of blocked.h to bytes, sixteen columns at a time, on NEON.
 *
 * Zero points of B are rare: they cost a multiplication for each vector.
 */

FINISH_INLINE sums_16 add_sums(sums_16 x, sums_16 y)
{
    return (sums_16){vaddq_s32(x.a, y.a), vaddq_s32(x.b, y.b), vaddq_s32(x.c, y.c),
                     vaddq_s32(x.d, y.d)};
}

/* x - y * times */
FINISH_INLINE sums_16 less_sums(sums_16 x, sums_16 y, int32_t times)
{
    return (sums_16){vmlsq_n_s32(x.a, y.a, times), vmlsq_n_s32(x.b, y.b, times),
                     vmlsq_n_s32(x.c, y.c, times), vmlsq_n_s32(x.d, y.d, times)};
}

/* What is added to the sums of every row: the bias, and what A's zero point brings. */
FINISH_INLINE sums_16 finish_offset(const takt_gemm_i8 *g, const block *o, size_t col, size_t n)
{
    const int32x4_t none = vdupq_n_s32(0);
    int32x4_t bias[4] = {none, none, none, none}, sum[4];
    if (g->requant->bias)
        finish_load(g->requant->bias + col, true, n, bias);
    finish_load(g->b_sum + col, true, n, sum);
    return less_sums((sums_16){bias[0], bias[1], bias[2], bias[3]},
                     (sums_16){sum[0], sum[1], sum[2], sum[3]}, (int32_t)o->shift);
}

/* At most sixteen columns of a block. */
typedef struct finish_job {
    finish_16 f;
    sums_16 offset, zero;
    const int32_t *sums;
    uint8_t *c;
    size_t n;
} finish_job;

FINISH_INLINE void finish_rows(const takt_gemm_i8 *g, const block *o, const finish_job *job,
                               const finish_way way)
{
    const finish_16 f = job->f;
    const int32_t *sums = job->sums;
    uint8_t *c = job->c;
    for (size_t i = 0; i < o->rows; i++, sums += NR, c += g->ldc) {
        sums_16 s = add_sums(load_sums(sums), job->offset);
        if (g->b_zero)
            s = less_sums(s, job->zero, (int32_t)o->row_sums[i]);
        const uint8x16_t y = finish_bytes(&f, s, way);
        if (job->n == 16)
            vst1q_u8(c, y);
        else
            finish_some(c, y, job->n);
    }
}

/* n <= 16 columns from `col` on, whose sums lie `at` columns into those of the block. */
static void finish_panel(const takt_gemm_i8 *g, const block *o, size_t at, size_t n)
{
    const size_t col = o->col + at;
    int32_t zeros[16] = {0};
    if (g->b_zero)
        memcpy(zeros, g->b_zero + col, n * sizeof *zeros);
    const finish_job job = {.f = finish_begin(g->requant, col, n),
                            .offset = finish_offset(g, o, col, n),
                            .zero = load_sums(zeros),
                            .sums = o->sums + at,
                            .c = (uint8_t *)g->c + o->row * g->ldc + col,
                            .n = n};
    if (job.f.way == FINISH_SCALE)
        finish_rows(g, o, &job, FINISH_SCALE);
    else if (job.f.way == FINISH_RIGHT)
        finish_rows(g, o, &job, FINISH_RIGHT);
    else if (job.f.way == FINISH_WIDE)
        finish_rows(g, o, &job, FINISH_WIDE);
    else
        finish_rows(g, o, &job, FINISH_FIXED);
}

static void finish_block(const takt_gemm_i8 *g, const block *o)
{
    for (size_t at = 0; at < o->cols; at += 16)
        finish_panel(g, o, at, o->cols - at < 16 ? o->cols - at : 16);
}
