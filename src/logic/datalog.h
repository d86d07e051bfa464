/* datalog.h - Soufflé's plain Datalog as a text with rules.
 *
 * Supported: .decl, .type of symbols and numbers, .input, .output, .printsize, facts, rules of
 * atoms, negated atoms, comparisons, arithmetic, min, max, count and sum, `,` and `;`. Everything
 * else is refused with its line.
 */
#ifndef TAKT_LOGIC_DATALOG_H
#define TAKT_LOGIC_DATALOG_H

#include "base/text.h"
#include "logic/domain.h"

/* The text of a file of facts next to the program; free it with takt_mem_put. */
typedef takt_status takt_dlog_file_fn(void *user, const char *name, void **bytes, size_t *length);

/* Writes the rules to `out`. `file`: for messages. */
TAKT_MUST_USE takt_status takt_dlog_translate(takt_ctx *ctx, const char *file, takt_span text,
                                              takt_dlog_file_fn *facts, void *user, takt_text *out);

/* ---- between the files ---- */

typedef enum takt_dlog_kind {
    TAKT_DLOG_NAME, /* a variable; text */
    TAKT_DLOG_ANY,  /* _ */
    TAKT_DLOG_STRING,
    TAKT_DLOG_NUMBER,
    TAKT_DLOG_SUM,     /* a op b, terms; op is its sign */
    TAKT_DLOG_ATOM,    /* relation(terms) */
    TAKT_DLOG_COMPARE, /* a op b */
    TAKT_DLOG_NOT,
    TAKT_DLOG_BOTH,
    TAKT_DLOG_EITHER,
    TAKT_DLOG_TRUTH, /* number is 0 or 1 */
    TAKT_DLOG_MOST,  /* a is the least or greatest `text` for which b holds; only while reading */
    TAKT_DLOG_FOLD,  /* op: count, or the sum of a, of b; terms: its own variables */
} takt_dlog_kind;

/* Limits on the operators of a clause and of one term: those of the parser of rules. */
enum {
    TAKT_DLOG_MOST_TERMS = 16,
    TAKT_DLOG_DEPTH = 64,
    TAKT_DLOG_MOST_SIGNS = 128,
    TAKT_DLOG_TERM_SIGNS = 48
};

typedef struct takt_dlog_relation takt_dlog_relation;

typedef struct takt_dlog_node {
    takt_dlog_kind kind;
    int line;
    takt_span text;
    int64_t number;
    const char *op;
    takt_dlog_relation *relation;
    struct takt_dlog_node *a, *b;
    int term_count;
    struct takt_dlog_node *terms[]; /* of an atom: the arity of its relation */
} takt_dlog_node;

typedef struct takt_dlog_clause {
    takt_dlog_node *head, *body; /* body NULL: a fact */
    struct takt_dlog_clause *next;
} takt_dlog_clause;

struct takt_dlog_relation {
    takt_span name, written; /* as in the program, and as in the rules */
    int line, arity;
    bool is_symbol[TAKT_DLOG_MOST_TERMS]; /* else a number */
    const char *input;                    /* a file, or NULL */
    bool is_output, is_counted, has_facts, has_rules;
    int64_t fact_count, tuple_count, derived; /* of all, and by the pass that bounds it: at most */
    int64_t largest[TAKT_DLOG_MOST_TERMS];    /* number that a column may have, or -1 */
    takt_dlog_relation *next;
};

/* Alternatives of a type that is a union of others. */
typedef struct takt_dlog_base {
    takt_span name;
    struct takt_dlog_base *next;
} takt_dlog_base;

typedef struct takt_dlog_type {
    takt_span name;
    takt_dlog_base *bases; /* NULL: symbols */
} takt_dlog_type;

/* Types or relations by name. */
typedef struct takt_dlog_table {
    struct takt_dlog_entry *at; /* `places` of them */
    size_t count, places;
} takt_dlog_table;

typedef struct takt_dlog_program {
    takt_ctx *ctx;
    takt_arena arena;
    const char *file;
    takt_dlog_relation *relations, **last_relation;
    takt_dlog_clause *clauses, **last_clause;
    takt_dlog_table types, names; /* names: of relations */
} takt_dlog_program;

/* Everything that a program names, each once, in order of first use. */
typedef struct takt_dlog_symbols {
    takt_span *at;
    size_t count, capacity;
    uint32_t *table;
    size_t table_size;
    int64_t largest; /* number, or -1 */
} takt_dlog_symbols;

TAKT_MUST_USE takt_status takt_dlog_symbols_of(takt_dlog_program *p, takt_dlog_file_fn *facts,
                                               void *user, takt_dlog_symbols *all);
TAKT_MUST_USE takt_status takt_dlog_read(takt_dlog_program *p, takt_span text);
TAKT_MUST_USE takt_status takt_dlog_write(takt_dlog_program *p, takt_dlog_file_fn *facts,
                                          void *user, takt_text *out);
/* Refuses variables that no atom binds, as Soufflé does, and arithmetic on those bound only by an
 * equation. */
TAKT_MUST_USE takt_status takt_dlog_check_clause(const takt_dlog_program *p,
                                                 const takt_dlog_clause *c);
/* Raises all->largest to the numbers that counts and sums may make. */
TAKT_MUST_USE takt_status takt_dlog_bound(takt_dlog_program *p, takt_dlog_symbols *all);
/* Whether a variable occurs in an atom, which gives its domain. */
bool takt_dlog_stands_in_atom(const takt_dlog_node *n, takt_span name);
/* Whether it is a symbol, judging by its comparisons. */
bool takt_dlog_is_symbolic(const takt_dlog_node *body, takt_span name);
/* A name as rules write it: keywords of formulas get an underscore appended, and ? becomes one. */
TAKT_MUST_USE takt_status takt_dlog_written(takt_dlog_program *p, takt_span name,
                                            takt_span *written);
/* Whether a written name looks like a variable that the rules generate. */
bool takt_dlog_is_made_up(takt_span written);
/* Refuses distinct relations that would get the same name in the rules. */
TAKT_MUST_USE takt_status takt_dlog_check_names(takt_dlog_program *p);
/* The entry with that name, or NULL. */
void *takt_dlog_find(const takt_dlog_table *table, takt_span name);
/* `of` gets a name not yet in the table. */
TAKT_MUST_USE takt_status takt_dlog_name(takt_dlog_program *p, takt_dlog_table *table,
                                         takt_span name, void *of);
/* Why a symbol cannot occur in a fact; NULL: it can. */
const char *takt_dlog_unfit(const takt_dlog_relation *r, int index, takt_span symbol);
takt_status takt_dlog_refuse(const takt_dlog_program *p, int line, const char *what,
                             takt_span name);

#endif
