/* back.c - protobuf from its end to its beginning. */
#include "util/back.h"

#include <stdlib.h>
#include <string.h>

back back_open(size_t room)
{
    uint8_t *block = malloc(room);
    return (back){block + room, block + room, block};
}

void back_bytes(back *b, const void *bytes, size_t length)
{
    b->at -= length;
    memcpy(b->at, bytes, length);
}

void back_varint(back *b, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        bytes[n++] = (uint8_t)(value | 128);
    bytes[n++] = (uint8_t)value;
    back_bytes(b, bytes, n);
}

void back_wrap(back *b, uint32_t field, const uint8_t *mark)
{
    back_varint(b, (uint64_t)(mark - b->at));
    back_varint(b, field << 3 | 2);
}

void back_text(back *b, uint32_t field, const char *text)
{
    const uint8_t *mark = b->at;
    back_bytes(b, text, strlen(text));
    back_wrap(b, field, mark);
}

void back_int(back *b, uint32_t field, uint64_t value)
{
    back_varint(b, value);
    back_varint(b, field << 3);
}

void back_opset(back *b, uint32_t field, const char *domain, uint64_t version)
{
    const uint8_t *mark = b->at;
    back_int(b, 2, version);
    back_text(b, 1, domain);
    back_wrap(b, field, mark);
}

size_t back_take(back *b, char *to)
{
    const size_t length = (size_t)(b->end - b->at);
    memcpy(to, b->at, length);
    free(b->block);
    return length;
}
