/* error.c - recording failures in fixed buffers, the catalogue's texts, and the log. */
#include "base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error_record.h"
#include "base/utf8.h"

const char *takt_status_name(takt_status status)
{
    switch (status) {
#define X(name, sentence)                                                                          \
    case TAKT_##name: return "TAKT_" #name;
        TAKT_STATUS_LIST(X)
#undef X
    }
    return "TAKT_UNKNOWN_STATUS";
}

const char *takt_status_sentence(takt_status status)
{
    switch (status) {
#define X(name, sentence)                                                                          \
    case TAKT_##name: return sentence;
        TAKT_STATUS_LIST(X)
#undef X
    }
    return "a status that this version does not know";
}

const char *takt_error_explain(int id)
{
    switch (id) {
#define X(number, name, class, text)                                                               \
    case number:                                                                                   \
        return text;
#include "base/errors/all.def"
#undef X
    default: return NULL;
    }
}

const char *takt_error_name(int id)
{
    switch (id) {
#define X(number, name, class, text)                                                               \
    case number:                                                                                   \
        return #name;
#include "base/errors/all.def"
#undef X
    default: return NULL;
    }
}

takt_status takt_error_class(takt_error_id id)
{
    switch (id) {
#define X(number, name, class, text)                                                               \
    case TAKT_E_##name:                                                                            \
        return TAKT_##class;
#include "base/errors/all.def"
#undef X
    }
    return TAKT_ERR_INTERNAL;
}

int takt_error_ids(const int **ids)
{
    static const int all[] = {
#define X(number, name, class, text) number,
#include "base/errors/all.def"
#undef X
    };
    *ids = all;
    return (int)(sizeof all / sizeof *all);
}

/* Names in messages come from files: none of their bytes may reach a terminal as control codes. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F)
            *text = '?';
    }
}

/* Formats into `to`; what does not fit is cut between characters and marked. */
static void format_into(char *to, size_t size, const char *format, va_list args)
{
    /* The arguments may point into `to` itself, when one message quotes the last. */
    char text[TAKT_ERROR_TEXT];
    const int wanted = vsnprintf(text, sizeof text, format, args);
    if (wanted < 0)
        text[0] = '\0';
    size_t length = strlen(text);
    const bool is_cut = wanted >= 0 && (size_t)wanted > length;
    if (is_cut || length >= size) {
        length = takt_utf8_cut(text, (length < size ? length : size - 1) - 3);
        memcpy(text + length, "...", 4);
        length += 3;
    }
    memcpy(to, text, length + 1);
    make_printable(to);
}

static takt_status set(takt_error *error, takt_error_id id, const char *format, va_list args)
{
    format_into(error->message, sizeof error->message, format, args);
    error->status = takt_error_class(id);
    error->id = (int)id;
    error->offset = -1;
    error->line = error->column = 0;
    error->node[0] = error->hint[0] = '\0';
    return error->status;
}

/* Several threads may fail at the same time; a record is written whole by one thread. */
takt_status takt_fail(takt_ctx *ctx, takt_error_id id, const char *format, ...)
{
    if (ctx == NULL)
        return takt_error_class(id);
    va_list args;
    va_start(args, format);
    takt_lock_take(&ctx->error_lock);
    const takt_status status = set(&ctx->error, id, format, args);
    takt_lock_give(&ctx->error_lock);
    va_end(args);
    return status;
}

takt_status takt_error_set(takt_error *error, takt_error_id id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const takt_status status = set(error, id, format, args);
    va_end(args);
    return status;
}

takt_status takt_error_hint(takt_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_into(error->hint, sizeof error->hint, format, args);
    va_end(args);
    return error->status;
}

takt_status takt_error_node(takt_error *error, const char *name)
{
    const size_t length = takt_utf8_cut(name, TAKT_ERROR_NODE - 1);
    memcpy(error->node, name, length);
    error->node[length] = '\0';
    make_printable(error->node);
    return error->status;
}

