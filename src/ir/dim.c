/* dim.c - the public interface of the table of dimensions: one lock around each call. */
#include "ir/dim.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/size.h"
#include "ir/dim_table.h"

static void lock(const takt_dims *dims)
{
    takt_dims *d = (takt_dims *)(uintptr_t)dims; /* the lock is not part of the table's value */
    takt_lock_take(&d->lock);
}

static void unlock(const takt_dims *dims)
{
    takt_dims *d = (takt_dims *)(uintptr_t)dims;
    takt_lock_give(&d->lock);
}

takt_status takt_dims_create(takt_ctx *ctx, takt_dims **dims)
{
    void *block;
    *dims = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **dims, "a table of dimensions", &block));
    takt_dims *d = block;
    d->ctx = ctx;
    d->stamp = 1;
    atomic_init(&d->references, 1);
    takt_arena_init(&d->arena, ctx);
    *dims = d;
    return TAKT_OK;
}

void takt_dims_retain(takt_dims *dims)
{
    atomic_fetch_add_explicit(&dims->references, 1, memory_order_relaxed);
}

void takt_dims_release(takt_dims *dims)
{
    if (dims == NULL || atomic_fetch_sub_explicit(&dims->references, 1, memory_order_acq_rel) != 1)
        return;
    takt_ctx *ctx = dims->ctx;
    takt_arena_deinit(&dims->arena);
    takt_mem_put(ctx, dims->entry, dims->capacity * sizeof *dims->entry);
    takt_mem_put(ctx, dims->name, dims->name_capacity * sizeof *dims->name);
    takt_mem_put(ctx, dims->slot, dims->slot_count * sizeof *dims->slot);
    takt_mem_put(ctx, dims->stack, dims->stack_capacity * sizeof *dims->stack);
    takt_mem_put(ctx, dims->assumed, dims->assumed_capacity * sizeof *dims->assumed);
    takt_mem_put(ctx, dims, sizeof *dims);
}

takt_status takt_dim_name(takt_dims *dims, takt_span name, takt_dim *out)
{
    lock(dims);
    const takt_status status = takt_dim_find_name(dims, name, out);
    unlock(dims);
    return status;
}

takt_status takt_dim_hint(takt_dims *dims, takt_span name, takt_dim *out)
{
    lock(dims);
    const takt_status status = takt_dim_find_name(dims, name, out);
    if (status == TAKT_OK)
        dims->entry[dim_entry_of(*out)].is_hint = true;
    unlock(dims);
    return status;
}

takt_status takt_dim_fresh(takt_dims *dims, const char *base, takt_dim *out)
{
    char name[80];
    takt_status status = TAKT_OK;
    lock(dims);
    for (size_t before = dims->name_count, k = before; status == TAKT_OK; k++) {
        const int length = snprintf(name, sizeof name, "%.60s_%zu", base, k);
        status = takt_dim_find_name(dims, (takt_span){name, (size_t)length}, out);
        if (dims->name_count > before)
            break;
    }
    unlock(dims);
    return status;
}

static takt_status check(takt_dims *dims, takt_dim d)
{
    if (takt_dim_is_valid(dims, d))
        return TAKT_OK;
    return takt_fail(dims->ctx, TAKT_E_ARGUMENT, "dimension %" PRId64 " is not of this table", d);
}

/* Results are sizes: an expression that turned out to be a negative number is a mistake. */
static takt_status check_result(takt_dims *dims, takt_dim d)
{
    int64_t number;
    if (takt_dim_is_number(d))
        return TAKT_OK;
    takt_dim_load(dims, d, &dims->a);
    if (!takt_dim_sum_number(&dims->a, &number))
        return TAKT_OK;
    return takt_fail(dims->ctx, TAKT_E_DIM, "a dimension would be %" PRId64, number);
}

static takt_status resolve(takt_dims *dims, takt_dim d, takt_dim *out)
{
    TAKT_TRY(check(dims, d));
    return takt_dim_expand(dims, d, NULL, 0, out);
}

