/* error_ids.c - every id of the error catalogue occurs in a test: here, or in one that names it.
 *
 * A row makes one failure. An id without a row must be expected, as TAKT_E_<NAME> or by its number,
 * by a test of its own area (error_runs.c for plans and runs); an id without any test cannot occur:
 * remove it, and never reuse it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <takt/takt.h>

#include "grad/grad.h"
#include "lang/parse.h"
#include "op/ops.h"
#include "test.h"

static takt_config config;
static takt_ctx *ctx;

static int last_id(void)
{
    return takt_last_error_info(ctx)->id;
}

static int with_config(const takt_config *other, int (*trigger)(void))
{
    takt_ctx *const old = ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(other, &ctx)))
        return 0;
    const int id = trigger();
    takt_ctx_destroy(ctx);
    ctx = old;
    return id;
}

/* ---- texts ---- */

static int read_text(const char *text)
{
    takt_graph *g = NULL;
    const takt_status status = takt_parse(ctx, "m.takt", text, strlen(text), NULL, &g);
    takt_graph_destroy(g);
    return status == TAKT_OK ? 0 : last_id();
}

#define TEXT(name, body)                                                                           \
    static int name(void)                                                                          \
    {                                                                                              \
        return read_text(body);                                                                    \
    }

TEXT(shape, "model m(x: f32[2, 3]) { return x @ x }")
TEXT(rank, "model m(x: f32[2]) { return op.conv(x, x) }")
TEXT(dtype, "model m(x: f32[2], y: i32[2]) { return x + y }")
TEXT(attr, "model m(x: f32[2]) { return op.softmax(x, axis=7) }")
TEXT(dim, "model m(x: f32[99999999999999999999]) { return x }")
TEXT(unknown_op, "model m(x: f32[2]) { return gleu(x) }")
TEXT(syntax, "model m(x: f32[2]) { return (x }")
TEXT(undefined, "model m(x: f32[2]) { return y }")
TEXT(call, "model m(x: f32[2]) { return dense(x) }")
TEXT(endless, "layer a(x) { return a(x) }\nmodel m(x: f32[2]) { return a(x) }")
TEXT(return_type, "model m(x: f32[2]) -> f32[3] { return x }")
TEXT(trip_count, "model m(x: f32[2]) { repeat 1000001 {}\n return x }")

static int too_many_errors(void)
{
    static char text[1 << 14] = "model m(x: f32[2]) {\n";
    for (int i = 0; i < 100; i++)
        strcat(text, "  y = x + nothing\n");
    strcat(text, "  return x\n}\n");
    takt_diagnostics list;
    takt_graph *g = NULL;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {.diagnostics = &list};
    EXPECT_EQ(takt_parse(ctx, "m.takt", text, strlen(text), &options, &g), TAKT_ERR_SYNTAX);
    const int id = list.is_full ? TAKT_E_TOO_MANY_ERRORS : last_id();
    takt_diagnostics_deinit(&list);
    return id;
}

/* ---- graphs ---- */

static const takt_type vector = {.dtype = TAKT_F32, .rank = 1, .dim = {4}};

static int built(void (*build)(takt_graph *g, takt_id x))
{
    takt_graph *g = NULL;
    EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g));
    build(g, takt_graph_input(g, "x", &vector));
    const takt_status status = g->status;
    takt_graph_destroy(g);
    return status == TAKT_OK ? 0 : last_id();
}

static void two_inputs_for_one(takt_graph *g, takt_id x)
{
    takt_graph_append(g, &takt_op_relu, 2, (const takt_id[]){x, x}, NULL);
}

static void input_from_nowhere(takt_graph *g, takt_id x)
{
    const takt_id beyond = x + 100;
    takt_graph_append(g, &takt_op_relu, 1, &beyond, NULL);
}

static void same_name_twice(takt_graph *g, takt_id x)
{
    (void)x;
    takt_graph_input(g, "x", &vector);
}

static void too_many_nodes(takt_graph *g, takt_id x)
{
    for (uint64_t i = 0; i < 20 && g->status == TAKT_OK; i++)
        x = takt_unary(g, &takt_op_exp, x);
}

#define BUILT(name, build)                                                                         \
    static int name(void)                                                                          \
    {                                                                                              \
        return built(build);                                                                       \
    }

