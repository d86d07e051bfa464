/* report.c - how a report begins and how it reaches its reader. */
#include "base/report.h"

#include "base/plain.h"

takt_status takt_sink_text(takt_ctx *ctx, takt_text *text, takt_sink_fn *sink, void *user)
{
    takt_text_plain(text);
    takt_status status = text->status;
    if (status == TAKT_OK && sink(user, takt_text_get(text), text->length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(text);
    return status;
}

void takt_report_begin(takt_report *r, takt_ctx *ctx, takt_format format)
{
    *r = (takt_report){.ctx = ctx, .is_json = format == TAKT_FORMAT_JSON};
    takt_text_init(&r->text, ctx);
    if (r->is_json) {
        takt_json_begin(&r->json, &r->text, true);
        takt_json_open(&r->json, '{');
    }
}

takt_status takt_report_end(takt_report *r, takt_status status, takt_sink_fn *sink, void *user)
{
    if (status != TAKT_OK) {
        takt_text_deinit(&r->text);
        return status;
    }
    if (r->is_json) {
        takt_json_close(&r->json, '}');
        takt_text_put(&r->text, "\n", 1);
    }
    return takt_sink_text(r->ctx, &r->text, sink, user);
}

void takt_report_pair(takt_report *r, const char *key, const char *value)
{
    takt_json_key(&r->json, key);
    if (value != NULL)
        takt_json_string(&r->json, value);
    else
        takt_json_null(&r->json);
}

void takt_report_count(takt_report *r, const char *key, uint64_t value)
{
    takt_json_put_unsigned(&r->json, key, value);
}
