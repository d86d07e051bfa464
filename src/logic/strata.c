/* strata.c - which predicates depend on which, and in what order they are computed.
 *
 * Predicates that reach each other form one stratum, computed together. In such a cycle no step may
 * go through a negation or a fold: it would have no least solution. */
#include <string.h>

#include "logic/formula.h"

enum { NONE, PLAIN, NEGATED }; /* how one predicate uses another; the worst counts */

typedef struct uses {
    takt_program *program;
    size_t count;
    takt_predicate **at;
    unsigned char *edge;  /* [count][count] */
    unsigned char *reach; /* [count][count]: by any number of edges */
} uses;

static void walk(uses *u, size_t from, const takt_formula *f, bool is_negated)
{
    if (f->kind == TAKT_LOGIC_ATOM || f->kind == TAKT_LOGIC_ELEMENT) {
        unsigned char *e = &u->edge[from * u->count + f->predicate->index];
        const bool is_worse = is_negated || f->kind == TAKT_LOGIC_ELEMENT;
        *e = is_worse ? NEGATED : *e == NONE ? PLAIN : *e;
    }
    for (size_t i = 0; i < takt_formula_children(f); i++) {
        const takt_formula *child = takt_formula_child(f, i);
        bool negates = f->kind == TAKT_LOGIC_NOT || f->kind == TAKT_LOGIC_IFF ||
                       f->kind == TAKT_LOGIC_FOLD || f->kind == TAKT_LOGIC_COMPARE;
        negates = negates || (f->kind == TAKT_LOGIC_IMPLIES && i == 0);
        negates = negates || (f->kind == TAKT_LOGIC_CHOICE && i == 1);
        negates = negates || (f->kind == TAKT_LOGIC_FORALL && i == 1);
        negates = negates || (f->kind == TAKT_LOGIC_ATOM && i >= TAKT_LOGIC_OWN);
        if (child != NULL)
            walk(u, from, child, is_negated || negates);
    }
}

/* Everything reachable from `from`. */
static void follow(uses *u, size_t from, size_t *stack)
{
    unsigned char *seen = u->reach + from * u->count;
    size_t depth = 0;
    stack[depth++] = from;
    while (depth > 0) {
        const size_t at = stack[--depth];
        for (size_t i = 0; i < u->count; i++) {
            if (u->edge[at * u->count + i] == NONE || seen[i])
                continue;
            seen[i] = 1;
            stack[depth++] = i;
        }
    }
}

/* "p uses not q uses p": a shortest path back from `to` to `from`, after the offending edge. */
static takt_status draw(uses *u, size_t from, size_t to, size_t *queue, size_t *back)
{
    takt_text text;
    size_t first = 0, last = 0;
    for (size_t i = 0; i < u->count; i++)
        back[i] = SIZE_MAX;
    queue[last++] = from; /* backwards: back[x] is the next after x on the way to `from` */
    back[from] = from;
    while (first < last && back[to] == SIZE_MAX) {
        const size_t at = queue[first++];
        for (size_t i = 0; i < u->count; i++)
            if (u->edge[i * u->count + at] != NONE && back[i] == SIZE_MAX) {
                back[i] = at;
                queue[last++] = i;
            }
    }
    takt_text_init(&text, u->program->ctx);
    takt_text_add(&text, "%s -> not %s", u->at[from]->name, u->at[to]->name);
    for (size_t at = to; at != from; at = back[at])
        takt_text_add(&text, " -> %s", u->at[back[at]]->name);
    u->program->place = u->at[from]->place;
    takt_fail(u->program->ctx, TAKT_E_STRATA,
              "%s depends on itself through a negation or an aggregate: %s", u->at[from]->name,
              takt_text_get(&text));
    takt_text_deinit(&text);
    return takt_fail_hint(u->program->ctx, "break the circle, or compute one part of it first");
}

static takt_status check(uses *u, size_t *queue, size_t *back)
{
    const size_t n = u->count;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (u->edge[i * n + k] == NEGATED && (k == i || u->reach[k * n + i]))
                return draw(u, i, k, queue, back);
    return TAKT_OK;
}

/* A stratum's number is above those of all strata it uses. */
static void number(uses *u)
{
    const size_t n = u->count;
    int next = 0;
    for (size_t i = 0; i < n; i++)
        u->at[i]->stratum = u->at[i]->rules == NULL ? -2 : -1; /* tensors exist already */
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t i = 0; i < n; i++) {
            bool is_ready = u->at[i]->stratum == -1;
            for (size_t k = 0; k < n && is_ready; k++)
                is_ready = !u->reach[i * n + k] || u->at[k]->stratum != -1 || u->reach[k * n + i] ||
                           k == i;
            if (!is_ready)
                continue;
            for (size_t k = 0; k < n; k++)
                if (k == i || (u->reach[i * n + k] && u->reach[k * n + i]))
                    u->at[k]->stratum = next;
            next++;
            goes_on = true;
        }
    }
    for (size_t i = 0; i < n; i++)
        u->at[i]->is_recursive = u->reach[i * n + i] != 0;
}

takt_status takt_program_strata(takt_program *program)
{
    enum { MOST = 512 };
    uses u = {.program = program};
    for (const takt_predicate *p = program->predicates; p != NULL; p = p->next)
        u.count++;
    if (u.count > MOST)
        return takt_fail(program->ctx, TAKT_E_GRAPH_FULL, "a model has more than %d relations",
                         MOST);
    takt_arena own;
    takt_arena_init(&own, program->ctx);
    u.at = takt_arena_array(&own, u.count, sizeof *u.at);
    u.edge = takt_arena_array(&own, u.count, u.count);
    u.reach = takt_arena_array(&own, u.count, u.count);
    size_t *queue = takt_arena_array(&own, u.count + 1, sizeof *queue);
    size_t *back = takt_arena_array(&own, u.count + 1, sizeof *back);
    takt_status status = TAKT_ERR_MEMORY;
    if (u.at != NULL && u.edge != NULL && u.reach != NULL && queue != NULL && back != NULL) {
        size_t i = 0;
        for (takt_predicate *p = program->predicates; p != NULL; p = p->next, i++) {
            u.at[i] = p;
            p->index = i;
        }
        for (i = 0; i < u.count; i++)
            for (const takt_rule *r = u.at[i]->rules; r != NULL; r = r->next)
                walk(&u, i, r->body, false);
        for (i = 0; i < u.count; i++)
            follow(&u, i, queue);
        status = check(&u, queue, back);
    }
    if (status == TAKT_OK)
        number(&u);
    takt_arena_deinit(&own);
    return status;
}
