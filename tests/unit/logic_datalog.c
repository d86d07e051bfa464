/* logic_datalog.c - Datalog programs as rules: written rules, refusals, scarce memory. */
#include <string.h>
#include <time.h>

#include <takt/takt.h>

#include "base/mem.h"
#include "lang/parse.h"
#include "logic/datalog.h"
#include "test.h"
#include "util/inject.h"

static takt_status facts(void *user, const char *name, void **bytes, size_t *length)
{
    static const char text[] = "a\tb\nb\tc\r\n";
    const char *from = strcmp(name, "p.tsv") == 0 ? text : name; /* others hold their own name */
    *length = strlen(from);
    TAKT_TRY(takt_mem_zero(user, *length, 1, "facts", bytes));
    memcpy(*bytes, from, *length);
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

#define Q ".decl q(x: number) "
#define P ".decl p(x: number) "
#define S ".decl s(x: symbol) "
#define AGG ".decl s(x: symbol, h: number) .decl t(x: symbol, n: number)\n"

static const struct {
    const char *text, *says;
} wrong[] = {
    {AGG "t(a, n) :- s(a, n), n = mean h : s(a, h).", "m.dl:2: a mean is a float"},
    {AGG "t(a, n) :- s(a, n), n = sum h - 1 : s(a, h).", "m.dl:2: a sum of differences"},
    {AGG "t(a, n) :- s(a, _), n = count : { s(a, h), h < count : s(a, _) }.", "inside another"},
    {AGG "t(a, n) :- s(a, _), n = count : { s(a, 1) ; s(a, 2) }.", "m.dl:2: an aggregate of alt"},
    {AGG "t(a, n) :- s(a, _), n = sum n : s(a, n).", "m.dl:2: the result of an aggregate"},
    {AGG "t(a, n) :- n = count : s(a, _).", "m.dl:2: a variable that no atom binds: a"},
    {AGG "t(a, n) :- s(a, _), n = count : { s(a, _), h < 3 }.", "that no atom binds: h"},
    {AGG "t(a, n) :- s(a, _), n = count : b = a.", "m.dl:2: a variable that no atom binds: b"},
    {AGG "t(a, n) :- s(a, _), n = sum k : s(a, _).", "on a variable that no atom binds: k"},
    {AGG "t(a, n) :- s(a, n), n = 1 + count : s(a, _).", "m.dl:2: functors"},
    {AGG "t(a, n) :- s(a, _), n = count s(a, _).", "m.dl:2: here stands no :"},
    {AGG "t(a, n) :- s(a, _), n = sum h : s(a, h). s(\"a\", 1000000). s(\"a\", 1000001).",
     "m.dl:2: a count or sum may become too large for: t"},
    {AGG "t(a, n) :- s(a, _), n = sum 9 : s(a, _). s(\"a\", 1048575). .decl u(x: number, y: number,"
         " z: number)",
     "m.dl:2: a program with counts or sums"},
    {AGG "t(a, n) :- s(each_0, n), s(a, n).", "m.dl:2: the rules need this name"},
    {AGG "t(a, n) :- n = max h : { s(a, h) }.", "m.dl:2: a witness of min or max"},
    {AGG "t(a, n) :- s(a, _), n = max a : { s(a, _) }.", "m.dl:2: min and max are of"},
    {AGG "t(a, n) :- s(a, _), n = max b : { s(a, h) }.", "m.dl:2: min and max are of"},
    {AGG "t(a, n) :- s(a, n), n = min n : s(a, n).", "m.dl:2: a variable of min or max"},
    {AGG "t(a, n) :- s(a, n), n = min h : { s(_, h), h < n }.", "m.dl:2: a variable of"},
    {AGG "t(a, n) :- s(a, k), n = min h : { s(_, h), h < k }.", "no atom of the aggregate"},
    {AGG "t(a, n) :- s(a, n), (n = min h : s(a, h) ; n = 3).", "m.dl:2: min and max stand"},
    {AGG "t(a, n) :- s(a, n), !(n = min h : s(a, h)).", "m.dl:2: min and max stand"},
    {AGG "t(a, n) :- s(a, n), 3 = min h : s(a, h).", "m.dl:2: min and max are the value"},
    {AGG "t(a, n) :- s(a, n), n = min h : { s(a, h), h = min k : s(a, k) }.",
     "m.dl:2: min and max are the value"},
    {AGG "t(a, n) :- s(a, n), n = min h + 1 : s(a, h).", "m.dl:2: min and max are of one"},
    {AGG "t(a, n) :- s(a, n), n = max(n, 1).", "m.dl:2: functors"},
    {AGG "t(a, n) :- s(a, n), n = max (3, 2).", "m.dl:2: functors"},
    {AGG "t(a, n) :- s(a, n), n = min/**/(n, 2).", "m.dl:2: functors"},
    {AGG "t(a, n) :- s(a, n), n = max h : { s(a, h).", "m.dl:2: here stands no }"},
    {".comp A { }", "m.dl:1: directives"},
    {".decl a(x: number)\n\na(x + 1) :- a(x).", "m.dl:3: a head that makes"},
    {".decl a(x: symbol)\na(\"b).", "m.dl:2: a string"},
    {"a(1).", "m.dl:1: there is no .decl of: a"},
    {".type A = A | A\n.decl a(x: A)", "m.dl:2: no type of symbols or numbers: A"},
    {".type A = number | symbol\n.decl a(x: A)", "m.dl:2: no type"},
    {".type A = B { }", "m.dl:1: only types"},
    {Q P "\np(x) :- q(x), y < 3.", "m.dl:2: a variable that no atom binds: y"},
    {Q P "\np(x) :- q(x), !q(y).", "m.dl:2: a variable that no atom binds: y"},
    {Q P "\np(y) :- q(x).", "m.dl:2: a variable that no atom binds: y"},
    {Q P "\np(x) :- x = y, y = x.", "m.dl:2: a variable that no atom binds: x"},
    {Q P "\np(x) :- (q(x) ; q(y)), q(1).", "m.dl:2: a variable that no atom binds: x"},
    {".decl a(x: float)", "m.dl:1: no type"},
    {".decl a(x: number)\na(-1).", "m.dl:2: terms"},
    {Q "\nq(0x).", "m.dl:2: only numbers"},
    {Q "\nq(0b12).", "m.dl:2: only numbers"},
    {Q "\nq(0x1g).", "m.dl:2: only numbers"},
    {Q "\nq(0xffffffff).", "m.dl:2: only numbers"},
    {".decl a(x: number)\na(\"b\").", "m.dl:2: a fact"},
    {".decl a(x: number)\na(1, 2).", "m.dl:2: more arguments"},
    {Q "\n.decl q(x: number)", "m.dl:2: a second .decl of: q"},
    {Q "\n.decl p, p(x: number)", "m.dl:2: a second .decl of: p"},
    {Q "\n.decl p, (x: number)", "m.dl:2: a name is wanted here"},
    {".type A <: symbol\n.type A <: number", "m.dl:2: a second .type of: A"},
    {Q ".decl q_facts(x: number)", "m.dl:1: the rules need this name"},
    {Q ".decl q_size(x: number)", "m.dl:1: the rules need this name"},
    {".decl in(x: number)\n.decl in_(x: number)", "m.dl:2: the rules need this name"},
    {".decl a?(x: number)\n.decl a_(x: number)", "m.dl:2: the rules need this name"},
    {Q P "\np(arg_1) :- q(arg_1).", "m.dl:2: the rules need this name"},
    {Q P "\np(x) :- q(x), q(any_0).", "m.dl:2: the rules need this name"},
    {Q P "\np(x?) :- q(x?), q(x_).", "m.dl:2: the rules need this name"},
    {Q P "\np(?) :- q(?).", "m.dl:2: the rules need this name"},
    {Q P "\nq(5). p(y) :- q(x), y = x + 1.", "m.dl:2: arithmetic on a variable"},
    {Q P "\np(y) :- q(x), x + 1 = y.", "m.dl:2: arithmetic on a variable"},
    {Q P "\np(y) :- y = 2 + 3.", "m.dl:2: arithmetic on a variable"},
    {Q P "\np(y) :- q(x), (q(y) ; y = x + 1).", "m.dl:2: arithmetic on a variable"},
    {Q P "\np(y) :- q(x), !q(y), y = x + 1.", "m.dl:2: a variable that no atom binds: y"},
    {Q P "\np(x) :- q(x + 1).", "m.dl:2: arithmetic on a variable"},
    {Q P "\np(x) :- q(x), !q(y + 1).", "m.dl:2: arithmetic on a variable"},
    {Q P "\np(x) :- q(x), x < _ + 1.", "m.dl:2: _ stands"},
    {Q P "\np(x) :- q(x), x % 2 = 0.", "m.dl:2: only numbers are divided"},
    {Q P "\np(x) :- q(x), 7 / x = 0.", "m.dl:2: only numbers are divided"},
    {Q P "\np(x) :- q(x), 7 / 0 = x.", "m.dl:2: only numbers are divided"},
    {Q "\n.input q(delimiter=\",\")", "m.dl:2: options are IO and filename"},
    {Q "\n.output q(headers=true)", "m.dl:2: options are IO and filename"},
    {Q "\n.input q(IO=sqlite)", "m.dl:2: facts come from files"},
    {Q "\n.input q(filename=)", "m.dl:2: a string is wanted"},
    {Q ".input q(filename=\"1\n\")", "m.dl:1: a string without"},
    {Q ".input q(filename=\"1x\")", "1x:1: only numbers"},
    {Q ".input q(filename=\"9999999999\")", "9999999999:1: only numbers"},
    {S ".input s(filename=\"a,b\")", "a,b:1: a comma"},
    {S ".input s(filename=\"#a\")", "#a:1: a line of facts that begins"},
    {S ".input s(filename=\"\xff\")", ":1: a symbol is not UTF-8"},
    {S "\ns(\"a,b\").", "m.dl:2: a comma"},
    {S "\ns(\"#a\").", "m.dl:2: a line of facts that begins"},
    {S "\ns(\"\").", "m.dl:2: an empty symbol"},
    {".decl t(x: symbol, y: number) .input t(filename=\"t\")", "t:1: fewer columns"},
    {S "\n.pragma \"legacy\"", "m.dl:2: this .pragma is not read: legacy"},
    {S "\n.pragma 3", "m.dl:2: this .pragma is not read"},
    {"", "m.dl:1: the text declares"}};

static void refuses(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        takt_text out;
        takt_text_init(&out, ctx);
        EXPECT_STATUS(ctx, translate(ctx, wrong[i].text, &out), TAKT_ERR_FORMAT);
        EXPECT(takt_last_error_info(ctx)->id == TAKT_E_DATALOG &&
                   strstr(takt_last_error(ctx), wrong[i].says) != NULL,
               "%s: %s", wrong[i].text, takt_last_error(ctx));
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

/* min and max become rules; existing names of the program are avoided. */
static void writes_most(void)
{
    static const char text[] = AGG ".decl max_of_1, other(x: number)\n.output t, other\n"
                                   "s(\"a\", 1). max_of_1(1).\n"
                                   "t(h_, n) :- s(h_, _), n = max h : { s(h_, h), max_of_1(k) }.\n";
    static const char rules[] =
        "  rule max_of_2(h_: symbol, h: number) = exists k: (s(h_, h) and max_of_1(k))\n"
        "  rule max_of_3(h_: symbol, h: number) = exists h__: (max_of_2(h_, h) and "
        "(max_of_2(h_, h__) and h__ > h))\n"
        "  rule t(h_: symbol, n: number) = ((exists any_0: s(h_, any_0)) and (max_of_2(h_, n) and "
        "not (max_of_3(h_, n))))\n";
    takt_ctx *ctx;
    takt_text out;
    char copy[sizeof text];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_text_init(&out, ctx);
    EXPECT_OK(ctx, translate(ctx, text, &out));
    EXPECT(strstr(takt_text_get(&out), rules) != NULL, "%s", takt_text_get(&out));
    takt_text_deinit(&out);
    memcpy(copy, text, sizeof text);
    const takt_sweep_report r = takt_sweep(scarce, copy, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 3, "%s", r.message);
    takt_ctx_destroy(ctx);
}

/* count and sum stay where they are, and the numbers that they can make are in the domain. */
static void writes_folds(void)
{
    static const char text[] =
        AGG ".decl u(n: number)\ns(\"a\", 4). s(\"a\", 6). s(\"b\", 1).\n"
            "u(m) :- t(_, m), 3 < count : t(_, m), 3 > count : { t(b, m), s(_, _) }.\n"
            "t(a, n) :- s(a, _), n = sum 2 * h : { s(a, h), !s(_, 9) }.\n"
            "t(a, n) :- s(a, k), n = count : s(a, k).\n";
    static const char *const rules[] = {
        "domain number = 37\n", " 3 < (count each_0: (t(each_0, m)))", /* twice 6, of 3 facts */
        " 3 > (count b: ((t(b, m) and (exists any_1, any_2: s(any_1, any_2)))))",
        " n == (sum h: ((2 * h) if ((s(a, h) and not ((exists any_1: s(any_1, 9))))) else 0))",
        " n == (1 if (s(a, k)) else 0)"};
    takt_ctx *ctx;
    takt_text out;
    char copy[sizeof text];
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    takt_text_init(&out, ctx);
    EXPECT_OK(ctx, translate(ctx, text, &out));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        EXPECT(strstr(takt_text_get(&out), rules[i]) != NULL, "%s\n%s", rules[i],
               takt_text_get(&out));
    takt_text_deinit(&out);
    memcpy(copy, text, sizeof text);
    const takt_sweep_report r = takt_sweep(scarce, copy, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations > 3, "%s", r.message);
    takt_ctx_destroy(ctx);
}

#define FOUR S P ".decl v(x: number) s(\"a\"). s(\"b\"). s(\"c\"). s(\"d\"). "
/* Variables that no head has, or that reach one by equations; a difference is subtracted. */
static void bounds_folds(void)
{
    static const char *const cases[][2] = {
        {FOUR "p(0) :- n = count : s(_), n > 2.", "domain number = 5\n"},
        {FOUR "p(x) :- n = count : s(_), x = y, y = z, z = n.", "domain number = 5\n"},
        {FOUR "v(5). p(n) :- v(k), w = k, z = w, n = sum z : s(_).", "domain number = 21\n"},
        {FOUR Q "q(3). q(2). p(n) :- n = sum x : v(x). v(x) :- q(x), q(y), x = 0-(0-y).", "= 13"}};
    takt_ctx *ctx;
    takt_text out;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_text_init(&out, ctx);
        EXPECT_OK(ctx, translate(ctx, cases[i][0], &out));
        EXPECT(strstr(takt_text_get(&out), cases[i][1]) != NULL, "%s", takt_text_get(&out));
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

/* Files of facts: each is refused at its own line. */
static takt_status lines(void *user, const char *name, void **bytes, size_t *length)
{
    static const char *const texts[] = {"a\tb\n\nx\"y\tc\n", "a\tb\nb\tc\\\n", "a\tb\tc\n",
                                        "a\tb\na\n", "a\t\n"};
    const char *from = texts[name[0] - '0'];
    *length = strlen(from);
    TAKT_TRY(takt_mem_zero(user, *length, 1, "facts", bytes));
    memcpy(*bytes, from, *length);
    return TAKT_OK;
}

static void refuses_files(void)
{
    static const char *const says[] = {"0:3: a symbol with quotes", "1:2: a symbol with quotes",
                                       "2:1: more columns", "3:2: fewer columns",
                                       "4:1: an empty symbol"};
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        char text[] = ".decl t(x: symbol, y: symbol) .input t(IO=file, filename=\"0\")";
        *strchr(text, '0') = (char)('0' + (int)i);
        takt_text out;
        takt_text_init(&out, ctx);
        EXPECT_STATUS(
            ctx,
            takt_dlog_translate(ctx, "m.dl", (takt_span){text, strlen(text)}, lines, ctx, &out),
            TAKT_ERR_FORMAT);
        EXPECT(takt_last_error_info(ctx)->id == TAKT_E_DATALOG &&
                   strstr(takt_last_error(ctx), says[i]) != NULL,
               "%s", takt_last_error(ctx));
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

/* Constructs repeated a hundred thousand times are refused, and do not overflow the stack. */
static void refuses_chains(void)
{
    static const struct {
        const char *before, *again, *after;
    } cases[] = {{Q P "p(x) :- q(x), ", "!", "q(x)."},   {Q P "p(x) :- ", "q(x),", "q(x)."},
                 {Q P "p(x) :- ", "q(x);", "q(x)."},     {Q P "p(x) :- q(x), x < ", "1+", "1."},
                 {Q P "p(x) :- q(x), x < ", "2*", "1."}, {Q P "p(x) :- ", "(", "q(x)."}};
    enum { TIMES = 100000 };
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_text in, out;
        takt_text_init(&in, ctx);
        takt_text_init(&out, ctx);
        takt_text_add(&in, "%s", cases[i].before);
        for (int k = 0; k < TIMES; k++)
            takt_text_put(&in, cases[i].again, strlen(cases[i].again));
        takt_text_add(&in, "%s", cases[i].after);
        EXPECT_STATUS(ctx, translate(ctx, takt_text_get(&in), &out), TAKT_ERR_FORMAT);
        EXPECT(takt_last_error_info(ctx)->id == TAKT_E_DATALOG, "%s", takt_last_error(ctx));
        takt_text_deinit(&in);
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

/* Programs that look like the above and mean the same in both. */
static void accepts(void)
{
    static const char *const cases[][2] = {
        {Q P "p(y) :- q(x), q(y), y = x + 1.", "(q(x) and q(y)) and y == (x + 1)"},
        {Q P "p(y) :- q(y), x = 5, y = x + 1.", "x == 5) and y == (x + 1)"},
        {Q P "p(x) :- q(x), x < 7 / 2.", "x < (7 // 2)"},
        {"p(x) :- q(x), y = 3. q(1). " Q P, "exists y in number: (q(x) and y == 3)"},
        {Q P "p(x) :- q(y), x = y, x < 3.", "rule p(x: number) = exists y: "},
        {S P "p(1) :- x = \"a\", y = x.", "exists x in symbol, y in symbol"},
        {".decl a(x: A) .type A = B | C .type B = D .type C <: symbol .type D <: symbol a(\"x\").",
         "relation a(symbol) = [[\"x\"]]"},
        {Q P "p(?in) :- q(?in), q(in).", "q(_in) and q(in_)"},
        {Q P "/*/ q(7). */ q(1).", "= [[1]]\n"},
        {Q P "/**/ q(1). /***/", "= [[1]]\n"},
        {".decl q(x: unsigned) q(7u). q(0x2A). q(0b101u).", "= [[7], [42], [5]]\n"},
        {".decl t(x: symbol, y: symbol) t(\"a,b\", \"#\").", "[[\"a,b\", \"#\"]]"},
        {".decl t(x: symbol) .input t(filename=\"t\") .output t(IO=stdout, filename=\"u\")",
         "relation t(symbol) = \"t\""},
        {".pragma \"magic-transform\" \"*\" .decl t(x: symbol) inline no_magic btree t(\"a\").",
         "relation t(symbol) = [[\"a\"]]"}};
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        takt_text out;
        takt_text_init(&out, ctx);
        EXPECT_OK(ctx, translate(ctx, cases[i][0], &out));
        EXPECT(strstr(takt_text_get(&out), cases[i][1]) != NULL, "%s", takt_text_get(&out));
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

/* ---- long programs ---- */

/* The time grows with the text, not with its square. */
static void reads_many(void)
{
    enum { LINES = 100000, MOST_S = 3 };
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (int has_types = 0; has_types < 2; has_types++) {
        takt_text in, out;
        takt_text_init(&in, ctx);
        takt_text_init(&out, ctx);
        takt_text_add(&in, ".type T0 <: symbol\n.decl e(a: T40) .decl e0(a: symbol) e(\"a\").\n");
        for (int i = 1; i < LINES; i++)
            if (has_types || i <= 40)
                takt_text_add(&in, ".type T%d = T%d\n", i, i - 1);
            else
                takt_text_add(&in, ".decl e%d(a: T%d)\n", i, i % 40);
        const clock_t from = clock();
        EXPECT_OK(ctx, translate(ctx, takt_text_get(&in), &out));
        const double s = (double)(clock() - from) / CLOCKS_PER_SEC;
        EXPECT(s < MOST_S, "%d lines took %.1f s", LINES, s);
        EXPECT(strstr(takt_text_get(&out), "relation e(symbol) = [[\"a\"]]") != NULL);
        takt_text_deinit(&in);
        takt_text_deinit(&out);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(writes, writes_most, writes_folds, bounds_folds, refuses, refuses_files, refuses_chains,
          accepts, reads_many)
