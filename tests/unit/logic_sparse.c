/* logic_sparse.c - sets of tuples: random rules give the same result as with bits, with any number
 * of threads and in the interpreter; the program's text; relations that overflow. */
#include <string.h>

#include <takt/takt.h>

#include "op/ops.h"
#include "op/util/datalog.h"
#include "test.h"
#include "util/random_array.h"

static takt_ctx *ctx;

/* ---- random rules ---- */

enum { FACTS = 3, RULES = 4, VARS = 4, TEXT = 1 << 15 };

typedef struct maker {
    takt_random random;
    int size, arity[FACTS + RULES];
    char text[TEXT];
    size_t length;
} maker;

static int below(maker *m, int limit)
{
    return (int)takt_random_below(&m->random, (size_t)limit);
}

static void put(maker *m, const char *format, ...) TAKT_PRINTF(2, 3);
static void put(maker *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(m->text + m->length, TEXT - m->length, format, args);
    va_end(args);
    m->length += n > 0 && (size_t)n < TEXT - m->length ? (size_t)n : 0;
}

static const char *const names[VARS] = {"x", "y", "z", "w"};

/* An atom of variables, sometimes with a constant or a repeated variable; returns which it
 * binds. */
static unsigned atom(maker *m, int predicate, unsigned among)
{
    unsigned bound = 0;
    put(m, "p%d(", predicate);
    for (int i = 0; i < m->arity[predicate]; i++) {
        int v = below(m, VARS);
        while ((among >> v & 1) == 0)
            v = below(m, VARS);
        put(m, "%s", i > 0 ? ", " : "");
        if (below(m, 10) == 0) {
            put(m, "%d", below(m, m->size));
        } else {
            put(m, "%s", names[v]);
            bound |= 1U << v;
        }
    }
    put(m, ")");
    return bound;
}

/* One body of a rule: atoms, and tests of the variables they bind; false if a variable of the head
 * remains unbound. The text is then unchanged. */
static bool clause(maker *m, int rule)
{
    char body[1024];
    const size_t from = m->length;
    unsigned bound = 0;
    const int atoms = 1 + below(m, 3);
    for (int i = 0; i < atoms; i++) {
        put(m, "%s", i > 0 ? " and " : "");
        bound |= atom(m, below(m, FACTS + (below(m, 2) == 0 ? rule + 1 : 0)), (1U << VARS) - 1);
    }
    if (bound != 0 && below(m, 3) == 0) {
        put(m, " and not ");
        atom(m, below(m, FACTS), bound);
    }
    if ((bound & 3) == 3 && below(m, 3) == 0)
        put(m, " and x %s y", below(m, 2) == 0 ? "!=" : "<=");
    const unsigned head = (1U << m->arity[FACTS + rule]) - 1;
    snprintf(body, sizeof body, "%s", m->text + from);
    m->length = from;
    if ((bound & head) != head)
        return false;
    bool is_first = true;
    for (int v = 0; v < VARS; v++)
        if ((bound & ~head) >> v & 1) {
            put(m, "%s%s", is_first ? "(exists " : ", ", names[v]);
            is_first = false;
        }
    put(m, "%s(%s)%s", is_first ? "" : ": ", body, is_first ? "" : ")");
    return true;
}

static void make(maker *m, uint64_t seed, bool is_sparse)
{
    *m = (maker){.random = {.state = seed * 31 + 7}};
    m->size = below(m, 8) == 0 ? 70 : 1 + below(m, 9);
    for (int i = 0; i < FACTS + RULES; i++)
        m->arity[i] = 1 + below(m, 2);
    put(m, "domain d = %d\nmodel m() {\n", m->size);
    for (int i = 0; i < FACTS; i++) {
        put(m, "  relation p%d(%s) = [", i, m->arity[i] == 1 ? "d" : "d, d");
        for (int k = 0; k < 12; k++)
            if (m->arity[i] == 1)
                put(m, "%s[%d]", k > 0 ? ", " : "", below(m, m->size));
            else
                put(m, "%s[%d, %d]", k > 0 ? ", " : "", below(m, m->size), below(m, m->size));
        put(m, "]\n");
    }
    for (int i = 0; i < RULES; i++) {
        put(m, "  rule p%d(%s)%s = ", FACTS + i, m->arity[FACTS + i] == 1 ? "x: d" : "x: d, y: d",
            is_sparse ? " capacity=6000" : "");
        const int ways = 1 + below(m, 2);
        for (int k = 0; k < ways; k++) {
            put(m, "%s", k > 0 ? " or " : "");
            while (!clause(m, i))
                ;
        }
        put(m, "\n");
    }
    put(m, "  return p3, p4, p5, p6\n}\n");
}

