/* tokenizer.c - texts to ids and back: the shared cases, small vocabularies, damaged ones. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"
#include "base/text.h"
#include "text/tokenizer.h"
#include "util/inject.h"

static takt_ctx *ctx;

static takt_status to_ids(const takt_tokenizer *t, takt_span text, unsigned flags, int32_t *ids,
                          size_t *count)
{
    takt_token_ids room = {ids, ids != NULL ? 512 : 0, 0};
    const takt_status status = takt_tokenize(t, text.at, text.length, flags, &room);
    *count = room.count;
    const size_t least = takt_tokenizer_least(t, text.length);
    EXPECT(status != TAKT_OK || least <= room.count, "%zu tokens, at least %zu", room.count, least);
    return status;
}

static const char *data_folder(void)
{
    const char *given = getenv("TAKT_DATA");
    return given != NULL ? given : "../shared/data";
}

static char *whole(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*length + 1);
    if (bytes == NULL || fread(bytes, 1, *length, f) != *length)
        exit(EXIT_FAILURE);
    bytes[*length] = '\0';
    fclose(f);
    return bytes;
}

/* ---- the shared cases ---- */

/* One line of ids against one text. */
static void check_case(const takt_tokenizer *t, const char *text, size_t length, char *line)
{
    int32_t ids[512];
    size_t count, place = 0;
    if (!EXPECT_OK(ctx, to_ids(t, (takt_span){text, length}, 0, ids, &count)))
        return;
    for (char *at = line, *end; place <= count; at = end, place++) {
        const long want = strtol(at, &end, 10);
        if (end == at)
            break;
        EXPECT(place < count && ids[place] == (int32_t)want, "\"%.*s\": id %zu is %d, not %ld",
               (int)length, text, place, place < count ? ids[place] : -1, want);
    }
    EXPECT(place == count, "\"%.*s\" has %zu ids, not %zu", (int)length, text, count, place);
}

/* Texts that the vocabulary covers completely are restored. */
static void check_return(const takt_tokenizer *t, const char *text, size_t length)
{
    int32_t ids[512];
    char room[4096];
    takt_token_text back = {room, sizeof room, 0};
    size_t count;
    EXPECT_OK(ctx, to_ids(t, (takt_span){text, length}, 0, ids, &count));
    EXPECT_OK(ctx, takt_detokenize(t, ids, count, 0, &back));
    EXPECT(back.length == length && memcmp(room, text, length) == 0,
           "\"%.*s\" came back as \"%.*s\"", (int)length, text, (int)back.length, room);
}

static size_t shared_file(const char *name, bool returns)
{
    static const char mark[] = "\n__ggml_vocab_test__\n";
    char path[1024];
    size_t length, cases = 0;
    snprintf(path, sizeof path, "%s/tok/%s", data_folder(), name);
    takt_tokenizer *t;
    char *inputs, *outputs;
    snprintf(path, sizeof path, "%s/tok/%s.inp", data_folder(), name);
    inputs = whole(path, &length);
    snprintf(path, sizeof path, "%s/tok/%s.out", data_folder(), name);
    outputs = whole(path, &length);
    snprintf(path, sizeof path, "%s/tok/%s", data_folder(), name);
    if (inputs == NULL || outputs == NULL || !EXPECT_OK(ctx, takt_tokenizer_load(ctx, path, &t)))
        return 0;
    char *text = inputs, *line = outputs;
    while (text != NULL && line != NULL) {
        char *end = strstr(text, mark), *next = strchr(line, '\n');
        if (next != NULL)
            *next = '\0';
        const size_t size = end != NULL ? (size_t)(end - text) : strlen(text);
        if (end == NULL && size == 0)
            break;
        check_case(t, text, size, line);
        if (returns)
            check_return(t, text, size);
        cases++;
        text = end != NULL ? end + strlen(mark) : NULL;
        line = next != NULL ? next + 1 : NULL;
    }
    takt_tokenizer_destroy(t);
    free(inputs);
    free(outputs);
    return cases;
}

