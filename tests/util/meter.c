/* meter.c - memory that is counted. */
#include "util/meter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *meter_get(void *user, size_t size, size_t align)
{
    meter *m = user;
    void *block =
        size > SIZE_MAX - align ? NULL : aligned_alloc(align, (size + align - 1) & ~(align - 1));
    m->asked += size;
    if (block == NULL)
        return NULL;
    m->live += size;
    m->peak = m->live > m->peak ? m->live : m->peak;
    if (m->fills)
        memset(block, m->filling, size);
    return block;
}

void meter_put(void *user, void *block, size_t size)
{
    meter *m = user;
    m->live -= block != NULL ? size : 0;
    free(block);
}
