/* logic_facts.c - facts: valid and refused ones, running out of memory, relations in C, and
 * closures of real graphs. */
#include "logic/facts.h"

#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "lang/parse.h"
#include "test.h"
#include "util/inject.h"
#include "util/meter.h"

static takt_ctx *ctx;

/* ---- the reader ---- */

static takt_status read_people(takt_arena *arena, const char *text, takt_fact_table *facts)
{
    static const takt_span names[] = {{"ann", 3}, {"bo, jr", 6}, {"c\"y", 3}};
    static const takt_domain number = {.name = "number", .size = 100};
    takt_domain *person = NULL;
    *facts = (takt_fact_table){.ctx = arena->ctx};
    TAKT_TRY(takt_domain_of(arena, "person", names, 3, &person));
    const takt_domain *const domains[] = {person, &number};
    const takt_facts_of of = {.name = "age", .arity = 2, .domains = domains, .may_weigh = true};
    return takt_facts_read(arena->ctx, &of, "age.tsv", (takt_span){text, strlen(text)}, facts);
}

static void good(const char *text, size_t count, const uint32_t *want, const float *weights)
{
    takt_arena arena;
    takt_fact_table facts;
    takt_arena_init(&arena, ctx);
    if (EXPECT_OK(ctx, read_people(&arena, text, &facts)) &&
        EXPECT(facts.count == count && (facts.weights != NULL) == (weights != NULL), "%s: %zu",
               text, facts.count)) {
        EXPECT(count == 0 || memcmp(facts.tuples, want, 2 * count * sizeof *want) == 0, "%s", text);
        for (size_t i = 0; weights != NULL && i < count; i++)
            EXPECT(facts.weights[i] == weights[i], "%s: %g", text, (double)facts.weights[i]);
    }
    takt_facts_release(&facts);
    takt_arena_deinit(&arena);
}

static void bad(const char *text, const char *says)
{
    takt_arena arena;
    takt_fact_table facts;
    takt_arena_init(&arena, ctx);
    EXPECT(read_people(&arena, text, &facts) == TAKT_ERR_FORMAT &&
               takt_last_error_info(ctx)->id == TAKT_E_FACTS,
           "%s is read", text);
    EXPECT(strstr(takt_last_error(ctx), says) != NULL, "%s: %s", text, takt_last_error(ctx));
    takt_facts_release(&facts);
    takt_arena_deinit(&arena);
}

static void reader(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    good("", 0, NULL, NULL);
    good("# nothing\n\n", 0, NULL, NULL);
    good("ann\t3\nbo, jr\t99", 2, (const uint32_t[]){0, 3, 1, 99}, NULL);
    good("ann,3\r\n\"bo, jr\",4\n\"c\"\"y\",5\n", 3, (const uint32_t[]){0, 3, 1, 4, 2, 5}, NULL);
    good("\xef\xbb\xbf"
         "ann\t3\t0.25\nc\"y\t4\t1\n",
         2, (const uint32_t[]){0, 3, 2, 4}, (const float[]){0.25F, 1});
    bad("ann\t3\nan\t4\n", "age.tsv:2: 'an' is not a name of domain person");
    bad("ann\t100\n", "age.tsv:1: '100' is not a number of domain number, which has 100");
    bad("ann\t-1\n", "'-1' is not a number");
    bad("ann\tx\n", "'x' is not a number");
    bad("ann\t4294967296\n", "is not a number");
    bad("ann\t3\nann\n", "age.tsv:2: age has 2 columns, this line has 1");
    bad("ann\t3\n# all\nann\t3\t4\n", "age.tsv:3: age has 2 columns, this line has 3");
    bad("ann\t3\t1.5\n", "the weight '1.5' is not a number from 0 to 1");
    bad("ann\t3\tnan\n", "the weight 'nan' is not a number");
    bad("\"ann,3\n", "a quoted field does not end");
    bad("\"ann\"x,3\n", "a quoted field does not end");
    bad("a\xff\t3\n", "column 1 is not UTF-8");
    takt_ctx_destroy(ctx);
}

