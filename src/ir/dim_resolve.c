/* dim_resolve.c - substituting bindings and sizes into expressions, and finding new bindings.
 *
 * Expressions form an acyclic graph that may be deep, so traversals keep their own stack. Results
 * are cached in the entries until the next binding (or another set of sizes) makes them stale,
 * as a stamp shows. */
#include "base/mem.h"
#include "ir/dim_table.h"

typedef struct walk {
    takt_dims *dims;
    const int64_t *sizes;
    size_t size_count, depth;
} walk;

static takt_status push(walk *w, uint32_t entry)
{
    void *stack = w->dims->stack;
    TAKT_TRY(takt_mem_grow(w->dims->ctx, &stack, &w->dims->stack_capacity, w->depth + 1,
                           sizeof *w->dims->stack));
    w->dims->stack = stack;
    w->dims->stack[w->depth++] = entry;
    return TAKT_OK;
}

/* Pushes the definition of `d` unless its value is known. */
static takt_status need(walk *w, takt_dim d, bool *is_ready)
{
    if (takt_dim_is_number(d) || w->dims->entry[dim_entry_of(d)].stamp == w->dims->stamp)
        return TAKT_OK;
    *is_ready = false;
    return push(w, dim_entry_of(d));
}

static takt_status need_all(walk *w, const dim_entry *e, bool *is_ready)
{
    if (e->kind == DIM_OP) {
        TAKT_TRY(need(w, e->a, is_ready));
        return need(w, e->b, is_ready);
    }
    for (uint32_t i = 0; e->kind == DIM_SUM && i < e->count; i++)
        for (uint32_t j = 0; j < e->term[i].count; j++)
            TAKT_TRY(need(w, dim_of(e->term[i].atom[j]), is_ready));
    return e->is_bound ? need(w, e->binding, is_ready) : TAKT_OK;
}

static takt_dim value_of(const takt_dims *dims, takt_dim d)
{
    return takt_dim_is_number(d) ? d : dims->entry[dim_entry_of(d)].known;
}

/* The sum with the values of its atoms substituted; works in a (product), b, c (total), d. */
static takt_status expand_sum(takt_dims *dims, uint32_t at, takt_dim *out)
{
    const dim_term *terms = dims->entry[at].term;
    const uint32_t count = dims->entry[at].count;
    dims->c.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        takt_dim_sum_set(&dims->a, 1);
        for (uint32_t j = 0; j < terms[i].count; j++) {
            takt_dim_load(dims, value_of(dims, dim_of(terms[i].atom[j])), &dims->b);
            if (!takt_dim_sum_mul(&dims->a, &dims->b, &dims->d))
                return takt_dim_too_large(dims);
            dims->a = dims->d;
        }
        if (!takt_dim_sum_add(&dims->c, &dims->a, terms[i].factor))
            return takt_dim_too_large(dims);
    }
    return takt_dim_store(dims, &dims->c, out);
}

static takt_status expand_entry(walk *w, uint32_t at, takt_dim *out)
{
    takt_dims *dims = w->dims;
    const dim_entry *e = &dims->entry[at];
    if (e->kind == DIM_SUM)
        return expand_sum(dims, at, out);
    if (e->kind == DIM_OP)
        return takt_dim_apply(dims, e->op, value_of(dims, e->a), value_of(dims, e->b), out);
    if (e->is_bound)
        *out = value_of(dims, e->binding);
    else if (e->index < w->size_count && w->sizes[e->index] >= 0)
        *out = w->sizes[e->index];
    else
        *out = dim_of(at);
    return TAKT_OK;
}

takt_status takt_dim_expand(takt_dims *dims, takt_dim d, const int64_t *sizes, size_t size_count,
                            takt_dim *out)
{
    *out = d;
    if (takt_dim_is_number(d) || (dims->bound_count == 0 && size_count == 0))
        return TAKT_OK;
    walk w = {dims, sizes, size_count, 0};
    if (size_count > 0)
        dims->stamp++;
    TAKT_TRY(push(&w, dim_entry_of(d)));
    while (w.depth > 0) {
        const uint32_t at = dims->stack[w.depth - 1];
        bool is_ready = true;
        TAKT_TRY(need_all(&w, &dims->entry[at], &is_ready));
        if (!is_ready)
            continue;
        takt_dim known;
        TAKT_TRY(expand_entry(&w, at, &known));
        dims->entry[at].known = known;
        dims->entry[at].stamp = dims->stamp;
        w.depth--;
    }
    *out = dims->entry[dim_entry_of(d)].known;
    if (size_count > 0)
        dims->stamp++;
    return TAKT_OK;
}