typedef struct answers {
    takt_tuples at[RULES];
} answers;

static bool answer(maker *m, const takt_plan_options *o, answers *a)
{
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    bool good =
        EXPECT(takt_model_load_memory(ctx, "m.takt", m->text, m->length, NULL, &model) == TAKT_OK,
               "%s\n%s", takt_last_error(ctx), m->text) &&
        EXPECT_OK(ctx, takt_plan_create(model, o, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) && EXPECT_OK(ctx, takt_session_run(s));
    for (int i = 0; good && i < RULES; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", FACTS + i);
        good = EXPECT_OK(
            ctx, takt_relation_tuples(model, name, takt_session_output(s, (size_t)i), &a->at[i]));
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return good;
}

static void release(answers *a)
{
    for (int i = 0; i < RULES; i++)
        takt_tuples_free(ctx, &a->at[i]);
}

static void compare(const maker *m, const answers *a, const answers *b, const char *how)
{
    for (int i = 0; i < RULES; i++) {
        const size_t bytes = a->at[i].count * (size_t)a->at[i].arity * sizeof *a->at[i].entries;
        EXPECT(a->at[i].count == b->at[i].count &&
                   (bytes == 0 || memcmp(a->at[i].entries, b->at[i].entries, bytes) == 0),
               "%s: p%d has %zu tuples, not %zu in\n%s", how, FACTS + i, b->at[i].count,
               a->at[i].count, m->text);
    }
}

static void random_rules(void)
{
    static const answers nothing;
    maker *m = malloc(sizeof *m);
    size_t derived = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (uint64_t seed = 1; m != NULL && seed <= 300 && test_failures == 0; seed++) {
        answers dense = nothing, sparse = nothing, ref = nothing;
        make(m, seed, false);
        bool good = answer(m, &(takt_plan_options){.threads = 1}, &dense);
        make(m, seed, true);
        good = good && answer(m, &(takt_plan_options){.threads = 1 + (int)(seed % 3)}, &sparse);
        if (good)
            compare(m, &dense, &sparse, "tuples");
        if (good && seed % 10 == 0 && answer(m, &(takt_plan_options){.backend = "ref"}, &ref))
            compare(m, &dense, &ref, "ref");
        for (int i = 0; i < RULES; i++)
            derived += dense.at[i].count;
        release(&dense);
        release(&sparse);
        release(&ref);
    }
    EXPECT(derived > 3000, "%zu tuples in all", derived);
    takt_ctx_destroy(ctx);
    free(m);
}

/* ---- texts of programs ---- */

static void programs(void)
{
    static const char *const wrong[] = {"",
                                        "2",
                                        "2 :",
                                        "9 : 2",
                                        "2 : 2 ; 2(a, b) <- 1(a, b)",
                                        "2 : 2 ; 1(a, b) <- 1(a, b)",
                                        "2 : 2 ; 0(a) <- 1(a, b)",
                                        "2 : 2 ; 0(a, b) <- 1(a, c)",
                                        "2 : 2 ; 0(a, _) <- 1(a, b)",
                                        "2 : 2 ; 0(a, b) <- 1(a, b), !0(a, b)",
                                        "2 : 2 ; 0(a, b) <- 1(a, b), a b",
                                        "2 : 2 ; 0(a, b) <- 1(a, b), a < c",
                                        "2 : 2 ; 0(a, b) 1(a, b)",
                                        "2 : 2 ; 0(a, b <- 1(a, b)",
                                        "2 : 2 ; 0(a, 4294967295) <- 1(a, b)",
                                        "2 : 2 ; 0(a, b) <- 1(a, b) x"};
    static const uint32_t rows[] = {0, 1, 1, 2, 2, 0, UINT32_MAX, UINT32_MAX};
    takt_arena arena;
    takt_dl program;
    takt_dl_plan plan;
    uint32_t out[16];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_arena_init(&arena, ctx);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EXPECT(takt_dl_read(&arena, wrong[i], &program) != TAKT_OK || program.rule_count == 0,
               "%s is read", wrong[i]);
    EXPECT_OK(ctx, takt_dl_read(&arena,
                                "2 : 2 ; 0(a, b) <- 1(a, b) ; 0(a, c) <- 0(a, b), 1(b, c), a != c",
                                &program));
    EXPECT_OK(ctx, takt_dl_prepare(&arena, &program, (const size_t[]){8, 4}, 1, &plan));
    void *room = takt_arena_array(&arena, plan.scratch_bytes + 64, 1);
    const uint32_t *in[] = {rows};
    uint32_t *const to[] = {out};
    takt_dl_full full = takt_dl_run(&plan, in, to, room, NULL, NULL);
    static const uint32_t want[] = {0, 1, 0, 2, 1, 0, 1, 2, 2, 0, 2, 1, UINT32_MAX};
    EXPECT_EQ(full.relation, -1);
    EXPECT_EQ(memcmp(out, want, sizeof want), 0);
    EXPECT_OK(ctx, takt_dl_prepare(&arena, &program, (const size_t[]){5, 4}, 1, &plan));
    full = takt_dl_run(&plan, in, to, room, NULL, NULL);
    EXPECT(full.relation == 0 && full.round == 1, "%d %zu", full.relation, full.round);
    EXPECT_OK(ctx, takt_dl_prepare(&arena, &program, (const size_t[]){8, 4}, 1, &plan));
    plan.budget = 5;
    full = takt_dl_run(&plan, in, to, room, NULL, NULL);
    EXPECT(full.is_spent);
    EXPECT_EQ(takt_dl_full_id(&full), TAKT_E_TRIP_COUNT);
    takt_arena_deinit(&arena);
    takt_ctx_destroy(ctx);
}

/* ---- closures and triangles of random graphs ---- */

enum { NODES = 90, EDGES = 220 };

typedef struct graph {
    uint32_t rows[EDGES][2]; /* ascending, each once */
    size_t count;
    bool edge[NODES][NODES], path[NODES][NODES], triangle[NODES][NODES];
    size_t paths, triangles;
} graph;

/* Nodes are multiples of `factor`: with a large one they are not table indices. `hub`: all edges
 * lead to a few nodes. */
static void make_graph(graph *g, uint64_t seed, uint32_t factor, bool is_hub)
{
    takt_random random = {.state = seed * 77 + 5};
    *g = (graph){.count = 0};
    for (int i = 0; i < EDGES; i++)
        g->edge[takt_random_below(&random, NODES)][takt_random_below(&random, is_hub ? 3 : NODES)] =
            seed % 4 != 0 || i < 40;
    memcpy(g->path, g->edge, sizeof g->path);
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; j < NODES; j++) {
                g->path[i][j] |= g->path[i][k] && g->path[k][j];
                g->triangle[i][j] |= g->edge[i][j] && g->edge[j][k] && g->edge[k][i];
            }
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; j < NODES; j++) {
            g->paths += g->path[i][j];
            g->triangles += g->triangle[i][j];
            if (g->edge[i][j]) {
                g->rows[g->count][0] = i * factor;
                g->rows[g->count++][1] = j * factor;
            }
        }
}

