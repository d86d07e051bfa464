/* decode.c - ids to a text. */
#include <string.h>

#include "text/tokenizer.h"

static void put(takt_token_text *w, const char *bytes, size_t count)
{
    if (count > 0 && w->length < w->capacity) { /* an id without a token has no bytes */
        const size_t room = w->capacity - w->length;
        memcpy(w->at + w->length, bytes, count < room ? count : room);
    }
    w->length += count;
}

static void put_marked(takt_token_text *w, takt_span text, takt_first_marks first)
{
    for (size_t i = 0; i < text.length;) {
        const bool is_mark = text.length - i >= TAKT_TOKEN_MARK_BYTES &&
                             memcmp(text.at + i, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES) == 0;
        const bool drops = first == TAKT_MARKS_DROPPED || (first == TAKT_MARK_DROPPED && i == 0);
        if (!is_mark)
            put(w, text.at + i, 1);
        else if (!drops)
            put(w, " ", 1);
        i += is_mark ? TAKT_TOKEN_MARK_BYTES : 1;
    }
}

static takt_first_marks first_marks(const takt_tokenizer *t)
{
    if (t->first_marks != TAKT_MARKS_BY_MODEL)
        return t->first_marks;
    return t->model == TAKT_TOKENIZER_WORDS || t->begins_spaced ? TAKT_MARK_DROPPED
                                                                : TAKT_MARKS_KEPT;
}

static int32_t byte_of(const takt_tokenizer *t, int32_t id)
{
    for (int32_t b = 0; b < 256; b++)
        if (t->bytes[b] == id)
            return b;
    return -1;
}

static bool is_command(const takt_tokenizer *t, int32_t id)
{
    return t->kinds[id] == TAKT_TOKEN_CONTROL || t->kinds[id] == TAKT_TOKEN_UNKNOWN;
}

/* `first`: what becomes of the token's marks. */
static void put_token(const takt_tokenizer *t, int32_t id, takt_first_marks first,
                      takt_token_text *w)
{
    const takt_span text = t->texts[id];
    const int32_t byte = t->kinds[id] == TAKT_TOKEN_BYTE ? byte_of(t, id) : -1;
    const bool is_added = is_command(t, id) || t->kinds[id] == TAKT_TOKEN_USER;
    if (byte >= 0) {
        const char c = (char)byte;
        put(w, &c, 1);
    } else if (t->model == TAKT_TOKENIZER_BYTES ||
               (is_added && t->first_marks == TAKT_MARKS_BY_MODEL)) {
        put(w, text.at, text.length);
    } else {
        put_marked(w, text, first);
    }
}

takt_status takt_detokenize(const takt_tokenizer *t, const int32_t *ids, size_t count,
                            unsigned flags, takt_token_text *text)
{
    TAKT_NEED(NULL, t);
    TAKT_NEED(t->ctx, text);
    text->length = 0;
    if ((ids == NULL && count > 0) || (text->at == NULL && text->capacity > 0))
        return takt_fail(t->ctx, TAKT_E_ARGUMENT, "takt_detokenize: ids or text->at is NULL");
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= t->count)
            return takt_fail(t->ctx, TAKT_E_TOKEN_ID,
                             "token %zu is %d; the vocabulary has ids from 0 to %zu", i, ids[i],
                             t->count - 1);
    if (t->decoder_count > 0)
        return takt_decoders_run(t, ids, count, flags, text);
    takt_first_marks first =
        (flags & TAKT_DETOKENIZE_CONTINUE) != 0 ? TAKT_MARKS_KEPT : first_marks(t);
    for (size_t i = 0; i < count; i++) {
        if (is_command(t, ids[i]) && (flags & TAKT_DETOKENIZE_CONTROL) == 0)
            continue;
        put_token(t, ids[i], first, text);
        first = TAKT_MARKS_KEPT;
    }
    return TAKT_OK;
}
