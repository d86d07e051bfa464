/* request.c - turns request bodies into jobs: every field is checked before a model sees any. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/reader.h"
#include "text/tokenizer.h"

/* ---- parts ---- */

static void read_stops(takt_reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = takt_reader_field(r, "stop");
    if (v == NULL)
        return;
    const bool is_list = v->kind == TAKT_JSON_ARRAY;
    if (!is_list && !takt_reader_is_text(v))
        (void)takt_reader_bad(r, "stop", "a string or a list of strings is expected, without NUL");
    if (is_list && v->count > TAKT_SERVE_STOPS)
        (void)takt_reader_bad(r, "stop", "at most 16 strings are expected");
    for (const takt_json *i = is_list ? takt_json_first(v) : v; i != NULL && !r->is_bad;
         i = is_list ? takt_json_next(i) : NULL) {
        if (!takt_reader_is_text(i))
            (void)takt_reader_bad_item(r, "stop", job->options.stop_count,
                                       "a string is expected, without NUL");
        job->stops[job->options.stop_count++] = i->text;
    }
    job->options.stops = job->stops;
}

static void read_schema(takt_reader *r, const takt_json *schema)
{
    takt_text text;
    takt_json_writer w;
    takt_text_init(&text, &r->s->shadow);
    takt_json_begin(&w, &text, false);
    takt_json_value(&w, schema);
    takt_status status = text.status;
    if (status == TAKT_OK)
        status = takt_grammar_of_schema(&r->s->shadow, takt_text_get(&text), text.length,
                                        &r->job->grammar);
    takt_text_deinit(&text);
    if (status != TAKT_OK)
        (void)takt_reader_failed(r, "response_format", status);
}

/* grammar: GBNF, or response_format as in OpenAI's API. */
static void read_form(takt_reader *r)
{
    const takt_json *grammar = takt_reader_field(r, "grammar"),
                    *form = takt_reader_field(r, "response_format");
    const takt_json *type =
        form != NULL && form->kind == TAKT_JSON_OBJECT ? takt_json_get(form, "type") : NULL;
    const char *kind = type != NULL && type->kind == TAKT_JSON_STRING ? type->text : "";
    if (grammar != NULL) {
        takt_status status = TAKT_ERR_FORMAT;
        if (grammar->kind == TAKT_JSON_STRING)
            status = takt_grammar_parse(&r->s->shadow, grammar->text, grammar->text_length,
                                        &r->job->grammar);
        else
            (void)takt_reader_bad(r, "grammar", "a string is expected");
        if (status != TAKT_OK)
            (void)takt_reader_failed(r, "grammar", status);
    } else if (strcmp(kind, "json_object") == 0) {
        const takt_status status =
            takt_grammar_of_schema(&r->s->shadow, "{\"type\": \"object\"}", 0, &r->job->grammar);
        if (status != TAKT_OK)
            (void)takt_reader_failed(r, "response_format", status);
    } else if (strcmp(kind, "json_schema") == 0) {
        const takt_json *outer = takt_json_get(form, "json_schema");
        const takt_json *schema = outer != NULL && outer->kind == TAKT_JSON_OBJECT
                                      ? takt_json_get(outer, "schema")
                                      : NULL;
        if (schema == NULL)
            (void)takt_reader_bad(r, "response_format", "json_schema.schema is missing");
        else
            read_schema(r, schema);
    } else if (form != NULL && strcmp(kind, "text") != 0) {
        (void)takt_reader_bad(r, "response_format", "type is text, json_object or json_schema");
    }
    r->job->options.grammar = r->job->grammar;
}

static void read_logs(takt_reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = takt_reader_field(r, "logprobs");
    if (job->kind == TAKT_JOB_CHAT) {
        job->wants_logs = takt_reader_truth(r, "logprobs");
        job->top = (size_t)takt_reader_integer(r, "top_logprobs", 0, 0, TAKT_WRITING_TOP);
    } else if (v != NULL) {
        job->top = (size_t)takt_reader_integer(r, "logprobs", 0, 0, TAKT_WRITING_TOP);
        job->wants_logs = true;
    }
}

