/* syntax_check.c - require and ensure: conditions that must hold. */
#include "lang/syntax.h"

/* require condition, "sentence"; ensure condition [, "sentence"]. A printed graph also has the
 * condition's own text and line: ensure c, "sentence", "abs(x) <= 1", 3. */
takt_ast *takt_syntax_check(takt_syntax *s, takt_ast_kind kind)
{
    takt_ast *node = takt_syntax_node(s, kind, &s->token);
    takt_syntax_advance(s);
    if (node == NULL || (node->a = takt_syntax_expression(s)) == NULL)
        return NULL;
    takt_syntax_close(s, node);
    if (kind == TAKT_A_REQUIRE && s->token.kind != TAKT_T_COMMA) {
        takt_syntax_expect(s, TAKT_T_COMMA, "and a sentence after the condition");
        return NULL;
    }
    takt_ast **end = &node->b;
    while (takt_syntax_take(s, TAKT_T_COMMA)) {
        if ((*end = takt_syntax_expression(s)) == NULL)
            return NULL;
        end = &(*end)->next;
    }
    return node;
}
