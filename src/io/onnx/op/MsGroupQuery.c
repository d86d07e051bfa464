/* MsGroupQuery.c - com.microsoft's GroupQueryAttention and RotaryEmbedding.
 *
 * In GroupQueryAttention the length of the past differs between samples: new keys come right after
 * it, wherever the buffer of the past ends.
 */
#include <math.h>

#include "io/onnx/heads.h"

typedef struct work {
    takt_call *c;
    takt_graph *g;
    int64_t heads, kv_heads, size;
    takt_dim batch, queries, past;
    takt_id before; /* length of the past, i64 [batch, 1, 1, 1] */
} work;

/* Rows of the caches at `positions` [batch, sequence], as [batch, sequence, 1, half]. */
static bool angles(takt_call *c, size_t cosine, takt_id positions, takt_rotation *rotation)
{
    takt_id *to[2] = {&rotation->cosine, &rotation->sine};
    for (size_t i = 0; i < 2; i++) {
        if (!takt_onnx_has(c, cosine + i) || positions == TAKT_NONE)
            return false;
        const takt_id cache =
            takt_slice(c->g, takt_onnx_in(c, cosine + i), -1, 0, rotation->width / 2, 1);
        *to[i] = takt_onnx_unsqueeze(c, takt_onnx_gather(c, cache, positions, 0), 2);
    }
    return true;
}

/* ---- GroupQueryAttention ---- */

static bool unpack(work *w, takt_id x[3])
{
    takt_call *c = w->c;
    const takt_type t = *takt_onnx_type(c, 0);
    const bool is_packed = !takt_onnx_has(c, 1);
    const int64_t all = w->heads + (is_packed ? 2 * w->kv_heads : 0);
    for (size_t i = 0; i < 3; i++)
        x[i] = takt_onnx_in(c, i);
    if (c->status != TAKT_OK)
        return false;
    if (t.rank != 3 || !takt_dim_is_number(t.dim[2]) || t.dim[2] > INT32_MAX ||
        t.dim[2] % all != 0 || is_packed == takt_onnx_has(c, 2)) {
        (void)takt_onnx_refuse(c, "a query of rank %d for %lld heads", t.rank, (long long)all);
        return false;
    }
    w->batch = t.dim[0];
    w->queries = t.dim[1];
    w->size = t.dim[2] / all;
    const int64_t ends[] = {0, w->heads * w->size, (w->heads + w->kv_heads) * w->size, t.dim[2]};
    for (size_t i = 0; is_packed && i < 3; i++)
        x[i] = takt_slice(w->g, takt_onnx_in(c, 0), 2, ends[i], ends[i + 1], 1);
    for (size_t i = 0; i < 3; i++)
        x[i] = takt_heads_apart(c, x[i], i == 0 ? w->heads : w->kv_heads);
    return x[0] != TAKT_NONE && x[1] != TAKT_NONE && x[2] != TAKT_NONE;
}

/* max(seqlens_k + 1 - queries, 0). */
static takt_id lengths(work *w)
{
    takt_call *c = w->c;
    takt_id n = takt_onnx_in(c, 5);
    const takt_id count = takt_heads_count(c, w->queries, 2);
    const int64_t axis = 2;
    if (n == TAKT_NONE || count == TAKT_NONE)
        return TAKT_NONE;
    const takt_id last = takt_reduce_over(w->g, &takt_op_reduce_max, count, &axis, 1, true);
    n = takt_reshape(w->g, takt_onnx_cast(c, n, TAKT_I64), (takt_dim[]){w->batch, 1, 1, 1}, 4);
    n = n == TAKT_NONE || last == TAKT_NONE ? TAKT_NONE : takt_sub(w->g, n, last);
    return n == TAKT_NONE ? n : takt_binary(w->g, &takt_op_max, n, takt_scalar_i64(w->g, 0));
}

static bool rotate(work *w, takt_id x[3])
{
    takt_call *c = w->c;
    takt_id at = takt_onnx_in(c, 9);
    if (at == TAKT_NONE) {
        at = takt_add(w->g, w->before, takt_heads_count(c, w->queries, 2));
        if (at != TAKT_NONE)
            at = takt_reshape(w->g, at, (takt_dim[]){w->batch, w->queries}, 2);
    }
    const takt_type cache = *takt_onnx_type(c, 7);
    takt_rotation rotation = {.width = cache.rank == 2 ? 2 * cache.dim[1] : 0,
                              .crossed = takt_onnx_i(c, "rotary_interleaved", 0) != 0};
    if (rotation.width < 2 || rotation.width > w->size) {
        (void)takt_onnx_refuse(c, "a cosine cache for %lld numbers, heads of %lld",
                               (long long)rotation.width, (long long)w->size);
        return false;
    }
    if (!angles(c, 7, at, &rotation))
        return false;
    for (size_t i = 0; i < 2; i++)
        x[i] = takt_heads_rotate(c, x[i], &rotation);
    return x[0] != TAKT_NONE && x[1] != TAKT_NONE;
}

