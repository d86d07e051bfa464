/* look_up.c - looks up a table with an entry for every value of a small integer. */
#include "op/util/check.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { X, TABLE };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(
        in, X, TAKT_IN(TAKT_I8) | TAKT_IN(TAKT_U8) | TAKT_IN(TAKT_I16) | TAKT_IN(TAKT_U16),
        "an integer of 8 or 16 bits"));
    TAKT_TRY(takt_infer_dtype(in, TABLE, TAKT_COMPUTE, "a number or bool"));
    TAKT_TRY(takt_infer_vector(in, TABLE, INT64_C(1) << takt_dtype_bits(in->type[X]->dtype)));
    in->out[0] = *in->type[X];
    in->out[0].dtype = in->type[TABLE]->dtype;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[X], *table = &e->in[TABLE];
    takt_array *out = &e->out[0];
    const uint64_t mask = table->count - 1;
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++) {
        const size_t at = (size_t)((uint64_t)x->i[i] & mask);
        if (out->f != NULL)
            out->f[i] = table->f[at];
        else
            out->i[i] = table->i[at];
    }
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = takt_cast(g, n->in[X], TAKT_I32), table = n->in[TABLE];
    const double last = (double)(takt_type_of(g, table)->dim[0] - 1);
    const takt_id at = takt_binary(g, &takt_op_and, x, takt_scalar_like(g, x, last));
    out[0] = takt_binary(g, &takt_op_gather, table, at);
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    cost->flops = takt_make_count(&n->type[0]);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_look_up = {
    .name = "look_up",
    .summary = "table[x], x being the bits of an integer of 8 or 16",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "table"},
    .dtypes = TAKT_COMPUTE,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .cost = cost,
    .samples = {"look_up(i8[3, 5], i8[256])", "look_up(u8[70], u8[256])",
                "look_up(u8[2, 3], f32[256])", "look_up(i8[9], i32[256])",
                "look_up(i16[4, 2], i16[65536])", "look_up(u16[5], i64[65536])",
                "look_up(i8[3], bool[256])"},
};
