/* SVMClassifier.c - ai.onnx.ml SVMClassifier: one machine for each pair of classes, which vote; or
 * without support vectors one linear score for each class. */
#include "io/onnx/svm.h"

enum { CLASSES = 1024, MOST = 1 << 24 };

typedef struct work {
    takt_call *c;
    takt_id x; /* [rows, features] */
    takt_ints labels, per_class;
    takt_ml_post post;
    takt_svm kernel;
    size_t classes, supports, pairs;
    const takt_pb_attr *coefficients, *rho;
} work;

static takt_status read_all(work *w)
{
    takt_call *c = w->c;
    w->labels = takt_ml_labels(c, "classlabels_ints", "classlabels_strings");
    w->per_class = takt_onnx_ints(c, "vectors_per_class");
    w->post = takt_ml_post_of(c);
    w->coefficients = takt_onnx_attr(c, "coefficients");
    w->rho = takt_onnx_attr(c, "rho");
    w->classes = w->labels.count;
    w->pairs = w->classes * (w->classes - 1) / 2;
    if (!takt_svm_read(c, &w->kernel))
        return c->status;
    if (w->classes < 2 || w->classes > CLASSES || w->coefficients == NULL || w->rho == NULL ||
        w->rho->float_count == 0)
        return takt_onnx_refuse(c, "%zu labels, or no coefficients or rho", w->classes);
    for (size_t i = 0; i < w->per_class.count; i++) {
        const int64_t n = w->per_class.at[i];
        if (n < 0 || n > INT32_MAX)
            return takt_onnx_refuse(c, "class %zu has %lld vectors", i, (long long)n);
        w->supports += (size_t)n;
    }
    if (w->supports == 0)
        return TAKT_OK;
    if (w->per_class.count != w->classes ||
        w->coefficients->float_count / (w->classes - 1) < w->supports ||
        w->rho->float_count < w->pairs || w->supports > MOST / w->pairs)
        return takt_onnx_refuse(c, "%zu coefficients and %zu rho for %zu classes",
                                w->coefficients->float_count, w->rho->float_count, w->classes);
    return TAKT_OK;
}

/* ---- pairs ---- */

/* The coefficient of a vector of class a in the pair of a and b: row b of the coefficients, which
 * have no row for the vector's own class. */
static double coefficient(const work *w, size_t vector, size_t a, size_t b)
{
    const size_t row = b > a ? b - 1 : b;
    return (double)w->coefficients->floats[row * w->supports + vector];
}

/* [supports, pairs]: the machines of all pairs in one matrix. */
static takt_id machines(work *w)
{
    double *v = takt_onnx_get(w->c, w->supports * w->pairs, sizeof *v);
    if (v == NULL)
        return TAKT_NONE;
    for (size_t a = 0, first = 0; a < w->classes; first += (size_t)w->per_class.at[a++])
        for (size_t i = 0, pair = 0; i < w->classes; i++)
            for (size_t j = i + 1; j < w->classes; j++, pair++)
                for (size_t m = 0; (a == i || a == j) && m < (size_t)w->per_class.at[a]; m++)
                    v[(first + m) * w->pairs + pair] = coefficient(w, first + m, a, a == i ? j : i);
    return takt_onnx_floats(w->c, TAKT_F32, v, (int64_t[]){(int64_t)w->supports, (int64_t)w->pairs},
                            2);
}

/* [rows, pairs]: above 0 favours the first of the two. */
static takt_id pair_scores(work *w)
{
    takt_call *c = w->c;
    const size_t numbers = takt_onnx_attr_length(c, "support_vectors");
    const int64_t dims[2] = {(int64_t)w->supports, (int64_t)(numbers / w->supports)},
                  pairs = (int64_t)w->pairs;
    double *rho = takt_onnx_get(c, w->pairs, sizeof *rho);
    const takt_id k =
        takt_svm_apply(c, &w->kernel, w->x, takt_onnx_attr_floats(c, "support_vectors", dims, 2));
    const takt_id m = machines(w);
    if (k == TAKT_NONE || m == TAKT_NONE || rho == NULL)
        return TAKT_NONE;
    for (size_t i = 0; i < w->pairs; i++)
        rho[i] = (double)w->rho->floats[i];
    const takt_id sum = takt_matmul(c->g, k, m, false, false);
    return sum == TAKT_NONE ? sum
                            : takt_add(c->g, sum, takt_onnx_floats(c, TAKT_F32, rho, &pairs, 1));
}

