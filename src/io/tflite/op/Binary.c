/* Binary.c - functions of two numbers without an activation: comparisons, bits, extremes, powers.
 */
#include "io/tflite/quant.h"

static const struct entry {
    const char *name;
    const takt_op *op;
    bool compares, is_raw; /* is_raw: of quantised tensors LiteRT takes the integers themselves */
} entries[] = {
    {"MAXIMUM", &takt_op_max, false, false},     {"MINIMUM", &takt_op_min, false, false},
    {"LESS", &takt_op_lt, true, false},          {"GREATER", &takt_op_gt, true, false},
    {"GREATER_EQUAL", &takt_op_ge, true, false}, {"LESS_EQUAL", &takt_op_le, true, false},
    {"EQUAL", &takt_op_eq, true, false},         {"NOT_EQUAL", &takt_op_ne, true, false},
    {"POW", &takt_op_pow, false, false},         {"LOGICAL_OR", &takt_op_or, false, false},
    {"LOGICAL_AND", &takt_op_and, false, false}, {"BITWISE_XOR", &takt_op_xor, false, true},
    {"RIGHT_SHIFT", &takt_op_shr, false, true},  {"FLOOR_MOD", &takt_op_mod, false, true},
};

/* Input `i` on its own scale times 2^8, so that both can be compared. */
static takt_id raised(takt_tfl_call *c, size_t i)
{
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, i));
    return takt_tfl_raised(c, takt_tfl_in(c, i), q.zero, 8, takt_tfl_fixed_of((double)q.scale));
}

static bool same_grid(const takt_tfl_tensor *a, const takt_tfl_tensor *b)
{
    return a->scale_count == 1 && b->scale_count == 1 && a->scale[0] == b->scale[0] &&
           (a->zero_count > 0 ? a->zero[0] : 0) == (b->zero_count > 0 ? b->zero[0] : 0);
}

static takt_status adapt(takt_tfl_call *c)
{
    const struct entry *e = entries;
    while (!takt_tfl_is(c, e->name))
        e++;
    takt_id a = takt_tfl_need(c, 0), b = takt_tfl_need(c, 1);
    const takt_tfl_tensor *ta = takt_tfl_tensor_in(c, 0), *tb = takt_tfl_tensor_in(c, 1);
    if (!takt_tfl_good(c))
        return c->status;
    if (!e->is_raw && takt_tfl_is_quantised(ta) && takt_tfl_is_quantised(tb)) {
        const bool keeps = same_grid(ta, tb) && same_grid(ta, takt_tfl_tensor_out(c, 0));
        if (e->compares) {
            a = raised(c, 0);
            b = raised(c, 1);
        } else if (!keeps || (e->op != &takt_op_max && e->op != &takt_op_min)) {
            return takt_tfl_refuse(c, "quantised numbers with different scales");
        }
    }
    return takt_tfl_done(c, a == TAKT_NONE || b == TAKT_NONE ? TAKT_NONE
                                                             : takt_binary(c->g, e->op, a, b));
}

const takt_tflite_op takt_tflite_Binary = {
    .names = {"MAXIMUM", "MINIMUM", "LESS", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "EQUAL",
              "NOT_EQUAL", "POW", "LOGICAL_OR", "LOGICAL_AND", "BITWISE_XOR", "RIGHT_SHIFT",
              "FLOOR_MOD"},
    .adapt = adapt};
