/* files.c - the system's files: attacks by path, replacement as a whole, every operation failing.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ctx.h"
#include "os/beneath.h"
#include "os/os.h"
#include "test.h"
#include "util/inject.h"
#include "util/memfs.h"

static char folder[PATH_MAX / 2];
static takt_ctx *ctx;

/* root + "/" + name; two at a time. */
static const char *in(const char *name)
{
    static char paths[2][PATH_MAX];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "wb");
    EXPECT(f != NULL, "%s", name);
    if (f != NULL) {
        fputs(text, f);
        fclose(f);
    }
}

static void begin(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s/files-XXXXXX", tmp != NULL ? tmp : "/tmp");
    EXPECT(mkdtemp(folder) != NULL, "%s", folder);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    mkdir(in("model"), 0777);
    mkdir(in("model/data"), 0777);
    mkdir(in("outside"), 0777);
    put("secret", "secret");
    put("outside/w.bin", "outside");
    put("model/w.bin", "weights");
    put("model/data/v.bin", "deeper");
    EXPECT_EQ(symlink("../secret", in("model/link")), 0);
    EXPECT_EQ(symlink("w.bin", in("model/inner_link")), 0);
    EXPECT_EQ(symlink("../outside", in("model/linked_folder")), 0);
    EXPECT_EQ(symlink("data", in("model/inner_folder")), 0);
    EXPECT_EQ(symlink("loop", in("model/loop")), 0);
    EXPECT_EQ(link(in("secret"), in("model/hard")), 0);
    EXPECT_EQ(mkfifo(in("model/fifo"), 0666), 0);
}

static void reads(void)
{
    takt_file *f;
    uint64_t size;
    size_t done;
    char text[16] = "";
    EXPECT_EQ(ctx->files.open_read(ctx->files.user, in("model/w.bin"), &f), 0);
    EXPECT_EQ(ctx->files.size(ctx->files.user, f, &size), 0);
    EXPECT_EQ(size, 7);
    EXPECT_EQ(ctx->files.read(ctx->files.user, f, 2, text, 16, &done), 0);
    EXPECT_EQ(done, 5);
    EXPECT(memcmp(text, "ights", 5) == 0);
    EXPECT_EQ(ctx->files.read(ctx->files.user, f, 2, text, 3, &done), 0);
    EXPECT_EQ(done, 3);
    EXPECT_EQ(ctx->files.read(ctx->files.user, f, 100, text, 3, &done), 0);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(ctx->files.read(ctx->files.user, f, UINT64_MAX, text, 3, &done), EOVERFLOW);
    EXPECT_EQ(ctx->files.read(ctx->files.user, f, INT64_MAX, text, 3, &done), EOVERFLOW);
    EXPECT(ctx->files.commit(ctx->files.user, f) == EBADF, "what was read is not committed");
    ctx->files.close(ctx->files.user, f);
    ctx->files.close(ctx->files.user, NULL);
    EXPECT_EQ(ctx->live_bytes, 0);
}

static int try_open(const char *path)
{
    takt_file *f = (takt_file *)&f;
    const int error = ctx->files.open_read(ctx->files.user, path, &f);
    EXPECT_EQ((error == 0), (f != NULL));
    ctx->files.close(ctx->files.user, f);
    return error;
}

static void refuses_kinds(void)
{
    EXPECT_EQ(try_open(in("nothing")), ENOENT);
    EXPECT_EQ(try_open(""), ENOENT);
    EXPECT_EQ(try_open(in("model")), EISDIR);
    EXPECT(try_open(in("model/fifo")) == ESPIPE, "and without waiting for a writer");
    EXPECT_EQ(try_open("/dev/null"), ESPIPE);
    EXPECT_EQ(try_open(in("model/loop")), ELOOP);
    EXPECT(try_open(in("model/link")) == 0, "the user's own path may be a link");
}

