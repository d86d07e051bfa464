/* top_k.c - TOPK_V2: the largest of the last axis. Another axis is moved there; the smallest of
 * floats are the largest of their negatives. */
#include "io/tflite/write/emit.h"

enum { K, AXIS, LARGEST, SORTED };

/* The tensor that a result is written to: the node's own, or one that is then moved there. */
static int32_t target(takt_tflw *w, uint32_t part, const takt_type *type, bool is_moved)
{
    const takt_id id = takt_tflw_part(w, w->id, part);
    return id != TAKT_NONE && !is_moved ? takt_tflw_result(w, id, NULL)
                                        : takt_tflw_tensor_new(w, NULL, type, NULL);
}

static void move_back(takt_tflw *w, uint32_t part, int32_t from, const int64_t *perm)
{
    const takt_id id = takt_tflw_part(w, w->id, part);
    if (id != TAKT_NONE && w->status == TAKT_OK)
        (void)takt_tflw_transposed(w, from, perm, takt_tflw_result(w, id, NULL));
}

static int32_t negated(takt_tflw *w, int32_t x, int32_t y)
{
    (void)takt_tflw_1(w, "NEG", x, y);
    return y;
}

static bool has_form(takt_tflw *w, const takt_node *n)
{
    const takt_dtype dtype = takt_type_of(w->g, n->in[0])->dtype;
    const bool is_known = dtype == TAKT_F32 || dtype == TAKT_I32 || dtype == TAKT_I64;
    /* LiteRT gives the best first, not by index; of one there is no order. */
    const bool is_ordered = n->attr[SORTED].boolean || n->attr[K].i64 <= 1;
    return is_known && is_ordered && (n->attr[LARGEST].boolean || dtype == TAKT_F32);
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    if (!has_form(w, n))
        return false;
    const takt_type *in = takt_type_of(w->g, n->in[0]);
    const int last = in->rank - 1;
    const int64_t axis = n->attr[AXIS].i64 < 0 ? n->attr[AXIS].i64 + in->rank : n->attr[AXIS].i64;
    int64_t perm[TAKT_MAX_RANK]; /* both ways: two axes change places */
    for (int d = 0; d <= last; d++)
        perm[d] = d == axis ? last : d == last ? axis : d;
    const bool is_moved = axis != last, is_smallest = !n->attr[LARGEST].boolean;
    int32_t x = takt_tflw_in(w, n, 0);
    if (is_moved)
        x = takt_tflw_transposed(w, x, perm, -1);
    if (w->status != TAKT_OK)
        return true;
    takt_type type = takt_tflw_at(w, x)->type;
    if (is_smallest)
        x = negated(w, x, takt_tflw_tensor_new(w, NULL, &type, NULL));
    type.dim[last] = n->attr[K].i64;
    takt_type places = type;
    places.dtype = TAKT_I32;
    const int32_t narrow = takt_tflw_tensor_new(w, NULL, &places, NULL);
    places.dtype = TAKT_I64;
    const int32_t values = target(w, 0, &type, is_moved), at = target(w, 1, &places, is_moved);
    const int32_t best = is_smallest ? takt_tflw_tensor_new(w, NULL, &type, NULL) : values;
    const int32_t k = takt_tflw_number(w, TAKT_I32, (double)n->attr[K].i64);
    takt_tflw_outputs(w, takt_tflw_2(w, "TOPK_V2", x, k, best), (const int32_t[]){best, narrow}, 2);
    if (is_smallest)
        (void)negated(w, best, values);
    (void)takt_tflw_1(w, "CAST", narrow, at);
    if (is_moved) {
        move_back(w, 0, values, perm);
        move_back(w, 1, at, perm);
    }
    return true;
}

const takt_tflw_emitter takt_tflw_op_top_k = {{&takt_op_top_k}, emit};
