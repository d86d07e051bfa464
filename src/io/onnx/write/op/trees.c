/* trees.c - ensembles of trees as TreeEnsembleRegressor of ai.onnx.ml 3.
 *
 * It requires every node in one place of one tree, floats, and 0 for missing values; anything else
 * becomes a node of domain "takt".
 */
#include "op/util/trees.h"
#include "io/onnx/write/emit.h"

enum { ROOM = 9 }; /* lists with an entry for each node */

typedef struct work {
    takt_emit *e;
    takt_trees t;
    size_t nodes;
    int64_t *tree, *node, *feature, *next[2], *tracks; /* of each node */
    const char **mode;
    double *split;
    int64_t *number; /* per position: the node that it has become, -1 if none */
    int64_t *owner;  /* its tree */
} work;

static void *get(work *w, size_t count, size_t size)
{
    void *block = takt_arena_array(&w->e->arena, count, size);
    if (block == NULL)
        w->e->status = TAKT_ERR_MEMORY;
    return block;
}

/* Elements of a constant input as doubles or 64-bit integers; NULL: there is none. */
static void *widened(work *w, size_t input)
{
    const takt_tensor *c = takt_emit_constant(w->e, input);
    const size_t count = c != NULL ? takt_tensor_count(c) : 0;
    double *f = c != NULL ? get(w, count, sizeof *f) : NULL;
    int64_t *i = (int64_t *)(void *)f;
    for (size_t k = 0; f != NULL && k < count; k++)
        if (takt_dtype_is_float(c->type.dtype))
            f[k] = takt_dtype_get_f(c->type.dtype, takt_tensor_data(c), k);
        else
            i[k] = takt_dtype_get_i(c->type.dtype, takt_tensor_data(c), k);
    return f;
}

static bool open_tables(work *w, const takt_node *n)
{
    const takt_type *type[TAKT_TREES_INPUTS] = {0};
    for (uint32_t k = 0; k < n->in_count && k < TAKT_TREES_MEMBER; k++)
        type[k] = takt_emit_type(w->e, k);
    if (type[TAKT_TREES_X]->dtype != TAKT_F32 || n->attr[TAKT_TREES_NONE].f64 != 0 ||
        !takt_dim_is_number(type[TAKT_TREES_X]->dim[1]))
        return false;
    w->t = takt_trees_of(n, type);
    w->t.branch = (const int64_t(*)[5])widened(w, TAKT_TREES_BRANCH);
    w->t.split = widened(w, TAKT_TREES_SPLIT);
    w->t.root = widened(w, TAKT_TREES_ROOT);
    w->t.give = (const int64_t(*)[2])widened(w, TAKT_TREES_GIVE);
    w->t.weight = widened(w, TAKT_TREES_WEIGHT);
    takt_trees_bad bad;
    return w->t.branch != NULL && w->t.split != NULL && w->t.root != NULL && w->t.give != NULL &&
           w->t.weight != NULL && !takt_trees_find_bad(&w->t, &bad);
}

static bool open_lists(work *w)
{
    const size_t places = w->t.branches + w->t.leaves;
    int64_t **lists[ROOM] = {&w->tree,    &w->node,   &w->feature, &w->next[0],
                             &w->next[1], &w->tracks, &w->number,  &w->owner};
    for (size_t i = 0; i < ROOM && lists[i] != NULL; i++)
        *lists[i] = get(w, places, sizeof **lists[i]);
    w->mode = get(w, places, sizeof *w->mode);
    w->split = get(w, places, sizeof *w->split);
    for (size_t i = 0; w->e->status == TAKT_OK && i < places; i++)
        w->number[i] = -1;
    return w->e->status == TAKT_OK;
}

/* A position becomes the next node of the tree; false if it already is one. */
static bool add(work *w, size_t tree, size_t first, int64_t place, int64_t *number)
{
    if (w->number[place] >= 0)
        return false;
    *number = w->number[place] = (int64_t)(w->nodes - first);
    w->owner[place] = (int64_t)tree;
    w->tree[w->nodes] = (int64_t)tree;
    w->node[w->nodes] = *number;
    w->feature[w->nodes++] = place; /* until this node is written */
    return true;
}

