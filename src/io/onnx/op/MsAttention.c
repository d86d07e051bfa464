/* MsAttention.c - com.microsoft's Attention, QAttention and MultiHeadAttention: heads, masks, past
 * and present. */
#include <math.h>

#include "io/onnx/heads.h"
#include "op/util/integer.h"

typedef struct work {
    takt_call *c;
    int64_t heads;
    takt_dim batch, queries, past;
    takt_heads h;
} work;

/* ---- masks ---- */

/* Keys before (or from) a position per batch: `at` [batch]. */
static takt_id limit(work *w, takt_id at, takt_dim keys, bool is_start)
{
    takt_graph *g = w->c->g;
    at = takt_onnx_cast(w->c, at, TAKT_I64);
    at = takt_reshape(g, at, (takt_dim[]){w->batch, 1, 1, 1}, 4);
    const takt_id key = takt_heads_count(w->c, keys, 3);
    if (at == TAKT_NONE || key == TAKT_NONE)
        return TAKT_NONE;
    return is_start ? takt_binary(g, &takt_op_le, at, key) : takt_binary(g, &takt_op_lt, key, at);
}

/* Lengths [batch], ends and starts [2 * batch], [batch, keys] or [batch, queries, keys]. */
static takt_id masked(work *w, size_t input, takt_dim keys)
{
    takt_call *c = w->c;
    takt_id m = takt_onnx_in(c, input);
    if (m == TAKT_NONE)
        return m;
    const takt_type t = *takt_type_of(c->g, m);
    const double value = takt_onnx_f(c, "mask_filter_value", -10000);
    if (t.rank == 1 && t.dim[0] == w->batch)
        return takt_heads_bar(c, limit(w, m, keys, false), value);
    if (t.rank == 1 && takt_dim_is_number(w->batch) && t.dim[0] == 2 * w->batch) {
        const takt_id end = limit(w, takt_slice(c->g, m, 0, 0, w->batch, 1), keys, false);
        const takt_id start =
            limit(w, takt_slice(c->g, m, 0, w->batch, 2 * w->batch, 1), keys, true);
        if (end == TAKT_NONE || start == TAKT_NONE)
            return TAKT_NONE;
        return takt_heads_bar(c, takt_binary(c->g, &takt_op_and, end, start), value);
    }
    if (t.rank != 2 && t.rank != 3) {
        (void)takt_onnx_refuse(c, "a mask of rank %d", t.rank);
        return TAKT_NONE;
    }
    m = takt_onnx_unsqueeze(c, m, 1);
    if (t.rank == 2)
        m = takt_onnx_unsqueeze(c, m, 1);
    return takt_heads_bar(c, takt_onnx_cast(c, m, TAKT_BOOL), value);
}

/* Query s sees keys up to past + s. The last one sees all: if there are more keys than past and
 * queries, onnxruntime does the same, and a decoder that keeps its own cache runs one query against
 * many keys. */
static takt_id causal(work *w, takt_dim keys)
{
    takt_graph *g = w->c->g;
    const takt_id row = takt_heads_count(w->c, w->queries, 2),
                  key = takt_heads_count(w->c, keys, 3);
    const takt_id past = takt_heads_count(w->c, takt_heads_dim(w->c, TAKT_DIM_ADD, w->past, 1), 3);
    const int64_t down = 2, last = 3;
    if (row == TAKT_NONE || key == TAKT_NONE || past == TAKT_NONE)
        return TAKT_NONE;
    const takt_id offset = takt_reduce_over(g, &takt_op_reduce_max, past, &last, 1, true);
    takt_id seen = takt_binary(g, &takt_op_le, key, takt_add(g, row, offset));
    const takt_dim usual = takt_heads_dim(w->c, TAKT_DIM_ADD, w->past, w->queries);
    if (!takt_dim_same(g->dims, keys, usual)) {
        const takt_id end = takt_reduce_over(g, &takt_op_reduce_max, row, &down, 1, true);
        seen = takt_binary(g, &takt_op_or, seen, takt_binary(g, &takt_op_eq, row, end));
    }
    return takt_heads_bar(w->c, seen, -INFINITY);
}

