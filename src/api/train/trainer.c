/* trainer.c - making a trainer, its steps and evaluation. */
#include "api/train/trainer.h"

#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"
#include "plan/basis.h"

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
    if (v->dtype != TAKT_F32 || v->rank != 1 || v->data == NULL || !t->spec.loss->takes_weights)
        return takt_fail(t->ctx, TAKT_E_OPTION,
                         "class weights are a vector of f32, for losses of classes");
    TAKT_TRY(takt_tensor_create(t->ctx, &type, &t->class_weights));
    memcpy(takt_tensor_data(&t->class_weights), v->data, (size_t)v->dims[0] * sizeof(float));
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
    if (t->class_weights.storage != NULL)
        takt_tensor_release(&t->class_weights);
    takt_arena_deinit(&t->arena);
    takt_mem_put(t->ctx, t, sizeof *t);
}

/* ---- a step ---- */

static void put_float(takt_train_run *run, const char *name, double value)
{
    float *to = takt_train_input(run, name);
    if (to != NULL)
        *to = (float)value;
}

static void put_word(takt_train_run *run, const char *name, uint64_t value)
{
    uint64_t *to = takt_train_input(run, name);
    if (to != NULL)
        *to = value;
}

/* Of the parameters of no group, or of one, counted from 1. */
static void put_group(takt_trainer *t, size_t group, double factor)
{
    const takt_optimizer *o = t->spec.optimizer;
    const takt_step_group *own = group > 0 ? &t->spec.groups[group - 1] : NULL;
    const double rate = factor * (own != NULL && own->rate > 0 ? own->rate : t->rate);
    double scalar[TAKT_OPT_SCALARS] = {0};
    char name[TAKT_STEP_NAME];
    put_float(&t->step, takt_step_scalar("rate", group, name), rate);
    if (o->at_step != NULL)
        o->at_step(own != NULL ? own->hyper : t->spec.hyper, rate, t->steps - t->skipped + 1,
                   scalar);
    for (size_t i = 0; i < TAKT_OPT_SCALARS && o->scalars[i] != NULL; i++)
        put_float(&t->step, takt_step_scalar(o->scalars[i], group, name), scalar[i]);
}

static void put_scalars(takt_trainer *t, double factor)
{
    for (size_t i = 0; i <= t->spec.group_count; i++)
        put_group(t, i, factor);
    put_word(&t->step, TAKT_STEP_SEED, t->seed);
    put_word(&t->step, TAKT_STEP_STEP, t->steps);
}

static double output(takt_train_run *run, const char *name, double absent)
{
    const float *value = takt_train_output(run, name);
    return value != NULL ? (double)*value : absent;
}

/* A session's failure is the context's, too. */
static takt_status run_session(takt_trainer *t, takt_train_run *run)
{
    if (t->watch != NULL)
        TAKT_TRY(takt_timed_plan(t->watch->user, run->session->plan));
    run->session->watch = t->watch;
    atomic_store(&t->running, run->session);
    const takt_status status = takt_session_run(run->session);
    atomic_store(&t->running, NULL);
    run->session->watch = NULL;
    if (status != TAKT_OK)
        t->ctx->error = run->session->error;
    return status;
}

static takt_status run_shard(takt_trainer *t, takt_rows rows, bool is_last, double factor,
                             takt_step_result *sum)
{
    put_scalars(t, factor);
    put_word(&t->step, TAKT_STEP_FIRST, (uint64_t)rows.first);
    unsigned char *apply = takt_train_input(&t->step, TAKT_STEP_APPLY);
    if (apply != NULL)
        *apply = is_last;
    TAKT_TRY(run_session(t, &t->step));
    sum->loss += output(&t->step, TAKT_STEP_SUM, 0);
    sum->count += output(&t->step, TAKT_STEP_COUNT, 0);
    sum->hits += output(&t->step, TAKT_STEP_HITS, -1);
    sum->norm = output(&t->step, TAKT_STEP_NORM, -1);
    sum->scale = output(&t->step, TAKT_STEP_SCALE, 1);
    sum->skipped = is_last && output(&t->step, TAKT_STEP_FITS, 1) == 0;
    return TAKT_OK;
}

/* Sums of the shards so far must not reach the next step. */
static void drop_gradients(takt_trainer *t)
{
    const takt_session *s = t->step.session;
    for (size_t i = 0; s != NULL && i < s->plan->graph->slot_count; i++)
        if (strncmp(s->plan->graph->slots[i].name, TAKT_STEP_GRAD, strlen(TAKT_STEP_GRAD)) == 0)
            takt_session_clear(s, i);
}