/* Whether the rows that hold something are these pairs, in order. */
static bool are_pairs(const uint32_t *rows, size_t arity, bool pairs[NODES][NODES], uint32_t factor)
{
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; j < NODES; j++) {
            if (!pairs[i][j])
                continue;
            if (rows[0] != i * factor || rows[1] != j * factor || (arity == 3 && rows[2] != 7))
                return false;
            rows += arity;
        }
    return rows[0] == UINT32_MAX;
}

/* A program for the graph: with enough room it gives these pairs, with less it reports so. */
static void one_program(graph *g, const char *text, bool pairs[NODES][NODES], uint32_t factor)
{
    static const size_t less[] = {0, 1, 3, 7};
    size_t count = 0;
    takt_arena arena;
    takt_dl program;
    takt_dl_plan plan;
    takt_arena_init(&arena, ctx);
    for (int i = 0; i < NODES * NODES; i++)
        count += pairs[i / NODES][i % NODES];
    EXPECT_OK(ctx, takt_dl_read(&arena, text, &program));
    const size_t arity = (size_t)program.arity[0];
    for (size_t i = 0; i < 5 && test_failures == 0; i++) {
        const size_t room = i == 4 ? count + 1 : less[i] * count / 8;
        uint32_t *out = takt_arena_array(&arena, (room + 1) * arity, sizeof *out);
        EXPECT_OK(ctx,
                  takt_dl_prepare(&arena, &program, (const size_t[]){room, g->count}, 1, &plan));
        void *scratch = takt_arena_array(&arena, plan.scratch_bytes + 64, 1);
        const takt_dl_full full =
            takt_dl_run(&plan, &(const uint32_t *){g->rows[0]}, &out,
                        (void *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63), NULL, NULL);
        EXPECT((full.relation < 0) == (room >= count), "%s: %zu of %zu", text, room, count);
        EXPECT(full.relation >= 0 || room == count || are_pairs(out, arity, pairs, factor), "%s",
               text);
    }
    takt_arena_deinit(&arena);
}

