/* Arithmetic.c - ADD, SUB, MUL and DIV with their activations; quantised ones in fixed point. */
#include "io/tflite/quant.h"
#include "op/record/integer_add.h"

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

/* ADD or SUB of bytes as one op; TAKT_NONE if they are not bytes, or zero points are unusual. */
static takt_id sum_of_bytes(takt_tfl_call *c, bool is_minus, int activation)
{
    enum { BITS = 20 };
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant a = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         b = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                         q = takt_tfl_quant_of(c, ty);
    const takt_id in[] = {takt_tfl_in(c, 0), takt_tfl_in(c, 1)};
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!takt_tfl_good(c) || !takt_tfl_is_byte(dtype) ||
        takt_type_of(c->g, in[0])->dtype != dtype || takt_type_of(c->g, in[1])->dtype != dtype)
        return TAKT_NONE;
    const takt_tfl_range all = takt_tfl_range_of(dtype),
                         range = takt_tfl_activation(c, ty, activation);
    if (!is_level(a.zero, all) || !is_level(b.zero, all) || !is_level(q.zero, all) ||
        range.low > range.high)
        return TAKT_NONE;
    const float twice = 2 * (a.scale > b.scale ? a.scale : b.scale),
                unit = (float)(1 << BITS) * q.scale;
    const takt_tfl_fixed x = takt_tfl_fixed_of((double)a.scale / (double)twice),
                         y = takt_tfl_fixed_of((double)b.scale / (double)twice),
                         z = takt_tfl_fixed_of((double)twice / (double)unit);
    const takt_named_attr attrs[] = {{"x_zero", takt_attr_i64(a.zero)},
                                     {"x_multiplier", takt_attr_i64(x.multiplier)},
                                     {"x_shift", takt_attr_i64(x.shift)},
                                     {"y_zero", takt_attr_i64(b.zero)},
                                     {"y_multiplier", takt_attr_i64(y.multiplier)},
                                     {"y_shift", takt_attr_i64(y.shift)},
                                     {"multiplier", takt_attr_i64(z.multiplier)},
                                     {"shift", takt_attr_i64(z.shift)},
                                     {"zero", takt_attr_i64(q.zero)},
                                     {"low", takt_attr_i64(range.low)},
                                     {"high", takt_attr_i64(range.high)},
                                     {"minus", takt_attr_bool(is_minus)}};
    return takt_graph_call(c->g, &takt_op_integer_add, 2, in, sizeof attrs / sizeof *attrs, attrs);
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

/* What a factor is for every byte of some value: itself, a table of it, or a number. */
typedef struct factor {
    takt_id of;              /* TAKT_NONE: of none */
    const takt_array *table; /* NULL: itself; one element: a number */
} factor;

static factor factor_of(takt_tfl_call *c, size_t i)
{
    const takt_id id = takt_tfl_in(c, i);
    const takt_node *n = &c->g->nodes[id];
    const takt_array *known = takt_tfl_peek(c, i);
    if (known != NULL && known->i != NULL && known->count == 1 && n->type->rank == 0)
        return (factor){TAKT_NONE, known};
    if (n->op == &takt_op_look_up && takt_tfl_study(c->scope, n->in[1], &known) == TAKT_OK &&
        known != NULL && known->i != NULL && known->count == 256)
        return (factor){n->in[0], known};
    return (factor){id, NULL};
}

static int64_t factor_at(const factor *f, int64_t v)
{
    return f->table == NULL ? v : f->table->i[f->table->count == 1 ? 0 : v & 255];
}

/* A MUL whose factors depend on the same bytes, such as x * sigmoid(x), as a table; TAKT_NONE if it
 * is none. */
static takt_id product_of_one(takt_tfl_call *c, int activation)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    const factor f[2] = {factor_of(c, 0), factor_of(c, 1)};
    const takt_id x = f[0].of != TAKT_NONE ? f[0].of : f[1].of;
    if (!takt_tfl_good(c) || !takt_tfl_is_byte(dtype) || x == TAKT_NONE ||
        (f[1].of != TAKT_NONE && f[1].of != x) || takt_type_of(c->g, x)->dtype != dtype)
        return TAKT_NONE;
    const takt_tfl_quant a = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         b = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                         y = takt_tfl_quant_of(c, ty);
    const float both = a.scale * b.scale, real = both / y.scale;
    const takt_tfl_fixed scale = takt_tfl_fixed_of((double)real);
    const takt_tfl_range all = takt_tfl_range_of(dtype),
                         range = takt_tfl_activation(c, ty, activation);
    int64_t table[256];
    for (int64_t v = all.low; v <= all.high; v++) {
        const int64_t p = (factor_at(&f[0], v) - a.zero) * (factor_at(&f[1], v) - b.zero);
        const int64_t level = (int64_t)takt_tfl_fixed_scale((int32_t)p, scale) + y.zero;
        table[v & 255] = level < range.low ? range.low : level > range.high ? range.high : level;
    }
    return takt_tfl_look_up(c, x, dtype, table);
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
    const takt_id bytes = op == &takt_op_mul ? product_of_one(c, activation)
                                             : sum_of_bytes(c, op == &takt_op_sub, activation);
    if (bytes != TAKT_NONE || !takt_tfl_good(c))
        return takt_tfl_done(c, bytes);
    const takt_id y = op == &takt_op_mul ? product(c) : sum(c, op);
    return takt_tfl_done(c, takt_tfl_saturate(c, y, takt_tfl_quant_of(c, ty).zero,
                                              takt_tfl_activation(c, ty, activation),
                                              takt_tfl_dtype_of(ty->type)));
}

const takt_tflite_op takt_tflite_Arithmetic = {.names = {"ADD", "SUB", "MUL", "DIV"},
                                               .adapt = adapt};
