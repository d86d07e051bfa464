/* write_json.c - a tokenizer as Hugging Face's tokenizer.json and tokenizer_config.json. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "text/write_json.h"

/* ---- names of tokens ---- */

bool takt_token_is_added(const takt_tokenizer *t, size_t id)
{
    return t->kinds[id] == TAKT_TOKEN_CONTROL || t->kinds[id] == TAKT_TOKEN_UNKNOWN ||
           t->kinds[id] == TAKT_TOKEN_USER;
}

/* The name of a token in the vocabulary. */
const char *takt_token_name(const takt_tokenizer *t, size_t id, takt_text *to)
{
    const takt_span text = t->texts[id];
    const bool begins = text.length > TAKT_TOKEN_MARK_BYTES &&
                        memcmp(text.at, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES) == 0;
    to->length = 0;
    if (takt_token_is_added(t, id) ||
        (t->model != TAKT_TOKENIZER_BYTES && t->model != TAKT_TOKENIZER_WORDS)) {
        takt_text_put(to, text.at, text.length);
    } else if (t->model == TAKT_TOKENIZER_WORDS) {
        const size_t skipped = begins ? TAKT_TOKEN_MARK_BYTES : 0;
        takt_text_put(to, "##", begins ? 0 : 2);
        takt_text_put(to, text.at + skipped, text.length - skipped);
    } else {
        takt_token_spell(text, to);
    }
    return takt_text_get(to);
}

static void put_name(const takt_tokenizer *t, takt_json_writer *w, size_t id, takt_text *name)
{
    takt_json_string(w, takt_token_name(t, id, name));
}

static void put_vocab(const takt_tokenizer *t, takt_json_writer *w, takt_text *name)
{
    takt_json_put_open(w, "vocab", '{');
    for (size_t i = 0; i < t->count; i++)
        if (t->texts[i].length > 0 && t->kinds[i] != TAKT_TOKEN_UNUSED)
            takt_json_put_integer(w, takt_token_name(t, i, name), (int64_t)i);
    takt_json_close(w, '}');
}

static void put_added(const takt_tokenizer *t, takt_json_writer *w, takt_text *name)
{
    takt_json_put_open(w, "added_tokens", '[');
    for (size_t i = 0; i < t->trie.added_count; i++) {
        const takt_added *a = &t->trie.added[i];
        takt_json_open(w, '{');
        takt_json_put_integer(w, "id", a->id);
        takt_json_put_string(w, "content", takt_token_name(t, (size_t)a->id, name));
        takt_json_put_bool(w, "single_word", a->is_word);
        takt_json_put_bool(w, "lstrip", a->strips_left);
        takt_json_put_bool(w, "rstrip", a->strips_right);
        takt_json_put_bool(w, "normalized", false);
        takt_json_put_bool(w, "special", a->is_control);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

/* ---- stages ---- */

static void put_type(takt_json_writer *w, const char *type)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "type", type);
}

static void put_replace(takt_json_writer *w, const char *from, const char *to)
{
    put_type(w, "Replace");
    takt_json_put_open(w, "pattern", '{');
    takt_json_put_string(w, "String", from);
    takt_json_close(w, '}');
    takt_json_put_string(w, "content", to);
    takt_json_close(w, '}');
}

static void put_byte_level(takt_json_writer *w, bool cuts)
{
    put_type(w, "ByteLevel");
    takt_json_put_bool(w, "add_prefix_space", false);
    takt_json_put_bool(w, "trim_offsets", true);
    takt_json_put_bool(w, "use_regex", cuts);
    takt_json_close(w, '}');
}

static bool has_normal(const takt_tokenizer *t, takt_normal_kind kind)
{
    for (size_t i = 0; i < t->normal_count; i++)
        if (t->normals[i].kind == kind)
            return true;
    return false;
}

static void put_normalizer(const takt_tokenizer *t, takt_json_writer *w)
{
    takt_json_key(w, "normalizer");
    if (t->model == TAKT_TOKENIZER_WORDS) {
        put_type(w, "BertNormalizer");
        takt_json_put_bool(w, "clean_text", has_normal(t, TAKT_NORMAL_CLEAN));
        takt_json_put_bool(w, "handle_chinese_chars", true);
        takt_json_put_bool(w, "strip_accents", has_normal(t, TAKT_NORMAL_STRIP_MARKS));
        takt_json_put_bool(w, "lowercase", has_normal(t, TAKT_NORMAL_LOWER));
        takt_json_close(w, '}');
    } else if (t->model == TAKT_TOKENIZER_BYTES) {
        takt_json_null(w);
    } else {
        put_type(w, "Sequence");
        takt_json_put_open(w, "normalizers", '[');
        if (t->begins_spaced) {
            put_type(w, "Prepend");
            takt_json_put_string(w, "prepend", TAKT_TOKEN_MARK);
            takt_json_close(w, '}');
        }
        put_replace(w, " ", TAKT_TOKEN_MARK);
        takt_json_close(w, ']');
        takt_json_close(w, '}');
    }
}

