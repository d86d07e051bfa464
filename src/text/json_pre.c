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
    return takt_cuts_add(t, takt_span_of("[\\p{P}!-/:-@\\[-`{-~]"), kind, false);
}

/* ---- stages ---- */

static takt_status read_metaspace(takt_tokenizer *t, const takt_json *stage)
{
    const takt_span scheme = takt_stage_text(stage, "prepend_scheme");
    const bool spaced = scheme.length > 0 ? !takt_span_is(scheme, "never")
                                          : takt_stage_flag(stage, "add_prefix_space", true);
    const takt_span mark = takt_stage_text(stage, "replacement");
    if (!takt_span_is(mark, TAKT_TOKEN_MARK))
        return unsupported(t, "Metaspace with another mark than U+2581");
    TAKT_TRY(takt_normals_add(t, TAKT_NORMAL_REPLACE, takt_span_of(" "), mark));
    t->begins_spaced = spaced;
    t->spaces_once = takt_span_is(scheme, "first");
    if (takt_stage_flag(stage, "split", true))
        t->scan = &takt_scan_marks;
    return spaced ? takt_normals_add(t, TAKT_NORMAL_PREPEND, mark, mark) : TAKT_OK;
}

static takt_status read_byte_level(takt_tokenizer *t, const takt_json *stage)
{
    if (takt_stage_flag(stage, "add_prefix_space", true)) {
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
    if (strcmp(type, "WhitespaceSplit") == 0 && t->model == TAKT_TOKENIZER_UNIGRAM)
        return takt_normals_add(t, TAKT_NORMAL_SPACES, takt_span_of(""),
                                takt_span_of("")); /* Metaspace follows */
    if (strcmp(type, "BertPreTokenizer") == 0 && t->model == TAKT_TOKENIZER_WORDS)
        return TAKT_OK;
    if (t->model == TAKT_TOKENIZER_WORDS)
        return unsupported(t, type); /* which splits as BERT does */
    if (strcmp(type, "WhitespaceSplit") == 0)
        return takt_cuts_add(t, takt_span_of("\\s"), TAKT_CUT_REMOVED, false);
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
        TAKT_TRY(takt_cuts_add(t, takt_span_of("\\s"), TAKT_CUT_REMOVED, false));
        return takt_cuts_add(t, takt_span_of("[\\p{P}!-/:-@\\[-`{-~]"), TAKT_CUT_ISOLATED, false);
    }
    return unsupported(t, type);
}
