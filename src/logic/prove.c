/* prove.c - a lowest proof of a tuple.
 *
 * First everything that could be part of a proof is collected, starting at the goal, with the users
 * of every item. Then heights are found round by round: a tuple is examined again when one that it
 * could use has got its height. Finally the proof is read off the heights. */
#include "logic/prove.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

typedef struct item {
    const takt_predicate *predicate;
    uint32_t tuple[TAKT_MAX_RANK];
    int height; /* 0: not known */
    bool is_due;
    size_t node; /* in the tree, plus 1 */
} item;

typedef struct edge {
    uint32_t premise, user;
} edge;

typedef struct search {
    takt_world *w;
    takt_proof_tree *tree;
    item *items;
    size_t count, capacity;
    uint32_t *table; /* index + 1, or 0 */
    size_t table_size;
    edge *edges;
    size_t edge_count, edge_capacity;
    size_t *first; /* per item: its users are from first[i] to first[i + 1] of `users` */
    size_t first_count;
    uint32_t *users;
    enum { COLLECT, MEASURE, READ } mode;
    size_t current; /* item */
    int below;      /* heights that count are below this */
    int64_t *env;
    size_t *premises; /* of the current item */
    size_t premise_count, premise_capacity;
} search;

/* ---- items ---- */

static bool has_failed(const search *s)
{
    return s->w->status != TAKT_OK;
}

static bool grow(search *s, void **array, size_t *capacity, size_t need, size_t size)
{
    if (!has_failed(s))
        s->w->status = takt_mem_grow(s->w->ctx, array, capacity, need, size);
    return !has_failed(s);
}

static size_t slot_of(const search *s, const takt_predicate *p, const uint32_t *tuple)
{
    const size_t bytes = (size_t)p->arity * sizeof *tuple;
    size_t at = (size_t)takt_hash_bytes(p->index, tuple, bytes) & (s->table_size - 1);
    for (; s->table[at] != 0; at = (at + 1) & (s->table_size - 1)) {
        const item *i = &s->items[s->table[at] - 1];
        if (i->predicate == p && memcmp(i->tuple, tuple, bytes) == 0)
            break;
    }
    return at;
}

static bool rehash(search *s)
{
    const size_t size = s->table_size > 0 ? 2 * s->table_size : 1024;
    void *table;
    s->w->status = takt_mem_zero(s->w->ctx, size, sizeof *s->table, "proof", &table);
    if (has_failed(s))
        return false;
    takt_mem_put(s->w->ctx, s->table, s->table_size * sizeof *s->table);
    s->table = table;
    s->table_size = size;
    for (size_t i = 0; i < s->count; i++)
        s->table[slot_of(s, s->items[i].predicate, s->items[i].tuple)] = (uint32_t)i + 1;
    return true;
}

/* The item of a tuple, created if new. */
static size_t item_of(search *s, const takt_predicate *p, const uint32_t *tuple)
{
    void *items = s->items;
    if (2 * s->count >= s->table_size && !rehash(s))
        return 0;
    const size_t at = slot_of(s, p, tuple);
    if (s->table[at] != 0)
        return s->table[at] - 1;
    if (!grow(s, &items, &s->capacity, s->count + 1, sizeof *s->items))
        return 0;
    s->items = items;
    item *i = &s->items[s->count];
    *i = (item){.predicate = p};
    memcpy(i->tuple, tuple, (size_t)p->arity * sizeof *tuple);
    s->table[at] = (uint32_t)++s->count;
    return s->count - 1;
}

static bool use(search *s, size_t premise)
{
    void *edges = s->edges;
    if (s->edge_count == TAKT_PROOF_EDGES) {
        s->w->status = takt_fail(s->w->ctx, TAKT_E_RECURSION,
                                 "the search for a proof of %s was stopped: there are more than "
                                 "%d ways to use a tuple",
                                 s->items[0].predicate->name, TAKT_PROOF_EDGES);
        return false;
    }
    if (!grow(s, &edges, &s->edge_capacity, s->edge_count + 1, sizeof *s->edges))
        return false;
    s->edges = edges;
    s->edges[s->edge_count++] = (edge){(uint32_t)premise, (uint32_t)s->current};
    return true;
}

static bool add_premise(search *s, size_t premise)
{
    void *premises = s->premises;
    if (!grow(s, &premises, &s->premise_capacity, s->premise_count + 1, sizeof *s->premises))
        return false;
    s->premises = premises;
    for (size_t i = 0; i < s->premise_count; i++)
        if (s->premises[i] == premise)
            return true;
    s->premises[s->premise_count++] = premise;
    return true;
}

/* ---- bodies ---- */

static bool look(search *s, const takt_rule *rule, const takt_formula *f);

