/* list.c - optimizers, losses and schedules with their numbers. */
#include "api/model.h"
#include "base/json.h"
#include "base/report.h"
#include "train/loss.h"
#include "train/metric.h"
#include "train/optimizer.h"
#include "train/schedule.h"

#include <takt/train.h>

typedef struct entry {
    const char *name, *summary;
    const takt_hyper *hyper;
    size_t count;
} entry;

static bool optimizer_at(size_t i, entry *e)
{
    const takt_optimizer *o = takt_optimizers[i];
    if (o != NULL)
        *e = (entry){o->name, o->summary, o->hyper, TAKT_OPT_HYPERS};
    return o != NULL;
}

static bool loss_at(size_t i, entry *e)
{
    const takt_loss *l = takt_losses[i];
    if (l != NULL)
        *e = (entry){l->name, l->summary, l->hyper, TAKT_LOSS_HYPERS};
    return l != NULL;
}

static bool schedule_at(size_t i, entry *e)
{
    const takt_schedule_kind *s = &takt_schedules[i];
    if (i >= takt_schedule_count)
        return false;
    *e = (entry){s->name, s->summary, s->hyper, TAKT_SCHEDULE_HYPERS};
    return true;
}

static bool metric_at(size_t i, entry *e)
{
    const takt_metric *m = takt_metrics[i];
    if (m != NULL)
        *e = (entry){m->name, m->summary, NULL, 0};
    return m != NULL;
}

static const struct {
    const char *title;
    bool (*at)(size_t index, entry *e);
} kinds[] = {{"optimizers", optimizer_at},
             {"losses", loss_at},
             {"schedules", schedule_at},
             {"metrics", metric_at}};

static void write_text(takt_text *text, const entry *e)
{
    takt_text_add(text, "  %-14s %s\n", e->name, e->summary);
    for (size_t i = 0; i < e->count && e->hyper[i].name != NULL; i++) {
        takt_text_add(text, "  %-14s   %s=", "", e->hyper[i].name);
        if (e->hyper[i].fallback < -1e15)
            takt_text_add(text, "none");
        else
            takt_text_double(text, e->hyper[i].fallback);
        takt_text_add(text, "  %s\n", e->hyper[i].summary);
    }
}

static void write_json(takt_json_writer *json, const entry *e)
{
    takt_json_open(json, '{');
    takt_json_put_string(json, "name", e->name);
    takt_json_put_string(json, "summary", e->summary);
    takt_json_put_open(json, "numbers", '[');
    for (size_t i = 0; i < e->count && e->hyper[i].name != NULL; i++) {
        takt_json_open(json, '{');
        takt_json_put_string(json, "name", e->hyper[i].name);
        takt_json_put_number(json, "default", e->hyper[i].fallback);
        takt_json_put_string(json, "summary", e->hyper[i].summary);
        takt_json_close(json, '}');
    }
    takt_json_close(json, ']');
    takt_json_close(json, '}');
}

takt_status takt_train_list(takt_ctx *ctx, takt_format format, takt_sink_fn *sink, void *user)
{
    takt_text text;
    takt_json_writer json;
    entry e;
    takt_text_init(&text, ctx);
    takt_json_begin(&json, &text, true);
    if (format == TAKT_FORMAT_JSON)
        takt_json_open(&json, '{');
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (format == TAKT_FORMAT_JSON)
            takt_json_put_open(&json, kinds[k].title, '[');
        else
            takt_text_add(&text, "%s%s\n", k > 0 ? "\n" : "", kinds[k].title);
        for (size_t i = 0; kinds[k].at(i, &e); i++) {
            if (format == TAKT_FORMAT_JSON)
                write_json(&json, &e);
            else
                write_text(&text, &e);
        }
        if (format == TAKT_FORMAT_JSON)
            takt_json_close(&json, ']');
    }
    if (format == TAKT_FORMAT_JSON) {
        takt_json_close(&json, '}');
        takt_text_add(&text, "\n");
    }
    return takt_sink_text(ctx, &text, sink, user);
}