/* The path attacks of a model that names its external data. */
static const struct attack {
    const char *name;
    int error;      /* the errno, or -1: any */
    int with_links; /* the errno if links are allowed */
} attacks[] = {
    {"w.bin", 0, 0},
    {"data/v.bin", 0, 0},
    {"./w.bin", 0, 0},
    {"data//v.bin", 0, 0},
    {"", ENOENT, ENOENT},
    {"../secret", EXDEV, EXDEV},
    {"../../../../etc/passwd", EXDEV, EXDEV},
    {"data/../../secret", EXDEV, EXDEV},
    {"data/../w.bin", EXDEV, EXDEV},
    {"..", EXDEV, EXDEV},
    {"data/..", EXDEV, EXDEV},
    {"/etc/passwd", EXDEV, EXDEV},
    {"//etc/passwd", EXDEV, EXDEV},
    {"C:\\x", EINVAL, EINVAL},
    {"..\\secret", EINVAL, EINVAL},
    {"link", -1, 0},
    {"inner_link", -1, 0},
    {"linked_folder/w.bin", -1, 0},
    {"inner_folder/v.bin", -1, 0},
    {"loop", -1, ELOOP},
    {"hard", EMLINK, 0},
    {"fifo", ESPIPE, ESPIPE},
    {"data", EISDIR, EISDIR},
    {".", EISDIR, EISDIR},
    {"w.bin/", -1, -1},
    {"w.bin/x", ENOTDIR, ENOTDIR},
    {"missing", ENOENT, ENOENT},
    {"data/missing", ENOENT, ENOENT},
};

static void stays_beneath(void)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        for (int links = 0; links < 2; links++) {
            const int want = links ? attacks[i].with_links : attacks[i].error;
            takt_file *f = NULL;
            const int got =
                ctx->files.open_beneath(ctx->files.user, in("model"), attacks[i].name, links, &f);
            EXPECT(want >= 0 ? got == want : got != 0, "\"%s\", links %d: %s", attacks[i].name,
                   links, strerror(got));
            ctx->files.close(ctx->files.user, f);
        }
    }
    takt_file *f;
    EXPECT_EQ(ctx->files.open_beneath(ctx->files.user, in("nothing"), "x", 0, &f), ENOENT);
    EXPECT_EQ(ctx->files.open_beneath(ctx->files.user, in("secret"), "x", 0, &f), ENOTDIR);
    EXPECT_EQ(ctx->live_bytes, 0);
}