/* Pushes the atoms below `d` not yet seen in this traversal. */
static takt_status visit(walk *w, takt_dim d)
{
    if (takt_dim_is_number(d))
        return TAKT_OK;
    dim_entry *e = &w->dims->entry[dim_entry_of(d)];
    if (e->seen == w->dims->stamp)
        return TAKT_OK;
    e->seen = w->dims->stamp;
    return push(w, dim_entry_of(d));
}

/* Whether `name` (an entry) occurs in `d`, which is resolved. */
static takt_status find_name(takt_dims *dims, uint32_t name, takt_dim d, bool *occurs)
{
    walk w = {dims, NULL, 0, 0};
    *occurs = false;
    dims->stamp++; /* makes every `seen` stale */
    TAKT_TRY(visit(&w, d));
    while (w.depth > 0) {
        const uint32_t at = dims->stack[--w.depth];
        const dim_entry *e = &dims->entry[at];
        *occurs = *occurs || at == name;
        if (e->kind == DIM_OP) {
            TAKT_TRY(visit(&w, e->a));
            TAKT_TRY(visit(&w, e->b));
        }
        for (uint32_t i = 0; e->kind == DIM_SUM && i < e->count; i++)
            for (uint32_t j = 0; j < e->term[i].count; j++)
                TAKT_TRY(visit(&w, dim_of(e->term[i].atom[j])));
    }
    return TAKT_OK;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Tries to solve `dims->a` = 0 for the name of term `at`: name = rest. */
static takt_status solve_term(takt_dims *dims, uint32_t at, bool *done)
{
    const dim_term *t = &dims->a.term[at];
    const bool is_name = t->count == 1 && dims->entry[t->atom[0]].kind == DIM_NAME;
    if (!is_name || (t->factor != 1 && t->factor != -1))
        return TAKT_OK;
    const uint32_t name = t->atom[0];
    if (dims->entry[name].index < dims->held)
        return TAKT_OK;
    const int64_t sign = -t->factor;
    takt_dim rest;
    bool occurs;
    dims->c.count = 0;
    for (uint32_t i = 0; i < dims->a.count; i++) {
        dim_term term = dims->a.term[i];
        term.factor *= sign;
        if (i != at && !takt_dim_sum_add_term(&dims->c, &term))
            return takt_dim_too_large(dims);
    }
    TAKT_TRY(takt_dim_store(dims, &dims->c, &rest));
    TAKT_TRY(find_name(dims, name, rest, &occurs));
    int64_t number;
    if (occurs || (takt_dim_sum_number(&dims->c, &number) && number < 0))
        return TAKT_OK;
    dims->entry[name].is_bound = true;
    dims->entry[name].binding = rest;
    dims->bound_count++;
    dims->stamp++;
    *done = true;
    return TAKT_OK;
}

takt_status takt_dim_solve(takt_dims *dims, takt_dim a, takt_dim b, bool *done)
{
    int64_t divisor = 0;
    *done = false;
    takt_dim_load(dims, a, &dims->a);
    takt_dim_load(dims, b, &dims->b);
    if (!takt_dim_sum_add(&dims->a, &dims->b, -1))
        return takt_dim_too_large(dims);
    for (uint32_t i = 0; i < dims->a.count; i++)
        divisor = common_divisor(dims->a.term[i].factor, divisor);
    for (uint32_t i = 0; i < dims->a.count; i++)
        dims->a.term[i].factor /= divisor;
    /* Labels before names; newest names first, so that the older name stays. Terms are in the order
     * of their atoms. */
    for (uint32_t i = dims->a.count; i > 0 && !*done; i--)
        if (dims->a.term[i - 1].count == 1 && dims->entry[dims->a.term[i - 1].atom[0]].is_hint)
            TAKT_TRY(solve_term(dims, i - 1, done));
    for (uint32_t i = dims->a.count; i > 0 && !*done; i--)
        TAKT_TRY(solve_term(dims, i - 1, done));
    return TAKT_OK;
}
