/* sweep_limits.c - a model whose graph may have few nodes, and its adapters few tables.
 *
 * The whole corpus with every limit up to the number of nodes it needs: the node that exceeds it
 * can be any that an adapter builds, and its result must not be used. A load that reaches a limit
 * reports it and leaks nothing.
 */
#include <dirent.h>
#include <string.h>

#include "../test.h"
#include "util/load.h"

enum { ROOM = 1 << 13, MOST = 160 }; /* larger ones test other limits and take long */

static size_t files, runs, refused;

static takt_status load(const void *bytes, size_t length, uint64_t nodes, uint64_t tensor_bytes,
                        const char *path)
{
    const takt_config config = {
        .allocator = &load_allocator,
        .limits = {.bytes = 1 << 28, .nodes = nodes, .tensor_bytes = tensor_bytes}};
    takt_ctx *ctx;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return TAKT_ERR_INTERNAL;
    const takt_status status = load_onnx(ctx, bytes, length);
    EXPECT(status != TAKT_ERR_INTERNAL && (status == TAKT_OK || takt_last_error(ctx)[0] != '\0'),
           "%s, %llu nodes: status %d, \"%s\"", path, (unsigned long long)nodes, (int)status,
           takt_last_error(ctx));
    takt_ctx_destroy(ctx);
    EXPECT(load_meter.live == 0, "%s, %llu nodes: %zu bytes are left", path,
           (unsigned long long)nodes, load_meter.live);
    runs++;
    return status;
}

/* Until more nodes change nothing: twice in a row the result without a limit. */
static void sweep(const char *path)
{
    size_t length;
    uint8_t *copy = load_file(path, ROOM, &length);
    EXPECT(copy != NULL || length > 0, "%s cannot be opened", path);
    if (copy == NULL)
        return;
    const takt_status want = load(copy, length, 2000, 1 << 18, path);
    for (uint64_t nodes = 1, same = 0; nodes <= MOST && same < 12; nodes++) {
        const takt_status status = load(copy, length, nodes, 1 << 18, path);
        same = status == want ? same + 1 : 0;
        refused += status == TAKT_ERR_LIMIT;
    }
    for (uint64_t bytes = 16; bytes <= 1 << 14; bytes *= 4)
        (void)load(copy, length, 2000, bytes, path);
    files++;
    free(copy);
}

static void corpus(void)
{
    DIR *dir = opendir("tests/corpus/onnx");
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && strstr(e->d_name, "exponential") == NULL) {
            char path[512];
            snprintf(path, sizeof path, "tests/corpus/onnx/%.200s", e->d_name);
            sweep(path);
        }
    if (dir != NULL)
        closedir(dir);
    EXPECT(files >= 100, "%zu seeds", files);
    EXPECT(refused >= 1000, "%zu loads met the limit", refused);
    printf("%zu files, %zu loads, %zu of them beyond the limit of nodes\n", files, runs, refused);
}

TEST_MAIN(corpus)
