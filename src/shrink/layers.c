/* layers.c - the layers of a graph that hold weights. */
#include "shrink/layers.h"

#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "op/util/conv.h"
#include "plan/finish.h"
#include "shrink/integers.h"

/* ---- uses ---- */

static takt_status count_uses(takt_shrink_layers *l)
{
    const takt_graph *g = l->graph;
    unsigned char *live = takt_arena_array(&l->arena, g->count, 1);
    l->uses = takt_arena_array(&l->arena, g->count, sizeof *l->uses);
    if (live == NULL || l->uses == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(g, live);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                l->uses[g->nodes[i].in[k]]++;
    for (size_t i = 0; i < g->output_count; i++)
        l->uses[g->outputs[i].id]++;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            l->uses[g->slots[i].next]++;
    for (size_t i = 0; i < g->check_count; i++)
        l->uses[g->checks[i].id]++;
    return TAKT_OK;
}

/* ---- one layer ---- */

static bool is_constant(const takt_graph *g, takt_id id)
{
    return id != TAKT_NONE && g->nodes[id].op == &takt_op_constant;
}

static bool take_conv(const takt_graph *g, const takt_node *n, takt_shrink_layer *l)
{
    const takt_type *w = takt_type_of(g, n->in[1]);
    l->is_conv = true;
    l->w_axis = 0;
    l->y_axis = n->attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC ? n->type->rank - 1 : 1;
    l->groups = n->attr[TAKT_CONV_GROUPS].i64;
    l->rows = w->dim[0];
    l->inner = 1;
    for (int d = 1; d < w->rank; d++)
        l->inner *= w->dim[d];
    return true;
}

static bool take_matmul(const takt_graph *g, const takt_node *n, takt_shrink_layer *l)
{
    const takt_type *w = takt_type_of(g, n->in[1]);
    if (w->rank != 2 || takt_node_attr(n, "transpose_a")->boolean ||
        takt_type_of(g, n->in[0])->rank < 2)
        return false;
    const bool flips = takt_node_attr(n, "transpose_b")->boolean;
    l->w_axis = flips ? 0 : 1;
    l->y_axis = n->type->rank - 1;
    l->rows = w->dim[l->w_axis];
    l->inner = w->dim[1 - l->w_axis];
    l->groups = 1;
    return true;
}

static bool take(const takt_graph *g, takt_id id, takt_shrink_layer *l)
{
    const takt_node *n = &g->nodes[id];
    *l = (takt_shrink_layer){.product = id, .add = TAKT_NONE, .bias = TAKT_NONE, .act = TAKT_NONE};
    if ((n->op != &takt_op_conv && n->op != &takt_op_matmul) || n->type->dtype != TAKT_F32 ||
        !is_constant(g, n->in[1]) || is_constant(g, n->in[0]))
        return false;
    l->x = n->in[0];
    l->w = n->in[1];
    l->end = id;
    return (n->op == &takt_op_conv ? take_conv(g, n, l) : take_matmul(g, n, l)) && l->rows > 0 &&
           l->inner > 0;
}

/* A constant with one element for each channel, or one for all. */
static bool is_bias(const takt_graph *g, const takt_shrink_layer *l, takt_id id)
{
    const takt_type *t = takt_type_of(g, id), *y = takt_type_of(g, l->product);
    if (!is_constant(g, id) || t->dtype != TAKT_F32 || t->rank > y->rank)
        return false;
    for (int d = 0; d < t->rank; d++) {
        const int axis = y->rank - t->rank + d;
        if (t->dim[d] != 1 && (axis != l->y_axis || t->dim[d] != l->rows))
            return false;
    }
    return true;
}

static bool is_cut(const takt_op *op)
{
    return op == &takt_op_relu || op == &takt_op_relu6 || op == &takt_op_clip;
}

/* The only live reader of `id`, if it is the next of a chain. */
static void extend(const takt_shrink_layers *list, takt_shrink_layer *l, takt_id id)
{
    const takt_graph *g = list->graph;
    const takt_node *n = &g->nodes[id];
    if (list->uses[l->end] != 1 || l->act != TAKT_NONE)
        return;
    if (n->op == &takt_op_add && l->add == TAKT_NONE) {
        const uint32_t which = n->in[0] == l->end ? 0 : 1;
        if (n->in[which] != l->end || !is_bias(g, l, n->in[1 - which]))
            return;
        l->add = l->end = id;
        l->bias = n->in[1 - which];
    } else if (is_cut(n->op) && n->in[0] == l->end) {
        l->act = l->end = id;
    }
}

/* ---- names ---- */

static bool is_taken(const takt_shrink_layers *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->at[i].name, name) == 0)
            return true;
    return false;
}

