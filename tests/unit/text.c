/* text.c - growing texts, decimals both ways, UTF-8, spans, distance of names, hashes. */
#include "base/text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"
#include "test.h"

static takt_ctx *ctx;

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static uint64_t state = 88172645463325252u;
static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void texts(void)
{
    takt_text t;
    takt_text_init(&t, ctx);
    EXPECT_TEXT(takt_text_get(&t), "");
    takt_text_add(&t, "%s", "");
    takt_text_add(&t, "%d,", 12);
    takt_text_put(&t, "abc", 2);
    EXPECT_TEXT(takt_text_get(&t), "12,ab");
    EXPECT_EQ(t.length, 5);
    for (int i = 0; i < 1000; i++)
        takt_text_add(&t, "%500d", i);
    EXPECT_EQ(t.status, TAKT_OK);
    EXPECT_EQ(t.length, 500005);
    EXPECT_EQ(strlen(t.at), t.length);
    takt_text_deinit(&t);
    EXPECT_EQ(t.length, 0);
    EXPECT_TEXT(takt_text_get(&t), "");
}

static void failure_sticks(void)
{
    const takt_config config = {.limits.bytes = 4096};
    takt_ctx *small;
    takt_text t;
    EXPECT_OK(NULL, takt_ctx_create(&config, &small));
    takt_text_init(&t, small);
    for (int i = 0; i < 100; i++)
        takt_text_add(&t, "%100d", i);
    EXPECT_STATUS(NULL, t.status, TAKT_ERR_MEMORY);
    const size_t length = t.length;
    takt_text_add(&t, "x");
    EXPECT(t.length == length && strlen(t.at) == length, "the text before the failure stays whole");
    takt_text_deinit(&t);
    takt_ctx_destroy(small);
}

static const char *written(double value)
{
    static char text[TAKT_NUMBER_TEXT];
    const size_t length = takt_number_write(value, text); /* before its text is read */
    EXPECT_EQ(length, strlen(text));
    return text;
}

static void writes_shortest(void)
{
    EXPECT(strcmp(written(0.1), "0.1") == 0, "%s", written(0.1));
    EXPECT_TEXT(written(1), "1");
    EXPECT_TEXT(written(-0.0), "-0");
    EXPECT(strcmp(written(1e22), "1e+22") == 0, "%s", written(1e22));
    EXPECT(strcmp(written(5e-324), "5e-324") == 0, "%s", written(5e-324));
    EXPECT(strcmp(written(DBL_MAX), "1.7976931348623157e+308") == 0, "%s", written(DBL_MAX));
    EXPECT_TEXT(written((double)INFINITY), "inf");
    EXPECT_TEXT(written(-(double)INFINITY), "-inf");
    EXPECT_TEXT(written((double)NAN), "nan");
    takt_text t;
    takt_text_init(&t, ctx);
    takt_text_double(&t, 0.30000000000000004);
    EXPECT(strcmp(takt_text_get(&t), "0.30000000000000004") == 0, "%s", takt_text_get(&t));
    takt_text_deinit(&t);
}

static double value_of(const char *text)
{
    double value = -12345;
    EXPECT(takt_number_read(text, strlen(text), &value), "%s", text);
    return value;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The C library's parser is the independent reference; the locale is "C" here. */
static void reads_like_libc(void)
{
    for (int i = 0; i < 20000; i++) {
        char text[64];
        double value;
        const uint64_t bits = random_bits();
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*e", (int)(random_bits() % 25), value);
        EXPECT(same_bits(value_of(text), strtod(text, NULL)), "%s", text);
        EXPECT(same_bits(value_of(written(value)), value), "%a", value);
    }
    for (int i = 0; i < 20000; i++) {
        char text[64];
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)random_bits() >> (i % 60),
                 (int)(random_bits() % 700) - 360);
        EXPECT(same_bits(value_of(text), strtod(text, NULL)), "%s", text);
    }
}

/* Exact halves between neighbours, and slightly off them. */
static void decides_ties(void)
{
    for (int i = 0; i < 400; i++) {
        static char text[1200];
        double value;
        uint64_t bits = random_bits() >> 1;
        if (i % 4 == 0)
            bits &= ~(UINT64_C(0x7FF) << 52); /* denormals */
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || value > 1e300)
            continue;
        /* The half is representable in a wider type's decimal expansion: printf is exact. */
        const long double half =
            (long double)value + ((long double)nextafter(value, HUGE_VAL) - (long double)value) / 2;
        int length = snprintf(text, sizeof text, "%.800Le", half);
        EXPECT_IS(length, >, 0);
        EXPECT_IS((size_t)length, <, sizeof text);
        EXPECT(same_bits(value_of(text), strtod(text, NULL)), "%.40s", text);
        char *e = strchr(text, 'e'); /* far beyond the digits that are kept */
        memmove(e + 1, e, strlen(e) + 1);
        *e = '1';
        EXPECT(same_bits(value_of(text), strtod(text, NULL)), "%.40s", text);
    }
}

