/* forest_scores.c - what the leaves that were reached give together. */
#include <math.h>

#include "io/onnx/forest.h"

static bool adds(int how)
{
    return how == TAKT_FOREST_SUM || how == TAKT_FOREST_AVERAGE;
}

/* ---- every leaf of a tree gives to one target, which is the tree's ---- */

typedef struct single {
    double *weight;  /* of each leaf */
    int64_t *target; /* of each tree */
} single;

static bool find_single(takt_forest *f, single *s)
{
    int64_t *of_leaf = takt_onnx_get(f->c, f->leaves, sizeof *of_leaf);
    s->weight = takt_onnx_get(f->c, f->leaves, sizeof *s->weight);
    s->target = takt_onnx_get(f->c, f->trees, sizeof *s->target);
    if (of_leaf == NULL || s->weight == NULL || s->target == NULL || f->is_shared)
        return false;
    for (size_t i = 0; i < f->leaves; i++)
        of_leaf[i] = -1;
    for (size_t t = 0; t < f->trees; t++)
        s->target[t] = -1;
    for (size_t i = 0; i < f->weight_count; i++) {
        const takt_forest_weight *w = &f->weights[i];
        if (of_leaf[w->leaf] >= 0 || !isfinite(w->weight))
            return false;
        of_leaf[w->leaf] = (int64_t)w->target;
        s->weight[w->leaf] = w->weight;
    }
    for (size_t i = 0; i < f->leaves; i++) {
        if (f->tree[i] < 0)
            continue;
        int64_t *of_tree = &s->target[f->tree[i]];
        if (of_leaf[i] < 0 || (*of_tree >= 0 && *of_tree != of_leaf[i]))
            return false;
        *of_tree = of_leaf[i];
    }
    return true;
}

/* The weights of [rows, trees] times which tree is whose. */
static takt_id single_sum(takt_forest *f, takt_id leaf, const single *s)
{
    takt_call *c = f->c;
    double *whose = takt_onnx_get(c, f->trees * f->targets, sizeof *whose);
    if (whose == NULL)
        return TAKT_NONE;
    for (size_t t = 0; t < f->trees; t++)
        if (s->target[t] >= 0)
            whose[t * f->targets + (size_t)s->target[t]] = 1;
    const int64_t count = (int64_t)f->leaves, dims[2] = {(int64_t)f->trees, (int64_t)f->targets};
    const takt_id rows =
        takt_onnx_gather(c, takt_onnx_floats(c, f->dtype, s->weight, &count, 1), leaf, 0);
    if (rows == TAKT_NONE)
        return rows;
    return takt_matmul(c->g, rows, takt_onnx_floats(c, f->dtype, whose, dims, 2), false, false);
}

/* ---- any ---- */

typedef struct table {
    double *weight; /* [leaves, targets] */
    bool *has;      /* [leaves, targets]: there is a weight */
} table;

