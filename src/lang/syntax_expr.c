/* syntax_expr.c - expressions, by precedence climbing. */
#include <string.h>

#include "lang/syntax.h"

/* From loose to tight. `not` binds between `and` and the comparisons. */
enum { PIPE = 1, IFF, IMPLIES, OR, AND, NOT, COMPARE, ADD, MULTIPLY, TIGHTEST };

/* Precedence of the current token as an infix operator, 0 if it is not one. */
static int precedence(takt_syntax *s)
{
    switch (s->token.kind) {
    case TAKT_T_PIPE: return PIPE;
    case TAKT_T_EQ:
    case TAKT_T_NE:
    case TAKT_T_LT:
    case TAKT_T_LE:
    case TAKT_T_GT:
    case TAKT_T_GE: return COMPARE;
    case TAKT_T_PLUS:
    case TAKT_T_MINUS: return ADD;
    case TAKT_T_STAR:
    case TAKT_T_SLASH:
    case TAKT_T_SLASHES:
    case TAKT_T_PERCENT:
    case TAKT_T_AT: return MULTIPLY;
    default: break;
    }
    const int level = takt_syntax_is(s, "and")                        ? AND
                      : takt_syntax_is(s, "or")                       ? OR
                      : s->is_formula && takt_syntax_is(s, "implies") ? IMPLIES
                      : s->is_formula && takt_syntax_is(s, "iff")     ? IFF
                                                                      : 0;
    if (level > 0 && s->token.starts_line) { /* `and = x`: a value of that name */
        const takt_token_kind next = takt_syntax_peek(s)->kind;
        if (next == TAKT_T_ASSIGN || next == TAKT_T_COMMA)
            return 0;
    }
    return level;
}

static bool enter(takt_syntax *s)
{
    const int limit = takt_lang_depth(s->ctx);
    return ++s->depth <= limit || takt_syntax_too_deep(s, (uint64_t)limit, "expressions");
}

/* ---- lists of things in brackets ---- */

bool takt_syntax_items(takt_syntax *s, takt_item_fn *item, takt_token_kind close, takt_ast **first)
{
    takt_ast **end = first;
    *first = NULL;
    while (s->token.kind != close) {
        *end = item(s);
        if (*end == NULL)
            return false;
        end = &(*end)->next;
        if (s->token.kind != close && !takt_syntax_take(s, TAKT_T_COMMA))
            return takt_syntax_expect(s, close, "or a comma");
    }
    takt_syntax_advance(s);
    return true;
}

static takt_ast *range(takt_syntax *s, takt_ast *node)
{
    takt_syntax_advance(s);
    if (!takt_syntax_expect(s, TAKT_T_OPEN, "after in") ||
        (node->b = takt_syntax_expression(s)) == NULL ||
        !takt_syntax_expect(s, TAKT_T_COMMA, "between the bounds") ||
        (node->c = takt_syntax_expression(s)) == NULL ||
        !takt_syntax_expect(s, TAKT_T_CLOSE, "after the bounds"))
        return NULL;
    return node;
}

takt_ast *takt_syntax_named(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_ARGUMENT, &s->token);
    if (node == NULL)
        return NULL;
    if (s->token.kind == TAKT_T_NAME && takt_syntax_peek(s)->kind == TAKT_T_ASSIGN) {
        node->name = s->token.name;
        takt_syntax_advance(s);
        takt_syntax_advance(s);
    }
    node->a = takt_syntax_expression(s);
    return node->a != NULL ? takt_syntax_close(s, node) : NULL;
}

static takt_ast *argument(takt_syntax *s)
{
    takt_ast *node = takt_syntax_named(s);
    if (node == NULL)
        return NULL;
    if (s->takes_ranges && takt_syntax_is(s, "in") && range(s, node) == NULL)
        return NULL;
    return takt_syntax_close(s, node);
}

static takt_ast *index_item(takt_syntax *s)
{
    const takt_token first = s->token;
    if (takt_syntax_take(s, TAKT_T_DOTS))
        return takt_syntax_node(s, TAKT_A_DOTS, &first);
    takt_ast *start = NULL;
    if (s->token.kind != TAKT_T_COLON && (start = takt_syntax_expression(s)) == NULL)
        return NULL;
    if (s->token.kind != TAKT_T_COLON)
        return start;
    takt_ast *node = takt_syntax_node(s, TAKT_A_SLICE, &first);
    if (node == NULL)
        return NULL;
    node->a = start;
    takt_ast **const parts[] = {&node->b, &node->c};
    for (size_t i = 0; i < 2 && takt_syntax_take(s, TAKT_T_COLON); i++) {
        const bool is_empty = s->token.kind == TAKT_T_COLON || s->token.kind == TAKT_T_COMMA ||
                              s->token.kind == TAKT_T_CLOSE_LIST;
        if (!is_empty && (*parts[i] = takt_syntax_expression(s)) == NULL)
            return NULL;
    }
    return takt_syntax_close(s, node);
}

