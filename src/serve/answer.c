/* answer.c - text responses as OpenAI's clients expect them: whole, or as a stream of events. */
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "serve/serve.h"

/* ---- JSON of responses ---- */

static const char *reason(const takt_choice *c)
{
    if (c->calls != NULL)
        return "tool_calls";
    return c->end == TAKT_TEXT_EOS || c->end == TAKT_TEXT_STOP ? "stop" : "length";
}

static void put_head(takt_json_writer *w, const takt_job *job)
{
    char id[48];
    const bool is_chat = job->kind == TAKT_JOB_CHAT;
    (void)snprintf(id, sizeof id, "%s-%llu", is_chat ? "chatcmpl" : "cmpl",
                   (unsigned long long)job->number);
    takt_json_open(w, '{');
    takt_json_put_string(w, "id", id);
    takt_json_put_string(w, "object",
                         !is_chat       ? "text_completion"
                         : job->streams ? "chat.completion.chunk"
                                        : "chat.completion");
    takt_json_put_integer(w, "created", job->created);
    takt_json_key(w, "model");
    takt_json_spans(w, takt_span_of(job->server->name));
}

static void put_usage(takt_json_writer *w, const takt_job *job)
{
    takt_json_put_open(w, "usage", '{');
    takt_json_put_unsigned(w, "prompt_tokens", job->id_count);
    takt_json_put_unsigned(w, "completion_tokens", job->tokens);
    takt_json_put_unsigned(w, "total_tokens", job->id_count + job->tokens);
    takt_json_put_open(w, "prompt_tokens_details", '{');
    takt_json_put_unsigned(w, "cached_tokens", job->cached);
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

/* Takes the collected probabilities, which become empty. */
static void put_logs(takt_json_writer *w, takt_choice *c)
{
    takt_json_put_open(w, "logprobs", '{');
    takt_json_put_open(w, "content", '[');
    takt_text_put(w->text, takt_text_get(&c->logs), c->logs.length);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
    c->logs.length = c->log_count = 0;
}

/* The calls of a stream come with its last piece. */
static void put_message(takt_json_writer *w, const takt_job *job, int index, takt_span text,
                        bool is_last)
{
    const takt_calls *calls = is_last ? job->choice[index].calls : NULL;
    const takt_span content = calls != NULL ? calls->content : text;
    takt_json_put_open(w, job->streams ? "delta" : "message", '{');
    if (!job->streams || (!is_last && text.length == 0))
        takt_json_put_string(w, "role", "assistant");
    if (!job->streams && calls != NULL && content.length == 0) {
        takt_json_key(w, "content");
        takt_json_null(w);
    } else if (!job->streams || !is_last) {
        takt_json_key(w, "content");
        takt_json_spans(w, content);
    }
    if (calls != NULL)
        takt_serve_put_calls(w, job, index);
    takt_json_close(w, '}');
}

/* One choice, whole or partial. */
static void put_choice(takt_json_writer *w, takt_job *job, int index, const takt_span *piece,
                       bool is_last)
{
    takt_choice *c = &job->choice[index];
    const takt_span text =
        piece != NULL ? *piece : (takt_span){takt_text_get(&c->text), c->text.length};
    takt_json_open(w, '{');
    takt_json_put_integer(w, "index", index);
    if (job->kind == TAKT_JOB_CHAT) {
        put_message(w, job, index, text, is_last);
    } else {
        takt_json_key(w, "text");
        takt_json_spans(w, is_last && job->streams ? (takt_span){"", 0} : text);
    }
    if (job->wants_logs)
        put_logs(w, c);
    takt_json_key(w, "finish_reason");
    if (is_last)
        takt_json_string(w, reason(c));
    else
        takt_json_null(w);
    takt_json_close(w, '}');
}

/* ---- streams ---- */

static void begin_stream(takt_job *job)
{
    takt_text head;
    if (job->has_begun)
        return;
    job->has_begun = true;
    takt_text_init(&head, job->server->ctx);
    takt_text_add(&head,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: "
                  "no-cache\r\n%sConnection: %s\r\n\r\n",
                  job->is_old ? "" : "Transfer-Encoding: chunked\r\n",
                  job->keeps_alive && !job->is_old ? "keep-alive" : "close");
    takt_serve_send(job->server, job, takt_text_get(&head), head.length);
    takt_text_deinit(&head);
}

static void send_event(takt_job *job, const char *data, size_t length)
{
    takt_text event;
    begin_stream(job);
    takt_text_init(&event, job->server->ctx);
    if (!job->is_old)
        takt_text_add(&event, "%zx\r\n", length + 8);
    takt_text_add(&event, "data: ");
    takt_text_put(&event, data, length);
    takt_text_add(&event, job->is_old ? "\n\n" : "\n\n\r\n");
    takt_serve_send(job->server, job, takt_text_get(&event), event.length);
    takt_text_deinit(&event);
}

/* A piece of choice `index`; NULL: its end. index < 0: the usage. */
void takt_serve_piece(takt_job *job, int index, const takt_span *piece)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, job->server->ctx);
    takt_json_begin(&w, &body, false);
    put_head(&w, job);
    takt_json_put_open(&w, "choices", '[');
    if (index >= 0)
        put_choice(&w, job, index, piece, piece == NULL);
    takt_json_close(&w, ']');
    if (index < 0)
        put_usage(&w, job);
    takt_json_close(&w, '}');
    send_event(job, takt_text_get(&body), body.length);
    takt_text_deinit(&body);
}

