/* property.c - the cases of a formula: one box and one conjunction each. */
#include "verify/property.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "io/file.h"
#include "io/inflate.h"
#include "train/data/data.h"

enum { CASES = 1 << 16, LINKS = 1 << 22, BOXES = 1 << 24, STEPS = 1 << 25 };

/* A conjunction is a list of atoms; lists share their tails. */
typedef struct link {
    const struct link *rest;
    uint32_t atom;
} link;

typedef struct set {
    const link **at;
    size_t count;
} set;

typedef struct maker {
    takt_ctx *ctx;
    const char *name;
    const takt_formula_tree *tree;
    takt_arena arena; /* of lists and sets */
    size_t links;
    takt_property *property;
    double *lo, *hi;      /* of the current case */
    size_t boxes;         /* elements of all boxes */
    size_t steps;         /* conditions of all cases */
    takt_halfspace *rows; /* per atom of the tree */
} maker;

static takt_status too_many(maker *m)
{
    takt_fail(m->ctx, TAKT_E_PROPERTY_LIMIT, "%s: the conditions make more than %d cases", m->name,
              CASES);
    return takt_fail_hint(m->ctx, "split the property into several files");
}

static takt_status count_links(maker *m, size_t count)
{
    m->links += count;
    return count > CASES || m->links > LINKS ? too_many(m) : TAKT_OK;
}

/* Every list of `in`, extended by the node's conditions; an "or" makes several of each. */
static takt_status expand(maker *m, uint32_t id, set in, set *out)
{
    const takt_formula_node *n = &m->tree->nodes[id];
    if (n->kind == TAKT_FORMULA_ATOM) {
        TAKT_TRY(count_links(m, in.count));
        link *links = takt_arena_array(&m->arena, in.count, sizeof *links);
        const link **at = takt_arena_array(&m->arena, in.count, sizeof *at);
        if (links == NULL || at == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t i = 0; i < in.count; i++) {
            links[i] = (link){.rest = in.at[i], .atom = n->atom};
            at[i] = &links[i];
        }
        *out = (set){at, in.count};
        return TAKT_OK;
    }
    if (n->kind == TAKT_FORMULA_AND) {
        *out = in;
        for (uint32_t k = n->first; k != UINT32_MAX; k = m->tree->nodes[k].next)
            TAKT_TRY(expand(m, k, *out, out));
        return TAKT_OK;
    }
    set all = {0};
    size_t room = 0;
    for (uint32_t k = n->first; k != UINT32_MAX; k = m->tree->nodes[k].next) {
        set one;
        TAKT_TRY(expand(m, k, in, &one));
        TAKT_TRY(count_links(m, one.count));
        if (all.count + one.count > CASES)
            return too_many(m);
        if (all.count + one.count > room) {
            room = 2 * (all.count + one.count);
            const link **at = takt_arena_array(&m->arena, room, sizeof *at);
            if (at == NULL)
                return TAKT_ERR_MEMORY;
            if (all.count > 0)
                memcpy(at, all.at, all.count * sizeof *at);
            all.at = at;
        }
        memcpy(all.at + all.count, one.at, one.count * sizeof *one.at);
        all.count += one.count;
    }
    *out = all;
    return TAKT_OK;
}

/* ---- rows ---- */

static bool term_before(const void *a, const void *b)
{
    const takt_term *x = a, *y = b;
    if (x->is_input != y->is_input)
        return y->is_input;
    return x->index != y->index ? x->index < y->index : x < y;
}

/* An atom's terms, one per element and none with factor 0. */
static takt_status merge(maker *m, const takt_formula_atom *a, takt_halfspace *row)
{
    takt_arena *arena = &m->property->arena;
    const takt_term *from = m->tree->terms + a->first;
    const void **order = takt_arena_array(&m->arena, a->count, sizeof *order);
    takt_term *terms = takt_arena_array(arena, a->count, sizeof *terms);
    size_t count = 0;
    if (order == NULL || terms == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < a->count; i++)
        order[i] = &from[i];
    takt_sort_pointers(order, a->count, term_before);
    for (size_t i = 0; i < a->count; i++) {
        const takt_term *t = order[i];
        if (count > 0 && terms[count - 1].index == t->index &&
            terms[count - 1].is_input == t->is_input)
            terms[count - 1].factor += t->factor;
        else
            terms[count++] = *t;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(terms[i].factor))
            return takt_fail(m->ctx, TAKT_E_VNNLIB,
                             "%s: the factors of an element add up to more "
                             "than a number can hold",
                             m->name);
        if (terms[i].factor != 0)
            terms[kept++] = terms[i];
    }
    *row = (takt_halfspace){
        .terms = terms, .count = kept, .bound = a->bound, .is_strict = a->is_strict};
    return TAKT_OK;
}

/* A condition on one input narrows the box; one without variables is true or false. */
static bool narrows(maker *m, const takt_halfspace *row, bool *is_empty)
{
    if (row->count == 0) {
        *is_empty = *is_empty || row->bound < 0 || (row->is_strict && row->bound == 0);
        return true;
    }
    if (row->count > 1 || !row->terms[0].is_input)
        return false;
    const takt_term *t = &row->terms[0];
    double value = row->bound / t->factor;
    if (fabs(t->factor) != 1) /* the division may have rounded inwards */
        value = nextafter(value, t->factor > 0 ? INFINITY : -INFINITY);
    double *lo = &m->lo[t->index], *hi = &m->hi[t->index];
    if (t->factor > 0)
        *hi = value < *hi ? value : *hi;
    else
        *lo = value > *lo ? value : *lo;
    return true;
}

