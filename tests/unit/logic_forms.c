/* logic_forms.c - forms of relations by hand: the words dense and sparse, the limit of dense ones,
 * and sets of tuples that a caller binds. */
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;

static takt_status load(const char *text, uint64_t limit, takt_model **model)
{
    const takt_load_options options = {.dense_limit = limit};
    return takt_model_load_memory(ctx, "m.takt", text, strlen(text), &options, model);
}

/* ---- which form ---- */

/* The form of `path`, by the words of its rule and of the facts it uses. */
static void form(const char *facts, const char *rule, uint64_t limit, takt_relation_form want)
{
    char text[512];
    takt_model *m = NULL;
    takt_relation r = {0};
    snprintf(text, sizeof text,
             "domain d = 70\nmodel m() {\n  relation e(d, d) %s = [[0, 1], [1, 2], [2, 0]]\n"
             "  rule path(x, z) %s = e(x, z) or exists y: e(x, y) and path(y, z)\n"
             "  return path\n}\n",
             facts, rule);
    if (!EXPECT_OK(ctx, load(text, limit, &m)))
        return;
    EXPECT_OK(ctx, takt_model_relation(m, 1, &r));
    EXPECT(strcmp(r.name, "path") == 0 && r.form == want, "%s, %s: %s has form %d", facts, rule,
           r.name, (int)r.form);
    takt_model_destroy(m);
}

static void forms(void)
{
    const takt_relation_form bits = TAKT_RELATION_BITS, tuples = TAKT_RELATION_TUPLES;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    form("", "", 0, bits);
    form("", "sparse", 0, tuples);
    form("", "capacity=100", 0, tuples);
    form("", "sparse capacity=100", 0, tuples);
    form("sparse", "", 0, tuples);
    form("dense", "", 0, bits);
    form("dense", "sparse", 0, tuples); /* facts are known in both forms */
    form("", "", 1120, bits);           /* 70 rows of two words */
    form("", "", 600, tuples);
    form("dense", "dense", 600, bits);
    form("", "sparse", 1 << 30, tuples);
    takt_ctx_destroy(ctx);
}

/* ---- mistakes ---- */

static void refused_of(const char *domain, const char *lines, const char *says)
{
    char text[512];
    takt_model *m = NULL;
    snprintf(text, sizeof text, "domain d = %s\nmodel m() {\n%s}\n", domain, lines);
    EXPECT(load(text, 0, &m) != TAKT_OK, "read: %s", lines);
    EXPECT(strstr(takt_last_error(ctx), says) != NULL, "%s\n%s", lines, takt_last_error(ctx));
    takt_model_destroy(m);
}

static void refused(const char *lines, const char *says)
{
    refused_of("70", lines, says);
}

static void mistakes(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    refused_of("i32", "  relation e(d) dense = [[0]]\n  return e\n",
               "e cannot be dense and sparse");
    refused_of("i32", "  relation e(d) = [[0, 0.5]]\n  return e\n", "e has weights");
    refused_of("i32", "  relation e(d)\n  return e\n", "wants a capacity");
    refused_of("i32", "  relation e(d) = [[0]]\n  rule p(x) dense = e(x)\n  return p\n",
               "p is not a set of tuples, but its domain is i32");
    refused_of("i32", "  return full(shape=[d], value=1)\n",
               "domain d is i32, which only sets of tuples can have");
    refused_of("i64", "  relation e(d) = [[0]]\n  return e\n", "a domain's size is a number");
    refused("  relation e(d, d) dense sparse = [[0, 1]]\n  return e\n",
            "e cannot be dense and sparse");
    refused("  relation e(d, d) capacity=9 = [[0, 1]]\n  return e\n",
            "a capacity is of an input that is sparse");
    refused("  relation e(d, d) rounds=9 = [[0, 1]]\n  return e\n",
            "a relation has no option like rounds");
    refused("  relation e(d, d) sparse capacity=268435456\n  return e\n",
            "a capacity is a number from 1 to 268435455");
    refused("  relation e(d) = [[0]]\n  rule p(x) capacity=0 = e(x)\n  return p\n",
            "a capacity is a number from 1 to 268435455");
    refused("  relation e(d, d) sparse\n  return e\n", "an input that is sparse wants a capacity");
    refused("  relation e(d, d) sparse = [[0, 1, 0.5]]\n  return e\n",
            "e has weights, and a set of tuples has none");
    refused("  x = 1 > iota(shape=[70, 70], axis=0, dtype=i32)\n"
            "  relation e(d, d) sparse = x\n  return e\n",
            "e is a tensor, which is dense");
    refused("  relation e(d, d) = [[0, 1]]\n  rule p(x) dense capacity=9 = e(x, x)\n  return p\n",
            "p is dense, and a capacity is of tuples");
    refused("  relation e(d, d) = [[0, 1]]\n  rule p(x) dense = e(x, x)\n"
            "  rule p(x) sparse = e(x, x)\n  return p\n",
            "p cannot be dense and sparse");
    refused("  relation e(d, d) = [[0, 1]]\n  rule n(x, k: i32) sparse = k == count y: e(x, y)\n"
            "  return n\n",
            "dense and sparse are for Boolean relations with arguments, and n is a number");
    refused("  relation e(d, d) = [[0, 1, 0.5]]\n  rule p(x) sparse semantics=godel = e(x, x)\n"
            "  return p\n",
            "and p is godel");
    refused("  relation e(d, d) = [[0, 1]]\n  rule p() sparse = exists x: e(x, x)\n  return p\n",
            "and p is a single truth value");
    refused("  relation e(d, d) = [[0, 1]]\n  rule p(x) sparse = e(x, x)\n"
            "  rule q(x) dense = p(x)\n  return q\n",
            "q is dense, but uses p, which is a set of tuples");
    refused("  relation e(d, d) = [[0, 1]]\n  rule p(x) dense = e(x, x)\n"
            "  rule q(x) sparse = p(x)\n  return q\n",
            "q is a set of tuples, but uses p, which is dense");
    takt_ctx_destroy(ctx);
}

