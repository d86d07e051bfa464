/* held_file.h - a file that stays open as long as somebody may read from it. */
#ifndef TAKT_IO_HELD_FILE_H
#define TAKT_IO_HELD_FILE_H

#include <stdatomic.h>

#include "base/error.h"
#include "io/file.h"

typedef struct takt_held_file {
    takt_ctx *ctx;
    takt_file *file;
    atomic_uint references;
    uint64_t stamp; /* takt_file_stamp of what its readers expect */
    size_t block;   /* bytes of this structure */
    char path[];    /* for messages */
} takt_held_file;

/* `file` is taken over, unless this fails. */
TAKT_MUST_USE takt_status takt_hold_file(takt_ctx *ctx, const takt_stamped_file *file,
                                         takt_held_file **held);
/* Reads `count` bytes from `offset`; fails if the file has changed. */
TAKT_MUST_USE takt_status takt_held_file_read(const takt_held_file *held, uint64_t offset, void *to,
                                              size_t count);
takt_held_file *takt_held_file_retain(takt_held_file *held);
void takt_held_file_release(takt_held_file *held); /* the last one closes it */

#endif
