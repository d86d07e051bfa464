/* trainer.c - making a trainer. */
#include "api/train/trainer.h"

#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"

/* ---- making ---- */

static bool has_loss(const takt_graph *g)
{
    for (size_t i = 0; i < g->output_count; i++)
        if (strcmp(g->outputs[i].name, "loss") == 0)
            return true;
    return false;
}

static takt_status take_class_weights(takt_trainer *t, const takt_tensor_view *v)
{
    takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {v->rank == 1 ? v->dims[0] : 0}};
    if (t->spec.loss == NULL || !t->spec.loss->takes_weights) {
        takt_fail(t->ctx, TAKT_E_OPTION, "the loss %s takes no class weights",
                  t->spec.loss != NULL ? t->spec.loss->name : "of the model");
        return takt_fail_hint(t->ctx, "cross_entropy takes them");
    }
    if (v->dtype != TAKT_F32 || v->rank != 1 || v->data == NULL)
        return takt_fail(t->ctx, TAKT_E_OPTION, "class weights are a vector of f32");
    TAKT_TRY(takt_tensor_create(t->ctx, &type, &t->class_weights));
    float *to = takt_tensor_data(&t->class_weights);
    const int64_t stride = takt_view_is_dense(v) ? 1 : v->strides[0];
    for (int64_t i = 0; i < v->dims[0]; i++) {
        to[i] = ((const float *)v->data)[i * stride];
        if (!(to[i] >= 0 && isfinite(to[i])))
            return takt_fail(t->ctx, TAKT_E_OPTION, "class weight %lld is %g, not 0 or more",
                             (long long)i, (double)to[i]);
    }
    t->spec.class_weights = &t->class_weights;
    return TAKT_OK;
}

static takt_status check_numbers(takt_ctx *ctx, const takt_train_options *o)
{
    const struct {
        const char *name;
        double value, high;
    } numbers[] = {{"rate", o->rate, 1e6},
                   {"clip_norm", o->clip_norm, 1e30},
                   {"clip_value", o->clip_value, 1e30},
                   {"ema", o->ema, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= 0 && numbers[i].value <= numbers[i].high))
            return takt_fail(ctx, TAKT_E_OPTION, "%s must be from 0 to %g, not %g", numbers[i].name,
                             numbers[i].high, numbers[i].value);
    if (o->shards < 0)
        return takt_fail(ctx, TAKT_E_OPTION, "shards must be 1 or more, not %lld",
                         (long long)o->shards);
    return TAKT_OK;
}

static takt_status read_amp(takt_trainer *t, const char *amp)
{
    takt_step_spec *spec = &t->spec;
    if (amp == NULL || strcmp(amp, "f32") == 0)
        return TAKT_OK;
    spec->amp = strcmp(amp, "f16") == 0 ? TAKT_F16 : TAKT_BF16;
    spec->has_amp = true;
    if (spec->amp == TAKT_F16 || strcmp(amp, "bf16") == 0)
        return TAKT_OK;
    return takt_fail(t->ctx, TAKT_E_OPTION, "mixed precision is bf16, f16 or f32, not %s", amp);
}

static takt_status read_options(takt_trainer *t, const takt_train_options *o)
{
    takt_step_spec *spec = &t->spec;
    const takt_graph *g = t->model->training;
    TAKT_TRY(check_numbers(t->ctx, o));
    if (o->loss != NULL || !has_loss(g))
        TAKT_TRY(takt_loss_parse(t->ctx, o->loss != NULL ? o->loss : "cross_entropy", &spec->loss,
                                 spec->loss_hyper));
    TAKT_TRY(takt_optimizer_parse(t->ctx, o->optimizer != NULL ? o->optimizer : "adamw",
                                  &spec->optimizer, spec->hyper));
    TAKT_TRY(
        takt_schedule_parse(t->ctx, o->schedule != NULL ? o->schedule : "constant", &t->schedule));
    t->schedule.warmup = o->warmup;
    t->schedule.steps = o->steps;
    if (t->schedule.kind->needs_steps && o->steps == 0)
        return takt_fail(t->ctx, TAKT_E_OPTION,
                         "the schedule %s needs the number of steps of the training",
                         t->schedule.kind->name);
    if (o->class_weights != NULL)
        TAKT_TRY(take_class_weights(t, o->class_weights));
    TAKT_TRY(takt_trainer_groups(t, o));
    TAKT_TRY(read_amp(t, o->amp));
    spec->clip_norm = o->clip_norm;
    spec->clip_value = o->clip_value;
    spec->ema = o->ema;
    spec->accumulates = o->shards > 1;
    spec->skips_bad = o->skip_not_finite;
    spec->is_trained = o->trains;
    spec->user = o->trains_user;
    t->rate = o->rate > 0 ? o->rate : spec->optimizer->rate;
    t->shards = o->shards > 0 ? o->shards : 1;
    t->seed = o->seed;
    t->async_save = o->async_save;
    t->takes_weights = o->take_weights;
    if (o->plan != NULL)
        TAKT_TRY(takt_options_read(t->ctx, "takt_plan_options", o->plan, &t->plan, sizeof t->plan));
    return TAKT_OK;
}

