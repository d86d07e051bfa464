/* calls.c - tool calls in a model's output. Anything that is not exactly a call stays text. */
#include "text/calls.h"

#include <string.h>

#include "base/ctx.h"

static const char tag[] = "<tool_call>", tag_end[] = "</tool_call>", list[] = "[TOOL_CALLS]",
                  python[] = "<|python_tag|>", args[] = "[ARGS]";

/* ---- text ---- */

/* Position of `what`; the length if it does not occur. */
static size_t find(takt_span text, const char *what)
{
    const size_t length = strlen(what);
    for (size_t i = 0; i + length <= text.length; i++)
        if (memcmp(text.at + i, what, length) == 0)
            return i;
    return text.length;
}

static takt_span from(takt_span text, size_t at)
{
    return (takt_span){text.at + at, text.length - at};
}

static bool starts(takt_span text, const char *with)
{
    const size_t length = strlen(with);
    return text.length >= length && memcmp(text.at, with, length) == 0;
}

static takt_span skip_space(takt_span text)
{
    size_t i = 0;
    while (i < text.length && strchr(" \t\r\n", text.at[i]) != NULL && text.at[i] != '\0')
        i++;
    return from(text, i);
}

static bool has(takt_span text, const char *what)
{
    return find(text, what) < text.length;
}

takt_call_format takt_calls_of(takt_span source)
{
    if (has(source, tag)) /* some write XML between the tags */
        return has(source, "<function=") || has(source, "<arg_key>") ? TAKT_CALLS_NONE
                                                                     : TAKT_CALLS_TAGGED;
    if (has(source, list))
        return TAKT_CALLS_LISTED;
    const bool is_llama = has(source, "<|start_header_id|>") && has(source, "\"parameters\": ");
    return has(source, python) || is_llama ? TAKT_CALLS_BARE : TAKT_CALLS_NONE;
}

/* ---- JSON inside a text ---- */

/* The length of the object or list at the beginning of the text; 0: there is none, or it is
 * truncated. */
