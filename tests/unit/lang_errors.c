/* lang_errors.c - typical mistakes and exactly what is said about them.
 *
 * tests/unit/lang_errors.txt has the cases: a line "=== title", a text, a line "---", and the
 * complaints as they are printed. With --bless the complaints are written anew.
 */
#include "lang/parse.h"

#include <string.h>

#include "test.h"

#define GOLDEN "tests/unit/lang_errors.txt"

static takt_ctx *ctx;

static void complaints(const char *text, size_t length, takt_text *out)
{
    takt_diagnostics list;
    takt_graph *graph = NULL;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {.diagnostics = &list};
    const takt_status status = takt_parse(ctx, "m.takt", text, length, &options, &graph);
    takt_diagnostics_render(&list, "m.takt", text, length, out);
    if (list.count == 0 || list.error_count == 0)
        takt_text_add(out, "%s: %s\n", takt_status_name(status),
                      status != TAKT_OK ? takt_last_error(ctx) : "");
    EXPECT((status == TAKT_OK) == (graph != NULL) && (list.error_count == 0 || status != TAKT_OK));
    takt_graph_destroy(graph);
    takt_diagnostics_deinit(&list);
}

/* The file's text; the caller frees it. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!EXPECT(file != NULL, "%s", path))
        return NULL;
    char *text = calloc(1, 1 << 20);
    EXPECT(fread(text, 1, (1 << 20) - 1, file) > 0, "%s", path);
    fclose(file);
    return text;
}

/* One case at `at`; what it says now is added to `fresh`. Returns the next one. */
static const char *one_case(const char *at, takt_text *fresh)
{
    const char *text = strchr(at, '\n') + 1;
    const char *middle = strstr(text, "---\n"), *end = strstr(text, "\n=== ");
    end = end != NULL ? end + 1 : text + strlen(text);
    if (!EXPECT(middle != NULL && middle < end, "no --- after %.40s", at))
        return end;
    const char *want = middle + 4;
    takt_text got;
    takt_text_init(&got, ctx);
    complaints(text, (size_t)(middle - text), &got);
    EXPECT(got.length == (size_t)(end - want) && memcmp(takt_text_get(&got), want, got.length) == 0,
           "%.*s\nsays\n%s\ninstead of\n%.*s", (int)(text - at - 1), at, takt_text_get(&got),
           (int)(end - want), want);
    takt_text_put(fresh, at, (size_t)(want - at));
    takt_text_put(fresh, takt_text_get(&got), got.length);
    takt_text_deinit(&got);
    return end;
}

static size_t all_cases(bool bless)
{
    char *golden = read_file(GOLDEN);
    size_t count = 0;
    takt_text fresh;
    takt_text_init(&fresh, ctx);
    for (const char *at = golden; at != NULL && *at != '\0'; count++)
        at = one_case(at, &fresh);
    FILE *file = bless ? fopen(GOLDEN, "wb") : NULL;
    if (file != NULL) {
        fwrite(takt_text_get(&fresh), 1, fresh.length, file);
        fclose(file);
    }
    takt_text_deinit(&fresh);
    free(golden);
    return count;
}

int main(int argc, char **argv)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    const size_t count = all_cases(argc > 1 && strcmp(argv[1], "--bless") == 0);
    EXPECT(count >= 25, "%zu cases", count);
    takt_ctx_destroy(ctx);
    return test_done();
}
