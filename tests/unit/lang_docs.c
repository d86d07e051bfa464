/* lang_docs.c - every example of docs/language.md and of examples/ is a model that can be built and
 * run, each with the number of elements that its inputs have when named dimensions are 1. */
#include "lang/parse.h"

#include <dirent.h>
#include <string.h>

#include <takt/takt.h>

#include "test.h"
#include "util/golden.h"

static takt_ctx *ctx;

static void build(const char *name, const char *text, size_t length)
{
    takt_diagnostics list;
    takt_graph *graph = NULL;
    takt_text out;
    takt_diagnostics_init(&list, ctx);
    takt_text_init(&out, ctx);
    const takt_parse_options options = {.diagnostics = &list};
    const takt_status status = takt_parse(ctx, name, text, length, &options, &graph);
    takt_diagnostics_render(&list, name, text, length, &out);
    EXPECT(status == TAKT_OK && list.count == 0, "%s\n%s", takt_last_error(ctx),
           takt_text_get(&out));
    if (graph != NULL) {
        EXPECT_OK(ctx, takt_graph_verify(graph));
        EXPECT(graph->output_count > 0 && graph->count > 2, "%s", name);
    }
    takt_graph_destroy(graph);
    takt_text_deinit(&out);
    takt_diagnostics_deinit(&list);
}

/* "# name.takt" in the first line is the file name of the example. */
static void file_name(const char *text, size_t count, char *path, size_t size)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    char name[64];
    if (sscanf(text, "# %60[a-z].takt", name) != 1)
        snprintf(name, sizeof name, "example_%zu", count);
    snprintf(path, size, "%s/%s.takt", tmp != NULL ? tmp : "/tmp", name);
}

static void run(const char *path)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &model)) &&
        EXPECT_OK(ctx, takt_plan_create(model, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        for (size_t i = 0; i < takt_session_input_count(session); i++)
            EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, i), 1, (uint32_t)i));
        EXPECT(takt_session_run(session) == TAKT_OK, "%s: %s", path,
               takt_session_error(session)->message);
        EXPECT_IS(takt_session_output_count(session), >, 0);
    }
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
}

static void example(const char *text, size_t length, size_t count)
{
    char path[512];
    file_name(text, count, path, sizeof path);
    FILE *file = fopen(path, "wb");
    if (!EXPECT(file != NULL, "%s", path))
        return;
    EXPECT_EQ(fwrite(text, 1, length, file), length);
    fclose(file);
    const char *model = strstr(text, "model ");
    if (model != NULL && model < text + length)
        run(path);
}

static void language(void)
{
    size_t length, count = 0;
    char *doc = golden_file("docs/language.md", &length);
    for (const char *at = doc; at != NULL && (at = strstr(at, "```takt\n")) != NULL; count++) {
        const char *text = at + 8, *end = strstr(text, "\n```");
        if (!EXPECT(end != NULL, "a block is not closed"))
            break;
        example(text, (size_t)(end + 1 - text), count);
        at = end + 4;
    }
    EXPECT(count >= 9, "%zu examples", count);
    for (size_t i = 0; doc != NULL && takt_layer_name(i) != NULL; i++) {
        char call[80];
        snprintf(call, sizeof call, "`%s(", takt_layer_name(i));
        EXPECT(strstr(doc, call) != NULL, "%s is not described", takt_layer_name(i));
    }
    free(doc);
}

static void examples(void)
{
    size_t count = 0;
    DIR *folder = opendir("examples");
    if (!EXPECT(folder != NULL, "no examples"))
        return;
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        char path[512];
        const size_t n = strlen(e->d_name);
        size_t length;
        if (n < 5 || strcmp(e->d_name + n - 5, ".takt") != 0)
            continue;
        snprintf(path, sizeof path, "examples/%s", e->d_name);
        char *text = golden_file(path, &length);
        if (text != NULL) {
            build(path, text, length);
            run(path);
        }
        free(text);
        count++;
    }
    closedir(folder);
    EXPECT(count >= 5, "%zu examples", count);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    language();
    examples();
    takt_ctx_destroy(ctx);
    return test_done();
}
