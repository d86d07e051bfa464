/* Loop.c - Loop: unrolled if the trip count is known and small, else our op. */
#include <string.h>

#include "io/onnx/control.h"
#include "io/onnx/lengths.h"
#include "pass/copier.h"

enum { UNROLL = 256 };

typedef struct loop {
    const takt_pb_graph *body;
    size_t carried, scanned;
    int64_t trip;        /* INT64_MAX if it has none; -1 if not known */
    bool is_named;       /* the trip count is known only as the dimension `length` */
    takt_dim length;     /* of scanned results */
    bool begins;         /* by its condition, if that is known */
    bool is_counted;     /* its condition is a counter's, which ends it at `count` */
    takt_id count;       /* the trip count, if there is one */
    takt_appended grown; /* its remainder, if it stays a loop */
    takt_grown read;     /* values that grow and are read inside */
    takt_id *first;      /* initial carried values, with the rows in use of growing values */
} loop;

static takt_status take_scanned(takt_call *c, const loop *l, takt_id *const *rows, int64_t trips)
{
    for (size_t i = 0; i < l->scanned; i++)
        takt_onnx_set(c, l->carried + i,
                      takt_graph_call(c->g, &takt_op_stack, (size_t)trips, rows[i], 0, NULL));
    return c->status;
}

/* Known trip count and conditions: unrolls the body. */
static takt_status unroll(takt_call *c, const loop *l, bool *is_done)
{
    takt_onnx_value *in = takt_onnx_get(c, 2 + l->carried, sizeof *in);
    takt_onnx_value *out = takt_onnx_get(c, l->body->output_count, sizeof *out);
    takt_id *rows[64];
    int64_t iteration = 0;
    const int64_t limit = l->trip > UNROLL ? UNROLL : l->trip;
    bool goes_on = l->begins;
    *is_done = false;
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    if (l->scanned > 0 && l->trip == 0)
        return TAKT_OK; /* only a loop in the graph has types for zero iterations */
    for (size_t i = 0; i < l->scanned; i++)
        if ((rows[i] = takt_onnx_get(c, UNROLL, sizeof **rows)) == NULL)
            return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < l->carried; i++)
        in[2 + i] = *c->in[2 + i];
    in[0].kind = in[1].kind = TAKT_ONNX_TENSOR;
    for (; iteration < limit && goes_on; iteration++) {
        in[0].id = takt_scalar_i64(c->g, iteration);
        in[1].id = takt_onnx_scalar(c, TAKT_BOOL, 1);
        TAKT_TRY(takt_subgraph_inline(c, l->body, in, 2 + l->carried, out));
        for (size_t i = 0; i < l->body->output_count; i++)
            if (out[i].kind == TAKT_ONNX_POISON)
                return takt_onnx_refuse(c, "a node of its body is refused");
        for (size_t i = 0; i < l->carried; i++)
            in[2 + i] = out[1 + i];
        for (size_t i = 0; i < l->scanned; i++)
            rows[i][iteration] = out[1 + l->carried + i].id;
        const takt_array *known;
        TAKT_TRY(takt_fold_known(c->scope->room, out[0].id, &known));
        if (takt_array_one(known) == NULL)
            return TAKT_OK; /* depends on data: a loop in the graph */
        goes_on = known->i[0] != 0;
    }
    if (goes_on && iteration < l->trip)
        return TAKT_OK;
    *is_done = true;
    for (size_t i = 0; i < l->carried && i < c->out_count; i++)
        c->out[i] = in[2 + i];
    return take_scanned(c, l, rows, iteration);
}

static bool is_true(const takt_tensor *t)
{
    return t->type.dtype == TAKT_BOOL && takt_tensor_count(t) == 1 &&
           *(const unsigned char *)takt_tensor_data(t) != 0;
}

/* Whether only the trip count ends it, so that scanned results have that length. */
static bool runs_out(takt_call *c, const loop *l, const takt_graph *body)
{
    const takt_id goes_on = body->outputs[0].id;
    const takt_node *n = takt_node_at(body, goes_on);
    const bool is_passed = goes_on == body->inputs[1].id;
    const bool is_constant = n->op == &takt_op_constant;
    if (l->trip == 0 || l->is_counted)
        return true;
    if (!is_passed && !(is_constant && is_true(n->attr[0].tensor)))
        return false;
    return !takt_onnx_has(c, 1) || takt_onnx_peek(c, 1) != NULL;
}

/* ---- a data-dependent end: the body counts ---- */

