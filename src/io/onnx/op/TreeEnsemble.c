/* TreeEnsemble.c - ai.onnx.ml TreeEnsemble: all trees are walked at once, one level at a time.
 *
 * A place in a tree is a number: a branch, or the number of branches plus a leaf, which leads to
 * itself. After as many steps as the deepest tree has levels every place is a leaf.
 */
#include <math.h>

#include "io/onnx/adapt.h"

enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, MODES };
enum { AVERAGE, SUM, MIN, MAX };
enum { DEEPEST = 4096, MOST = 1 << 24 };

typedef struct numbers {
    double *at;
    size_t count;
} numbers;

typedef struct forest {
    takt_call *c;
    takt_graph *g;
    takt_dtype dtype; /* of x, splits and weights */
    takt_id x;        /* [rows, features] */
    takt_dim rows;
    size_t branches, leaves, places, depth, set_size;
    takt_ints feature, next[2], is_leaf[2], roots, target; /* [0]: if false, [1]: if true */
    numbers mode, split, members, weight;
    int64_t targets;
} forest;

/* A tensor among the attributes, as doubles. */
static numbers table(takt_call *c, const char *name)
{
    const takt_pb_attr *a = takt_onnx_attr(c, name);
    numbers n = {0};
    takt_tensor t = {0};
    if (a == NULL || a->t == NULL || c->status != TAKT_OK)
        return n;
    c->status = takt_onnx_tensor(c->im->source, a->t, &t);
    if (c->status != TAKT_OK)
        return n;
    n.count = takt_tensor_count(&t);
    n.at = takt_onnx_get(c, n.count, sizeof *n.at);
    for (size_t i = 0; n.at != NULL && i < n.count; i++)
        n.at[i] = takt_dtype_is_float(t.type.dtype)
                      ? takt_dtype_get_f(t.type.dtype, takt_tensor_data(&t), i)
                      : (double)takt_dtype_get_i(t.type.dtype, takt_tensor_data(&t), i);
    takt_tensor_release(&t);
    if (n.at == NULL)
        c->status = TAKT_ERR_MEMORY;
    return n;
}

/* ---- reading ---- */

static takt_status check(forest *f)
{
    takt_call *c = f->c;
    const size_t n = f->branches;
    if (n > MOST || f->leaves > MOST || f->leaves == 0 || f->mode.count != n ||
        f->split.count != n || f->next[0].count != n || f->next[1].count != n ||
        f->is_leaf[0].count != n || f->is_leaf[1].count != n || f->weight.count != f->leaves)
        return takt_onnx_refuse(c, "lists of different lengths");
    for (size_t i = 0; i < n; i++) {
        if (!(f->mode.at[i] >= 0 && f->mode.at[i] < MODES) || f->feature.at[i] < 0)
            return takt_onnx_refuse(c, "branch %zu has mode %g", i, f->mode.at[i]);
        for (int k = 0; k < 2; k++) {
            const int64_t most = f->is_leaf[k].at[i] != 0 ? (int64_t)f->leaves : (int64_t)n;
            if (f->next[k].at[i] < 0 || f->next[k].at[i] >= most)
                return takt_onnx_refuse(c, "branch %zu leads to %lld of %lld", i,
                                        (long long)f->next[k].at[i], (long long)most);
        }
    }
    for (size_t i = 0; i < f->leaves; i++)
        if (f->target.at[i] < 0 || f->target.at[i] >= f->targets)
            return takt_onnx_refuse(c, "leaf %zu has target %lld", i, (long long)f->target.at[i]);
    for (size_t i = 0; i < f->roots.count; i++)
        if (f->roots.at[i] < 0 || (size_t)f->roots.at[i] >= n)
            return takt_onnx_refuse(c, "a tree begins at %lld", (long long)f->roots.at[i]);
    return TAKT_OK;
}

/* Levels below each branch, by relaxing until nothing changes: branches may stand in any order. */
static takt_status find_depth(forest *f)
{
    size_t *below = takt_onnx_get(f->c, f->branches, sizeof *below);
    bool changed = true;
    if (below == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < f->branches; i++)
        below[i] = 1;
    while (changed) {
        changed = false;
        for (size_t i = f->branches; i-- > 0;)
            for (int k = 0; k < 2; k++) {
                const size_t to = (size_t)f->next[k].at[i];
                if (f->is_leaf[k].at[i] != 0 || below[i] > below[to])
                    continue;
                below[i] = below[to] + 1;
                changed = true;
                if (below[i] > DEEPEST)
                    return takt_onnx_refuse(f->c, "a tree of more than %d levels", DEEPEST);
            }
    }
    for (size_t i = 0; i < f->roots.count; i++) {
        const size_t depth = below[f->roots.at[i]];
        f->depth = depth > f->depth ? depth : f->depth;
    }
    return TAKT_OK;
}

