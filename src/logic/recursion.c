/* recursion.c - rules that use themselves: a loop to the least fixed point.
 *
 * Boolean rules whose recursive uses are only below and, or and exists are evaluated semi-naively:
 * a round joins only what the previous round has found. All others recompute the rules from the
 * last values, until nothing changes (truth: by more than 1e-6), or for `rounds` rounds. */
#include <string.h>

#include "logic/lower.h"
#include "op/util/bits.h"
#include "op/util/demand.h"

#define MOVE 1e-6

enum {
    ROUNDS = 1000, /* for soft rules that do not set their own */
    MOST_CARRIED = TAKT_MAX_OUTPUTS,
    MOST_CAPTURED = 256
};

typedef struct recursion {
    takt_lower *l;
    takt_predicate *const *members;
    size_t count;
    const takt_semantics *semantics;
    int64_t rounds; /* requested; 0: until nothing changes */
    bool is_semi;   /* carries the new tuples next to each value */
    takt_graph *body;
    takt_predicate *captured[MOST_CAPTURED];
    bool was_checked[MOST_CAPTURED], was_bool[MOST_CAPTURED];
    size_t captured_count;
    takt_id in[2 + MOST_CARRIED + MOST_CAPTURED]; /* of the loop */
    size_t in_count;
} recursion;

/* ---- what the rules use ---- */

static bool is_member(const recursion *r, const takt_predicate *p)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->members[i] == p)
            return true;
    return false;
}

static void capture(recursion *r, takt_predicate *p)
{
    if (p == NULL || is_member(r, p))
        return;
    for (size_t i = 0; i < r->captured_count; i++)
        if (r->captured[i] == p)
            return;
    if (r->captured_count == MOST_CAPTURED)
        takt_lower_fail(r->l, TAKT_E_RULE, "recursive rules use more than %d relations",
                        MOST_CAPTURED);
    else
        r->captured[r->captured_count++] = p;
}

/* Collects the predicates used, and finds whether recursive uses are only below and, or and
 * exists. */
static void look(recursion *r, const takt_formula *f, bool is_plain)
{
    const bool is_use = f->kind == TAKT_LOGIC_ATOM || f->kind == TAKT_LOGIC_ELEMENT;
    if (is_use && is_member(r, f->predicate))
        r->is_semi = r->is_semi && is_plain;
    if (is_use)
        capture(r, f->predicate);
    capture(r, f->power);
    is_plain =
        is_plain && !f->has_power &&
        (f->kind == TAKT_LOGIC_AND || f->kind == TAKT_LOGIC_OR || f->kind == TAKT_LOGIC_EXISTS);
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            look(r, takt_formula_child(f, i), is_plain);
}

static size_t occurrences(const recursion *r, const takt_formula *f)
{
    size_t count = f->kind == TAKT_LOGIC_ATOM && is_member(r, f->predicate);
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            count += occurrences(r, takt_formula_child(f, i));
    return count;
}

/* ---- values before the first round ---- */

static takt_id nothing(takt_lower *l, const takt_predicate *p)
{
    takt_dim dims[TAKT_MAX_RANK];
    for (int i = 0; i < p->arity; i++)
        dims[i] = p->arg[i].size;
    l->semantics = p->semantics;
    takt_id id = takt_lower_constant(l, p->semantics->none);
    if (p->arity > 0)
        id = takt_broadcast(l->g, id, dims, (size_t)p->arity);
    return p->form == TAKT_FORM_BITS ? takt_pack_bits(l->g, id) : id;
}

/* Truth of a net is checked once, outside. */
static takt_id checked_value(recursion *r, takt_predicate *p)
{
    takt_graph *g = r->l->g;
    if (p->form != TAKT_FORM_SOFT || p->is_checked || p->semantics != NULL ||
        !r->semantics->is_truth || !takt_dtype_is_float(takt_type_of(g, p->value)->dtype))
        return p->value;
    const takt_id low = takt_binary(g, &takt_op_ge, p->value, takt_scalar_like(g, p->value, 0));
    const takt_id high = takt_binary(g, &takt_op_le, p->value, takt_scalar_like(g, p->value, 1));
    p->is_checked = true;
    return takt_demand(g, p->value, takt_binary(g, &takt_op_and, low, high), TAKT_DEMAND_TRUTH,
                       p->name);
}

/* The operands of the rounds: bools are packed once, outside, so that the rounds work on bits. */
static takt_id captured_value(recursion *r, size_t i)
{
    takt_predicate *p = r->captured[i];
    r->was_checked[i] = p->is_checked;
    r->was_bool[i] = p->form == TAKT_FORM_BOOL && p->arity > 0 && r->semantics->dtype == TAKT_BOOL;
    if (!r->was_bool[i])
        return checked_value(r, p);
    p->form = TAKT_FORM_BITS;
    return takt_pack_bits(r->l->g, p->value);
}

