/* ground_rules.c - rules applied to every tuple, until no function changes. */
#include <string.h>

#include "base/size.h"
#include "logic/ground.h"

/* Tuples of one relation whose functions are kept. */
#define MOST_CELLS ((size_t)1 << 24)

/* ---- rules ---- */

/* A compiled rule. */
typedef struct ready {
    const takt_rule *rule;
    takt_predicate *head;
    takt_ground_plan *body;
    takt_source *weight;
    bool is_lifted[TAKT_GROUND_VARIABLES];
    struct ready *next;
} ready;

/* Removes a quantifier over lifted axes around the whole body. */
static const takt_formula *open_body(takt_grounding *g, const takt_formula *f, takt_closing *close)
{
    const bool is_quantifier = f->kind == TAKT_LOGIC_EXISTS || f->kind == TAKT_LOGIC_FORALL;
    size_t rest = 0;
    for (size_t i = 0; is_quantifier && i < f->bound_count; i++) {
        const takt_dim size = takt_ground_size(g, f->bound[i]);
        if (takt_dim_is_number(size)) {
            rest++;
            continue;
        }
        const int axis = takt_events_lift(g->l, g->e, size);
        close->axes |= axis >= 0 ? 1U << axis : 0;
    }
    if (close->axes == 0)
        return f;
    close->is_forall = f->kind == TAKT_LOGIC_FORALL;
    takt_formula *inner = takt_arena_copy(g->l->program->arena, f, sizeof *f);
    int *bound = inner != NULL ? takt_ground_room(g, f->bound_count, sizeof *bound) : NULL;
    if (bound == NULL)
        return f;
    inner->bound = bound;
    inner->bound_count = 0;
    for (size_t i = 0; i < f->bound_count; i++)
        if (takt_dim_is_number(takt_ground_size(g, f->bound[i])))
            bound[inner->bound_count++] = f->bound[i];
    return rest > 0 || f->b != NULL || f->has_power ? inner : f->a;
}

/* Each lifted axis has one variable in a rule. */
static bool lift_variables(takt_grounding *g, const takt_rule *rule)
{
    int owner[TAKT_MOST_LIFTED];
    for (int i = 0; i < TAKT_MOST_LIFTED; i++)
        owner[i] = -1;
    for (size_t i = 0; i < rule->variable_count; i++) {
        g->is_lifted[i] = false;
        const takt_dim size = takt_ground_size(g, (int)i);
        if (takt_dim_is_number(size))
            continue;
        const int axis = takt_events_lift(g->l, g->e, size);
        if (axis < 0)
            return false;
        if (owner[axis] >= 0) {
            takt_lower_fail(g->l, TAKT_E_SEMANTICS,
                            "%s and %s range over one axis whose size is a name: under "
                            "probability, a rule has one such variable",
                            rule->variables[owner[axis]].name, rule->variables[i].name);
            return false;
        }
        owner[axis] = (int)i;
        g->is_lifted[i] = true;
    }
    return true;
}

static ready *compile_rule(takt_grounding *g, takt_predicate *p, const takt_rule *rule,
                           takt_closing *close)
{
    ready *r = takt_ground_room(g, 1, sizeof *r);
    g->l->rule = rule;
    g->l->semantics = &takt_semantics_probability;
    g->l->place = rule->place;
    if (r == NULL || !lift_variables(g, rule))
        return NULL;
    const takt_formula *body = open_body(g, rule->body, close);
    if (close->axes != 0 && (p->rules->next != NULL || rule->has_weight || p->is_recursive)) {
        (void)takt_ground_refuse(
            g, TAKT_E_SEMANTICS,
            "a quantifier over an axis whose size is a name takes a rule of its own, "
            "without weight",
            NULL);
        return NULL;
    }
    *r = (ready){.rule = rule, .head = p, .body = takt_ground_compile(g, body)};
    memcpy(r->is_lifted, g->is_lifted, sizeof r->is_lifted);
    if (r->body != NULL && rule->has_weight && rule->weight != 1)
        r->weight = takt_events_weight(g->l, g->e, rule->weight, p->cell_count);
    return r->body != NULL && g->l->g->status == TAKT_OK ? r : NULL;
}

