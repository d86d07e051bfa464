/* request_parts.c - contents of messages that are lists of parts, as OpenAI's clients send them.
 * Most templates expect a string. */
#include <stdio.h>
#include <string.h>

#include "serve/reader.h"

static int keep(void *user, const char *text, size_t length)
{
    takt_text *to = user;
    takt_text_put(to, text, length);
    return 0;
}

/* Whether the template writes a content that is a string: it is tried. */
static bool takes_strings(takt_reader *r)
{
    static const char probe[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"takt probe\"}]}";
    const takt_chat_options how = {.size = sizeof how};
    takt_ctx *ctx = &r->s->shadow;
    const takt_error before = ctx->error;
    takt_text text;
    takt_text_init(&text, ctx);
    const takt_status status =
        takt_chat_render(r->s->chat, r->s->tokenizer, probe, &how, keep, &text);
    const bool good = status == TAKT_OK && text.status == TAKT_OK &&
                      strstr(takt_text_get(&text), "takt probe") != NULL;
    takt_text_deinit(&text);
    ctx->error = before;
    return good;
}

/* The text of {"type": "text", "text": ...}; NULL: it is another part, and the request is refused.
 */
static const takt_json *text_of(takt_reader *r, const takt_json *part)
{
    const bool is_object = part->kind == TAKT_JSON_OBJECT;
    const takt_json *type = is_object ? takt_json_get(part, "type") : NULL;
    const takt_json *text = is_object ? takt_json_get(part, "text") : NULL;
    const bool has_type = type != NULL && type->kind == TAKT_JSON_STRING;
    char what[120];
    if (has_type && strcmp(type->text, "text") == 0 && text != NULL &&
        text->kind == TAKT_JSON_STRING)
        return text;
    (void)snprintf(what, sizeof what,
                   "a part of a content is {\"type\": \"text\", \"text\": ...}, not of type %.40s",
                   has_type ? type->text : "none");
    (void)takt_reader_bad(r, "messages", what);
    return NULL;
}

void takt_serve_put_parts(takt_reader *r, takt_json_writer *w, const takt_json *parts)
{
    takt_text all;
    takt_text_init(&all, &r->s->shadow);
    for (const takt_json *i = takt_json_first(parts); i != NULL && !r->is_bad;
         i = takt_json_next(i)) {
        const takt_json *text = text_of(r, i);
        if (all.length > 0)
            takt_text_put(&all, "\n", 1);
        if (text != NULL)
            takt_text_put(&all, text->text, text->text_length);
    }
    if (r->joins == TAKT_JOINS_UNKNOWN)
        r->joins = takes_strings(r) ? TAKT_JOINS : TAKT_JOINS_NOT;
    if (r->joins == TAKT_JOINS)
        takt_json_spans(w, (takt_span){takt_text_get(&all), all.length});
    else
        takt_json_value(w, parts);
    if (all.status != TAKT_OK && w->text->status == TAKT_OK)
        w->text->status = all.status;
    takt_text_deinit(&all);
}