static void start(recursion *r)
{
    takt_graph *g = r->l->g;
    takt_id first[MOST_CARRIED];
    for (size_t i = 0; i < r->count; i++)
        r->members[i]->value = nothing(r->l, r->members[i]);
    for (size_t i = 0; i < r->count; i++)
        first[i] = takt_lower_rules(r->l, r->members[i]);
    for (size_t i = 0; i < r->count; i++)
        r->members[i]->value = first[i];
    const int64_t most = r->rounds > 0                      ? r->rounds - 1
                         : r->semantics->dtype == TAKT_BOOL ? INT64_C(1) << 40
                                                            : ROUNDS;
    const takt_id yes = takt_cast(g, takt_scalar_i64(g, 1), TAKT_BOOL);
    r->in[r->in_count++] = takt_scalar_i64(g, most);
    r->in[r->in_count++] = yes;
    for (size_t i = 0; i < r->count; i++)
        r->in[r->in_count++] = r->members[i]->value;
    for (size_t i = 0; r->is_semi && i < r->count; i++)
        r->in[r->in_count++] = r->members[i]->value;
    r->in[r->in_count++] = yes; /* whether the last round changed anything */
    for (size_t i = 0; i < r->captured_count; i++)
        r->in[r->in_count++] = captured_value(r, i);
}

/* ---- a round ---- */

static takt_id input(recursion *r, size_t index)
{
    char *name = takt_arena_format(&r->body->arena, "x%zu", index);
    const takt_type type = *takt_type_of(r->l->g, r->in[index]);
    if (name == NULL)
        return takt_graph_fail(r->body, TAKT_ERR_MEMORY);
    return takt_graph_input(r->body, name, &type);
}

static void take_inputs(recursion *r)
{
    size_t at = 0;
    input(r, at++);
    input(r, at++);
    for (size_t i = 0; i < r->count; i++)
        r->members[i]->inner = input(r, at++);
    for (size_t i = 0; r->is_semi && i < r->count; i++)
        r->members[i]->delta = input(r, at++);
    input(r, at++);
    for (size_t i = 0; i < r->captured_count; i++)
        r->captured[i]->inner = input(r, at++);
}

/* True if any element of x is: over all of its axes. */
static takt_id any(takt_graph *g, takt_id x)
{
    if (x != TAKT_NONE && takt_type_of(g, x)->dtype == TAKT_U64)
        x = takt_binary(g, &takt_op_ne, x, takt_scalar_like(g, x, 0));
    if (x == TAKT_NONE || takt_type_of(g, x)->rank == 0)
        return x;
    return takt_reduce_over(g, &takt_op_reduce_max, x, NULL, 0, false);
}

static takt_id moved(const recursion *r, takt_id old, takt_id next)
{
    takt_graph *g = r->body;
    if (r->semantics->dtype != TAKT_F32 || !r->semantics->is_truth)
        return takt_binary(g, &takt_op_ne, old, next);
    const takt_id change = takt_unary(g, &takt_op_abs, takt_sub(g, next, old));
    return takt_binary(g, &takt_op_gt, change, takt_scalar_like(g, change, MOVE));
}

/* The consequences of the last round's tuples: each recursive use in turn reads only those. */
static takt_id news(recursion *r, takt_lower *l, const takt_predicate *p)
{
    takt_id all = TAKT_NONE;
    for (takt_rule *rule = p->rules; rule != NULL; rule = rule->next) {
        const size_t count = occurrences(r, rule->body);
        for (size_t k = 0; k < count; k++) {
            l->delta_index = (int)k;
            const takt_id one = takt_lower_rule(l, rule);
            all = all == TAKT_NONE ? one : takt_binary(l->g, &takt_op_or, all, one);
        }
    }
    if (all == TAKT_NONE) /* this one has only rules that are not recursive */
        return takt_binary(l->g, &takt_op_xor, p->inner, p->inner);
    return takt_binary(l->g, &takt_op_and, all, takt_unary(l->g, &takt_op_not, p->inner));
}