/* Position t of the present comes from the past if it is within it, else from the new keys. */
static takt_id sources(work *w, takt_dim keys)
{
    takt_call *c = w->c;
    takt_graph *g = w->g;
    const takt_id key = takt_heads_count(c, keys, 2);
    const takt_id all = takt_heads_count(c, takt_heads_dim(c, TAKT_DIM_ADD, w->past, 1), 2);
    const int64_t axis = 2;
    if (key == TAKT_NONE || all == TAKT_NONE || w->before == TAKT_NONE)
        return TAKT_NONE;
    const takt_id past = takt_reduce_over(g, &takt_op_reduce_max, all, &axis, 1, true);
    const takt_id top = takt_reduce_over(g, &takt_op_reduce_max, key, &axis, 1, true);
    takt_id later = takt_sub(g, takt_add(g, key, past), w->before);
    later = takt_binary(g, &takt_op_min, later, top);
    return takt_select(g, takt_binary(g, &takt_op_lt, key, w->before), key, later);
}

static takt_id present(work *w, takt_id x, size_t input)
{
    takt_call *c = w->c;
    x = takt_heads_swap(c, x);
    if (!takt_onnx_has(c, input) || x == TAKT_NONE)
        return x;
    w->past = takt_onnx_type(c, input)->dim[2];
    x = takt_concat(c->g, (takt_id[]){takt_onnx_in(c, input), x}, 2, 2);
    if (x == TAKT_NONE || w->past == 0)
        return x;
    const takt_type t = *takt_type_of(w->g, x);
    takt_id from = sources(w, t.dim[2]);
    from = from == TAKT_NONE ? from : takt_broadcast(w->g, from, t.dim, 4);
    x = takt_onnx_op2(c, &takt_op_gather_elements, x, from, 1,
                      &(takt_named_attr){"axis", takt_attr_i64(2)});
    const takt_array *total = takt_onnx_peek(c, 6); /* known: the buffer may hold all of it */
    if (total == NULL || total->i == NULL || total->count != 1 || !takt_dim_is_number(w->past))
        return x;
    const int64_t want = total->i[0] > w->past ? total->i[0] : w->past;
    return x == TAKT_NONE ? x : takt_slice(w->g, x, 2, 0, want, 1);
}

/* Query s is at position before + s and sees keys up to there, at most `window` of them. */
static takt_id seen(work *w, takt_dim keys)
{
    takt_call *c = w->c;
    takt_graph *g = w->g;
    const int64_t window = takt_onnx_i(c, "local_window_size", -1);
    const takt_id key = takt_heads_count(c, keys, 3);
    const takt_id at = takt_add(g, w->before, takt_heads_count(c, w->queries, 2));
    if (key == TAKT_NONE || at == TAKT_NONE)
        return TAKT_NONE;
    takt_id good = takt_binary(g, &takt_op_le, key, at);
    if (window > 0) {
        const takt_id low = takt_sub(g, at, takt_scalar_i64(g, window));
        good = takt_binary(g, &takt_op_and, good, takt_binary(g, &takt_op_lt, low, key));
    }
    takt_id added = takt_heads_bar(c, good, -INFINITY);
    if (takt_onnx_has(c, 10))
        added = takt_heads_sum(c, added, takt_onnx_cast(c, takt_onnx_in(c, 10), TAKT_F32));
    return added;
}

static takt_status refuse_forms(takt_call *c)
{
    if (takt_onnx_has(c, 11) || takt_onnx_i(c, "smooth_softmax", 0) > 0)
        return takt_onnx_refuse(c, "a head sink or smooth_softmax");
    if (takt_onnx_i(c, "qk_output", 0) != 0)
        return takt_onnx_refuse(c, "qk_output");
    if (!takt_onnx_is(c, "k_quant_type", "NONE", "NONE") ||
        !takt_onnx_is(c, "v_quant_type", "NONE", "NONE"))
        return takt_onnx_refuse(c, "a quantised cache");
    return c->status;
}

