/* diag.h - what is wrong with a text, where, and what to do about it.
 *
 * Several complaints are collected in one pass. They keep only positions of the text; the renderer
 * is given the text again. */
#ifndef TAKT_LANG_DIAG_H
#define TAKT_LANG_DIAG_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/text.h"

typedef enum takt_severity { TAKT_SEVERITY_ERROR, TAKT_SEVERITY_WARNING } takt_severity;

typedef struct takt_diagnostic {
    int line, column; /* from 1; columns count characters, not bytes */
    int length;       /* characters to underline, at least 1 */
    takt_severity severity;
    int id;              /* of the catalogue; 0 for a warning */
    const char *message; /* one sentence */
    const char *note;    /* how the text came to be read, e.g. through which layer; or "" */
    const char *hint;    /* the remedy, or "" */
    const char *file;    /* an imported text, or NULL for the text itself */
    const char *source;  /* the line, if it is of an imported text */
} takt_diagnostic;

typedef struct takt_diagnostics {
    takt_arena arena;
    takt_diagnostic *at;
    size_t count, capacity;
    size_t error_count;
    size_t complaints; /* errors found, including duplicates and those beyond the limit */
    bool is_full;      /* limits.errors was exceeded; the last entry says so */
} takt_diagnostics;

void takt_diagnostics_init(takt_diagnostics *list, takt_ctx *ctx);
void takt_diagnostics_deinit(takt_diagnostics *list);

/* A piece of the text `text`, as byte offsets. */
typedef struct takt_place {
    const char *text;
    size_t text_length;
    size_t at, length;
    const char *file; /* its name, if it is an imported text; else NULL */
} takt_place;

/* Adds one (dropping duplicates at the same place), unless the limit is reached. The strings are
 * copied; `note` and `hint` may be NULL. */
TAKT_MUST_USE takt_status takt_diagnostics_add(takt_diagnostics *list, const takt_place *place,
                                               takt_diagnostic what);

/* As a compiler prints them: file:line:column, the line, a caret, the note and the hint. */
void takt_diagnostics_render(const takt_diagnostics *list, const char *file_name, const char *text,
                             size_t length, takt_text *out);

#endif
