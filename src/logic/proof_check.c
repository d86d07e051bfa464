/* proof_check.c - replays proofs. It shares only the relations with the search. */
#include <string.h>

#include "base/mem.h"
#include "logic/prove.h"

typedef struct replay {
    takt_world *w;
    const takt_proof_tree *tree;
    const takt_proof_node *node;
    int64_t *env;
} replay;

static bool follows(replay *r, const takt_formula *f);

/* An atom is one of the premises. */
static bool is_premise(const replay *r, const takt_formula *f)
{
    uint32_t tuple[TAKT_MAX_RANK];
    if (!takt_world_arguments(f, r->env, tuple))
        return false;
    for (size_t i = 0; i < r->node->premise_count; i++) {
        const takt_proof_node *n = &r->tree->nodes[r->node->premises[i]];
        if (n->predicate == f->predicate &&
            memcmp(n->tuple, tuple, f->term_count * sizeof *tuple) == 0)
            return true;
    }
    return false;
}

/* How many values of the bound variables, from number `i` on, satisfy guard and body: all are
 * tried. Stops at `enough`. */
static int64_t instances(replay *r, const takt_formula *f, size_t i, int64_t enough)
{
    int64_t found = 0;
    if (i == f->bound_count)
        return (f->b == NULL || follows(r, f->b)) && follows(r, f->a);
    const int64_t size = takt_world_size(r->w, r->node->rule, f->bound[i]);
    for (int64_t v = 0; v < size && found < enough; v++) {
        r->env[f->bound[i]] = v;
        found += instances(r, f, i + 1, enough - found);
    }
    return found;
}

/* Every value that the guard accepts satisfies the body. */
static bool everywhere(replay *r, const takt_formula *f, size_t i)
{
    if (i == f->bound_count)
        return (f->b != NULL && !takt_world_holds(r->w, r->node->rule, f->b, r->env)) ||
               follows(r, f->a);
    const int64_t size = takt_world_size(r->w, r->node->rule, f->bound[i]);
    for (int64_t v = 0; v < size; v++) {
        r->env[f->bound[i]] = v;
        if (!everywhere(r, f, i + 1))
            return false;
    }
    return true;
}

/* The values that the proof names, or else any. */
static bool exists(replay *r, const takt_formula *f)
{
    bool is_named = true;
    for (size_t i = 0; i < f->bound_count; i++) {
        const int64_t v = r->node->env[f->bound[i]];
        is_named = is_named && v >= 0 && v < takt_world_size(r->w, r->node->rule, f->bound[i]);
        r->env[f->bound[i]] = v;
    }
    if (is_named && (f->b == NULL || follows(r, f->b)) && follows(r, f->a))
        return true;
    return instances(r, f, 0, 1) > 0;
}

static bool follows(replay *r, const takt_formula *f)
{
    const takt_rule *rule = r->node->rule;
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_ATOM: return is_premise(r, f);
    case TAKT_LOGIC_AND: return follows(r, f->a) && follows(r, f->b);
    case TAKT_LOGIC_OR: return follows(r, f->a) || follows(r, f->b);
    case TAKT_LOGIC_IMPLIES: return !takt_world_holds(r->w, rule, f->a, r->env) || follows(r, f->b);
    case TAKT_LOGIC_CHOICE:
        return follows(r, takt_world_holds(r->w, rule, f->b, r->env) ? f->a : f->c);
    case TAKT_LOGIC_EXISTS: return exists(r, f);
    case TAKT_LOGIC_FORALL: return everywhere(r, f, 0);
    case TAKT_LOGIC_AT_LEAST: return instances(r, f, 0, f->integer) >= f->integer;
    default: return takt_world_holds(r->w, rule, f, r->env);
    }
}

static bool is_rule_of(const takt_proof_node *n)
{
    const takt_rule *r = n->predicate->rules;
    while (r != NULL && r != n->rule)
        r = r->next;
    return r != NULL;
}

static bool is_right(replay *r)
{
    const takt_proof_node *n = r->node;
    const bool is_value = n->predicate->form == TAKT_FORM_VALUE;
    if (n->predicate->rules == NULL)
        return n->rule == NULL && n->height == 0 && takt_world_has(r->w, n->predicate, n->tuple);
    if (!is_rule_of(n))
        return false;
    for (size_t i = 0; i < n->premise_count; i++)
        if (n->premises[i] >= r->tree->count || r->tree->nodes[n->premises[i]].height >= n->height)
            return false;
    for (size_t i = 0; i < n->rule->variable_count; i++)
        r->env[i] = n->env[i];
    for (int i = 0; i < n->predicate->arity - is_value; i++)
        r->env[i] = n->tuple[i];
    if (is_value) {
        const takt_formula *b = n->rule->body;
        const bool is_left =
            b->a->kind == TAKT_LOGIC_VARIABLE && b->a->variable == n->predicate->arity - 1;
        const takt_world_value v = takt_world_term(r->w, n->rule, is_left ? b->b : b->a, r->env);
        return takt_world_number(v) == n->value;
    }
    return follows(r, n->rule->body);
}

takt_status takt_proof_verify(takt_world *w, const takt_proof_tree *tree)
{
    takt_text text;
    for (size_t i = 0; i < tree->count && w->status == TAKT_OK; i++) {
        const takt_proof_node *n = &tree->nodes[i];
        const size_t variables = n->rule != NULL ? n->rule->variable_count : 0;
        replay r = {.w = w, .tree = tree, .node = n};
        r.env = takt_arena_array(&w->arena, variables + TAKT_MAX_RANK, sizeof *r.env);
        if (r.env == NULL)
            return TAKT_ERR_MEMORY;
        if (is_right(&r) || w->status != TAKT_OK)
            continue;
        takt_text_init(&text, w->ctx);
        takt_tuple_text(n->predicate, n->tuple, n->value, &text);
        w->status = takt_fail(w->ctx, TAKT_E_RECURSION, "%s does not follow from its premises",
                              takt_text_get(&text));
        takt_text_deinit(&text);
    }
    return w->status;
}

void takt_proof_tree_release(takt_ctx *ctx, takt_proof_tree *tree)
{
    takt_mem_put(ctx, tree->nodes, tree->capacity * sizeof *tree->nodes);
    takt_arena_deinit(&tree->arena);
    *tree = (takt_proof_tree){0};
}
