/* TfIdfVectorizer.c - weighted counts of listed n-grams in rows of integers.
 *
 * An n-gram may skip: with s skips its elements are s + 1 apart. For each length and each skip the
 * rows are compared with all n-grams of that length at all positions.
 */
#include "io/onnx/adapt.h"

typedef struct work {
    takt_call *c;
    takt_graph *g;
    takt_id x; /* [rows, columns], i64 */
    takt_dim rows;
    int64_t columns, width; /* of x, of the result */
    takt_ints pool, starts, indexes;
    size_t grams; /* before the current length */
    takt_id sum;  /* [rows, width], f32; TAKT_NONE: nothing so far */
} work;

/* [places] windows: element k is k * step further. */
static takt_id windows(work *w, int64_t length, int64_t step, int64_t places)
{
    takt_id parts[16];
    for (int64_t k = 0; k < length; k++) {
        const takt_id part = takt_slice(w->g, w->x, 1, k * step, k * step + places, 1);
        parts[k] = takt_reshape(w->g, part, (takt_dim[]){w->rows, places, 1, 1}, 4);
    }
    return takt_concat(w->g, parts, (size_t)length, 3);
}

/* 1 at [gram, its index]. */
static takt_id placement(work *w, int64_t count)
{
    double *ones = takt_onnx_get(w->c, (size_t)(count * w->width), sizeof *ones);
    if (ones == NULL)
        return TAKT_NONE;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = w->indexes.at[w->grams + (size_t)i];
        ones[i * w->width + at] = 1;
    }
    return takt_onnx_floats(w->c, TAKT_F32, ones, (int64_t[]){count, w->width}, 2);
}

static void add_skip(work *w, takt_id grams, takt_id place, int64_t length, int64_t step)
{
    takt_graph *g = w->g;
    const int64_t places = w->columns - (length - 1) * step, last = 3, second = 1;
    if (places < 1)
        return;
    takt_id same = takt_binary(g, &takt_op_eq, windows(w, length, step, places), grams);
    same = takt_onnx_cast(w->c, same, TAKT_F32);
    same = takt_reduce_over(g, &takt_op_reduce_min, same, &last, 1, false);
    same = takt_reduce_over(g, &takt_op_reduce_sum, same, &second, 1, false); /* [rows, grams] */
    const takt_id part = takt_matmul(g, same, place, false, false);
    w->sum = w->sum == TAKT_NONE ? part : takt_add(g, w->sum, part);
}

/* All n-grams of one length; the list of them ends where the next length begins. */
static takt_status add_length(work *w, int64_t length, int64_t skips, bool is_counted)
{
    const size_t from = (size_t)w->starts.at[length - 1];
    const size_t to =
        (size_t)length < w->starts.count ? (size_t)w->starts.at[length] : w->pool.count;
    if (from > to || to > w->pool.count || (to - from) % (size_t)length != 0)
        return takt_onnx_refuse(w->c, "ngram_counts does not fit the pool");
    const int64_t count = (int64_t)(to - from) / length;
    if (w->grams + (size_t)count > w->indexes.count)
        return takt_onnx_refuse(w->c, "ngram_indexes has too few entries");
    if (is_counted && count > 0) {
        takt_id grams = takt_onnx_i64s(w->c, w->pool.at + from, to - from);
        grams = takt_reshape(w->g, grams, (takt_dim[]){1, 1, count, length}, 4);
        const takt_id place = placement(w, count);
        for (int64_t skip = 0; skip <= (length > 1 ? skips : 0); skip++)
            add_skip(w, grams, place, length, skip + 1);
    }
    w->grams += (size_t)count;
    return w->c->status;
}

/* TF: counts; IDF: weights where there is any; TFIDF: their product. */
static takt_id weighted(work *w, int mode)
{
    const takt_pb_attr *a = takt_onnx_attr(w->c, "weights");
    if (mode == 0 || w->sum == TAKT_NONE)
        return w->sum;
    double *v = takt_onnx_get(w->c, (size_t)w->width, sizeof *v);
    for (int64_t i = 0; v != NULL && i < w->width; i++)
        v[i] = 1;
    for (size_t i = 0; v != NULL && a != NULL && i < a->float_count && i < w->indexes.count; i++)
        v[w->indexes.at[i]] = (double)a->floats[i];
    const takt_id weights =
        v != NULL ? takt_onnx_floats(w->c, TAKT_F32, v, &w->width, 1) : TAKT_NONE;
    const takt_id one = takt_onnx_scalar(w->c, TAKT_F32, 1);
    const takt_id counts = mode == 1 ? takt_binary(w->g, &takt_op_min, w->sum, one) : w->sum;
    return takt_mul(w->g, counts, weights);
}

static takt_status begin(work *w)
{
    takt_call *c = w->c;
    const takt_type t = *takt_onnx_type(c, 0);
    w->pool = takt_onnx_ints(c, "pool_int64s");
    w->starts = takt_onnx_ints(c, "ngram_counts");
    w->indexes = takt_onnx_ints(c, "ngram_indexes");
    if (c->status != TAKT_OK)
        return c->status;
    if (!w->pool.is_set)
        return takt_onnx_refuse(c, "strings, which Takt does not have");
    if (t.rank < 1 || t.rank > 2 || !takt_dim_is_number(t.dim[t.rank - 1]))
        return takt_onnx_refuse(c, "rank %d, or a length that is not a number", t.rank);
    w->rows = t.rank == 2 ? t.dim[0] : 1;
    w->columns = t.dim[t.rank - 1];
    w->x = takt_reshape(w->g, takt_onnx_cast(c, takt_onnx_in(c, 0), TAKT_I64),
                        (takt_dim[]){w->rows, w->columns}, 2);
    for (size_t i = 0; i < w->indexes.count; i++) {
        if (w->indexes.at[i] < 0 || w->indexes.at[i] > 1 << 20)
            return takt_onnx_refuse(c, "index %lld", (long long)w->indexes.at[i]);
        w->width = w->indexes.at[i] >= w->width ? w->indexes.at[i] + 1 : w->width;
    }
    return TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    static const char *const modes[] = {"TF", "IDF", "TFIDF", NULL};
    work w = {.c = c, .g = c->g, .sum = TAKT_NONE};
    const int mode = takt_onnx_choice(c, "mode", "TF", modes);
    const int64_t least = takt_onnx_i(c, "min_gram_length", 1);
    const int64_t most = takt_onnx_i(c, "max_gram_length", 1);
    const int64_t skips = takt_onnx_i(c, "max_skip_count", 0);
    TAKT_TRY(begin(&w));
    if (w.starts.count > 16 || least < 1 || most > (int64_t)w.starts.count || skips > 4096)
        return takt_onnx_refuse(c, "n-grams of %lld to %lld with %lld skips", (long long)least,
                                (long long)most, (long long)skips);
    for (int64_t n = 1; n <= (int64_t)w.starts.count; n++)
        TAKT_TRY(add_length(&w, n, skips, n >= least && n <= most));
    takt_id y = weighted(&w, mode);
    const takt_dim shape[2] = {w.rows, w.width};
    if (y == TAKT_NONE && c->g->status == TAKT_OK)
        y = takt_broadcast(c->g, takt_onnx_scalar(c, TAKT_F32, 0), shape, 2);
    const bool is_row = takt_onnx_type(c, 0)->rank == 1;
    return takt_onnx_done(c, takt_reshape(c->g, y, shape + is_row, is_row ? 1 : 2));
}

const takt_onnx_op takt_onnx_TfIdfVectorizer = {.names = {"TfIdfVectorizer"}, .adapt = adapt};
