/* written.c - names in option texts: quotes, escapes, comparison without memory. */
#include "base/written.h"

#include <string.h>

#include "base/utf8.h"

/* Iterates over the bytes of a name. */
typedef struct reader {
    const char *at, *end;
    bool is_quoted, is_wrong;
    char ready[4]; /* of an escaped character */
    size_t ready_at, ready_count;
} reader;

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* {1F600}, after \u; NUL is not allowed in a text. */
static bool unicode(reader *r)
{
    uint32_t character = 0;
    size_t count = 0;
    if (r->at == r->end || *r->at++ != '{')
        return false;
    for (; r->at < r->end && hex_digit(*r->at) >= 0 && count < 6; r->at++, count++)
        character = character * 16 + (uint32_t)hex_digit(*r->at);
    if (count == 0 || r->at == r->end || *r->at++ != '}' || character > 0x10ffff ||
        character == 0 || (character >= 0xd800 && character < 0xe000))
        return false;
    r->ready_count = takt_utf8_put(character, r->ready);
    r->ready_at = 0;
    return true;
}

/* After a backslash; the bytes are decoded. */
static bool escape(reader *r)
{
    if (r->at == r->end)
        return false;
    const char c = *r->at++;
    if (c == 'u')
        return unicode(r);
    if (c != 'n' && c != 't' && c != '"' && c != '\\' && c != '`')
        return false;
    r->ready[0] = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    r->ready_at = 0;
    r->ready_count = 1;
    return true;
}

/* The next byte, or -1 at the end. */
static int next(reader *r)
{
    if (r->ready_at == r->ready_count) {
        if (r->at == r->end)
            return -1;
        if (!r->is_quoted || *r->at != '\\')
            return (unsigned char)*r->at++;
        r->at++;
        if (!escape(r)) {
            r->is_wrong = true;
            r->at = r->end;
            return -1;
        }
    }
    return (unsigned char)r->ready[r->ready_at++];
}

/* Bytes up to and including the closing quote of a quoted name, or 0. */
static size_t closing(const char *text, size_t length)
{
    if (length < 2 || text[0] != '`')
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (text[i] == '`')
            return i + 1;
        i += text[i] == '\\';
    }
    return 0;
}

static reader reader_of(takt_span written)
{
    const bool is_quoted =
        written.length > 0 && closing(written.at, written.length) == written.length;
    return (reader){.at = written.at + (is_quoted ? 1 : 0),
                    .end = written.at + written.length - (is_quoted ? 1 : 0),
                    .is_quoted = is_quoted};
}

static bool read_all(reader *r, char *to, size_t room, size_t *length)
{
    int c;
    *length = 0;
    while ((c = next(r)) >= 0) {
        if (*length == room)
            return false;
        to[(*length)++] = (char)c;
    }
    return !r->is_wrong;
}

static bool same(reader *a, reader *b)
{
    int c;
    do {
        c = next(a);
        if (c != next(b))
            return false;
    } while (c >= 0);
    return !a->is_wrong && !b->is_wrong;
}

size_t takt_written_length(const char *text, const char *ends)
{
    const size_t quoted = closing(text, strlen(text));
    return quoted + strcspn(text + quoted, ends);
}

bool takt_written_pair(takt_span item, takt_span *name, takt_span *value)
{
    size_t length = closing(item.at, item.length);
    if (length == 0 || length == item.length || item.at[length] != '=')
        for (length = item.length; length > 0 && item.at[length - 1] != '=';)
            length--;
    else
        length++;
    if (length < 2 || length == item.length)
        return false;
    *name = (takt_span){item.at, length - 1};
    *value = (takt_span){item.at + length, item.length - length};
    return true;
}

bool takt_written_read(takt_span written, char *to, size_t room, size_t *length)
{
    reader r = reader_of(written);
    return read_all(&r, to, room, length);
}

bool takt_written_same(takt_span a, takt_span b)
{
    reader x = reader_of(a), y = reader_of(b);
    return same(&x, &y);
}

bool takt_written_is(takt_span written, takt_span name)
{
    reader x = reader_of(written), y = {.at = name.at, .end = name.at + name.length};
    return same(&x, &y);
}

bool takt_quoted_read(const char *inside, size_t length, char *to, size_t *to_length)
{
    reader r = {.at = inside, .end = inside + length, .is_quoted = true};
    return read_all(&r, to, length, to_length);
}
