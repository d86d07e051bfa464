/* attention.c - softmax(q k' * scale + mask) v for every head.
 *
 * q is [batch, queries, heads * dim], k [batch, keys, kv_heads * dim], v [batch, keys, kv_heads *
 * value_dim]; every heads / kv_heads query heads share one head of k and v. With `causal` the last
 * query sees all keys, the one before all but the last, and so on: keys beyond a query's limit are
 * absent. A mask is added to the scores and broadcasts to [batch, heads, queries, keys]. With a
 * length for every sequence, keys from there on are absent, and the last query sees all before it:
 * k and v may be a partly filled cache. A query that sees no key gives zeros. k and v of queries in
 * f32 may be f16 or bf16, which are widened, or bytes: blocks of ggml's q8_0.
 */
#include <math.h>

#include "op/util/absent.h"
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/heads.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { MASK = 3, LENGTH = 4 }; /* optional inputs */

static bool has_input(const takt_node *n, uint32_t input)
{
    return n->in_count > input && n->in[input] != TAKT_NONE;
}

/* ---- inference ---- */

static takt_status check_mask(takt_infer *in)
{
    const takt_type *q = in->type[0];
    takt_type scores = {.dtype = q->dtype, .rank = 4};
    const takt_dim dims[4] = {q->dim[0], in->attr[TAKT_HEADS].i64, q->dim[1], in->type[1]->dim[1]};
    for (int i = 0; i < 4; i++)
        scores.dim[i] = dims[i];
    if (in->in_count <= MASK || in->type[MASK] == NULL)
        return TAKT_OK;
    const takt_type *mask = in->type[MASK];
    TAKT_TRY(takt_check_same_dtype(in, 0, MASK));
    TAKT_TRY(takt_infer_rank(in, MASK, 0, 4));
    bool fits = true;
    for (int i = 0; fits && i < mask->rank; i++)
        if (mask->dim[i] != 1)
            TAKT_TRY(takt_check_agree(in, mask->dim[i], scores.dim[i + 4 - mask->rank], &fits));
    char tm[TAKT_TYPE_TEXT], ts[TAKT_TYPE_TEXT];
    if (!fits)
        return takt_fail(in->ctx, TAKT_E_SHAPE,
                         "attention: mask is %s, which does not broadcast to "
                         "the scores %s",
                         takt_type_text(in->dims, mask, tm), takt_type_text(in->dims, &scores, ts));
    return TAKT_OK;
}

static takt_status check_length(takt_infer *in)
{
    if (in->in_count <= LENGTH || in->type[LENGTH] == NULL)
        return TAKT_OK;
    TAKT_TRY(takt_check_index(in, LENGTH));
    TAKT_TRY(takt_infer_rank(in, LENGTH, 1, 1));
    return takt_check_dims(in, 0, 0, LENGTH, 0);
}

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_check_heads(in));
    TAKT_TRY(check_mask(in));
    TAKT_TRY(check_length(in));
    in->out[0] = takt_heads_out(in);
    return TAKT_OK;
}

/* ---- evaluation: one query of one head at a time ---- */

typedef struct job {
    const takt_eval *e;
    int64_t heads, group, dim, value_dim, queries, keys;
    int64_t present; /* keys of this sequence that at least one query sees */
    double scale, *score;
    const double *k, *v;
} job;

static double mask_at(const takt_array *mask, const int64_t index[4])
{
    size_t flat = 0;
    for (int d = 0; d < mask->rank; d++)
        flat = flat * (size_t)mask->dim[d] +
               (size_t)(mask->dim[d] == 1 ? 0 : index[d + 4 - mask->rank]);
    return mask->f[flat];
}

