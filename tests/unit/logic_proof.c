/* logic_proof.c - proofs of facts: of minimum height, replayed by the checker, which refuses
 * invalid ones; and why facts do not hold. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "logic/prove.h"
#include "test.h"
#include "util/inject.h"

enum { NODES = 12, TEXT = 8192 };

typedef struct written {
    char at[TEXT];
    size_t length;
} written;

static int collect(void *user, const char *text, size_t length)
{
    written *w = user;
    if (w->length + length < TEXT) {
        memcpy(w->at + w->length, text, length);
        w->length += length;
        w->at[w->length] = '\0';
    }
    return 0;
}

typedef struct asking {
    takt_model *m;
    takt_plan *plan;
    takt_session *s;
} asking;

static takt_status open_fact(takt_ctx *ctx, const char *text, const char *fact, asking *a)
{
    written outputs = {.length = 0};
    TAKT_TRY(takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &a->m));
    TAKT_TRY(takt_fact_outputs(a->m, fact, collect, &outputs));
    const takt_plan_options options = {.size = sizeof options, .outputs = outputs.at};
    TAKT_TRY(takt_plan_create(a->m, &options, &a->plan));
    TAKT_TRY(takt_session_create(a->plan, NULL, &a->s));
    return takt_session_run(a->s);
}

static void close_fact(asking *a)
{
    takt_session_destroy(a->s);
    takt_plan_destroy(a->plan);
    takt_model_destroy(a->m);
    *a = (asking){0};
}

/* ---- heights ---- */

static unsigned state;
static unsigned random_below(unsigned n)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 16) % n;
}

static void graph_text(char *text, size_t size, int way[NODES][NODES], const char *rule)
{
    size_t at = (size_t)snprintf(
        text, size, "domain d = %d\nmodel m() {\n  relation edge(d, d) = [[0, 0]", NODES);
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++)
            way[i][k] = i == 0 && k == 0 ? 1 : 0;
    for (int e = 0; e < 2 * NODES; e++) {
        const unsigned i = random_below(NODES), k = random_below(NODES);
        way[i][k] = 1;
        at += (size_t)snprintf(text + at, size - at, ", [%u, %u]", i, k);
    }
    snprintf(text + at, size - at, "]\n  rule path(x, z) = %s\n  return path\n}\n", rule);
    for (int round = 0; round < NODES; round++) /* the shortest ways, by relaxing all edges */
        for (int i = 0; i < NODES; i++)
            for (int y = 0; y < NODES; y++)
                for (int k = 0; k < NODES && way[i][y] == 1; k++)
                    if (way[y][k] > 0 && (way[i][k] == 0 || way[i][k] > way[y][k] + 1))
                        way[i][k] = way[y][k] + 1;
}

static int height_of(const asking *a, int i, int k, takt_derivation **proof)
{
    char fact[64];
    takt_derivation_step step;
    snprintf(fact, sizeof fact, "path(%d, %d)", i, k);
    if (!EXPECT_OK(NULL, takt_fact_prove(a->m, fact, a->s, proof)) || *proof == NULL)
        return 0;
    EXPECT_OK(NULL, takt_derivation_at(*proof, 0, &step));
    return step.height;
}

static void heights(void)
{
    static const char *const rules[] = {"edge(x, z) or exists y: edge(x, y) and path(y, z)",
                                        "edge(x, z) or exists y: path(x, y) and edge(y, z)",
                                        "(exists y: path(x, y) and edge(y, z)) or edge(x, z)",
                                        "capacity"}; /* the first as a set of tuples */
    static char text[TEXT];
    int way[NODES][NODES];
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (unsigned round = 0; round < 8; round++) {
        asking a = {0};
        state = round;
        const bool is_set = round % 4 == 3;
        graph_text(text, sizeof text, way, rules[is_set ? 0 : round % 4]);
        char *at = strstr(text, "path(x, z) =");
        if (is_set && at != NULL) {
            memmove(at + 24, at + 10, strlen(at + 10) + 1);
            memcpy(at + 10, " capacity=500 ", 14);
        }
        if (EXPECT_OK(ctx, open_fact(ctx, text, "path(0, 0)", &a)))
            for (int i = 0; i < NODES * NODES; i++) {
                takt_derivation *proof;
                const int got = height_of(&a, i / NODES, i % NODES, &proof);
                EXPECT(got == way[i / NODES][i % NODES], "path(%d, %d): %d, not %d", i / NODES,
                       i % NODES, got, way[i / NODES][i % NODES]);
                takt_derivation_free(proof);
            }
        close_fact(&a);
    }
    takt_ctx_destroy(ctx);
}

