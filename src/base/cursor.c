/* cursor.c - bounded reads; nothing else does pointer arithmetic on untrusted bytes. */
#include "base/cursor.h"

takt_cursor takt_cursor_of(const void *bytes, size_t length, uint64_t origin)
{
    return (takt_cursor){.base = bytes, .end = length, .origin = origin};
}

size_t takt_cursor_left(const takt_cursor *c)
{
    return c->failed ? 0 : c->end - c->pos;
}

const uint8_t *takt_cursor_take(takt_cursor *c, size_t count)
{
    static const uint8_t nothing[1]; /* base may be NULL if there are no bytes */
    if (c->failed || count > c->end - c->pos) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *at = c->base != NULL ? c->base + c->pos : nothing;
    c->pos += count;
    return at;
}

takt_cursor takt_cursor_sub(takt_cursor *c, size_t count)
{
    const uint64_t origin = takt_cursor_offset(c);
    const uint8_t *at = takt_cursor_take(c, count);
    return (takt_cursor){
        .base = at, .end = at != NULL ? count : 0, .origin = origin, .failed = at == NULL};
}

bool takt_cursor_skip(takt_cursor *c, size_t count)
{
    return takt_cursor_take(c, count) != NULL;
}

static uint64_t little(takt_cursor *c, size_t count)
{
    const uint8_t *at = takt_cursor_take(c, count);
    uint64_t value = 0;
    for (size_t i = 0; at != NULL && i < count; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

uint8_t takt_cursor_u8(takt_cursor *c)
{
    return (uint8_t)little(c, 1);
}

uint16_t takt_cursor_u16le(takt_cursor *c)
{
    return (uint16_t)little(c, 2);
}

uint32_t takt_cursor_u32le(takt_cursor *c)
{
    return (uint32_t)little(c, 4);
}

uint64_t takt_cursor_u64le(takt_cursor *c)
{
    return little(c, 8);
}

uint64_t takt_cursor_varint(takt_cursor *c)
{
    const size_t start = c->pos;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const uint8_t *at = takt_cursor_take(c, 1);
        if (at == NULL || (shift == 63 && *at > 1))
            break;
        value |= (uint64_t)(*at & 0x7F) << shift;
        if (*at < 0x80)
            return value;
    }
    c->failed = true;
    c->pos = start; /* report the start of the number */
    return 0;
}

uint64_t takt_cursor_offset(const takt_cursor *c)
{
    return c->origin + c->pos;
}