/* exp(score - max), unnormalised; returns the sum. */
static double weigh(const job *j, int64_t b, int64_t h, int64_t s, int64_t limit)
{
    const takt_array *q = &j->e->in[0];
    const bool has_mask = j->e->in_count > MASK && j->e->in[MASK].rank >= 0;
    const size_t row = (size_t)((b * j->queries + s) * j->heads + h) * (size_t)j->dim;
    const int64_t kv = j->heads / j->group;
    double top = -INFINITY, sum = 0;
    for (int64_t t = 0; t < limit; t++) {
        const size_t key = (size_t)((b * j->keys + t) * kv + h / j->group) * (size_t)j->dim;
        double dot = 0;
        for (size_t d = 0; d < (size_t)j->dim; d++)
            dot += q->f[row + d] * j->k[key + d];
        j->score[t] = dot * j->scale;
        if (has_mask)
            j->score[t] += mask_at(&j->e->in[MASK], (int64_t[]){b, h, s, t});
        top = j->score[t] > top || isnan(j->score[t]) ? j->score[t] : top;
    }
    for (int64_t t = 0; t < limit; t++) {
        j->score[t] = exp(j->score[t] - top);
        sum += j->score[t];
    }
    return sum;
}

static void attend(const job *j, int64_t b, int64_t h, int64_t s)
{
    const int64_t kv = j->heads / j->group, before = j->present - j->queries;
    const int64_t limit = j->e->attr[TAKT_CAUSAL].boolean ? s + before + 1 : j->present;
    const double sum = weigh(j, b, h, s, limit);
    double *out = j->e->out[0].f + ((b * j->queries + s) * j->heads + h) * j->value_dim;
    for (int64_t t = 0; t < limit; t++) {
        const double *row = j->v + ((b * j->keys + t) * kv + h / j->group) * j->value_dim;
        for (int64_t d = 0; d < j->value_dim; d++)
            out[d] += j->score[t] / sum * row[d];
    }
}

/* Number of keys of sequence `b`. */
static takt_status count_present(const takt_eval *e, int64_t b, int64_t keys, int64_t *present)
{
    *present = keys;
    if (e->in_count <= LENGTH || e->in[LENGTH].rank < 0)
        return TAKT_OK;
    *present = e->in[LENGTH].i[b];
    if (*present >= 0 && *present <= keys)
        return TAKT_OK;
    return takt_fail(e->ctx, TAKT_E_INDEX, "attention: length %lld of sequence %lld, of %lld keys",
                     (long long)*present, (long long)b, (long long)keys);
}

/* The numbers of k or v. */
static const double *numbers_of(const takt_eval *e, size_t input)
{
    const takt_array *x = &e->in[input];
    const takt_ggml_info *info = &takt_ggml_formats[TAKT_GGML_Q8_0];
    if (x->dtype != TAKT_U8)
        return x->f;
    const size_t blocks = x->count / info->bytes;
    double *to = takt_arena_array(e->scratch, blocks * info->weights, sizeof *to);
    for (size_t i = 0; to != NULL && i < blocks && !takt_eval_stops(e, 1); i++) {
        uint8_t block[34];
        float floats[32];
        for (size_t k = 0; k < sizeof block; k++)
            block[k] = (uint8_t)x->i[i * info->bytes + k];
        takt_ggml_decode(TAKT_GGML_Q8_0, block, 1, floats);
        for (size_t k = 0; k < info->weights; k++)
            to[i * info->weights + k] = (double)floats[k];
    }
    return to;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *q = &e->in[0], *k = &e->in[1];
    const int64_t heads = e->attr[TAKT_HEADS].i64, shared = takt_kv_heads(e->attr);
    job j = {.e = e,
             .heads = heads,
             .group = heads / shared,
             .dim = q->dim[2] / heads,
             .value_dim = e->out[0].dim[2] / heads,
             .queries = q->dim[1],
             .keys = k->dim[1]};
    j.scale = e->attr[TAKT_SCALE].is_set ? e->attr[TAKT_SCALE].f64 : 1 / sqrt((double)j.dim);
    j.score = takt_arena_array(e->scratch, (size_t)j.keys, sizeof *j.score);
    j.k = numbers_of(e, 1);
    j.v = numbers_of(e, 2);
    const bool is_short = (j.k == NULL && k->count > 0) || (j.v == NULL && e->in[2].count > 0);
    if (j.score == NULL || is_short)
        return TAKT_ERR_MEMORY;
    if (e->attr[TAKT_CAUSAL].boolean && j.queries > j.keys)
        return takt_fail(e->ctx, TAKT_E_SHAPE, "attention: causal with %lld queries and %lld keys",
                         (long long)j.queries, (long long)j.keys);
    const size_t work = (size_t)(j.keys * q->dim[2]); /* of a query */
    for (int64_t b = 0; b < q->dim[0]; b++) {
        TAKT_TRY(count_present(e, b, j.keys, &j.present));
        for (int64_t h = 0; h < heads; h++)
            for (int64_t s = 0; s < j.queries && !takt_eval_stops(e, work); s++)
                attend(&j, b, h, s);
    }
    return TAKT_OK;
}

