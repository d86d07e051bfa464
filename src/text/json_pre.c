/* json_pre.c - pre_tokenizer of tokenizer.json: how texts are split into words. */
#include <string.h>

#include "base/json.h"
#include "text/tokenizer.h"

static takt_status unsupported(takt_tokenizer *t, const char *type)
{
    return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                               "the pre_tokenizer %.60s is not supported",
                               *type != '\0' ? type : "(without a type)");
}

/* ---- patterns ---- */

#define SPACE "\\s"
#define PUNCTUATION "[\\p{P}!-/:-@\\[-`{-~]"

static takt_status kind_of(takt_tokenizer *t, const takt_json *stage, takt_cut_kind fallback,
                           takt_cut_kind *kind)
{
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const takt_span name = takt_stage_text(stage, "behavior");
    *kind = fallback;
    if (name.length == 0)
        return TAKT_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (takt_span_is(name, names[i])) {
            *kind = (takt_cut_kind)i;
            return TAKT_OK;
        }
    return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                               "texts are cut in the unknown way %.40s", name.at);
}

/* A text as a pattern that matches only it; in the arena. */
static takt_status quote(takt_tokenizer *t, takt_span text, takt_span *pattern)
{
    char *to = takt_arena_get(&t->arena, 2 * text.length + 1);
    size_t length = 0;
    if (to == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] != '\0' && strchr("\\^$.|?*+()[]{}", text.at[i]) != NULL)
            to[length++] = '\\';
        to[length++] = text.at[i];
    }
    *pattern = (takt_span){to, length};
    return TAKT_OK;
}

static takt_status read_split(takt_tokenizer *t, const takt_json *stage)
{
    const takt_json *of = takt_json_get(stage, "pattern");
    const takt_span plain = takt_stage_text(of, "String");
    takt_span pattern = takt_stage_text(of, "Regex");
    takt_cut_kind kind;
    /* Spaces that the normalizer has replaced do not split: Gemma. */
    for (size_t i = 0; takt_span_is(plain, " ") && i < t->normal_count; i++)
        if (t->normals[i].kind == TAKT_NORMAL_REPLACE && takt_span_is(t->normals[i].a, " "))
            return TAKT_OK;
    if (pattern.length == 0 && plain.length == 0)
        return unsupported(t, "Split without a pattern");
    if (pattern.length == 0)
        TAKT_TRY(quote(t, plain, &pattern));
    TAKT_TRY(kind_of(t, stage, TAKT_CUT_ISOLATED, &kind));
    return takt_cuts_add(t, pattern, kind, takt_stage_flag(stage, "invert", false));
}

static takt_status read_punctuation(takt_tokenizer *t, const takt_json *stage)
{
    takt_cut_kind kind;
    TAKT_TRY(kind_of(t, stage, TAKT_CUT_ISOLATED, &kind));
    return takt_cuts_add(t, takt_span_of(PUNCTUATION), kind, false);
}

static takt_status read_fixed(takt_tokenizer *t, const takt_json *stage)
{
    const takt_json *length = takt_json_get(stage, "length");
    if (length == NULL || length->kind != TAKT_JSON_NUMBER || !length->is_integer ||
        length->integer < 1 || length->integer > 1000)
        return unsupported(t, "FixedLength with a length outside 1 to 1000");
    const char *pattern = takt_arena_format(&t->arena, "[\\s\\S]{1,%d}", (int)length->integer);
    if (pattern == NULL)
        return TAKT_ERR_MEMORY;
    return takt_cuts_add(t, takt_span_of(pattern), TAKT_CUT_ISOLATED, false);
}

/* Whether wordpiece.c, which also treats ideographs as words, splits a text as these patterns
 * do. */
static bool is_bert(const takt_tokenizer *t)
{
    const takt_cut *c = t->cuts;
    bool has_ideographs = false;
    for (size_t i = 0; i < t->normal_count; i++)
        has_ideographs = has_ideographs || t->normals[i].kind == TAKT_NORMAL_IDEOGRAPHS;
    return t->model == TAKT_TOKENIZER_WORDS && has_ideographs && t->cut_count == 2 &&
           takt_span_is(c[0].pattern, SPACE) && c[0].kind == TAKT_CUT_REMOVED &&
           takt_span_is(c[1].pattern, PUNCTUATION) && c[1].kind == TAKT_CUT_ISOLATED;
}

takt_status takt_tokenizer_settle_pre(takt_tokenizer *t)
{
    t->splits_as_bert = is_bert(t);
    if (t->splits_as_bert)
        t->cut_count = 0;
    return takt_cuts_settle(t, 0);
}

/* ---- stages ---- */

