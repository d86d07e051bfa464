/* fold_constants.c - whatever is made of constants becomes one.
 *
 * No part of the pipeline: there the plan folds, with the kernels that would run. This is for
 * graphs that are written to files for other engines; values are those of the interpreter.
 */
#include "interp/interp.h"
#include "ir/array.h"
#include "ir/leaves.h"
#include "pass/match.h"
#include "pass/passes.h"

enum { MOST_INPUTS = 8, SMALL = 4096 /* bytes */ };

/* A result much larger than what it is made of is better computed than stored. */
static bool foldable(const takt_rewrite *r, const takt_node *n)
{
    size_t made, used = SMALL;
    if (n->in_count == 0 || n->in_count > MOST_INPUTS || n->out_count != 1 ||
        n->op == &takt_op_get || (n->op->traits & (TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF)) != 0 ||
        !takt_type_bytes(n->type, &made))
        return false;
    for (uint32_t k = 0; k < n->in_count; k++) {
        size_t bytes;
        if (n->in[k] == TAKT_NONE || !takt_match_is_constant(r->out, n->in[k]) ||
            !takt_type_bytes(takt_type_of(r->out, n->in[k]), &bytes))
            return false;
        used += 2 * bytes;
    }
    return made <= used;
}

static takt_status evaluate(takt_rewrite *r, const takt_node *n, takt_array *in,
                            takt_tensor *result)
{
    takt_ctx *ctx = r->out->ctx;
    takt_array out = {0};
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_array_from_tensor(ctx, r->out->nodes[n->in[k]].attr[0].tensor, &in[k]));
    TAKT_TRY(takt_interpret_node(ctx, r->out, n, in, &out));
    const takt_status status = takt_array_to_tensor(ctx, &out, result);
    takt_array_release(ctx, &out);
    return status;
}

static takt_id known(takt_rewrite *r, const takt_node *n)
{
    if (!foldable(r, n))
        return TAKT_NONE;
    takt_array in[MOST_INPUTS] = {0};
    takt_tensor result = {0};
    const takt_status status = evaluate(r, n, in, &result);
    for (uint32_t k = 0; k < n->in_count; k++)
        takt_array_release(r->out->ctx, &in[k]);
    if (status != TAKT_OK)
        return takt_refuse(r, n, "it cannot be evaluated now");
    const takt_id id = takt_graph_constant(r->out, &result);
    takt_tensor_release(&result);
    return id;
}

static const takt_rule rules[] = {{NULL, "a node of constants = its value", known}};

const takt_pass takt_pass_fold_constants = {
    .name = "fold-constants",
    .summary = "compute what is made of constants now",
    TAKT_RULES(rules),
};
