/* constant.c - constants of the written model, and those kept as integers. */
#include <string.h>

#include "io/tflite/write/emit.h"

/* Scales or zero points of a dequantize node; false: they are not constants. */
static bool read_grid(takt_tflw *w, const takt_node *n, takt_tflw_grid *grid)
{
    const takt_node *s = &w->g->nodes[n->in[1]];
    const takt_node *z = n->in_count > 2 && n->in[2] != TAKT_NONE ? &w->g->nodes[n->in[2]] : NULL;
    const takt_attr *axis = &n->attr[takt_op_attr_index(n->op, "axis")];
    size_t count;
    if (s->op != &takt_op_constant || s->type->dtype != TAKT_F32 || s->type->rank > 1 ||
        (z != NULL && z->op != &takt_op_constant) || !takt_type_count(s->type, &count) ||
        count == 0)
        return false;
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    int64_t *zero = takt_arena_array(&w->arena, count, sizeof *zero);
    if (zero == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return false;
    }
    size_t zeros = 0;
    if (z != NULL && (!takt_type_count(z->type, &zeros) || (zeros != count && zeros != 1)))
        return false;
    for (size_t i = 0; z != NULL && i < count; i++)
        zero[i] = takt_dtype_get_i(z->type->dtype, takt_tensor_data(z->attr[0].tensor),
                                   zeros == 1 ? 0 : i);
    const int64_t at = s->type->rank == 0 ? 0 : axis->i64 < 0 ? axis->i64 + x->rank : axis->i64;
    *grid = (takt_tflw_grid){.scale = takt_tensor_data(s->attr[0].tensor),
                             .zero = zero,
                             .count = count,
                             .axis = (int)at};
    return s->type->rank == 0 || (at < x->rank && x->dim[at] == (int64_t)count);
}

bool takt_tflw_grid_of(takt_tflw *w, const takt_node *n, takt_tflw_grid *grid)
{
    return read_grid(w, n, grid) && grid->count == 1;
}

/* Integers of 2 and 4 bits as bytes. */
static void widen(takt_tflw *w, takt_tflw_constant *c)
{
    size_t count;
    const takt_dtype from = c->type.dtype, to = from == TAKT_I2 || from == TAKT_I4   ? TAKT_I8
                                                : from == TAKT_U2 || from == TAKT_U4 ? TAKT_U8
                                                                                     : from;
    if (to == from || !takt_type_count(&c->type, &count))
        return;
    uint8_t *bytes = takt_arena_get(&w->arena, count + 1);
    if (bytes == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)takt_dtype_get_i(from, c->data, i);
    c->data = bytes;
    c->type.dtype = to;
    c->is_i4 = from == TAKT_I4;
}

bool takt_tflw_is_widened(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_cast && n->type->dtype == TAKT_F32 &&
           g->nodes[n->in[0]].op == &takt_op_constant &&
           takt_type_of(g, n->in[0])->dtype == TAKT_F16;
}

bool takt_tflw_constant_of(takt_tflw *w, takt_id id, takt_tflw_constant *c)
{
    if (id == TAKT_NONE || w->status != TAKT_OK)
        return false;
    const takt_node *n = &w->g->nodes[id];
    *c = (takt_tflw_constant){0};
    if (n->op == &takt_op_dequantize) {
        if (w->g->nodes[n->in[0]].op != &takt_op_constant || n->type->dtype != TAKT_F32 ||
            !read_grid(w, n, &c->grid))
            return false;
        n = &w->g->nodes[n->in[0]];
    } else if (takt_tflw_is_widened(w->g, n)) {
        n = &w->g->nodes[n->in[0]];
    }
    if (n->op != &takt_op_constant)
        return false;
    c->type = *n->type;
    c->data = takt_tensor_data(n->attr[0].tensor);
    widen(w, c);
    return w->status == TAKT_OK;
}

