/* sweep_load.c - every allocation of a load fails once, and from there on.
 *
 * All of the corpus, good and bad: a load that runs out of memory reports it, or reports the usual
 * error of a bad file, and leaks nothing. Cases of ONNX's suite bring what the corpus is too small
 * for: subgraphs, functions, recurrent cells, trees.
 */
#include <dirent.h>
#include <string.h>

#include "../test.h"
#include "util/inject.h"
#include "util/load.h"
#include "util/onnx_case.h"

enum { ROOM = 1 << 16 }; /* larger and exponential ones test limits and take long */

typedef struct job {
    load_fn *how;
    const void *bytes;
    size_t length;
    takt_status want;
    bool is_known; /* the result when nothing fails */
} job;

static takt_status scenario(takt_inject *inject, void *user)
{
    job *j = user;
    takt_config config = {.limits = {.bytes = 1 << 30}}; /* else each context asks the machine */
    takt_ctx *ctx;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = j->how(ctx, j->bytes, j->length);
    takt_ctx_destroy(ctx);
    if (!j->is_known) {
        j->want = status;
        j->is_known = true;
    }
    return status == j->want ? TAKT_OK : status;
}

static size_t swept, runs;

static void sweep(load_fn *how, const char *path)
{
    size_t length;
    uint8_t *copy = load_file(path, ROOM, &length);
    EXPECT(copy != NULL || length > 0, "%s cannot be opened", path);
    if (copy == NULL)
        return;
    job j = {.how = how, .bytes = copy, .length = length};
    const takt_sweep_report r = takt_sweep(scenario, &j, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s: %s", path, r.message);
    EXPECT(r.runs >= r.operations, "%s: %llu of %llu operations failed", path,
           (unsigned long long)r.runs, (unsigned long long)r.operations);
    swept++;
    runs += (size_t)r.runs;
    free(copy);
}

/* Of the many seeds of single operations (classes 29 to 32) every third is swept, and all that
 * compute shapes; none with long tables or loops. */
static bool is_swept(const char *name)
{
    unsigned sum = 0;
    for (const char *at = name; *at != '\0'; at++)
        sum += (unsigned char)*at;
    const char *class = strncmp(name, "legal_", 6) == 0 ? name + 6 : name;
    const bool has_many = (class[0] == '3' || strncmp(class, "29_", 3) == 0) &&
                          strncmp(class, "31_shape", 8) != 0 && strncmp(class, "31_until", 8) != 0;
    const bool is_long = strstr(name, "exponential") != NULL || strstr(name, "tables_of") != NULL ||
                         strstr(name, "known_loop") != NULL;
    return !is_long && (!has_many || sum % 3 == 0);
}

static void folder(const char *name, load_fn *how, size_t least)
{
    char path[512];
    snprintf(path, sizeof path, "tests/corpus/%s", name);
    DIR *dir = opendir(path);
    const size_t before = swept;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && is_swept(e->d_name)) {
            snprintf(path, sizeof path, "tests/corpus/%s/%.200s", name, e->d_name);
            sweep(how, path);
        }
    if (dir != NULL)
        closedir(dir);
    EXPECT(swept - before >= least, "%s: %zu seeds", name, swept - before);
}

static void corpus(void)
{
    folder("onnx", load_onnx, 100);
    folder("safetensors", load_safetensors, 30);
    folder("npy", load_npy, 20);
    folder("json", load_json, 20);
}

/* Cases without a small file in the corpus. */
static void cases(void)
{
    static const char *const names[] = {"test_if",
                                        "test_loop11",
                                        "test_scan9_sum",
                                        "test_lstm_with_peepholes",
                                        "test_gru_defaults",
                                        "test_ai_onnx_ml_tree_ensemble_set_membership",
                                        "test_resize_upsample_scales_linear",
                                        "test_sequence_map_add_2_sequences",
                                        "test_softmax_axis_1_expanded",
                                        "test_attention_3d",
                                        "test_qlinearconv",
                                        "test_dynamicquantizelinear_expanded"};
    const char *data = onnx_case_data();
    size_t found = 0;
    for (size_t i = 0; data != NULL && i < sizeof names / sizeof *names; i++) {
        char path[1400];
        snprintf(path, sizeof path, "%s/onnx/backend-node/%s/model.onnx", data, names[i]);
        FILE *f = fopen(path, "rb");
        if (f == NULL)
            continue;
        fclose(f);
        sweep(load_onnx, path);
        found++;
    }
    EXPECT(data == NULL || found >= 8, "%zu cases", found);
    printf("%zu files, %zu loads with a failure\n", swept, runs);
}

TEST_MAIN(corpus, cases)
