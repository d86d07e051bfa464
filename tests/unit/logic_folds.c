/* logic_folds.c - counts and sums of Datalog: duplicates count once, numbers that dense rules
 * cannot compute with are refused or become sets of tuples, and bounds propagate through any
 * chain. */
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "logic/datalog.h"
#include "test.h"

static takt_ctx *ctx;

static takt_status no_file(void *user, const char *name, void **bytes, size_t *length)
{
    (void)user, (void)name, (void)bytes, (void)length;
    return TAKT_ERR_IO;
}

static takt_status translate(const char *text, takt_text *out)
{
    takt_text_init(out, ctx);
    return takt_dlog_translate(ctx, "m.dl", (takt_span){text, strlen(text)}, no_file, ctx, out);
}

static void says(const char *text, const char *part)
{
    takt_text out;
    EXPECT_OK(ctx, translate(text, &out));
    EXPECT(strstr(takt_text_get(&out), part) != NULL, "%s\n%s", part, takt_text_get(&out));
    takt_text_deinit(&out);
}

#define E ".decl e(a: number, b: number) .decl f(a: number) .decl n(c: number)\ne(1, 2). e(3, 2). "
/* As Soufflé counts: it drops a repeated atom, and then each _ counts. */
static void repeated(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    says(E "n(c) :- c = count : { e(_, y), e(_, y) }.", "(count each_0, y: ((e(each_0, y) and ");
    says(E "n(c) :- c = count : { e(_, _), e(_, _), e(_, _) }.", "(count each_0, each_1: (");
    says(E "n(c) :- c = sum y : { e(_, y), y > 1, e(_, y) }.", "(sum each_0, y: (y if ");
    says(E "n(c) :- c = count : { e(_, 2), e(_, 2) }.", "(count each_0: (");
    says(E "n(c) :- c = count : { e(_, y), e(y, _) }.", "(count y: (");
    says(E "n(c) :- c = count : { e(_, 2), e(_, 3), f(x) }.", "(count x: (");
    says(E "n(c) :- c = count : { e(_, y), f(y) }.", "(count y: (");
    takt_ctx_destroy(ctx);
}

/* Rules in reverse order, so that each round applies one of them. */
static void chains(void)
{
    enum { LINKS = 90 };
    char text[16384];
    size_t at = (size_t)snprintf(text, sizeof text, ".decl e(a: number) e(3). e(4).\n");
    for (int i = 0; i < LINKS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ".decl r%d(a: number)\n", i);
    for (int i = LINKS - 1; i > 0; i--)
        at += (size_t)snprintf(text + at, sizeof text - at, "r%d(x) :- r%d(x).\n", i, i - 1);
    snprintf(text + at, sizeof text - at, "r0(c) :- c = sum x : e(x).\n");
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    says(text, "domain number = 9\n"); /* 4 + 4 at most */
    takt_ctx_destroy(ctx);
}

static void large(void)
{
    takt_text out;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_STATUS(ctx,
                  translate(".decl f(a: number) f(33554432). .decl n(c: number) "
                            "n(c) :- c = count : f(_).",
                            &out),
                  TAKT_ERR_FORMAT);
    EXPECT(strstr(takt_last_error(ctx), "numbers from 33554432 on, next to: f") != NULL, "%s",
           takt_last_error(ctx));
    takt_text_deinit(&out);
    says(".decl f(a: number) f(33554431). .decl n(c: number) n(c) :- c = count : f(_).",
         "domain number = 33554432\n");
    takt_ctx_destroy(ctx);
}

/* The form of `q`, which compares the numbers of its domain. */
static void form(const char *size, const char *rules, takt_relation_form want)
{
    char text[512];
    takt_model *m = NULL;
    takt_relation r = {0};
    snprintf(text, sizeof text,
             "domain d = %s\nmodel m() {\n  relation e(d) = [[5], [7]]\n%s  return q\n}\n", size,
             rules);
    if (!EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m)))
        return;
    EXPECT_OK(ctx, takt_model_relation(m, 1, &r));
    EXPECT(strcmp(r.name, "q") == 0 && r.form == want, "%s, %s: %s has form %d", size, rules,
           r.name, (int)r.form);
    takt_model_destroy(m);
}

static void compared(void)
{
    const takt_relation_form bits = TAKT_RELATION_BITS, tuples = TAKT_RELATION_TUPLES;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    form("33554432", "  rule q(x) = e(x) and x > 5\n", bits);
    form("33554433", "  rule q(x) = e(x) and x > 5\n", tuples); /* an i64 each: above 256 MiB */
    form("33554433", "  rule q(x) = e(x) and not e(x)\n", bits);
    form("33554433", "  rule q(x) dense = e(x) and x > 5\n", bits);
    /* Sets of tuples have no such rules. */
    form("33554433", "  rule q(x) = e(x) and x + 1 > 5\n", bits);
    form("33554433", "  rule q(x) = e(x) and (x > 5 implies x > 6)\n", bits);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(repeated, chains, large, compared)
