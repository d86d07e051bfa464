/* fz_data.c - any bytes as a data set: what opens can be described and taken out, twice alike.
 *
 * The first byte chooses the ending of the file's name, which tables and CIFAR's files go by, and
 * what becomes of missing values.
 */
#include <takt/data.h>

#include "fuzz/target.h"
#include "util/memfs.h"
#include "util/meter.h"

enum { ROWS = 4, MOST = 4096 };

static int swallow(void *user, const char *text, size_t length)
{
    *(size_t *)user += length;
    return text == NULL;
}

static void take(const takt_data *d)
{
    static float to[ROWS * MOST];
    for (size_t i = 0; i < takt_data_field_count(d); i++) {
        const takt_desc *f = takt_data_field(d, i);
        uint64_t rows[ROWS];
        int64_t size = 1;
        for (int k = 1; k < f->rank; k++)
            size *= f->dims[k];
        for (size_t r = 0; r < ROWS; r++)
            rows[r] = takt_shuffle(takt_data_count(d), 7, 1, r % takt_data_count(d));
        const takt_tensor_view view = {
            .dtype = TAKT_F32, .rank = 2, .dims = {ROWS, size}, .data = to};
        if (size <= MOST)
            must(takt_data_take(d, f->name, rows, ROWS, &view) == TAKT_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"d", "d.csv", "d.bin", "d.tsv"};
    meter m = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&m);
    if (size == 0)
        return 0;
    const char *name = names[data[0] % 4];
    takt_memfs *fs = takt_memfs_create();
    if (fs == NULL || takt_memfs_put(fs, name, data + 1, size - 1) != 0)
        return takt_memfs_destroy(fs), 0;
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.allocator = &allocator,
                                .files = &files,
                                .limits = {.bytes = 1 << 28, .file_bytes = 1 << 22}};
    takt_ctx *ctx;
    takt_data *d;
    if (takt_ctx_create(&config, &ctx) == TAKT_OK) {
        static const char *const missing[] = {NULL, NULL, "skip", "0.5"};
        const takt_data_options options = {.window = data[0] < 128 ? 0 : data[0] / 4,
                                           .missing = missing[data[0] / 4 % 4]};
        const takt_status status = takt_data_open(ctx, name, &options, &d);
        must((status == TAKT_OK) == (d != NULL) && status != TAKT_ERR_INTERNAL);
        must(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
        if (d != NULL) {
            size_t length = 0;
            take(d);
            must(takt_data_describe(d, TAKT_FORMAT_JSON, swallow, &length) == TAKT_OK &&
                 length > 0);
        }
        takt_data_destroy(d);
        takt_ctx_destroy(ctx);
    }
    takt_memfs_destroy(fs);
    must(m.live == 0);
    return 0;
}