static takt_status run_shards(takt_trainer *t, const takt_named_view *batch, size_t count,
                              takt_step_result *sum)
{
    int64_t samples;
    TAKT_TRY(takt_batch_samples(t, batch, count, &samples));
    const int64_t fixed = takt_batch_fixed(t);
    const int64_t size = fixed > 0 ? fixed : (samples + t->shards - 1) / t->shards;
    const double factor = takt_schedule_factor(&t->schedule, t->steps);
    sum->rate = t->rate * factor;
    if (samples == 0)
        return takt_fail(t->ctx, TAKT_E_TRAIN_DATA, "the batch is empty");
    for (int64_t first = 0; first < samples; first += size) {
        const int64_t left = samples - first;
        const takt_rows rows = {first, left < size ? left : size};
        TAKT_TRY(takt_train_bind(t, &t->step, batch, count, rows));
        TAKT_TRY(run_shard(t, rows, first + size >= samples, factor, sum));
        if (isfinite(sum->loss))
            continue;
        if (!t->spec.skips_bad)
            return takt_train_not_finite(t, batch, count, rows, sum->loss);
        drop_gradients(t);
        sum->skipped = true;
        return TAKT_OK;
    }
    return TAKT_OK;
}

takt_status takt_trainer_step(takt_trainer *t, const takt_named_view *batch, size_t count,
                              takt_step_result *result)
{
    takt_step_result sum = {0};
    const takt_status status = run_shards(t, batch, count, &sum);
    if (status != TAKT_OK) {
        drop_gradients(t);
        return status;
    }
    t->steps++;
    t->skipped += sum.skipped;
    if (sum.skipped && isfinite(sum.loss) && sum.scale <= TAKT_SCALE_LEAST) {
        takt_fail(t->ctx, TAKT_E_TRAIN_SCALE, "gradients of step %llu overflow f16 at any scale",
                  (unsigned long long)t->steps);
        return takt_fail_hint(t->ctx, "bf16 has the range of f32: --amp bf16");
    }
    if (result != NULL)
        *result = (takt_step_result){.step = t->steps,
                                     .loss = sum.loss / sum.count,
                                     .count = sum.count,
                                     .hits = sum.hits < 0 ? -1 : sum.hits,
                                     .rate = sum.rate,
                                     .norm = sum.norm,
                                     .scale = sum.scale,
                                     .skipped = sum.skipped};
    return TAKT_OK;
}

/* ---- evaluation ---- */

/* The present weights into the session that evaluates. Weights are state there because they
 * change from one evaluation to the next. */
static takt_status refresh(takt_trainer *t)
{
    takt_model *m = t->eval.model;
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        takt_tensor value;
        TAKT_TRY(takt_train_slot(t, m->graph->slots[i].name, &value));
        if (value.storage == NULL || takt_tensor_bytes(&value) != takt_tensor_bytes(&m->slots[i])) {
            takt_tensor_release(&value);
            continue;
        }
        takt_tensor fresh;
        const takt_status status = takt_tensor_create(t->ctx, &m->slots[i].type, &fresh);
        if (status == TAKT_OK)
            memcpy(takt_tensor_data(&fresh), takt_tensor_data(&value), takt_tensor_bytes(&value));
        takt_tensor_release(&value);
        TAKT_TRY(status);
        takt_tensor_release(&m->slots[i]);
        m->slots[i] = fresh;
    }
    m->key = 0;
    takt_basis_forget(t->ctx, &m->bases);
    takt_session_destroy(t->eval.session);
    t->eval.session = NULL;
    return TAKT_OK;
}

takt_status takt_trainer_eval(takt_trainer *t, const takt_named_view *batch, size_t count,
                              takt_step_result *result)
{
    const int64_t fixed = takt_batch_fixed(t);
    takt_step_result sum = {0};
    int64_t samples;
    TAKT_TRY(takt_batch_samples(t, batch, count, &samples));
    if (t->eval_step != t->steps + 1) { /* weights have changed since the last evaluation */
        TAKT_TRY(refresh(t));
        t->eval_step = t->steps + 1;
    }
    for (int64_t first = 0; first < samples || first == 0; first += fixed) {
        const takt_rows rows = {first, fixed}; /* all of them, unless the model has a number */
        TAKT_TRY(takt_train_bind(t, &t->eval, batch, count, rows));
        TAKT_TRY(run_session(t, &t->eval));
        sum.loss += output(&t->eval, TAKT_STEP_SUM, 0);
        sum.count += output(&t->eval, TAKT_STEP_COUNT, 1);
        sum.hits += output(&t->eval, TAKT_STEP_HITS, -1);
        if (fixed <= 0)
            break;
    }
    if (result != NULL)
        *result = (takt_step_result){.step = t->steps,
                                     .loss = sum.loss / sum.count,
                                     .count = sum.count,
                                     .hits = sum.hits < 0 ? -1 : sum.hits,
                                     .rate = 0,
                                     .norm = -1,
                                     .scale = 1};
    return TAKT_OK;
}

void takt_trainer_observe(takt_trainer *t, double loss)
{
    takt_schedule_observe(&t->schedule, loss);
}
