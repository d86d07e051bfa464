/* file.c - files of the operating system: read in place, replaced only as a whole.
 *
 * A created file is written in the target's folder without a name, so that nothing is left of it if
 * the process is killed, or under a temporary name if the file system has no unnamed files. Commit
 * makes it durable, renames it over the target, and makes the rename durable; until then the target
 * is unchanged. The new file keeps the permissions of the target. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/beneath.h"
#include "os/file_facts.h"
#include "os/os.h"

enum { PIECE = 1 << 30, TEMP_NAME = 48, ATTEMPTS = 100 };

struct takt_file {
    int fd;
    int dir; /* folder of a created file, else -1 */
    bool is_committed;
    size_t size;          /* of this record */
    char temp[TEMP_NAME]; /* "": it has no name yet */
    char name[];          /* of the target in `dir` */
};

static int new_file(const takt_allocator *memory, const char *name, takt_file **file)
{
    const size_t length = strlen(name), size = sizeof(takt_file) + length + 1;
    takt_file *f = memory->get(memory->user, size, _Alignof(max_align_t));
    if (f == NULL)
        return ENOMEM;
    *f = (takt_file){.fd = -1, .dir = -1, .size = size};
    memcpy(f->name, name, length + 1);
    *file = f;
    return 0;
}

static void close_file(void *user, takt_file *file)
{
    const takt_allocator *memory = user;
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->dir >= 0) {
        if (!file->is_committed && file->temp[0] != '\0')
            unlinkat(file->dir, file->temp, 0);
        close(file->dir);
    }
    memory->put(memory->user, file, file->size);
}

/* After opening, so that the checked file is the one that is read. */
static int check_kind(int fd, int allow_links)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return errno;
    if (S_ISDIR(about.st_mode))
        return EISDIR;
    if (!S_ISREG(about.st_mode))
        return ESPIPE;
    return allow_links || about.st_nlink <= 1 ? 0 : EMLINK;
}

/* Makes a file of `fd`, or closes it. */
static int adopt(const takt_allocator *memory, int fd, int allow_links, takt_file **file)
{
    int error = check_kind(fd, allow_links);
    if (error == 0)
        error = new_file(memory, "", file);
    if (error == 0)
        (*file)->fd = fd;
    else
        close(fd);
    return error;
}

static int open_retry(const char *path, int flags, int *fd)
{
    do
        *fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

static int open_read(void *user, const char *path, takt_file **file)
{
    int fd;
    *file = NULL;
    const int error = open_retry(path, O_RDONLY | O_NONBLOCK, &fd);
    return error != 0 ? error : adopt(user, fd, 1, file);
}

static int open_beneath(void *user, const char *dir, const char *name, int allow_links,
                        takt_file **file)
{
    int folder, fd;
    *file = NULL;
    int error = open_retry(*dir != '\0' ? dir : ".", O_RDONLY | O_DIRECTORY, &folder);
    if (error != 0)
        return error;
    error = takt_os_open_beneath(folder, name, allow_links, &fd);
    close(folder);
    return error != 0 ? error : adopt(user, fd, allow_links, file);
}

/* Opens the folder of `path` and returns where the last component begins. */
static int open_folder(const char *path, int *dir, const char **name)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (length >= sizeof folder)
        return ENAMETOOLONG;
    memcpy(folder, path, length);
    folder[length] = '\0';
    return open_retry(length > 0 ? folder : ".", O_RDONLY | O_DIRECTORY, dir);
}

static void make_name(takt_file *f, int attempt)
{
    snprintf(f->temp, sizeof f->temp, ".takt-%ld-%llx-%d.tmp", (long)getpid(),
             (unsigned long long)takt_os_now_ns(NULL), attempt);
}

/* The path of a file without a name, for linking it. */
static void name_by_number(const takt_file *f, char to[static 32])
{
    snprintf(to, 32, "/proc/self/fd/%d", f->fd);
}

