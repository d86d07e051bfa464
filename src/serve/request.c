/* request.c - bodies of requests as jobs: every field is checked before a model sees any. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

typedef struct reader {
    takt_server *s;
    takt_job *job;
    takt_span body; /* terminated */
    bool is_bad;
    int status, id;
    char message[400];
} reader;

static bool bad(reader *r, const char *key, const char *what)
{
    if (!r->is_bad)
        (void)snprintf(r->message, sizeof r->message, "%.60s: %.300s", key, what);
    r->is_bad = true;
    r->status = r->status != 0 ? r->status : 400;
    r->id = r->id != 0 ? r->id : TAKT_E_SERVE_REQUEST;
    return false;
}

static bool failed(reader *r, const char *key, takt_status status)
{
    takt_error error;
    takt_error_copy(&r->s->shadow, &error);
    r->status = takt_serve_status(status);
    r->id = error.id;
    return bad(r, key, error.message);
}

/* ---- fields ---- */

static const takt_json *field(const reader *r, const char *key)
{
    const takt_json *v = takt_json_get(r->job->body, key);
    return v != NULL && v->kind != TAKT_JSON_NULL ? v : NULL;
}

static double number(reader *r, const char *key, double fallback, double least, double most)
{
    const takt_json *v = field(r, key);
    if (v == NULL)
        return fallback;
    if (v->kind != TAKT_JSON_NUMBER || !(v->number >= least && v->number <= most)) {
        char what[80];
        (void)snprintf(what, sizeof what, "a number from %g to %g is expected", least, most);
        (void)bad(r, key, what);
        return fallback;
    }
    return v->is_integer ? (double)v->integer : v->number;
}

static int64_t integer(reader *r, const char *key, int64_t fallback, int64_t least, int64_t most)
{
    const takt_json *v = field(r, key);
    if (v != NULL && (v->kind != TAKT_JSON_NUMBER || !v->is_integer || v->integer < least ||
                      v->integer > most)) {
        char what[80];
        (void)snprintf(what, sizeof what, "an integer from %lld to %lld is expected",
                       (long long)least, (long long)most);
        (void)bad(r, key, what);
        return fallback;
    }
    return v != NULL ? v->integer : fallback;
}

static bool truth(reader *r, const char *key)
{
    const takt_json *v = field(r, key);
    if (v != NULL && v->kind != TAKT_JSON_BOOL)
        (void)bad(r, key, "true or false is expected");
    return v != NULL && v->kind == TAKT_JSON_BOOL && v->boolean;
}

/* ---- parts ---- */

static void read_stops(reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = field(r, "stop");
    if (v == NULL)
        return;
    const bool is_list = v->kind == TAKT_JSON_ARRAY;
    for (const takt_json *i = is_list ? takt_json_first(v) : v; i != NULL;
         i = is_list ? takt_json_next(i) : NULL) {
        if (i->kind != TAKT_JSON_STRING || strlen(i->text) != i->text_length)
            (void)bad(r, "stop", "a string or a list of strings is expected");
        else if (job->options.stop_count == TAKT_SERVE_STOPS)
            (void)bad(r, "stop", "there are too many");
        else
            job->stops[job->options.stop_count++] = i->text;
    }
    job->options.stops = job->stops;
}

/* {"15": 1.5, ...}: bytes of a key are an id. */
static void read_biases(reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = field(r, "logit_bias");
    size_t count = 0;
    if (v != NULL && v->kind != TAKT_JSON_OBJECT && v->kind != TAKT_JSON_NULL) {
        (void)bad(r, "logit_bias", "an object of at most 64 ids and numbers is expected");
        return;
    }
    for (const takt_json *i = v != NULL ? takt_json_first(v) : NULL; i != NULL;
         i = takt_json_next(i)) {
        int64_t id = 0;
        const char *at = i->key != NULL ? i->key : "";
        for (; *at >= '0' && *at <= '9' && id < INT32_MAX; at++)
            id = 10 * id + (*at - '0');
        if (at == i->key || *at != '\0' || id >= INT32_MAX || i->kind != TAKT_JSON_NUMBER ||
            count == TAKT_SERVE_BIASES) {
            (void)bad(r, "logit_bias", "an object of at most 64 ids and numbers is expected");
            return;
        }
        job->bias[count++] = (takt_token_bias){(int32_t)id, (float)i->number};
    }
    job->options.sampling.bias = job->bias;
    job->options.sampling.bias_count = count;
}

