/* grammar.c - grammars and schemas: accepted and refused texts, mistakes, limits, masks, memory. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "test.h"
#include "util/inject.h"

static takt_ctx *ctx;
static const char model[] = "tests/corpus/gguf/tiny.gguf";

/* Whether the whole text is one of the grammar's. */
static bool takes(const takt_grammar *g, const char *text, size_t length)
{
    takt_matcher *m;
    bool good = true;
    if (!EXPECT_OK(ctx, takt_matcher_create(g, NULL, &m)))
        return false;
    for (size_t i = 0; i < length && good; i++) /* byte by byte: borders are anywhere */
        good = takt_matcher_accept_bytes(m, text + i, 1) == TAKT_OK;
    good = good && takt_matcher_can_end(m);
    takt_matcher_reset(m);
    const bool whole =
        takt_matcher_accept_bytes(m, text, length) == TAKT_OK && takt_matcher_can_end(m);
    EXPECT(whole == good, "%s: at once and byte by byte differ", text);
    takt_matcher_destroy(m);
    return good;
}

static void hold(const char *source, bool is_schema, const char *const good[],
                 const char *const bad[])
{
    takt_grammar *g;
    if (!EXPECT_OK(ctx, is_schema ? takt_grammar_of_schema(ctx, source, 0, &g)
                                  : takt_grammar_parse(ctx, source, 0, &g)))
        return;
    for (size_t i = 0; good[i] != NULL; i++)
        EXPECT(takes(g, good[i], strlen(good[i])), "%s refuses %s\n%s", source, good[i],
               takt_grammar_text(g));
    for (size_t i = 0; bad[i] != NULL; i++)
        EXPECT(!takes(g, bad[i], strlen(bad[i])), "%s takes %s", source, bad[i]);
    takt_grammar_destroy(g);
}

#define HOLD(source, is_schema, good, bad)                                                         \
    hold(source, is_schema, (const char *const[]){good NULL}, (const char *const[]){bad NULL})
#define T(...) __VA_ARGS__,

static void gbnf(void)
{
    HOLD("root ::= \"yes\" | \"no\"", false, T("yes", "no"), T("", "y", "yess", "maybe"));
    HOLD("root ::= [a-c]+ \"-\"? [^a-z]{2,3}", false, T("a-12", "abc123", "cAB"),
         T("12", "a1", "a1234", "abd12"));
    HOLD("# words\nroot ::= word (\" \" word)*\nword ::=\n  \"a\" | \"b\" # two\n  | \"c\"\n",
         false, T("a", "a b c"), T("", "a ", " a", "d"));
    HOLD("root ::= ( \"(\" root \")\" )?", false, T("", "()", "((()))"), T("(", "())"));
    HOLD("root ::= .{3}", false, T("abc", "\xC3\xA9\xE6\x88\x91\xF0\x9F\x9A\x80"),
         T("ab", "abcd", "\xC3\xC3\x80",
           "a\xFF"
           "b"));
    HOLD("root ::= [\\u00e0-\\u00ef\\U0001F600-\\U0001F64F]\"\\x41\\n\\\"\"", false,
         T("\xC3\xA9"
           "A\n\"",
           "\xF0\x9F\x98\x80"
           "A\n\""),
         T("e"
           "A\n\"",
           "\xC3\xB0"
           "A\n\"",
           "\xF0\x9F\x99\x90"
           "A\n\""));
    HOLD("root ::= a* b*\na ::= \"x\"?\nb ::= (\"y\"*)*", false, T("", "xxx", "xyy", "yyyy"),
         T("yx", "z"));
    HOLD("root ::= \"a\"{0} \"b\"{2} \"c\"{1,} (\"d\" | )", false, T("bbc", "bbcccd"),
         T("bb", "abbc", "bbcdd"));
}

