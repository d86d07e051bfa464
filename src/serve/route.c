/* route.c - routes requests to handlers, and answers those that need no model. */
#include <stdio.h>
#include <string.h>

#include <takt/settings.h>

#include "serve/serve.h"

static const char page[] = {
#define TAKT_LAYER_TEXT(name, text) text
#include "page.inc"
#undef TAKT_LAYER_TEXT
};

/* Takes the same time wherever the keys differ. */
static bool same_key(takt_span given, const char *key)
{
    unsigned different = given.length != strlen(key);
    for (size_t i = 0; i < given.length; i++)
        different |= (unsigned char)given.at[i] ^ (unsigned char)key[i % (strlen(key) + 1)];
    return different == 0;
}

bool takt_serve_allowed(takt_server *s, takt_conn *c)
{
    static const char scheme[] = "Bearer ";
    const takt_span path = c->request.path;
    takt_span given = c->request.authorization;
    if (s->options.api_key_count == 0 || takt_span_is(path, "/health") || takt_span_is(path, "/"))
        return true;
    const size_t n = sizeof scheme - 1;
    if (given.length > n && memcmp(given.at, scheme, n) == 0) {
        given = (takt_span){given.at + n, given.length - n};
        for (size_t i = 0; i < s->options.api_key_count; i++)
            if (same_key(given, s->options.api_keys[i]))
                return true;
    }
    takt_serve_error(&c->out, 401, c->request.keeps_alive, 0,
                     "a key is needed: Authorization: "
                     "Bearer KEY");
    return false;
}

/* ---- small answers ---- */

/* What follows a prefix of the path, if something does. */
static takt_span after(takt_span path, const char *prefix)
{
    const size_t n = strlen(prefix);
    return path.length > n && memcmp(path.at, prefix, n) == 0
               ? (takt_span){path.at + n, path.length - n}
               : (takt_span){NULL, 0};
}

static void send_json(takt_conn *c, takt_text *body)
{
    takt_serve_reply(&c->out, 200, c->request.keeps_alive, "application/json",
                     (takt_span){takt_text_get(body), body->length});
    if (body->status != TAKT_OK && c->out.status == TAKT_OK)
        c->out.status = body->status;
    takt_text_deinit(body);
}

static void put_model(takt_json_writer *w, const char *name)
{
    takt_json_open(w, '{');
    takt_json_key(w, "id");
    takt_json_spans(w, takt_span_of(name));
    takt_json_put_string(w, "object", "model");
    takt_json_put_string(w, "owned_by", "takt");
    takt_json_close(w, '}');
}

static void models(takt_server *s, takt_conn *c)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, &s->shadow);
    takt_json_begin(&w, &body, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "object", "list");
    takt_json_put_open(&w, "data", '[');
    if (s->name[0] != '\0')
        put_model(&w, s->name);
    for (size_t i = 0; i < s->model_count; i++)
        put_model(&w, s->models[i].name);
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    send_json(c, &body);
}

/* The model that /v1/models/NAME names; NULL: there is none. */
static const char *named_model(const takt_server *s, takt_span path)
{
    const takt_span name = after(path, "/v1/models/");
    if (name.length == 0)
        return NULL;
    if (takt_span_is(name, s->name))
        return s->name;
    for (size_t i = 0; i < s->model_count; i++)
        if (takt_span_is(name, s->models[i].name))
            return s->models[i].name;
    return NULL;
}

static void one_model(takt_server *s, takt_conn *c, const char *name)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, &s->shadow);
    takt_json_begin(&w, &body, false);
    put_model(&w, name);
    send_json(c, &body);
}

/* ---- routes ---- */

typedef enum need { NEEDS_TEXT, NEEDS_VECTORS } need;

static const struct {
    const char *path;
    takt_job_kind kind;
    need needs;
} jobs[] = {{"/v1/chat/completions", TAKT_JOB_CHAT, NEEDS_TEXT},
            {"/v1/completions", TAKT_JOB_TEXT, NEEDS_TEXT},
            {"/completion", TAKT_JOB_TEXT, NEEDS_TEXT},
            {"/v1/embeddings", TAKT_JOB_EMBED, NEEDS_VECTORS}};
enum { JOBS = sizeof jobs / sizeof *jobs };

static bool has_model(const takt_server *s, need needs)
{
    return needs == NEEDS_TEXT ? s->slot_count > 0 : s->embedder != NULL;
}

static void create_job(takt_server *s, takt_conn *c, takt_job_kind kind, size_t model,
                       takt_span body)
{
    c->job = takt_serve_has_room(s, c) ? takt_serve_request(s, c, kind, body) : NULL;
    if (c->job == NULL)
        return; /* the reply is written */
    c->job->model = model;
    takt_serve_enqueue(s, c->job);
}

/* Which other model /v1/infer/NAME is for; `model_count`: none. */
static size_t infer_model(const takt_server *s, takt_span path)
{
    const takt_span name = after(path, "/v1/infer/");
    size_t i = name.length > 0 ? 0 : s->model_count;
    while (i < s->model_count && !takt_span_is(name, s->models[i].name))
        i++;
    return i;
}

static bool is_of_words(takt_span path)
{
    return takt_span_is(path, "/tokenize") || takt_span_is(path, "/detokenize");
}

