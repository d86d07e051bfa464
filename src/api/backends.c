/* backends.c - which backends there are, and whether they can be used here. */
#include "api/backends.h"

#include <stdio.h>
#include <string.h>

#include <takt/plan.h>
#include <takt/version.h>

#include "backend/list.h"
#include "base/report.h"
#include "plan/auto.h"

#define ROW(name) &takt_backend_##name,
static const takt_backend *const backends[] = {TAKT_BACKEND_LIST(ROW)};
#undef ROW

enum { BACKENDS = sizeof backends / sizeof *backends };

static const char *reason(const takt_backend *b)
{
    return b->available != NULL ? b->available() : NULL;
}

static const char *missing(const takt_backend *b, const char *library)
{
    return library != NULL && b->open != NULL ? NULL : reason(b);
}

const takt_backend *takt_backend_default(void)
{
    return backends[0];
}

static bool is_called(const takt_backend *b, const char *name)
{
    const size_t length = strlen(b->name);
    return strncmp(b->name, name, length) == 0 && (name[length] == '\0' || name[length] == ':');
}

/* The caller leaves the choice to the plan. */
static bool is_auto(const char *name)
{
    return name != NULL && strcmp(name, TAKT_DEVICE_AUTO) == 0;
}

const char *takt_backend_which(const char *name, const char *library)
{
    if (is_auto(name))
        return TAKT_DEVICE_AUTO;
    const char *colon = name != NULL ? strchr(name, ':') : NULL;
    return colon != NULL ? colon + 1 : library;
}

const takt_backend *takt_backend_named(const char *name)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (is_called(backends[i], name))
            return backends[i];
    return NULL;
}

const char *takt_backend_available(const char *name)
{
    const takt_backend *b = name != NULL ? takt_backend_named(name) : NULL;
    return b != NULL ? reason(b) : "there is no such backend";
}

const char *takt_backend_missing(const char *name, const char *library)
{
    return missing(takt_backend_named(name), library);
}

enum { ADDED = sizeof((takt_ctx *)NULL)->added / sizeof *((takt_ctx *)NULL)->added };

static const takt_backend *added(const takt_ctx *ctx, const char *name)
{
    for (size_t i = 0; i < ADDED && ctx->added[i] != NULL; i++)
        if (is_called(ctx->added[i], name))
            return ctx->added[i];
    return NULL;
}

takt_status takt_backend_add(takt_ctx *ctx, const takt_backend *b)
{
    size_t count = 0;
    if (b == NULL || b->name == NULL || b->supports == NULL || b->compile == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a backend needs name, supports and compile");
    if (takt_backend_named(b->name) != NULL || added(ctx, b->name) != NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "there is a backend called %s already", b->name);
    while (count < ADDED && ctx->added[count] != NULL)
        count++;
    if (count == ADDED)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a context takes no more than %d backends", ADDED);
    ctx->added[count] = b;
    return TAKT_OK;
}

/* "backends are cpu, blas and ref" */
static takt_status hint_names(takt_ctx *ctx)
{
    char names[128] = "";
    size_t at = 0;
    for (size_t i = 0; i < BACKENDS && at < sizeof names; i++) {
        const int more = snprintf(names + at, sizeof names - at, "%s%s",
                                  i == 0              ? ""
                                  : i == BACKENDS - 1 ? " and "
                                                      : ", ",
                                  backends[i]->name);
        at += more > 0 ? (size_t)more : 0;
    }
    return takt_fail_hint(ctx, "backends are %s", names);
}

/* The first usable backend with its own memory, or NULL; those added to the context come first.
 * `*why`: the reason given by the last one that cannot be used. */
static const takt_backend *first_device(const takt_ctx *ctx, const char **name, const char **why)
{
    for (size_t i = 0; i < BACKENDS + ADDED; i++) {
        const takt_backend *b = i < ADDED ? ctx->added[i] : backends[i - ADDED];
        if (b == NULL || b->device == NULL)
            continue;
        const char *own = reason(b);
        if (own == NULL)
            return b;
        *name = b->name;
        *why = own;
    }
    return NULL;
}

takt_status takt_backend_find(takt_ctx *ctx, const char *name, const char *library,
                              const takt_backend **out)
{
    if (is_auto(name)) {
        const char *missing_name = NULL, *why = NULL;
        *out = first_device(ctx, &missing_name, &why);
        *out = *out != NULL ? *out : takt_backend_default();
        return TAKT_OK;
    }
    *out = takt_backend_named(name);
    if (*out == NULL)
        *out = added(ctx, name);
    if (*out == NULL) {
        takt_fail(ctx, TAKT_E_NAME, "there is no backend called %s", name);
        return hint_names(ctx);
    }
    if (strchr(name, ':') != NULL && (*out)->device == NULL) {
        takt_fail(ctx, TAKT_E_NAME, "backend %s has no devices to choose from", (*out)->name);
        return takt_fail_hint(ctx, "leave out what follows the colon");
    }
    const char *why = missing(*out, takt_backend_which(name, library));
    if (why != NULL)
        return takt_fail(ctx, TAKT_E_LIBRARY, "backend %s cannot be used: %s", name, why);
    return TAKT_OK;
}

/* Logs which backend a plan chose when the caller left the choice open, and why. */
static void tell_choice(const takt_plan *plan, char *text, size_t size)
{
    const char *name = NULL, *why = NULL;
    size_t away = 0, all = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        all += s->transfer.way == TAKT_COPY_NONE;
        away += s->transfer.way == TAKT_COPY_NONE && s->backend == plan->backend;
        if (s->backend != plan->backend && why == NULL)
            why = s->note;
    }
    if (plan->backend->device == NULL) {
        (void)first_device(plan->ctx, &name, &why);
        (void)snprintf(text, size, "%s (auto: %s%s%s)", plan->backend->name,
                       name != NULL ? name : "there is no device",
                       why != NULL ? " cannot be used: " : "", why != NULL ? why : "");
    } else if (away == 0) {
        (void)snprintf(text, size, "%s (auto: %s)", plan->settings.fallback->name,
                       why != NULL ? why : "no step has device code");
    } else {
        (void)snprintf(text, size, "%s (auto: %zu of %zu steps)", plan->backend->name, away, all);
    }
}

