/* weights_reads.c - files of weights are read tensor by tensor, in two passes, and reading may fail
 * at any time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"

static takt_ctx *ctx;
static char folder[1024];

static const char *at(const char *name)
{
    static char paths[8][1200];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static const float *value_of(const takt_model *m, const char *name, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < takt_model_param_count(m); i++) {
        takt_param p;
        if (takt_model_param(m, i, &p) != TAKT_OK || strcmp(p.name, name) != 0)
            continue;
        *count = 1;
        for (int d = 0; d < p.value.rank; d++)
            *count *= (size_t)p.value.dims[d];
        return p.value.data;
    }
    return NULL;
}

static int reads_left; /* until reading fails; negative: never */

static int read_some(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                     size_t *done)
{
    const takt_files *inner = takt_ctx_files(ctx);
    (void)user;
    *done = 0;
    if (reads_left == 0)
        return EIO;
    reads_left -= reads_left > 0;
    return inner->read(inner->user, file, offset, to, count, done);
}

static takt_model *long_model(takt_ctx *own, int scale)
{
    char text[600];
    takt_model *m = NULL;
    snprintf(text, sizeof text,
             "model m(x: f32[2, 300]) -> (y: f32[2, 301]) {\n"
             "  param a: f32[5000] = uniform(-%d, 1, stream=1)\n"
             "  param w: f32[300, 300] = uniform(-%d, 1, stream=2)\n"
             "  param b: f32[300] = uniform(-%d, 1, stream=3)\n"
             "  param v: f32[300, 301] = uniform(-%d, 1, stream=4)\n"
             "  return y = (x @ w + b) @ v + op.reduce_sum(a)\n}\n",
             scale, scale, scale, scale);
    EXPECT_OK(own, takt_model_load_memory(own, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

/* How many parameters of `m` equal those of `a`; -1 if one equals neither `a`'s nor `b`'s. */
static int taken(const takt_model *m, const takt_model *a, const takt_model *b)
{
    static const char *const names[] = {"a", "w", "b", "v"};
    int count = 0;
    for (size_t i = 0; i < 4; i++) {
        size_t length;
        const float *own = value_of(m, names[i], &length);
        const float *of_a = value_of(a, names[i], &length), *of_b = value_of(b, names[i], &length);
        const size_t bytes = length * sizeof *own;
        if (own == NULL || (memcmp(own, of_a, bytes) != 0 && memcmp(own, of_b, bytes) != 0))
            return -1;
        count += memcmp(own, of_a, bytes) == 0;
    }
    return count;
}

/* A read that fails before all has been checked changes nothing. One that fails later leaves every
 * parameter either old or new as a whole, and loading again fixes it. */
static void reads_that_fail(const char *path)
{
    takt_files files = *takt_ctx_files(ctx);
    takt_ctx *own = NULL;
    files.read = read_some;
    reads_left = -1;
    if (!EXPECT_OK(NULL, takt_ctx_create(&(takt_config){.files = &files}, &own)))
        return;
    takt_model *a = long_model(own, 1), *b = long_model(own, 2);
    EXPECT_OK(own, takt_model_save_weights(a, at(path), NULL));
    int some = 0, none = 0, n = 0;
    for (takt_status status = TAKT_ERR_IO; status != TAKT_OK && n < 100; n++) {
        takt_model *m = long_model(own, 2);
        reads_left = n;
        status = takt_model_load_weights(m, at(path));
        reads_left = -1;
        const int now = taken(m, a, b);
        EXPECT(status == TAKT_OK ? now == 4 : status == TAKT_ERR_IO && now >= 0 && now < 4,
               "%s, read %d: %d are taken, %s", path, n, now, takt_last_error(own));
        none += now == 0;
        some += now > 0 && now < 4;
        takt_plan *plan = NULL;
        EXPECT_OK(own, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan));
        EXPECT_OK(own, takt_model_load_weights(m, at(path))); /* the plan keeps its weights */
        EXPECT_EQ(taken(m, a, b), 4);
        takt_plan_destroy(plan);
        takt_model_destroy(m);
    }
    EXPECT(n > 3 && n < 100 && none > 0 && some > 0, "%s: %d, %d, %d", path, n, none, some);
    takt_model_destroy(a);
    takt_model_destroy(b);
    takt_ctx_destroy(own);
}

static takt_model *bools_of(const char *init)
{
    char text[300];
    takt_model *m = NULL;
    snprintf(text, sizeof text,
             "model m(x: f32[3]) {\n  param q: bool[400000] = %s()\n"
             "  param r: bool[9] = %s()\n  return x\n}\n",
             init, init);
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "b.takt", text, strlen(text), NULL, &m));
    return m;
}

static bool all_are(const takt_model *m, int value)
{
    takt_param p;
    for (size_t i = 0; takt_model_param(m, i, &p) == TAKT_OK; i++)
        for (int64_t k = 0; k < p.value.dims[0]; k++)
            if (((const uint8_t *)p.value.data)[k] != value)
                return false;
    return true;
}

/* Bools are checked before the first of them is stored, and are complete afterwards. */
static void bools(const char *path, const char *part)
{
    takt_model *from = bools_of("ones"), *to = bools_of("zeros");
    EXPECT_OK(ctx, takt_model_save_weights(from, at(path), NULL));
    FILE *f = fopen(at(part), "r+b");
    EXPECT(f != NULL && fseek(f, -1, SEEK_END) == 0 && fputc(2, f) == 2 && fclose(f) == 0);
    EXPECT_STATUS(ctx, takt_model_load_weights(to, at(path)), TAKT_ERR_FORMAT);
    EXPECT(all_are(to, 0), "%s: a bad file changed the model", path);
    EXPECT_OK(ctx, takt_model_save_weights(from, at(path), NULL));
    EXPECT_OK(ctx, takt_model_load_weights(to, at(path)));
    EXPECT(all_are(to, 1), "%s: other values than the file's", path);
    takt_model_destroy(from);
    takt_model_destroy(to);
}

static const char plain[] = "model m(x: f32[3]) {\n  param w: f32[90000] = zeros()\n"
                            "  param b: f32[9] = zeros()\n  return x\n}\n";

static takt_status load_plain(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status == TAKT_OK)
        status = takt_model_load_memory(own, "p.takt", plain, sizeof plain - 1, NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_load_weights(m, at(user));
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

/* Allocations and calls to files, each failing once. */
static void every_call_may_fail(char *path)
{
    takt_model *m = NULL;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "p", plain, sizeof plain - 1, NULL, &m)))
        EXPECT_OK(ctx, takt_model_save_weights(m, at(path), NULL));
    takt_model_destroy(m);
    const takt_sweep_report r = takt_sweep(load_plain, path, TAKT_INJECT_ALL);
    EXPECT(r.is_good, "%s: %s", path, r.message);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    reads_that_fail("long.safetensors");
    reads_that_fail("long.safetensors.index.json");
    reads_that_fail("long.npz");
    every_call_may_fail((char[]){"plain.safetensors"});
    every_call_may_fail((char[]){"plain.npz"});
    bools("bools.safetensors", "bools.safetensors");
    bools("parts.index.json", "parts-00001-of-00001.safetensors");
    takt_ctx_destroy(ctx);
    return test_done();
}
