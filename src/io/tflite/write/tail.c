/* tail.c - layers of several nodes as one operator: bias, activation, and rounding to integers. */
#include <math.h>

#include "io/tflite/adapt.h"
#include "io/tflite/write/emit.h"

/* The one user of a value that nothing else reads; TAKT_NONE if there are others. */
static takt_id only_user(const takt_tflw *w, takt_id id)
{
    return w->uses[id] == 1 ? w->user[id] : TAKT_NONE;
}

static bool is_fixed(const takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    return n->op == &takt_op_constant || takt_tflw_is_widened(g, n) ||
           (n->op == &takt_op_dequantize && g->nodes[n->in[0]].op == &takt_op_constant);
}

/* One number for each entry of the last axis of `y`. */
static bool is_bias(const takt_graph *g, takt_id id, const takt_type *y)
{
    const takt_type *b = takt_type_of(g, id);
    if (b->dtype != TAKT_F32 || b->rank < 1 || b->rank > y->rank || y->rank < 1 ||
        b->dim[b->rank - 1] != y->dim[y->rank - 1])
        return false;
    for (int d = 0; d + 1 < b->rank; d++)
        if (b->dim[d] != 1)
            return false;
    return is_fixed(g, id);
}

static takt_id bias_of(const takt_graph *g, takt_id id, takt_id user)
{
    const takt_node *n = &g->nodes[user];
    if (n->op != &takt_op_add || n->in[0] == n->in[1])
        return TAKT_NONE;
    const takt_id other = n->in[0] == id ? n->in[1] : n->in[0];
    return is_bias(g, other, takt_type_of(g, id)) ? other : TAKT_NONE;
}

static int activation_of(const takt_node *n)
{
    if (n->op == &takt_op_relu)
        return TAKT_TFL_RELU;
    if (n->op == &takt_op_relu6)
        return TAKT_TFL_RELU6;
    if (n->op != &takt_op_clip || !n->attr[0].is_set)
        return TAKT_TFL_NONE;
    const double low = n->attr[0].f64, high = n->attr[1].is_set ? n->attr[1].f64 : INFINITY;
    return low == 0 && high == 6     ? TAKT_TFL_RELU6
           : low == 0 && isinf(high) ? TAKT_TFL_RELU
           : low == -1 && high == 1  ? TAKT_TFL_RELU_N1
                                     : TAKT_TFL_NONE;
}

takt_tflw_tail takt_tflw_tail_of(const takt_tflw *w, takt_id id, takt_tflw_wish wish)
{
    const takt_graph *g = w->g;
    takt_tflw_tail t = {.end = id, .bias = TAKT_NONE, .quantize = TAKT_NONE};
    takt_id user = only_user(w, t.end);
    if (wish.bias && user != TAKT_NONE) {
        t.bias = bias_of(g, t.end, user);
        t.end = t.bias != TAKT_NONE ? user : t.end;
        user = only_user(w, t.end);
    }
    if (wish.activation && user != TAKT_NONE) {
        t.activation = activation_of(&g->nodes[user]);
        t.end = t.activation != TAKT_TFL_NONE ? user : t.end;
        user = only_user(w, t.end);
    }
    if (wish.integers && user != TAKT_NONE && g->nodes[user].op == &takt_op_quantize &&
        g->nodes[user].in[0] == t.end && takt_tflw_is_level(g->nodes[user].type->dtype)) {
        t.quantize = user;
        t.end = user;
    }
    return t;
}

void takt_tflw_take(takt_tflw *w, takt_id id, const takt_tflw_tail *tail)
{
    while (id != tail->end) {
        id = w->user[id];
        w->is_inside[id] = true;
    }
}

int32_t takt_tflw_tail_result(takt_tflw *w, const takt_tflw_tail *tail)
{
    takt_tflw_grid grid;
    if (tail->quantize == TAKT_NONE)
        return takt_tflw_result(w, tail->end, NULL);
    return takt_tflw_grid_of(w, &w->g->nodes[tail->quantize], &grid)
               ? takt_tflw_result(w, tail->end, &grid)
               : -1;
}

/* ---- products ---- */

/* Weights of bytes around 0 with a scale for each of `rows`, or one for all; those of old models,
 * whose activations are u8, have a zero point. */
static bool are_levels(const takt_tflw_constant *c, takt_dtype x)
{
    if (x == TAKT_U8)
        return c->type.dtype == TAKT_U8 && c->grid.count == 1;
    if (c->type.dtype != TAKT_I8 || c->grid.count == 0)
        return false;
    for (size_t i = 0; c->grid.zero != NULL && i < c->grid.count; i++)
        if (c->grid.zero[i] != 0)
            return false;
    return true;
}

