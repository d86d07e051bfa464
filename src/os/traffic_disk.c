/* traffic_disk.c - writes a file, asks the system to drop it from the cache, and reads it back. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "os/traffic.h"

enum { CHUNK = 1 << 20, CHUNKS = 32, SYNCS = 9, PAGE = 4096 };

static double seconds_since(const takt_ctx *ctx, uint64_t start)
{
    const uint64_t now = ctx->now_ns(ctx->clock_user);
    return (double)(now > start ? now - start : 1) * 1e-9;
}

static int write_all(int fd, const unsigned char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        const ssize_t some = write(fd, bytes + done, count - done);
        if (some < 0 && errno != EINTR)
            return errno;
        done += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

static int time_writes(takt_ctx *ctx, int fd, const unsigned char *bytes, takt_disk_rates *r)
{
    const uint64_t start = ctx->now_ns(ctx->clock_user);
    for (int i = 0; i < CHUNKS; i++) {
        const int error = write_all(fd, bytes, CHUNK);
        if (error != 0)
            return error;
    }
    if (fdatasync(fd) != 0)
        return errno;
    r->write_mbs = CHUNKS * (CHUNK / 1e6) / seconds_since(ctx, start);
    return 0;
}

/* A file system that keeps everything in memory cannot drop it. */
static bool is_in_memory(int fd)
{
    unsigned char resident[CHUNK / 4096 + 1] = {0};
    void *at = mmap(NULL, CHUNK, PROT_READ, MAP_SHARED, fd, 0);
    size_t count = 0;
    if (at == MAP_FAILED)
        return false;
    if (mincore(at, CHUNK, resident) == 0)
        for (size_t i = 0; i < CHUNK / 4096; i++)
            count += resident[i] & 1;
    munmap(at, CHUNK);
    return count > CHUNK / 4096 / 2;
}

static int time_reads(takt_ctx *ctx, int fd, unsigned char *bytes, takt_disk_rates *r)
{
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    r->is_cached = is_in_memory(fd);
    if (lseek(fd, 0, SEEK_SET) != 0)
        return errno;
    const uint64_t start = ctx->now_ns(ctx->clock_user);
    double total = 0;
    for (;;) {
        const ssize_t some = read(fd, bytes, CHUNK);
        if (some < 0 && errno != EINTR)
            return errno;
        if (some == 0)
            break;
        total += some > 0 ? (double)some : 0;
    }
    r->read_mbs = total / 1e6 / seconds_since(ctx, start);
    return 0;
}

static int time_syncs(takt_ctx *ctx, int fd, const unsigned char *bytes, takt_disk_rates *r)
{
    double times[SYNCS];
    for (int i = 0; i < SYNCS; i++) {
        const uint64_t start = ctx->now_ns(ctx->clock_user);
        if (pwrite(fd, bytes, PAGE, (off_t)i * PAGE) != PAGE || fdatasync(fd) != 0)
            return errno != 0 ? errno : EIO;
        times[i] = seconds_since(ctx, start) * 1e3;
        for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
            const double t = times[k];
            times[k] = times[k - 1];
            times[k - 1] = t;
        }
    }
    r->sync_ms = times[SYNCS / 2];
    return 0;
}

int takt_disk_measure(takt_ctx *ctx, const char *folder, takt_disk_rates *r)
{
    char path[1024];
    void *bytes;
    *r = (takt_disk_rates){0};
    const int length = snprintf(path, sizeof path, "%s/takt-disk-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return ENAMETOOLONG;
    if (takt_mem_get(ctx, CHUNK, "the disk measurement", &bytes) != TAKT_OK)
        return ENOMEM;
    unsigned char *at = bytes;
    for (size_t i = 0; i < CHUNK; i++) /* data that a file system cannot compress away */
        at[i] = (unsigned char)((i * 2654435761u) >> 13);
    const int fd = mkstemp(path);
    int error = fd >= 0 ? 0 : errno;
    if (fd >= 0) {
        unlink(path);
        error = time_writes(ctx, fd, at, r);
        error = error != 0 ? error : time_reads(ctx, fd, at, r);
        error = error != 0 ? error : time_syncs(ctx, fd, at, r);
        close(fd);
    }
    takt_mem_put(ctx, bytes, CHUNK);
    return error;
}
