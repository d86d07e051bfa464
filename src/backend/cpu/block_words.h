/* block_words.h - packing the levels of block-quantised weights: as a whole, and by panels. */
#ifndef TAKT_BACKEND_CPU_BLOCK_WORDS_H
#define TAKT_BACKEND_CPU_BLOCK_WORDS_H

#include "kernel/blocks/blocks.h"
#include "plan/backend.h"

/* The functions of takt_filler; `user` is a takt_blocks_job without its source. `span` is for rows
 * of whole bytes. */
takt_status takt_block_words_fill(void *user, const void *from, void *to);
takt_status takt_block_words_part(const void *user, const void *from, void *to, size_t index,
                                  size_t count);
void takt_block_words_span(const void *user, size_t index, size_t count, size_t span[2]);

#endif
