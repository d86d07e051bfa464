/* cast_hint.c - which of two element types to convert to. */
#include "ir/cast_hint.h"

/* Floats can hold integers, wider types narrower ones, signed types signs; bool converts to
 * anything. */
static int rank_of(takt_dtype dtype)
{
    if (dtype == TAKT_BOOL)
        return 0;
    return (takt_dtype_is_float(dtype) ? 1000 : 0) + 2 * takt_dtype_bits(dtype) +
           takt_dtype_is_signed(dtype);
}

takt_status takt_cast_hint(takt_ctx *ctx, takt_dtype a, takt_dtype b)
{
    const takt_dtype to = rank_of(b) > rank_of(a) ? b : a, from = to == a ? b : a;
    return takt_fail_hint(ctx, "convert the %s one: cast(x, dtype=%s)", takt_dtype_name(from),
                          takt_dtype_name(to));
}