void takt_plan_backend(const takt_plan *plan, char *text, size_t size)
{
    if (plan == NULL)
        return;
    if (plan->options != NULL && is_auto(plan->options->backend)) {
        tell_choice(plan, text, size);
        return;
    }
    const int at = snprintf(text, size, "%s", plan->backend->name);
    if (plan->backend->about == NULL || plan->backend_state == NULL || at < 0 ||
        (size_t)at + 2 >= size)
        return;
    memcpy(text + at, ": ", 3);
    plan->backend->about(plan->backend_state, text + at + 2, size - (size_t)at - 2);
}

static const char *version_of(const takt_backend *b, char *to, size_t size)
{
    if (b->version == NULL)
        return takt_version();
    b->version(to, size);
    return to;
}

static void list_json(takt_text *text)
{
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '[');
    for (size_t i = 0; i < BACKENDS; i++) {
        const char *why = reason(backends[i]);
        char version[512];
        takt_json_open(&w, '{');
        takt_json_put_string(&w, "name", backends[i]->name);
        takt_json_put_bool(&w, "available", why == NULL);
        takt_json_key(&w, "reason");
        if (why != NULL)
            takt_json_string(&w, why);
        else
            takt_json_null(&w);
        takt_json_put_string(&w, "version", version_of(backends[i], version, sizeof version));
        takt_json_put_string(&w, "summary", backends[i]->summary);
        takt_json_put_string(&w, "good_for", backends[i]->good_for);
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, ']');
    takt_text_add(text, "\n");
}

static void list_text(takt_text *text)
{
    for (size_t i = 0; i < BACKENDS; i++) {
        const char *why = reason(backends[i]);
        char version[512];
        takt_text_add(text, "%-5s %s%s\n", backends[i]->name,
                      why == NULL ? "available" : "no: ", why == NULL ? "" : why);
        takt_text_add(text, "      %s\n", backends[i]->summary);
        takt_text_add(text, "      good for %s\n", backends[i]->good_for);
        if (why == NULL)
            takt_text_add(text, "      version %s\n",
                          version_of(backends[i], version, sizeof version));
    }
}

takt_status takt_backend_list(takt_ctx *ctx, takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, sink);
    takt_text text;
    takt_text_init(&text, ctx);
    if (format == TAKT_FORMAT_JSON)
        list_json(&text);
    else
        list_text(&text);
    return takt_sink_text(ctx, &text, sink, user);
}
