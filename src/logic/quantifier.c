/* quantifier.c - forall, means of powers, and counts of true instances. */
#include "logic/lower.h"
#include "op/util/formula.h"

/* LTN keeps truth this far from 0 or 1 below a mean of powers, where gradients would vanish or be
 * infinite (Badreddine et al., Logic Tensor Networks, 2022, section 4). */
#define STABLE 1e-4

static takt_labelled lacks(takt_lower *l, const char *what)
{
    takt_lower_fail(l, TAKT_E_SEMANTICS, "%s semantics have no `%s`", l->semantics->name, what);
    takt_fail_hint(l->program->ctx, "docs/logic.md has a table of which connectives each has");
    return takt_labelled_none();
}

/* The body at full size, with an axis for every bound variable. */
static takt_labelled body(takt_lower *l, const takt_formula *f, const takt_labelled *guard)
{
    const takt_labelled v = takt_lower_formula(l, f->a);
    takt_labelled bound = takt_labelled_none(), with, out;
    for (size_t i = 0; i < f->bound_count && bound.rank < TAKT_MAX_RANK; i++)
        bound.var[bound.rank++] = f->bound[i];
    if (!takt_labelled_is_good(&v) || !takt_labelled_union(l, &v, &bound, &with))
        return takt_labelled_none();
    out = with;
    if (guard != NULL && !takt_labelled_union(l, &with, guard, &out))
        return takt_labelled_none();
    out.id = takt_labelled_spread(l, &v, out.var, out.rank);
    return out;
}

/* Where the guard does not hold, `value` instead. */
static void mask(takt_lower *l, takt_labelled *v, const takt_labelled *guard, double value)
{
    v->id = takt_select(l->g, takt_labelled_arrange(l, guard, v->var, v->rank), v->id,
                        takt_lower_constant(l, value));
}

/* The subject of a constraint: the tuples of its outermost forall. */
static void keep_each(const takt_lower *l, const takt_formula *f, const takt_labelled *v)
{
    takt_predicate *head = l->rule->head;
    if (head->arity > 0 || l->rule->body != f || f->kind != TAKT_LOGIC_FORALL)
        return;
    head->each = v->id;
    head->each_count = v->rank;
    for (int i = 0; i < v->rank; i++)
        head->each_var[i] = v->var[i];
}

takt_labelled takt_lower_forall(takt_lower *l, const takt_formula *f)
{
    int64_t axes[TAKT_MAX_RANK];
    takt_labelled guard, out;
    if (l->semantics->forall == NULL)
        return lacks(l, "forall");
    if (f->b != NULL) {
        guard = takt_lower_crisp(l, f->b);
        if (!takt_labelled_is_good(&guard))
            return guard;
    }
    takt_labelled v = body(l, f, f->b != NULL ? &guard : NULL);
    if (!takt_labelled_is_good(&v))
        return v;
    if (f->b != NULL)
        mask(l, &v, &guard, l->semantics->all);
    keep_each(l, f, &v);
    const size_t count = takt_labelled_axes(&v, f->bound, f->bound_count, axes, &out);
    out.id = l->semantics->forall(l->g, v.id, axes, count);
    return out;
}

/* ---- means of powers ---- */

/* x ** p, where p is a scalar tensor or a number. */
static takt_id power(const takt_lower *l, takt_id x, takt_id p)
{
    return takt_binary(l->g, &takt_op_pow, x, p);
}

static takt_id exponent(const takt_lower *l, const takt_formula *f)
{
    if (f->power == NULL)
        return takt_lower_constant(l, f->number);
    const takt_id p = l->is_inner ? f->power->inner : f->power->value;
    return takt_lower_dtype(l) != TAKT_F32 ? takt_cast(l->g, p, takt_lower_dtype(l)) : p;
}

/* The mean over the axes; if there is a guard, over the values that it accepts. */
static takt_id mean(takt_lower *l, const takt_formula *f, takt_labelled *v,
                    const takt_labelled *guard, takt_labelled *out)
{
    int64_t axes[TAKT_MAX_RANK];
    const size_t count = takt_labelled_axes(v, f->bound, f->bound_count, axes, out);
    if (guard == NULL)
        return takt_reduce_over(l->g, &takt_op_reduce_mean, v->id, axes, count, false);
    const takt_id in = takt_labelled_spread(l, guard, v->var, v->rank);
    const takt_id ones = takt_cast(l->g, in, takt_lower_dtype(l));
    const takt_id number = takt_reduce_over(l->g, &takt_op_reduce_sum, ones, axes, count, false);
    mask(l, v, guard, 0);
    const takt_id sum = takt_reduce_over(l->g, &takt_op_reduce_sum, v->id, axes, count, false);
    const takt_id one = takt_scalar_like(l->g, sum, 1);
    return takt_div(l->g, sum, takt_binary(l->g, &takt_op_max, number, one));
}