static void schemas(void)
{
    HOLD("{}", true, T("1", "\"a\"", "{\"a\":[1,true,null]}", "[]", "-1.5e3"),
         T("", "{a:1}", "01", "[1,]", "nul"));
    HOLD("{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": "
         "{\"type\": \"string\"}, \"c\": {\"enum\": [1, \"x\\\"y\", null]}}, \"required\": "
         "[\"b\"]}",
         true,
         T("{\"b\":\"\"}", "{\"a\":1,\"b\":\"x\\n\"}", "{\"a\": -3, \"b\": \"\", \"c\": 1}",
           "{\"b\":\"q\",\"c\":\"x\\\"y\"}"),
         T("{}", "{\"a\":1}", "{\"b\":1}", "{\"b\":\"\",\"a\":1}", "{\"a\":1.5,\"b\":\"\"}",
           "{\"b\":\"\",\"c\":2}"));
    HOLD("{\"type\": \"array\", \"items\": {\"type\": [\"boolean\", \"null\"]}, \"minItems\": 1, "
         "\"maxItems\": 3}",
         true, T("[true]", "[null, false,true]"), T("[]", "[true,true,true,true]", "[1]"));
    HOLD("{\"prefixItems\": [{\"const\": 1}, {\"type\": \"string\"}]}", true, T("[1,\"a\"]"),
         T("[1]", "[\"a\",1]", "[1,\"a\",2]"));
    HOLD(
        "{\"$ref\": \"#/$defs/node\", \"$defs\": {\"node\": {\"type\": \"object\", \"properties\": "
        "{\"v\": {\"type\": \"number\"}, \"next\": {\"anyOf\": [{\"$ref\": \"#/$defs/node\"}, "
        "{\"type\": \"null\"}]}}, \"required\": [\"v\", \"next\"]}}}",
        true, T("{\"v\":1,\"next\":null}", "{\"v\":1.5,\"next\":{\"v\":2,\"next\":null}}"),
        T("{\"v\":1}", "{\"v\":1,\"next\":2}"));
    HOLD("{\"type\": \"string\", \"pattern\": \"^[a-f]{2,3}(-\\\\d+)?(x|yz)$\"}", true,
         T("\"abx\"", "\"abc-12yz\""), T("\"ax\"", "\"abcdx\"", "\"ab-x\"", "abx"));
    HOLD("{\"type\": \"string\", \"minLength\": 2, \"maxLength\": 3}", true,
         T("\"ab\"", "\"\xC3\xA9\xC3\xA9\xC3\xA9\"", "\"\\u00e9a\""), T("\"a\"", "\"abcd\""));
    HOLD("{\"type\": \"string\", \"format\": \"date-time\"}", true,
         T("\"2026-11-16T15:00:00Z\"", "\"2026-01-02T23:59:59.123+01:00\""),
         T("\"2026-13-01T00:00:00Z\"", "\"x\""));
    HOLD("{\"type\": \"integer\", \"minimum\": -2, \"maximum\": 11}", true, T("-2", "0", "11"),
         T("-3", "12", "1.0"));
    HOLD("{\"type\": \"integer\", \"minimum\": 1}", true, T("1", "20"), T("0", "-1"));
    HOLD("{\"type\": \"object\", \"additionalProperties\": {\"type\": \"integer\"}}", true,
         T("{}", "{\"a\":1,\"b\":2}"), T("{\"a\":\"\"}"));
    HOLD("{\"allOf\": [{\"properties\": {\"a\": {\"type\": \"null\"}}, \"required\": [\"a\"]}, "
         "{\"properties\": {\"b\": {\"type\": \"null\"}}}]}",
         true, T("{\"a\":null}", "{\"a\":null,\"b\":null}"), T("{}", "{\"b\":null}"));
    HOLD("{\"oneOf\": [{\"const\": {\"k\": [1.5]}}, {\"type\": \"string\", \"format\": \"uuid\"}]}",
         true, T("{\"k\":[1.5]}", "\"01234567-89ab-cdef-0123-456789abcdef\""), T("{}"));
}

/* ---- mistakes ---- */

