/* runs.h - blocks of middle size, next to each other in huge pages.
 *
 * Packed weights of a small model are many blocks of less than a huge page. Where the C library
 * places them they are in small pages, and reading them all for each token misses the TLB. By
 * themselves in huge pages, blocks of 1 and 3 MB would take a third to half more than their size.
 */
#ifndef TAKT_OS_RUNS_H
#define TAKT_OS_RUNS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TAKT_RUN_LEAST = 64 << 10, /* smaller blocks are the C library's */
    TAKT_RUN_MOST = 4 << 20,   /* so are these and larger ones */
    TAKT_RUN_BLOCK = 4 << 10,  /* blocks begin at multiples of it */
    TAKT_RUN_BYTES = 32 << 20, /* of a run; only what is used takes memory */
    TAKT_RUN_BEGIN = 8 << 20,  /* a program with less in such blocks has no runs */
};

/* Counts a block of at least TAKT_RUN_LEAST and less than TAKT_RUN_MOST; NULL: it is to be had
 * from the C library. From any thread. */
void *takt_run_get(size_t size, size_t align);
/* A block that takt_run_get counted, wherever it came from; false: it is the C library's, or NULL.
 */
bool takt_run_put(void *block, size_t size);

#endif
