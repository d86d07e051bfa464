/* os_alloc.c - the C library's memory: alignment, sizes that do not fit, large pages for large
 * blocks. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "test.h"

static void aligned(void)
{
    static const size_t sizes[] = {0, 1, 100, (1 << 20) - 1, 1 << 20, (3 << 20) + 17, 5 << 20};
    static const size_t aligns[] = {1, 64, 4096, 4 << 20};
    const takt_allocator a = takt_os_allocator();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof aligns / sizeof *aligns; j++) {
            unsigned char *block = a.get(a.user, sizes[i], aligns[j]);
            EXPECT(block != NULL && (uintptr_t)block % aligns[j] == 0);
            if (block != NULL)
                memset(block, 0x5a, sizes[i]);
            a.put(a.user, block, sizes[i]);
        }
}

static void too_large(void)
{
    const takt_allocator a = takt_os_allocator();
    EXPECT(a.get(a.user, SIZE_MAX, 64) == NULL);
    EXPECT(a.get(a.user, SIZE_MAX - (1 << 20), 64) == NULL);
}

#ifdef __linux__
static bool has_large_pages(void)
{
    char mode[128] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    const bool read = f != NULL && fgets(mode, sizeof mode, f) != NULL;
    if (f != NULL)
        fclose(f);
    return read && strstr(mode, "[never]") == NULL;
}

/* Whether the mapping around `at` was advised to have large pages; false if that is not told. */
static bool is_advised(const void *at)
{
    char line[512];
    bool here = false, found = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        uintptr_t first, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2)
            here = (uintptr_t)at >= first && (uintptr_t)at < end;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, " hg") != NULL;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

/* A sanitizer's allocator places blocks as it likes. */
static void large_pages(void)
{
    const takt_allocator a = takt_os_allocator();
    char *large = a.get(a.user, 6 << 20, 64);
    EXPECT(large != NULL);
    if (has_large_pages() && large != NULL && !TEST_SANITIZED)
        EXPECT(is_advised(large) && is_advised(large + (6 << 20) - 1));
    a.put(a.user, large, 6 << 20);
}
#else
static void large_pages(void) {}
#endif

TEST_MAIN(aligned, too_large, large_pages)
