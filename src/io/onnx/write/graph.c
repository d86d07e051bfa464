/* graph.c - writes the nodes of a graph in order. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/onnx/write/emit.h"

#define TAKT_EMIT(stem) extern const takt_emitter takt_emit_op_##stem;
#include "emit_list.inc"
#undef TAKT_EMIT

static const takt_emitter *const emitters[] = {
#define TAKT_EMIT(stem) &takt_emit_op_##stem,
#include "emit_list.inc"
#undef TAKT_EMIT
};

static takt_emit_fn *emitter_of(const takt_op *op)
{
    for (size_t i = 0; i < sizeof emitters / sizeof *emitters; i++)
        for (size_t k = 0; k < 24 && emitters[i]->ops[k] != NULL; k++)
            if (emitters[i]->ops[k] == op)
                return emitters[i]->emit;
    return takt_emit_record;
}

/* ---- nodes without an operator ---- */

static takt_status keep(takt_emit *e, takt_graph *g)
{
    void *at = e->kept;
    const takt_status status =
        takt_mem_grow(e->ctx, &at, &e->kept_capacity, e->kept_count + 1, sizeof *e->kept);
    e->kept = at;
    if (status == TAKT_OK)
        e->kept[e->kept_count++] = g;
    else
        takt_graph_destroy(g);
    return status;
}

/* A graph that computes node `n` by its lowering. */
static takt_status lowering(takt_emit *e, const takt_node *n, takt_graph **out)
{
    takt_graph *g;
    TAKT_TRY(takt_graph_create(e->ctx, e->frame->g, &g));
    TAKT_TRY(keep(e, g));
    takt_node copy = *n;
    takt_id *in = takt_arena_array(&e->arena, n->in_count + 1, sizeof *in), ids[TAKT_MAX_OUTPUTS];
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < n->in_count; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "x%u", i);
        in[i] = n->in[i] == TAKT_NONE
                    ? TAKT_NONE
                    : takt_graph_input(g, name, takt_type_of(e->frame->g, n->in[i]));
    }
    copy.in = in;
    for (size_t i = 0; i < TAKT_MAX_OUTPUTS; i++)
        ids[i] = TAKT_NONE;
    n->op->lower(g, &copy, ids);
    for (uint32_t i = 0; i < n->out_count && g->status == TAKT_OK; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "y%u", i);
        takt_graph_output(g, name, ids[i]);
    }
    *out = g;
    return g->status;
}

/* Each lowering is simpler than the last: the recursion ends with the primitives. */
static void write_lowered(takt_emit *e, const takt_node *n)
{
    takt_graph *g;
    const char *out[TAKT_MAX_OUTPUTS];
    const char **in = takt_arena_array(&e->arena, n->in_count + 1, sizeof *in);
    size_t count = 0;
    e->status = in != NULL ? lowering(e, n, &g) : TAKT_ERR_MEMORY;
    if (e->status != TAKT_OK)
        return;
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE)
            in[count++] = takt_emit_in(e, i);
    const takt_emit saved = *e;
    takt_emit_graph(e, g, in, saved.outs, out);
    e->frame = saved.frame;
    e->id = saved.id;
    e->node = saved.node;
    e->out = saved.out;
    e->outs = saved.outs;
    e->lowered++;
}

/* ---- one node ---- */

static const char *base_name(takt_emit *e, const takt_node *n, takt_id id)
{
    if (n->name != NULL)
        return n->name;
    const char *name = takt_arena_format(&e->arena, "%s_%u", n->op->name, id);
    return name != NULL ? name : "value";
}

static void name_results(takt_emit *e, takt_id id)
{
    const takt_node *n = takt_node_at(e->frame->g, id);
    takt_emit_frame *f = e->frame;
    if (n->out_count == 1) {
        if (f->names[id] == NULL)
            f->names[id] = takt_emit_unique(e, base_name(e, n, id));
        e->outs = &f->names[id];
    } else {
        for (uint32_t k = 0; k < n->out_count; k++)
            if (f->multi[id][k] == NULL)
                f->multi[id][k] = takt_emit_unique(e, base_name(e, n, id));
        e->outs = f->multi[id];
    }
    e->out = n->out_count > 0 ? e->outs[0] : "";
}

