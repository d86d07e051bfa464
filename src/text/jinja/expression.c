/* expression.c - expressions of a template as nodes, by Jinja's precedence:
 *
 *     choice < or < and < not < comparisons < + - < ~ < * / // % < ** < - + < filters, tests
 */
#include "text/jinja/jinja.h"

bool takt_jinja_enter(takt_jinja *j)
{
    if (++j->nested > TAKT_JINJA_DEPTH)
        takt_jinja_fail(j, TAKT_E_TEMPLATE_LIMIT, takt_jinja_peek(j)->line,
                        "an expression nests too deeply");
    return j->status == TAKT_OK;
}

takt_jnode *takt_jinja_pair(takt_jinja *j, takt_jnode_kind kind, takt_jnode *a, takt_jnode *b)
{
    takt_jnode *n = takt_jinja_node(j, kind);
    n->a = a;
    n->b = b;
    takt_jinja_deepen(j, n, a);
    takt_jinja_deepen(j, n, b);
    return n;
}

static bool skip_sign(takt_jinja *j, const char *sign)
{
    return takt_jinja_skip(j, TAKT_JT_SIGN, sign);
}

static bool skip_word(takt_jinja *j, const char *word)
{
    return takt_jinja_skip(j, TAKT_JT_NAME, word);
}

/* ---- operators ---- */

/* Operators by level, NULL at the end; comparisons and words are handled above. */
static const char *const levels[][5] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
enum { LEVELS = sizeof levels / sizeof *levels };

static takt_jnode *parse_level(takt_jinja *j, size_t level)
{
    if (level == LEVELS)
        return takt_jinja_unary(j, true);
    takt_jnode *n = parse_level(j, level + 1);
    while (j->status == TAKT_OK) {
        size_t i = 0;
        while (levels[level][i] != NULL && !takt_jinja_is(j, TAKT_JT_SIGN, levels[level][i]))
            i++;
        if (levels[level][i] == NULL)
            break;
        j->at++;
        n = takt_jinja_pair(j, TAKT_JN_BINARY, n, parse_level(j, level + 1));
        n->text = takt_span_of(levels[level][i]);
    }
    return n;
}

static const char *comparison(takt_jinja *j)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (skip_sign(j, signs[i]))
            return signs[i];
    if (skip_word(j, "in"))
        return "in";
    const takt_jtoken *t = takt_jinja_peek(j);
    if (takt_jinja_is(j, TAKT_JT_NAME, "not") && t[1].kind == TAKT_JT_NAME &&
        takt_span_is(t[1].text, "in")) {
        j->at += 2;
        return "not in";
    }
    return NULL;
}

/* a < b < c links the pairs: (a < b), with (b < c) as its next. */
static takt_jnode *parse_comparison(takt_jinja *j)
{
    takt_jnode *n = parse_level(j, 0), *chain = NULL;
    const char *sign;
    while (j->status == TAKT_OK && (sign = comparison(j)) != NULL) {
        takt_jnode *right = parse_level(j, 0);
        takt_jnode *link = takt_jinja_pair(j, TAKT_JN_COMPARE, chain == NULL ? n : NULL, right);
        link->text = takt_span_of(sign);
        if (chain == NULL)
            n = link;
        takt_jinja_deepen(j, n, right);
        if (chain != NULL)
            chain->c = link;
        chain = link;
    }
    return n;
}

static takt_jnode *parse_not(takt_jinja *j)
{
    if (!takt_jinja_enter(j))
        return takt_jinja_node(j, TAKT_JN_LITERAL);
    takt_jnode *n = skip_word(j, "not") ? takt_jinja_pair(j, TAKT_JN_NOT, parse_not(j), NULL)
                                        : parse_comparison(j);
    j->nested--;
    return n;
}

static takt_jnode *parse_and(takt_jinja *j)
{
    takt_jnode *n = parse_not(j);
    while (skip_word(j, "and"))
        n = takt_jinja_pair(j, TAKT_JN_AND, n, parse_not(j));
    return n;
}

takt_jnode *takt_jinja_plain(takt_jinja *j)
{
    takt_jnode *n = parse_and(j);
    while (skip_word(j, "or"))
        n = takt_jinja_pair(j, TAKT_JN_OR, n, parse_and(j));
    return n;
}

takt_jnode *takt_jinja_expression(takt_jinja *j)
{
    if (!takt_jinja_enter(j))
        return takt_jinja_node(j, TAKT_JN_LITERAL);
    takt_jnode *n = takt_jinja_plain(j);
    if (skip_word(j, "if")) {
        n = takt_jinja_pair(j, TAKT_JN_CHOICE, takt_jinja_plain(j), n);
        if (skip_word(j, "else"))
            n->c = takt_jinja_expression(j);
        takt_jinja_deepen(j, n, n->c);
    }
    j->nested--;
    return n;
}

takt_jnode *takt_jinja_tuple(takt_jinja *j)
{
    takt_jnode *first = takt_jinja_expression(j);
    if (!takt_jinja_is(j, TAKT_JT_SIGN, ","))
        return first;
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_TUPLE);
    takt_jinja_child(j, n, first);
    while (skip_sign(j, ",")) {
        const takt_jtoken *t = takt_jinja_peek(j);
        if (t->kind == TAKT_JT_PRINT_END || t->kind == TAKT_JT_BLOCK_END ||
            takt_jinja_is(j, TAKT_JT_SIGN, ")") || takt_jinja_is(j, TAKT_JT_SIGN, "]"))
            break;
        takt_jinja_child(j, n, takt_jinja_expression(j));
    }
    return n;
}
