/* trainer_calls.c - checkpoints survive failing system calls.
 *
 * Every call that a save or a load makes fails in turn, once and from then on, with every error
 * that a disk may give. Afterwards the checkpoint is the old one or the new one, whole; the other
 * generation is untouched; no descriptor and no temporary file is left; and a trainer whose load
 * failed is as it was.
 */
#undef _FORTIFY_SOURCE /* it has functions of its own for some of these calls */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/small_training.h"

/* ---- the calls ---- */

typedef enum call { OPEN, OPENAT, CLOSE, READ, WRITE, SYNC, LINK, RENAME, UNLINK, CALLS } call;

static const char *const names[CALLS] = {"open", "openat", "close",    "pread",   "write",
                                         "sync", "linkat", "renameat", "unlinkat"};
static bool is_watching, fails_ever, is_short;
/* Call number `fail_at` fails, and with `fails_ever` all after it. */
static size_t fail_at, seen;
static int fail_with;
static size_t seen_of[CALLS], failed_of[CALLS];
extern int (*takt_test_synced)(int fd);

static bool fails(call c)
{
    if (!is_watching)
        return false;
    seen++;
    seen_of[c]++;
    const bool is_hit = seen == fail_at || (fails_ever && seen > fail_at);
    if (is_hit) {
        failed_of[c]++;
        errno = fail_with;
    }
    return is_hit;
}

static int opened(call c, int dir, const char *path, int flags, mode_t mode)
{
    return fails(c) ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(OPEN, AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(OPENAT, dir, path, flags, mode);
}

/* The functions that fortified headers call instead. */
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return opened(OPEN, AT_FDCWD, path, flags, 0);
}

int __openat_2(int dir, const char *path, int flags)
{
    return opened(OPENAT, dir, path, flags, 0);
}

/* As in Linux: the descriptor is closed whatever is returned. */
int close(int fd)
{
    const int result = (int)syscall(SYS_close, fd);
    return fails(CLOSE) ? -1 : result;
}

ssize_t pread(int fd, void *to, size_t count, off_t at)
{
    if (fails(READ)) {
        if (!is_short || count < 2)
            return -1;
        count /= 2;
    }
    return syscall(SYS_pread64, fd, to, count, at);
}

ssize_t write(int fd, const void *from, size_t count)
{
    if (fails(WRITE)) {
        if (!is_short || count < 2)
            return -1;
        count /= 2;
    }
    return syscall(SYS_write, fd, from, count);
}

static int synced(int fd)
{
    (void)fd;
    return fails(SYNC) ? -1 : 0;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return fails(LINK) ? -1 : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
    return fails(UNLINK) ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags);
}

/* ---- what is left ---- */

static char folder[1024];
static char path_of[2][1100]; /* the two generations */

/* Entries of a folder besides . and .. */
static size_t entries(const char *path)
{
    size_t count = 0;
    DIR *d = opendir(path);
    for (const struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d))
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    if (d != NULL)
        closedir(d);
    return count;
}

/* Removes the files that a failing unlinkat has left. */
static void tidy(void)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d))
        if (strncmp(e->d_name, ".takt-", 6) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d != NULL)
        closedir(d);
}

/* ---- saves and loads ---- */

typedef takt_status act(small_training *t);

static takt_status save(small_training *t)
{
    return takt_trainer_save(t->trainer, path_of[0], "note");
}

static takt_status save_behind(small_training *t)
{
    const takt_status status = takt_trainer_save_begin(t->trainer, path_of[0], "note");
    return status == TAKT_OK ? takt_trainer_save_end(t->trainer) : status;
}

static takt_status load(small_training *t)
{
    return takt_trainer_load(t->trainer, path_of[0], NULL);
}

typedef struct failure {
    size_t at;
    int error; /* 0: short reads and writes */
    bool is_ever;
} failure;

static takt_status watched(act *what, small_training *t, const failure *f)
{
    seen = 0;
    fail_at = f->at;
    is_short = f->error == 0;
    fail_with = is_short ? EIO : f->error;
    fails_ever = f->is_ever;
    is_watching = true;
    const takt_status status = what(t);
    is_watching = false;
    return status;
}

/* The number of descriptors and files is as before. */
static void check_left(size_t descriptors, size_t unlinks, const failure *f)
{
    EXPECT(entries("/proc/self/fd") == descriptors, "call %zu, error %d: a descriptor is left",
           f->at, f->error);
    EXPECT(failed_of[UNLINK] > unlinks || entries(folder) == 2,
           "call %zu, error %d: a temporary file is left", f->at, f->error);
    tidy();
}

