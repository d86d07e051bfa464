/* train.c - trains a model on a data set. */
#define _POSIX_C_SOURCE 200809L
#include "train.h"
#include "signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- before and after ---- */

/* Windows of a text follow each other: those held out are its end. */
static bool is_sequence(const takt_data *d)
{
    const takt_desc *x = takt_data_field(d, 0), *labels = takt_data_field(d, 1);
    return labels != NULL && x->rank == 2 && labels->rank == 2 && x->dims[1] == labels->dims[1] &&
           x->dtype == TAKT_U8 && labels->dtype == TAKT_U8;
}

static const double most_held_out = 0.9; /* --val-split */

static bool count_samples(tool_training *g)
{
    double share = 0;
    if (!tool_real(g->t, TAKT_F_VAL_SPLIT, 0, most_held_out, &share))
        return false;
    const uint64_t all = takt_data_count(g->data);
    const uint64_t fixed = tool_fixed_batch(g->model), part = fixed > 0 ? fixed : 1;
    g->held_out = (uint64_t)(share * (double)all);
    g->held_out -= g->held_out % part;
    if (share > 0 && g->held_out == 0) {
        const bool can_help = most_held_out * (double)all >= (double)part;
        tool_usage_error(g->t, 1003,
                         can_help ? "take a larger share, or more samples"
                                  : "take more samples: no share of so few would do",
                         "--val-split %g of %llu samples leaves none to evaluate on", share,
                         (unsigned long long)all);
        return false;
    }
    /* Rows and folders are often sorted by class: their end would be one of them. */
    if (g->held_out > 0 && !tool_on(g->t, TAKT_F_NO_SHUFFLE) && !is_sequence(g->data))
        g->drawn = all;
    g->samples = all - g->held_out;
    g->samples -= g->samples % part;
    g->batch_size =
        tool_number_of(g->t, TAKT_F_TRAIN_BATCH, 32) * tool_number_of(g->t, TAKT_F_ACCUMULATE, 1);
    g->batch_size = (g->batch_size + part - 1) / part * part;
    g->batch_size = g->batch_size < g->samples ? g->batch_size : g->samples;
    if (g->samples == 0) {
        tool_usage_error(g->t, 7006, NULL, "the model takes %llu samples at a time: there are %llu",
                         (unsigned long long)part, (unsigned long long)all);
        return false;
    }
    g->steps_per_epoch = (g->samples + g->batch_size - 1) / g->batch_size;
    const uint64_t steps = tool_number_of(g->t, TAKT_F_TRAIN_STEPS, 0);
    g->epochs = steps > 0 ? (steps + g->steps_per_epoch - 1) / g->steps_per_epoch
                          : tool_number_of(g->t, TAKT_F_EPOCHS, 1);
    g->steps = steps > 0 ? steps : g->steps_per_epoch * g->epochs;
    g->seed = tool_number_of(g->t, TAKT_F_SEED, 0);
    g->best = INFINITY;
    return true;
}

/* Estimated time of the steps, by the machine model. */
static const char *expected(const tool_training *g, char *to, size_t size)
{
    const double seconds = takt_trainer_estimate(g->trainer) * (double)g->steps;
    if (seconds < 1)
        snprintf(to, size, "less than a second");
    else if (seconds < 120)
        snprintf(to, size, "about %.0f s", seconds);
    else if (seconds < 7200)
        snprintf(to, size, "about %.0f minutes", seconds / 60);
    else
        snprintf(to, size, "about %.1f hours", seconds / 3600);
    return to;
}

/* What would fit has a size of the batch as `takt plan` takes it: "-D batch=4". */
static void name_batch_flag(takt_error *e)
{
    static const char flag[] = "--batch-size ";
    char rest[TAKT_ERROR_TEXT];
    char *at = strstr(e->hint, "-D ");
    const char *size = at != NULL ? strchr(at, '=') : NULL;
    if (size == NULL)
        return;
    snprintf(rest, sizeof rest, "%s", size + 1);
    snprintf(at, sizeof e->hint - (size_t)(at - e->hint), "%s%s", flag, rest);
}

