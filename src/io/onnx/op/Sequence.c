/* Sequence.c - sequences are lists of values during import; the graph has none. */
#include <string.h>

#include "base/size.h"
#include "io/onnx/control.h"
#include "io/onnx/lengths.h"

static takt_status set_list(takt_call *c, const takt_id *items, size_t count)
{
    takt_id *copy = takt_onnx_get(c, count, sizeof *copy);
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    if (count > 0)
        memcpy(copy, items, count * sizeof *copy);
    c->out[0].kind = TAKT_ONNX_SEQUENCE;
    c->out[0].items = copy;
    c->out[0].item_count = count;
    return c->status;
}

static const takt_onnx_value *list(takt_call *c, size_t i)
{
    static const takt_onnx_value none = {.kind = TAKT_ONNX_SEQUENCE};
    if (takt_onnx_has(c, i) && c->in[i]->kind == TAKT_ONNX_SEQUENCE)
        return c->in[i];
    (void)takt_onnx_refuse(c, "input %zu is not a sequence", i);
    return &none;
}

/* A position in 0 … count - 1, or count if `end` allows it. */
static size_t position(takt_call *c, size_t input, size_t count, size_t fallback, size_t end)
{
    const takt_ints at = takt_onnx_known_ints(c, input);
    if (!at.is_set)
        return fallback;
    if (at.count != 1) {
        (void)takt_onnx_refuse(c, "a position of %zu numbers", at.count);
        return 0;
    }
    const int64_t v = at.at[0] < 0 ? at.at[0] + (int64_t)count : at.at[0];
    if (v >= 0 && (uint64_t)v < end)
        return (size_t)v;
    (void)takt_onnx_refuse(c, "position %lld of %zu", (long long)at.at[0], count);
    return 0;
}

static takt_status construct(takt_call *c)
{
    takt_id *items = takt_onnx_get(c, c->in_count, sizeof *items);
    for (size_t i = 0; items != NULL && i < c->in_count; i++)
        items[i] = takt_onnx_in(c, i);
    return items == NULL ? TAKT_ERR_MEMORY : set_list(c, items, c->in_count);
}

static takt_status insert(takt_call *c)
{
    const takt_onnx_value *s = list(c, 0);
    const size_t at = position(c, 2, s->item_count, s->item_count, s->item_count + 1);
    takt_id *items = takt_onnx_get(c, s->item_count + 1, sizeof *items);
    if (items == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i <= s->item_count; i++)
        items[i] = i < at ? s->items[i] : i == at ? takt_onnx_in(c, 1) : s->items[i - 1];
    return set_list(c, items, s->item_count + 1);
}

static takt_status erase(takt_call *c)
{
    const takt_onnx_value *s = list(c, 0);
    if (s->item_count == 0)
        return takt_onnx_refuse(c, "the sequence is empty");
    const size_t at = position(c, 1, s->item_count, s->item_count - 1, s->item_count);
    takt_id *items = takt_onnx_get(c, s->item_count, sizeof *items);
    if (items == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i + 1 < s->item_count; i++)
        items[i] = s->items[i < at ? i : i + 1];
    return set_list(c, items, s->item_count - 1);
}

/* One item per size; a single size is that of all items and determines their number. */
static takt_status split_by_values(takt_call *c, takt_id sizes, size_t count)
{
    takt_id parts[TAKT_MAX_RANK];
    TAKT_TRY(takt_onnx_parts(c, sizes, count, parts));
    return set_list(c, parts, count);
}

static takt_status split(takt_call *c)
{
    size_t many = 0;
    if (takt_onnx_has(c, 1) && takt_onnx_peek(c, 1) == NULL && takt_onnx_type(c, 1)->rank == 1) {
        const takt_id found = takt_onnx_vector(c, 1, &many);
        if (found != TAKT_NONE && many > 0)
            return split_by_values(c, found, many);
    }
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", 0), t.rank);
    const takt_ints sizes = takt_onnx_known_ints(c, 1);
    const bool keep = sizes.is_set || takt_onnx_i(c, "keepdims", 1) != 0;
    const bool is_one = !sizes.is_set || takt_onnx_type(c, 1)->rank == 0;
    if (c->status != TAKT_OK)
        return c->status;
    if (!takt_dim_is_number(t.dim[axis]))
        return takt_onnx_refuse_size(c, "a dimension without a number");
    const int64_t each = !sizes.is_set ? 1 : sizes.count > 0 ? sizes.at[0] : 0, size = t.dim[axis];
    if (is_one && each < 1)
        return takt_onnx_refuse(c, "parts of %lld", (long long)each);
    const size_t count = is_one ? (size_t)(size / each + (size % each != 0)) : sizes.count;
    if (count > c->g->ctx->limits.nodes)
        return takt_onnx_refuse(c, "%zu parts of %lld elements", count, (long long)size);
    takt_id *items = takt_onnx_get(c, count, sizeof *items);
    if (items == NULL)
        return TAKT_ERR_MEMORY;
    int64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t next;
        if (!takt_i64_add(at, is_one ? each : sizes.at[i], &next))
            return takt_onnx_refuse(c, "parts of %lld", (long long)sizes.at[i]);
        items[i] = takt_slice(c->g, x, axis, at, next < size ? next : size, 1);
        if (!keep)
            items[i] = takt_onnx_squeeze(c, items[i], axis);
        at = next;
    }
    return set_list(c, items, count);
}

