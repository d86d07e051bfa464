/* read_tiktoken.c - the ranks of tokens as tiktoken stores them. Neither the pattern nor the
 * special tokens are in the file: they are those of the encoding with that number of ranks. */
#include <string.h>

#include "text/tokenizer.h"

#define SMALL                                                                                      \
    "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"
#define LARGE                                                                                      \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++"    \
    "[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"
#define LLAMA3                                                                                     \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+" \
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define ENDING "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define CASED                                                                                      \
    BEFORE UPPER "*" LOWER "+" ENDING "|" BEFORE UPPER "+" LOWER "*" ENDING                        \
                 "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

typedef struct special {
    uint32_t id;
    const char *text;
} special;

enum { SPECIALS = 10 };

static const struct encoding {
    size_t ranks;
    const char *name, *pattern;
    special specials[SPECIALS];
} encodings[] = {
    {50256, "r50k_base", SMALL, {{50256, "<|endoftext|>"}}},
    {50280, "p50k_base", SMALL, {{50256, "<|endoftext|>"}}},
    {100256,
     "cl100k_base",
     LARGE,
     {{100257, "<|endoftext|>"},
      {100258, "<|fim_prefix|>"},
      {100259, "<|fim_middle|>"},
      {100260, "<|fim_suffix|>"},
      {100276, "<|endofprompt|>"}}},
    {199998, "o200k_base", CASED, {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}}},
    {128000,
     "llama3",
     LLAMA3,
     {{128000, "<|begin_of_text|>"},
      {128001, "<|end_of_text|>"},
      {128004, "<|finetune_right_pad_id|>"},
      {128005, "<|step_id|>"},
      {128006, "<|start_header_id|>"},
      {128007, "<|end_header_id|>"},
      {128008, "<|eom_id|>"},
      {128009, "<|eot_id|>"},
      {128010, "<|python_tag|>"},
      {128011, "<|image|>"}}},
    {200000,
     "llama4",
     CASED,
     {{200000, "<|begin_of_text|>"},
      {200001, "<|end_of_text|>"},
      {200002, "<|fim_prefix|>"},
      {200003, "<|fim_middle|>"},
      {200004, "<|fim_suffix|>"},
      {200005, "<|header_start|>"},
      {200006, "<|header_end|>"},
      {200007, "<|eom|>"},
      {200008, "<|eot|>"},
      {200009, "<|step|>"}}},
};

/* ---- lines ---- */

typedef struct line {
    takt_span token; /* as base64 */
    uint32_t rank;
} line;

static bool is_digit64(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=';
}

/* Reads the line at `*at` and moves past it; false: it is invalid. */
static bool take_line(const uint8_t *bytes, size_t length, size_t *at, line *l)
{
    const size_t first = *at;
    size_t digits = 0;
    while (*at < length && is_digit64(bytes[*at]))
        ++*at;
    l->token = (takt_span){(const char *)bytes + first, *at - first};
    if (l->token.length == 0 || l->token.length % 4 != 0 || *at >= length || bytes[(*at)++] != ' ')
        return false;
    for (l->rank = 0; *at < length && bytes[*at] >= '0' && bytes[*at] <= '9' && digits < 8; ++*at) {
        l->rank = 10 * l->rank + (uint32_t)(bytes[*at] - '0');
        digits++;
    }
    *at += *at < length && bytes[*at] == '\r';
    if (digits == 0 || (*at < length && bytes[*at] != '\n'))
        return false;
    *at += *at < length;
    return true;
}

bool takt_tiktoken_recognises(const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    line l;
    return take_line(bytes, length, &at, &l);
}

static uint32_t value_of(char c)
{
    return c >= 'a'   ? (uint32_t)(c - 'a') + 26
           : c >= 'A' ? (uint32_t)(c - 'A')
           : c >= '0' ? (uint32_t)(c - '0') + 52
           : c == '+' ? 62
                      : 63;
}

