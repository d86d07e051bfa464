/* guide.h - what the programs of this folder share: one function per code block of a guide.
 *
 *     guides_004              runs every block
 *     guides_004 caches       runs one, as docs/from-the-guides.md shows it
 *
 * A block prints what the guide's own block would print; what must hold is checked with EXPECT.
 * Only the public interface is used: a reader can copy any of it.
 */
#ifndef TAKT_TESTS_GUIDES_GUIDE_H
#define TAKT_TESTS_GUIDES_GUIDE_H

#include <string.h>
#include <takt/takt.h>

#include "test.h"

static takt_ctx *ctx;
static takt_model *model; /* examples/mlp.takt */

typedef struct guide_block {
    const char *name;
    void (*run)(void);
} guide_block;

/* A plan of the model and a session of it, whose input is filled. */
static inline takt_session *guide_session(const takt_plan_options *options)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (!EXPECT_OK(ctx, takt_plan_create(model, options, &plan)))
        return NULL;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &session)))
        EXPECT_OK(ctx, takt_view_random(ctx, takt_session_input(session, 0), 0, 0));
    takt_plan_destroy(plan); /* the session keeps it */
    return session;
}

static inline int guide_print(void *user, const char *text, size_t length)
{
    return fwrite(text, 1, length, user) != length;
}

/* A file for results in the test's folder, or here. */
static inline const char *guide_path(char *path, size_t size, const char *name)
{
    const char *folder = getenv("TAKT_TEST_TMP");
    snprintf(path, size, "%s/%s", folder != NULL ? folder : ".", name);
    return path;
}

static inline int guide_main(int argc, char **argv, const guide_block *blocks, size_t count)
{
    size_t ran = 0;
    const char *root = getenv("TAKT_ROOT"); /* where examples/ is, if not here */
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/mlp.takt", root != NULL ? root : ".");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)) ||
        !EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &model)))
        return test_done();
    for (size_t i = 0; i < count; i++)
        if (argc < 2 || strcmp(argv[1], blocks[i].name) == 0) {
            blocks[i].run();
            ran++;
        }
    EXPECT(ran > 0, "there is no block %s", argc > 1 ? argv[1] : "");
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return test_done();
}

#define GUIDE_MAIN(...)                                                                            \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const guide_block blocks[] = {__VA_ARGS__};                                         \
        return guide_main(argc, argv, blocks, sizeof blocks / sizeof *blocks);                     \
    }

#endif
