/* lang_docs.c - every example of docs/language.md and of examples/ is a model that can be built. */
#include "lang/parse.h"

#include <dirent.h>
#include <string.h>

#include "test.h"

static takt_ctx *ctx;

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    *length = 0;
    if (!EXPECT(file != NULL, "%s", path))
        return NULL;
    char *text = calloc(1, 1 << 20);
    *length = fread(text, 1, (1 << 20) - 1, file);
    EXPECT(*length > 0, "%s", path);
    fclose(file);
    return text;
}

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

static void language(void)
{
    size_t length, count = 0;
    char *doc = read_file("docs/language.md", &length);
    for (const char *at = doc; at != NULL && (at = strstr(at, "```takt\n")) != NULL; count++) {
        const char *text = at + 8, *end = strstr(text, "\n```");
        if (!EXPECT(end != NULL, "a block is not closed"))
            break;
        build("docs/language.md", text, (size_t)(end + 1 - text));
        at = end + 4;
    }
    EXPECT(count >= 6, "%zu examples", count);
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
        char *text = read_file(path, &length);
        if (text != NULL)
            build(path, text, length);
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