/* ---- cases ---- */

static takt_status check_box(maker *m, takt_case *c)
{
    for (size_t i = 0; i < m->property->input_count; i++)
        c->is_empty = c->is_empty || m->lo[i] > m->hi[i];
    for (size_t i = 0; i < m->property->input_count && !c->is_empty; i++)
        if (!isfinite(m->lo[i]) || !isfinite(m->hi[i]))
            return takt_fail(m->ctx, TAKT_E_PROPERTY_UNBOUNDED, "%s: input %zu has no %s bound",
                             m->name, i, isfinite(m->lo[i]) ? "upper" : "lower");
    return TAKT_OK;
}

/* Consecutive cases mostly have the same box. */
static takt_status keep_box(maker *m, const takt_case *before, takt_case *c)
{
    const size_t n = m->property->input_count, bytes = n * sizeof(double);
    if (before != NULL && memcmp(before->lo, m->lo, bytes) == 0 &&
        memcmp(before->hi, m->hi, bytes) == 0) {
        c->lo = before->lo;
        c->hi = before->hi;
        return TAKT_OK;
    }
    m->boxes += n;
    if (m->boxes > BOXES)
        return too_many(m);
    c->lo = takt_arena_copy(&m->property->arena, m->lo, bytes);
    c->hi = takt_arena_copy(&m->property->arena, m->hi, bytes);
    return c->lo == NULL || c->hi == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
}

static takt_status make_case(maker *m, const link *list, takt_case *c)
{
    takt_property *p = m->property;
    size_t count = 0;
    for (size_t i = 0; i < p->input_count; i++) {
        m->lo[i] = -INFINITY;
        m->hi[i] = INFINITY;
    }
    for (const link *l = list; l != NULL; l = l->rest) {
        count += !narrows(m, &m->rows[l->atom], &c->is_empty);
        if (++m->steps > STEPS)
            return too_many(m);
    }
    takt_halfspace *rows = takt_arena_array(&p->arena, count, sizeof *rows);
    if (rows == NULL)
        return TAKT_ERR_MEMORY;
    c->rows = rows;
    for (const link *l = list; l != NULL; l = l->rest)
        if (!narrows(m, &m->rows[l->atom], &c->is_empty))
            rows[c->row_count++] = m->rows[l->atom];
    TAKT_TRY(check_box(m, c));
    return keep_box(m, c > p->cases ? c - 1 : NULL, c);
}

static takt_status make(maker *m)
{
    takt_property *p = m->property;
    const link *nothing = NULL;
    set lists;
    TAKT_TRY(expand(m, 0, (set){&nothing, 1}, &lists));
    m->rows = takt_arena_array(&m->arena, m->tree->atom_count, sizeof *m->rows);
    for (size_t i = 0; m->rows != NULL && i < m->tree->atom_count; i++)
        TAKT_TRY(merge(m, &m->tree->atoms[i], &m->rows[i]));
    p->cases = takt_arena_array(&p->arena, lists.count, sizeof *p->cases);
    m->lo = takt_arena_array(&m->arena, p->input_count, sizeof *m->lo);
    m->hi = takt_arena_array(&m->arena, p->input_count, sizeof *m->hi);
    if (m->rows == NULL || p->cases == NULL || m->lo == NULL || m->hi == NULL)
        return TAKT_ERR_MEMORY;
    for (; p->case_count < lists.count; p->case_count++)
        TAKT_TRY(make_case(m, lists.at[p->case_count], &p->cases[p->case_count]));
    return TAKT_OK;
}

takt_status takt_property_cases(takt_ctx *ctx, const char *name, const takt_formula_tree *tree,
                                takt_property *property)
{
    maker m = {.ctx = ctx, .name = name, .tree = tree, .property = property};
    property->input_count = tree->input_count;
    property->output_count = tree->output_count;
    takt_arena_init(&m.arena, ctx);
    const takt_status status = make(&m);
    takt_arena_deinit(&m.arena);
    return status;
}

takt_status takt_property_load(takt_ctx *ctx, const char *path, takt_property *property)
{
    void *bytes, *plain = NULL;
    size_t length, plain_length = 0;
    *property = (takt_property){0};
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_status status = TAKT_OK;
    const bool is_gzip = takt_is_gzip(bytes, length);
    if (is_gzip)
        status = takt_gunzip(ctx, path, bytes, length, &plain, &plain_length);
    const takt_span text = is_gzip ? (takt_span){plain, plain_length} : (takt_span){bytes, length};
    if (status == TAKT_OK)
        status = takt_property_read(ctx, path, text, property);
    if (plain != NULL)
        takt_mem_put(ctx, plain, plain_length > 0 ? plain_length : 1);
    takt_mem_put(ctx, bytes, length);
    return status;
}

void takt_property_deinit(takt_property *property)
{
    if (property->arena.ctx != NULL)
        takt_arena_deinit(&property->arena);
    *property = (takt_property){0};
}
