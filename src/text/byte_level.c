/* byte_level.c - byte-level vocabularies write each byte as a printable character. */
#include <string.h>

#include "base/utf8.h"
#include "text/tokenizer.h"

/* GPT-2 writes bytes that are not printable characters as U+0100 and up, in order. */
static uint32_t character_of(uint8_t b)
{
    return b < 0x21                 ? 0x100u + b
           : b >= 0x7F && b <= 0xA0 ? 0x121u + b - 0x7Fu
           : b == 0xAD              ? 0x143
                                    : b;
}

static int byte_of(uint32_t c)
{
    if ((c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF))
        return (int)c;
    if (c < 0x100 || c >= 0x144)
        return -1;
    const int n = (int)c - 0x100;
    return n < 0x21 ? n : n < 0x43 ? n - 0x21 + 0x7F : 0xAD;
}

void takt_token_spell(takt_span bytes, takt_text *to)
{
    for (size_t i = 0; i < bytes.length; i++) {
        char utf8[4];
        takt_text_put(to, utf8, takt_utf8_put(character_of((uint8_t)bytes.at[i]), utf8));
    }
}

/* `to` has room for all of `text`. Returns the length. */
static size_t unspell(takt_span text, char *to)
{
    size_t length = 0, bytes;
    for (size_t i = 0; i < text.length; i += bytes) {
        bytes = takt_utf8_length(text.at + i, text.length - i);
        const unsigned char *p = (const unsigned char *)text.at + i;
        const uint32_t c = bytes == 1 ? p[0] : bytes == 2 ? (p[0] & 31u) << 6 | (p[1] & 63u) : 0;
        const int byte = bytes == 0 || bytes > 2 ? -1 : byte_of(c);
        if (byte < 0) { /* of another alphabet: an added token */
            memcpy(to, text.at, text.length);
            return text.length;
        }
        to[length++] = (char)byte;
    }
    return length;
}

takt_status takt_tokenizer_unmap(takt_tokenizer *t, takt_span text, takt_span *out)
{
    char *to = takt_arena_get(&t->arena, text.length + 1);
    if (to == NULL)
        return TAKT_ERR_MEMORY;
    *out = (takt_span){to, unspell(text, to)};
    return TAKT_OK;
}

void takt_token_unspell(takt_span text, takt_text *to)
{
    const size_t before = to->length;
    takt_text_put(to, text.at, text.length); /* makes room: bytes are never more than characters */
    if (to->status == TAKT_OK && text.length > 0)
        to->length = before + unspell(text, to->at + before);
}
