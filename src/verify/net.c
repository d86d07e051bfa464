/* net.c - a graph as sums and functions: traversal, known values, lowerings. */
#include "verify/net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "interp/interp.h"
#include "ir/leaves.h"
#include "op/util/bound.h"
#include "verify/net_build.h"

enum { LEVELS = 16, ELEMENTS = 1 << 24 };

static takt_status build_nodes(takt_net_builder *b);

takt_status takt_net_refuse(takt_net_builder *b, const takt_node *n, const char *why)
{
    takt_fail(b->net->ctx, TAKT_E_VERIFY_MODEL, "%s: linear bounds do not follow it: %s",
              n->op->name, why);
    return n->name != NULL ? takt_fail_node(b->net->ctx, n->name) : TAKT_ERR_UNSUPPORTED;
}

size_t takt_net_elements(const takt_type *t)
{
    size_t count = 1;
    for (int i = 0; i < t->rank; i++)
        count *= (size_t)t->dim[i];
    return count;
}

/* The kernel's error, as in takt_bound_set. */
static void set_error(const takt_net_builder *b, const takt_node *n, takt_net_node *node)
{
    const takt_dtype dtype = n->type[0].dtype;
    if (b->is_real || !takt_dtype_is_float(dtype))
        return;
    const takt_grid grid = takt_grid_of(dtype);
    const bool is_narrow = dtype == TAKT_F16 || dtype == TAKT_BF16;
    double ulps = n->op->error.ulps;
    /* Composite functions: a product, or a quotient, of rounded numbers. */
    if (n->op->relax != NULL && n->op->lower != NULL && n->op->bound == NULL && ulps == 0)
        ulps = 2;
    node->ulp = grid.ulp;
    node->share = is_narrow ? 0.5 * grid.ulp + 1.01 * ulps * 0x1p-23 : ulps * grid.ulp;
    node->tiny = ulps > 0 || is_narrow ? grid.tiny * fmax(ulps, 1) : 0;
    if (n->op->error.roundings != NULL) {
        node->gamma = takt_grid_gamma(dtype, n->op->error.roundings(b->graph, n));
        node->tiny += dtype == TAKT_F64 ? 0x1p-1000 : 0x1p-120;
    }
}

uint32_t takt_net_add(takt_net_builder *b, const takt_node *n, takt_net_kind kind, size_t count)
{
    takt_net *net = b->net;
    if (takt_mem_grow(net->ctx, (void **)&net->nodes, &net->capacity, net->count + 1,
                      sizeof *net->nodes) != TAKT_OK)
        return UINT32_MAX;
    takt_net_node *node = &net->nodes[net->count];
    *node = (takt_net_node){.kind = kind, .count = (uint32_t)count, .of = n};
    if (n != NULL) {
        node->label = n->name != NULL ? n->name : n->op->name;
        if (kind != TAKT_NET_INPUT)
            set_error(b, n, node);
    }
    net->element_count += count;
    return (uint32_t)net->count++;
}

takt_net_part *takt_net_parts(takt_net_builder *b, uint32_t id, size_t count)
{
    takt_net_node *node = &b->net->nodes[id];
    node->parts = takt_arena_array(&b->net->arena, count, sizeof *node->parts);
    node->part_count = node->parts != NULL ? count : 0;
    return node->parts;
}

/* ---- known values ---- */

static takt_status hold(takt_net_builder *b, takt_array *a)
{
    const takt_status status = takt_mem_grow(b->net->ctx, (void **)&b->held, &b->held_capacity,
                                             b->held_count + 1, sizeof *b->held);
    if (status == TAKT_OK)
        b->held[b->held_count++] = a;
    else
        takt_array_release(b->net->ctx, a);
    return status;
}

/* Whether the interpreter computes the same as a kernel: exactly, or rounded once. For f32 the
 * double result of one operation, rounded again, is the same. */
static bool is_same_bits(const takt_node *n)
{
    const takt_dtype dtype = n->type[0].dtype;
    const bool is_wide = dtype == TAKT_F32 || dtype == TAKT_F64;
    return n->op->error.roundings == NULL &&
           (n->op->error.ulps == 0 || (n->op->error.ulps == 0.5 && is_wide));
}

