/* forest.c - the description of an ensemble of trees, and its validation. */
#include "io/onnx/forest.h"

enum { DEEPEST = 4096 };

/* Tables of trees or leaves by target are built only if they are not much larger than the file's
 * own data: a number in the file must not cause gigabytes to be allocated. */
static bool fits(const takt_forest *f, size_t rows)
{
    return f->targets <= (64 * f->weight_count + (1 << 16)) / rows;
}

takt_status takt_forest_alloc(takt_forest *f)
{
    takt_call *c = f->c;
    if (f->branches > TAKT_FOREST_MOST || f->leaves > TAKT_FOREST_MOST || f->leaves == 0 ||
        f->weight_count > TAKT_FOREST_MOST || f->targets == 0 || f->trees == 0 ||
        f->trees > TAKT_FOREST_MOST || !fits(f, f->trees) || !fits(f, f->leaves))
        return takt_onnx_refuse(c, "%zu trees of %zu branches and %zu leaves with %zu targets",
                                f->trees, f->branches, f->leaves, f->targets);
    for (int k = 0; k < 2; k++)
        f->next[k] = takt_onnx_get(c, f->branches, sizeof **f->next);
    f->feature = takt_onnx_get(c, f->branches, sizeof *f->feature);
    f->split = takt_onnx_get(c, f->branches, sizeof *f->split);
    f->mode = takt_onnx_get(c, f->branches, sizeof *f->mode);
    f->tracks = takt_onnx_get(c, f->branches, sizeof *f->tracks);
    f->root = takt_onnx_get(c, f->trees, sizeof *f->root);
    f->tree = takt_onnx_get(c, f->leaves, sizeof *f->tree);
    f->weights = takt_onnx_get(c, f->weight_count, sizeof *f->weights);
    return c->status;
}

/* Branches in topological order; `level` is the longest path to each. Fails if a branch leads back
 * to itself. */
static takt_status sort(takt_forest *f, size_t *level, size_t *order)
{
    const size_t n = f->branches;
    size_t *waits = takt_onnx_get(f->c, n, sizeof *waits), done = 0, found = 0;
    if (waits == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            if ((size_t)f->next[k][i] < n)
                waits[f->next[k][i]]++;
    for (size_t i = 0; i < n; i++)
        if (waits[i] == 0)
            order[found++] = i;
    for (; done < found; done++)
        for (int k = 0; k < 2; k++) {
            const size_t from = order[done], to = (size_t)f->next[k][from];
            if (to >= n)
                continue;
            level[to] = level[from] + 1 > level[to] ? level[from] + 1 : level[to];
            if (--waits[to] == 0)
                order[found++] = to;
        }
    return done == n ? TAKT_OK : takt_onnx_refuse(f->c, "a branch leads back to itself");
}

/* The tree of each leaf: that of the branch that leads to it; the last of several. */
static takt_status find_trees(takt_forest *f, const size_t *order)
{
    const size_t n = f->branches;
    int64_t *tree = takt_onnx_get(f->c, takt_forest_places(f), sizeof *tree);
    if (tree == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < takt_forest_places(f); i++)
        tree[i] = -1;
    for (size_t t = 0; t < f->trees; t++)
        tree[f->root[t]] = (int64_t)t;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            if (tree[order[i]] >= 0)
                tree[f->next[k][order[i]]] = tree[order[i]];
    for (size_t i = 0; i < f->leaves; i++)
        f->tree[i] = tree[n + i];
    return TAKT_OK;
}

takt_status takt_forest_check(takt_forest *f)
{
    takt_call *c = f->c;
    const takt_dim width = takt_type_of(c->g, f->x)->dim[1];
    for (size_t i = 0; i < f->branches; i++)
        if (f->feature[i] < 0 || f->feature[i] >= width)
            return takt_onnx_refuse(c, "branch %zu looks at feature %lld of %lld", i,
                                    (long long)f->feature[i], (long long)width);
    size_t *level = takt_onnx_get(c, f->branches, sizeof *level);
    size_t *order = takt_onnx_get(c, f->branches, sizeof *order);
    if (level == NULL || order == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(sort(f, level, order));
    for (size_t i = 0; i < f->branches; i++)
        f->depth = level[i] + 1 > f->depth ? level[i] + 1 : f->depth;
    if (f->depth > DEEPEST)
        return takt_onnx_refuse(c, "a tree of more than %d levels", DEEPEST);
    return find_trees(f, order);
}
