/* lex.h - text to tokens, one at a time. */
#ifndef TAKT_LANG_LEX_H
#define TAKT_LANG_LEX_H

#include "lang/symbol.h"

/* X(NAME, "as written"): kinds of token. */
#define TAKT_TOKEN_LIST(X)                                                                         \
    X(END, "the end of the text")                                                                  \
    X(BAD, "an unreadable character")                                                              \
    X(NAME, "a name")                                                                              \
    X(INTEGER, "a number")                                                                         \
    X(DECIMAL, "a number")                                                                         \
    X(STRING, "a string")                                                                          \
    X(HEX, "hex data")                                                                             \
    X(OPEN, "(")                                                                                   \
    X(CLOSE, ")")                                                                                  \
    X(OPEN_LIST, "[")                                                                              \
    X(CLOSE_LIST, "]")                                                                             \
    X(OPEN_BLOCK, "{")                                                                             \
    X(CLOSE_BLOCK, "}")                                                                            \
    X(COMMA, ",")                                                                                  \
    X(COLON, ":")                                                                                  \
    X(ASSIGN, "=")                                                                                 \
    X(EQ, "==")                                                                                    \
    X(NE, "!=")                                                                                    \
    X(LT, "<")                                                                                     \
    X(LE, "<=")                                                                                    \
    X(GT, ">")                                                                                     \
    X(GE, ">=")                                                                                    \
    X(PLUS, "+")                                                                                   \
    X(MINUS, "-")                                                                                  \
    X(STAR, "*")                                                                                   \
    X(POWER, "**")                                                                                 \
    X(SLASH, "/")                                                                                  \
    X(SLASHES, "//")                                                                               \
    X(PERCENT, "%")                                                                                \
    X(AT, "@")                                                                                     \
    X(PIPE, "|>")                                                                                  \
    X(ARROW, "->")                                                                                 \
    X(DOTS, "...")

typedef enum takt_token_kind {
#define X(name, text) TAKT_T_##name,
    TAKT_TOKEN_LIST(X)
#undef X
} takt_token_kind;

typedef struct takt_token {
    takt_token_kind kind;
    bool starts_line;
    bool is_quoted; /* a NAME in backquotes: never a keyword */
    uint32_t line;
    size_t at, length;       /* in the source */
    const takt_symbol *name; /* NAME */
    union {
        uint64_t integer; /* INTEGER */
        double number;    /* DECIMAL */
        takt_span text;   /* STRING: decoded, in the arena; HEX: the digits, in the source */
    };
} takt_token;

/* A text with its name for people. */
typedef struct takt_source {
    const char *name, *text;
    size_t length;
    bool is_builtin;  /* a built-in layer: complaints belong to the line that called it */
    bool is_imported; /* `name` is its path beneath the model's folder */
} takt_source;

/* The name of the text in error messages; NULL for the main text. */
static inline const char *takt_source_file(const takt_source *source)
{
    return source->is_imported ? source->name : NULL;
}

typedef struct takt_lexer {
    const takt_source *source;
    takt_arena *arena;
    takt_symbols *symbols;
    size_t at;
    uint32_t line;
    /* After BAD: the message, and the hint; NULL if out of memory. */
    const char *problem, *hint;
    bool is_literal; /* after BAD: whether it was a malformed literal */
} takt_lexer;

void takt_lexer_init(takt_lexer *lexer, const takt_source *source, takt_arena *arena,
                     takt_symbols *symbols);
/* Always advances; at the end it returns END forever. */
void takt_lexer_next(takt_lexer *lexer, takt_token *token);
/* "a name", "'('". */
const char *takt_token_text(takt_token_kind kind);

#endif
