/* pipeline.c - five hundred random graphs through every pass: valid, unchanged in meaning, readable
 * again, and every node keeps its origin. */
#include "op/ops.h"
#include "pass/meaning.h"
#include "pass/passes.h"
#include "util/graphgen.h"

enum { GRAPHS = 500 };

static takt_ctx *ctx;

/* One walk of the pipeline. */
typedef struct walk {
    uint64_t seed;
    const takt_graph *source;
    const meaning *in;
    meaning *last, *now; /* results before and after the pass */
    size_t passes;
} walk;

/* Node i of the source comes from "n<i>", line i + 1. */
static void set_origins(takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        takt_origin *o = takt_arena_array(&g->arena, 1, sizeof *o);
        if (o == NULL)
            return;
        o->name = takt_arena_format(&g->arena, "n%zu", i);
        o->line = (int)i + 1;
        g->nodes[i].origin = o;
    }
}

static void check_origins(const walk *w, const char *what, const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (!EXPECT(n->origin != NULL, "%s: node %zu (%s) comes from nowhere", what, i,
                    n->op->name))
            return;
        size_t count = 0;
        for (const takt_origin *o = n->origin; o != NULL; o = o->next, count++) {
            char name[24];
            snprintf(name, sizeof name, "n%d", o->line - 1);
            EXPECT(o->line > 0 && (size_t)o->line <= w->source->count && strcmp(name, o->name) == 0,
                   "%s: node %zu (%s) comes from %s:%d, which is not in the source", what, i,
                   n->op->name, o->name, o->line);
        }
        EXPECT(count <= TAKT_MAX_ORIGINS, "%s: %zu origins", what, count);
    }
}

static takt_status after_pass(void *user, const takt_pass *pass, const takt_graph *g)
{
    walk *w = user;
    char what[64];
    snprintf(what, sizeof what, "seed %llu, %s", (unsigned long long)w->seed, pass->name);
    EXPECT(takt_graph_verify(g) == TAKT_OK, "%s: %s", what, takt_last_error(ctx));
    check_origins(w, what, g);
    if (EXPECT(meaning_run(g, w->in, w->now) == TAKT_OK, "%s: %s", what, takt_last_error(ctx)))
        meaning_same(w->last, w->now, pass->licence != NULL ? 1e-4 : 0, what);
    meaning *old = w->last;
    meaning_deinit(old);
    w->last = w->now;
    w->now = old;
    w->passes++;
    return TAKT_OK;
}

static void one_graph(uint64_t seed)
{
    static takt_gen gen;
    static meaning in, a, b;
    takt_graph *out = NULL;
    if (!EXPECT(takt_gen_graph(ctx, seed, NULL, &gen) == TAKT_OK, "seed %llu: %s",
                (unsigned long long)seed, takt_last_error(ctx)))
        return;
    set_origins(gen.graph);
    walk w = {.seed = seed, .source = gen.graph, .in = &in, .last = &a, .now = &b};
    EXPECT_OK(ctx, meaning_draw(ctx, gen.graph, seed, gen.ranges, false, &in));
    EXPECT_OK(ctx, meaning_run(gen.graph, &in, &a));
    const takt_pipeline_options options = {.watch = after_pass, .watch_user = &w};
    EXPECT_OK(ctx, takt_pipeline_run(ctx, gen.graph, &options, &out));
    EXPECT_EQ(w.passes, takt_pipeline_count() - 2); /* the plan applies the last ones */
    if (out != NULL)
        meaning_reads_back(out, "after all passes");
    takt_graph_destroy(out);
    meaning_deinit(&a);
    meaning_deinit(&b);
    meaning_deinit(&in);
    takt_gen_deinit(&gen);
}

static void random_graphs(void)
{
    for (uint64_t seed = 0; seed < GRAPHS && test_failures < 20; seed++)
        one_graph(seed);
}

/* A float becomes an integer: then the smallest difference becomes a whole one. */
static bool jumps(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (n->op == &takt_op_cast && !takt_dtype_is_float(n->type->dtype) &&
            takt_dtype_is_float(takt_type_of(g, n->in[0])->dtype))
            return true;
    }
    return false;
}

/* Lowering everything is a rewrite like the others. */
static void lowered(void)
{
    size_t compared = 0;
    static takt_gen gen;
    static meaning in, a, b;
    for (uint64_t seed = 1000; seed < 1200; seed++) {
        takt_graph *out = NULL;
        char what[64];
        snprintf(what, sizeof what, "seed %llu, lowered", (unsigned long long)seed);
        /* f64: the lowering of a composite rounds where its own evaluation does not. */
        const takt_gen_options options = {
            .calls = 4, .avoid = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_F16) | TAKT_IN(TAKT_BF16)};
        EXPECT_OK(ctx, takt_gen_graph(ctx, seed, &options, &gen));
        set_origins(gen.graph);
        EXPECT_OK(ctx, meaning_draw(ctx, gen.graph, seed, gen.ranges, false, &in));
        EXPECT_OK(ctx, meaning_run(gen.graph, &in, &a));
        if (EXPECT_OK(ctx, takt_graph_lower(gen.graph, NULL, NULL, &out))) {
            const walk w = {.source = gen.graph};
            EXPECT_OK(ctx, takt_graph_verify(out));
            check_origins(&w, what, out);
            for (size_t i = 0; i < out->count; i++)
                EXPECT(out->nodes[i].op->lower == NULL, "%s: a %s is left", what,
                       out->nodes[i].op->name);
            EXPECT_OK(ctx, meaning_run(out, &in, &b));
            if (!jumps(gen.graph))
                meaning_same(&a, &b, 1e-9, what);
            compared += !jumps(gen.graph);
        }
        takt_graph_destroy(out);
        meaning_deinit(&a);
        meaning_deinit(&b);
        meaning_deinit(&in);
        takt_gen_deinit(&gen);
    }
    EXPECT(compared >= 50, "%zu graphs of 200 were compared", compared);
}

