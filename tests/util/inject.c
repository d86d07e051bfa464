/* inject.c - memory with red zones, and files and threads that fail on demand. */
#define _DEFAULT_SOURCE /* anonymous mappings */

#include "util/inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "os/os.h"

enum { RED = 32, RED_BYTE = 0xB7, FRESH = 0xA5, FREED = 0xDD, KEPT_BYTES = 1 << 20 };
enum { PAGE = 1 << 16, PAGES_BYTES = 1 << 30 }; /* as large as the pages of any machine */
static const uint64_t alive = 0x6C69766562616C6Cu, dead = 0x6465616462616C6Cu;

struct takt_inject_block { /* directly before the lower red zone */
    uint64_t magic;
    size_t size;
    takt_inject_block *next, *before;
    void *raw;
    uint64_t number; /* which get it was */
    uint64_t unused_[2];
};

static unsigned char *payload(takt_inject_block *b)
{
    return (unsigned char *)(b + 1) + RED;
}

static void blame(takt_inject *inject, const char *what, const takt_inject_block *b)
{
    if (inject->faults++ == 0)
        snprintf(inject->fault, sizeof inject->fault, "%s (block of %zu bytes, allocation %llu)",
                 what, b != NULL ? b->size : 0, b != NULL ? (unsigned long long)b->number : 0);
}

/* Counts an operation; true if it is to fail. The lock is held. */
static bool strikes(takt_inject *inject, unsigned kind)
{
    if ((inject->kinds & kind) == 0)
        return false;
    inject->operations++;
    const bool asked =
        kind == TAKT_INJECT_MEMORY && inject->fails != NULL && inject->fails(inject->fails_user);
    const bool hit = asked ||
                     (inject->mode == TAKT_INJECT_ONCE && inject->operations == inject->fail_at) ||
                     (inject->mode == TAKT_INJECT_EVER && inject->operations >= inject->fail_at);
    inject->hits += hit;
    return hit;
}

static bool strikes_locked(takt_inject *inject, unsigned kind)
{
    pthread_mutex_lock(&inject->lock);
    const bool hit = strikes(inject, kind);
    pthread_mutex_unlock(&inject->lock);
    return hit;
}

/* Compares each byte with the previous one by memcmp, which is fast: sweeps check gigabytes. */
static bool all_are(const unsigned char *at, size_t count, unsigned char byte)
{
    return count == 0 || (at[0] == byte && memcmp(at, at + 1, count - 1) == 0);
}

static void check_zones(takt_inject *inject, takt_inject_block *b)
{
    if (!all_are(payload(b) - RED, RED, RED_BYTE))
        blame(inject, "bytes before a block were overwritten", b);
    if (!all_are(payload(b) + b->size, RED, RED_BYTE))
        blame(inject, "bytes behind a block were overwritten", b);
}