/* The next tuple of the head. */
static void set_head(takt_grounding *g, const takt_predicate *p, size_t cell)
{
    for (int i = p->arity - 1; i >= 0; i--) {
        const takt_dim size = takt_events_dim(g->l, p->arg[i].size);
        if (!takt_dim_is_number(size))
            continue;
        g->env[i] = (int64_t)(cell % (size_t)size);
        cell /= (size_t)size;
    }
}

/* Applies a rule to every tuple; true if a function changed. */
static bool apply(takt_grounding *g, const ready *r, takt_dd *next)
{
    const takt_predicate *p = r->head;
    bool has_changed = false;
    g->l->rule = r->rule;
    memcpy(g->is_lifted, r->is_lifted, sizeof g->is_lifted);
    for (size_t i = 0; i < p->cell_count && g->e->dds.status == TAKT_OK; i++) {
        set_head(g, p, i);
        takt_dd one = takt_ground(g, r->body);
        const int64_t at = (int64_t)i;
        if (r->weight != NULL && one != TAKT_DD_FALSE)
            one = takt_dd_and(&g->e->dds, one, takt_events_at(g->e, r->weight, &at));
        const takt_dd all = takt_dd_or(&g->e->dds, next[i], one);
        has_changed = has_changed || all != next[i];
        next[i] = all;
    }
    return has_changed;
}

static bool make_cells(takt_grounding *g, takt_predicate *p)
{
    size_t count = 1;
    g->l->place = p->place;
    for (int i = 0; i < p->arity; i++) {
        const takt_dim size = takt_events_dim(g->l, p->arg[i].size);
        if (takt_dim_is_number(size) && !takt_size_mul(count, (size_t)size, &count))
            count = SIZE_MAX;
    }
    if (count > MOST_CELLS) {
        takt_lower_fail(g->l, TAKT_E_OVERFLOW, "%s has more than %zu tuples, too many for proofs",
                        p->name, MOST_CELLS);
        return false;
    }
    p->cell_count = count;
    p->cells = takt_ground_room(g, count + 1, sizeof *p->cells);
    return p->cells != NULL;
}

/* The functions of all members of a stratum. */
bool takt_ground_stratum(takt_lower *l, takt_events *e, takt_predicate *const *members,
                         size_t count, takt_closing *close)
{
    takt_grounding *g = takt_arena_array(l->program->arena, 1, sizeof *g);
    ready *first = NULL, **last = &first;
    if (g == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return false;
    }
    *g = (takt_grounding){.l = l, .e = e};
    for (size_t i = 0; i < count; i++)
        if (!make_cells(g, members[i]))
            return false;
    int64_t rounds = members[0]->is_recursive ? INT64_MAX : 1;
    for (size_t i = 0; i < count; i++) {
        rounds =
            members[i]->rounds > 0 && members[i]->rounds < rounds ? members[i]->rounds : rounds;
        for (const takt_rule *r = members[i]->rules; r != NULL; r = r->next) {
            if ((*last = compile_rule(g, members[i], r, close)) == NULL)
                return false;
            last = &(*last)->next;
        }
    }
    for (bool goes_on = true; goes_on && rounds > 0; rounds--) {
        goes_on = false;
        for (const ready *r = first; r != NULL; r = r->next)
            goes_on = apply(g, r, r->head->cells) || goes_on;
        if (!takt_events_check(l, e))
            return false;
    }
    return true;
}

/* A Boolean relation used by a rule of probability gets functions, too: for facts they are true or
 * false. */
takt_ground_plan *takt_ground_needed(takt_grounding *g, takt_predicate *q, takt_ground_plan *p)
{
    takt_predicate *members[64];
    size_t count = 0;
    p->cells = q;
    if (q->cells != NULL)
        return p;
    for (takt_predicate *m = g->l->program->predicates; m != NULL && count < 64; m = m->next)
        if (m->rules != NULL && m->stratum == q->stratum)
            members[count++] = m;
    takt_lower own = *g->l;
    takt_closing close = {0};
    const bool is_good = takt_ground_stratum(&own, g->e, members, count, &close);
    if (is_good && close.axes != 0)
        return takt_ground_refuse(
            g, TAKT_E_SEMANTICS,
            "rules of probability cannot use an exists or forall over an axis whose "
            "size is a name",
            NULL);
    return is_good ? p : NULL;
}
