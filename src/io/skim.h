/* skim.h - a file in memory but for its largest parts, which are read when they are wanted,
 * straight into their final place.
 *
 * The memory is as long as the file, so that offsets are the file's. For a file from which parts
 * can be left out it is pages from the system: what is left out stays untouched and takes none, and
 * what is read counts as memory of the context. Small files are in memory from its allocator.
 */
#ifndef TAKT_IO_SKIM_H
#define TAKT_IO_SKIM_H

#include <stdbool.h>

#include "base/error.h"

typedef struct takt_gap {
    size_t first, end; /* offsets in the file */
} takt_gap;

typedef struct takt_skim {
    takt_ctx *ctx;
    const char *path; /* for messages */
    takt_file *file;
    uint8_t *bytes;
    size_t length;
    size_t have;         /* everything before it has been read, or is in a gap */
    size_t chunk, least; /* bytes read at once, and of a gap */
    takt_gap *gaps;      /* in order */
    size_t gap_count, gap_room;
    size_t counted; /* of pages: bytes that were read; 0 and not has_pages: the allocator's */
    bool has_pages;
} takt_skim;

/* Opens the file and reads its beginning. Needs takt_skim_close if it succeeds. */
TAKT_MUST_USE takt_status takt_skim_open(takt_ctx *ctx, const char *path, takt_skim *s);
/* The same with an opened file, which it closes in any case. */
TAKT_MUST_USE takt_status takt_skim_opened(takt_ctx *ctx, const char *path, takt_file *file,
                                           takt_skim *s);
void takt_skim_close(takt_skim *s);
/* The bytes before `end`, which is within the file, are present, except those in gaps. */
TAKT_MUST_USE takt_status takt_skim_need(takt_skim *s, size_t end);
/* Leaves the unread part of [first, end) unread, if that is worth it; beyond it nothing may have
 * been read yet except with the beginning. */
TAKT_MUST_USE takt_status takt_skim_leave(takt_skim *s, size_t first, size_t end);
/* `count` bytes that are, or belong, at `from` of the skim's memory. */
TAKT_MUST_USE takt_status takt_skim_copy(const takt_skim *s, const uint8_t *from, void *to,
                                         size_t count);
/* These bytes will not be read again by anybody: their memory is released. */
void takt_skim_done(takt_skim *s, const uint8_t *from, size_t count);

#endif