static takt_status join(takt_call *c)
{
    const takt_onnx_value *s = list(c, 0);
    const bool stacks = takt_onnx_i(c, "new_axis", 0) != 0;
    const takt_named_attr axis = {"axis", takt_attr_i64(takt_onnx_i(c, "axis", 0))};
    if (c->status != TAKT_OK || s->item_count == 0)
        return takt_onnx_refuse(c, "the sequence is empty");
    return takt_onnx_done(c, takt_graph_call(c->g, stacks ? &takt_op_stack : &takt_op_concat,
                                             s->item_count, s->items, 1, &axis));
}

/* Applies the body to every item; further inputs are sequences of the same length, or the same for
 * all. */
static takt_status map(takt_call *c)
{
    const takt_pb_graph *body = takt_onnx_graph(c, "body");
    const takt_onnx_value *first = list(c, 0);
    takt_onnx_value *in = takt_onnx_get(c, c->in_count, sizeof *in);
    if (c->status != TAKT_OK || in == NULL)
        return c->status != TAKT_OK ? c->status : TAKT_ERR_MEMORY;
    takt_onnx_value *out = takt_onnx_get(c, body->output_count, sizeof *out);
    takt_id **items = takt_onnx_get(c, c->out_count, sizeof *items);
    for (size_t k = 0; items != NULL && k < c->out_count; k++)
        if ((items[k] = takt_onnx_get(c, first->item_count, sizeof **items)) == NULL)
            return TAKT_ERR_MEMORY;
    if (items == NULL || out == NULL || body->output_count < c->out_count)
        return takt_onnx_refuse(c, "the body has too few results");
    for (size_t k = 0; k < c->in_count; k++)
        if (!takt_onnx_has(c, k))
            return takt_onnx_refuse(c, "input %zu is left out", k);
    if (!takt_subgraph_repeats(c, body, first->item_count))
        return takt_onnx_refuse(c, "its body for %zu items makes the model too large",
                                first->item_count);
    for (size_t i = 0; i < first->item_count; i++) {
        for (size_t k = 0; k < c->in_count; k++) {
            in[k] = *c->in[k];
            if (in[k].kind == TAKT_ONNX_SEQUENCE && i < in[k].item_count)
                in[k] = (takt_onnx_value){.kind = TAKT_ONNX_TENSOR, .id = c->in[k]->items[i]};
        }
        TAKT_TRY(takt_subgraph_inline(c, body, in, c->in_count, out));
        for (size_t k = 0; k < c->out_count; k++) {
            if (out[k].kind != TAKT_ONNX_TENSOR)
                return takt_onnx_refuse(c, "a result of the body is not a tensor");
            items[k][i] = out[k].id;
        }
    }
    for (size_t k = 0; k < c->out_count; k++) {
        c->out[k].kind = TAKT_ONNX_SEQUENCE;
        c->out[k].items = items[k];
        c->out[k].item_count = first->item_count;
    }
    return c->status;
}

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    if (takt_span_is(op, "SequenceEmpty"))
        return set_list(c, NULL, 0);
    if (takt_span_is(op, "SequenceConstruct"))
        return construct(c);
    if (takt_span_is(op, "SequenceInsert"))
        return insert(c);
    if (takt_span_is(op, "SequenceErase"))
        return erase(c);
    if (takt_span_is(op, "SplitToSequence"))
        return split(c);
    if (takt_span_is(op, "ConcatFromSequence"))
        return join(c);
    if (takt_span_is(op, "SequenceMap"))
        return map(c);
    const takt_onnx_value *s = list(c, 0);
    if (takt_span_is(op, "SequenceLength"))
        return takt_onnx_done(c, takt_scalar_i64(c->g, (int64_t)s->item_count));
    if (s->item_count == 0)
        return takt_onnx_refuse(c, "the sequence is empty");
    return takt_onnx_done(c, s->items[position(c, 1, s->item_count, 0, s->item_count)]);
}

const takt_onnx_op takt_onnx_Sequence = {.names = {"SequenceEmpty", "SequenceConstruct",
                                                   "SequenceInsert", "SequenceErase",
                                                   "SplitToSequence", "ConcatFromSequence",
                                                   "SequenceMap", "SequenceLength", "SequenceAt"},
                                         .adapt = adapt};