/* The fallback for old kernels agrees unless the kind of file decides. */
static void walks_beneath(void)
{
    const int dir = open(in("model"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT_IS(dir, >=, 0);
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        const int want = attacks[i].error;
        if (want == EMLINK || want == EISDIR || strcmp(attacks[i].name, "fifo") == 0)
            continue; /* refused after opening */
        int fd = 0;
        const int got = takt_os_walk_beneath(dir, attacks[i].name, &fd);
        EXPECT(want >= 0 ? got == want : got != 0, "\"%s\": %s", attacks[i].name, strerror(got));
        EXPECT((got == 0) == (fd >= 0), "\"%s\"", attacks[i].name);
        if (fd >= 0)
            close(fd);
    }
    char name[600];
    int fd;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT_EQ(takt_os_walk_beneath(dir, name, &fd), ENAMETOOLONG);
    EXPECT_EQ(fd, -1);
    close(dir);
}

static bool holds(const char *name, const char *text)
{
    char found[64] = "";
    FILE *f = fopen(in(name), "rb");
    const size_t length = f != NULL ? fread(found, 1, sizeof found - 1, f) : 0;
    if (f != NULL)
        fclose(f);
    return f != NULL && length == strlen(text) && memcmp(found, text, length) == 0;
}

static int entries(const char *name)
{
    int count = 0;
    DIR *d = opendir(in(name));
    while (d != NULL && readdir(d) != NULL)
        count++;
    if (d != NULL)
        closedir(d);
    return count;
}

static void replaces(void)
{
    takt_file *f;
    const takt_files *s = &ctx->files;
    const int before = entries("outside");
    EXPECT_EQ(s->create(s->user, in("outside/w.bin"), &f), 0);
    EXPECT_EQ(s->write(s->user, f, "new ", 4), 0);
    EXPECT_EQ(s->write(s->user, f, "text", 4), 0);
    EXPECT(holds("outside/w.bin", "outside"), "nothing is seen before the commit");
    EXPECT(s->commit(s->user, f) == 0 && holds("outside/w.bin", "new text"));
    EXPECT(s->commit(s->user, f) == EBADF, "once is enough");
    s->close(s->user, f);
    EXPECT(entries("outside") == before, "no other file is left");

    EXPECT_EQ(s->create(s->user, in("outside/w.bin"), &f), 0);
    EXPECT_EQ(s->write(s->user, f, "lost", 4), 0);
    s->close(s->user, f);
    EXPECT(holds("outside/w.bin", "new text") && entries("outside") == before,
           "what is not committed disappears");

    EXPECT(s->create(s->user, in("nothing/x"), &f) == ENOENT && f == NULL);
    EXPECT_EQ(s->create(s->user, in("model"), &f), EISDIR);
    EXPECT_EQ(s->create(s->user, in("model/"), &f), EISDIR);
    EXPECT(s->create(s->user, in("model/fifo"), &f) == ESPIPE, "a pipe is not replaced by a file");
    EXPECT_EQ(s->create(s->user, "/dev/null", &f), ESPIPE);
    EXPECT_IS(s->create(s->user, "", &f), !=, 0);

    EXPECT_EQ(symlink("../secret", in("outside/link")), 0);
    EXPECT_EQ(s->create(s->user, in("outside/link"), &f), 0);
    EXPECT_EQ(s->commit(s->user, f), 0);
    s->close(s->user, f);
    EXPECT(holds("secret", "secret"), "the link is replaced, not what it points to");
    EXPECT_EQ(ctx->live_bytes, 0);
}

static int mode_of(const char *name)
{
    struct stat about;
    return stat(in(name), &about) == 0 ? (int)(about.st_mode & 0777) : -1;
}

/* Files that users write stay private, even if the file existed and was open to all. */
static void keeps_private(void)
{
    takt_file *f;
    const takt_files *s = &ctx->files;
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(s->create_private(s->user, in("outside/own"), &f), 0);
        EXPECT_EQ(s->write(s->user, f, "mine", 4), 0);
        EXPECT_EQ(s->commit(s->user, f), 0);
        s->close(s->user, f);
        EXPECT(holds("outside/own", "mine") && mode_of("outside/own") == 0600, "mode %o",
               (unsigned)mode_of("outside/own"));
        EXPECT_EQ(chmod(in("outside/own"), 0666), 0);
    }
    EXPECT_EQ(s->remove(s->user, in("outside/own")), 0);
    EXPECT_IS(mode_of("outside/own"), <, 0);
    EXPECT_EQ(s->remove(s->user, in("outside/own")), ENOENT);
    EXPECT(s->create_private(s->user, in("model"), &f) == EISDIR && f == NULL);
}

static takt_status save_and_load(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *c;
    takt_file *f;
    uint64_t size;
    size_t done = 0;
    char text[16];
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &c);
    if (status != TAKT_OK)
        return status;
    const takt_files *s = &c->files;
    int error = s->create(s->user, in("outside/saved"), &f);
    if (error == 0)
        error = s->write(s->user, f, "version 2", 9);
    if (error == 0)
        error = s->commit(s->user, f);
    s->close(s->user, f);
    const bool is_saved = error == 0;
    EXPECT(holds("outside/saved", "version 1") || holds("outside/saved", "version 2"));
    if (is_saved)
        EXPECT(holds("outside/saved", "version 2"), "saved is saved");
    f = NULL;
    if (error == 0)
        error = s->open_beneath(s->user, in("outside"), "saved", 0, &f);
    if (error == 0)
        error = s->size(s->user, f, &size);
    if (error == 0)
        error = s->read(s->user, f, 0, text, 9, &done);
    s->close(s->user, f);
    takt_ctx_destroy(c);
    put("outside/saved", "version 1");
    return error != 0 ? TAKT_ERR_IO : done == 9 ? TAKT_OK : TAKT_ERR_FORMAT;
}

