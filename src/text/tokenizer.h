/* tokenizer.h - the parts of a tokenizer, and the stages of tokenizing a text.
 *
 *     text -- added tokens (trie.c) --> parts -- normal form (normalize.c) --> text
 *          -- words (scan.c) --> words -- merge.c or wordpiece.c --> ids
 *
 * Everything takes time proportional to the text, except for a factor of the logarithm of a word's
 * length, or the longest token's length.
 */
#ifndef TAKT_TEXT_TOKENIZER_H
#define TAKT_TEXT_TOKENIZER_H

#include <takt/tokenizer.h>

#include "base/arena.h"
#include "base/spans.h"
#include "text/regex.h"
#include "text/scan.h"

struct takt_gguf;
struct takt_gguf_keys;
struct takt_json;

/* Numbered as in GGUF. */
typedef enum takt_token_kind {
    TAKT_TOKEN_NORMAL = 1,
    TAKT_TOKEN_UNKNOWN,
    TAKT_TOKEN_CONTROL,
    TAKT_TOKEN_USER, /* added separately: always found in a text */
    TAKT_TOKEN_UNUSED,
    TAKT_TOKEN_BYTE,
} takt_token_kind;

typedef enum takt_tokenizer_model {
    TAKT_TOKENIZER_BYTES,   /* byte-level BPE */
    TAKT_TOKENIZER_CHARS,   /* BPE on characters; bytes for characters that are not tokens */
    TAKT_TOKENIZER_SCORES,  /* SentencePiece: the pair whose token has the best score */
    TAKT_TOKENIZER_WORDS,   /* WordPiece; tokens that begin a word begin with the mark */
    TAKT_TOKENIZER_UNIGRAM, /* the tokens with the greatest sum of scores */
    TAKT_TOKENIZER_WHOLE,   /* a word is a token, or unknown */
} takt_tokenizer_model;

/* U+2581: a space in SentencePiece's tokens; the beginning of a word in WordPiece's. */
#define TAKT_TOKEN_MARK "\xE2\x96\x81"
enum { TAKT_TOKEN_MARK_BYTES = 3 };

/* ---- pairs of tokens that merge ---- */

typedef struct takt_merge {
    int32_t left, right; /* left < 0: the slot is empty */
    int32_t into;
    uint32_t rank;
} takt_merge;

typedef struct takt_merges {
    takt_merge *at;
    size_t mask;
} takt_merges;

TAKT_MUST_USE takt_status takt_merges_init(takt_merges *m, takt_arena *arena, size_t count);
/* False if the pair exists. */
bool takt_merges_add(takt_merges *m, const takt_merge *merge);
const takt_merge *takt_merges_find(const takt_merges *m, int32_t left, int32_t right);

/* ---- tokens found in texts before anything else ---- */

typedef struct takt_added {
    int32_t id;
    bool is_control, strips_left, strips_right, is_word;
} takt_added;

typedef struct takt_trie_node {
    uint32_t child, sibling; /* 0: none */
    uint32_t added;          /* index + 1 */
    uint8_t byte;
} takt_trie_node;

typedef struct takt_trie {
    takt_trie_node *nodes; /* the first is the root */
    size_t count;
    uint32_t first[256]; /* children of the root */
    takt_added *added;
    size_t added_count;
} takt_trie;

typedef struct takt_added_match {
    const takt_added *added;
    size_t begin, end; /* the range of the text it takes */
} takt_added_match;

/* The tokens of t->trie.added, by their texts. */
TAKT_MUST_USE takt_status takt_trie_build(takt_tokenizer *t);
/* The first match in [from, length), the longest at that position; false if there is none. */
bool takt_trie_next(const takt_tokenizer *t, takt_span text, size_t from, bool parses,
                    takt_added_match *match);

/* ---- normalisation before splitting into words ---- */

