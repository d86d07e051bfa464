/* quotient.c - DIV of bytes: a table of all pairs of them. */
#include "io/tflite/quant.h"

typedef struct division {
    takt_tfl_fixed scale; /* of the quotient of two centred numbers */
    takt_tfl_quant a, b, y;
    takt_tfl_range all, range;
} division;

/* Redundant sign bits of 32. */
static int headroom_of(int32_t x)
{
    int count = 0;
    for (uint32_t bits = (uint32_t)(x < 0 ? ~x : x) << 1; count < 31 && bits >> 31 == 0; bits <<= 1)
        count++;
    return count;
}

/* x / y of y > 0 times the scale: by the reciprocal of y, whose highest bit becomes 1. */
static int64_t scaled_quotient(int32_t x, int32_t y, takt_tfl_fixed scale)
{
    const int left = headroom_of(y) + 1, headroom = headroom_of(x), over = 31 - left;
    const int64_t inverse =
        takt_fx_reciprocal((int64_t)((uint32_t)y << left) - (INT64_C(1) << 31), 32);
    const int64_t moved = (int32_t)((uint32_t)x << headroom);
    const int64_t plain = takt_fx_mul(moved, inverse, 32);
    const int by = over + headroom - scale.shift;
    return takt_fx_divide(takt_fx_mul(plain, scale.multiplier, 32), by < 62 ? by : 62);
}

static int64_t level(const division *d, int64_t first, int64_t second)
{
    const int32_t sign = second < d->b.zero ? -1 : 1;
    const int32_t x = sign * ((int32_t)first - d->a.zero), y = sign * ((int32_t)second - d->b.zero);
    const int64_t most = (int64_t)d->range.high - d->range.low,
                  q = y != 0  ? scaled_quotient(x, y, d->scale)
                      : x < 0 ? -most
                      : x > 0 ? most
                              : 0;
    const int64_t at = q + d->y.zero;
    return at < d->range.low ? d->range.low : at > d->range.high ? d->range.high : at;
}

/* Entry 256 * a + b, both by their bits. */
static void fill(const division *d, int64_t *table)
{
    for (int64_t a = d->all.low; a <= d->all.high; a++)
        for (int64_t b = d->all.low; b <= d->all.high; b++)
            table[(a & 255) << 8 | (b & 255)] = level(d, a, b);
}

/* Both bytes as a number of 16 bits. */
static takt_id pair(takt_tfl_call *c, takt_id a, takt_id b)
{
    takt_graph *g = c->g;
    const takt_id high =
        takt_mul(g, takt_tfl_cast(c, a, TAKT_I32), takt_tfl_number(c, TAKT_I32, 256));
    const takt_id low = takt_tfl_cast(c, takt_tfl_cast(c, b, TAKT_U8), TAKT_I32);
    return takt_tfl_cast(c, takt_add(g, high, low), TAKT_I16);
}

takt_id takt_tfl_quotient(takt_tfl_call *c, int activation)
{
    enum { ENTRIES = 1 << 16, MOST_LEFT = 22 }; /* that far to the left sums still go right */
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_id a = takt_tfl_need(c, 0), b = takt_tfl_need(c, 1);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    if (!takt_tfl_is_byte(dtype) || takt_type_of(c->g, a)->dtype != dtype ||
        takt_type_of(c->g, b)->dtype != dtype) {
        (void)takt_tfl_refuse(c, "quantised numbers that are not bytes");
        return TAKT_NONE;
    }
    division d = {.a = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                  .b = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                  .y = takt_tfl_quant_of(c, ty),
                  .all = takt_tfl_range_of(dtype),
                  .range = takt_tfl_activation(c, ty, activation)};
    const double real = (double)d.a.scale / ((double)d.b.scale * (double)d.y.scale);
    if (takt_tfl_good(c))
        d.scale = takt_tfl_fixed_of(real < 2147483647.0 ? real : 2147483647.0);
    if (takt_tfl_good(c) && d.scale.shift > MOST_LEFT)
        (void)takt_tfl_refuse(c, "scales with a quotient of %g", real);
    int64_t *table = takt_tfl_scratch_table(c);
    if (table == NULL || !takt_tfl_good(c))
        return TAKT_NONE;
    fill(&d, table);
    return takt_tfl_look_up(c, pair(c, a, b), dtype, table);
}
