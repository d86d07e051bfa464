/* ground.c - functions of events of formulas, for one tuple at a time. */
#include <string.h>

#include "logic/ground.h"

/* ---- functions of formulas ---- */

static size_t cell_of(const takt_lower *l, const takt_predicate *q, const int64_t *index)
{
    size_t at = 0;
    for (int i = 0; i < q->arity; i++) {
        const takt_dim size = takt_events_dim(l, q->arg[i].size);
        if (takt_dim_is_number(size))
            at = at * (size_t)size + (size_t)index[i];
    }
    return at;
}

/* Whether a tuple is among facts in ascending order. */
static bool is_fact(const takt_predicate *q, const int64_t *index)
{
    size_t low = 0, high = q->fact_count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const uint32_t *row = q->facts + mid * (size_t)q->arity;
        int order = 0;
        for (int i = 0; i < q->arity && order == 0; i++)
            order = row[i] < index[i] ? -1 : row[i] > index[i];
        if (order == 0)
            return true;
        low = order < 0 ? mid + 1 : low;
        high = order < 0 ? high : mid;
    }
    return false;
}

static takt_dd ground_atom(takt_grounding *g, const takt_ground_plan *p)
{
    int64_t index[TAKT_MAX_RANK];
    for (int i = 0; i < p->term_count; i++) {
        const takt_formula *t = p->terms[i];
        const bool is_lifted = t->kind == TAKT_LOGIC_VARIABLE && g->is_lifted[t->variable];
        index[i] = is_lifted ? 0 : takt_ground_term(g, t);
    }
    if (p->cells != NULL)
        return p->cells->cells[cell_of(g->l, p->cells, index)];
    if (p->source == NULL)
        return is_fact(p->f->predicate, index) ? TAKT_DD_TRUE : TAKT_DD_FALSE;
    return takt_events_at(g->e, p->source, index);
}

/* Conjoins `so_far` with the parts that wait for `depth` variables. */
static takt_dd parts_at(takt_grounding *g, const takt_ground_plan *p, size_t depth, takt_dd so_far)
{
    for (size_t i = 0; i < p->part_count && so_far != TAKT_DD_FALSE; i++)
        if (p->waits[i] == depth)
            so_far = takt_dd_and(&g->e->dds, so_far, takt_ground(g, p->part[i]));
    return so_far;
}

static bool each(takt_grounding *g, const takt_ground_plan *p, size_t depth, takt_dd so_far,
                 takt_dd_fold *fold)
{
    if (depth == p->f->bound_count)
        return takt_dd_fold_add(fold, so_far);
    const int variable = p->f->bound[depth];
    const int64_t size = takt_ground_size(g, variable);
    for (int64_t v = 0; v < size; v++) {
        g->env[variable] = v;
        const takt_dd next = parts_at(g, p, depth + 1, so_far);
        if (next != TAKT_DD_FALSE && !each(g, p, depth + 1, next, fold))
            return false;
    }
    return true;
}

static takt_dd exists(takt_grounding *g, const takt_ground_plan *p)
{
    takt_dd_fold fold;
    takt_dd_fold_begin(&fold, &g->e->dds, TAKT_DD_OR);
    const takt_dd first = parts_at(g, p, 0, TAKT_DD_TRUE);
    if (first != TAKT_DD_FALSE)
        (void)each(g, p, 0, first, &fold);
    return takt_dd_fold_end(&fold);
}

/* Advances to the next values of the bound variables; false past the last. */
static bool advance(takt_grounding *g, const takt_formula *f)
{
    for (size_t i = f->bound_count; i-- > 0;) {
        if (++g->env[f->bound[i]] < takt_ground_size(g, f->bound[i]))
            return true;
        g->env[f->bound[i]] = 0;
    }
    return false;
}

/* The first values; false if there are none. */
static bool rewind_bound(takt_grounding *g, const takt_formula *f)
{
    for (size_t i = 0; i < f->bound_count; i++) {
        g->env[f->bound[i]] = 0;
        if (takt_ground_size(g, f->bound[i]) == 0)
            return false;
    }
    return true;
}

