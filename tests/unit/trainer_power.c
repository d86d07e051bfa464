/* trainer_power.c - checkpoints survive: loss of power, flipped bits.
 *
 * Two generations are written in turn, as `takt train --checkpoint` does. The calls of a save that
 * change the disk are seen here on their way to the system. After any of them power may be lost:
 * what was not synced, writes and names alike, is then there or not, sector by sector. Whatever is
 * left, the newest save that was reported as done must load, or a newer one, with every bit as it
 * was saved. `trainer_power [STATES [FLIPS]]` does more of them than the test.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/memfs.h"
#include "util/small_training.h"

enum { SAVES = 6, SECTOR = 512, OPS = 256, NAMES = 2 };

/* ---- the disk as the system calls see it ---- */

typedef enum kind { WRITE, SYNC, LINK, RENAME, SYNC_FOLDER } kind;

typedef struct op {
    kind kind;
    int save;    /* that it belongs to, each with a file of its own */
    int name;    /* of RENAME: the generation */
    char *bytes; /* of WRITE */
    size_t at, length;
} op;

static op ops[OPS];
static size_t op_count;
static int save_now;
static bool is_watching;
extern int (*takt_test_synced)(int fd);

static op *add(kind what)
{
    if (!is_watching || !EXPECT_IS(op_count, <, OPS))
        return NULL;
    ops[op_count] = (op){.kind = what, .save = save_now};
    return &ops[op_count++];
}

ssize_t write(int fd, const void *from, size_t count)
{
    op *o = add(WRITE);
    if (o != NULL && (o->bytes = malloc(count + 1)) != NULL) {
        memcpy(o->bytes, from, count);
        o->at = (size_t)lseek(fd, 0, SEEK_CUR);
        o->length = count;
    }
    return syscall(SYS_write, fd, from, count);
}

static int synced(int fd)
{
    struct stat facts;
    add(fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode) ? SYNC_FOLDER : SYNC);
    return 0;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    add(LINK);
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    op *o = add(RENAME);
    if (o != NULL)
        o->name = to[strlen(to) - 1] - '0';
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

/* ---- trainings ---- */

static char *saved[SAVES]; /* the file of every save */
static size_t saved_length[SAVES];
static char folder[1024];

static void path_of(int generation, char *to, size_t size)
{
    snprintf(to, size, "%s/power.%d", folder, generation);
}

/* SAVES saves with a step before each; their file operations are in `ops`. */
static void record(small_training *t)
{
    char path[1100];
    for (int i = 0; i < SAVES; i++) {
        small_training_step(t);
        path_of(i % NAMES, path, sizeof path);
        save_now = i;
        is_watching = true;
        EXPECT_OK(t->ctx, takt_trainer_save(t->trainer, path, "note"));
        is_watching = false;
        saved[i] = small_training_read(path, &saved_length[i]);
        EXPECT(saved_length[i] > 500, "%zu bytes", saved_length[i]);
    }
    EXPECT(op_count >= (size_t)SAVES * 4, "%zu operations", op_count);
}

/* ---- a loss of power ---- */

static uint64_t state_of_random = 1;

static uint64_t drawn(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return state_of_random;
}

/* Whether something that is synced only if `sync` is at or before `last` is on the disk. */
static bool is_synced(size_t at, size_t last, kind sync)
{
    for (size_t i = at + 1; i <= last; i++)
        if (ops[i].kind == sync && (sync == SYNC_FOLDER || ops[i].save == ops[at].save))
            return true;
    return false;
}

/* What remains of a file: synced writes, and any sectors of others; the rest is zero or missing. */
static size_t left_of(int file, size_t last, char *to, size_t room)
{
    size_t length = 0;
    memset(to, 0, room);
    for (size_t i = 0; i <= last; i++) {
        const op *o = &ops[i];
        if (o->kind != WRITE || o->save != file || o->at + o->length > room)
            continue;
        const bool is_safe = is_synced(i, last, SYNC);
        for (size_t k = 0; k < o->length; k += SECTOR) {
            const size_t part = o->length - k < SECTOR ? o->length - k : SECTOR;
            if (!is_safe && drawn() % 4 == 0)
                continue;
            memcpy(to + o->at + k, o->bytes + k, part);
            length = o->at + k + part > length ? o->at + k + part : length;
        }
    }
    return length;
}

/* Which save these bytes are from; -1: none, and then they must not load. */
static int which(const char *bytes, size_t length)
{
    for (int i = 0; i < SAVES; i++)
        if (length == saved_length[i] && memcmp(bytes, saved[i], length) == 0)
            return i;
    return -1;
}

