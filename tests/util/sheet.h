/* sheet.h - collects a printer's output as text. */
#ifndef TAKT_TESTS_SHEET_H
#define TAKT_TESTS_SHEET_H

#include <stddef.h>

typedef struct sheet {
    char at[65536]; /* always terminated */
    size_t length;
} sheet;

/* Appends; 1 if there is no room for all of it. `user` is a sheet. */
int sheet_keep(void *user, const char *text, size_t length);

#endif
