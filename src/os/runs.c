/* runs.c - a list of runs, under a lock that is held briefly. One empty run is kept: a program that
 * frees a block and allocates another gets it again. Pages behind its beginning go back at once. */
#ifdef __linux__
#define _GNU_SOURCE /* for madvise() */
#include <sys/mman.h>
#endif
#include "os/runs.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/lock.h"

/* A sanitizer finds errors at the ends of the C library's blocks alone. */
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#elif defined __SANITIZE_ADDRESS__
#define IS_SANITIZED 1
#endif

#if defined __linux__ && defined MADV_HUGEPAGE && !defined IS_SANITIZED
#include <pthread.h>

enum { BLOCKS = TAKT_RUN_BYTES / TAKT_RUN_BLOCK, HUGE_PAGE = 2 << 20 };

typedef struct run {
    struct run *next;
    unsigned char *at;
    size_t free_count;
    uint16_t length[BLOCKS]; /* of what begins there; 0: free, or within it */
} run;

static struct {
    takt_lock lock;
    run *first;
    size_t bytes; /* that takt_run_get counted */
    bool is_held; /* across forks */
} runs;

/* A child of a fork has no thread that would give the lock back. */
static void hold(void)
{
    takt_lock_take(&runs.lock);
}

static void release(void)
{
    takt_lock_give(&runs.lock);
}

/* The first of `count` free blocks; BLOCKS: there are none. */
static size_t find(const run *r, size_t count)
{
    size_t begin = 0, i = 0;
    while (r->free_count >= count && i < BLOCKS && i - begin < count) {
        if (r->length[i] > 0)
            begin = i += r->length[i];
        else
            i++;
    }
    return i - begin == count ? begin : BLOCKS;
}

static run *add_run(void)
{
    run *r = calloc(1, sizeof *r);
    unsigned char *at = r != NULL ? aligned_alloc(HUGE_PAGE, TAKT_RUN_BYTES) : NULL;
    if (at == NULL) {
        free(r);
        return NULL;
    }
    (void)madvise(at, TAKT_RUN_BYTES, MADV_HUGEPAGE);
    *r = (run){.next = runs.first, .at = at, .free_count = BLOCKS};
    return runs.first = r;
}

static void *take(size_t count)
{
    run *r = runs.first;
    while (r != NULL && find(r, count) == BLOCKS)
        r = r->next;
    if (r == NULL)
        r = add_run();
    if (r == NULL)
        return NULL;
    const size_t at = find(r, count);
    r->length[at] = (uint16_t)count;
    r->free_count -= count;
    return r->at + at * TAKT_RUN_BLOCK;
}

/* Gives all but the first huge pages of an empty run back to the system. */
static void give_back(const run *r)
{
    (void)madvise(r->at + TAKT_RUN_BEGIN, TAKT_RUN_BYTES - TAKT_RUN_BEGIN, MADV_DONTNEED);
}

/* Frees all empty runs but one. */
static void drop_empty(void)
{
    bool has_one = false;
    for (run **at = &runs.first; *at != NULL;) {
        run *r = *at;
        if (r->free_count < BLOCKS || !has_one) {
            has_one = has_one || r->free_count == BLOCKS;
            at = &r->next;
            continue;
        }
        *at = r->next;
        free(r->at);
        free(r);
    }
}

void *takt_run_get(size_t size, size_t align)
{
    takt_lock_take(&runs.lock);
    runs.is_held = runs.is_held || pthread_atfork(hold, release, release) == 0;
    runs.bytes += size;
    void *block = runs.bytes <= TAKT_RUN_BEGIN || align > TAKT_RUN_BLOCK
                      ? NULL
                      : take((size + TAKT_RUN_BLOCK - 1) / TAKT_RUN_BLOCK);
    takt_lock_give(&runs.lock);
    return block;
}

bool takt_run_put(void *block, size_t size)
{
    const uintptr_t address = (uintptr_t)block;
    takt_lock_take(&runs.lock);
    runs.bytes -= size;
    run *r = runs.first;
    while (r != NULL && address - (uintptr_t)r->at >= TAKT_RUN_BYTES)
        r = r->next;
    if (r != NULL) {
        const size_t at = (size_t)((unsigned char *)block - r->at) / TAKT_RUN_BLOCK;
        r->free_count += r->length[at];
        r->length[at] = 0;
        if (r->free_count == BLOCKS) {
            give_back(r);
            drop_empty();
        }
    }
    takt_lock_give(&runs.lock);
    return r != NULL;
}
#else
void *takt_run_get(size_t size, size_t align)
{
    (void)size;
    (void)align;
    return NULL;
}

bool takt_run_put(void *block, size_t size)
{
    (void)block;
    (void)size;
    return false;
}
#endif