static takt_status evaluate(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                            takt_net_value *out)
{
    takt_array *arrays = takt_arena_array(b->arena, n->in_count + 1, sizeof *arrays);
    takt_array *results = takt_arena_array(b->arena, n->out_count, sizeof *results);
    if (arrays == NULL || results == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        arrays[k] = in[k] != NULL ? in[k]->known : (takt_array){.rank = -1};
    if (!b->is_real && !is_same_bits(n))
        return takt_net_refuse(b, n, "a constant is computed while the model runs");
    if (n->op == &takt_op_constant)
        TAKT_TRY(takt_array_from_tensor(b->net->ctx, n->attr[0].tensor, &results[0]));
    else
        TAKT_TRY(takt_interpret_node(b->net->ctx, b->graph, n, arrays, results));
    takt_status status = TAKT_OK;
    for (uint32_t k = 0; k < n->out_count; k++) {
        out[k] = (takt_net_value){.is_known = true, .known = results[k]};
        if (status == TAKT_OK)
            status = hold(b, &out[k].known);
        else
            takt_array_release(b->net->ctx, &out[k].known);
    }
    return status;
}

/* ---- lowerings ---- */

static takt_status lower(takt_net_builder *b, const takt_node *n, takt_graph **g)
{
    takt_net *net = b->net;
    TAKT_TRY(takt_mem_grow(net->ctx, (void **)&net->lowered, &net->lowered_capacity,
                           net->lowered_count + 1, sizeof *net->lowered));
    TAKT_TRY(takt_graph_create(net->ctx, b->graph, g));
    net->lowered[net->lowered_count++] = *g;
    takt_id *in = takt_arena_array(b->arena, n->in_count, sizeof *in);
    takt_id *out = takt_arena_array(b->arena, n->out_count, sizeof *out);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++) {
        char name[24];
        in[k] = TAKT_NONE;
        for (uint32_t j = 0; j < k && n->in[k] != TAKT_NONE; j++)
            if (n->in[j] == n->in[k])
                in[k] = in[j];
        if (n->in[k] == TAKT_NONE || in[k] != TAKT_NONE)
            continue;
        snprintf(name, sizeof name, "x%u", k);
        in[k] = takt_graph_input(*g, name, takt_type_of(b->graph, n->in[k]));
    }
    takt_node own = *n;
    own.in = in;
    memset(out, 0xff, n->out_count * sizeof *out);
    takt_graph_inherit(*g, n);
    if ((*g)->status == TAKT_OK)
        n->op->lower(*g, &own, out);
    for (uint32_t k = 0; k < n->out_count && (*g)->status == TAKT_OK; k++) {
        char name[24];
        snprintf(name, sizeof name, "y%u", k);
        takt_graph_output(*g, name, out[k]);
    }
    return (*g)->status;
}