takt_status takt_error_memory(takt_error *error, const char *what, size_t bytes)
{
    return takt_error_set(error, TAKT_E_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
}

static void copy_text(char *to, const char *from, size_t size)
{
    const char *end = memchr(from, '\0', size);
    memcpy(to, from, end != NULL ? (size_t)(end - from) + 1 : size);
}

/* Copies only the used part of texts: the record is 2 KB, and a session saves it for each new
 * size. */
static void copy_error(takt_error *to, const takt_error *from)
{
    to->status = from->status;
    to->id = from->id;
    to->offset = from->offset;
    to->line = from->line;
    to->column = from->column;
    copy_text(to->node, from->node, sizeof to->node);
    copy_text(to->message, from->message, sizeof to->message);
    copy_text(to->hint, from->hint, sizeof to->hint);
}

void takt_error_copy(takt_ctx *ctx, takt_error *to)
{
    takt_lock_take(&ctx->error_lock);
    copy_error(to, &ctx->error);
    takt_lock_give(&ctx->error_lock);
}

void takt_error_put_back(takt_ctx *ctx, const takt_error *before)
{
    takt_lock_take(&ctx->error_lock);
    copy_error(&ctx->error, before);
    takt_lock_give(&ctx->error_lock);
}

static takt_status unlock_class(takt_ctx *ctx)
{
    const takt_status status = ctx->error.status;
    takt_lock_give(&ctx->error_lock);
    return status != TAKT_OK ? status : TAKT_ERR_INTERNAL;
}

takt_status takt_fail_hint(takt_ctx *ctx, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    takt_lock_take(&ctx->error_lock);
    format_into(ctx->error.hint, sizeof ctx->error.hint, format, args);
    va_end(args);
    return unlock_class(ctx);
}

takt_status takt_fail_node(takt_ctx *ctx, const char *name)
{
    takt_lock_take(&ctx->error_lock);
    takt_error_node(&ctx->error, name);
    return unlock_class(ctx);
}

takt_status takt_fail_offset(takt_ctx *ctx, uint64_t offset)
{
    takt_lock_take(&ctx->error_lock);
    ctx->error.offset = offset <= INT64_MAX ? (int64_t)offset : INT64_MAX;
    return unlock_class(ctx);
}

takt_status takt_fail_place(takt_ctx *ctx, int line, int column)
{
    takt_lock_take(&ctx->error_lock);
    ctx->error.line = line;
    ctx->error.column = column;
    return unlock_class(ctx);
}

takt_status takt_fail_memory(takt_ctx *ctx, const char *what, size_t bytes)
{
    if (ctx == NULL)
        return TAKT_ERR_MEMORY;
    const uint64_t live = ctx->live_bytes, limit = ctx->limits.bytes;
    if (limit == 0 || (live <= limit && bytes <= limit - live))
        return takt_fail(ctx, TAKT_E_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
    takt_fail(
        ctx, TAKT_E_MEMORY,
        "out of memory: %zu bytes for %s; %llu of the %llu that limits.bytes allows are in use",
        bytes, what, (unsigned long long)live, (unsigned long long)limit);
    return takt_fail_hint(ctx, "raise limits.bytes of the context (--max-ram) if that is meant");
}

void takt_ctx_shadow(const takt_ctx *of, takt_ctx *shadow)
{
    memset(shadow, 0, sizeof *shadow);
    shadow->allocator = of->allocator; /* which counts in `of` */
    shadow->outer = of->outer;
    shadow->files = of->files;
    shadow->threads = of->threads;
    shadow->now_ns = of->now_ns;
    shadow->clock_user = of->clock_user;
    shadow->log = of->log;
    shadow->log_user = of->log_user;
    shadow->limits = of->limits;
    shadow->natives = of->natives;
    shadow->error.offset = -1;
}

void takt_log(takt_ctx *ctx, takt_log_level level, const char *format, ...)
{
    if (ctx == NULL || ctx->log == NULL)
        return;
    char line[TAKT_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    format_into(line, sizeof line, format, args);
    va_end(args);
    const uint64_t start = ctx->now_ns != NULL ? ctx->now_ns(ctx->clock_user) : 0;
    ctx->log(ctx->log_user, level, line);
    atomic_fetch_add(&ctx->messages, 1);
    if (ctx->now_ns != NULL)
        atomic_fetch_add(&ctx->log_ns, ctx->now_ns(ctx->clock_user) - start);
}

const takt_error *takt_last_error_info(const takt_ctx *ctx)
{
    static const takt_error no_context = {
        .status = TAKT_ERR_ARGUMENT,
        .offset = -1,
        .message = "there is no context",
    };
    return ctx != NULL ? &ctx->error : &no_context;
}

const char *takt_last_error(const takt_ctx *ctx)
{
    return takt_last_error_info(ctx)->message;
}
