/* fold_shapes.c - known integers become constants, and scatters at known boxes copies.
 *
 * Only integers: floats are folded by the plan, with the kernels that would otherwise compute them
 * at run time, so that folding cannot change their bits. */
#include "ir/leaves.h"
#include "pass/fold_box.h"
#include "pass/fold_node.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { LARGEST = 4096 /* elements */ };

static takt_id known_dim(takt_rewrite *r, const takt_node *n)
{
    const takt_type *type = takt_type_of(r->out, n->in[0]);
    int64_t axis = takt_node_attr(n, "axis")->i64;
    axis += axis < 0 ? type->rank : 0;
    takt_dim dim;
    if (takt_dim_resolve(r->out->dims, type->dim[axis], &dim) != TAKT_OK)
        return TAKT_NONE;
    if (!takt_dim_is_number(dim))
        return takt_refuse(r, n, "the dimension is not a number yet");
    return takt_scalar_i64(r->out, dim);
}

static bool is_small_integer(const takt_type *type)
{
    size_t count;
    return !takt_dtype_is_float(type->dtype) && takt_dtype_bits(type->dtype) >= 8 &&
           takt_type_count(type, &count) && count <= LARGEST;
}

static bool foldable(const takt_rewrite *r, const takt_node *n)
{
    if (n->in_count == 0 || n->in_count > TAKT_FOLD_INPUTS || n->out_count != 1 ||
        n->op == &takt_op_get || (n->op->traits & (TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF)) != 0 ||
        !is_small_integer(n->type))
        return false;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE || !takt_match_is_constant(r->out, n->in[k]) ||
            !is_small_integer(takt_type_of(r->out, n->in[k])))
            return false;
    return true;
}

static takt_id known_integer(takt_rewrite *r, const takt_node *n)
{
    return foldable(r, n) ? takt_fold_node(r, n) : TAKT_NONE;
}

static const takt_rule rules[] = {
    {&takt_op_dim, "dim(x) = its number", known_dim},
    {NULL, "an integer of constants = its value", known_integer},
    {&takt_op_scatter_nd, "scatter_nd at a box of coordinates = x with u in its place",
     takt_fold_box},
};

const takt_pass takt_pass_fold_shapes = {
    .name = "fold-shapes",
    .summary = "compute known integers and sizes now",
    TAKT_RULES(rules),
};
