/* trainer_run.c - steps of a trainer, evaluation, and how another thread ends them. */
#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"
#include "base/mem.h"
#include "plan/basis.h"

/* ---- calls, which may be cancelled ---- */

/* Counted as a session counts its runs, so that a cancel affects one call only. */
static takt_status begin_call(takt_trainer *t)
{
    const uint64_t number = atomic_load(&t->calls) / 2 + 1;
    atomic_store(&t->calls, 2 * number + 1);
    if (atomic_load(&t->cancel) != number)
        return TAKT_OK;
    return takt_fail(t->ctx, TAKT_E_CANCELLED, "the step was cancelled before it began");
}

static takt_status end_call(takt_trainer *t, takt_status status)
{
    atomic_store(&t->calls, atomic_load(&t->calls) - 1);
    return status;
}

void takt_trainer_cancel(takt_trainer *t)
{
    if (t == NULL)
        return;
    const uint64_t calls = atomic_load(&t->calls);
    atomic_store(&t->cancel, calls / 2 + (calls % 2 == 0));
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

/* For the parameters without a group (0), or for those of a group, counted from 1. */
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

/* A young average forgets faster, or a short training would keep the weights that it began with. */
static double decay_of_averages(const takt_trainer *t)
{
    const double updates = (double)(t->steps - t->skipped);
    return fmin(t->spec.ema, (1 + updates) / (10 + updates));
}

static void put_scalars(takt_trainer *t, double factor)
{
    put_float(&t->step, TAKT_STEP_AVERAGE, 1 - decay_of_averages(t));
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
        TAKT_TRY(takt_timed_phases(t));
    run->session->watch = t->watch;
    run->session->outer_cancel = &t->cancel;
    run->session->outer_run = atomic_load(&t->calls) / 2;
    const takt_status status = takt_session_run(run->session);
    run->session->outer_cancel = NULL;
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

/* ---- the state of the model before a step of several shards ---- */

/* Such as batch statistics, which every shard changes. */
static bool is_own_state(const takt_trainer *t, const takt_slot *slot)
{
    const takt_slot *own = takt_graph_find_slot(t->model->training, slot->name);
    return own != NULL && own->next != TAKT_NONE;
}

uint64_t takt_trainer_kept_bytes(const takt_trainer *t)
{
    const takt_model *m = t->step.model;
    uint64_t bytes = 0;
    for (size_t i = 0; t->shards > 1 && i < m->graph->slot_count; i++)
        bytes += is_own_state(t, &m->graph->slots[i]) ? takt_tensor_bytes(&m->slots[i]) : 0;
    return bytes;
}

/* With `kept` NULL only counts their bytes. */
static takt_status move_states(takt_trainer *t, unsigned char *kept, bool is_back, size_t *bytes)
{
    const takt_session *s = t->step.session;
    *bytes = 0;
    for (size_t i = 0; i < s->plan->graph->slot_count; i++) {
        takt_state_slot *slot = s->slots[i].shared;
        if (!is_own_state(t, &s->plan->graph->slots[i]))
            continue;
        if (kept != NULL)
            TAKT_TRY(is_back ? takt_slot_write(slot, kept + *bytes)
                             : takt_slot_read(slot, kept + *bytes));
        *bytes += takt_tensor_bytes(&slot->value);
    }
    return TAKT_OK;
}

/* The memory stays for the next step, which allocates nothing. */
static takt_status keep_states(takt_trainer *t)
{
    size_t bytes;
    TAKT_TRY(move_states(t, NULL, false, &bytes));
    if (bytes > t->kept_bytes) {
        void *block;
        TAKT_TRY(takt_mem_get(t->ctx, bytes, "states", &block));
        takt_mem_put(t->ctx, t->kept, t->kept_bytes);
        t->kept = block;
        t->kept_bytes = bytes;
    }
    t->has_kept = bytes > 0;
    return t->has_kept ? move_states(t, t->kept, false, &bytes) : TAKT_OK;
}

/* Sums of the shards so far must not reach the next step. */
static void drop_gradients(takt_trainer *t)
{
    const takt_session *s = t->step.session;
    for (size_t i = 0; s != NULL && i < s->plan->graph->slot_count; i++)
        if (strncmp(s->plan->graph->slots[i].name, TAKT_STEP_GRAD, strlen(TAKT_STEP_GRAD)) == 0)
            takt_session_clear(s, i);
}

/* After a failure, the state is that before the step. */
static takt_status go_back(takt_trainer *t, takt_status status)
{
    const takt_error why = t->ctx->error;
    size_t bytes;
    drop_gradients(t);
    if (t->has_kept && move_states(t, t->kept, true, &bytes) != TAKT_OK)
        return t->ctx->error.status; /* a device failed */
    t->ctx->error = why;
    return status;
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
        if (first == 0 && size < samples)
            TAKT_TRY(keep_states(t));
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

/* 0 where no label counts, not 0 / 0. */
static double mean_of(const takt_step_result *sum)
{
    return sum->count == 0 && sum->loss == 0 ? 0 : sum->loss / sum->count;
}

static takt_status step(takt_trainer *t, const takt_named_view *batch, size_t count,
                        takt_step_result *result)
{
    takt_step_result sum = {0};
    t->has_kept = false;
    const takt_status status = run_shards(t, batch, count, &sum);
    if (status != TAKT_OK)
        return go_back(t, status);
    const bool is_empty = sum.count == 0; /* no label counts: nothing was learned */
    t->steps++;
    t->skipped += sum.skipped || is_empty;
    if (sum.skipped && isfinite(sum.loss) && sum.scale <= TAKT_SCALE_LEAST) {
        takt_fail(t->ctx, TAKT_E_TRAIN_SCALE, "gradients of step %llu overflow f16 at any scale",
                  (unsigned long long)t->steps);
        return takt_fail_hint(t->ctx, "bf16 has the range of f32: --amp bf16");
    }
    if (result != NULL)
        *result = (takt_step_result){.step = t->steps,
                                     .loss = mean_of(&sum),
                                     .count = sum.count,
                                     .hits = sum.hits < 0 ? -1 : sum.hits,
                                     .rate = sum.rate,
                                     .norm = sum.norm,
                                     .scale = sum.scale,
                                     .skipped = sum.skipped || is_empty};
    return TAKT_OK;
}

takt_status takt_trainer_step(takt_trainer *t, const takt_named_view *batch, size_t count,
                              takt_step_result *result)
{
    const takt_status status = begin_call(t);
    return end_call(t, status == TAKT_OK ? step(t, batch, count, result) : status);
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

static takt_status evaluate(takt_trainer *t, const takt_named_view *batch, size_t count,
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
                                     .loss = mean_of(&sum),
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

takt_status takt_trainer_eval(takt_trainer *t, const takt_named_view *batch, size_t count,
                              takt_step_result *result)
{
    const takt_status status = begin_call(t);
    return end_call(t, status == TAKT_OK ? evaluate(t, batch, count, result) : status);
}
