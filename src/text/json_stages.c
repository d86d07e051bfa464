/* json_stages.c - the stages around the model in tokenizer.json: normalizer, pre_tokenizer,
 * post_processor. Unsupported stages are refused by name. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "text/tokenizer.h"

/* ---- small questions ---- */

const char *takt_stage_type(const takt_json *stage)
{
    return takt_stage_text(stage, "type").at;
}

bool takt_stage_flag(const takt_json *stage, const char *key, bool fallback)
{
    const takt_json *v = takt_json_get(stage, key);
    return v != NULL && v->kind == TAKT_JSON_BOOL ? v->boolean : fallback;
}

takt_span takt_stage_text(const takt_json *stage, const char *key)
{
    const takt_json *v =
        stage != NULL && stage->kind == TAKT_JSON_OBJECT ? takt_json_get(stage, key) : NULL;
    return v != NULL && v->kind == TAKT_JSON_STRING ? (takt_span){v->text, v->text_length}
                                                    : takt_span_of("");
}

static takt_status unsupported(takt_tokenizer *t, const char *what, const char *type)
{
    return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED, "the %s %.60s is not supported",
                               what, *type != '\0' ? type : "(without a type)");
}

/* The parts in order; a stage that is not a sequence is its only part. */
static const takt_json *parts_of(const takt_json *stage, const char *key)
{
    const takt_json *list =
        strcmp(takt_stage_type(stage), "Sequence") == 0 ? takt_json_get(stage, key) : NULL;
    return list != NULL && list->kind == TAKT_JSON_ARRAY ? list : NULL;
}

bool takt_tokenizer_has_stage(const takt_json *stage, const char *type)
{
    static const char *const keys[] = {"pretokenizers", "normalizers", "decoders", "processors"};
    if (stage == NULL || stage->kind != TAKT_JSON_OBJECT)
        return false;
    if (strcmp(takt_stage_type(stage), type) == 0)
        return true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const takt_json *list = parts_of(stage, keys[i]);
        const takt_json *p = list != NULL ? takt_json_first(list) : NULL;
        for (; p != NULL; p = takt_json_next(p))
            if (strcmp(takt_stage_type(p), type) == 0)
                return true;
    }
    return false;
}

/* ---- normalizer ---- */

takt_status takt_normals_add(takt_tokenizer *t, takt_normal_kind kind, takt_span a, takt_span b)
{
    const char *copy_a = takt_arena_text(&t->arena, a.at, a.length);
    const char *copy_b = takt_arena_text(&t->arena, b.at, b.length);
    if (copy_a == NULL || copy_b == NULL)
        return TAKT_ERR_MEMORY;
    if (t->normal_count == TAKT_NORMALS)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                   "there are more than %d normalizers", TAKT_NORMALS);
    t->normals[t->normal_count++] =
        (takt_normal){kind, {copy_a, a.length}, {copy_b, b.length}, NULL};
    return TAKT_OK;
}

takt_status takt_stage_grows(takt_tokenizer *t, takt_span a, takt_span b, size_t *growth)
{
    const size_t by = a.length > 0 ? b.length / a.length + (b.length % a.length > 0) : b.length + 1;
    *growth = (*growth > 0 ? *growth : 1) * (by > 0 ? by : 1);
    return *growth <= TAKT_GROWTH
               ? TAKT_OK
               : takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                     "stages make texts more than %d times as long", TAKT_GROWTH);
}

static takt_status add_plain(takt_tokenizer *t, takt_normal_kind kind)
{
    return takt_normals_add(t, kind, takt_span_of(""), takt_span_of(""));
}

static takt_status add_bert(takt_tokenizer *t, const takt_json *stage)
{
    const bool lowers = takt_stage_flag(stage, "lowercase", true);
    if (takt_stage_flag(stage, "clean_text", true))
        TAKT_TRY(add_plain(t, TAKT_NORMAL_CLEAN));
    if (takt_stage_flag(stage, "handle_chinese_chars", true))
        TAKT_TRY(add_plain(t, TAKT_NORMAL_IDEOGRAPHS));
    if (takt_stage_flag(stage, "strip_accents", lowers)) {
        TAKT_TRY(add_plain(t, TAKT_NORMAL_NFD));
        TAKT_TRY(add_plain(t, TAKT_NORMAL_STRIP_MARKS));
    }
    return lowers ? add_plain(t, TAKT_NORMAL_LOWER) : TAKT_OK;
}

