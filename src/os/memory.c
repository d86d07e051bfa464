/* memory.c - pages by mmap. */
#define _GNU_SOURCE
#include "os/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/size.h"
#include "os/facts.h"
#include "os/os.h"

size_t takt_page_size(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

static int map(size_t size, int protection, int more, void **at)
{
    void *found = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
    *at = found != MAP_FAILED ? found : NULL;
    return found != MAP_FAILED ? 0 : errno;
}

/* munmap takes the rounded size; an empty block has one page. */
static bool round_up(size_t size, size_t page, size_t *rounded)
{
    return takt_size_align(size != 0 ? size : 1, page, rounded);
}

int takt_pages_get(size_t size, void **at)
{
    size_t rounded;
    *at = NULL;
    if (!round_up(size, takt_page_size(), &rounded))
        return ENOMEM;
    return map(rounded, PROT_READ | PROT_WRITE, 0, at);
}

void takt_pages_put(void *at, size_t size)
{
    size_t rounded;
    if (at != NULL && round_up(size, takt_page_size(), &rounded))
        munmap(at, rounded);
}

size_t takt_pages_drop(void *at, size_t size)
{
    const uintptr_t page = takt_page_size(), end = ((uintptr_t)at + size) & ~(page - 1);
    const uintptr_t first = ((uintptr_t)at + page - 1) & ~(page - 1);
    const bool is_dropped = first < end && madvise((void *)first, end - first, MADV_DONTNEED) == 0;
    return is_dropped ? end - first : 0;
}

int takt_pages_protect(void *at, size_t size, takt_page_access access)
{
    static const int protections[] = {
        [TAKT_PAGE_NONE] = PROT_NONE,
        [TAKT_PAGE_READ] = PROT_READ,
        [TAKT_PAGE_WRITE] = PROT_READ | PROT_WRITE,
    };
    return mprotect(at, size, protections[access]) == 0 ? 0 : errno;
}

int takt_guarded_get(size_t size, bool at_end, takt_guarded *guarded)
{
    const size_t page = takt_page_size();
    size_t inner, whole;
    *guarded = (takt_guarded){0};
    if (!round_up(size, page, &inner) || !takt_size_add(inner, 2 * page, &whole))
        return ENOMEM;
    void *base;
    int error = map(whole, PROT_NONE, 0, &base);
    if (error != 0)
        return error;
    unsigned char *first = (unsigned char *)base + page;
    error = takt_pages_protect(first, inner, TAKT_PAGE_WRITE);
    if (error != 0) {
        munmap(base, whole);
        return error;
    }
    *guarded = (takt_guarded){
        .at = at_end ? first + (inner - size) : first,
        .base = base,
        .mapped = whole,
    };
    return 0;
}

void takt_guarded_put(takt_guarded *guarded)
{
    if (guarded->base != NULL)
        munmap(guarded->base, guarded->mapped);
    *guarded = (takt_guarded){0};
}

static void explain(char reason[TAKT_HUGE_REASON], const char *what, int error)
{
    char text[64];
    snprintf(reason, TAKT_HUGE_REASON, "%s: %s", what, takt_os_reason(error, text, sizeof text));
}

/* Requests huge pages for the whole pages inside [at, at + size). Returns 0, or an errno with the
 * reason as a sentence; the memory is usable either way. */
static int advise_huge(void *at, size_t size, char reason[TAKT_HUGE_REASON])
{
    reason[0] = '\0';
#ifdef MADV_HUGEPAGE
    char mode[128];
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    if (!takt_fact_text("", path, mode, sizeof mode)) {
        snprintf(reason, TAKT_HUGE_REASON, "this kernel has no transparent huge pages");
        return ENOSYS;
    }
    if (strstr(mode, "[never]") != NULL) {
        snprintf(reason, TAKT_HUGE_REASON, "transparent huge pages are switched off in %s", path);
        return EPERM;
    }
    const size_t page = takt_page_size();
    const uintptr_t first = ((uintptr_t)at + page - 1) & ~(uintptr_t)(page - 1);
    const uintptr_t end = ((uintptr_t)at + size) & ~(uintptr_t)(page - 1);
    if (first >= end) {
        snprintf(reason, TAKT_HUGE_REASON, "%zu bytes hold no whole page", size);
        return EINVAL;
    }
    if (madvise((void *)first, end - first, MADV_HUGEPAGE) == 0)
        return 0;
    const int error = errno;
    explain(reason, "the kernel refused transparent huge pages", error);
    return error;
#else
    (void)at;
    (void)size;
    snprintf(reason, TAKT_HUGE_REASON, "this system has no transparent huge pages");
    return ENOSYS;
#endif
}

static void advise_small(void *at, size_t size)
{
#ifdef MADV_NOHUGEPAGE
    (void)madvise(at, size, MADV_NOHUGEPAGE);
#else
    (void)at;
    (void)size;
#endif
}

/* Pages of the reserved pool; sizes there are multiples of the huge page. */
static int get_explicit(size_t size, void **at, char reason[TAKT_HUGE_REASON])
{
    *at = NULL;
#ifdef MAP_HUGETLB
    char text[TAKT_FACT_TEXT], value[64];
    uint64_t kib = 0;
    if (!takt_fact_text("", "/proc/meminfo", text, sizeof text) ||
        !takt_fact_field(text, "Hugepagesize", value, sizeof value) ||
        !takt_fact_parse(value, &kib) || kib == 0) {
        snprintf(reason, TAKT_HUGE_REASON, "this kernel has no huge pages");
        return ENOSYS;
    }
    if (size % ((size_t)kib * 1024) != 0) {
        snprintf(reason, TAKT_HUGE_REASON,
                 "%zu bytes are not a multiple of a huge page of %llu KiB", size,
                 (unsigned long long)kib);
        return EINVAL;
    }
    const int error = map(size, PROT_READ | PROT_WRITE, MAP_HUGETLB, at);
    if (error != 0)
        explain(reason, "too few huge pages are reserved in /proc/sys/vm/nr_hugepages", error);
    return error;
#else
    (void)size;
    snprintf(reason, TAKT_HUGE_REASON, "this system has no huge pages");
    return ENOSYS;
#endif
}

int takt_pages_get_huge(size_t size, takt_huge_pages want, void **at, takt_huge_pages *got,
                        char reason[TAKT_HUGE_REASON])
{
    char next_reason[TAKT_HUGE_REASON];
    reason[0] = '\0';
    *got = want;
    if (want == TAKT_HUGE_EXPLICIT && get_explicit(size, at, reason) == 0)
        return 0;
    const int error = takt_pages_get(size, at);
    *got = TAKT_HUGE_OFF;
    if (error == 0 && want == TAKT_HUGE_OFF)
        advise_small(*at, size);
    if (error != 0 || want == TAKT_HUGE_OFF)
        return error;
    if (advise_huge(*at, size, next_reason) == 0)
        *got = TAKT_HUGE_TRANSPARENT;
    else if (reason[0] == '\0')
        memcpy(reason, next_reason, sizeof next_reason);
    return 0;
}
