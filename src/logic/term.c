/* term.c - numbers: variables, elements of tensors, arithmetic, comparisons, folds. */
#include <math.h>
#include <stdio.h>

#include "logic/lower.h"
#include "op/record/fixpoint.h"
#include "op/util/datalog.h"
#include "op/util/make.h"

static bool is_float(const takt_lower *l, const takt_labelled *v)
{
    return takt_dtype_is_float(takt_type_of(l->g, v->id)->dtype);
}

/* Integers combined with a float become floats. */
static void widen(takt_lower *l, takt_labelled *a, takt_labelled *b)
{
    if (a->id == TAKT_NONE || b->id == TAKT_NONE || is_float(l, a) == is_float(l, b))
        return;
    takt_labelled *narrow = is_float(l, a) ? b : a;
    narrow->id = takt_cast(l->g, narrow->id, TAKT_F32);
}

static takt_id constant(const takt_lower *l, takt_dtype dtype, double value)
{
    const takt_semantics as = {.dtype = dtype};
    takt_lower own = *l;
    own.semantics = &as;
    return takt_lower_constant(&own, value);
}

static const takt_op *op_of(uint8_t op)
{
    static const takt_op *const ops[] = {
        [TAKT_LOGIC_EQ] = &takt_op_eq,   [TAKT_LOGIC_NE] = &takt_op_ne,
        [TAKT_LOGIC_LT] = &takt_op_lt,   [TAKT_LOGIC_LE] = &takt_op_le,
        [TAKT_LOGIC_GT] = &takt_op_gt,   [TAKT_LOGIC_GE] = &takt_op_ge,
        [TAKT_LOGIC_ADD] = &takt_op_add, [TAKT_LOGIC_SUB] = &takt_op_sub,
        [TAKT_LOGIC_MUL] = &takt_op_mul, [TAKT_LOGIC_DIV] = &takt_op_div,
        [TAKT_LOGIC_MOD] = &takt_op_mod,
    };
    return ops[op];
}

/* a op b with the axes of both. */
static takt_labelled operate(takt_lower *l, const takt_op *op, takt_labelled a, takt_labelled b)
{
    takt_labelled out;
    if (!takt_labelled_is_good(&a) || !takt_labelled_is_good(&b) ||
        !takt_labelled_union(l, &a, &b, &out))
        return takt_labelled_none();
    widen(l, &a, &b);
    out.id = takt_binary(l->g, op, takt_labelled_arrange(l, &a, out.var, out.rank),
                         takt_labelled_arrange(l, &b, out.var, out.rank));
    return out;
}

static takt_labelled variable(const takt_lower *l, int v)
{
    const takt_dim size = takt_lower_size(l, v);
    takt_labelled out = {takt_make_iota(l->g, &size, 1, 0), TAKT_NONE, 1, {v}};
    return out;
}

static takt_labelled choice(takt_lower *l, const takt_formula *f)
{
    const takt_labelled c = takt_lower_crisp(l, f->b);
    takt_labelled a = takt_lower_term(l, f->a), b = takt_lower_term(l, f->c), both, out;
    if (!takt_labelled_is_good(&a) || !takt_labelled_is_good(&b) || !takt_labelled_is_good(&c) ||
        !takt_labelled_union(l, &a, &b, &both) || !takt_labelled_union(l, &both, &c, &out))
        return takt_labelled_none();
    widen(l, &a, &b);
    out.id = takt_select(l->g, takt_labelled_arrange(l, &c, out.var, out.rank),
                         takt_labelled_arrange(l, &a, out.var, out.rank),
                         takt_labelled_arrange(l, &b, out.var, out.rank));
    return out;
}