/* Integers of a bias that are in these units already. */
static bool are_in_units(const takt_tflw_constant *c, const float *scale, size_t count)
{
    if (takt_dtype_bits(c->type.dtype) < 32 || c->grid.count == 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (c->grid.scale[c->grid.count > 1 ? i : 0] != scale[i] ||
            c->grid.zero[c->grid.count > 1 ? i : 0] != 0)
            return false;
    return true;
}

/* The bias in units of the sums: the product of both scales. Activations of 16 bits have 64. */
static int32_t bias_levels(takt_tflw *w, takt_id id, const takt_tflw_tensor *x,
                           const takt_tflw_grid *weights)
{
    takt_tflw_constant c;
    size_t count;
    const double *v = takt_tflw_constant_of(w, id, &c) ? takt_tflw_reals(w, &c, &count) : NULL;
    if (v == NULL)
        return -1;
    const bool is_wide = x->type.dtype == TAKT_I16;
    const double most = is_wide ? 0x1p39 : 0x1p31; /* LiteRT's 16-bit sums have 40 bits */
    takt_type type = {.dtype = is_wide ? TAKT_I64 : TAKT_I32, .rank = 1, .dim = {(int64_t)count}};
    void *level = takt_arena_array(&w->arena, count + 1, sizeof(int64_t));
    float *scale = takt_arena_array(&w->arena, count + 1, sizeof *scale);
    if (level == NULL || scale == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        scale[i] = x->grid.scale[0] * weights->scale[weights->count > 1 ? i : 0];
        const double q = nearbyint(v[i] / (double)scale[i]);
        takt_dtype_put_i(type.dtype, level, i,
                         q >= most - 1 ? (int64_t)most - 1
                         : q <= -most  ? -(int64_t)most
                                       : (int64_t)q);
    }
    const takt_tflw_grid grid = {.scale = scale, .count = weights->count > 1 ? count : 1};
    if (are_in_units(&c, scale, count)) {
        type.dtype = c.type.dtype;
        return takt_tflw_data(w, &type, c.data, &grid);
    }
    return takt_tflw_data(w, &type, level, &grid);
}

static int32_t flat_bias(takt_tflw *w, takt_id id)
{
    takt_tflw_constant c;
    size_t count;
    if (!takt_tflw_constant_of(w, id, &c) || !takt_type_count(&c.type, &count))
        return -1;
    if (c.grid.count == 0 && c.type.dtype == TAKT_F32) {
        c.type = (takt_type){.dtype = c.type.dtype, .rank = 1, .dim = {(int64_t)count}};
        return takt_tflw_data(w, &c.type, c.data, NULL);
    }
    const double *v = takt_tflw_reals(w, &c, &count);
    float *data = takt_arena_array(&w->arena, count + 1, sizeof *data);
    if (v == NULL || data == NULL) {
        w->status = w->status == TAKT_OK ? TAKT_ERR_MEMORY : w->status;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        data[i] = (float)v[i];
    return takt_tflw_data(w, &(takt_type){.dtype = TAKT_F32, .rank = 1, .dim = {(int64_t)count}},
                          data, NULL);
}

/* Integers where x, the weights and the result are; the tail of floats otherwise, and for
 * convolutions over three axes, which LiteRT has of floats only. */
bool takt_tflw_product_of(takt_tflw *w, const takt_node *n, const int64_t *perm,
                          takt_tflw_product *p)
{
    const takt_tflw_wish all = {true, true, true}, floats = {true, true, false};
    takt_tflw_constant c;
    takt_tflw_grid grid;
    if (!takt_tflw_constant_of(w, n->in[1], &c))
        return false;
    if (perm != NULL)
        takt_tflw_permute(w, &c, perm);
    takt_tflw_tail t = takt_tflw_tail_of(w, w->id, all);
    const int32_t x =
        n->op == &takt_op_conv && n->type->rank > 4 ? -1 : takt_tflw_levels(w, n->in[0]);
    const takt_dtype dtype = takt_tflw_at(w, x)->type.dtype;
    const bool is_integer = x >= 0 && t.quantize != TAKT_NONE && are_levels(&c, dtype) &&
                            w->g->nodes[t.quantize].type->dtype == dtype &&
                            takt_tflw_grid_of(w, &w->g->nodes[t.quantize], &grid);
    if (!is_integer)
        t = takt_tflw_tail_of(w, w->id, floats);
    *p = (takt_tflw_product){.activation = t.activation, .bias = -1};
    if (is_integer) {
        p->x = x;
        p->weight = takt_tflw_integers(w, &c);
        const takt_tflw_tensor in = *takt_tflw_at(w, x);
        p->bias = t.bias != TAKT_NONE ? bias_levels(w, t.bias, &in, &c.grid) : -1;
    } else {
        p->x = takt_tflw_in(w, n, 0);
        p->weight = takt_tflw_floats(w, &c);
        p->bias = t.bias != TAKT_NONE ? flat_bias(w, t.bias) : -1;
    }
    takt_tflw_take(w, w->id, &t);
    p->y = takt_tflw_tail_result(w, &t);
    return true;
}

int32_t takt_tflw_no_bias(takt_tflw *w, const takt_tflw_product *p)
{
    if (w->status != TAKT_OK)
        return -1;
    const takt_tflw_tensor *y = takt_tflw_at(w, p->y), *k = takt_tflw_at(w, p->weight),
                           *x = takt_tflw_at(w, p->x);
    const bool is_integer = takt_tflw_is_level(y->type.dtype);
    const takt_dtype dtype = !is_integer                 ? TAKT_F32
                             : x->type.dtype == TAKT_I16 ? TAKT_I64
                                                         : TAKT_I32;
    const size_t count = (size_t)y->type.dim[y->type.rank - 1],
                 scales = is_integer ? k->grid.count : 0;
    const takt_type type = {.dtype = dtype, .rank = 1, .dim = {(int64_t)count}};
    void *zeros = takt_arena_array(&w->arena, count + 1, sizeof(int64_t));
    float *scale = takt_arena_array(&w->arena, scales + 1, sizeof *scale);
    if (zeros == NULL || scale == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return -1;
    }
    for (size_t i = 0; i < scales; i++)
        scale[i] = x->grid.scale[0] * k->grid.scale[i];
    const takt_tflw_grid grid = {.scale = scale, .count = scales};
    return takt_tflw_data(w, &type, zeros, &grid);
}
