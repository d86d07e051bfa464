/* forest_scores.c - what the leaves that were reached give together. */
#include <math.h>

#include "io/onnx/forest.h"

/* The target of each tree if all its leaves have one weight, a finite one, of one target. */
static bool find_single(const takt_forest *f, int64_t *target)
{
    if (f->is_shared)
        return false;
    for (size_t t = 0; t < f->trees; t++)
        target[t] = -1;
    for (size_t i = 0; i < f->leaves; i++) {
        size_t count = 0;
        int64_t at = -1;
        for (size_t k = 0; k < f->targets; k++)
            if (f->has[i * f->targets + k]) {
                count++;
                at = (int64_t)k;
            }
        if (f->tree[i] < 0)
            continue;
        int64_t *of_tree = &target[f->tree[i]];
        if (count != 1 || (*of_tree >= 0 && *of_tree != at) ||
            !isfinite(f->weight[i * f->targets + (size_t)at]))
            return false;
        *of_tree = at;
    }
    return true;
}

/* Every tree has one target: the weights of [rows, trees] times which tree is whose. */
static takt_id single_sum(takt_forest *f, takt_id leaf, const int64_t *target)
{
    takt_call *c = f->c;
    double *w = takt_onnx_get(c, f->leaves, sizeof *w);
    double *whose = takt_onnx_get(c, f->trees * f->targets, sizeof *whose);
    if (w == NULL || whose == NULL)
        return TAKT_NONE;
    for (size_t i = 0; i < f->leaves; i++)
        for (size_t k = 0; k < f->targets; k++)
            if (f->has[i * f->targets + k])
                w[i] = f->weight[i * f->targets + k];
    for (size_t t = 0; t < f->trees; t++)
        if (target[t] >= 0)
            whose[t * f->targets + (size_t)target[t]] = 1;
    const int64_t count = (int64_t)f->leaves, dims[2] = {(int64_t)f->trees, (int64_t)f->targets};
    const takt_id rows = takt_onnx_gather(c, takt_onnx_floats(c, f->dtype, w, &count, 1), leaf, 0);
    if (rows == TAKT_NONE)
        return rows;
    return takt_matmul(c->g, rows, takt_onnx_floats(c, f->dtype, whose, dims, 2), false, false);
}

/* `table` [leaves, targets] at the leaves, over the trees. */
static takt_id over_trees(takt_forest *f, const takt_op *op, takt_id table, takt_id leaf)
{
    const int64_t trees = 1;
    const takt_id rows = takt_onnx_gather(f->c, table, leaf, 0);
    return rows == TAKT_NONE ? rows : takt_reduce_over(f->c->g, op, rows, &trees, 1, false);
}

static takt_id dense(takt_forest *f, int how, takt_id leaf)
{
    const int64_t dims[2] = {(int64_t)f->leaves, (int64_t)f->targets};
    const size_t count = f->leaves * f->targets;
    const double none = how == TAKT_FOREST_MIN ? INFINITY : how == TAKT_FOREST_MAX ? -INFINITY : 0;
    const takt_op *op = how == TAKT_FOREST_MIN   ? &takt_op_reduce_min
                        : how == TAKT_FOREST_MAX ? &takt_op_reduce_max
                                                 : &takt_op_reduce_sum;
    for (size_t i = 0; i < count; i++)
        if (!f->has[i])
            f->weight[i] = none;
    return over_trees(f, op, takt_onnx_floats(f->c, f->dtype, f->weight, dims, 2), leaf);
}

/* Whether every target has a tree all of whose leaves have a weight of it. */
static bool is_complete(takt_forest *f)
{
    bool *lacks = takt_onnx_get(f->c, f->trees, sizeof *lacks);
    if (f->is_shared)
        return false;
    for (size_t k = 0; lacks != NULL && k < f->targets; k++) {
        bool is_there = false;
        for (size_t t = 0; t < f->trees; t++)
            lacks[t] = false;
        for (size_t i = 0; i < f->leaves; i++)
            if (f->tree[i] >= 0 && !f->has[i * f->targets + k])
                lacks[f->tree[i]] = true;
        for (size_t t = 0; t < f->trees; t++)
            is_there = is_there || !lacks[t];
        if (!is_there)
            return false;
    }
    return true;
}

/* TAKT_NONE: in any case. */
static takt_id has_any(takt_forest *f, takt_id leaf)
{
    const size_t count = f->leaves * f->targets;
    const int64_t dims[2] = {(int64_t)f->leaves, (int64_t)f->targets};
    double *v = takt_onnx_get(f->c, count, sizeof *v);
    if (v == NULL || is_complete(f))
        return TAKT_NONE;
    for (size_t i = 0; i < count; i++)
        v[i] = f->has[i];
    const takt_id any =
        over_trees(f, &takt_op_reduce_max, takt_onnx_floats(f->c, TAKT_I32, v, dims, 2), leaf);
    return takt_onnx_cast(f->c, any, TAKT_BOOL);
}

takt_id takt_forest_scores(takt_forest *f, int how, takt_id *has)
{
    takt_call *c = f->c;
    const bool adds = how == TAKT_FOREST_SUM || how == TAKT_FOREST_AVERAGE;
    const takt_id leaf = takt_forest_walk(f);
    int64_t *target = takt_onnx_get(c, f->trees, sizeof *target);
    if (leaf == TAKT_NONE || target == NULL)
        return TAKT_NONE;
    const takt_id any = has != NULL || !adds ? has_any(f, leaf) : TAKT_NONE;
    if (has != NULL)
        *has = any;
    if (adds) {
        const takt_id sum =
            find_single(f, target) ? single_sum(f, leaf, target) : dense(f, how, leaf);
        if (how == TAKT_FOREST_SUM || sum == TAKT_NONE)
            return sum;
        return takt_div(c->g, sum, takt_scalar_like(c->g, sum, (double)f->trees));
    }
    const takt_id best = dense(f, how, leaf);
    if (any == TAKT_NONE || best == TAKT_NONE)
        return best;
    return takt_select(c->g, any, best, takt_scalar_like(c->g, best, 0));
}
