/* pack.c - the width of panels, and unpacking. */
#include "kernel/pack/pack.h"

#include <string.h>

size_t takt_pack_width(size_t bytes)
{
    return bytes == 8 ? 8 : 16;
}

void takt_unpack(const takt_pack *p)
{
    const size_t width = takt_pack_width(p->bytes);
    const char *from = p->src;
    char *to = p->dst;
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < p->k; i++)
            memcpy(to + (i * p->row + j * p->col) * p->bytes,
                   from + ((j / width * p->k + i) * width + j % width) * p->bytes, p->bytes);
}
