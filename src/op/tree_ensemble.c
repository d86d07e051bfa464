/* tree_ensemble.c - combines the leaves that a row reaches in many trees.
 *
 * The trees are tables (op/util/trees.h), usually constants. A row goes from a tree's root through
 * at most `depth` branches; if it does not reach a leaf it gets nothing. Weights of the leaves are
 * combined in the order of the trees, in double, and rounded once.
 */
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/stops.h"
#include "op/util/trees.h"

static takt_status check_table(takt_infer *in, size_t which, int columns)
{
    TAKT_TRY(takt_infer_dtype(in, which, TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64), "i32 or i64"));
    TAKT_TRY(takt_infer_rank(in, which, columns > 1 ? 2 : 1, columns > 1 ? 2 : 1));
    const takt_type *t = in->type[which];
    if (columns > 1 && t->dim[1] != columns)
        return takt_infer_fail(in, TAKT_E_SHAPE, "%s must have %d columns", in->op->in_names[which],
                               columns);
    if (!takt_dim_is_number(t->dim[0]) || t->dim[0] > TAKT_TREES_MOST)
        return takt_infer_fail(in, TAKT_E_SHAPE, "the length of %s must be a number up to %d",
                               in->op->in_names[which], TAKT_TREES_MOST);
    return TAKT_OK;
}

/* A vector of x's element type, as long as a table; of any length where `table` is 0. */
static takt_status check_floats(takt_infer *in, size_t which, size_t table)
{
    TAKT_TRY(takt_check_same_dtype(in, TAKT_TREES_X, which));
    if (table != 0)
        return takt_infer_vector(in, which, in->type[table]->dim[0]);
    TAKT_TRY(takt_infer_rank(in, which, 1, 1));
    const takt_dim size = in->type[which]->dim[0];
    if (!takt_dim_is_number(size) || size > TAKT_TREES_MOST)
        return takt_infer_fail(in, TAKT_E_SHAPE, "the length of %s must be a number up to %d",
                               in->op->in_names[which], TAKT_TREES_MOST);
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, TAKT_TREES_X, TAKT_FLOATS, "a float type"));
    TAKT_TRY(takt_infer_rank(in, TAKT_TREES_X, 2, 2));
    TAKT_TRY(check_table(in, TAKT_TREES_BRANCH, 5));
    TAKT_TRY(check_table(in, TAKT_TREES_ROOT, 1));
    TAKT_TRY(check_table(in, TAKT_TREES_GIVE, 2));
    TAKT_TRY(check_floats(in, TAKT_TREES_SPLIT, TAKT_TREES_BRANCH));
    TAKT_TRY(check_floats(in, TAKT_TREES_WEIGHT, TAKT_TREES_GIVE));
    if (takt_infer_has(in, TAKT_TREES_MEMBER))
        TAKT_TRY(check_floats(in, TAKT_TREES_MEMBER, 0));
    for (int k = TAKT_TREES_TARGETS; k <= TAKT_TREES_DEPTH; k++)
        TAKT_TRY(takt_check_range(in, k, k == TAKT_TREES_TARGETS, TAKT_TREES_MOST));
    in->out[0] = *in->type[TAKT_TREES_X];
    in->out[0].dim[1] = in->attr[TAKT_TREES_TARGETS].i64;
    return TAKT_OK;
}

/* ---- meaning ---- */

static takt_trees open_trees(const takt_eval *e)
{
    takt_type types[TAKT_TREES_INPUTS];
    const takt_type *type[TAKT_TREES_INPUTS] = {0};
    for (size_t i = 0; i < e->in_count; i++) {
        if (e->in[i].rank < 0)
            continue;
        types[i] = (takt_type){.rank = e->in[i].rank};
        for (int d = 0; d < e->in[i].rank; d++)
            types[i].dim[d] = e->in[i].dim[d];
        type[i] = &types[i];
    }
    takt_trees t = takt_trees_of(e->node, type);
    t.branch = (const int64_t(*)[5])e->in[TAKT_TREES_BRANCH].i;
    t.root = e->in[TAKT_TREES_ROOT].i;
    t.give = (const int64_t(*)[2])e->in[TAKT_TREES_GIVE].i;
    t.split = e->in[TAKT_TREES_SPLIT].f;
    t.weight = e->in[TAKT_TREES_WEIGHT].f;
    t.member = t.members > 0 ? e->in[TAKT_TREES_MEMBER].f : NULL;
    return t;
}