static int cannot_plan(const tool_training *g)
{
    takt_error e = *takt_last_error_info(g->t->ctx);
    name_batch_flag(&e);
    return tool_report_error(g->t, &e);
}

static int introduce(tool_training *g)
{
    uint64_t numbers;
    size_t frozen;
    takt_plan_info info;
    if (takt_trainer_plan(g->trainer, g->batch.view, g->batch.count, &info) != TAKT_OK)
        return cannot_plan(g);
    if (tool_on(g->t, TAKT_F_QUIET))
        return TAKT_EXIT_OK;
    FILE *to = tool_on(g->t, TAKT_F_JSON) ? stderr : stdout;
    takt_trainer_count(g->trainer, &numbers, &frozen);
    fprintf(to, "%s: %llu parameters", takt_model_name(g->model), (unsigned long long)numbers);
    if (frozen > 0)
        fprintf(to, " (%zu tensors frozen)", frozen);
    if (tool_text_of(g->t, TAKT_F_AMP) != NULL)
        fprintf(to, " in mixed precision (%s)", tool_text_of(g->t, TAKT_F_AMP));
    char time[48];
    const bool is_small = info.peak < 1000000;
    fprintf(to, ", %llu samples, %llu step%s of %llu, %.1f %s peak in %zu steps of the plan, %s\n",
            (unsigned long long)g->samples, (unsigned long long)g->steps, g->steps == 1 ? "" : "s",
            (unsigned long long)g->batch_size, (double)info.peak / (is_small ? 1e3 : 1e6),
            is_small ? "kB" : "MB", info.steps, expected(g, time, sizeof time));
    if (takt_trainer_note(g->trainer)[0] != '\0')
        fprintf(to, "%s\n", takt_trainer_note(g->trainer));
    if (g->has_shares)
        fprintf(to, "labels are shares of the classes: the loss is cross_entropy:soft=1\n");
    if (g->has_classes_first)
        fprintf(to, "the classes are axis 1 of the output, as its labels show\n");
    if (g->fits_numbers)
        fprintf(to, "labels are not whole numbers: the loss is mse; --loss sets another\n");
    fflush(to);
    if (tool_text_of(g->t, TAKT_F_MODEL_FILE) == NULL &&
        tool_text_of(g->t, TAKT_F_CHECKPOINT) == NULL)
        fprintf(stderr, "takt: no weights are kept: -o FILE writes the trained model, --checkpoint "
                        "DIR the state\n");
    return TAKT_EXIT_OK;
}

static int finish(tool_training *g)
{
    const bool averaged = tool_text_of(g->t, TAKT_F_EMA) != NULL;
    const takt_status status = takt_trainer_export(g->trainer, g->model, averaged);
    if (status != TAKT_OK)
        return tool_finish(g->t, status);
    if (tool_text_of(g->t, TAKT_F_MODEL_FILE) == NULL)
        return TAKT_EXIT_OK;
    if (tool_text_of(g->t, TAKT_F_QAT) != NULL)
        return tool_qat_save(g);
    return tool_write_model(g->t, g->model, "takt train");
}

/* ---- the verb ---- */

static void tell_start(const tool_training *g, bool found)
{
    if (tool_on(g->t, TAKT_F_QUIET))
        return;
    if (found)
        fprintf(stderr, "takt: %s step %llu%s\n",
                tool_is_trained(g) ? "the training is complete since" : "going on after",
                (unsigned long long)takt_trainer_steps(g->trainer),
                tool_is_trained(g) ? "; more --epochs or --steps continue it" : "");
    else
        fprintf(stderr, "takt: %s has no checkpoint: training starts at the beginning\n",
                tool_text_of(g->t, TAKT_F_CHECKPOINT));
}

/* Weights of a complete training are written even if its curve, log or last checkpoint could not
 * be, or if Ctrl-C ended its last evaluation. */