static void shared(void)
{
    char path[1024];
    takt_tokenizer *t;
    snprintf(path, sizeof path, "%s/tok/ggml-vocab-gpt-2.gguf", data_folder());
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        printf("skipped: %s is not there\n", path);
        return;
    }
    fclose(f);
    EXPECT_EQ(shared_file("ggml-vocab-gpt-2.gguf", true), 46);
    EXPECT_EQ(shared_file("ggml-vocab-bert-bge.gguf", false), 46);
    snprintf(path, sizeof path, "%s/llm/stories260K/stories260K-F32.gguf", data_folder());
    if (!EXPECT_OK(ctx, takt_tokenizer_load(ctx, path, &t)))
        return;
    EXPECT_TEXT(takt_tokenizer_kind(t), "spm");
    EXPECT_EQ(takt_tokenizer_count(t), 512);
    EXPECT(takt_token_of_role(t, TAKT_TOKEN_BOS) == 1 && takt_token_is_end(t, 2));
    check_case(t, "Once upon a time, there was a", 29, (char[]){"403 407 261 378 432 383 286 261"});
    static const char text[] = "Lily's big, red ball \xF0\x9F\x9A\x80\n\tend";
    check_return(t, text, sizeof text - 1);
    takt_tokenizer_destroy(t);
}

/* ---- small vocabularies ---- */

static const char bytes_json[] =
    "{\"added_tokens\":[{\"id\":9,\"content\":\"<|end|>\",\"special\":true},"
    "{\"id\":10,\"content\":\"<think>\",\"special\":false}],"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"
    "\"<|end|>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
    "\"special_tokens\":{\"<|end|>\":{\"id\":\"<|end|>\",\"ids\":[9],\"tokens\":[\"<|end|>\"]}}},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"\\u0120\":3,\"ab\":4,"
    "\"\\u0120a\":5,\"abc\":6,\"\\u0120ab\":7,\"\\u010a\":8},"
    "\"merges\":[\"a b\",\"ab c\",[\"\\u0120\",\"a\"],\"\\u0120 ab\"]}}";

static const char words_json[] =
    "{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]},"
    "\"added_tokens\":[{\"id\":0,\"content\":\"[UNK]\",\"special\":true},{\"id\":1,\"content\":"
    "\"[CLS]\",\"special\":true},{\"id\":2,\"content\":\"[SEP]\",\"special\":true}],"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"max_input_chars_per_word\":8,"
    "\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"un\":3,\"##aff\":4,\"##able\":5,\"cafe\":6,"
    "\",\":7,\"##un\":8,\"\\u6211\":9}}}";

static const char chars_json[] =
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"
    "\"\\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}]},"
    "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":\"<unk>\",\"vocab\":{"
    "\"<unk>\":0,\"<0xC3>\":1,\"<0xA9>\":2,\"\\u2581\":3,\"h\":4,\"i\":5,\"hi\":6,\"\\u2581hi\":7},"
    "\"merges\":[\"h i\",\"\\u2581 hi\"]}}";

static takt_tokenizer *load(const char *json)
{
    takt_tokenizer *t = NULL;
    EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "tokenizer.json", json, strlen(json), &t));
    return t;
}

static void expect_ids(const takt_tokenizer *t, const char *text, unsigned flags, const char *want)
{
    int32_t ids[512];
    size_t count = 0;
    char got[512] = "";
    EXPECT_OK(ctx, to_ids(t, takt_span_of(text), flags, ids, &count));
    for (size_t i = 0; i < count && i < 64; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), i > 0 ? " %d" : "%d", ids[i]);
    EXPECT(strcmp(got, want) == 0, "\"%s\" is %s, not %s", text, got, want);
}