static void put_split(takt_json_writer *w, const char *pattern, const char *behavior, bool inverts)
{
    put_type(w, "Split");
    takt_json_put_open(w, "pattern", '{');
    takt_json_put_string(w, "Regex", pattern);
    takt_json_close(w, '}');
    takt_json_put_string(w, "behavior", behavior);
    takt_json_put_bool(w, "invert", inverts);
    takt_json_close(w, '}');
}

static void put_pre(const takt_tokenizer *t, takt_json_writer *w)
{
    static const char *const kinds[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const bool is_words = t->model == TAKT_TOKENIZER_WORDS,
               is_bytes = t->model == TAKT_TOKENIZER_BYTES;
    const bool is_gpt2 = t->scan == &takt_scan_gpt2 || t->scan == &takt_scan_digits;
    takt_json_key(w, "pre_tokenizer");
    if (!is_words && !is_bytes) {
        takt_json_null(w);
        return;
    }
    put_type(w, "Sequence");
    takt_json_put_open(w, "pretokenizers", '[');
    if (is_words) {
        put_type(w, "BertPreTokenizer");
        takt_json_close(w, '}');
    }
    if (t->scan == &takt_scan_digits) {
        put_type(w, "Digits");
        takt_json_put_bool(w, "individual_digits", true);
        takt_json_close(w, '}');
    }
    if (t->scan != NULL && !is_gpt2)
        put_split(w, t->scan->patterns[0], "Isolated", false);
    for (size_t i = 0; i < t->cut_count; i++) {
        if (t->cuts[i].kind == TAKT_CUT_SCRIPTS) {
            put_type(w, "UnicodeScripts");
            takt_json_close(w, '}');
            continue;
        }
        put_split(w, t->cuts[i].pattern.at, kinds[t->cuts[i].kind], t->cuts[i].is_inverted);
    }
    if (is_bytes)
        put_byte_level(w, is_gpt2);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

static void put_decoder(const takt_tokenizer *t, takt_json_writer *w)
{
    takt_json_key(w, "decoder");
    if (t->model == TAKT_TOKENIZER_BYTES) {
        put_byte_level(w, true);
    } else if (t->model == TAKT_TOKENIZER_WORDS) {
        put_type(w, "WordPiece");
        takt_json_put_string(w, "prefix", "##");
        takt_json_put_bool(w, "cleanup", true);
        takt_json_close(w, '}');
    } else {
        put_type(w, "Sequence");
        takt_json_put_open(w, "decoders", '[');
        put_replace(w, TAKT_TOKEN_MARK, " ");
        put_type(w, "ByteFallback");
        takt_json_close(w, '}');
        put_type(w, "Fuse");
        takt_json_close(w, '}');
        if (t->begins_spaced) {
            put_type(w, "Strip");
            takt_json_put_string(w, "content", " ");
            takt_json_put_integer(w, "start", 1);
            takt_json_put_integer(w, "stop", 0);
            takt_json_close(w, '}');
        }
        takt_json_close(w, ']');
        takt_json_close(w, '}');
    }
}

/* ---- tokens around a text ---- */

static void put_piece(takt_json_writer *w, const char *kind, const char *id, int type)
{
    takt_json_open(w, '{');
    takt_json_put_open(w, kind, '{');
    takt_json_put_string(w, "id", id);
    takt_json_put_integer(w, "type_id", type);
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

static void put_around(const takt_tokenizer *t, takt_json_writer *w, const char *key, int texts)
{
    takt_text name;
    takt_text_init(&name, t->ctx);
    takt_json_put_open(w, key, '[');
    for (size_t i = 0; i < t->prefix_count; i++)
        put_piece(w, "SpecialToken", takt_token_name(t, (size_t)t->prefix[i], &name), 0);
    for (int n = 0; n < texts; n++) {
        put_piece(w, "Sequence", n == 0 ? "A" : "B", n);
        for (size_t i = 0; i < t->suffix_count; i++)
            put_piece(w, "SpecialToken", takt_token_name(t, (size_t)t->suffix[i], &name), n);
    }
    takt_json_close(w, ']');
    takt_text_deinit(&name);
}

static void put_special(const takt_tokenizer *t, takt_json_writer *w, int32_t id, takt_text *name)
{
    const char *text = takt_token_name(t, (size_t)id, name);
    takt_json_put_open(w, text, '{');
    takt_json_put_string(w, "id", text);
    takt_json_put_open(w, "ids", '[');
    takt_json_integer(w, id);
    takt_json_close(w, ']');
    takt_json_put_open(w, "tokens", '[');
    takt_json_string(w, text);
    takt_json_close(w, ']');
    takt_json_close(w, '}');
}

static void put_post(const takt_tokenizer *t, takt_json_writer *w, takt_text *name)
{
    takt_json_key(w, "post_processor");
    if (t->prefix_count + t->suffix_count == 0) {
        takt_json_null(w);
        return;
    }
    put_type(w, "TemplateProcessing");
    put_around(t, w, "single", 1);
    put_around(t, w, "pair", 2);
    takt_json_put_open(w, "special_tokens", '{');
    for (size_t i = 0; i < t->prefix_count; i++)
        put_special(t, w, t->prefix[i], name);
    for (size_t i = 0; i < t->suffix_count; i++)
        if (t->prefix_count == 0 || t->suffix[i] != t->prefix[0])
            put_special(t, w, t->suffix[i], name);
    takt_json_close(w, '}');
    takt_json_close(w, '}');
}

/* ---- all of it ---- */

static takt_status put_model(const takt_tokenizer *t, takt_json_writer *w, takt_text *name)
{
    const int32_t unknown = t->roles[TAKT_TOKEN_UNK];
    const bool is_words = t->model == TAKT_TOKENIZER_WORDS;
    bool has_bytes = t->model != TAKT_TOKENIZER_BYTES;
    for (size_t b = 0; b < 256; b++)
        has_bytes = has_bytes && t->bytes[b] >= 0;
    takt_json_put_open(w, "model", '{');
    takt_json_put_string(w, "type", is_words ? "WordPiece" : "BPE");
    takt_json_key(w, "unk_token");
    if (unknown >= 0 && t->model != TAKT_TOKENIZER_BYTES)
        put_name(t, w, (size_t)unknown, name);
    else
        takt_json_null(w);
    if (is_words) {
        takt_json_put_string(w, "continuing_subword_prefix", "##");
        takt_json_put_integer(w, "max_input_chars_per_word",
                              t->word_limit > 0 ? (int64_t)t->word_limit : 1 << 20);
    } else {
        takt_json_put_bool(w, "fuse_unk", t->model != TAKT_TOKENIZER_BYTES);
        takt_json_put_bool(w, "byte_fallback", has_bytes);
        takt_json_put_bool(w, "ignore_merges", t->takes_whole);
    }
    put_vocab(t, w, name);
    const takt_status status = is_words ? TAKT_OK : takt_json_merges(t, w);
    takt_json_close(w, '}');
    return status;
}

static takt_status check(const takt_tokenizer *t)
{
    const bool is_known = t->scan == NULL || t->scan == &takt_scan_gpt2 ||
                          t->scan == &takt_scan_digits || t->scan->patterns[0] != NULL;
    const bool is_plain = t->model == TAKT_TOKENIZER_SCORES || t->model == TAKT_TOKENIZER_CHARS;
    if (t->model == TAKT_TOKENIZER_UNIGRAM || t->model == TAKT_TOKENIZER_WHOLE || t->ranks_ids ||
        !is_known || (is_plain && t->cut_count > 0 && t->normal_count == 0))
        return takt_fail(t->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                         "a tokenizer of kind %s%s%s cannot be written as tokenizer.json",
                         takt_tokenizer_kind(t), is_known ? "" : " that cuts texts as ",
                         is_known ? "" : t->scan->name);
    return TAKT_OK;
}

takt_status takt_tokenizer_write_json(const takt_tokenizer *t, takt_text *text)
{
    takt_json_writer w;
    takt_text name;
    TAKT_TRY(check(t));
    takt_text_init(&name, t->ctx);
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "version", "1.0");
    put_added(t, &w, &name);
    put_normalizer(t, &w);
    put_pre(t, &w);
    put_post(t, &w, &name);
    put_decoder(t, &w);
    takt_status status = put_model(t, &w, &name);
    takt_json_close(&w, '}');
    if (status == TAKT_OK)
        status = text->status != TAKT_OK ? text->status : name.status;
    takt_text_deinit(&name);
    return status;
}

takt_status takt_tokenizer_write_config(const takt_tokenizer *t, takt_text *text)
{
    static const struct {
        const char *key;
        takt_token_role role;
    } roles[] = {{"bos_token", TAKT_TOKEN_BOS},  {"eos_token", TAKT_TOKEN_EOS},
                 {"unk_token", TAKT_TOKEN_UNK},  {"pad_token", TAKT_TOKEN_PAD},
                 {"cls_token", TAKT_TOKEN_CLS},  {"sep_token", TAKT_TOKEN_SEP},
                 {"mask_token", TAKT_TOKEN_MASK}};
    takt_json_writer w;
    takt_text name;
    takt_text_init(&name, t->ctx);
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "tokenizer_class", "PreTrainedTokenizerFast");
    takt_json_put_bool(&w, "clean_up_tokenization_spaces", false);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (t->roles[roles[i].role] >= 0)
            takt_json_put_string(&w, roles[i].key,
                                 takt_token_name(t, (size_t)t->roles[roles[i].role], &name));
    if (t->chat != NULL)
        takt_json_put_string(&w, "chat_template", t->chat);
    takt_json_close(&w, '}');
    const takt_status status = text->status != TAKT_OK ? text->status : name.status;
    takt_text_deinit(&name);
    return status;
}
