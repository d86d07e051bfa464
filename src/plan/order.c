/* order.c - in which order groups run, and which of them run twice.
 *
 * Grouping leaves a valid order: the graph's own. Others may need less memory, and a cheap value
 * may be rematerialised instead of being kept. search.c decides which of them a plan gets; here one
 * is made. Nodes without a group (views, results of several, leaves) follow as soon as their source
 * is there. */
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "plan/builder.h"

typedef struct scheduler {
    takt_builder *b;
    uint32_t *first_use;         /* per node: first edge to a reader, or UINT32_MAX */
    uint32_t *next_use, *reader; /* per edge */
    uint32_t *waits;             /* per node without group, then per group: pending edges */
    uint32_t *reads;             /* per root: edges of readers that have not run */
    unsigned char *is_made;      /* per root: its memory is allocated */
    int32_t *ready;              /* groups that may run */
    size_t ready_count, done;
    takt_id *stack; /* existing nodes, to be passed on */
    size_t depth;
    takt_space space; /* of the group that ran last */
} scheduler;

static bool takes_arena(const takt_builder *b, takt_id root, size_t *bytes)
{
    const takt_op *op = b->p.graph->nodes[root].op;
    *bytes = 0;
    return op != &takt_op_input && op != &takt_op_constant && op != &takt_op_state &&
           !b->is_constant[root] && b->output_of[root] == UINT32_MAX &&
           takt_type_bytes(b->p.graph->nodes[root].type, bytes);
}

static takt_status index_uses(scheduler *s)
{
    const takt_builder *b = s->b;
    const takt_graph *g = b->p.graph;
    size_t edges = 0;
    for (size_t i = 0; i < g->count; i++)
        edges += b->live[i] ? g->nodes[i].in_count + 1 : 0;
    takt_arena *a = &s->b->scratch;
    s->first_use = takt_arena_array(a, g->count, sizeof *s->first_use);
    s->next_use = takt_arena_array(a, edges, sizeof *s->next_use);
    s->reader = takt_arena_array(a, edges, sizeof *s->reader);
    s->waits = takt_arena_array(a, g->count + b->group_count, sizeof *s->waits);
    s->reads = takt_arena_array(a, g->count, sizeof *s->reads);
    s->is_made = takt_arena_array(a, g->count, 1);
    s->ready = takt_arena_array(a, b->group_count, sizeof *s->ready);
    s->stack = takt_arena_array(a, g->count, sizeof *s->stack);
    if (s->first_use == NULL || s->next_use == NULL || s->reader == NULL || s->waits == NULL ||
        s->reads == NULL || s->is_made == NULL || s->ready == NULL || s->stack == NULL)
        return TAKT_ERR_MEMORY;
    memset(s->first_use, 0xff, g->count * sizeof *s->first_use);
    return TAKT_OK;
}

static uint32_t *waits_of(const scheduler *s, takt_id node)
{
    const int32_t group = s->b->group_index[node];
    return group >= 0 ? &s->waits[s->b->p.graph->count + (size_t)group] : &s->waits[node];
}

static void add_edge(scheduler *s, takt_id from, takt_id to, uint32_t *edge)
{
    s->reader[*edge] = to;
    s->next_use[*edge] = s->first_use[from];
    s->first_use[from] = (*edge)++;
    (*waits_of(s, to))++;
}

static void link_uses(scheduler *s)
{
    const takt_builder *b = s->b;
    const takt_graph *g = b->p.graph;
    uint32_t edge = 0;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && k < g->nodes[i].in_count; k++) {
            const takt_id from = g->nodes[i].in[k];
            if (from == TAKT_NONE)
                continue;
            if (b->group_index[i] >= 0)
                s->reads[b->root[from]]++;
            if (b->group_index[i] >= 0 && b->group_index[i] == b->group_index[from])
                continue;
            add_edge(s, from, (takt_id)i, &edge);
        }
    for (size_t i = 0; b->latest != NULL && i < g->count; i++) /* sizes that values decide */
        if (b->live[i] && !b->is_constant[i] && b->latest[i] > 0)
            add_edge(s, b->lengths[b->latest[i]], (takt_id)i, &edge);
}

