/* alloc.c - the C library's memory as an allocator. */
#include <stdlib.h>

#include "base/size.h"
#include "os/os.h"

static void *get(void *user, size_t size, size_t align)
{
    (void)user;
    size_t rounded; /* aligned_alloc wants a multiple of the alignment */
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (!takt_size_align(size != 0 ? size : 1, align, &rounded))
        return NULL;
    return aligned_alloc(align, rounded);
}

static void put(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

takt_allocator takt_os_allocator(void)
{
    return (takt_allocator){.get = get, .put = put};
}
