/* http.c - HTTP/1.1 requests from untrusted bytes. */
#include "serve/http.h"

#include <string.h>

#include "base/cursor.h"

typedef struct reader {
    takt_cursor c;
    takt_http_request *r;
    bool has_host;
} reader;

static bool refuse(reader *d, int status)
{
    if (d->r->status == 0)
        d->r->status = status;
    return false;
}

/* Characters of methods and names of fields. */
static bool is_token(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool same_name(takt_span a, const char *name)
{
    const size_t n = strlen(name);
    if (a.length != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char c = a.at[i] >= 'A' && a.at[i] <= 'Z' ? (char)(a.at[i] + 'a' - 'A') : a.at[i];
        if (c != name[i])
            return false;
    }
    return true;
}

/* The next line, without \r\n; a lone \n or \r is refused, and so are control characters. */
static bool next_line(reader *d, takt_span *line)
{
    const size_t begin = d->c.pos;
    while (takt_cursor_left(&d->c) > 0) {
        const uint8_t byte = takt_cursor_u8(&d->c);
        if (byte == '\r') {
            *line = (takt_span){(const char *)d->c.base + begin, d->c.pos - 1 - begin};
            return takt_cursor_u8(&d->c) == '\n' || refuse(d, 400);
        }
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
            return refuse(d, 400);
    }
    return refuse(d, 400);
}

/* METHOD SP /path SP HTTP/1.x */
static bool read_request_line(reader *d)
{
    takt_span line;
    takt_http_request *r = d->r;
    if (!next_line(d, &line))
        return false;
    if (line.length > TAKT_HTTP_LINE)
        return refuse(d, 414);
    size_t i = 0;
    while (i < line.length && is_token((uint8_t)line.at[i]))
        i++;
    r->method = (takt_span){line.at, i};
    if (i == 0 || i > 16 || i >= line.length || line.at[i] != ' ')
        return refuse(d, 400);
    const size_t path = ++i;
    while (i < line.length && line.at[i] != ' ')
        i++;
    const takt_span target = {line.at + path, i - path};
    if (target.length == 0 || target.at[0] != '/' || i >= line.length)
        return refuse(d, 400);
    const char *query = memchr(target.at, '?', target.length);
    r->path = (takt_span){target.at, query != NULL ? (size_t)(query - target.at) : target.length};
    const takt_span version = {line.at + i + 1, line.length - i - 1};
    r->is_old = takt_span_is(version, "HTTP/1.0");
    r->keeps_alive = !r->is_old;
    if (r->is_old || takt_span_is(version, "HTTP/1.1"))
        return true;
    return refuse(d, version.length == 8 && memcmp(version.at, "HTTP/", 5) == 0 ? 505 : 400);
}

static bool read_length(reader *d, takt_span value)
{
    uint64_t n = 0;
    if (value.length == 0 || value.length > 18)
        return refuse(d, value.length > 18 ? 413 : 400);
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return refuse(d, 400);
        n = 10 * n + (uint64_t)(value.at[i] - '0');
    }
    if (d->r->has_length && d->r->body_bytes != n)
        return refuse(d, 400);
    d->r->has_length = true;
    d->r->body_bytes = n;
    return true;
}

static bool read_field(reader *d, takt_span name, takt_span value)
{
    takt_http_request *r = d->r;
    if (same_name(name, "content-length"))
        return read_length(d, value);
    if (same_name(name, "transfer-encoding")) {
        if (r->is_chunked || !same_name(value, "chunked"))
            return refuse(d, r->is_chunked ? 400 : 501);
        r->is_chunked = true;
    } else if (same_name(name, "connection")) {
        r->keeps_alive =
            same_name(value, "keep-alive") || (r->keeps_alive && !same_name(value, "close"));
    } else if (same_name(name, "expect")) {
        if (!same_name(value, "100-continue"))
            return refuse(d, 417);
        r->expects_continue = true;
    } else if (same_name(name, "authorization")) {
        r->authorization = value;
    } else if (same_name(name, "host")) {
        if (d->has_host)
            return refuse(d, 400);
        d->has_host = true;
    }
    return true;
}

static bool read_fields(reader *d)
{
    takt_span line;
    for (size_t count = 0; next_line(d, &line); count++) {
        size_t i = 0;
        if (line.length == 0)
            return true;
        if (count == TAKT_HTTP_FIELDS)
            return refuse(d, 431);
        while (i < line.length && is_token((uint8_t)line.at[i]))
            i++;
        if (i == 0 || i >= line.length || line.at[i] != ':')
            return refuse(d, 400); /* also continuation lines */
        takt_span value = {line.at + i + 1, line.length - i - 1};
        while (value.length > 0 && (value.at[0] == ' ' || value.at[0] == '\t'))
            value = (takt_span){value.at + 1, value.length - 1};
        while (value.length > 0 &&
               (value.at[value.length - 1] == ' ' || value.at[value.length - 1] == '\t'))
            value.length--;
        if (!read_field(d, (takt_span){line.at, i}, value))
            return false;
    }
    return false;
}

