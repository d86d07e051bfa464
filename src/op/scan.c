/* scan.c - runs a body once for each element of sequences, carrying values along.
 *
 * Inputs: carried values, sequences, captures. The body takes the carried values, one element of
 * every sequence, and the captures; it returns the next carried values and one element of every
 * scanned result. Results: the last carried values, then the scanned ones.
 */
#include <string.h>

#include "ir/array.h"
#include "op/util/check.h"
#include "op/util/control.h"
#include "op/util/index.h"

enum { BODY, CARRIED, SEQUENCES, AXES, OUT_AXES, REVERSE };

/* Entry `i` of an optional list of axes of tensors of `rank`. */
static int axis_of(const takt_attr *list, size_t i, int rank)
{
    const int64_t axis = i < list->count ? list->i64s[i] : 0;
    return (int)(axis < 0 ? axis + rank : axis);
}

static takt_status check_counts(takt_infer *in)
{
    const int64_t carried = in->attr[CARRIED].i64, sequences = in->attr[SEQUENCES].i64;
    const int64_t inputs = (int64_t)in->in_count;
    if (carried < 0 || carried > inputs || sequences < 1 || sequences > inputs - carried)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "scan: carried is %lld and sequences %lld, but there "
                         "are %lld inputs",
                         (long long)carried, (long long)sequences, (long long)inputs);
    return takt_check_list(in, AXES, (int)sequences, "sequences");
}

/* The elements of sequence `i`; `length` unifies over all of them. */
static takt_status check_sequence(takt_infer *in, size_t i, takt_dim *length)
{
    const size_t input = (size_t)in->attr[CARRIED].i64 + i;
    const takt_type *t = in->type[input];
    int axis = 0;
    bool agree = true;
    if (t == NULL)
        return takt_fail(in->ctx, TAKT_E_ARITY, "scan: input %zu may not be left out", input);
    TAKT_TRY(
        takt_check_axis(in, i < in->attr[AXES].count ? in->attr[AXES].i64s[i] : 0, t->rank, &axis));
    if (i == 0)
        *length = t->dim[axis];
    else
        TAKT_TRY(takt_check_agree(in, *length, t->dim[axis], &agree));
    char type[TAKT_TYPE_TEXT];
    if (!agree)
        return takt_fail(in->ctx, TAKT_E_SHAPE,
                         "scan: sequence %zu has another length along axis "
                         "%d than the first: it is %s",
                         i, axis, takt_type_text(in->dims, t, type));
    takt_type element = {.dtype = t->dtype, .rank = t->rank - 1};
    for (int d = 0, to = 0; d < t->rank; d++)
        if (d != axis)
            element.dim[to++] = t->dim[d];
    return takt_control_same(in, &element, takt_control_input(in->attr[BODY].graph, input),
                             "element of sequence", i);
}

static takt_status add_scanned(takt_infer *in, size_t i, takt_dim length)
{
    const takt_graph *g = in->attr[BODY].graph;
    const size_t scanned = i - (size_t)in->attr[CARRIED].i64;
    const takt_type *row = takt_control_output(g, i);
    const takt_attr *axes = &in->attr[OUT_AXES];
    int axis = 0;
    if (row->rank == TAKT_MAX_RANK)
        return takt_fail(in->ctx, TAKT_E_RANK, "scan: a scanned result has too many axes");
    TAKT_TRY(
        takt_check_axis(in, scanned < axes->count ? axes->i64s[scanned] : 0, row->rank + 1, &axis));
    in->out[i] = (takt_type){.dtype = row->dtype, .rank = row->rank + 1};
    for (int d = 0, from = 0; d <= row->rank; d++)
        in->out[i].dim[d] = d == axis ? length : row->dim[from++];
    return TAKT_OK;
}