/* ---- lowering ---- */

/* [batch, 1, queries, keys], or one row for all queries, as `planes`. */
static takt_id widened(takt_graph *g, takt_id seen, const takt_dim *planes)
{
    const takt_dim whole[4] = {planes[0], 1, planes[3], planes[4]};
    return takt_reshape(g, takt_broadcast(g, seen, whole, 4), planes, 5);
}

/* [batch, 1, queries, keys]: query s of a sequence sees key t if t < length, and, if causal, t - s
 * <= length - queries. */
static takt_id sees_of_length(takt_graph *g, const takt_node *n, const takt_dim *dims)
{
    const takt_dim column[4] = {dims[0], 1, 1, 1}, plane[4] = {1, 1, dims[2], dims[3]};
    const takt_id length = takt_reshape(g, takt_cast(g, n->in[LENGTH], TAKT_I64), column, 4);
    const takt_id key = takt_make_iota(g, plane, 4, 3);
    const takt_id there = takt_binary(g, &takt_op_lt, key, length);
    if (!n->attr[TAKT_CAUSAL].boolean)
        return there;
    const takt_id queries = takt_make_axis(g, &takt_op_dim, 1, &n->in[0], 1);
    const takt_id ahead = takt_sub(g, key, takt_make_iota(g, plane, 4, 2));
    return takt_binary(g, &takt_op_and, there,
                       takt_binary(g, &takt_op_le, ahead, takt_sub(g, length, queries)));
}

/* The contribution of infinities and NaN of v. The product with v has zeros in their place, so that
 * absent keys add nothing. It is the running sum over the keys that each query sees; NaN, for 0 *
 * inf, if such a key has no weight; -0, which changes no sum, where there is nothing to add. It has
 * no gradient. */
typedef struct remnant {
    takt_id v, is_odd, weights, seen; /* v and is_odd: [batch, kv heads, 1, keys, size] */
    takt_dim queries;
} remnant;

static takt_id add_remnant(takt_graph *g, const takt_node *n, const remnant *r, takt_id mixed)
{
    enum { KEYS = 3 };
    const takt_id v = r->v, zero = takt_scalar_like(g, v, 0), one = takt_scalar_like(g, v, 1);
    const takt_id nan = takt_scalar_like(g, v, NAN);
    const takt_id inf =
        takt_select(g, takt_binary(g, &takt_op_gt, v, zero), takt_scalar_like(g, v, INFINITY),
                    takt_scalar_like(g, v, -INFINITY));
    const takt_id odd = takt_select(g, takt_unary(g, &takt_op_is_nan, v), nan,
                                    takt_select(g, takt_unary(g, &takt_op_is_inf, v), inf, zero));
    const takt_id sums = takt_make_axis(g, &takt_op_cumsum, 1, &odd, KEYS);
    const takt_id last = takt_add(g, takt_make_iota(g, &r->queries, 1, 0), takt_keys_before(g, n));
    const takt_id own = takt_make_axis(g, &takt_op_gather, 2, (takt_id[]){sums, last}, KEYS);
    const takt_id more =
        takt_select(g, takt_binary(g, &takt_op_ne, own, zero), own, takt_scalar_like(g, v, -0.0));
    const takt_id is_zero =
        takt_binary(g, &takt_op_and, r->seen, takt_binary(g, &takt_op_eq, r->weights, zero));
    const takt_id hits = takt_matmul(g, takt_select(g, is_zero, one, zero),
                                     takt_select(g, r->is_odd, one, zero), false, false);
    return takt_add(g, mixed, takt_select(g, takt_binary(g, &takt_op_gt, hits, zero), nan, more));
}

