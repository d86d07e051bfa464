/* move.c - elements that change places: the grid of integers stays. */
#include "io/tflite/write/emit.h"

static const takt_tflw_grid *grid_of(const takt_tflw *w, int32_t x)
{
    return &takt_tflw_at(w, x)->grid;
}

/* A result on the grid of `x`; tensors move when one is added, so the grid is copied first. */
static int32_t like(takt_tflw *w, int32_t x)
{
    const takt_tflw_grid grid = *grid_of(w, x);
    return takt_tflw_result(w, w->id, &grid);
}

static bool reshape(takt_tflw *w, const takt_node *n)
{
    const int32_t x = takt_tflw_in(w, n, 0);
    (void)takt_tflw_reshaped(w, x, n->type->dim, n->type->rank, like(w, x));
    return true;
}

static bool transpose(takt_tflw *w, const takt_node *n)
{
    int64_t perm[TAKT_MAX_RANK];
    const takt_attr *given = &n->attr[takt_op_attr_index(n->op, "perm")];
    const int32_t x = takt_tflw_in(w, n, 0);
    for (int d = 0; d < n->type->rank; d++) /* without an order they are turned round */
        perm[d] = given->count > 0 ? given->i64s[d] : n->type->rank - 1 - d;
    (void)takt_tflw_transposed(w, x, perm, like(w, x));
    return true;
}

static bool broadcast(takt_tflw *w, const takt_node *n)
{
    const int32_t x = takt_tflw_in(w, n, 0);
    const int32_t shape = takt_tflw_ints(w, n->type->dim, (size_t)n->type->rank);
    (void)takt_tflw_2(w, "BROADCAST_TO", x, shape, like(w, x));
    return true;
}

/* Requantises integer parts to the result's grid, since LiteRT requires one grid for all. */
static int32_t on_grid(takt_tflw *w, int32_t x, const takt_tflw_grid *to)
{
    const takt_tflw_tensor from = *takt_tflw_at(w, x);
    if (takt_tflw_same_grid(&from.grid, to))
        return x;
    const int32_t y = takt_tflw_tensor_new(w, NULL, &from.type, to);
    (void)takt_tflw_1(w, "QUANTIZE", x, y);
    return y;
}

static bool concat(takt_tflw *w, const takt_node *n)
{
    takt_tflw_grid grid = {0};
    int32_t *in = takt_arena_array(&w->arena, n->in_count, sizeof *in);
    takt_tflw_tail t;
    if (in == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return true;
    }
    const bool is_integer = takt_tflw_integer_layer(w, n, false, in, &t) &&
                            takt_tflw_grid_of(w, &w->g->nodes[t.quantize], &grid);
    if (!is_integer)
        t = (takt_tflw_tail){.end = w->id, .quantize = TAKT_NONE};
    for (uint32_t k = 0; k < n->in_count; k++)
        if (!is_integer)
            in[k] = takt_tflw_in(w, n, k);
        else if (takt_tflw_at(w, in[k])->type.dtype != TAKT_U8) /* u8 may have scales of its own */
            in[k] = on_grid(w, in[k], &grid);
    takt_tflw_take(w, w->id, &t);
    const int32_t y = is_integer ? takt_tflw_tail_result(w, &t) : like(w, in[0]);
    for (uint32_t k = 0; k < n->in_count && !is_integer; k++)
        if (grid_of(w, in[k])->count > 0 && !takt_tflw_same_grid(grid_of(w, in[k]), grid_of(w, y)))
            takt_tflw_fail(w, "its parts are integers with another scale: a tensor has one");
    takt_tflw_op *op = takt_tflw_call(w, "CONCATENATION", n->in_count, in, y);
    const int64_t axis = n->attr[0].i64;
    takt_tflw_option(op, 10, 0, 4, axis < 0 ? axis + n->type->rank : axis);
    return true;
}

typedef struct cut {
    int64_t begin[TAKT_MAX_RANK], end[TAKT_MAX_RANK], step[TAKT_MAX_RANK];
    int64_t open; /* bits of axes that end with the first element */
} cut;

/* From the first element on, as many as the result has. */
static void cut_axis(cut *c, int axis, int64_t start, int64_t step, int64_t size, int64_t count)
{
    start += start < 0 ? size : 0;
    start = start < 0 ? 0 : start;
    if (step < 0 && start > size - 1)
        start = size - 1;
    c->begin[axis] = start;
    c->step[axis] = step;
    c->end[axis] = start + (count - 1) * step + (step > 0 ? 1 : -1);
    if (c->end[axis] < 0) {
        c->end[axis] = 0;
        c->open |= INT64_C(1) << axis;
    }
}