BUILT(arity, two_inputs_for_one)
BUILT(verify, input_from_nowhere)
BUILT(duplicate, same_name_twice)
BUILT(fill_graph, too_many_nodes)

static int graph_full(void)
{
    takt_config other = config;
    other.limits.nodes = 10;
    return with_config(&other, fill_graph);
}

static int no_gradient(void)
{
    static const char text[] =
        "model m(x: f32[4]) { return y = op.bitcast(op.bitcast(x, dtype=i32), dtype=f32) }";
    takt_graph *g = NULL, *out = NULL;
    const char *const names[] = {"x"};
    EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, strlen(text), NULL, &g));
    const takt_status status = g == NULL ? TAKT_OK : takt_grad(ctx, g, "y", names, 1, &out);
    takt_graph_destroy(g);
    takt_graph_destroy(out);
    return status == TAKT_OK ? 0 : last_id();
}

/* ---- files ---- */

static int load(const char *path)
{
    takt_model *model = NULL;
    const takt_status status = takt_model_load(ctx, path, NULL, &model);
    takt_model_destroy(model);
    return status == TAKT_OK ? 0 : last_id();
}

static int file_open(void)
{
    return load("examples/there-is-no-such-file.takt");
}

static int fail_read(void *user, takt_file *file, uint64_t offset, void *to, size_t count,
                     size_t *done)
{
    (void)user, (void)file, (void)offset, (void)to, (void)count;
    *done = 0;
    return EIO;
}

static int load_mlp(void)
{
    return load("examples/mlp.takt");
}

static int file_read(void)
{
    takt_files files = ctx->files;
    files.read = fail_read;
    takt_config other = config;
    other.files = &files;
    return with_config(&other, load_mlp);
}

static int file_size(void)
{
    takt_config other = config;
    other.limits.file_bytes = 10;
    return with_config(&other, load_mlp);
}

static int file_write(void)
{
    float x = 1;
    const takt_tensor_view view = {.dtype = TAKT_F32, .rank = 1, .dims = {1}, .data = &x};
    const takt_status status = takt_npy_save(ctx, "/there/is/no/such/folder.npy", &view);
    return status == TAKT_OK ? 0 : last_id();
}

static int file_kind(void)
{
    takt_model *model;
    return takt_model_load_memory(ctx, "empty", "", 0, NULL, &model) == TAKT_OK ? 0 : last_id();
}

static takt_status ignore(void *user, const char *key, const char *value)
{
    (void)user, (void)key, (void)value;
    return TAKT_OK;
}

static int json(void)
{
    const takt_status status = takt_settings_read(ctx, "examples/mlp.takt", ignore, NULL);
    return status == TAKT_OK ? 0 : last_id();
}

static int npy(void)
{
    takt_tensor_view view = {0};
    return takt_npy_load(ctx, "examples/mlp.takt", &view) == TAKT_OK ? 0 : last_id();
}

/* ---- the rest ---- */

static int argument(void)
{
    takt_model *model;
    return takt_model_load(ctx, NULL, NULL, &model) == TAKT_OK ? 0 : last_id();
}

static int memory(void)
{
    takt_config other = config;
    other.limits.bytes = 20000;
    return with_config(&other, load_mlp);
}

static int overflow(void)
{
    static const char text[] = "model m(x: f32[2]) { param w: [4000000000, 4000000000, 4000000000] "
                               "= 0\n return x }";
    takt_model *model;
    const takt_status status = takt_model_load_memory(ctx, "m", text, strlen(text), NULL, &model);
    return status == TAKT_OK ? 0 : last_id();
}

/* A character that the locale of a test cannot write. */
static int internal(void)
{
    takt_text text;
    takt_text_init(&text, ctx);
    takt_text_add(&text, "%lc", (wint_t)0x3042);
    const takt_status status = text.status;
    takt_text_deinit(&text);
    return status == TAKT_OK ? 0 : last_id();
}

