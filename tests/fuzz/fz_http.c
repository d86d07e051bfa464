/* fz_http.c - any bytes as requests: every prefix of a header is refused or waited for, parsed
 * fields lie within the bytes, and chunks are joined the same way however they arrive. */
#include "serve/http.h"

#include "fuzz/target.h"

static void within(const uint8_t *data, size_t size, takt_span s)
{
    const uintptr_t at = (uintptr_t)s.at, base = (uintptr_t)data;
    must(s.length == 0 || (at >= base && at + s.length <= base + size));
}

static void chunks(const uint8_t *data, size_t size)
{
    size_t used = 0, body = 0, later_used = 0, later_body = 0;
    char *whole = malloc(size + 1), *parts = malloc(size + 1);
    if (whole != NULL && parts != NULL) {
        takt_http_state state = TAKT_HTTP_MORE;
        memcpy(whole, data, size);
        memcpy(parts, data, size);
        const takt_http_state at_once = takt_http_chunks(whole, size, 1 << 16, &used, &body);
        for (size_t n = 1; n <= size && state == TAKT_HTTP_MORE; n++)
            state = takt_http_chunks(parts, n, 1 << 16, &later_used, &later_body);
        must(body <= used && used <= size);
        must(state == at_once && later_used == used && later_body == body);
        must(memcmp(whole, parts, body) == 0);
    }
    free(whole);
    free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    takt_http_request r;
    const takt_http_state state = takt_http_parse((const char *)data, size, &r);
    if (state == TAKT_HTTP_BAD)
        must(r.status >= 400 && r.status < 600 && takt_http_reason(r.status) != NULL);
    if (state == TAKT_HTTP_READY) {
        must(r.header_bytes <= size && r.method.length > 0 && r.path.at[0] == '/');
        must(!(r.is_chunked && r.has_length));
        within(data, r.header_bytes, r.method);
        within(data, r.header_bytes, r.path);
        within(data, r.header_bytes, r.authorization);
        /* More bytes behind it change nothing. */
        takt_http_request again;
        must(takt_http_parse((const char *)data, r.header_bytes, &again) == TAKT_HTTP_READY);
        must(again.header_bytes == r.header_bytes && again.body_bytes == r.body_bytes);
    }
    if (size <= 4096)
        chunks(data, size);
    return 0;
}
