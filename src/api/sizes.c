/* sizes.c - numbers for named dimensions, as "batch=8,seq=128". */
#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/written.h"
#include "ir/name.h"

enum { WRITTEN = 160 };

/* A name that the model itself has bound to a number takes no other. */
static takt_status check_size(takt_ctx *ctx, const takt_dims *dims, size_t index, int64_t size)
{
    takt_dims *table = (takt_dims *)dims; /* the name exists, so looking it up changes nothing */
    takt_dim dim;
    TAKT_TRY(takt_dim_name(table, takt_span_of(takt_dims_name(dims, index)), &dim));
    TAKT_TRY(takt_dim_resolve(table, dim, &dim));
    if (!takt_dim_is_number(dim) || dim == size)
        return TAKT_OK;
    char text[WRITTEN];
    (void)takt_name_put(takt_dims_name(dims, index), text, sizeof text);
    return takt_fail(ctx, TAKT_E_OPTION, "%s=%lld: in this model %s is always %lld", text,
                     (long long)size, text, (long long)dim);
}

static takt_status fail_unknown(takt_ctx *ctx, const takt_dims *dims, takt_span name)
{
    char wanted[128], text[WRITTEN];
    snprintf(wanted, sizeof wanted, "%.*s", (int)(name.length < 127 ? name.length : 127), name.at);
    takt_nearest near = takt_nearest_to(wanted);
    for (size_t i = 0; i < takt_dims_name_count(dims); i++)
        takt_nearest_try(&near, takt_dims_name(dims, i));
    takt_fail(ctx, TAKT_E_NAME, "the model has no dimension called %.*s", (int)name.length,
              name.at);
    if (takt_dims_name_count(dims) == 0)
        return takt_fail_hint(ctx, "all its dimensions are numbers");
    (void)takt_name_put(near.best != NULL ? near.best : takt_dims_name(dims, 0), text, sizeof text);
    return near.best != NULL ? takt_fail_hint(ctx, "did you mean %s?", text)
                             : takt_fail_hint(ctx, "its first one is %s", text);
}

static takt_status set_size(takt_ctx *ctx, const takt_dims *dims, takt_span name, takt_span value,
                            int64_t *sizes)
{
    int64_t size = 0;
    for (size_t i = 0; i < value.length; i++) {
        const char c = value.at[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit || size > (INT64_MAX - 9) / 10) {
            takt_fail(ctx, TAKT_E_OPTION, "%.*s=%.*s: the size is %s", (int)name.length, name.at,
                      (int)value.length, value.at, is_digit ? "too large" : "no number");
            return takt_fail_hint(ctx, "write %.*s=32: a whole number below 2^63", (int)name.length,
                                  name.at);
        }
        size = 10 * size + (c - '0');
    }
    for (size_t i = 0; i < takt_dims_name_count(dims); i++)
        if (takt_written_is(name, takt_span_of(takt_dims_name(dims, i)))) {
            sizes[i] = size;
            return check_size(ctx, dims, i, size);
        }
    return fail_unknown(ctx, dims, name);
}

takt_status takt_parse_sizes(takt_ctx *ctx, takt_arena *arena, const takt_dims *dims,
                             const char *text, int64_t **sizes, size_t *count)
{
    *count = takt_dims_name_count(dims);
    *sizes = takt_arena_array(arena, *count, sizeof **sizes);
    if (*sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++)
        (*sizes)[i] = -1;
    while (text != NULL && *text != '\0') {
        const size_t length = takt_written_length(text, ",");
        takt_span name, value;
        if (!takt_written_pair((takt_span){text, length}, &name, &value)) {
            takt_fail(ctx, TAKT_E_OPTION, "\"%.*s\" is not of the form name=size", (int)length,
                      text);
            return takt_fail_hint(ctx, "a name with a comma stands in backquotes: `a,b`=32");
        }
        TAKT_TRY(set_size(ctx, dims, name, value, *sizes));
        text += length + (text[length] == ',');
    }
    return TAKT_OK;
}