static void small_bytes(void)
{
    takt_tokenizer *t = load(bytes_json);
    if (t == NULL)
        return;
    char room[32];
    takt_token_text text = {room, sizeof room, 0};
    size_t length, count;
    expect_ids(t, "abc ab a", 0, "6 7 5");
    expect_ids(t, "abc<|end|>b", TAKT_TOKENIZE_PARSE, "6 9 1");
    expect_ids(t, "abc<think>b", 0, "6 10 1");
    expect_ids(t, "ab\n", TAKT_TOKENIZE_ADD, "9 4 8");
    expect_ids(t, "", TAKT_TOKENIZE_ADD, "9");
    expect_ids(t, "xaby", 0, "4"); /* bytes that no token says */
    EXPECT_OK(ctx, takt_detokenize(t, (const int32_t[]){9, 6, 7}, 3, 0, &text));
    EXPECT_EQ(text.length, 6);
    EXPECT_EQ(memcmp(room, "abc ab", 6), 0);
    text.capacity = 4;
    EXPECT_OK(ctx, takt_detokenize(t, (const int32_t[]){9, 6}, 2, TAKT_DETOKENIZE_CONTROL, &text));
    EXPECT_EQ(text.length, 10);
    EXPECT_EQ(memcmp(room, "<|en", 4), 0);
    EXPECT_STATUS(ctx, takt_detokenize(t, (const int32_t[]){11}, 1, 0, &text), TAKT_ERR_RANGE);
    EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_TOKEN_ID);
    EXPECT_STATUS(ctx, takt_detokenize(t, (const int32_t[]){-1}, 1, 0, &text), TAKT_ERR_RANGE);
    EXPECT_OK(ctx, to_ids(t, takt_span_of("abcabc"), 0, NULL, &count));
    EXPECT_EQ(count, 2);
    EXPECT_EQ(takt_token_find(t, " ab", 3), 7);
    EXPECT_EQ(takt_token_find(t, "zz", 2), -1);
    EXPECT(takt_token_is_control(t, 9) && !takt_token_is_control(t, 10));
    EXPECT(takt_token_bytes(t, 99, &length) == NULL && length == 0);
    takt_tokenizer_destroy(t);
}

static void small_others(void)
{
    takt_tokenizer *t = load(words_json);
    if (t == NULL)
        return;
    expect_ids(t, "Unaffable, caf\xC3\xA9 unun", TAKT_TOKENIZE_ADD, "1 0 7 6 3 8 2");
    expect_ids(t, "UNAFF\xE6\x88\x91", 0, "3 4 9");
    takt_tokenizer_destroy(t);
    t = load(chars_json);
    if (t == NULL)
        return;
    expect_ids(t, "hi hi", 0, "7 7");
    expect_ids(t, "h\xC3\xA9", 0, "3 4 1 2");
    expect_ids(t, "?", 0, "3 0");
    takt_tokenizer_destroy(t);
}

/* Two cuts whose sums differ as double numbers but not as floats: SentencePiece keeps the first. */
static void ties(void)
{
    static const struct {
        const char *path, *ids;
    } cases[] = {{"tests/corpus/tokenizer/tie.model", "3 6"},
                 {"tests/corpus/tokenizer/tie.json", "3 4 5"}};
    for (size_t i = 0; i < 2; i++) {
        takt_tokenizer *t = NULL;
        if (EXPECT_OK(ctx, takt_tokenizer_load(ctx, cases[i].path, &t)))
            expect_ids(t, "ab", 0, cases[i].ids);
        takt_tokenizer_destroy(t);
    }
}

/* ---- bad ones ---- */

static void expect_error(const char *json, int id)
{
    takt_tokenizer *t;
    EXPECT(takt_tokenizer_load_memory(ctx, "t.json", json, strlen(json), &t) != TAKT_OK &&
               t == NULL,
           "was read: %s", json);
    EXPECT(takt_last_error_info(ctx)->id == id, "%s: %d, not %d: %s", json,
           takt_last_error_info(ctx)->id, id, takt_last_error(ctx));
}

#define BPE(vocab, merges)                                                                         \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":" vocab ",\"merges\":" merges "}}"

