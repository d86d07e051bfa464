/* trainer_facts.c - facts about a trainer, and copying its weights back. */
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "backend/cpu/cost_model.h"
#include "plan/basis.h"
#include "plan/finish.h"

/* ---- facts ---- */

/* By the cost model that splits tasks. Small models spend most of their time outside the
 * arithmetic: calls of steps, kernels and the session, assembling the batch, and setting
 * scalars. */
static double seconds_of(const takt_plan *plan, int threads)
{
    const double call = 0.3e-6, around = 8e-6; /* as measured on a Neoverse V1 */
    double sum = around + call * (double)plan->step_count;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        const double most = s->task_count < (size_t)threads ? (double)s->task_count : threads;
        const takt_cost cost = takt_step_cost(plan, s);
        sum += takt_cost_model_us(takt_cost_model_of(s->isas), cost.flops, cost.bytes) * 1e-6 /
               (most > 1 ? most : 1);
    }
    return sum;
}

takt_status takt_trainer_plan(takt_trainer *t, const takt_named_view *batch, size_t count,
                              takt_plan_info *info)
{
    int64_t samples;
    takt_text sizes;
    takt_plan *plan;
    takt_plan_options o = t->plan;
    TAKT_TRY(takt_batch_samples(t, batch, count, &samples));
    takt_text_init(&sizes, t->ctx);
    const int64_t fixed = takt_batch_fixed(t);
    const takt_rows rows = {0, fixed > 0 ? fixed : (samples + t->shards - 1) / t->shards};
    takt_status status = takt_batch_sizes(t, t->step.model, batch, count, rows, &sizes);
    o.sizes = takt_text_get(&sizes);
    o.dry = true;
    if (status == TAKT_OK)
        status = takt_plan_create(t->step.model, &o, &plan);
    if (status == TAKT_OK) {
        takt_plan_query(plan, info);
        const uint64_t copy =
            takt_trainer_kept_bytes(t) + (t->async_save ? takt_trainer_state_bytes(t) : 0);
        info->state += copy;
        info->peak += copy;
        t->estimate = seconds_of(plan, info->threads) *
                      (double)((samples + rows.rows - 1) / (rows.rows > 0 ? rows.rows : 1));
        takt_plan_destroy(plan);
    }
    takt_text_deinit(&sizes);
    return status;
}

double takt_trainer_estimate(const takt_trainer *t)
{
    return t->estimate;
}

uint64_t takt_trainer_steps(const takt_trainer *t)
{
    return t->steps;
}

void takt_trainer_count(const takt_trainer *t, uint64_t *trained, size_t *frozen_parameters)
{
    const takt_graph *g = t->step.model->graph;
    *trained = 0;
    *frozen_parameters = t->notes.frozen;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].is_trainable && g->slots[i].next != TAKT_NONE)
            *trained += takt_tensor_count(&t->step.model->slots[i]);
}

const char *takt_trainer_note(const takt_trainer *t)
{
    return t->note;
}

/* ---- weights back into the model ---- */

static takt_status exported(const takt_trainer *t, const char *name, bool averaged,
                            takt_tensor *value)
{
    char mean[512];
    const size_t prefix = strlen(TAKT_STEP_EMA), length = strlen(name);
    *value = (takt_tensor){.storage = NULL};
    if (averaged && prefix + length < sizeof mean) {
        memcpy(mean, TAKT_STEP_EMA, prefix);
        memcpy(mean + prefix, name, length + 1);
        TAKT_TRY(takt_train_slot(t, mean, value));
    }
    return value->storage != NULL ? TAKT_OK : takt_train_slot(t, name, value);
}

takt_status takt_trainer_export(const takt_trainer *t, takt_model *model, bool averaged)
{
    model->key = 0; /* first: a failure may come after some weights have changed */
    takt_basis_forget(t->ctx, &model->bases);
    for (size_t i = 0; i < model->graph->slot_count; i++) {
        takt_tensor value, fresh;
        TAKT_TRY(exported(t, model->graph->slots[i].name, averaged, &value));
        if (value.storage == NULL ||
            !takt_type_same(model->graph->dims, &value.type, &model->graph->slots[i].type)) {
            takt_tensor_release(&value);
            continue;
        }
        const takt_status status = takt_tensor_create(t->ctx, &value.type, &fresh);
        if (status == TAKT_OK)
            memcpy(takt_tensor_data(&fresh), takt_tensor_data(&value), takt_tensor_bytes(&value));
        takt_tensor_release(&value);
        TAKT_TRY(status);
        takt_tensor_release(&model->slots[i]);
        model->slots[i] = fresh;
    }
    return TAKT_OK;
}
