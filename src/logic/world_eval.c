/* world_eval.c - truth of formulas and values of terms in the relations of a run. */
#include <math.h>

#include "logic/world.h"

/* ---- terms ---- */

double takt_world_number(takt_world_value v)
{
    return v.is_float ? v.number : (double)v.integer;
}

/* Next to a float: f32, as in a run (term.c). */
static double narrow(takt_world_value v)
{
    return (double)(float)takt_world_number(v);
}

static takt_world_value whole(int64_t integer)
{
    return (takt_world_value){.integer = integer};
}

/* For f32 numbers, one operation in f64 followed by this rounding equals the operation in f32. */
static takt_world_value real(double number)
{
    return (takt_world_value){.is_float = true, .number = (double)(float)number};
}

int64_t takt_world_size(takt_world *w, const takt_rule *rule, int variable)
{
    const takt_variable *v = &rule->variables[variable];
    if (v->range.is_known && takt_dim_is_number(v->range.size))
        return v->range.size;
    if (w->status == TAKT_OK)
        w->status = takt_fail(w->ctx, TAKT_E_SEMANTICS,
                              "%s goes through an axis whose size is a name: there are no proofs "
                              "over such",
                              v->name);
    return 0;
}

static takt_world_value element(takt_world *w, const takt_rule *rule, const takt_formula *t,
                                int64_t *env)
{
    const takt_tensor_view *v = w->sets[t->predicate->index].view;
    size_t at = 0;
    if (v == NULL || v->data == NULL || v->rank != (int)t->term_count)
        return whole(0);
    for (size_t i = 0; i < t->term_count; i++) {
        const int64_t index = takt_world_term(w, rule, t->terms[i], env).integer;
        if (index < 0 || index >= v->dims[i])
            return whole(0);
        at = at * (size_t)v->dims[i] + (size_t)index;
    }
    return takt_dtype_is_float(v->dtype) ? real(takt_dtype_get_f(v->dtype, v->data, at))
                                         : whole(takt_dtype_get_i(v->dtype, v->data, at));
}

