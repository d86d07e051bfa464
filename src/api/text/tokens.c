/* tokens.c - the tokens of a text, as a table and as JSON. */
#include <string.h>

#include "base/report.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

/* The bytes of a token as text: invalid UTF-8 and unprintable characters as \xNN. */
static void show(takt_text *text, const char *bytes, size_t length)
{
    for (size_t i = 0, n; i < length; i += n) {
        const unsigned char c = (unsigned char)bytes[i];
        n = takt_utf8_length(bytes + i, length - i);
        if (n == 0 || c < 0x20 || c == 0x7F) {
            n = 1;
            takt_text_add(text, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\x%02X", c);
        } else {
            takt_text_put(text, bytes + i, n);
        }
    }
}

static void put_json(takt_report *r, const takt_tokenizer *t, const int32_t *ids, size_t count)
{
    takt_report_pair(r, "tokenizer", takt_tokenizer_kind(t));
    takt_report_count(r, "vocabulary", t->count);
    takt_report_count(r, "count", count);
    takt_json_put_open(&r->json, "ids", '[');
    for (size_t i = 0; i < count; i++)
        takt_json_integer(&r->json, ids[i]);
    takt_json_close(&r->json, ']');
    takt_json_put_open(&r->json, "tokens", '[');
    for (size_t i = 0; i < count; i++) {
        takt_text piece;
        takt_text_init(&piece, r->ctx);
        show(&piece, t->texts[ids[i]].at, t->texts[ids[i]].length);
        takt_json_string(&r->json, takt_text_get(&piece));
        if (piece.status != TAKT_OK)
            r->text.status = piece.status;
        takt_text_deinit(&piece);
    }
    takt_json_close(&r->json, ']');
}

static void put_text(takt_report *r, const takt_tokenizer *t, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        takt_text_add(&r->text, "%6d  '", ids[i]);
        show(&r->text, t->texts[ids[i]].at, t->texts[ids[i]].length);
        takt_text_add(&r->text, "'\n");
    }
}

takt_status takt_tokens_report(const takt_tokenizer *t, const int32_t *ids, size_t count,
                               takt_format format, takt_sink_fn *sink, void *user)
{
    takt_report r;
    TAKT_NEED(NULL, t);
    TAKT_NEED(t->ctx, sink);
    if (ids == NULL && count > 0)
        return takt_fail(t->ctx, TAKT_E_ARGUMENT, "takt_tokens_report: ids is NULL");
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= t->count)
            return takt_fail(t->ctx, TAKT_E_TOKEN_ID, "token %zu is %d, which does not exist", i,
                             ids[i]);
    takt_report_begin(&r, t->ctx, format);
    if (r.is_json)
        put_json(&r, t, ids, count);
    else
        put_text(&r, t, ids, count);
    return takt_report_end(&r, TAKT_OK, sink, user);
}