static takt_status read_forest(forest *f)
{
    takt_call *c = f->c;
    f->feature = takt_onnx_ints(c, "nodes_featureids");
    f->next[1] = takt_onnx_ints(c, "nodes_truenodeids");
    f->next[0] = takt_onnx_ints(c, "nodes_falsenodeids");
    f->is_leaf[1] = takt_onnx_ints(c, "nodes_trueleafs");
    f->is_leaf[0] = takt_onnx_ints(c, "nodes_falseleafs");
    f->roots = takt_onnx_ints(c, "tree_roots");
    f->target = takt_onnx_ints(c, "leaf_targetids");
    f->mode = table(c, "nodes_modes");
    f->split = table(c, "nodes_splits");
    f->members = table(c, "membership_values");
    f->weight = table(c, "leaf_weights");
    f->targets = takt_onnx_i(c, "n_targets", 1);
    f->branches = f->feature.count;
    f->leaves = f->target.count;
    f->places = f->branches + f->leaves;
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(check(f));
    return find_depth(f);
}

/* ---- building ---- */

/* Column `name` of all places, leaves with 0: [places]. */
static takt_id column(forest *f, takt_dtype dtype, const double *v)
{
    const int64_t count = (int64_t)f->places;
    return takt_onnx_floats(f->c, dtype, v, &count, 1);
}

/* Entries of a list of all places at the current ones, [rows, trees]. */
static takt_id at_places(forest *f, takt_id list, takt_id place)
{
    return takt_onnx_gather(f->c, list, place, 0);
}

/* Sets of members, one row for each place, and NaN where there are no more. */
static takt_id member_sets(forest *f)
{
    size_t used = 0, longest = 1, length = 0;
    for (size_t i = 0; i < f->members.count; i++) {
        length = isnan(f->members.at[i]) ? 0 : length + 1;
        longest = length > longest ? length : longest;
    }
    double *v = takt_onnx_get(f->c, f->places * longest, sizeof *v);
    if (v == NULL)
        return TAKT_NONE;
    f->set_size = longest;
    for (size_t i = 0; i < f->places * longest; i++)
        v[i] = NAN;
    for (size_t i = 0; i < f->branches; i++) {
        if (f->mode.at[i] != MEMBER)
            continue;
        for (size_t k = 0; used < f->members.count && !isnan(f->members.at[used]); k++)
            v[i * longest + k] = f->members.at[used++];
        used++;
    }
    return takt_onnx_floats(f->c, f->dtype, v, (int64_t[]){(int64_t)f->places, (int64_t)longest},
                            2);
}

static takt_id is_member(forest *f, takt_id sets, takt_id place, takt_id value)
{
    const int64_t last = 2;
    const takt_id set = takt_onnx_gather(f->c, sets, place, 0);
    const takt_id same = takt_binary(f->g, &takt_op_eq, takt_onnx_unsqueeze(f->c, value, 2), set);
    const takt_id any = takt_reduce_over(f->g, &takt_op_reduce_max,
                                         takt_onnx_cast(f->c, same, TAKT_I32), &last, 1, false);
    return takt_onnx_cast(f->c, any, TAKT_BOOL);
}

/* What every step looks things up in. */
typedef struct lists {
    takt_id feature, split, next[2], missing, mode[MODES], sets;
} lists;

static lists make_lists(forest *f)
{
    lists l = {.sets = TAKT_NONE};
    const takt_ints tracks = takt_onnx_ints(f->c, "nodes_missing_value_tracks_true");
    double *v = takt_onnx_get(f->c, 8 * f->places, sizeof *v);
    if (v == NULL)
        return l;
    double *row[8];
    for (size_t k = 0; k < 8; k++)
        row[k] = v + k * f->places;
    for (size_t i = 0; i < f->places; i++) {
        const bool is_branch = i < f->branches;
        row[0][i] = is_branch ? (double)f->feature.at[i] : 0;
        row[1][i] = is_branch ? f->split.at[i] : 0;
        row[4][i] = is_branch && i < tracks.count && tracks.at[i] != 0;
        for (int k = 0; k < 2; k++)
            row[2 + k][i] = !is_branch ? (double)i
                                       : (double)f->next[k].at[i] +
                                             (f->is_leaf[k].at[i] != 0 ? (double)f->branches : 0);
    }
    l.feature = column(f, TAKT_I64, row[0]);
    l.split = column(f, f->dtype, row[1]);
    l.next[0] = column(f, TAKT_I64, row[2]);
    l.next[1] = column(f, TAKT_I64, row[3]);
    l.missing = column(f, TAKT_BOOL, row[4]);
    for (int m = 0; m < MODES; m++) {
        bool is_used = false;
        for (size_t i = 0; i < f->places; i++) {
            row[5][i] = i < f->branches && f->mode.at[i] == m;
            is_used = is_used || row[5][i] != 0;
        }
        l.mode[m] = is_used ? column(f, TAKT_BOOL, row[5]) : TAKT_NONE;
    }
    if (l.mode[MEMBER] != TAKT_NONE)
        l.sets = member_sets(f);
    return l;
}

