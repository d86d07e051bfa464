/* tokenizer_stages.c - normal forms of texts, and the decoders of tokenizer.json. Expected values
 * are from Hugging Face's library. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"
#include "base/text.h"
#include "io/gguf/gguf_write.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include "util/inject.h"

static takt_ctx *ctx;

/* ---- forms of texts ---- */

static void expect_form(void (*form)(takt_span, takt_text *), const char *text, const char *want)
{
    takt_text to;
    takt_text_init(&to, ctx);
    form(takt_span_of(text), &to);
    EXPECT(to.status == TAKT_OK && strcmp(takt_text_get(&to), want) == 0, "%s: %s, not %s", text,
           takt_text_get(&to), want);
    takt_text_deinit(&to);
}

static void nfd(takt_span text, takt_text *to)
{
    takt_unicode_form(text, 0, to);
}

static void nfc(takt_span text, takt_text *to)
{
    takt_unicode_form(text, TAKT_U_COMPOSED, to);
}

static void nfkc(takt_span text, takt_text *to)
{
    takt_unicode_form(text, TAKT_U_COMPOSED | TAKT_U_COMPATIBLE, to);
}

static void nfkd(takt_span text, takt_text *to)
{
    takt_unicode_form(text, TAKT_U_COMPATIBLE, to);
}

static void strip(takt_span text, takt_text *to)
{
    takt_unicode_strip_marks(text, false, to);
}

static void strip_all(takt_span text, takt_text *to)
{
    takt_unicode_strip_marks(text, true, to);
}

static void forms(void)
{
    expect_form(nfd, "\xC3\xA9 \xED\x95\x9C", "e\xCC\x81 \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB");
    expect_form(nfc, "e\xCC\x81 \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xC3\xA9 \xED\x95\x9C");
    /* Marks in either order compose to the same. */
    expect_form(nfc, "q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87");
    expect_form(nfc, "\xE1\xB8\x8B\xCC\xA3", "\xE1\xB8\x8D\xCC\x87");
    expect_form(takt_unicode_lower, "\xC3\x84PFEL \xD0\x91", "\xC3\xA4pfel \xD0\xB1");
    expect_form(takt_unicode_lower, "\xC4\xB0", "i\xCC\x87");
    /* A ligature, a fraction, and a mark whose parts begin with a space. */
    expect_form(nfkc, "\xEF\xAC\x81 \xC2\xBD \xCE\x85",
                "fi 1\xE2\x81\x84"
                "2  \xCC\x88\xCC\x81");
    expect_form(nfkd, "\xEF\xBC\xA1\xC3\xA9", "Ae\xCC\x81");
    expect_form(strip, "e\xCC\x81\xEA\xA8\xAF", "e\xEA\xA8\xAF");
    expect_form(strip_all, "e\xCC\x81\xEA\xA8\xAF", "e");
    expect_form(nfc, "a\xFF", "a\xFF");
}

/* ---- decoders ---- */

static const char vocab[] =
    "{\"[UNK]\":0,\"he\":1,\"##llo\":2,\"wor\":3,\"ld</w>\":4,\"\\u2581a\":5,\"\\u2581\":"
    "6,\"<0xC3>\":7,\"<0xA9>\":8,\".\":9,\"do\":10,\"not\":11,\"a\":12,\"b\":13,\"|\":14,"
    "\" do not\":15,\"\\u0120b\":16,\"<pad>\":17,\"x1\":18}";

static char *json_with(const char *normalizer, const char *decoder)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"normalizer\":%s,\"decoder\":%s,\"model\":{\"type\":\"WordLevel\","
             "\"unk_token\":\"[UNK]\",\"vocab\":%s}}",
             normalizer, decoder, vocab);
    return text;
}

