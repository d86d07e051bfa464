/* cursor.h - the only bounded reader of bytes. Errors are sticky: after the first failed read every
 * read yields zero, `failed` stays true, and `pos` stays at the failed read. */
#ifndef TAKT_BASE_CURSOR_H
#define TAKT_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct takt_cursor {
    const uint8_t *base;
    size_t pos, end;
    uint64_t origin; /* file offset of base[0], for messages */
    bool failed;
} takt_cursor;

takt_cursor takt_cursor_of(const void *bytes, size_t length, uint64_t origin);
size_t takt_cursor_left(const takt_cursor *c);
/* The next `count` bytes, or NULL. */
const uint8_t *takt_cursor_take(takt_cursor *c, size_t count);
/* A cursor over the next `count` bytes; this one skips them. */
takt_cursor takt_cursor_sub(takt_cursor *c, size_t count);
bool takt_cursor_skip(takt_cursor *c, size_t count);
uint8_t takt_cursor_u8(takt_cursor *c);
uint16_t takt_cursor_u16le(takt_cursor *c);
uint32_t takt_cursor_u32le(takt_cursor *c);
uint64_t takt_cursor_u64le(takt_cursor *c);
/* Protobuf's varint: at most ten bytes, the tenth at most 1. */
uint64_t takt_cursor_varint(takt_cursor *c);
/* Offset in the file of the next byte, or of the one that failed. */
uint64_t takt_cursor_offset(const takt_cursor *c);

#endif