static takt_status decode(takt_tokenizer *t, takt_span text, takt_span *out)
{
    char *to = takt_arena_get(&t->arena, text.length + 1);
    uint32_t bits = 0;
    size_t have = 0, length = 0;
    if (to == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < text.length && text.at[i] != '='; i++) {
        bits = bits << 6 | value_of(text.at[i]);
        have += 6;
        if (have >= 8)
            to[length++] = (char)(uint8_t)(bits >> (have -= 8));
    }
    to[length] = '\0';
    *out = (takt_span){to, length};
    return TAKT_OK;
}

/* ---- tokens ---- */

static const struct encoding *encoding_of(size_t ranks)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if (encodings[i].ranks == ranks)
            return &encodings[i];
    return NULL;
}

static takt_status add_specials(takt_tokenizer *t, const struct encoding *e)
{
    t->trie.added = takt_arena_array(&t->arena, SPECIALS, sizeof *t->trie.added);
    if (t->trie.added == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; e != NULL && i < SPECIALS && e->specials[i].text != NULL; i++) {
        const special *s = &e->specials[i];
        if (t->texts[s->id].at != NULL)
            return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "rank %u is that of %s", s->id,
                                       s->text);
        t->texts[s->id] = takt_span_of(s->text);
        t->kinds[s->id] = TAKT_TOKEN_CONTROL;
        t->trie.added[t->trie.added_count++] =
            (takt_added){.id = (int32_t)s->id, .is_control = true};
    }
    return TAKT_OK;
}

static void find_roles(takt_tokenizer *t)
{
    static const struct {
        takt_token_role role;
        const char *name;
    } known[] = {{TAKT_TOKEN_EOS, "<|endoftext|>"},
                 {TAKT_TOKEN_EOS, "<|end_of_text|>"},
                 {TAKT_TOKEN_BOS, "<|begin_of_text|>"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (t->roles[known[i].role] < 0)
            t->roles[known[i].role] =
                (int32_t)takt_spans_find(&t->index, takt_span_of(known[i].name));
}

/* Counts the lines, and the ids including special tokens. */
static takt_status count(takt_tokenizer *t, const uint8_t *bytes, size_t length, size_t *lines,
                         size_t *ids)
{
    line l;
    *lines = *ids = 0;
    for (size_t at = 0; at < length; ++*lines) {
        if (!take_line(bytes, length, &at, &l))
            return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "line %zu is not a token and its rank",
                                       *lines + 1);
        *ids = l.rank >= *ids ? (size_t)l.rank + 1 : *ids;
    }
    if (*ids > 2 * *lines + 1024)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "a rank is far beyond the others");
    const struct encoding *e = encoding_of(*lines);
    for (size_t i = 0; e != NULL && i < SPECIALS && e->specials[i].text != NULL; i++)
        *ids = e->specials[i].id >= *ids ? (size_t)e->specials[i].id + 1 : *ids;
    return TAKT_OK;
}

takt_status takt_tokenizer_read_tiktoken(takt_tokenizer *t, const uint8_t *bytes, size_t length)
{
    size_t lines, ids;
    line l;
    TAKT_TRY(count(t, bytes, length, &lines, &ids));
    const struct encoding *e = encoding_of(lines);
    t->model = TAKT_TOKENIZER_BYTES;
    t->ranks_ids = true;
    t->takes_whole = true;
    TAKT_TRY(takt_tokenizer_reserve(t, ids));
    for (size_t at = 0; at < length;) {
        (void)take_line(bytes, length, &at, &l);
        if (t->texts[l.rank].at != NULL)
            return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "two tokens have the rank %u", l.rank);
        TAKT_TRY(decode(t, l.token, &t->texts[l.rank]));
    }
    TAKT_TRY(add_specials(t, e));
    TAKT_TRY(takt_tokenizer_index(t));
    if (e == NULL)
        takt_log(t->ctx, TAKT_LOG_WARNING,
                 "%s has %zu ranks, as no known encoding: texts are cut as by cl100k_base", t->file,
                 lines);
    find_roles(t);
    TAKT_TRY(
        takt_cuts_add(t, takt_span_of(e != NULL ? e->pattern : LARGE), TAKT_CUT_ISOLATED, false));
    TAKT_TRY(takt_cuts_settle(t, TAKT_REGEX_RUST));
    return takt_trie_build(t);
}
