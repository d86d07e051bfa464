/* name.c - names in option texts, for callers that read or make such texts. */
#include "ir/name.h"

#include <string.h>

#include <takt/model.h>

#include "base/written.h"

size_t takt_name_read(const char *text, const char *ends, char *name, size_t size)
{
    if (name == NULL || size == 0)
        return 0;
    name[0] = '\0';
    if (text == NULL || ends == NULL)
        return 0;
    const takt_span written = {text, takt_written_length(text, ends)};
    size_t length = 0;
    if (written.length == 0 || !takt_written_read(written, name, size - 1, &length)) {
        name[0] = '\0';
        return 0;
    }
    name[length] = '\0';
    return length > 0 ? written.length : 0;
}

size_t takt_name_write(const char *name, char *to, size_t size)
{
    if (name == NULL || (to == NULL && size > 0))
        return 0;
    return takt_name_put(name, to, size);
}
