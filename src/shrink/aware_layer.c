/* aware_layer.c - a layer whose weights and bias are slots, rounded where they are used. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "op/util/formula.h"
#include "shrink/aware.h"
#include "shrink/base.h"

/* ---- slots ---- */

static takt_id slot_of(const takt_aware_site *s, const char *what, const takt_type *type,
                       const double *values)
{
    takt_graph *g = s->g;
    takt_tensor t;
    const char *layer = s->aware->layers->at[s->index].name;
    const char *name = takt_arena_format(&g->arena, TAKT_AWARE_SLOT "%s.%s", layer, what);
    if (name == NULL)
        return takt_graph_fail(g, TAKT_ERR_MEMORY);
    const takt_status status = takt_shrink_tensor(g->ctx, type, values, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = &t};
    const takt_id id = takt_graph_slot(g, name, type, &init, true);
    takt_tensor_release(&t);
    return id;
}

static takt_dtype dtype_of(int bits)
{
    return bits == 4 ? TAKT_I4 : bits == 16 ? TAKT_I16 : TAKT_I8;
}

takt_id takt_aware_round(takt_graph *g, takt_id x, takt_id scale, int64_t most)
{
    const takt_id in[] = {x, scale, takt_scalar_like(g, x, 0)};
    const takt_named_attr attrs[] = {{"low", takt_attr_i64(-most)}, {"high", takt_attr_i64(most)}};
    return takt_graph_call(g, &takt_op_fake_quantize, 3, in, 2, attrs);
}

/* A symmetric grid clips at its own ends, before `quantize` would saturate at those of the type. */
static takt_id cut(takt_graph *g, takt_id x, takt_id scale, int64_t most)
{
    const takt_id end = takt_mul_scalar(g, scale, (double)most);
    const takt_id low = takt_binary(g, &takt_op_max, x, takt_neg(g, end));
    return takt_binary(g, &takt_op_min, low, end);
}

static takt_id quantized(takt_graph *g, takt_id x, takt_id scale, int64_t axis, takt_dtype dtype)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"dtype", takt_attr_dtype(dtype)}};
    return takt_graph_call(g, &takt_op_quantize, 2, (const takt_id[]){x, scale}, 2, attrs);
}

static takt_id opened(takt_graph *g, takt_id q, takt_id scale, int64_t axis)
{
    const takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    return takt_graph_call(g, &takt_op_dequantize, 2, (const takt_id[]){q, scale}, 1, &attr);
}

/* ---- scales ---- */

/* The ratio of the first scales to the largest weights: from then on the scale follows the largest
 * weight. */
static takt_id ratios(const takt_aware_site *s, const takt_type *type, const double *values)
{
    const takt_shrink_layer *l = &s->aware->layers->at[s->index];
    const takt_quant_weights *w = &s->aware->weights[s->index];
    const int64_t block = w->block > 0 ? w->block : l->inner;
    const int most = (1 << (s->aware->kind->weight_bits - 1)) - 1;
    takt_arena arena;
    takt_arena_init(&arena, s->g->ctx);
    double *room = takt_arena_array(&arena, (size_t)(l->rows * w->blocks), sizeof *room);
    takt_id id = TAKT_NONE;
    for (int64_t i = 0; room != NULL && i < l->rows * w->blocks; i++) {
        const int64_t first = i % w->blocks * block;
        const int64_t end = first + block < l->inner ? first + block : l->inner;
        double largest = 0;
        for (int64_t k = first; k < end; k++)
            largest = fmax(largest, fabs(values[i / w->blocks * l->inner + k]));
        room[i] = largest > 0 ? (double)w->scale[i] / largest : 1.0 / most;
    }
    id = room != NULL ? takt_shrink_constant(s->g, type, room)
                      : takt_graph_fail(s->g, TAKT_ERR_MEMORY);
    takt_arena_deinit(&arena);
    return id;
}

/* One for each element of `axis`, or of all axes but the last; never 0. */
static takt_id scale_of(const takt_aware_site *s, takt_id w, int axis, const double *values)
{
    takt_graph *g = s->g;
    takt_type type = *takt_type_of(g, w);
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    for (int d = 0; d < type.rank; d++) {
        const bool stays = axis >= 0 ? d == axis : d < type.rank - 1;
        if (stays)
            continue;
        axes[count++] = d;
        type.dim[d] = 1;
    }
    const takt_id size = takt_unary(g, &takt_op_abs, w);
    const takt_id largest = takt_reduce_over(g, &takt_op_reduce_max, size, axes, count, true);
    const takt_id some = takt_binary(g, &takt_op_max, largest, takt_scalar_like(g, w, 1e-20));
    return takt_mul(g, some, ratios(s, &type, values));
}

/* ---- weights ---- */

typedef struct factor {
    takt_id w;     /* rounded, as floats */
    takt_id scale; /* per row, of weights with one scale a row */
} factor;

/* The weights in the order that the product reads; `values` has room for them again. */
static takt_id in_place(const takt_aware_site *s, double *values)
{
    const takt_shrink_layer *l = &s->aware->layers->at[s->index];
    const takt_graph *base = s->aware->layers->graph;
    double *placed = values + l->rows * l->inner;
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t k = 0; k < l->inner; k++)
            placed[takt_shrink_weight_index(base, l, r, k)] = values[r * l->inner + k];
    return slot_of(s, "weight", takt_type_of(base, l->w), placed);
}

