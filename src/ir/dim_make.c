/* dim_make.c - the operations on dimensions, with the laws that keep expressions in normal form.
 *
 * floordiv by a number takes out whatever is divisible: floordiv(5*n + 3, 2) is 2*n + 1 +
 * floordiv(n + 1, 2). Factors common to all terms of both are cancelled: floordiv(b*n + b, 2*b) is
 * floordiv(n + 1, 2). ceildiv(a, b) is floordiv(a + b - 1, b). */
#include "ir/dim_table.h"

/* Splits `s` by a positive number: s = by * whole + rest, factors of rest in [0, by). */
static bool split(const dim_sum *s, int64_t by, dim_sum *whole, dim_sum *rest)
{
    whole->count = rest->count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        dim_term term = s->term[i];
        const int64_t factor = term.factor, below = factor % by;
        term.factor = factor / by - (below < 0);
        if (!takt_dim_sum_add_term(whole, &term))
            return false;
        term.factor = below < 0 ? below + by : below;
        if (!takt_dim_sum_add_term(rest, &term))
            return false;
    }
    return true;
}

static takt_status zero_divisor(takt_dims *dims, takt_dim a)
{
    if (takt_dim_is_number(a))
        return takt_fail(dims->ctx, TAKT_E_DIM, "a dimension, %lld, is divided by zero or less",
                         (long long)a);
    return takt_fail(dims->ctx, TAKT_E_DIM, "a dimension, %s, is divided by zero or less",
                     takt_dim_text(dims, a));
}

/* Quotient by a positive number; the dividend is in dims->a. */
static takt_status floordiv_number(takt_dims *dims, int64_t by, takt_dim *out)
{
    takt_dim rest, quotient;
    int64_t number;
    if (!split(&dims->a, by, &dims->c, &dims->d))
        return takt_dim_too_large(dims);
    if (takt_dim_sum_number(&dims->d, &number)) /* less than `by`, so its quotient is 0 */
        return takt_dim_store(dims, &dims->c, out);
    TAKT_TRY(takt_dim_store(dims, &dims->d, &rest));
    TAKT_TRY(takt_dim_opaque(dims, TAKT_DIM_FLOORDIV, rest, by, &quotient));
    takt_dim_load(dims, quotient, &dims->d);
    if (!takt_dim_sum_add(&dims->c, &dims->d, 1))
        return takt_dim_too_large(dims);
    return takt_dim_store(dims, &dims->c, out);
}

/* Divides both by the atoms common to all their terms. */
static void cancel(takt_dims *dims)
{
    for (uint32_t i = 0; dims->b.count > 0 && i < dims->b.term[0].count;) {
        const dim_term one = {.factor = 1, .count = 1, .atom = {dims->b.term[0].atom[i]}};
        if (takt_dim_sum_divide(&dims->b, &one, &dims->c) &&
            takt_dim_sum_divide(&dims->a, &one, &dims->d)) {
            dims->b = dims->c;
            dims->a = dims->d;
        } else {
            i++;
        }
    }
}

/* Whether a is b times a number. */
static bool is_multiple(const dim_sum *a, const dim_sum *b, dim_sum *times)
{
    if (a->count != b->count || a->count == 0 || a->term[0].factor % b->term[0].factor != 0)
        return false;
    const int64_t k = a->term[0].factor / b->term[0].factor;
    *times = *a; /* becomes the remainder */
    if (!takt_dim_sum_add(times, b, -k) || times->count != 0)
        return false;
    takt_dim_sum_set(times, k);
    return true;
}

static takt_status floordiv(takt_dims *dims, takt_dim a, takt_dim b, takt_dim *out)
{
    int64_t number;
    if (!takt_dim_sum_number(&dims->b, &number))
        cancel(dims);
    if (takt_dim_sum_number(&dims->b, &number))
        return number <= 0 ? zero_divisor(dims, a) : floordiv_number(dims, number, out);
    if (dims->b.count == 1 && takt_dim_sum_divide(&dims->a, &dims->b.term[0], &dims->c))
        return takt_dim_store(dims, &dims->c, out);
    if (is_multiple(&dims->a, &dims->b, &dims->c))
        return takt_dim_store(dims, &dims->c, out);
    TAKT_TRY(takt_dim_store(dims, &dims->a, &a));
    TAKT_TRY(takt_dim_store(dims, &dims->b, &b));
    return takt_dim_opaque(dims, TAKT_DIM_FLOORDIV, a, b, out);
}

