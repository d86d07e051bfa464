/* table.c - functions of 8 and 16 bits as tables of all their values. */
#include <math.h>

#include "io/tflite/quant.h"

takt_id takt_tfl_look_up(takt_tfl_call *c, takt_id x, takt_dtype dtype, const int64_t *table)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const int64_t entries = INT64_C(1) << takt_dtype_bits(takt_type_of(c->g, x)->dtype);
    return takt_binary(c->g, &takt_op_look_up, x, takt_tfl_make_i(c, dtype, table, &entries, 1));
}

/* LiteRT computes in floats what we compute in doubles and round: the same but where both lie on
 * different sides of a half, which needs a real within 10^-7 of it. */
takt_id takt_tfl_table(takt_tfl_call *c, takt_tfl_function *f, const void *user)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant qx = takt_tfl_quant_of(c, tx), qy = takt_tfl_quant_of(c, ty);
    const takt_tfl_range from = takt_tfl_range_of(takt_tfl_dtype_of(tx->type)),
                         to = takt_tfl_range_of(takt_tfl_dtype_of(ty->type));
    const takt_id x = takt_tfl_need(c, 0);
    int64_t table[256];
    if (!takt_tfl_good(c) || from.high - from.low != 255)
        return TAKT_NONE;
    const float inverse = 1 / qy.scale;
    for (int32_t v = from.low; v <= from.high; v++) {
        const float real = qx.scale * (float)(v - qx.zero);
        const float y = (float)f((double)real, user);
        const float level = (float)takt_fx_round((double)(y * inverse)) + (float)qy.zero;
        table[v & 255] = level < (float)to.low    ? to.low
                         : level > (float)to.high ? to.high
                         : isnan(level)           ? to.low
                                                  : (int64_t)level;
    }
    return takt_tfl_look_up(c, x, takt_tfl_dtype_of(ty->type), table);
}

takt_id takt_tfl_gate(takt_tfl_call *c, takt_id x, bool is_tanh, int integer)
{
    enum { ENTRIES = 1 << 16 };
    int64_t *table = takt_tfl_get(c, ENTRIES, sizeof *table);
    for (int32_t v = -32768; table != NULL && v < 32768; v++)
        table[v & 0xffff] =
            is_tanh ? takt_fx_tanh(v, integer, 16) : takt_fx_logistic(v, integer, 16);
    return table == NULL ? TAKT_NONE : takt_tfl_look_up(c, x, TAKT_I16, table);
}