/* A fact takes 8 bytes, and reading it not many more: no second text, no array that doubles. */
static void frugal(void)
{
    enum { FACTS = 60000, LINE = 8, MOST_EACH = 12 };
    static char text[FACTS * LINE + 1];
    meter counted = {0};
    const takt_allocator allocator = METER_ALLOCATOR(&counted);
    const takt_config config = {.allocator = &allocator};
    takt_arena arena;
    takt_fact_table facts;
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    for (size_t i = 0; i < FACTS; i++)
        snprintf(text + i * LINE, LINE + 1, "\"ann\",%d\n", (int)(i % 10));
    takt_arena_init(&arena, ctx);
    const size_t before = counted.peak;
    EXPECT_OK(ctx, read_people(&arena, text, &facts));
    EXPECT_EQ(facts.count, FACTS);
    EXPECT_EQ(facts.tuples[2 * FACTS - 1], (FACTS - 1) % 10);
    EXPECT(counted.peak - before < (size_t)MOST_EACH * FACTS, "%zu bytes", counted.peak - before);
    takt_facts_release(&facts);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
}

/* ---- memory that runs out ---- */

static takt_status scarce(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_arena arena;
    takt_fact_table facts;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    takt_arena_init(&arena, own);
    status = read_people(&arena, user, &facts);
    takt_facts_release(&facts);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(own);
    return status;
}

static takt_status scarce_text(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_graph *graph = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_parse(own, "m.takt", user, strlen(user), NULL, &graph);
    EXPECT_EQ((status == TAKT_OK), (graph != NULL));
    takt_graph_destroy(graph);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    char facts[] = "ann\t3\t0.5\nc\"y\t4\t0.5\n";
    char text[] =
        "domain d = [\"a\", \"b\", \"c\"]\n"
        "model m(x: f32[d, d], q: f32[]) semantics=product {\n"
        "  relation r(d, d) = [[\"a\", \"b\"], [\"b\", \"c\"]]\n"
        "  relation s(d)\n"
        "  rule p(u, w) semantics=boolean = r(u, w) or exists v: r(u, v) and p(v, w)\n"
        "  rule n(u, k: i32) = k == count w: p(u, w)\n"
        "  rule t(u) weight=0.5 = s(u) and x(u, u) and n(u, 1)\n"
        "  constraint c weight=2 = forall(p=q) u, w where u < w: x(u, w) implies x(w, u)\n"
        "  return p, t\n"
        "}\n";
    takt_sweep_report r = takt_sweep(scarce, facts, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 3, "%s", r.message);
    r = takt_sweep(scarce_text, text, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 20, "%s", r.message);
    char chances[] = "domain d = 3\n"
                     "model m(x: f32[n, d], t: i64[n]) semantics=probability {\n"
                     "  relation r(d, d) = [[0, 1, 0.5], [1, 2, 0.5]]\n"
                     "  row = softmax(x)\n"
                     "  rule p(u, w) = r(u, w) or exists v: r(u, v) and p(v, w)\n"
                     "  rule q(i, u) weight=0.5 = row(i, u) and not p(u, u)\n"
                     "  rule s(i) = at_least(2) u: q(i, u)\n"
                     "  constraint c = forall i: row(i, t[i])\n"
                     "  return p, q, s\n"
                     "}\n";
    r = takt_sweep(scarce_text, chances, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 20, "%s", r.message);
}

/* ---- relations in C ---- */

static int compare(void *user, const char *text, size_t length)
{
    const char *want = user;
    EXPECT(strlen(want) == length && memcmp(text, want, length) == 0, "%.*s", (int)length, text);
    return 0;
}

static void ask(const takt_model *m, takt_session *s, const char *question, char *answer)
{
    const takt_query_options options = {.limit = 3};
    EXPECT_OK(ctx, takt_query(m, question, takt_session_output(s, 0), &options, compare, answer));
}