static bool put_tree(work *w, size_t tree)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const takt_trees *t = &w->t;
    const size_t first = w->nodes;
    int64_t unused;
    if (!add(w, tree, first, t->root[tree], &unused))
        return false;
    for (size_t i = first; i < w->nodes; i++) {
        const size_t place = (size_t)w->feature[i];
        const bool is_leaf = place >= t->branches;
        if (!is_leaf && t->branch[place][1] == TAKT_TREES_IS_MEMBER)
            return false;
        w->feature[i] = is_leaf ? 0 : t->branch[place][0];
        w->mode[i] = is_leaf ? "LEAF" : modes[t->branch[place][1]];
        w->split[i] = is_leaf ? 0 : t->split[place];
        w->tracks[i] = !is_leaf && t->branch[place][2] != 0;
        for (int k = 1; k >= 0 && !is_leaf; k--)
            if (!add(w, tree, first, takt_trees_next(t, place, k), &w->next[k][i]))
                return false;
    }
    return true;
}

static bool put_trees(work *w)
{
    for (size_t i = 0; i < w->t.trees; i++)
        if (!put_tree(w, i))
            return false;
    return w->nodes > 0;
}

static void emit_nodes(work *w)
{
    takt_emit *e = w->e;
    const size_t n = w->nodes;
    takt_emit_ints(e, "nodes_treeids", w->tree, n);
    takt_emit_ints(e, "nodes_nodeids", w->node, n);
    takt_emit_ints(e, "nodes_featureids", w->feature, n);
    takt_emit_ints(e, "nodes_truenodeids", w->next[1], n);
    takt_emit_ints(e, "nodes_falsenodeids", w->next[0], n);
    takt_emit_ints(e, "nodes_missing_value_tracks_true", w->tracks, n);
    takt_emit_floats(e, "nodes_values", w->split, n);
    takt_emit_strings(e, "nodes_modes", w->mode, n);
}

/* Weights of leaves that belong to some tree. */
static void emit_weights(work *w)
{
    const takt_trees *t = &w->t;
    int64_t *list[3];
    double *weight = get(w, t->gives, sizeof *weight);
    size_t count = 0;
    for (int k = 0; k < 3; k++)
        list[k] = get(w, t->gives, sizeof **list);
    for (size_t i = 0; w->e->status == TAKT_OK && i < t->gives; i++) {
        const size_t place = t->branches + (size_t)t->give[i][0];
        if (w->number[place] < 0)
            continue;
        list[0][count] = w->owner[place];
        list[1][count] = w->number[place];
        list[2][count] = t->give[i][1];
        weight[count++] = t->weight[i];
    }
    takt_emit_ints(w->e, "target_treeids", list[0], count);
    takt_emit_ints(w->e, "target_nodeids", list[1], count);
    takt_emit_ints(w->e, "target_ids", list[2], count);
    takt_emit_floats(w->e, "target_weights", weight, count);
}

static bool emit(takt_emit *e, const takt_node *n)
{
    static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    work w = {.e = e};
    if (!open_tables(&w, n) || !open_lists(&w) || !put_trees(&w))
        return false;
    emit_nodes(&w);
    emit_weights(&w);
    takt_emit_i(e, "n_targets", (int64_t)w.t.targets);
    takt_emit_s(e, "aggregate_function", aggregates[w.t.aggregate]);
    const char *x = takt_emit_in(e, TAKT_TREES_X);
    e->uses_ml = true;
    takt_emit_call_many(e, "TreeEnsembleRegressor", "ai.onnx.ml", (takt_emit_list){1, e->outs},
                        (takt_emit_list){1, &x});
    for (size_t k = TAKT_TREES_BRANCH; k < n->in_count; k++)
        takt_emit_unweigh(e, k);
    return true;
}

const takt_emitter takt_emit_op_trees = {.ops = {&takt_op_tree_ensemble}, .emit = emit};
