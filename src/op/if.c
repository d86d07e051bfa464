/* if.c - the results of one of two subgraphs; both may use the captures. */
#include "op/util/check.h"
#include "op/util/control.h"
#include "op/util/index.h"

enum { THEN, ELSE };

static takt_status infer(takt_infer *in)
{
    const takt_graph *yes = in->attr[THEN].graph, *no = in->attr[ELSE].graph;
    const size_t captures = in->in_count - 1;
    TAKT_TRY(takt_infer_rank(in, 0, 0, 0));
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_BOOLS, "bool"));
    for (int branch = THEN; branch <= ELSE; branch++) {
        TAKT_TRY(takt_control_check(in, branch, captures));
        TAKT_TRY(takt_control_feeds(in, in->attr[branch].graph, 1, 0, captures));
    }
    if (yes->output_count != no->output_count)
        return takt_fail(in->ctx, TAKT_E_ARITY, "if: then has %zu results, else has %zu",
                         yes->output_count, no->output_count);
    in->out_count = yes->output_count;
    for (size_t i = 0; i < in->out_count; i++) {
        in->out[i] = *takt_control_output(yes, i);
        TAKT_TRY(
            takt_control_same(in, takt_control_output(no, i), &in->out[i], "result of else", i));
    }
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    takt_graph *g = e->attr[e->in[0].i[0] != 0 ? THEN : ELSE].graph;
    takt_array results[TAKT_MAX_OUTPUTS];
    TAKT_TRY(e->run_graph(e, g, e->in + 1, e->in_count - 1, results));
    for (size_t i = 0; i < e->out_count; i++)
        takt_index_copy(&e->out[i], &results[i]);
    takt_control_release(e->ctx, results, e->out_count);
    return TAKT_OK;
}

const takt_op takt_op_if = {
    .name = "if",
    .summary = "the results of one of two subgraphs",
    .in_min = 1,
    .in_max = TAKT_VARIADIC,
    .attrs = {[THEN] = {.name = "then",
                        .type = TAKT_ATTR_GRAPH,
                        .is_required = true,
                        .summary = "runs if the first input is true; its inputs are the captures"},
              [ELSE] = {.name = "else",
                        .type = TAKT_ATTR_GRAPH,
                        .is_required = true,
                        .summary = "runs otherwise; results of the same types"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTROL,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .no_bound = "its subgraphs are not followed",
    .samples = {"if(bool[], f32[2, 3], then=graph(a: f32[2, 3]) { return relu(a) }, "
                "else=graph(a: f32[2, 3]) { return neg(a) })",
                "if(bool[], f32[2], i64[] in (0, 1), then=graph(a: f32[2], i: i64[]) "
                "{ return gather(a, i) }, else=graph(a: f32[2], i: i64[]) "
                "{ return reduce_sum(a) })"},
};