static bool create_nameless(takt_file *f, mode_t mode)
{
    char path[32];
    f->fd = openat(f->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    if (f->fd < 0)
        return false;
    name_by_number(f, path);
    if (access(path, F_OK) == 0)
        return true;
    close(f->fd);
    f->fd = -1;
    return false;
}

static int create_named(takt_file *f, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    for (int i = 0; i < ATTEMPTS; i++) {
        make_name(f, i);
        f->fd = openat(f->dir, f->temp, flags, mode);
        if (f->fd >= 0)
            return 0;
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    const int error = errno;
    f->temp[0] = '\0'; /* no name of ours to remove */
    return error;
}

/* Permissions set afterwards come too late: another process may already have opened the file. */
static int create_temp(takt_file *f, bool is_restricted)
{
    const mode_t mode = is_restricted ? 0600 : 0666;
    return create_nameless(f, mode) ? 0 : create_named(f, mode);
}

/* Temporary, until it is renamed: a link cannot replace a file. */
static int give_name(takt_file *f)
{
    char path[32];
    name_by_number(f, path);
    for (int i = 0; i < ATTEMPTS; i++) {
        make_name(f, i);
        if (linkat(AT_FDCWD, path, f->dir, f->temp, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    const int error = errno;
    f->temp[0] = '\0';
    return error;
}

/* Some file systems have one mode for all files, and report so. */
static int set_mode(int fd, int mode)
{
    if (mode < 0 || fchmod(fd, (mode_t)mode) == 0 || errno == EPERM || errno == ENOTSUP)
        return 0;
    return errno;
}

/* `mode`: permissions; -1: those of the file that it replaces, or the system's default. */
static int create_with(void *user, const char *path, int mode, takt_file **file)
{
    const char *name;
    takt_file *f = NULL;
    int dir, old;
    *file = NULL;
    int error = open_folder(path, &dir, &name);
    if (error != 0)
        return error;
    error = takt_os_check_target(dir, name, &old);
    mode = mode < 0 ? old : mode;
    if (error == 0)
        error = new_file(user, name, &f);
    if (error != 0) {
        close(dir);
        return error;
    }
    f->dir = dir;
    error = create_temp(f, mode >= 0);
    if (error == 0)
        error = set_mode(f->fd, mode);
    if (error != 0)
        close_file(user, f);
    else
        *file = f;
    return error;
}

static int create(void *user, const char *path, takt_file **file)
{
    return create_with(user, path, -1, file);
}

static int create_private(void *user, const char *path, takt_file **file)
{
    return create_with(user, path, 0600, file);
}

static int size_of(void *user, takt_file *file, uint64_t *bytes)
{
    (void)user;
    return takt_os_file_size(file->fd, bytes);
}

static int stamp_of(void *user, takt_file *file, uint64_t *stamp)
{
    (void)user;
    return takt_os_file_stamp(file->fd, stamp);
}

static int read_at(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                   size_t *done)
{
    (void)user;
    *done = 0;
    if (offset > INT64_MAX || count > INT64_MAX - offset)
        return EOVERFLOW;
    while (*done < count) {
        const size_t left = count - *done;
        const ssize_t got = pread(file->fd, (char *)to + *done, left < PIECE ? left : PIECE,
                                  (off_t)(offset + *done));
        if (got == 0)
            break;
        if (got > 0)
            *done += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static int write_on(void *user, takt_file *file, const void *from, size_t count)
{
    (void)user;
    const char *at = from;
    while (count > 0) {
        const ssize_t put = write(file->fd, at, count < PIECE ? count : PIECE);
        if (put == 0)
            return EIO;
        if (put < 0 && errno != EINTR)
            return errno;
        if (put > 0) {
            at += put;
            count -= (size_t)put;
        }
    }
    return 0;
}

/* Not every file system can sync a folder; if it cannot, there is nothing to wait for. */
static int sync_folder(int dir)
{
    if (fsync(dir) == 0 || errno == EINVAL || errno == EROFS)
        return 0;
    return errno;
}

static int copy_all(int from, takt_file *to)
{
    char piece[4096];
    struct stat about;
    if (fstat(from, &about) != 0)
        return errno;
    int error = set_mode(to->fd, (int)(about.st_mode & 0777));
    for (off_t at = 0; error == 0 && at < about.st_size;) {
        const ssize_t got = pread(from, piece, sizeof piece, at);
        if (got == 0)
            return EIO;
        if (got < 0 && errno != EINTR)
            return errno;
        if (got > 0)
            error = write_on(NULL, to, piece, (size_t)got);
        at += got > 0 ? got : 0;
    }
    return error != 0 || fsync(to->fd) == 0 ? error : errno;
}

/* If a file may be unnamed but cannot be linked, as under some security policies, the data must not
 * be lost. */
static int copy_to_named(takt_file *f)
{
    const int nameless = f->fd;
    f->fd = -1;
    int error = create_named(f, 0600); /* copy_all sets those of the other */
    if (error == 0)
        error = copy_all(nameless, f);
    close(nameless);
    return error;
}

static int commit(void *user, takt_file *file)
{
    (void)user;
    if (file->dir < 0 || file->fd < 0 || file->is_committed)
        return EBADF;
    /* After a failed fsync the kernel may have dropped the pages: never try the same file again. */
    int error = fsync(file->fd) != 0 ? errno : 0;
    if (error == 0 && file->temp[0] == '\0' && give_name(file) != 0)
        error = copy_to_named(file);
    const int closed = file->fd >= 0 && close(file->fd) != 0 ? errno : 0;
    file->fd = -1;
    if (error != 0 || (closed != 0 && closed != EINTR))
        return error != 0 ? error : closed;
    if (renameat(file->dir, file->temp, file->dir, file->name) != 0)
        return errno;
    file->is_committed = true;
    return sync_folder(file->dir);
}

/* ---- mapping ---- */

static int map_file(void *user, takt_file *file, size_t bytes, const void **data)
{
    struct stat about;
    (void)user;
    *data = NULL;
    if (fstat(file->fd, &about) != 0)
        return errno;
    if (bytes == 0 || about.st_size < 0 || (uintmax_t)about.st_size < bytes)
        return EIO; /* reading pages beyond the end would kill the process */
    void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (at == MAP_FAILED)
        return errno;
    *data = at;
    return 0;
}

static void unmap_file(void *user, const void *data, size_t bytes)
{
    (void)user;
    if (data != NULL)
        munmap((void *)(uintptr_t)data, bytes);
}

takt_files takt_os_files(const takt_allocator *memory)
{
    return (takt_files){
        .open_read = open_read,
        .open_beneath = open_beneath,
        .create = create,
        .size = size_of,
        .read = read_at,
        .write = write_on,
        .commit = commit,
        .close = close_file,
        .user = (void *)(uintptr_t)memory,
        .map = map_file,
        .unmap = unmap_file,
        .create_private = create_private,
        .remove = takt_os_remove,
        .stamp = stamp_of,
    };
}