/* ---- the checker ---- */

static const char FAMILY[] =
    "domain p = [\"ann\", \"bo\", \"cy\", \"dee\", \"eve\"]\nmodel m() {\n"
    "  relation parent(p, p) = [[\"ann\", \"bo\"], [\"bo\", \"cy\"], "
    "[\"cy\", \"dee\"], [\"ann\", \"eve\"]]\n"
    "  rule old(x, z) = parent(x, z) or exists y: parent(x, y) and old(y, z)\n"
    "  rule last(x) = not exists y: parent(x, y)\n"
    "  rule heirs(x, n: i32) = n == count y: old(x, y)\n"
    "  rule line(x) = last(x) or exists y: parent(x, y) and line(y) and heirs[x] > heirs[y]\n"
    "  rule all(x) = forall y where parent(x, y): line(y)\n"
    "  rule two(x) = at_least(2) y: old(x, y)\n"
    "  rule same(x) = old(x, x) implies last(x)\n"
    "  return old, last, heirs, line, all, two, same\n}\n";

/* Changes of a proof that the checker must see. */
static void spoil(takt_world *w, takt_proof_tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        takt_proof_node *n = &t->nodes[i];
        const takt_proof_node old = *n;
        for (int change = 0; change < 4; change++) {
            if (change == 0)
                n->tuple[0] = (n->tuple[0] + 3) % 5;
            else if (change == 1 && n->premise_count > 0)
                n->premise_count--;
            else if (change == 2)
                n->height = n->rule != NULL ? 0 : 1;
            else if (change == 3)
                n->rule = n->rule != NULL ? NULL : t->nodes[0].rule;
            else
                continue;
            const bool is_seen = takt_proof_verify(w, t) == TAKT_ERR_LIMIT;
            EXPECT(is_seen, "change %d of node %zu, %s, is taken", change, i, n->predicate->name);
            w->status = TAKT_OK;
            *n = old;
        }
    }
    EXPECT_OK(w->ctx, takt_proof_verify(w, t));
}

static void checker(void)
{
    static const uint32_t tuple[TAKT_MAX_RANK] = {0, 3};
    takt_ctx *ctx;
    asking a = {0};
    takt_world w;
    takt_proof_tree tree;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, open_fact(ctx, FAMILY, "old(ann, dee)", &a))) {
        takt_world_init(&w, ctx, a.m->graph->relations);
        const takt_predicate *old = takt_relation_find(a.m->graph, "old")->predicate;
        const takt_predicate *parent = takt_relation_find(a.m->graph, "parent")->predicate;
        const bool is_first = takt_session_output(a.s, 0)->dims[0] == 5 &&
                              strstr(FAMILY, "old") != NULL; /* parent is read before old */
        w.sets[parent->index].view = takt_session_output(a.s, 0);
        w.sets[old->index].view = takt_session_output(a.s, 1);
        EXPECT(is_first);
        EXPECT_OK(ctx, takt_prove(&w, old, tuple, &tree));
        EXPECT(tree.count == 6 && tree.nodes[0].height == 3, "%zu", tree.count);
        EXPECT_OK(ctx, takt_proof_verify(&w, &tree));
        spoil(&w, &tree);
        takt_proof_tree_release(ctx, &tree);
        takt_world_deinit(&w);
    }
    close_fact(&a);
    takt_ctx_destroy(ctx);
}

/* ---- texts ---- */

