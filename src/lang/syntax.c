/* syntax.c - shared parts of the parser: tokens, nodes and complaints. */
#include "lang/syntax.h"

#include <stdio.h>
#include <string.h>

int takt_lang_depth(const takt_ctx *ctx)
{
    enum { FACTOR = 8, MOST = 512 };
    return ctx->limits.depth < MOST / FACTOR ? FACTOR * (int)ctx->limits.depth : MOST;
}

void takt_syntax_begin(takt_syntax *s, const takt_source *source)
{
    s->source = source;
    s->imports = NULL;
    s->last_import = &s->imports;
    s->has_ahead = false;
    s->depth = s->block_depth = 0;
    s->last_end = 0;
    s->last_line = s->error_line = 0;
    takt_lexer_init(&s->lexer, source, s->arena, s->symbols);
    takt_syntax_advance(s);
}

static void fetch(takt_syntax *s, takt_token *token)
{
    takt_lexer_next(&s->lexer, token);
    while (token->kind == TAKT_T_BAD) {
        if (s->lexer.problem == NULL) {
            s->status = TAKT_ERR_MEMORY;
        } else if (s->status == TAKT_OK && !s->is_skipping && s->error_line != token->line) {
            s->error_line = token->line;
            const takt_place place = {s->source->text, s->source->length, token->at, token->length,
                                      takt_source_file(s->source)};
            s->status = takt_diagnostics_add(s->diagnostics, &place,
                                             (takt_diagnostic){.id = TAKT_E_SYNTAX,
                                                               .message = s->lexer.problem,
                                                               .hint = s->lexer.hint});
        }
        if (s->status != TAKT_OK || s->diagnostics->is_full)
            s->lexer.at = s->source->length;
        if (s->lexer.is_literal) {
            token->kind = TAKT_T_INTEGER; /* something was there: no complaint about its absence */
            token->integer = 0;
            return;
        }
        takt_lexer_next(&s->lexer, token);
    }
}

void takt_syntax_advance(takt_syntax *s)
{
    s->last_end = s->token.at + s->token.length;
    s->last_line = s->token.line;
    if (s->has_ahead)
        s->token = s->ahead;
    else
        fetch(s, &s->token);
    s->has_ahead = false;
    if (s->status != TAKT_OK) /* no more is read */
        s->token.kind = TAKT_T_END;
}

const takt_token *takt_syntax_peek(takt_syntax *s)
{
    if (!s->has_ahead)
        fetch(s, &s->ahead);
    s->has_ahead = true;
    return &s->ahead;
}

bool takt_syntax_is(const takt_syntax *s, const char *word)
{
    return s->token.kind == TAKT_T_NAME && !s->token.is_quoted &&
           strcmp(s->token.name->text, word) == 0;
}

bool takt_syntax_take(takt_syntax *s, takt_token_kind kind)
{
    if (s->token.kind != kind)
        return false;
    takt_syntax_advance(s);
    return true;
}

/* "'x'", "the end of the text", "a string": describes the current token. */
static const char *found(const takt_syntax *s, char *buffer, size_t size)
{
    const takt_token *t = &s->token;
    if (t->starts_line && s->last_end > 0 && t->kind != TAKT_T_END)
        snprintf(buffer, size, "the end of the line");
    else if (t->kind == TAKT_T_NAME)
        snprintf(buffer, size, "'%.40s'", t->name->text);
    else if (t->kind == TAKT_T_INTEGER || t->kind == TAKT_T_DECIMAL)
        snprintf(buffer, size, "the number %.*s", t->length < 30 ? (int)t->length : 30,
                 s->source->text + t->at);
    else if (t->kind < TAKT_T_OPEN)
        snprintf(buffer, size, "%s", takt_token_text(t->kind));
    else
        snprintf(buffer, size, "'%s'", takt_token_text(t->kind));
    return buffer;
}

bool takt_syntax_expect(takt_syntax *s, takt_token_kind kind, const char *where)
{
    char buffer[64];
    if (takt_syntax_take(s, kind))
        return true;
    const char *quote = kind < TAKT_T_OPEN ? "" : "'";
    return takt_syntax_fail(s, NULL, "expected %s%s%s %s, found %s", quote, takt_token_text(kind),
                            quote, where, found(s, buffer, sizeof buffer));
}

/* A token that is missing at the end of a line is reported there, not on the next line. */
static takt_place here(const takt_syntax *s, uint32_t *line)
{
    takt_place place = {s->source->text, s->source->length, s->token.at, s->token.length,
                        takt_source_file(s->source)};
    *line = s->token.line;
    if ((s->token.starts_line || s->token.kind == TAKT_T_END) && s->last_end > 0) {
        place.at = s->last_end;
        place.length = 1;
        *line = s->last_line;
    }
    return place;
}

static bool report(takt_syntax *s, takt_diagnostic what)
{
    uint32_t line;
    const takt_place place = here(s, &line);
    if (s->status == TAKT_OK && line != s->error_line)
        s->status = takt_diagnostics_add(s->diagnostics, &place, what);
    s->error_line = line;
    if (s->diagnostics->is_full)
        s->token.kind = TAKT_T_END;
    return false;
}

bool takt_syntax_fail(takt_syntax *s, const char *hint, const char *format, ...)
{
    char message[TAKT_ERROR_TEXT], buffer[64];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    /* A format that ends in "found" gets the current token appended. */
    const size_t at = length < 0 ? 0 : (size_t)length;
    if (at >= 5 && at < sizeof message && strcmp(message + at - 5, "found") == 0)
        snprintf(message + at, sizeof message - at, " %s", found(s, buffer, sizeof buffer));
    return report(s, (takt_diagnostic){.id = TAKT_E_SYNTAX, .message = message, .hint = hint});
}

bool takt_syntax_too_deep(takt_syntax *s, uint64_t limit, const char *what)
{
    char message[128];
    s->error_line = 0;
    snprintf(message, sizeof message, "%s are nested deeper than %llu", what,
             (unsigned long long)limit);
    report(s, (takt_diagnostic){.id = TAKT_E_NESTING,
                                .message = message,
                                .hint = "give parts of it names, or raise limits.depth"});
    s->status = s->status == TAKT_OK ? TAKT_ERR_LIMIT : s->status;
    s->token.kind = TAKT_T_END;
    return false;
}

takt_ast *takt_syntax_node(takt_syntax *s, takt_ast_kind kind, const takt_token *from)
{
    takt_ast *node = takt_arena_array(s->arena, 1, sizeof *node);
    if (node == NULL) {
        s->status = TAKT_ERR_MEMORY;
        s->token.kind = TAKT_T_END;
        return NULL;
    }
    node->kind = (uint8_t)kind;
    node->line = from->line;
    node->at = from->at;
    node->length = (uint32_t)from->length;
    return node;
}

takt_ast *takt_syntax_name(takt_syntax *s, const char *what)
{
    if (s->token.kind != TAKT_T_NAME) {
        takt_syntax_fail(s, NULL, "expected %s, found", what);
        return NULL;
    }
    takt_ast *node = takt_syntax_node(s, TAKT_A_NAME, &s->token);
    if (node == NULL)
        return NULL;
    node->name = s->token.name;
    node->is_quoted = s->token.is_quoted;
    takt_syntax_advance(s);
    return node;
}

takt_ast *takt_syntax_close(takt_syntax *s, takt_ast *node)
{
    node->length = (uint32_t)(s->last_end - node->at);
    return node;
}
