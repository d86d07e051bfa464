/* order.c - sorts nodes by dependency.
 *
 * The standard requires sorted nodes, but quantisers and converters append theirs at the end. Each
 * graph and function is sorted once, before anything is imported; a sorted file stays as it is.
 * Captures of subgraphs count as dependencies of the node that holds them. If there is a cycle, all
 * nodes keep their place, and the import reports what is missing.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/onnx/import.h"

enum { NOBODY = UINT32_MAX };

/* The node that produces a name. */
typedef struct maker {
    takt_span name;
    uint32_t node; /* NOBODY: an input or initializer */
} maker;

/* The names that one graph defines, and those around it. */
typedef struct names {
    maker *slots;
    size_t size; /* a power of two */
    const struct names *outer;
} names;

/* The nodes of a graph or function. */
typedef struct body {
    takt_pb_node *nodes;
    size_t count;
} body;

/* Dependencies: node `from` uses a result of `to`. Those of one node are contiguous. */
typedef struct needs {
    takt_ctx *ctx;
    const names *outermost;
    uint32_t *at;
    size_t count, capacity;
    size_t *ends; /* one per node */
    uint32_t node;
    bool is_sorted; /* so far no node depends on itself or a later one */
} needs;

static maker *slot_of(const names *n, takt_span name)
{
    size_t at = (size_t)takt_hash_bytes(2, name.at, name.length) & (n->size - 1);
    while (n->slots[at].name.length > 0 && !takt_onnx_same(n->slots[at].name, name))
        at = (at + 1) & (n->size - 1);
    return &n->slots[at];
}

static void define(const names *n, takt_span name, uint32_t node)
{
    maker *m = name.length > 0 ? slot_of(n, name) : NULL;
    if (m != NULL && m->name.length == 0) /* a second producer is refused by the import */
        *m = (maker){name, node};
}

static takt_status open_names(takt_ctx *ctx, names *n, size_t count, const names *outer)
{
    void *block;
    *n = (names){.size = 8, .outer = outer};
    while (n->size < 2 * count)
        n->size *= 2;
    TAKT_TRY(takt_mem_zero(ctx, n->size, sizeof *n->slots, "names of a graph", &block));
    n->slots = block;
    return TAKT_OK;
}

static void close_names(takt_ctx *ctx, names *n)
{
    takt_mem_put(ctx, n->slots, n->size * sizeof *n->slots);
}

static void define_nodes(const names *n, const body *b)
{
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < b->nodes[i].output_count; k++)
            define(n, b->nodes[i].outputs[k], (uint32_t)i);
}

static size_t output_count(const body *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        count += b->nodes[i].output_count;
    return count;
}

static takt_status define_graph(takt_ctx *ctx, names *n, const takt_pb_graph *g, const names *outer)
{
    const body b = {g->nodes, g->node_count};
    TAKT_TRY(open_names(
        ctx, n, output_count(&b) + g->input_count + g->initializer_count + g->sparse_count, outer));
    for (size_t i = 0; i < g->input_count; i++)
        define(n, g->inputs[i].name, NOBODY);
    for (size_t i = 0; i < g->initializer_count; i++)
        define(n, g->initializers[i].name, NOBODY);
    for (size_t i = 0; i < g->sparse_count; i++)
        if (g->sparses[i].values != NULL)
            define(n, g->sparses[i].values->name, NOBODY);
    define_nodes(n, &b);
    return TAKT_OK;
}

/* ---- needs ---- */

/* A name used somewhere inside the node: records which node of the outermost graph produces it. */
static takt_status need(needs *list, const names *inner, takt_span name)
{
    if (name.length == 0)
        return TAKT_OK;
    for (; inner != list->outermost; inner = inner->outer)
        if (slot_of(inner, name)->name.length > 0)
            return TAKT_OK; /* produced in a subgraph of the node itself */
    const maker *m = slot_of(inner, name);
    if (m->name.length == 0 || m->node == NOBODY)
        return TAKT_OK;
    list->is_sorted = list->is_sorted && m->node < list->node;
    void *block = list->at;
    TAKT_TRY(takt_mem_grow(list->ctx, &block, &list->capacity, list->count + 1, sizeof *list->at));
    list->at = block;
    list->at[list->count++] = m->node;
    return TAKT_OK;
}

/* Recursion is as deep as the messages nest, which the reader limits. */
static takt_status need_node(needs *list, const names *inner, const takt_pb_node *n);

static takt_status need_graph(needs *list, const names *outer, const takt_pb_graph *g)
{
    names own;
    TAKT_TRY(define_graph(list->ctx, &own, g, outer));
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < g->node_count && status == TAKT_OK; i++)
        status = need_node(list, &own, &g->nodes[i]);
    for (size_t i = 0; i < g->output_count && status == TAKT_OK; i++)
        status = need(list, &own, g->outputs[i].name);
    close_names(list->ctx, &own);
    return status;
}

