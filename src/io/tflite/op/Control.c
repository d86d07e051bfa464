/* Control.c - IF and WHILE: graphs of the file as subgraphs of ours.
 *
 * They see only their inputs, so there is nothing to capture.
 */
#include "io/tflite/adapt.h"

/* Builds graph `index` for inputs of these types as a separate graph. */
static takt_status build(takt_tfl_call *c, int32_t index, const takt_type *types, size_t count,
                         takt_graph *body)
{
    takt_tfl_scope s;
    TAKT_TRY(takt_tfl_open(c->im, c->scope, index, body, &s));
    takt_status status = TAKT_OK;
    if (s.graph->input_count != count)
        status = takt_tfl_refuse(c, "graph %d has %zu inputs, %zu are given", index,
                                 s.graph->input_count, count);
    for (size_t i = 0; status == TAKT_OK && i < count; i++) {
        const int32_t at = s.graph->inputs[i];
        const char *name = takt_arena_format(&c->im->arena, "in_%zu", i);
        if (name == NULL)
            status = TAKT_ERR_MEMORY;
        else if (s.values[at].state != TAKT_TFL_NEW)
            status = takt_flat_fail(c->flat, s.graph->at, "tensor %d is an input twice", at);
        else
            s.values[at] = (takt_tfl_value){.state = TAKT_TFL_READY,
                                            .id = takt_graph_input(body, name, &types[i])};
    }
    if (status == TAKT_OK)
        status = takt_tfl_operators(&s);
    takt_tfl_call inner = *c; /* reads results as an operator reads its inputs */
    const takt_tfl_op results = {.inputs = s.graph->outputs,
                                 .input_count = s.graph->output_count,
                                 .code = c->op->code,
                                 .at = c->op->at};
    inner.scope = &s;
    inner.g = body;
    inner.op = &results;
    for (size_t i = 0; status == TAKT_OK && i < s.graph->output_count; i++) {
        const char *name = takt_arena_format(&c->im->arena, "out_%zu", i);
        const takt_id id = s.values[s.graph->outputs[i]].state == TAKT_TFL_POISON
                               ? TAKT_NONE
                               : takt_tfl_need(&inner, i);
        if (id != TAKT_NONE && name != NULL)
            takt_graph_output(body, name, id);
        else
            status = !takt_tfl_good(&inner) ? inner.status
                                            : takt_tfl_refuse(c, "a graph of it is refused");
    }
    takt_tfl_close(&s);
    return status == TAKT_OK ? body->status : status;
}

static takt_status make(takt_tfl_call *c, int32_t index, const takt_type *types, size_t count,
                        takt_graph **body)
{
    TAKT_TRY(takt_graph_create(c->ctx, c->g, body));
    const takt_status status = build(c, index, types, count, *body);
    if (status != TAKT_OK) {
        takt_graph_destroy(*body);
        *body = NULL;
    }
    return status;
}

/* Inputs from `first` on: values and their types. */
static takt_status given(takt_tfl_call *c, size_t first, takt_id **in, takt_type **types)
{
    const size_t count = c->op->input_count;
    *in = takt_tfl_get(c, count, sizeof **in);
    *types = takt_tfl_get(c, count, sizeof **types);
    for (size_t i = 0; *in != NULL && *types != NULL && i < count; i++) {
        (*in)[i] = takt_tfl_need(c, i);
        if (i >= first)
            (*types)[i - first] = *takt_type_of(c->g, (*in)[i]);
    }
    (void)takt_tfl_good(c);
    return c->status;
}

static takt_status results(takt_tfl_call *c, takt_id all, size_t count)
{
    if (count != c->op->output_count)
        return takt_tfl_refuse(c, "%zu results, its graphs have %zu", c->op->output_count, count);
    for (size_t i = 0; i < count && all != TAKT_NONE; i++)
        takt_tfl_set(c, i, takt_graph_get(c->g, all, i));
    return takt_tfl_good(c) ? TAKT_OK : c->status;
}

static takt_status branch(takt_tfl_call *c)
{
    takt_graph *yes = NULL, *no = NULL;
    takt_id *in;
    takt_type *types;
    if (c->op->input_count < 1)
        return takt_tfl_refuse(c, "no condition");
    TAKT_TRY(given(c, 1, &in, &types));
    const size_t count = c->op->input_count - 1;
    in[0] = takt_tfl_shape(c, in[0], NULL, 0);
    takt_status status = make(c, takt_tfl_i32(c, 0, 0), types, count, &yes);
    if (status == TAKT_OK)
        status = make(c, takt_tfl_i32(c, 1, 0), types, count, &no);
    if (status == TAKT_OK && takt_tfl_good(c)) {
        const takt_named_attr attrs[] = {{"then", takt_attr_graph(yes)},
                                         {"else", takt_attr_graph(no)}};
        const takt_id all = takt_graph_call(c->g, &takt_op_if, count + 1, in, 2, attrs);
        status = results(c, all, yes->output_count);
    }
    takt_graph_destroy(yes);
    takt_graph_destroy(no);
    return status;
}

