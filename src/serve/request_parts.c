/* request_parts.c - messages of a request, and contents that are lists of parts, as OpenAI's
 * clients send them. Most templates expect a string. */
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
static const takt_json *text_of(takt_reader *r, const takt_json *part, size_t index)
{
    const bool is_object = part->kind == TAKT_JSON_OBJECT;
    const takt_json *type = is_object ? takt_json_get(part, "type") : NULL;
    const takt_json *text = is_object ? takt_json_get(part, "text") : NULL;
    const bool has_type = type != NULL && type->kind == TAKT_JSON_STRING;
    char what[120], key[60];
    if (has_type && strcmp(type->text, "text") == 0 && text != NULL &&
        text->kind == TAKT_JSON_STRING)
        return text;
    (void)snprintf(what, sizeof what,
                   "{\"type\": \"text\", \"text\": a string} is expected; this part has %s%.40s",
                   !has_type                         ? "no type"
                   : strcmp(type->text, "text") == 0 ? "no text that is a string"
                                                     : "the type ",
                   has_type && strcmp(type->text, "text") != 0 ? type->text : "");
    (void)snprintf(key, sizeof key, "messages[%zu].content", r->at);
    (void)takt_reader_bad_item(r, key, index, what);
    return NULL;
}

void takt_serve_put_parts(takt_reader *r, takt_json_writer *w, const takt_json *parts)
{
    takt_text all;
    size_t index = 0;
    takt_text_init(&all, &r->s->shadow);
    for (const takt_json *i = takt_json_first(parts); i != NULL && !r->is_bad;
         i = takt_json_next(i)) {
        const takt_json *text = text_of(r, i, index++);
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

/* ---- what templates rely on ---- */

/* What is wrong with a member of a message; NULL: nothing. Templates of some models take a content
 * that is an object. */
static const char *wrong_member(const takt_json *v)
{
    const bool is_null = v->kind == TAKT_JSON_NULL;
    if (strcmp(v->key, "role") == 0 && v->kind != TAKT_JSON_STRING)
        return "a string is expected";
    if (strcmp(v->key, "content") == 0 &&
        (v->kind == TAKT_JSON_NUMBER || v->kind == TAKT_JSON_BOOL))
        return "a string or a list of parts is expected";
    if (strcmp(v->key, "tool_calls") == 0 && v->kind != TAKT_JSON_ARRAY && !is_null)
        return "a list is expected";
    return NULL;
}

static bool check_calls(takt_reader *r, const takt_json *calls)
{
    char key[60];
    size_t index = 0;
    (void)snprintf(key, sizeof key, "messages[%zu].tool_calls", r->at);
    for (const takt_json *i = takt_json_first(calls); i != NULL; i = takt_json_next(i), index++) {
        const takt_json *f = i->kind == TAKT_JSON_OBJECT ? takt_json_get(i, "function") : NULL;
        if (f == NULL || f->kind != TAKT_JSON_OBJECT)
            return takt_reader_bad_item(
                r, key, index, "{\"function\": {\"name\": ..., \"arguments\": ...}} is expected");
    }
    return true;
}

static bool check_message(takt_reader *r, const takt_json *m)
{
    char key[60];
    if (m->kind != TAKT_JSON_OBJECT)
        return takt_reader_bad_item(r, "messages", r->at,
                                    "an object with role and content is expected");
    if (takt_json_get(m, "role") == NULL)
        return takt_reader_bad_item(r, "messages", r->at, "the role is missing");
    for (const takt_json *i = takt_json_first(m); i != NULL; i = takt_json_next(i)) {
        const char *what = wrong_member(i);
        (void)snprintf(key, sizeof key, "messages[%zu].%.20s", r->at, i->key);
        if (what != NULL)
            return takt_reader_bad(r, key, what);
        if (strcmp(i->key, "tool_calls") == 0 && i->kind == TAKT_JSON_ARRAY && !check_calls(r, i))
            return false;
    }
    return true;
}

bool takt_serve_check_messages(takt_reader *r)
{
    const takt_json *messages = takt_reader_field(r, "messages");
    if (messages == NULL || messages->kind != TAKT_JSON_ARRAY)
        return takt_reader_bad(r, "messages", "a list of messages is expected");
    if (takt_json_first(messages) == NULL)
        return takt_reader_bad(r, "messages", "at least one message is expected");
    r->at = 0;
    for (const takt_json *m = takt_json_first(messages); m != NULL; m = takt_json_next(m), r->at++)
        if (!check_message(r, m))
            return false;
    return true;
}