/* ---- choosing passes ---- */

static const char text[] =
    "model m(x: f64[4], i: i32[4]) {\n"
    "  a = relu(neg(neg(x)) * 1)\n"
    "  b = relu(x)\n"
    "  t = transpose(reshape(a, shape=[2, 2]), perm=[0, 1])\n"
    "  return p = a ** 2 + b ** 2, q = t, r = i + (constant(i32[], [2]) * 3)\n"
    "}\n";

static size_t nodes_after(const char *words, size_t *fired)
{
    takt_graph *g = NULL, *out = NULL;
    takt_pipeline_options options = {0};
    takt_pass_report report;
    takt_pass_report_init(&report, ctx);
    options.report = &report;
    EXPECT_OK(ctx, takt_parse(ctx, "m.takt", text, strlen(text), NULL, &g));
    EXPECT_OK(ctx, takt_pass_choose(ctx, words, &options.choice));
    EXPECT_OK(ctx, takt_pipeline_run(ctx, g, &options, &out));
    const size_t count = out != NULL ? out->count : 0;
    if (fired != NULL)
        *fired = report.fired;
    takt_graph_destroy(g);
    takt_graph_destroy(out);
    takt_pass_report_deinit(&report);
    return count;
}

/* Every pass can be switched off by name, and then none of its rules fires. */
static void switched_off(void)
{
    size_t fired;
    for (size_t i = 0; i < takt_pipeline_count(); i++) {
        takt_pass_choice choice = {0};
        char words[64];
        snprintf(words, sizeof words, "-%s", takt_pipeline_pass(i)->name);
        EXPECT_OK(ctx, takt_pass_choose(ctx, words, &choice));
        EXPECT(choice.off == UINT64_C(1) << i, "%s: %llx", words, (unsigned long long)choice.off);
        snprintf(words, sizeof words, "-all,+%s", takt_pipeline_pass(i)->name);
        EXPECT_OK(ctx, takt_pass_choose(ctx, words, &choice));
        EXPECT(choice.off == ~(UINT64_C(1) << i), "%s: %llx", words,
               (unsigned long long)choice.off);
        EXPECT_IS(takt_pipeline_reason(i)[0], !=, '\0');
        EXPECT_IS(takt_pipeline_pass(i)->summary[0], !=, '\0');
    }
    const size_t all = nodes_after(NULL, &fired);
    EXPECT(fired >= 5, "%zu", fired);
    const size_t none = nodes_after("-all", &fired);
    EXPECT(none > all && fired == 0, "%zu nodes became %zu", none, all);
    EXPECT_IS(nodes_after("-fold-moves", NULL), >, all);
    EXPECT_IS(nodes_after("-canonicalize", NULL), >, all);
    EXPECT_IS(nodes_after("-fold-shapes", NULL), >, all);
}

/* Values that become equal in a pass stay separate without cse; reading a text merges equal
 * ones. */
static void without_cse(void)
{
    EXPECT_IS(nodes_after("-cse", NULL), >, nodes_after(NULL, NULL));
}

static void unknown_pass(void)
{
    takt_pass_choice choice = {0};
    EXPECT_STATUS(ctx, takt_pass_choose(ctx, "-fold-move", &choice), TAKT_ERR_NOT_FOUND);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_NAME);
    EXPECT(strstr(takt_last_error_info(ctx)->hint, "fold-moves") != NULL, "%s",
           takt_last_error_info(ctx)->hint);
    EXPECT_STATUS(ctx, takt_pass_choose(ctx, "+cse,nonsense-of-some-length", &choice),
                  TAKT_ERR_NOT_FOUND);
    EXPECT_OK(ctx, takt_pass_choose(ctx, "", &choice));
    EXPECT_OK(ctx, takt_pass_choose(ctx, ",,", &choice));
}

static bool document_has(const char *path, const char *words)
{
    static char document[1 << 16];
    FILE *file = fopen(path, "rb");
    if (!EXPECT(file != NULL, "%s", path))
        return false;
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
    return strstr(document, words) != NULL;
}

/* Every licence is a heading of docs/numerics.md, and docs/options.md names all passes between -O1
 * and -O2, except the last, which only `numerics = fast` runs. */
static void licences(void)
{
    for (size_t i = 0; i < takt_pipeline_count(); i++) {
        const takt_pass *pass = takt_pipeline_pass(i);
        char heading[80], name[80];
        if (pass->licence == NULL)
            continue;
        snprintf(heading, sizeof heading, "\n## %s\n", pass->licence);
        snprintf(name, sizeof name, "`%s`", pass->name);
        EXPECT(document_has("docs/numerics.md", heading),
               "%s: docs/numerics.md has no section '%s'", pass->name, pass->licence);
        EXPECT(i + 1 == takt_pipeline_count() || document_has("docs/options.md", name),
               "docs/options.md does not name %s", pass->name);
    }
}

int main(void)
{
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    random_graphs();
    lowered();
    switched_off();
    without_cse();
    unknown_pass();
    licences();
    takt_ctx_destroy(ctx);
    return test_done();
}
