/* logic_datalog.c - Datalog programs as rules: what is written, what is refused, scarce memory. */
#include <string.h>

#include <takt/takt.h>

#include "base/mem.h"
#include "lang/parse.h"
#include "logic/datalog.h"
#include "test.h"
#include "util/inject.h"

static takt_status facts(void *user, const char *name, void **bytes, size_t *length)
{
    static const char text[] = "a\tb\nb\tc\r\n";
    EXPECT(strcmp(name, "p.tsv") == 0, "%s", name);
    TAKT_TRY(takt_mem_zero(user, sizeof text - 1, 1, "facts", bytes));
    memcpy(*bytes, text, sizeof text - 1);
    *length = sizeof text - 1;
    return TAKT_OK;
}

static const char program[] = ".type Name <: symbol\n"
                              ".decl p(x: Name, y: symbol)\n"
                              ".input p(filename=\"p.tsv\")\n"
                              ".decl q(x: symbol, n: number) // and a number\n"
                              "q(\"a\", 4).\n"
                              "q(x, 2) :- p(x, _), !p(_, x), x != \"d\" ; p(x, x).\n"
                              ".printsize q\n";
static const char want[] =
    "domain symbol = [\"a\", \"d\", \"b\", \"c\"]\n"
    "domain number = 5\n\n"
    "model program() {\n"
    "  relation p(symbol, symbol) = \"p.tsv\"\n"
    "  relation q_facts(symbol, number) = [[\"a\", 4]]\n"
    "  rule q(arg_0: symbol, arg_1: number) = q_facts(arg_0, arg_1)\n"
    "  rule q(x: symbol, arg_1: number) = arg_1 == 2 and ((((exists any_0: p(x, any_0)) and "
    "not ((exists any_1: p(any_1, x)))) and x != \"d\") or p(x, x))\n"
    "  rule q_size(n: i64) = n == count arg_0, arg_1: q(arg_0, arg_1)\n"
    "  return q_size\n"
    "}\n";

static takt_status translate(takt_ctx *ctx, const char *text, takt_text *out)
{
    return takt_dlog_translate(ctx, "m.dl", (takt_span){text, strlen(text)}, facts, ctx, out);
}

static takt_status scarce(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_text out;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    takt_text_init(&out, own);
    status = translate(own, user, &out);
    takt_text_deinit(&out);
    takt_ctx_destroy(own);
    return status;
}

static void writes(void)
{
    takt_ctx *ctx;
    takt_text out;
    char copy[sizeof program];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_text_init(&out, ctx);
    EXPECT_OK(ctx, translate(ctx, program, &out));
    EXPECT(strcmp(takt_text_get(&out), want) == 0, "%s", takt_text_get(&out));
    takt_text_deinit(&out);
    memcpy(copy, program, sizeof program);
    const takt_sweep_report r = takt_sweep(scarce, copy, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 3, "%s", r.message);
    takt_ctx_destroy(ctx);
}

static void refuses(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{".decl a(x: number)\na(n) :- n = count : { a(_) }.", "m.dl:2: functors"},
                 {".comp A { }", "m.dl:1: directives"},
                 {".decl a(x: number)\n\na(x + 1) :- a(x).", "m.dl:3: a head that makes"},
                 {".decl a(x: symbol)\na(\"b).", "m.dl:2: a string"},
                 {"a(1).", "m.dl:1: no .decl"},
                 {".decl a(x: float)", "m.dl:1: no type"},
                 {".decl a(x: number)\na(-1).", "m.dl:2: terms"},
                 {".decl a(x: number)\na(\"b\").", "m.dl:2: a fact"},
                 {".decl a(x: number)\na(1, 2).", "m.dl:2: more arguments"},
                 {"", "m.dl:1: the text declares"}};
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_text out;
        takt_text_init(&out, ctx);
        EXPECT_STATUS(ctx, translate(ctx, cases[i].text, &out), TAKT_ERR_FORMAT);
        EXPECT(takt_last_error_info(ctx)->id == TAKT_E_DATALOG &&
                   strstr(takt_last_error(ctx), cases[i].says) != NULL,
               "%s: %s", cases[i].text, takt_last_error(ctx));
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(writes, refuses)