static takt_id compare(forest *f, const lists *l, int mode, takt_id place, takt_id value)
{
    static const takt_op *const ops[] = {&takt_op_le, &takt_op_lt, &takt_op_ge,
                                         &takt_op_gt, &takt_op_eq, &takt_op_ne};
    if (mode == MEMBER)
        return is_member(f, l->sets, place, value);
    return takt_binary(f->g, ops[mode], value, at_places(f, l->split, place));
}

/* One level further. */
static takt_id step(forest *f, const lists *l, takt_id place)
{
    takt_graph *g = f->g;
    const takt_id value =
        takt_onnx_op2(f->c, &takt_op_gather_elements, f->x, at_places(f, l->feature, place), 1,
                      &(takt_named_attr){"axis", takt_attr_i64(1)});
    const takt_id is_nan = takt_unary(g, &takt_op_is_nan, value);
    takt_id yes = takt_binary(g, &takt_op_and, is_nan, at_places(f, l->missing, place));
    for (int m = 0; m < MODES; m++) {
        if (l->mode[m] == TAKT_NONE)
            continue;
        const takt_id holds = takt_binary(g, &takt_op_and, at_places(f, l->mode[m], place),
                                          compare(f, l, m, place, value));
        yes = takt_binary(g, &takt_op_or, yes, holds);
    }
    return takt_select(g, yes, at_places(f, l->next[1], place), at_places(f, l->next[0], place));
}

/* Weights of the leaves at their targets: [rows, trees, targets], over the trees. */
static takt_id gather_leaves(forest *f, takt_id place, int how)
{
    static const takt_op *const ops[] = {&takt_op_reduce_mean, &takt_op_reduce_sum,
                                         &takt_op_reduce_min, &takt_op_reduce_max};
    const size_t width = (size_t)f->targets;
    double *v = takt_onnx_get(f->c, f->places * width, sizeof *v);
    if (v == NULL)
        return TAKT_NONE;
    for (size_t i = 0; i < f->leaves; i++)
        v[(f->branches + i) * width + (size_t)f->target.at[i]] = f->weight.at[i];
    const takt_id weights =
        takt_onnx_floats(f->c, f->dtype, v, (int64_t[]){(int64_t)f->places, f->targets}, 2);
    const takt_id rows = takt_onnx_gather(f->c, weights, place, 0);
    const int64_t trees = 1;
    return takt_reduce_over(f->g, ops[how], rows, &trees, 1, false);
}

static takt_status transform(takt_call *c, takt_id y)
{
    enum { NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT };
    switch (takt_onnx_i(c, "post_transform", 0)) {
    case NONE: return takt_onnx_done(c, y);
    case SOFTMAX: return takt_onnx_done(c, takt_unary(c->g, &takt_op_softmax, y));
    case LOGISTIC: return takt_onnx_done(c, takt_unary(c->g, &takt_op_sigmoid, y));
    default: return takt_onnx_refuse(c, "this post_transform");
    }
}

static takt_status adapt(takt_call *c)
{
    forest f = {.c = c, .g = c->g, .x = takt_onnx_in(c, 0)};
    const takt_type t = *takt_onnx_type(c, 0);
    const int64_t how = takt_onnx_i(c, "aggregate_function", SUM);
    if (c->status != TAKT_OK)
        return c->status;
    if (t.rank != 2 || (TAKT_FLOATS & TAKT_IN(t.dtype)) == 0 || how < 0 || how > MAX)
        return takt_onnx_refuse(c, "x of rank %d, aggregate_function %lld", t.rank, (long long)how);
    f.dtype = t.dtype;
    f.rows = t.dim[0];
    TAKT_TRY(read_forest(&f));
    const lists l = make_lists(&f);
    if (c->status != TAKT_OK || c->g->status != TAKT_OK)
        return takt_onnx_done(c, TAKT_NONE);
    takt_id place = takt_onnx_i64s(c, f.roots.at, f.roots.count);
    place = takt_broadcast(c->g, place, (takt_dim[]){f.rows, (takt_dim)f.roots.count}, 2);
    for (size_t i = 0; i < f.depth && c->g->status == TAKT_OK; i++)
        place = step(&f, &l, place);
    return transform(c, gather_leaves(&f, place, (int)how));
}

const takt_onnx_op takt_onnx_TreeEnsemble = {
    .names = {"TreeEnsemble"}, .domain = "ai.onnx.ml", .adapt = adapt};