static void copy_inputs(const loop *l, const takt_graph *in, takt_graph *g, takt_id *map)
{
    const takt_type count = {.dtype = TAKT_I64};
    for (size_t i = 0; i < in->input_count; i++) {
        const takt_port *p = &in->inputs[i];
        if (i == 2 + l->carried)
            (void)takt_graph_input(g, "(count)", &count);
        map[p->id] = takt_graph_input(g, p->name, takt_type_of(in, p->id));
    }
    if (in->input_count == 2 + l->carried)
        (void)takt_graph_input(g, "(count)", &count);
}

/* The iteration count as one more carried value, the last. */
static takt_status count_iterations(const loop *l, const takt_graph *in, takt_graph **out)
{
    takt_copier copier;
    *out = NULL;
    takt_status status = takt_copier_init(&copier, in);
    takt_graph *g = copier.out;
    if (status == TAKT_OK) {
        copy_inputs(l, in, g, copier.map);
        status = g->status;
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!copier.live[i] || copier.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&copier, (takt_id)i);
        copier.map[i] = takt_graph_append(g, n.op, n.in_count, n.in, n.attr);
        status = g->status;
    }
    for (size_t i = 0; i < in->output_count && status == TAKT_OK; i++) {
        takt_graph_output(g, in->outputs[i].name, copier.map[in->outputs[i].id]);
        if (i == l->carried)
            takt_graph_output(g, "(count)",
                              takt_add(g, copier.map[in->inputs[0].id], takt_scalar_i64(g, 1)));
        status = g->status;
    }
    takt_arena_deinit(&copier.arena);
    if (status != TAKT_OK)
        takt_graph_destroy(g);
    else
        *out = g;
    return status;
}

/* ---- ours ---- */

/* The maximum number of iterations is computed before the loop runs. */
static takt_status find_length(takt_call *c, loop *l)
{
    if ((l->scanned == 0 && l->read.count == 0) || l->is_named ||
        (l->trip >= 0 && l->trip <= INT32_MAX))
        return TAKT_OK;
    if (l->scanned == 0 && l->trip >= 0)
        return takt_onnx_refuse(c, "a carried value grows, and nothing tells how often");
    if (l->trip >= 0 || !takt_onnx_may_find(c))
        return takt_onnx_known(c, 0) == NULL ? c->status
                                             : takt_onnx_refuse(c, "scanned results of any length");
    const takt_id trip = takt_onnx_shape(c, l->count, NULL, 0);
    l->length = takt_onnx_length(c, takt_onnx_with(c, &takt_op_max, trip, 0),
                                 takt_onnx_at_most(TAKT_LENGTH_OPEN));
    return c->status;
}

/* Carried value `i` of those kept. */
static size_t input_of(const loop *l, size_t i)
{
    return 2 + l->grown.kept[i];
}

/* Result `i` of the kept loop: the node's, carried ones first; then the grown ones. */
static void give(takt_call *c, const loop *l, size_t i, takt_id id)
{
    const size_t carried = l->grown.kept_count;
    const size_t own = carried + l->scanned - l->grown.count;
    const size_t grown = i - own;
    const size_t to = i < carried ? l->grown.kept[i]
                      : i < own   ? i + l->grown.count
                                  : l->grown.which[grown];
    if (to >= c->out_count)
        return;
    if (i >= own)
        id = takt_appended_join(c, takt_onnx_in(c, 2 + to), id, l->grown.axis[grown]);
    takt_onnx_set(c, to, id);
}

static takt_status call(takt_call *c, const loop *l, takt_graph *g, const takt_captures *captures,
                        bool counts)
{
    const size_t carried = l->carried + counts;
    takt_id *in = takt_onnx_get(c, 2 + carried + captures->count, sizeof *in);
    if (in == NULL)
        return c->status;
    in[0] = l->trip >= 0 ? takt_scalar_i64(c->g, l->trip) : takt_onnx_shape(c, l->count, NULL, 0);
    in[1] = takt_onnx_has(c, 1) ? takt_onnx_shape(c, takt_onnx_in(c, 1), NULL, 0)
                                : takt_onnx_scalar(c, TAKT_BOOL, 1);
    for (size_t i = 0; i < l->carried; i++)
        in[2 + i] = l->first[i];
    if (counts)
        in[2 + l->carried] = takt_scalar_i64(c->g, 0);
    for (size_t i = 0; i < captures->count; i++)
        in[2 + carried + i] = captures->ids[i];
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(g)},
                                     {"carried", takt_attr_i64((int64_t)carried)},
                                     {"length", takt_attr_shape(&l->length, 1)}};
    const takt_id y = takt_graph_call(c->g, &takt_op_loop, 2 + carried + captures->count, in,
                                      l->scanned > 0 ? 3 : 2, attrs);
    takt_dim rows = l->length;
    if (counts && y != TAKT_NONE)
        rows = takt_onnx_length(c, takt_graph_get(c->g, y, l->carried), takt_onnx_at_most(rows));
    const size_t kept = l->grown.kept_count;
    for (size_t i = 0; i < kept + l->scanned && c->status == TAKT_OK; i++) {
        const size_t at = i + (i >= kept ? l->read.count + counts : 0);
        takt_id one = y == TAKT_NONE || g->output_count == 2 ? y : takt_graph_get(c->g, y, at);
        if (counts && i >= kept)
            one = takt_onnx_sized(c, one, rows);
        for (size_t k = 0; k < l->read.count && y != TAKT_NONE; k++)
            if (i == l->read.at[k].which)
                one = takt_grown_end(c, &l->read.at[k], one, takt_graph_get(c->g, y, kept + k));
        give(c, l, i, one);
    }
    return c->status;
}

