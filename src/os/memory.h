/* memory.h - whole pages: protection, guards, huge pages. */
#ifndef TAKT_OS_MEMORY_H
#define TAKT_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <takt/session.h> /* takt_huge_pages */

typedef enum takt_page_access { TAKT_PAGE_NONE, TAKT_PAGE_READ, TAKT_PAGE_WRITE } takt_page_access;

/* Zeroed pages straight from the system, outside any context's count; size is rounded up. All
 * return 0 or a positive errno. */
int takt_pages_get(size_t size, void **at);
void takt_pages_put(void *at, size_t size); /* accepts NULL */
/* Gives the whole pages inside [at, at + size) back to the system and returns their size in bytes;
 * they read as zeros afterwards. 0 if the system cannot. */
size_t takt_pages_drop(void *at, size_t size);
/* `at` and `size` are multiples of the page size. */
int takt_pages_protect(void *at, size_t size, takt_page_access access);
size_t takt_page_size(void);

/* `size` bytes between two inaccessible guard pages. With `at_end` the last byte touches the upper
 * guard, otherwise the first byte touches the lower one. */
typedef struct takt_guarded {
    unsigned char *at; /* the bytes */
    void *base;        /* the mapping */
    size_t mapped;
} takt_guarded;

int takt_guarded_get(size_t size, bool at_end, takt_guarded *guarded);
void takt_guarded_put(takt_guarded *guarded);

enum { TAKT_HUGE_REASON = 160 };

/* Pages of the requested kind, which is not AUTO, or of the next lesser kind that is available.
 * `*got` says which; `reason` says why it is not the requested one, "" if it is. */
int takt_pages_get_huge(size_t size, takt_huge_pages want, void **at, takt_huge_pages *got,
                        char reason[TAKT_HUGE_REASON]);

#endif