/* The words are not reserved. */
static void names(void)
{
    static const char text[] =
        "domain sparse = 3\nmodel dense(x: f32[2, 4]) seed=1 {\n"
        "  relation dense(sparse, sparse) = [[0, 1]]\n"
        "  rule sparse(dense, x: sparse) sparse = dense(dense, x)\n  y = linear(x)\n"
        "  return sparse, y\n}\nlayer linear(x) {\n  return dense(x, 2)\n}\n";
    takt_model *m = NULL;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, load(text, 0, &m));
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* Numbers without a bound: tuples, also of one argument. */
static void open_domain(void)
{
    static const char text[] =
        "domain id = i32\nmodel m() {\n"
        "  relation e(id, id) = [[2147483647, 5], [5, 0]]\n  relation s(id) = [[2147483647]]\n"
        "  rule r(x) = s(x) or exists y: r(y) and e(y, x)\n"
        "  rule n(k: i64) = k == count x: r(x)\n  return r, n\n}\n";
    static const uint32_t want[] = {0, 5, 2147483647};
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_tuples tuples = {0};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    if (EXPECT_OK(ctx, load(text, 0, &m)) && EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) && EXPECT_OK(ctx, takt_session_run(s)))
        EXPECT_OK(ctx, takt_relation_tuples(m, "r", takt_session_output(s, 0), &tuples));
    EXPECT(tuples.count == 3 && memcmp(tuples.entries, want, sizeof want) == 0, "%zu tuples",
           tuples.count);
    takt_tuples_free(ctx, &tuples);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* ---- tuples of a caller ---- */

static const char bound[] =
    "domain d = 100000\nmodel m() {\n  relation e(d, d) sparse capacity=8\n"
    "  rule path(x, z) sparse = e(x, z) or exists y: e(x, y) and path(y, z)\n  return path\n}\n";

/* The closure of the edges in the view, by the session. */
static void closure(takt_model *m, const takt_tensor_view *view, takt_tuples *tuples)
{
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) &&
        EXPECT_OK(ctx, takt_session_bind(s, "e", view)) && EXPECT_OK(ctx, takt_session_run(s)))
        EXPECT_OK(ctx, takt_relation_tuples(m, "path", takt_session_output(s, 0), tuples));
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

static int collect(void *user, const char *text, size_t length)
{
    strncat(user, text, length);
    return 0;
}