typedef enum takt_normal_kind {
    TAKT_NORMAL_NFC,
    TAKT_NORMAL_NFD,
    TAKT_NORMAL_NFKC,
    TAKT_NORMAL_NFKD,
    TAKT_NORMAL_LOWER,
    TAKT_NORMAL_STRIP_MARKS, /* as BERT: those of no width */
    TAKT_NORMAL_STRIP_ALL_MARKS,
    TAKT_NORMAL_STRIP,      /* white space: b has "l", "r" or both */
    TAKT_NORMAL_CLEAN,      /* BERT: removes control characters, white space becomes spaces */
    TAKT_NORMAL_IDEOGRAPHS, /* spaces around each */
    TAKT_NORMAL_NMT,        /* as for translation: drops control characters, some become spaces */
    TAKT_NORMAL_SPELL,      /* bytes as the characters of byte-level vocabularies */
    TAKT_NORMAL_PATTERN,    /* matches of the regular expression by b */
    TAKT_NORMAL_PREPEND,    /* a, unless the text is empty, or begins with b */
    TAKT_NORMAL_REPLACE,    /* a by b */
    TAKT_NORMAL_CHARSMAP,   /* by the table of SentencePiece */
    TAKT_NORMAL_SPACES,     /* white space, or only `a`: none at the ends, else one space; no `b`
                             * at the end */
    TAKT_NORMAL_RUNS,       /* two or more spaces are replaced by b */
} takt_normal_kind;

typedef struct takt_normal {
    takt_normal_kind kind;
    takt_span a, b;
    takt_regex *regex;
} takt_normal;

/* AFFIX_BYTES: of a BPE's prefix and suffix together. */
enum { TAKT_NORMALS = 16, TAKT_AFFIXES = 8, TAKT_AFFIX_BYTES = 60 };

/* SentencePiece's table of character replacements (charsmap.c). */
typedef struct takt_charsmap {
    const uint32_t *units;
    const char *texts;
    size_t count, length;
} takt_charsmap;

/* Reads the table from untrusted bytes; without bytes it is empty. */
TAKT_MUST_USE takt_status takt_charsmap_read(takt_tokenizer *t, const uint8_t *bytes,
                                             size_t length);
void takt_charsmap_apply(const takt_charsmap *m, takt_span text, takt_text *to);

/* Appends a stage, with copies of the texts. */
TAKT_MUST_USE takt_status takt_normals_add(takt_tokenizer *t, takt_normal_kind kind, takt_span a,
                                           takt_span b);
bool takt_span_begins(takt_span span, takt_span start);
/* The first place after `from` with a mark that follows another character, or the length. */
size_t takt_span_mark(takt_span text, size_t from);
/* Appends the text with every `a`, which may be empty, replaced by `b`. */
void takt_span_replace(takt_span text, takt_span a, takt_span b, takt_text *to);
/* Appends the normalised text to `to`. `begins`: PREPEND applies. */
void takt_normalize(const takt_tokenizer *t, takt_span text, bool begins, takt_text *to);

/* ---- patterns that split a text into words, in sequence ---- */

/* What happens to the matches; the text between them stays. */
typedef enum takt_cut_kind {
    TAKT_CUT_ISOLATED,
    TAKT_CUT_REMOVED,
    TAKT_CUT_WITH_PREVIOUS,
    TAKT_CUT_WITH_NEXT,
    TAKT_CUT_CONTIGUOUS, /* adjacent matches are merged */
    TAKT_CUT_SCRIPTS,    /* without a pattern: where the script changes */
} takt_cut_kind;

typedef struct takt_cut {
    takt_span pattern;
    takt_cut_kind kind;
    bool is_inverted; /* selects the text between matches */
    takt_regex regex;
} takt_cut;

enum { TAKT_CUTS = 10 };

/* How a GGUF file's BPE splits texts, by the file's name for it (pre_known.c). */
typedef struct takt_pre {
    const char *name;
    const char *patterns[7]; /* each splits the pieces of the previous ones; NULL after the last */
    bool takes_whole, adds_first;
    bool is_plain; /* tokens are texts, not bytes, with marks for spaces */
    bool is_words; /* same without marks: tokens contain no white space */
} takt_pre;