static void survives_faults(void)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EMFILE, EINTR, TAKT_INJECT_SHORT};
    put("outside/saved", "version 1");
    const int before = entries("outside");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const takt_sweep_report r = takt_sweep_error(
            save_and_load, NULL, TAKT_INJECT_FILES | TAKT_INJECT_MEMORY, errors[i]);
        EXPECT(r.is_good && r.runs > 10, "errno %d: %s", errors[i], r.message);
    }
    EXPECT(entries("outside") == before, "no temporary file is left");
}

/* A disk that accepts only the first part, as the kernel reports it. */
static void short_disk(void)
{
    static char bytes[100000];
    struct rlimit before, small;
    takt_file *f;
    const takt_files *s = &ctx->files;
    const int count = entries("outside");
    signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 5000;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int opened = s->create(s->user, in("outside/saved"), &f);
    const int error = opened == 0 ? s->write(s->user, f, bytes, sizeof bytes) : opened;
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    EXPECT(error == EFBIG, "%s", strerror(error));
    s->close(s->user, f);
    EXPECT(holds("outside/saved", "version 1") && entries("outside") == count);
}

static void in_memory(void)
{
    takt_memfs *fs = takt_memfs_create();
    const takt_files s = takt_memfs_files(fs);
    takt_file *f;
    uint64_t size;
    size_t done, length;
    char text[8];
    EXPECT_EQ(takt_memfs_put(fs, "m/a", "abc", 3), 0);
    EXPECT_EQ(s.open_read(s.user, "m/b", &f), ENOENT);
    EXPECT_EQ(s.open_read(s.user, "m/a", &f), 0);
    EXPECT_EQ(s.size(s.user, f, &size), 0);
    EXPECT_EQ(size, 3);
    EXPECT_EQ(s.read(s.user, f, 1, text, 8, &done), 0);
    EXPECT_EQ(done, 2);
    EXPECT_EQ(text[0], 'b');
    s.close(s.user, f);
    EXPECT_EQ(s.open_beneath(s.user, "m", "a", 0, &f), 0);
    s.close(s.user, f);
    EXPECT_EQ(s.open_beneath(s.user, "m/x", "../a", 0, &f), EXDEV);
    EXPECT_EQ(s.open_beneath(s.user, "", "/m/a", 0, &f), EXDEV);
    EXPECT_EQ(s.create(s.user, "m/a", &f), 0);
    EXPECT_EQ(s.write(s.user, f, "new", 3), 0);
    EXPECT(memcmp(takt_memfs_get(fs, "m/a", &length), "abc", 3) == 0);
    EXPECT_EQ(s.commit(s.user, f), 0);
    s.close(s.user, f);
    EXPECT(memcmp(takt_memfs_get(fs, "m/a", &length), "new", 3) == 0 && length == 3);
    EXPECT(takt_memfs_get(fs, "m/b", &length) == NULL);
    takt_memfs_destroy(fs);
}

static void end(void)
{
    static const char *const made[] = {"model/w.bin",
                                       "model/data/v.bin",
                                       "model/link",
                                       "model/inner_link",
                                       "model/linked_folder",
                                       "model/inner_folder",
                                       "model/loop",
                                       "model/hard",
                                       "model/fifo",
                                       "outside/w.bin",
                                       "outside/link",
                                       "outside/saved",
                                       "secret"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(in(made[i]));
    EXPECT_EQ(rmdir(in("model/data")), 0);
    EXPECT_EQ(rmdir(in("model")), 0);
    EXPECT_EQ(rmdir(in("outside")), 0);
    EXPECT_EQ(rmdir(folder), 0);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, reads, refuses_kinds, stays_beneath, walks_beneath, replaces, keeps_private,
          survives_faults, short_disk, in_memory, end)
