/* os_alloc.c - the C library's memory: alignment, sizes that do not fit, large pages for large
 * blocks. */
#define _GNU_SOURCE /* for alarm() */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __linux__
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

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

/* Whether the mapping around `at` was advised to use large pages; false if unknown. */
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

/* ---- blocks of middle size ---- */

enum { BLOCKS = 400, ROUNDS = 20000 };

/* Random blocks keep their contents, wherever they are, and all memory is returned. */
static void middle(void)
{
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    const takt_allocator a = takt_os_allocator();
    uint32_t seed = 1;
    size_t near = 0, bad = 0;
    for (size_t round = 0; round < ROUNDS + BLOCKS; round++) {
        seed = seed * 1664525u + 1013904223u;
        const size_t i = round < ROUNDS ? (seed >> 8) % BLOCKS : round - ROUNDS;
        const unsigned char mark = (unsigned char)i;
        if (blocks[i] != NULL)
            bad += blocks[i][0] != mark || blocks[i][sizes[i] - 1] != mark;
        a.put(a.user, blocks[i], sizes[i]);
        blocks[i] = NULL;
        if (round >= ROUNDS)
            continue;
        sizes[i] = (48 << 10) + (seed >> 4) % (1 << 20);
        blocks[i] = a.get(a.user, sizes[i], seed % 64 == 0 ? 32 << 10 : 64);
        if (!EXPECT(blocks[i] != NULL))
            return;
        blocks[i][0] = blocks[i][sizes[i] - 1] = mark;
        near += i > 0 && blocks[i - 1] != NULL && (uintptr_t)blocks[i] % (16 << 10) == 0;
    }
    EXPECT(bad == 0 && near > 0, "%zu blocks were overwritten", bad);
}

#ifdef __linux__
/* In a program with many of them. */
static void middle_pages(void)
{
    static char *blocks[64];
    const takt_allocator a = takt_os_allocator();
    const size_t size = 300 << 10;
    for (size_t i = 0; i < 64; i++)
        EXPECT((blocks[i] = a.get(a.user, size, 64)) != NULL);
    if (has_large_pages() && blocks[63] != NULL && !TEST_SANITIZED)
        EXPECT(is_advised(blocks[63]) && is_advised(blocks[63] + size - 1));
    for (size_t i = 0; i < 64; i++)
        a.put(a.user, blocks[i], size);
}

static atomic_bool is_over;

static void *get_and_put(void *user)
{
    const takt_allocator a = takt_os_allocator();
    static void *blocks[32];
    (void)user;
    for (size_t i = 0; !is_over; i = (i + 1) % 32) {
        a.put(a.user, blocks[i], 300 << 10);
        blocks[i] = a.get(a.user, 300 << 10, 64);
    }
    for (size_t i = 0; i < 32; i++)
        a.put(a.user, blocks[i], 300 << 10);
    return NULL;
}

/* A child can allocate whatever another thread of the parent did when it was forked. */
static void forked(void)
{
    pthread_t thread;
    int bad = 0;
    if (TEST_SANITIZED || !EXPECT_EQ(pthread_create(&thread, NULL, get_and_put, NULL), 0))
        return;
    for (int i = 0; i < 20 && bad == 0; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            const takt_allocator a = takt_os_allocator();
            (void)alarm(20); /* ends a child that waits forever */
            a.put(a.user, a.get(a.user, 300 << 10, 64), 300 << 10);
            _exit(0);
        }
        bad += child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    is_over = true;
    (void)pthread_join(thread, NULL);
    EXPECT(bad == 0, "a child got no memory");
}
#else
static void middle_pages(void) {}
static void forked(void) {}
#endif

TEST_MAIN(aligned, too_large, large_pages, middle, middle_pages, forked)