static takt_dd forall(takt_grounding *g, const takt_ground_plan *p)
{
    takt_dd_fold fold;
    takt_dds *d = &g->e->dds;
    takt_dd_fold_begin(&fold, d, TAKT_DD_AND);
    bool goes_on = rewind_bound(g, p->f);
    while (goes_on) {
        const takt_dd guard = p->b != NULL ? takt_ground(g, p->b) : TAKT_DD_TRUE;
        const takt_dd other = takt_dd_not(d, guard);
        goes_on = other == TAKT_DD_TRUE ||
                  takt_dd_fold_add(&fold, takt_dd_or(d, other, takt_ground(g, p->a)));
        goes_on = goes_on && advance(g, p->f);
    }
    return takt_dd_fold_end(&fold);
}

/* functions[k]: k or more of those so far hold. */
static takt_dd at_least(takt_grounding *g, const takt_ground_plan *p)
{
    takt_dds *d = &g->e->dds;
    const size_t k = (size_t)p->f->integer;
    takt_dd *functions = p->counts;
    memset(functions, 0, (k + 1) * sizeof *functions);
    functions[0] = TAKT_DD_TRUE;
    for (bool goes_on = rewind_bound(g, p->f); goes_on; goes_on = advance(g, p->f)) {
        takt_dd one = p->b != NULL ? takt_ground(g, p->b) : TAKT_DD_TRUE;
        one = takt_dd_and(d, one, one != TAKT_DD_FALSE ? takt_ground(g, p->a) : TAKT_DD_FALSE);
        for (size_t i = k; i > 0 && one != TAKT_DD_FALSE; i--)
            functions[i] = takt_dd_or(d, functions[i], takt_dd_and(d, functions[i - 1], one));
    }
    return functions[k];
}

takt_dd takt_ground(takt_grounding *g, const takt_ground_plan *p)
{
    takt_dds *d = &g->e->dds;
    takt_dd a;
    if (d->status != TAKT_OK)
        return TAKT_DD_FALSE;
    switch ((takt_formula_kind)p->f->kind) {
    case TAKT_LOGIC_ATOM: return ground_atom(g, p);
    case TAKT_LOGIC_COMPARE:
        if (p->source != NULL)
            return ground_atom(g, p);
        return takt_ground_compare(g, p->f) ? TAKT_DD_TRUE : TAKT_DD_FALSE;
    case TAKT_LOGIC_TRUTH: return p->f->number != 0 ? TAKT_DD_TRUE : TAKT_DD_FALSE;
    case TAKT_LOGIC_AND:
        a = takt_ground(g, p->a);
        return a == TAKT_DD_FALSE ? a : takt_dd_and(d, a, takt_ground(g, p->b));
    case TAKT_LOGIC_OR:
        a = takt_ground(g, p->a);
        return a == TAKT_DD_TRUE ? a : takt_dd_or(d, a, takt_ground(g, p->b));
    case TAKT_LOGIC_NOT: return takt_dd_not(d, takt_ground(g, p->a));
    case TAKT_LOGIC_IMPLIES:
        return takt_dd_or(d, takt_dd_not(d, takt_ground(g, p->a)), takt_ground(g, p->b));
    case TAKT_LOGIC_IFF:
        return takt_dd_not(
            d, takt_dd_apply(d, TAKT_DD_XOR, takt_ground(g, p->a), takt_ground(g, p->b)));
    case TAKT_LOGIC_CHOICE:
        a = takt_ground(g, p->b);
        return takt_dd_or(d, takt_dd_and(d, a, takt_ground(g, p->a)),
                          takt_dd_and(d, takt_dd_not(d, a), takt_ground(g, p->c)));
    case TAKT_LOGIC_EXISTS: return exists(g, p);
    case TAKT_LOGIC_FORALL: return forall(g, p);
    default: return at_least(g, p);
    }
}