static void damaged(void)
{
    expect_error("", TAKT_E_TOKENIZER_MISSING);
    expect_error("hello", TAKT_E_TOKENIZER_MISSING);
    expect_error("{}", TAKT_E_TOKENIZER_MISSING);
    expect_error("{\"model\":{\"type\":\"WordLevel\",\"vocab\":[]}}", TAKT_E_TOKENIZER);
    expect_error("{\"model\":{\"type\":\"Other\",\"vocab\":{}}}", TAKT_E_TOKENIZER_UNSUPPORTED);
    expect_error("{\"model\":{\"type\":\"BPE\"}}", TAKT_E_TOKENIZER);
    expect_error(BPE("{}", "[]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":0,\"b\":0}", "[]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":-1}", "[]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":1.5}", "[]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":2000000000}", "[]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":0}", "[\"a b\"]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":0}", "[\"ab\"]"), TAKT_E_TOKENIZER);
    expect_error(BPE("{\"a\":0}", "[7]"), TAKT_E_TOKENIZER);
    expect_error("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1.0]],\"unk_id\":1}}",
                 TAKT_E_TOKENIZER);
    expect_error("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1.0]],\"unk_id\":0.5}}",
                 TAKT_E_TOKENIZER);
    expect_error("{\"added_tokens\":[{\"id\":0}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
                 "\"merges\":[]}}",
                 TAKT_E_TOKENIZER);
    expect_error("{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a)\\\\1\"}},"
                 "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
                 TAKT_E_TOKENIZER_UNSUPPORTED);
    expect_error(
        "{\"normalizer\":{\"type\":\"Other\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
        "\"merges\":[]}}",
        TAKT_E_TOKENIZER_UNSUPPORTED);
    expect_error(
        "{\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"x\",7],\"sep\":[\"y\",8]}"
        ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
        TAKT_E_TOKENIZER);
}

/* A million letters without a space, and as many starts of an added token: no quadratic time. */
static void long_words(void)
{
    enum { LENGTH = 1000000 };
    takt_tokenizer *t = load(bytes_json);
    char *text = malloc(LENGTH);
    size_t count;
    if (t != NULL && text != NULL) {
        memset(text, 'a', LENGTH);
        EXPECT_OK(ctx, to_ids(t, (takt_span){text, LENGTH}, 0, NULL, &count));
        EXPECT_EQ(count, LENGTH);
        for (size_t i = 0; i < LENGTH; i++)
            text[i] = "ab"[i % 2];
        EXPECT_OK(ctx, to_ids(t, (takt_span){text, LENGTH}, 0, NULL, &count));
        EXPECT_EQ(count, LENGTH / 2);
        memset(text, '<', LENGTH);
        EXPECT_OK(ctx, to_ids(t, (takt_span){text, LENGTH}, 0, NULL, &count));
    }
    free(text);
    takt_tokenizer_destroy(t);
}

/* ---- memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *own;
    takt_tokenizer *t = NULL;
    int32_t ids[512];
    size_t count;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &own);
    if (status != TAKT_OK)
        return status;
    status = takt_tokenizer_load_memory(own, "t.json", user, strlen(user), &t);
    if (status == TAKT_OK)
        status = to_ids(t, takt_span_of("abc<|end|>ab caf\xC3\xA9 hi"), 3, ids, &count);
    takt_tokenizer_destroy(t);
    takt_ctx_destroy(own);
    return status;
}

static void memory(void)
{
    static const char *const all[] = {bytes_json, words_json, chars_json};
    for (size_t i = 0; i < 3; i++) {
        char *copy = malloc(strlen(all[i]) + 1);
        strcpy(copy, all[i]);
        const takt_sweep_report r = takt_sweep(scenario, copy, TAKT_INJECT_MEMORY);
        EXPECT(r.is_good, "%s", r.message);
        free(copy);
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

TEST_MAIN(begin, shared, small_bytes, small_others, ties, damaged, long_words, memory, end)
