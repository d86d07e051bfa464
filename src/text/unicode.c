/* unicode.c - classes of characters, and lower case. */
#include "text/unicode.h"

#include "base/utf8.h"
#include "text/unicode_tables.h"

uint32_t takt_unicode_take(const char *at, size_t left, size_t *bytes)
{
    const unsigned char *p = (const unsigned char *)at;
    *bytes = 1;
    if (p[0] < 0x80)
        return p[0];
    const size_t length = takt_utf8_length(at, left);
    if (length == 0)
        return TAKT_U_BAD;
    *bytes = length;
    uint32_t c = p[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (p[i] & 0x3F);
    return c;
}

takt_unicode_class takt_unicode_class_of(uint32_t c)
{
    return (takt_unicode_class)takt_unicode_class_at(c);
}

bool takt_unicode_is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    const takt_unicode_class k = takt_unicode_class_of(c);
    return k >= TAKT_U_LU && k <= TAKT_U_LO;
}

bool takt_unicode_is_number(uint32_t c)
{
    if (c < 0x80)
        return c >= '0' && c <= '9';
    const takt_unicode_class k = takt_unicode_class_of(c);
    return k == TAKT_U_ND || k == TAKT_U_N;
}

bool takt_unicode_is_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13);
    return c == 0x85 || takt_unicode_class_of(c) == TAKT_U_Z;
}

bool takt_unicode_is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return c > ' ' && c < 0x7F && !takt_unicode_is_letter(c) && !takt_unicode_is_number(c);
    return takt_unicode_class_of(c) == TAKT_U_P;
}

bool takt_unicode_is_ideograph(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void takt_unicode_lower(takt_span text, takt_text *to)
{
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        char utf8[4];
        const uint32_t c = takt_unicode_take(text.at + i, text.length - i, &bytes);
        const uint32_t low = takt_unicode_lower_of(c);
        if (c == 0x130) /* the only one that becomes two: i with a dot keeps the dot */
            takt_text_put(to, "i\xCC\x87", 3);
        else if (low == c)
            takt_text_put(to, text.at + i, bytes);
        else
            takt_text_put(to, utf8, takt_utf8_put(low, utf8));
    }
}

void takt_unicode_strip_marks(takt_span text, bool all, takt_text *to)
{
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        const uint32_t c = takt_unicode_take(text.at + i, text.length - i, &bytes);
        const takt_unicode_class k = c < 0x300 ? TAKT_U_OTHER : takt_unicode_class_of(c);
        if (k != TAKT_U_MN && !(all && k == TAKT_U_M))
            takt_text_put(to, text.at + i, bytes);
    }
}
