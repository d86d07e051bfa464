/* http.h - requests of HTTP/1.1, from bytes that nobody checked.
 *
 * A request is parsed when its header is complete; nothing of it is kept but offsets into the
 * bytes. What is not exactly HTTP is refused with the status that says why: two readers that
 * understand a request differently are how requests are smuggled.
 */
#ifndef TAKT_SERVE_HTTP_H
#define TAKT_SERVE_HTTP_H

#include "base/text.h"

enum {
    TAKT_HTTP_HEADER = 16 << 10, /* bytes of the request line and all headers */
    TAKT_HTTP_LINE = 8 << 10,
    TAKT_HTTP_FIELDS = 100,
};

typedef enum takt_http_state {
    TAKT_HTTP_MORE, /* bytes are missing */
    TAKT_HTTP_READY,
    TAKT_HTTP_BAD, /* `status` says why */
} takt_http_state;

typedef struct takt_http_request {
    takt_span method, path; /* the path without what follows ? */
    takt_span authorization;
    size_t header_bytes;
    uint64_t body_bytes;                 /* Content-Length */
    bool is_chunked, has_length, is_old; /* is_old: HTTP/1.0 */
    bool keeps_alive, expects_continue;
    int status; /* where it is bad: 400, 411, 413, 414, 431, 501, 505 */
} takt_http_request;

takt_http_state takt_http_parse(const char *bytes, size_t length, takt_http_request *r);

/* Joins the chunks of a body in place: `*body` bytes at the beginning are body so far, `*used`
 * bytes were read. BAD if they are not chunks, or longer than `most` bytes. */
takt_http_state takt_http_chunks(char *bytes, size_t length, size_t most, size_t *used,
                                 size_t *body);

/* "Not Found" for 404. */
const char *takt_http_reason(int status);

#endif
