/* hostile.c - models of TensorFlow Lite that are cut, changed or contradict themselves are refused
 * with the error in their names, within bounds of memory, whichever allocation fails. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"
#include "util/inject.h"
#include "util/load.h"

enum { ROOM = 1 << 16 };

static int seen[2]; /* how often each error of the reader came */

/* From a block of exactly its size, so that a sanitizer detects reads beyond it. */
static int load(const uint8_t *bytes, size_t length)
{
    const takt_config config = {.allocator = &load_allocator, .limits = {.bytes = 1 << 30}};
    takt_ctx *ctx;
    int id = 0;
    uint8_t *copy = malloc(length != 0 ? length : 1);
    if (length > 0)
        memcpy(copy, bytes, length);
    load_meter = (meter){0};
    if (EXPECT_OK(NULL, takt_ctx_create(&config, &ctx))) {
        if (load_onnx(ctx, copy, length) != TAKT_OK) {
            const takt_error *error = takt_last_error_info(ctx);
            id = error->id;
            EXPECT(id != TAKT_E_TFLITE || error->hint[0] != '\0', "no hint: %s", error->message);
        }
        takt_ctx_destroy(ctx);
    }
    EXPECT(load_meter.live == 0, "%zu bytes leak", load_meter.live);
    free(copy);
    return id;
}

static void check(const char *name, uint8_t *bytes, size_t length)
{
    const int want = atoi(name), got = load(bytes, length);
    EXPECT(got == want, "%s: error %d", name, got);
    EXPECT(load_meter.peak <= 16 * length + (3 << 20), "%s: %zu bytes of memory", name,
           load_meter.peak);
    seen[0] += got == TAKT_E_TFLITE;
    seen[1] += got == TAKT_E_TFLITE_UNSUPPORTED;
    for (size_t i = 0; i < length; i++) {
        const int id = load(bytes, i);
        EXPECT(id != TAKT_E_INTERNAL, "%s cut to %zu bytes", name, i);
    }
    for (size_t i = 0; i < length * 8; i += 3) {
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        EXPECT(load(bytes, length) != TAKT_E_INTERNAL, "%s with bit %zu changed", name, i);
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
    }
}

/* ---- memory ---- */

typedef struct job {
    const void *bytes;
    size_t length;
    takt_status want;
    bool is_known;
} job;

static takt_status scenario(takt_inject *inject, void *user)
{
    job *j = user;
    takt_config config = {.limits = {.bytes = 1 << 30}};
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = load_onnx(ctx, j->bytes, j->length);
    takt_ctx_destroy(ctx);
    if (!j->is_known) {
        j->want = status;
        j->is_known = true;
    }
    return status == j->want ? TAKT_OK : status;
}

static void sweep(const char *name, const uint8_t *bytes, size_t length)
{
    job j = {.bytes = bytes, .length = length};
    const takt_sweep_report r = takt_sweep(scenario, &j, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s: %s", name, r.message);
}

/* ---- numbers that do not fit ---- */

/* Levels beyond 32 bits are the greatest of their type. */
static void far(const char *path)
{
    takt_ctx *ctx;
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        memset(takt_session_input(s, 0)->data, 101, 4);
        EXPECT_OK(ctx, takt_session_run(s));
        for (size_t i = 0; i < 4; i++) {
            const int got = ((const int8_t *)takt_session_output(s, 0)->data)[i];
            EXPECT(got == 127, "%s: %d", path, got);
        }
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

int main(void)
{
    static const char folder[] = "tests/corpus/tflite";
    DIR *dir = opendir(folder);
    size_t count = 0;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[400];
        size_t length;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%.300s", folder, e->d_name);
        uint8_t *bytes = load_file(path, ROOM, &length);
        if (!EXPECT(bytes != NULL, "%s", path))
            continue;
        check(e->d_name, bytes, length);
        sweep(e->d_name, bytes, length);
        if (strncmp(e->d_name, "legal_far", 9) == 0)
            far(path);
        free(bytes);
        count++;
    }
    if (dir != NULL)
        closedir(dir);
    EXPECT(count > 40 && seen[0] > 20 && seen[1] > 4, "%zu seeds", count);
    printf("%zu seeds\n", count);
    return test_done();
}