static void build_round(recursion *r)
{
    takt_graph *b = r->body;
    takt_lower l = *r->l;
    takt_id next[MOST_CARRIED], fresh[MOST_CARRIED], changed = TAKT_NONE;
    l.g = b;
    l.is_inner = true;
    l.delta_index = -1;
    for (size_t i = 0; i < r->count; i++) {
        const takt_predicate *p = r->members[i];
        takt_id moves;
        if (r->is_semi) {
            fresh[i] = moves = news(r, &l, p);
            next[i] = takt_binary(b, &takt_op_or, p->inner, fresh[i]);
        } else {
            next[i] = takt_lower_rules(&l, p);
            moves = moved(r, p->inner, next[i]);
        }
        moves = any(b, moves);
        changed = changed == TAKT_NONE ? moves : takt_binary(b, &takt_op_or, changed, moves);
    }
    takt_graph_output(b, "go", changed);
    for (size_t i = 0; i < r->count; i++)
        takt_graph_output(b, takt_arena_format(&b->arena, "y%zu", i), next[i]);
    for (size_t i = 0; r->is_semi && i < r->count; i++)
        takt_graph_output(b, takt_arena_format(&b->arena, "new%zu", i), fresh[i]);
    takt_graph_output(b, "changed", changed);
}

/* ---- the loop ---- */

static void finish(recursion *r)
{
    takt_graph *g = r->l->g;
    const size_t carried = r->count * (r->is_semi ? 2 : 1) + 1;
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(r->body)},
                                     {"carried", takt_attr_i64((int64_t)carried)}};
    const takt_id loop = takt_graph_call(g, &takt_op_loop, r->in_count, r->in, 2, attrs);
    if (loop == TAKT_NONE)
        return;
    const takt_id still = takt_graph_get(g, loop, carried - 1);
    for (size_t i = 0; i < r->count; i++) {
        takt_predicate *p = r->members[i];
        p->value = takt_graph_get(g, loop, i);
        if (r->rounds == 0 && r->semantics->dtype != TAKT_BOOL)
            p->value = takt_demand(g, p->value, takt_unary(g, &takt_op_not, still),
                                   TAKT_DEMAND_SETTLE, p->name);
    }
}

static bool check(recursion *r)
{
    const size_t carried = r->count * (r->is_semi ? 2 : 1) + 1;
    for (size_t i = 0; i < r->count; i++) {
        const takt_predicate *p = r->members[i];
        r->l->place = p->place;
        if (p->semantics != r->semantics)
            takt_lower_fail(r->l, TAKT_E_SEMANTICS,
                            "%s and %s use each other, but one is %s and the other %s", p->name,
                            r->members[0]->name, p->semantics->name, r->semantics->name);
        else if (p->form == TAKT_FORM_VALUE)
            takt_lower_fail(r->l, TAKT_E_STRATA,
                            "%s, whose last argument is a number, cannot use "
                            "itself",
                            p->name);
        r->rounds = p->rounds > r->rounds ? p->rounds : r->rounds;
    }
    if (carried > MOST_CARRIED)
        takt_lower_fail(r->l, TAKT_E_RULE, "more than %d relations use each other",
                        MOST_CARRIED - 1);
    return r->l->g->status == TAKT_OK;
}

static void make_loop(recursion *r)
{
    const takt_status status = takt_graph_create(r->l->g->ctx, r->l->g, &r->body);
    if (status != TAKT_OK) {
        takt_graph_fail(r->l->g, status);
        return;
    }
    take_inputs(r);
    build_round(r);
    if (r->body->status != TAKT_OK)
        takt_graph_fail(r->l->g, r->body->status);
    else
        finish(r);
    takt_graph_destroy(r->body);
    for (size_t i = 0; i < r->count; i++)
        r->members[i]->inner = r->members[i]->delta = TAKT_NONE;
}

static void run(recursion *r)
{
    for (size_t i = 0; i < r->count; i++)
        for (const takt_rule *rule = r->members[i]->rules; rule != NULL; rule = rule->next)
            look(r, rule->body, true);
    r->is_semi = r->is_semi && r->rounds == 0 && 2 * r->count + 1 <= MOST_CARRIED;
    start(r);
    if (r->l->g->status == TAKT_OK)
        make_loop(r);
    for (size_t i = 0; i < r->captured_count; i++) {
        takt_predicate *p = r->captured[i];
        p->is_checked = r->was_checked[i];
        p->form = r->was_bool[i] ? TAKT_FORM_BOOL : p->form;
    }
}

void takt_lower_recursion(takt_lower *l, takt_predicate *const *members, size_t count)
{
    recursion *r = takt_arena_array(l->program->arena, 1, sizeof *r);
    if (r == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return;
    }
    *r =
        (recursion){.l = l, .members = members, .count = count, .semantics = members[0]->semantics};
    r->is_semi = r->semantics->dtype == TAKT_BOOL && 2 * count + 1 <= MOST_CARRIED;
    if (check(r))
        run(r);
}
