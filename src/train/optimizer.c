/* optimizer.c - the table of optimisers, their numbers from text, and shared formulas. */
#include "train/optimizer.h"

#include <math.h>
#include <string.h>

#include "op/util/formula.h"

#define TAKT_OPTIMIZER(stem) extern const takt_optimizer takt_optimizer_##stem;
#include "optimizer_list.inc"
#undef TAKT_OPTIMIZER

const takt_optimizer *const takt_optimizers[] = {
#define TAKT_OPTIMIZER(stem) &takt_optimizer_##stem,
#include "optimizer_list.inc"
#undef TAKT_OPTIMIZER
    NULL};

static const char *name_at(size_t index)
{
    return takt_optimizers[index] != NULL ? takt_optimizers[index]->name : NULL;
}

takt_status takt_optimizer_parse(takt_ctx *ctx, const char *text, const takt_optimizer **optimizer,
                                 double hyper[static TAKT_OPT_HYPERS])
{
    const size_t length = takt_hyper_name(text);
    size_t i = 0;
    while (name_at(i) != NULL &&
           (strlen(name_at(i)) != length || memcmp(name_at(i), text, length) != 0))
        i++;
    *optimizer = takt_optimizers[i];
    if (*optimizer == NULL)
        return takt_hyper_unknown(ctx, "optimizer", text, name_at);
    TAKT_TRY(takt_hyper_read(ctx, (*optimizer)->name, (*optimizer)->hyper, TAKT_OPT_HYPERS, text,
                             hyper));
    return takt_optimizer_check(ctx, *optimizer, hyper);
}

takt_status takt_optimizer_check(takt_ctx *ctx, const takt_optimizer *optimizer,
                                 const double *hyper)
{
    const char *hint, *why = optimizer->refused != NULL ? optimizer->refused(hyper, &hint) : NULL;
    if (why == NULL)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "%s: %s", optimizer->name, why);
    return takt_fail_hint(ctx, "%s", hint);
}

/* ---- formulas ---- */

takt_id takt_lerp(takt_graph *g, takt_id a, takt_id b, double t)
{
    return takt_add(g, a, takt_mul_scalar(g, takt_sub(g, b, a), t));
}

takt_id takt_decay_to(takt_graph *g, takt_id old, takt_id new_value, double keep)
{
    return takt_add(g, takt_mul_scalar(g, old, keep), takt_mul_scalar(g, new_value, 1 - keep));
}

takt_id takt_weight_decayed(takt_update *u, double decay)
{
    if (decay == 0)
        return u->weight;
    const takt_id part = takt_mul_scalar(u->g, u->rate, -decay);
    return takt_mul(u->g, u->weight, takt_add_scalar(u->g, part, 1));
}

takt_id takt_grad_decayed(takt_update *u, double decay)
{
    if (decay == 0)
        return u->grad;
    return takt_add(u->g, u->grad, takt_mul_scalar(u->g, u->weight, decay));
}

takt_id takt_norm_of(takt_graph *g, takt_id x)
{
    const takt_id squares = takt_reduce_over(g, &takt_op_reduce_sum_square, x, NULL, 0, false);
    return takt_unary(g, &takt_op_sqrt, squares);
}

const char *takt_slot_alike(const char *const *names, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (names[i] == NULL)
            return NULL;
    return names[index];
}

void takt_adam_at_step(double beta1, double beta2, double rate, uint64_t step, double *scalar)
{
    scalar[0] = rate / (1 - pow(beta1, (double)step));
    scalar[1] = sqrt(1 - pow(beta2, (double)step));
}

takt_id takt_adam_direction(takt_update *u, double beta1, double beta2, double epsilon)
{
    takt_graph *g = u->g;
    u->next[0] = takt_decay_to(g, u->slot[0], u->grad, beta1);
    const takt_id part = takt_mul(g, takt_mul_scalar(g, u->grad, 1 - beta2), u->grad);
    u->next[1] = takt_add(g, takt_mul_scalar(g, u->slot[1], beta2), part);
    const takt_id root = takt_div(g, takt_unary(g, &takt_op_sqrt, u->next[1]), u->scalar[1]);
    return takt_div(g, u->next[0], takt_add_scalar(g, root, epsilon));
}

takt_id takt_adam_step(takt_update *u, takt_id weight, takt_id direction)
{
    return takt_sub(u->g, weight, takt_mul(u->g, direction, u->scalar[0]));
}
