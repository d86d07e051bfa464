/* request_tools.c - tools of a request: their form for the template, and which must be called. */
#include <string.h>

#include "serve/reader.h"

enum { TOOLS_MOST = 128 };

/* The function of {"type": "function", "function": {"name": ...}}; NULL: it is malformed. */
static const takt_json *function_of(const takt_json *tool)
{
    const takt_json *f = tool->kind == TAKT_JSON_OBJECT ? takt_json_get(tool, "function") : NULL;
    const takt_json *name =
        f != NULL && f->kind == TAKT_JSON_OBJECT ? takt_json_get(f, "name") : NULL;
    return name != NULL && name->kind == TAKT_JSON_STRING && name->text_length > 0 ? f : NULL;
}

static const char *name_of(const takt_json *tool)
{
    return takt_json_get(function_of(tool), "name")->text;
}

const takt_json *takt_serve_tool(const takt_job *job, takt_span name)
{
    for (const takt_json *i = job->tools != NULL ? takt_json_first(job->tools) : NULL; i != NULL;
         i = takt_json_next(i))
        if (takt_span_is(name, name_of(i)))
            return i;
    return NULL;
}

/* {"name": the tool's name, "arguments": by its schema} */
static void put_call(takt_json_writer *w, const takt_json *tool)
{
    const takt_json *parameters = takt_json_get(function_of(tool), "parameters");
    takt_json_open(w, '{');
    takt_json_put_string(w, "type", "object");
    takt_json_put_open(w, "properties", '{');
    takt_json_put_open(w, "name", '{');
    takt_json_put_string(w, "const", name_of(tool));
    takt_json_close(w, '}');
    takt_json_key(w, "arguments");
    if (parameters != NULL && parameters->kind == TAKT_JSON_OBJECT) {
        takt_json_value(w, parameters);
    } else {
        takt_json_open(w, '{');
        takt_json_put_string(w, "type", "object");
        takt_json_close(w, '}');
    }
    takt_json_close(w, '}');
    takt_json_put_open(w, "required", '[');
    takt_json_string(w, "name");
    takt_json_string(w, "arguments");
    takt_json_close(w, ']');
    takt_json_put_bool(w, "additionalProperties", false);
    takt_json_close(w, '}');
}

/* Requires the answer to be a call of `only`, or of any tool. */
static void hold(takt_reader *r, const takt_json *only)
{
    takt_job *job = r->job;
    takt_text text;
    takt_json_writer w;
    if (job->grammar != NULL) {
        (void)takt_reader_bad(r, "tool_choice", "a call excludes grammar and response_format");
        return;
    }
    takt_text_init(&text, &r->s->shadow);
    takt_json_begin(&w, &text, false);
    takt_json_open(&w, '{');
    takt_json_put_open(&w, "anyOf", '[');
    for (const takt_json *i = takt_json_first(job->tools); i != NULL; i = takt_json_next(i))
        if (only == NULL || i == only)
            put_call(&w, i);
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_status status = text.status;
    if (status == TAKT_OK)
        status =
            takt_grammar_of_schema(&r->s->shadow, takt_text_get(&text), text.length, &job->grammar);
    takt_text_deinit(&text);
    if (status != TAKT_OK)
        (void)takt_reader_failed(r, "tools", status);
    job->options.grammar = job->grammar;
    job->calls = TAKT_CALLS_BARE;
}

static bool check_tools(takt_reader *r, const takt_json *tools)
{
    size_t index = 0;
    if (tools->kind != TAKT_JSON_ARRAY || tools->count > TOOLS_MOST)
        return takt_reader_bad(r, "tools", "a list of at most 128 functions is expected");
    for (const takt_json *i = takt_json_first(tools); i != NULL; i = takt_json_next(i), index++)
        if (function_of(i) == NULL)
            return takt_reader_bad_item(
                r, "tools", index,
                "{\"type\": \"function\", \"function\": {\"name\": a string, "
                "...}} is expected");
    return true;
}

static void read_choice(takt_reader *r, const takt_json *choice)
{
    takt_job *job = r->job;
    const bool is_word = choice != NULL && choice->kind == TAKT_JSON_STRING;
    if (choice == NULL || (is_word && strcmp(choice->text, "auto") == 0))
        return;
    if (is_word && strcmp(choice->text, "none") == 0) {
        job->hides_tools = true;
        job->calls = TAKT_CALLS_NONE;
        return;
    }
    if (is_word && strcmp(choice->text, "required") == 0) {
        hold(r, NULL);
        return;
    }
    const takt_json *f = function_of(choice);
    const takt_json *tool = f != NULL ? takt_serve_tool(job, takt_span_of(name_of(choice))) : NULL;
    if (tool == NULL)
        (void)takt_reader_bad(r, "tool_choice", "none, auto, required or one of the tools");
    else
        hold(r, tool);
}