static const char *name_of(takt_shrink_layers *l, takt_id id)
{
    const takt_node *n = &l->graph->nodes[id];
    const char *label =
        n->origin != NULL && n->origin->name != NULL ? n->origin->name : takt_node_label(n);
    char *name = takt_arena_text(&l->arena, label, strlen(label));
    for (size_t i = 2; name != NULL && is_taken(l, name); i++)
        name = takt_arena_format(&l->arena, "%s#%zu", label, i);
    return name;
}

takt_status takt_shrink_layers_init(takt_shrink_layers *l, const takt_graph *g)
{
    *l = (takt_shrink_layers){.graph = g};
    takt_arena_init(&l->arena, g->ctx);
    takt_status status = count_uses(l);
    l->at = status == TAKT_OK ? takt_arena_array(&l->arena, g->count, sizeof *l->at) : NULL;
    size_t *owner = status == TAKT_OK ? takt_arena_array(&l->arena, g->count, sizeof *owner) : NULL;
    if (status == TAKT_OK && (l->at == NULL || owner == NULL))
        status = TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        takt_shrink_layer layer;
        for (uint32_t k = 0; k < n->in_count; k++) {
            const size_t at = n->in[k] != TAKT_NONE ? owner[n->in[k]] : 0;
            if (at > 0)
                extend(l, &l->at[at - 1], (takt_id)i);
            if (at > 0 && l->at[at - 1].end == i)
                owner[i] = at;
        }
        if (l->uses[i] == 0 || !take(g, (takt_id)i, &layer))
            continue;
        layer.name = name_of(l, (takt_id)i);
        if (layer.name == NULL)
            status = TAKT_ERR_MEMORY;
        l->at[l->count++] = layer;
        owner[i] = l->count;
    }
    if (status != TAKT_OK)
        takt_shrink_layers_deinit(l);
    return status;
}

void takt_shrink_layers_deinit(takt_shrink_layers *l)
{
    takt_arena_deinit(&l->arena);
    *l = (takt_shrink_layers){0};
}

/* ---- weights ---- */

size_t takt_shrink_weight_index(const takt_graph *g, const takt_shrink_layer *l, int64_t row,
                                int64_t k)
{
    (void)g;
    return l->w_axis == 0 ? (size_t)(row * l->inner + k) : (size_t)(k * l->rows + row);
}

int64_t takt_shrink_channel_of(const takt_graph *g, const takt_shrink_layer *l, int64_t k)
{
    const takt_type *w = takt_type_of(g, l->w);
    if (!l->is_conv)
        return k;
    const bool nhwc = g->nodes[l->product].attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const int64_t channels = w->dim[nhwc ? w->rank - 1 : 1];
    return nhwc ? k % channels : k / (l->inner / channels);
}

void takt_shrink_weights(const takt_graph *g, const takt_shrink_layer *l, double *to)
{
    const takt_tensor *w = g->nodes[l->w].attr[0].tensor;
    const void *data = takt_tensor_data(w);
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t k = 0; k < l->inner; k++)
            to[r * l->inner + k] =
                takt_dtype_get_f(w->type.dtype, data, takt_shrink_weight_index(g, l, r, k));
}

void takt_shrink_bias(const takt_graph *g, const takt_shrink_layer *l, double *to)
{
    memset(to, 0, (size_t)l->rows * sizeof *to);
    if (l->bias == TAKT_NONE)
        return;
    const takt_tensor *b = g->nodes[l->bias].attr[0].tensor;
    const size_t count = takt_tensor_count(b);
    for (int64_t r = 0; r < l->rows; r++)
        to[r] = takt_dtype_get_f(b->type.dtype, takt_tensor_data(b), count == 1 ? 0 : (size_t)r);
}

/* ---- what is refused ---- */

takt_status takt_shrink_no_layer(const takt_shrink_layers *l)
{
    const bool is_empty = l->count == 0;
    if (is_empty && takt_shrink_has_integers(l->graph))
        return takt_shrink_is_quantized(l->graph->ctx);
    takt_fail(l->graph->ctx, TAKT_E_SHRINK_NOTHING, "%s",
              is_empty ? "the model has no convolution or product with f32 weights"
                       : "every layer of the model is to be kept");
    return takt_fail_hint(l->graph->ctx, "%s",
                          is_empty ? "weights are parameters or constants"
                                   : "keep fewer layers (--keep)");
}

takt_status takt_shrink_check(const takt_shrink_layers *list, const takt_shrink_layer *l,
                              const double *values)
{
    for (int64_t k = 0; k < l->rows * l->inner; k++)
        if (!isfinite(values[k])) {
            takt_fail(list->graph->ctx, TAKT_E_SHRINK_NOTHING,
                      "%s has weights that are NaN or infinite", l->name);
            return takt_fail_hint(list->graph->ctx, "keep that layer (--keep), or train the model "
                                                    "again at a lower learning rate");
        }
    return TAKT_OK;
}
