/* files_commit.c - replacing a file: its permissions, and systems that forbid links.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ctx.h"
#include "test.h"

static char folder[PATH_MAX / 2], path[PATH_MAX];
static takt_ctx *ctx;

static void begin(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s/commit-XXXXXX", tmp != NULL ? tmp : "/tmp");
    EXPECT(mkdtemp(folder) != NULL, "%s", folder);
    snprintf(path, sizeof path, "%s/w.bin", folder);
    FILE *f = fopen(path, "wb");
    EXPECT(f != NULL && fclose(f) == 0);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static mode_t mode_of_file(void)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_mode & 07777 : 0;
}

/* A private file stays private after it is rewritten. */
static void keeps_permissions(void)
{
    takt_file *f;
    const takt_files *s = &ctx->files;
    const mode_t mask = umask(022);
    for (mode_t mode = 0600; mode <= 0666; mode += 066) {
        EXPECT_EQ(chmod(path, mode), 0);
        EXPECT_EQ(s->create(s->user, path, &f), 0);
        EXPECT_EQ(s->commit(s->user, f), 0);
        s->close(s->user, f);
        EXPECT_EQ(mode_of_file(), mode);
    }
    EXPECT_EQ(unlink(path), 0);
    EXPECT_EQ(s->create(s->user, path, &f), 0);
    EXPECT_EQ(s->commit(s->user, f), 0);
    s->close(s->user, f);
    EXPECT(mode_of_file() == 0644, "a new one is as the process makes files");
    umask(mask);
}

/* From now on this process cannot name a file by a link. */
static bool refuse_links(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_linkat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Data is not lost if a policy of the system forbids such links. */
static void commits_without_links(void)
{
    enum { DONE, FAILED, NO_FILTER, BYTES = 10000 };
    static char text[BYTES];
    takt_file *f;
    const takt_files *s = &ctx->files;
    memset(text, 'x', BYTES);
    EXPECT_EQ(chmod(path, 0640), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (!refuse_links())
            _exit(NO_FILTER);
        const bool done = s->create(s->user, path, &f) == 0 &&
                          s->write(s->user, f, text, BYTES) == 0 && s->commit(s->user, f) == 0;
        _exit(done ? DONE : FAILED);
    }
    int status = 0;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_FILTER)
        return;
    EXPECT_EQ(WEXITSTATUS(status), DONE);
    struct stat about;
    EXPECT_EQ(stat(path, &about), 0);
    EXPECT_EQ(about.st_size, BYTES);
    EXPECT_EQ(mode_of_file(), 0640);
}

static void end(void)
{
    EXPECT(unlink(path) == 0 && rmdir(folder) == 0, "no other file is left");
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, keeps_permissions, commits_without_links, end)