static takt_status infer(takt_infer *in)
{
    const takt_graph *g = in->attr[BODY].graph;
    TAKT_TRY(check_counts(in));
    TAKT_TRY(takt_control_check(in, BODY, in->in_count));
    const size_t carried = (size_t)in->attr[CARRIED].i64;
    const size_t sequences = (size_t)in->attr[SEQUENCES].i64, rest = carried + sequences;
    takt_dim length = 0;
    TAKT_TRY(takt_control_feeds(in, g, 0, 0, carried));
    TAKT_TRY(takt_control_feeds(in, g, rest, rest, in->in_count - rest));
    for (size_t i = 0; i < sequences; i++)
        TAKT_TRY(check_sequence(in, i, &length));
    if (g->output_count < carried)
        return takt_fail(in->ctx, TAKT_E_ARITY,
                         "scan: the body has %zu results for %zu carried "
                         "values",
                         g->output_count, carried);
    TAKT_TRY(takt_check_list(in, OUT_AXES, (int)(g->output_count - carried), "scanned results"));
    in->out_count = g->output_count;
    for (size_t i = 0; i < carried; i++) {
        TAKT_TRY(
            takt_control_same(in, takt_control_output(g, i), in->type[i], "carried result", i));
        in->out[i] = *in->type[i];
    }
    for (size_t i = carried; i < in->out_count; i++)
        TAKT_TRY(add_scanned(in, i, length));
    return TAKT_OK;
}

/* ---- evaluation ---- */

typedef struct iteration {
    size_t carried, sequences;
    takt_array *in;                      /* of the body */
    takt_array result[TAKT_MAX_OUTPUTS]; /* of the last step, owned */
    size_t result_count;
} iteration;

static takt_status run_body(takt_eval *e, iteration *t, int64_t at)
{
    takt_array fresh[TAKT_MAX_OUTPUTS];
    TAKT_TRY(e->run_graph(e, e->attr[BODY].graph, t->in, e->in_count, fresh));
    takt_control_release(e->ctx, t->result, t->result_count);
    memcpy(t->result, fresh, e->out_count * sizeof *fresh);
    t->result_count = e->out_count;
    for (size_t i = 0; i < t->carried; i++)
        t->in[i] = t->result[i];
    for (size_t i = t->carried; i < e->out_count; i++)
        takt_control_put(&e->out[i], axis_of(&e->attr[OUT_AXES], i - t->carried, e->out[i].rank),
                         at, &t->result[i]);
    return TAKT_OK;
}

/* Element `at` of every sequence, then the body. */
static takt_status step(takt_eval *e, iteration *t, int64_t at)
{
    takt_status status = TAKT_OK;
    size_t taken = 0;
    for (; taken < t->sequences && status == TAKT_OK; taken++) {
        const takt_array *from = &e->in[t->carried + taken];
        status = takt_control_take(e->ctx, from, axis_of(&e->attr[AXES], taken, from->rank), at,
                                   &t->in[t->carried + taken]);
    }
    if (status == TAKT_OK)
        status = run_body(e, t, at);
    takt_control_release(e->ctx, t->in + t->carried, taken);
    return status;
}

static takt_status eval(takt_eval *e)
{
    iteration t = {.carried = (size_t)e->attr[CARRIED].i64,
                   .sequences = (size_t)e->attr[SEQUENCES].i64};
    const takt_array *first = &e->in[t.carried];
    const int64_t length = first->dim[axis_of(&e->attr[AXES], 0, first->rank)];
    t.in = takt_arena_copy(e->scratch, e->in, e->in_count * sizeof *e->in);
    if (t.in == NULL)
        return TAKT_ERR_MEMORY;
    takt_status status = TAKT_OK;
    for (int64_t i = 0; i < length && status == TAKT_OK; i++)
        status = step(e, &t, e->attr[REVERSE].boolean ? length - 1 - i : i);
    for (size_t i = 0; i < t.carried && status == TAKT_OK; i++)
        takt_index_copy(&e->out[i], &t.in[i]);
    takt_control_release(e->ctx, t.result, t.result_count);
    return status;
}