static void read_schema(reader *r, const takt_json *schema)
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
        (void)failed(r, "response_format", status);
}

/* grammar: GBNF, or response_format as OpenAI has it. */
static void read_form(reader *r)
{
    const takt_json *grammar = field(r, "grammar"), *form = field(r, "response_format");
    const takt_json *type =
        form != NULL && form->kind == TAKT_JSON_OBJECT ? takt_json_get(form, "type") : NULL;
    const char *kind = type != NULL && type->kind == TAKT_JSON_STRING ? type->text : "";
    if (grammar != NULL) {
        takt_status status = TAKT_ERR_FORMAT;
        if (grammar->kind == TAKT_JSON_STRING)
            status = takt_grammar_parse(&r->s->shadow, grammar->text, grammar->text_length,
                                        &r->job->grammar);
        else
            (void)bad(r, "grammar", "a string is expected");
        if (status != TAKT_OK)
            (void)failed(r, "grammar", status);
    } else if (strcmp(kind, "json_object") == 0) {
        const takt_status status =
            takt_grammar_of_schema(&r->s->shadow, "{\"type\": \"object\"}", 0, &r->job->grammar);
        if (status != TAKT_OK)
            (void)failed(r, "response_format", status);
    } else if (strcmp(kind, "json_schema") == 0) {
        const takt_json *outer = takt_json_get(form, "json_schema");
        const takt_json *schema = outer != NULL && outer->kind == TAKT_JSON_OBJECT
                                      ? takt_json_get(outer, "schema")
                                      : NULL;
        if (schema == NULL)
            (void)bad(r, "response_format", "json_schema.schema is missing");
        else
            read_schema(r, schema);
    } else if (form != NULL && strcmp(kind, "text") != 0) {
        (void)bad(r, "response_format", "type is text, json_object or json_schema");
    }
    r->job->options.grammar = r->job->grammar;
}

static void read_logs(reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = field(r, "logprobs");
    if (job->kind == TAKT_JOB_CHAT) {
        job->wants_logs = truth(r, "logprobs");
        job->top = (size_t)integer(r, "top_logprobs", 0, 0, TAKT_WRITING_TOP);
    } else if (v != NULL) {
        job->top = (size_t)integer(r, "logprobs", 0, 0, TAKT_WRITING_TOP);
        job->wants_logs = true;
    }
}

/* The defaults are those of takt generate. */
static void read_settings(reader *r)
{
    takt_job *job = r->job;
    takt_sampling *p = &job->options.sampling;
    const takt_json *usage = field(r, "stream_options");
    const int64_t older = integer(r, "max_tokens", 0, 0, INT32_MAX);
    job->options.max_tokens = (size_t)integer(r, "max_completion_tokens", older, 0, INT32_MAX);
    job->choices = (int)integer(r, "n", 1, 1, TAKT_SERVE_CHOICES);
    job->streams = truth(r, "stream");
    job->options.ignore_eos = truth(r, "ignore_eos");
    p->temperature = number(r, "temperature", 0.8, 0, 100);
    p->top_p = number(r, "top_p", 0.95, 0, 1);
    p->min_p = number(r, "min_p", 0.05, 0, 1);
    p->typical_p = number(r, "typical_p", 1, 0, 1);
    p->top_k = integer(r, "top_k", 40, 0, INT32_MAX);
    p->repeat_penalty = number(r, "repeat_penalty", 1, 0, 100);
    p->presence_penalty = number(r, "presence_penalty", 0, -100, 100);
    p->frequency_penalty = number(r, "frequency_penalty", 0, -100, 100);
    p->repeat_last_n = integer(r, "repeat_last_n", 64, -1, INT32_MAX);
    p->seed = (uint64_t)integer(r, "seed", -1, INT64_MIN, INT64_MAX);
    if (field(r, "seed") == NULL || integer(r, "seed", 0, INT64_MIN, INT64_MAX) < 0)
        p->seed = takt_serve_now(r->s) % 4294967295u;
    if (usage != NULL && usage->kind == TAKT_JSON_OBJECT) {
        const takt_json *tells = takt_json_get(usage, "include_usage");
        job->tells_usage = tells != NULL && tells->kind == TAKT_JSON_BOOL && tells->boolean;
    }
    read_stops(r);
    read_biases(r);
    read_logs(r);
    read_form(r);
}