static bool slice(takt_tflw *w, const takt_node *n)
{
    enum { AXES, START, STOP, STEP };
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    cut c = {.open = 0};
    for (int d = 0; d < x->rank; d++) {
        cut_axis(&c, d, 0, 1, x->dim[d], n->type->dim[d]);
        if (n->type->dim[d] == 0)
            return false;
    }
    for (uint32_t i = 0; i < n->attr[START].count; i++) {
        const int64_t given = i < n->attr[AXES].count ? n->attr[AXES].i64s[i] : (int64_t)i;
        const int axis = (int)(given < 0 ? given + x->rank : given);
        cut_axis(&c, axis, n->attr[START].i64s[i],
                 i < n->attr[STEP].count ? n->attr[STEP].i64s[i] : 1, x->dim[axis],
                 n->type->dim[axis]);
    }
    const size_t rank = (size_t)x->rank;
    const int32_t from = takt_tflw_in(w, n, 0);
    const int32_t in[] = {from, takt_tflw_ints(w, c.begin, rank), takt_tflw_ints(w, c.end, rank),
                          takt_tflw_ints(w, c.step, rank)};
    takt_tflw_op *op = takt_tflw_call(w, "STRIDED_SLICE", 4, in, like(w, from));
    takt_tflw_option(op, 32, 1, 4, c.open);
    return true;
}

static bool pad(takt_tflw *w, const takt_node *n)
{
    enum { BEFORE, AFTER, MODE, VALUE };
    enum { CONSTANT, EDGE, REFLECT };
    const int rank = n->type->rank;
    const takt_type table = {.dtype = TAKT_I32, .rank = 2, .dim = {rank, 2}};
    int64_t pairs[2 * TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        pairs[2 * d] = n->attr[BEFORE].i64s[d];
        pairs[2 * d + 1] = n->attr[AFTER].dims[d];
        if (pairs[2 * d] < 0 || pairs[2 * d + 1] < 0)
            return false;
    }
    const int64_t mode = n->attr[MODE].i64;
    const int32_t x = takt_tflw_in(w, n, 0);
    const bool is_plain = n->attr[VALUE].f64 == 0 && grid_of(w, x)->count == 0;
    if (mode != CONSTANT && mode != REFLECT)
        return false;
    const int32_t pads = takt_tflw_ints(w, pairs, 2 * (size_t)rank);
    if (pads >= 0)
        w->tensors[pads].type = table;
    if (mode == REFLECT) {
        takt_tflw_op *op = takt_tflw_2(w, "MIRROR_PAD", x, pads, like(w, x));
        takt_tflw_option(op, 77, 0, 1, 0);
    } else if (is_plain)
        (void)takt_tflw_2(w, "PAD", x, pads, like(w, x));
    else {
        const takt_tflw_grid grid = *grid_of(w, x);
        const int32_t fill = takt_tflw_number(w, n->type->dtype, n->attr[VALUE].f64);
        if (fill >= 0)
            w->tensors[fill].grid = grid;
        (void)takt_tflw_call(w, "PADV2", 3, (const int32_t[]){x, pads, fill}, like(w, x));
    }
    return true;
}

static bool gather(takt_tflw *w, const takt_node *n)
{
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const int64_t axis = n->attr[0].i64;
    const int32_t from = takt_tflw_in(w, n, 0), index = takt_tflw_in(w, n, 1);
    takt_tflw_op *op = takt_tflw_2(w, "GATHER", from, index, like(w, from));
    takt_tflw_option(op, 23, 0, 4, axis < 0 ? axis + x->rank : axis);
    return true;
}

static bool cast(takt_tflw *w, const takt_node *n)
{
    const int32_t x = takt_tflw_in(w, n, 0);
    if (grid_of(w, x)->count > 0)
        return false;
    (void)takt_tflw_1(w, "CAST", x, takt_tflw_result(w, w->id, NULL));
    return true;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    static const struct {
        const takt_op *op;
        takt_tflw_fn *emit;
    } list[] = {{&takt_op_reshape, reshape},     {&takt_op_transpose, transpose},
                {&takt_op_broadcast, broadcast}, {&takt_op_concat, concat},
                {&takt_op_slice, slice},         {&takt_op_pad, pad},
                {&takt_op_gather, gather},       {&takt_op_cast, cast}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].op == n->op)
            return list[i].emit(w, n);
    return false;
}

const takt_tflw_emitter takt_tflw_op_move = {{&takt_op_reshape, &takt_op_transpose,
                                              &takt_op_broadcast, &takt_op_concat, &takt_op_slice,
                                              &takt_op_pad, &takt_op_gather, &takt_op_cast},
                                             emit};
