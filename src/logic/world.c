/* world.c - tuples of relations after a run, by any of their arguments. */
#include "logic/world.h"

#include <string.h>

#include "base/size.h"
#include "op/util/datalog.h"

void takt_world_init(takt_world *w, takt_ctx *ctx, const takt_relations *all)
{
    *w = (takt_world){.ctx = ctx, .set_count = all->kept_count};
    takt_arena_init(&w->arena, ctx);
    w->sets = takt_arena_array(&w->arena, all->kept_count + 1, sizeof *w->sets);
    w->counts = takt_arena_array(&w->arena, TAKT_DL_COUNTS, sizeof *w->counts);
    if (w->sets == NULL || w->counts == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return;
    }
    for (const takt_predicate *p = all->kept; p != NULL; p = p->next)
        w->sets[p->index].predicate = p;
}

void takt_world_deinit(takt_world *w)
{
    takt_arena_deinit(&w->arena);
}

size_t takt_world_variables(const takt_world *w)
{
    size_t most = TAKT_MAX_RANK;
    for (size_t i = 0; i < w->set_count; i++)
        for (const takt_rule *r = w->sets[i].predicate->rules; r != NULL; r = r->next)
            most = r->variable_count > most ? r->variable_count : most;
    return most;
}

/* ---- rows ---- */

static bool is_set(const takt_predicate *p, const takt_tensor_view *v, size_t at)
{
    if (p->form == TAKT_FORM_BITS)
        return (((const uint64_t *)v->data)[at / 64] >> at % 64 & 1) != 0;
    return takt_dtype_is_float(v->dtype) ? takt_dtype_get_f(v->dtype, v->data, at) != 0
                                         : takt_dtype_get_i(v->dtype, v->data, at) != 0;
}

/* Elements of the dense tensor, including the padding of rows of bits. */
static size_t elements(const takt_predicate *p, const takt_tensor_view *v)
{
    size_t count = p->form == TAKT_FORM_BITS ? 64 : 1;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    return count;
}

static void put_row(const takt_predicate *p, const takt_tensor_view *v, size_t at, uint32_t *row)
{
    for (int i = v->rank - 1; i >= 0; i--) {
        size_t size = (size_t)v->dims[i];
        size *= p->form == TAKT_FORM_BITS && i == v->rank - 1 ? 64 : 1;
        row[i] = (uint32_t)(at % size);
        at /= size;
    }
}

static uint32_t *room(takt_world *w, size_t count, int arity)
{
    uint32_t *at = takt_arena_array(&w->arena, count + 1, (size_t)(arity + 1) * sizeof *at);
    if (at == NULL)
        w->status = TAKT_ERR_MEMORY;
    return at;
}

static uint32_t *dense_rows(takt_world *w, takt_world_set *s)
{
    const takt_predicate *p = s->predicate;
    const size_t all = elements(p, s->view), arity = (size_t)p->arity;
    for (size_t i = 0; i < all; i++)
        s->count += is_set(p, s->view, i);
    uint32_t *rows = room(w, s->count, p->arity);
    size_t count = 0;
    for (size_t i = 0; i < all && rows != NULL; i++)
        if (is_set(p, s->view, i))
            put_row(p, s->view, i, rows + count++ * arity);
    return rows;
}

/* The tensor's own, or a sorted copy: a caller binds tuples in any order. */
static uint32_t *tuple_rows(takt_world *w, takt_world_set *s)
{
    const size_t arity = (size_t)s->predicate->arity, all = (size_t)s->view->dims[0];
    uint32_t *rows = s->view->data;
    if (takt_dl_ascends(rows, all, arity)) {
        while (s->count < all && rows[s->count * arity] != UINT32_MAX)
            s->count++;
        return rows;
    }
    uint32_t *own = room(w, all, s->predicate->arity), *spare = room(w, all, s->predicate->arity);
    if (own == NULL || spare == NULL)
        return NULL;
    memcpy(own, rows, all * arity * sizeof *own);
    s->count = takt_dl_sort_unique(&(takt_dl_rows){own, spare, w->counts, all, arity, NULL});
    return own;
}

