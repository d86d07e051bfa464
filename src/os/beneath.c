/* beneath.c - openat2 where the kernel has it, else one component at a time; replaced files. */
#define _GNU_SOURCE
#include "os/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#endif

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

/* Non-blocking: a FIFO in place of the file must not block us before its type is checked. */
static const int read_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

/* The component at `at`; its length is 0 at the end. */
static size_t component(const char **at)
{
    while (**at == '/')
        ++*at;
    return strcspn(*at, "/");
}

static int check_name(const char *name)
{
    if (*name == '\0')
        return ENOENT;
    if (*name == '/')
        return EXDEV;
    if (strchr(name, '\\') != NULL) /* a separator on other systems, and suspicious here */
        return EINVAL;
    for (const char *at = name; *at != '\0';) {
        const size_t length = component(&at);
        if (length == 2 && at[0] == '.' && at[1] == '.')
            return EXDEV;
        at += length;
    }
    return 0;
}

static int open_at(int dir, const char *name, int flags, int *fd)
{
    do
        *fd = openat(dir, name, flags);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

int takt_os_walk_beneath(int dir, const char *name, int *fd)
{
    char part[256]; /* NAME_MAX and the terminator */
    int error = check_name(name), at = dir;
    for (const char *next = name; error == 0;) {
        const size_t length = component(&next);
        if (length == 0 || length >= sizeof part) {
            error = length == 0 ? EISDIR : ENAMETOOLONG;
            break;
        }
        memcpy(part, next, length);
        part[length] = '\0';
        next += length;
        const bool is_last = *next == '\0';
        const int flags = is_last ? read_flags : O_PATH | O_DIRECTORY | O_CLOEXEC;
        int deeper;
        error = open_at(at, part, flags | O_NOFOLLOW, &deeper);
        if (at != dir)
            close(at);
        at = deeper;
        if (is_last && error == 0) {
            *fd = deeper;
            return 0;
        }
    }
    if (at != dir && at >= 0)
        close(at);
    *fd = -1;
    return error;
}

#if defined(RESOLVE_BENEATH) && defined(SYS_openat2)

static int open_resolved(int dir, const char *name, int *fd)
{
    const struct open_how how = {
        .flags = (unsigned)(read_flags | O_NOFOLLOW),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    /* EAGAIN: something was renamed meanwhile. Bounded, because it may be an attack. */
    for (int i = 0; i < 64; i++) {
        const long result = syscall(SYS_openat2, dir, name, &how, sizeof how);
        *fd = (int)result;
        if (result >= 0)
            return 0;
        if (errno != EINTR && errno != EAGAIN)
            return errno;
    }
    return EAGAIN;
}

#else

static int open_resolved(int dir, const char *name, int *fd)
{
    (void)dir;
    (void)name;
    *fd = -1;
    return ENOSYS;
}

#endif

int takt_os_open_beneath(int dir, const char *name, int allow_links, int *fd)
{
    *fd = -1;
    int error = check_name(name);
    if (error != 0)
        return error;
    if (allow_links)
        return open_at(dir, name, read_flags, fd);
    error = open_resolved(dir, name, fd);
    if (error == ENOSYS || error == EPERM) /* an old kernel, or a sandbox without openat2 */
        return takt_os_walk_beneath(dir, name, fd);
    return error;
}

int takt_os_check_target(int dir, const char *name, int *mode)
{
    struct stat about;
    *mode = -1;
    if (*name == '\0')
        return EISDIR;
    if (fstatat(dir, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(about.st_mode))
        return EISDIR;
    if (S_ISREG(about.st_mode))
        *mode = (int)(about.st_mode & 0777);
    return S_ISREG(about.st_mode) || S_ISLNK(about.st_mode) ? 0 : ESPIPE;
}

int takt_os_remove(void *user, const char *path)
{
    (void)user;
    return unlink(path) == 0 ? 0 : errno;
}
