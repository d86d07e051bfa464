/* early.c - where steps that overwrite state run: last, or as soon as nothing can fail any more.
 *
 * In a training step a parameter is updated right after its gradient, which is then freed:
 * gradients of all parameters are never alive at once, unless something such as clipping needs them
 * all. From the first overwritten slot on nothing may fail or be interrupted, so every step that
 * can fault comes before it. Other plans commit last, and can be stopped until then. */
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/builder.h"

typedef struct early {
    takt_builder *b;
    int32_t *kept;    /* groups that are not commits, in their order */
    int32_t *commits; /* the others */
    size_t *before;   /* per commit: the position among `kept` that it precedes */
    size_t kept_count, commit_count;
    size_t safe; /* from here on nothing in `kept` can fault */
} early;

static bool is_training(const takt_graph *g)
{
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].is_trainable && g->slots[i].next != TAKT_NONE)
            return true;
    return false;
}

/* ---- what can fault ---- */

/* The indices were valid for an earlier gather along an axis of the same size. */
static bool is_gathered(const takt_graph *g, const takt_node *n)
{
    const takt_type *x = takt_type_of(g, n->in[0]);
    const int64_t axis = takt_node_int(n, "axis");
    for (const takt_node *at = g->nodes; at < n; at++) {
        if (at->op != &takt_op_gather || at->in[1] != n->in[1])
            continue;
        const takt_type *from = takt_type_of(g, at->in[0]);
        const int64_t along = takt_node_int(at, "axis");
        if (from->dim[along < 0 ? along + from->rank : along] ==
            x->dim[axis < 0 ? axis + x->rank : axis])
            return true;
    }
    return false;
}

static bool is_in(const takt_op *op, const takt_op *const *list)
{
    while (*list != NULL && *list != op)
        list++;
    return *list != NULL;
}

static bool is_safe(const takt_graph *g, const takt_node *n)
{
    static const takt_op *const safe[] = {&takt_op_matmul,
                                          &takt_op_conv,
                                          &takt_op_conv_dx,
                                          &takt_op_conv_dw,
                                          &takt_op_max_pool,
                                          &takt_op_avg_pool,
                                          &takt_op_max_pool_dx,
                                          &takt_op_avg_pool_dx,
                                          &takt_op_softmax,
                                          &takt_op_log_softmax,
                                          &takt_op_softmax_dx,
                                          &takt_op_layer_norm,
                                          &takt_op_rms_norm,
                                          &takt_op_norm_dx,
                                          &takt_op_norm_dgamma,
                                          &takt_op_cross_entropy_dx,
                                          &takt_op_attention_dx,
                                          &takt_op_broadcast,
                                          &takt_op_transpose,
                                          &takt_op_reshape,
                                          &takt_op_concat,
                                          &takt_op_pad,
                                          &takt_op_slice,
                                          &takt_op_cumsum,
                                          &takt_op_winograd_conv,
                                          &takt_op_winograd_conv_dx,
                                          &takt_op_winograd_conv_dw,
                                          &takt_op_iota,
                                          &takt_op_rand,
                                          NULL};
    if ((n->op->traits & TAKT_ELEMENTWISE) != 0)
        return takt_dtype_is_float(n->type->dtype) ||
               (n->op != &takt_op_div && n->op != &takt_op_mod);
    if ((n->op->traits & TAKT_REDUCES) != 0 || is_in(n->op, safe))
        return true;
    enum { LENGTH = 4 }; /* the input of attention that may be too large */
    if (n->op == &takt_op_attention)
        return n->in_count <= LENGTH || n->in[LENGTH] == TAKT_NONE;
    return n->op == &takt_op_index_add && is_gathered(g, n);
}

static bool can_fault(const takt_builder *b, const takt_group *group)
{
    const takt_backend *backend = takt_builder_backend(b, group->nodes[0]);
    bool is_good = !backend->is_reference && backend->device == NULL;
    for (size_t i = 0; is_good && i < group->count; i++)
        is_good = is_safe(b->p.graph, &b->p.graph->nodes[group->nodes[i]]);
    return !is_good && !b->is_constant[group->nodes[0]];
}

/* ---- when a commit may run ---- */

/* After the last group that `tells` something about. */
typedef bool tells_fn(const early *e, const takt_node *n, takt_id id, takt_id what);

static size_t behind(const early *e, tells_fn *tells, takt_id what)
{
    const takt_graph *g = e->b->p.graph;
    for (size_t p = e->kept_count; p-- > 0;) {
        const takt_group *group = &e->b->groups[e->kept[p]];
        for (size_t i = 0; i < group->count; i++)
            if (tells(e, &g->nodes[group->nodes[i]], group->nodes[i], what))
                return p + 1;
    }
    return 0;
}

static bool reads_it(const early *e, const takt_node *n, takt_id id, takt_id what)
{
    (void)id;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && e->b->root[n->in[k]] == what)
            return true;
    return false;
}

static bool makes_it(const early *e, const takt_node *n, takt_id id, takt_id what)
{
    (void)n;
    return e->b->root[id] == what;
}

/* The old value of a slot is an output, or becomes that of another: it must last to the end. */
static bool is_needed(const takt_builder *b, takt_id value)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->output_count; i++)
        if (b->root[g->outputs[i].id] == value)
            return true;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE && b->root[g->slots[i].next] == value)
            return true;
    return false;
}

