/* literal.h - tokens with content: numbers, strings, hex data, quoted names. Each is called with
 * the lexer at the token's first byte and sets kind, length and value. */
#ifndef TAKT_LANG_LITERAL_H
#define TAKT_LANG_LITERAL_H

#include "lang/lex.h"

void takt_lex_number(takt_lexer *lexer, takt_token *token);
void takt_lex_string(takt_lexer *lexer, takt_token *token);
void takt_lex_hex(takt_lexer *lexer, takt_token *token);
void takt_lex_quoted(takt_lexer *lexer, takt_token *token);

#endif