/* Puts sizes that the file states for a result of the body into `row`, if it states all of them. */
static bool states_sizes(const takt_pb_value *v, takt_type *row)
{
    const takt_pb_tensor_type *t = v->type != NULL ? v->type->tensor : NULL;
    bool is_known =
        t != NULL && t->shape != NULL && t->shape->dim_count == (size_t)row->rank && row->rank > 0;
    for (int d = 0; is_known && d < row->rank; d++)
        is_known = t->shape->dims[d].has_value && t->shape->dims[d].value >= 0;
    for (int d = 0; is_known && d < row->rank; d++)
        row->dim[d] = t->shape->dims[d].value;
    return is_known;
}

/* Rows of a scanned result have one size, at least according to the file; appended rows have the
 * size of the existing ones. */
static takt_status check_rows(takt_call *c, const loop *l, takt_graph *g)
{
    const size_t own = l->scanned - l->grown.count;
    char text[TAKT_TYPE_TEXT];
    for (size_t i = 0; i < l->scanned && c->status == TAKT_OK; i++) {
        takt_port *port = &g->outputs[1 + l->carried + i];
        takt_type row = *takt_type_of(g, port->id);
        if (i >= own && takt_onnx_is_found(c, g, &row)) {
            const takt_type all = *takt_onnx_type(c, 2 + l->grown.which[i - own]);
            const int axis = takt_onnx_axis(c, l->grown.axis[i - own], row.rank);
            for (int d = 0; d < row.rank && all.rank == row.rank; d++)
                row.dim[d] = d == axis ? row.dim[d] : all.dim[d];
            port->id = takt_onnx_demand_shape(c, g, port->id, &row);
        } else if (takt_onnx_is_found(c, g, &row) &&
                   states_sizes(&l->body->outputs[1 + l->carried + i], &row)) {
            port->id = takt_onnx_demand_shape(c, g, port->id, &row);
        }
        if (c->status == TAKT_OK && takt_onnx_is_found(c, g, &row))
            return takt_onnx_refuse(c,
                                    "rows of a result are %s, of another size in every iteration",
                                    takt_type_text(g->dims, &row, text));
    }
    return c->status != TAKT_OK ? c->status : g->status;
}

/* "for t in range(x.shape[0])": as many iterations as a dimension, whatever its size. */
static takt_status name_length(takt_call *c, loop *l)
{
    takt_syms trip = {0};
    l->length = l->trip;
    if (l->trip >= 0 || l->count == TAKT_NONE)
        return TAKT_OK;
    TAKT_TRY(takt_fold_syms(c->scope->room, l->count, &trip));
    l->is_named = trip.at != NULL && trip.count == 1 && trip.at[0].is_dim && !trip.at[0].is_minus;
    l->length = l->is_named ? trip.at[0].dim : l->length;
    return c->status;
}

/* "while i < n" with one result per iteration: n of them. */
static takt_status count_loop(takt_call *c, loop *l, const takt_graph *body,
                              const takt_captures *captures)
{
    l->count = takt_onnx_iterations(c, body, l->first, l->carried, captures);
    if (l->count == TAKT_NONE) {
        const int64_t most = takt_onnx_most_iterations(c, body, l->first, l->carried, captures);
        l->trip = most >= 0 ? most : l->trip;
        l->length = l->trip;
        return c->status;
    }
    l->is_counted = true;
    l->trip = -1;
    return name_length(c, l);
}