static const struct decoded {
    const char *decoder;
    int32_t ids[8];
    size_t count;
    const char *text;
} cases[] = {
    {"{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}",
     {1, 2, 3, 9, 15},
     5,
     "hello wor.  don't"},
    {"{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":false}",
     {2, 1, 2, 9},
     4,
     "##llo hello ."},
    {"{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}", {3, 4, 3, 4}, 4, "world world"},
    {"{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":\"always\","
     "\"split\":true}",
     {5, 6, 5},
     3,
     "a  a"},
    {"{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\",\"prepend_scheme\":\"never\",\"s"
     "plit\":true}",
     {5, 6, 5},
     3,
     " a  a"},
    {"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
     "\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"t"
     "ype\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]}",
     {6, 5, 7, 8, 6},
     5,
     " a\xC3\xA9 "},
    {"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},{\"type\":\"Strip"
     "\",\"content\":\"x\",\"start\":1,\"stop\":1}]}",
     {7, 8, 13, 18},
     4,
     "\xC3\xA9"
     "b1"},
    {"{\"type\":\"CTC\",\"pad_token\":\"<pad>\",\"word_delimiter_token\":\"|\",\"cleanup"
     "\":true}",
     {12, 12, 17, 12, 14, 13, 13, 9},
     8,
     "aa b."},
    {"{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,\"use_regex"
     "\":true}",
     {12, 16, 6},
     3,
     "a b\xE2\x96\x81"},
    {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[0-9]\"},\"content\":\"#\"}",
     {18, 12, 18},
     3,
     "x#ax#"},
    {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[a1]*\"},\"content\":\"-\"}",
     {18, 12, 13},
     3,
     "-x---b-"},
    {"{\"type\":\"Fuse\"}", {1, 2}, 2, "he##llo"},
    {"null", {1, 3}, 2, "he wor"},
};

static void decoders(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct decoded *c = &cases[i];
        const char *json = json_with("null", c->decoder);
        char text[64] = "";
        takt_token_text room = {text, sizeof text - 1, 0};
        takt_tokenizer *t = NULL;
        if (EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t)))
            EXPECT_OK(ctx, takt_detokenize(t, c->ids, c->count, 0, &room));
        EXPECT(room.length == strlen(c->text) && strcmp(text, c->text) == 0,
               "%s: \"%s\", not \"%s\"", c->decoder, text, c->text);
        takt_tokenizer_destroy(t);
    }
}

static void expect_continued(const char *decoder, int32_t id, const char *want)
{
    const char *json = json_with("null", decoder);
    char text[64] = "";
    takt_token_text room = {text, sizeof text - 1, 0};
    takt_tokenizer *t = NULL;
    if (EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t)))
        EXPECT_OK(ctx, takt_detokenize(t, &id, 1, TAKT_DETOKENIZE_CONTINUE, &room));
    EXPECT(strcmp(text, want) == 0, "\"%s\", not \"%s\"", text, want);
    takt_tokenizer_destroy(t);
}

/* Ids that continue a text keep the space that the first ones lose, and a word keeps the space
 * after it, since others may follow. */
static void continued(void)
{
    expect_continued(cases[0].decoder, 3, " wor");
    expect_continued("{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}", 4, "ld ");
}

/* Marks of added tokens are spaces, too: Gemma has tokens of several. */
static void added_marks(void)
{
    static const char json[] =
        "{\"added_tokens\":[{\"id\":1,\"content\":\"\\u2581\\u2581\",\"special\":false}],"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":"
        "{\"String\":\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},"
        "{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}";
    char text[64] = "";
    takt_token_text room = {text, sizeof text - 1, 0};
    takt_tokenizer *t = NULL;
    if (EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t)))
        EXPECT_OK(ctx, takt_detokenize(t, (int32_t[]){0, 1, 0}, 3, 0, &room));
    EXPECT(strcmp(text, "a  a") == 0, "\"%s\"", text);
    takt_tokenizer_destroy(t);
}

static void expect_refused(const char *json, int id)
{
    takt_tokenizer *t = NULL;
    EXPECT(takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t) != TAKT_OK,
           "%s was read", json);
    EXPECT(takt_last_error_info(ctx)->id == id, "%s: %s", json, takt_last_error(ctx));
}

#define GROWS                                                                                      \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaaaaaaaaaaaaa\"}"

static void refused(void)
{
    static const struct {
        const char *decoder;
        int id;
    } bad[] = {
        {"{\"type\":\"Other\"}", TAKT_E_TOKENIZER_UNSUPPORTED},
        {"{}", TAKT_E_TOKENIZER_UNSUPPORTED},
        {"7", TAKT_E_TOKENIZER_UNSUPPORTED},
        {"{\"type\":\"Strip\",\"start\":1,\"stop\":1}", TAKT_E_TOKENIZER},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}",
         TAKT_E_TOKENIZER_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refused(json_with("null", bad[i].decoder), bad[i].id);
}

