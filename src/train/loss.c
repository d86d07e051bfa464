/* loss.c - the table of losses, their numbers from text, and what they share. */
#include "train/loss.h"

#include <string.h>

#include "op/util/loss.h"
#include "op/util/reduce.h"

#define TAKT_LOSS(stem) extern const takt_loss takt_loss_##stem;
#include "loss_list.inc"
#undef TAKT_LOSS

const takt_loss *const takt_losses[] = {
#define TAKT_LOSS(stem) &takt_loss_##stem,
#include "loss_list.inc"
#undef TAKT_LOSS
    NULL};

static const char *name_at(size_t index)
{
    return takt_losses[index] != NULL ? takt_losses[index]->name : NULL;
}

takt_status takt_loss_parse(takt_ctx *ctx, const char *text, const takt_loss **loss,
                            double hyper[static TAKT_LOSS_HYPERS])
{
    const size_t length = takt_hyper_name(text);
    size_t i = 0;
    while (name_at(i) != NULL &&
           (strlen(name_at(i)) != length || memcmp(name_at(i), text, length) != 0))
        i++;
    *loss = takt_losses[i];
    if (*loss == NULL)
        return takt_hyper_unknown(ctx, "loss", text, name_at);
    return takt_hyper_read(ctx, (*loss)->name, (*loss)->hyper, TAKT_LOSS_HYPERS, text, hyper);
}

/* ---- shared ---- */

void takt_labels_alike(takt_type *type)
{
    (void)type;
}

void takt_labels_of_classes(takt_type *type)
{
    type->dtype = TAKT_I64;
    type->rank -= type->rank > 0;
}

takt_id takt_sum_all(takt_graph *g, takt_id x)
{
    const takt_id wide = takt_cast(g, x, TAKT_F32);
    return takt_reduce_over(g, &takt_op_reduce_sum, wide, NULL, 0, false);
}

takt_id takt_count_all(takt_graph *g, takt_id x)
{
    const takt_reduction all = {.x = x};
    return takt_reduced_count(g, takt_cast(g, x, TAKT_F32), &all);
}

void takt_loss_sum(takt_loss_site *site, takt_id each)
{
    site->sum = takt_sum_all(site->g, each);
    site->count = takt_count_all(site->g, each);
}

static takt_id reduced(takt_loss_site *site, const takt_op *op, int64_t reduction, size_t count,
                       const takt_named_attr *attrs)
{
    const takt_id in[2] = {site->output, site->labels};
    takt_named_attr all[TAKT_LOSS_HYPERS + 1] = {{"reduction", takt_attr_i64(reduction)}};
    for (size_t i = 0; i < count; i++)
        all[i + 1] = attrs[i];
    return takt_graph_call(site->g, op, 2, in, count + 1, all);
}

takt_id takt_loss_each(takt_loss_site *site, const takt_op *op, size_t count,
                       const takt_named_attr *attrs)
{
    return reduced(site, op, TAKT_EACH, count, attrs);
}

/* In one op if its result is f32: others would be rounded before they are added up. */
takt_id takt_loss_total(takt_loss_site *site, const takt_op *op, size_t count,
                        const takt_named_attr *attrs)
{
    if (site->output != TAKT_NONE && takt_type_of(site->g, site->output)->dtype == TAKT_F32)
        return reduced(site, op, TAKT_SUM, count, attrs);
    return takt_sum_all(site->g, takt_loss_each(site, op, count, attrs));
}

void takt_loss_hits(takt_loss_site *site, takt_id weight)
{
    takt_graph *g = site->g;
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id best = takt_graph_call(g, &takt_op_argmax, 1, &site->output, 1, &axis);
    const takt_id is_right = takt_binary(g, &takt_op_eq, best, site->labels);
    site->hits = takt_sum_all(g, weight != TAKT_NONE ? takt_mul(g, takt_cast(g, is_right, TAKT_F32),
                                                                takt_cast(g, weight, TAKT_F32))
                                                     : is_right);
}
