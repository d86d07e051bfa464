/* prepare.c - plans for several sizes made in advance, and warmed up. */
#include <string.h>

#include "api/cache.h"
#include "api/model.h"
#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/written.h"

enum { DIMS = 8 };

/* "batch=1,8": a name and the text of its sizes. */
typedef struct item {
    takt_span name, sizes; /* the name as written */
    size_t count;
} item;

typedef struct preparing {
    const takt_model *model;
    takt_plan_options options;
    const char *others; /* sizes that the caller gave, or "" */
    item items[DIMS];
    size_t count, combinations;
    takt_prepared_fn *each;
    void *user;
} preparing;

/* ---- the list ---- */

static takt_status complain(const preparing *p, const char *list)
{
    takt_fail(p->model->ctx, TAKT_E_OPTION, "\"%s\" is not a list of sizes to prepare", list);
    return takt_fail_hint(p->model->ctx, "write batch=1,8,32, or batch=1,8;seq=16,32 for every "
                                         "combination");
}

static bool read_item(const char *text, size_t length, item *to)
{
    *to = (item){.count = 1};
    if (!takt_written_pair((takt_span){text, length}, &to->name, &to->sizes))
        return false;
    size_t digits = 0;
    for (size_t i = 0; i < to->sizes.length; i++) {
        const char c = to->sizes.at[i];
        if (c != ',' && (c < '0' || c > '9'))
            return false;
        if (c == ',' && digits == 0)
            return false;
        to->count += c == ',';
        digits = c == ',' ? 0 : digits + 1;
    }
    return digits > 0;
}

static takt_status read_list(preparing *p, const char *list)
{
    p->combinations = 1;
    for (const char *at = list; *at != '\0';) {
        const size_t length = takt_written_length(at, ";");
        if (p->count == DIMS || !read_item(at, length, &p->items[p->count]))
            return complain(p, list);
        p->combinations *= p->items[p->count++].count;
        if (p->combinations > TAKT_CACHE_PLANS)
            return takt_fail(p->model->ctx, TAKT_E_OPTION,
                             "more than %d sizes to prepare: the cache holds no more plans",
                             TAKT_CACHE_PLANS);
        at += length + (at[length] == ';');
    }
    return p->count > 0 ? TAKT_OK : complain(p, list);
}

/* The caller's sizes without those of the list, then combination `which` of the list. */
static void write_sizes(const preparing *p, size_t which, takt_text *text)
{
    for (const char *at = p->others; *at != '\0';) {
        const size_t length = takt_written_length(at, ",");
        takt_span name, size;
        bool is_listed = false;
        for (size_t i = 0; takt_written_pair((takt_span){at, length}, &name, &size) && i < p->count;
             i++)
            is_listed = is_listed || takt_written_same(p->items[i].name, name);
        if (!is_listed) {
            takt_text_put(text, at, length);
            takt_text_put(text, ",", 1);
        }
        at += length + (at[length] == ',');
    }
    for (size_t i = 0; i < p->count; i++) {
        const item *it = &p->items[i];
        const char *size = it->sizes.at;
        for (size_t k = which % it->count; k > 0; k--)
            size += strcspn(size, ",") + 1;
        which /= it->count;
        takt_text_add(text, "%s%.*s=%.*s", i > 0 ? "," : "", (int)it->name.length, it->name.at,
                      (int)strspn(size, "0123456789"), size);
    }
}

/* ---- plans ---- */

static takt_status warm(const preparing *p, takt_plan *plan, takt_prepared *one)
{
    takt_ctx *ctx = p->model->ctx;
    const uint64_t start = ctx->now_ns(ctx->clock_user);
    takt_session *s;
    TAKT_TRY(takt_session_create(plan, NULL, &s));
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < plan->graph->input_count && status == TAKT_OK; i++)
        status = takt_session_own(s, TAKT_PLACE_INPUT, i); /* zeros */
    if (status == TAKT_OK)
        status = takt_session_warmup(s);
    if (status != TAKT_OK)
        ctx->error = s->error;
    takt_session_destroy(s);
    one->warmup_ns = ctx->now_ns(ctx->clock_user) - start;
    return status;
}

static takt_status prepare_one(preparing *p, const char *sizes)
{
    takt_plan *plan;
    takt_prepared one = {.sizes = sizes};
    takt_plan_info info;
    p->options.sizes = sizes;
    p->options.static_shapes = true; /* in the cache? */
    const takt_error before = p->model->ctx->error;
    takt_status status = takt_plan_get(p->model, &p->options, &plan);
    if (status == TAKT_ERR_SHAPE && p->model->ctx->error.id == TAKT_E_STATIC_SHAPES) {
        p->model->ctx->error = before;
        p->options.static_shapes = false;
        status = takt_plan_get(p->model, &p->options, &plan);
        one.plan_ns = status == TAKT_OK ? plan->made_ns : 0;
    }
    TAKT_TRY(status);
    takt_plan_query(plan, &info);
    one.peak_bytes = info.peak;
    status = plan->is_dry ? TAKT_OK : warm(p, plan, &one);
    takt_plan_destroy(plan);
    if (status == TAKT_OK && p->each != NULL)
        p->each(p->user, &one);
    return status;
}

takt_status takt_prepare(const takt_model *m, const takt_plan_options *options, const char *list,
                         takt_prepared_fn *each, void *user)
{
    TAKT_NEED(NULL, m);
    preparing p = {.model = m, .each = each, .user = user};
    if (list == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_prepare: list is NULL");
    TAKT_TRY(takt_options_read(m->ctx, "takt_plan_options", options, &p.options, sizeof p.options));
    p.others = p.options.sizes != NULL ? p.options.sizes : "";
    TAKT_TRY(read_list(&p, list));
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < p.combinations && status == TAKT_OK; i++) {
        takt_text text;
        takt_text_init(&text, m->ctx);
        write_sizes(&p, i, &text);
        status = text.status == TAKT_OK ? prepare_one(&p, takt_text_get(&text)) : text.status;
        takt_text_deinit(&text);
    }
    return status;
}
