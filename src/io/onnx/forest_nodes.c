/* forest_nodes.c - trees as TreeEnsembleClassifier and TreeEnsembleRegressor give them: nodes with
 * the number of their tree and their number in it, leaves among them, weights in separate lists. */
#include <stdio.h>

#include "base/hash.h"
#include "io/onnx/forest.h"

/* The attributes; `place` is the new position of a node. */
typedef struct list {
    takt_forest *f;
    takt_ints tree, node, feature, next[2], tracks;
    takt_numbers split;
    const takt_pb_attr *modes;
    size_t count;
    uint8_t *mode;   /* of each node; MODES is a leaf */
    uint32_t *table; /* of node + 1, by tree and number */
    size_t table_size;
    int64_t *place;
} list;

enum { LEAF = TAKT_FOREST_MODES };

static takt_status read_nodes(list *o)
{
    takt_call *c = o->f->c;
    o->tree = takt_onnx_ints(c, "nodes_treeids");
    o->node = takt_onnx_ints(c, "nodes_nodeids");
    o->feature = takt_onnx_ints(c, "nodes_featureids");
    o->next[1] = takt_onnx_ints(c, "nodes_truenodeids");
    o->next[0] = takt_onnx_ints(c, "nodes_falsenodeids");
    o->tracks = takt_onnx_ints(c, "nodes_missing_value_tracks_true");
    o->split = takt_ml_numbers(c, "nodes_values", "nodes_values_as_tensor");
    o->modes = takt_onnx_attr(c, "nodes_modes");
    o->count = o->tree.count;
    if (c->status != TAKT_OK)
        return c->status;
    const size_t n = o->count;
    if (n == 0 || n > TAKT_FOREST_MOST || o->node.count != n || o->feature.count != n ||
        o->next[0].count != n || o->next[1].count != n || o->split.count != n || o->modes == NULL ||
        o->modes->string_count != n)
        return takt_onnx_refuse(c, "lists of different lengths");
    return TAKT_OK;
}

static takt_status read_modes(list *o)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};
    takt_forest *f = o->f;
    o->mode = takt_onnx_get(f->c, o->count, sizeof *o->mode);
    if (o->mode == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < o->count; i++) {
        const takt_span text = o->modes->strings[i];
        uint8_t mode = 0;
        while (mode <= LEAF && (names[mode] == NULL || !takt_span_is(text, names[mode])))
            mode++;
        if (mode > LEAF)
            return takt_onnx_refuse(f->c, "node %zu has mode \"%.*s\"", i, (int)text.length,
                                    text.at);
        o->mode[i] = mode;
        if (mode == LEAF)
            f->leaves++;
        else
            f->branches++;
    }
    return TAKT_OK;
}

/* The position of (tree, node) in the table, or where it belongs. */
static size_t slot(const list *o, int64_t tree, int64_t node)
{
    size_t at = (size_t)takt_hash_word(takt_hash_word(0, (uint64_t)tree), (uint64_t)node) &
                (o->table_size - 1);
    while (o->table[at] != 0) {
        const size_t i = o->table[at] - 1;
        if (o->tree.at[i] == tree && o->node.at[i] == node)
            return at;
        at = (at + 1) & (o->table_size - 1);
    }
    return at;
}

static takt_status index_nodes(list *o)
{
    takt_call *c = o->f->c;
    for (o->table_size = 16; o->table_size < 2 * o->count;)
        o->table_size *= 2;
    o->table = takt_onnx_get(c, o->table_size, sizeof *o->table);
    o->place = takt_onnx_get(c, o->count, sizeof *o->place);
    if (o->table == NULL || o->place == NULL)
        return TAKT_ERR_MEMORY;
    size_t branch = 0, leaf = o->f->branches;
    for (size_t i = 0; i < o->count; i++) {
        const size_t at = slot(o, o->tree.at[i], o->node.at[i]);
        if (o->table[at] != 0)
            return takt_onnx_refuse(c, "tree %lld has node %lld twice", (long long)o->tree.at[i],
                                    (long long)o->node.at[i]);
        o->table[at] = (uint32_t)i + 1;
        o->place[i] = (int64_t)(o->mode[i] == LEAF ? leaf++ : branch++);
    }
    return TAKT_OK;
}

static takt_status find(list *o, int64_t tree, int64_t node, int64_t *place)
{
    const uint32_t at = o->table[slot(o, tree, node)];
    if (at == 0)
        return takt_onnx_refuse(o->f->c, "tree %lld has no node %lld", (long long)tree,
                                (long long)node);
    *place = o->place[at - 1];
    return TAKT_OK;
}

