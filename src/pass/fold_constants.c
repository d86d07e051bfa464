/* fold_constants.c - every node of constants becomes a constant.
 *
 * Not part of the pipeline: there the plan folds, with the kernels that would run. This is for
 * graphs written to files for other engines; the interpreter computes the values. */
#include "ir/leaves.h"
#include "pass/fold_node.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { SMALL = 4096 /* bytes */ };

/* A result much larger than its inputs is better computed than stored. */
static bool foldable(const takt_rewrite *r, const takt_node *n)
{
    size_t made, used = SMALL;
    if (n->in_count == 0 || n->in_count > TAKT_FOLD_INPUTS || n->out_count != 1 ||
        n->op == &takt_op_get || (n->op->traits & (TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF)) != 0 ||
        !takt_type_bytes(n->type, &made))
        return false;
    if ((n->op == &takt_op_cast || n->op == &takt_op_dequantize) && n->in[0] != TAKT_NONE &&
        takt_dtype_bits(takt_type_of(r->out, n->in[0])->dtype) <= 16 &&
        takt_dtype_is_float(n->type->dtype) && takt_dtype_bits(n->type->dtype) > 16)
        return false; /* weights that were narrowed stay narrow */
    for (uint32_t k = 0; k < n->in_count; k++) {
        size_t bytes;
        if (n->in[k] == TAKT_NONE || !takt_match_is_constant(r->out, n->in[k]) ||
            !takt_type_bytes(takt_type_of(r->out, n->in[k]), &bytes))
            return false;
        used += 2 * bytes;
    }
    return made <= used;
}

static takt_id known(takt_rewrite *r, const takt_node *n)
{
    return foldable(r, n) ? takt_fold_node(r, n) : TAKT_NONE;
}

static const takt_rule rules[] = {{NULL, "a node of constants = its value", known}};

const takt_pass takt_pass_fold_constants = {
    .name = "fold-constants",
    .summary = "compute what is made of constants now",
    TAKT_RULES(rules),
};