static takt_status add_replace(takt_tokenizer *t, const takt_json *stage)
{
    const takt_json *pattern = takt_json_get(stage, "pattern");
    const takt_span from = pattern != NULL && pattern->kind == TAKT_JSON_OBJECT
                               ? takt_stage_text(pattern, "String")
                               : takt_span_of("");
    const takt_span regex = pattern != NULL && pattern->kind == TAKT_JSON_OBJECT
                                ? takt_stage_text(pattern, "Regex")
                                : takt_span_of("");
    TAKT_TRY(takt_stage_grows(t, regex.length > 0 ? takt_span_of("") : from,
                              takt_stage_text(stage, "content"), &t->normal_growth));
    if (takt_span_is(regex, " {2,}"))
        return takt_normals_add(t, TAKT_NORMAL_RUNS, takt_span_of(""),
                                takt_stage_text(stage, "content"));
    if (regex.length > 0) {
        TAKT_TRY(
            takt_normals_add(t, TAKT_NORMAL_PATTERN, regex, takt_stage_text(stage, "content")));
        takt_regex *compiled = takt_arena_get(&t->arena, sizeof *compiled);
        if (compiled == NULL)
            return TAKT_ERR_MEMORY;
        t->normals[t->normal_count - 1].regex = compiled;
        return takt_regex_compile(&t->arena, t->normals[t->normal_count - 1].a, 0, compiled);
    }
    return takt_normals_add(t, TAKT_NORMAL_REPLACE, from, takt_stage_text(stage, "content"));
}

static takt_status add_strip(takt_tokenizer *t, const takt_json *stage)
{
    const bool left = takt_stage_flag(stage, "strip_left", true),
               right = takt_stage_flag(stage, "strip_right", true);
    return takt_normals_add(t, TAKT_NORMAL_STRIP, takt_span_of(""),
                            takt_span_of(left && right ? "lr"
                                         : left        ? "l"
                                         : right       ? "r"
                                                       : ""));
}

/* The table of characters, in base64. */
static takt_status add_charsmap(takt_tokenizer *t, const takt_json *stage)
{
    const takt_span text = takt_stage_text(stage, "precompiled_charsmap");
    uint8_t *bytes = takt_arena_get(&t->arena, text.length + 1);
    uint32_t bits = 0;
    size_t length = 0, have = 0;
    if (bytes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < text.length && text.at[i] != '='; i++) {
        static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *digit = text.at[i] != '\0' ? strchr(digits, text.at[i]) : NULL;
        if (digit == NULL)
            return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "precompiled_charsmap is not base64");
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have >= 8)
            bytes[length++] = (uint8_t)(bits >> (have -= 8));
    }
    TAKT_TRY(takt_charsmap_read(t, bytes, length));
    return add_plain(t, TAKT_NORMAL_CHARSMAP);
}

static takt_status read_normal(takt_tokenizer *t, const takt_json *stage)
{
    static const struct {
        const char *type;
        takt_normal_kind kind;
    } plain[] = {
        {"NFC", TAKT_NORMAL_NFC},         {"NFD", TAKT_NORMAL_NFD},
        {"NFKC", TAKT_NORMAL_NFKC},       {"NFKD", TAKT_NORMAL_NFKD},
        {"Lowercase", TAKT_NORMAL_LOWER}, {"StripAccents", TAKT_NORMAL_STRIP_ALL_MARKS},
        {"Nmt", TAKT_NORMAL_NMT},         {"ByteLevel", TAKT_NORMAL_SPELL},
    };
    const char *type = takt_stage_type(stage);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i].type) == 0)
            return add_plain(t, plain[i].kind);
    if (strcmp(type, "BertNormalizer") == 0)
        return add_bert(t, stage);
    if (strcmp(type, "Replace") == 0)
        return add_replace(t, stage);
    if (strcmp(type, "Strip") == 0)
        return add_strip(t, stage);
    if (strcmp(type, "Precompiled") == 0)
        return add_charsmap(t, stage);
    if (strcmp(type, "Prepend") != 0)
        return unsupported(t, "normalizer", type);
    t->begins_spaced = true;
    return takt_normals_add(t, TAKT_NORMAL_PREPEND, takt_stage_text(stage, "prepend"),
                            takt_span_of(""));
}