static takt_id attended(work *w, size_t mask, size_t bias)
{
    takt_call *c = w->c;
    if (w->h.q == TAKT_NONE || w->h.k == TAKT_NONE || w->h.v == TAKT_NONE)
        return TAKT_NONE;
    const takt_dim keys = takt_type_of(c->g, w->h.k)->dim[2];
    w->h.scale = takt_onnx_f(c, "scale", 0);
    w->h.added = masked(w, mask, keys);
    if (takt_onnx_i(c, "unidirectional", 0) != 0)
        w->h.added = takt_heads_sum(c, w->h.added, causal(w, keys));
    if (takt_onnx_has(c, bias))
        w->h.added =
            takt_heads_sum(c, w->h.added, takt_onnx_cast(c, takt_onnx_in(c, bias), TAKT_F32));
    return takt_heads_merge(c, takt_heads_attend(c, &w->h));
}

static bool has_any(takt_call *c, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++)
        if (takt_onnx_has(c, i))
            return true;
    return false;
}

/* ---- Attention: one product makes queries, keys and values ---- */

/* The widths of q, k and v; false if they are refused. */
static bool widths(takt_call *c, int64_t total, int64_t heads, int64_t size[3])
{
    const takt_ints given = takt_onnx_ints(c, "qkv_hidden_sizes");
    for (size_t i = 0; i < 3; i++)
        size[i] = given.count == 3 ? given.at[i] : total / 3;
    bool fits = heads > 0 && (given.count == 0 || given.count == 3) && size[0] == size[1];
    for (size_t i = 0; fits && i < 3; i++)
        fits = size[i] > 0 && size[i] <= total && size[i] % heads == 0;
    fits = fits && size[0] + size[1] + size[2] == total;
    if (!fits)
        (void)takt_onnx_refuse(c, "%lld heads and %lld columns of weights do not fit",
                               (long long)heads, (long long)total);
    return fits;
}

/* past [2, batch, heads, past, size] before k and v; present the same after them. */
static void remember(work *w, size_t input)
{
    takt_call *c = w->c;
    takt_id *kv[2] = {&w->h.k, &w->h.v}, both[2];
    if (takt_onnx_has(c, input)) {
        const takt_id past = takt_onnx_in(c, input);
        w->past = takt_onnx_type(c, input)->dim[3];
        for (int i = 0; i < 2; i++) {
            const takt_id one = takt_onnx_squeeze(c, takt_slice(c->g, past, 0, i, i + 1, 1), 0);
            *kv[i] = takt_concat(c->g, (takt_id[]){one, *kv[i]}, 2, 2);
        }
    }
    if (c->out_count < 2 || c->node->outputs[1].length == 0)
        return;
    for (int i = 0; i < 2; i++)
        both[i] = takt_onnx_unsqueeze(c, *kv[i], 0);
    takt_onnx_set(c, 1,
                  both[0] == TAKT_NONE || both[1] == TAKT_NONE ? TAKT_NONE
                                                               : takt_concat(c->g, both, 2, 0));
}

/* Input positions of the two forms. */
typedef struct form {
    size_t mask, past, added; /* added: to the scores; QAttention has none */
} form;

