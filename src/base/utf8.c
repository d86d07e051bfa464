/* utf8.c - validation, encoding and cutting of UTF-8. */
#include "base/utf8.h"

#include <string.h>

static bool follows(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

size_t takt_utf8_length(const char *at, size_t left)
{
    const unsigned char *s = (const unsigned char *)at;
    if (left == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4) /* C0 and C1 could only begin overlong forms */
        return 0;
    if (s[0] < 0xE0)
        return left >= 2 && follows(s[1]) ? 2 : 0;
    if (left < 3 || !follows(s[1]) || !follows(s[2]))
        return 0;
    if (s[0] == 0xE0 && s[1] < 0xA0) /* overlong */
        return 0;
    if (s[0] == 0xED && s[1] > 0x9F) /* surrogates */
        return 0;
    if (s[0] < 0xF0)
        return 3;
    if (left < 4 || !follows(s[3]))
        return 0;
    if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return 4;
}

size_t takt_utf8_check(const char *bytes, size_t length)
{
    size_t i = 0;
    while (i < length) {
        uint64_t word;
        if (length - i >= sizeof word) {
            memcpy(&word, bytes + i, sizeof word);
            if ((word & 0x8080808080808080u) == 0) { /* nearly all text is ASCII */
                i += sizeof word;
                continue;
            }
        }
        const size_t step = takt_utf8_length(bytes + i, length - i);
        if (step == 0)
            return i;
        i += step;
    }
    return length;
}

size_t takt_utf8_put(uint32_t c, char to[4])
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3F));
        to[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3F));
    to[2] = (char)(0x80 | (c >> 6 & 0x3F));
    to[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t takt_utf8_cut(const char *text, size_t limit)
{
    size_t length = 0;
    while (length < limit && text[length] != '\0')
        length++;
    if (text[length] == '\0')
        return length;
    /* Skips back over at most three continuation bytes; invalid UTF-8 is cut anywhere. */
    size_t cut = length;
    for (int i = 0; i < 3 && cut > 0 && follows((unsigned char)text[cut]); i++)
        cut--;
    return follows((unsigned char)text[cut]) ? length : cut;
}
