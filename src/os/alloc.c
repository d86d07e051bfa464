/* alloc.c - the C library's memory as an allocator. */
#ifdef __linux__
#define _GNU_SOURCE /* for madvise() */
#include <sys/mman.h>
#endif
#include <stdbool.h>
#include <stdlib.h>

#include "base/size.h"
#include "os/os.h"
#include "os/runs.h"

enum { HUGE_PAGE = 2 << 20, LARGE = HUGE_PAGE / 2 };

/* Allocates large blocks in huge pages where the system grants them on request (madvise): a TLB
 * miss costs as much as a few cache misses, on a virtual machine several times that, and small
 * pages collide in the caches. The last huge page is requested if the block fills half of it.
 * Nothing else depends on whether the request succeeds. */
static void *get_large(size_t size)
{
    size_t rounded;
    if (!takt_size_align(size, HUGE_PAGE, &rounded))
        return NULL;
    void *block = aligned_alloc(HUGE_PAGE, rounded);
#if defined __linux__ && defined MADV_HUGEPAGE
    if (block != NULL)
        (void)madvise(block, (size + LARGE) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return block;
}

static void *get_plain(size_t size, size_t align)
{
    size_t rounded; /* aligned_alloc wants a multiple of the alignment */
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (!takt_size_align(size != 0 ? size : 1, align, &rounded))
        return NULL;
    return aligned_alloc(align, rounded);
}

static bool is_middle(size_t size)
{
    return size >= TAKT_RUN_LEAST && size < TAKT_RUN_MOST;
}

static void *get_alone(size_t size, size_t align)
{
    return size >= LARGE && align <= HUGE_PAGE ? get_large(size) : get_plain(size, align);
}

static void *get(void *user, size_t size, size_t align)
{
    (void)user;
    if (!is_middle(size))
        return get_alone(size, align);
    void *block = takt_run_get(size, align);
    if (block == NULL)
        block = get_alone(size, align);
    if (block == NULL)
        (void)takt_run_put(NULL, size);
    return block;
}

static void put(void *user, void *block, size_t size)
{
    (void)user;
    if (block != NULL && is_middle(size) && takt_run_put(block, size))
        return;
    free(block);
}

takt_allocator takt_os_allocator(void)
{
    return (takt_allocator){.get = get, .put = put};
}