/* A composite with its own kernel rounds at its end, as its record says. */
static takt_status end_error(takt_net_builder *b, const takt_node *n, takt_net_value *out)
{
    if (n->op->error.ulps == 0)
        return takt_net_refuse(b, n, "its record has no error that linear bounds can use");
    const size_t count = takt_net_elements(&n->type[0]);
    const uint32_t id = takt_net_add(b, n, TAKT_NET_SUM, count);
    takt_net_part *part = id != UINT32_MAX ? takt_net_parts(b, id, 1) : NULL;
    uint32_t *columns = takt_arena_array(&b->net->arena, count, sizeof *columns);
    if (part == NULL || columns == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        columns[i] = (uint32_t)i;
    *part =
        (takt_net_part){.form = TAKT_NET_MAP, .source = out->node, .factor = 1, .columns = columns};
    out->node = id;
    return TAKT_OK;
}

static takt_status build_lowering(takt_net_builder *b, const takt_node *n,
                                  takt_net_value *const *in, takt_net_value *out)
{
    takt_graph *g = NULL;
    if (b->depth >= LEVELS)
        return takt_net_refuse(b, n, "its lowering does not end");
    TAKT_TRY(lower(b, n, &g));
    takt_net_builder inner = *b;
    const bool is_whole = n->op->bound != NULL && !b->is_real;
    inner.graph = g;
    inner.depth++;
    inner.is_real = b->is_real || is_whole;
    inner.values = takt_arena_array(b->arena, g->count, sizeof *inner.values);
    if (inner.values == NULL)
        return TAKT_ERR_MEMORY;
    size_t at = 0;
    for (uint32_t k = 0; k < n->in_count; k++) {
        bool is_repeated = n->in[k] == TAKT_NONE;
        for (uint32_t j = 0; j < k && !is_repeated; j++)
            is_repeated = n->in[j] == n->in[k];
        if (!is_repeated)
            inner.values[g->inputs[at++].id] = in[k];
    }
    const takt_status status = build_nodes(&inner);
    b->held = inner.held;
    b->held_count = inner.held_count;
    b->held_capacity = inner.held_capacity;
    TAKT_TRY(status);
    for (uint32_t k = 0; k < n->out_count; k++)
        out[k] = inner.values[g->outputs[k].id][0];
    return is_whole && !out[0].is_known ? end_error(b, n, &out[0]) : TAKT_OK;
}

/* ---- nodes ---- */

static takt_status follow(takt_net_builder *b, const takt_node *n, takt_net_value *const *in,
                          takt_net_value *out)
{
    static takt_net_rule *const rules[] = {takt_net_choices, takt_net_arithmetic, takt_net_products,
                                           takt_net_windows, takt_net_functions,  takt_net_softmax,
                                           takt_net_moves};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        bool done = false;
        TAKT_TRY(rules[i](b, n, in, out, &done));
        if (done)
            return TAKT_OK;
    }
    if (n->op->lower != NULL)
        return build_lowering(b, n, in, out);
    return takt_net_refuse(b, n, "it has no relaxation");
}

static takt_status visit(takt_net_builder *b, takt_id id)
{
    const takt_node *n = &b->graph->nodes[id];
    if (n->op == &takt_op_get) {
        b->values[id] = &b->values[n->in[0]][n->attr[0].i64];
        return TAKT_OK;
    }
    takt_net_value **in = takt_arena_array(b->arena, n->in_count, sizeof *in);
    takt_net_value *out = takt_arena_array(b->arena, n->out_count, sizeof *out);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    bool is_known = n->op != &takt_op_state && n->op != &takt_op_custom;
    for (uint32_t k = 0; k < n->in_count; k++) {
        in[k] = n->in[k] != TAKT_NONE ? b->values[n->in[k]] : NULL;
        is_known = is_known && (in[k] == NULL || in[k]->is_known);
    }
    b->values[id] = out;
    for (uint32_t k = 0; k < n->out_count; k++)
        if (takt_net_elements(&n->type[k]) > ELEMENTS)
            return takt_net_refuse(b, n, "it is too large");
    if (n->op->traits & TAKT_UNIQUE && n->op != &takt_op_constant)
        return takt_net_refuse(b, n, "its value is not determined by its inputs");
    if (is_known)
        return evaluate(b, n, in, out);
    if (!takt_dtype_is_float(n->type[0].dtype)) {
        out[0].is_absent = true;
        return TAKT_OK;
    }
    return follow(b, n, in, out);
}