/* Weights of one target add up, or the best counts. */
static bool make_table(takt_forest *f, int how, table *t)
{
    const size_t count = f->leaves * f->targets;
    const double none = how == TAKT_FOREST_MIN ? INFINITY : how == TAKT_FOREST_MAX ? -INFINITY : 0;
    t->weight = takt_onnx_get(f->c, count, sizeof *t->weight);
    t->has = takt_onnx_get(f->c, count, sizeof *t->has);
    if (t->weight == NULL || t->has == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        t->weight[i] = none;
    for (size_t i = 0; i < f->weight_count; i++) {
        const takt_forest_weight *w = &f->weights[i];
        const size_t at = w->leaf * f->targets + w->target;
        double *to = &t->weight[at];
        t->has[at] = true;
        if (adds(how))
            *to += w->weight;
        else if (how == TAKT_FOREST_MIN ? w->weight < *to : w->weight > *to)
            *to = w->weight;
    }
    return true;
}

/* `list` [leaves, targets] at the leaves, over the trees. */
static takt_id over_trees(takt_forest *f, const takt_op *op, takt_id list, takt_id leaf)
{
    const int64_t trees = 1;
    const takt_id rows = takt_onnx_gather(f->c, list, leaf, 0);
    return rows == TAKT_NONE ? rows : takt_reduce_over(f->c->g, op, rows, &trees, 1, false);
}

static takt_id dense(takt_forest *f, int how, const table *t, takt_id leaf)
{
    const int64_t dims[2] = {(int64_t)f->leaves, (int64_t)f->targets};
    const takt_op *op = how == TAKT_FOREST_MIN   ? &takt_op_reduce_min
                        : how == TAKT_FOREST_MAX ? &takt_op_reduce_max
                                                 : &takt_op_reduce_sum;
    return over_trees(f, op, takt_onnx_floats(f->c, f->dtype, t->weight, dims, 2), leaf);
}

/* Whether every target has a tree all of whose leaves have a weight of it. */
static bool is_complete(takt_forest *f, const table *all)
{
    bool *lacks = takt_onnx_get(f->c, f->trees, sizeof *lacks);
    if (f->is_shared)
        return false;
    for (size_t k = 0; lacks != NULL && k < f->targets; k++) {
        bool is_there = false;
        for (size_t t = 0; t < f->trees; t++)
            lacks[t] = false;
        for (size_t i = 0; i < f->leaves; i++)
            if (f->tree[i] >= 0 && !all->has[i * f->targets + k])
                lacks[f->tree[i]] = true;
        for (size_t t = 0; t < f->trees; t++)
            is_there = is_there || !lacks[t];
        if (!is_there)
            return false;
    }
    return true;
}

/* Whether there was any weight: [rows, targets]. TAKT_NONE: in any case. */
static takt_id has_any(takt_forest *f, const table *t, takt_id leaf)
{
    const size_t count = f->leaves * f->targets;
    const int64_t dims[2] = {(int64_t)f->leaves, (int64_t)f->targets};
    double *v = takt_onnx_get(f->c, count, sizeof *v);
    if (v == NULL || is_complete(f, t))
        return TAKT_NONE;
    for (size_t i = 0; i < count; i++)
        v[i] = t->has[i];
    const takt_id any =
        over_trees(f, &takt_op_reduce_max, takt_onnx_floats(f->c, TAKT_I32, v, dims, 2), leaf);
    return takt_onnx_cast(f->c, any, TAKT_BOOL);
}

/* Whether each target is some tree's. */
static bool all_targets(takt_forest *f, const single *s)
{
    size_t count = 0;
    bool *seen = takt_onnx_get(f->c, f->targets, sizeof *seen);
    for (size_t t = 0; seen != NULL && t < f->trees; t++) {
        if (s->target[t] < 0 || seen[s->target[t]])
            continue;
        seen[s->target[t]] = true;
        count++;
    }
    return count == f->targets;
}

takt_id takt_forest_scores(takt_forest *f, int how, takt_id *has)
{
    takt_call *c = f->c;
    const takt_id leaf = takt_forest_walk(f);
    single s = {0};
    table t = {0};
    takt_id any = TAKT_NONE, y;
    if (leaf == TAKT_NONE)
        return leaf;
    const bool is_single = adds(how) && find_single(f, &s);
    const bool asks = has != NULL || !adds(how);
    if ((!is_single || (asks && !all_targets(f, &s))) && !make_table(f, how, &t))
        return TAKT_NONE;
    if (asks && t.weight != NULL)
        any = has_any(f, &t, leaf);
    if (has != NULL)
        *has = any;
    y = is_single ? single_sum(f, leaf, &s) : dense(f, how, &t, leaf);
    if (y == TAKT_NONE || how == TAKT_FOREST_SUM)
        return y;
    if (how == TAKT_FOREST_AVERAGE)
        return takt_div(c->g, y, takt_scalar_like(c->g, y, (double)f->trees));
    return any == TAKT_NONE ? y : takt_select(c->g, any, y, takt_scalar_like(c->g, y, 0));
}
