/* write.c - a graph as a TensorFlow Lite model: prepared, traversed once, and written as a
 * whole. */
#include "io/tflite/write/write.h"

#include "base/mem.h"
#include "io/file.h"
#include "io/tflite/write/emit.h"

/* Users of every value that is needed. */
static void count_uses(takt_tflw *w, const unsigned char *live)
{
    const takt_graph *g = w->g;
    for (size_t i = 0; i < g->count; i++) {
        w->at[i] = -1;
        w->user[i] = TAKT_NONE;
        for (uint32_t k = 0; live[i] && k < g->nodes[i].in_count; k++) {
            const takt_id from = g->nodes[i].in[k];
            if (from == TAKT_NONE)
                continue;
            w->uses[from]++;
            w->user[from] = (takt_id)i;
        }
    }
    for (size_t i = 0; i < g->output_count; i++) {
        w->uses[g->outputs[i].id]++;
        w->user[g->outputs[i].id] = TAKT_NONE;
    }
    for (size_t i = 0; i < g->slot_count; i++) {
        if (g->slots[i].next == TAKT_NONE)
            continue;
        w->uses[g->slots[i].next]++;
        w->user[g->slots[i].next] = TAKT_NONE;
    }
}

static unsigned char *prepare_tables(takt_tflw *w)
{
    const size_t count = w->g->count + 1;
    w->at = takt_arena_array(&w->arena, count, sizeof *w->at);
    w->uses = takt_arena_array(&w->arena, count, sizeof *w->uses);
    w->user = takt_arena_array(&w->arena, count, sizeof *w->user);
    w->is_inside = takt_arena_array(&w->arena, count, sizeof *w->is_inside);
    w->shown = takt_arena_array(&w->arena, w->g->output_count + 1, sizeof *w->shown);
    unsigned char *live = takt_arena_array(&w->arena, count, 1);
    if (w->at == NULL || w->uses == NULL || w->user == NULL || w->is_inside == NULL ||
        w->shown == NULL || live == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return NULL;
    }
    takt_graph_live(w->g, live);
    count_uses(w, live);
    takt_tflw_grids(w);
    return live;
}

static void write_node(takt_tflw *w, takt_id id)
{
    const takt_node *n = &w->g->nodes[id];
    takt_tflw_fn *emit = takt_tflw_emitter_of(n->op);
    w->id = id;
    /* Constants and floats of integers are made where they are read. */
    if (w->is_inside[id] || n->op == &takt_op_input || n->op == &takt_op_constant ||
        n->op == &takt_op_dequantize || takt_tflw_is_widened(w->g, n))
        return;
    if (n->op == &takt_op_state)
        takt_tflw_state_read(w, n);
    else if (emit == NULL)
        takt_tflw_fail(w, "TensorFlow Lite has no operator for it");
    else if (!emit(w, n))
        takt_tflw_fail(w, "TensorFlow Lite has no operator for this form of it");
}

/* An output that is an input, a constant, or another output's value, is copied. */
static void show(takt_tflw *w, size_t i)
{
    const takt_port *port = &w->g->outputs[i];
    const takt_type *type = takt_type_of(w->g, port->id);
    w->id = port->id;
    w->shown[i] = takt_tflw_value(w, port->id);
    bool is_taken =
        w->g->nodes[port->id].op == &takt_op_input || takt_tflw_at(w, w->shown[i])->data != NULL;
    for (size_t k = 0; k < i; k++)
        is_taken = is_taken || w->shown[k] == w->shown[i];
    if (!is_taken)
        return;
    const takt_tflw_grid grid = takt_tflw_at(w, w->shown[i])->grid;
    const int32_t out = takt_tflw_tensor_new(w, port->name, type, &grid);
    w->shown[i] = takt_tflw_reshaped(w, w->shown[i], type->dim, type->rank, out);
}

static takt_status write_graph(takt_tflw *w)
{
    const unsigned char *live = prepare_tables(w);
    for (size_t i = 0; live != NULL && w->status == TAKT_OK && i < w->g->input_count; i++) {
        const takt_port *port = &w->g->inputs[i];
        w->id = port->id;
        w->at[port->id] =
            takt_tflw_tensor_new(w, port->name, takt_type_of(w->g, port->id), &w->grids[port->id]);
    }
    takt_tflw_state_begin(w);
    for (size_t i = 0; live != NULL && i < w->g->count && w->status == TAKT_OK; i++)
        if (live[i])
            write_node(w, (takt_id)i);
    for (size_t i = 0; i < w->g->output_count && w->status == TAKT_OK; i++)
        show(w, i);
    takt_tflw_state_end(w);
    return w->status;
}

static void deinit(takt_tflw *w)
{
    if (w->first != NULL)
        deinit(w->first);
    takt_mem_put(w->ctx, w->tensors, w->tensor_capacity * sizeof *w->tensors);
    takt_mem_put(w->ctx, w->ops, w->op_capacity * sizeof *w->ops);
    takt_arena_deinit(&w->arena);
}

static takt_status write_whole(const takt_graph *g, const takt_graph *source,
                               const takt_tflite_options *options, takt_text *to)
{
    takt_tflw w = {.ctx = g->ctx, .g = g, .source = source, .slots = options->slots};
    takt_arena_init(&w.arena, g->ctx);
    takt_status status = write_graph(&w);
    if (status == TAKT_OK)
        status = takt_tflw_file(&w, options->lineage, to);
    deinit(&w);
    return status;
}

takt_status takt_tflite_bytes(const takt_graph *g, const takt_tflite_options *options,
                              takt_text *to)
{
    takt_graph *ready = NULL;
    TAKT_TRY(takt_tflw_prepare(g, options->slots, &ready));
    const takt_status status = write_whole(ready, g, options, to);
    takt_graph_destroy(ready);
    return status;
}

takt_status takt_tflite_write(const takt_graph *g, const takt_tflite_options *options,
                              const char *path)
{
    takt_text bytes;
    takt_text_init(&bytes, g->ctx);
    takt_status status = takt_tflite_bytes(g, options, &bytes);
    if (status == TAKT_OK)
        status = takt_write_file(g->ctx, path, takt_text_get(&bytes), bytes.length);
    takt_text_deinit(&bytes);
    return status;
}
