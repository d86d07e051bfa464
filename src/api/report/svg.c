/* svg.c - text and numbers as SVG wants them. */
#include "api/report/svg.h"

#include <string.h>

/* Text in SVG is XML text. At most this many bytes, and never part of a character. */
static void takt_svg_part(takt_text *text, const char *from, size_t most)
{
    while (most > 0 && most < strlen(from) && ((unsigned char)from[most] & 0xc0) == 0x80)
        most--;
    for (; *from != '\0' && most > 0; from++, most--) {
        switch (*from) {
        case '<': takt_text_add(text, "&lt;"); break;
        case '>': takt_text_add(text, "&gt;"); break;
        case '&': takt_text_add(text, "&amp;"); break;
        case '"': takt_text_add(text, "&quot;"); break;
        default: takt_text_put(text, from, 1);
        }
    }
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