takt_labelled takt_lower_term(takt_lower *l, const takt_formula *f)
{
    const void *place = l->place;
    takt_labelled out = takt_labelled_none();
    l->place = f->place;
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_VARIABLE: out = variable(l, f->variable); break;
    case TAKT_LOGIC_INTEGER: out = takt_labelled_scalar(takt_scalar_i64(l->g, f->integer)); break;
    case TAKT_LOGIC_DECIMAL: out = takt_labelled_scalar(constant(l, TAKT_F32, f->number)); break;
    case TAKT_LOGIC_ELEMENT: out = takt_lower_element(l, f); break;
    case TAKT_LOGIC_ARITH:
        out = operate(l, op_of(f->op), takt_lower_term(l, f->a), takt_lower_term(l, f->b));
        break;
    case TAKT_LOGIC_CHOICE: out = choice(l, f); break;
    case TAKT_LOGIC_FOLD: out = takt_lower_fold(l, f); break;
    default: out = takt_lower_fail(l, TAKT_E_RULE, "a number is wanted here, not a truth value");
    }
    l->place = place;
    return out;
}

/* ---- folds ---- */

/* The neutral element, for values that the guard excludes and for empty domains. */
static double neutral(uint8_t op, bool is_float)
{
    switch (op) {
    case TAKT_LOGIC_MIN: return is_float ? INFINITY : 0x1p62;
    case TAKT_LOGIC_MAX: return is_float ? -INFINITY : -0x1p62;
    case TAKT_LOGIC_PRODUCT: return 1;
    default: return 0;
    }
}

static const takt_op *reduction(uint8_t op)
{
    switch (op) {
    case TAKT_LOGIC_MIN: return &takt_op_reduce_min;
    case TAKT_LOGIC_MAX: return &takt_op_reduce_max;
    case TAKT_LOGIC_PRODUCT: return &takt_op_reduce_prod;
    default: return &takt_op_reduce_sum;
    }
}

/* With an axis in full size for every bound variable. */
static takt_labelled with_bound(takt_lower *l, const takt_labelled *v, const takt_formula *f)
{
    takt_labelled bound = takt_labelled_none(), out;
    for (size_t i = 0; i < f->bound_count && bound.rank < TAKT_MAX_RANK; i++)
        bound.var[bound.rank++] = f->bound[i];
    if (!takt_labelled_is_good(v) || !takt_labelled_union(l, v, &bound, &out))
        return takt_labelled_none();
    out.id = takt_labelled_spread(l, v, out.var, out.rank);
    return out;
}

static takt_labelled reduce(takt_lower *l, const takt_op *op, const takt_labelled *v,
                            const takt_formula *f)
{
    int64_t axes[TAKT_MAX_RANK];
    takt_labelled out;
    const size_t count = takt_labelled_axes(v, f->bound, f->bound_count, axes, &out);
    if (v->id != TAKT_NONE)
        out.id = takt_reduce_over(l->g, op, v->id, axes, count, false);
    return out;
}

/* How many values of the bound variables the guard (NULL: none) accepts. */
static takt_labelled count_guard(takt_lower *l, const takt_formula *f)
{
    takt_labelled v =
        f->b != NULL ? takt_lower_crisp(l, f->b) : takt_labelled_scalar(constant(l, TAKT_BOOL, 1));
    v = with_bound(l, &v, f);
    v.id = v.id != TAKT_NONE ? takt_cast(l->g, v.id, TAKT_I64) : v.id;
    return reduce(l, &takt_op_reduce_sum, &v, f);
}

/* The tuples of a relation, each once: a caller may bind one twice, and rules keep it once. */
static takt_id tuples_of(takt_lower *l, const takt_predicate *p)
{
    char terms[4 * TAKT_DL_ARITY], program[128];
    if (p->rules != NULL || p->facts != NULL)
        return p->value;
    const int64_t capacity = takt_type_of(l->g, p->value)->dim[0];
    for (int i = 0, at = 0; i < p->arity; i++)
        at += snprintf(terms + at, sizeof terms - (size_t)at, "%s%c", i > 0 ? ", " : "", 'a' + i);
    snprintf(program, sizeof program, "%d : %d ; 0(%s) <- 1(%s)", p->arity, p->arity, terms, terms);
    const takt_named_attr attrs[] = {{"program", takt_attr_string(program)},
                                     {"capacity", takt_attr_i64s(&capacity, 1)},
                                     {"names", {.strings = &p->name, .count = 1, .is_set = true}}};
    return takt_graph_call(l->g, &takt_op_fixpoint, 1, &p->value, 3, attrs);
}