/* Propagates that `node` is complete; a node that waited only for it is ready. */
static void arrive(scheduler *s, takt_id node)
{
    s->stack[s->depth++] = node;
    while (s->depth > 0) {
        const takt_id at = s->stack[--s->depth];
        for (uint32_t e = s->first_use[at]; e != UINT32_MAX; e = s->next_use[e]) {
            const takt_id reader = s->reader[e];
            const int32_t group = s->b->group_index[reader];
            if (--*waits_of(s, reader) > 0)
                continue;
            if (group >= 0)
                s->ready[s->ready_count++] = group;
            else
                s->stack[s->depth++] = reader;
        }
    }
}

/* Bytes of arena that running `group` allocates, less those that it frees. */
static int64_t growth(scheduler *s, const takt_group *group, bool is_final)
{
    const takt_graph *g = s->b->p.graph;
    int64_t sum = 0;
    size_t bytes;
    for (size_t i = 0; i < group->count; i++) {
        const takt_id root = s->b->root[group->nodes[i]];
        if (!s->is_made[root] && s->reads[root] > 0 && takes_arena(s->b, root, &bytes)) {
            sum += (int64_t)bytes;
            s->is_made[root] = 2;
        }
        for (uint32_t k = 0; k < g->nodes[group->nodes[i]].in_count; k++) {
            const takt_id in = g->nodes[group->nodes[i]].in[k];
            if (in != TAKT_NONE && --s->reads[s->b->root[in]] == 0 &&
                takes_arena(s->b, s->b->root[in], &bytes))
                sum -= (int64_t)bytes;
        }
    }
    for (size_t i = 0; i < group->count; i++) {
        unsigned char *made = &s->is_made[s->b->root[group->nodes[i]]];
        *made = *made == 2 ? is_final : *made;
        for (uint32_t k = 0; !is_final && k < g->nodes[group->nodes[i]].in_count; k++)
            if (g->nodes[group->nodes[i]].in[k] != TAKT_NONE)
                s->reads[s->b->root[g->nodes[group->nodes[i]].in[k]]]++;
    }
    return sum;
}

static takt_space space_of(const takt_builder *b, int32_t group)
{
    return b->space_of[b->root[b->groups[group].nodes[0]]];
}

/* The first in the graph's order that runs in the same space as the previous one, to keep segments
 * few; constant groups do not run. */
static size_t stay(scheduler *s)
{
    size_t best = 0;
    bool is_best_near = false;
    for (size_t i = 0; i < s->ready_count; i++) {
        const int32_t group = s->ready[i];
        const bool is_near =
            s->b->is_constant[s->b->groups[group].nodes[0]] || space_of(s->b, group) == s->space;
        if (i == 0 || is_near > is_best_near ||
            (is_near == is_best_near && group < s->ready[best])) {
            best = i;
            is_best_near = is_near;
        }
    }
    if (!s->b->is_constant[s->b->groups[s->ready[best]].nodes[0]])
        s->space = space_of(s->b, s->ready[best]);
    return best;
}

/* Index into the ready ones of the next to run. */
static size_t choose(scheduler *s, takt_order order)
{
    if (order == TAKT_ORDER_GIVEN)
        return stay(s);
    if (order == TAKT_ORDER_DEEP)
        return s->ready_count - 1;
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < s->ready_count; i++) {
        const int64_t own = growth(s, &s->b->groups[s->ready[i]], false);
        if (own < least || (own == least && s->ready[i] < s->ready[best])) {
            least = own;
            best = i;
        }
    }
    return best;
}

/* Groups and leaves without dependencies. */
static void start(scheduler *s)
{
    const takt_builder *b = s->b;
    const size_t count = b->p.graph->count;
    for (size_t i = b->group_count; i-- > 0;)
        if (s->waits[count + i] == 0)
            s->ready[s->ready_count++] = (int32_t)i;
    for (size_t i = count; i-- > 0;)
        if (b->live[i] && b->group_index[i] < 0 && b->p.graph->nodes[i].in_count == 0)
            arrive(s, (takt_id)i);
}

