/* scan.c - texts are split into words as by the patterns of known tokenizers. */
#include "text/scan.h"

#include <string.h>

#include "test.h"

static void expect_words(const char *name, const char *text, const char *want)
{
    const takt_scan *s = takt_scan_named(takt_span_of(name));
    const takt_span span = takt_span_of(text);
    char got[512] = "";
    for (size_t at = 0, end; at < span.length; at = end) {
        end = takt_scan_word(s, span, at);
        if (!EXPECT(end > at && end <= span.length))
            return;
        snprintf(got + strlen(got), sizeof got - strlen(got), "[%.*s]", (int)(end - at), text + at);
    }
    EXPECT(strcmp(got, want) == 0, "%s: %s, not %s", name, got, want);
}

/* As Python's module regex splits them by the patterns of scan_known.c. */
static void cased_words(void)
{
    expect_words("gpt-4o", "HTTPServer's iPhone 12345", "[HTTPServer's][ i][Phone][ ][123][45]");
    expect_words("granite-embed-multi-97m", "HTTPServer's iPhone 12345",
                 "[HTTPServer's][ i][Phone][ ][123][45]");
    expect_words("gpt-4o", "ABC DEF'LL abcDEF", "[ABC][ DEF'LL][ abc][DEF]");
    expect_words("gpt-4o", "a/b//\n\n  x", "[a][/b][//\n\n][ ][ x]");
    expect_words("gpt-4o", "\u6211Abc\u6211 \u02b0A", "[\u6211Abc\u6211][ \u02b0][A]");
    expect_words("gpt-4o", "\u0301a\u0301b \u0301", "[\u0301a\u0301b][ \u0301]");
    expect_words("llama4", "don't.WORD!\n/x", "[don't][.WORD][!\n/][x]");
    expect_words("tekken", "HTTPServer's iPhone 123", "[HTTPServer]['s][ i][Phone][ ][1][2][3]");
    expect_words("tekken", "ABC DEF'LL abcDEF", "[ABC][ DEF]['LL][ abc][DEF]");
    expect_words("tekken", "a, b  (c) d...  e", "[a][,][ b][ ][ (][c][)][ d][...][ ][ e]");
    expect_words("qwen35", "don't.WORD!\n/x", "[don]['t][.WORD][!\n][/x]");
    expect_words("qwen35", "\u0301a\u0301b \u0301", "[\u0301a\u0301b][ \u0301]");
    expect_words("bloom", "a, b  (c) d...  e", "[a][,][ b][  (][c][)][ d][... ][ e]");
    expect_words("bloom", "don't.WORD!\n/x", "[don't][.][WORD][!\n][/x]");
    expect_words("viking", "ab12 c3d,  4", "[ab][1][2][ c][3][d][, ][ ][4]");
    expect_words("seed-coder", "don't.WORD!\n/x 12", "[don]['t][.WORD][!][\n][/x][ ][1][2]");
    expect_words("bailingmoe", "a!\n\n \n b 12", "[a][!\n\n][ \n][ b][ ][1][2]");
    expect_words("glm4", "12345", "[123][45]");
    expect_words("dbrx", "12345", "[123][45]");
}

static void words(void)
{
    expect_words("gpt-2", "it's  a 12345 ok!?\n\n x ",
                 "[it]['s][ ][ a][ 12345][ ok][!?][\n\n][ x][ ]");
    expect_words("gpt-2", "IT'S", "[IT]['][S]");
    expect_words("llama3", "IT'S", "[IT]['S]");
    expect_words("llama3", "it's  a 12345 ok!?\n\n x ",
                 "[it]['s][ ][ a][ ][123][45][ ok][!?\n\n][ x][ ]");
    expect_words("qwen2", "a12 \n\n b", "[a][1][2][ \n\n][ b]");
    expect_words("smollm", "a12  3 b", "[a][1][2][  ][3][ b]");
    cased_words();
    EXPECT(takt_scan_named(takt_span_of("nothing")) == NULL);
    EXPECT(takt_scan_of_pattern(takt_span_of("\\w+")) == NULL);
}

TEST_MAIN(words)
