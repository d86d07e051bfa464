/* scan_keep.c - values of a scan's body that its gradient reads instead of recomputing them.
 *
 * The body of the backward scan begins as a copy of the forward one, followed by gradients. What
 * gradients read from the copy is mostly results of activations after a product. These are kept: a
 * forward scan returns them as further results (the pass join-scans merges it with the model's) and
 * they come in as sequences, so that products and activations leave the backward body. If gradients
 * read something else after a product, nothing is kept. */
#include "grad/scan.h"

enum { MOST = 8 }; /* values that are kept */

typedef struct keeper {
    takt_scan_backward *b;
    const takt_graph *from; /* the unchanged body of the backward scan */
    takt_graph *to;
    unsigned char *is_deep; /* per node of the copy: it is after a product */
    unsigned char *is_used;
    takt_id *map;
    takt_id kept[MOST]; /* nodes of `from`, in ascending order */
    size_t count;
} keeper;

static bool is_cut_value(const keeper *k, takt_id id)
{
    for (size_t i = 0; i < k->b->cuts->count; i++)
        if (k->b->cuts->list[i].in == id)
            return true;
    return false;
}

static void find_deep(keeper *k)
{
    for (size_t i = 0; i < k->b->copied; i++) {
        const takt_node *n = &k->from->nodes[i];
        k->is_deep[i] = is_cut_value(k, (takt_id)i);
        for (uint32_t j = 0; j < n->in_count && !k->is_deep[i]; j++)
            k->is_deep[i] = n->in[j] != TAKT_NONE && k->is_deep[n->in[j]];
    }
}

/* The result of an activation, or a part of a product. */
static bool should_keep(const keeper *k, takt_id id)
{
    const takt_node *n = &k->from->nodes[id];
    return k->is_deep[id] && n->in_count == 1 &&
           ((n->op->traits & TAKT_ELEMENTWISE) != 0 ||
            (n->op == &takt_op_slice && is_cut_value(k, n->in[0])));
}

static bool keep(keeper *k, takt_id id)
{
    size_t at = 0;
    while (at < k->count && k->kept[at] < id)
        at++;
    if (at < k->count && k->kept[at] == id)
        return true;
    if (k->count == MOST)
        return false;
    for (size_t i = k->count++; i > at; i--)
        k->kept[i] = k->kept[i - 1];
    k->kept[at] = id;
    return true;
}

/* Keeps the values that gradients need to compute `id`; false: not possible this way. */
static bool keep_for(keeper *k, takt_id id)
{
    if (!k->is_deep[id])
        return true;
    if (should_keep(k, id))
        return keep(k, id);
    const takt_node *n = &k->from->nodes[id];
    bool good = n->in_count > 0;
    for (uint32_t j = 0; j < n->in_count && good; j++)
        if (n->in[j] != TAKT_NONE && k->is_deep[n->in[j]])
            good = should_keep(k, n->in[j]) && keep(k, n->in[j]);
    return good;
}

static bool find_kept(keeper *k)
{
    const takt_graph *g = k->from;
    bool good = true;
    takt_graph_live(g, k->is_used);
    for (size_t i = k->b->copied; i < g->count && good; i++)
        for (uint32_t j = 0; k->is_used[i] && j < g->nodes[i].in_count && good; j++)
            if (g->nodes[i].in[j] != TAKT_NONE && g->nodes[i].in[j] < (takt_id)k->b->copied)
                good = keep_for(k, g->nodes[i].in[j]);
    for (size_t i = 0; i < g->output_count && good; i++)
        if (g->outputs[i].id < (takt_id)k->b->copied)
            good = keep_for(k, g->outputs[i].id);
    return good && k->count > 0;
}

static bool is_kept(const keeper *k, takt_id id)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->kept[i] == id)
            return true;
    return false;
}

/* Nodes that the outputs need when kept values are inputs. */
static void find_used(keeper *k)
{
    const takt_graph *g = k->from;
    for (size_t i = 0; i < g->count; i++)
        k->is_used[i] = 0;
    for (size_t i = 0; i < g->output_count; i++)
        k->is_used[g->outputs[i].id] = 1;
    for (size_t i = g->count; i-- > 0;)
        for (uint32_t j = 0; k->is_used[i] && !is_kept(k, (takt_id)i) && j < g->nodes[i].in_count;
             j++)
            if (g->nodes[i].in[j] != TAKT_NONE)
                k->is_used[g->nodes[i].in[j]] = 1;
}

/* ---- the forward scan that returns them ---- */

/* The node of the forward body that was copied to `id`. */
static takt_id original(const keeper *k, takt_id id)
{
    size_t i = 0;
    while (k->b->map[i] != id)
        i++;
    return (takt_id)i;
}

static takt_status give_kept(keeper *k, const takt_graph *body, size_t carried, takt_graph *to)
{
    takt_id *map = takt_arena_array(&to->arena, body->count, sizeof *map);
    if (map == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_graph_begin_copy(body, to, map));
    TAKT_TRY(takt_grad_copy(body, to, map));
    for (size_t i = 0; i < carried; i++)
        takt_grad_output(to, map[body->outputs[i].id]);
    for (size_t i = 0; i < k->count; i++)
        takt_grad_output(to, map[original(k, k->kept[i])]);
    return to->status;
}

