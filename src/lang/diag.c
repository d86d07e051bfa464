/* diag.c - collecting complaints and turning offsets into lines and columns. */
#include "lang/diag.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

void takt_diagnostics_init(takt_diagnostics *list, takt_ctx *ctx)
{
    *list = (takt_diagnostics){0};
    takt_arena_init(&list->arena, ctx);
}

void takt_diagnostics_deinit(takt_diagnostics *list)
{
    takt_mem_put(list->arena.ctx, list->at, list->capacity * sizeof *list->at);
    takt_arena_deinit(&list->arena);
    *list = (takt_diagnostics){.arena = list->arena};
}

static int clamp(size_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* Characters in `bytes`; an invalid UTF-8 byte counts as one. */
static size_t characters(const char *bytes, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; count++) {
        const size_t step = takt_utf8_length(bytes + i, length - i);
        i += step > 0 ? step : 1;
    }
    return count;
}

static void locate(const takt_place *place, takt_diagnostic *d)
{
    size_t line = 1, start = 0;
    const size_t at = place->at < place->text_length ? place->at : place->text_length;
    for (size_t i = 0; i < at; i++) {
        if (place->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    size_t end = at;
    while (end < place->text_length && end < at + place->length && place->text[end] != '\n')
        end++;
    d->line = clamp(line);
    d->column = clamp(characters(place->text + start, at - start) + 1);
    d->length = clamp(characters(place->text + at, end - at));
    if (d->length == 0)
        d->length = 1;
}

static bool same_file(const takt_diagnostic *a, const takt_diagnostic *b)
{
    return a->file == NULL || b->file == NULL ? a->file == b->file : strcmp(a->file, b->file) == 0;
}

static bool is_known(const takt_diagnostics *list, const takt_diagnostic *d)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].line == d->line && list->at[i].column == d->column &&
            same_file(&list->at[i], d) && strcmp(list->at[i].message, d->message) == 0)
            return true;
    return false;
}

static takt_status keep(takt_diagnostics *list, const char **text)
{
    const char *from = *text != NULL ? *text : "";
    *text = takt_arena_text(&list->arena, from, strlen(from));
    return *text != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* The renderer has only the main text: lines of imported texts are copied. */
static takt_status keep_source(takt_diagnostics *list, const takt_place *place,
                               takt_diagnostic *what)
{
    if (place->file == NULL)
        return TAKT_OK;
    size_t start = place->at < place->text_length ? place->at : place->text_length, end = start;
    while (start > 0 && place->text[start - 1] != '\n')
        start--;
    while (end < place->text_length && place->text[end] != '\n')
        end++;
    what->source = takt_arena_text(&list->arena, place->text + start, end - start);
    TAKT_TRY(keep(list, &what->file));
    return what->source != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_diagnostics_add(takt_diagnostics *list, const takt_place *place,
                                 takt_diagnostic what)
{
    char last[96];
    const bool is_error = what.severity == TAKT_SEVERITY_ERROR;
    locate(place, &what);
    what.file = place->file;
    list->complaints += is_error;
    if (is_known(list, &what) || list->is_full)
        return TAKT_OK;
    list->is_full = is_error && list->error_count >= list->arena.ctx->limits.errors;
    if (list->is_full) { /* the last word */
        snprintf(last, sizeof last, "there are more errors than the %zu above", list->error_count);
        what.id = TAKT_E_TOO_MANY_ERRORS;
        what.message = last;
        what.note = NULL;
        what.hint = "mend those first";
    }
    void *array = list->at;
    const takt_status status =
        takt_mem_grow(list->arena.ctx, &array, &list->capacity, list->count + 1, sizeof *list->at);
    list->at = array;
    TAKT_TRY(status);
    TAKT_TRY(keep(list, &what.message));
    TAKT_TRY(keep(list, &what.note));
    TAKT_TRY(keep(list, &what.hint));
    TAKT_TRY(keep_source(list, place, &what));
    list->at[list->count++] = what;
    list->error_count += is_error && !list->is_full;
    return TAKT_OK;
}