/* Replaces growing values by buffers; the row counts become carried values. */
static takt_status make_room(takt_call *c, loop *l, takt_graph **g)
{
    const size_t carried = l->carried;
    TAKT_TRY(takt_grown_wrap(c, &l->read, carried, l->length, g));
    for (size_t i = 0; i < l->read.count; i++) {
        const takt_grown_one *one = &l->read.at[i];
        l->first[one->which] =
            takt_grown_begin(c, one, l->first[one->which], &l->first[carried + i]);
    }
    l->carried += l->read.count;
    return c->status != TAKT_OK ? c->status : c->g->status;
}

static takt_status keep(takt_call *c, loop *l)
{
    takt_captures captures = {.may_find = true};
    takt_graph *g, *counting = NULL;
    TAKT_TRY(takt_onnx_appended(c, l->body, l->carried, &l->grown));
    l->body = &l->grown.body;
    l->carried = l->grown.kept_count;
    l->scanned += l->grown.count;
    takt_type *types = takt_onnx_get(c, 2 + l->carried, sizeof *types);
    l->first = takt_onnx_get(c, 2 * l->carried + 1, sizeof *l->first);
    if (types == NULL || l->first == NULL)
        return TAKT_ERR_MEMORY;
    types[0].dtype = TAKT_I64;
    types[1].dtype = TAKT_BOOL;
    for (size_t i = 0; i < l->carried; i++) {
        types[2 + i] = *takt_onnx_type(c, input_of(l, i));
        l->first[i] = takt_onnx_in(c, input_of(l, i));
    }
    TAKT_TRY(takt_onnx_grown(c, l->body, types, l->carried, &l->read));
    TAKT_TRY(takt_subgraph_captures(c, l->body, &captures));
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(takt_subgraph_build(c, l->body, types, 2 + l->carried, &captures, &g));
    takt_status status = TAKT_OK;
    if ((l->scanned > 0 || l->read.count > 0) && l->trip == INT64_MAX)
        status = count_loop(c, l, g, &captures);
    if (status == TAKT_OK)
        status = find_length(c, l);
    if (status == TAKT_OK && l->read.count > 0)
        status = make_room(c, l, &g);
    const bool counts = l->scanned > 0 && !runs_out(c, l, g);
    if (status == TAKT_OK)
        status = check_rows(c, l, g);
    if (status == TAKT_OK && counts && !takt_onnx_may_find(c))
        status =
            takt_onnx_refuse(c, "scanned results whose number a condition in the body decides");
    if (status == TAKT_OK && counts)
        status = count_iterations(l, g, &counting);
    if (status == TAKT_OK)
        status = call(c, l, counts ? counting : g, &captures, counts);
    takt_graph_destroy(counting);
    takt_graph_destroy(g);
    return status;
}

static takt_status adapt(takt_call *c)
{
    loop l = {.body = takt_onnx_graph(c, "body"), .carried = c->in_count < 2 ? 0 : c->in_count - 2};
    if (c->status != TAKT_OK)
        return c->status;
    if (l.carried > 62 || l.body->output_count > 62 || l.body->output_count < 1 + l.carried ||
        c->out_count > l.body->output_count - 1)
        return takt_onnx_refuse(c, "the body has %zu results", l.body->output_count);
    for (size_t i = 0; i < l.carried; i++)
        if (!takt_onnx_has(c, 2 + i))
            return takt_onnx_refuse(c, "carried value %zu is left out", i);
    l.scanned = l.body->output_count - 1 - l.carried;
    const bool counts = takt_onnx_has(c, 0), asks = takt_onnx_has(c, 1);
    const int64_t *trip = counts ? takt_array_one(takt_onnx_peek(c, 0)) : NULL;
    l.count = counts ? takt_onnx_in(c, 0) : TAKT_NONE;
    const int64_t *begins = asks ? takt_array_one(takt_onnx_peek(c, 1)) : NULL;
    l.trip = !counts ? INT64_MAX : trip != NULL ? *trip : -1;
    l.begins = begins == NULL || *begins != 0;
    l.trip = l.begins ? l.trip : 0;
    TAKT_TRY(name_length(c, &l));
    bool is_done = false;
    if (l.trip >= 0 && (!asks || begins != NULL) &&
        takt_subgraph_repeats(c, l.body, l.trip > UNROLL ? UNROLL : (size_t)l.trip))
        TAKT_TRY(unroll(c, &l, &is_done));
    return is_done ? c->status : keep(c, &l);
}

const takt_onnx_op takt_onnx_Loop = {.names = {"Loop"}, .adapt = adapt};
