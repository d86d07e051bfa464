/* lang_import.c - texts that import others: visible layers, refused paths, cycles, limits, and
 * tables from files. The files are a list in memory. */
#include "lang/parse.h"

#include <string.h>

#include "base/mem.h"
#include "test.h"

typedef struct entry {
    const char *path, *text;
} entry;

static takt_ctx *ctx;
static const entry *entries;
static size_t reads;

static takt_status text(void *user, const char *path, void **bytes, size_t *length)
{
    (void)user;
    reads++;
    for (const entry *e = entries; e->path != NULL; e++) {
        if (strcmp(e->path, path) != 0)
            continue;
        *length = strlen(e->text);
        TAKT_TRY(takt_mem_get(ctx, *length, "file", bytes));
        memcpy(*bytes, e->text, *length);
        return TAKT_OK;
    }
    return takt_fail(ctx, TAKT_E_FILE_OPEN, "cannot open %s: no such file", path);
}

/* Any table is [1, 2, 3] as f32; the name "bad" is in none. */
static takt_status tensor(void *user, const char *path, const char *name, takt_tensor *out)
{
    const takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {3}};
    (void)user;
    if (name != NULL && strcmp(name, "bad") == 0)
        return takt_fail(ctx, TAKT_E_IMPORT, "%s holds no tensor called %s", path, name);
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    memcpy(takt_tensor_data(out), (float[]){1, 2, 3}, 12);
    return TAKT_OK;
}

static const takt_parse_files files = {.text = text, .tensor = tensor};

/* The printed form of the main text (the first entry), or its errors. */
static void read_main(takt_text *out)
{
    takt_diagnostics list;
    takt_graph *graph = NULL;
    const char *main_text = entries[0].text;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {.files = &files, .diagnostics = &list};
    reads = 0;
    takt_text_init(out, ctx);
    if (takt_parse(ctx, entries[0].path, main_text, strlen(main_text), &options, &graph) == TAKT_OK)
        takt_graph_print(graph, NULL, out);
    takt_diagnostics_render(&list, entries[0].path, main_text, strlen(main_text), out);
    takt_graph_destroy(graph);
    takt_diagnostics_deinit(&list);
}

static void expect(const entry *list, const char *want)
{
    takt_text got;
    entries = list;
    read_main(&got);
    EXPECT(strcmp(takt_text_get(&got), want) == 0, "%s\ninstead of\n%s", takt_text_get(&got), want);
    takt_text_deinit(&got);
}

#define MODEL "model m(x: f32[3]) { return twice(x) }\n"

static void layers_come(void)
{
    static const entry list[] = {
        {"m.takt", "import \"lib/a.takt\"\nimport \"lib/b.takt\"\n" MODEL},
        {"lib/a.takt", "import \"b.takt\"\nlayer twice(x) { return add2(x, x) }\n"
                       "model demo(x: f32[]) { return x }\n"},
        {"lib/b.takt", "layer add2(x, y) { return x + y + constant(\"t.npy\") }\n"},
        {NULL, NULL}};
    expect(list, "model m(x: f32[3]) -> (out: f32[3]) {\n"
                 "  v1 = add(x, x)\n"
                 "  v2 = constant(f32[3], [1, 2, 3])\n"
                 "  v3 = add(v1, v2)\n"
                 "  return out = v3\n"
                 "}\n");
    EXPECT(reads == 2, "each once, not %zu times", reads);
}

static void mistakes_in_them(void)
{
    static const entry list[] = {
        {"m.takt", "import \"a.takt\"\n" MODEL},
        {"a.takt", "layer twice(x) {\n  return x + yy\n}\nlayer twice(x) { return x }\n"},
        {NULL, NULL}};
    expect(list, "a.takt:4:7: error 2110: a layer of that name exists already\n"
                 "    4 | layer twice(x) { return x }\n"
                 "      |       ^~~~~\n");
    static const entry later[] = {{"m.takt", "import \"a.takt\"\n" MODEL},
                                  {"a.takt", "layer twice(x) {\n  return x + yy\n}\n"},
                                  {NULL, NULL}};
    expect(later, "a.takt:2:14: error 2202: there is no value called yy here\n"
                  "    2 |   return x + yy\n"
                  "      |              ^~\n"
                  "  note: in layer twice, called at line 2\n");
    EXPECT(strstr(takt_last_error(ctx), "a.takt:2:14:") == takt_last_error(ctx), "%s",
           takt_last_error(ctx));
    static const entry syntax[] = {{"m.takt", "import \"a.takt\"\n" MODEL},
                                   {"a.takt", "layer twice(x) {\n  return x +\n}\n"},
                                   {NULL, NULL}};
    expect(syntax, "a.takt:2:13: error 2201: expected an expression, found the end of the line\n"
                   "    2 |   return x +\n"
                   "      |             ^\n");
    static const entry missing[] = {{"m.takt", "import \"a.takt\"\n" MODEL}, {NULL, NULL}};
    expect(missing, "m.takt:1:8: error 3001: cannot open a.takt: no such file\n"
                    "    1 | import \"a.takt\"\n"
                    "      |        ^~~~~~~~\n");
}

