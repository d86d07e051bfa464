/* random_array.c - reproducible values for the inputs of graphs. */
#include "util/random_array.h"

#include <math.h>

/* splitmix64: works with any seed. */
uint64_t takt_random_bits(takt_random *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t takt_random_below(takt_random *r, size_t count)
{
    return (size_t)(takt_random_bits(r) % count);
}

double takt_random_between(takt_random *r, double low, double high)
{
    return low + (high - low) * ((double)(takt_random_bits(r) >> 11) * 0x1p-53);
}

static int64_t random_integer(takt_random *r, takt_dtype dtype, const takt_sample_range *range)
{
    if (range != NULL && range->is_set) {
        const int64_t low = (int64_t)ceil(range->low), high = (int64_t)floor(range->high);
        return low + (high > low ? (int64_t)takt_random_below(r, (size_t)(high - low) + 1) : 0);
    }
    if (dtype == TAKT_BOOL)
        return (int64_t)takt_random_below(r, 2);
    if (takt_random_below(r, 8) == 0)
        return takt_dtype_wrap(dtype, (int64_t)takt_random_bits(r));
    const int64_t small = (int64_t)takt_random_below(r, 10);
    return takt_dtype_is_unsigned(dtype) ? small : 2 * small - 9;
}

takt_status takt_random_array(takt_ctx *ctx, takt_random *r, const takt_type *type,
                              const takt_sample_range *range, takt_array *out)
{
    const bool has_range = range != NULL && range->is_set;
    TAKT_TRY(takt_array_create(ctx, type, out));
    for (size_t i = 0; i < out->count; i++) {
        if (out->f != NULL)
            out->f[i] = has_range ? takt_random_between(r, range->low, range->high)
                                  : takt_random_between(r, -2, 2);
        else
            out->i[i] = random_integer(r, type->dtype, range);
    }
    takt_array_round(out);
    return TAKT_OK;
}