/* A stage that changes a text changes all of it, before any pattern splits it. */
static takt_status check_is_first(takt_tokenizer *t, const char *type)
{
    return t->cut_count == 0
               ? TAKT_OK
               : takt_tokenizer_fail(
                     t, TAKT_E_TOKENIZER_UNSUPPORTED,
                     "the pre_tokenizer %s changes words that another one has split", type);
}

static takt_status read_metaspace(takt_tokenizer *t, const takt_json *stage)
{
    TAKT_TRY(check_is_first(t, "Metaspace"));
    const takt_span scheme = takt_stage_text(stage, "prepend_scheme");
    const bool spaced = scheme.length > 0 ? !takt_span_is(scheme, "never")
                                          : takt_stage_flag(stage, "add_prefix_space", true);
    const takt_span mark = takt_stage_text(stage, "replacement");
    TAKT_TRY(takt_normals_add(t, TAKT_NORMAL_REPLACE, takt_span_of(" "), mark));
    t->begins_spaced = spaced;
    t->spaces_once = takt_span_is(scheme, "first");
    if (takt_stage_flag(stage, "split", true)) {
        takt_span pattern;
        TAKT_TRY(quote(t, mark, &pattern));
        TAKT_TRY(takt_cuts_add(t, pattern, TAKT_CUT_WITH_NEXT, false));
    }
    return spaced ? takt_normals_add(t, TAKT_NORMAL_PREPEND, mark, mark) : TAKT_OK;
}

/* Whether Metaspace is the next stage and marks every word: then a text whose words are one space
 * apart gives the same words. */
static bool marks_follow(const takt_tokenizer *t, const takt_json *stage)
{
    const takt_json *next = stage->key == NULL ? takt_json_next(stage) : NULL; /* of a list */
    if (next == NULL || t->cut_count > 0 || strcmp(takt_stage_type(next), "Metaspace") != 0)
        return false;
    const takt_span scheme = takt_stage_text(next, "prepend_scheme");
    return takt_span_is(takt_stage_text(next, "replacement"), TAKT_TOKEN_MARK) &&
           takt_stage_flag(next, "split", true) &&
           (scheme.length > 0 ? takt_span_is(scheme, "always")
                              : takt_stage_flag(next, "add_prefix_space", true));
}

static takt_status read_byte_level(takt_tokenizer *t, const takt_json *stage)
{
    if (takt_stage_flag(stage, "add_prefix_space", true)) {
        TAKT_TRY(check_is_first(t, "ByteLevel"));
        t->begins_spaced = false; /* the space is part of the text, and stays */
        TAKT_TRY(takt_normals_add(t, TAKT_NORMAL_PREPEND, takt_span_of(" "), takt_span_of(" ")));
    }
    return takt_stage_flag(stage, "use_regex", true)
               ? takt_cuts_add(t, takt_span_of(takt_scan_gpt2.patterns[0]), TAKT_CUT_ISOLATED,
                               false)
               : TAKT_OK;
}

takt_status takt_tokenizer_read_pre(takt_tokenizer *t, const takt_json *stage)
{
    const char *type = takt_stage_type(stage);
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(t, stage);
    if (strcmp(type, "Split") == 0)
        return read_split(t, stage);
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(t, stage);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return marks_follow(t, stage)
                   ? takt_normals_add(t, TAKT_NORMAL_SPACES, takt_span_of(""), takt_span_of(""))
                   : takt_cuts_add(t, takt_span_of(SPACE), TAKT_CUT_REMOVED, false);
    if (strcmp(type, "UnicodeScripts") == 0)
        return takt_cuts_add(t, takt_span_of(""), TAKT_CUT_SCRIPTS, false);
    if (strcmp(type, "Whitespace") == 0)
        return takt_cuts_add(t, takt_span_of("[\\w]+|[^\\w\\s]+"), TAKT_CUT_REMOVED, true);
    if (strcmp(type, "Digits") == 0)
        return takt_cuts_add(
            t,
            takt_span_of(takt_stage_flag(stage, "individual_digits", false) ? "\\p{N}" : "\\p{N}+"),
            TAKT_CUT_ISOLATED, false);
    if (strcmp(type, "Punctuation") == 0)
        return read_punctuation(t, stage);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        TAKT_TRY(takt_cuts_add(t, takt_span_of(SPACE), TAKT_CUT_REMOVED, false));
        return takt_cuts_add(t, takt_span_of(PUNCTUATION), TAKT_CUT_ISOLATED, false);
    }
    if (strcmp(type, "CharDelimiterSplit") == 0) {
        takt_span pattern;
        TAKT_TRY(quote(t, takt_stage_text(stage, "delimiter"), &pattern));
        return takt_cuts_add(t, pattern, TAKT_CUT_REMOVED, false);
    }
    if (strcmp(type, "FixedLength") == 0)
        return read_fixed(t, stage);
    return unsupported(t, type);
}
