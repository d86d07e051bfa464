/* syntax.h - tokens to tree: recursive descent of limited depth, which recovers at the next line
 * after an error. */
#ifndef TAKT_LANG_SYNTAX_H
#define TAKT_LANG_SYNTAX_H

#include "lang/ast.h"
#include "lang/diag.h"

typedef struct takt_syntax {
    takt_ctx *ctx;
    takt_arena *arena; /* trees */
    takt_symbols *symbols;
    takt_diagnostics *diagnostics;
    const takt_source *source;
    takt_lexer lexer;
    takt_token token, ahead; /* the current one and the next */
    bool has_ahead;
    bool is_skipping;  /* skipped text is not part of a model: it has no errors */
    bool takes_ranges; /* samples: f32[2] in (0, 1) */
    bool is_formula;   /* of a rule: quantifiers, implies and iff are words */
    size_t last_end;   /* end of the token before the current one, and its line */
    uint32_t last_line;
    uint32_t error_line; /* of the last complaint: at most one per line */
    int depth;           /* of expressions */
    int block_depth;
    takt_ast *imports, **last_import; /* STRINGs, in order, of the text begun last */
    takt_function *domains;           /* of all texts: name, source, and the value as body */
    takt_status status;               /* of a failure that ends everything: memory, nesting */
} takt_syntax;

void takt_syntax_begin(takt_syntax *s, const takt_source *source);
/* Models and layers of the text, linked by `next` in order; errors are in the diagnostics. */
TAKT_MUST_USE takt_status takt_syntax_file(takt_syntax *s, takt_function **models,
                                           takt_function **layers);

/* ---- between the files of the parser; each returns NULL after an error was reported ---- */

takt_ast *takt_syntax_expression(takt_syntax *s);
takt_ast *takt_syntax_type(takt_syntax *s);
/* An ARGUMENT: [name =] value. */
takt_ast *takt_syntax_named(takt_syntax *s);
/* Gives `node` the name, then [: type] [= value]. */
takt_ast *takt_syntax_declared(takt_syntax *s, takt_ast *node, const takt_ast *name);
takt_ast *takt_syntax_block(takt_syntax *s, bool *good);
/* require and ensure (syntax_check.c). */
takt_ast *takt_syntax_check(takt_syntax *s, takt_ast_kind kind);
takt_ast *takt_syntax_graph(takt_syntax *s);
/* relation, rule or constraint; the word is current. */
takt_ast *takt_syntax_rule(takt_syntax *s);
/* exists x, y: ...; whether one begins here, in a formula. */
bool takt_syntax_is_quantifier(takt_syntax *s);
takt_ast *takt_syntax_quantifier(takt_syntax *s);
/* domain name = value; the word is current. */
void takt_syntax_domain(takt_syntax *s);
/* Items separated by commas up to `close`, which is taken; a comma may precede it. */
typedef takt_ast *takt_item_fn(takt_syntax *s);
bool takt_syntax_items(takt_syntax *s, takt_item_fn *item, takt_token_kind close, takt_ast **first);

void takt_syntax_advance(takt_syntax *s);
const takt_token *takt_syntax_peek(takt_syntax *s);
/* Whether the current token is the unquoted word. */
bool takt_syntax_is(const takt_syntax *s, const char *word);
/* Takes a token of that kind, or reports what was expected. */
bool takt_syntax_expect(takt_syntax *s, takt_token_kind kind, const char *where);
bool takt_syntax_take(takt_syntax *s, takt_token_kind kind);
takt_ast *takt_syntax_node(takt_syntax *s, takt_ast_kind kind, const takt_token *from);
/* A NAME node from the current token. */
takt_ast *takt_syntax_name(takt_syntax *s, const char *what);
/* Ends the node at the last token taken. */
takt_ast *takt_syntax_close(takt_syntax *s, takt_ast *node);
/* Reports at the current token. Always false. */
bool takt_syntax_fail(takt_syntax *s, const char *hint, const char *format, ...) TAKT_PRINTF(3, 4);
/* Reports nesting beyond the limit, which ends the parse. Always false. */
bool takt_syntax_too_deep(takt_syntax *s, uint64_t limit, const char *what);

/* How deep expressions may nest: a multiple of limits.depth, within the limits of the C stack. */
int takt_lang_depth(const takt_ctx *ctx);

#endif