/* ---- prompts ---- */

static int keep(void *user, const char *text, size_t length)
{
    takt_text *to = user;
    takt_text_put(to, text, length);
    return 0;
}

static bool take_ids(reader *r, const char *text, size_t length)
{
    takt_job *job = r->job;
    takt_token_ids ids = {0};
    const unsigned flags = TAKT_TOKENIZE_PARSE | TAKT_TOKENIZE_ADD;
    takt_status status = takt_tokenize(r->s->tokenizer, text, length, flags, &ids);
    ids.at =
        status == TAKT_OK ? takt_arena_array(&job->arena, ids.count + 1, sizeof *ids.at) : NULL;
    ids.capacity = ids.count;
    if (ids.at == NULL)
        return failed(r, "prompt", TAKT_ERR_MEMORY);
    status = takt_tokenize(r->s->tokenizer, text, length, flags, &ids);
    job->ids = ids.at;
    job->id_count = ids.count;
    return status == TAKT_OK || failed(r, "prompt", status);
}

static void read_chat(reader *r)
{
    const takt_chat_options how = {.size = sizeof how, .seconds = takt_os_seconds()};
    takt_text text;
    if (r->s->chat == NULL) {
        (void)bad(r, "messages",
                  "the model comes without a chat template; start the server with "
                  "--chat-template");
        return;
    }
    takt_text_init(&text, &r->s->shadow);
    takt_status status =
        takt_chat_render(r->s->chat, r->s->tokenizer, r->body.at, &how, keep, &text);
    status = status == TAKT_OK ? text.status : status;
    if (status != TAKT_OK)
        (void)failed(r, "messages", status);
    else
        (void)take_ids(r, takt_text_get(&text), text.length);
    takt_text_deinit(&text);
}

/* A text, or ids. */
static void read_prompt(reader *r)
{
    takt_job *job = r->job;
    const takt_json *v = field(r, "prompt");
    if (v != NULL && v->kind == TAKT_JSON_STRING) {
        (void)take_ids(r, v->text, v->text_length);
        return;
    }
    if (v == NULL || v->kind != TAKT_JSON_ARRAY) {
        (void)bad(r, "prompt", "a string or a list of token ids is expected");
        return;
    }
    job->ids = takt_arena_array(&job->arena, v->count + 1, sizeof *job->ids);
    if (job->ids == NULL) {
        (void)failed(r, "prompt", TAKT_ERR_MEMORY);
        return;
    }
    for (const takt_json *i = takt_json_first(v); i != NULL; i = takt_json_next(i)) {
        if (!i->is_integer || i->integer < 0 ||
            (uint64_t)i->integer >= takt_tokenizer_count(r->s->tokenizer)) {
            (void)bad(r, "prompt", "a token id is not in the vocabulary");
            return;
        }
        job->ids[job->id_count++] = (int32_t)i->integer;
    }
}

/* The worst case fits, so that no text fails half-way. */
static void admit(reader *r)
{
    takt_job *job = r->job;
    const uint64_t context = (uint64_t)r->s->slots[0].g->context;
    if (job->id_count == 0)
        (void)bad(r, "prompt", "it is empty");
    else if (job->id_count >= context) {
        char what[120];
        (void)snprintf(what, sizeof what, "%zu tokens; the context has room for %llu",
                       job->id_count, (unsigned long long)context);
        (void)bad(r, "prompt", what);
    }
}

static void read_text(reader *r)
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
            (void)failed(r, "settings", status);
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
    reader r = {.s = s, .job = job, .body = body};
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
        (void)failed(&r, "body", status);
    else if (job->body->kind != TAKT_JSON_OBJECT)
        (void)bad(&r, "body", "a JSON object is expected");
    else if (kind == TAKT_JOB_CHAT || kind == TAKT_JOB_TEXT)
        read_text(&r);
    c->in[c->request.header_bytes + body.length] = end; /* perhaps the next request's */
    if (!r.is_bad)
        return job;
    takt_serve_error(&c->out, r.status, c->request.keeps_alive, r.id, r.message);
    takt_serve_job_free(job);
    return NULL;
}