static int train_and_save(tool_training *g)
{
    tool_signals before;
    tool_train_catch(&before);
    const int trained = tool_train_loop(g);
    const int closed = tool_log_close(g, trained);
    const bool is_complete =
        trained == TAKT_EXIT_OK ||
        ((!g->is_cut || trained == TAKT_EXIT_INTERRUPTED) && tool_is_trained(g));
    const int saved = is_complete ? finish(g) : trained;
    tool_signals_restore(&before);
    if (is_complete && saved != TAKT_EXIT_OK && g->has_saved && g->saved_step == g->steps)
        fprintf(stderr,
                "takt: %s has the trained state; the same command with --resume writes it\n",
                tool_text_of(g->t, TAKT_F_CHECKPOINT));
    return saved != TAKT_EXIT_OK ? saved : closed;
}

static int train(tool_training *g)
{
    int code = introduce(g);
    bool found = false;
    if (code == TAKT_EXIT_OK && !tool_checkpoint_lock(g, &code))
        return code;
    if (code == TAKT_EXIT_OK)
        code = tool_finish(g->t, tool_settings_init(g));
    if (code == TAKT_EXIT_OK && tool_on(g->t, TAKT_F_RESUME)) {
        code = tool_checkpoint_load(g, &found);
        if (code != TAKT_EXIT_OK)
            return code;
        tell_start(g, found);
    } else if (code == TAKT_EXIT_OK && !tool_checkpoint_retire(g, &code)) {
        return code;
    }
    if (code != TAKT_EXIT_OK ||
        !tool_log_open(g, found ? takt_trainer_steps(g->trainer) : 0, &code))
        return code;
    return train_and_save(g);
}

static int with_flags(tool_training *g, tool_train_flags *f, const tool_request *request)
{
    const uint64_t fixed = tool_fixed_batch(g->model);
    takt_train_options *o = &f->options;
    o->plan = &request->options;
    if (g->fits_numbers && o->loss == NULL)
        o->loss = "mse";
    if (g->has_shares)
        o->loss = "cross_entropy:soft=1";
    if (g->has_classes_first) {
        snprintf(f->loss, sizeof f->loss, "%.200s%caxis=1",
                 o->loss != NULL ? o->loss : "cross_entropy",
                 o->loss != NULL && strchr(o->loss, ':') != NULL ? ',' : ':');
        o->loss = f->loss;
    }
    if (fixed > 0) /* every part that the model takes is a shard */
        o->shards = (int64_t)(g->batch_size / fixed);
    o->steps = g->steps;
    o->take_weights = true;
    o->async_save = tool_text_of(g->t, TAKT_F_CHECKPOINT) != NULL;
    int code = tool_finish(g->t, takt_trainer_create(g->model, o, &g->trainer));
    if (code == TAKT_EXIT_OK)
        code = tool_train_flags_used(g->t, f) ? train(g) : TAKT_EXIT_USAGE;
    takt_trainer_destroy(g->trainer);
    return code;
}

static int with_trainer(tool_training *g)
{
    tool_train_flags f;
    tool_request request;
    int code = tool_request_init(g->t, NULL, &request);
    if (code != TAKT_EXIT_OK)
        return code;
    code = TAKT_EXIT_USAGE;
    if (tool_train_flags_init(g->t, &f) && tool_mixup_loss(g, &f)) {
        if (tool_class_weights(g, &f))
            code = with_flags(g, &f, &request);
        tool_train_flags_free(&f);
    }
    tool_request_free(&request);
    return code;
}

static int with_data(tool_training *g)
{
    int code = TAKT_EXIT_USAGE;
    if (!count_samples(g) || !tool_training_sound(g) || !tool_checkpoint_init(g) ||
        !tool_batch_init(&g->batch, g->model, g->data, g->batch_size, &code, g->t))
        return code;
    if (!tool_training_has_labels(g) || !tool_training_labels_fit(g))
        return TAKT_EXIT_USAGE;
    if (!tool_augment_begin(g, &code))
        return code;
    return with_trainer(g);
}