static takt_status need_node(needs *list, const names *inner, const takt_pb_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        TAKT_TRY(need(list, inner, n->inputs[i]));
    for (size_t i = 0; i < n->attr_count; i++)
        if (n->attrs[i].g != NULL)
            TAKT_TRY(need_graph(list, inner, n->attrs[i].g));
    return TAKT_OK;
}

/* ---- the order ---- */

enum { NEW, WAITING, PLACED };

typedef struct visit {
    uint32_t *stack; /* nodes that wait for their dependencies */
    size_t *next;    /* per node: the next dependency to visit */
    uint8_t *state;  /* per node: NEW, WAITING or PLACED */
    bool is_cycle;
    uint32_t *order;
    size_t count; /* in `order` */
} visit;

/* Depth first in file order: a node's inputs come just before the node. */
static void place(visit *v, const needs *list, uint32_t root)
{
    size_t depth = 0;
    if (v->state[root] != NEW)
        return;
    v->stack[depth++] = root;
    v->state[root] = WAITING;
    while (depth > 0) {
        const uint32_t node = v->stack[depth - 1];
        if (v->next[node] == list->ends[node]) {
            v->order[v->count++] = node;
            v->state[node] = PLACED;
            depth--;
            continue;
        }
        const uint32_t wanted = list->at[v->next[node]++];
        v->is_cycle = v->is_cycle || v->state[wanted] == WAITING;
        if (v->state[wanted] != NEW)
            continue;
        v->state[wanted] = WAITING;
        v->stack[depth++] = wanted;
    }
}

static takt_status sort(takt_import *im, const needs *list, const body *b)
{
    takt_arena *a = &im->arena;
    visit v = {.stack = takt_arena_array(a, b->count, sizeof *v.stack),
               .next = takt_arena_array(a, b->count, sizeof *v.next),
               .state = takt_arena_array(a, b->count, sizeof *v.state),
               .order = takt_arena_array(a, b->count, sizeof *v.order)};
    takt_pb_node *nodes = takt_arena_array(a, b->count, sizeof *nodes);
    if (v.stack == NULL || v.next == NULL || v.state == NULL || v.order == NULL || nodes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 1; i < b->count; i++)
        v.next[i] = list->ends[i - 1];
    for (size_t i = 0; i < b->count; i++)
        place(&v, list, (uint32_t)i);
    if (v.is_cycle)
        return TAKT_OK;
    for (size_t i = 0; i < b->count; i++)
        nodes[i] = b->nodes[v.order[i]];
    memcpy(b->nodes, nodes, b->count * sizeof *nodes);
    return TAKT_OK;
}

static takt_status find_needs(needs *list, const body *b)
{
    for (size_t i = 0; i < b->count; i++) {
        list->node = (uint32_t)i;
        TAKT_TRY(need_node(list, list->outermost, &b->nodes[i]));
        list->ends[i] = list->count;
    }
    return TAKT_OK;
}

static takt_status order_body(takt_import *im, const body *b)
{
    names own;
    needs list = {.ctx = im->ctx, .outermost = &own, .is_sorted = true};
    if (b->count < 2)
        return TAKT_OK;
    list.ends = takt_arena_array(&im->arena, b->count, sizeof *list.ends);
    if (list.ends == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(open_names(im->ctx, &own, output_count(b), NULL));
    define_nodes(&own, b);
    takt_status status = find_needs(&list, b);
    if (status == TAKT_OK && !list.is_sorted)
        status = sort(im, &list, b);
    takt_mem_put(im->ctx, list.at, list.capacity * sizeof *list.at);
    close_names(im->ctx, &own);
    return status;
}

/* A body and, recursively, those of its nodes. */
static takt_status order_all(takt_import *im, const body *b)
{
    TAKT_TRY(order_body(im, b));
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < b->nodes[i].attr_count; k++) {
            const takt_pb_graph *g = b->nodes[i].attrs[k].g;
            if (g != NULL)
                TAKT_TRY(order_all(im, &(body){g->nodes, g->node_count}));
        }
    return TAKT_OK;
}

takt_status takt_import_order(takt_import *im)
{
    const takt_pb_graph *g = im->model.graph;
    for (size_t i = 0; i < im->model.function_count; i++) {
        const takt_pb_function *f = &im->model.functions[i];
        TAKT_TRY(order_all(im, &(body){f->nodes, f->node_count}));
    }
    return g != NULL ? order_all(im, &(body){g->nodes, g->node_count}) : TAKT_OK;
}