/* The end of the header, or 0. */
static size_t header_end(const char *bytes, size_t length)
{
    for (size_t i = 3; i < length; i++)
        if (bytes[i] == '\n' && bytes[i - 1] == '\r' && bytes[i - 2] == '\n' &&
            bytes[i - 3] == '\r')
            return i + 1;
    return 0;
}

takt_http_state takt_http_parse(const char *bytes, size_t length, takt_http_request *r)
{
    *r = (takt_http_request){.status = 0};
    const size_t end = header_end(bytes, length < TAKT_HTTP_HEADER ? length : TAKT_HTTP_HEADER);
    reader d = {.c = takt_cursor_of(bytes, end > 0 ? end : length, 0), .r = r};
    if (end == 0 && length < TAKT_HTTP_HEADER) {
        /* Bytes that cannot begin a request are refused without waiting for its end. */
        for (size_t i = 0; i < length && bytes[i] != ' '; i++)
            if (!is_token((uint8_t)bytes[i])) {
                r->status = 400;
                return TAKT_HTTP_BAD;
            }
        return TAKT_HTTP_MORE;
    }
    if (end == 0) {
        r->status = memchr(bytes, '\n', TAKT_HTTP_LINE) == NULL ? 414 : 431;
        return TAKT_HTTP_BAD;
    }
    r->header_bytes = end;
    if (!read_request_line(&d) || !read_fields(&d))
        return TAKT_HTTP_BAD;
    if ((r->is_chunked && (r->has_length || r->is_old)) || (!d.has_host && !r->is_old))
        r->status = 400;
    return r->status != 0 ? TAKT_HTTP_BAD : TAKT_HTTP_READY;
}

/* ---- chunks ---- */

/* "1a;name=value\r\n" at `pos`: its size; MORE, or BAD. */
static takt_http_state chunk_size(const char *bytes, size_t length, size_t *pos, uint64_t *size)
{
    size_t i = *pos, digits = 0;
    *size = 0;
    for (; i < length && digits <= 8; i++, digits++) {
        const char c = bytes[i];
        const bool is_digit = c >= '0' && c <= '9', is_low = c >= 'a' && c <= 'f';
        if (!is_digit && !is_low && !(c >= 'A' && c <= 'F'))
            break;
        *size = *size << 4 | (uint64_t)(is_digit ? c - '0' : is_low ? c - 'a' + 10 : c - 'A' + 10);
    }
    if ((digits == 0 && i < length) || digits > 8)
        return TAKT_HTTP_BAD;
    for (; i < length && bytes[i] != '\r'; i++) /* extensions are ignored */
        if ((unsigned char)bytes[i] < 0x20 || i - *pos > 256)
            return TAKT_HTTP_BAD;
    if (i + 1 >= length)
        return TAKT_HTTP_MORE;
    if (bytes[i + 1] != '\n')
        return TAKT_HTTP_BAD;
    *pos = i + 2;
    return TAKT_HTTP_READY;
}

takt_http_state takt_http_chunks(char *bytes, size_t length, size_t most, size_t *used,
                                 size_t *body)
{
    while (*used < length) {
        size_t pos = *used;
        uint64_t size;
        const takt_http_state state = chunk_size(bytes, length, &pos, &size);
        if (state != TAKT_HTTP_READY)
            return state;
        if (size > most - *body)
            return TAKT_HTTP_BAD;
        const size_t n = (size_t)size;
        if (length - pos < n + 2)
            return TAKT_HTTP_MORE;
        if (bytes[pos + n] != '\r' || bytes[pos + n + 1] != '\n')
            return TAKT_HTTP_BAD; /* fields after the last chunk are refused, too */
        memmove(bytes + *body, bytes + pos, n);
        *body += n;
        *used = pos + n + 2;
        if (n == 0)
            return TAKT_HTTP_READY;
    }
    return TAKT_HTTP_MORE;
}

const char *takt_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {{200, "OK"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {408, "Request Timeout"},
                {411, "Length Required"},
                {413, "Content Too Large"},
                {414, "URI Too Long"},
                {417, "Expectation Failed"},
                {431, "Request Header Fields Too Large"},
                {500, "Internal Server Error"},
                {501, "Not Implemented"},
                {503, "Service Unavailable"},
                {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Error";
}