static int run(takt_tool *t)
{
    tool_training g = {.t = t, .lock = -1};
    int code;
    if (tool_on(t, TAKT_F_LIST))
        return tool_finish(t, takt_train_list(t->ctx, tool_format_of(t), tool_to_screen, t));
    if (t->arg_count == 0 && tool_text_of(t, TAKT_F_MODEL) == NULL)
        return tool_usage_error(t, 1003, "write takt train MODEL --data FOLDER",
                                "there is no model to train");
    if (!tool_training_flags(t))
        return TAKT_EXIT_USAGE;
    t->trains = true;
    g.model = tool_open_model(t, &code);
    if (g.model == NULL)
        return code;
    g.data = tool_open_data(t, g.model, &code);
    if (g.data != NULL && tool_qat_begin(&g, &code))
        code = with_data(&g);
    tool_batch_free(&g.batch, t->ctx);
    free(g.settings);
    if (g.lock >= 0)
        close(g.lock);
    takt_data_destroy(g.data);
    takt_model_destroy(g.model);
    return code;
}

const takt_verb takt_verb_train = {
    .name = "train",
    .task = TAKT_TASK_TRAIN,
    .is_main = true,
    .summary = "train a model on a data set",
    .arguments = "MODEL --data D",
    .about =
        "Forward, loss, backward and update are one plan. The resulting bits do not depend on\n"
        "the number of threads or the processor. A model whose last layer is a softmax or\n"
        "sigmoid is trained without it where the loss contains it. With --qat, weights and\n"
        "activations are rounded in every step, and the integer model is written.",
    .arg_min = 0,
    .arg_max = 1,
    .example = "takt train examples/spirals.takt --data examples/spirals.csv",
    .often = (const tool_flag_id[]){TAKT_F_DATA_SET, TAKT_F_EPOCHS, TAKT_F_TRAIN_BATCH, TAKT_F_LR,
                                    TAKT_F_OPTIMIZER, TAKT_F_LOSS, TAKT_F_VAL_SPLIT,
                                    TAKT_F_MODEL_FILE, TAKT_F_CHECKPOINT, TAKT_F_RESUME, TAKT_F_AMP,
                                    TAKT_F_SEED, TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,
              TAKT_F_SELECT,
              TAKT_F_WEIGHTS,
              TAKT_F_ALLOW_LINKS,
              TAKT_F_DENSE_LIMIT,
              TAKT_F_DATA_SET,
              TAKT_F_SPLIT,
              TAKT_F_LABEL,
              TAKT_F_WINDOW,
              TAKT_F_IMAGE,
              TAKT_F_SAMPLES,
              TAKT_F_DATA_CACHE,
              TAKT_F_MISSING,
              TAKT_F_VAL_SPLIT,
              TAKT_F_EPOCHS,
              TAKT_F_TRAIN_STEPS,
              TAKT_F_TRAIN_BATCH,
              TAKT_F_ACCUMULATE,
              TAKT_F_SHARDS,
              TAKT_F_OPTIMIZER,
              TAKT_F_LR,
              TAKT_F_WEIGHT_DECAY,
              TAKT_F_LOSS,
              TAKT_F_CLASS_WEIGHTS,
              TAKT_F_RATE_SCHEDULE,
              TAKT_F_WARMUP_STEPS,
              TAKT_F_CLIP,
              TAKT_F_CLIP_VALUE,
              TAKT_F_EMA,
              TAKT_F_AMP,
              TAKT_F_QAT,
              TAKT_F_KEEP,
              TAKT_F_NUMERICS,
              TAKT_F_TRADEOFF,
              TAKT_F_ACTIVATION_LIMIT,
              TAKT_F_FREEZE,
              TAKT_F_GROUP,
              TAKT_F_WORKERS,
              TAKT_F_AUGMENT,
              TAKT_F_PATIENCE,
              TAKT_F_ON_NAN,
              TAKT_F_NO_SHUFFLE,
              TAKT_F_SEED,
              TAKT_F_CHECKPOINT,
              TAKT_F_CHECKPOINT_EVERY,
              TAKT_F_RESUME,
              TAKT_F_LOG,
              TAKT_F_CURVE,
              TAKT_F_MODEL_FILE,
              TAKT_F_LIST,
              TAKT_F_THREADS,
              TAKT_F_ISA,
              TAKT_F_PASS,
              TAKT_F_LEVEL,
              TAKT_F_HINT,
              TAKT_F_MEMORY_LIMIT,
              TAKT_FLAG_IDS},
    .run = run,
};
