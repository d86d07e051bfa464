/* grammar.h - grammars as programs over bytes.
 *
 *     schema -- schema.c --> GBNF -- gbnf.c --> nodes -- compile.c --> program -- matcher.c -->
 * masks
 *
 * A rule is a run of instructions that ends with RETURN. Characters are sequences of byte ranges,
 * so the program does not deal with characters, and a token may end within one.
 */
#ifndef TAKT_TEXT_GRAMMAR_H
#define TAKT_TEXT_GRAMMAR_H

#include <takt/grammar.h>

#include "base/arena.h"
#include "base/text.h"

enum {
    TAKT_GRAMMAR_DEPTH = 64,
    TAKT_GRAMMAR_RULES = 4096,
    TAKT_GRAMMAR_SIZE = 1 << 17, /* instructions */
    TAKT_GRAMMAR_MANY = -1,      /* no upper limit on a repeat */
};

/* ---- nodes ---- */

typedef enum takt_gnode_kind {
    TAKT_GN_SEQUENCE,
    TAKT_GN_CHOICE,
    TAKT_GN_CHARS, /* ranges */
    TAKT_GN_RULE,
    TAKT_GN_REPEAT,
} takt_gnode_kind;

typedef struct takt_grange {
    uint32_t from, to;
} takt_grange;

typedef struct takt_gnode takt_gnode;
struct takt_gnode {
    takt_gnode_kind kind;
    takt_gnode *first, *last, *next;
    takt_grange *ranges; /* sorted and disjoint */
    size_t range_count;
    uint32_t rule;
    int64_t least, most;
};

typedef struct takt_grule {
    takt_span name;
    takt_gnode *body; /* NULL: named, but not yet defined */
    uint32_t line;    /* where it was named first */
    uint32_t begin;   /* its first instruction */
} takt_grule;

/* ---- programs ---- */

typedef enum takt_gop {
    TAKT_GOP_BYTE,  /* one byte of low..high */
    TAKT_GOP_SPLIT, /* both the next instruction and `to` */
    TAKT_GOP_JUMP,
    TAKT_GOP_CALL, /* rule `to` */
    TAKT_GOP_RETURN,
} takt_gop;

typedef struct takt_ginstruction {
    uint8_t op, low, high;
    uint32_t to; /* CALL: the rule's number; after linking, its first instruction */
} takt_ginstruction;

struct takt_grammar {
    takt_ctx *ctx;
    takt_arena arena;
    const char *text;
    takt_grule *rules;
    size_t rule_count, rule_capacity;
    uint32_t root;
    takt_ginstruction *program;
    size_t size, capacity;
};

TAKT_MUST_USE takt_status takt_grammar_compile(takt_grammar *g);
/* Refuses rules that call themselves before consuming a byte. */
TAKT_MUST_USE takt_status takt_grammar_check(takt_grammar *g);
/* GBNF of a schema. */
TAKT_MUST_USE takt_status takt_schema_write(takt_ctx *ctx, const char *json, size_t length,
                                            takt_text *to);

/* ---- tokens by their bytes ---- */

typedef struct takt_token_row {
    const char *at;
    uint32_t length, same; /* bytes shared with the previous row */
    int32_t id;
} takt_token_row;

typedef struct takt_token_table {
    takt_ctx *ctx;
    takt_arena arena;
    takt_token_row *rows; /* sorted, without tokens that have no text */
    size_t count;
    size_t longest;
} takt_token_table;

TAKT_MUST_USE takt_status takt_token_table_init(takt_token_table *table, takt_ctx *ctx,
                                                const takt_tokenizer *tokenizer);
void takt_token_table_deinit(takt_token_table *table);

/* With the caller's table, which must outlive it. */
TAKT_MUST_USE takt_status takt_matcher_make(const takt_grammar *grammar,
                                            const takt_tokenizer *tokenizer,
                                            const takt_token_table *table, takt_matcher **matcher);

#endif
