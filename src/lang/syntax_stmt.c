/* syntax_stmt.c - statements and blocks; after an error parsing continues at the next line. */
#include "lang/syntax.h"

/* f32[batch, 10], [10] for the default element type, or a bare dtype or kind. */
takt_ast *takt_syntax_type(takt_syntax *s)
{
    if (s->token.kind != TAKT_T_NAME && s->token.kind != TAKT_T_OPEN_LIST) {
        takt_syntax_fail(s, "a type is an element type and sizes, such as f32[batch, 10]",
                         "expected a type, found");
        return NULL;
    }
    return takt_syntax_expression(s);
}

/* param w: [3, 4] = zeros */
static takt_ast *declaration(takt_syntax *s, takt_ast_kind kind)
{
    const takt_token from = s->token;
    takt_syntax_advance(s);
    takt_ast *name =
        takt_syntax_name(s, kind == TAKT_A_PARAM ? "the parameter's name" : "the state's name");
    takt_ast *node = name != NULL ? takt_syntax_node(s, kind, &from) : NULL;
    return node != NULL ? takt_syntax_declared(s, node, name) : NULL;
}

static takt_ast *next(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_NEXT, &s->token);
    takt_syntax_advance(s);
    takt_ast *name = node != NULL ? takt_syntax_name(s, "the name of a state") : NULL;
    if (name == NULL || !takt_syntax_expect(s, TAKT_T_ASSIGN, "after the state's name"))
        return NULL;
    node->name = name->name;
    node->a = takt_syntax_expression(s);
    return node->a != NULL ? takt_syntax_close(s, node) : NULL;
}

static takt_ast *give_back(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_RETURN, &s->token);
    takt_syntax_advance(s);
    if (node == NULL || s->token.kind == TAKT_T_CLOSE_BLOCK)
        return node; /* a model may consist of next states only */
    takt_ast **end = &node->a;
    do {
        *end = takt_syntax_named(s);
        if (*end == NULL)
            return NULL;
        end = &(*end)->next;
    } while (takt_syntax_take(s, TAKT_T_COMMA));
    return takt_syntax_close(s, node);
}

static takt_ast *repeat(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_REPEAT, &s->token);
    takt_syntax_advance(s);
    if (node == NULL || (node->a = takt_syntax_expression(s)) == NULL)
        return NULL;
    takt_syntax_close(s, node);
    if (takt_syntax_is(s, "as")) {
        takt_syntax_advance(s);
        takt_ast *name = takt_syntax_name(s, "a name for the counter");
        if (name == NULL)
            return NULL;
        node->name = name->name;
    }
    bool good;
    node->b = takt_syntax_block(s, &good);
    return good ? node : NULL;
}

/* for x in xs [along 1] { ... } */
static takt_ast *loop(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_FOR, &s->token);
    takt_syntax_advance(s);
    takt_ast *name = node != NULL ? takt_syntax_name(s, "a name for the element") : NULL;
    if (name == NULL)
        return NULL;
    node->name = name->name;
    node->is_quoted = name->is_quoted;
    if (!takt_syntax_is(s, "in")) {
        takt_syntax_fail(s, "for x in xs { ... }", "expected 'in', found");
        return NULL;
    }
    takt_syntax_advance(s);
    if ((node->a = takt_syntax_expression(s)) == NULL)
        return NULL;
    if (takt_syntax_is(s, "along")) {
        takt_syntax_advance(s);
        if ((node->c = takt_syntax_expression(s)) == NULL)
            return NULL;
    }
    takt_syntax_close(s, node);
    bool good;
    node->b = takt_syntax_block(s, &good);
    return good ? node : NULL;
}

/* collect y = value */
static takt_ast *collect(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_COLLECT, &s->token);
    takt_syntax_advance(s);
    takt_ast *name = node != NULL ? takt_syntax_name(s, "a name for the rows") : NULL;
    if (name == NULL || !takt_syntax_expect(s, TAKT_T_ASSIGN, "after the name"))
        return NULL;
    node->name = name->name;
    node->a = takt_syntax_expression(s);
    return node->a != NULL ? takt_syntax_close(s, node) : NULL;
}

/* A chain of else-ifs is read in a loop: each is the else part of the one before. */
static takt_ast *condition(takt_syntax *s)
{
    takt_ast *first = NULL;
    takt_ast **place = &first;
    for (;;) {
        takt_ast *node = takt_syntax_node(s, TAKT_A_IF, &s->token);
        takt_syntax_advance(s);
        bool good;
        if (node == NULL || (node->a = takt_syntax_expression(s)) == NULL)
            return NULL;
        takt_syntax_close(s, node);
        node->b = takt_syntax_block(s, &good);
        if (!good)
            return NULL;
        *place = node;
        node->is_chained = first != node;
        place = &node->c;
        if (!takt_syntax_is(s, "else"))
            return first;
        takt_syntax_advance(s);
        if (takt_syntax_is(s, "if"))
            continue;
        node->c = takt_syntax_block(s, &good);
        return good ? first : NULL;
    }
}