/* NULL: not known. */
const takt_pre *takt_pre_named(takt_span name);
/* The name for these patterns; NULL: there is none. */
const char *takt_pre_of(const takt_cut *cuts, size_t count);

/* Adds a pattern; takt_cuts_settle compiles them, or finds an equivalent scanner. */
TAKT_MUST_USE takt_status takt_cuts_add(takt_tokenizer *t, takt_span pattern, takt_cut_kind kind,
                                        bool is_inverted);
TAKT_MUST_USE takt_status takt_cuts_settle(takt_tokenizer *t, unsigned flags);

/* Visits the words of a text through all patterns from number `first` on. */
typedef struct takt_cutting {
    const takt_tokenizer *t;
    takt_regex_run runs[TAKT_CUTS];
    void (*word)(void *user, takt_span word);
    void *user;
    takt_status status;
} takt_cutting;
void takt_cuts_run(takt_cutting *c, size_t first, takt_span text);
void takt_cutting_deinit(takt_cutting *c);

/* ---- from tokens to a text ---- */

/* What becomes of marks at the beginning of a text; elsewhere they are spaces. */
typedef enum takt_first_marks {
    TAKT_MARKS_BY_MODEL, /* dropped if the text already has one */
    TAKT_MARKS_KEPT,     /* they are spaces, too */
    TAKT_MARK_DROPPED,   /* the first character is dropped if it is a mark */
    TAKT_MARKS_DROPPED,  /* like all marks of the first token */
} takt_first_marks;

/* A stage of tokenizer.json's decoder (decoder.c). */
typedef struct takt_decoder_kind takt_decoder_kind;
typedef struct takt_decoder {
    const takt_decoder_kind *kind;
    takt_span a, b;
    size_t begin, end;
    bool flag;
    takt_regex *regex;
} takt_decoder;

enum { TAKT_DECODERS = 8 };

TAKT_MUST_USE takt_status takt_decoders_read(takt_tokenizer *t, const struct takt_json *stage);
/* takt_detokenize through the stages; the ids exist. */
TAKT_MUST_USE takt_status takt_decoders_run(const takt_tokenizer *t, const int32_t *ids,
                                            size_t count, unsigned flags, takt_token_text *text);

/* ---- the tokenizer ---- */

struct takt_tokenizer {
    takt_ctx *ctx;
    takt_arena arena;
    const char *file; /* while it is read */
    bool is_compiled; /* it was in a compiled model */
    takt_tokenizer_model model;
    const takt_scan *scan; /* NULL: patterns split it; without those a text is one word */
    takt_cut *cuts;
    size_t cut_count;
    size_t count;
    takt_span *texts; /* the text of each token */
    uint8_t *kinds;
    float *scores;    /* SCORES only */
    double *weights;  /* UNIGRAM only: NaN for tokens that no text maps to */
    double worst;     /* the least of them */
    bool adds_floats; /* sums of weights are rounded to float, as in SentencePiece */
    takt_charsmap charsmap;
    takt_spans index;
    size_t longest;   /* length of the longest token */
    uint32_t *sorted; /* tokens that have a text, by its bytes; WORDS only */
    size_t sorted_count;
    takt_merges merges;
    int32_t bytes[256]; /* the token of each byte, or -1 */
    takt_trie trie;
    takt_normal normals[TAKT_NORMALS];
    size_t normal_count;
    size_t normal_growth, decoder_growth; /* takt_stage_grows; 0: no stage replaces */
    bool ranks_ids;      /* BYTES: of the pairs that are tokens, the one with the least id merges */
    bool takes_whole;    /* a word that is a token is that token, regardless of merges */
    bool begins_spaced;  /* SentencePiece's space before the text */
    bool spaces_once;    /* that space only at the beginning of the text */
    bool joins_unknown;  /* several unknown characters are one token */
    bool marks_begin;    /* BPE on characters: no token has a mark after another character */
    bool splits_as_bert; /* WORDS: words are found by wordpiece.c */
    takt_span word_suffix;  /* BPE: suffix of tokens that end a word */
    takt_span piece_prefix; /* WORDS and BPE from tokenizer.json: what tokens that continue a word
                               begin with */
    size_t word_limit;      /* WORDS: maximum characters of a word; 0: any */
    int32_t roles[TAKT_TOKEN_ROLES];
    const char *chat; /* the chat template, or NULL */
    int32_t prefix[TAKT_AFFIXES], suffix[TAKT_AFFIXES];
    size_t prefix_count, suffix_count;
    takt_first_marks first_marks;
    takt_decoder decoders[TAKT_DECODERS]; /* none: decode.c writes token by token */
    size_t decoder_count;
};

