/* TreeEnsemble.c - ai.onnx.ml TreeEnsemble, which has separate lists of branches and leaves. */
#include "io/onnx/forest.h"

/* The attributes; [0]: if false, [1]: if true. */
typedef struct lists {
    takt_ints feature, next[2], is_leaf[2], roots, target, tracks;
    takt_numbers mode, split, weight;
} lists;

static takt_status read_lists(takt_forest *f, lists *l)
{
    takt_call *c = f->c;
    l->feature = takt_onnx_ints(c, "nodes_featureids");
    l->next[1] = takt_onnx_ints(c, "nodes_truenodeids");
    l->next[0] = takt_onnx_ints(c, "nodes_falsenodeids");
    l->is_leaf[1] = takt_onnx_ints(c, "nodes_trueleafs");
    l->is_leaf[0] = takt_onnx_ints(c, "nodes_falseleafs");
    l->roots = takt_onnx_ints(c, "tree_roots");
    l->target = takt_onnx_ints(c, "leaf_targetids");
    l->tracks = takt_onnx_ints(c, "nodes_missing_value_tracks_true");
    l->mode = takt_ml_numbers(c, NULL, "nodes_modes");
    l->split = takt_ml_numbers(c, NULL, "nodes_splits");
    l->weight = takt_ml_numbers(c, NULL, "leaf_weights");
    f->members = takt_ml_numbers(c, NULL, "membership_values");
    f->branches = l->feature.count;
    f->leaves = l->target.count;
    f->trees = l->roots.count;
    f->weight_count = f->leaves;
    const int64_t targets = takt_onnx_i(c, "n_targets", 1);
    f->targets = targets > 0 ? (size_t)targets : 0;
    const size_t n = f->branches;
    if (c->status == TAKT_OK &&
        (l->mode.count != n || l->split.count != n || l->next[0].count != n ||
         l->next[1].count != n || l->is_leaf[0].count != n || l->is_leaf[1].count != n ||
         l->weight.count != f->leaves))
        return takt_onnx_refuse(c, "lists of different lengths");
    return c->status;
}

static takt_status fill_branches(takt_forest *f, const lists *l)
{
    for (size_t i = 0; i < f->branches; i++) {
        if (!(l->mode.at[i] >= 0 && l->mode.at[i] < TAKT_FOREST_MODES))
            return takt_onnx_refuse(f->c, "branch %zu has mode %g", i, l->mode.at[i]);
        f->mode[i] = (uint8_t)l->mode.at[i];
        f->feature[i] = l->feature.at[i];
        f->split[i] = l->split.at[i];
        f->tracks[i] = i < l->tracks.count && l->tracks.at[i] != 0;
        for (int k = 0; k < 2; k++) {
            const bool is_leaf = l->is_leaf[k].at[i] != 0;
            const int64_t most = (int64_t)(is_leaf ? f->leaves : f->branches);
            if (l->next[k].at[i] < 0 || l->next[k].at[i] >= most)
                return takt_onnx_refuse(f->c, "branch %zu leads to %lld of %lld", i,
                                        (long long)l->next[k].at[i], (long long)most);
            f->next[k][i] = l->next[k].at[i] + (is_leaf ? (int64_t)f->branches : 0);
        }
    }
    return TAKT_OK;
}

static takt_status read_forest(takt_forest *f)
{
    lists l = {0};
    TAKT_TRY(read_lists(f, &l));
    TAKT_TRY(takt_forest_alloc(f));
    TAKT_TRY(fill_branches(f, &l));
    for (size_t i = 0; i < f->leaves; i++) {
        if (l.target.at[i] < 0 || (uint64_t)l.target.at[i] >= f->targets)
            return takt_onnx_refuse(f->c, "leaf %zu has target %lld", i, (long long)l.target.at[i]);
        f->weights[i] = (takt_forest_weight){i, (size_t)l.target.at[i], l.weight.at[i]};
    }
    for (size_t i = 0; i < f->trees; i++) {
        if (l.roots.at[i] < 0 || (uint64_t)l.roots.at[i] >= f->branches)
            return takt_onnx_refuse(f->c, "a tree begins at %lld", (long long)l.roots.at[i]);
        f->root[i] = l.roots.at[i];
    }
    return takt_forest_check(f);
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const int64_t how = takt_onnx_i(c, "aggregate_function", TAKT_FOREST_SUM),
                  post = takt_onnx_i(c, "post_transform", TAKT_ML_NONE);
    if (c->status != TAKT_OK)
        return c->status;
    if ((TAKT_FLOATS & TAKT_IN(t.dtype)) == 0 || how < 0 || how > TAKT_FOREST_MAX || post < 0 ||
        post > TAKT_ML_PROBIT)
        return takt_onnx_refuse(c, "x of %s, aggregate_function %lld, post_transform %lld",
                                takt_dtype_name(t.dtype), (long long)how, (long long)post);
    takt_forest f = {.c = c, .x = takt_ml_rows(c, t.dtype), .dtype = t.dtype};
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(read_forest(&f));
    const takt_id y = takt_forest_scores(&f, (int)how, 0);
    return takt_onnx_done(c, f.targets == 1 ? takt_ml_transform_one(c, y, (takt_ml_post)post)
                                            : takt_ml_transform(c, y, (takt_ml_post)post));
}

const takt_onnx_op takt_onnx_TreeEnsemble = {
    .names = {"TreeEnsemble"}, .domain = "ai.onnx.ml", .adapt = adapt};