/* The position required by one input of a commit. */
static size_t after_input(const early *e, const takt_group *group, takt_id in)
{
    const takt_builder *b = e->b;
    const takt_graph *g = b->p.graph;
    takt_id root = b->root[in];
    const takt_op *op = g->nodes[root].op;
    for (size_t i = 0; i < group->count; i++)
        if (group->nodes[i] == in)
            return 0;
    if (op == &takt_op_input || op == &takt_op_state || b->is_constant[root])
        return 0;
    root = op == &takt_op_get ? g->nodes[root].in[0] : root;
    const size_t at = behind(e, makes_it, root);
    return at > 0 ? at : e->kept_count; /* made by another commit: they keep their order */
}

static size_t earliest(const early *e, int32_t commit)
{
    const takt_builder *b = e->b;
    const takt_graph *g = b->p.graph;
    const takt_group *group = &b->groups[commit];
    size_t at = e->safe;
    for (size_t i = 0; i < group->count && at < e->kept_count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++) {
            const size_t own = n->in[k] == TAKT_NONE ? 0 : after_input(e, group, n->in[k]);
            at = own > at ? own : at;
        }
    }
    for (size_t i = 0; i < g->slot_count && at < e->kept_count; i++) {
        const takt_slot *slot = &g->slots[i];
        if (slot->next == TAKT_NONE || b->group_index[slot->next] != commit)
            continue;
        const size_t own =
            is_needed(b, slot->value) ? e->kept_count : behind(e, reads_it, slot->value);
        at = own > at ? own : at;
    }
    return at;
}

/* A number computed from inputs, such as a rate times a decay, by groups that `is_first` has marked
 * so far. */
static bool is_number(const takt_builder *b, const takt_group *group, const unsigned char *is_first)
{
    const takt_graph *g = b->p.graph;
    bool is_one = !group->is_commit && group->is_map;
    for (size_t i = 0; is_one && i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        is_one = n->type->rank == 0 && is_safe(g, n);
        for (uint32_t k = 0; is_one && k < n->in_count; k++) {
            const takt_id in = n->in[k];
            const int32_t maker = in == TAKT_NONE ? TAKT_NO_GROUP : b->group_index[in];
            is_one = in != TAKT_NONE &&
                     (g->nodes[in].op == &takt_op_input || b->is_constant[in] ||
                      (maker >= 0 && (&b->groups[maker] == group || is_first[maker])));
        }
    }
    return is_one;
}

/* Numbers that updates wait for come first: the graph has them last. */
static void take_apart(early *e, unsigned char *is_first, bool is_early)
{
    takt_builder *b = e->b;
    for (size_t i = 0; i < b->sequence_count && is_early; i++) {
        const int32_t group = b->sequence[i];
        is_first[group] = is_number(b, &b->groups[group], is_first);
        if (is_first[group])
            e->kept[e->kept_count++] = group;
    }
    for (size_t i = 0; i < b->sequence_count; i++) {
        const int32_t group = b->sequence[i];
        if (b->groups[group].is_commit)
            e->commits[e->commit_count++] = group;
        else if (!is_first[group])
            e->kept[e->kept_count++] = group;
    }
    e->safe = e->kept_count;
    while (e->safe > 0 && !can_fault(b, &b->groups[e->kept[e->safe - 1]]))
        e->safe--;
}

static void put_together(const early *e)
{
    takt_builder *b = e->b;
    size_t at = 0;
    for (size_t p = 0; p <= e->kept_count; p++) {
        if (p == e->kept_count)
            b->tail = (int32_t)at;
        for (size_t i = 0; i < e->commit_count; i++)
            if (e->before[i] == p)
                b->sequence[at++] = e->commits[i];
        if (p < e->kept_count)
            b->sequence[at++] = e->kept[p];
    }
}

takt_status takt_builder_place_commits(takt_builder *b)
{
    early e = {.b = b};
    const size_t count = b->sequence_count;
    e.kept = takt_arena_array(&b->scratch, count, sizeof *e.kept);
    e.commits = takt_arena_array(&b->scratch, count, sizeof *e.commits);
    e.before = takt_arena_array(&b->scratch, count, sizeof *e.before);
    unsigned char *is_first = takt_arena_array(&b->scratch, b->group_count, 1);
    if (e.kept == NULL || e.commits == NULL || e.before == NULL || is_first == NULL)
        return TAKT_ERR_MEMORY;
    const bool is_early = is_training(b->p.graph) && b->p.settings->reuse;
    take_apart(&e, is_first, is_early);
    for (size_t i = 0; i < e.commit_count; i++)
        e.before[i] = is_early ? earliest(&e, e.commits[i]) : e.kept_count;
    put_together(&e);
    return TAKT_OK;
}

/* Steps that run after state was overwritten belong to the commit phase. */
void takt_builder_seal(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    bool is_sealed = false;
    for (size_t i = 0; i < plan->step_count; i++) {
        takt_step *s = &plan->steps[i];
        is_sealed |= s->is_commit;
        s->is_commit = is_sealed;
        s->can_fault = s->can_fault && !is_sealed; /* see is_safe */
    }
}
