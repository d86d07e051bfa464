/* fz_files.c - any bytes as a file of tensors or of results: .npz, a tensor of ONNX's test data, an
 * .index.json with a part next to it, the JSON of a benchmark, and rules for names of weights. Two
 * readings agree, nothing stays.
 *
 * The first byte says which; bit 7 of it makes an allocation fail, the one that the second byte
 * counts.
 */
#include <takt/array.h>
#include <takt/measure.h>
#include <takt/model.h>
#include <takt/report.h>
#include <takt/weights.h>

#include "fuzz/target.h"
#include "util/memfs.h"
#include "util/meter.h"

typedef struct failing {
    meter m;
    uint64_t gets, fail_at; /* 0: never */
} failing;

static void *get(void *user, size_t size, size_t align)
{
    failing *f = user;
    return ++f->gets == f->fail_at ? NULL : meter_get(&f->m, size, align);
}

static void put(void *user, void *block, size_t size)
{
    meter_put(&((failing *)user)->m, block, size);
}

static int swallow(void *user, const char *text, size_t length)
{
    *(size_t *)user += length;
    return text == NULL;
}

enum { NPZ, PB, INDEX, RESULT, RULES, KINDS };
static const char *const names[KINDS] = {"w.npz", "t.pb", "w.index.json", "r.json", "rules.txt"};

/* Rules for the tensor x of the part below. */
static takt_status load_by_rules(takt_ctx *ctx)
{
    static const char text[] = "model m(a: f32[1]) { param w.x: f32[1] = ones() return a * w.x }";
    takt_model *m = NULL;
    takt_status status = takt_model_load_memory(ctx, "m", text, sizeof text - 1, NULL, &m);
    if (status == TAKT_OK)
        status = takt_model_load_weights_by(m, "a.safetensors", names[RULES]);
    takt_model_destroy(m);
    return status;
}

static takt_status read_once(takt_ctx *ctx, int kind)
{
    takt_tensor_view view = {0};
    takt_bench *bench = NULL;
    size_t length = 0;
    bool holds;
    takt_status status;
    switch (kind) {
    case NPZ:
    case PB:
        status = takt_view_load(ctx, names[kind], NULL, &view);
        must((status == TAKT_OK) == (view.data != NULL));
        takt_view_free(ctx, &view);
        if (kind == PB)
            return status;
        return takt_weights_inspect(ctx, names[kind], TAKT_FORMAT_JSON, swallow, &length);
    case INDEX:
        if (takt_weights_probe(ctx, names[kind], &holds) != TAKT_OK)
            return TAKT_ERR_IO;
        return takt_weights_inspect(ctx, names[kind], TAKT_FORMAT_TEXT, swallow, &length);
    case RULES: return load_by_rules(ctx);
    default:
        status = takt_bench_load(ctx, names[kind], &bench);
        must((status == TAKT_OK) == (bench != NULL));
        if (bench != NULL)
            status = takt_bench_write(bench, TAKT_BENCH_JSON, swallow, &length);
        takt_bench_destroy(bench);
        return status;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}} and its four bytes */
    static const char part[] = "\x3d\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F32\",\"shape\":[1],"
                               "\"data_offsets\":[0,4]}}         \0\0\0\0";
    failing f = {0};
    const takt_allocator allocator = {.get = get, .put = put, .user = &f};
    if (size < 2)
        return 0;
    const int kind = (data[0] & 0x7f) % KINDS;
    takt_memfs *fs = takt_memfs_create();
    if (fs == NULL || takt_memfs_put(fs, names[kind], data + 2, size - 2) != 0 ||
        takt_memfs_put(fs, "a.safetensors", part, sizeof part - 1) != 0)
        return takt_memfs_destroy(fs), 0;
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.allocator = &allocator,
                                .files = &files,
                                .limits = {.bytes = 1 << 28, .file_bytes = 1 << 22}};
    takt_ctx *ctx;
    if (takt_ctx_create(&config, &ctx) == TAKT_OK) {
        const takt_status status = read_once(ctx, kind);
        must(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'));
        must(read_once(ctx, kind) == status);
        if (data[0] & 0x80) {
            f.fail_at = f.gets + 1 + data[1];
            must(read_once(ctx, kind) != TAKT_ERR_INTERNAL);
        }
        takt_ctx_destroy(ctx);
    }
    takt_memfs_destroy(fs);
    must(f.m.live == 0);
    return 0;
}
