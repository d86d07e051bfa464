/* lang_errors.c - typical mistakes and their exact messages.
 *
 * tests/unit/lang_errors.txt has the cases: a line "=== title", a text, a line "---", and the
 * complaints as they are printed. With --bless the complaints are rewritten.
 */
#include "lang/parse.h"

#include <string.h>

#include "test.h"
#include "util/golden.h"

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

int main(int argc, char **argv)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    const size_t count =
        golden_cases(ctx, GOLDEN, "says", argc > 1 && strcmp(argv[1], "--bless") == 0, complaints);
    EXPECT(count >= 25, "%zu cases", count);
    takt_ctx_destroy(ctx);
    return test_done();
}
