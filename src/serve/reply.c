/* reply.c - replies and error messages. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/serve.h"

static const char *field_of(int status)
{
    return status == 503   ? "Retry-After: 1\r\n"
           : status == 401 ? "WWW-Authenticate: Bearer\r\n"
                           : "";
}

/* `field`: one more line of the header, or "". */
static void reply(takt_text *out, int status, bool keeps_alive, const char *type, const char *field,
                  takt_span body)
{
    takt_text_add(out,
                  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                  "Connection: %s\r\n\r\n",
                  status, takt_http_reason(status), type, body.length, field,
                  keeps_alive ? "keep-alive" : "close");
    takt_text_put(out, body.at, body.length);
}

void takt_serve_reply(takt_text *out, int status, bool keeps_alive, const char *type,
                      takt_span body)
{
    reply(out, status, keeps_alive, type, field_of(status), body);
}

void takt_json_spans(takt_json_writer *w, takt_span text)
{
    takt_text valid;
    takt_text_init(&valid, w->text->ctx);
    for (size_t i = 0, n; i < text.length; i += n) {
        n = takt_utf8_length(text.at + i, text.length - i);
        if (n > 0 && text.at[i] != '\0')
            takt_text_put(&valid, text.at + i, n);
        else
            takt_text_put(&valid, "\xEF\xBF\xBD", 3);
        n = n > 0 ? n : 1;
    }
    takt_json_string(w, takt_text_get(&valid));
    if (valid.status != TAKT_OK && w->text->status == TAKT_OK)
        w->text->status = valid.status;
    takt_text_deinit(&valid);
}

static void put_error(takt_text *body, int status, int id, const char *message)
{
    takt_json_writer w;
    takt_json_begin(&w, body, false);
    takt_json_open(&w, '{');
    takt_json_put_open(&w, "error", '{');
    takt_json_key(&w, "message");
    takt_json_spans(&w, takt_span_of(message));
    takt_json_put_string(&w, "type",
                         status == 503  ? "overloaded_error"
                         : status < 500 ? "invalid_request_error"
                                        : "server_error");
    takt_json_put_integer(&w, "code", id > 0 ? id : status);
    takt_json_close(&w, '}');
    takt_json_close(&w, '}');
}

void takt_serve_error(takt_text *out, int status, bool keeps_alive, int id, const char *message)
{
    takt_text body;
    takt_text_init(&body, out->ctx);
    put_error(&body, status, id, message);
    takt_serve_reply(out, status, keeps_alive, "application/json",
                     (takt_span){takt_text_get(&body), body.length});
    takt_text_deinit(&body);
}

void takt_serve_wrong_method(takt_conn *c, const char *allowed)
{
    char field[48], message[160];
    const takt_span method = c->request.method, path = c->request.path;
    takt_text body;
    (void)snprintf(field, sizeof field, "Allow: %s\r\n", allowed);
    (void)snprintf(message, sizeof message, "%.*s is not allowed for %.*s, which takes %s",
                   (int)(method.length < 16 ? method.length : 16), method.at,
                   (int)(path.length < 100 ? path.length : 100), path.at, allowed);
    takt_text_init(&body, c->out.ctx);
    put_error(&body, 405, 0, message);
    reply(&c->out, 405, c->request.keeps_alive, "application/json", field,
          (takt_span){takt_text_get(&body), body.length});
    takt_text_deinit(&body);
}

int takt_serve_status(takt_status status)
{
    switch (status) {
    case TAKT_ERR_MEMORY: return 503;
    case TAKT_ERR_INTERNAL:
    case TAKT_ERR_DEVICE:
    case TAKT_ERR_IO: return 500;
    default: return 400;
    }
}
