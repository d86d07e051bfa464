/* sweep_inputs.c - inputs found by fuzzing, loaded, planned and run while memory runs out: the
 * right error, nothing freed twice, nothing leaked.
 *
 * Alone it takes every input of tests/corpus/e2e, onnx, taktp and text, and lets some of its
 * requests fail: up to 400 for each of e2e, 12 for each of the others.
 *
 *     unit_sweep_inputs FOLDER EVERY REQUESTS
 *
 * takes one of EVERY inputs of a folder, and up to REQUESTS of each.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/inject.h"

enum { ROOM = 1 << 16, MEMORY = 1 << 21, FLOPS = 1 << 22 };

typedef struct input {
    char bytes[ROOM];
    size_t length;
    bool is_known;    /* `want` is */
    takt_status want; /* of a run in which nothing fails */
} input;

static takt_status use_session(takt_ctx *ctx, takt_plan *plan)
{
    takt_session *s;
    takt_status status = takt_session_create(plan, NULL, &s);
    if (status != TAKT_OK)
        return status;
    for (size_t i = 0; i < takt_session_input_count(s) && status == TAKT_OK; i++) {
        const takt_tensor_view *view = takt_session_input(s, i);
        status = view == NULL ? TAKT_ERR_MEMORY : takt_view_random(ctx, view, 1, (uint32_t)i);
    }
    if (status == TAKT_OK)
        status = takt_session_run(s);
    takt_session_destroy(s);
    return status;
}

static takt_status use_model(takt_ctx *ctx, const takt_model *model)
{
    const takt_plan_options options = {.backend = "cpu", .threads = 1, .memory_limit = MEMORY};
    takt_plan *plan;
    takt_plan_info info;
    takt_status status = takt_plan_create(model, &options, &plan);
    EXPECT_EQ((status == TAKT_OK), (plan != NULL));
    if (status != TAKT_OK)
        return status;
    takt_plan_query(plan, &info);
    if (info.flops <= FLOPS && info.peak <= MEMORY)
        status = use_session(ctx, plan);
    takt_plan_destroy(plan);
    return status;
}

static takt_status scenario(takt_inject *inject, void *user)
{
    input *in = user;
    takt_config config = {
        .limits = {.bytes = 1 << 27, .tensor_bytes = 1 << 16, .nodes = 500, .trip_count = 50}};
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load_memory(ctx, "input", in->bytes, in->length, NULL, &model);
    EXPECT_EQ((status == TAKT_OK), (model != NULL));
    EXPECT(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (status == TAKT_OK)
        status = use_model(ctx, model);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    if (!in->is_known)
        in->want = status;
    in->is_known = true;
    return status == in->want ? TAKT_OK : status;
}

static bool read_input(const char *folder, const char *name, input *in)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%.200s", folder, name);
    FILE *file = fopen(path, "rb");
    in->is_known = false;
    in->length = file != NULL ? fread(in->bytes, 1, ROOM, file) : 0;
    if (file != NULL)
        fclose(file);
    return EXPECT(file != NULL, "%s", path);
}

static void sweep(const char *folder, int every, uint64_t requests)
{
    static input in;
    DIR *dir = opendir(folder);
    int seen = 0, tried = 0;
    uint64_t runs = 0;
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || seen++ % every != 0 || !read_input(folder, e->d_name, &in))
            continue;
        const takt_sweep_report r = takt_sweep_some(scenario, &in, TAKT_INJECT_MEMORY, requests);
        EXPECT(r.is_good, "%s/%s: %s", folder, e->d_name, r.message);
        runs += r.runs;
        tried++;
    }
    if (dir != NULL)
        closedir(dir);
    printf("%s: %d inputs, %llu runs in which memory ran out\n", folder, tried,
           (unsigned long long)runs);
    EXPECT(tried > 0 && runs > 0, "%s", folder);
}

int main(int argc, char **argv)
{
    static const char *const folders[] = {"e2e", "onnx", "taktp", "text"};
    if (argc == 4)
        sweep(argv[1], atoi(argv[2]) > 0 ? atoi(argv[2]) : 1, strtoull(argv[3], NULL, 10));
    for (size_t i = 0; i < 4 && argc != 4; i++) {
        char path[100];
        snprintf(path, sizeof path, "tests/corpus/%s", folders[i]);
        sweep(path, 1, i == 0 ? 400 : i == 3 ? 4 : 12);
    }
    return test_done();
}
