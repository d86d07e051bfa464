/* train_options.c - what the flags say about a training, and the training step as a model. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "train.h"

static bool is_trained(void *user, const char *name)
{
    return regexec(user, name, 0, NULL, 0) != 0;
}

static bool compile_freeze(const takt_tool *t, tool_train_flags *f)
{
    const char *text = tool_text_of(t, TAKT_F_FREEZE);
    if (text == NULL)
        return true;
    const int code = regcomp(&f->freeze, text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];
        regerror(code, &f->freeze, why, sizeof why);
        tool_usage_error(t, 1003, NULL, "--freeze %s: %s", text, why);
        return false;
    }
    f->freezes = true;
    f->options.trains = is_trained;
    f->options.trains_user = &f->freeze;
    return true;
}

/* "--weight-decay 0.01" is a number of the optimizer. */
static void name_optimizer(const takt_tool *t, char *to, size_t size)
{
    const char *name = tool_text_of(t, TAKT_F_OPTIMIZER);
    const char *decay = tool_text_of(t, TAKT_F_WEIGHT_DECAY);
    snprintf(to, size, "%s", name != NULL ? name : "adamw");
    if (decay != NULL) {
        const size_t used = strlen(to);
        snprintf(to + used, size - used, "%sweight_decay=%s", strchr(to, ':') != NULL ? "," : ":",
                 decay);
    }
}

static bool read_numbers(const takt_tool *t, takt_train_options *o)
{
    const uint64_t accumulate = tool_number_of(t, TAKT_F_ACCUMULATE, 1);
    o->loss = tool_text_of(t, TAKT_F_LOSS);
    o->schedule = tool_text_of(t, TAKT_F_RATE_SCHEDULE);
    o->warmup = tool_number_of(t, TAKT_F_WARMUP_STEPS, 0);
    o->shards = (int64_t)tool_number_of(t, TAKT_F_SHARDS, accumulate);
    o->seed = tool_number_of(t, TAKT_F_SEED, 0);
    if (o->shards % (int64_t)accumulate != 0) {
        tool_usage_error(t, 1003, NULL, "--shards must be a multiple of --accumulate");
        return false;
    }
    return tool_real(t, TAKT_F_LR, 0, 1e6, &o->rate) &&
           tool_real(t, TAKT_F_CLIP, 0, 1e30, &o->clip_norm) &&
           tool_real(t, TAKT_F_CLIP_VALUE, 0, 1e30, &o->clip_value) &&
           tool_real(t, TAKT_F_EMA, 0, 1, &o->ema);
}

bool tool_train_flags_init(const takt_tool *t, tool_train_flags *f)
{
    *f = (tool_train_flags){.options = {.optimizer = f->optimizer}};
    name_optimizer(t, f->optimizer, sizeof f->optimizer);
    return read_numbers(t, &f->options) && compile_freeze(t, f);
}

void tool_train_flags_free(tool_train_flags *f)
{
    if (f->freezes)
        regfree(&f->freeze);
}

takt_model *tool_training_model(takt_tool *t, takt_model *model, int *code)
{
    tool_train_flags f;
    takt_model *step = NULL;
    *code = TAKT_EXIT_USAGE;
    if (tool_train_flags_init(t, &f)) {
        f.options.schedule = NULL; /* its length is not known here */
        *code = tool_finish(t, takt_train_model(model, &f.options, &step));
        tool_train_flags_free(&f);
    }
    takt_model_destroy(model);
    return step;
}
