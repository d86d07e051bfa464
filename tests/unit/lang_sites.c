/* lang_sites.c - every allocation of src/lang fails, over every documented construct: the examples
 * of docs/language.md and docs/logic.md, and the texts of lang.txt, lang_layers.txt and
 * lang_errors.txt. Prints how many of all sites that covers. */
#include <dirent.h>
#include <string.h>

#include "base/mem.h"
#include "lang/parse.h"
#include "op/ops.h"
#include "test.h"
#include "util/golden.h"
#include "util/inject.h"
#include "util/site_list.h"

enum { CONTEXTS = 2 }; /* of one site in one text */

typedef struct job {
    const char *text;
    size_t length;
    bool is_sample;
    takt_status want; /* of a run in which nothing fails */
    char *printed;    /* its graph */
} job;

static size_t runs, texts;
static takt_ctx *ctx;

/* ---- files that texts import ---- */

static takt_status file_text(void *user, const char *path, void **bytes, size_t *length)
{
    static const char good[] = "layer half(x) { return x * 0.5 }\n",
                      bad[] = "layer half(x) { retrn }\n";
    (void)user;
    const char *text = strstr(path, "bad") != NULL ? bad : good;
    *length = strlen(text);
    TAKT_TRY(takt_mem_get(ctx, *length, "file", bytes));
    memcpy(*bytes, text, *length);
    return TAKT_OK;
}

static takt_status file_tensor(void *user, const char *path, const char *name, takt_tensor *out)
{
    const takt_type type = {.dtype = TAKT_F32, .rank = 1, .dim = {3}};
    (void)user, (void)path, (void)name;
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    memset(takt_tensor_data(out), 0, 12);
    return TAKT_OK;
}

/* ---- requests of an architecture text ---- */

static takt_status given_setting(void *user, const char *key, takt_given_value *value)
{
    (void)user, (void)key;
    *value = (takt_given_value){.kind = TAKT_GIVEN_INTEGER, .integer = 3};
    return TAKT_OK;
}

static takt_id given_product(void *user, takt_graph *g, const char *name, takt_id x,
                             const int64_t *units, size_t count)
{
    (void)user;
    EXPECT(strcmp(name, "blk.1.q") == 0 && count == 1, "%s", name);
    return takt_slice(g, x, 1, 0, units[0], 1);
}

static const takt_parse_given given = {.setting = given_setting, .project = given_product};
static bool has_file; /* the text is read with the above after it */

/* ---- one run ---- */

/* If a text is read although a request failed, it is read correctly. */
static void expect_same(const takt_graph *graph, job *j)
{
    takt_text text;
    takt_text_init(&text, ctx);
    takt_graph_print(graph, NULL, &text);
    if (j->printed == NULL && text.status == TAKT_OK)
        j->printed = strcpy(malloc(text.length + 1), takt_text_get(&text));
    EXPECT(text.status == TAKT_OK && strcmp(takt_text_get(&text), j->printed) == 0,
           "%.*s\nwas read as\n%s", (int)j->length, j->text, takt_text_get(&text));
    takt_text_deinit(&text);
}