static const struct {
    int id;
    int (*trigger)(void);
} rows[] = {
    {TAKT_E_ARGUMENT, argument},
    {TAKT_E_SHAPE, shape},
    {TAKT_E_RANK, rank},
    {TAKT_E_DTYPE, dtype},
    {TAKT_E_ATTR, attr},
    {TAKT_E_ARITY, arity},
    {TAKT_E_DIM, dim},
    {TAKT_E_UNKNOWN_OP, unknown_op},
    {TAKT_E_VERIFY, verify},
    {TAKT_E_NO_GRADIENT, no_gradient},
    {TAKT_E_DUPLICATE, duplicate},
    {TAKT_E_GRAPH_FULL, graph_full},
    {TAKT_E_SYNTAX, syntax},
    {TAKT_E_UNDEFINED, undefined},
    {TAKT_E_CALL, call},
    {TAKT_E_NESTING, endless},
    {TAKT_E_RETURN_TYPE, return_type},
    {TAKT_E_TOO_MANY_ERRORS, too_many_errors},
    {TAKT_E_FILE_OPEN, file_open},
    {TAKT_E_FILE_READ, file_read},
    {TAKT_E_FILE_WRITE, file_write},
    {TAKT_E_FILE_SIZE, file_size},
    {TAKT_E_FILE_KIND, file_kind},
    {TAKT_E_JSON, json},
    {TAKT_E_NPY, npy},
    {TAKT_E_TRIP_COUNT, trip_count},
    {TAKT_E_MEMORY, memory},
    {TAKT_E_OVERFLOW, overflow},
    {TAKT_E_INTERNAL, internal},
};

enum { ROWS = sizeof rows / sizeof *rows };

static void rows_fail(void)
{
    for (size_t i = 0; i < ROWS; i++) {
        const int id = rows[i].trigger();
        EXPECT(id == rows[i].id, "%s (%d): got %d: %s", takt_error_name(rows[i].id), rows[i].id, id,
               takt_last_error(ctx));
    }
}

/* ---- the catalogue ---- */

static bool has_row(int id)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].id == id)
            return true;
    return false;
}

static bool is_word_end(char c)
{
    return !(c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
             (c >= 'a' && c <= 'z'));
}

static bool mentions(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if (is_word_end(at[length]) && (at == text || is_word_end(at[-1]) ||
                                        (at - text >= 4 && memcmp(at - 4, "TAKT", 4) == 0)))
            return true;
    return false;
}

static bool file_mentions(const char *path, const char *name, const char *number)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return mentions(text, name) || mentions(text, number);
}

/* In a file of tests/<folder>; this program's own table does not count. */
static bool folder_mentions(const char *folder, const char *name, const char *number)
{
    bool found = false;
    DIR *list = opendir(folder);
    for (const struct dirent *e; list != NULL && !found && (e = readdir(list)) != NULL;) {
        char path[512];
        const char *dot = strrchr(e->d_name, '.');
        if (dot == NULL || strcmp(e->d_name, "error_ids.c") == 0 ||
            (strcmp(dot, ".c") != 0 && strcmp(dot, ".py") != 0 && strcmp(dot, ".txt") != 0))
            continue;
        snprintf(path, sizeof path, "%.200s/%.255s", folder, e->d_name);
        found = file_mentions(path, name, number);
    }
    if (list != NULL)
        closedir(list);
    return found;
}

static bool is_expected_elsewhere(int id)
{
    static const char *const folders[] = {"tests/unit",  "tests/io",     "tests/tool",
                                          "tests/cli",   "tests/onnx",   "tests/model",
                                          "tests/bench", "tests/tflite", "tests/backend"};
    char name[64], number[16];
    snprintf(name, sizeof name, "TAKT_E_%s", takt_error_name(id));
    snprintf(number, sizeof number, "%d", id);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folder_mentions(folders[i], name, number))
            return true;
    return false;
}

static void catalogue(void)
{
    const int *ids;
    const int count = takt_error_ids(&ids);
    EXPECT_IS(count, >, 40);
    for (int i = 0; i < count; i++) {
        EXPECT(has_row(ids[i]) || is_expected_elsewhere(ids[i]), "no test expects %s (%d)",
               takt_error_name(ids[i]), ids[i]);
        for (int k = 0; k < i; k++)
            EXPECT(ids[k] != ids[i], "two errors are %d", ids[i]);
    }
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return 1;
    rows_fail();
    catalogue();
    takt_ctx_destroy(ctx);
    return test_done();
}
