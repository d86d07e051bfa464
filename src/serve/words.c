/* words.c - /tokenize and /detokenize: short texts at once, long ones by a thread of their own.
 *
 * A text of megabytes takes a second, in which the thread of connections would serve nobody, and
 * the engine would write nothing. The server's counters and times are of requests for a model, so
 * none of these are in them. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

enum {
    SHORT = 16 << 10, /* bytes of a body that is answered at once: a few milliseconds */
    WAITING = 16      /* longer ones in the queue */
};

typedef struct request {
    takt_server *s;
    takt_ctx *ctx; /* of the thread */
    takt_arena *arena;
    takt_text *out;
    bool keeps_alive;
} request;

static void refuse(const request *r, const char *why)
{
    takt_serve_error(r->out, 400, r->keeps_alive, TAKT_E_SERVE_REQUEST, why);
}

static void send_json(const request *r, takt_text *body)
{
    takt_serve_reply(r->out, 200, r->keeps_alive, "application/json",
                     (takt_span){takt_text_get(body), body->length});
    if (body->status != TAKT_OK && r->out->status == TAKT_OK)
        r->out->status = body->status;
    takt_text_deinit(body);
}

static void put_ids(const request *r, const takt_token_ids *ids)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, r->ctx);
    takt_json_begin(&w, &body, false);
    takt_json_open(&w, '{');
    takt_json_put_open(&w, "tokens", '[');
    for (size_t i = 0; i < ids->count; i++)
        takt_json_integer(&w, ids->at[i]);
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    send_json(r, &body);
}

static void tokenize(const request *r, const takt_json *root)
{
    const takt_json *text = takt_json_get(root, "content"),
                    *adds = takt_json_get(root, "add_special");
    takt_token_ids ids;
    const bool is_added = adds != NULL && adds->kind == TAKT_JSON_BOOL && adds->boolean;
    const char *why = text == NULL || text->kind != TAKT_JSON_STRING
                          ? "content: a string is expected"
                      : adds != NULL && adds->kind != TAKT_JSON_BOOL && adds->kind != TAKT_JSON_NULL
                          ? "add_special: true or false is expected"
                          : NULL;
    if (why != NULL) {
        refuse(r, why);
        return;
    }
    const unsigned flags = TAKT_TOKENIZE_PARSE | (is_added ? TAKT_TOKENIZE_ADD : 0);
    const takt_span content = {text->text, text->text_length};
    if (takt_serve_ids(r->s, r->arena, content, flags, &ids) == TAKT_OK)
        put_ids(r, &ids);
    else
        takt_serve_error(r->out, 503, r->keeps_alive, 0, "out of memory");
}

static void put_content(const request *r, const takt_token_text *text)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, r->ctx);
    takt_json_begin(&w, &body, false);
    takt_json_open(&w, '{');
    takt_json_key(&w, "content");
    takt_json_spans(&w, (takt_span){text->at, text->length});
    takt_json_close(&w, '}');
    send_json(r, &body);
}

static void detokenize(const request *r, const takt_json *root)
{
    const takt_tokenizer *t = r->s->tokenizer;
    const takt_json *tokens = takt_json_get(root, "tokens");
    const size_t known = takt_tokenizer_count(t);
    char why[80] = "tokens: a list of token ids is expected";
    takt_token_text text = {0};
    int32_t *ids = tokens != NULL && tokens->kind == TAKT_JSON_ARRAY
                       ? takt_arena_array(r->arena, tokens->count + 1, sizeof *ids)
                       : NULL;
    size_t count = 0;
    bool good = ids != NULL;
    for (const takt_json *i = good ? takt_json_first(tokens) : NULL; i != NULL && good;
         i = takt_json_next(i)) {
        good = i->is_integer && i->integer >= 0 && (uint64_t)i->integer < known;
        if (!good)
            (void)snprintf(why, sizeof why, "tokens[%zu]: a token id from 0 to %zu is expected",
                           count, known - 1);
        ids[count++] = good ? (int32_t)i->integer : 0;
    }
    good = good && takt_detokenize(t, ids, count, 0, &text) == TAKT_OK;
    text.capacity = text.length;
    text.at = good ? takt_arena_get(r->arena, text.length + 1) : NULL;
    if (text.at == NULL || takt_detokenize(t, ids, count, 0, &text) != TAKT_OK)
        refuse(r, why);
    else
        put_content(r, &text);
}

