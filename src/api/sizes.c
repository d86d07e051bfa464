/* sizes.c - numbers for named dimensions, as "batch=8,seq=1..128". */
#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/written.h"
#include "ir/dim_like.h"
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

/* Digits at the beginning of `text`; what is left of it goes to `*rest`. */
static takt_status read_size(takt_ctx *ctx, takt_span item, takt_span text, int64_t *size,
                             takt_span *rest)
{
    size_t i = 0;
    *size = 0;
    for (; i < text.length && text.at[i] >= '0' && text.at[i] <= '9'; i++) {
        if (*size > (INT64_MAX - 9) / 10) {
            takt_fail(ctx, TAKT_E_OPTION, "%.*s: the size is too large", (int)item.length, item.at);
            return takt_fail_hint(ctx, "sizes are whole numbers below 2^63");
        }
        *size = 10 * *size + (text.at[i] - '0');
    }
    *rest = (takt_span){text.at + i, text.length - i};
    if (i > 0)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "%.*s: the size is not a number", (int)item.length, item.at);
    return takt_fail_hint(ctx, "write batch=32, a whole number below 2^63, or a range, seq=1..512");
}

/* "32" or "1..512" */
static takt_status read_range(takt_ctx *ctx, takt_span item, takt_span value,
                              takt_size_range *range)
{
    takt_span rest;
    TAKT_TRY(read_size(ctx, item, value, &range->low, &rest));
    range->high = range->low;
    if (rest.length > 2 && rest.at[0] == '.' && rest.at[1] == '.')
        TAKT_TRY(
            read_size(ctx, item, (takt_span){rest.at + 2, rest.length - 2}, &range->high, &rest));
    if (rest.length > 0) {
        takt_fail(ctx, TAKT_E_OPTION, "%.*s: the size is not a number", (int)item.length, item.at);
        return takt_fail_hint(ctx,
                              "write batch=32, a whole number below 2^63, or a range, seq=1..512");
    }
    range->top = range->high;
    range->is_length = false;
    if (range->low > range->high)
        return takt_fail(ctx, TAKT_E_OPTION, "%.*s: the range ends before it begins",
                         (int)item.length, item.at);
    return TAKT_OK;
}

static takt_status set_range(takt_ctx *ctx, const takt_dims *dims, takt_span item,
                             takt_size_range *ranges)
{
    takt_span name, value;
    if (!takt_written_pair(item, &name, &value)) {
        takt_fail(ctx, TAKT_E_OPTION, "\"%.*s\" is not of the form name=size", (int)item.length,
                  item.at);
        return takt_fail_hint(ctx, "a name with a comma stands in backquotes: `a,b`=32");
    }
    takt_size_range range;
    TAKT_TRY(read_range(ctx, item, value, &range));
    for (size_t i = 0; i < takt_dims_name_count(dims); i++)
        if (takt_written_is(name, takt_span_of(takt_dims_name(dims, i)))) {
            ranges[i] = range;
            TAKT_TRY(check_size(ctx, dims, i, range.low));
            return check_size(ctx, dims, i, range.high);
        }
    return fail_unknown(ctx, dims, name);
}

/* Names bound to other names: from 0 up to that size, if it is a range. */
static void follow(const takt_dims *dims, takt_size_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t like = takt_dims_like((takt_dims *)(uintptr_t)dims, i);
        if (ranges[i].high >= 0 || like >= count)
            continue;
        ranges[i] = ranges[like];
        if (ranges[i].low < ranges[i].high)
            ranges[i].low = 0;
    }
}

static takt_status fail_other(takt_ctx *ctx, takt_dims *dims, size_t name, int64_t given,
                              takt_dim is, int64_t value)
{
    char text[WRITTEN];
    takt_text other;
    takt_text_init(&other, ctx);
    takt_dim_print(dims, is, &other);
    (void)takt_name_put(takt_dims_name(dims, name), text, sizeof text);
    takt_fail(ctx, TAKT_E_OPTION, "%s=%lld: in this model %s is %s, which is %lld", text,
              (long long)given, text, takt_text_get(&other), (long long)value);
    takt_text_deinit(&other);
    return takt_fail_hint(ctx, "where one of two sizes that meet is 1, the model has to be read "
                               "for these sizes (takt_load_options.sizes)");
}

/* A name that the model has bound to another name, or to an expression, agrees with that; a name
 * that is not given takes the size of the one bound to it. */
static takt_status agree(takt_arena *arena, const takt_dims *dims, takt_size_range *ranges,
                         size_t count)
{
    takt_dims *table = (takt_dims *)(uintptr_t)dims; /* looking up changes nothing */
    int64_t *sizes = takt_arena_array(arena, count, sizeof *sizes);
    takt_dim dim, value;
    size_t other;
    if (sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].high < 0)
            continue;
        TAKT_TRY(takt_dim_name(table, takt_span_of(takt_dims_name(dims, i)), &dim));
        TAKT_TRY(takt_dim_resolve(table, dim, &dim));
        if (takt_dim_is_name(table, dim, &other) && ranges[other].high < 0)
            ranges[other] = ranges[i];
    }
    for (size_t i = 0; i < count; i++)
        sizes[i] = ranges[i].low == ranges[i].high ? ranges[i].high : -1;
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] < 0)
            continue;
        TAKT_TRY(takt_dim_name(table, takt_span_of(takt_dims_name(dims, i)), &dim));
        TAKT_TRY(takt_dim_substitute(table, dim, sizes, count, &value));
        if (takt_dim_is_number(value) && value != sizes[i])
            return fail_other(arena->ctx, table, i, sizes[i], dim, value);
    }
    return TAKT_OK;
}

takt_status takt_parse_ranges(takt_arena *arena, const takt_dims *dims, const char *text,
                              takt_size_range **ranges, size_t *count)
{
    *count = takt_dims_name_count(dims);
    *ranges = takt_arena_array(arena, *count, sizeof **ranges);
    if (*ranges == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++)
        (*ranges)[i] = (takt_size_range){-1, -1, -1, false};
    while (text != NULL && *text != '\0') {
        const size_t length = takt_written_length(text, ",");
        TAKT_TRY(set_range(arena->ctx, dims, (takt_span){text, length}, *ranges));
        text += length + (text[length] == ',');
    }
    if (takt_dims_bound(dims) > 0)
        TAKT_TRY(agree(arena, dims, *ranges, *count));
    follow(dims, *ranges, *count);
    return TAKT_OK;
}

takt_status takt_parse_sizes(takt_ctx *ctx, takt_arena *arena, const takt_dims *dims,
                             const char *text, int64_t **sizes, size_t *count)
{
    takt_size_range *ranges;
    TAKT_TRY(takt_parse_ranges(arena, dims, text, &ranges, count));
    *sizes = takt_arena_array(arena, *count, sizeof **sizes);
    if (*sizes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++) {
        (*sizes)[i] = ranges[i].high;
        if (ranges[i].low != ranges[i].high)
            return takt_fail(ctx, TAKT_E_OPTION, "%s=%lld..%lld: one size is wanted here, no range",
                             takt_dims_name(dims, i), (long long)ranges[i].low,
                             (long long)ranges[i].high);
    }
    return TAKT_OK;
}
