/* connection.c - connections: bytes in, requests, bytes out, and timeouts. */
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

enum { TICK_MS = 200, OUT_LIMIT = 4 << 20 };

/* ---- life ---- */

static void close_conn(takt_server *s, takt_conn *c)
{
    if (c->job != NULL)
        takt_serve_leave(s, c->job);
    takt_net_close(c->socket);
    takt_mem_put(&s->shadow, c->in, c->room + 1);
    takt_text_deinit(&c->out);
    *c = (takt_conn){.socket = -1};
    while (s->conn_end > 0 && s->conns[s->conn_end - 1].socket < 0)
        s->conn_end--;
}

static bool open_conn(takt_server *s, takt_conn *c, int socket)
{
    void *block;
    if (takt_mem_get(&s->shadow, TAKT_HTTP_HEADER + 1, "a connection", &block) != TAKT_OK)
        return false;
    *c = (takt_conn){.socket = socket,
                     .in = block,
                     .room = TAKT_HTTP_HEADER,
                     .is_new = true,
                     .since_ns = takt_serve_now(s)};
    takt_text_init(&c->out, &s->shadow);
    const size_t end = (size_t)(c - s->conns) + 1;
    s->conn_end = end > s->conn_end ? end : s->conn_end;
    return true;
}

static void accept_all(takt_server *s)
{
    static const char refusal[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                                  "Content-Length: 0\r\nConnection: close\r\n\r\n";
    int socket, error;
    while ((error = takt_net_accept(s->listener, &socket)) == 0) {
        size_t i = 0, done;
        while (i < s->conn_count && s->conns[i].socket >= 0)
            i++;
        if (i < s->conn_count && open_conn(s, &s->conns[i], socket))
            continue;
        (void)takt_net_write(socket, refusal, sizeof refusal - 1, &done);
        takt_net_close(socket);
    }
    /* The waiting job stays in the queue: retrying immediately would keep a processor busy. */
    if (!takt_net_would_block(error))
        s->accept_ns = takt_serve_now(s) + (uint64_t)TAKT_SERVE_ACCEPT_MS * 1000000;
}

/* ---- requests ---- */

static void refuse(takt_server *s, takt_conn *c, int status)
{
    (void)s;
    c->is_closing = c->is_refused = true;
    takt_serve_error(&c->out, status, false, TAKT_E_HTTP, takt_http_reason(status));
}

/* Makes room for the header and `bytes` of body. */
static bool make_room(takt_server *s, takt_conn *c, size_t bytes)
{
    void *block;
    const size_t room = c->request.header_bytes + bytes;
    if (room <= c->room)
        return true;
    if (takt_mem_get(&s->shadow, room + 1, "a request", &block) != TAKT_OK)
        return false;
    memcpy(block, c->in, c->have);
    takt_mem_put(&s->shadow, c->in, c->room + 1);
    c->in = block;
    c->room = room;
    return true;
}

/* A client without a key cannot send a body. */
static bool refuse_key(takt_server *s, takt_conn *c)
{
    const bool keeps_alive = c->request.keeps_alive;
    c->request.keeps_alive = false;
    const bool is_allowed = takt_serve_allowed(s, c);
    c->request.keeps_alive = keeps_alive;
    if (!is_allowed)
        c->is_closing = c->is_refused = true;
    return !is_allowed;
}

static bool read_header(takt_server *s, takt_conn *c)
{
    const takt_http_state state = takt_http_parse(c->in, c->have, &c->request);
    const uint64_t most = (uint64_t)s->options.body_bytes;
    if (state == TAKT_HTTP_MORE)
        return false;
    takt_http_request *r = &c->request;
    const bool is_post = takt_span_is(r->method, "POST");
    int status = state == TAKT_HTTP_BAD ? r->status : 0;
    if (status == 0 && r->body_bytes > most)
        status = 413;
    if (status == 0 && is_post && !r->is_chunked && !r->has_length)
        status = 411;
    if (status == 0 && (r->is_chunked || r->body_bytes > 0) && refuse_key(s, c))
        return false;
    const size_t body = r->is_chunked ? (size_t)most + (most / 8) : (size_t)r->body_bytes;
    if (status == 0 && !make_room(s, c, body))
        status = 503;
    if (status != 0) {
        refuse(s, c, status);
        return false;
    }
    /* The header's text is in a block that may have moved. */
    (void)takt_http_parse(c->in, c->have, r);
    c->has_header = true;
    c->since_ns = takt_serve_now(s);
    if (r->expects_continue && c->have == r->header_bytes)
        takt_text_add(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    return true;
}

/* Whether the body is complete. */
static bool read_body(takt_server *s, takt_conn *c)
{
    takt_http_request *r = &c->request;
    char *at = c->in + r->header_bytes;
    const size_t have = c->have - r->header_bytes;
    if (!r->is_chunked) {
        c->body = (size_t)r->body_bytes;
        c->used = c->body;
        return have >= c->body;
    }
    const takt_http_state state =
        takt_http_chunks(at, have, (size_t)s->options.body_bytes, &c->used, &c->body);
    if (state == TAKT_HTTP_BAD || (state == TAKT_HTTP_MORE && c->have == c->room))
        refuse(s, c, state == TAKT_HTTP_BAD ? 400 : 413);
    return state == TAKT_HTTP_READY;
}

/* Answers requests while complete ones are available; only one at a time has a job. */
static void answer(takt_server *s, takt_conn *c)
{
    while (c->job == NULL && !c->is_closing && c->have > 0 && c->out.length < OUT_LIMIT) {
        if (!c->has_header && !read_header(s, c))
            break;
        if (!read_body(s, c))
            break;
        c->has_begun = false;
        takt_serve_route(s, c);
        c->is_closing = c->is_closing || !c->request.keeps_alive;
        const size_t used = c->request.header_bytes + c->used;
        memmove(c->in, c->in + used, c->have - used);
        c->have -= used;
        c->body = c->used = 0;
        c->has_header = c->is_new = false;
        c->since_ns = takt_serve_now(s);
    }
}

/* ---- bytes ---- */

/* A client that has sent everything, and one that is gone, look the same until bytes are sent: the
 * system of the latter then resets the connection. HTTP allows a line before the answer for that;
 * in the answer of HTTP/1.0 there can be none. False: nobody waits. */
static bool close_half(takt_conn *c)
{
    c->is_half = true;
    if (c->job != NULL && !c->has_begun && !c->request.is_old)
        takt_text_add(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    return c->job != NULL ? c->has_begun || !c->request.is_old : c->out.length > 0 || c->have > 0;
}

static bool fill(takt_server *s, takt_conn *c)
{
    size_t done = 0;
    if (c->have == c->room)
        return true;
    const int error = takt_net_read(c->socket, c->in + c->have, c->room - c->have, &done);
    if (error != 0)
        return takt_net_would_block(error);
    if (done == 0)
        return close_half(c);
    if (c->have == 0)
        c->since_ns = takt_serve_now(s);
    c->have += done;
    return true;
}

static bool flush(const takt_server *s, takt_conn *c)
{
    while (c->sent < c->out.length) {
        size_t done = 0;
        const int error =
            takt_net_write(c->socket, c->out.at + c->sent, c->out.length - c->sent, &done);
        if (error != 0)
            return takt_net_would_block(error);
        c->sent += done;
        c->since_ns = takt_serve_now(s);
    }
    c->out.length = c->sent = 0;
    return true;
}

/* Collects the engine's output for it; a finished job is freed. */
static void collect(takt_server *s, takt_conn *c)
{
    takt_job *job = c->job;
    if (job == NULL || c->out.length > OUT_LIMIT)
        return;
    takt_lock_take(&s->lock);
    c->has_begun = c->has_begun || job->out.length > 0;
    takt_text_put(&c->out, takt_text_get(&job->out), job->out.length);
    job->out.length = 0;
    const bool is_done = job->is_done;
    const bool has_failed = job->out.status != TAKT_OK;
    takt_lock_give(&s->lock);
    if (!is_done && !has_failed)
        return;
    c->is_closing = c->is_closing || has_failed || job->is_old || !job->keeps_alive;
    c->job = NULL;
    takt_serve_leave(s, job);
    c->since_ns = takt_serve_now(s);
}

/* Whether it timed out: sending a header, a body, anything; or reading a response. */
static bool is_late(takt_server *s, takt_conn *c)
{
    const uint64_t ms = (takt_serve_now(s) - c->since_ns) / 1000000;
    if (c->job != NULL) /* a response that is never read would hold its job forever */
        return c->out.length > OUT_LIMIT && ms > TAKT_SERVE_BODY_MS;
    if (c->out.length > 0)
        return ms > TAKT_SERVE_BODY_MS;
    if (c->has_header || c->have > 0) {
        if (ms <= (c->has_header ? TAKT_SERVE_BODY_MS : TAKT_SERVE_HEADER_MS))
            return false;
        refuse(s, c, 408);
        (void)flush(s, c);
        return true;
    }
    return ms > TAKT_SERVE_IDLE_MS;
}

/* ---- the end ---- */

/* Closing a socket with unread bytes resets the connection and loses the response, so they are read
 * for a while. Returns whether there may be more. */
static bool drain(takt_server *s, takt_conn *c)
{
    enum { READS = 16 };
    size_t done = 0;
    int error = 0;
    for (int i = 0; i < READS && error == 0; i++) {
        error = takt_net_read(c->socket, c->in, c->room, &done);
        if (error == 0 && done == 0)
            return false;
    }
    return (error == 0 || takt_net_would_block(error)) &&
           (takt_serve_now(s) - c->since_ns) / 1000000 <= TAKT_SERVE_DRAIN_MS;
}

static void end_conn(takt_server *s, takt_conn *c, bool is_answered)
{
    if (!is_answered || !c->is_refused) {
        close_conn(s, c);
        return;
    }
    takt_net_finish(c->socket);
    c->is_draining = true;
    c->since_ns = takt_serve_now(s);
}

/* Whether an idle connection is closed: at the end also one that has had its answers, but for a
 * while not one whose client has begun to send, or is about to. */
static bool is_over(const takt_server *s, const takt_conn *c)
{
    if (c->is_closing || c->is_half || !atomic_load_explicit(&s->is_stopping, memory_order_relaxed))
        return c->is_closing || c->is_half;
    return (!c->is_new && c->have == 0) ||
           (takt_serve_now(s) - c->since_ns) / 1000000 > TAKT_SERVE_DRAIN_MS;
}

/* A job may end at once: then the request behind it begins, for which nothing wakes the loop. */
static void answer_all(takt_server *s, takt_conn *c)
{
    bool has_ended = true;
    while (has_ended) {
        answer(s, c);
        has_ended = c->job != NULL;
        collect(s, c);
        has_ended = has_ended && c->job == NULL;
    }
}

static void serve_conn(takt_server *s, takt_conn *c, const takt_net_watch *w)
{
    if (c->is_draining) {
        if (!drain(s, c))
            close_conn(s, c);
        return;
    }
    bool good = !w->is_closed || w->can_read;
    if (good && w->can_read)
        good = fill(s, c);
    if (good) {
        collect(s, c);
        answer_all(s, c);
        good = flush(s, c) && c->out.status == TAKT_OK;
    }
    const bool is_idle = c->job == NULL && c->out.length == 0;
    if (!good || (is_idle && is_over(s, c)) || is_late(s, c))
        end_conn(s, c, good && is_idle);
}

/* ---- the loop ---- */

static size_t watch_all(takt_server *s)
{
    size_t open = 0;
    const bool is_stopping = atomic_load_explicit(&s->is_stopping, memory_order_relaxed);
    s->watch[0] = (takt_net_watch){.socket = s->wake_from, .reads = true};
    const bool accepts = !is_stopping && takt_serve_now(s) >= s->accept_ns;
    s->watch[1] = (takt_net_watch){.socket = accepts ? s->listener : -1, .reads = true};
    for (size_t i = 0; i < s->conn_end; i++) {
        const takt_conn *c = &s->conns[i];
        open += c->socket >= 0;
        /* A closing connection is still read while it has a job, to notice when its client is
         * gone. */
        s->watch[2 + i] =
            (takt_net_watch){.socket = c->socket,
                             .reads = c->is_draining || (!c->is_half && c->have < c->room &&
                                                         (!c->is_closing || c->job != NULL)),
                             .writes = c->out.length > c->sent};
    }
    return open;
}

/* Connections that were made before are served, later ones are refused by the system. */
static void stop_listening(takt_server *s)
{
    if (s->listener < 0)
        return;
    accept_all(s);
    takt_net_close(s->listener);
    s->listener = -1;
}

/* Nobody can be answered any more: jobs that wait are freed, those that have begun end early. */
static takt_status fail_all(takt_server *s)
{
    while (s->conn_end > 0)
        close_conn(s, &s->conns[s->conn_end - 1]);
    return takt_fail(s->ctx, TAKT_E_SERVE_SOCKET, "waiting for connections failed");
}

static bool has_event(const takt_net_watch *w)
{
    return w->can_read || w->can_write || w->is_closed;
}

/* Under overload most events are of requests that are refused: connections whose job has no news
 * are left alone, except once a tick, for their timeouts. */
takt_status takt_serve_loop(takt_server *s)
{
    uint64_t all_ns = 0;
    for (;;) {
        if (atomic_load(&s->is_stopping))
            stop_listening(s);
        const size_t open = watch_all(s);
        if (open == 0 && atomic_load(&s->is_stopping))
            return TAKT_OK;
        if (takt_net_wait(s->watch, s->conn_end + 2, TICK_MS) != 0)
            return fail_all(s);
        const uint64_t now = takt_serve_now(s);
        const bool all = s->watch[0].can_read || now - all_ns >= (uint64_t)TICK_MS * 1000000;
        if (s->watch[0].can_read)
            takt_net_drain(s->wake_from);
        if (all) {
            all_ns = now;
            takt_serve_expire(s);
        }
        for (size_t i = 0; i < s->conn_end; i++)
            if (s->conns[i].socket >= 0 && (all || has_event(&s->watch[2 + i])))
                serve_conn(s, &s->conns[i], &s->watch[2 + i]);
        if (s->watch[1].can_read)
            accept_all(s);
    }
}