static void questions(const takt_model *m, takt_session *s, const takt_tensor_view *other)
{
    char name[16];
    char answers[][16] = {"1\n2\n69\n",          "true\n", "false\n", "1\n2\n5\n",
                          "0\t1\n0\t2\n0\t69\n", ""};
    ask(m, s, "path(0, x)", answers[0]);
    ask(m, s, " path( 69 , 2 )", answers[1]);
    ask(m, s, "path(1, 0)", answers[2]);
    ask(m, s, "path(x, x)", answers[3]);
    ask(m, s, "path", answers[4]);
    ask(m, s, "path(7, x)", answers[5]);
    EXPECT_OK(ctx, takt_query_relation(m, "path(a)", name, sizeof name));
    const takt_tensor_view *out = takt_session_output(s, 0);
    static const struct {
        const char *question;
        takt_status status;
    } wrong[] = {{"pth(0, x)", TAKT_ERR_NOT_FOUND}, {"path(70, x)", TAKT_ERR_SYNTAX},
                 {"path(0)", TAKT_ERR_ARGUMENT},    {"path(0, x", TAKT_ERR_SYNTAX},
                 {"path(0, )", TAKT_ERR_SYNTAX},    {"path(\"0, x)", TAKT_ERR_SYNTAX},
                 {"path(0, x) y", TAKT_ERR_SYNTAX}, {"", TAKT_ERR_SYNTAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EXPECT_STATUS(ctx, takt_query(m, wrong[i].question, out, NULL, compare, NULL),
                      wrong[i].status);
    EXPECT_STATUS(NULL, takt_query(m, "path(0, x)", other, NULL, compare, NULL), TAKT_ERR_ARGUMENT);
}

static void in_c(void)
{
    static const char text[] =
        "domain node = 70\nmodel m() {\n  relation edge(node, node)\n"
        "  rule path(x, z) = edge(x, z) or exists y: path(x, y) and edge(y, z)\n"
        "  return path\n}\n";
    static const char facts[] = "0,1\n1,2\n2,69\n69,1\n5,5\n";
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_tensor_view view;
    takt_relation about;
    takt_tuples tuples;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, sizeof text - 1, NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan));
    EXPECT_OK(ctx, takt_session_create(plan, NULL, &s));
    EXPECT_EQ(takt_model_relation_count(m), 2);
    EXPECT_OK(ctx, takt_model_relation(m, 1, &about));
    EXPECT_TEXT(about.name, "path");
    EXPECT_TEXT(about.kind, "rule");
    EXPECT_EQ(about.arity, 2);
    EXPECT_EQ(about.form, TAKT_RELATION_BITS);
    EXPECT(about.is_recursive);
    EXPECT_EQ(about.sizes[1], 70);
    EXPECT_TEXT(about.domains[0], "node");
    EXPECT_STATUS(NULL, takt_model_relation(m, 2, &about), TAKT_ERR_NOT_FOUND);
    EXPECT_OK(ctx, takt_relation_read(m, "edge", NULL, facts, sizeof facts - 1, &view));
    EXPECT_OK(ctx, takt_session_bind(s, "edge", &view));
    EXPECT_OK(ctx, takt_session_run(s));
    EXPECT_OK(ctx, takt_relation_tuples(m, "path", takt_session_output(s, 0), &tuples));
    EXPECT(tuples.count == 13 && tuples.arity == 2 && tuples.values == NULL, "%zu", tuples.count);
    EXPECT_EQ(tuples.entries[0], 0);
    EXPECT_EQ(tuples.entries[1], 1);
    EXPECT_EQ(tuples.entries[25], 69);
    takt_tuples_free(ctx, &tuples);
    questions(m, s, &view);
    takt_view_free(ctx, &view);
    EXPECT_STATUS(NULL, takt_relation_read(m, "path", NULL, "", 0, &view), TAKT_ERR_NOT_FOUND);
    EXPECT_STATUS(NULL, takt_relation_load(m, "edge", "/nothing/here.tsv", &view), TAKT_ERR_IO);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* ---- what stops a run ---- */

static int run_id(const char *text, float value)
{
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    int id = -1;
    if (EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m)) &&
        EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        const takt_tensor_view *x = takt_session_input(s, 0);
        for (int i = 0; i < 4; i++)
            ((float *)x->data)[i] = i == 3 ? value : 0.5F;
        id = takt_session_run(s) == TAKT_OK ? 0 : takt_session_error(s)->id;
        EXPECT(id != TAKT_E_TRUTH || strstr(takt_session_error(s)->message, "x: element 3") != NULL,
               "%s", takt_session_error(s)->message);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return id;
}

static void stopped(void)
{
    static const char net[] = "domain d = 2\nmodel m(x: f32[d, d]) semantics=product {\n"
                              "  rule r(a) = exists b: x(a, b)\n  return r\n}\n";
    static const char endless[] = "domain d = 2\nmodel m(x: f32[d, d]) semantics=shortest {\n"
                                  "  rule r(a, c) = x(a, c) or exists b: x(a, b) and r(b, c)\n"
                                  "  return r\n}\n";
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_EQ(run_id(net, 1), 0);
    EXPECT_EQ(run_id(net, 0), 0);
    EXPECT_EQ(run_id(net, 1.5F), TAKT_E_TRUTH);
    EXPECT_EQ(run_id(net, -0.1F), TAKT_E_TRUTH);
    EXPECT_EQ(run_id(net, 0.0F / 0.0F), TAKT_E_TRUTH);
    EXPECT_EQ(run_id(endless, 1), 0);
    EXPECT_EQ(run_id(endless, -1), TAKT_E_RECURSION);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(reader, frugal, memory, in_c, stopped)