/* a, b = value */
static takt_ast *assignment(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_ASSIGN, &s->token);
    if (node == NULL)
        return NULL;
    takt_ast **end = &node->a;
    do {
        if (s->token.kind != TAKT_T_NAME)
            s->last_end = 0; /* the complaint is about this token, not about the previous line */
        *end = takt_syntax_name(s, "a statement");
        if (*end == NULL)
            return NULL;
        end = &(*end)->next;
    } while (takt_syntax_take(s, TAKT_T_COMMA));
    if (s->token.kind != TAKT_T_ASSIGN) {
        takt_syntax_fail(s,
                         "a statement is `name = value`, param, state, next, repeat, for, if or "
                         "return",
                         "expected '=' after '%s', found", node->a->name->text);
        return NULL;
    }
    takt_syntax_advance(s);
    node->b = takt_syntax_expression(s);
    return node->b != NULL ? takt_syntax_close(s, node) : NULL;
}

static takt_ast *documentation(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_DOC, &s->token);
    if (node == NULL)
        return NULL;
    node->text = s->token.text;
    takt_syntax_advance(s);
    return node;
}

/* `state = 3` is an assignment, whose name is refused later with a better complaint. */
static takt_ast *statement(takt_syntax *s)
{
    if (s->token.kind == TAKT_T_STRING)
        return documentation(s);
    if (s->token.kind != TAKT_T_NAME || s->token.is_quoted)
        return assignment(s);
    if (takt_syntax_is(s, "return"))
        return give_back(s);
    if (takt_syntax_is(s, "if"))
        return condition(s);
    const takt_token_kind after = takt_syntax_peek(s)->kind;
    if (after == TAKT_T_ASSIGN || after == TAKT_T_COMMA)
        return assignment(s);
    if (takt_syntax_is(s, "param"))
        return declaration(s, TAKT_A_PARAM);
    if (takt_syntax_is(s, "state"))
        return declaration(s, TAKT_A_STATE);
    if (takt_syntax_is(s, "next"))
        return next(s);
    if (takt_syntax_is(s, "for"))
        return loop(s);
    if (takt_syntax_is(s, "collect"))
        return collect(s);
    if (takt_syntax_is(s, "require"))
        return takt_syntax_check(s, TAKT_A_REQUIRE);
    if (takt_syntax_is(s, "ensure"))
        return takt_syntax_check(s, TAKT_A_ENSURE);
    const bool is_rule = takt_syntax_is(s, "relation") || takt_syntax_is(s, "rule") ||
                         takt_syntax_is(s, "constraint");
    if (is_rule && after == TAKT_T_NAME && !takt_syntax_peek(s)->starts_line)
        return takt_syntax_rule(s);
    return takt_syntax_is(s, "repeat") ? repeat(s) : assignment(s);
}

/* From a statement that began at `begin` to the next line of this block, or to its end. */
static void recover(takt_syntax *s, size_t begin)
{
    int open = 0;
    while (s->token.kind != TAKT_T_END) {
        const bool is_later = s->token.starts_line && s->token.at != begin;
        if (open == 0 && (is_later || s->token.kind == TAKT_T_CLOSE_BLOCK))
            return;
        open += s->token.kind == TAKT_T_OPEN_BLOCK;
        open -= s->token.kind == TAKT_T_CLOSE_BLOCK && open > 0;
        takt_syntax_advance(s);
    }
}

takt_ast *takt_syntax_block(takt_syntax *s, bool *good)
{
    takt_ast *first = NULL;
    takt_ast **end = &first;
    *good = takt_syntax_expect(s, TAKT_T_OPEN_BLOCK, "to begin a block");
    if (!*good)
        return NULL;
    if ((uint64_t)++s->block_depth > s->ctx->limits.depth ||
        s->block_depth > takt_lang_depth(s->ctx))
        *good = takt_syntax_too_deep(s, s->ctx->limits.depth, "blocks");
    const int depth = s->depth;
    while (s->token.kind != TAKT_T_CLOSE_BLOCK && s->token.kind != TAKT_T_END) {
        const size_t before = s->token.at;
        *end = statement(s);
        if (*end != NULL) {
            end = &(*end)->next;
            continue;
        }
        s->depth = depth;
        recover(s, before);
    }
    s->depth = depth;
    s->block_depth--;
    *good = takt_syntax_expect(s, TAKT_T_CLOSE_BLOCK, "to end the block") && *good;
    return first;
}