/* weights v, excluding absent keys: 0 * inf would be NaN. */
static takt_id mix(takt_graph *g, const takt_node *n, takt_id weights, takt_id v, takt_id seen)
{
    const takt_dim queries = takt_type_of(g, n->in[0])->dim[1];
    if (seen == TAKT_NONE || queries == 1) /* the last query sees all keys */
        return takt_matmul(g, weights, v, false, false);
    remnant r = {.v = v, .weights = weights, .seen = seen, .queries = queries};
    r.is_odd = takt_binary(g, &takt_op_or, takt_unary(g, &takt_op_is_nan, v),
                           takt_unary(g, &takt_op_is_inf, v));
    const takt_id plain = takt_select(g, r.is_odd, takt_scalar_like(g, v, 0), v);
    return add_remnant(g, n, &r, takt_matmul(g, weights, plain, false, false));
}

/* k or v as numbers of type `dtype`. */
static takt_id widened_rows(takt_graph *g, takt_id x, takt_dtype dtype)
{
    const takt_named_attr format = {"format", takt_attr_i64(TAKT_GGML_Q8_0)};
    if (takt_type_of(g, x)->dtype == TAKT_U8)
        x = takt_graph_call(g, &takt_op_ggml_dequantize, 1, &x, 1, &format);
    return takt_cast(g, x, dtype);
}

/* [batch, rows, heads * size] as [batch, heads, rows, size]. */
static takt_id each_head(takt_graph *g, takt_id x, int64_t heads)
{
    const takt_type t = *takt_type_of(g, x);
    const takt_dim dims[4] = {t.dim[0], t.dim[1], heads, t.dim[2] / heads};
    return takt_transpose(g, takt_reshape(g, x, dims, 4), (const int64_t[]){0, 2, 1, 3}, 4);
}

/* Every head has its own keys, and all are visible: four axes, the form that other tools write and
 * recognise as attention. */