/* A bound without tokenizing: a text of this length, in bytes, has at least that many tokens. */
size_t takt_tokenizer_least(const takt_tokenizer *t, size_t length);

/* Ids in output order. Failures are sticky. */
typedef struct takt_ids {
    takt_ctx *ctx;
    int32_t *at;
    size_t count, capacity;
    takt_status status;
} takt_ids;

void takt_ids_add(takt_ids *ids, int32_t id);
/* For a word that is not in the vocabulary; fails if there is no token for it. BPE leaves out what
 * it does not know, as in Hugging Face's tokenizers. */
void takt_ids_add_unknown(const takt_tokenizer *t, takt_ids *ids);

/* Memory shared by the words of one text. */
typedef struct takt_merging takt_merging;
struct takt_merging {
    takt_ctx *ctx;
    void *symbols, *heap;
    size_t symbol_room, heap_room;
};
void takt_merging_deinit(takt_merging *m);

/* One word. */
void takt_merge_word(const takt_tokenizer *t, takt_merging *m, takt_span word, takt_ids *ids);
void takt_unigram(const takt_tokenizer *t, takt_span text, takt_ids *ids);
/* Whether pieces are short enough. */
TAKT_MUST_USE takt_status takt_unigram_check(const takt_tokenizer *t);
/* Sets the weights from the scores, once all tokens exist. */
TAKT_MUST_USE takt_status takt_unigram_init(takt_tokenizer *t);
TAKT_MUST_USE takt_status takt_wordpiece_index(takt_tokenizer *t);
/* The words of a text as BERT splits it; and one word. */
void takt_wordpiece(const takt_tokenizer *t, takt_span text, takt_ids *ids);
void takt_wordpiece_word(const takt_tokenizer *t, takt_span word, takt_ids *ids);

/* ---- reading ---- */

/* Room for `count` tokens, all empty, normal and without a score. */
TAKT_MUST_USE takt_status takt_tokenizer_reserve(takt_tokenizer *t, size_t count);
/* Builds the table of texts, the byte tokens and the trie, after all tokens are added. */
TAKT_MUST_USE takt_status takt_tokenizer_index(takt_tokenizer *t);
TAKT_MUST_USE takt_status takt_tokenizer_read_gguf(takt_tokenizer *t, const struct takt_gguf *g);
/* The reverse; unused tokens are added up to `count`. */
TAKT_MUST_USE takt_status takt_tokenizer_write_gguf(const takt_tokenizer *t, size_t count,
                                                    struct takt_gguf_keys *k);
/* tokenizer.json and tokenizer_config.json of a tokenizer from a GGUF file. */
TAKT_MUST_USE takt_status takt_tokenizer_write_json(const takt_tokenizer *t, takt_text *text);
TAKT_MUST_USE takt_status takt_tokenizer_write_config(const takt_tokenizer *t, takt_text *text);
/* Encodes bytes as the characters of byte-level vocabularies; and the reverse, which leaves a text
 * with other characters unchanged. */
