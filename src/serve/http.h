/* http.h - HTTP/1.1 requests, from untrusted bytes.
 *
 * A request is parsed when its header is complete; only offsets into the bytes are kept. Anything
 * that is not exactly HTTP is refused with a status that tells why: request smuggling works when
 * two readers understand a request differently.
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
    TAKT_HTTP_BAD, /* `status` tells why */
} takt_http_state;

typedef struct takt_http_request {
    takt_span method, path; /* the path without the query */
    takt_span authorization;
    size_t header_bytes;
    uint64_t body_bytes;                 /* Content-Length */
    bool is_chunked, has_length, is_old; /* is_old: HTTP/1.0 */
    bool keeps_alive, expects_continue;
    int status; /* if it is bad: 400, 411, 413, 414, 431, 501, 505 */
} takt_http_request;

takt_http_state takt_http_parse(const char *bytes, size_t length, takt_http_request *r);

/* Joins the chunks of a body in place: the first `*body` bytes are the body so far, `*used` bytes
 * were read. BAD if they are not chunks, or longer than `most` bytes. */
takt_http_state takt_http_chunks(char *bytes, size_t length, size_t most, size_t *used,
                                 size_t *body);

/* "Not Found" for 404. */
const char *takt_http_reason(int status);

#endif
