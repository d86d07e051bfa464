/* tile.c - the whole tensor repeated along each axis. */
#include "op/util/amp.h"
#include "op/util/check.h"
#include "op/util/make.h"

enum { REPEATS };

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0];
    if (in->attr[REPEATS].count != (uint32_t)x->rank)
        return takt_fail(in->ctx, TAKT_E_ATTR, "tile: repeats has %u entries for %d axes",
                         in->attr[REPEATS].count, x->rank);
    TAKT_TRY(takt_check_range(in, REPEATS, 0, TAKT_CHECK_BIG));
    in->out[0] = *x;
    for (int i = 0; i < x->rank; i++)
        TAKT_TRY(takt_dim_make(in->dims, TAKT_DIM_MUL, x->dim[i], in->attr[REPEATS].i64s[i],
                               &in->out[0].dim[i]));
    return TAKT_OK;
}

/* Each axis: [before, 1, size, after] broadcast to [before, repeats, size, after]. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    takt_type t = *takt_type_of(g, n->in[0]);
    takt_id x = n->in[0];
    for (int i = 0; i < t.rank; i++) {
        const int64_t repeats = n->attr[REPEATS].i64s[i];
        if (repeats == 1)
            continue;
        const takt_dim before = takt_make_product(g, t.dim, i);
        const takt_dim after = takt_make_product(g, t.dim + i + 1, t.rank - i - 1);
        const takt_dim apart[4] = {before, 1, t.dim[i], after};
        const takt_dim wide[4] = {before, repeats, t.dim[i], after};
        t.dim[i] = takt_make_dim(g, TAKT_DIM_MUL, t.dim[i], repeats);
        x = takt_broadcast(g, takt_reshape(g, x, apart, 4), wide, 4);
        x = takt_reshape(g, x, t.dim, (size_t)t.rank);
    }
    out[0] = x;
}

const takt_op takt_op_tile = {
    .name = "tile",
    .summary = "the whole tensor repeated along each axis",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[REPEATS] = {.name = "repeats",
                           .type = TAKT_ATTR_I64S,
                           .is_required = true,
                           .summary = "how often, for each axis"}},
    .traits = TAKT_AMP_CHOOSES,
    .dtypes = TAKT_ANY,
    .infer = infer,
    .lower = lower,
    .samples = {"tile(f32[2, 3], repeats=[1, 2])", "tile(f64[2, 1, 2], repeats=[3, 2, 2])",
                "tile(i32[3], repeats=[0])", "tile(f32[], repeats=[])"},
};