static bool read_usage(takt_reader *r)
{
    const takt_json *v = takt_reader_field(r, "stream_options");
    const bool is_object = v != NULL && v->kind == TAKT_JSON_OBJECT;
    const takt_json *tells = is_object ? takt_json_get(v, "include_usage") : NULL;
    if (v != NULL && !is_object)
        (void)takt_reader_bad(r, "stream_options", "an object is expected");
    else if (tells != NULL && tells->kind != TAKT_JSON_BOOL && tells->kind != TAKT_JSON_NULL)
        (void)takt_reader_bad(r, "stream_options.include_usage", "true or false is expected");
    return tells != NULL && tells->kind == TAKT_JSON_BOOL && tells->boolean;
}

/* The defaults are those of takt generate. */
static void read_settings(takt_reader *r)
{
    takt_job *job = r->job;
    const int64_t llama = takt_reader_integer(r, "n_predict", -1, -1, INT32_MAX);
    const int64_t older = takt_reader_integer(r, "max_tokens", llama, -1, INT32_MAX);
    const int64_t most = takt_reader_integer(r, "max_completion_tokens", older, -1, INT32_MAX);
    job->options.max_tokens = most > 0 ? (size_t)most : 0;
    job->is_mute = most == 0;
    job->choices = (int)takt_reader_integer(r, "n", 1, 1, TAKT_SERVE_CHOICES);
    job->streams = takt_reader_truth(r, "stream");
    job->options.ignore_eos = takt_reader_truth(r, "ignore_eos");
    takt_serve_read_sampling(r);
    job->tells_usage = read_usage(r);
    read_stops(r);
    read_logs(r);
    read_form(r);
    if (job->kind == TAKT_JOB_CHAT && !r->is_bad)
        takt_serve_read_tools(r);
}

/* ---- prompts ---- */

static int keep(void *user, const char *text, size_t length)
{
    takt_text *to = user;
    takt_text_put(to, text, length);
    return 0;
}