static const struct {
    const char *fact, *want;
    bool is_why_not;
} said[] = {
    {"old(ann, cy)",
     "old(ann, cy)  line 4, y = bo\n  parent(ann, bo)  fact\n  old(bo, cy)  line 4\n"
     "    parent(bo, cy)  fact\n",
     false},
    {"parent(ann, bo)", "parent(ann, bo)  fact\n", false},
    {"last(dee)", "last(dee)  line 5, not (exists y: parent(x, y))\n", false},
    {"heirs(ann, 4)", "heirs(ann, 4)  line 6, n == (count y: old(x, y))\n", false},
    {"line(cy)",
     "line(cy)  line 7, y = dee\n  parent(cy, dee)  fact\n"
     "  line(dee)  line 7\n    last(dee)  line 5, not (exists y: parent(x, y))\n",
     false},
    {"all(cy)",
     "all(cy)  line 8\n  line(dee)  line 7\n    last(dee)  line 5, not (exists y: parent(x, y))\n",
     false},
    {"two(bo)",
     "two(bo)  line 9\n  old(bo, cy)  line 4\n    parent(bo, cy)  fact\n"
     "  old(bo, dee)  line 4, y = cy\n    parent(bo, cy)  fact\n    old(cy, dee)  line 4\n"
     "      parent(cy, dee)  fact\n",
     false},
    {"same(ann)", "same(ann)  line 10, (exists _: old(x, _) and _ == x) implies last(x)\n", false},
    {"old(bo, eve)",
     "old(bo, eve) does not hold\n  line 4, parent(x, z)\n    parent(bo, eve) fails\n"
     "  line 4, exists y: parent(x, y) and old(y, z)\n    old(cy, eve) fails\n",
     true},
    {"old(eve, ann)",
     "old(eve, ann) does not hold\n  line 4, parent(x, z)\n    parent(eve, ann) fails\n"
     "  line 4, exists y: parent(x, y) and old(y, z)\n    parent(eve, y) fails\n",
     true},
    {"last(ann)",
     "last(ann) does not hold\n  line 5, not (exists y: parent(x, y))\n"
     "    not (exists y: parent(ann, y)) fails\n",
     true},
    {"parent(bo, ann)", "parent(bo, ann) does not hold: it is not a fact\n", true},
    {"heirs(ann, 3)", "heirs(ann, 3) does not hold: the number is 4\n", true},
    {"old(ann, bo)", "old(ann, bo) holds\n", true},
};

static void texts(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        asking a = {0};
        written got = {.length = 0};
        takt_derivation *proof = NULL;
        if (EXPECT_OK(ctx, open_fact(ctx, FAMILY, said[i].fact, &a))) {
            if (said[i].is_why_not)
                EXPECT_OK(ctx, takt_fact_why_not(a.m, said[i].fact, a.s, TAKT_FORMAT_TEXT, collect,
                                                 &got));
            else if (EXPECT_OK(ctx, takt_fact_prove(a.m, said[i].fact, a.s, &proof)) &&
                     EXPECT(proof != NULL, "%s does not hold", said[i].fact))
                EXPECT_OK(ctx, takt_derivation_write(proof, TAKT_FORMAT_TEXT, collect, &got));
            EXPECT(strcmp(got.at, said[i].want) == 0, "%s instead of %s", got.at, said[i].want);
        }
        takt_derivation_free(proof);
        close_fact(&a);
    }
    takt_ctx_destroy(ctx);
}

/* ---- numbers that are rounded ---- */

static const char NUMBERS[] = "domain d = 3\nmodel m(v: f32[3]) {\n"
                              "  w = constant(f32[3], [0.1, 0.2, 0.4])\n"
                              "  rule exact(x: d) = w[x] == 0.1 * (x + 1)\n"
                              "  rule all(x: d) = (sum y in d: w[y]) <= 0.7\n"
                              "  rule mid(x: d, m: f32) = m == mean y in d: w[y]\n"
                              "  rule rest(x: d) = w[x] % 0.3 > 0.05\n"
                              "  rule most(x: d) = (sum y in d: v[y]) > 16777216\n"
                              "  return exact, all, mid, rest, most\n}\n";

/* The run sums to 2^24 in f32, whatever the order, unless 0.75 meets 0.75 first. */
static takt_status open_numbers(takt_ctx *ctx, const char *fact, asking *a)
{
    static const float v[] = {16777216, 0.75F, 0.75F};
    written outputs = {.length = 0};
    TAKT_TRY(takt_model_load_memory(ctx, "m.takt", NUMBERS, strlen(NUMBERS), NULL, &a->m));
    TAKT_TRY(takt_fact_outputs(a->m, fact, collect, &outputs));
    const takt_plan_options options = {.size = sizeof options, .outputs = outputs.at};
    TAKT_TRY(takt_plan_create(a->m, &options, &a->plan));
    TAKT_TRY(takt_session_create(a->plan, NULL, &a->s));
    const takt_tensor_view *own = takt_session_input(a->s, 0);
    if (own != NULL)
        memcpy(own->data, v, sizeof v);
    return takt_session_run(a->s);
}