/* Stages that each make a text 20 times as long. */
static void growing(void)
{
    char stages[1024] = "", normalizer[1100], decoder[1100];
    for (int i = 0; i < 3; i++)
        strcat(stages, i == 0 ? GROWS : "," GROWS);
    snprintf(normalizer, sizeof normalizer, "{\"type\":\"Sequence\",\"normalizers\":[%s]}", stages);
    snprintf(decoder, sizeof decoder, "{\"type\":\"Sequence\",\"decoders\":[%s]}", stages);
    expect_refused(json_with(normalizer, "null"), TAKT_E_TOKENIZER_UNSUPPORTED);
    expect_refused(json_with("null", decoder), TAKT_E_TOKENIZER_UNSUPPORTED);
}

/* A table of characters with one text of `threes` times three letters. */
static void expect_table(size_t threes, bool is_taken)
{
    static char json[8192];
    size_t at = (size_t)snprintf(json, sizeof json,
                                 "{\"normalizer\":{\"type\":\"Precompiled\","
                                 "\"precompiled_charsmap\":\"BAAAAAAAAAAA");
    for (size_t i = 0; i < threes; i++, at += 4)
        memcpy(json + at, "YWFh", 4);
    snprintf(json + at, sizeof json - at,
             "\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}");
    takt_tokenizer *t = NULL;
    if (!is_taken)
        expect_refused(json, TAKT_E_TOKENIZER_UNSUPPORTED);
    else
        EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t));
    takt_tokenizer_destroy(t);
}

static void growing_by_a_table(void)
{
    expect_table(1365, true); /* 4095 */
    expect_table(1366, false);
}

/* Words that are split already would each be changed. */
static void late_changes(void)
{
    static const char *const late[] = {
        "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"always\"}",
        "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":false}"};
    for (size_t i = 0; i < 2; i++) {
        char json[512];
        snprintf(json, sizeof json,
                 "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                 "\"Digits\"},%s]},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
                 "\"merges\":[]}}",
                 late[i]);
        expect_refused(json, TAKT_E_TOKENIZER_UNSUPPORTED);
    }
}

/* GGUF files have neither suffixes of words nor patterns of normalizers. */
static void not_for_gguf(void)
{
    static const char *const texts[] = {
        "{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"vocab\":{\"a\":0},"
        "\"merges\":[]}}",
        "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1}}}",
        "{\"normalizer\":{\"type\":\"NFKC\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
        "\"merges\":[]}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        takt_tokenizer *t = NULL;
        takt_gguf_keys keys;
        takt_gguf_keys_init(&keys, ctx);
        if (EXPECT_OK(ctx,
                      takt_tokenizer_load_memory(ctx, "t.json", texts[i], strlen(texts[i]), &t)))
            EXPECT(takt_tokenizer_write_gguf(t, 2, &keys) == TAKT_ERR_UNSUPPORTED, "%s", texts[i]);
        takt_gguf_keys_deinit(&keys);
        takt_tokenizer_destroy(t);
    }
}

/* ---- memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_tokenizer *t = NULL;
    int32_t ids[64];
    char text[64];
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    takt_token_ids room = {ids, 64, 0};
    takt_token_text decoded = {text, sizeof text, 0};
    status = takt_tokenizer_load_memory(own, "t.json", user, strlen(user), &t);
    if (status == TAKT_OK)
        status = takt_tokenize(t, "\xEF\xAC\x81 \xE6\x88\x91 x1", 9, 0, &room);
    if (status == TAKT_OK)
        status = takt_detokenize(t, (int32_t[]){1, 2, 16, 18}, 4, 0, &decoded);
    takt_tokenizer_destroy(t);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    static const char *const normalizer =
        "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":\"Nmt\"},"
        "{\"type\":\"StripAccents\"},{\"type\":\"ByteLevel\"},{\"type\":\"Replace\",\"pattern\":"
        "{\"Regex\":\"[0-9]\"},\"content\":\"#\"}]}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const takt_sweep_report r =
            takt_sweep(scenario, json_with(normalizer, cases[i].decoder), TAKT_INJECT_MEMORY);
        EXPECT(r.is_good, "%s: %s", cases[i].decoder, r.message);
    }
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

TEST_MAIN(begin, forms, decoders, continued, added_marks, refused, growing, growing_by_a_table,
          late_changes, not_for_gguf, memory, end)
