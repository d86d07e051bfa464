/* loop.c - runs a body while a condition holds, at most `trip` times.
 *
 * Inputs: trip (i64), condition (bool), carried values, captures. The body takes the number of the
 * iteration, the condition, the carried values and the captures; it returns the next condition, the
 * next carried values, and one row of every scanned result. Results: the last carried values, then
 * the scanned ones, whose first axis is `length`; rows of iterations that did not run are zero.
 */
#include <string.h>

#include "ir/array.h"
#include "op/util/check.h"
#include "op/util/control.h"
#include "op/util/index.h"

enum { BODY, CARRIED, LENGTH };

static takt_status check_scalar(takt_infer *in, const takt_type *t, takt_dtype dtype,
                                const char *what)
{
    if (t->rank == 0 && t->dtype == dtype)
        return TAKT_OK;
    char type[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE, "loop: %s must be %s[], got %s", what,
                     takt_dtype_name(dtype), takt_type_text(in->dims, t, type));
}

static takt_status check_scanned(takt_infer *in, const takt_graph *g, size_t carried)
{
    if (g->output_count > 1 + carried && in->attr[LENGTH].count != 1)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "loop: the body has %zu scanned results; length must "
                         "give their first dimension",
                         g->output_count - 1 - carried);
    for (size_t i = carried; i + 1 < g->output_count; i++) {
        const takt_type *row = takt_control_output(g, 1 + i);
        if (row->rank == TAKT_MAX_RANK)
            return takt_fail(in->ctx, TAKT_E_RANK, "loop: a scanned result has too many axes");
        in->out[i] = (takt_type){.dtype = row->dtype, .rank = row->rank + 1};
        in->out[i].dim[0] = in->attr[LENGTH].dims[0];
        memcpy(in->out[i].dim + 1, row->dim, (size_t)row->rank * sizeof *row->dim);
    }
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    const takt_graph *g = in->attr[BODY].graph;
    const int64_t given = in->attr[CARRIED].i64;
    if (given < 0 || (uint64_t)given > in->in_count - 2)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "loop: carried is %lld, but after trip and condition "
                         "there are %zu inputs",
                         (long long)given, in->in_count - 2);
    const size_t carried = (size_t)given;
    TAKT_TRY(takt_control_check(in, BODY, in->in_count));
    TAKT_TRY(check_scalar(in, in->type[0], TAKT_I64, "trip"));
    TAKT_TRY(check_scalar(in, in->type[1], TAKT_BOOL, "the condition"));
    TAKT_TRY(takt_control_feeds(in, g, 0, 0, in->in_count));
    if (g->output_count < 1 + carried || g->output_count == 1)
        return takt_fail(in->ctx, TAKT_E_ARITY,
                         "loop: the body has %zu results; it needs the "
                         "condition, %zu carried values, and at least one in all",
                         g->output_count, carried);
    TAKT_TRY(check_scalar(in, takt_control_output(g, 0), TAKT_BOOL, "the body's condition"));
    for (size_t i = 0; i < carried; i++) {
        TAKT_TRY(takt_control_same(in, takt_control_output(g, 1 + i), in->type[2 + i],
                                   "carried result", i));
        in->out[i] = *in->type[2 + i];
    }
    in->out_count = g->output_count - 1;
    return check_scanned(in, g, carried);
}

/* ---- evaluation ---- */

/* The inputs of the body: views of the node's inputs at first, then of the body's results. */
typedef struct iteration {
    takt_array *in;                      /* of the body */
    takt_array result[TAKT_MAX_OUTPUTS]; /* of the last iteration, owned */
    size_t result_count;
    int64_t number, condition;
} iteration;

static takt_status run_body(takt_eval *e, iteration *t, size_t carried)
{
    takt_array fresh[TAKT_MAX_OUTPUTS];
    takt_graph *g = e->attr[BODY].graph;
    TAKT_TRY(e->run_graph(e, g, t->in, e->in_count, fresh));
    takt_control_release(e->ctx, t->result, t->result_count);
    memcpy(t->result, fresh, g->output_count * sizeof *fresh);
    t->result_count = g->output_count;
    t->condition = t->result[0].i[0];
    for (size_t i = 0; i < carried; i++)
        t->in[2 + i] = t->result[1 + i];
    for (size_t i = carried; i < e->out_count; i++) {
        if (t->number >= e->out[i].dim[0])
            return takt_fail(e->ctx, TAKT_E_TRIP_COUNT,
                             "loop: iteration %lld does not fit the "
                             "length %lld of the scanned results",
                             (long long)t->number, (long long)e->out[i].dim[0]);
        takt_control_put(&e->out[i], 0, t->number, &t->result[1 + i]);
    }
    return TAKT_OK;
}

static takt_status iterate(takt_eval *e, iteration *t, size_t carried)
{
    const int64_t trip = e->in[0].i[0];
    for (; t->number < trip && t->condition != 0; t->number++) {
        if ((uint64_t)t->number >= e->ctx->limits.trip_count)
            return takt_fail(e->ctx, TAKT_E_TRIP_COUNT,
                             "loop: more than the %llu iterations that "
                             "limits.trip_count allows",
                             (unsigned long long)e->ctx->limits.trip_count);
        TAKT_TRY(run_body(e, t, carried));
    }
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const size_t carried = (size_t)e->attr[CARRIED].i64;
    iteration t = {.condition = e->in[1].i[0]};
    t.in = takt_arena_copy(e->scratch, e->in, e->in_count * sizeof *e->in);
    if (t.in == NULL)
        return TAKT_ERR_MEMORY;
    t.in[0].i = &t.number; /* the body sees both change */
    t.in[1].i = &t.condition;
    const takt_status status = iterate(e, &t, carried);
    for (size_t i = 0; i < carried && status == TAKT_OK; i++)
        takt_index_copy(&e->out[i], &t.in[2 + i]);
    takt_control_release(e->ctx, t.result, t.result_count);
    return status;
}

const takt_op takt_op_loop = {
    .name = "loop",
    .summary = "runs a body while a condition holds, at most trip times",
    .in_min = 2,
    .in_max = TAKT_VARIADIC,
    .attrs = {[BODY] = {.name = "body",
                        .type = TAKT_ATTR_GRAPH,
                        .is_required = true,
                        .summary = "(iteration, condition, carried..., captures...) -> "
                                   "(condition, carried..., scanned...)"},
              [CARRIED] = {.name = "carried",
                           .type = TAKT_ATTR_I64,
                           .is_required = true,
                           .summary = "how many values go from one iteration to the next"},
              [LENGTH] = {.name = "length",
                          .type = TAKT_ATTR_SHAPE,
                          .summary = "one dimension: rows of the scanned results"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTROL,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .no_bound = "its subgraphs are not followed",
    .samples = {"loop(i64[] in (0, 5), bool[], f32[3], f32[3], carried=1, body=graph(i: i64[], "
                "c: bool[], h: f32[3], x: f32[3]) { return c, add(h, x) })",
                "loop(i64[] in (0, 4), bool[], f32[2], carried=1, length=[4], body=graph(i: i64[], "
                "c: bool[], h: f32[2]) { return c, tanh(h), neg(h) })"},
};
