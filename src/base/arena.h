/* arena.h - memory with one lifetime: nodes, shapes and names of one graph or plan. */
#ifndef TAKT_BASE_ARENA_H
#define TAKT_BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"
#include "base/inner.h"

typedef struct takt_arena_block takt_arena_block;

typedef struct takt_arena {
    takt_ctx *ctx;
    takt_arena_block *newest;
    size_t block_bytes; /* size of the next block; grows */
} takt_arena;

TAKT_INNER void takt_arena_init(takt_arena *arena, takt_ctx *ctx);
/* Frees everything at once; the arena can be reused. */
TAKT_INNER void takt_arena_deinit(takt_arena *arena);
/* Bytes allocated from the context, unused room included. */
size_t takt_arena_bytes(const takt_arena *arena);
/* 16-byte aligned, uninitialised; NULL if out of memory (recorded in ctx). */
void *takt_arena_get(takt_arena *arena, size_t size);
/* Zeroed array; the product is checked. */
TAKT_INNER void *takt_arena_array(takt_arena *arena, size_t count, size_t size);
void *takt_arena_copy(takt_arena *arena, const void *from, size_t size);
/* A terminated copy of `length` characters. */
TAKT_INNER char *takt_arena_text(takt_arena *arena, const char *text, size_t length);
TAKT_INNER char *takt_arena_format(takt_arena *arena, const char *format, ...) TAKT_PRINTF(2, 3);

#endif