static void circles(void)
{
    static const entry itself[] = {{"m.takt", "import \"m.takt\"\n" MODEL}, {NULL, NULL}};
    expect(itself, "m.takt:1:8: error 2207: m.takt imports m.takt\n"
                   "    1 | import \"m.takt\"\n"
                   "      |        ^~~~~~~~\n");
    static const entry three[] = {
        {"m.takt", "import \"a.takt\"\nimport \"b.takt\"\n" MODEL},
        {"a.takt", "import \"b.takt\"\nlayer twice(x) { return x + x }\n"},
        {"b.takt", "import \"c/c.takt\"\n"},
        {"c/c.takt", "import \"b.takt\"\n"}, /* another b.takt: not a cycle */
        {"c/b.takt", "import \"c.takt\"\n"},
        {NULL, NULL}};
    expect(three, "c/b.takt:1:8: error 2207: c/c.takt imports c/b.takt imports c/c.takt\n"
                  "    1 | import \"c.takt\"\n"
                  "      |        ^~~~~~~~\n");
}

static void tables(void)
{
    static const entry list[] = {{"m.takt", "model m(x: f32[3]) {\n"
                                            "  param w: f32[3] = tensor(\"w.npy\")\n"
                                            "  param v: f32[4] = tensor(\"w.npy\")\n"
                                            "  a = constant(f32[2], \"t.npy\")\n"
                                            "  b = constant(\"t.safetensors\", tensor=\"bad\")\n"
                                            "  c = constant(\"../t.npy\")\n"
                                            "  return x * w\n"
                                            "}\n"},
                                 {NULL, NULL}};
    expect(list,
           "m.takt:3:28: error 2101: w.npy holds f32[3], not f32[4]\n"
           "    3 |   param v: f32[4] = tensor(\"w.npy\")\n"
           "      |                            ^~~~~~~\n"
           "m.takt:4:24: error 2101: t.npy holds f32[3], not f32[2]\n"
           "    4 |   a = constant(f32[2], \"t.npy\")\n"
           "      |                        ^~~~~~~\n"
           "m.takt:5:16: error 2207: t.safetensors holds no tensor called bad\n"
           "    5 |   b = constant(\"t.safetensors\", tensor=\"bad\")\n"
           "      |                ^~~~~~~~~~~~~~~\n"
           "m.takt:6:16: error 2207: a path leads downwards from the text's folder: no '/' at "
           "its ends, no '.' or '..' in it\n"
           "    6 |   c = constant(\"../t.npy\")\n"
           "      |                ^~~~~~~~~~\n");
}

/* A chain of `count` texts, each importing the next; the last has the layer. */
static takt_status chain(size_t count)
{
    static char paths[300][16], texts[300][80];
    static entry list[302];
    if (!EXPECT_IS(count, <=, 300))
        return TAKT_OK;
    list[0] = (entry){"m.takt", "import \"f0.takt\"\n" MODEL};
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], sizeof paths[i], "f%zu.takt", i);
        if (i + 1 < count)
            snprintf(texts[i], sizeof texts[i], "import \"f%zu.takt\"\n", i + 1);
        else
            snprintf(texts[i], sizeof texts[i], "layer twice(x) { return x + x }\n");
        list[i + 1] = (entry){paths[i], texts[i]};
    }
    list[count + 1] = (entry){NULL, NULL};
    entries = list;
    takt_graph *graph = NULL;
    const takt_parse_options options = {.files = &files};
    const takt_status status =
        takt_parse(ctx, "m.takt", list[0].text, strlen(list[0].text), &options, &graph);
    takt_graph_destroy(graph);
    return status;
}

/* `count` texts imported by the main one, side by side. */
static takt_status row(size_t count)
{
    static char paths[300][16], main_text[8192];
    static entry list[302];
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        snprintf(paths[i], sizeof paths[i], "f%zu.takt", i);
        list[i + 1] = (entry){paths[i], "# nothing\n"};
        at += (size_t)snprintf(main_text + at, sizeof main_text - at, "import \"f%zu.takt\"\n", i);
    }
    snprintf(main_text + at, sizeof main_text - at, "layer twice(x) { return x + x }\n" MODEL);
    list[0] = (entry){"m.takt", main_text};
    list[count + 1] = (entry){NULL, NULL};
    entries = list;
    takt_graph *graph = NULL;
    const takt_parse_options options = {.files = &files};
    const takt_status status =
        takt_parse(ctx, "m.takt", main_text, strlen(main_text), &options, &graph);
    takt_graph_destroy(graph);
    return status;
}

static void limits(void)
{
    EXPECT_OK(ctx, chain(32));
    EXPECT_STATUS(ctx, chain(33), TAKT_ERR_LIMIT);
    EXPECT(strstr(takt_last_error(ctx), "f31.takt:1:8: imports follow one another more than 32") !=
               NULL,
           "%s", takt_last_error(ctx));
    EXPECT_OK(ctx, row(255));
    EXPECT_STATUS(ctx, row(256), TAKT_ERR_NOT_FOUND);
    EXPECT(strstr(takt_last_error(ctx), "m.takt:256:8: a model consists of at most 256 files") !=
               NULL,
           "%s", takt_last_error(ctx));
    reads = 0; /* beyond the limit of errors, nothing more is evaluated */
    EXPECT_STATUS(ctx, row(300), TAKT_ERR_NOT_FOUND);
    EXPECT(reads == 255, "%zu files were read", reads);
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    layers_come();
    mistakes_in_them();
    circles();
    tables();
    limits();
    EXPECT(ctx->live_bytes == 0, "%zu bytes are left", (size_t)ctx->live_bytes);
    takt_ctx_destroy(ctx);
    return test_done();
}
