/* qdq_layer.c - weights as integers, and a layer that computes with them. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "shrink/base.h"
#include "shrink/qdq.h"

enum { BLOCK = 64 }; /* with f32 scales: 4.5 and 8.5 bits a weight */

const takt_quant_kind takt_quant_kinds[TAKT_QUANT_TYPES] = {
    [TAKT_QUANT_INT8] = {"int8", 8, 8, false, 0},
    [TAKT_QUANT_W8] = {"w8", 8, 0, false, BLOCK},
    [TAKT_QUANT_W4] = {"w4", 4, 0, false, BLOCK},
    [TAKT_QUANT_INT16X8] = {"int16x8", 8, 16, true, 0},
    [TAKT_QUANT_W4A8] = {"w4a8", 4, 8, false, 0},
};

/* ---- weights ---- */

static double rounded(double x, double scale, int most)
{
    const double q = nearbyint(x / scale);
    return q > most ? most : q < -most ? -most : q;
}

static double error_of(const double *x, int64_t count, double scale, int most)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double d = x[i] - rounded(x[i], scale, most) * scale;
        sum += d * d;
    }
    return sum;
}

/* The scale of one block. With few levels it pays to clip the largest. */
float takt_quant_scale(const double *x, int64_t count, int bits)
{
    const int most = (1 << (bits - 1)) - 1;
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    double best = largest > 0 ? largest / most : 1;
    if (bits >= 8 || largest == 0)
        return (float)best;
    double least = error_of(x, count, best, most);
    for (int step = 1; step < 40; step++) {
        const double scale = largest / most * (1 - step / 80.0);
        const double error = error_of(x, count, scale, most);
        if (error < least) {
            least = error;
            best = scale;
        }
    }
    return (float)best;
}

takt_status takt_quant_weights_make(takt_arena *arena, const takt_graph *g,
                                    const takt_shrink_layer *l, const takt_quant_kind *kind,
                                    const double *values, takt_quant_weights *w)
{
    const int most = (1 << (kind->weight_bits - 1)) - 1;
    const int64_t block = kind->block > 0 ? kind->block : l->inner;
    *w = (takt_quant_weights){.block = kind->block,
                              .blocks = (l->inner + block - 1) / block,
                              .has_bias = l->bias != TAKT_NONE};
    w->level = takt_arena_get(arena, (size_t)(l->rows * l->inner));
    w->scale = takt_arena_array(arena, (size_t)(l->rows * w->blocks), sizeof *w->scale);
    w->bias = takt_arena_array(arena, (size_t)l->rows, sizeof *w->bias);
    if (w->level == NULL || w->scale == NULL || w->bias == NULL)
        return TAKT_ERR_MEMORY;
    takt_shrink_bias(g, l, w->bias);
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t b = 0; b < w->blocks; b++) {
            const int64_t first = b * block;
            const int64_t count = l->inner - first < block ? l->inner - first : block;
            const double *x = values + r * l->inner + first;
            const float scale = takt_quant_scale(x, count, kind->weight_bits);
            w->scale[r * w->blocks + b] = scale;
            for (int64_t k = 0; k < count; k++)
                w->level[r * l->inner + first + k] = (int8_t)rounded(x[k], (double)scale, most);
        }
    return TAKT_OK;
}

/* ---- nodes ---- */

static takt_dtype dtype_of(int bits)
{
    return bits == 4 ? TAKT_I4 : bits == 16 ? TAKT_I16 : TAKT_I8;
}

static takt_id scalar(takt_graph *g, takt_dtype dtype, double value)
{
    const takt_type type = {.dtype = dtype, .rank = 0};
    return takt_shrink_constant(g, &type, &value);
}

takt_id takt_qdq_quantize(takt_graph *g, takt_id x, const takt_quant_grid *grid, int bits)
{
    const takt_id in[] = {x, scalar(g, TAKT_F32, (double)grid->scale),
                          scalar(g, dtype_of(bits), grid->zero)};
    const takt_named_attr attr = {"dtype", takt_attr_dtype(dtype_of(bits))};
    return takt_graph_call(g, &takt_op_quantize, 3, in, 1, &attr);
}

takt_id takt_qdq_dequantize(takt_graph *g, takt_id q, const takt_quant_grid *grid, int bits)
{
    const takt_id in[] = {q, scalar(g, TAKT_F32, (double)grid->scale),
                          scalar(g, dtype_of(bits), grid->zero)};
    return takt_graph_call(g, &takt_op_dequantize, 3, in, 0, NULL);
}

/* Numbers of `type` whose place comes from `at`: one double after another. */
static takt_id constant_of(takt_graph *g, const takt_type *type, const double *values)
{
    return takt_shrink_constant(g, type, values);
}

