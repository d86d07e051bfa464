/* unpack_bits.c - the lowest bits of words of the last axis as bools. */
#include "op/util/bits.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/stops.h"

enum { SIZE };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    takt_dim words;
    bool agree;
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK));
    if (in->attr[SIZE].count != 1)
        return takt_infer_fail(in, TAKT_E_ATTR, "size must be one dimension");
    TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_CEILDIV, in->attr[SIZE].dims[0], 64, &words));
    TAKT_TRY(takt_check_agree(in, x->dim[x->rank - 1], words, &agree));
    if (!agree)
        return takt_infer_fail(in, TAKT_E_SHAPE,
                               "the last axis must have a word for every 64 of "
                               "size");
    in->out[0] = *x;
    in->out[0].dtype = TAKT_BOOL;
    in->out[0].dim[x->rank - 1] = in->attr[SIZE].dims[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    takt_array *out = &e->out[0];
    const size_t bools = (size_t)out->dim[x->rank - 1], words = (size_t)x->dim[x->rank - 1];
    for (size_t i = 0; i < out->count && !takt_eval_stops(e, 1); i++)
        out->i[i] =
            (int64_t)((uint64_t)x->i[i / bools * words + i % bools / 64] >> i % bools % 64 & 1);
    return TAKT_OK;
}

const takt_op takt_op_unpack_bits = {
    .name = "unpack_bits",
    .summary = "the lowest bits of u64 of the last axis as bools",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[SIZE] = {.name = "size",
                        .type = TAKT_ATTR_SHAPE,
                        .is_required = true,
                        .summary = "one dimension: the last axis of the result"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_U64),
    .infer = infer,
    .eval = eval,
    .no_gradient = "it works on bits",
    .bound = takt_bound_any,
    .samples = {"unpack_bits(u64[2], size=[70])", "unpack_bits(u64[3, 1], size=[64])",
                "unpack_bits(u64[2, 3, 3], size=[130])", "unpack_bits(u64[4, 1], size=[1])"},
};
