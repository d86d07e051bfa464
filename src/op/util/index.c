/* index.c - reading indices with their range check, and combining elements. */
#include "op/util/index.h"

#include <math.h>
#include <string.h>

const char *const takt_scatter_names[] = {"none", "add", "mul", "max", "min", NULL};

void takt_index_copy(takt_array *to, const takt_array *from)
{
    if (to->count == 0)
        return;
    if (takt_dtype_is_float(to->dtype))
        memcpy(to->f, from->f, to->count * sizeof *to->f);
    else
        memcpy(to->i, from->i, to->count * sizeof *to->i);
}

takt_status takt_index_read(const takt_eval *e, size_t input, size_t element, int64_t size,
                            int64_t *out)
{
    const int64_t value = e->in[input].i[element];
    *out = value < 0 ? value + size : value;
    if (value >= -size && value < size)
        return TAKT_OK;
    return takt_fail(e->ctx, TAKT_E_INDEX,
                     "%s: index %lld at element %zu is outside a dimension of size %lld",
                     e->node->op->name, (long long)value, element, (long long)size);
}

static double combine_f(takt_scatter how, double a, double b)
{
    switch (how) {
    case TAKT_SET: return b;
    case TAKT_ADD: return a + b;
    case TAKT_MUL: return a * b;
    case TAKT_MAX: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case TAKT_MIN: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    }
    return b;
}

static int64_t combine_i(takt_scatter how, bool is_unsigned, int64_t a, int64_t b)
{
    const bool less = is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
    switch (how) {
    case TAKT_SET: return b;
    case TAKT_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TAKT_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TAKT_MAX: return less ? b : a;
    case TAKT_MIN: return less ? a : b;
    }
    return b;
}

/* Integers wrap immediately, so that max and min after it see what is stored. */
void takt_index_combine(takt_scatter how, takt_array *to, size_t i, const takt_array *from,
                        size_t j)
{
    if (takt_dtype_is_float(to->dtype)) {
        to->f[i] = combine_f(how, to->f[i], from->f[j]);
        return;
    }
    const bool is_unsigned = takt_dtype_is_unsigned(to->dtype);
    to->i[i] = takt_dtype_wrap(to->dtype, combine_i(how, is_unsigned, to->i[i], from->i[j]));
}