void takt_serve_read_tools(takt_reader *r)
{
    takt_job *job = r->job;
    const takt_json *tools = takt_reader_field(r, "tools");
    const takt_json *choice = takt_reader_field(r, "tool_choice");
    if (tools == NULL || (tools->kind == TAKT_JSON_ARRAY && tools->count == 0)) {
        const bool is_free =
            choice == NULL ||
            (choice->kind == TAKT_JSON_STRING &&
             (strcmp(choice->text, "auto") == 0 || strcmp(choice->text, "none") == 0));
        if (!is_free)
            (void)takt_reader_bad(r, "tool_choice", "there are no tools");
        return;
    }
    if (!check_tools(r, tools))
        return;
    job->tools = tools;
    job->calls = r->s->call_format;
    read_choice(r, choice);
    /* The marks of these formats are control tokens. */
    job->options.show_control = job->calls == TAKT_CALLS_LISTED || job->calls == TAKT_CALLS_BARE;
}

/* ---- variables of the template ---- */

/* Converts arguments that are JSON in a string, as in OpenAI's API, to the object that templates
 * expect.
 */
static void put_arguments(takt_reader *r, takt_json_writer *w, const takt_json *v)
{
    const takt_json *object = NULL;
    takt_ctx *ctx = &r->s->shadow;
    const takt_error before = ctx->error;
    if (v->kind == TAKT_JSON_STRING &&
        takt_json_parse(ctx, &r->job->arena, v->text, v->text_length, &object) == TAKT_OK &&
        object->kind == TAKT_JSON_OBJECT) {
        takt_json_value(w, object);
        return;
    }
    ctx->error = before;
    takt_json_value(w, v);
}

static void put_function(takt_reader *r, takt_json_writer *w, const takt_json *f)
{
    takt_json_open(w, '{');
    for (const takt_json *i = takt_json_first(f); i != NULL; i = takt_json_next(i)) {
        takt_json_key(w, i->key);
        if (strcmp(i->key, "arguments") == 0)
            put_arguments(r, w, i);
        else
            takt_json_value(w, i);
    }
    takt_json_close(w, '}');
}

static void put_tool_calls(takt_reader *r, takt_json_writer *w, const takt_json *calls)
{
    takt_json_open(w, '[');
    for (const takt_json *i = takt_json_first(calls); i != NULL; i = takt_json_next(i)) {
        takt_json_open(w, '{');
        for (const takt_json *k = takt_json_first(i); k != NULL; k = takt_json_next(k)) {
            takt_json_key(w, k->key);
            if (strcmp(k->key, "function") == 0 && k->kind == TAKT_JSON_OBJECT)
                put_function(r, w, k);
            else
                takt_json_value(w, k);
        }
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static void put_message(takt_reader *r, takt_json_writer *w, const takt_json *m)
{
    takt_json_open(w, '{');
    for (const takt_json *i = takt_json_first(m); i != NULL; i = takt_json_next(i)) {
        takt_json_key(w, i->key);
        if (strcmp(i->key, "tool_calls") == 0 && i->kind == TAKT_JSON_ARRAY)
            put_tool_calls(r, w, i);
        else if (strcmp(i->key, "content") == 0 && i->kind == TAKT_JSON_ARRAY)
            takt_serve_put_parts(r, w, i);
        else
            takt_json_value(w, i);
    }
    takt_json_close(w, '}');
}

void takt_serve_put_variables(takt_reader *r, takt_text *text)
{
    takt_json_writer w;
    takt_json_begin(&w, text, false);
    takt_json_open(&w, '{');
    for (const takt_json *i = takt_json_first(r->job->body); i != NULL; i = takt_json_next(i)) {
        if (r->job->hides_tools && strcmp(i->key, "tools") == 0)
            continue;
        takt_json_key(&w, i->key);
        if (strcmp(i->key, "messages") != 0 || i->kind != TAKT_JSON_ARRAY) {
            takt_json_value(&w, i);
            continue;
        }
        takt_json_open(&w, '[');
        r->at = 0;
        for (const takt_json *m = takt_json_first(i); m != NULL; m = takt_json_next(m), r->at++)
            put_message(r, &w, m);
        takt_json_close(&w, ']');
    }
    takt_json_close(&w, '}');
}