/* ---- primaries ---- */

static takt_ast *literal(takt_syntax *s)
{
    static const struct {
        takt_token_kind token;
        takt_ast_kind kind;
    } kinds[] = {{TAKT_T_INTEGER, TAKT_A_INTEGER},
                 {TAKT_T_DECIMAL, TAKT_A_DECIMAL},
                 {TAKT_T_STRING, TAKT_A_STRING},
                 {TAKT_T_HEX, TAKT_A_HEX}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (s->token.kind != kinds[i].token)
            continue;
        takt_ast *node = takt_syntax_node(s, kinds[i].kind, &s->token);
        if (node == NULL)
            return NULL;
        if (s->token.kind == TAKT_T_INTEGER)
            node->integer = s->token.integer;
        else if (s->token.kind == TAKT_T_DECIMAL)
            node->number = s->token.number;
        else
            node->text = s->token.text;
        takt_syntax_advance(s);
        return node;
    }
    takt_syntax_fail(s, NULL, "expected an expression, found");
    return NULL;
}

static takt_ast *list(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_LIST, &s->token);
    if (node == NULL)
        return NULL;
    takt_syntax_advance(s);
    if (!takt_syntax_items(s, takt_syntax_expression, TAKT_T_CLOSE_LIST, &node->a))
        return NULL;
    return takt_syntax_close(s, node);
}

/* The name was taken and '(' is current; `piped`, if any, becomes the first argument. */
static takt_ast *call(takt_syntax *s, takt_ast *name, takt_ast *piped)
{
    takt_ast *node = name;
    takt_ast *arguments;
    takt_syntax_advance(s);
    if (!takt_syntax_items(s, argument, TAKT_T_CLOSE, &arguments))
        return NULL;
    node->kind = TAKT_A_CALL;
    takt_syntax_close(s, node);
    node->a = arguments;
    if (piped == NULL)
        return node;
    const takt_token from = {.line = piped->line, .at = piped->at, .length = piped->length};
    takt_ast *first = takt_syntax_node(s, TAKT_A_ARGUMENT, &from);
    if (first == NULL)
        return NULL;
    first->a = piped;
    first->next = arguments;
    node->a = first;
    node->is_piped = true;
    return node;
}

static takt_ast *primary(takt_syntax *s)
{
    if (takt_syntax_take(s, TAKT_T_OPEN)) {
        takt_ast *inside = takt_syntax_expression(s);
        if (inside == NULL || !takt_syntax_expect(s, TAKT_T_CLOSE, "to close the bracket"))
            return NULL;
        return inside;
    }
    if (s->token.kind == TAKT_T_OPEN_LIST)
        return list(s);
    const bool is_next_statement = s->token.kind == TAKT_T_NAME && s->token.starts_line &&
                                   takt_syntax_peek(s)->kind == TAKT_T_ASSIGN;
    if (s->token.kind != TAKT_T_NAME || is_next_statement)
        return literal(s);
    if (takt_syntax_is_quantifier(s))
        return takt_syntax_quantifier(s);
    const bool is_graph = takt_syntax_is(s, "graph");
    if (is_graph && takt_syntax_peek(s)->kind == TAKT_T_OPEN)
        return takt_syntax_graph(s);
    takt_ast *name = takt_syntax_name(s, "a name");
    if (name != NULL && s->token.kind == TAKT_T_OPEN && !s->token.starts_line)
        return call(s, name, NULL);
    return name;
}

static takt_ast *postfix(takt_syntax *s)
{
    takt_ast *node = primary(s);
    while (node != NULL && s->token.kind == TAKT_T_OPEN_LIST && !s->token.starts_line) {
        const takt_token from = {.line = node->line, .at = node->at};
        takt_ast *index = takt_syntax_node(s, TAKT_A_INDEX, &from);
        takt_syntax_advance(s);
        if (index == NULL || !takt_syntax_items(s, index_item, TAKT_T_CLOSE_LIST, &index->b))
            return NULL;
        index->a = node;
        node = takt_syntax_close(s, index);
    }
    return node;
}

/* ---- operators ---- */

static takt_ast *binary(takt_syntax *s, takt_ast *a, uint8_t token, takt_ast *b)
{
    const takt_token from = {.line = a->line, .at = a->at};
    takt_ast *node = b != NULL ? takt_syntax_node(s, TAKT_A_BINARY, &from) : NULL;
    if (node == NULL)
        return NULL;
    node->token = token;
    node->a = a;
    node->b = b;
    return takt_syntax_close(s, node);
}

