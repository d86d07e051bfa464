/* regex_parse.h - shared by the parsers of patterns and of their sets. */
#ifndef TAKT_TEXT_REGEX_PARSE_H
#define TAKT_TEXT_REGEX_PARSE_H

#include "text/regex.h"

enum { TAKT_REGEX_STEPS = 1 << 14, TAKT_REGEX_SETS = 1 << 10, TAKT_REGEX_DEPTH = 48 };

/* Failures are sticky: nothing is read after one. */
typedef struct takt_regex_parser {
    takt_arena *arena;
    takt_regex *r;
    takt_span pattern;
    size_t at;
    unsigned flags;
    int depth;
    bool folds; /* (?i) */
    size_t step_room, set_room, item_room;
    takt_status status;
} takt_regex_parser;

/* Records that the pattern is not understood at its position, unless something failed before. */
void takt_regex_refuse(takt_regex_parser *p, const char *what);
/* The character at the position, which is not the end, without consuming it. */
uint32_t takt_regex_peek(const takt_regex_parser *p);
uint32_t takt_regex_take(takt_regex_parser *p);
/* Consumes the text if it is next. */
bool takt_regex_takes(takt_regex_parser *p, const char *text);

/* ---- code ---- */

/* Appends a step; returns its index. */
size_t takt_regex_emit(takt_regex_parser *p, takt_regex_op op, size_t a, size_t b, size_t c);
/* Inserts a step before the code from `first` on, whose targets are all inside it. */
void takt_regex_insert(takt_regex_parser *p, size_t first, takt_regex_op op, size_t b);

typedef struct takt_regex_repeat {
    uint32_t least, most; /* UINT32_MAX: any number */
    bool is_lazy, is_possessive;
} takt_regex_repeat;
/* Whether "*", "{1,3}" or the like comes next. */
bool takt_regex_take_repeat(takt_regex_parser *p, takt_regex_repeat *r);
/* Repeats the code from `first` on. */
void takt_regex_repeat_code(takt_regex_parser *p, size_t first, const takt_regex_repeat *how);
/* A step that takes one character, as a set; false for other steps. */
bool takt_regex_as_set(takt_regex_parser *p, const takt_regex_step *s, uint32_t *set);

/* ---- characters ---- */

/* The meaning of an escape: a character, or an item. */
typedef struct takt_regex_escape {
    bool is_item;
    uint32_t c;
    takt_regex_item item;
} takt_regex_escape;
takt_regex_escape takt_regex_read_escape(takt_regex_parser *p);
/* A new empty set; its index. */
uint32_t takt_regex_add_set(takt_regex_parser *p);
void takt_regex_add_item(takt_regex_parser *p, takt_regex_item item);
/* Parses a set after its '['; its index. */
uint32_t takt_regex_read_set(takt_regex_parser *p);
/* A set of one item. */
uint32_t takt_regex_set_of(takt_regex_parser *p, takt_regex_item item);

#endif
