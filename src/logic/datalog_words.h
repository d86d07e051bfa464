/* datalog_words.h - the tokens of a Datalog text, one after the other. */
#ifndef TAKT_LOGIC_DATALOG_WORDS_H
#define TAKT_LOGIC_DATALOG_WORDS_H

#include "logic/datalog.h"

enum { TAKT_DLOG_TYPES, TAKT_DLOG_DECLS, TAKT_DLOG_CLAUSES, TAKT_DLOG_STAGES };

typedef struct takt_dlog_reader {
    takt_dlog_program *p;
    const char *at, *end;
    int line, depth;
    int stage;             /* TAKT_DLOG_TYPES, ...: names may be used before they are declared */
    int signs, term_signs; /* so far, of the clause and of the term */
    bool in_most;          /* inside of an aggregate */
    bool in_target;        /* before its : */
    int made;              /* relations introduced for min and max */
    int each;              /* variables introduced for _ in count and sum */
    takt_span word;        /* the current token; for a string, the text between its quotes */
    enum { TAKT_DLOG_END, TAKT_DLOG_WORD, TAKT_DLOG_DIGITS, TAKT_DLOG_QUOTED, TAKT_DLOG_SIGN } kind;
    takt_status status;
} takt_dlog_reader;

/* Records the first error, at the current word; returns NULL. */
void *takt_dlog_wrong(takt_dlog_reader *r, const char *what);
/* Zeroed memory of the program; NULL if out of memory, which the reader remembers. */
void *takt_dlog_room(takt_dlog_reader *r, size_t size);
/* Advances to the next word. */
void takt_dlog_advance(takt_dlog_reader *r);
/* Whether the current token is that sign or word. The second function also consumes it; the third
 * requires it. */
bool takt_dlog_at(const takt_dlog_reader *r, const char *sign);
bool takt_dlog_take(takt_dlog_reader *r, const char *sign);
bool takt_dlog_need(takt_dlog_reader *r, const char *sign);
/* Consumes a name. */
takt_span takt_dlog_word(takt_dlog_reader *r);
/* The value of 42, 0x2a or 0b101010; a u at the end says that it is unsigned. -1: it is not a
 * number, or too large. */
int64_t takt_dlog_digits(takt_span word);
/* Skips words after a .decl, and a .pragma, that say how to evaluate, not what: results are the
 * same without. Other pragmas are refused. */
void takt_dlog_skip_hints(takt_dlog_reader *r);
void takt_dlog_skip_pragma(takt_dlog_reader *r);
/* A node at the current line and token, with room for terms; NULL after an error. The second
 * function makes inner nodes: their number is limited, and with it their depth. */
takt_dlog_node *takt_dlog_node_of(takt_dlog_reader *r, takt_dlog_kind kind, int terms);
takt_dlog_node *takt_dlog_above(takt_dlog_reader *r, takt_dlog_kind kind);
/* { body }, or one literal. */
takt_dlog_node *takt_dlog_braces(takt_dlog_reader *r);
/* Adds a clause, unless something failed; without a body a fact. */
void takt_dlog_add_clause(takt_dlog_reader *r, takt_dlog_node *head, takt_dlog_node *body);

/* ---- datalog_most.c ---- */

/* Whether `min x : ...` or max begins here, or follows `result =`. */
bool takt_dlog_at_most(const takt_dlog_reader *r);
takt_dlog_node *takt_dlog_most(takt_dlog_reader *r, takt_dlog_node *result);
/* The rest of a clause, for its variables. */
typedef struct takt_dlog_scope {
    takt_dlog_node *const *heads;
    int count;
    const takt_dlog_node *body;
} takt_dlog_scope;
/* The body with ordinary atoms instead of min and max, for which it adds clauses; NULL: refused. */
takt_dlog_node *takt_dlog_without_most(takt_dlog_reader *r, takt_dlog_node *n,
                                       const takt_dlog_scope *scope);

/* ---- datalog_fold.c ---- */

/* Whether count, sum or mean begins here; which one. */
bool takt_dlog_at_fold(const takt_dlog_reader *r);
takt_dlog_node *takt_dlog_fold(takt_dlog_reader *r);
/* Finds the variables that belong to each count and sum of a clause. */
void takt_dlog_own_variables(takt_dlog_reader *r, takt_dlog_node *n, const takt_dlog_scope *scope);
/* Whether the variable occurs in the formula, outside of aggregates (datalog_most.c). */
bool takt_dlog_stands_in(const takt_dlog_node *n, takt_span name);

/* A term (datalog_read.c). */
takt_dlog_node *takt_dlog_term(takt_dlog_reader *r);
/* Parses what follows `.type`; says whether a type is of symbols, not numbers (datalog_types.c). */
void takt_dlog_declare_type(takt_dlog_reader *r);
bool takt_dlog_is_symbol(takt_dlog_reader *r, takt_span word);

#endif