static takt_ast *wrap(takt_syntax *s, takt_ast_kind kind, const takt_token *from, takt_ast *inside)
{
    takt_ast *node = inside != NULL ? takt_syntax_node(s, kind, from) : NULL;
    if (node == NULL)
        return NULL;
    node->a = inside;
    return takt_syntax_close(s, node);
}

/* -x ** y is -(x ** y); any number of minus signs is one or none. */
static takt_ast *unary(takt_syntax *s)
{
    const takt_token from = s->token;
    size_t count = 0;
    while (s->token.kind == TAKT_T_MINUS || s->token.kind == TAKT_T_PLUS) {
        count += s->token.kind == TAKT_T_MINUS;
        takt_syntax_advance(s);
    }
    takt_ast *node = postfix(s);
    if (node != NULL && takt_syntax_take(s, TAKT_T_POWER)) {
        if (!enter(s))
            return NULL;
        node = binary(s, node, TAKT_T_POWER, unary(s));
        s->depth--;
    }
    return count % 2 == 0 ? node : wrap(s, TAKT_A_NEGATE, &from, node);
}

/* `not` is an operator unless something follows that cannot be its operand. */
static bool is_not(takt_syntax *s)
{
    if (!takt_syntax_is(s, "not"))
        return false;
    const takt_token *next = takt_syntax_peek(s);
    return next->kind == TAKT_T_NAME ? !next->starts_line
                                     : next->kind == TAKT_T_OPEN || next->kind == TAKT_T_MINUS ||
                                           (next->kind > TAKT_T_NAME && next->kind < TAKT_T_OPEN);
}

static takt_ast *climb(takt_syntax *s, int least);

static takt_ast *operand(takt_syntax *s, int least)
{
    if (least > NOT || !is_not(s))
        return unary(s);
    const takt_token from = s->token;
    size_t count = 0;
    for (; is_not(s); count++)
        takt_syntax_advance(s);
    takt_ast *node = climb(s, COMPARE);
    return count % 2 == 0 ? node : wrap(s, TAKT_A_NOT, &from, node);
}

static takt_ast *pipe(takt_syntax *s, takt_ast *left)
{
    takt_ast *name = takt_syntax_name(s, "a layer or an op after |>");
    if (name == NULL)
        return NULL;
    if (s->token.kind != TAKT_T_OPEN || s->token.starts_line) {
        takt_syntax_fail(s, "write its arguments, or (), after the name",
                         "expected '(' after '|> %s'", name->name->text);
        return NULL;
    }
    return call(s, name, left);
}

static uint8_t infix_code(const takt_syntax *s)
{
    if (s->token.kind != TAKT_T_NAME)
        return (uint8_t)s->token.kind;
    return takt_syntax_is(s, "and")       ? TAKT_INFIX_AND
           : takt_syntax_is(s, "or")      ? TAKT_INFIX_OR
           : takt_syntax_is(s, "implies") ? TAKT_INFIX_IMPLIES
                                          : TAKT_INFIX_IFF;
}

static takt_ast *climb(takt_syntax *s, int least)
{
    takt_ast *node = operand(s, least);
    int level;
    while (node != NULL && (level = precedence(s)) >= least) {
        const uint8_t code = infix_code(s);
        takt_syntax_advance(s);
        node = level == PIPE ? pipe(s, node)
                             : binary(s, node, code, climb(s, level + (level != IMPLIES)));
        if (level == COMPARE && node != NULL && precedence(s) == COMPARE) {
            takt_syntax_fail(s, "write a < b and b < c", "comparisons do not chain");
            return NULL;
        }
    }
    return node;
}

takt_ast *takt_syntax_expression(takt_syntax *s)
{
    if (!enter(s))
        return NULL;
    takt_ast *node = climb(s, PIPE);
    if (node != NULL && takt_syntax_is(s, "if") && !s->token.starts_line) {
        const takt_token from = {.line = node->line, .at = node->at};
        takt_ast *either = takt_syntax_node(s, TAKT_A_EITHER, &from);
        takt_syntax_advance(s);
        if (either == NULL || (either->b = climb(s, PIPE)) == NULL)
            return NULL;
        if (!takt_syntax_is(s, "else")) {
            takt_syntax_fail(s, "a conditional value is `a if condition else b`",
                             "expected 'else', found");
            return NULL;
        }
        takt_syntax_advance(s);
        either->a = node;
        if ((either->c = takt_syntax_expression(s)) == NULL)
            return NULL;
        node = takt_syntax_close(s, either);
    }
    s->depth--;
    return node;
}
