/* control.c - shared by ops with subgraphs. */
#include "op/util/control.h"

#include "ir/array.h"
#include "op/util/check.h"
#include "op/util/index.h"

takt_status takt_control_check(takt_infer *in, int attr, size_t count)
{
    const takt_graph *g = in->attr[attr].graph;
    const char *name = in->op->attrs[attr].name;
    if (g->dims != in->dims)
        return takt_fail(in->ctx, TAKT_E_ATTR,
                         "%s: %s was not made for this graph: its dimensions "
                         "are others",
                         in->op->name, name);
    if (g->slot_count > 0)
        return takt_fail(in->ctx, TAKT_E_ATTR, "%s: %s keeps state (%s); only a whole model may",
                         in->op->name, name, g->slots[0].name);
    if (g->input_count != count)
        return takt_fail(in->ctx, TAKT_E_ARITY, "%s: %s has %zu inputs, but is given %zu",
                         in->op->name, name, g->input_count, count);
    if (g->output_count == 0 || g->output_count > TAKT_MAX_OUTPUTS)
        return takt_fail(in->ctx, TAKT_E_ARITY, "%s: %s has %zu results; 1 to %d are possible",
                         in->op->name, name, g->output_count, TAKT_MAX_OUTPUTS);
    return TAKT_OK;
}

const takt_type *takt_control_input(const takt_graph *g, size_t i)
{
    return takt_type_of(g, g->inputs[i].id);
}

const takt_type *takt_control_output(const takt_graph *g, size_t i)
{
    return takt_type_of(g, g->outputs[i].id);
}

takt_status takt_control_same(takt_infer *in, const takt_type *got, const takt_type *want,
                              const char *what, size_t i)
{
    bool agree = got->dtype == want->dtype && got->rank == want->rank;
    for (int d = 0; agree && d < want->rank; d++)
        TAKT_TRY(takt_check_agree(in, got->dim[d], want->dim[d], &agree));
    if (agree)
        return TAKT_OK;
    char a[TAKT_TYPE_TEXT], b[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE, "%s: %s %zu is %s, expected %s", in->op->name, what, i,
                     takt_type_text(in->dims, got, a), takt_type_text(in->dims, want, b));
}

takt_status takt_control_feeds(takt_infer *in, const takt_graph *g, size_t first, size_t at,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (in->type[first + i] == NULL)
            return takt_fail(in->ctx, TAKT_E_ARITY, "%s: input %zu may not be left out",
                             in->op->name, first + i);
        TAKT_TRY(takt_control_same(in, in->type[first + i], takt_control_input(g, at + i), "input",
                                   first + i));
    }
    return TAKT_OK;
}

takt_status takt_control_take(takt_ctx *ctx, const takt_array *from, int axis, int64_t index,
                              takt_array *out)
{
    takt_type type = {.dtype = from->dtype, .rank = from->rank - 1};
    for (int d = 0, to = 0; d < from->rank; d++)
        if (d != axis)
            type.dim[to++] = from->dim[d];
    TAKT_TRY(takt_array_create(ctx, &type, out));
    const size_t inner = takt_index_span(from, axis + 1, from->rank);
    const size_t size = (size_t)from->dim[axis];
    for (size_t i = 0; i < out->count; i++)
        takt_index_move(out, i, from, (i / inner * size + (size_t)index) * inner + i % inner);
    return TAKT_OK;
}

void takt_control_put(takt_array *to, int axis, int64_t index, const takt_array *from)
{
    const size_t inner = takt_index_span(to, axis + 1, to->rank);
    const size_t size = (size_t)to->dim[axis];
    for (size_t i = 0; i < from->count; i++)
        takt_index_move(to, (i / inner * size + (size_t)index) * inner + i % inner, from, i);
}

void takt_control_release(takt_ctx *ctx, takt_array *arrays, size_t count)
{
    for (size_t i = 0; i < count; i++)
        takt_array_release(ctx, &arrays[i]);
}
