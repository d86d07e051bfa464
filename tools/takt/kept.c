/* kept.c - a sink that keeps its text. */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

int tool_keep_text(void *user, const char *text, size_t length)
{
    tool_kept *kept = user;
    char *more = realloc(kept->at, kept->length + length + 1);
    if (more == NULL)
        return 1;
    memcpy(more + kept->length, text, length);
    kept->at = more;
    kept->length += length;
    more[kept->length] = '\0';
    return 0;
}