/* Pages that were never used before, or NULL if there are no more. */
static unsigned char *new_pages(takt_inject *inject, size_t bytes)
{
    if ((inject->kinds & TAKT_INJECT_GUARDED) == 0)
        return NULL;
    if (inject->pages == NULL) {
        void *at =
            mmap(NULL, PAGES_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return NULL;
        inject->pages = at;
    }
    const size_t whole = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (whole > PAGES_BYTES - inject->pages_used ||
        mprotect(inject->pages + inject->pages_used, whole, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    inject->pages_used += whole;
    return inject->pages + inject->pages_used - whole;
}

static bool is_guarded(const takt_inject *inject, const takt_inject_block *b)
{
    const unsigned char *raw = b->raw;
    return inject->pages != NULL && raw >= inject->pages && raw < inject->pages + PAGES_BYTES;
}

static takt_inject_block *new_block(takt_inject *inject, size_t size, size_t align)
{
    if (align < 64)
        align = 64;
    const size_t front = (sizeof(takt_inject_block) + RED + align - 1) & ~(align - 1);
    if (size > SIZE_MAX - front - RED - align - PAGE)
        return NULL;
    unsigned char *raw = align <= PAGE ? new_pages(inject, front + size + RED) : NULL;
    if (raw == NULL)
        raw = aligned_alloc(align, (front + size + RED + align - 1) & ~(align - 1));
    if (raw == NULL)
        return NULL;
    takt_inject_block *b = (takt_inject_block *)(void *)(raw + front - RED) - 1;
    *b = (takt_inject_block){.magic = alive, .size = size, .raw = raw};
    memset(payload(b) - RED, RED_BYTE, RED);
    memset(payload(b), FRESH, size);
    memset(payload(b) + size, RED_BYTE, RED);
    return b;
}

static void *get(void *user, size_t size, size_t align)
{
    takt_inject *inject = user;
    pthread_mutex_lock(&inject->lock);
    takt_inject_block *b =
        strikes(inject, TAKT_INJECT_MEMORY) ? NULL : new_block(inject, size, align);
    if (b != NULL) {
        b->number = ++inject->gets;
        b->next = inject->live;
        if (inject->live != NULL)
            inject->live->before = b;
        inject->live = b;
        inject->live_bytes += size;
        if (inject->live_bytes > inject->peak_bytes)
            inject->peak_bytes = inject->live_bytes;
    }
    pthread_mutex_unlock(&inject->lock);
    return b != NULL ? payload(b) : NULL;
}

/* Releases the oldest freed block, after checking that nothing wrote to it. */
static void drop_freed(takt_inject *inject)
{
    takt_inject_block *b = inject->freed_first;
    if (!all_are(payload(b), b->size, FREED))
        blame(inject, "a block was written to after it was freed", b);
    inject->freed_first = b->next;
    if (b->next == NULL)
        inject->freed_last = NULL;
    inject->freed_bytes -= b->size;
    free(b->raw);
}

/* A while longer it is kept, so that a second free is seen. */
static void keep_freed(takt_inject *inject, takt_inject_block *b)
{
    memset(payload(b), FREED, b->size);
    b->magic = dead;
    b->next = NULL;
    if (inject->freed_last != NULL)
        inject->freed_last->next = b;
    else
        inject->freed_first = b;
    inject->freed_last = b;
    inject->freed_bytes += b->size;
    while (inject->freed_bytes > KEPT_BYTES)
        drop_freed(inject);
}

static void put(void *user, void *block, size_t size)
{
    takt_inject *inject = user;
    if (block == NULL)
        return;
    takt_inject_block *b = (takt_inject_block *)(void *)((unsigned char *)block - RED) - 1;
    pthread_mutex_lock(&inject->lock);
    if (b->magic != alive) {
        blame(inject,
              b->magic == dead ? "a block was freed twice" : "what was freed is not a block", b);
        pthread_mutex_unlock(&inject->lock);
        return;
    }
    if (b->size != size)
        blame(inject, "a block was freed with another size than it has", b);
    check_zones(inject, b);
    if (b->next != NULL)
        b->next->before = b->before;
    if (b->before != NULL)
        b->before->next = b->next;
    else
        inject->live = b->next;
    inject->puts++;
    inject->live_bytes -= b->size;
    if (is_guarded(inject, b)) {
        const uintptr_t end = (uintptr_t)(payload(b) + b->size + RED);
        (void)mprotect(b->raw, ((end + PAGE - 1) & ~(uintptr_t)(PAGE - 1)) - (uintptr_t)b->raw,
                       PROT_NONE);
    } else {
        keep_freed(inject, b);
    }
    pthread_mutex_unlock(&inject->lock);
}

static int start(void *user, void (*body)(void *), void *arg, void **handle)
{
    takt_inject *inject = user;
    if (strikes_locked(inject, TAKT_INJECT_THREADS))
        return EAGAIN;
    const int error = inject->inner_threads.start(inject->inner_threads.user, body, arg, handle);
    pthread_mutex_lock(&inject->lock);
    inject->live_threads += error == 0;
    pthread_mutex_unlock(&inject->lock);
    return error;
}

static void join(void *user, void *handle)
{
    takt_inject *inject = user;
    inject->inner_threads.join(inject->inner_threads.user, handle);
    pthread_mutex_lock(&inject->lock);
    inject->live_threads -= handle != NULL;
    pthread_mutex_unlock(&inject->lock);
}

/* 0, or the error of the operation; *is_short for reads that end early. */
static int file_strike(takt_inject *inject, bool *is_short)
{
    const bool hit = strikes_locked(inject, TAKT_INJECT_FILES);
    *is_short = hit && inject->error == TAKT_INJECT_SHORT;
    return hit ? inject->error : 0;
}

static int strike_or_errno(takt_inject *inject)
{
    bool is_short;
    const int error = file_strike(inject, &is_short);
    return is_short ? EIO : error;
}

static int opened(takt_inject *inject, int error)
{
    pthread_mutex_lock(&inject->lock);
    inject->open_files += error == 0;
    pthread_mutex_unlock(&inject->lock);
    return error;
}

static int open_read(void *user, const char *path, takt_file **file)
{
    takt_inject *inject = user;
    *file = NULL;
    const int error = strike_or_errno(inject);
    return error != 0 ? error
                      : opened(inject,
                               inject->inner_files.open_read(inject->inner_files.user, path, file));
}

static int open_beneath(void *user, const char *dir, const char *name, int allow_links,
                        takt_file **file)
{
    takt_inject *inject = user;
    *file = NULL;
    const int error = strike_or_errno(inject);
    return error != 0 ? error
                      : opened(inject, inject->inner_files.open_beneath(
                                           inject->inner_files.user, dir, name, allow_links, file));
}

static int create(void *user, const char *path, takt_file **file)
{
    takt_inject *inject = user;
    *file = NULL;
    const int error = strike_or_errno(inject);
    return error != 0
               ? error
               : opened(inject, inject->inner_files.create(inject->inner_files.user, path, file));
}

static int size_of(void *user, takt_file *file, uint64_t *bytes)
{
    takt_inject *inject = user;
    *bytes = 0;
    const int error = strike_or_errno(inject);
    return error != 0 ? error : inject->inner_files.size(inject->inner_files.user, file, bytes);
}

static int read_at(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                   size_t *done)
{
    takt_inject *inject = user;
    bool is_short;
    *done = 0;
    const int error = file_strike(inject, &is_short);
    if (error != 0 && !is_short)
        return error;
    return inject->inner_files.read(inject->inner_files.user, file, offset, to,
                                    is_short ? count / 2 : count, done);
}

static int write_on(void *user, takt_file *file, const void *from, size_t count)
{
    takt_inject *inject = user;
    const int error = strike_or_errno(inject);
    if (error == 0)
        return inject->inner_files.write(inject->inner_files.user, file, from, count);
    /* A full disk accepts a part before it refuses the rest. */
    const int inner = inject->inner_files.write(inject->inner_files.user, file, from, count / 2);
    return inner != 0 ? inner : error;
}

static int commit(void *user, takt_file *file)
{
    takt_inject *inject = user;
    const int error = strike_or_errno(inject);
    return error != 0 ? error : inject->inner_files.commit(inject->inner_files.user, file);
}

static void close_file(void *user, takt_file *file)
{
    takt_inject *inject = user;
    inject->inner_files.close(inject->inner_files.user, file);
    pthread_mutex_lock(&inject->lock);
    inject->open_files -= file != NULL;
    pthread_mutex_unlock(&inject->lock);
}

#include "util/inject_map.inc"

void takt_inject_init(takt_inject *inject)
{
    *inject = (takt_inject){
        .memory = {.get = get, .put = put, .user = inject},
        .threads = {.start = start, .join = join, .user = inject},
        .files = {.open_read = open_read,
                  .open_beneath = open_beneath,
                  .create = create,
                  .size = size_of,
                  .read = read_at,
                  .write = write_on,
                  .commit = commit,
                  .close = close_file,
                  .user = inject,
                  .map = map_file,
                  .unmap = unmap_file,
                  .stamp = stamp_of},
        .error = EIO,
    };
    pthread_mutex_init(&inject->lock, NULL);
    /* Their records come from the injected memory, so that these allocations fail too. */
    inject->inner_files = takt_os_files(&inject->memory);
    inject->inner_threads = takt_os_threads(&inject->memory);
}

uint64_t takt_inject_deinit(takt_inject *inject)
{
    uint64_t leaked = 0;
    while (inject->freed_first != NULL)
        drop_freed(inject);
    for (takt_inject_block *b = inject->live; b != NULL; leaked++) {
        takt_inject_block *next = b->next;
        if (!is_guarded(inject, b))
            free(b->raw);
        b = next;
    }
    inject->live = NULL;
    if (inject->pages != NULL)
        (void)munmap(inject->pages, PAGES_BYTES);
    inject->pages = NULL;
    pthread_mutex_destroy(&inject->lock);
    return leaked;
}

void takt_inject_config(takt_inject *inject, takt_config *config)
{
    config->allocator = &inject->memory;
    config->files = &inject->files;
    config->threads = &inject->threads;
}

void takt_inject_plan(takt_inject *inject, takt_inject_mode mode, unsigned kinds, uint64_t fail_at)
{
    inject->mode = mode;
    inject->kinds = kinds;
    inject->fail_at = fail_at;
    inject->operations = inject->hits = 0;
    inject->peak_bytes = inject->live_bytes;
}

int takt_inject_check(takt_inject *inject)
{
    pthread_mutex_lock(&inject->lock);
    for (takt_inject_block *b = inject->live; b != NULL; b = b->next)
        check_zones(inject, b);
    pthread_mutex_unlock(&inject->lock);
    return inject->faults;
}