static takt_status make(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out)
{
    TAKT_TRY(resolve(dims, a, &a));
    TAKT_TRY(resolve(dims, b, &b));
    TAKT_TRY(takt_dim_apply(dims, op, a, b, out));
    return check_result(dims, *out);
}

/* Cases that need no table: known sizes, as in graphs of one size; false: the table is needed. */
static bool of_numbers(takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out)
{
    if (!takt_dim_is_number(a) || !takt_dim_is_number(b))
        return false;
    switch (op) {
    case TAKT_DIM_ADD: return takt_i64_add(a, b, out);
    case TAKT_DIM_SUB: *out = a - b; return a >= b;
    case TAKT_DIM_MUL: return takt_i64_mul(a, b, out);
    case TAKT_DIM_FLOORDIV: *out = b > 0 ? a / b : 0; return b > 0;
    case TAKT_DIM_MIN: *out = a < b ? a : b; return true;
    case TAKT_DIM_MAX: *out = a < b ? b : a; return true;
    case TAKT_DIM_CEILDIV:
    case TAKT_DIM_MOD: break;
    }
    return false;
}

takt_status takt_dim_make(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out)
{
    if (of_numbers(op, a, b, out))
        return TAKT_OK;
    lock(dims);
    takt_dim made = 0;
    const takt_status status = make(dims, op, a, b, &made);
    unlock(dims);
    *out = status == TAKT_OK ? made : 0;
    return status;
}

/* Most callers want a yes or a no. */
static takt_status noted(takt_dims *dims, takt_status status)
{
    if (status == TAKT_ERR_MEMORY)
        atomic_store_explicit(&dims->is_short, true, memory_order_relaxed);
    return status;
}

bool takt_dim_same(takt_dims *dims, takt_dim a, takt_dim b)
{
    if (a == b)
        return true;
    if (takt_dim_is_number(a) && takt_dim_is_number(b))
        return false;
    takt_dim x = 0, y = 0;
    lock(dims);
    takt_status status = resolve(dims, a, &x);
    if (status == TAKT_OK)
        status = resolve(dims, b, &y);
    unlock(dims);
    return noted(dims, status) == TAKT_OK && x == y;
}

takt_status takt_dims_blame(takt_dims *dims, takt_status status)
{
    if (!atomic_load_explicit(&dims->is_short, memory_order_relaxed))
        return status;
    atomic_store_explicit(&dims->is_short, false, memory_order_relaxed);
    return takt_fail_memory(dims->ctx, "comparing dimensions", sizeof *dims->entry);
}

/* Text of a side for a message, in a buffer that numbers need. */
static const char *side(const takt_dims *dims, takt_dim d, char buffer[static 24])
{
    if (!takt_dim_is_number(d))
        return takt_dim_text(dims, d);
    snprintf(buffer, 24, "%" PRId64, d);
    return buffer;
}

static takt_status contradiction(takt_dims *dims, takt_dim a, takt_dim b)
{
    char left[24], right[24];
    return takt_fail(dims->ctx, TAKT_E_DIM, "dimensions %.300s and %.300s differ",
                     side(dims, a, left), side(dims, b, right));
}

static takt_status unify(takt_dims *dims, takt_dim a, takt_dim b)
{
    takt_dim x, y;
    bool done = false;
    TAKT_TRY(resolve(dims, a, &x));
    TAKT_TRY(resolve(dims, b, &y));
    if (x == y)
        return TAKT_OK;
    const bool is_never = x != 0 && y != 0 && takt_dim_never_same(dims, x, y);
    if (!is_never && (!takt_dim_is_number(x) || !takt_dim_is_number(y)))
        TAKT_TRY(takt_dim_solve(dims, x, y, &done));
    if (done)
        return TAKT_OK;
    if (!takt_dim_never_same(dims, x, y))
        return takt_dim_assume(dims, x, y);
    if (x == a && y == b)
        return contradiction(dims, a, b);
    char left[24], right[24], one[24], two[24];
    return takt_fail(dims->ctx, TAKT_E_DIM, "dimensions %.200s (%.200s) and %.200s (%.200s) differ",
                     side(dims, a, left), side(dims, x, one), side(dims, b, right),
                     side(dims, y, two));
}

