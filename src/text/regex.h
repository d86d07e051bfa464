/* regex.h - regular expressions that split texts into words, in linear time.
 *
 * The dialect is the part of Oniguruma's that tokenizers use: alternatives in order, groups,
 * greedy, lazy and possessive repetition, sets with ranges, categories of Unicode and
 * intersections, lookahead of any kind, lookbehind of one character, \b and the ends of lines.
 * There are no backreferences, so whether a step of the program leads to a match at a text position
 * depends only on these two: once a text turns out to be hard, every pair is tried once
 * (regex_run.c).
 */
#ifndef TAKT_TEXT_REGEX_H
#define TAKT_TEXT_REGEX_H

#include "base/arena.h"
#include "base/text.h"

typedef enum takt_regex_op {
    TAKT_R_CHAR,   /* the character a */
    TAKT_R_FOLD,   /* the ASCII letter a, in either case */
    TAKT_R_SET,    /* a character of set a */
    TAKT_R_RUN,    /* b to c characters of set a, as many as possible */
    TAKT_R_SPLIT,  /* continues at a, or else at b; c numbers it */
    TAKT_R_JUMP,   /* continues at a */
    TAKT_R_LOOK,   /* c: whether the code at a must match, or must not; continues at b */
    TAKT_R_BEHIND, /* c: whether the previous character is in set a, or not */
    TAKT_R_AT,     /* a position: takt_regex_place a */
    TAKT_R_MATCH,
} takt_regex_op;

typedef enum takt_regex_place {
    TAKT_R_LINE_BEGIN,
    TAKT_R_LINE_END,
    TAKT_R_BEGIN,
    TAKT_R_END,
    TAKT_R_LAST, /* the end, or a newline before it */
    TAKT_R_WORD_EDGE,
    TAKT_R_NO_WORD_EDGE,
} takt_regex_place;

typedef struct takt_regex_step {
    takt_regex_op op;
    uint32_t a, b, c;
} takt_regex_step;

typedef enum takt_regex_kind {
    TAKT_R_RANGE,   /* low to high */
    TAKT_R_CLASSES, /* low: one bit for each takt_unicode_class */
    TAKT_R_SPACE,
    TAKT_R_WORD, /* low: whether it is outside a set, which changes its meaning */
    TAKT_R_HAN,
    TAKT_R_SUBSET, /* set number low */
} takt_regex_kind;

typedef struct takt_regex_item {
    takt_regex_kind kind;
    bool is_negated;
    uint32_t low, high;
} takt_regex_item;

typedef struct takt_regex_set {
    uint64_t ascii[2];     /* a bit for each character below 128 */
    uint32_t first, count; /* items */
    uint32_t and_set;      /* index + 1 of a set to intersect with; 0: none */
    bool is_negated, folds;
} takt_regex_set;

typedef struct takt_regex {
    takt_regex_step *steps;
    takt_regex_set *sets;
    takt_regex_item *items;
    size_t step_count, set_count, item_count, split_count;
    bool is_rust;
} takt_regex;

/* Dialects: in TAKT_REGEX_RUST `$` is only the end of the text and `{1,3}+` is possessive; in the
 * other one, Ruby's, `$` also matches at line ends and the + repeats. */
enum { TAKT_REGEX_RUST = 1 };

/* In the arena. An unsupported pattern fails as 3712, with the position. */
TAKT_MUST_USE takt_status takt_regex_compile(takt_arena *arena, takt_span pattern, unsigned flags,
                                             takt_regex *regex);
bool takt_regex_has(const takt_regex *r, const takt_regex_set *s, uint32_t c);
bool takt_regex_is_word(const takt_regex *r, uint32_t c);
/* Sets `ascii` of a set whose items are known. */
void takt_regex_settle(const takt_regex *r, takt_regex_set *s);

/* ---- matching ---- */

typedef struct takt_regex_frame {
    uint32_t step;
    bool is_second; /* the first branch failed */
    size_t at;
} takt_regex_frame;

/* A possessive run of the text. */
enum { TAKT_REGEX_KNOWN = 16 };
typedef struct takt_regex_known {
    const takt_regex_step *step;
    size_t from, to;
} takt_regex_known;

/* Memory that the matches of many texts share. */
typedef struct takt_regex_run {
    takt_ctx *ctx;
    const takt_regex *regex;
    takt_span text;
    takt_regex_frame *frames;
    size_t count, room;
    uint8_t *seen; /* two bits for each split and text position: it failed, it matches */
    size_t seen_bytes;
    takt_regex_known known[TAKT_REGEX_KNOWN];
    bool is_careful;
    uint64_t left; /* steps until then */
    takt_status status;
} takt_regex_run;

void takt_regex_begin(takt_regex_run *run, takt_ctx *ctx, const takt_regex *regex, takt_span text);
void takt_regex_deinit(takt_regex_run *run);
/* The first match at `from` or later; false: there is none, or status has the failure. */
bool takt_regex_next(takt_regex_run *run, size_t from, size_t *begin, size_t *end);
/* Appends the text with every match replaced by `by`, except empty ones where another match ends.
 */
void takt_regex_replace(const takt_regex *regex, takt_span text, takt_span by, takt_text *to);

#endif
