/* vnnlib_scan.h - tokens of VNN-LIB. */
#ifndef TAKT_VERIFY_VNNLIB_SCAN_H
#define TAKT_VERIFY_VNNLIB_SCAN_H

#include "base/cursor.h"
#include "base/text.h"

typedef enum takt_vnnlib_kind {
    TAKT_VNNLIB_END,
    TAKT_VNNLIB_OPEN,
    TAKT_VNNLIB_CLOSE,
    TAKT_VNNLIB_WORD, /* a name, number, shape or text; X[0, 1] is one word */
} takt_vnnlib_kind;

typedef struct takt_vnnlib_scan {
    takt_ctx *ctx;
    const char *name;
    takt_cursor cursor;
    takt_vnnlib_kind kind; /* of the current token */
    takt_span word;
    int line;
} takt_vnnlib_scan;

/* Advances to the next token. */
TAKT_MUST_USE takt_status takt_vnnlib_next(takt_vnnlib_scan *s);
/* "NAME, line N: sentence", as TAKT_E_VNNLIB or another. */
takt_status takt_vnnlib_fail(takt_vnnlib_scan *s, takt_error_id id, const char *format, ...)
    TAKT_PRINTF(3, 4);
/* The current word, truncated for messages. */
const char *takt_vnnlib_word(const takt_vnnlib_scan *s, char text[64]);

#endif