static bool post(takt_server *s, takt_conn *c, takt_span body)
{
    const takt_span path = c->request.path;
    for (size_t i = 0; i < JOBS; i++) {
        if (!takt_span_is(path, jobs[i].path) || !has_model(s, jobs[i].needs))
            continue;
        create_job(s, c, jobs[i].kind, 0, body);
        return true;
    }
    const size_t model = infer_model(s, path);
    if (model < s->model_count) {
        create_job(s, c, TAKT_JOB_INFER, model, body);
        return true;
    }
    if (s->tokenizer == NULL || !is_of_words(path))
        return false;
    takt_serve_words(s, c, body, takt_span_is(path, "/tokenize"));
    return true;
}

static bool get(takt_server *s, takt_conn *c)
{
    const takt_span path = c->request.path;
    const char *model = named_model(s, path);
    if (takt_span_is(path, "/health"))
        takt_serve_health(s, &c->out, c->request.keeps_alive);
    else if (takt_span_is(path, "/metrics"))
        takt_serve_metrics_page(s, &c->out, c->request.keeps_alive);
    else if (takt_span_is(path, "/v1/models"))
        models(s, c);
    else if (takt_span_is(path, "/"))
        takt_serve_reply(&c->out, 200, c->request.keeps_alive, "text/html; charset=utf-8",
                         (takt_span){page, sizeof page - 1});
    else if (model != NULL)
        one_model(s, c, model);
    else
        return false;
    return true;
}

/* The methods that a path takes; NULL: there is nothing. */
static const char *methods_of(const takt_server *s, takt_span path)
{
    static const char *const pages[] = {"/", "/health", "/metrics", "/v1/models"};
    bool is_post =
        infer_model(s, path) < s->model_count || (s->tokenizer != NULL && is_of_words(path));
    bool is_get = named_model(s, path) != NULL;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        is_get = is_get || takt_span_is(path, pages[i]);
    for (size_t i = 0; i < JOBS; i++)
        is_post = is_post || (takt_span_is(path, jobs[i].path) && has_model(s, jobs[i].needs));
    return is_get ? "GET, HEAD" : is_post ? "POST" : NULL;
}

/* What a route needs of which this server has none; NULL: the route is unknown. */
static const char *what_lacks(takt_span path)
{
    if (is_of_words(path))
        return "language models";
    for (size_t i = 0; i < JOBS; i++)
        if (takt_span_is(path, jobs[i].path))
            return jobs[i].needs == NEEDS_TEXT ? "models that generate text" : "sentence encoders";
    return NULL;
}

static void suggest_model(const takt_server *s, takt_text *text, const char *word)
{
    const char *names[TAKT_SERVE_MODELS];
    for (size_t i = 0; i < s->model_count; i++)
        names[i] = s->models[i].name;
    const int near = takt_nearest(word, names, s->model_count);
    if (near >= 0)
        takt_text_add(text, "; did you mean /v1/infer/%s?", names[near]);
    else
        takt_text_add(text, "; GET /v1/models lists the models");
}

static void suggest_route(const takt_server *s, takt_text *text, const char *word)
{
    static const char *const routes[] = {
        "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/models", "/tokenize",
        "/detokenize",          "/health",         "/metrics"};
    const char *open[sizeof routes / sizeof *routes];
    size_t count = 0;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (methods_of(s, takt_span_of(routes[i])) != NULL)
            open[count++] = routes[i];
    const int near = takt_nearest(word, open, count);
    if (near >= 0)
        takt_text_add(text, "; did you mean %s?", open[near]);
}

/* Why nothing is there: perhaps the route needs a model that this server does not have. */
static void tell_absent(const takt_server *s, takt_text *text, takt_span path)
{
    static const char infer[] = "/v1/infer/";
    const int shown = (int)(path.length < 100 ? path.length : 100);
    const char *lacks = what_lacks(path);
    char word[128];
    (void)snprintf(word, sizeof word, "%.*s", shown, path.at);
    if (lacks != NULL) {
        takt_text_add(text, "%s is for %s, which this server does not have", word, lacks);
        return;
    }
    takt_text_add(text, "there is nothing at %s", word);
    if (strncmp(word, infer, sizeof infer - 1) == 0)
        suggest_model(s, text, word + sizeof infer - 1);
    else
        suggest_route(s, text, word);
}

/* 404, or 405 for the wrong method. */
static void tell_nothing(takt_server *s, takt_conn *c)
{
    takt_text text;
    const char *methods = methods_of(s, c->request.path);
    if (methods != NULL) {
        takt_serve_wrong_method(c, methods);
        return;
    }
    takt_text_init(&text, &s->shadow);
    tell_absent(s, &text, c->request.path);
    takt_serve_error(&c->out, 404, c->request.keeps_alive, 0, takt_text_get(&text));
    takt_text_deinit(&text);
}

static void answer(takt_server *s, takt_conn *c)
{
    const takt_span method = c->request.method;
    const bool is_get = takt_span_is(method, "GET") || takt_span_is(method, "HEAD"),
               is_post = takt_span_is(method, "POST");
    const takt_span body = {c->in + c->request.header_bytes, c->body};
    if (!takt_serve_allowed(s, c))
        return;
    if (!(is_get ? get(s, c) : is_post && post(s, c, body)))
        tell_nothing(s, c);
}

/* Same response as for GET, without its body. */
static void cut_body(takt_text *out, size_t from)
{
    if (out->status != TAKT_OK)
        return;
    const char *end = strstr(takt_text_get(out) + from, "\r\n\r\n");
    if (end != NULL)
        out->length = (size_t)(end - takt_text_get(out)) + 4;
}

void takt_serve_route(takt_server *s, takt_conn *c)
{
    const size_t from = c->out.length;
    answer(s, c);
    if (takt_span_is(c->request.method, "HEAD"))
        cut_body(&c->out, from);
}