static size_t value_length(takt_span text)
{
    size_t depth = 0;
    bool is_string = false;
    if (text.length == 0 || (text.at[0] != '{' && text.at[0] != '['))
        return 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.at[i];
        if (is_string) {
            i += c == '\\';
            is_string = c != '"';
            continue;
        }
        is_string = c == '"';
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

typedef struct reading {
    takt_ctx *ctx;
    takt_arena *arena;
    takt_calls *calls;
    takt_status status; /* memory */
} reading;

/* Takes the value at the beginning; NULL: it is not JSON. */
static const takt_json *take_value(reading *r, takt_span *text)
{
    const takt_json *value = NULL;
    const size_t length = value_length(*text);
    if (length == 0)
        return NULL;
    const takt_error before = r->ctx->error;
    const takt_status status = takt_json_parse(r->ctx, r->arena, text->at, length, &value);
    if (status == TAKT_ERR_MEMORY)
        r->status = status;
    else
        r->ctx->error = before; /* a text that is not a call is not an error */
    *text = from(*text, length);
    return status == TAKT_OK ? value : NULL;
}

static bool add(reading *r, takt_span name, const takt_json *arguments)
{
    takt_calls *c = r->calls;
    if (arguments == NULL || arguments->kind != TAKT_JSON_OBJECT || name.length == 0 ||
        c->count == TAKT_CALLS_MOST)
        return false;
    c->at[c->count++] = (takt_call){name, arguments};
    return true;
}

/* {"name": "f", "arguments": {..}}, or "parameters". */
static bool add_object(reading *r, const takt_json *v)
{
    if (v == NULL || v->kind != TAKT_JSON_OBJECT)
        return false;
    const takt_json *name = takt_json_get(v, "name"), *arguments = takt_json_get(v, "arguments");
    if (arguments == NULL)
        arguments = takt_json_get(v, "parameters");
    return name != NULL && name->kind == TAKT_JSON_STRING &&
           strlen(name->text) == name->text_length &&
           add(r, (takt_span){name->text, name->text_length}, arguments);
}

/* ---- formats ---- */

static bool read_tagged(reading *r, takt_span text)
{
    const size_t begin = find(text, tag);
    r->calls->content = (takt_span){text.at, begin};
    text = from(text, begin);
    while (starts(text, tag)) {
        text = skip_space(from(text, sizeof tag - 1));
        if (!add_object(r, take_value(r, &text)))
            return false;
        text = skip_space(text);
        if (starts(text, tag_end))
            text = skip_space(from(text, sizeof tag_end - 1));
    }
    return text.length == 0;
}

/* name[ARGS]{..}, or name{..} */
static bool add_named(reading *r, takt_span *text)
{
    size_t length = 0;
    while (length < text->length && strchr("{[ \n", text->at[length]) == NULL)
        length++;
    const takt_span name = {text->at, length};
    *text = skip_space(from(*text, length));
    if (starts(*text, args))
        *text = skip_space(from(*text, sizeof args - 1));
    return add(r, name, take_value(r, text));
}

static bool add_listed(reading *r, takt_span *text)
{
    if (text->length > 0 && text->at[0] != '[' && text->at[0] != '{')
        return add_named(r, text);
    const takt_json *v = take_value(r, text);
    if (v == NULL || v->kind != TAKT_JSON_ARRAY)
        return add_object(r, v);
    for (const takt_json *i = takt_json_first(v); i != NULL; i = takt_json_next(i))
        if (!add_object(r, i))
            return false;
    return true;
}

static bool read_listed(reading *r, takt_span text)
{
    const size_t begin = find(text, list);
    r->calls->content = (takt_span){text.at, begin};
    text = from(text, begin);
    while (starts(text, list)) {
        text = skip_space(from(text, sizeof list - 1));
        if (!add_listed(r, &text))
            return false;
        text = skip_space(text);
    }
    return text.length == 0;
}

static bool read_bare(reading *r, takt_span text)
{
    r->calls->content = (takt_span){text.at, 0};
    text = skip_space(text);
    if (starts(text, python))
        text = skip_space(from(text, sizeof python - 1));
    while (text.length > 0) {
        if (!add_object(r, take_value(r, &text)))
            return false;
        text = skip_space(text);
        if (starts(text, ";"))
            text = skip_space(from(text, 1));
    }
    return true;
}

takt_status takt_calls_read(takt_ctx *ctx, takt_arena *arena, takt_call_format format,
                            takt_span text, takt_calls *calls)
{
    static bool (*const formats[])(reading *, takt_span) = {[TAKT_CALLS_TAGGED] = read_tagged,
                                                            [TAKT_CALLS_LISTED] = read_listed,
                                                            [TAKT_CALLS_BARE] = read_bare};
    reading r = {.ctx = ctx, .arena = arena, .calls = calls};
    *calls = (takt_calls){.count = 0};
    if (format == TAKT_CALLS_NONE || !formats[format](&r, text) || calls->count == 0) {
        calls->count = 0;
        calls->content = text;
    }
    return r.status;
}

/* ---- while it is generated ---- */

/* How much of the end of the text may be the beginning of `what`. */
static size_t open_end(takt_span text, const char *what)
{
    for (size_t n = strlen(what) - 1; n > 0; n--)
        if (n <= text.length && memcmp(text.at + text.length - n, what, n) == 0)
            return n;
    return 0;
}

size_t takt_calls_safe(takt_call_format format, takt_span text)
{
    const char *mark = format == TAKT_CALLS_TAGGED ? tag : list;
    if (format == TAKT_CALLS_NONE)
        return text.length;
    if (format != TAKT_CALLS_BARE) {
        const size_t begin = find(text, mark);
        return begin < text.length ? begin : text.length - open_end(text, mark);
    }
    const takt_span rest = skip_space(text);
    const size_t both = rest.length < sizeof python - 1 ? rest.length : sizeof python - 1;
    const bool may_call =
        rest.length == 0 || rest.at[0] == '{' || memcmp(rest.at, python, both) == 0;
    return may_call ? 0 : text.length;
}
