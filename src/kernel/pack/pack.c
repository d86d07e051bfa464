/* pack.c - unpacking. */
#include "kernel/pack/pack.h"

#include <string.h>

void takt_unpack(const takt_pack *p)
{
    const char *from = p->src;
    char *to = p->dst;
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < p->k; i++)
            memcpy(to + (i * p->row + j * p->col) * p->bytes,
                   from + takt_packed_at(p->panels, p->k, p->n, i, j) * p->bytes, p->bytes);
}
