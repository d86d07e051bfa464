/* replace.c - one element of a list replaced, as TensorFlow's converter writes it.
 *
 * A loop that fills a list, such as a recurrent layer of Keras, becomes a WHILE in which
 *
 *     CONCATENATION(SLICE(list, 0, [at, -1, ...]), element, SLICE(list, [at + 1, 0, ...], -1))
 *
 * stores the element. The sizes of both slices depend on values; that of their whole does not.
 */
#include "io/tflite/replace.h"

#include <string.h>

enum { REACH = 64 }; /* operators between the first of the form and the last */
enum { AXIS, ACTIVATION };

static bool is(const takt_tfl_op *op, const char *name)
{
    const char *own = takt_tfl_builtin_name(op->code->builtin);
    return own != NULL && strcmp(own, name) == 0;
}

/* The operator before `op` that makes its input `i`, if it is a `name`. */
static const takt_tfl_op *maker(const takt_tfl_call *c, const takt_tfl_op *op, size_t i,
                                const char *name)
{
    const takt_tfl_op *first = c->scope->graph->ops;
    if (i >= op->input_count || op->inputs[i] < 0)
        return NULL;
    for (const takt_tfl_op *at = op; at > first && op - at < REACH; at--)
        for (size_t k = 0; k < at[-1].output_count; k++)
            if (at[-1].outputs[k] == op->inputs[i])
                return is(&at[-1], name) ? &at[-1] : NULL;
    return NULL;
}

/* The elements of an operator's input are known, and all `value`. */
static bool is_all(takt_tfl_call *c, const takt_tfl_op *op, size_t i, int64_t value)
{
    takt_tfl_call of = *c;
    of.op = op;
    const takt_array *known = i < op->input_count ? takt_tfl_peek(&of, i) : NULL;
    bool all = known != NULL && known->i != NULL;
    for (size_t k = 0; all && k < known->count; k++)
        all = known->i[k] == value;
    if (of.status == TAKT_ERR_MEMORY) /* others: of an operator that is not of the form */
        c->status = of.status;
    return all;
}

/* [number, value, value, ...] as input `i` of `op`: the operator that reads the number as its
 * input 0, or NULL. */
static const takt_tfl_op *number_before(takt_tfl_call *c, const takt_tfl_op *op, size_t i,
                                        int64_t value)
{
    const takt_tfl_op *list = maker(c, op, i, "CONCATENATION");
    for (size_t k = 1; list != NULL && k < list->input_count; k++)
        if (!is_all(c, list, k, value))
            return NULL;
    return list != NULL ? maker(c, list, 0, "RESHAPE") : NULL;
}

/* `more` reads the number that `one` reads, plus 1. */
static bool is_next(takt_tfl_call *c, const takt_tfl_op *one, const takt_tfl_op *more)
{
    const takt_tfl_op *sum = maker(c, more, 0, "ADD");
    if (sum == NULL || sum->input_count != 2)
        return false;
    const size_t which = sum->inputs[0] == one->inputs[0] ? 0 : 1;
    return sum->inputs[which] == one->inputs[0] && is_all(c, sum, !which, 1);
}

/* The operator that reads the position as its input 0, if `op` is of the form; `*slice`: one of
 * its slices. */
static const takt_tfl_op *form(takt_tfl_call *c, const takt_tfl_op *op, const takt_tfl_op **slice)
{
    const takt_tfl_op *before, *after;
    if (!is(op, "CONCATENATION") || op->input_count != 3)
        return NULL;
    before = maker(c, op, 0, "SLICE");
    after = maker(c, op, 2, "SLICE");
    if (before == NULL || after == NULL || before->input_count != 3 || after->input_count != 3 ||
        before->inputs[0] != after->inputs[0] || !is_all(c, before, 1, 0) ||
        !is_all(c, after, 2, -1))
        return NULL;
    const takt_tfl_op *one = number_before(c, before, 2, -1), *more = number_before(c, after, 1, 0);
    *slice = before;
    return one != NULL && more != NULL && is_next(c, one, more) ? one : NULL;
}

bool takt_tfl_is_part(takt_tfl_call *c)
{
    const takt_tfl_op *end = c->scope->graph->ops + c->scope->graph->op_count, *slice;
    for (const takt_tfl_op *op = c->op + 1; op < end && op - c->op < REACH; op++)
        for (size_t k = 0; k < op->input_count; k++)
            if (op->inputs[k] == c->op->outputs[0])
                return k != 1 && form(c, op, &slice) != NULL;
    return false;
}

static bool is_cut(const takt_tfl_call *c, size_t i)
{
    return c->scope->values[c->op->inputs[i]].state == TAKT_TFL_PART;
}

/* One row takes the place of one: with more, the result would be longer than the list. */
static bool fits(takt_tfl_call *c, const takt_tfl_replaced *what)
{
    const takt_tfl_tensor *to = takt_tfl_tensor_out(c, 0);
    const takt_type list = *takt_type_of(c->g, what->list),
                    element = *takt_type_of(c->g, what->element);
    bool fits = element.rank > 0 && element.dim[0] == 1;
    for (int d = 0; d < to->rank && d < list.rank; d++) /* a converter writes 1 if it is unknown */
        fits = fits && (to->dim[d] == 1 || to->dim[d] == list.dim[d]);
    return fits && takt_tfl_i32(c, AXIS, 0) == 0 && takt_tfl_u8(c, ACTIVATION, 0) == TAKT_TFL_NONE;
}

bool takt_tfl_replaces(takt_tfl_call *c, takt_tfl_replaced *what)
{
    const takt_tfl_op *slice, *number = form(c, c->op, &slice);
    if (number == NULL || (!is_cut(c, 0) && !is_cut(c, 2)))
        return false;
    what->element = takt_tfl_need(c, 1);
    takt_tfl_call of = *c;
    of.op = slice;
    what->list = takt_tfl_need(&of, 0);
    of.op = number;
    what->at = takt_tfl_shape(&of, takt_tfl_need(&of, 0), NULL, 0);
    c->status = of.status;
    return takt_tfl_good(c) && fits(c, what);
}
