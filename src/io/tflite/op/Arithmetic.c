/* Arithmetic.c - ADD, SUB, MUL and DIV with their activations; quantised ones in fixed point. */
#include "io/tflite/quant.h"
#include "op/record/integer_add.h"
#include "op/record/integer_mul.h"

static const takt_op *op_of(const takt_tfl_call *c)
{
    return takt_tfl_is(c, "ADD")   ? &takt_op_add
           : takt_tfl_is(c, "SUB") ? &takt_op_sub
           : takt_tfl_is(c, "MUL") ? &takt_op_mul
                                   : &takt_op_div;
}

/* Input `i` on a scale that both inputs share, with this many extra bits. */
static takt_id raised(takt_tfl_call *c, size_t i, float twice, int bits)
{
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, i));
    return takt_tfl_raised(c, takt_tfl_in(c, i), q.zero, bits,
                           takt_tfl_fixed_of((double)q.scale / (double)twice));
}

static takt_id sum(takt_tfl_call *c, const takt_op *op)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const float a = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)).scale,
                b = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)).scale;
    const takt_tfl_quant q = takt_tfl_quant_of(c, ty);
    const int bits = ty->type == TAKT_TFL_INT16 ? 15 : 20;
    const float twice = 2 * (a > b ? a : b), unit = (float)(1 << bits) * q.scale;
    const takt_id x = raised(c, 0, twice, bits), y = raised(c, 1, twice, bits);
    if (x == TAKT_NONE || y == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    return takt_tfl_rescale(c, takt_binary(c->g, op, x, y),
                            takt_tfl_fixed_of((double)twice / (double)unit));
}

static bool is_level(int32_t value, takt_tfl_range range)
{
    return value >= range.low && value <= range.high;
}

/* ADD, SUB or MUL of bytes. */
typedef struct bytes_call {
    takt_dtype dtype;
    bool is_minus, is_product;
    takt_id in[2];
    takt_tfl_quant of[2], y;
    takt_tfl_fixed raised[2], scale; /* of the operands of a sum; of the result */
    takt_tfl_range all, range;
} bytes_call;

enum { BITS = 20 };

static void set_scales(bytes_call *b)
{
    const float x = b->of[0].scale, y = b->of[1].scale;
    if (b->is_product) {
        const float both = x * y, real = both / b->y.scale;
        b->scale = takt_tfl_fixed_of((double)real);
        return;
    }
    const float twice = 2 * (x > y ? x : y), unit = (float)(1 << BITS) * b->y.scale;
    for (int i = 0; i < 2; i++)
        b->raised[i] = takt_tfl_fixed_of((double)b->of[i].scale / (double)twice);
    b->scale = takt_tfl_fixed_of((double)twice / (double)unit);
}

/* False if they are not bytes. */
static bool is_bytes_call(takt_tfl_call *c, const takt_op *op, int activation, bytes_call *b)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    *b = (bytes_call){.dtype = takt_tfl_dtype_of(ty->type),
                      .is_minus = op == &takt_op_sub,
                      .is_product = op == &takt_op_mul,
                      .y = takt_tfl_quant_of(c, ty),
                      .range = takt_tfl_activation(c, ty, activation)};
    for (size_t i = 0; i < 2; i++) {
        b->in[i] = takt_tfl_in(c, i);
        b->of[i] = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, i));
    }
    if (!takt_tfl_good(c) || !takt_tfl_is_byte(b->dtype) ||
        takt_type_of(c->g, b->in[0])->dtype != b->dtype ||
        takt_type_of(c->g, b->in[1])->dtype != b->dtype)
        return false;
    b->all = takt_tfl_range_of(b->dtype);
    set_scales(b);
    return true;
}

/* As one op; TAKT_NONE if zero points are unusual. */
static takt_id sum_of_bytes(takt_tfl_call *c, const bytes_call *b)
{
    const takt_named_attr attrs[] = {{"x_zero", takt_attr_i64(b->of[0].zero)},
                                     {"x_multiplier", takt_attr_i64(b->raised[0].multiplier)},
                                     {"x_shift", takt_attr_i64(b->raised[0].shift)},
                                     {"y_zero", takt_attr_i64(b->of[1].zero)},
                                     {"y_multiplier", takt_attr_i64(b->raised[1].multiplier)},
                                     {"y_shift", takt_attr_i64(b->raised[1].shift)},
                                     {"multiplier", takt_attr_i64(b->scale.multiplier)},
                                     {"shift", takt_attr_i64(b->scale.shift)},
                                     {"zero", takt_attr_i64(b->y.zero)},
                                     {"low", takt_attr_i64(b->range.low)},
                                     {"high", takt_attr_i64(b->range.high)},
                                     {"minus", takt_attr_bool(b->is_minus)}};
    return takt_graph_call(c->g, &takt_op_integer_add, 2, b->in, sizeof attrs / sizeof *attrs,
                           attrs);
}

static takt_id product_of_bytes(takt_tfl_call *c, const bytes_call *b)
{
    const takt_named_attr attrs[] = {{"x_zero", takt_attr_i64(b->of[0].zero)},
                                     {"y_zero", takt_attr_i64(b->of[1].zero)},
                                     {"multiplier", takt_attr_i64(b->scale.multiplier)},
                                     {"shift", takt_attr_i64(b->scale.shift)},
                                     {"zero", takt_attr_i64(b->y.zero)},
                                     {"low", takt_attr_i64(b->range.low)},
                                     {"high", takt_attr_i64(b->range.high)}};
    return takt_graph_call(c->g, &takt_op_integer_mul, 2, b->in, sizeof attrs / sizeof *attrs,
                           attrs);
}

