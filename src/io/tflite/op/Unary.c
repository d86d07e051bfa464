/* Unary.c - functions of one number: our ops for floats, tables for bytes. */
#include <math.h>

#include "io/tflite/quant.h"

static double logistic(double x, const void *user)
{
    (void)user;
    return 1 / (1 + exp(-x));
}

static double elu(double x, const void *user)
{
    (void)user;
    return x < 0 ? expm1(x) : x;
}

/* In floats, which decides how a result between two steps is rounded. */
static double gelu(double x, const void *user)
{
    const float v = (float)x, half = 0.5f * v;
    if (!*(const bool *)user)
        return (double)(half * (float)erfc((double)(v * -0.70710678f)));
    const float inner = 0.79788456f * (v + 0.044715f * v * v * v);
    return (double)(half * (1.0f + (float)tanh((double)inner)));
}

#define PLAIN(name)                                                                                \
    static double plain_##name(double x, const void *user)                                         \
    {                                                                                              \
        (void)user;                                                                                \
        return name(x);                                                                            \
    }
PLAIN(tanh)
PLAIN(exp)
PLAIN(log)
PLAIN(sin)
PLAIN(cos)

static const struct entry {
    const char *name;
    const takt_op *op;
    takt_tfl_function *table; /* of bytes; NULL: they are refused */
} entries[] = {
    {"LOGISTIC", &takt_op_sigmoid, logistic},
    {"TANH", &takt_op_tanh, plain_tanh},
    {"EXP", &takt_op_exp, plain_exp},
    {"LOG", &takt_op_log, plain_log},
    {"SIN", &takt_op_sin, plain_sin},
    {"COS", &takt_op_cos, plain_cos},
    {"ELU", &takt_op_elu, elu},
    {"GELU", &takt_op_gelu, gelu},
    {"SQRT", &takt_op_sqrt, NULL},
    {"FLOOR", &takt_op_floor, NULL},
    {"CEIL", &takt_op_ceil, NULL},
    {"ROUND", &takt_op_round, NULL},
    {"SQUARE", &takt_op_square, NULL},
    {"SIGN", &takt_op_sign, NULL},
    {"NEG", &takt_op_neg, NULL},
};

/* The least number of the result where there is no logarithm. */
static double held_log(double x, const void *user)
{
    return x <= 0 ? (double)*(const float *)user : log(x);
}

static takt_status wide(takt_tfl_call *c, const struct entry *e, const void *user)
{
    const float least = -32768 * takt_tfl_quant_of(c, takt_tfl_tensor_out(c, 0)).scale;
    if (e->op == &takt_op_log)
        return takt_tfl_done(c, takt_tfl_points_table(c, held_log, &least));
    if (e->op != &takt_op_sigmoid && e->op != &takt_op_tanh)
        return takt_tfl_done(c, takt_tfl_points_table(c, e->table, user));
    return takt_tfl_done(c, takt_tfl_wide_table(c, e->op == &takt_op_tanh));
}

static takt_status adapt(takt_tfl_call *c)
{
    const struct entry *e = entries;
    const takt_id x = takt_tfl_need(c, 0);
    while (!takt_tfl_is(c, e->name))
        e++;
    if (!takt_tfl_good(c))
        return c->status;
    const bool approximate = e->op == &takt_op_gelu && takt_tfl_u8(c, 0, 0) != 0;
    if (takt_tfl_is_quantised(takt_tfl_tensor_in(c, 0))) {
        if (takt_type_of(c->g, x)->dtype == TAKT_I16 && e->table != NULL)
            return wide(c, e, &approximate);
        if (e->op == &takt_op_sqrt)
            return takt_tfl_done(c, takt_tfl_root(c, false));
        if (e->op == &takt_op_neg) /* as LiteRT, of the integers themselves */
            return takt_tfl_done(c, takt_unary(c->g, e->op, x));
        if (e->table == NULL)
            return takt_tfl_refuse(c, "quantised numbers");
        return takt_tfl_done(c, takt_tfl_table(c, e->table, &approximate));
    }
    if (e->op == &takt_op_gelu)
        return takt_tfl_done(
            c, takt_tfl_op1(c, e->op, x, 1,
                            &(takt_named_attr){"approximate", takt_attr_i64(approximate)}));
    return takt_tfl_done(c, takt_unary(c->g, e->op, x));
}

const takt_tflite_op takt_tflite_Unary = {.names = {"LOGISTIC", "TANH", "EXP", "LOG", "SIN", "COS",
                                                    "ELU", "GELU", "SQRT", "FLOOR", "CEIL", "ROUND",
                                                    "SQUARE", "SIGN", "NEG"},
                                          .adapt = adapt};
