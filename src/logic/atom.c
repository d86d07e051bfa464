/* atom.c - a predicate applied to variables and constants: a view of its tensor. */
#include "logic/lower.h"
#include "op/util/bits.h"
#include "op/util/demand.h"

/* The predicate's tensor in the graph being built; in a recursion, perhaps only the tuples of the
 * last round. */
static takt_id value_of(takt_lower *l, const takt_predicate *p)
{
    if (!l->is_inner)
        return p->value;
    if (p->delta != TAKT_NONE && l->delta_seen++ == l->delta_index)
        return p->delta;
    return p->inner;
}

/* Axes of constants are cut down to one element and dropped. */
static takt_id without_constants(const takt_lower *l, const takt_formula *f, takt_id id, int rank)
{
    takt_dim dims[TAKT_MAX_RANK];
    size_t kept = 0;
    bool has_constants = false;
    for (int i = 0; i < rank; i++)
        if (f->terms[i]->kind != TAKT_LOGIC_VARIABLE) {
            const int64_t at = f->terms[i]->integer;
            id = takt_slice(l->g, id, i, at, at + 1, 1);
            has_constants = true;
        }
    if (!has_constants || id == TAKT_NONE)
        return id;
    const takt_type type = *takt_type_of(l->g, id);
    for (int i = 0; i < rank; i++)
        if (f->terms[i]->kind == TAKT_LOGIC_VARIABLE)
            dims[kept++] = type.dim[i];
    return takt_reshape(l->g, id, dims, kept);
}

/* The tensor with an axis for each variable among the terms; `rank`: its axes. */
static takt_labelled fetch(takt_lower *l, const takt_formula *f, int rank)
{
    const takt_predicate *p = f->predicate;
    takt_labelled v = takt_labelled_none();
    takt_id id = value_of(l, p);
    bool is_bits = p->form == TAKT_FORM_BITS;
    if (is_bits && f->terms[rank - 1]->kind != TAKT_LOGIC_VARIABLE) {
        id = takt_unpack_bits(l->g, id, p->arg[rank - 1].size);
        is_bits = false;
    }
    *(is_bits ? &v.bits : &v.id) = without_constants(l, f, id, rank);
    for (int i = 0; i < rank; i++)
        if (f->terms[i]->kind == TAKT_LOGIC_VARIABLE)
            v.var[v.rank++] = f->terms[i]->variable;
    return v;
}

/* ---- as truth ---- */

static takt_labelled misfit(takt_lower *l, const takt_predicate *p, takt_dtype dtype)
{
    const char *own = p->semantics != NULL ? p->semantics->name : takt_dtype_name(dtype);
    if (l->semantics == &takt_semantics_boolean) {
        takt_lower_fail(l, TAKT_E_SEMANTICS, "%s is %s, which is neither true nor false", p->name,
                        own);
        takt_fail_hint(l->program->ctx,
                       "choose other semantics, such as semantics=product, or "
                       "compare: %s[...] > 0.5",
                       p->name);
        return takt_labelled_none();
    }
    return takt_lower_fail(l, TAKT_E_SEMANTICS,
                           "%s is %s, which is not a truth value of %s semantics", p->name, own,
                           l->semantics->name);
}

static bool fits(const takt_lower *l, const takt_predicate *p, takt_dtype dtype)
{
    const takt_semantics *s = l->semantics;
    if (p->missing != NULL && p->missing->none != s->none)
        return false;
    if (p->semantics != NULL && p->semantics->is_truth != s->is_truth)
        return p->semantics->dtype == TAKT_BOOL;
    if (s->dtype == TAKT_I64)
        return takt_dtype_is_int(dtype);
    return s->dtype == TAKT_F32 && takt_dtype_is_float(dtype);
}

takt_id takt_lower_checked(takt_lower *l, const takt_predicate *p, takt_id x)
{
    if (p->is_checked || p->semantics != NULL || !l->semantics->is_truth)
        return x;
    const takt_id low = takt_binary(l->g, &takt_op_ge, x, takt_scalar_like(l->g, x, 0));
    const takt_id high = takt_binary(l->g, &takt_op_le, x, takt_scalar_like(l->g, x, 1));
    return takt_demand(l->g, x, takt_binary(l->g, &takt_op_and, low, high), TAKT_DEMAND_TRUTH,
                       p->name);
}

takt_labelled takt_lower_atom(takt_lower *l, const takt_formula *f)
{
    const takt_predicate *p = f->predicate;
    if (p->form == TAKT_FORM_TUPLES)
        return takt_lower_fail(
            l, TAKT_E_SEMANTICS,
            "%s is a set of tuples, which only rules of tuples and `count` of all "
            "of it can use",
            p->name);
    takt_labelled v = fetch(l, f, p->arity);
    if (!takt_labelled_is_good(&v))
        return v;
    if (p->form == TAKT_FORM_BITS || p->form == TAKT_FORM_BOOL)
        return takt_labelled_from_bool(l, v);
    const takt_dtype dtype = takt_type_of(l->g, v.id)->dtype;
    if (!fits(l, p, dtype))
        return misfit(l, p, dtype);
    if (dtype != takt_lower_dtype(l))
        v.id = takt_cast(l->g, v.id, takt_lower_dtype(l));
    v.id = takt_lower_checked(l, p, v.id);
    return v;
}

/* ---- as a number ---- */

takt_labelled takt_lower_element(takt_lower *l, const takt_formula *f)
{
    takt_labelled v = fetch(l, f, (int)f->term_count);
    if (!takt_labelled_is_good(&v))
        return v;
    v.id = takt_labelled_elements(l, &v);
    v.bits = TAKT_NONE;
    const takt_dtype dtype = takt_type_of(l->g, v.id)->dtype;
    const takt_dtype wide = takt_dtype_is_float(dtype) ? TAKT_F32 : TAKT_I64;
    if (dtype != wide)
        v.id = takt_cast(l->g, v.id, wide);
    return v;
}
