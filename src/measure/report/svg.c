/* svg.c - text and numbers in SVG's form. */
#include "measure/report/svg.h"

#include <string.h>

#include "base/utf8.h"

/* Bytes of the character at `from` that XML allows, or 0: names come from files. */
static size_t allowed(const char *from, size_t left)
{
    const size_t length = takt_utf8_length(from, left);
    const bool is_control = (unsigned char)*from < ' ' && strchr("\t\n\r", *from) == NULL;
    const bool is_none = length == 3 && (memcmp(from, "\xef\xbf\xbe", 3) == 0 ||
                                         memcmp(from, "\xef\xbf\xbf", 3) == 0);
    return is_control || is_none ? 0 : length;
}

void takt_svg_span(takt_text *text, takt_span from)
{
    for (size_t at = 0, bytes; at < from.length; at += bytes) {
        const size_t known = allowed(from.at + at, from.length - at);
        bytes = known > 0 ? known : 1;
        switch (from.at[at]) {
        case '<': takt_text_add(text, "&lt;"); break;
        case '>': takt_text_add(text, "&gt;"); break;
        case '&': takt_text_add(text, "&amp;"); break;
        case '"': takt_text_add(text, "&quot;"); break;
        default: takt_text_put(text, known > 0 ? from.at + at : "?", bytes);
        }
    }
}

/* Text in SVG is XML text. At most this many bytes, and never part of a character. */
static void takt_svg_part(takt_text *text, const char *from, size_t most)
{
    const size_t whole = strlen(from);
    while (most > 0 && most < whole && ((unsigned char)from[most] & 0xc0) == 0x80)
        most--;
    takt_svg_span(text, (takt_span){from, most < whole ? most : whole});
}

void takt_svg_text(takt_text *text, const char *from)
{
    takt_svg_part(text, from, SIZE_MAX);
}

/* In tenths of a pixel, so that no locale can change the decimal point to a comma. */
void takt_svg_attribute(takt_text *text, const char *name, double value)
{
    const long long tenths = (long long)(value * 10 + 0.5);
    takt_text_add(text, " %s=\"%lld.%lld\"", name, tenths / 10, tenths % 10);
}

/* The end of a dotted name says more than its beginning, which its neighbours share. */
void takt_svg_name(takt_text *text, const char *name, size_t letters)
{
    const char *end = name;
    while (end != NULL && strlen(end) > letters - (end > name ? 2 : 0)) {
        end = strchr(end, '.');
        end = end != NULL ? end + 1 : NULL;
    }
    takt_text_add(text, "%s", end != NULL && end > name ? ".." : "");
    takt_svg_part(text, end != NULL ? end : name, end != NULL ? letters : letters - 2);
    takt_text_add(text, "%s", end == NULL ? ".." : "");
}
