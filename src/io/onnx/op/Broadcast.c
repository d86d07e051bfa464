/* Broadcast.c - arithmetic and comparisons before opset 7, where attributes aligned the second
 * operand with the first: from axis `axis` on, or at its end; and PRelu, whose slopes were per
 * channel. */
#include "io/onnx/adapt.h"

static const takt_op *op_of(takt_span name)
{
    const struct {
        const char *name;
        const takt_op *op;
    } list[] = {{"Add", &takt_op_add},  {"Sub", &takt_op_sub},    {"Mul", &takt_op_mul},
                {"Div", &takt_op_div},  {"And", &takt_op_and},    {"Or", &takt_op_or},
                {"Xor", &takt_op_xor},  {"Greater", &takt_op_gt}, {"Less", &takt_op_lt},
                {"Equal", &takt_op_eq}, {"PRelu", &takt_op_prelu}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (takt_span_is(name, list[i].name))
            return list[i].op;
    return NULL;
}

/* b with ones appended to its shape, so that its first axis is aligned with `axis` of a. */
static takt_id aligned(takt_call *c, takt_id b, int rank, int64_t axis)
{
    const int own = takt_type_of(c->g, b)->rank;
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis > rank - own) {
        (void)takt_onnx_refuse(c, "rank %d from axis %lld on of rank %d", own, (long long)axis,
                               rank);
        return TAKT_NONE;
    }
    for (int64_t i = axis + own; i < rank && b != TAKT_NONE; i++)
        b = takt_onnx_unsqueeze(c, b, takt_type_of(c->g, b)->rank);
    return b;
}

static takt_status adapt(takt_call *c)
{
    const takt_op *op = op_of(c->node->op), *record = takt_onnx_record(c->node->op, c->opset);
    if (record != NULL)
        return takt_import_record(c, record);
    const takt_id a = takt_onnx_in(c, 0);
    takt_id b = takt_onnx_in(c, 1);
    if (op == NULL || a == TAKT_NONE || b == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing");
    const takt_type x = *takt_type_of(c->g, a), y = *takt_type_of(c->g, b);
    const bool by_axis = takt_onnx_i(c, "broadcast", 0) != 0 && takt_onnx_attr(c, "axis") != NULL;
    const bool is_one = y.rank == 0 || (y.rank == 1 && y.dim[0] == 1);
    if (op == &takt_op_prelu && !is_one)
        b = x.rank > 1 ? aligned(c, b, x.rank, 1) : b;
    else if (by_axis && !is_one)
        b = aligned(c, b, x.rank, takt_onnx_i(c, "axis", 0));
    return takt_onnx_done(c, b == TAKT_NONE ? b : takt_binary(c->g, op, a, b));
}

const takt_onnx_op takt_onnx_Broadcast = {
    .names = {"Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Greater", "Less", "Equal", "PRelu"},
    .adapt = adapt};
