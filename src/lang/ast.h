/* ast.h - the text as a syntax tree, before any evaluation.
 *
 * Chains (a + b + c, x |> f() |> g(), x[0][1]) lean to the left and may be long; everything else
 * nests no deeper than the parser allows. A traversal descends the left side in a loop. */
#ifndef TAKT_LANG_AST_H
#define TAKT_LANG_AST_H

#include "lang/lex.h"

typedef enum takt_ast_kind {
    TAKT_A_NAME,     /* name */
    TAKT_A_INTEGER,  /* integer */
    TAKT_A_DECIMAL,  /* number */
    TAKT_A_STRING,   /* text */
    TAKT_A_HEX,      /* text: the digits */
    TAKT_A_LIST,     /* a: the items */
    TAKT_A_NEGATE,   /* a */
    TAKT_A_NOT,      /* a */
    TAKT_A_BINARY,   /* a token b */
    TAKT_A_EITHER,   /* a if b else c */
    TAKT_A_CALL,     /* name(a: arguments) */
    TAKT_A_ARGUMENT, /* [name =] a [in (b, c)] */
    TAKT_A_INDEX,    /* a[b: items] */
    TAKT_A_SLICE,    /* a : b : c, each may be NULL */
    TAKT_A_DOTS,     /* ... in an index */
    TAKT_A_GRAPH,    /* function */
    TAKT_A_ASSIGN,   /* a: target names = b */
    TAKT_A_PARAM,    /* name [: a] [= b] */
    TAKT_A_STATE,    /* name [: a] [= b] */
    TAKT_A_NEXT,     /* next name = a */
    TAKT_A_RETURN,   /* a: ARGUMENTs */
    TAKT_A_REPEAT,   /* repeat a [as name] { b } */
    TAKT_A_IF,       /* if a { b } else { c } */
    TAKT_A_DOC,      /* text: the purpose of a model or layer */
    TAKT_A_FOR,      /* for name in a [along c] { b } */
    TAKT_A_COLLECT,  /* collect name = a */
    TAKT_A_REQUIRE,  /* require a, b: strings and the like */
    TAKT_A_ENSURE,   /* ensure a [, b] */
    /* Rules: options are ARGUMENTs. */
    TAKT_A_RELATION,   /* relation name(a: domains) [c: options] [= b] */
    TAKT_A_RULE,       /* rule name(a: ARGUMENTs, name [: domain]) [c: options] = b */
    TAKT_A_CONSTRAINT, /* constraint name [c: options] = b */
    TAKT_A_QUANTIFIER, /* name a: LIST (a: ARGUMENTs, name [in a]; b: options) [where c]: b */
} takt_ast_kind;

/* Infix words that are not tokens of their own. */
enum { TAKT_INFIX_AND = 100, TAKT_INFIX_OR, TAKT_INFIX_IMPLIES, TAKT_INFIX_IFF };

typedef struct takt_function takt_function;
typedef struct takt_ast takt_ast;
struct takt_ast {
    uint8_t kind;
    uint8_t token;       /* BINARY: a takt_token_kind or TAKT_INFIX_ */
    bool is_piped : 1;   /* CALL: the first argument came through a pipe */
    bool is_quoted : 1;  /* NAME in backquotes */
    bool is_chained : 1; /* IF that is the `else if` of another */
    uint32_t line, length;
    const takt_symbol *name;
    takt_ast *next; /* in lists */
    size_t at;
    union {
        uint64_t integer;
        double number;
        takt_span text;
        struct {
            takt_ast *a, *b, *c;
        };
        takt_function *function;
    };
};

/* model, layer or graph(...) { ... }. Parameters and results are ARGUMENTs: name, a: type or kind,
 * b: default. */
struct takt_function {
    const takt_symbol *name; /* NULL for graph */
    const takt_source *source;
    takt_ast *place; /* a NAME or the word graph, for complaints */
    takt_ast *parameters, *results, *options, *body;
    takt_ast *doc; /* DOCs at the start of the body */
    bool has_results;
    takt_function *next;
};

#endif
