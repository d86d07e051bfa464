/* example_short.c - examples/c/run_model.c on models whose inputs do not fit into memory: it
 * reports that and exits. And every function of takt/array.h without a view, a path, or other
 * required arguments. */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define main example_main
#include "../../examples/c/run_model.c"
#undef main

#include "test.h"

/* The exit code of the example with 1 GiB of memory; -1 if it did not end by itself. */
static int run_example(const char *text)
{
    char path[512];
    const char *tmp = getenv("TAKT_TEST_TMP");
    snprintf(path, sizeof path, "%s/short.takt", tmp != NULL ? tmp : "/tmp");
    FILE *file = fopen(path, "wb");
    if (!EXPECT(file != NULL, "%s", path))
        return -1;
    fputs(text, file);
    fclose(file);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit most = {(rlim_t)1 << 30, (rlim_t)1 << 30};
        setrlimit(RLIMIT_AS, &most);
        char name[] = "run_model";
        char *args[] = {name, path, NULL};
        if (freopen("/dev/null", "w", stderr) == NULL || freopen("/dev/null", "w", stdout) == NULL)
            _exit(99);
        _exit(example_main(2, args));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void example(void)
{
    if (TEST_SANITIZED) /* they need address space of their own */
        return;
    EXPECT_EQ(run_example("model m(x: f32[4, 8]) { return relu(x) }\n"), 0);
    EXPECT_EQ(run_example("model m(x: f32[4294967296]) { return y = x[0] }\n"), 1);
    EXPECT_EQ(run_example("model m(a: f32[2], x: u8[2000000000]) { return a, x[0] }\n"), 1);
    EXPECT_EQ(run_example("model m(x: f32[2]) { return not x }\n"), 1);
}

static int sink(void *user, const char *text, size_t length)
{
    (void)user, (void)text, (void)length;
    return 0;
}

static void views(takt_ctx *ctx)
{
    float two[2] = {1, 2};
    char text[TAKT_DIGEST_TEXT];
    takt_tensor_view good = {.dtype = TAKT_F32, .rank = 1, .dims = {2}, .data = two}, out;
    const char *name = "x";
    takt_npy *npy = NULL;
    takt_digest *digest = NULL;
    EXPECT_STATUS(NULL, takt_view_random(ctx, NULL, 0, 0), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_random(NULL, &good, 0, 0), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_digest(ctx, NULL, 1, text), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_digest(ctx, &good, 1, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_print(ctx, NULL, TAKT_FORMAT_TEXT, sink, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_print(ctx, &good, TAKT_FORMAT_TEXT, NULL, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_alloc(ctx, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_alloc(NULL, &out), TAKT_ERR_ARGUMENT);
    takt_view_free(ctx, NULL);
    takt_view_free(NULL, &out);
    EXPECT_IS(takt_view_element(NULL, 0), !=, takt_view_element(NULL, 0)); /* NaN */
    EXPECT_STATUS(NULL, takt_view_load(ctx, NULL, NULL, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_load(ctx, "x", NULL, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_view_load_ordered(NULL, "x", NULL, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_load(ctx, "x", NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_load(ctx, NULL, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_load_memory(ctx, NULL, two, 8, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npz_load(ctx, NULL, NULL, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npz_load(ctx, "x", NULL, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_save(ctx, "x", NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_save(ctx, NULL, &good), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_write(ctx, NULL, sink, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_write(ctx, &good, NULL, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npz_save(ctx, "x", NULL, &good, 1), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npz_save(ctx, "x", &name, NULL, 1), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_open(ctx, NULL, &npy, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_open(ctx, "x", NULL, &out), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_open(ctx, "x", &npy, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_create(ctx, "x", NULL, &npy), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_read_rows(NULL, 0, 1, two), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_write_rows(NULL, two, 1), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_npy_commit(NULL), TAKT_ERR_ARGUMENT);
    takt_npy_close(NULL);
    EXPECT_STATUS(NULL, takt_digest_create(ctx, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(NULL, takt_digest_add(NULL, &good), TAKT_ERR_ARGUMENT);
    if (EXPECT_OK(ctx, takt_digest_create(ctx, &digest)))
        EXPECT_STATUS(NULL, takt_digest_add(digest, NULL), TAKT_ERR_ARGUMENT);
    takt_digest_end(digest, text);
    takt_digest_end(NULL, text);
}

static void arrays(void)
{
    takt_ctx *ctx = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    views(ctx);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(example, arrays)