/* Averages begin where the weights do. */
static void begin_averages(const takt_model *m)
{
    const size_t prefix = strlen(TAKT_STEP_EMA);
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        const takt_slot *slot = &m->graph->slots[i];
        if (strncmp(slot->name, TAKT_STEP_EMA, prefix) != 0)
            continue;
        const takt_slot *weight = takt_graph_find_slot(m->graph, slot->name + prefix);
        if (weight == NULL)
            continue;
        takt_tensor_release(&m->slots[i]);
        m->slots[i] = m->slots[weight - m->graph->slots];
        takt_storage_retain(m->slots[i].storage);
    }
}

static takt_status make(takt_trainer *t, const takt_train_options *o)
{
    takt_graph *g = NULL;
    TAKT_TRY(read_options(t, o));
    TAKT_TRY(takt_step_build(t->model->training, &t->spec, &t->notes, &g));
    TAKT_TRY(takt_model_derive(t->model, g, &t->step.model));
    begin_averages(t->step.model);
    TAKT_TRY(takt_step_build_eval(t->model->graph, &t->spec, &g));
    TAKT_TRY(takt_model_derive(t->model, g, &t->eval.model));
    t->note = "";
    if (t->notes.removed != NULL)
        t->note =
            takt_arena_format(&t->arena, "%s was taken off the end of the model: %s contains it",
                              t->notes.removed, t->spec.loss->name);
    return t->note != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_trainer_create(const takt_model *model, const takt_train_options *options,
                                takt_trainer **trainer)
{
    void *block;
    takt_train_options own;
    *trainer = NULL;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_options_read(model->ctx, "takt_train_options", options, &own, sizeof own));
    if (model->training == NULL) {
        takt_fail(model->ctx, TAKT_E_ARGUMENT, "the model was not loaded for training");
        return takt_fail_hint(model->ctx, "load it with takt_load_options.training");
    }
    TAKT_TRY(takt_mem_zero(model->ctx, 1, sizeof(takt_trainer), "trainer", &block));
    takt_trainer *t = block;
    t->ctx = model->ctx;
    t->model = model;
    takt_arena_init(&t->arena, t->ctx);
    takt_text_init(&t->step.sizes, t->ctx);
    takt_text_init(&t->step.asked, t->ctx);
    takt_text_init(&t->eval.sizes, t->ctx);
    takt_text_init(&t->eval.asked, t->ctx);
    const takt_status status = make(t, &own);
    if (status == TAKT_OK)
        *trainer = t;
    else
        takt_trainer_destroy(t);
    return status;
}

static void end_run(takt_train_run *run)
{
    takt_session_destroy(run->session);
    takt_model_destroy(run->model);
    takt_text_deinit(&run->sizes);
    takt_text_deinit(&run->asked);
}

void takt_trainer_destroy(takt_trainer *t)
{
    if (t == NULL)
        return;
    takt_saving_stop(t);
    end_run(&t->step);
    end_run(&t->eval);
    takt_mem_put(t->ctx, t->kept, t->kept_bytes);
    takt_timed_forget(t);
    if (t->class_weights.storage != NULL)
        takt_tensor_release(&t->class_weights);
    takt_arena_deinit(&t->arena);
    takt_mem_put(t->ctx, t, sizeof *t);
}
