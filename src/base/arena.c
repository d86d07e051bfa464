/* arena.c - a list of blocks: the newest has free space, the others are full or sized for one
 * piece. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"

enum { UNIT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct takt_arena_block {
    takt_arena_block *next;
    size_t size;    /* of the whole block, with this header */
    size_t used;    /* likewise */
    size_t unused_; /* keeps the data after it aligned to UNIT */
};

_Static_assert(sizeof(takt_arena_block) % UNIT == 0, "what follows the header must be aligned");

void takt_arena_init(takt_arena *arena, takt_ctx *ctx)
{
    *arena = (takt_arena){.ctx = ctx, .block_bytes = FIRST_BLOCK};
}

void takt_arena_deinit(takt_arena *arena)
{
    takt_arena_block *block = arena->newest;
    while (block != NULL) {
        takt_arena_block *next = block->next;
        takt_mem_put(arena->ctx, block, block->size);
        block = next;
    }
    arena->newest = NULL;
    arena->block_bytes = FIRST_BLOCK;
}

size_t takt_arena_bytes(const takt_arena *arena)
{
    size_t bytes = 0;
    for (const takt_arena_block *block = arena->newest; block != NULL; block = block->next)
        bytes += block->size;
    return bytes;
}

static takt_arena_block *add_block(takt_arena *arena, size_t size)
{
    void *at;
    if (takt_mem_get(arena->ctx, size, "an arena", &at) != TAKT_OK)
        return NULL;
    takt_arena_block *block = at;
    *block = (takt_arena_block){.size = size, .used = sizeof *block};
    return block;
}

static void *take(takt_arena_block *block, size_t size)
{
    void *at = (char *)block + block->used;
    block->used += size;
    return at;
}

void *takt_arena_get(takt_arena *arena, size_t size)
{
    size_t rounded, whole;
    if (!takt_size_align(size != 0 ? size : 1, UNIT, &rounded) ||
        !takt_size_add(rounded, sizeof(takt_arena_block), &whole)) {
        takt_fail_memory(arena->ctx, "an arena", size);
        return NULL;
    }
    takt_arena_block *newest = arena->newest;
    if (newest != NULL && newest->size - newest->used >= rounded)
        return take(newest, rounded);

    /* A large piece gets its own block after the newest one, whose free space stays in use. */
    const bool is_large = whole > arena->block_bytes / 2;
    takt_arena_block *block = add_block(arena, is_large ? whole : arena->block_bytes);
    if (block == NULL)
        return NULL;
    if (is_large && newest != NULL) {
        block->next = newest->next;
        newest->next = block;
    } else {
        block->next = newest;
        arena->newest = block;
        if (!is_large && arena->block_bytes < LARGEST_BLOCK)
            arena->block_bytes *= 2;
    }
    return take(block, rounded);
}

void *takt_arena_array(takt_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!takt_size_mul(count, size, &bytes)) {
        takt_fail(arena->ctx, TAKT_E_OVERFLOW,
                  "an array of %zu items of %zu bytes is more than can be addressed", count, size);
        return NULL;
    }
    void *at = takt_arena_get(arena, bytes);
    if (at != NULL)
        memset(at, 0, bytes);
    return at;
}

void *takt_arena_copy(takt_arena *arena, const void *from, size_t size)
{
    void *at = takt_arena_get(arena, size);
    if (at != NULL && size != 0)
        memcpy(at, from, size);
    return at;
}

char *takt_arena_text(takt_arena *arena, const char *text, size_t length)
{
    size_t size;
    if (!takt_size_add(length, 1, &size)) {
        takt_fail_memory(arena->ctx, "a text", length);
        return NULL;
    }
    char *at = takt_arena_get(arena, size);
    if (at == NULL)
        return NULL;
    if (length != 0)
        memcpy(at, text, length);
    at[length] = '\0';
    return at;
}

char *takt_arena_format(takt_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *at = NULL;
    if (length < 0)
        takt_fail(arena->ctx, TAKT_E_INTERNAL, "a text could not be formatted: \"%s\"", format);
    else
        at = takt_arena_get(arena, (size_t)length + 1);
    if (at != NULL)
        vsnprintf(at, (size_t)length + 1, format, again);
    va_end(again);
    return at;
}
