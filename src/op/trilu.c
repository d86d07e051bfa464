/* trilu.c - the upper or lower triangle of the last two axes, zero elsewhere. */
#include "op/util/amp.h"
#include "op/util/check.h"
#include "op/util/index.h"
#include "op/util/make.h"
#include "op/util/stops.h"

enum { UPPER, K };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_rank(in, 0, 2, TAKT_MAX_RANK));
    TAKT_TRY(takt_check_range(in, K, -TAKT_CHECK_BIG, TAKT_CHECK_BIG));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    int64_t at[TAKT_MAX_RANK];
    for (size_t i = 0; i < x->count && !takt_eval_stops(e, 1); i++) {
        takt_index_at(x, i, at);
        const int64_t over = at[x->rank - 1] - at[x->rank - 2] - e->attr[K].i64;
        if (e->attr[UPPER].boolean ? over >= 0 : over <= 0)
            takt_index_move(&e->out[0], i, x, i);
    }
    return TAKT_OK;
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type *t = &n->type[0];
    const takt_dim *last = t->dim + t->rank - 2;
    const takt_id row = takt_make_iota(g, last, 2, 0), column = takt_make_iota(g, last, 2, 1);
    const takt_id edge = takt_add(g, row, takt_scalar_i64(g, n->attr[K].i64));
    const takt_id inside = n->attr[UPPER].boolean ? takt_binary(g, &takt_op_le, edge, column)
                                                  : takt_binary(g, &takt_op_le, column, edge);
    out[0] = takt_select(g, inside, n->in[0], takt_scalar_like(g, n->in[0], 0));
}

const takt_op takt_op_trilu = {
    .name = "trilu",
    .summary = "the upper or lower triangle of the last two axes, zero elsewhere",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[UPPER] = {.name = "upper",
                         .type = TAKT_ATTR_BOOL,
                         .fallback.boolean = true,
                         .summary = "keep what is on and above the diagonal, else on and below"},
              [K] = {.name = "k",
                     .type = TAKT_ATTR_I64,
                     .summary = "which diagonal: 0 the main one, positive ones above it"}},
    .traits = TAKT_AMP_CHOOSES,
    .dtypes = TAKT_COMPUTE,
    .infer = infer,
    .eval = eval,
    .lower = lower,
    .samples = {"trilu(f32[3, 4])", "trilu(f64[2, 4, 3], upper=false, k=-1)",
                "trilu(i16[3, 3], k=1)", "trilu(bool[2, 2], upper=false)"},
};