static void write_node(takt_emit *e, takt_id id)
{
    takt_emit_frame *f = e->frame;
    const takt_node *n = takt_node_at(f->g, id);
    if (n->op == &takt_op_input || n->op == &takt_op_state)
        return;
    if (n->op == &takt_op_get) {
        f->names[id] =
            f->multi[n->in[0]] != NULL ? f->multi[n->in[0]][n->attr[0].i64] : f->names[n->in[0]];
        return;
    }
    if (f->is_within[id])
        return;
    e->id = id;
    e->node = n;
    e->bias = "";
    name_results(e, id);
    const takt_emit_bias *sum = &f->biases[id];
    if (sum->is_there) {
        e->bias = f->names[sum->vector];
        e->id = sum->product;
        e->node = n = takt_node_at(f->g, sum->product);
    }
    if (n->op == &takt_op_constant)
        takt_emit_weigh(e, e->out, n->type, takt_tensor_data(n->attr[0].tensor));
    else if (!emitter_of(n->op)(e, n)) {
        if (n->op->lower != NULL)
            write_lowered(e, n);
        else
            takt_emit_own(e, n);
    }
    e->attrs.length = 0;
}

/* ---- a graph ---- */

static bool is_leaf(const takt_graph *g, takt_id id)
{
    const takt_op *op = takt_node_at(g, id)->op;
    return op == &takt_op_input || op == &takt_op_state || op == &takt_op_constant;
}

/* The value that gets the name of an output, if it can have that name. */
static const char **place_of(takt_emit_frame *f, takt_id id)
{
    const takt_node *n = takt_node_at(f->g, id);
    if (is_leaf(f->g, id))
        return NULL;
    if (n->op == &takt_op_get)
        return f->multi[n->in[0]] != NULL ? &f->multi[n->in[0]][n->attr[0].i64]
               : is_leaf(f->g, n->in[0])  ? NULL
                                          : &f->names[n->in[0]];
    return n->out_count == 1 ? &f->names[id] : NULL;
}

static bool open_frame(takt_emit *e, takt_emit_frame *f, const takt_graph *g)
{
    *f = (takt_emit_frame){.g = g};
    f->names = takt_arena_array(&e->arena, g->count + 1, sizeof *f->names);
    f->multi = takt_arena_array(&e->arena, g->count + 1, sizeof *f->multi);
    bool fits = f->names != NULL && f->multi != NULL;
    for (size_t i = 0; fits && i < g->count; i++) {
        if (g->nodes[i].out_count < 2)
            continue;
        f->multi[i] = takt_arena_array(&e->arena, g->nodes[i].out_count, sizeof **f->multi);
        fits = f->multi[i] != NULL;
    }
    if (!fits)
        e->status = TAKT_ERR_MEMORY;
    return fits;
}

static void write_nodes(takt_emit *e, const takt_graph *g)
{
    unsigned char *live = takt_arena_array(&e->arena, g->count + 1, 1);
    if (live == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return;
    }
    takt_graph_live(g, live);
    takt_emit_find_biases(e, e->frame, live);
    for (size_t i = 0; i < g->count && e->status == TAKT_OK; i++)
        if (live[i])
            write_node(e, (takt_id)i);
}

/* Outputs, followed by the slots' next values. */
static size_t result_count(const takt_graph *g)
{
    return g->output_count + g->slot_count;
}

static takt_id result_of(const takt_graph *g, size_t i)
{
    return i < g->output_count ? g->outputs[i].id : g->slots[i - g->output_count].next;
}

