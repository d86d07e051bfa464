/* page_file.c - memory that can be mapped at several addresses at once: a file in memory. */
#define _GNU_SOURCE
#include "os/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/cpu.h"

#ifndef __linux__
#include <stdatomic.h>
#include <stdio.h>
#endif

#ifdef MAP_NORESERVE
enum { UNUSED = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
#else
enum { UNUSED = MAP_PRIVATE | MAP_ANONYMOUS };
#endif

static int open_file(void)
{
#ifdef __linux__
    return memfd_create("takt", MFD_CLOEXEC);
#else
    static atomic_uint count;
    char name[32];
    (void)snprintf(name, sizeof name, "/takt-%ld-%u", (long)getpid(), atomic_fetch_add(&count, 1));
    const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0)
        (void)shm_unlink(name);
    return file;
#endif
}

/* Without this, the first write to a page could kill the program when memory is short. The system
 * would use up all memory before reporting that there is too little. */
static int allocate(int file, size_t bytes)
{
    const uint64_t allowed = takt_memory_allowed();
    if (allowed > 0 && bytes > allowed)
        return ENOMEM;
#ifdef __linux__
    return posix_fallocate(file, 0, (off_t)bytes);
#else
    return ftruncate(file, (off_t)bytes) == 0 ? 0 : errno;
#endif
}

static int open_all(takt_page_file *f)
{
    f->file = open_file();
    if (f->file < 0)
        return errno;
    const int error = allocate(f->file, f->bytes);
    if (error != 0)
        return error;
    void *at = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
    if (at == MAP_FAILED)
        return errno;
    f->all = at;
    return 0;
}

int takt_page_file_open(size_t bytes, takt_page_file *f)
{
    *f = (takt_page_file){.file = -1, .bytes = bytes};
    const int error = open_all(f);
    if (error != 0)
        takt_page_file_close(f);
    return error;
}

void takt_page_file_close(takt_page_file *f)
{
    if (f->all != NULL)
        munmap(f->all, f->bytes);
    if (f->bytes > 0 && f->file >= 0)
        close(f->file);
    *f = (takt_page_file){.file = -1};
}

static int map(void *at, size_t bytes, int protection, int flags, int file, size_t offset)
{
    return mmap(at, bytes, protection, flags, file, (off_t)offset) != MAP_FAILED ? 0 : errno;
}

int takt_page_file_map(const takt_page_file *f, size_t offset, size_t bytes, void *at)
{
    return map(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, f->file, offset);
}

int takt_pages_reserve(size_t bytes, void **at)
{
    void *found = mmap(NULL, bytes, PROT_READ, UNUSED, -1, 0);
    *at = found != MAP_FAILED ? found : NULL;
    return found != MAP_FAILED ? 0 : errno;
}

int takt_pages_unmap(void *at, size_t bytes)
{
    return map(at, bytes, PROT_READ, UNUSED | MAP_FIXED, -1, 0);
}