takt_status takt_dim_unify(takt_dims *dims, takt_dim a, takt_dim b)
{
    if (a == b)
        return TAKT_OK;
    lock(dims);
    const takt_status status = unify(dims, a, b);
    unlock(dims);
    return noted(dims, status);
}

size_t takt_dims_hold(takt_dims *dims)
{
    lock(dims);
    const size_t held = dims->held;
    dims->held = dims->name_count;
    unlock(dims);
    return held;
}

void takt_dims_let_go(takt_dims *dims, size_t held)
{
    lock(dims);
    dims->held = held;
    unlock(dims);
}

size_t takt_dims_assumed(const takt_dims *dims)
{
    lock(dims);
    const size_t count = dims->assumed_count;
    unlock(dims);
    return count;
}

takt_assumption takt_dims_assumption(const takt_dims *dims, size_t index)
{
    lock(dims);
    const takt_assumption a = dims->assumed[index];
    unlock(dims);
    return a;
}

takt_status takt_dim_resolve(takt_dims *dims, takt_dim d, takt_dim *out)
{
    *out = d;
    if (takt_dim_is_number(d))
        return TAKT_OK;
    lock(dims);
    takt_status status = resolve(dims, d, out);
    if (status == TAKT_OK)
        status = check_result(dims, *out);
    unlock(dims);
    return noted(dims, status);
}

bool takt_dim_is_name(takt_dims *dims, takt_dim d, size_t *index)
{
    if (takt_dim_resolve(dims, d, &d) != TAKT_OK || takt_dim_is_number(d))
        return false;
    lock(dims);
    const dim_entry *e = &dims->entry[dim_entry_of(d)];
    const bool is_name = e->kind == DIM_NAME;
    *index = e->index;
    unlock(dims);
    return is_name;
}

size_t takt_dims_name_count(const takt_dims *dims)
{
    lock(dims);
    const size_t count = dims->name_count;
    unlock(dims);
    return count;
}

size_t takt_dims_bound(const takt_dims *dims)
{
    lock(dims);
    const size_t count = dims->bound_count;
    unlock(dims);
    return count;
}

const char *takt_dims_name(const takt_dims *dims, size_t index)
{
    lock(dims);
    const char *name = index < dims->name_count ? dims->entry[dims->name[index]].name : NULL;
    unlock(dims);
    return name;
}

takt_status takt_dim_substitute(takt_dims *dims, takt_dim d, const int64_t *sizes,
                                size_t size_count, takt_dim *out)
{
    *out = d;
    if (takt_dim_is_number(d))
        return TAKT_OK;
    lock(dims);
    takt_status status = check(dims, d);
    if (status == TAKT_OK)
        status = takt_dim_expand(dims, d, sizes, size_count, out);
    if (status == TAKT_OK)
        status = check_result(dims, *out);
    unlock(dims);
    return status;
}

void takt_dim_print(takt_dims *dims, takt_dim d, takt_text *text)
{
    takt_dim known;
    if (takt_dim_resolve(dims, d, &known) == TAKT_OK)
        d = known; /* a name may have been bound after it was used */
    else
        text->status = TAKT_ERR_MEMORY;
    if (takt_dim_is_number(d)) {
        takt_text_add(text, "%" PRId64, d);
        return;
    }
    lock(dims);
    const char *at = takt_dim_text(dims, d); /* texts do not move */
    unlock(dims);
    takt_text_add(text, "%s", at);
}

dim_entry takt_dim_entry(const takt_dims *dims, takt_dim d)
{
    lock(dims);
    const dim_entry entry = dims->entry[dim_entry_of(d)];
    unlock(dims);
    return entry;
}