static takt_status fill_branches(list *o)
{
    takt_forest *f = o->f;
    for (size_t i = 0; i < o->count; i++) {
        if (o->mode[i] == LEAF)
            continue;
        const size_t b = (size_t)o->place[i];
        f->feature[b] = o->feature.at[i];
        f->split[b] = o->split.at[i];
        f->mode[b] = o->mode[i];
        f->tracks[b] = i < o->tracks.count && o->tracks.at[i] != 0;
        for (int k = 0; k < 2; k++)
            TAKT_TRY(find(o, o->tree.at[i], o->next[k].at[i], &f->next[k][b]));
    }
    return TAKT_OK;
}

/* A tree begins at its first node. Nodes of a tree are usually contiguous; a tree that continues
 * later is recognised by its first node, which is already listed. */
static takt_status find_roots(list *o)
{
    takt_forest *f = o->f;
    size_t size = 16, mask;
    while (size < 2 * o->count)
        size *= 2;
    mask = size - 1;
    uint32_t *seen = takt_onnx_get(f->c, size, sizeof *seen);
    int64_t *first = takt_onnx_get(f->c, o->count, sizeof *first);
    if (seen == NULL || first == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < o->count; i++) {
        if (i > 0 && o->tree.at[i] == o->tree.at[i - 1])
            continue;
        size_t at = (size_t)takt_hash_word(0, (uint64_t)o->tree.at[i]) & mask;
        while (seen[at] != 0 && o->tree.at[seen[at] - 1] != o->tree.at[i])
            at = (at + 1) & mask;
        if (seen[at] != 0)
            continue;
        seen[at] = (uint32_t)i + 1;
        first[f->trees++] = (int64_t)i;
    }
    f->root = first;
    return TAKT_OK;
}

/* The lists of weights; `what` is "class" or "target". */
typedef struct lists {
    takt_ints id, node, tree;
    takt_numbers weight;
} lists;

static takt_status read_weights(takt_forest *f, const char *what, lists *l)
{
    char names[5][40];
    static const char *const ends[] = {"ids", "nodeids", "treeids", "weights", "weights_as_tensor"};
    for (size_t i = 0; i < 5; i++)
        snprintf(names[i], sizeof names[i], "%s_%s", what, ends[i]);
    l->id = takt_onnx_ints(f->c, names[0]);
    l->node = takt_onnx_ints(f->c, names[1]);
    l->tree = takt_onnx_ints(f->c, names[2]);
    l->weight = takt_ml_numbers(f->c, names[3], names[4]);
    f->weight_count = l->id.count;
    if (f->c->status != TAKT_OK)
        return f->c->status;
    if (l->node.count != l->id.count || l->tree.count != l->id.count ||
        l->weight.count != l->id.count)
        return takt_onnx_refuse(f->c, "lists of different lengths");
    return TAKT_OK;
}

static takt_status fill_weights(list *o, const char *what, const lists *l)
{
    takt_forest *f = o->f;
    f->weight_count = 0;
    for (size_t i = 0; i < l->id.count; i++) {
        int64_t place = 0;
        TAKT_TRY(find(o, l->tree.at[i], l->node.at[i], &place));
        if (l->id.at[i] < 0 || (uint64_t)l->id.at[i] >= f->targets)
            return takt_onnx_refuse(f->c, "a weight of %s %lld", what, (long long)l->id.at[i]);
        if ((size_t)place >= f->branches) /* those of branches are ignored */
            f->weights[f->weight_count++] = (takt_forest_weight){
                (size_t)place - f->branches, (size_t)l->id.at[i], l->weight.at[i]};
    }
    return TAKT_OK;
}

takt_status takt_forest_read_nodes(takt_forest *f, const char *what)
{
    list o = {.f = f};
    lists l = {0};
    TAKT_TRY(read_nodes(&o));
    TAKT_TRY(read_weights(f, what, &l));
    TAKT_TRY(read_modes(&o));
    TAKT_TRY(index_nodes(&o));
    TAKT_TRY(find_roots(&o));
    const int64_t *first = f->root;
    TAKT_TRY(takt_forest_alloc(f));
    for (size_t t = 0; t < f->trees; t++)
        f->root[t] = o.place[first[t]];
    TAKT_TRY(fill_branches(&o));
    TAKT_TRY(fill_weights(&o, what, &l));
    return takt_forest_check(f);
}
