/* hyper.c - the numbers of an optimiser, loss or schedule, as the user writes them. */
#include "train/hyper.h"

#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "base/number.h"

size_t takt_hyper_name(const char *text)
{
    return strcspn(text, ":");
}

static takt_status set(takt_ctx *ctx, const char *owner, const takt_hyper *h, const char *value,
                       size_t length, double *to)
{
    *to = 1;
    if (value != NULL && !takt_number_read(value, length, to))
        return takt_fail(ctx, TAKT_E_OPTION, "%s: %s=%.*s is not a number", owner, h->name,
                         (int)length, value);
    if (!(*to >= h->low && *to <= h->high))
        return takt_fail(ctx, TAKT_E_OPTION, "%s: %s must be from %g to %g, not %g", owner, h->name,
                         h->low, h->high, *to);
    return TAKT_OK;
}

/* All of them, where no name is near. */
static takt_status hint_names(takt_ctx *ctx, const char *owner, const takt_hyper *hyper,
                              size_t count, const char *wanted)
{
    char names[256] = "";
    if (strcmp(wanted, "lr") == 0 || strcmp(wanted, "rate") == 0)
        return takt_fail_hint(ctx,
                              "the learning rate is an option of its own: --lr, in programs rate");
    for (size_t i = 0, used = 0; i < count && hyper[i].name != NULL; i++, used = strlen(names))
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", hyper[i].name);
    return names[0] != '\0' ? takt_fail_hint(ctx, "its numbers are %s", names)
                            : takt_fail_hint(ctx, "%s takes no numbers", owner);
}

static takt_status unknown(takt_ctx *ctx, const char *owner, const takt_hyper *hyper, size_t count,
                           const char *name, size_t length)
{
    char wanted[64] = {0};
    memcpy(wanted, name, length < sizeof wanted ? length : sizeof wanted - 1);
    takt_nearest near = takt_nearest_to(wanted);
    for (size_t i = 0; i < count && hyper[i].name != NULL; i++)
        takt_nearest_try(&near, hyper[i].name);
    takt_fail(ctx, TAKT_E_OPTION, "%s has no number called %s", owner, wanted);
    return near.best != NULL ? takt_fail_hint(ctx, "did you mean %s?", near.best)
                             : hint_names(ctx, owner, hyper, count, wanted);
}

takt_status takt_hyper_read(takt_ctx *ctx, const char *owner, const takt_hyper *hyper, size_t count,
                            const char *text, double *values)
{
    const size_t named = takt_hyper_name(text);
    for (size_t i = 0; i < count; i++)
        values[i] = hyper[i].fallback;
    return takt_hyper_change(ctx, owner, hyper, count, text + named + (text[named] == ':'), values);
}

takt_status takt_hyper_change(takt_ctx *ctx, const char *owner, const takt_hyper *hyper,
                              size_t count, const char *text, double *values)
{
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        const char *value = at[name] == '=' ? at + name + 1 : NULL;
        size_t i = 0;
        while (i < count && hyper[i].name != NULL &&
               (strlen(hyper[i].name) != name || memcmp(hyper[i].name, at, name) != 0))
            i++;
        if (i == count || hyper[i].name == NULL)
            return unknown(ctx, owner, hyper, count, at, name);
        TAKT_TRY(set(ctx, owner, &hyper[i], value, length - name - 1, &values[i]));
        at += length + (at[length] == ',');
    }
    return TAKT_OK;
}

static bool is_one_of(const char *text, const char *(*name_at)(size_t index))
{
    const size_t length = takt_hyper_name(text);
    const char *name;
    for (size_t i = 0; (name = name_at(i)) != NULL; i++)
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return true;
    return false;
}

/* Names in PyTorch, Keras and elsewhere that no edit turns into ours. */
static const char *foreign(const char *name, const char *(*name_at)(size_t index))
{
    static const char *const names[][2] = {
        {"acc", "top1"},
        {"accuracy", "top1"},
        {"perplexity", "ppl"},
        {"ce", "cross_entropy"},
        {"nll", "cross_entropy"},
        {"nll_loss", "cross_entropy"},
        {"categorical_crossentropy", "cross_entropy"},
        {"sparse_categorical_crossentropy", "cross_entropy"},
        {"bce_with_logits", "bce_logits"},
        {"binary_crossentropy", "bce"},
        {"l1", "mae"},
        {"l2", "mse"},
        {"smooth_l1", "huber"},
        {"momentum", "sgd:momentum=0.9"},
        {"nesterov", "sgd:momentum=0.9,nesterov=1"},
        {"cosine_annealing", "cosine"},
        {"exponential", "step:every=1000,factor=0.5"},
        {"reduce_on_plateau", "plateau"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0 && is_one_of(names[i][1], name_at))
            return names[i][1];
    return NULL;
}

takt_status takt_hyper_unknown(takt_ctx *ctx, const char *what, const char *text,
                               const char *(*name_at)(size_t index))
{
    char wanted[64] = {0};
    const size_t length = takt_hyper_name(text);
    memcpy(wanted, text, length < sizeof wanted ? length : sizeof wanted - 1);
    takt_nearest near = takt_nearest_to(wanted);
    for (size_t i = 0; name_at(i) != NULL; i++)
        takt_nearest_try(&near, name_at(i));
    const char *ours = foreign(wanted, name_at);
    ours = ours != NULL ? ours : near.best;
    takt_fail(ctx, TAKT_E_NAME, "there is no %s called %s", what, wanted);
    return takt_fail_hint(ctx, "did you mean %s?", ours != NULL ? ours : name_at(0));
}