static void rounded(void)
{
    static const char *const facts[] = {
        "exact(0)", "exact(1)", "all(2)", "mid(1, 0.23333333432674408)", "rest(0)", "rest(2)"};
    static const char want[] = "most(1) does not hold\n  line 8, (sum y: v[y]) > 16777216\n"
                               "    (sum y: v[y]) > 16777216 compares numbers that are rounded\n";
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        asking a = {0};
        takt_derivation *proof = NULL;
        if (EXPECT_OK(ctx, open_numbers(ctx, facts[i], &a)) &&
            EXPECT_OK(ctx, takt_fact_prove(a.m, facts[i], a.s, &proof)))
            EXPECT(proof != NULL, "%s does not hold", facts[i]);
        takt_derivation_free(proof);
        close_fact(&a);
    }
    asking a = {0};
    written text = {.length = 0}, json = {.length = 0};
    if (EXPECT_OK(ctx, open_numbers(ctx, "most(1)", &a))) {
        EXPECT_OK(ctx, takt_fact_why_not(a.m, "most(1)", a.s, TAKT_FORMAT_TEXT, collect, &text));
        EXPECT_OK(ctx, takt_fact_why_not(a.m, "most(1)", a.s, TAKT_FORMAT_JSON, collect, &json));
    }
    EXPECT(strcmp(text.at, want) == 0, "%s instead of %s", text.at, want);
    EXPECT(strstr(json.at, "\"rounded\": true") != NULL, "%s", json.at);
    close_fact(&a);
    takt_ctx_destroy(ctx);
}

/* ---- what is refused ---- */

static void refused(void)
{
    static const char soft[] = "domain d = 2\nmodel m(x: f32[d, d]) semantics=product {\n"
                               "  rule r(a) = exists b: x(a, b)\n  return r\n}\n";
    static const char many[] =
        "domain d = 170\nmodel m() {\n  relation edge(d, d) = [[0, 1]]\n"
        "  rule path(x, z) = x != z or edge(x, z) or exists y: path(x, y) and path(y, z)\n"
        "  rule way(x, z) = exists y: path(x, y) and path(y, z)\n  return way\n}\n";
    takt_ctx *ctx;
    asking a = {0};
    takt_derivation *proof = NULL;
    takt_derivation_step step;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_STATUS(ctx, open_fact(ctx, soft, "r(0)", &a), TAKT_ERR_UNSUPPORTED);
    close_fact(&a);
    EXPECT_STATUS(ctx, open_fact(ctx, FAMILY, "old(ann, x)", &a), TAKT_ERR_SYNTAX);
    close_fact(&a);
    EXPECT_STATUS(ctx, open_fact(ctx, FAMILY, "none(ann)", &a), TAKT_ERR_NOT_FOUND);
    close_fact(&a);
    if (EXPECT_OK(ctx, open_fact(ctx, FAMILY, "old(ann, bo)", &a))) {
        EXPECT_STATUS(ctx, takt_fact_prove(a.m, "line(ann)", a.s, &proof), TAKT_ERR_ARGUMENT);
        EXPECT_SAME(proof, NULL);
        EXPECT_OK(ctx, takt_fact_prove(a.m, "old(bo, ann)", a.s, &proof));
        EXPECT(proof == NULL && takt_derivation_step_count(proof) == 0);
        EXPECT_OK(ctx, takt_fact_prove(a.m, "old(ann, bo)", a.s, &proof));
        EXPECT_EQ(takt_derivation_step_count(proof), 2);
        EXPECT_STATUS(ctx, takt_derivation_at(proof, 2, &step), TAKT_ERR_NOT_FOUND);
        takt_derivation_free(proof);
        proof = NULL;
    }
    close_fact(&a);
    if (EXPECT_OK(ctx, open_fact(ctx, many, "way(3, 7)", &a))) {
        EXPECT_STATUS(ctx, takt_fact_prove(a.m, "way(3, 7)", a.s, &proof), TAKT_ERR_LIMIT);
        EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_RECURSION);
    }
    close_fact(&a);
    takt_ctx_destroy(ctx);
}

/* ---- memory ---- */

static takt_status scarce(takt_inject *inject, void *user)
{
    takt_ctx *ctx = NULL;
    takt_config config = {0};
    asking a = {0};
    written got = {.length = 0};
    takt_derivation *proof = NULL;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status == TAKT_OK)
        status = open_fact(ctx, FAMILY, "old(ann, dee)", &a);
    if (status == TAKT_OK)
        status = takt_fact_prove(a.m, "old(ann, dee)", a.s, &proof);
    if (status == TAKT_OK)
        status = takt_derivation_write(proof, TAKT_FORMAT_JSON, collect, &got);
    got.length = 0;
    if (status == TAKT_OK)
        status = takt_derivation_write(proof, TAKT_FORMAT_TEXT, collect, &got);
    if (status == TAKT_OK)
        status = takt_fact_why_not(a.m, "old(eve, ann)", a.s, TAKT_FORMAT_JSON, collect, &got);
    takt_derivation_free(proof);
    close_fact(&a);
    takt_ctx_destroy(ctx);
    return status;
}

static void memory(void)
{
    const takt_sweep_report r = takt_sweep(scarce, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(heights, checker, texts, rounded, refused, memory)