static takt_world_set *rows_of(takt_world *w, const takt_predicate *p)
{
    takt_world_set *s = &w->sets[p->index];
    if (s->has_rows || w->status != TAKT_OK)
        return s;
    s->has_rows = true;
    takt_world_index *first = takt_arena_array(&w->arena, 1, sizeof *first);
    if (first == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return s;
    }
    for (int i = 0; i < p->arity; i++)
        first->order[i] = i;
    if (s->view == NULL || s->view->data == NULL) {
        first->rows = room(w, 0, p->arity);
    } else if (p->form == TAKT_FORM_TUPLES) {
        first->rows = tuple_rows(w, s);
    } else {
        first->rows = dense_rows(w, s);
    }
    s->indexes = first;
    return s;
}

static const takt_world_index *index_of(takt_world *w, takt_world_set *s, const int *order)
{
    const size_t arity = (size_t)s->predicate->arity;
    takt_world_index **end = &s->indexes;
    for (; *end != NULL; end = &(*end)->next)
        if (memcmp((*end)->order, order, arity * sizeof *order) == 0)
            return *end;
    takt_world_index *made = takt_arena_array(&w->arena, 1, sizeof *made);
    uint32_t *spare = room(w, s->count, s->predicate->arity);
    if (made == NULL || spare == NULL || (made->rows = room(w, s->count, (int)arity)) == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return NULL;
    }
    memcpy(made->order, order, arity * sizeof *order);
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < arity; k++)
            made->rows[i * arity + k] = s->indexes->rows[i * arity + (size_t)order[k]];
    (void)takt_dl_sort(&(takt_dl_rows){made->rows, spare, w->counts, s->count, arity, NULL});
    *end = made;
    return made;
}

/* The first row that is not below `key`, by its first `columns` columns. */
static size_t seek(const uint32_t *rows, size_t count, size_t arity, const uint32_t *key,
                   size_t columns)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const uint32_t *row = rows + mid * arity;
        int order = 0;
        for (size_t i = 0; i < columns && order == 0; i++)
            order = row[i] < key[i] ? -1 : row[i] > key[i];
        low = order < 0 ? mid + 1 : low;
        high = order < 0 ? high : mid;
    }
    return low;
}

bool takt_world_has(takt_world *w, const takt_predicate *p, const uint32_t *tuple)
{
    const takt_world_set *s = rows_of(w, p);
    if (w->status != TAKT_OK)
        return false;
    const size_t arity = (size_t)p->arity;
    if (arity == 0)
        return s->count > 0;
    const size_t at = seek(s->indexes->rows, s->count, arity, tuple, arity);
    return at < s->count &&
           memcmp(s->indexes->rows + at * arity, tuple, arity * sizeof *tuple) == 0;
}

/* ---- going through values ---- */

bool takt_formula_has(const takt_formula *f, int variable)
{
    if (f->kind == TAKT_LOGIC_VARIABLE && f->variable == variable)
        return true;
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL &&
            takt_formula_has(takt_formula_child(f, i), variable))
            return true;
    return false;
}

void takt_world_part(takt_world_walk *walk, const takt_formula *f, size_t reserve)
{
    if (f->kind == TAKT_LOGIC_AND && walk->part_count + reserve + 2 <= TAKT_WORLD_PARTS) {
        takt_world_part(walk, f->a, reserve + 1);
        takt_world_part(walk, f->b, reserve);
        return;
    }
    size_t waits = walk->bound_count;
    while (waits > 0 && !takt_formula_has(f, walk->bound[waits - 1]))
        waits--;
    walk->waits[walk->part_count] = waits;
    walk->part[walk->part_count++] = f;
}

static bool is_later(const takt_world_walk *walk, size_t depth, int variable)
{
    for (size_t i = depth; i < walk->bound_count; i++)
        if (walk->bound[i] == variable)
            return true;
    return false;
}