static void mistakes(void)
{
    static const struct {
        int id;
        bool is_schema;
        const char *text, *says;
    } rows[] = {
        {TAKT_E_GRAMMAR, false, "root ::= \"a", "ends"},
        {TAKT_E_GRAMMAR, false, "root ::= [a", "ends"},
        {TAKT_E_GRAMMAR, false, "root ::= (\"a\"", "not closed"},
        {TAKT_E_GRAMMAR, false, "root = \"a\"", "::="},
        {TAKT_E_GRAMMAR, false, "a ::= \"a\"", "no rule root"},
        {TAKT_E_GRAMMAR, false, "root ::= a", "no rule a"},
        {TAKT_E_GRAMMAR, false, "root ::= \"a\"\nroot ::= \"b\"", "twice"},
        {TAKT_E_GRAMMAR, false, "root ::= [z-a]", "range"},
        {TAKT_E_GRAMMAR, false, "root ::= \"\\q\"", "escape"},
        {TAKT_E_GRAMMAR, false, "root ::= \"\\uD800\"", "no character"},
        {TAKT_E_GRAMMAR, false, "root ::= \"a\"{3,2}", "repeat"},
        {TAKT_E_GRAMMAR, false, "root ::= \"a\" ] ", "unexpected"},
        {TAKT_E_GRAMMAR_LIMIT, false, "root ::= root \"a\" | \"b\"", "left-recursive"},
        {TAKT_E_GRAMMAR_LIMIT, false, "root ::= a\na ::= \"x\"? b\nb ::= a", "left-recursive"},
        {TAKT_E_GRAMMAR_LIMIT, false, "root ::= (root)*", "left-recursive"},
        {TAKT_E_GRAMMAR_LIMIT, false, "root ::= \"a\"{1048576}", "repeats too often"},
        {TAKT_E_GRAMMAR_LIMIT, false, "root ::= ((((\"a\"{99}){99}){99}){99}){99}", "too often"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"not\": {}}", "not"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"type\": \"number\", \"minimum\": 3}", "minimum"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"patternProperties\": {}}", "patternProperties"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"$ref\": \"https://x/y\"}", "another document"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"pattern\": \"a\"}", "begin with ^"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"pattern\": \"^(?=a)$\"}", "looks ahead"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"pattern\": \"^(a$\"}", "brackets"},
        {TAKT_E_GRAMMAR_UNSUPPORTED, true, "{\"items\": false}", "false"},
        {TAKT_E_GRAMMAR, true, "{\"$ref\": \"#/nowhere\"}", "nowhere"},
        {TAKT_E_GRAMMAR, true, "{\"type\": \"tuple\"}", "type"},
        {TAKT_E_GRAMMAR, true, "{\"enum\": []}", "list"},
        {TAKT_E_GRAMMAR, true, "[]", "object"},
        {TAKT_E_GRAMMAR, true, "{\"maxLength\": -1}", "size"},
        {TAKT_E_GRAMMAR_LIMIT, true, "{\"maxLength\": 1048576}", "too many"},
        {TAKT_E_GRAMMAR_LIMIT, true, "{\"$ref\": \"#\"}", "left-recursive"},
    };
    takt_grammar *g;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const takt_status status = rows[i].is_schema
                                       ? takt_grammar_of_schema(ctx, rows[i].text, 0, &g)
                                       : takt_grammar_parse(ctx, rows[i].text, 0, &g);
        const takt_error *e = takt_last_error_info(ctx);
        EXPECT(status != TAKT_OK && e->id == rows[i].id && strstr(e->message, rows[i].says),
               "%s: status %d, %d: %s", rows[i].text, status, e->id, e->message);
        takt_grammar_destroy(status == TAKT_OK ? g : NULL);
    }
}

/* Texts of a few bytes that would take forever, or grow by powers, if they were followed. */
static void endless(void)
{
    char text[4096] = "";
    takt_grammar *g;
    HOLD("root ::= \"\"{999999}{999999}", false, T(""), T("a"));
    HOLD("{\"type\":\"integer\",\"minimum\":9223372036854775800,"
         "\"maximum\":9223372036854775807}",
         true, T("9223372036854775807"), T("9223372036854775808"));
    for (int i = 0; i < 24; i++)
        strcat(text, "{\"type\":\"object\",\"additionalProperties\":");
    strcat(text, "{}");
    for (int i = 0; i < 24; i++)
        strcat(text, "}");
    if (EXPECT_OK(ctx, takt_grammar_of_schema(ctx, text, 0, &g))) {
        EXPECT_IS(strlen(takt_grammar_text(g)), <, 1 << 16);
        takt_grammar_destroy(g);
    }
}

static void deep(void)
{
    static char text[1 << 16];
    takt_grammar *g;
    strcpy(text, "root ::= ");
    for (int i = 0; i < 9000; i++)
        strcat(text, "(");
    EXPECT_STATUS(ctx, takt_grammar_parse(ctx, text, 0, &g), TAKT_ERR_LIMIT);
    text[0] = '\0';
    for (int i = 0; i < 2000; i++)
        strcat(text, "{\"items\": ");
    EXPECT_STATUS(ctx, takt_grammar_of_schema(ctx, text, 0, &g), TAKT_ERR_LIMIT);
    /* Returns that are open take memory, which is limited: an error, and the text can start again.
     */
    takt_matcher *m;
    takt_status status = TAKT_OK;
    if (!EXPECT_OK(ctx, takt_grammar_parse(ctx, "root ::= \"(\" root \")\" | \"x\"", 0, &g)) ||
        !EXPECT_OK(ctx, takt_matcher_create(g, NULL, &m)))
        return;
    memset(text, '(', 1000);
    for (int i = 0; i < 200 && status == TAKT_OK; i++)
        status = takt_matcher_accept_bytes(m, text, 1000);
    if (EXPECT_STATUS(NULL, status, TAKT_ERR_LIMIT))
        EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_GRAMMAR_LIMIT);
    takt_matcher_reset(m);
    EXPECT_OK(ctx, takt_matcher_accept_bytes(m, "((x))", 5));
    EXPECT(takt_matcher_can_end(m));
    takt_matcher_destroy(m);
    takt_grammar_destroy(g);
}

/* ---- tokens ---- */

