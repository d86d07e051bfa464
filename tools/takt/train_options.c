/* train_options.c - training settings from the flags, and the training step as a model. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "train.h"

static bool is_trained(void *user, const char *name)
{
    tool_train_flags *f = user;
    const bool is_frozen = regexec(&f->freeze, name, 0, NULL, 0) == 0;
    f->has_frozen = f->has_frozen || is_frozen;
    return !is_frozen;
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
    f->options.trains_user = f;
    return true;
}

static bool takes(void *user, const char *name)
{
    tool_group *group = user;
    const bool is_taken = regexec(&group->names, name, 0, NULL, 0) == 0;
    group->is_used = group->is_used || is_taken;
    return is_taken;
}

/* "lr=0.1,weight_decay=0": the rate, and the remaining settings. */
static bool read_numbers_of(const takt_tool *t, const char *text, tool_group *group,
                            takt_param_group *part)
{
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ","), used = strlen(group->numbers);
        char *end;
        if (strncmp(at, "lr=", 3) == 0) {
            part->rate = strtod(at + 3, &end);
            if (end != at + length || !(part->rate > 0)) {
                tool_usage_error(t, 1003, NULL, "--group: %.*s is not a learning rate", (int)length,
                                 at);
                return false;
            }
        } else {
            snprintf(group->numbers + used, sizeof group->numbers - used, "%s%.*s",
                     used > 0 ? "," : "", (int)length, at);
        }
        at += length + (at[length] == ',');
    }
    part->numbers = group->numbers;
    return true;
}

/* "bias|norm:weight_decay=0" */
static bool add_group(const takt_tool *t, const char *item, tool_train_flags *f)
{
    char names[512];
    const char *colon = strrchr(item, ':');
    if (colon == NULL || colon[1] == '\0' || f->group_count == TOOL_GROUPS ||
        (size_t)(colon - item) >= sizeof names) {
        tool_usage_error(t, 1003, "write --group 'bias$:weight_decay=0'",
                         "--group %s is not a REGEX:NUMBERS, or there are more than %d", item,
                         TOOL_GROUPS);
        return false;
    }
    snprintf(names, sizeof names, "%.*s", (int)(colon - item), item);
    tool_group *group = &f->groups[f->group_count];
    takt_param_group *part = &f->parts[f->group_count];
    const int code = regcomp(&group->names, names, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char why[128];
        regerror(code, &group->names, why, sizeof why);
        tool_usage_error(t, 1003, NULL, "--group %s: %s", names, why);
        return false;
    }
    f->group_count++;
    group->text = item;
    part->takes = takes;
    part->user = group;
    return read_numbers_of(t, colon + 1, group, part);
}

static bool add_groups(const takt_tool *t, tool_train_flags *f)
{
    const char *item;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_GROUP, i)) != NULL; i++)
        if (!add_group(t, item, f))
            return false;
    f->options.groups = f->parts;
    f->options.group_count = f->group_count;
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
    o->amp = tool_text_of(t, TAKT_F_AMP);
    o->schedule = tool_text_of(t, TAKT_F_RATE_SCHEDULE);
    o->warmup = tool_number_of(t, TAKT_F_WARMUP_STEPS, 0);
    o->shards = (int64_t)tool_number_of(t, TAKT_F_SHARDS, accumulate);
    o->seed = tool_number_of(t, TAKT_F_SEED, 0);
    if (o->shards % (int64_t)accumulate != 0) {
        tool_usage_error(t, 1003, NULL, "--shards must be a multiple of --accumulate");
        return false;
    }
    const char *on_nan = tool_text_of(t, TAKT_F_ON_NAN);
    o->skip_not_finite = on_nan != NULL && strcmp(on_nan, "skip") == 0;
    if (on_nan != NULL && !o->skip_not_finite && strcmp(on_nan, "stop") != 0) {
        tool_usage_error(t, 1003, NULL, "--on-nan is stop or skip, not %s", on_nan);
        return false;
    }
    return tool_numbers_sound(t) && tool_real(t, TAKT_F_LR, 0, 1e6, &o->rate) &&
           tool_real(t, TAKT_F_CLIP, 0, 1e30, &o->clip_norm) &&
           tool_real(t, TAKT_F_CLIP_VALUE, 0, 1e30, &o->clip_value) &&
           tool_real(t, TAKT_F_EMA, 0, 1, &o->ema);
}

bool tool_train_flags_init(const takt_tool *t, tool_train_flags *f)
{
    *f = (tool_train_flags){.options = {.optimizer = f->optimizer}};
    name_optimizer(t, f->optimizer, sizeof f->optimizer);
    if (read_numbers(t, &f->options) && compile_freeze(t, f) && add_groups(t, f))
        return true;
    tool_train_flags_free(f);
    return false;
}

static bool no_match(const takt_tool *t, const char *flag, const char *text)
{
    tool_usage_error(t, 1003, "takt summary MODEL shows their names",
                     "%s %s: no parameter of the model matches", flag, text);
    return false;
}

bool tool_train_flags_used(const takt_tool *t, const tool_train_flags *f)
{
    if (f->freezes && !f->has_frozen)
        return no_match(t, "--freeze", tool_text_of(t, TAKT_F_FREEZE));
    for (size_t i = 0; i < f->group_count; i++)
        if (!f->groups[i].is_used)
            return no_match(t, "--group", f->groups[i].text);
    return true;
}

void tool_train_flags_free(tool_train_flags *f)
{
    free(f->class_weights);
    if (f->freezes)
        regfree(&f->freeze);
    for (size_t i = 0; i < f->group_count; i++)
        regfree(&f->groups[i].names);
}

takt_model *tool_training_model(takt_tool *t, takt_model *model, int *code)
{
    tool_train_flags f;
    takt_model *step = NULL;
    *code = TAKT_EXIT_USAGE;
    if (tool_train_flags_init(t, &f)) {
        f.options.schedule = NULL; /* its length is unknown here */
        *code = tool_finish(t, takt_train_model(model, &f.options, &step));
        tool_train_flags_free(&f);
    }
    takt_model_destroy(model);
    return step;
}