/* An output that is an input, a constant, or the same value as another output needs a node. */
static void finish_outputs(takt_emit *e, const char *const *want, const char **out)
{
    const takt_graph *g = e->frame->g;
    for (size_t i = 0; i < result_count(g) && e->status == TAKT_OK; i++) {
        if (result_of(g, i) == TAKT_NONE)
            continue;
        const char *name = e->frame->names[result_of(g, i)];
        out[i] = name;
        if (strcmp(name, want[i]) == 0)
            continue;
        e->node = NULL;
        out[i] = takt_emit_1(e, "Identity", want[i], name);
    }
}

/* Types of values that are neither inputs nor outputs: for viewers, and for readers that do not
 * infer shapes. */
static void describe_values(takt_emit *e, const takt_graph *g)
{
    unsigned char *is_result = takt_arena_array(&e->arena, g->count + 1, 1);
    if (is_result == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < result_count(g); i++)
        if (result_of(g, i) != TAKT_NONE) {
            const takt_id id = result_of(g, i);
            is_result[g->nodes[id].op == &takt_op_get ? g->nodes[id].in[0] : id] = 1;
        }
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (is_result[i] || is_leaf(g, (takt_id)i) || n->op == &takt_op_get)
            continue;
        for (uint32_t k = 0; k < n->out_count; k++) {
            const char *name = n->out_count == 1 ? e->frame->names[i] : e->frame->multi[i][k];
            if (name != NULL)
                takt_emit_value(e, e->values, 13, name, &n->type[k]);
        }
    }
}

void takt_emit_graph(takt_emit *e, const takt_graph *g, const char *const *in,
                     const char *const *want, const char **out)
{
    takt_emit_frame frame;
    takt_emit_frame *outer = e->frame;
    if (e->status != TAKT_OK || !open_frame(e, &frame, g))
        return;
    for (size_t i = 0; i < g->input_count; i++)
        frame.names[g->inputs[i].id] = in[i];
    for (size_t i = 0; i < g->slot_count; i++)
        frame.names[g->slots[i].value] = g->slots[i].name;
    for (size_t i = 0; i < result_count(g); i++) {
        const char **place =
            result_of(g, i) == TAKT_NONE ? NULL : place_of(&frame, result_of(g, i));
        if (place != NULL && *place == NULL)
            *place = want[i];
    }
    e->frame = &frame;
    write_nodes(e, g);
    finish_outputs(e, want, out);
    if (e->nodes == e->main && e->status == TAKT_OK)
        describe_values(e, g);
    e->frame = outer;
}

/* ---- subgraphs ---- */

static void subgraph_ports(takt_emit *e, const takt_graph *g, size_t own, const char *const *in,
                           const char *const *out, takt_text *to)
{
    for (size_t i = 0; i < own; i++)
        takt_emit_value(e, to, 11, in[i], takt_type_of(g, g->inputs[i].id));
    for (size_t i = 0; i < g->output_count; i++)
        takt_emit_value(e, to, 12, out[i], takt_type_of(g, g->outputs[i].id));
}

void takt_emit_subgraph(takt_emit *e, const takt_graph *g, size_t own, const char *const *captures,
                        takt_text *to)
{
    const takt_emit saved = *e;
    const char **in = takt_arena_array(&e->arena, g->input_count + 1, sizeof *in);
    const char **want = takt_arena_array(&e->arena, g->output_count + 1, sizeof *want);
    if (in == NULL || want == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < g->input_count; i++)
        in[i] = i < own ? takt_emit_unique(e, g->inputs[i].name) : captures[i - own];
    for (size_t i = 0; i < g->output_count; i++)
        want[i] = takt_emit_unique(e, g->outputs[i].name);
    const char **out = takt_arena_array(&e->arena, g->output_count + 1, sizeof *out);
    if (out == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return;
    }
    e->nodes = to;
    takt_emit_graph(e, g, in, want, out);
    takt_pb_put_string(to, 2, saved.out);
    subgraph_ports(e, g, own, in, want, to);
    e->nodes = saved.nodes;
    e->id = saved.id;
    e->node = saved.node;
    e->out = saved.out;
    e->outs = saved.outs;
}