/* exists: the mean of x ** p, to the power 1 / p. forall: the same for 1 - x, subtracted from 1.
 * The mean over an empty domain is 0, so that exists is false and forall is true. */
takt_labelled takt_lower_power(takt_lower *l, const takt_formula *f)
{
    const bool is_exists = f->kind == TAKT_LOGIC_EXISTS;
    takt_labelled guard, out;
    if (l->semantics->dtype != TAKT_F32 || l->semantics->not == NULL)
        return lacks(l, is_exists ? "exists(p=...)" : "forall(p=...)");
    if (f->b != NULL) {
        guard = takt_lower_crisp(l, f->b);
        if (!takt_labelled_is_good(&guard))
            return guard;
    }
    takt_labelled v = body(l, f, f->b != NULL ? &guard : NULL);
    if (!takt_labelled_is_good(&v))
        return v;
    takt_labelled each = v;
    if (f->b != NULL && l->rule->body == f)
        mask(l, &each, &guard, l->semantics->all);
    keep_each(l, f, &each);
    v.id = takt_mul_scalar(l->g, v.id, 1 - STABLE);
    v.id = is_exists ? takt_add_scalar(l->g, v.id, STABLE) : takt_semantics_complement(l->g, v.id);
    const takt_id p = exponent(l, f);
    v.id = power(l, v.id, p);
    const takt_id average = mean(l, f, &v, f->b != NULL ? &guard : NULL, &out);
    const takt_id root = power(l, average, takt_reciprocal(l->g, p));
    out.id = is_exists ? root : takt_semantics_complement(l->g, root);
    return out;
}

/* ---- at least k ---- */

static takt_labelled crisp_at_least(takt_lower *l, const takt_formula *f)
{
    takt_formula number = *f;
    number.kind = TAKT_LOGIC_FOLD;
    number.op = TAKT_LOGIC_COUNT;
    takt_labelled v = takt_lower_fold(l, &number);
    if (takt_labelled_is_good(&v))
        v.id =
            takt_binary(l->g, &takt_op_ge, v.id, takt_scalar_like(l->g, v.id, (double)f->integer));
    return v;
}

/* Under godel: the k-th largest truth, which is the largest minimum over all sets of k. */
takt_labelled takt_lower_at_least(takt_lower *l, const takt_formula *f)
{
    takt_labelled guard, out;
    int64_t axes[TAKT_MAX_RANK];
    if (l->semantics == &takt_semantics_boolean)
        return crisp_at_least(l, f);
    if (l->semantics != &takt_semantics_godel)
        return lacks(l, "at_least");
    if (f->b != NULL)
        guard = takt_lower_crisp(l, f->b);
    takt_labelled v = body(l, f, f->b != NULL ? &guard : NULL);
    if (!takt_labelled_is_good(&v) || (f->b != NULL && !takt_labelled_is_good(&guard)))
        return takt_labelled_none();
    if (f->b != NULL)
        mask(l, &v, &guard, 0);
    const size_t count = takt_labelled_axes(&v, f->bound, f->bound_count, axes, &out);
    takt_labelled last = out; /* bound variables last, then as one axis */
    takt_dim dims[TAKT_MAX_RANK + 1], size = 1;
    for (size_t i = 0; i < count; i++) {
        last.var[last.rank++] = v.var[axes[i]];
        const takt_dim own = takt_lower_size(l, v.var[axes[i]]);
        if (!takt_dim_is_number(own))
            return takt_lower_fail(l, TAKT_E_DIM, "at_least needs domains whose size is a number");
        size *= own;
    }
    if (f->integer > size) { /* there are not that many */
        out.id = takt_lower_constant(l, 0);
        out.rank = 0;
        return out;
    }
    for (int i = 0; i < out.rank; i++)
        dims[i] = takt_lower_size(l, out.var[i]);
    dims[out.rank] = size;
    takt_id id = takt_labelled_arrange(l, &v, last.var, last.rank);
    id = takt_reshape(l->g, id, dims, (size_t)out.rank + 1);
    const takt_named_attr k = {"k", takt_attr_i64(f->integer)};
    id = takt_graph_get(l->g, takt_graph_call(l->g, &takt_op_top_k, 1, &id, 1, &k), 0);
    id = takt_slice(l->g, id, out.rank, f->integer - 1, f->integer, 1);
    out.id = takt_reshape(l->g, id, dims, (size_t)out.rank);
    return out;
}