static void reads_forms(void)
{
    EXPECT(value_of("0") == 0 && !signbit(value_of("0")) && signbit(value_of("-0")));
    EXPECT_EQ(value_of("+1.5"), 1.5);
    EXPECT_EQ(value_of(".5"), 0.5);
    EXPECT_EQ(value_of("5."), 5);
    EXPECT_EQ(value_of("1e5"), 1e5);
    EXPECT_EQ(value_of("1E+5"), 1e5);
    EXPECT_EQ(value_of("1e-5"), 1e-5);
    EXPECT(isinf(value_of("1e999")) && isinf(value_of("-1e999999999999999999999")));
    EXPECT_EQ(value_of("1e-999"), 0);
    EXPECT_EQ(value_of("0e999999999999"), 0);
    EXPECT_EQ(value_of("000000000000000000000000000000000000001e-39"), 1e-39);
    EXPECT_EQ(value_of("0.00000000000000000000000000000000000001e38"), 1);
    EXPECT_EQ(value_of("9007199254740993"), 9007199254740992.0);
    static const char *const bad[] = {"",    "-",     "+",   ".",     "e5", "1e",
                                      "1e+", "1.2.3", "1x",  " 1",    "1 ", "0x10",
                                      "inf", "nan",   "--1", "1e1.5", "1,5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value;
        EXPECT(!takt_number_read(bad[i], strlen(bad[i]), &value), "\"%s\"", bad[i]);
    }
    static char digits[100001];
    memset(digits, '9', sizeof digits);
    double value;
    EXPECT(takt_number_read(digits, sizeof digits, &value) && isinf(value));
    memset(digits, '0', sizeof digits);
    digits[1] = '.';
    digits[100000] = '1';
    EXPECT(takt_number_read(digits, sizeof digits, &value) && value == 0);
}

static void ignores_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_NUMERIC, names[i]) == NULL)
            continue;
        EXPECT(strcmp(written(0.5), "0.5") == 0, "%s: %s", names[i], written(0.5));
        EXPECT_EQ(value_of("2.25"), 2.25);
    }
    setlocale(LC_NUMERIC, "C");
}

static void checks_utf8(void)
{
    static const struct {
        const char *bytes;
        size_t length, good;
    } cases[] = {
        {"plain ascii text", 16, 16},
        {"\xC3\xA9", 2, 2},
        {"\xE2\x82\xAC", 3, 3},
        {"\xF0\x9F\x98\x80", 4, 4},
        {"\xF4\x8F\xBF\xBF", 4, 4},
        {"\xC0\x80", 2, 0},
        {"\xC1\xBF", 2, 0},
        {"\xE0\x9F\xBF", 3, 0},
        {"\xED\xA0\x80", 3, 0},
        {"\xF0\x8F\xBF\xBF", 4, 0},
        {"\xF4\x90\x80\x80", 4, 0},
        {"\xF5\x80\x80\x80", 4, 0},
        {"\x80", 1, 0},
        {"\xFF", 1, 0},
        {"ab\xC3", 3, 2},
        {"abcdefghij\xE2\x82", 12, 10},
        {"\xE2\x28\xA1", 3, 0},
        {"\xF0\x9F\x98", 3, 0},
        {"\xED\x9F\xBF", 3, 3},
        {"\xEE\x80\x80", 3, 3},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT(takt_utf8_check(cases[i].bytes, cases[i].length) == cases[i].good, "case %zu", i);
    for (uint32_t c = 0; c < 0x110000; c++) {
        char to[4];
        if (c >= 0xD800 && c < 0xE000)
            continue;
        const size_t length = takt_utf8_put(c, to);
        EXPECT(takt_utf8_length(to, length) == length, "U+%04X", (unsigned)c);
        EXPECT(length == 1 || takt_utf8_length(to, length - 1) == 0, "U+%04X", (unsigned)c);
    }
}

static void spans(void)
{
    EXPECT(takt_span_is((takt_span){"reluX", 4}, "relu"));
    EXPECT(!takt_span_is((takt_span){"relu", 4}, "rel") && !takt_span_is((takt_span){"r", 1}, ""));
    EXPECT_EQ(takt_span_of("abc").length, 3);
}

static void distances(void)
{
    EXPECT_EQ(takt_name_distance("relu", "relu", 3), 0);
    EXPECT(takt_name_distance("relu", "rleu", 3) == 1, "a swap is one edit");
    EXPECT_EQ(takt_name_distance("softmax", "sofmax", 3), 1);
    EXPECT_EQ(takt_name_distance("kitten", "sitting", 5), 3);
    EXPECT(takt_name_distance("kitten", "sitting", 2) == 3, "at most limit + 1");
    EXPECT_EQ(takt_name_distance("", "abc", 5), 3);
    EXPECT_EQ(takt_name_distance("abc", "", 1), 2);
    EXPECT_EQ(takt_name_distance("ab", "ba", 1), 1);
    EXPECT_EQ(takt_name_distance("ca", "abc", 5), 3);
    char a[300], b[300];
    memset(a, 'x', 299);
    a[299] = '\0';
    memcpy(b, a, sizeof a);
    EXPECT_EQ(takt_name_distance(a, b, 2), 0);
    b[5] = 'y';
    EXPECT_EQ(takt_name_distance(a, b, 2), 3);
}

static void hashes(void)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    for (size_t n = 0; n < sizeof text; n++) {
        const uint64_t h = takt_hash_bytes(1, text, n);
        EXPECT_EQ(h, takt_hash_bytes(1, text, n));
        EXPECT_IS(h, !=, takt_hash_bytes(2, text, n));
        EXPECT_IS(h, !=, takt_hash_bytes(1, text, n + 1));
        for (size_t bit = 0; bit < 8 * n; bit++) { /* each bit moves about half of the hash */
            char other[sizeof text];
            memcpy(other, text, sizeof text);
            other[bit / 8] = (char)(other[bit / 8] ^ 1 << bit % 8);
            const int moved = __builtin_popcountll(h ^ takt_hash_bytes(1, other, n));
            EXPECT(moved > 8 && moved < 56, "length %zu, bit %zu: %d", n, bit, moved);
        }
    }
    EXPECT(takt_hash_bytes(0, "abc", 3) == UINT64_C(0xCE005DAC01D863E5),
           "%016llx: digests are stable", (unsigned long long)takt_hash_bytes(0, "abc", 3));
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, texts, failure_sticks, writes_shortest, reads_like_libc, decides_ties, reads_forms,
          ignores_locale, checks_utf8, spans, distances, hashes, end)
