/* sheet.c - collects a printer's output as text. */
#include "util/sheet.h"

#include <string.h>

int sheet_keep(void *user, const char *text, size_t length)
{
    sheet *s = user;
    if (length >= sizeof s->at - s->length)
        return 1;
    memcpy(s->at + s->length, text, length);
    s->length += length;
    s->at[s->length] = '\0';
    return 0;
}
