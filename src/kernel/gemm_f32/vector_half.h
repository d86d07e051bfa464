/* vector_half.h - one row by panels of 16-bit elements, widened in registers.
 *
 * A template for x86, f32: a variant defines what vector_tile.h wants, and v_f16 and v_bf16, which
 * load W elements and widen them.
 */
INLINE vec half_load(const uint16_t *b, const bool is_bf16_)
{
    return is_bf16_ ? v_bf16(b) : v_f16(b);
}

INLINE void half_fixed(const row_job *r, const size_t count, const bool is_bf16_)
{
    vec acc[4][2];
    UNROLL for (size_t i = 0; i < count; i++) acc[i][0] = acc[i][1] = v_zero();
    for (size_t p = 0; p < r->k; p++) {
        const vec x = v_set(r->a[p]);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            const uint16_t *b = r->half + i * r->b_step + p * PANEL;
            acc[i][0] = v_fma(x, half_load(b, is_bf16_), acc[i][0]);
            if (PANEL > W)
                acc[i][1] = v_fma(x, half_load(b + PANEL - W, is_bf16_), acc[i][1]);
        }
    }
    UNROLL for (size_t i = 0; i < count; i++)
    {
        keep(r->c + i * r->c_step, acc[i][0], r->adds);
        if (PANEL > W)
            keep(r->c + i * r->c_step + PANEL - W, acc[i][1], r->adds);
    }
}

static void half_span(const uint16_t *from, size_t count, bool is_bf16_, float *to)
{
    for (size_t i = 0; is_bf16_ && i < count; i += W)
        v_store(to + i, v_bf16(from + i));
    for (size_t i = 0; !is_bf16_ && i < count; i += W)
        v_store(to + i, v_f16(from + i));
}

static void row_half(const row_job *r, size_t count, size_t width)
{
    (void)width;
    if (r->is_bf16 && count == 4)
        half_fixed(r, 4, true);
    else if (r->is_bf16)
        half_fixed(r, 1, true);
    else if (count == 4)
        half_fixed(r, 4, false);
    else
        half_fixed(r, 1, false);
}
