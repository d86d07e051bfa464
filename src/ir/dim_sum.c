/* dim_sum.c - arithmetic on sums of coefficients times products of atoms. */
#include <string.h>

#include "base/size.h"
#include "ir/dim_table.h"

void takt_dim_sum_set(dim_sum *s, int64_t number)
{
    s->count = number != 0;
    s->term[0] = (dim_term){.factor = number};
}

/* Order of terms: by atoms, longer products before their prefixes, so the constant comes last. */
static int compare(const dim_term *a, const dim_term *b)
{
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (a->atom[i] != b->atom[i])
            return a->atom[i] < b->atom[i] ? -1 : 1;
    return a->count == b->count ? 0 : a->count > b->count ? -1 : 1;
}

static void remove_term(dim_sum *s, uint32_t at)
{
    s->count--;
    memmove(&s->term[at], &s->term[at + 1], (s->count - at) * sizeof s->term[0]);
}

bool takt_dim_sum_add_term(dim_sum *to, const dim_term *term)
{
    uint32_t at = 0;
    if (term->factor == 0)
        return true;
    if (term->factor == INT64_MIN) /* has no negative, and any caller may negate a factor */
        return false;
    while (at < to->count && compare(&to->term[at], term) < 0)
        at++;
    if (at < to->count && compare(&to->term[at], term) == 0) {
        if (!takt_i64_add(to->term[at].factor, term->factor, &to->term[at].factor) ||
            to->term[at].factor == INT64_MIN)
            return false;
        if (to->term[at].factor == 0)
            remove_term(to, at);
        return true;
    }
    if (to->count == DIM_TERMS)
        return false;
    memmove(&to->term[at + 1], &to->term[at], (to->count - at) * sizeof to->term[0]);
    to->term[at] = *term;
    to->count++;
    return true;
}

bool takt_dim_sum_add(dim_sum *to, const dim_sum *s, int64_t factor)
{
    for (uint32_t i = 0; i < s->count; i++) {
        dim_term term = s->term[i];
        if (!takt_i64_mul(term.factor, factor, &term.factor) || !takt_dim_sum_add_term(to, &term))
            return false;
    }
    return true;
}

/* Merges two ascending products. */
static bool multiply(const dim_term *a, const dim_term *b, dim_term *out)
{
    if (a->count + b->count > DIM_ATOMS || !takt_i64_mul(a->factor, b->factor, &out->factor))
        return false;
    uint32_t i = 0, j = 0;
    out->count = a->count + b->count;
    while (i + j < out->count) {
        const bool from_a = j == b->count || (i < a->count && a->atom[i] <= b->atom[j]);
        const uint32_t atom = from_a ? a->atom[i] : b->atom[j];
        out->atom[i + j] = atom;
        i += from_a;
        j += !from_a;
    }
    return true;
}

bool takt_dim_sum_mul(const dim_sum *a, const dim_sum *b, dim_sum *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++) {
            dim_term term = {0};
            if (!multiply(&a->term[i], &b->term[j], &term) || !takt_dim_sum_add_term(out, &term))
                return false;
        }
    return true;
}

bool takt_dim_sum_number(const dim_sum *s, int64_t *number)
{
    if (s->count > 1 || (s->count == 1 && s->term[0].count != 0))
        return false;
    *number = s->count == 1 ? s->term[0].factor : 0;
    return true;
}

/* Takes the atoms of `by` out of `term`; false if one is missing. */
static bool divide(const dim_term *term, const dim_term *by, dim_term *out)
{
    /* INT64_MIN / -1 is the one quotient that does not exist. */
    if (by->factor == 0 || (by->factor == -1 && term->factor == INT64_MIN) ||
        term->factor % by->factor != 0)
        return false;
    *out = (dim_term){.factor = term->factor / by->factor};
    uint32_t j = 0;
    for (uint32_t i = 0; i < term->count; i++) {
        if (j < by->count && term->atom[i] == by->atom[j])
            j++;
        else
            out->atom[out->count++] = term->atom[i];
    }
    return j == by->count;
}

bool takt_dim_sum_divide(const dim_sum *s, const dim_term *by, dim_sum *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        dim_term term;
        if (!divide(&s->term[i], by, &term) || !takt_dim_sum_add_term(out, &term))
            return false;
    }
    return true;
}