static takt_status eval(takt_eval *e)
{
    const takt_trees t = open_trees(e);
    takt_trees_bad bad;
    if (takt_trees_find_bad(&t, &bad))
        return takt_fail(e->ctx, TAKT_E_INDEX,
                         "tree_ensemble: element %zu of %s is %lld, but must be below %lld",
                         bad.element, e->node->op->in_names[bad.input], (long long)bad.value,
                         (long long)bad.limit);
    const takt_trees_index index = {
        .set = takt_arena_array(e->scratch, t.branches, sizeof *index.set),
        .start = takt_arena_array(e->scratch, t.leaves + 1, sizeof *index.start),
        .order = takt_arena_array(e->scratch, t.gives, sizeof *index.order)};
    bool *has = takt_arena_array(e->scratch, t.targets, sizeof *has);
    if (index.set == NULL || index.start == NULL || index.order == NULL || has == NULL)
        return TAKT_ERR_MEMORY;
    takt_trees_sets(&t, index.set);
    takt_trees_sort(&t, index.start, index.order);
    for (size_t row = 0; row < (size_t)e->in[0].dim[0] && !takt_eval_stops(e, 8 * t.trees); row++)
        takt_trees_row(&t, &index, e->in[0].f + row * t.features, e->out[0].f + row * t.targets,
                       has);
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const double rows = (double)takt_type_of(g, n->in[TAKT_TREES_X])->dim[0];
    const double trees = (double)takt_type_of(g, n->in[TAKT_TREES_ROOT])->dim[0];
    cost->flops =
        rows * trees * (double)(n->attr[TAKT_TREES_DEPTH].i64 + n->attr[TAKT_TREES_TARGETS].i64);
    cost->bytes = takt_make_bytes(g, n);
}

static const char *const aggregates[] = {"average", "sum", "min", "max", NULL};

const takt_op takt_op_tree_ensemble = {
    .name = "tree_ensemble",
    .summary = "what the leaves that a row reaches in many trees give together",
    .in_min = 6,
    .in_max = 7,
    .in_names = {"x", "branch", "split", "root", "give", "weight", "member"},
    .attrs = {[TAKT_TREES_TARGETS] = {.name = "targets",
                                      .type = TAKT_ATTR_I64,
                                      .is_required = true,
                                      .summary = "columns of the result"},
              [TAKT_TREES_LEAVES] = {.name = "leaves",
                                     .type = TAKT_ATTR_I64,
                                     .is_required = true,
                                     .summary = "how many there are, of all trees"},
              [TAKT_TREES_DEPTH] = {.name = "depth",
                                    .type = TAKT_ATTR_I64,
                                    .is_required = true,
                                    .summary = "the most branches on the way to a leaf"},
              [TAKT_TREES_AGGREGATE] = {.name = "aggregate",
                                        .type = TAKT_ATTR_ENUM,
                                        .fallback.i64 = TAKT_TREES_SUM,
                                        .names = aggregates,
                                        .summary = "how weights of one target are joined; average: "
                                                   "their sum over the number of trees"},
              [TAKT_TREES_NONE] = {.name = "none",
                                   .type = TAKT_ATTR_F64,
                                   .fallback.f64 = 0,
                                   .summary = "for a target of which no leaf had a weight"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_FLOATS | TAKT_IN(TAKT_I32) | TAKT_IN(TAKT_I64),
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .no_gradient = "a branch is taken or not, and does not change by small steps",
    .cost = cost,
    .no_bound = "which leaves a row reaches is not followed",
    .samples = {"tree_ensemble(f32[5, 3], i32[2, 5] in (0, 2), f32[2], i32[4] in (0, 4), "
                "i32[6, 2] in (0, 2), f32[6], targets=3, leaves=3, depth=4)",
                "tree_ensemble(f64[4, 7], i64[2, 5] in (0, 6), f64[2], i32[3] in (0, 6), "
                "i64[5, 2] in (0, 4), f64[5], f64[3], targets=5, leaves=5, depth=2, "
                "aggregate=min, none=-1)",
                "tree_ensemble(f16[3, 4], i32[1, 5] in (0, 3), f16[1], i64[5] in (0, 3), "
                "i32[4, 2] in (0, 1), f16[4], targets=2, leaves=3, depth=1, aggregate=average)",
                "tree_ensemble(bf16[2, 2], i32[1, 5] in (0, 1), bf16[1], i32[2] in (0, 1), "
                "i32[2, 2] in (0, 0), bf16[2], targets=1, leaves=1, depth=1, aggregate=max)"},
};