/* Rounded down; 0 for a divisor of 0, as in the ops. */
static int64_t quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* With the sign of the divisor. */
static double remainder_of(double x, double y)
{
    const double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static takt_world_value arith(int op, takt_world_value a, takt_world_value b)
{
    const double x = narrow(a), y = narrow(b);
    const bool is_float = a.is_float || b.is_float;
    const uint64_t i = (uint64_t)a.integer, k = (uint64_t)b.integer;
    switch ((takt_logic_op)op) {
    case TAKT_LOGIC_ADD: return is_float ? real(x + y) : whole((int64_t)(i + k));
    case TAKT_LOGIC_SUB: return is_float ? real(x - y) : whole((int64_t)(i - k));
    case TAKT_LOGIC_MUL:
    case TAKT_LOGIC_PRODUCT: return is_float ? real(x * y) : whole((int64_t)(i * k));
    case TAKT_LOGIC_DIV: return is_float ? real(x / y) : whole(quotient(a.integer, b.integer));
    default:
        return is_float ? real(remainder_of(x, y))
                        : whole((int64_t)(i - (uint64_t)quotient(a.integer, b.integer) * k));
    }
}

typedef struct folding {
    const takt_formula *fold;
    takt_world_value so_far;
    int64_t count;
} folding;

static bool fold_one(takt_world_walk *walk)
{
    folding *f = walk->user;
    const takt_formula *fold = f->fold;
    if (fold->op == TAKT_LOGIC_COUNT) {
        f->count++;
        return true;
    }
    takt_world_value v = takt_world_term(walk->w, walk->rule, fold->a, walk->env);
    if (fold->op == TAKT_LOGIC_MEAN)
        v = real(takt_world_number(v));
    const double x = takt_world_number(v), y = takt_world_number(f->so_far);
    const bool is_first = f->count++ == 0;
    if (fold->op == TAKT_LOGIC_MIN || fold->op == TAKT_LOGIC_MAX)
        f->so_far = is_first || (fold->op == TAKT_LOGIC_MIN ? x < y : x > y) ? v : f->so_far;
    else if (is_first)
        f->so_far = v;
    else if (v.is_float || f->so_far.is_float) /* rounded at the end, as the op's reference does */
        f->so_far = (takt_world_value){.is_float = true,
                                       .number = fold->op == TAKT_LOGIC_PRODUCT ? x * y : x + y};
    else
        f->so_far =
            arith(fold->op == TAKT_LOGIC_PRODUCT ? TAKT_LOGIC_MUL : TAKT_LOGIC_ADD, f->so_far, v);
    return true;
}

static takt_world_value fold(takt_world *w, const takt_rule *rule, const takt_formula *t,
                             int64_t *env)
{
    folding f = {.fold = t, .so_far = whole(t->op == TAKT_LOGIC_PRODUCT)};
    takt_world_walk walk = {.w = w,
                            .rule = rule,
                            .env = env,
                            .bound = t->bound,
                            .bound_count = t->bound_count,
                            .visit = fold_one,
                            .user = &f};
    if (t->b != NULL)
        takt_world_part(&walk, t->b, 1);
    if (t->op == TAKT_LOGIC_COUNT)
        takt_world_part(&walk, t->a, 0);
    (void)takt_world_each(&walk);
    if (t->op == TAKT_LOGIC_COUNT)
        return whole(f.count);
    if (t->op == TAKT_LOGIC_MEAN)
        return real(narrow(f.so_far) / narrow(whole(f.count > 0 ? f.count : 1)));
    return f.so_far.is_float ? real(f.so_far.number) : f.so_far;
}

takt_world_value takt_world_term(takt_world *w, const takt_rule *rule, const takt_formula *t,
                                 int64_t *env)
{
    switch ((takt_formula_kind)t->kind) {
    case TAKT_LOGIC_VARIABLE: return whole(env[t->variable]);
    case TAKT_LOGIC_INTEGER: return whole(t->integer);
    case TAKT_LOGIC_DECIMAL: return real(t->number);
    case TAKT_LOGIC_ELEMENT: return element(w, rule, t, env);
    case TAKT_LOGIC_ARITH:
        return arith(t->op, takt_world_term(w, rule, t->a, env),
                     takt_world_term(w, rule, t->b, env));
    case TAKT_LOGIC_FOLD: return fold(w, rule, t, env);
    default:
        return takt_world_term(w, rule, takt_world_holds(w, rule, t->b, env) ? t->a : t->c, env);
    }
}

/* ---- formulas ---- */

bool takt_world_compare(int op, takt_world_value a, takt_world_value b)
{
    const bool is_float = a.is_float || b.is_float;
    const double x = narrow(a), y = narrow(b);
    const bool is_less = is_float ? x < y : a.integer < b.integer;
    const bool is_equal = is_float ? x == y : a.integer == b.integer;
    const bool is_more = is_float ? x > y : a.integer > b.integer;
    switch ((takt_logic_op)op) {
    case TAKT_LOGIC_EQ: return is_equal;
    case TAKT_LOGIC_NE: return !is_equal;
    case TAKT_LOGIC_LT: return is_less;
    case TAKT_LOGIC_LE: return is_less || is_equal;
    case TAKT_LOGIC_GT: return is_more;
    default: return is_more || is_equal;
    }
}

bool takt_world_arguments(const takt_formula *atom, const int64_t *env,
                          uint32_t tuple[static TAKT_MAX_RANK])
{
    for (size_t i = 0; i < atom->term_count; i++) {
        const takt_formula *t = atom->terms[i];
        const int64_t v = t->kind == TAKT_LOGIC_VARIABLE ? env[t->variable] : t->integer;
        if (v < 0 || v >= (int64_t)UINT32_MAX)
            return false;
        tuple[i] = (uint32_t)v;
    }
    return true;
}

typedef struct tally {
    const takt_formula *f;
    int64_t count, enough;
    bool fails;
} tally;

static bool count_one(takt_world_walk *walk)
{
    tally *t = walk->user;
    return ++t->count < t->enough;
}

static bool test_one(takt_world_walk *walk)
{
    tally *t = walk->user;
    t->fails = !takt_world_holds(walk->w, walk->rule, t->f->a, walk->env);
    return !t->fails;
}

static bool quantifier(takt_world *w, const takt_rule *rule, const takt_formula *f, int64_t *env)
{
    const bool is_all = f->kind == TAKT_LOGIC_FORALL;
    tally t = {.f = f, .enough = f->kind == TAKT_LOGIC_AT_LEAST ? f->integer : 1};
    takt_world_walk walk = {.w = w,
                            .rule = rule,
                            .env = env,
                            .bound = f->bound,
                            .bound_count = f->bound_count,
                            .visit = is_all ? test_one : count_one,
                            .user = &t};
    if (f->b != NULL)
        takt_world_part(&walk, f->b, 1);
    if (!is_all)
        takt_world_part(&walk, f->a, 0);
    (void)takt_world_each(&walk);
    return is_all ? !t.fails && w->status == TAKT_OK : t.count >= t.enough;
}

bool takt_world_holds(takt_world *w, const takt_rule *rule, const takt_formula *f, int64_t *env)
{
    uint32_t tuple[TAKT_MAX_RANK];
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_ATOM:
        return takt_world_arguments(f, env, tuple) && takt_world_has(w, f->predicate, tuple);
    case TAKT_LOGIC_COMPARE:
        return takt_world_compare(f->op, takt_world_term(w, rule, f->a, env),
                                  takt_world_term(w, rule, f->b, env));
    case TAKT_LOGIC_AND:
        return takt_world_holds(w, rule, f->a, env) && takt_world_holds(w, rule, f->b, env);
    case TAKT_LOGIC_OR:
        return takt_world_holds(w, rule, f->a, env) || takt_world_holds(w, rule, f->b, env);
    case TAKT_LOGIC_NOT: return !takt_world_holds(w, rule, f->a, env);
    case TAKT_LOGIC_IMPLIES:
        return !takt_world_holds(w, rule, f->a, env) || takt_world_holds(w, rule, f->b, env);
    case TAKT_LOGIC_IFF:
        return takt_world_holds(w, rule, f->a, env) == takt_world_holds(w, rule, f->b, env);
    case TAKT_LOGIC_TRUTH: return f->number != 0;
    case TAKT_LOGIC_CHOICE:
        return takt_world_holds(w, rule, takt_world_holds(w, rule, f->b, env) ? f->a : f->c, env);
    default: return quantifier(w, rule, f, env);
    }
}
