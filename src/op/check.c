/* check.c - x itself if the condition holds; else the run fails with a message. */
#include "op/util/check.h"
#include "op/util/bound.h"

#include "op/util/demand.h"

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_dtype(in, 1, TAKT_BOOLS, "bool"));
    in->out[0] = *in->type[0];
    return TAKT_OK;
}

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0], *ok = &e->in[1];
    for (size_t i = 0; i < x->count; i++)
        if (x->f != NULL)
            e->out[0].f[i] = x->f[i];
        else
            e->out[0].i[i] = x->i[i];
    for (size_t i = 0; i < ok->count; i++) {
        if (ok->i[i] != 0)
            continue;
        char text[TAKT_DEMAND_TEXT];
        const double value = ok->count == x->count && x->f != NULL ? x->f[i] : NAN;
        return takt_fail(e->ctx, takt_demand_id(e->node), "%s",
                         takt_demand_text(e->node, i, value, text));
    }
    return TAKT_OK;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    (void)g;
    (void)id;
    dx[0] = dy[0];
}

/* A run that continues has the value unchanged. */
static void bound(takt_bounding *b)
{
    b->out[0] = b->in[0];
}

const takt_op takt_op_check = {
    .name = "check",
    .summary = "x, if all of `ok` is true; else the run fails",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "ok"},
    .attrs = {[TAKT_DEMAND_ERROR] = {.name = "error",
                                     .type = TAKT_ATTR_ENUM,
                                     .names = takt_demand_names,
                                     .summary = "what the failure is: a truth value outside 0 to "
                                                "1, a recursion that does not settle, or a branch "
                                                "that these sizes do not allow"},
              [TAKT_DEMAND_WHAT] = {.name = "what",
                                    .type = TAKT_ATTR_STRING,
                                    .fallback.string = "",
                                    .summary = "the name that the message begins with"}},
    .traits = TAKT_PRIMITIVE | TAKT_INDEXED,
    .dtypes = TAKT_COMPUTE,
    .is_mixed = true,
    .infer = infer,
    .eval = eval,
    .grad = grad,
    .bound = bound,
    .samples = {"check(f32[2, 3], bool[4] in (1, 1))", "check(f64[5], bool[] in (1, 1))",
                "check(i32[3], bool[3] in (1, 1))",
                "check(bool[2], bool[2] in (1, 1), error=settle)"},
};
