/* file_facts.c - length of an open file, and whether it has changed. */
#define _GNU_SOURCE
#include "os/file_facts.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/hash.h"

int takt_os_file_size(int fd, uint64_t *bytes)
{
    struct stat about;
    *bytes = 0;
    if (fstat(fd, &about) != 0)
        return errno;
    *bytes = about.st_size > 0 ? (uint64_t)about.st_size : 0;
    return 0;
}

int takt_os_file_stamp(int fd, uint64_t *stamp)
{
    struct stat about;
    *stamp = 0;
    if (fstat(fd, &about) != 0)
        return errno;
    *stamp = takt_hash_word((uint64_t)about.st_size, (uint64_t)about.st_mtim.tv_sec);
    *stamp = takt_hash_word(*stamp, (uint64_t)about.st_mtim.tv_nsec);
    return 0;
}