const takt_op takt_op_scan = {
    .name = "scan",
    .summary = "runs a body once for each element of sequences, carrying values along",
    .in_min = 1,
    .in_max = TAKT_VARIADIC,
    .attrs = {[BODY] = {.name = "body",
                        .type = TAKT_ATTR_GRAPH,
                        .is_required = true,
                        .summary = "(carried..., elements..., captures...) -> (carried..., "
                                   "scanned...)"},
              [CARRIED] = {.name = "carried",
                           .type = TAKT_ATTR_I64,
                           .is_required = true,
                           .summary = "how many values go from one step to the next"},
              [SEQUENCES] = {.name = "sequences",
                             .type = TAKT_ATTR_I64,
                             .fallback.i64 = 1,
                             .summary = "how many inputs after them are walked along an axis"},
              [AXES] = {.name = "axes",
                        .type = TAKT_ATTR_I64S,
                        .summary = "the axis of each sequence; the first if empty"},
              [OUT_AXES] = {.name = "out_axes",
                            .type = TAKT_ATTR_I64S,
                            .summary = "the new axis of each scanned result; the first if empty"},
              [REVERSE] = {.name = "reverse",
                           .type = TAKT_ATTR_BOOL,
                           .summary = "from the last element to the first"}},
    .traits = TAKT_PRIMITIVE | TAKT_CONTROL,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .no_bound = "its body is not followed",
    .samples = {"scan(f32[3], f32[5, 3], carried=1, body=graph(h: f32[3], x: f32[3]) "
                "{ a = add(h, x) return a, neg(a) })",
                "scan(f32[2], f32[2, 4], f32[2], carried=1, axes=[1], out_axes=[-1], reverse=true, "
                "body=graph(h: f32[2], x: f32[2], w: f32[2]) { return mul(h, w), add(x, h) })",
                "scan(f32[2, 3], f32[2, 3], f32[4, 2, 12], f32[3, 12], carried=2, "
                "body=graph(h: f32[2, 3], c: f32[2, 3], x: f32[2, 12], r: f32[3, 12]) "
                "{ g = add(x, matmul(h, r)) "
                "i = sigmoid(slice(g, axes=[1], start=[0], stop=[3])) "
                "f = sigmoid(slice(g, axes=[1], start=[3], stop=[6])) "
                "n = tanh(slice(g, axes=[1], start=[6], stop=[9])) "
                "o = sigmoid(slice(g, axes=[1], start=[9], stop=[12])) "
                "d = add(mul(f, c), mul(i, n)) y = mul(o, tanh(d)) return y, d, y })",
                "scan(f64[2, 3], f64[2, 5, 9], f64[9, 3], f64[9], carried=1, axes=[1], "
                "out_axes=[1], body=graph(h: f64[2, 3], x: f64[2, 9], r: f64[9, 3], b: f64[9]) "
                "{ g = add(matmul(h, r, transpose_b=true), b) "
                "z = sigmoid(add(slice(x, axes=[1], start=[0], stop=[3]), "
                "slice(g, axes=[1], start=[0], stop=[3]))) "
                "q = sigmoid(add(slice(x, axes=[1], start=[3], stop=[6]), "
                "slice(g, axes=[1], start=[3], stop=[6]))) "
                "n = tanh(add(slice(x, axes=[1], start=[6], stop=[9]), "
                "mul(q, slice(g, axes=[1], start=[6], stop=[9])))) "
                "y = add(mul(sub(constant(f64[], [1]), z), n), mul(z, h)) return y, y })",
                "scan(f64[2, 3], f64[2, 4, 5], f64[5, 3], f64[3, 3], f64[3], carried=1, axes=[1], "
                "out_axes=[-2], reverse=true, body=graph(h: f64[2, 3], x: f64[2, 5], w: f64[5, 3], "
                "r: f64[3, 3], b: f64[3]) { a = tanh(add(add(matmul(x, w), b), matmul(h, r))) "
                "y = add(mul(b, a), matmul(a, r)) return y, y })",
                "scan(f32[2, 3], f32[2, 3], f32[2, 4, 12], f32[3, 12], carried=2, axes=[1], "
                "body=graph(h: f32[2, 3], c: f32[2, 3], x: f32[2, 12], r: f32[3, 12]) "
                "{ g = add(x, matmul(h, r)) "
                "i = sigmoid(slice(g, axes=[1], start=[0], stop=[3])) "
                "f = sigmoid(slice(g, axes=[1], start=[3], stop=[6])) "
                "n = tanh(slice(g, axes=[1], start=[6], stop=[9])) "
                "o = sigmoid(slice(g, axes=[1], start=[9], stop=[12])) "
                "d = add(mul(f, c), mul(i, n)) return mul(o, tanh(d)), d, c })",
                "scan(f16[2, 3], f16[2, 5, 3], f16[3, 3], carried=1, axes=[1], out_axes=[1], "
                "reverse=true, body=graph(h: f16[2, 3], x: f16[2, 3], r: f16[3, 3]) "
                "{ return tanh(add(x, matmul(h, r))), h })",
                "scan(bf16[2, 3], bf16[4, 2, 3], bool[4, 2, 1], bf16[3, 3], carried=1, "
                "sequences=2, reverse=true, body=graph(h: bf16[2, 3], x: bf16[2, 3], "
                "live: bool[2, 1], r: bf16[3, 3]) { a = relu(add(x, matmul(h, r))) "
                "return select(live, a, h), select(live, a, constant(bf16[], [0])) })"},
};