static takt_status build_nodes(takt_net_builder *b)
{
    unsigned char *live = takt_arena_array(b->arena, b->graph->count, 1);
    if (live == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(b->graph, live);
    for (size_t i = 0; i < b->graph->count; i++)
        if (live[i] && b->values[i] == NULL)
            TAKT_TRY(visit(b, (takt_id)i));
    return TAKT_OK;
}

/* ---- ends ---- */

static takt_status declare(takt_net_builder *b)
{
    takt_net *net = b->net;
    const takt_graph *g = b->graph;
    net->inputs = takt_arena_array(&net->arena, g->input_count, sizeof *net->inputs);
    if (net->inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_node *n = &g->nodes[g->inputs[i].id];
        const size_t count = takt_net_elements(&n->type[0]);
        takt_net_value *v = takt_arena_array(b->arena, 1, sizeof *v);
        if (!takt_dtype_is_float(n->type[0].dtype))
            return takt_net_refuse(b, n, "inputs must be floats");
        if (count > ELEMENTS)
            return takt_net_refuse(b, n, "it is too large");
        const uint32_t id = takt_net_add(b, n, TAKT_NET_INPUT, count);
        if (v == NULL || id == UINT32_MAX)
            return TAKT_ERR_MEMORY;
        net->nodes[id].label = g->inputs[i].name;
        v->node = id;
        b->values[g->inputs[i].id] = v;
        net->inputs[net->port_count++] = id;
        net->input_count += count;
        if (n->type[0].dtype == TAKT_F64)
            net->max = takt_grid_of(TAKT_F64).max;
    }
    return TAKT_OK;
}

/* One node for all outputs, one after the other. */
static takt_status collect(takt_net_builder *b)
{
    takt_net *net = b->net;
    const takt_graph *g = b->graph;
    for (size_t i = 0; i < g->output_count; i++)
        net->output_count += takt_net_elements(takt_type_of(g, g->outputs[i].id));
    const uint32_t id = takt_net_add(b, NULL, TAKT_NET_SUM, net->output_count);
    takt_net_part *parts = id != UINT32_MAX ? takt_net_parts(b, id, g->output_count) : NULL;
    double *bias = takt_arena_array(&net->arena, net->output_count, sizeof *bias);
    if (parts == NULL || bias == NULL)
        return TAKT_ERR_MEMORY;
    net->nodes[id].label = "outputs";
    net->nodes[id].bias = bias;
    size_t from = 0, kept = 0;
    for (size_t i = 0; i < g->output_count; i++) {
        const takt_net_value *v = b->values[g->outputs[i].id];
        const takt_type *type = takt_type_of(g, g->outputs[i].id);
        const size_t count = takt_net_elements(type);
        uint32_t *columns = takt_arena_array(&net->arena, net->output_count, sizeof *columns);
        if (columns == NULL)
            return TAKT_ERR_MEMORY;
        if (!takt_dtype_is_float(type->dtype))
            return takt_net_refuse(b, &g->nodes[g->outputs[i].id], "outputs must be floats");
        memset(columns, 0xff, net->output_count * sizeof *columns);
        for (size_t k = 0; k < count; k++)
            if (v->is_known)
                bias[from + k] = v->known.f[k];
            else
                columns[from + k] = (uint32_t)k;
        if (!v->is_known)
            parts[kept++] = (takt_net_part){
                .form = TAKT_NET_MAP, .source = v->node, .factor = 1, .columns = columns};
        from += count;
    }
    net->nodes[id].part_count = kept;
    net->output = id;
    return TAKT_OK;
}

static takt_status build(takt_net_builder *b)
{
    const takt_graph *g = b->graph;
    b->values = takt_arena_array(b->arena, g->count, sizeof *b->values);
    if (b->values == NULL)
        return TAKT_ERR_MEMORY;
    if (g->slot_count > 0)
        return takt_fail(b->net->ctx, TAKT_E_VERIFY_MODEL,
                         "linear bounds do not follow models with state");
    TAKT_TRY(declare(b));
    TAKT_TRY(build_nodes(b));
    TAKT_TRY(collect(b));
    return takt_net_fold(b->net);
}

takt_status takt_net_init(const takt_graph *g, bool is_real, takt_net *net)
{
    takt_arena arena;
    *net = (takt_net){.ctx = g->ctx, .max = is_real ? INFINITY : takt_grid_of(TAKT_F32).max};
    takt_arena_init(&net->arena, g->ctx);
    takt_arena_init(&arena, g->ctx);
    takt_net_builder b = {.net = net, .graph = g, .arena = &arena, .is_real = is_real};
    const takt_status status = build(&b);
    if (is_real)
        net->max = INFINITY;
    for (size_t i = 0; i < b.held_count; i++)
        takt_array_release(g->ctx, b.held[i]);
    takt_mem_put(g->ctx, b.held, b.held_capacity * sizeof *b.held);
    takt_arena_deinit(&arena);
    if (status != TAKT_OK)
        takt_net_deinit(net);
    return status;
}

void takt_net_deinit(takt_net *net)
{
    if (net->ctx == NULL)
        return;
    for (size_t i = 0; i < net->lowered_count; i++)
        takt_graph_destroy(net->lowered[i]);
    takt_mem_put(net->ctx, net->lowered, net->lowered_capacity * sizeof *net->lowered);
    takt_mem_put(net->ctx, net->nodes, net->capacity * sizeof *net->nodes);
    takt_arena_deinit(&net->arena);
    *net = (takt_net){0};
}