/* One scale per row, weights in their own shape; `scale` receives those of all rows. */
static takt_id by_channel(takt_graph *g, const takt_quant_form *f, double *room, takt_id *scale)
{
    const takt_shrink_layer *l = f->layer;
    const takt_quant_weights *w = f->weights;
    takt_type type = *takt_type_of(f->base, l->w);
    const takt_type scales = {TAKT_F32, 1, {l->rows}};
    type.dtype = dtype_of(f->kind->weight_bits);
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t k = 0; k < l->inner; k++)
            room[takt_shrink_weight_index(f->base, l, r, k)] = w->level[r * l->inner + k];
    takt_id in[2] = {constant_of(g, &type, room)};
    for (int64_t r = 0; r < l->rows; r++)
        room[r] = (double)w->scale[r];
    *scale = in[1] = constant_of(g, &scales, room);
    const takt_named_attr axis = {"axis", takt_attr_i64(l->w_axis)};
    return takt_graph_call(g, &takt_op_dequantize, 2, in, 1, &axis);
}

/* One scale per block of a row, [rows, inner], reshaped for a convolution. */
static takt_id by_block(takt_graph *g, const takt_quant_form *f, double *room)
{
    const takt_shrink_layer *l = f->layer;
    const takt_quant_weights *w = f->weights;
    const takt_type type = {dtype_of(f->kind->weight_bits), 2, {l->rows, l->inner}};
    const takt_type scales = {TAKT_F32, 2, {l->rows, w->blocks}};
    for (int64_t i = 0; i < l->rows * l->inner; i++)
        room[i] = w->level[i];
    takt_id in[2] = {constant_of(g, &type, room)};
    for (int64_t i = 0; i < l->rows * w->blocks; i++)
        room[i] = (double)w->scale[i];
    in[1] = constant_of(g, &scales, room);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(1)},
                                     {"block", takt_attr_i64(w->block)}};
    const takt_id wide = takt_graph_call(g, &takt_op_block_dequantize, 2, in, 2, attrs);
    const takt_type *shape = takt_type_of(f->base, l->w);
    return l->is_conv ? takt_reshape(g, wide, shape->dim, (size_t)shape->rank) : wide;
}

/* One bias per channel, broadcast over the axes after it. */
static takt_id spread(takt_graph *g, const takt_quant_form *f, takt_id b)
{
    const takt_shrink_layer *l = f->layer;
    const int after = takt_type_of(f->base, l->product)->rank - 1 - l->y_axis;
    takt_dim dims[TAKT_MAX_RANK] = {l->rows};
    for (int d = 1; d <= after; d++)
        dims[d] = 1;
    return after > 0 ? takt_reshape(g, b, dims, (size_t)after + 1) : b;
}

/* A bias in steps of x's scale times the weights', which the graph has as that product: as a
 * constant of its own it would take a third of the bytes that a channel adds to its weights. */
static takt_id steps_of(takt_graph *g, const takt_quant_form *f, takt_id w_scale, float x_scale,
                        double *room)
{
    const takt_shrink_layer *l = f->layer;
    const takt_quant_weights *w = f->weights;
    const takt_type type = {TAKT_I32, 1, {l->rows}};
    const double most = 0x1p31 - 1;
    for (int64_t r = 0; r < l->rows; r++) {
        const double q = nearbyint(w->bias[r] / (double)(x_scale * w->scale[r]));
        room[r] = q > most ? most : q < -most ? -most : q;
    }
    const takt_id in[] = {constant_of(g, &type, room),
                          takt_mul(g, w_scale, scalar(g, TAKT_F32, (double)x_scale))};
    const takt_named_attr axis = {"axis", takt_attr_i64(0)};
    return takt_graph_call(g, &takt_op_dequantize, 2, in, 1, &axis);
}

takt_id takt_qdq_layer(takt_graph *g, const takt_quant_form *f, takt_id x, float x_scale)
{
    const takt_shrink_layer *l = f->layer;
    const takt_node *n = &f->base->nodes[l->product];
    takt_arena arena;
    takt_arena_init(&arena, g->ctx);
    double *room = takt_arena_array(&arena, (size_t)(l->rows * l->inner), sizeof *room);
    if (room == NULL) {
        takt_arena_deinit(&arena);
        return takt_graph_fail(g, TAKT_ERR_MEMORY);
    }
    takt_id y, w_scale = TAKT_NONE;
    if (f->weights->block > 0) {
        const takt_id wide = by_block(g, f, room);
        y = l->is_conv ? takt_graph_append(g, n->op, 2, (const takt_id[]){x, wide}, n->attr)
                       : takt_matmul(g, x, wide, false, true);
    } else {
        const takt_id wide = by_channel(g, f, room, &w_scale);
        y = takt_graph_append(g, n->op, 2, (const takt_id[]){x, wide}, n->attr);
    }
    if (f->weights->has_bias) {
        const takt_type type = {TAKT_F32, 1, {l->rows}};
        const takt_id b = x_scale != 0 ? steps_of(g, f, w_scale, x_scale, room)
                                       : constant_of(g, &type, f->weights->bias);
        y = takt_add(g, y, spread(g, f, b));
    }
    takt_arena_deinit(&arena);
    return y;
}