/* The mask has exactly the tokens whose bytes are allowed. */
static void check_mask(takt_matcher *m, const takt_grammar *g, const takt_tokenizer *t,
                       const char *before)
{
    uint64_t bits[64];
    size_t count = 0, found = 0;
    EXPECT_OK(ctx, takt_matcher_mask(m, bits, &count));
    for (int32_t id = 0; (size_t)id < takt_tokenizer_count(t); id++) {
        char piece[64];
        takt_token_text text = {piece, sizeof piece, 0};
        takt_matcher *other;
        EXPECT_OK(ctx, takt_detokenize(t, &id, 1, TAKT_DETOKENIZE_CONTINUE, &text));
        if (!EXPECT_OK(ctx, takt_matcher_create(g, NULL, &other)))
            return;
        EXPECT_OK(ctx, takt_matcher_accept_bytes(other, before, strlen(before)));
        const bool may = takt_token_is_end(t, id)
                             ? takt_matcher_can_end(other)
                             : text.length > 0 &&
                                   takt_matcher_accept_bytes(other, piece, text.length) == TAKT_OK;
        const bool does = (bits[id / 64] >> id % 64 & 1) != 0;
        EXPECT(may == does, "after \"%s\": token %d, \"%.*s\"", before, id, (int)text.length,
               piece);
        found += does;
        takt_matcher_destroy(other);
    }
    EXPECT(found == count, "%zu of %zu", count, found);
}

static int gather(void *user, const char *text, size_t length)
{
    strncat(user, text, length);
    return 0;
}

static void tokens(void)
{
    takt_tokenizer *t;
    takt_grammar *g;
    takt_matcher *m;
    if (!EXPECT_OK(ctx, takt_tokenizer_load(ctx, model, &t)) ||
        !EXPECT_OK(ctx, takt_grammar_parse(ctx, "root ::= (\"a\" \" b\"?)+ [ab]", 0, &g)) ||
        !EXPECT_OK(ctx, takt_matcher_create(g, t, &m)))
        return;
    check_mask(m, g, t, "");
    EXPECT_OK(ctx, takt_matcher_accept_bytes(m, "a", 1));
    check_mask(m, g, t, "a");
    EXPECT_OK(ctx, takt_matcher_accept_bytes(m, " ", 1));
    check_mask(m, g, t, "a ");
    EXPECT_STATUS(ctx, takt_matcher_accept_bytes(m, "a", 1), TAKT_ERR_RANGE);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_GRAMMAR_STUCK);
    check_mask(m, g, t, "a ");
    takt_matcher_destroy(m);
    takt_grammar_destroy(g);
    takt_tokenizer_destroy(t);
}

/* A model with random weights generates what the grammar allows. */
static void texts(void)
{
    takt_generator *writer;
    takt_grammar *g;
    if (!EXPECT_OK(ctx, takt_generator_open(ctx, model, NULL, &writer)))
        return;
    EXPECT_OK(ctx, takt_grammar_parse(ctx, "root ::= (\"a b\" | \"ba\") \" a\"{2}", 0, &g));
    for (uint64_t seed = 0; seed < 20; seed++) {
        char text[256] = "";
        takt_generated result;
        takt_generate_options how = {.max_tokens = 40, .grammar = g};
        how.sampling.temperature = 5;
        how.sampling.seed = seed;
        takt_generator_reset(writer);
        EXPECT_OK(ctx, takt_generate(writer, "a", &how, gather, text, &result));
        EXPECT(takes(g, text, strlen(text)) && result.end == TAKT_TEXT_EOS, "\"%s\"", text);
    }
    takt_grammar_destroy(g);
    EXPECT_OK(ctx, takt_grammar_parse(ctx, "root ::= \"\\u6211\"", 0, &g));
    char text[256] = "";
    const takt_generate_options how = {.max_tokens = 40, .grammar = g};
    takt_generator_reset(writer);
    const takt_status status = takt_generate(writer, "a", &how, gather, text, NULL);
    EXPECT(status == TAKT_OK ? strcmp(text, "\xE6\x88\x91") == 0
                             : takt_last_error_info(ctx)->id == TAKT_E_GRAMMAR_STUCK,
           "\"%s\": %s", text, takt_last_error(ctx));
    takt_grammar_destroy(g);
    takt_generator_destroy(writer);
}

/* ---- memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_grammar *g = NULL;
    takt_matcher *m = NULL;
    takt_tokenizer *t = NULL;
    uint64_t bits[64];
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_grammar_of_schema(
        own,
        "{\"properties\": {\"a\": {\"items\": {\"pattern\": \"^a+$\"}}}, \"required\": "
        "[\"b\"]}",
        0, &g);
    if (status == TAKT_OK)
        status = takt_tokenizer_load(own, model, &t);
    if (status == TAKT_OK)
        status = takt_matcher_create(g, t, &m);
    if (status == TAKT_OK)
        status = takt_matcher_mask(m, bits, NULL);
    takt_matcher_destroy(m);
    takt_tokenizer_destroy(t);
    takt_grammar_destroy(g);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

static void begin(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, gbnf, schemas, mistakes, deep, endless, tokens, texts, memory, end)
