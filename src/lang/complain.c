/* complain.c - semantic errors: their position, message and hint. */
#include <stdio.h>
#include <string.h>

#include "lang/elab.h"

takt_value takt_out_of_memory(takt_frame *f)
{
    f->e->status = TAKT_ERR_MEMORY;
    return takt_value_poison();
}

/* Errors in built-in layers are reported at the line of the user's text that called them. */
static const takt_frame *users_frame(const takt_frame *f, const takt_ast **at)
{
    while (f->function->source->is_builtin && f->caller != NULL) {
        *at = f->call;
        f = f->caller;
    }
    return f;
}

static int line_of(const takt_ast *a)
{
    return a != NULL ? (int)a->line : 0;
}

/* "in layer dense; in layer block, called at line 12". */
static void trail(const takt_frame *f, char *note, size_t size)
{
    enum { SHOWN = 4 };
    size_t at = 0;
    note[0] = '\0';
    for (int shown = 0; f->caller != NULL && f->function->name != NULL && shown < SHOWN; shown++) {
        const char *name = f->function->name->text;
        int n;
        if (f->caller->function->source->is_builtin || f->function->source->is_builtin)
            n = snprintf(note + at, size - at, "%sin layer %.60s", at > 0 ? ", " : "", name);
        else
            n = snprintf(note + at, size - at, "%sin layer %.60s, called at line %d",
                         at > 0 ? ", " : "", name, line_of(f->call));
        at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
        const takt_function *same = f->function;
        for (f = f->caller;
             f->caller != NULL && f->function == same;) /* a layer that calls itself */
            f = f->caller;
    }
}

static void add(takt_frame *f, const takt_ast *at, takt_diagnostic what)
{
    char note[320];
    f->has_failed = f->has_failed || what.severity == TAKT_SEVERITY_ERROR;
    if (f->e->status == TAKT_OK && f->graph != NULL)
        f->e->status = takt_dims_blame(f->graph->dims, TAKT_OK);
    trail(f, note, sizeof note);
    const takt_frame *shown = users_frame(f, &at);
    const takt_source *source = shown->function->source;
    const takt_place place = {source->text, source->length, at->at, at->length,
                              takt_source_file(source)};
    what.note = note;
    if (f->e->status == TAKT_OK)
        f->e->status = takt_diagnostics_add(f->e->diagnostics, &place, what);
    if (f->e->status == TAKT_OK && f->e->diagnostics->is_full)
        f->e->status = TAKT_ERR_SYNTAX;
}

takt_value takt_complain(takt_frame *f, const takt_ast *at, takt_error_id id, const char *hint,
                         const char *format, ...)
{
    char message[TAKT_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    add(f, at, (takt_diagnostic){.id = (int)id, .message = message, .hint = hint});
    return takt_value_poison();
}

takt_value takt_complain_last(takt_frame *f, const takt_ast *at)
{
    const takt_error last = f->e->ctx->error;
    const bool is_final = last.status == TAKT_ERR_MEMORY || last.status == TAKT_ERR_INTERNAL ||
                          last.id == TAKT_E_GRAPH_FULL;
    if (last.status == TAKT_ERR_MEMORY || f->graph->status == TAKT_ERR_MEMORY)
        return takt_out_of_memory(f);
    add(f, at, (takt_diagnostic){.id = last.id, .message = last.message, .hint = last.hint});
    if (!is_final)
        f->graph->status = TAKT_OK; /* so that later statements can be checked too */
    else if (f->e->status == TAKT_OK)
        f->e->status = last.status;
    return takt_value_poison();
}

void takt_warn(takt_frame *f, const takt_ast *at, const char *message)
{
    add(f, at, (takt_diagnostic){.severity = TAKT_SEVERITY_WARNING, .message = message});
}

const char *takt_nearest_hint(const takt_nearest *n, char buffer[static TAKT_HINT_TEXT])
{
    if (n->best == NULL)
        return NULL;
    snprintf(buffer, TAKT_HINT_TEXT, "did you mean %.100s?", n->best);
    return buffer;
}