static takt_status group_query(takt_call *c)
{
    work w = {.c = c,
              .g = c->g,
              .heads = takt_onnx_i(c, "num_heads", 0),
              .kv_heads = takt_onnx_i(c, "kv_num_heads", 0)};
    takt_id x[3];
    TAKT_TRY(refuse_forms(c));
    if (w.heads < 1 || w.kv_heads < 1 || w.heads > 65536 || w.heads % w.kv_heads != 0)
        return takt_onnx_refuse(c, "%lld heads and %lld heads of keys", (long long)w.heads,
                                (long long)w.kv_heads);
    if (!unpack(&w, x))
        return takt_onnx_done(c, TAKT_NONE);
    w.before = lengths(&w);
    if (w.before == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    if (takt_onnx_i(c, "do_rotary", 0) != 0 && !rotate(&w, x))
        return takt_onnx_done(c, TAKT_NONE);
    takt_heads h = {.q = takt_heads_swap(c, x[0]),
                    .scale = takt_onnx_f(c, "scale", 0),
                    .cap = takt_onnx_f(c, "softcap", 0)};
    h.k = present(&w, x[1], 3);
    h.v = present(&w, x[2], 4);
    takt_onnx_set(c, 1, h.k);
    takt_onnx_set(c, 2, h.v);
    if (h.k == TAKT_NONE || h.v == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    h.added = seen(&w, takt_type_of(c->g, h.k)->dim[2]);
    return takt_onnx_done(c, takt_heads_merge(c, takt_heads_attend(c, &h)));
}

/* ---- RotaryEmbedding ---- */

/* Positions [batch, sequence], or one number: the position of the first in each row. */
static takt_id places(takt_call *c, takt_dim batch, takt_dim sequence)
{
    takt_id at = takt_onnx_in(c, 1);
    if (at == TAKT_NONE || takt_type_of(c->g, at)->rank == 2)
        return at;
    const takt_id row = takt_heads_count(c, sequence, 2);
    at = takt_reshape(c->g, at, (takt_dim[]){1, 1, 1, 1}, 4);
    if (row == TAKT_NONE || at == TAKT_NONE)
        return TAKT_NONE;
    at = takt_reshape(c->g, takt_add(c->g, at, row), (takt_dim[]){1, sequence}, 2);
    return at == TAKT_NONE ? at : takt_broadcast(c->g, at, (takt_dim[]){batch, sequence}, 2);
}

static takt_status rotary(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0), cache = *takt_onnx_type(c, 2);
    const int64_t given = takt_onnx_i(c, "rotary_embedding_dim", 0);
    int64_t heads = takt_onnx_i(c, "num_heads", 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (takt_onnx_f(c, "scale", 1) != 1 || takt_onnx_i(c, "is_packed_batching", 0) != 0)
        return takt_onnx_refuse(c, "a scale or packed batching");
    takt_rotation rotation = {.width = given > 0         ? given
                                       : cache.rank == 2 ? 2 * cache.dim[1]
                                                         : 0,
                              .crossed = takt_onnx_i(c, "interleaved", 0) != 0};
    if (t.rank < 3 || t.rank > 4 || rotation.width < 2 || (given > 0 && heads < 1 && t.rank == 3))
        return takt_onnx_refuse(c, "rank %d and a cosine cache of rank %d", t.rank, cache.rank);
    if (heads < 1 && t.rank == 3)
        heads = t.dim[2] / rotation.width;
    takt_id x = takt_onnx_in(c, 0);
    x = t.rank == 3 ? takt_heads_apart(c, x, heads) : takt_heads_swap(c, x);
    if (x == TAKT_NONE || !angles(c, 2, places(c, t.dim[0], t.dim[t.rank - 2]), &rotation))
        return takt_onnx_done(c, TAKT_NONE);
    x = takt_heads_rotate(c, x, &rotation);
    if (t.rank == 4)
        x = takt_heads_swap(c, x);
    return takt_onnx_done(c, x == TAKT_NONE ? x : takt_reshape(c->g, x, t.dim, (size_t)t.rank));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "RotaryEmbedding") ? rotary(c) : group_query(c);
}

const takt_onnx_op takt_onnx_MsGroupQuery = {
    .names = {"GroupQueryAttention", "RotaryEmbedding"}, .domain = "com.microsoft", .adapt = adapt};