/* The save that a generation holds after power is lost after operation `last`, or -1. */
static int found(int name, size_t last, small_training *reader, takt_memfs *fs, uint64_t *torn)
{
    static char bytes[1 << 16];
    size_t at = last + 1;
    for (size_t i = 0; i <= last; i++)
        if (ops[i].kind == RENAME && ops[i].name == name &&
            (is_synced(i, last, SYNC_FOLDER) || drawn() % 2 == 0))
            at = i;
    if (at > last)
        return -1; /* it was never there */
    const size_t length = left_of(ops[at].save, last, bytes, sizeof bytes);
    const int save = which(bytes, length);
    if (save < 0) {
        (*torn)++;
        EXPECT_EQ(takt_memfs_put(fs, "torn", bytes, length), 0);
        EXPECT(takt_trainer_load(reader->trainer, "torn", NULL) != TAKT_OK, "torn bytes load");
    }
    return save;
}

/* How many of `states` power losses lose a save that was reported as done. */
static uint64_t lose_power(uint64_t states, small_training *reader, takt_memfs *fs, uint64_t *torn)
{
    uint64_t lost = 0;
    for (uint64_t i = 0; i < states; i++) {
        const size_t last = (size_t)(drawn() % op_count);
        const bool is_done = last + 1 == op_count || ops[last + 1].save != ops[last].save;
        const int reported = ops[last].save - !is_done;
        int newest = -1;
        for (int name = 0; name < NAMES; name++) {
            const int save = found(name, last, reader, fs, torn);
            newest = save > newest ? save : newest;
        }
        lost += newest < reported;
    }
    return lost;
}

static void powers(uint64_t states, small_training *reader, takt_memfs *fs)
{
    uint64_t torn = 0;
    for (int i = 0; i < SAVES; i++) { /* a file that is found must load, with the right step */
        EXPECT_EQ(takt_memfs_put(fs, "whole", saved[i], saved_length[i]), 0);
        EXPECT_OK(reader->ctx, takt_trainer_load(reader->trainer, "whole", NULL));
        EXPECT_EQ(takt_trainer_steps(reader->trainer), (uint64_t)i + 1);
    }
    const uint64_t lost = lose_power(states, reader, fs, &torn);
    EXPECT(lost == 0 && torn == 0, "%llu saves lost, %llu files torn", (unsigned long long)lost,
           (unsigned long long)torn);
    printf("%llu losses of power behind %zu operations: %llu saves lost\n",
           (unsigned long long)states, op_count, (unsigned long long)lost);
    for (int without = SYNC; without <= SYNC_FOLDER; without += SYNC_FOLDER - SYNC) {
        op kept[OPS]; /* the same without syncs: this test can fail */
        memcpy(kept, ops, sizeof ops);
        for (size_t i = 0; i < op_count; i++)
            if ((int)ops[i].kind == without)
                ops[i] = (op){.kind = LINK, .save = ops[i].save};
        EXPECT(lose_power(2000, reader, fs, &torn) > 0, "without %d nothing is lost", without);
        memcpy(ops, kept, sizeof ops);
    }
    EXPECT_IS(torn, >, 0);
}

/* ---- bits that flip ---- */

static void flips(uint64_t count, small_training *reader, takt_memfs *fs)
{
    const size_t length = saved_length[SAVES - 1], bits = 8 * length;
    char *bytes = malloc(length);
    if (!EXPECT(bytes != NULL))
        return;
    memcpy(bytes, saved[SAVES - 1], length);
    for (uint64_t i = 0; i < count; i++) {
        const size_t bit = count >= bits ? (size_t)(i % bits) : (size_t)(drawn() % bits);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        EXPECT_EQ(takt_memfs_put(fs, "flip", bytes, length), 0);
        EXPECT(takt_trainer_load(reader->trainer, "flip", NULL) != TAKT_OK, "bit %zu", bit);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    printf("%llu of %zu bits flipped: none loads\n", (unsigned long long)count, bits);
    free(bytes);
}

int main(int argc, char **argv)
{
    const uint64_t states = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const uint64_t flipped = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    const char *tmp = getenv("TAKT_TEST_TMP");
    takt_memfs *fs = takt_memfs_create();
    small_training writer, reader;
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    takt_test_synced = synced;
    if (!EXPECT(fs != NULL))
        return test_done();
    const takt_files files = takt_memfs_files(fs);
    if (small_training_begin(&writer, NULL) && small_training_begin(&reader, &files)) {
        record(&writer);
        powers(states, &reader, fs);
        flips(flipped, &reader, fs);
    }
    small_training_end(&reader);
    small_training_end(&writer);
    takt_memfs_destroy(fs);
    for (size_t i = 0; i < op_count; i++)
        free(ops[i].bytes);
    for (int i = 0; i < SAVES; i++)
        free(saved[i]);
    return test_done();
}
