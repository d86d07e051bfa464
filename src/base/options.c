/* options.c - reads a structure of another version of the header. */
#include "base/options.h"

#include <string.h>

#include "base/error.h"

takt_status takt_options_read(takt_ctx *ctx, const char *what, const void *given, void *to,
                              size_t full)
{
    size_t size = 0;
    memset(to, 0, full);
    if (given == NULL)
        return TAKT_OK;
    memcpy(&size, given, sizeof size);
    size = size != 0 ? size : full;
    if (size < sizeof size)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "%s: a size of %zu bytes cannot be", what, size);
    memcpy(to, given, size < full ? size : full);
    for (size_t i = full; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return takt_fail(ctx, TAKT_E_ARGUMENT,
                             "%s: byte %zu of %zu is set; this version knows the first %zu", what,
                             i, size, full);
    memcpy(to, &full, sizeof full);
    return TAKT_OK;
}