/* The position of this depth's variable in an atom; -1 if it has none. */
static int place_in(const takt_world_walk *walk, size_t depth, const takt_formula *f)
{
    for (size_t i = 0; f->kind == TAKT_LOGIC_ATOM && i < f->term_count; i++)
        if (f->terms[i]->kind == TAKT_LOGIC_VARIABLE && f->terms[i]->variable == walk->bound[depth])
            return (int)i;
    return -1;
}

/* Rows of an atom with the arguments that have a value first, then that of this depth. */
typedef struct driver {
    const uint32_t *rows;
    size_t count, arity, columns;
    uint32_t key[TAKT_MAX_RANK];
} driver;

static bool drive(const takt_world_walk *walk, size_t depth, driver *d)
{
    const takt_formula *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < walk->part_count; i++) {
        const takt_formula *f = walk->part[i];
        size_t known = 1;
        if (place_in(walk, depth, f) < 0)
            continue;
        for (size_t k = 0; k < f->term_count; k++)
            known += f->terms[k]->kind != TAKT_LOGIC_VARIABLE ||
                     !is_later(walk, depth, f->terms[k]->variable);
        if (known > most) {
            most = known;
            best = f;
        }
    }
    if (best == NULL)
        return false;
    int order[TAKT_MAX_RANK], count = 0;
    const int own = place_in(walk, depth, best);
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < (int)best->term_count; i++) {
            const takt_formula *t = best->terms[i];
            const bool waits = t->kind == TAKT_LOGIC_VARIABLE && is_later(walk, depth, t->variable);
            if ((i == own ? 1 : waits ? 2 : 0) != pass)
                continue;
            if (pass == 0)
                d->key[count] = (uint32_t)(t->kind == TAKT_LOGIC_VARIABLE ? walk->env[t->variable]
                                                                          : t->integer);
            order[count++] = i;
            d->columns = pass < 2 ? (size_t)count : d->columns;
        }
    takt_world_set *s = rows_of(walk->w, best->predicate);
    const takt_world_index *index = walk->w->status == TAKT_OK ? index_of(walk->w, s, order) : NULL;
    d->rows = index != NULL ? index->rows : NULL;
    d->count = index != NULL ? s->count : 0;
    d->arity = best->term_count;
    return true;
}

/* The first value from `from` on; the size if there is none. */
static int64_t next_value(driver *d, int64_t from, int64_t size)
{
    d->key[d->columns - 1] = (uint32_t)from;
    const size_t at = seek(d->rows, d->count, d->arity, d->key, d->columns);
    if (at == d->count ||
        memcmp(d->rows + at * d->arity, d->key, (d->columns - 1) * sizeof *d->key) != 0)
        return size;
    return d->rows[at * d->arity + d->columns - 1];
}

static bool parts_hold(const takt_world_walk *walk, size_t depth)
{
    for (size_t i = 0; i < walk->part_count; i++)
        if (walk->waits[i] == depth &&
            !takt_world_holds(walk->w, walk->rule, walk->part[i], walk->env))
            return false;
    return true;
}

static bool each(takt_world_walk *walk, size_t depth)
{
    takt_world *w = walk->w;
    if (depth == walk->bound_count)
        return walk->visit(walk);
    driver d = {0};
    const int variable = walk->bound[depth];
    const int64_t size = takt_world_size(w, walk->rule, variable);
    const bool is_driven = drive(walk, depth, &d);
    for (int64_t v = 0; w->status == TAKT_OK; v++) {
        v = is_driven && v < size ? next_value(&d, v, size) : v;
        if (v >= size)
            return true;
        if (w->steps++ == TAKT_WORLD_STEPS) {
            w->status = takt_fail(w->ctx, TAKT_E_RECURSION,
                                  "the search for a proof was stopped after 2^30 steps");
            return false;
        }
        walk->env[variable] = v;
        if (parts_hold(walk, depth + 1) && !each(walk, depth + 1))
            return false;
    }
    return false;
}

bool takt_world_each(takt_world_walk *walk)
{
    return !parts_hold(walk, 0) || each(walk, 0);
}
