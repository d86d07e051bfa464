/* json_scan.h - the tokens of JSON: strings, numbers, literals; used by json.c only. */
#ifndef TAKT_BASE_JSON_SCAN_H
#define TAKT_BASE_JSON_SCAN_H

#include "base/json.h"

typedef struct takt_json_scan {
    takt_ctx *ctx;
    const char *at;
    size_t length, pos;
    char *text, *text_end; /* room for decoded strings */
} takt_json_scan;

/* Skips white space; the next character, or -1 at the end. */
int takt_json_peek(takt_json_scan *s);
/* Adds offset, line and column of `pos` to the failure just recorded. */
takt_status takt_json_place(takt_json_scan *s, size_t pos);
/* Records the failure with offset, line and column of `pos`. */
takt_status takt_json_fail_at(takt_json_scan *s, size_t pos, const char *format, ...)
    TAKT_PRINTF(3, 4);
/* "expected ..., found ..." at the current place. */
takt_status takt_json_expected(takt_json_scan *s, const char *what);
/* Each reads one token that begins here into `value`. */
takt_status takt_json_scan_string(takt_json_scan *s, const char **text, uint32_t *length);
takt_status takt_json_scan_number(takt_json_scan *s, takt_json *value);
takt_status takt_json_scan_word(takt_json_scan *s, takt_json *value);

#endif
