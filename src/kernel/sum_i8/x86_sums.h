/* x86_sums.h - sixteen elements at a time on AVX2 and AVX-512, in the fixed point of gemm_i8's
 * finish_x86.h; the rest is left to plain.h. */
#include "kernel/sum_i8/sum_i8.h"

#include "kernel/gemm_i8/gemm_i8.h"

#include "kernel/gemm_i8/finish_x86.h"
#include "kernel/sum_i8/plain.h"

/* One operand: what is taken away, and what it is multiplied by. */
typedef struct operand {
    vi zero, bits;
    finish_16 f;
} operand;

FINISH_INLINE operand operand_of(const takt_sum_i8 *s, int which)
{
    const takt_sum_grid *o = &s->of[which];
    const takt_requant q = {.multiplier = &o->multiplier, .shift = &o->shift};
    return (operand){vi_set1(o->zero), vi_set1(s->bits), finish_begin(&q, 0, 16, FINISH_FIXED)};
}

FINISH_INLINE vi raised_vector(const operand *o, const uint8_t *p, const bool is_unsigned)
{
    const vi value = is_unsigned ? vi_load_u8(p) : vi_load_i8((const int8_t *)p);
    return finish_fixed(&o->f, finish_shl(vi_sub(value, o->zero), o->bits), 0, FINISH_FIXED);
}

FINISH_INLINE void sum_vectors(const takt_sum_i8 *s, const bool is_unsigned)
{
    const operand a = operand_of(s, 0), b = operand_of(s, 1);
    const takt_requant q = {.multiplier = &s->multiplier,
                            .shift = &s->shift,
                            .zero = s->zero,
                            .lo = s->lo,
                            .hi = s->hi};
    const finish_16 f = finish_begin(&q, 0, 16, FINISH_FIXED);
    size_t n = 0;
    for (; n + 16 <= s->n; n += 16) {
        sums_16 sum;
        FINISH_EACH(i)
        {
            const vi x = raised_vector(&a, s->a + n + i * VF, is_unsigned),
                     y = raised_vector(&b, s->b + n + i * VF, is_unsigned);
            sum.at[i] = s->is_less ? vi_sub(x, y) : vi_add(x, y);
        }
        finish_put(s->y + n, finish_bytes(&f, sum, FINISH_FIXED), 16);
    }
    plain(s, n);
}

/* Works on a copy: no byte that is stored could be part of that. */
static void run(const takt_sum_i8 *given)
{
    const takt_sum_i8 s = *given;
    if (s.is_unsigned)
        sum_vectors(&s, true);
    else
        sum_vectors(&s, false);
}
