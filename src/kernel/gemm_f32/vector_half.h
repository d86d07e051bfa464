/* vector_half.h - one row by panels of 16-bit elements, widened in registers.
 *
 * A template for x86, f32: a variant defines what vector_tile.h wants, and v_f16 and v_bf16, which
 * load W elements and widen them.
 */
INLINE vec half_load(const uint16_t *b, const bool is_bf16_)
{
    return is_bf16_ ? v_bf16(b) : v_f16(b);
}

INLINE void half_steps(const float *a, const uint16_t *const *b, vec (*acc)[2], const size_t steps,
                       const size_t count, const bool is_bf16_)
{
    UNROLL for (size_t p = 0; p < steps; p++)
    {
        const vec x = v_set(a[p]);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            const uint16_t *from = b[i] + p * PANEL;
            acc[i][0] = v_fma(x, half_load(from, is_bf16_), acc[i][0]);
            if (PANEL > W)
                acc[i][1] = v_fma(x, half_load(from + PANEL - W, is_bf16_), acc[i][1]);
        }
    }
}

/* As row_fixed. */
INLINE void half_fixed(const row_job *r, const size_t count, const bool is_bf16_)
{
    vec acc[STREAMS][2];
    const uint16_t *b[STREAMS];
    const float *a = r->a;
    UNROLL for (size_t i = 0; i < count; i++)
    {
        acc[i][0] = acc[i][1] = v_zero();
        b[i] = r->half + i * r->b_step;
    }
    for (size_t p = r->k / 4; p > 0; p--, a += 4) {
        half_steps(a, b, acc, 4, count, is_bf16_);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            b[i] += 4 * PANEL;
            __asm__("" : "+r"(b[i]));
        }
    }
    for (size_t p = r->k % 4; p > 0; p--, a++) {
        half_steps(a, b, acc, 1, count, is_bf16_);
        UNROLL for (size_t i = 0; i < count; i++) b[i] += PANEL;
    }
    keep_row(r, acc, count);
}

INLINE void half_counted(const row_job *r, size_t count, const bool is_bf16_)
{
    if (count == STREAMS)
        half_fixed(r, STREAMS, is_bf16_);
    else if (count == 4)
        half_fixed(r, 4, is_bf16_);
    else
        half_fixed(r, 1, is_bf16_);
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
    if (r->is_bf16)
        half_counted(r, count, true);
    else
        half_counted(r, count, false);
}