static bool see(search *s, const takt_formula *f)
{
    uint32_t tuple[TAKT_MAX_RANK];
    const takt_predicate *p = f->predicate;
    if (!takt_world_arguments(f, s->env, tuple) || !takt_world_has(s->w, p, tuple))
        return false;
    if (p->rules == NULL && s->mode != READ)
        return true;
    if (s->mode == MEASURE && s->table[slot_of(s, p, tuple)] == 0)
        return false;
    const size_t i = item_of(s, p, tuple);
    if (has_failed(s))
        return false;
    if (s->mode == COLLECT)
        return use(s, i);
    if (p->rules != NULL && (s->items[i].height == 0 || s->items[i].height >= s->below))
        return false;
    return s->mode != READ || add_premise(s, i);
}

typedef struct looking {
    search *s;
    const takt_formula *f;
    int64_t found, wanted; /* instances; COLLECT visits all */
    bool fails;
} looking;

static bool look_one(takt_world_walk *walk)
{
    looking *l = walk->user;
    search *s = l->s;
    const size_t before = s->premise_count;
    const takt_formula *f = l->f;
    const bool is_all = f->kind == TAKT_LOGIC_FORALL;
    if ((is_all || f->b == NULL || look(s, walk->rule, f->b)) && look(s, walk->rule, f->a)) {
        l->found++;
    } else {
        l->fails = true;
        s->premise_count = before;
    }
    if (has_failed(s))
        return false;
    if (is_all)
        return !l->fails;
    return s->mode == COLLECT || l->found < l->wanted;
}

static bool quantifier(search *s, const takt_rule *rule, const takt_formula *f)
{
    const bool is_all = f->kind == TAKT_LOGIC_FORALL;
    looking l = {.s = s, .f = f, .wanted = f->kind == TAKT_LOGIC_AT_LEAST ? f->integer : 1};
    takt_world_walk walk = {.w = s->w,
                            .rule = rule,
                            .env = s->env,
                            .bound = f->bound,
                            .bound_count = f->bound_count,
                            .visit = look_one,
                            .user = &l};
    if (f->b != NULL)
        takt_world_part(&walk, f->b, 1);
    if (!is_all)
        takt_world_part(&walk, f->a, 0);
    (void)takt_world_each(&walk);
    const bool holds = is_all ? !l.fails : l.found >= l.wanted;
    for (size_t i = 0; i < f->bound_count && (!holds || f->kind != TAKT_LOGIC_EXISTS); i++)
        s->env[f->bound[i]] = -1; /* nothing to report */
    return holds && !has_failed(s);
}

/* Whether a formula follows from the facts that count in the current mode. */
static bool look(search *s, const takt_rule *rule, const takt_formula *f)
{
    const size_t before = s->premise_count;
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_ATOM: return see(s, f);
    case TAKT_LOGIC_AND: return look(s, rule, f->a) && look(s, rule, f->b);
    case TAKT_LOGIC_OR:
        if (look(s, rule, f->a)) {
            if (s->mode == COLLECT)
                (void)look(s, rule, f->b);
            return true;
        }
        s->premise_count = before;
        return look(s, rule, f->b);
    case TAKT_LOGIC_IMPLIES:
        return !takt_world_holds(s->w, rule, f->a, s->env) || look(s, rule, f->b);
    case TAKT_LOGIC_CHOICE:
        return look(s, rule, takt_world_holds(s->w, rule, f->b, s->env) ? f->a : f->c);
    case TAKT_LOGIC_EXISTS:
    case TAKT_LOGIC_FORALL:
    case TAKT_LOGIC_AT_LEAST: return quantifier(s, rule, f);
    default: return takt_world_holds(s->w, rule, f, s->env);
    }
}

static bool apply(search *s, const takt_rule *rule)
{
    const item *i = &s->items[s->current];
    for (size_t v = 0; v < rule->variable_count; v++)
        s->env[v] = -1;
    for (int a = 0; a < i->predicate->arity; a++)
        s->env[a] = i->tuple[a];
    s->premise_count = 0;
    return look(s, rule, rule->body);
}

/* The first rule that derives the current item, or NULL. */
static const takt_rule *derive(search *s)
{
    const takt_rule *rule = s->items[s->current].predicate->rules;
    bool is_found = false;
    for (; rule != NULL && !has_failed(s); rule = rule->next) {
        is_found = apply(s, rule);
        if (is_found && s->mode != COLLECT)
            return rule;
    }
    return NULL;
}

/* ---- heights ---- */

/* The users of each item. */
static bool reverse_edges(search *s)
{
    void *first, *users;
    s->w->status = takt_mem_zero(s->w->ctx, s->count + 2, sizeof *s->first, "proof", &first);
    if (has_failed(s))
        return false;
    s->first = first;
    s->first_count = s->count + 2;
    s->w->status = takt_mem_get(s->w->ctx, s->edge_count * sizeof *s->users, "proof", &users);
    if (has_failed(s))
        return false;
    s->users = users;
    for (size_t i = 0; i < s->edge_count; i++)
        s->first[s->edges[i].premise + 2]++;
    for (size_t i = 2; i < s->count + 2; i++)
        s->first[i] += s->first[i - 1];
    for (size_t i = 0; i < s->edge_count; i++)
        s->users[s->first[s->edges[i].premise + 1]++] = s->edges[i].user;
    return true;
}