/* x times w, in integers if both are quantised: [batch, sequence, columns]. */
static takt_id projected(takt_call *c, bool is_quantized)
{
    takt_id y;
    if (!is_quantized) {
        y = takt_matmul(c->g, takt_onnx_in(c, 0), takt_onnx_in(c, 1), false, false);
    } else {
        takt_id a = takt_onnx_in(c, 3), b = takt_onnx_in(c, 4), in[TAKT_INTEGER_INPUTS];
        if (a == TAKT_NONE || b == TAKT_NONE)
            return TAKT_NONE;
        for (size_t i = 0; i < TAKT_INTEGER_INPUTS; i++)
            in[i] = TAKT_NONE;
        in[TAKT_INTEGER_A] = takt_onnx_in(c, 0);
        in[TAKT_INTEGER_B] = takt_onnx_in(c, 1);
        in[TAKT_INTEGER_A_ZERO] = takt_onnx_in(c, 6);
        in[TAKT_INTEGER_B_ZERO] = takt_onnx_in(c, 7);
        a = takt_onnx_shape(c, a, NULL, 0);
        in[TAKT_INTEGER_SCALE] = a == TAKT_NONE ? a : takt_mul(c->g, a, b);
        for (size_t i = TAKT_INTEGER_A_ZERO; i < TAKT_INTEGER_ZERO; i++)
            if (in[i] != TAKT_NONE && takt_type_of(c->g, in[i])->rank == 1 &&
                takt_type_of(c->g, in[i])->dim[0] == 1)
                in[i] = takt_reshape(c->g, in[i], NULL, 0);
        y = takt_graph_call(c->g, &takt_op_integer_matmul, TAKT_INTEGER_ZERO, in, 0, NULL);
    }
    return takt_onnx_has(c, 2) && y != TAKT_NONE ? takt_add(c->g, y, takt_onnx_in(c, 2)) : y;
}

