/* check.c - which nodes of a model in another format cannot be imported. */
#include "measure/report/report.h"

static const char *or_say(const char *text, const char *words)
{
    return text[0] != '\0' ? text : words;
}

static void write_text(takt_report *r, const char *path, const takt_refusals *list)
{
    if (list->count == 0) {
        takt_text_add(&r->text, "%s: all of its %zu nodes are understood\n", path,
                      list->node_count);
        return;
    }
    takt_text_add(&r->text, "%s: %zu of %zu nodes %s refused\n", path, list->count,
                  list->node_count, list->count == 1 ? "is" : "are");
    for (const takt_refusal *f = list->first; f != NULL; f = f->next) {
        takt_text_add(&r->text, "  %s: %s%s%s, opset %d\n",
                      or_say(f->node, "a node without a name"), f->domain,
                      f->domain[0] != '\0' ? "." : "", or_say(f->type, "no operator"), f->opset);
        takt_text_add(&r->text, "    reason: %s\n    hint: %s\n", f->reason, f->hint);
    }
}

static void write_json(takt_report *r, const char *path, const takt_refusals *list)
{
    takt_report_pair(r, "model", path);
    takt_report_count(r, "nodes", list->node_count);
    takt_json_put_open(&r->json, "refused", '[');
    for (const takt_refusal *f = list->first; f != NULL; f = f->next) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "node", f->node);
        takt_report_pair(r, "type", f->type);
        takt_report_pair(r, "domain", f->domain);
        takt_json_put_integer(&r->json, "opset", f->opset);
        takt_report_pair(r, "reason", f->reason);
        takt_report_pair(r, "hint", f->hint);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

takt_status takt_model_check(takt_ctx *ctx, const char *path, const takt_load_options *options,
                             takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(ctx, sink);
    takt_arena arena;
    takt_model *model;
    takt_report r;
    takt_arena_init(&arena, ctx);
    takt_refusals list = {.arena = &arena};
    const takt_status status = takt_model_load_listing(ctx, path, options, &list, &model);
    if (status == TAKT_OK && list.node_count == 0)
        list.node_count = model->graph->count;
    takt_model_destroy(model);
    takt_status written = TAKT_OK;
    if (status == TAKT_OK || list.count > 0) {
        const takt_error first = ctx->error;
        takt_report_begin(&r, ctx, format);
        if (r.is_json)
            write_json(&r, path, &list);
        else
            write_text(&r, path, &list);
        written = takt_report_end(&r, TAKT_OK, sink, user);
        if (written == TAKT_OK)
            ctx->error = first;
    }
    takt_arena_deinit(&arena);
    return written != TAKT_OK ? written : status;
}
