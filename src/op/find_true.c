/* find_true.c - indices and number of the true elements of a vector. */
#include "op/util/check.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_IN(TAKT_BOOL), "bool"));
    TAKT_TRY(takt_infer_rank(in, 0, 1, 1));
    in->out[0] = *in->type[0];
    in->out[0].dtype = TAKT_I64;
    in->out[1] = (takt_type){.dtype = TAKT_I64, .rank = 1, .dim = {1}};
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    int64_t count = 0;
    for (size_t i = 0; i < e->in[0].count; i++)
        if (e->in[0].i[i] != 0)
            e->out[0].i[count++] = (int64_t)i;
    e->out[1].i[0] = count;
    return TAKT_OK;
}

const takt_op takt_op_find_true = {
    .name = "find_true",
    .summary = "where the true elements of a vector are, zeros after them; and how many they are",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .out_count = 2,
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_BOOL),
    .infer = infer,
    .eval = eval,
    .no_gradient = "its results are places",
    .no_bound = "places are not followed",
    .samples = {"find_true(bool[9])", "find_true(bool[0])"},
};
