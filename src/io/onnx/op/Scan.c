/* Scan.c - Scan; opset 8 has a batch axis first, each element of which is scanned separately. */
#include "io/onnx/control.h"

typedef struct scan {
    const takt_pb_graph *body;
    size_t first, carried, sequences, scanned; /* `first`: inputs before the carried values */
    takt_id in[64];
    takt_type *types;
} scan;

static takt_id flipped(takt_call *c, takt_id x, int64_t axis)
{
    return takt_slice(c->g, x, axis, -1, INT64_MIN + 1, -1);
}

/* One element of sequence `i`: its type without the axis. */
static takt_status sequence(takt_call *c, scan *s, size_t i)
{
    const takt_ints axes = takt_onnx_ints(c, "scan_input_axes"),
                    directions = takt_onnx_ints(c, "scan_input_directions");
    const size_t at = s->carried + i;
    const takt_type t = *takt_onnx_type(c, s->first + at);
    const int axis = takt_onnx_axis(c, i < axes.count ? axes.at[i] : 0, t.rank);
    if (c->status != TAKT_OK)
        return c->status;
    takt_id x = takt_onnx_in(c, s->first + at);
    if (i < directions.count && directions.at[i] != 0)
        x = flipped(c, x, axis);
    s->types[at] = (takt_type){.dtype = t.dtype};
    for (int d = 0; d < t.rank; d++)
        if (d != axis)
            s->types[at].dim[s->types[at].rank++] = t.dim[d];
    s->in[at] = x;
    return TAKT_OK;
}

static takt_status finish(takt_call *c, scan *s, takt_graph *g, const takt_captures *captures)
{
    const takt_ints axes = takt_onnx_ints(c, "scan_input_axes"),
                    out_axes = takt_onnx_ints(c, "scan_output_axes"),
                    directions = takt_onnx_ints(c, "scan_output_directions");
    const size_t own = s->carried + s->sequences;
    takt_id *in = takt_onnx_get(c, own + captures->count, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < own; i++)
        in[i] = s->in[i];
    for (size_t i = 0; i < captures->count; i++)
        in[own + i] = captures->ids[i];
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(g)},
                                     {"carried", takt_attr_i64((int64_t)s->carried)},
                                     {"sequences", takt_attr_i64((int64_t)s->sequences)},
                                     {"axes", takt_attr_i64s(axes.at, axes.count)},
                                     {"out_axes", takt_attr_i64s(out_axes.at, out_axes.count)}};
    const takt_id y = takt_graph_call(c->g, &takt_op_scan, own + captures->count, in, 5, attrs);
    for (size_t i = 0; i < c->out_count; i++) {
        takt_id part =
            y == TAKT_NONE || s->body->output_count == 1 ? y : takt_graph_get(c->g, y, i);
        const size_t k = i - s->carried;
        if (i >= s->carried && k < directions.count && directions.at[k] != 0)
            part = flipped(c, part, k < out_axes.count ? out_axes.at[k] : 0);
        takt_onnx_set(c, i, part);
    }
    return c->status;
}

/* Data-dependent sizes in the body are local to an iteration: results have the same size in all of
 * them. */
static takt_status check_results(takt_call *c, const takt_graph *g)
{
    char text[TAKT_TYPE_TEXT];
    for (size_t i = 0; i < g->output_count && c->status == TAKT_OK; i++) {
        const takt_type *t = takt_type_of(g, g->outputs[i].id);
        if (takt_onnx_is_found(c, g, t))
            return takt_onnx_refuse(c, "result %zu is %s, of another size in every iteration", i,
                                    takt_type_text(g->dims, t, text));
    }
    return c->status;
}

static takt_status run(takt_call *c, scan *s)
{
    takt_captures captures = {.may_find = true};
    takt_graph *g;
    for (size_t i = 0; i < s->carried; i++) {
        s->types[i] = *takt_onnx_type(c, s->first + i);
        s->in[i] = takt_onnx_in(c, s->first + i);
    }
    for (size_t i = 0; i < s->sequences; i++)
        TAKT_TRY(sequence(c, s, i));
    TAKT_TRY(takt_subgraph_captures(c, s->body, &captures));
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(takt_subgraph_build(c, s->body, s->types, s->carried + s->sequences, &captures, &g));
    takt_status status = check_results(c, g);
    if (status == TAKT_OK)
        status = finish(c, s, g, &captures);
    takt_graph_destroy(g);
    return status;
}

/* ---- opset 8 ---- */

enum { MOST_BATCH = 64 };

/* Element `b` of the batch, without its axis. */
static takt_id element(takt_call *c, size_t input, int64_t b)
{
    return takt_onnx_squeeze(c, takt_slice(c->g, takt_onnx_in(c, input), 0, b, b + 1, 1), 0);
}