static takt_status schedule(takt_builder *b, takt_order order)
{
    scheduler s = {.b = b};
    TAKT_TRY(index_uses(&s));
    link_uses(&s);
    start(&s);
    while (s.ready_count > 0) {
        const size_t at = choose(&s, order);
        const int32_t group = s.ready[at];
        memmove(&s.ready[at], &s.ready[at + 1], (--s.ready_count - at) * sizeof *s.ready);
        (void)growth(&s, &b->groups[group], true);
        b->sequence[s.done++] = group;
        for (size_t i = 0; i < b->groups[group].count; i++)
            arrive(&s, b->groups[group].nodes[i]);
    }
    return s.done == b->group_count
               ? TAKT_OK
               : takt_fail(b->p.ctx, TAKT_E_INTERNAL, "%zu of %zu groups found their place", s.done,
                           b->group_count);
}

/* Puts a second run of a group before the group that will read it. */
static void insert_remat(takt_builder *b, const takt_remat_step *remat)
{
    const int32_t what = b->group_index[remat->what], before = b->group_index[remat->before];
    size_t at = 0;
    while (at < b->sequence_count && b->sequence[at] != before)
        at++;
    if (what < 0 || at == b->sequence_count)
        return;
    memmove(&b->sequence[at + 1], &b->sequence[at], (b->sequence_count - at) * sizeof *b->sequence);
    b->sequence[at] = what;
    b->sequence_count++;
}

/* The last position at which each root is read, and at which each group runs. */
static void find_last(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++)
        b->last_read[i] = TAKT_NO_GROUP;
    for (size_t p = 0; p < b->sequence_count; p++) {
        const takt_group *group = &b->groups[b->sequence[p]];
        b->last_run[b->sequence[p]] = (int32_t)p;
        for (size_t i = 0; i < group->count; i++) {
            const takt_node *n = &g->nodes[group->nodes[i]];
            for (uint32_t k = 0; k < n->in_count; k++)
                if (n->in[k] != TAKT_NONE)
                    b->last_read[b->root[n->in[k]]] = (int32_t)p;
        }
    }
    for (size_t i = 0; i < g->output_count; i++)
        b->last_read[b->root[g->outputs[i].id]] = TAKT_FOREVER;
    for (size_t i = 0; i < g->slot_count; i++) {
        b->last_read[b->root[g->slots[i].value]] = TAKT_FOREVER;
        if (g->slots[i].next != TAKT_NONE)
            b->last_read[b->root[g->slots[i].next]] = TAKT_FOREVER;
    }
}

takt_status takt_builder_order(takt_builder *b)
{
    const takt_plan_settings *settings = b->p.settings;
    const size_t most = b->group_count + settings->remat_count;
    b->sequence = takt_arena_array(&b->scratch, most, sizeof *b->sequence);
    b->last_run = takt_arena_array(&b->scratch, b->group_count, sizeof *b->last_run);
    b->last_read = takt_arena_array(&b->scratch, b->p.graph->count, sizeof *b->last_read);
    if (b->sequence == NULL || b->last_run == NULL || b->last_read == NULL)
        return TAKT_ERR_MEMORY;
    b->sequence_count = b->group_count;
    if (settings->order == TAKT_ORDER_GIVEN && b->copy_in[TAKT_HOST] == NULL && b->latest == NULL)
        for (size_t i = 0; i < b->group_count; i++)
            b->sequence[i] = (int32_t)i;
    else
        TAKT_TRY(schedule(b, settings->order));
    for (size_t i = 0; i < b->group_count; i++)
        b->p.plan->moved_steps += b->sequence[i] != (int32_t)i;
    for (size_t i = 0; i < settings->remat_count; i++)
        insert_remat(b, &settings->remat[i]);
    b->p.plan->repeated_steps = b->sequence_count - b->group_count;
    TAKT_TRY(takt_builder_place_commits(b));
    find_last(b);
    return TAKT_OK;
}
