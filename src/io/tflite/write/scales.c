/* scales.c - scales of integers: which tensor has which, and layers whose inputs and results are
 * integers. */
#include "io/tflite/write/emit.h"

/* Their results have the scales of their first input. */
static bool is_move(const takt_op *op)
{
    return op == &takt_op_reshape || op == &takt_op_transpose || op == &takt_op_broadcast ||
           op == &takt_op_concat || op == &takt_op_slice || op == &takt_op_pad ||
           op == &takt_op_gather || op == &takt_op_max_pool || op == &takt_op_max ||
           op == &takt_op_min;
}

bool takt_tflw_is_level(takt_dtype dtype)
{
    return dtype == TAKT_I8 || dtype == TAKT_U8 || dtype == TAKT_I16;
}

/* Copies a known grid to a value whose grid is unknown. */
static bool spread(takt_tflw *w, takt_id from, takt_id to)
{
    if (from == TAKT_NONE || to == TAKT_NONE || w->grids[from].count == 0 ||
        w->grids[to].count > 0 || !takt_tflw_is_level(takt_type_of(w->g, to)->dtype))
        return false;
    w->grids[to] = w->grids[from];
    return true;
}

/* Along moves, in both directions, and from a state to its next value. */
static bool spread_all(takt_tflw *w)
{
    bool is_new = false;
    for (size_t i = 0; i < w->g->count; i++) {
        const takt_node *n = &w->g->nodes[i];
        const uint32_t count =
            n->op == &takt_op_concat || n->op == &takt_op_max || n->op == &takt_op_min ? n->in_count
                                                                                       : 1;
        for (uint32_t k = 0; is_move(n->op) && k < count; k++) {
            is_new |= spread(w, n->in[k], (takt_id)i);
            is_new |= spread(w, (takt_id)i, n->in[k]);
        }
    }
    for (size_t i = 0; i < w->g->slot_count; i++) {
        is_new |= spread(w, w->g->slots[i].next, w->g->slots[i].value);
        is_new |= spread(w, w->g->slots[i].value, w->g->slots[i].next);
    }
    return is_new;
}

void takt_tflw_grids(takt_tflw *w)
{
    enum { ROUNDS = 64 };
    const takt_graph *g = w->g;
    w->grids = takt_arena_array(&w->arena, g->count + 1, sizeof *w->grids);
    if (w->grids == NULL)
        w->status = TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count && w->status == TAKT_OK; i++) {
        const takt_node *n = &g->nodes[i];
        takt_tflw_grid grid;
        const bool is_quantize = n->op == &takt_op_quantize;
        if ((is_quantize || n->op == &takt_op_dequantize) && takt_tflw_grid_of(w, n, &grid))
            w->grids[is_quantize ? i : n->in[0]] = grid;
        if (takt_tflw_is_whole(n))
            takt_tflw_whole_grids(w, (takt_id)i);
    }
    for (int i = 0; i < ROUNDS && w->status == TAKT_OK && spread_all(w);)
        i++;
}

bool takt_tflw_same_grid(const takt_tflw_grid *a, const takt_tflw_grid *b)
{
    const int64_t x = a->zero != NULL ? a->zero[0] : 0, y = b->zero != NULL ? b->zero[0] : 0;
    return a->count == 1 && b->count == 1 && a->scale[0] == b->scale[0] && x == y;
}

int32_t takt_tflw_levels(takt_tflw *w, takt_id id)
{
    const takt_node *n = &w->g->nodes[id];
    takt_tflw_constant c;
    if (n->op != &takt_op_dequantize || !takt_tflw_is_level(takt_type_of(w->g, n->in[0])->dtype))
        return -1;
    if (w->g->nodes[n->in[0]].op == &takt_op_constant)
        return takt_tflw_constant_of(w, id, &c) && c.grid.count == 1 ? takt_tflw_integers(w, &c)
                                                                     : -1;
    takt_tflw_grid grid;
    const int32_t at = w->at[n->in[0]];
    return at >= 0 && takt_tflw_grid_of(w, n, &grid) &&
                   takt_tflw_same_grid(&takt_tflw_at(w, at)->grid, &grid)
               ? at
               : -1;
}

/* Whether a value is read as integers, without making a tensor. */
static bool has_levels(takt_tflw *w, takt_id id, takt_dtype dtype)
{
    const takt_node *n = &w->g->nodes[id];
    takt_tflw_grid grid;
    if (n->op != &takt_op_dequantize || takt_type_of(w->g, n->in[0])->dtype != dtype ||
        !takt_tflw_grid_of(w, n, &grid))
        return false;
    return w->g->nodes[n->in[0]].op == &takt_op_constant ||
           takt_tflw_same_grid(&takt_tflw_at(w, w->at[n->in[0]])->grid, &grid);
}

bool takt_tflw_integer_layer(takt_tflw *w, const takt_node *n, bool has_activation, int32_t *in,
                             takt_tflw_tail *t)
{
    const takt_tflw_wish wish = {false, has_activation, true};
    takt_tflw_grid grid;
    if (n->type->dtype != TAKT_F32 || w->status != TAKT_OK)
        return false;
    *t = takt_tflw_tail_of(w, w->id, wish);
    if (t->quantize == TAKT_NONE || !takt_tflw_grid_of(w, &w->g->nodes[t->quantize], &grid))
        return false;
    const takt_dtype dtype = w->g->nodes[t->quantize].type->dtype;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE || !has_levels(w, n->in[k], dtype))
            return false;
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = takt_tflw_levels(w, n->in[k]);
    return w->status == TAKT_OK;
}

bool takt_tflw_is_unit(takt_tflw *w, takt_id quantize, bool is_signed)
{
    takt_tflw_grid grid;
    const takt_dtype dtype = w->g->nodes[quantize].type->dtype;
    if (!takt_tflw_grid_of(w, &w->g->nodes[quantize], &grid))
        return false;
    const int64_t zero = dtype == TAKT_I16  ? 0
                         : dtype == TAKT_U8 ? is_signed ? 128 : 0
                         : is_signed        ? 0
                                            : -128;
    const float scale = dtype == TAKT_I16 ? 1.0f / 32768 : is_signed ? 1.0f / 128 : 1.0f / 256;
    return grid.scale[0] == scale && grid.zero[0] == zero;
}
