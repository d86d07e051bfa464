/* stash.h - parts of blocks that were met while other parts of them were read from the file, and
 * are asked for next: the scales of a matrix whose levels are packed. */
#ifndef TAKT_IO_GGUF_STASH_H
#define TAKT_IO_GGUF_STASH_H

#include <stdbool.h>

#include "base/error.h"

enum { TAKT_GGUF_CHUNK = 512 /* blocks that are put in together */ };

typedef struct takt_gguf_stash takt_gguf_stash;

/* For `blocks` parts of `width` bytes. */
TAKT_MUST_USE takt_status takt_gguf_stash_create(takt_ctx *ctx, size_t blocks, size_t width,
                                                 takt_gguf_stash **stash);
takt_gguf_stash *takt_gguf_stash_retain(takt_gguf_stash *stash); /* accepts NULL */
void takt_gguf_stash_release(takt_gguf_stash *stash);            /* accepts NULL */

/* Where all parts go; NULL: nothing is put in, because they were taken before, or memory is short.
 * Otherwise takt_gguf_stash_close follows: blocks [first, end) are there. */
uint8_t *takt_gguf_stash_open(takt_gguf_stash *stash);
void takt_gguf_stash_close(takt_gguf_stash *stash, size_t first, size_t end);
/* Takes all parts out. False: they are not all there, and must be read from the file. */
bool takt_gguf_stash_take(takt_gguf_stash *stash, void *to);

#endif