/* Scans batch element `b`; its results have a batch axis of 1 again. */
static takt_status scan_element(takt_call *c, scan *s, takt_graph *g, int64_t b, takt_id *out)
{
    const takt_ints directions = takt_onnx_ints(c, "directions");
    const size_t own = s->carried + s->sequences;
    for (size_t i = 0; i < own; i++) {
        const size_t sequence = i - s->carried;
        s->in[i] = element(c, s->first + i, b);
        if (i >= s->carried && sequence < directions.count && directions.at[sequence] != 0)
            s->in[i] = flipped(c, s->in[i], 0);
    }
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(g)},
                                     {"carried", takt_attr_i64((int64_t)s->carried)},
                                     {"sequences", takt_attr_i64((int64_t)s->sequences)}};
    const takt_id y = takt_graph_call(c->g, &takt_op_scan, own, s->in, 3, attrs);
    if (y == TAKT_NONE)
        return c->g->status;
    for (size_t i = 0; i < s->body->output_count; i++)
        out[i] =
            takt_onnx_unsqueeze(c, s->body->output_count == 1 ? y : takt_graph_get(c->g, y, i), 0);
    return c->g->status;
}

/* Types of the body's inputs: without the batch axis, and sequences without theirs. */
static takt_status element_types(takt_call *c, scan *s, int64_t *batch)
{
    for (size_t i = 0; i < s->carried + s->sequences; i++) {
        const takt_type t = *takt_onnx_type(c, s->first + i);
        const int drop = i < s->carried ? 1 : 2;
        if (t.rank < drop || !takt_dim_is_number(t.dim[0]) || t.dim[0] < 1 || t.dim[0] > MOST_BATCH)
            return takt_onnx_refuse(c, "Scan of opset 8 whose batch is not 1 to %d", MOST_BATCH);
        *batch = t.dim[0];
        s->types[i] = (takt_type){.dtype = t.dtype, .rank = t.rank - drop};
        for (int d = drop; d < t.rank; d++)
            s->types[i].dim[d - drop] = t.dim[d];
    }
    return TAKT_OK;
}

static takt_status run_batch(takt_call *c, scan *s)
{
    takt_captures captures = {.may_find = true};
    takt_graph *g;
    int64_t batch = 1;
    TAKT_TRY(element_types(c, s, &batch));
    TAKT_TRY(takt_subgraph_captures(c, s->body, &captures));
    if (c->status != TAKT_OK || captures.count > 0)
        return takt_onnx_refuse(c, "Scan of opset 8 whose body uses values around it");
    const size_t count = s->body->output_count;
    takt_id *out = takt_onnx_get(c, count * (size_t)batch, sizeof *out);
    takt_id *parts = takt_onnx_get(c, (size_t)batch, sizeof *parts);
    if (out == NULL || parts == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_subgraph_build(c, s->body, s->types, s->carried + s->sequences, &captures, &g));
    takt_status status = check_results(c, g);
    for (int64_t b = 0; b < batch && status == TAKT_OK; b++)
        status = scan_element(c, s, g, b, out + (size_t)b * count);
    takt_graph_destroy(g);
    for (size_t i = 0; i < c->out_count && status == TAKT_OK; i++) {
        for (int64_t b = 0; b < batch; b++)
            parts[b] = out[(size_t)b * count + i];
        takt_onnx_set(c, i, takt_concat(c->g, parts, (size_t)batch, 0));
    }
    return status != TAKT_OK ? status : c->status;
}

static takt_status adapt(takt_call *c)
{
    scan s = {.body = takt_onnx_graph(c, "body"), .first = c->opset < 9};
    const int64_t sequences = takt_onnx_i(c, "num_scan_inputs", 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (s.first != 0 && takt_onnx_has(c, 0))
        return takt_onnx_refuse(c, "Scan of opset 8 with sequence_lens");
    if (sequences < 1 || (size_t)sequences + s.first > c->in_count || c->in_count > 60 ||
        s.body->output_count > TAKT_MAX_OUTPUTS)
        return takt_onnx_refuse(c, "%lld sequences of %zu inputs", (long long)sequences,
                                c->in_count);
    s.sequences = (size_t)sequences;
    s.carried = c->in_count - s.first - s.sequences;
    if (s.body->output_count < s.carried || c->out_count > s.body->output_count)
        return takt_onnx_refuse(c, "the body has %zu results", s.body->output_count);
    s.types = takt_onnx_get(c, c->in_count, sizeof *s.types);
    if (s.types == NULL)
        return TAKT_ERR_MEMORY;
    s.scanned = s.body->output_count - s.carried;
    return s.first != 0 ? run_batch(c, &s) : run(c, &s);
}

const takt_onnx_op takt_onnx_Scan = {.names = {"Scan"}, .adapt = adapt};
