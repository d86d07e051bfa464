/* backends.c - which backends there are, and whether they can be used here. */
#include "api/backends.h"

#include <string.h>

#include <takt/plan.h>

#include "api/report.h"

static const takt_backend *const backends[] = {&takt_backend_cpu, &takt_backend_blas,
                                               &takt_backend_ref};

enum { BACKENDS = sizeof backends / sizeof *backends };

static const char *reason(const takt_backend *b)
{
    return b->available != NULL ? b->available() : NULL;
}

static const takt_backend *by_name(const char *name)
{
    for (size_t i = 0; i < BACKENDS; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}

const char *takt_backend_available(const char *name)
{
    const takt_backend *b = name != NULL ? by_name(name) : NULL;
    return b != NULL ? reason(b) : "there is no such backend";
}

takt_status takt_backend_find(takt_ctx *ctx, const char *name, const takt_backend **out)
{
    *out = by_name(name);
    if (*out == NULL) {
        takt_fail(ctx, TAKT_E_NAME, "there is no backend called %s", name);
        return takt_fail_hint(ctx, "backends are cpu, blas and ref");
    }
    const char *why = reason(*out);
    if (why != NULL)
        return takt_fail(ctx, TAKT_E_LIBRARY, "backend %s cannot be used: %s", name, why);
    return TAKT_OK;
}

static void list_json(takt_text *text)
{
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '[');
    for (size_t i = 0; i < BACKENDS; i++) {
        const char *why = reason(backends[i]);
        takt_json_open(&w, '{');
        takt_json_key(&w, "name");
        takt_json_string(&w, backends[i]->name);
        takt_json_key(&w, "available");
        takt_json_bool(&w, why == NULL);
        takt_json_key(&w, "reason");
        if (why != NULL)
            takt_json_string(&w, why);
        else
            takt_json_null(&w);
        takt_json_key(&w, "summary");
        takt_json_string(&w, backends[i]->summary);
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, ']');
    takt_text_add(text, "\n");
}

static takt_status list_text(takt_ctx *ctx, takt_text *text)
{
    takt_table table;
    takt_table_init(&table, ctx, "lll");
    for (size_t i = 0; i < BACKENDS; i++) {
        const char *why = reason(backends[i]);
        takt_table_cell(&table, "%s", backends[i]->name);
        takt_table_cell(&table, "%s", why == NULL ? "available" : why);
        takt_table_cell(&table, "%s", backends[i]->summary);
    }
    takt_table_print(&table, text);
    const takt_status status = table.status;
    takt_table_deinit(&table);
    return status;
}

takt_status takt_backend_list(takt_ctx *ctx, takt_format format, takt_sink_fn *sink, void *user)
{
    takt_text text;
    takt_text_init(&text, ctx);
    takt_status status = TAKT_OK;
    if (format == TAKT_FORMAT_JSON)
        list_json(&text);
    else
        status = list_text(ctx, &text);
    if (status == TAKT_OK)
        return takt_sink_text(ctx, &text, sink, user);
    takt_text_deinit(&text);
    return status;
}