static void convert(const request *r, takt_span body, bool to_ids)
{
    const takt_json *root;
    const takt_status status = takt_json_parse(r->ctx, r->arena, body.at, body.length, &root);
    if (status != TAKT_OK)
        takt_serve_error(r->out, takt_serve_status(status), r->keeps_alive, TAKT_E_SERVE_REQUEST,
                         r->ctx->error.message);
    else if (root->kind != TAKT_JSON_OBJECT)
        refuse(r, "the body is not a JSON object");
    else if (to_ids)
        tokenize(r, root);
    else
        detokenize(r, root);
}

/* ---- the thread ---- */

/* Waits until there is one; NULL: the server ends. */
static takt_job *next(takt_server *s)
{
    for (;;) {
        const uint32_t seen = atomic_load(&s->words.calls);
        takt_lock_take(&s->lock);
        takt_job *job = s->words.first;
        if (job != NULL) {
            s->words.first = job->next;
            s->words.waiting--;
        }
        takt_lock_give(&s->lock);
        if (job != NULL || atomic_load(&s->is_over))
            return job;
        takt_futex_wait(&s->words.futex, &s->words.calls, seen);
    }
}

static void answer(takt_server *s, takt_job *job)
{
    takt_text out;
    takt_text_init(&out, &s->words.shadow);
    const request r = {s, &s->words.shadow, &job->arena, &out, job->keeps_alive};
    if (!takt_serve_is_left(s, job))
        convert(&r, job->words, job->to_ids);
    takt_lock_take(&s->lock);
    if (out.status == TAKT_OK && !job->is_left)
        takt_text_put(&job->out, takt_text_get(&out), out.length);
    else if (job->out.status == TAKT_OK)
        job->out.status = out.status;
    const bool is_left = job->is_left;
    job->is_done = true;
    takt_lock_give(&s->lock);
    takt_text_deinit(&out);
    if (is_left)
        takt_serve_job_free(job);
    takt_net_wake(s->wake_to);
}

void takt_serve_words_run(void *server)
{
    takt_server *s = server;
    for (takt_job *job = next(s); job != NULL; job = next(s))
        answer(s, job);
}

void takt_serve_words_call(takt_server *s)
{
    atomic_fetch_add(&s->words.calls, 1);
    takt_futex_wake(&s->words.futex, &s->words.calls, 1);
}

/* ---- the thread of connections ---- */

static takt_job *create(takt_server *s, const takt_conn *c, takt_span body, bool to_ids)
{
    void *block;
    if (takt_mem_zero(&s->shadow, 1, sizeof(takt_job), "a request", &block) != TAKT_OK)
        return NULL;
    takt_job *job = block;
    *job = (takt_job){.server = s,
                      .kind = TAKT_JOB_WORDS,
                      .to_ids = to_ids,
                      .keeps_alive = c->request.keeps_alive,
                      .is_old = c->request.is_old};
    takt_arena_init(&job->arena, &s->words.shadow);
    takt_text_init(&job->out, &s->words.shadow);
    job->words.at = takt_arena_text(&job->arena, body.at, body.length);
    job->words.length = body.length;
    if (job->words.at != NULL)
        return job;
    takt_serve_job_free(job);
    return NULL;
}

bool takt_serve_words_remove(takt_server *s, const takt_job *job)
{
    takt_job **at = &s->words.first;
    while (*at != NULL && *at != job)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    *at = job->next;
    s->words.waiting--;
    return true;
}

static bool enqueue(takt_server *s, takt_job *job)
{
    takt_lock_take(&s->lock);
    const bool has_room = s->words.waiting < WAITING;
    takt_job **last = &s->words.first;
    while (*last != NULL)
        last = &(*last)->next;
    s->words.waiting += has_room;
    if (has_room)
        *last = job;
    takt_lock_give(&s->lock);
    return has_room;
}

void takt_serve_words(takt_server *s, takt_conn *c, takt_span body, bool to_ids)
{
    if (body.length <= SHORT) {
        takt_arena arena;
        takt_arena_init(&arena, &s->shadow);
        const request r = {s, &s->shadow, &arena, &c->out, c->request.keeps_alive};
        convert(&r, body, to_ids);
        takt_arena_deinit(&arena);
        return;
    }
    takt_job *job = create(s, c, body, to_ids);
    if (job != NULL && enqueue(s, job)) {
        c->job = job;
        takt_serve_words_call(s);
        return;
    }
    takt_serve_error(&c->out, 503, c->request.keeps_alive, 0,
                     job == NULL ? "out of memory" : "too many requests wait");
    if (job != NULL)
        takt_serve_job_free(job);
}