/* Either the old file or the new one is there. */
static bool fail_save(act *how, small_training *t, const failure *f)
{
    size_t lengths[2];
    const size_t descriptors = entries("/proc/self/fd"), unlinks = failed_of[UNLINK];
    char *kept = small_training_read(path_of[1], &lengths[0]);
    const takt_status status = watched(how, t, f);
    const bool is_hit = seen >= f->at;
    check_left(descriptors, unlinks, f);
    char *still = small_training_read(path_of[1], &lengths[1]);
    EXPECT_EQ(lengths[0], lengths[1]);
    EXPECT_EQ(memcmp(kept, still, lengths[0]), 0);
    const uint64_t steps = takt_trainer_steps(t->trainer);
    EXPECT_OK(t->ctx, load(t));
    const uint64_t found = takt_trainer_steps(t->trainer);
    EXPECT(status == TAKT_OK ? found == steps : found == steps || found + 1 == steps,
           "call %zu, error %d: step %llu of %llu", f->at, f->error, (unsigned long long)found,
           (unsigned long long)steps);
    free(kept);
    free(still);
    return is_hit;
}

/* The trainer has either the state of the file or its old one: its next save shows which. */
static bool fail_load(act *how, small_training *t, const failure *f)
{
    size_t lengths[2];
    const size_t descriptors = entries("/proc/self/fd"), unlinks = failed_of[UNLINK];
    EXPECT_OK(t->ctx, takt_trainer_save(t->trainer, path_of[1], "note"));
    char *before = small_training_read(path_of[1], &lengths[0]);
    const takt_status status = watched(how, t, f);
    const bool is_hit = seen >= f->at;
    check_left(descriptors, unlinks, f);
    EXPECT_OK(t->ctx, takt_trainer_save(t->trainer, path_of[1], "note"));
    char *after = small_training_read(path_of[1], &lengths[1]);
    const bool is_same = lengths[0] == lengths[1] && memcmp(before, after, lengths[0]) == 0;
    EXPECT(is_same == (status != TAKT_OK), "call %zu, error %d: %s", f->at, f->error,
           is_same ? "nothing was loaded" : "a failed load has changed the trainer");
    free(before);
    free(after);
    return is_hit;
}

static size_t fail_all(bool (*one)(act *, small_training *, const failure *), act *how,
                       small_training *t)
{
    static const int errors[] = {EIO, ENOSPC, EINTR, EDQUOT, EMFILE, 0};
    size_t count = 0;
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
        for (int ever = 0; ever < 2; ever++) {
            if (errors[e] == EINTR && ever == 1)
                continue; /* it is tried again forever */
            bool is_hit = true;
            for (size_t k = 1; is_hit; k++) {
                small_training_step(t);
                is_hit = one(how, t, &(failure){k, errors[e], ever == 1});
                count += is_hit;
            }
        }
    return count;
}

static void expect_calls(const char *what, unsigned calls)
{
    for (int c = 0; c < CALLS; c++) {
        EXPECT((calls >> c & 1) == 0 || (seen_of[c] > 0 && failed_of[c] > 0), "%s: no %s fails",
               what, names[c]);
        seen_of[c] = failed_of[c] = 0;
    }
}

int main(void)
{
    enum { ON_SAVE = 1 << OPEN | 1 << OPENAT | 1 << CLOSE | 1 << WRITE | 1 << SYNC | 1 << RENAME };
    const char *tmp = getenv("TAKT_TEST_TMP");
    small_training t;
    snprintf(folder, sizeof folder, "%s/trainer_calls.%d", tmp != NULL ? tmp : "/tmp",
             (int)getpid());
    for (int i = 0; i < 2; i++)
        snprintf(path_of[i], sizeof path_of[i], "%s/calls.%d", folder, i);
    takt_test_synced = synced;
    if (EXPECT_EQ(mkdir(folder, 0777), 0) && small_training_begin(&t, NULL)) {
        for (int i = 1; i >= 0; i--) {
            small_training_step(&t);
            EXPECT_OK(t.ctx, takt_trainer_save(t.trainer, path_of[i], "note"));
        }
        size_t count = fail_all(fail_save, save, &t);
        expect_calls("a save", ON_SAVE);
        count += fail_all(fail_save, save_behind, &t);
        expect_calls("a save behind the training", ON_SAVE);
        count += fail_all(fail_load, load, &t);
        expect_calls("a load", 1 << OPEN | 1 << CLOSE | 1 << READ);
        EXPECT(count > 150, "%zu", count);
        printf("%zu failed calls\n", count);
        small_training_end(&t);
    }
    for (int i = 0; i < 2; i++)
        unlink(path_of[i]);
    rmdir(folder);
    return test_done();
}
