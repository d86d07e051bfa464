/* pack_bits.c - bools of the last axis as bits of words, the lowest first. */
#include "op/util/bits.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/stops.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    takt_type *out = &in->out[0];
    *out = *in->type[0];
    out->dtype = TAKT_U64;
    return takt_dim_make(in->dims, TAKT_DIM_CEILDIV, out->dim[out->rank - 1], 64,
                         &out->dim[out->rank - 1]);
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    const size_t bools = (size_t)x->dim[x->rank - 1], words = (size_t)out->dim[x->rank - 1];
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++)
        out->i[i / bools * words + i % bools / 64] |=
            (int64_t)((uint64_t)(x->i[i] != 0) << i % bools % 64);
    return TAKT_OK;
}

const takt_op takt_op_pack_bits = {
    .name = "pack_bits",
    .summary = "bools of the last axis as bits of u64, the lowest first",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_BOOLS,
    .infer = infer,
    .eval = eval,
    .no_gradient = "it works on bools",
    .bound = takt_bound_any,
    .samples = {"pack_bits(bool[70])", "pack_bits(bool[3, 64])", "pack_bits(bool[2, 3, 130])",
                "pack_bits(bool[4, 1])"},
};
