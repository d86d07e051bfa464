/* refute.c - why a tuple is not in a relation: where each alternative of its rules fails. */
#include <string.h>

#include "logic/prove.h"

enum { LITERALS = 64 };

/* One alternative: its literals in order, below all its `exists`. */
typedef struct attempt {
    takt_world *w;
    const takt_rule *rule;
    const takt_formula *literal[LITERALS];
    size_t count;
    int64_t *env;
    size_t furthest;  /* literals that hold together */
    int64_t *reached; /* the first values that get this far */
} attempt;

static void flatten(attempt *a, const takt_formula *f, size_t reserve)
{
    const bool is_plain = f->kind == TAKT_LOGIC_EXISTS && !f->has_power;
    if (is_plain && f->b == NULL) {
        flatten(a, f->a, reserve);
    } else if ((is_plain || f->kind == TAKT_LOGIC_AND) && a->count + reserve + 2 <= LITERALS) {
        flatten(a, is_plain ? f->b : f->a, reserve + 1);
        flatten(a, is_plain ? f->a : f->b, reserve);
    } else {
        a->literal[a->count++] = f;
    }
}

static bool is_bound_below(const takt_formula *f, int variable)
{
    for (size_t i = 0; i < f->bound_count; i++)
        if (f->bound[i] == variable)
            return true;
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL && is_bound_below(takt_formula_child(f, i), variable))
            return true;
    return false;
}

static bool try_from(attempt *a, size_t at);

typedef struct level {
    attempt *a;
    size_t at;
} level;

static bool next_level(takt_world_walk *walk)
{
    const level *l = walk->user;
    return try_from(l->a, l->at + 1);
}

/* False: stopped by a failure. */
static bool try_from(attempt *a, size_t at)
{
    const size_t variables = a->rule->variable_count;
    int bound[TAKT_WORLD_PARTS];
    size_t count = 0;
    if (at > a->furthest) {
        a->furthest = at;
        memcpy(a->reached, a->env, variables * sizeof *a->env);
    }
    if (at == a->count)
        return true;
    const takt_formula *f = a->literal[at];
    for (size_t v = 0; v < variables && count < TAKT_WORLD_PARTS; v++)
        if (a->env[v] < 0 && takt_formula_has(f, (int)v) && !is_bound_below(f, (int)v))
            bound[count++] = (int)v;
    level own = {a, at};
    takt_world_walk walk = {.w = a->w,
                            .rule = a->rule,
                            .env = a->env,
                            .bound = bound,
                            .bound_count = count,
                            .visit = next_level,
                            .user = &own};
    takt_world_part(&walk, f, 0);
    const bool goes_on = takt_world_each(&walk);
    for (size_t i = 0; i < count; i++)
        a->env[bound[i]] = -1;
    return goes_on;
}

static bool alternative(attempt *a, const takt_formula *f, const uint32_t *tuple,
                        takt_rule_refusal_fn *tell, void *user)
{
    if (f->kind == TAKT_LOGIC_OR)
        return alternative(a, f->a, tuple, tell, user) && alternative(a, f->b, tuple, tell, user);
    a->count = 0;
    a->furthest = 0;
    flatten(a, f, 0);
    for (size_t v = 0; v < a->rule->variable_count; v++)
        a->env[v] = a->reached[v] =
            v < (size_t)a->rule->head->arity ? (int64_t)tuple[v] : INT64_C(-1);
    if (!try_from(a, 0) || a->w->status != TAKT_OK)
        return false;
    const takt_formula *literal = a->furthest < a->count ? a->literal[a->furthest] : NULL;
    for (size_t v = 0; v < a->rule->variable_count; v++)
        if (is_bound_below(literal != NULL ? literal : f, (int)v))
            a->reached[v] = -1;
    tell(user, &(takt_rule_refusal){a->rule, f, literal, a->reached});
    return true;
}

takt_status takt_refute(takt_world *w, const takt_predicate *p, const uint32_t *tuple,
                        takt_rule_refusal_fn *tell, void *user)
{
    for (const takt_rule *r = p->rules; r != NULL && w->status == TAKT_OK; r = r->next) {
        attempt a = {.w = w, .rule = r};
        a.env = takt_arena_array(&w->arena, r->variable_count + 1, sizeof *a.env);
        a.reached = takt_arena_array(&w->arena, r->variable_count + 1, sizeof *a.reached);
        if (a.env == NULL || a.reached == NULL)
            return TAKT_ERR_MEMORY;
        if (!alternative(&a, r->body, tuple, tell, user))
            break;
    }
    return w->status;
}