/* One round: assigns a height to the items that are due, if they have one; false if none was
 * assigned. */
static bool round_of(search *s, int height)
{
    bool has_changed = false;
    s->below = height;
    for (size_t i = 0; i < s->count && !has_failed(s); i++) {
        item *at = &s->items[i];
        if (!at->is_due || at->height != 0)
            continue;
        at->is_due = false;
        s->current = i;
        if (derive(s) != NULL) {
            at->height = height;
            has_changed = true;
        }
    }
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = s->first[i]; s->items[i].height == height && k < s->first[i + 1]; k++)
            s->items[s->users[k]].is_due = true;
    return has_changed && !has_failed(s);
}

static void measure(search *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->items[i].is_due = true;
    s->mode = MEASURE;
    for (int height = 1; s->items[0].height == 0 && round_of(s, height); height++)
        continue;
    if (s->items[0].height == 0 && !has_failed(s))
        s->w->status = takt_fail(s->w->ctx, TAKT_E_RECURSION,
                                 "%s holds, but no proof of it was found: its rules compare "
                                 "numbers that are rounded",
                                 s->items[0].predicate->name);
}

/* ---- the tree ---- */

static size_t node_of(search *s, size_t index)
{
    takt_proof_tree *t = s->tree;
    void *nodes = t->nodes;
    item *i = &s->items[index];
    if (i->node > 0 || !grow(s, &nodes, &t->capacity, t->count + 1, sizeof *t->nodes))
        return i->node - 1;
    t->nodes = nodes;
    t->nodes[t->count] = (takt_proof_node){.predicate = i->predicate, .height = i->height};
    memcpy(t->nodes[t->count].tuple, i->tuple, sizeof i->tuple);
    i->node = ++t->count;
    return i->node - 1;
}

static void fill(search *s, size_t index)
{
    takt_proof_tree *t = s->tree;
    const takt_proof_node *n = &t->nodes[index];
    if (n->predicate->rules == NULL)
        return;
    s->current = s->table[slot_of(s, n->predicate, n->tuple)] - 1;
    s->below = n->height;
    const takt_rule *rule = derive(s);
    if (rule == NULL)
        return;
    int64_t *env = takt_arena_array(&t->arena, rule->variable_count + 1, sizeof *env);
    size_t *premises = takt_arena_array(&t->arena, s->premise_count + 1, sizeof *premises);
    if (env == NULL || premises == NULL) {
        s->w->status = TAKT_ERR_MEMORY;
        return;
    }
    memcpy(env, s->env, rule->variable_count * sizeof *env);
    for (size_t i = 0; i < s->premise_count && !has_failed(s); i++)
        premises[i] = node_of(s, s->premises[i]);
    takt_proof_node *to = &t->nodes[index];
    to->rule = rule;
    to->env = env;
    to->premises = premises;
    to->premise_count = s->premise_count;
}

/* ---- all of it ---- */

static void find(search *s, const takt_predicate *p, const uint32_t *tuple)
{
    s->env = takt_arena_array(&s->w->arena, takt_world_variables(s->w) + 1, sizeof *s->env);
    if (s->env == NULL)
        s->w->status = TAKT_ERR_MEMORY;
    if (has_failed(s) || (item_of(s, p, tuple), has_failed(s)))
        return;
    s->mode = COLLECT;
    for (s->current = 0; s->current < s->count && !has_failed(s); s->current++)
        (void)derive(s);
    if (p->rules != NULL && !has_failed(s) && reverse_edges(s))
        measure(s);
    s->mode = READ;
    if (!has_failed(s))
        (void)node_of(s, 0);
    for (size_t i = 0; i < s->tree->count && !has_failed(s); i++)
        fill(s, i);
}

takt_status takt_prove(takt_world *w, const takt_predicate *p, const uint32_t *tuple,
                       takt_proof_tree *tree)
{
    search s = {.w = w, .tree = tree};
    *tree = (takt_proof_tree){0};
    takt_arena_init(&tree->arena, w->ctx);
    find(&s, p, tuple);
    takt_mem_put(w->ctx, s.items, s.capacity * sizeof *s.items);
    takt_mem_put(w->ctx, s.table, s.table_size * sizeof *s.table);
    takt_mem_put(w->ctx, s.edges, s.edge_capacity * sizeof *s.edges);
    takt_mem_put(w->ctx, s.premises, s.premise_capacity * sizeof *s.premises);
    takt_mem_put(w->ctx, s.first, s.first_count * sizeof *s.first);
    takt_mem_put(w->ctx, s.users, s.edge_count * sizeof *s.users);
    return w->status;
}