static takt_status ceildiv(takt_dims *dims, takt_dim a, takt_dim b, takt_dim *out)
{
    int64_t number;
    if (takt_dim_sum_number(&dims->b, &number) && number <= 0)
        return zero_divisor(dims, a);
    if (a == b || (dims->b.count == 1 && takt_dim_sum_divide(&dims->a, &dims->b.term[0], &dims->c)))
        return floordiv(dims, a, b, out);
    takt_dim_sum_set(&dims->c, -1);
    if (!takt_dim_sum_add(&dims->a, &dims->b, 1) || !takt_dim_sum_add(&dims->a, &dims->c, 1))
        return takt_dim_too_large(dims);
    takt_dim sum;
    TAKT_TRY(takt_dim_store(dims, &dims->a, &sum));
    return floordiv(dims, sum, b, out);
}

static takt_status mod(takt_dims *dims, takt_dim a, takt_dim b, takt_dim *out)
{
    int64_t number, value;
    takt_dim rest;
    if (takt_dim_sum_number(&dims->b, &number)) {
        if (number <= 0)
            return zero_divisor(dims, a);
        if (!split(&dims->a, number, &dims->c, &dims->d))
            return takt_dim_too_large(dims);
        TAKT_TRY(takt_dim_store(dims, &dims->d, &rest));
        if (takt_dim_sum_number(&dims->d, &value)) {
            *out = value;
            return TAKT_OK;
        }
        return takt_dim_opaque(dims, TAKT_DIM_MOD, rest, number, out);
    }
    if (a == b ||
        (dims->b.count == 1 && takt_dim_sum_divide(&dims->a, &dims->b.term[0], &dims->c))) {
        *out = 0;
        return TAKT_OK;
    }
    return takt_dim_opaque(dims, TAKT_DIM_MOD, a, b, out);
}

static takt_status min_max(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out)
{
    int64_t difference;
    dims->c = dims->a;
    if (!takt_dim_sum_add(&dims->c, &dims->b, -1))
        return takt_dim_too_large(dims);
    if (takt_dim_sum_number(&dims->c, &difference)) {
        *out = (difference <= 0) == (op == TAKT_DIM_MIN) ? a : b;
        return TAKT_OK;
    }
    /* In one order, so that min(a, b) is min(b, a): older first, numbers last. */
    return takt_dim_opaque(dims, op, a < 0 && (b >= 0 || a > b) ? a : b,
                           a < 0 && (b >= 0 || a > b) ? b : a, out);
}

takt_status takt_dim_apply(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out)
{
    takt_dim_load(dims, a, &dims->a);
    takt_dim_load(dims, b, &dims->b);
    switch (op) {
    case TAKT_DIM_ADD:
    case TAKT_DIM_SUB:
        if (!takt_dim_sum_add(&dims->a, &dims->b, op == TAKT_DIM_ADD ? 1 : -1))
            return takt_dim_too_large(dims);
        return takt_dim_store(dims, &dims->a, out);
    case TAKT_DIM_MUL:
        if (!takt_dim_sum_mul(&dims->a, &dims->b, &dims->c))
            return takt_dim_too_large(dims);
        return takt_dim_store(dims, &dims->c, out);
    case TAKT_DIM_FLOORDIV: return floordiv(dims, a, b, out);
    case TAKT_DIM_CEILDIV: return ceildiv(dims, a, b, out);
    case TAKT_DIM_MOD: return mod(dims, a, b, out);
    case TAKT_DIM_MIN:
    case TAKT_DIM_MAX: return min_max(dims, op, a, b, out);
    }
    return takt_fail(dims->ctx, TAKT_E_ARGUMENT, "there is no dimension operation %d", (int)op);
}
