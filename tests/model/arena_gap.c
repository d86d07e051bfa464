/* arena_gap.c - how far every model's arena is from the lower bound of its order: never more than
 * 5 %, and at most 1 % for most. Finds the models by itself. */
#include "test.h"

#include <dirent.h>
#include <string.h>

#include <takt/takt.h>

static takt_ctx *ctx;
static size_t plans, narrow;

static void check_plan(const char *path, const takt_model *m, const char *sizes, int threads)
{
    takt_plan *plan;
    takt_plan_info info;
    const takt_plan_options o = {.sizes = sizes, .threads = threads, .dry = true};
    if (!EXPECT_OK(ctx, takt_plan_create(m, &o, &plan)))
        return;
    takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    const double gap = info.lower_bound > 0 ? (double)info.arena / (double)info.lower_bound - 1 : 0;
    printf("%-40s %-10s %d threads: arena %12llu, bound %12llu, gap %.2f %%\n", path, sizes,
           threads, (unsigned long long)info.arena, (unsigned long long)info.lower_bound,
           100 * gap);
    EXPECT(info.arena >= info.lower_bound && gap <= 0.05, "%s (%s): gap %.1f %%", path, sizes,
           100 * gap);
    plans++;
    narrow += gap <= 0.01;
}

static void check_model(const char *path)
{
    takt_model *m;
    char sizes[64];
    if (!EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &m)))
        return;
    const takt_desc *first = takt_model_input_count(m) > 0 ? takt_model_input(m, 0) : NULL;
    const char *name = first != NULL && first->rank > 0 ? first->dim_names[0] : NULL;
    for (int batch = 1; batch <= (name != NULL ? 8 : 1); batch *= 8)
        for (int threads = 1; threads <= 4; threads *= 4) {
            sizes[0] = '\0';
            if (name != NULL)
                snprintf(sizes, sizeof sizes, "%s=%d", name, batch);
            check_plan(path, m, sizes, threads);
        }
    takt_model_destroy(m);
}

static size_t check_folder(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[512];
        const size_t length = strlen(e->d_name);
        if (length < 6 || strcmp(e->d_name + length - 5, ".takt") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        check_model(path);
        count++;
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

int main(void)
{
    if (EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx))) {
        const size_t models = check_folder("bench/models") + check_folder("examples");
        EXPECT(models >= 10, "only %zu models were found", models);
        EXPECT(2 * narrow > plans, "only %zu of %zu plans are within 1 %%", narrow, plans);
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