static takt_status read_text(takt_inject *inject, job *j)
{
    static const takt_parse_files files = {.text = file_text, .tensor = file_tensor};
    takt_config config = {0};
    takt_graph *graph = NULL;
    takt_inject_config(inject, &config);
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return TAKT_ERR_MEMORY;
    takt_diagnostics list;
    takt_diagnostics_init(&list, ctx);
    const takt_parse_options options = {
        .diagnostics = &list, .files = &files, .given = has_file ? &given : NULL};
    const takt_status status =
        j->is_sample ? takt_sample_graph(ctx, NULL, j->text, &graph, NULL)
                     : takt_parse(ctx, "m.takt", j->text, j->length, &options, &graph);
    EXPECT_EQ((status == TAKT_OK), (graph != NULL));
    EXPECT(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (graph != NULL)
        expect_same(graph, j);
    takt_text text;
    takt_text_init(&text, ctx);
    takt_diagnostics_render(&list, "m.takt", j->text, j->length, &text);
    takt_text_deinit(&text);
    takt_graph_destroy(graph);
    takt_diagnostics_deinit(&list);
    takt_ctx_destroy(ctx);
    return status;
}

/* One run in which call `k` fails, or none if it is 0. */
static takt_status once(job *j, uint64_t k, bool ever)
{
    takt_inject inject;
    takt_inject_init(&inject);
    takt_inject_plan(&inject, TAKT_INJECT_OFF, TAKT_INJECT_MEMORY | TAKT_INJECT_GUARDED, 0);
    inject.fails = takt_sites_strike;
    takt_sites_plan(k, ever);
    const takt_status status = read_text(&inject, j);
    takt_inject_check(&inject);
    const bool was_hit = inject.hits > 0;
    const uint64_t leaked = takt_inject_deinit(&inject);
    EXPECT(leaked == 0 && inject.faults == 0, "call %llu: %llu blocks leaked; %s\n%.*s",
           (unsigned long long)k, (unsigned long long)leaked, inject.fault, (int)j->length,
           j->text);
    EXPECT(k == 0 || status == j->want || (was_hit && status == TAKT_ERR_MEMORY),
           "call %llu: %s, without a failure %s\n%.*s", (unsigned long long)k,
           takt_status_name(status), takt_status_name(j->want), (int)j->length, j->text);
    runs++;
    return status;
}

/* Fails each site of this text in its first CONTEXTS calls and its last: alone, and with all later
 * ones. */
static void sweep_kind(const char *text, size_t length, bool is_sample)
{
    static const takt_site *order[1 << 16];
    job j = {.text = text, .length = length, .is_sample = is_sample};
    j.want = once(&j, 0, false);
    const uint64_t calls = takt_sites_calls(), most = sizeof order / sizeof *order;
    for (uint64_t k = 1; k <= calls && k <= most; k++)
        order[k - 1] = takt_sites_at(k);
    for (uint64_t k = 1; k <= calls && k <= most; k++) {
        size_t before = 0, after = 0;
        for (uint64_t i = 1; i < k && before < CONTEXTS; i++)
            before += order[i - 1] == order[k - 1];
        for (uint64_t i = k + 1; before == CONTEXTS && i <= calls && i <= most && after == 0; i++)
            after += order[i - 1] == order[k - 1];
        if (before == CONTEXTS && after > 0)
            continue;
        (void)once(&j, k, false);
        (void)once(&j, k, true);
    }
    texts++;
    free(j.printed);
}

static void sweep(const char *text, size_t length)
{
    sweep_kind(text, length, false);
}

/* The texts between "=== title" and "---". */
static void golden(const char *path)
{
    size_t length;
    char *all = golden_file(path, &length);
    for (const char *at = all; at != NULL && (at = strstr(at, "=== ")) != NULL;) {
        const char *text = strchr(at, '\n') + 1, *end = strstr(text, "\n---\n");
        if (!EXPECT(end != NULL, "%s", path))
            break;
        sweep(text, (size_t)(end + 1 - text));
        at = end;
    }
    free(all);
}

static void examples_of(const char *path)
{
    size_t length;
    char *doc = golden_file(path, &length);
    for (const char *at = doc; at != NULL && (at = strstr(at, "```takt\n")) != NULL;) {
        const char *text = at + 8, *end = strstr(text, "\n```");
        if (!EXPECT(end != NULL, "a block is not closed"))
            break;
        sweep(text, (size_t)(end + 1 - text));
        at = end + 4;
    }
    free(doc);
}

static void constructs(void)
{
    static const char *const more[] = {
        "model e(x: f32[n, 5], k: bool[]) {\n  return x + 1 if k else x * 2\n}\n",
        "model l(x: f32[4, 5]) {\n  y = x[0] * 0\n  for r in x {\n    y = y + r\n"
        "    collect z = y\n  }\n  return z\n}\n",
        "import \"good.takt\"\nmodel m(x: f32[3]) backend=ref {\n"
        "  param w: f32[3] = tensor(\"a.npy\")\n"
        "  return half(x) * w + constant(\"a.safetensors\", tensor=\"v\")\n}\n",
        "import \"bad.takt\"\nmodel m(x: f32[3]) { return half(x) }\n",
    };
    static const takt_site_excuse excuses[] = {
        {"src/lang/attr.c", 3, "no operation has a list of floats or strings"},
        {"src/lang/rule_outputs.c", 1, "no documented relation has two rules with joins"},
        {NULL, 0, NULL}};
    static const char product[] =
        "model m(x: f32[2, 4]) { return project(x, setting(\"n\"), \"blk.\", 1, \".q\") }";
    static const char sample[] = "add(mul(f32[2, n] in (0, 1), f32[]), 3)";
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        sweep(more[i], strlen(more[i]));
    sweep_kind(sample, strlen(sample), true);
    has_file = true;
    sweep(product, strlen(product));
    has_file = false;
    examples_of("docs/language.md");
    examples_of("docs/logic.md");
    golden("tests/unit/lang.txt");
    golden("tests/unit/lang_layers.txt");
    golden("tests/unit/lang_errors.txt");
    const size_t missed = takt_sites_report("src/lang", excuses);
    printf("%zu texts, %zu runs with a failure\n", texts, runs - texts);
    EXPECT(missed == 0 && texts > 50, "%zu sites never failed", missed);
}

TEST_MAIN(constructs)