static factor by_channel(const takt_aware_site *s, double *values)
{
    takt_graph *g = s->g;
    const takt_shrink_layer *l = &s->aware->layers->at[s->index];
    const int bits = s->aware->kind->weight_bits;
    const int64_t most = (1 << (bits - 1)) - 1;
    const takt_id w = in_place(s, values);
    const takt_id scale = scale_of(s, w, l->w_axis, values);
    factor f = {.scale = takt_reshape(g, scale, &l->rows, 1)};
    if (s->is_training) {
        f.w = takt_aware_round(g, w, scale, most);
    } else {
        const takt_id q = quantized(g, cut(g, w, scale, most), f.scale, l->w_axis, dtype_of(bits));
        f.w = opened(g, q, f.scale, l->w_axis);
    }
    return f;
}

/* [rows, inner], cut into blocks of which the last is filled up with zeros. */
static factor by_block(const takt_aware_site *s, const double *values)
{
    takt_graph *g = s->g;
    const takt_shrink_layer *l = &s->aware->layers->at[s->index];
    const takt_quant_weights *q = &s->aware->weights[s->index];
    const int bits = s->aware->kind->weight_bits;
    const int64_t most = (1 << (bits - 1)) - 1;
    const takt_type type = {TAKT_F32, 2, {l->rows, l->inner}};
    const int64_t wide = q->blocks * q->block, none[] = {0, 0};
    const takt_dim after[] = {0, wide - l->inner};
    const takt_named_attr pad[] = {{"before", takt_attr_i64s(none, 2)},
                                   {"after", takt_attr_shape(after, 2)}};
    takt_id w = slot_of(s, "weight", &type, values);
    w = wide > l->inner ? takt_graph_call(g, &takt_op_pad, 1, &w, 2, pad) : w;
    w = takt_reshape(g, w, (takt_dim[]){l->rows, q->blocks, q->block}, 3);
    const takt_id scale = scale_of(s, w, -1, values);
    if (s->is_training) {
        const takt_id rounded = takt_aware_round(g, w, scale, most);
        w = takt_reshape(g, rounded, (takt_dim[]){l->rows, wide}, 2);
        return (factor){takt_slice(g, w, 1, 0, l->inner, 1), TAKT_NONE};
    }
    const takt_dim all = l->rows * q->blocks;
    w = takt_reshape(g, cut(g, w, scale, most), (takt_dim[]){all, q->block}, 2);
    w = quantized(g, w, takt_reshape(g, scale, &all, 1), 0, dtype_of(bits));
    w = takt_slice(g, takt_reshape(g, w, (takt_dim[]){l->rows, wide}, 2), 1, 0, l->inner, 1);
    const takt_id in[] = {w, takt_reshape(g, scale, (takt_dim[]){l->rows, q->blocks}, 2)};
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(1)},
                                     {"block", takt_attr_i64(q->block)}};
    return (factor){takt_graph_call(g, &takt_op_block_dequantize, 2, in, 2, attrs), TAKT_NONE};
}

/* ---- bias ---- */

static takt_id bias_of(const takt_aware_site *s, takt_id w_scale, double *room)
{
    takt_graph *g = s->g;
    const takt_shrink_layer *l = &s->aware->layers->at[s->index];
    const takt_type type = {TAKT_F32, 1, {l->rows}};
    takt_shrink_bias(s->aware->layers->graph, l, room);
    takt_id b = slot_of(s, "bias", &type, room);
    if (s->x_scale != TAKT_NONE) {
        const takt_id scale = takt_mul(g, s->x_scale, w_scale);
        b = s->is_training ? takt_aware_round(g, b, scale, INT32_MAX)
                           : opened(g, quantized(g, b, scale, 0, TAKT_I32), scale, 0);
    }
    const int after = takt_type_of(s->aware->layers->graph, l->product)->rank - 1 - l->y_axis;
    takt_dim dims[TAKT_MAX_RANK] = {l->rows};
    for (int d = 1; d <= after; d++)
        dims[d] = 1;
    return after > 0 ? takt_reshape(g, b, dims, (size_t)after + 1) : b;
}

takt_id takt_aware_layer(const takt_aware_site *s)
{
    takt_graph *g = s->g;
    const takt_shrink_layers *layers = s->aware->layers;
    const takt_shrink_layer *l = &layers->at[s->index];
    const takt_node *n = &layers->graph->nodes[l->product];
    const bool has_blocks = s->aware->weights[s->index].block > 0;
    takt_arena arena;
    takt_arena_init(&arena, g->ctx);
    double *room = takt_arena_array(&arena, (size_t)(2 * l->rows * l->inner), sizeof *room);
    if (room == NULL)
        return takt_graph_fail(g, TAKT_ERR_MEMORY);
    takt_shrink_weights(layers->graph, l, room);
    factor f = !s->aware->taken[s->index] ? (factor){in_place(s, room), TAKT_NONE}
               : has_blocks               ? by_block(s, room)
                                          : by_channel(s, room);
    const takt_type *shape = takt_type_of(layers->graph, l->w);
    if (has_blocks && l->is_conv)
        f.w = takt_reshape(g, f.w, shape->dim, (size_t)shape->rank);
    takt_id y = has_blocks && !l->is_conv
                    ? takt_matmul(g, s->x, f.w, false, true)
                    : takt_graph_append(g, n->op, 2, (const takt_id[]){s->x, f.w}, n->attr);
    if (l->bias != TAKT_NONE)
        y = takt_add(g, y, bias_of(s, f.scale, room));
    takt_arena_deinit(&arena);
    return y;
}
