/* files_map.c - weights that are used where they lie in a file.
 *
 * A model from a mapped file computes the bits of one that was read. Its weights are in the
 * mapping, which lives as long as one of them; files that are too short, and failing file
 * functions, are reported as when files are read; without a map function files are read.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <takt/takt.h>

#include "api/model.h"
#include "base/ctx.h"
#include "base/error.h"
#include "util/inject.h"

static const char gguf[] = "tests/corpus/gguf/tiny.gguf";
static const char text[] = "model m(x: f32[2, 3]) -> (y: f32[2, 4]) {\n"
                           "  param w: f32[3, 4] = uniform(-1, 1, stream=1)\n"
                           "  param b: f32[4] = uniform(-1, 1, stream=2)\n"
                           "  return y = x @ w + b\n}\n";

static takt_ctx *ctx;
static char folder[1024];

static const char *at(const char *name)
{
    static char paths[4][1200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static takt_model *load(const char *path, bool map)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load(ctx, path, &(takt_load_options){.map = map}, &m));
    return m;
}

/* Inputs are random floats; integers are 0, a valid index of every vocabulary. */
static void digest_of(const takt_model *m, char digest[TAKT_DIGEST_TEXT])
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    digest[0] = '\0';
    if (EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.threads = 1}, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (size_t i = 0; i < takt_session_input_count(s); i++) {
            const takt_tensor_view *v = takt_session_input(s, i);
            if (v->dtype == TAKT_F32)
                EXPECT_OK(ctx, takt_view_random(ctx, v, 1, 0));
        }
        EXPECT(takt_session_run(s) == TAKT_OK, "%s", takt_session_error(s)->message);
        EXPECT_OK(ctx, takt_view_digest(ctx, takt_session_output(s, 0), 1, digest));
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* Slots that share a storage with another one lie in the file. */
static size_t shared_slots(const takt_model *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->graph->slot_count; i++) {
        bool is_shared = false;
        for (size_t k = 0; k < m->graph->slot_count; k++)
            is_shared |=
                k != i && m->slots[i].storage != NULL && m->slots[i].storage == m->slots[k].storage;
        count += is_shared;
    }
    return count;
}

static void a_model_lies_in_its_file(void)
{
    char read[TAKT_DIGEST_TEXT], mapped[TAKT_DIGEST_TEXT];
    const uint64_t none = ctx->live_bytes;
    takt_model *m = load(gguf, false);
    const uint64_t of_read = ctx->live_bytes - none;
    digest_of(m, read);
    EXPECT_EQ(shared_slots(m), 0);
    takt_model_destroy(m);
    takt_ctx_trim(ctx);
    const uint64_t again = ctx->live_bytes;
    m = load(gguf, true);
    EXPECT(ctx->live_bytes - again < of_read, "%llu bytes, read %llu",
           (unsigned long long)(ctx->live_bytes - again), (unsigned long long)of_read);
    EXPECT(m != NULL && shared_slots(m) >= 2, "%zu slots", shared_slots(m));
    digest_of(m, mapped);
    EXPECT(strcmp(read, mapped) == 0, "%s and %s", read, mapped);
    takt_model_destroy(m);
    takt_ctx_trim(ctx);
    EXPECT(ctx->live_bytes == again, "something of the mapping is left");
}

static void write_text(const char *path, const void *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    EXPECT(f != NULL && fwrite(bytes, 1, length, f) == length);
    if (f != NULL)
        fclose(f);
}

static void weights_lie_in_their_file(void)
{
    char want[TAKT_DIGEST_TEXT], got[TAKT_DIGEST_TEXT];
    write_text(at("map.takt"), text, sizeof text - 1);
    takt_model *from = load(at("map.takt"), false), *to = load(at("map.takt"), true);
    EXPECT_OK(ctx, takt_model_save_weights(from, at("map.safetensors"), NULL));
    EXPECT_OK(ctx, takt_model_save_weights(from, at("map.npz"), NULL));
    EXPECT_OK(ctx, takt_model_load_weights(to, at("map.safetensors")));
    EXPECT(shared_slots(to) == 2, "weights of safetensors are copied");
    digest_of(from, want);
    digest_of(to, got);
    EXPECT_TEXT(want, got);
    EXPECT_OK(ctx, takt_model_load_weights(to, at("map.npz")));
    digest_of(to, got);
    EXPECT_TEXT(want, got);
    takt_model_destroy(from);
    takt_model_destroy(to);
}

