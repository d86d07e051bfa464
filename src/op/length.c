/* length.c - data-dependent sizes: when the step has run, names get their numbers.
 *
 * Dimensions with such a name have memory for the bound, and the size that this value gives
 * (docs/sizes.md). The op returns its input.
 */
#include "op/util/length.h"

#include "op/util/check.h"
#include "op/util/index.h"

static takt_status infer(takt_infer *in)
{
    const takt_type *n = in->type[0];
    const size_t count = in->attr[TAKT_LENGTH_NAMES].count;
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_IN(TAKT_I64), "i64"));
    TAKT_TRY(takt_infer_rank(in, 0, 1, 1));
    if (in->attr[TAKT_LENGTH_BOUNDS].count != count || in->attr[TAKT_LENGTH_TOPS].count != count)
        return takt_infer_fail(in, TAKT_E_ATTR, "%zu names have %u bounds and %u tops", count,
                               in->attr[TAKT_LENGTH_BOUNDS].count,
                               in->attr[TAKT_LENGTH_TOPS].count);
    TAKT_TRY(takt_infer_vector(in, 0, (takt_dim)count));
    in->out[0] = *n;
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    takt_index_copy(&e->out[0], &e->in[0]);
    return TAKT_OK;
}

const takt_op takt_op_length = {
    .name = "length",
    .summary = "sizes that values decide: names that are numbers when it has run",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"n"},
    .attrs = {[TAKT_LENGTH_NAMES] = {.name = "names",
                                     .type = TAKT_ATTR_SHAPE,
                                     .is_required = true,
                                     .summary = "the dimensions that the elements of n are"},
              [TAKT_LENGTH_BOUNDS] = {.name = "bounds",
                                      .type = TAKT_ATTR_SHAPE,
                                      .is_required = true,
                                      .summary = "the most that each can be"},
              [TAKT_LENGTH_TOPS] = {.name = "tops",
                                    .type = TAKT_ATTR_SHAPE,
                                    .is_required = true,
                                    .summary = "what memory is planned for"}},
    .traits = TAKT_PRIMITIVE | TAKT_UNIQUE | TAKT_SIZES,
    .dtypes = TAKT_IN(TAKT_I64),
    .infer = infer,
    .eval = eval,
    .no_gradient = "its result is a size",
    .no_bound = "sizes are known only when it has run",
    .samples = {"length(i64[1] in (3, 3), names=[3], bounds=[8], tops=[8])",
                "length(i64[2] in (2, 2), names=[2, 2], bounds=[9, 4], tops=[9, 1])"},
};