void takt_token_spell(takt_span bytes, takt_text *to);
void takt_token_unspell(takt_span text, takt_text *to);
/* The byte of "<0x1F>", -1 for other texts. */
int takt_token_byte_named(takt_span text);
/* The stages around the model: normalizer, pre_tokenizer, post_processor (json_stages.c). */
TAKT_MUST_USE takt_status takt_tokenizer_read_stages(takt_tokenizer *t,
                                                     const struct takt_json *root);
/* Whether `stage` has this type, or is a sequence that contains such a stage. */
bool takt_tokenizer_has_stage(const struct takt_json *stage, const char *type);
/* "type" of a stage; a flag of it; the text under `key`, "" if there is none (json_stages.c). */
const char *takt_stage_type(const struct takt_json *stage);
bool takt_stage_flag(const struct takt_json *stage, const char *key, bool fallback);
/* Reads a stage, or every part under `key` if it is a sequence; none if it is NULL or null. */
typedef takt_status takt_stage_fn(takt_tokenizer *t, const struct takt_json *stage);
TAKT_MUST_USE takt_status takt_stage_each(takt_tokenizer *t, const struct takt_json *stage,
                                          const char *key, takt_stage_fn *read);
takt_span takt_stage_text(const struct takt_json *stage, const char *key);
/* Counts a stage that replaces `a`, or matches if it is empty, by `b`. A file in which all of them
 * make a text much longer is refused: a short text would fill the memory. */
enum { TAKT_GROWTH = 4096 };
TAKT_MUST_USE takt_status takt_stage_grows(takt_tokenizer *t, takt_span a, takt_span b,
                                           size_t *growth);
TAKT_MUST_USE takt_status takt_tokenizer_read_json(takt_tokenizer *t, const char *bytes,
                                                   size_t length);
/* pre_tokenizer of tokenizer.json (json_pre.c). */
TAKT_MUST_USE takt_status takt_tokenizer_read_pre(takt_tokenizer *t, const struct takt_json *stage);
/* After all of them. */
TAKT_MUST_USE takt_status takt_tokenizer_settle_pre(takt_tokenizer *t);
/* A list of ranks in tiktoken's format: a line "BASE64 RANK" for each token. */
bool takt_tiktoken_recognises(const uint8_t *bytes, size_t length);
TAKT_MUST_USE takt_status takt_tokenizer_read_tiktoken(takt_tokenizer *t, const uint8_t *bytes,
                                                       size_t length);
/* SentencePiece's tokenizer.model. */
bool takt_spm_recognises(const uint8_t *bytes, size_t length);
TAKT_MUST_USE takt_status takt_tokenizer_read_spm(takt_tokenizer *t, const uint8_t *bytes,
                                                  size_t length);
/* The tokens of a tokenizer.json with a Unigram model, after the added ones. */
TAKT_MUST_USE takt_status takt_tokenizer_read_unigram(takt_tokenizer *t,
                                                      const struct takt_json *model);
/* The tokenizer file of a folder; the text stays empty if `path` is not such a folder. */
TAKT_MUST_USE takt_status takt_tokenizer_inside(takt_ctx *ctx, const char *path, takt_text *file);
/* The rest of a folder: tokens with a role, and the chat template. */
TAKT_MUST_USE takt_status takt_tokenizer_read_config(takt_tokenizer *t, const char *folder);
/* The bytes of a byte-level token, in the arena; unchanged if it uses other characters. */
TAKT_MUST_USE takt_status takt_tokenizer_unmap(takt_tokenizer *t, takt_span text, takt_span *out);
/* A merge of two tokens by their bytes. */
TAKT_MUST_USE takt_status takt_tokenizer_merge(takt_tokenizer *t, takt_span left, takt_span right,
                                               uint32_t rank);
/* "FILE: sentence" as 3711. */
takt_status takt_tokenizer_fail(const takt_tokenizer *t, takt_error_id id, const char *format, ...)
    TAKT_PRINTF(3, 4);
/* Roles implied by names: <|eot_id|> and the like. */
void takt_tokenizer_guess_roles(takt_tokenizer *t);

#endif