/* Proofs look facts up in the bound inputs. */
static void proof(takt_model *m, const takt_tensor_view *view)
{
    char outputs[64] = "";
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    takt_derivation *d = NULL;
    EXPECT_OK(ctx, takt_fact_outputs(m, "path(5, 99999)", collect, outputs));
    if (EXPECT_OK(ctx, takt_plan_create(m, &(takt_plan_options){.outputs = outputs}, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) &&
        EXPECT_OK(ctx, takt_session_bind(s, "e", view)) && EXPECT_OK(ctx, takt_session_run(s)))
        EXPECT_OK(ctx, takt_fact_prove(m, "path(5, 99999)", s, &d));
    EXPECT(d != NULL);
    takt_derivation_free(d);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* `count` of the bound facts. */
static void counted(const takt_tensor_view *view, int64_t want)
{
    static const char text[] = "domain d = 100000\nmodel m() {\n"
                               "  relation e(d, d) sparse capacity=8\n"
                               "  rule n(k: i32) = k == count x, y: e(x, y)\n  return n\n}\n";
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (EXPECT_OK(ctx, load(text, 0, &m)) && EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) &&
        EXPECT_OK(ctx, takt_session_bind(s, "e", view)) && EXPECT_OK(ctx, takt_session_run(s))) {
        const int64_t *n = takt_session_output(s, 0)->data;
        EXPECT(*n == want, "%lld tuples", (long long)*n);
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
}

/* Rows in any order, some of them twice and some empty, are the set of their tuples. */
static void any_order(void)
{
    enum { NONE = -1 };
    static const uint32_t want[] = {5, 7, 5, 9, 5, 99999, 7, 9, 7, 99999, 9, 99999};
    uint32_t rows[8][2] = {{9, 99999}, {7, 9},     {(uint32_t)NONE, (uint32_t)NONE}, {5, 7},
                           {7, 9},     {9, 99999}, {(uint32_t)NONE, (uint32_t)NONE}, {5, 7}};
    const takt_tensor_view view = {.data = rows, .dtype = TAKT_U32, .rank = 2, .dims = {8, 2}};
    takt_model *m = NULL;
    takt_tuples tuples = {0};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, load(bound, 0, &m));
    closure(m, &view, &tuples);
    EXPECT(tuples.count == 6 && memcmp(tuples.entries, want, sizeof want) == 0, "%zu tuples",
           tuples.count);
    takt_tuples_free(ctx, &tuples);
    EXPECT_OK(ctx, takt_relation_tuples(m, "e", &view, &tuples));
    EXPECT(tuples.count == 6, "%zu rows", tuples.count);
    takt_tuples_free(ctx, &tuples);
    proof(m, &view);
    counted(&view, 3);
    EXPECT_OK(ctx, takt_relation_check(m, "e", &view));
    EXPECT_STATUS(ctx, takt_relation_check(m, "f", &view), TAKT_ERR_NOT_FOUND);
    rows[3][1] = 100000;
    EXPECT_STATUS(ctx, takt_relation_check(m, "e", &view), TAKT_ERR_FORMAT);
    EXPECT(strstr(takt_last_error(ctx), "row 3, column 1 is 100000, and domain d has 100000") !=
               NULL,
           "%s", takt_last_error(ctx));
    const takt_tensor_view flat = {.data = rows, .dtype = TAKT_U32, .rank = 1, .dims = {16}};
    EXPECT_STATUS(ctx, takt_relation_check(m, "e", &flat), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
    /* the sizes of the domains, not of rows */
    EXPECT_OK(ctx, load("domain d = 16\ndomain o = 1\nmodel m() {\n"
                        "  relation e(d, o) sparse capacity=8\n  return e\n}\n",
                        0, &m));
    const takt_tensor_view thin = {.data = rows, .dtype = TAKT_U32, .rank = 2, .dims = {16, 1}};
    EXPECT_STATUS(ctx, takt_relation_check(m, "e", &thin), TAKT_ERR_ARGUMENT);
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

static void facts(void)
{
    static const char text[] = "7\t9\n5\t7\n7\t9\n9\t99999\n", many[] = "1,1\n2,2\n3,3\n4,4\n5,5\n"
                                                                        "6,6\n7,7\n8,8\n9,9\n";
    static const uint32_t want[] = {5, 7, 7, 9, 9, 99999, UINT32_MAX};
    takt_model *m = NULL;
    takt_tensor_view view;
    takt_tuples tuples = {0};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, load(bound, 0, &m));
    if (EXPECT_OK(ctx, takt_relation_read(m, "e", NULL, text, sizeof text - 1, &view))) {
        EXPECT_EQ(view.dims[0], 8);
        EXPECT_EQ(memcmp(view.data, want, sizeof want), 0);
        closure(m, &view, &tuples);
        EXPECT(tuples.count == 6, "%zu tuples", tuples.count);
        takt_tuples_free(ctx, &tuples);
        takt_view_free(ctx, &view);
    }
    EXPECT(takt_relation_read(m, "e", NULL, many, sizeof many - 1, &view) != TAKT_OK &&
               strstr(takt_last_error(ctx), "room for 8 tuples, and there are 9") != NULL &&
               view.data == NULL,
           "%s", takt_last_error(ctx));
    takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

/* ---- memory that runs out ---- */

/* Loads the text, reads facts of its input, and runs. */
static takt_status scarce(takt_inject *inject, void *user)
{
    static const char text[] = "7\t9\n5\t7\n9\t99999\n";
    takt_ctx *own = NULL;
    takt_model *m = NULL;
    takt_config config = {0};
    takt_tensor_view view = {.data = NULL};
    (void)user;
    takt_inject_config(inject, &config);
    TAKT_TRY(takt_ctx_create(&config, &own));
    takt_status status = takt_model_load_memory(own, "m.takt", bound, sizeof bound - 1, NULL, &m);
    if (status == TAKT_OK)
        status = takt_relation_read(m, "e", NULL, text, sizeof text - 1, &view);
    if (status == TAKT_OK)
        takt_view_free(own, &view);
    takt_model_destroy(m);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    const takt_sweep_report r = takt_sweep(scarce, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 20, "%s", r.message);
}

TEST_MAIN(forms, mistakes, names, open_domain, any_order, facts, memory)