/* ---- post_processor ---- */

static takt_status affix(takt_tokenizer *t, const takt_json *id, bool is_first)
{
    int32_t *to = is_first ? t->prefix : t->suffix;
    size_t *count = is_first ? &t->prefix_count : &t->suffix_count;
    if (id == NULL || id->kind != TAKT_JSON_NUMBER || !id->is_integer || id->integer < 0 ||
        (uint64_t)id->integer >= t->count || *count == TAKT_AFFIXES)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER,
                                   "the post_processor adds a token that does not exist");
    to[(*count)++] = (int32_t)id->integer;
    return TAKT_OK;
}

/* [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": ...}, ...] */
static takt_status read_template(takt_tokenizer *t, const takt_json *stage)
{
    const takt_json *single = takt_json_get(stage, "single");
    const takt_json *table = takt_json_get(stage, "special_tokens");
    bool is_first = true;
    if (single == NULL || single->kind != TAKT_JSON_ARRAY)
        return unsupported(t, "post_processor", "TemplateProcessing without single");
    for (const takt_json *p = takt_json_first(single); p != NULL; p = takt_json_next(p)) {
        const takt_json *token =
            p->kind == TAKT_JSON_OBJECT ? takt_json_get(p, "SpecialToken") : NULL;
        if (token == NULL || token->kind != TAKT_JSON_OBJECT) {
            is_first = false;
            continue;
        }
        const takt_span name = takt_stage_text(token, "id");
        const takt_json *row =
            table != NULL && table->kind == TAKT_JSON_OBJECT ? takt_json_get(table, name.at) : NULL;
        const takt_json *ids =
            row != NULL && row->kind == TAKT_JSON_OBJECT ? takt_json_get(row, "ids") : NULL;
        const bool is_list = ids != NULL && ids->kind == TAKT_JSON_ARRAY;
        for (const takt_json *i = is_list ? takt_json_first(ids) : NULL; i != NULL;
             i = takt_json_next(i))
            TAKT_TRY(affix(t, i, is_first));
    }
    return TAKT_OK;
}

/* ["[SEP]", 102] */
static takt_status read_pair(takt_tokenizer *t, const takt_json *stage, const char *key,
                             bool is_first)
{
    const takt_json *pair = takt_json_get(stage, key);
    const takt_json *name =
        pair != NULL && pair->kind == TAKT_JSON_ARRAY ? takt_json_first(pair) : NULL;
    return affix(t, name != NULL ? takt_json_next(name) : NULL, is_first);
}

static takt_status read_post(takt_tokenizer *t, const takt_json *stage)
{
    const char *type = takt_stage_type(stage);
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(t, stage);
    if (strcmp(type, "ByteLevel") == 0)
        return TAKT_OK;
    if (strcmp(type, "BertProcessing") != 0 && strcmp(type, "RobertaProcessing") != 0)
        return unsupported(t, "post_processor", type);
    TAKT_TRY(read_pair(t, stage, "cls", true));
    return read_pair(t, stage, "sep", false);
}

/* ---- all of them ---- */

takt_status takt_stage_each(takt_tokenizer *t, const takt_json *stage, const char *key,
                            takt_stage_fn *read)
{
    if (stage == NULL || stage->kind == TAKT_JSON_NULL)
        return TAKT_OK;
    const takt_json *list = parts_of(stage, key);
    if (list == NULL)
        return read(t, stage);
    for (const takt_json *p = takt_json_first(list); p != NULL; p = takt_json_next(p))
        TAKT_TRY(read(t, p));
    return TAKT_OK;
}

takt_status takt_tokenizer_read_stages(takt_tokenizer *t, const takt_json *root)
{
    TAKT_TRY(takt_stage_each(t, takt_json_get(root, "normalizer"), "normalizers", read_normal));
    TAKT_TRY(takt_stage_each(t, takt_json_get(root, "pre_tokenizer"), "pretokenizers",
                             takt_tokenizer_read_pre));
    TAKT_TRY(takt_tokenizer_settle_pre(t));
    TAKT_TRY(takt_stage_each(t, takt_json_get(root, "post_processor"), "processors", read_post));
    return takt_decoders_read(t, takt_json_get(root, "decoder"));
}