/* How many tuples a set has: rows that are not all ones. */
static takt_labelled count_tuples(takt_lower *l, const takt_formula *f)
{
    const takt_formula *atom = f->a;
    const takt_predicate *p = atom->predicate;
    bool is_whole = f->b == NULL && f->bound_count == atom->term_count;
    for (size_t i = 0; is_whole && i < atom->term_count; i++) {
        bool is_bound = false;
        for (size_t k = 0; k < f->bound_count; k++)
            is_bound = is_bound || (atom->terms[i]->kind == TAKT_LOGIC_VARIABLE &&
                                    atom->terms[i]->variable == f->bound[k]);
        is_whole = is_bound;
    }
    if (!is_whole)
        return takt_lower_fail(l, TAKT_E_RULE, "of a set of tuples, `count` takes all of it");
    const takt_id first = takt_slice(l->g, tuples_of(l, p), 1, 0, 1, 1);
    const takt_id is_row =
        takt_binary(l->g, &takt_op_ne, first, takt_scalar_like(l->g, first, UINT32_MAX));
    return takt_labelled_scalar(takt_reduce_over(
        l->g, &takt_op_reduce_sum, takt_cast(l->g, is_row, TAKT_I64), NULL, 0, false));
}

static takt_labelled count(takt_lower *l, const takt_formula *f)
{
    if (f->a->kind == TAKT_LOGIC_ATOM && f->a->predicate->form == TAKT_FORM_TUPLES)
        return count_tuples(l, f);
    takt_labelled v = takt_lower_crisp(l, f->a);
    if (f->b != NULL) {
        const takt_labelled guard = takt_lower_crisp(l, f->b);
        v = takt_labelled_pair(l, &v, &guard, takt_semantics_boolean.both);
    }
    v = with_bound(l, &v, f);
    if (v.id != TAKT_NONE)
        v.id = takt_cast(l->g, v.id, TAKT_I64);
    return reduce(l, &takt_op_reduce_sum, &v, f);
}

takt_labelled takt_lower_fold(takt_lower *l, const takt_formula *f)
{
    if (f->op == TAKT_LOGIC_COUNT)
        return count(l, f);
    takt_labelled v = takt_lower_term(l, f->a);
    if (!takt_labelled_is_good(&v))
        return v;
    if (f->op == TAKT_LOGIC_MEAN && !is_float(l, &v))
        v.id = takt_cast(l->g, v.id, TAKT_F32);
    if (f->b != NULL) {
        const takt_labelled guard = takt_lower_crisp(l, f->b);
        takt_labelled all;
        if (!takt_labelled_is_good(&guard) || !takt_labelled_union(l, &v, &guard, &all))
            return takt_labelled_none();
        const takt_dtype dtype = takt_type_of(l->g, v.id)->dtype;
        all.id = takt_select(l->g, takt_labelled_arrange(l, &guard, all.var, all.rank),
                             takt_labelled_arrange(l, &v, all.var, all.rank),
                             constant(l, dtype, neutral(f->op, is_float(l, &v))));
        v = all;
    }
    v = with_bound(l, &v, f);
    takt_labelled out = reduce(l, reduction(f->op), &v, f);
    if (f->op != TAKT_LOGIC_MEAN)
        return out;
    takt_labelled number = count_guard(l, f);
    if (!takt_labelled_is_good(&number))
        return number;
    number.id = takt_cast(l->g, number.id, TAKT_F32);
    return operate(l, &takt_op_div, out, number);
}

/* ---- comparisons ---- */

takt_labelled takt_lower_compare(takt_lower *l, const takt_formula *f)
{
    return operate(l, op_of(f->op), takt_lower_term(l, f->a), takt_lower_term(l, f->b));
}
