/* skim.h - a file in memory except for its largest parts, which are read on demand, straight into
 * their final place.
 *
 * The buffer is as long as the file, so offsets are those of the file. If parts can be skipped, the
 * buffer is made of system pages: skipped pages stay untouched and take no memory, and bytes that
 * are read count as memory of the context. Small files use the context's allocator.
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
    uint64_t stamp; /* of its content when it was opened */
    uint8_t *bytes;
    size_t length;
    size_t have;         /* everything before it has been read or is in a gap */
    size_t chunk, least; /* bytes per read; smallest gap */
    takt_gap *gaps;      /* in order */
    size_t gap_count, gap_room;
    size_t counted; /* bytes read into pages; 0 and not has_pages: allocated memory */
    bool has_pages;
    struct takt_held_file *held; /* owns `file`; NULL: this does */
    bool fetches;                /* parts of gaps are read into pages, and counted */
} takt_skim;

/* Opens the file and reads its beginning. Needs takt_skim_close if it succeeds. */
TAKT_MUST_USE takt_status takt_skim_open(takt_ctx *ctx, const char *path, takt_skim *s);
/* Same for an opened file, which is closed in any case. */
TAKT_MUST_USE takt_status takt_skim_opened(takt_ctx *ctx, const char *path, takt_file *file,
                                           takt_skim *s);
void takt_skim_close(takt_skim *s);
/* The file itself, which stays open for its holders. */
TAKT_MUST_USE takt_status takt_skim_hold(takt_skim *s, struct takt_held_file **file);
/* Makes the bytes before `end` (within the file) present, except those in gaps. */
TAKT_MUST_USE takt_status takt_skim_need(takt_skim *s, size_t end);
/* Skips the unread part of [first, end) if it is large enough; nothing beyond it may have been read
 * yet, except by the first read. */
TAKT_MUST_USE takt_status takt_skim_leave(takt_skim *s, size_t first, size_t end);
/* Copies `count` bytes that are, or belong, at `from` in the skim's memory. */
TAKT_MUST_USE takt_status takt_skim_copy(const takt_skim *s, const uint8_t *from, void *to,
                                         size_t count);
/* Makes [first, end) (within the file) present, gaps included, until takt_skim_done. */
TAKT_MUST_USE takt_status takt_skim_fetch(takt_skim *s, size_t first, size_t end);
/* Releases the memory of bytes that will not be read again. Once parts of gaps were fetched, all
 * bytes must be such parts of one gap; they can be fetched again. */
void takt_skim_done(takt_skim *s, const uint8_t *from, size_t count);

#endif
