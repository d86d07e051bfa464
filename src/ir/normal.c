/* normal.c - finds bytes that are not bools, eight at a time. */
#include "ir/normal.h"

#include <string.h>

size_t takt_bools_check(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    size_t i = 0;
    for (; count - i >= 8; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        if ((word & 0xfefefefefefefefeu) != 0)
            break;
    }
    while (i < count && at[i] <= 1)
        i++;
    return i;
}
