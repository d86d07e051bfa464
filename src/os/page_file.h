/* page_file.h - memory that can be mapped at several addresses at once. */
#ifndef TAKT_OS_PAGE_FILE_H
#define TAKT_OS_PAGE_FILE_H

#include <stddef.h>

/* Pages without a name, zeroed. All of them are allocated when it is opened, so that a later write
 * cannot fail. All functions return 0 or a positive errno. */
typedef struct takt_page_file {
    int file;
    size_t bytes;
    unsigned char *all; /* the whole of it, readable and writable */
} takt_page_file;

/* `bytes` is a multiple of the page size. */
int takt_page_file_open(size_t bytes, takt_page_file *f);
void takt_page_file_close(takt_page_file *f); /* accepts one that is zero */
/* Maps [offset, offset + bytes) at `at`, in memory of takt_pages_reserve. The mapping that was
 * there is replaced; if this fails it stays. All three are multiples of the page size. */
int takt_page_file_map(const takt_page_file *f, size_t offset, size_t bytes, void *at);

/* Addresses whose bytes read as zeros, use no memory, and cannot be written. */
int takt_pages_reserve(size_t bytes, void **at);
/* Makes a part of a reservation what it was at first. */
int takt_pages_unmap(void *at, size_t bytes);

#endif