void takt_serve_end_stream(takt_job *job)
{
    if (job->tells_usage && !job->has_failed)
        takt_serve_piece(job, -1, NULL);
    if (!job->has_failed)
        send_event(job, "[DONE]", 6);
    if (!job->is_old)
        takt_serve_send(job->server, job, "0\r\n\r\n", 5);
}

/* ---- whole answers ---- */

void takt_serve_whole(takt_job *job)
{
    takt_text body, reply;
    takt_json_writer w;
    takt_text_init(&body, job->server->ctx);
    takt_text_init(&reply, job->server->ctx);
    takt_json_begin(&w, &body, false);
    put_head(&w, job);
    takt_json_put_open(&w, "choices", '[');
    for (int i = 0; i < job->choices; i++)
        put_choice(&w, job, i, NULL, true);
    takt_json_close(&w, ']');
    put_usage(&w, job);
    takt_json_close(&w, '}');
    if (body.status == TAKT_OK)
        takt_serve_reply(&reply, 200, job->keeps_alive, "application/json",
                         (takt_span){takt_text_get(&body), body.length});
    else
        takt_serve_error(&reply, 503, job->keeps_alive, 0, "out of memory for the answer");
    takt_serve_send(job->server, job, takt_text_get(&reply), reply.length);
    takt_text_deinit(&body);
    takt_text_deinit(&reply);
}

void takt_serve_failure(takt_job *job, takt_status status)
{
    takt_server *s = job->server;
    takt_error error;
    takt_text reply;
    if (job->has_failed)
        return;
    job->has_failed = true;
    takt_error_copy(job->grammar != NULL && s->ctx->error.status != status ? &s->shadow : s->ctx,
                    &error);
    takt_text_init(&reply, s->ctx);
    /* The request was checked before: what is malformed now is the model. */
    const int told = status == TAKT_ERR_FORMAT ? 500 : takt_serve_status(status);
    takt_serve_error(&reply, told, job->keeps_alive, error.id, error.message);
    const char *at = takt_text_get(&reply);
    const char *body = job->streams ? strstr(at, "\r\n\r\n") : NULL;
    if (body != NULL && job->has_begun)
        send_event(job, body + 4, strlen(body + 4));
    else
        takt_serve_send(s, job, at, reply.length);
    job->streams = job->streams && job->has_begun;
    takt_text_deinit(&reply);
}