static void graphs(void)
{
    static const char *const closures[] = {
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 1(a, b), 0(b, c)",
        "2 : 2 ; 0(a, c) <- 0(b, c), 1(a, b) ; 0(a, c) <- 1(a, c)",
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 0(a, b), 1(b, c)",
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 0(a, b), 0(b, c)",
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 0(a, b), 1(b, c), 1(b, _)",
        "2 : 2 ; 0(a, c) <- 1(a, c) ; 0(a, c) <- 1(a, b), 0(b, c), 1(a, _)",
        "3 : 2 ; 0(a, c, 7) <- 1(a, c) ; 0(a, c, d) <- 0(a, b, d), 1(b, c)",
        "3 : 2 ; 0(a, c, 7) <- 1(a, c) ; 0(a, c, 7) <- 0(b, c, _), 1(a, b)"};
    static const uint32_t factors[] = {1, 40000000};
    graph *g = malloc(sizeof *g);
    size_t found = 0;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (uint64_t seed = 1; g != NULL && seed <= 12 && test_failures == 0; seed++) {
        const uint32_t factor = factors[seed % 2];
        make_graph(g, seed, factor, seed % 3 == 0);
        for (size_t i = 0; i < sizeof closures / sizeof *closures; i++)
            one_program(g, closures[i], g->path, factor);
        one_program(g, "2 : 2 ; 0(a, b) <- 1(a, b), 1(b, c), 1(c, a)", g->triangle, factor);
        found += g->triangles;
    }
    EXPECT(found > 20, "%zu edges in triangles", found);
    takt_ctx_destroy(ctx);
    free(g);
}

/* Two loops of one rule are marked, the inner one while the outer one runs. */
static void nested_loops(void)
{
    static const char text[] = "2 : 2 ; 0(a, c) <- 1(a, b), 1(b, c), 1(c, a), 1(c, d), 1(d, b)";
    static const char edges[] = "011213202430354151", pairs[] = "020310141521314253";
    graph *g = calloc(1, sizeof *g);
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; g != NULL && edges[2 * i] != 0; i++) {
        g->rows[g->count][0] = (uint32_t)(edges[2 * i] - '0');
        g->rows[g->count++][1] = (uint32_t)(edges[2 * i + 1] - '0');
        g->triangle[pairs[2 * i] - '0'][pairs[2 * i + 1] - '0'] = true;
    }
    if (g != NULL)
        one_program(g, text, g->triangle, 1);
    takt_ctx_destroy(ctx);
    free(g);
}

/* ---- a relation without room ---- */

static void without_room(void)
{
    static const char text[] =
        "domain d = 9\nmodel m() {\n  relation e(d, d) = [[0, 1], [1, 2], [2, 0]]\n"
        "  rule path(x, z) capacity=7 = e(x, z) or exists y: e(x, y) and path(y, z)\n"
        "  return path\n}\n";
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, sizeof text - 1, NULL, &m));
    EXPECT(takt_plan_create(m, NULL, &plan) != TAKT_OK &&
               takt_last_error_info(ctx)->id == TAKT_E_RECURSION,
           "%s", takt_last_error(ctx));
    EXPECT(strstr(takt_last_error(ctx), "path has more than 7 tuples in round") != NULL &&
               strstr(takt_last_error(ctx), "try capacity=44") != NULL,
           "%s", takt_last_error(ctx));
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(random_rules, programs, graphs, nested_loops, without_room)
