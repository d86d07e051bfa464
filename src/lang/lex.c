/* lex.c - white space, punctuation and names; literals are in literal.c. */
#include "lang/lex.h"

#include <string.h>

#include "base/utf8.h"
#include "lang/literal.h"

void takt_lexer_init(takt_lexer *lexer, const takt_source *source, takt_arena *arena,
                     takt_symbols *symbols)
{
    *lexer = (takt_lexer){.source = source, .arena = arena, .symbols = symbols, .line = 1};
}

const char *takt_token_text(takt_token_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) text,
        TAKT_TOKEN_LIST(X)
#undef X
    };
    return texts[kind];
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The character `ahead` of the next one, or NUL past the end. */
static char peek(const takt_lexer *lexer, size_t ahead)
{
    const size_t at = lexer->at + ahead;
    return at < lexer->source->length ? lexer->source->text[at] : '\0';
}

/* True if a line began. */
static bool skip_space(takt_lexer *lexer)
{
    bool starts_line = lexer->at == 0;
    if (starts_line && peek(lexer, 0) == '\xef' && peek(lexer, 1) == '\xbb' &&
        peek(lexer, 2) == '\xbf') /* some editors write a byte order mark */
        lexer->at = 3;
    while (lexer->at < lexer->source->length) {
        const char c = peek(lexer, 0);
        if (c == '#') {
            const char *from = lexer->source->text + lexer->at;
            const char *end = memchr(from, '\n', lexer->source->length - lexer->at);
            lexer->at = end != NULL ? (size_t)(end - lexer->source->text) : lexer->source->length;
        } else if (c == '\n') {
            starts_line = true;
            lexer->line++;
            lexer->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lexer->at++;
        } else {
            break;
        }
    }
    return starts_line;
}

static void name(takt_lexer *lexer, takt_token *token)
{
    size_t length = 1;
    while (is_letter(peek(lexer, length)) || is_digit(peek(lexer, length)) ||
           (peek(lexer, length) == '.' &&
            (is_letter(peek(lexer, length + 1)) || is_digit(peek(lexer, length + 1)))))
        length++;
    const char *text = lexer->source->text + lexer->at;
    if (length == 3 && memcmp(text, "hex", 3) == 0 && peek(lexer, 3) == '"') {
        takt_lex_hex(lexer, token);
        return;
    }
    token->kind = TAKT_T_NAME;
    token->length = length;
    if (length > lexer->arena->ctx->limits.name_bytes) {
        token->kind = TAKT_T_BAD;
        lexer->problem = "the name is longer than the context's limit allows";
        lexer->hint = "";
        return;
    }
    token->name = takt_symbol_make(lexer->symbols, text, length);
    if (token->name == NULL) {
        token->kind = TAKT_T_BAD;
        lexer->problem = NULL;
    }
}

typedef struct mark {
    char text[4];
    takt_token_kind kind;
} mark;

/* Longer ones first. */
static const mark marks[] = {
    {"...", TAKT_T_DOTS},     {"==", TAKT_T_EQ},        {"!=", TAKT_T_NE},
    {"<=", TAKT_T_LE},        {">=", TAKT_T_GE},        {"**", TAKT_T_POWER},
    {"//", TAKT_T_SLASHES},   {"|>", TAKT_T_PIPE},      {"->", TAKT_T_ARROW},
    {"(", TAKT_T_OPEN},       {")", TAKT_T_CLOSE},      {"[", TAKT_T_OPEN_LIST},
    {"]", TAKT_T_CLOSE_LIST}, {"{", TAKT_T_OPEN_BLOCK}, {"}", TAKT_T_CLOSE_BLOCK},
    {",", TAKT_T_COMMA},      {":", TAKT_T_COLON},      {"=", TAKT_T_ASSIGN},
    {"<", TAKT_T_LT},         {">", TAKT_T_GT},         {"+", TAKT_T_PLUS},
    {"-", TAKT_T_MINUS},      {"*", TAKT_T_STAR},       {"/", TAKT_T_SLASH},
    {"%", TAKT_T_PERCENT},    {"@", TAKT_T_AT},
};

static void bad_character(takt_lexer *lexer, takt_token *token)
{
    const size_t left = lexer->source->length - lexer->at;
    const size_t bytes = takt_utf8_length(lexer->source->text + lexer->at, left);
    token->kind = TAKT_T_BAD;
    token->length = bytes > 0 ? bytes : 1;
    lexer->problem = bytes > 0 ? "this character has no meaning here" : "the text is not UTF-8";
    lexer->hint = bytes > 1 ? "names have letters, digits, _ and dots; any text may be a name in "
                              "backquotes"
                            : "";
    if (peek(lexer, 0) == '|' || peek(lexer, 0) == '&')
        lexer->hint = "write `or` and `and` for logic, |> for a pipe";
    else if (peek(lexer, 0) == ';')
        lexer->hint = "statements end with the line; drop the semicolon";
    else if (peek(lexer, 0) == '\'')
        lexer->hint = "strings stand in double quotes";
    else if (peek(lexer, 0) == '!')
        lexer->hint = "write `not`";
    else if (peek(lexer, 0) == '?')
        lexer->hint =
            "a dimension of any size has a name, as in f32[batch, 8]; a choice is `a if c else b`";
}

static void punctuation(takt_lexer *lexer, takt_token *token)
{
    const char first = peek(lexer, 0);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *text = marks[i].text;
        if (text[0] != first)
            continue;
        const size_t length = strlen(text);
        if ((length < 2 || text[1] == peek(lexer, 1)) &&
            (length < 3 || text[2] == peek(lexer, 2))) {
            token->kind = marks[i].kind;
            token->length = length;
            return;
        }
    }
    bad_character(lexer, token);
}

void takt_lexer_next(takt_lexer *lexer, takt_token *token)
{
    *token = (takt_token){.kind = TAKT_T_END};
    lexer->is_literal = false;
    token->starts_line = skip_space(lexer);
    token->at = lexer->at;
    token->line = lexer->line;
    if (lexer->at >= lexer->source->length)
        return;
    const char c = peek(lexer, 0);
    if (is_letter(c))
        name(lexer, token);
    else if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1))))
        takt_lex_number(lexer, token);
    else if (c == '"')
        takt_lex_string(lexer, token);
    else if (c == '`')
        takt_lex_quoted(lexer, token);
    else
        punctuation(lexer, token);
    lexer->at += token->length;
}