static takt_status attention(takt_call *c, bool is_quantized)
{
    const form at = is_quantized ? (form){5, 8, 99} : (form){3, 4, 5};
    const takt_type x = *takt_onnx_type(c, 0), t = *takt_onnx_type(c, 1);
    work w = {.c = c, .heads = takt_onnx_i(c, "num_heads", 0)};
    int64_t size[3];
    if (c->status != TAKT_OK)
        return c->status;
    if ((!is_quantized && has_any(c, 6, 6)) || takt_onnx_i(c, "do_rotary", 0) != 0 ||
        takt_onnx_i(c, "past_present_share_buffer", 0) != 0)
        return takt_onnx_refuse(c, "do_rotary, or past and present in one buffer");
    if (x.rank != 3 || t.rank != 2 || !takt_dim_is_number(t.dim[1]))
        return takt_onnx_refuse(c, "ranks %d and %d", x.rank, t.rank);
    if (!widths(c, t.dim[1], w.heads, size))
        return c->status;
    w.batch = x.dim[0];
    w.queries = x.dim[1];
    const takt_id all = projected(c, is_quantized);
    takt_id *each[3] = {&w.h.q, &w.h.k, &w.h.v};
    for (int64_t i = 0, from = 0; i < 3; from += size[i++]) {
        if (all == TAKT_NONE)
            return takt_onnx_done(c, all);
        const takt_id one = takt_slice(c->g, all, 2, from, from + size[i], 1);
        *each[i] = takt_heads_swap(c, takt_heads_apart(c, one, w.heads));
    }
    if (w.h.k == TAKT_NONE || w.h.v == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    remember(&w, at.past);
    return takt_onnx_done(c, attended(&w, at.mask, at.added));
}

/* ---- MultiHeadAttention ---- */

/* Part of the packed x [batch, sequence, heads, parts, size] as [batch, sequence, width]. */
static takt_id unpacked(takt_call *c, takt_id x, int64_t which)
{
    const takt_type t = *takt_type_of(c->g, x);
    x = takt_slice(c->g, x, 3, which, which + 1, 1);
    const takt_dim width = takt_heads_dim(c, TAKT_DIM_MUL, t.dim[2], t.dim[4]);
    return x == TAKT_NONE ? x : takt_reshape(c->g, x, (takt_dim[]){t.dim[0], t.dim[1], width}, 3);
}

/* Queries, keys and values from their three forms: separate, keys with values, and all packed. */
static bool three(takt_call *c, takt_id x[3])
{
    const int rank = takt_onnx_type(c, 0)->rank;
    const int key_rank = takt_onnx_has(c, 1) ? takt_onnx_type(c, 1)->rank : 0;
    for (size_t i = 0; i < 3; i++)
        x[i] = takt_onnx_in(c, i);
    if (c->status != TAKT_OK)
        return false;
    if (rank == 5 && key_rank == 0) {
        const takt_id all = x[0];
        for (int64_t i = 0; i < 3; i++)
            x[i] = unpacked(c, all, i);
    } else if (rank == 3 && key_rank == 5 && x[2] == TAKT_NONE) {
        const takt_id both = x[1];
        x[1] = unpacked(c, both, 0);
        x[2] = unpacked(c, both, 1);
    } else if (rank != 3 || (key_rank != 3 && key_rank != 4) || x[2] == TAKT_NONE ||
               takt_type_of(c->g, x[2])->rank != key_rank) {
        (void)takt_onnx_refuse(c, "a query of rank %d with a key of rank %d", rank, key_rank);
        return false;
    }
    return x[0] != TAKT_NONE && x[1] != TAKT_NONE && x[2] != TAKT_NONE;
}

/* Part of the bias [q | k | v] for x [batch, sequence, width], which begins at `*at`. */
static takt_id biased(takt_call *c, takt_id x, int64_t *at)
{
    const takt_type t = *takt_type_of(c->g, x);
    if (!takt_onnx_has(c, 3) || t.rank != 3)
        return x;
    if (!takt_dim_is_number(t.dim[2])) {
        (void)takt_onnx_refuse(c, "a bias where the width is not known");
        return TAKT_NONE;
    }
    const takt_id part = takt_slice(c->g, takt_onnx_in(c, 3), 0, *at, *at + t.dim[2], 1);
    *at += t.dim[2];
    return part == TAKT_NONE ? part : takt_add(c->g, x, part);
}

static takt_id in_heads(work *w, takt_id x)
{
    if (x == TAKT_NONE || takt_type_of(w->c->g, x)->rank == 4)
        return x;
    return takt_heads_swap(w->c, takt_heads_apart(w->c, x, w->heads));
}

static takt_status multi_head(takt_call *c)
{
    work w = {.c = c, .heads = takt_onnx_i(c, "num_heads", 0)};
    takt_id x[3];
    int64_t at = 0;
    if (has_any(c, 8, 9) || (c->out_count > 3 && c->node->outputs[3].length > 0))
        return takt_onnx_refuse(c, "past_sequence_length, cache_indirection or the output qk");
    if (!three(c, x))
        return takt_onnx_done(c, TAKT_NONE);
    w.batch = takt_type_of(c->g, x[0])->dim[0];
    w.queries = takt_type_of(c->g, x[0])->dim[1];
    for (size_t i = 0; i < 3; i++) {
        x[i] = in_heads(&w, biased(c, x[i], &at));
        if (x[i] == TAKT_NONE)
            return takt_onnx_done(c, TAKT_NONE);
    }
    for (size_t i = 1; i < 3; i++) {
        if (takt_onnx_has(c, 5 + i)) {
            w.past = takt_onnx_type(c, 5 + i)->dim[2];
            x[i] = takt_concat(c->g, (takt_id[]){takt_onnx_in(c, 5 + i), x[i]}, 2, 2);
        }
        takt_onnx_set(c, i, x[i]);
    }
    w.h = (takt_heads){.q = x[0], .k = x[1], .v = x[2]};
    return takt_onnx_done(c, attended(&w, 4, 5));
}

static takt_status adapt(takt_call *c)
{
    if (takt_span_is(c->node->op, "MultiHeadAttention"))
        return multi_head(c);
    return attention(c, takt_span_is(c->node->op, "QAttention"));
}

const takt_onnx_op takt_onnx_MsAttention = {
    .names = {"Attention", "QAttention", "MultiHeadAttention"},
    .domain = "com.microsoft",
    .adapt = adapt};