/* The class with the most votes, the first on ties: votes(i) is the number of j > i whose pair with
 * i is above 0, plus that of j < i whose pair is not. */
static takt_id voted(work *w, takt_id scores)
{
    takt_call *c = w->c;
    const size_t n = w->classes;
    const int64_t dims[2] = {(int64_t)w->pairs, (int64_t)n}, count = (int64_t)n;
    double *sign = takt_onnx_get(c, w->pairs * n, sizeof *sign);
    double *base = takt_onnx_get(c, n, sizeof *base);
    if (sign == NULL || base == NULL)
        return TAKT_NONE;
    for (size_t i = 0, pair = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++, pair++) {
            sign[pair * n + i] = 1;
            sign[pair * n + j] = -1;
            base[j] += 1;
        }
    const takt_id above = takt_onnx_cast(
        c, takt_binary(c->g, &takt_op_lt, takt_scalar_like(c->g, scores, 0), scores), TAKT_F32);
    const takt_id votes = takt_add(
        c->g, takt_matmul(c->g, above, takt_onnx_floats(c, TAKT_F32, sign, dims, 2), false, false),
        takt_onnx_floats(c, TAKT_F32, base, &count, 1));
    return takt_ml_best(c, votes);
}

static takt_status by_votes(work *w)
{
    takt_call *c = w->c;
    const size_t a = takt_onnx_attr_length(c, "prob_a"), b = takt_onnx_attr_length(c, "prob_b");
    const takt_id scores = pair_scores(w);
    if (scores == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    if (a != b || (a != 0 && a != w->pairs))
        return takt_onnx_refuse(c, "%zu prob_a and %zu prob_b for %zu pairs", a, b, w->pairs);
    takt_id y = scores;
    if (a != 0)
        y = takt_ml_transform(c, takt_svm_probabilities(c, scores, (int64_t)w->classes), w->post);
    else if (w->classes == 2)
        y = takt_ml_pair(c, scores, w->post, w->post == TAKT_ML_NONE);
    else
        y = takt_ml_transform(c, scores, w->post);
    takt_onnx_set(c, 1, y);
    return takt_onnx_done(c, takt_ml_named(c, w->labels, voted(w, scores)));
}

/* ---- without support vectors ---- */

/* With two labels, the second wins if the best score is at least 0.5 (no coefficient negative) or
 * above 0, else the better one. */
static takt_id linear_best(work *w, takt_id scores)
{
    takt_call *c = w->c;
    const int64_t last = 1;
    bool is_positive = true;
    const takt_id best = takt_ml_best(c, scores);
    if (w->classes > 2 || best == TAKT_NONE)
        return best;
    for (size_t i = 0; i < w->coefficients->float_count; i++)
        is_positive = is_positive && w->coefficients->floats[i] >= 0;
    const takt_id top = takt_reduce_over(c->g, &takt_op_reduce_max, scores, &last, 1, false);
    const takt_id limit = takt_scalar_like(c->g, top, is_positive ? 0.5 : 0);
    const takt_id wins = takt_binary(c->g, is_positive ? &takt_op_le : &takt_op_lt, limit, top);
    return takt_select(c->g, wins, takt_scalar_i64(c->g, 1), best);
}

static takt_status linear(work *w)
{
    takt_call *c = w->c;
    const size_t count = w->coefficients->float_count;
    const int64_t dims[2] = {(int64_t)w->classes, (int64_t)(count / w->classes)};
    const takt_id m = takt_onnx_attr_floats(c, "coefficients", dims, 2);
    const takt_id y = m == TAKT_NONE ? m : takt_matmul(c->g, w->x, m, false, true);
    if (y == TAKT_NONE)
        return takt_onnx_done(c, y);
    const takt_id scores = takt_add_scalar(c->g, y, (double)w->rho->floats[0]);
    takt_onnx_set(c, 1, takt_ml_transform(c, scores, w->post));
    return takt_onnx_done(c, takt_ml_named(c, w->labels, linear_best(w, scores)));
}

static takt_status adapt(takt_call *c)
{
    work w = {.c = c, .x = takt_ml_rows(c, TAKT_F32)};
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(read_all(&w));
    return w.supports > 0 ? by_votes(&w) : linear(&w);
}

const takt_onnx_op takt_onnx_SVMClassifier = {
    .names = {"SVMClassifier"}, .domain = "ai.onnx.ml", .adapt = adapt};
