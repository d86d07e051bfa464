/* forest_scores.c - an ensemble as one node of the graph, its tables as constants. */
#include "io/onnx/forest.h"
#include "op/util/trees.h"

static takt_id table(takt_forest *f, takt_dtype dtype, const double *v, size_t rows,
                     int64_t columns)
{
    const int64_t dims[2] = {(int64_t)rows, columns};
    return takt_onnx_floats(f->c, dtype, v, dims, columns > 0 ? 2 : 1);
}

static takt_id branches(takt_forest *f)
{
    double *v = takt_onnx_get(f->c, f->branches, 5 * sizeof *v), *to = v;
    for (size_t i = 0; v != NULL && i < f->branches; i++) {
        *to++ = (double)f->feature[i];
        *to++ = f->mode[i];
        *to++ = f->tracks[i];
        *to++ = (double)f->next[0][i];
        *to++ = (double)f->next[1][i];
    }
    return v != NULL ? table(f, TAKT_I32, v, f->branches, 5) : TAKT_NONE;
}

static takt_id roots(takt_forest *f)
{
    double *v = takt_onnx_get(f->c, f->trees, sizeof *v);
    for (size_t i = 0; v != NULL && i < f->trees; i++)
        v[i] = (double)f->root[i];
    return v != NULL ? table(f, TAKT_I32, v, f->trees, 0) : TAKT_NONE;
}

/* Which leaf contributes to which target, and how much. */
static bool weights(takt_forest *f, takt_id *give, takt_id *weight)
{
    double *v = takt_onnx_get(f->c, f->weight_count, 2 * sizeof *v);
    double *w = takt_onnx_get(f->c, f->weight_count, sizeof *w);
    if (v == NULL || w == NULL)
        return false;
    for (size_t i = 0; i < f->weight_count; i++) {
        v[2 * i] = (double)f->weights[i].leaf;
        v[2 * i + 1] = (double)f->weights[i].target;
        w[i] = f->weights[i].weight;
    }
    *give = table(f, TAKT_I32, v, f->weight_count, 2);
    *weight = table(f, f->dtype, w, f->weight_count, 0);
    return true;
}

static bool has_sets(const takt_forest *f)
{
    for (size_t i = 0; i < f->branches; i++)
        if (f->mode[i] == TAKT_FOREST_MEMBER)
            return true;
    return false;
}

takt_id takt_forest_scores(takt_forest *f, int how, double none)
{
    takt_call *c = f->c;
    takt_id in[TAKT_TREES_INPUTS] = {f->x};
    in[TAKT_TREES_BRANCH] = branches(f);
    in[TAKT_TREES_SPLIT] = table(f, f->dtype, f->split, f->branches, 0);
    in[TAKT_TREES_ROOT] = roots(f);
    const bool is_whole = weights(f, &in[TAKT_TREES_GIVE], &in[TAKT_TREES_WEIGHT]);
    const size_t count = has_sets(f) ? TAKT_TREES_INPUTS : TAKT_TREES_MEMBER;
    if (count > TAKT_TREES_MEMBER)
        in[TAKT_TREES_MEMBER] = table(f, f->dtype, f->members.at, f->members.count, 0);
    if (!is_whole || c->status != TAKT_OK || c->g->status != TAKT_OK)
        return TAKT_NONE;
    const takt_named_attr attrs[] = {{"targets", takt_attr_i64((int64_t)f->targets)},
                                     {"leaves", takt_attr_i64((int64_t)f->leaves)},
                                     {"depth", takt_attr_i64((int64_t)f->depth)},
                                     {"aggregate", takt_attr_i64(how)},
                                     {"none", takt_attr_f64(none)}};
    return takt_graph_call(c->g, &takt_op_tree_ensemble, count, in, 5, attrs);
}

bool takt_forest_is_complete(takt_forest *f)
{
    const size_t cells = f->trees * f->targets;
    bool *lacks = takt_onnx_get(f->c, cells, sizeof *lacks);
    size_t *last = takt_onnx_get(f->c, f->leaves * f->targets, sizeof *last);
    if (lacks == NULL || last == NULL)
        return false;
    for (size_t i = 0; i < f->weight_count; i++)
        last[f->weights[i].leaf * f->targets + f->weights[i].target] = 1;
    for (size_t i = 0; i < f->leaves; i++)
        for (size_t k = 0; k < f->targets && f->tree[i] >= 0; k++)
            if (last[i * f->targets + k] == 0)
                lacks[(size_t)f->tree[i] * f->targets + k] = true;
    for (size_t k = 0; k < f->targets; k++) {
        size_t t = 0;
        while (t < f->trees && lacks[t * f->targets + k])
            t++;
        if (t == f->trees)
            return false;
    }
    return true;
}
