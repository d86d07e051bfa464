/* train_sound.c - flags of a training that would do nothing, or harm, in their combination.
 *
 * They are refused with what to write instead, before anything is read, made or moved. */
#include <stdlib.h>
#include <string.h>

#include "train.h"

/* ---- before the model is opened ---- */

/* Flags that do nothing without another one. */
static bool has_company(const takt_tool *t)
{
    static const struct {
        tool_flag_id flag, other;
        const char *message, *hint;
    } pairs[] = {
        {TAKT_F_PATIENCE, TAKT_F_VAL_SPLIT, "--patience waits for the loss of an evaluation",
         "write --val-split 0.1 too"},
        {TAKT_F_CHECKPOINT_EVERY, TAKT_F_CHECKPOINT, "--checkpoint-every has no folder to save to",
         "write --checkpoint DIR too"},
        {TAKT_F_KEEP, TAKT_F_QAT, "--keep says which layers --qat leaves as they are",
         "write --qat int8, or --freeze for weights that stay"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (tool_text_of(t, pairs[i].flag) != NULL && tool_text_of(t, pairs[i].other) == NULL) {
            tool_usage_error(t, 1003, pairs[i].hint, "%s", pairs[i].message);
            return false;
        }
    if (!tool_on(t, TAKT_F_RESUME) || tool_text_of(t, TAKT_F_CHECKPOINT) != NULL)
        return true;
    tool_usage_error(t, 1003, "write --checkpoint DIR",
                     "--resume needs the folder of the checkpoints");
    return false;
}

/* Numbers at the end of their range, where they do nothing. */
bool tool_numbers_sound(const takt_tool *t)
{
    static const struct {
        tool_flag_id flag;
        double value;
        const char *message;
    } ends[] = {
        {TAKT_F_LR, 0, "with --lr 0 nothing is learned"},
        {TAKT_F_EMA, 0, "--ema 0 averages nothing"},
        {TAKT_F_EMA, 1, "--ema 1 keeps the weights that the training begins with"},
        {TAKT_F_CLIP, 0, "--clip 0 clips nothing"},
        {TAKT_F_CLIP_VALUE, 0, "--clip-value 0 clips nothing"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *text = tool_text_of(t, ends[i].flag);
        char *end = NULL;
        if (text == NULL || strtod(text, &end) != ends[i].value || end == text || *end != '\0')
            continue;
        tool_usage_error(t, 1003,
                         ends[i].flag == TAKT_F_LR ? "--freeze REGEX leaves parameters as they are"
                         : ends[i].flag == TAKT_F_EMA ? "write --ema 0.999, or leave it out"
                                                      : "write a number above 0, or leave it out",
                         "%s", ends[i].message);
        return false;
    }
    return true;
}

bool tool_training_flags(const takt_tool *t)
{
    const char *to = tool_text_of(t, TAKT_F_MODEL_FILE);
    const bool is_aware = tool_text_of(t, TAKT_F_QAT) != NULL;
    if (tool_text_of(t, TAKT_F_TRAIN_STEPS) != NULL && tool_text_of(t, TAKT_F_EPOCHS) != NULL) {
        tool_usage_error(t, 1003, "write one of them",
                         "--steps and --epochs both say how long the training is");
        return false;
    }
    if (!has_company(t))
        return false;
    return to == NULL || (!is_aware && strcmp(to, TOOL_STDOUT) == 0) || tool_model_ending(t, to);
}

/* ---- when the lengths of data and training are known ---- */

static bool is_named(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return text != NULL && strncmp(text, name, length) == 0 &&
           (text[length] == '\0' || text[length] == ':');
}

/* The value of "name=" in "plateau:patience=3". */
static double number_in(const char *text, const char *name, double fallback)
{
    const size_t length = strlen(name);
    for (const char *at = strchr(text, ':'); at != NULL; at = strchr(at + 1, ','))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=')
            return strtod(at + 2 + length, NULL);
    return fallback;
}

static bool is_warmup_sound(const tool_training *g)
{
    const uint64_t warmup = tool_number_of(g->t, TAKT_F_WARMUP_STEPS, 0);
    if (warmup > 0 && is_named(tool_text_of(g->t, TAKT_F_RATE_SCHEDULE), "one_cycle")) {
        tool_usage_error(g->t, 1003, "write --schedule one_cycle:rise=0.1, its share of the steps",
                         "the schedule one_cycle has a rise of its own: --warmup does nothing");
        return false;
    }
    if (warmup <= g->steps)
        return true;
    tool_usage_error(g->t, 1003, "write fewer steps, or train for longer",
                     "--warmup %llu does not end: the training has %llu step%s",
                     (unsigned long long)warmup, (unsigned long long)g->steps,
                     g->steps == 1 ? "" : "s");
    return false;
}

/* `evaluations` without a better loss are needed before anything happens. */
static bool may_wait(const tool_training *g, const char *what, double evaluations)
{
    char hint[160];
    if (evaluations < (double)g->epochs)
        return true;
    snprintf(hint, sizeof hint, "there is one evaluation an epoch: write --epochs %.0f or more",
             evaluations + 2);
    tool_usage_error(g->t, 1003, hint, "%s does nothing in %llu epoch%s", what,
                     (unsigned long long)g->epochs, g->epochs == 1 ? "" : "s");
    return false;
}

static bool is_schedule_sound(const tool_training *g)
{
    const char *schedule = tool_text_of(g->t, TAKT_F_RATE_SCHEDULE);
    const uint64_t patience = tool_number_of(g->t, TAKT_F_PATIENCE, 0);
    char what[96];
    if (!is_warmup_sound(g))
        return false;
    snprintf(what, sizeof what, "--patience %llu", (unsigned long long)patience);
    if (patience > 0 && !may_wait(g, what, (double)patience))
        return false;
    if (!is_named(schedule, "plateau"))
        return true;
    if (g->held_out == 0) {
        tool_usage_error(g->t, 1003, "write --val-split 0.1 too",
                         "the schedule plateau waits for the loss of an evaluation");
        return false;
    }
    snprintf(what, sizeof what, "--schedule %.64s", schedule);
    return may_wait(g, what, number_in(schedule, "patience", 10));
}

/* A model of a fixed batch is run with as many samples at a time, and every run is a shard. */
static bool is_batch_sound(const tool_training *g)
{
    const uint64_t fixed = tool_fixed_batch(g->model);
    const uint64_t batch = tool_number_of(g->t, TAKT_F_TRAIN_BATCH, 0);
    const uint64_t shards = tool_number_of(g->t, TAKT_F_SHARDS, 0);
    char hint[96];
    if (fixed > 0 && batch % fixed != 0) {
        snprintf(hint, sizeof hint, "write --batch-size %llu",
                 (unsigned long long)((batch + fixed - 1) / fixed * fixed));
        tool_usage_error(g->t, 1003, hint, "the model takes %llu samples at a time",
                         (unsigned long long)fixed);
        return false;
    }
    const uint64_t most = fixed > 0 ? g->batch_size / fixed : g->batch_size;
    if (shards <= most && (fixed == 0 || shards == 0 || shards == most))
        return true;
    snprintf(hint, sizeof hint, fixed > 0 ? "leave --shards out" : "write --shards %llu or fewer",
             (unsigned long long)most);
    tool_usage_error(g->t, 1003, hint, "a step of %llu samples%s has %llu shards, not %llu",
                     (unsigned long long)g->batch_size,
                     fixed > 0 ? ", of which the model takes a fixed number," : "",
                     (unsigned long long)most, (unsigned long long)shards);
    return false;
}

bool tool_training_sound(const tool_training *g)
{
    enum { MOST_WORKERS = 16 };
    const uint64_t workers = tool_number_of(g->t, TAKT_F_WORKERS, 1);
    if (workers > MOST_WORKERS) {
        tool_usage_error(g->t, 1003, "one or two are enough for most data",
                         "--workers is 0 to %d, not %llu", MOST_WORKERS,
                         (unsigned long long)workers);
        return false;
    }
    return is_schedule_sound(g) && is_batch_sound(g);
}
