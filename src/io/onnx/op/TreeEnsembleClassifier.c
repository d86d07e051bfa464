/* TreeEnsembleClassifier.c - ai.onnx.ml TreeEnsembleClassifier: a label and scores for each row.
 *
 * Two labels with weights of class 0 only have one score, that of the second label. If all weights
 * are positive they are probabilities: above 0.5 is the second label, and the first gets the rest;
 * otherwise the sign decides, and the first gets the negated score. Weights of class 1 only decide
 * the same way and leave the first score at 0.
 */
#include <math.h>

#include "io/onnx/forest.h"

typedef struct work {
    takt_call *c;
    takt_forest f;
    takt_ints labels;
    takt_ml_post post;
    takt_id scores; /* [rows, classes] */
    bool has_all;   /* every class has a weight in any case */
} work;

/* Scores with base_values: one for each class, or a single one, which belongs to the first
 * class. */
static takt_id with_base(work *w, takt_id scores)
{
    takt_call *c = w->c;
    const takt_numbers base = takt_ml_numbers(c, "base_values", "base_values_as_tensor");
    const size_t classes = w->f.targets;
    const int64_t count = (int64_t)classes;
    if (base.count == 0 || scores == TAKT_NONE)
        return scores;
    if (base.count != classes && !(base.count == 1 && classes == 2)) {
        (void)takt_onnx_refuse(c, "%zu base_values for %zu classes", base.count, classes);
        return TAKT_NONE;
    }
    if (base.count == classes)
        w->has_all = true;
    const double both[2] = {base.at[0], 0};
    return takt_add(c->g, scores,
                    takt_onnx_floats(c, w->f.dtype, base.count == 1 ? both : base.at, &count, 1));
}

/* The class of all weights, -1 if there are several; and whether none is negative. */
static int only_class(const takt_forest *f, bool *is_positive)
{
    int only = -2;
    *is_positive = true;
    for (size_t i = 0; i < f->weight_count; i++) {
        const int k = (int)f->weights[i].target;
        *is_positive = *is_positive && f->weights[i].weight >= 0;
        only = only == -2 || only == k ? k : -1;
    }
    return only;
}

static takt_id as_f32(work *w, takt_id x)
{
    return takt_onnx_cast(w->c, x, TAKT_F32);
}

static takt_status binary(work *w, int only, bool is_positive)
{
    takt_call *c = w->c;
    const takt_id score = takt_slice(c->g, w->scores, 1, only, only + 1, 1);
    const takt_id label = takt_ml_above(c, score, is_positive ? 0.5 : 0);
    if (only == 0)
        takt_onnx_set(c, 1, takt_ml_pair(c, as_f32(w, score), w->post, !is_positive));
    else
        takt_onnx_set(c, 1, takt_ml_transform(c, as_f32(w, w->scores), w->post));
    return takt_onnx_done(c, takt_ml_named(c, w->labels, label));
}

/* One label: the score, and 1 if it is above 0, else 0. */
static takt_status unary(work *w)
{
    takt_call *c = w->c;
    takt_onnx_set(c, 1, takt_ml_transform_one(c, as_f32(w, w->scores), w->post));
    return takt_onnx_done(c, takt_ml_above(c, w->scores, 0));
}

/* Classes without any weight on the path are not chosen. */
static takt_status multiple(work *w)
{
    takt_call *c = w->c;
    takt_id among = w->scores;
    if (!w->has_all)
        among = with_base(w, takt_forest_scores(&w->f, TAKT_FOREST_SUM, -INFINITY));
    takt_onnx_set(c, 1, takt_ml_transform(c, as_f32(w, w->scores), w->post));
    return takt_onnx_done(c, takt_ml_named(c, w->labels, takt_ml_best(c, among)));
}

static takt_status adapt(takt_call *c)
{
    bool is_positive;
    const takt_dtype dtype = takt_onnx_type(c, 0)->dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32;
    work w = {.c = c,
              .f = {.c = c, .x = takt_ml_rows(c, dtype), .dtype = dtype},
              .labels = takt_ml_labels(c, "classlabels_int64s", "classlabels_strings"),
              .post = takt_ml_post_of(c)};
    if (c->status != TAKT_OK)
        return c->status;
    if (w.labels.count == 0)
        return takt_onnx_refuse(c, "there are no labels");
    w.f.targets = w.labels.count;
    TAKT_TRY(takt_forest_read_nodes(&w.f, "class"));
    const int only = only_class(&w.f, &is_positive);
    w.has_all = takt_forest_is_complete(&w.f);
    w.scores = with_base(&w, takt_forest_scores(&w.f, TAKT_FOREST_SUM, 0));
    if (w.scores == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    if (w.f.targets == 1)
        return unary(&w);
    return w.f.targets == 2 && only >= 0 ? binary(&w, only, is_positive) : multiple(&w);
}

const takt_onnx_op takt_onnx_TreeEnsembleClassifier = {
    .names = {"TreeEnsembleClassifier"}, .domain = "ai.onnx.ml", .adapt = adapt};