/* Our body also takes the iteration and the condition, and returns the next condition. */
static takt_status loop_body(takt_tfl_call *c, const takt_type *types, size_t count,
                             takt_graph *body)
{
    const takt_type number = {.dtype = TAKT_I64}, truth = {.dtype = TAKT_BOOL};
    takt_graph *step = NULL, *test = NULL;
    takt_id *in = takt_tfl_get(c, count, sizeof *in), *next = takt_tfl_get(c, count, sizeof *next);
    if (in == NULL || next == NULL)
        return c->status;
    (void)takt_graph_input(body, "iteration", &number);
    (void)takt_graph_input(body, "condition", &truth);
    for (size_t i = 0; i < count; i++) {
        const char *name = takt_arena_format(&c->im->arena, "carried_%zu", i);
        in[i] = name != NULL ? takt_graph_input(body, name, &types[i]) : TAKT_NONE;
    }
    takt_status status = make(c, takt_tfl_i32(c, 1, 0), types, count, &step);
    if (status == TAKT_OK)
        status = make(c, takt_tfl_i32(c, 0, 0), types, count, &test);
    if (status == TAKT_OK && (step->output_count != count || test->output_count != 1))
        status = takt_tfl_refuse(c, "graphs with %zu and %zu results", step->output_count,
                                 test->output_count);
    if (status == TAKT_OK) {
        const takt_named_attr one[] = {{"name", takt_attr_string("body")},
                                       {"body", takt_attr_graph(step)}};
        const takt_named_attr two[] = {{"name", takt_attr_string("condition")},
                                       {"body", takt_attr_graph(test)}};
        const takt_id all = takt_graph_call(body, &takt_op_custom, count, in, 2, one);
        for (size_t i = 0; i < count; i++)
            next[i] = all == TAKT_NONE ? all : takt_graph_get(body, all, i);
        takt_id more = takt_graph_call(body, &takt_op_custom, count, next, 2, two);
        more = more == TAKT_NONE ? more : takt_reshape(body, more, NULL, 0);
        takt_graph_output(body, "more", more);
        for (size_t i = 0; i < count; i++)
            takt_graph_output(body, takt_arena_format(&c->im->arena, "next_%zu", i), next[i]);
        status = body->status;
    }
    takt_graph_destroy(step);
    takt_graph_destroy(test);
    return status;
}

/* Whether to start at all: the condition on the initial values. */
static takt_status first_test(takt_tfl_call *c, const takt_id *in, const takt_type *types,
                              size_t count, takt_id *begin)
{
    takt_graph *test = NULL;
    TAKT_TRY(make(c, takt_tfl_i32(c, 0, 0), types, count, &test));
    const takt_named_attr attrs[] = {{"name", takt_attr_string("condition")},
                                     {"body", takt_attr_graph(test)}};
    *begin = takt_graph_call(c->g, &takt_op_custom, count, in, 2, attrs);
    *begin = *begin == TAKT_NONE ? *begin : takt_reshape(c->g, *begin, NULL, 0);
    takt_graph_destroy(test);
    return c->g->status;
}

static takt_status repeat(takt_tfl_call *c)
{
    takt_id *in, *all;
    takt_type *types;
    takt_graph *body;
    TAKT_TRY(given(c, 0, &in, &types));
    const size_t count = c->op->input_count;
    if (count == 0 || count > TAKT_MAX_OUTPUTS - 1)
        return takt_tfl_refuse(c, "%zu values", count);
    all = takt_tfl_get(c, count + 2, sizeof *all);
    if (all == NULL)
        return c->status;
    TAKT_TRY(first_test(c, in, types, count, &all[1]));
    TAKT_TRY(takt_graph_create(c->ctx, c->g, &body));
    takt_status status = loop_body(c, types, count, body);
    if (status == TAKT_OK && takt_tfl_good(c)) {
        all[0] = takt_scalar_i64(c->g, (int64_t)c->ctx->limits.trip_count);
        for (size_t i = 0; i < count; i++)
            all[i + 2] = in[i];
        const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                         {"carried", takt_attr_i64((int64_t)count)}};
        status = results(c, takt_graph_call(c->g, &takt_op_loop, count + 2, all, 2, attrs), count);
    }
    takt_graph_destroy(body);
    return status;
}

static takt_status adapt(takt_tfl_call *c)
{
    return takt_tfl_is(c, "IF") ? branch(c) : repeat(c);
}

const takt_tflite_op takt_tflite_Control = {.names = {"IF", "WHILE"}, .adapt = adapt};