static takt_id forward_scan(keeper *k)
{
    takt_graph *g = k->b->g, *body = NULL;
    const takt_node *n = k->b->n;
    const takt_attr *carried = takt_node_attr(n, "carried");
    takt_status status = takt_graph_create(g->ctx, g, &body);
    if (status == TAKT_OK)
        status = give_kept(k, takt_node_attr(n, "body")->graph, (size_t)carried->i64, body);
    takt_graph_fail_if(g, status);
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                     {"carried", *carried},
                                     {"sequences", *takt_node_attr(n, "sequences")},
                                     {"axes", *takt_node_attr(n, "axes")},
                                     {"reverse", *takt_node_attr(n, "reverse")}};
    const takt_id id = g->status == TAKT_OK
                           ? takt_graph_call(g, &takt_op_scan, n->in_count, n->in, 5, attrs)
                           : TAKT_NONE;
    takt_graph_destroy(body);
    return id;
}

/* ---- the backward body without the kept values ---- */

static void declare(keeper *k, size_t input, const char *stem)
{
    const takt_id id = k->from->inputs[input].id;
    k->map[id] = takt_grad_input(k->to, stem, takt_type_of(k->from, id));
}

/* Inputs of the backward scan and of its body, side by side: those that are used. */
static takt_status declare_inputs(keeper *k, takt_id forward)
{
    takt_scan_backward *b = k->b;
    const size_t end = b->carried + b->axis_count, all = b->in_count;
    const size_t first = (size_t)takt_node_attr(b->n, "carried")->i64;
    takt_id captures[TAKT_SCAN_CAPTURES];
    size_t in = b->carried, axis = 0, captured = 0;
    for (size_t i = 0; i < b->carried; i++)
        declare(k, i, "dh");
    for (size_t i = b->carried; i < end; i++)
        if (k->is_used[k->from->inputs[i].id]) {
            declare(k, i, "x");
            b->axes[axis++] = b->axes[i - b->carried];
            b->in[in++] = b->in[i];
        }
    for (size_t i = end; i < all; i++)
        captures[captured++] = b->in[i];
    for (size_t i = 0; i < k->count; i++) {
        k->map[k->kept[i]] = takt_grad_input(k->to, "k", takt_type_of(k->from, k->kept[i]));
        b->axes[axis++] = 0;
        b->in[in++] = takt_graph_get(b->g, forward, first + i);
    }
    for (size_t i = end; i < all; i++)
        if (k->is_used[k->from->inputs[i].id]) {
            declare(k, i, "w");
            b->in[in++] = captures[i - end];
        }
    b->in_count = in;
    b->axis_count = axis;
    return b->g->status != TAKT_OK ? b->g->status : k->to->status;
}

static takt_status copy_used(keeper *k)
{
    const takt_graph *g = k->from;
    size_t widest = 1;
    for (size_t i = 0; i < g->count; i++)
        widest = g->nodes[i].in_count > widest ? g->nodes[i].in_count : widest;
    takt_id *in = takt_arena_array(&k->to->arena, widest, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count && k->to->status == TAKT_OK; i++) {
        const takt_node *n = &g->nodes[i];
        if (k->map[i] != TAKT_NONE || !k->is_used[i])
            continue;
        for (uint32_t j = 0; j < n->in_count; j++)
            in[j] = n->in[j] == TAKT_NONE ? TAKT_NONE : k->map[n->in[j]];
        k->map[i] = takt_graph_copy_node(k->to, n, in);
    }
    for (size_t i = 0; i < g->output_count; i++)
        takt_grad_output(k->to, k->map[g->outputs[i].id]);
    return k->to->status;
}

static takt_status rebuild(keeper *k)
{
    TAKT_TRY(takt_graph_create(k->b->g->ctx, k->b->g, &k->to));
    for (size_t i = 0; i < k->from->count; i++)
        k->map[i] = TAKT_NONE;
    find_used(k);
    const takt_id forward = forward_scan(k);
    TAKT_TRY(k->b->g->status);
    TAKT_TRY(declare_inputs(k, forward));
    return copy_used(k);
}

takt_status takt_scan_keep(takt_scan_backward *b)
{
    keeper k = {.b = b, .from = b->body};
    takt_arena *arena = &b->g->arena;
    if (b->cuts->count == 0 || b->in_count - b->carried - b->axis_count > TAKT_SCAN_CAPTURES)
        return TAKT_OK;
    k.is_deep = takt_arena_array(arena, b->copied + 1, 1);
    k.is_used = takt_arena_array(arena, k.from->count, 1);
    k.map = takt_arena_array(arena, k.from->count, sizeof *k.map);
    if (k.is_deep == NULL || k.is_used == NULL || k.map == NULL)
        return TAKT_ERR_MEMORY;
    find_deep(&k);
    if (!find_kept(&k))
        return TAKT_OK;
    const takt_status status = rebuild(&k);
    if (status != TAKT_OK) {
        takt_graph_destroy(k.to);
        return status;
    }
    takt_graph_destroy(b->body);
    b->body = k.to;
    return TAKT_OK;
}
