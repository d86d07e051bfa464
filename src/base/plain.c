/* plain.c - removes control characters from a finished text. */
#include "base/plain.h"

#include <string.h>

bool takt_text_is_picture(const takt_text *text)
{
    return text->length > 8 && memcmp(text->at, "\x89PNG\r\n\x1a\n", 8) == 0;
}

void takt_text_plain(takt_text *text)
{
    if (takt_text_is_picture(text))
        return;
    for (size_t i = 0; i < text->length; i++) {
        const unsigned char c = (unsigned char)text->at[i];
        const unsigned char next = i + 1 < text->length ? (unsigned char)text->at[i + 1] : 0;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            text->at[i] = '?';
        } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
            text->at[i] = '?';
            text->at[i + 1] = '?';
        }
    }
}