takt_status takt_serve_ids(takt_server *s, takt_arena *arena, takt_span text, unsigned flags,
                           takt_token_ids *ids)
{
    enum { FEW = 1024 };
    *ids = (takt_token_ids){.capacity = text.length < FEW ? text.length + 16 : text.length / 2};
    for (;;) {
        ids->at = takt_arena_array(arena, ids->capacity + 1, sizeof *ids->at);
        if (ids->at == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(takt_tokenize(s->tokenizer, text.at, text.length, flags, ids));
        if (ids->count <= ids->capacity)
            return TAKT_OK;
        ids->capacity = ids->count;
    }
}

static bool too_long(takt_reader *r, const char *least, size_t count)
{
    char what[120];
    (void)snprintf(what, sizeof what, "%s%zu tokens; the context has room for %lld", least, count,
                   (long long)r->s->slots[0].g->context);
    return takt_reader_bad(r, "prompt", what);
}

/* A text that cannot fit is not tokenized: other clients would wait for that. */
static bool take_ids(takt_reader *r, const char *text, size_t length)
{
    takt_job *job = r->job;
    takt_token_ids ids;
    const unsigned flags = TAKT_TOKENIZE_PARSE | TAKT_TOKENIZE_ADD;
    const size_t least = takt_tokenizer_least(r->s->tokenizer, length);
    if (least >= (size_t)r->s->slots[0].g->context)
        return too_long(r, "at least ", least);
    const takt_status status =
        takt_serve_ids(r->s, &job->arena, (takt_span){text, length}, flags, &ids);
    job->ids = ids.at;
    job->id_count = ids.count;
    return status == TAKT_OK || takt_reader_failed(r, "prompt", status);
}

static void read_chat(takt_reader *r)
{
    const takt_chat_options how = {.size = sizeof how, .seconds = takt_os_seconds()};
    takt_text text, variables;
    if (r->s->chat == NULL) {
        (void)takt_reader_bad(r, "messages",
                              "the model comes without a chat template; start the server with "
                              "--chat-template");
        return;
    }
    if (!takt_serve_check_messages(r))
        return;
    takt_text_init(&text, &r->s->shadow);
    takt_text_init(&variables, &r->s->shadow);
    takt_serve_put_variables(r, &variables);
    takt_status status = variables.status;
    if (status == TAKT_OK && !r->is_bad)
        status = takt_chat_render(r->s->chat, r->s->tokenizer, takt_text_get(&variables), &how,
                                  keep, &text);
    takt_text_deinit(&variables);
    status = status == TAKT_OK ? text.status : status;
    if (status != TAKT_OK)
        (void)takt_reader_failed(r, "messages", status);
    else if (!r->is_bad)
        (void)take_ids(r, takt_text_get(&text), text.length);
    takt_text_deinit(&text);
}

/* A text, also in a list, or ids. */
static void read_prompt(takt_reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = takt_reader_field(r, "prompt");
    const takt_json *first = v != NULL && v->kind == TAKT_JSON_ARRAY ? takt_json_first(v) : NULL;
    if (first != NULL && first->kind == TAKT_JSON_STRING && v->count > 1) {
        (void)takt_reader_bad(r, "prompt", "a request has one text; send one for each");
        return;
    }
    if (first != NULL && first->kind == TAKT_JSON_STRING)
        v = first;
    if (v != NULL && v->kind == TAKT_JSON_STRING) {
        (void)take_ids(r, v->text, v->text_length);
        return;
    }
    if (v == NULL || v->kind != TAKT_JSON_ARRAY) {
        (void)takt_reader_bad(r, "prompt", "a string or a list of token ids is expected");
        return;
    }
    job->ids = takt_arena_array(&job->arena, v->count + 1, sizeof *job->ids);
    if (job->ids == NULL) {
        (void)takt_reader_failed(r, "prompt", TAKT_ERR_MEMORY);
        return;
    }
    for (const takt_json *i = takt_json_first(v); i != NULL; i = takt_json_next(i)) {
        if (!i->is_integer || i->integer < 0 ||
            (uint64_t)i->integer >= takt_tokenizer_count(r->s->tokenizer)) {
            (void)takt_reader_bad_id(r, "prompt", job->id_count);
            return;
        }
        job->ids[job->id_count++] = (int32_t)i->integer;
    }
}

/* Checks that the worst case fits, so that no text fails half-way. */
static void admit(takt_reader *r)
{
    takt_job *job = r->job;
    const uint64_t context = (uint64_t)r->s->slots[0].g->context;
    if (job->id_count == 0)
        (void)takt_reader_bad(r, "prompt", "it is empty");
    else if (job->id_count >= context)
        (void)too_long(r, "", job->id_count);
    else
        takt_serve_limit(r);
}

static void read_text(takt_reader *r)
{
    read_settings(r);
    if (!r->is_bad && r->job->kind == TAKT_JOB_CHAT)
        read_chat(r);
    else if (!r->is_bad)
        read_prompt(r);
    if (!r->is_bad)
        admit(r);
    if (!r->is_bad) {
        takt_sampling settled;
        const takt_status status =
            takt_sampling_settle(&r->s->shadow, &r->job->options.sampling, &settled);
        if (status != TAKT_OK)
            (void)takt_reader_failed(r, "settings", status);
    }
}

takt_job *takt_serve_request(takt_server *s, takt_conn *c, takt_job_kind kind, takt_span body)
{
    void *block;
    const char end = body.at[body.length];
    if (takt_mem_zero(&s->shadow, 1, sizeof(takt_job), "a request", &block) != TAKT_OK) {
        takt_serve_error(&c->out, 503, c->request.keeps_alive, 0, "out of memory");
        return NULL;
    }
    takt_job *job = block;
    takt_reader r = {.s = s, .job = job, .body = body};
    *job = (takt_job){.server = s,
                      .kind = kind,
                      .choices = 1,
                      .keeps_alive = c->request.keeps_alive,
                      .is_old = c->request.is_old,
                      .number = s->job_numbers++,
                      .created = takt_os_seconds()};
    takt_arena_init(&job->arena, &s->shadow);
    takt_text_init(&job->out, &s->shadow);
    for (size_t i = 0; i < TAKT_SERVE_CHOICES; i++) {
        takt_text_init(&job->choice[i].text, s->ctx);
        takt_text_init(&job->choice[i].logs, s->ctx);
    }
    c->in[c->request.header_bytes + body.length] = '\0'; /* there is room for it */
    takt_status status = takt_json_parse(&s->shadow, &job->arena, body.at, body.length, &job->body);
    if (status != TAKT_OK)
        (void)takt_reader_failed(&r, "body", status);
    else if (job->body->kind != TAKT_JSON_OBJECT)
        (void)takt_reader_bad(&r, "body", "a JSON object is expected");
    else if (kind == TAKT_JOB_CHAT || kind == TAKT_JOB_TEXT)
        read_text(&r);
    c->in[c->request.header_bytes + body.length] = end; /* perhaps part of the next request */
    if (!r.is_bad)
        return job;
    takt_serve_error(&c->out, r.status, c->request.keeps_alive, r.id, r.message);
    takt_serve_job_free(job);
    return NULL;
}
