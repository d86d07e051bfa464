/* memfs.h - files that live in memory: for fuzz targets and for tests that must not touch a disk.
 *
 * Each file's bytes are a block of exactly their size, so that a sanitizer detects a read past its
 * end.
 */
#ifndef TAKT_TESTS_UTIL_MEMFS_H
#define TAKT_TESTS_UTIL_MEMFS_H

#include <takt/ctx.h>

typedef struct takt_memfs takt_memfs;

/* NULL if memory is short. */
takt_memfs *takt_memfs_create(void);
void takt_memfs_destroy(takt_memfs *fs); /* accepts NULL; no file may be open */
/* Adds or replaces; 0 or a positive errno. */
int takt_memfs_put(takt_memfs *fs, const char *path, const void *bytes, size_t size);
/* The bytes at `path`, borrowed until the file changes; NULL if there is none. */
const void *takt_memfs_get(const takt_memfs *fs, const char *path, size_t *size);
/* Services for a takt_config, valid as long as `fs`. */
takt_files takt_memfs_files(takt_memfs *fs);

#endif