static void lower_plain(takt_graph *g, const takt_node *n, takt_id *out)
{
    const int64_t heads = n->attr[TAKT_HEADS].i64;
    const takt_dtype dtype = takt_type_of(g, n->in[0])->dtype;
    const double scale = takt_attention_scale(g, n);
    takt_id part[3];
    for (int i = 0; i < 3; i++)
        part[i] = each_head(g, i == 0 ? n->in[0] : widened_rows(g, n->in[i], dtype), heads);
    takt_id scores = takt_mul_scalar(g, takt_matmul(g, part[0], part[1], false, true), scale);
    if (has_input(n, MASK))
        scores = takt_add(g, scores, n->in[MASK]);
    const takt_id weights = takt_make_axis(g, &takt_op_softmax, 1, &scores, -1);
    const takt_id mixed = takt_matmul(g, weights, part[2], false, false);
    const takt_id merged = takt_transpose(g, mixed, (const int64_t[]){0, 2, 1, 3}, 4);
    out[0] = takt_reshape(g, merged, n->type[0].dim, 3);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    if (takt_kv_heads(n->attr) == n->attr[TAKT_HEADS].i64 && !has_input(n, LENGTH) &&
        !n->attr[TAKT_CAUSAL].boolean) {
        lower_plain(g, n, out);
        return;
    }
    const int64_t heads = n->attr[TAKT_HEADS].i64, shared = takt_kv_heads(n->attr),
                  group = heads / shared;
    const takt_type *q = takt_type_of(g, n->in[0]), *k = takt_type_of(g, n->in[1]);
    const takt_dim flat[4] = {q->dim[0], heads, q->dim[1], k->dim[1]};
    const takt_dim grouped[5] = {q->dim[0], shared, group, q->dim[1], k->dim[1]};
    const double scale = takt_attention_scale(g, n);
    const takt_dtype dtype = q->dtype;
    const takt_id keys = widened_rows(g, n->in[1], dtype);
    const takt_id values = widened_rows(g, n->in[2], dtype);
    const takt_id product = takt_matmul(g, takt_split_heads(g, n->in[0], shared, group),
                                        takt_split_heads(g, keys, shared, 1), false, true);
    takt_id scores = takt_reshape(g, takt_mul_scalar(g, product, scale), flat, 4);
    if (has_input(n, MASK))
        scores = takt_add(g, scores, n->in[MASK]);
    const bool has_length = has_input(n, LENGTH);
    takt_id seen = TAKT_NONE;
    if (has_length || n->attr[TAKT_CAUSAL].boolean) {
        seen = has_length ? sees_of_length(g, n, flat) : takt_keys_seen(g, n, flat + 2);
        scores = takt_select(g, seen, scores, takt_scalar_like(g, scores, -INFINITY));
    }
    takt_id weights = takt_make_axis(g, &takt_op_softmax, 1, &scores, -1);
    if (has_length) /* rows of a query that sees no key are NaN */
        weights = takt_select(g, seen, weights, takt_scalar_like(g, weights, 0));
    const takt_id split = takt_reshape(g, weights, grouped, 5);
    const takt_id v = takt_split_heads(g, values, shared, 1);
    const takt_dim planes[5] = {flat[0], 1, 1, flat[2], flat[3]};
    const takt_id mixed = has_length ? takt_absent_mix(g, split, v, widened(g, seen, planes))
                                     : mix(g, n, split, v, seen);
    const takt_id merged = takt_transpose(g, mixed, (const int64_t[]){0, 3, 1, 2, 4}, 5);
    out[0] = takt_reshape(g, merged, n->type[0].dim, 3);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *q = takt_type_of(g, n->in[0]), *k = takt_type_of(g, n->in[1]);
    const double keys = takt_dim_is_number(k->dim[1]) ? (double)k->dim[1] : 0;
    cost->flops = 2 * keys * (takt_make_count(q) + takt_make_count(&n->type[0]));
    if (n->attr[TAKT_CAUSAL].boolean)
        cost->flops /= 2;
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_attention = {
    .name = "attention",
    .summary = "softmax(q k' * scale + mask) v for every head",
    .in_min = 3,
    .in_max = 5,
    .in_names = {"q", "k", "v", "mask", "length"},
    .attrs = {TAKT_HEADS_ATTRS},
    .traits = TAKT_CONTRACTS | TAKT_INDEXED,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64) | TAKT_IN(TAKT_U8),
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .cost = cost,
    .samples =
        {"attention(f32[2, 3, 8], f32[2, 5, 8], f32[2, 5, 8], heads=2)",
         "attention(f32[1, 4, 12], f32[1, 4, 4], f32[1, 4, 6], heads=6, kv_heads=2, "
         "causal=true)",
         "attention(f32[2, 3, 4], f32[2, 5, 4], f32[2, 5, 4], f32[3, 5], scale=0.25, "
         "causal=true)",
         "attention(f64[2, 2, 6], f64[2, 3, 3], f64[2, 3, 3], f64[2, 2, 1, 3], heads=2, "
         "kv_heads=1)",
         "attention(f32[2, 1, 8], f32[2, 5, 4], f32[2, 5, 4], none, i64[2] in (1, 5), heads=4, "
         "kv_heads=2)",
         "attention(f32[2, 3, 4], f32[2, 6, 4], f32[2, 6, 4], f32[3, 6], i32[2] in (0, 6), "
         "causal=true)",
         "attention(f32[2, 1, 8], f16[2, 5, 4], bf16[2, 5, 4], none, i64[2] in (1, 5), heads=4, "
         "kv_heads=2)",
         "attention(f32[2, 2, 128], u8[2, 5, 68] in (0, 60), u8[2, 5, 136] in (0, 60), none, "
         "i64[2] in (2, 5), heads=4, kv_heads=2, causal=true)"},
};
