/* late_memory.h - shared by late.c and its memory. */
#ifndef TAKT_TESTS_UTIL_LATE_MEMORY_H
#define TAKT_TESTS_UTIL_LATE_MEMORY_H

#include "util/late.h"

typedef struct takt_late_device {
    takt_ctx *ctx;
} takt_late_device;

extern const takt_device takt_late_memory;

/* Counts a call, and returns whether it should fail. */
bool takt_late_fails(void);
/* Keeps the first thing that was done wrong: static text. */
void takt_late_note(const char *what);
/* Whether it is inside one block; false for host memory. */
bool takt_late_is_ours(const void *data, size_t bytes);
/* Copies, if both ends are where they should be. */
void takt_late_move(takt_copy way, void *to, const void *from, size_t bytes);

#endif
