/* dim_assume.c - equations between dimensions that are neither proven nor refuted. */
#include "base/mem.h"
#include "ir/dim_like.h"
#include "ir/dim_table.h"

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* A product of names alone: it is positive if all of them are. */
static bool is_positive(const takt_dims *dims, const dim_term *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (dims->entry[t->atom[i]].kind != DIM_NAME)
            return false;
    return true;
}

bool takt_dim_never_same(takt_dims *dims, takt_dim a, takt_dim b)
{
    dim_sum *s = &dims->a;
    int64_t divisor = 0, number = 0;
    size_t above = 0, below = 0;
    takt_dim_load(dims, a, s);
    takt_dim_load(dims, b, &dims->b);
    if (!takt_dim_sum_add(s, &dims->b, -1))
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        const dim_term *t = &s->term[i];
        if (t->count == 0)
            number = t->factor;
        else
            divisor = common_divisor(t->factor, divisor);
        if (is_positive(dims, t))
            *(t->factor > 0 ? &above : &below) += 1;
    }
    return above == s->count || below == s->count || (divisor > 0 && number % divisor != 0);
}

takt_status takt_dim_assume(takt_dims *dims, takt_dim a, takt_dim b)
{
    for (size_t i = 0; i < dims->assumed_count; i++) {
        const takt_assumption *old = &dims->assumed[i];
        if ((old->left == a && old->right == b) || (old->left == b && old->right == a))
            return TAKT_OK;
    }
    void *assumed = dims->assumed;
    TAKT_TRY(takt_mem_grow(dims->ctx, &assumed, &dims->assumed_capacity, dims->assumed_count + 1,
                           sizeof *dims->assumed));
    dims->assumed = assumed;
    dims->assumed[dims->assumed_count++] = (takt_assumption){a, b};
    return TAKT_OK;
}

/* ---- sizes that are not given ---- */

void takt_dim_set_like(takt_dims *dims, takt_dim d, takt_dim like)
{
    size_t name;
    if (takt_dim_is_name(dims, d, &name) && takt_dim_is_name(dims, like, &name))
        dims->entry[dim_entry_of(d)].like = like;
}

size_t takt_dims_like(takt_dims *dims, size_t index)
{
    size_t name;
    const takt_dim like = index < dims->name_count ? dims->entry[dims->name[index]].like : 0;
    return like != 0 && takt_dim_is_name(dims, like, &name) ? name : SIZE_MAX;
}