static void a_compiled_model_lies_in_its_file(void)
{
    static unsigned char bytes[1 << 16];
    char want[TAKT_DIGEST_TEXT], got[TAKT_DIGEST_TEXT];
    static const char wide[] = "model m(x: f32[2, 3]) -> (y: f32[2, 40]) {\n"
                               "  param w: f32[3, 40] = uniform(-1, 1, stream=1)\n"
                               "  param b: f32[40] = uniform(-1, 1, stream=2)\n"
                               "  return y = x @ w + b\n}\n"; /* few numbers stay in the text */
    write_text(at("wide.takt"), wide, sizeof wide - 1);
    takt_model *from = load(at("wide.takt"), false), *to = NULL;
    EXPECT_OK(ctx, takt_model_save(from, at("map.taktp"), NULL));
    to = load(at("map.taktp"), true);
    EXPECT(to != NULL && shared_slots(to) == 2, "weights of a compiled model are copied");
    digest_of(from, want);
    digest_of(to, got);
    EXPECT_TEXT(want, got);
    takt_model_destroy(from);
    takt_model_destroy(to);
    FILE *f = fopen(at("map.taktp"), "rb");
    const size_t length = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f != NULL)
        fclose(f);
    if (!EXPECT(length > 0 && length < sizeof bytes))
        return;
    bytes[length - 1] ^= 1; /* of the last weight */
    write_text(at("damaged.taktp"), bytes, length);
    EXPECT_STATUS(ctx,
                  takt_model_load(ctx, at("damaged.taktp"), &(takt_load_options){.map = true}, &to),
                  TAKT_ERR_FORMAT);
}

/* Every length of a file: the same answer as when it is read. */
static void short_files(void)
{
    static unsigned char bytes[1 << 20];
    FILE *f = fopen(gguf, "rb");
    const size_t length = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
    size_t refused = 0;
    if (f != NULL)
        fclose(f);
    EXPECT_IS(length, >, 1000);
    EXPECT_IS(length, <, sizeof bytes);
    for (size_t cut = 0; cut < length; cut += cut < 400 ? 37 : length / 60) {
        takt_model *m = NULL, *other = NULL;
        write_text(at("short.gguf"), bytes, cut);
        const takt_status one =
            takt_model_load(ctx, at("short.gguf"), &(takt_load_options){.map = true}, &m);
        const int id = takt_last_error_info(ctx)->id;
        const takt_status two = takt_model_load(ctx, at("short.gguf"), NULL, &other);
        EXPECT(one == two && one != TAKT_OK, "%zu bytes: %d and %d", cut, (int)one, (int)two);
        EXPECT(id == takt_last_error_info(ctx)->id, "%zu bytes: id %d", cut, id);
        refused += one != TAKT_OK;
        takt_model_destroy(m);
        takt_model_destroy(other);
    }
    EXPECT(refused > 40, "%zu", refused);
}

/* A file that becomes shorter between the question and the map. */
static int longer(void *user, takt_file *file, uint64_t *bytes)
{
    const takt_files *inner = takt_ctx_files(ctx);
    const int error = inner->size(inner->user, file, bytes);
    (void)user;
    *bytes += 1 << 16;
    return error;
}

static void services(void)
{
    takt_files files = *takt_ctx_files(ctx);
    takt_config config = {.files = &files};
    takt_ctx *own = NULL;
    takt_model *m = NULL;
    files.size = longer;
    EXPECT_OK(NULL, takt_ctx_create(&config, &own));
    EXPECT_STATUS(NULL, takt_model_load(own, gguf, &(takt_load_options){.map = true}, &m),
                  TAKT_ERR_IO);
    EXPECT(takt_last_error_info(own)->id == TAKT_E_FILE_READ, "%s", takt_last_error(own));
    takt_ctx_destroy(own);
    files = *takt_ctx_files(ctx);
    files.map = NULL;
    EXPECT_OK(NULL, takt_ctx_create(&config, &own));
    EXPECT_OK(own, takt_model_load(own, gguf, &(takt_load_options){.map = true}, &m));
    EXPECT(m != NULL && shared_slots(m) == 0, "without maps it is read");
    takt_model_destroy(m);
    takt_ctx_destroy(own);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_model *m = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status == TAKT_OK)
        status = takt_model_load(own, at("map.takt"), &(takt_load_options){.map = true}, &m);
    if (status == TAKT_OK)
        status = takt_model_load_weights(m, at("map.safetensors"));
    takt_model_destroy(m);
    m = NULL;
    if (status == TAKT_OK)
        status = takt_model_load(own, at("map.taktp"), &(takt_load_options){.map = true}, &m);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void every_call_may_fail(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_ALL);
    EXPECT(r.is_good, "%s", r.message);
}

int main(void)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(folder, sizeof folder, "%s", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    a_model_lies_in_its_file();
    weights_lie_in_their_file();
    a_compiled_model_lies_in_its_file();
    short_files();
    services();
    every_call_may_fail();
    takt_ctx_destroy(ctx);
    return test_done();
}