static takt_id product(takt_tfl_call *c)
{
    const takt_tfl_quant a = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         b = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                         y = takt_tfl_quant_of(c, takt_tfl_tensor_out(c, 0));
    const float both = a.scale * b.scale, real = both / y.scale;
    const takt_id p = takt_mul(c->g, takt_tfl_centred(c, takt_tfl_in(c, 0), a.zero),
                               takt_tfl_centred(c, takt_tfl_in(c, 1), b.zero));
    return takt_tfl_rescale(c, p, takt_tfl_fixed_of((double)real));
}

/* ---- operands that depend on the same bytes ---- */

/* What an operand is for every byte of some value: itself, a table of it, or a number. */
typedef struct operand {
    takt_id of;              /* TAKT_NONE: of none */
    const takt_array *table; /* NULL: itself; one element: a number */
} operand;

static operand operand_of(takt_tfl_call *c, size_t i)
{
    const takt_id id = takt_tfl_in(c, i);
    const takt_node *n = &c->g->nodes[id];
    const takt_array *known = takt_tfl_peek(c, i);
    if (known != NULL && known->i != NULL && known->count == 1 && n->type->rank == 0)
        return (operand){TAKT_NONE, known};
    if (n->op == &takt_op_look_up && takt_tfl_study(c->scope, n->in[1], &known) == TAKT_OK &&
        known != NULL && known->i != NULL && known->count == 256)
        return (operand){n->in[0], known};
    return (operand){id, NULL};
}

static int64_t operand_at(const operand *o, int64_t v)
{
    return o->table == NULL ? v : o->table->i[o->table->count == 1 ? 0 : v & 255];
}

static int32_t raised_level(const bytes_call *b, int which, int64_t v)
{
    return takt_tfl_fixed_scale((int32_t)(v - b->of[which].zero) * (1 << BITS), b->raised[which]);
}

/* The result before its zero point is added. */
static int64_t level_of(const bytes_call *b, int64_t u, int64_t v)
{
    if (b->is_product)
        return takt_tfl_fixed_scale((int32_t)((u - b->of[0].zero) * (v - b->of[1].zero)), b->scale);
    const uint32_t x = (uint32_t)raised_level(b, 0, u), y = (uint32_t)raised_level(b, 1, v);
    return takt_tfl_fixed_scale((int32_t)(b->is_minus ? x - y : x + y), b->scale);
}

/* Such as x * sigmoid(x) or 1 - x, as a table; TAKT_NONE if the operands depend on several values.
 */
static takt_id of_one(takt_tfl_call *c, const bytes_call *b)
{
    const operand o[2] = {operand_of(c, 0), operand_of(c, 1)};
    const takt_id x = o[0].of != TAKT_NONE ? o[0].of : o[1].of;
    if (x == TAKT_NONE || (o[0].of != TAKT_NONE && o[0].of != x) ||
        (o[1].of != TAKT_NONE && o[1].of != x) || takt_type_of(c->g, x)->dtype != b->dtype)
        return TAKT_NONE;
    int64_t table[256];
    for (int64_t v = b->all.low; v <= b->all.high; v++) {
        const int64_t level = level_of(b, operand_at(&o[0], v), operand_at(&o[1], v)) + b->y.zero;
        table[v & 255] = level < b->range.low    ? b->range.low
                         : level > b->range.high ? b->range.high
                                                 : level;
    }
    return takt_tfl_look_up(c, x, b->dtype, table);
}

/* TAKT_NONE if it is not one of bytes, or zero points are unusual. */
static takt_id of_bytes(takt_tfl_call *c, const takt_op *op, int activation)
{
    bytes_call b;
    if (!is_bytes_call(c, op, activation, &b))
        return TAKT_NONE;
    const takt_id table = of_one(c, &b);
    if (table != TAKT_NONE || !takt_tfl_good(c) || !is_level(b.of[0].zero, b.all) ||
        !is_level(b.of[1].zero, b.all) || !is_level(b.y.zero, b.all) || b.range.low > b.range.high)
        return table;
    return b.is_product ? product_of_bytes(c, &b) : sum_of_bytes(c, &b);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_op *op = op_of(c);
    const int activation = takt_tfl_u8(c, 0, 0);
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_id a = takt_tfl_need(c, 0), b = takt_tfl_need(c, 1);
    if (!takt_tfl_good(c))
        return c->status;
    if (ty->type == TAKT_TFL_COMPLEX64)
        return takt_tfl_refuse(c, "complex numbers");
    if (!takt_tfl_is_quantised(ty))
        return takt_tfl_done(c, takt_tfl_activate(c, takt_binary(c->g, op, a, b), activation));
    if (op == &takt_op_div)
        return takt_tfl_done(c, takt_tfl_quotient(c, activation));
    const takt_id bytes = of_bytes(c, op, activation);
    if (bytes != TAKT_NONE || !takt_tfl_good(c))
        return takt_tfl_done(c, bytes);
    const takt_id y = op == &takt_op_mul ? product(c) : sum(c, op);
    return takt_tfl_done(c, takt_tfl_saturate(c, y, takt_tfl_quant_of(c, ty).zero,
                                              takt_tfl_activation(c, ty, activation),
                                              takt_tfl_dtype_of(ty->type)));
}

const takt_tflite_op takt_tflite_Arithmetic = {.names = {"ADD", "SUB", "MUL", "DIV"},
                                               .adapt = adapt};
