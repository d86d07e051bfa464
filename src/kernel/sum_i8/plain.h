/* plain.h - one element after the other: what scalar does, and what vectors leave over. */
#include "kernel/sum_i8/sum_i8.h"

static inline uint32_t raised(const takt_sum_i8 *s, uint8_t byte, int which)
{
    const takt_sum_grid *o = &s->of[which];
    const int32_t value = s->is_unsigned ? byte : (int8_t)byte;
    const uint32_t up = (uint32_t)(value - o->zero) << s->bits;
    return (uint32_t)takt_fixed_scale(up, o->multiplier, o->shift);
}

/* Elements [from, n). */
static inline void plain(const takt_sum_i8 *s, size_t from)
{
    const int32_t lo = s->lo - s->zero, hi = s->hi - s->zero;
    for (size_t i = from; i < s->n; i++) {
        const uint32_t a = raised(s, s->a[i], 0), b = raised(s, s->b[i], 1);
        const int32_t r = takt_fixed_scale(s->is_less ? a - b : a + b, s->multiplier, s->shift);
        s->y[i] = (uint8_t)((r < lo ? lo : r > hi ? hi : r) + s->zero);
    }
}