void takt_tflw_permute(takt_tflw *w, takt_tflw_constant *c, const int64_t *perm)
{
    const int rank = c->type.rank;
    const size_t size = (size_t)takt_dtype_bits(c->type.dtype) / 8;
    takt_type to = c->type;
    size_t count, step[TAKT_MAX_RANK], at = 1;
    for (int d = rank; d-- > 0;) {
        step[d] = at;
        at *= (size_t)c->type.dim[d];
    }
    for (int d = 0; d < rank; d++)
        to.dim[d] = c->type.dim[perm[d]];
    uint8_t *bytes = takt_type_count(&to, &count) && size > 0
                         ? takt_arena_array(&w->arena, count + 1, size)
                         : NULL;
    if (bytes == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return;
    }
    int64_t index[TAKT_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t from = 0;
        for (int d = 0; d < rank; d++)
            from += (size_t)index[d] * step[perm[d]];
        memcpy(bytes + i * size, (const uint8_t *)c->data + from * size, size);
        for (int d = rank; d-- > 0 && ++index[d] == to.dim[d];)
            index[d] = 0;
    }
    for (int d = 0; d < rank && c->grid.count > 1; d++)
        if (perm[d] == c->grid.axis) {
            c->grid.axis = d;
            break;
        }
    c->type = to;
    c->data = bytes;
}

const double *takt_tflw_reals(takt_tflw *w, const takt_tflw_constant *c, size_t *count)
{
    size_t inner = 1;
    *count = 0;
    double *v =
        takt_type_count(&c->type, count) ? takt_arena_array(&w->arena, *count + 1, 8) : NULL;
    if (v == NULL) {
        w->status = w->status == TAKT_OK ? TAKT_ERR_MEMORY : w->status;
        return NULL;
    }
    for (int d = c->grid.axis + 1; d < c->type.rank; d++)
        inner *= (size_t)c->type.dim[d];
    for (size_t i = 0; i < *count; i++) {
        if (takt_dtype_is_float(c->type.dtype)) {
            v[i] = takt_dtype_get_f(c->type.dtype, c->data, i);
            continue;
        }
        const int64_t level = takt_dtype_get_i(c->type.dtype, c->data, i);
        const size_t k = c->grid.count > 1 ? i / inner % c->grid.count : 0;
        v[i] = c->grid.count == 0 ? (double)level
                                  : (double)(level - (c->grid.zero != NULL ? c->grid.zero[k] : 0)) *
                                        (double)c->grid.scale[k];
    }
    return v;
}

/* Two to a byte, the first in the low half. */
static int32_t halves(takt_tflw *w, const takt_tflw_constant *c)
{
    takt_type type = c->type;
    size_t count = 0;
    type.dtype = TAKT_I4;
    uint8_t *bytes =
        takt_type_count(&type, &count) ? takt_arena_array(&w->arena, count / 2 + 1, 1) : NULL;
    if (bytes == NULL) {
        w->status = w->status == TAKT_OK ? TAKT_ERR_MEMORY : w->status;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        bytes[i / 2] |= (uint8_t)((((const uint8_t *)c->data)[i] & 15) << (i % 2 * 4));
    return takt_tflw_data(w, &type, bytes, &c->grid);
}

int32_t takt_tflw_integers(takt_tflw *w, const takt_tflw_constant *c)
{
    return c->is_i4 ? halves(w, c) : takt_tflw_data(w, &c->type, c->data, &c->grid);
}

/* LiteRT dequantises f16, and integers up to 16 bits; wider integers become floats here. */
int32_t takt_tflw_floats(takt_tflw *w, const takt_tflw_constant *c)
{
    takt_type type = c->type;
    size_t count;
    const bool is_half = c->type.dtype == TAKT_F16;
    if (c->grid.count == 0 && !is_half)
        return takt_tflw_data(w, &type, c->data, NULL);
    type.dtype = TAKT_F32;
    if (takt_dtype_bits(c->type.dtype) <= 16) {
        const int32_t levels = takt_tflw_integers(w, c);
        const int32_t y = takt_tflw_tensor_new(w, NULL, &type, NULL);
        (void)takt_tflw_1(w, "DEQUANTIZE", levels, y);
        return y;
    }
    const double *v = takt_tflw_reals(w, c, &count);
    float *data = takt_arena_array(&w->arena, count + 1, sizeof *data);
    if (v == NULL || data == NULL) {
        w->status = w->status == TAKT_OK ? TAKT_ERR_MEMORY : w->status;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        data[i] = (float)v[i];
    return takt_tflw_data(w, &type, data, NULL);
}
