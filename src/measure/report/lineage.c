/* lineage.c - the chain of files and commands behind a file: `takt lineage`. */
#include <stdio.h>
#include <string.h>

#include "api/lineage.h"
#include "base/options.h"
#include "measure/report/report.h"

typedef struct chain {
    takt_report *r;
    const char *folder; /* where files are looked for, with its last slash */
    int folder_length;
    bool verifies;
    size_t links, same, changed, absent;
} chain;

static const char *text_of(const takt_json *object, const char *key)
{
    for (const takt_json *v = takt_json_first(object); v != NULL; v = takt_json_next(v))
        if (v->kind == TAKT_JSON_STRING && strcmp(v->key, key) == 0)
            return v->text;
    return NULL;
}

static const takt_json *part_of(const takt_json *object, const char *key, takt_json_kind kind)
{
    for (const takt_json *v = takt_json_first(object); v != NULL; v = takt_json_next(v))
        if (v->kind == kind && strcmp(v->key, key) == 0)
            return v;
    return NULL;
}

/* "same", "changed" or "not here"; NULL if not requested. */
static const char *verify(chain *c, const char *file, const char *sha)
{
    char path[4096], hex[TAKT_LINEAGE_HEX];
    takt_ctx *ctx = c->r->ctx;
    if (!c->verifies)
        return NULL;
    const takt_error before = ctx->error;
    const int length = snprintf(path, sizeof path, "%.*s%s", c->folder_length, c->folder, file);
    if (strchr(file, '/') != NULL || length >= (int)sizeof path ||
        takt_lineage_hash(ctx, path, hex) != TAKT_OK) {
        ctx->error = before;
        c->absent++;
        return "not here";
    }
    const bool is_same = strcmp(hex, sha) == 0;
    *(is_same ? &c->same : &c->changed) += 1;
    return is_same ? "same" : "changed";
}

static void tell_file(chain *c, const char *file, const char *sha)
{
    takt_report *r = c->r;
    const char *verdict = verify(c, file, sha);
    if (r->is_json) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "file", file);
        takt_report_pair(r, "sha256", sha);
        if (verdict != NULL)
            takt_report_pair(r, "verdict", verdict);
        takt_json_close(&r->json, '}');
    } else {
        takt_text_add(&r->text, "     %s  sha256 %s%s%s\n", file, sha, verdict != NULL ? "  " : "",
                      verdict != NULL ? verdict : "");
    }
}

static void tell_link(chain *c, const takt_json *link)
{
    takt_report *r = c->r;
    const char *command = text_of(link, "command"), *version = text_of(link, "takt");
    const char *source = text_of(link, "source"), *sha = text_of(link, "sha256");
    const char *producer = text_of(link, "producer");
    if (command == NULL)
        command = producer != NULL ? producer : "takt_model_save";
    c->links++;
    if (r->is_json) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "command", command);
        takt_report_pair(r, "takt", version != NULL ? version : "");
        takt_json_put_open(&r->json, "reads", '[');
    } else {
        takt_text_add(&r->text, "  %zu. %s%s%s\n", c->links, command,
                      version != NULL ? ", takt " : "", version != NULL ? version : "");
    }
    if (source != NULL && sha != NULL)
        tell_file(c, source, sha);
    const takt_json *reads = part_of(link, "reads", TAKT_JSON_OBJECT);
    for (const takt_json *v = reads != NULL ? takt_json_first(reads) : NULL; v != NULL;
         v = takt_json_next(v))
        if (v->kind == TAKT_JSON_STRING)
            tell_file(c, v->key, v->text);
    if (r->is_json) {
        takt_json_close(&r->json, ']');
        takt_json_close(&r->json, '}');
    }
}

static takt_status tell(chain *c, takt_arena *arena, const char *lineage)
{
    const takt_json *top;
    TAKT_TRY(takt_json_parse(c->r->ctx, arena, lineage, strlen(lineage), &top));
    if (top->kind != TAKT_JSON_OBJECT)
        return TAKT_OK;
    const takt_json *metadata = part_of(top, "metadata", TAKT_JSON_OBJECT);
    const char *inner = metadata != NULL ? text_of(metadata, "takt.lineage") : NULL;
    if (inner != NULL)
        TAKT_TRY(takt_json_parse(c->r->ctx, arena, inner, strlen(inner), &top));
    if (top->kind != TAKT_JSON_OBJECT)
        return TAKT_OK;
    tell_link(c, top);
    const takt_json *links = part_of(top, "links", TAKT_JSON_ARRAY);
    for (const takt_json *v = links != NULL ? takt_json_first(links) : NULL; v != NULL;
         v = takt_json_next(v))
        if (v->kind == TAKT_JSON_OBJECT)
            tell_link(c, v);
    return TAKT_OK;
}

static takt_status report(chain *c, const char *path, const char *lineage)
{
    takt_report *r = c->r;
    takt_arena arena;
    char hex[TAKT_LINEAGE_HEX];
    TAKT_TRY(takt_lineage_hash(r->ctx, path, hex));
    takt_arena_init(&arena, r->ctx);
    if (r->is_json) {
        takt_report_pair(r, "file", path + c->folder_length);
        takt_report_pair(r, "sha256", hex);
        takt_json_put_open(&r->json, "links", '[');
    } else {
        takt_text_add(&r->text, "%s  sha256 %s\n", path + c->folder_length, hex);
    }
    const takt_status status = lineage != NULL ? tell(c, &arena, lineage) : TAKT_OK;
    if (r->is_json) {
        takt_json_close(&r->json, ']');
        takt_report_count(r, "changed", c->changed);
        takt_report_count(r, "absent", c->absent);
    } else if (c->links == 0) {
        takt_text_add(&r->text, "  the file has no lineage\n");
    } else if (c->verifies) {
        takt_text_add(&r->text, "%zu same, %zu changed, %zu not here\n", c->same, c->changed,
                      c->absent);
    }
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_lineage_list(takt_ctx *ctx, const char *path, const takt_lineage_options *options,
                              takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(ctx, sink);
    takt_lineage_options o;
    takt_model *m;
    takt_report r;
    TAKT_TRY(takt_options_read(ctx, "takt_lineage_options", options, &o, sizeof o));
    TAKT_TRY(takt_model_load(ctx, path, NULL, &m));
    const char *slash = strrchr(path, '/');
    takt_report_begin(&r, ctx, format);
    chain c = {.r = &r,
               .folder = path,
               .folder_length = slash != NULL ? (int)(slash + 1 - path) : 0,
               .verifies = o.verify};
    const takt_status status = report(&c, path, m->lineage);
    takt_model_destroy(m);
    if (o.changed != NULL)
        *o.changed = c.changed;
    return takt_report_end(&r, status, sink, user);
}
