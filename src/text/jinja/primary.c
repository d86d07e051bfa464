/* primary.c - literals, names, calls, filters and tests as nodes: the tightest bindings. */
#include <string.h>

#include "base/number.h"
#include "text/jinja/jinja.h"

static bool skip_sign(takt_jinja *j, const char *sign)
{
    return takt_jinja_skip(j, TAKT_JT_SIGN, sign);
}

static bool skip_word(takt_jinja *j, const char *word)
{
    return takt_jinja_skip(j, TAKT_JT_NAME, word);
}

/* ---- primaries ---- */

static takt_jnode *literal(takt_jinja *j, takt_jv value)
{
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_LITERAL);
    n->value = value;
    return n;
}

static takt_jnode *parse_number(takt_jinja *j, const takt_jtoken *t)
{
    char digits[64];
    size_t length = 0;
    int64_t value = 0;
    double number = 0;
    for (size_t i = 0; i < t->text.length && length < sizeof digits; i++)
        if (t->text.at[i] != '_')
            digits[length++] = t->text.at[i];
    bool good = length < sizeof digits;
    if (t->kind == TAKT_JT_FLOAT) {
        good = good && takt_number_read(digits, length, &number);
    } else {
        for (size_t i = 0; good && i < length; i++)
            good = !__builtin_mul_overflow(value, 10, &value) &&
                   !__builtin_add_overflow(value, digits[i] - '0', &value);
    }
    if (!good)
        takt_jinja_fail(j, TAKT_E_TEMPLATE, t->line, "a number is too long");
    return literal(j, t->kind == TAKT_JT_FLOAT ? takt_jv_float(number) : takt_jv_int(value));
}

/* "a" "b" is "ab". */
static takt_jnode *parse_strings(takt_jinja *j, takt_span text)
{
    while (takt_jinja_is(j, TAKT_JT_TEXT, NULL) && j->status == TAKT_OK) {
        const takt_span more = takt_jinja_peek(j)->text;
        char *both = takt_arena_get(&j->arena, text.length + more.length + 1);
        if (both == NULL) {
            j->status = TAKT_ERR_MEMORY;
            break;
        }
        memcpy(both, text.at, text.length);
        memcpy(both + text.length, more.at, more.length);
        text = (takt_span){both, text.length + more.length};
        j->at++;
    }
    return literal(j, takt_jv_span(text));
}

static takt_jnode *parse_name(takt_jinja *j, takt_span name)
{
    if (takt_span_is(name, "true") || takt_span_is(name, "True"))
        return literal(j, takt_jv_bool(true));
    if (takt_span_is(name, "false") || takt_span_is(name, "False"))
        return literal(j, takt_jv_bool(false));
    if (takt_span_is(name, "none") || takt_span_is(name, "None"))
        return literal(j, takt_jv_none());
    takt_jnode *n = takt_jinja_node(j, TAKT_JN_NAME);
    n->text = name;
    return n;
}

static takt_jnode *parse_items(takt_jinja *j, takt_jnode_kind kind, const char *closing)
{
    takt_jnode *n = takt_jinja_node(j, kind);
    while (j->status == TAKT_OK && !skip_sign(j, closing)) {
        if (n->first != NULL)
            takt_jinja_expect(j, TAKT_JT_SIGN, ",");
        if (skip_sign(j, closing))
            break;
        takt_jinja_child(j, n, takt_jinja_expression(j));
        if (kind == TAKT_JN_DICT) {
            takt_jinja_expect(j, TAKT_JT_SIGN, ":");
            takt_jinja_child(j, n, takt_jinja_expression(j));
        }
    }
    return n;
}

/* (a) is a, (a,) and () are tuples. */
static takt_jnode *parse_brackets(takt_jinja *j)
{
    if (skip_sign(j, ")"))
        return takt_jinja_node(j, TAKT_JN_TUPLE);
    takt_jnode *n = takt_jinja_tuple(j);
    takt_jinja_expect(j, TAKT_JT_SIGN, ")");
    return n;
}

static takt_jnode *parse_primary(takt_jinja *j)
{
    const takt_jtoken *t = takt_jinja_peek(j);
    j->at += t->kind != TAKT_JT_END;
    switch (t->kind) {
    case TAKT_JT_NAME: return parse_name(j, t->text);
    case TAKT_JT_TEXT: return parse_strings(j, t->text);
    case TAKT_JT_INT:
    case TAKT_JT_FLOAT: return parse_number(j, t);
    default: break;
    }
    if (t->kind == TAKT_JT_SIGN && takt_span_is(t->text, "("))
        return parse_brackets(j);
    if (t->kind == TAKT_JT_SIGN && takt_span_is(t->text, "["))
        return parse_items(j, TAKT_JN_LIST, "]");
    if (t->kind == TAKT_JT_SIGN && takt_span_is(t->text, "{"))
        return parse_items(j, TAKT_JN_DICT, "}");
    takt_jinja_fail(j, TAKT_E_TEMPLATE, t->line, "'%.*s' begins no expression",
                    (int)(t->text.length < 40 ? t->text.length : 40), t->text.at);
    return takt_jinja_node(j, TAKT_JN_LITERAL);
}

/* ---- suffixes of a primary ---- */

static void parse_args(takt_jinja *j, takt_jnode *call)
{
    size_t count = 0;
    while (j->status == TAKT_OK && !skip_sign(j, ")")) {
        if (count > 0)
            takt_jinja_expect(j, TAKT_JT_SIGN, ",");
        if (skip_sign(j, ")"))
            break;
        const takt_jtoken *name = takt_jinja_peek(j);
        const takt_jtoken *sign = name->kind == TAKT_JT_NAME ? name + 1 : name;
        if (sign->kind == TAKT_JT_SIGN && takt_span_is(sign->text, "=")) {
            takt_jnode *n = takt_jinja_node(j, TAKT_JN_KEYWORD);
            j->at += 2;
            n->text = name->text;
            n->a = takt_jinja_expression(j);
            takt_jinja_deepen(j, n, n->a);
            takt_jinja_child(j, call, n);
        } else {
            if (takt_jinja_is(j, TAKT_JT_SIGN, "*") || takt_jinja_is(j, TAKT_JT_SIGN, "**"))
                takt_jinja_fail(j, TAKT_E_TEMPLATE_UNSUPPORTED, name->line,
                                "*arguments are not run");
            takt_jinja_child(j, call, takt_jinja_expression(j));
        }
        if (++count >= TAKT_JINJA_ARGS)
            takt_jinja_fail(j, TAKT_E_TEMPLATE_LIMIT, call->line, "too many arguments");
    }
}

static takt_jnode *parse_subscript(takt_jinja *j, takt_jnode *a)
{
    takt_jnode *bounds[3] = {NULL, NULL, NULL};
    size_t colons = 0;
    takt_jnode *n = takt_jinja_pair(j, TAKT_JN_INDEX, a, NULL);
    while (j->status == TAKT_OK && !takt_jinja_is(j, TAKT_JT_SIGN, "]")) {
        if (takt_jinja_is(j, TAKT_JT_SIGN, ":") && colons < 2) {
            colons++;
            j->at++;
            continue;
        }
        if (bounds[colons] != NULL)
            break;
        bounds[colons] = colons == 0 ? takt_jinja_tuple(j) : takt_jinja_expression(j);
        takt_jinja_deepen(j, n, bounds[colons]);
    }
    takt_jinja_expect(j, TAKT_JT_SIGN, "]");
    n->kind = colons > 0 ? TAKT_JN_SLICE : TAKT_JN_INDEX;
    n->b = bounds[0];
    n->c = bounds[1];
    n->d = bounds[2];
    if (colons == 0 && n->b == NULL)
        takt_jinja_fail(j, TAKT_E_TEMPLATE, n->line, "[] has no index");
    return n;
}

static takt_jnode *parse_call(takt_jinja *j, takt_jnode *a)
{
    takt_jnode *n = takt_jinja_pair(j, TAKT_JN_CALL, a, NULL);
    parse_args(j, n);
    return n;
}

static takt_jnode *parse_postfix(takt_jinja *j, takt_jnode *a)
{
    while (j->status == TAKT_OK) {
        if (skip_sign(j, ".")) {
            const takt_jtoken *t = takt_jinja_peek(j);
            const bool is_place = t->kind == TAKT_JT_INT;
            takt_jnode *n =
                takt_jinja_pair(j, is_place ? TAKT_JN_INDEX : TAKT_JN_ATTRIBUTE, a, NULL);
            j->at += is_place;
            if (is_place)
                n->b = parse_number(j, t);
            else
                takt_jinja_expect(j, TAKT_JT_NAME, NULL);
            n->text = t->text;
            a = n;
        } else if (skip_sign(j, "[")) {
            a = parse_subscript(j, a);
        } else if (skip_sign(j, "(")) {
            a = parse_call(j, a);
        } else {
            break;
        }
    }
    return a;
}

takt_jnode *takt_jinja_filters(takt_jinja *j, takt_jnode *a)
{
    while (skip_sign(j, "|")) {
        const takt_jtoken *t = takt_jinja_peek(j);
        takt_jnode *n = takt_jinja_pair(j, TAKT_JN_FILTER, a, NULL);
        takt_jinja_expect(j, TAKT_JT_NAME, NULL);
        n->text = t->text;
        n->record = takt_jinja_filter(t->text);
        if (skip_sign(j, "("))
            parse_args(j, n);
        a = n;
    }
    return a;
}

/* Whether the next token begins the single argument of a test without brackets. */
static bool begins_argument(const takt_jinja *j)
{
    static const char *const words[] = {"else", "or", "and", "is", "if", "in", "not"};
    const takt_jtoken *t = takt_jinja_peek(j);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (takt_jinja_is(j, TAKT_JT_NAME, words[i]))
            return false;
    return t->kind == TAKT_JT_NAME || t->kind == TAKT_JT_TEXT || t->kind == TAKT_JT_INT ||
           t->kind == TAKT_JT_FLOAT || takt_jinja_is(j, TAKT_JT_SIGN, "[") ||
           takt_jinja_is(j, TAKT_JT_SIGN, "{");
}

static takt_jnode *parse_test(takt_jinja *j, takt_jnode *a)
{
    const bool is_negated = skip_word(j, "not");
    const takt_jtoken *t = takt_jinja_peek(j);
    takt_jnode *n = takt_jinja_pair(j, TAKT_JN_TEST, a, NULL);
    takt_jinja_expect(j, TAKT_JT_NAME, NULL);
    n->text = t->text;
    n->record = takt_jinja_test(t->text);
    if (skip_sign(j, "("))
        parse_args(j, n);
    else if (begins_argument(j))
        takt_jinja_child(j, n, parse_postfix(j, parse_primary(j)));
    return is_negated ? takt_jinja_pair(j, TAKT_JN_NOT, n, NULL) : n;
}

takt_jnode *takt_jinja_unary(takt_jinja *j, bool has_filters)
{
    takt_jnode *n;
    if (!takt_jinja_enter(j))
        return takt_jinja_node(j, TAKT_JN_LITERAL);
    if (skip_sign(j, "-"))
        n = takt_jinja_pair(j, TAKT_JN_MINUS, takt_jinja_unary(j, false), NULL);
    else if (skip_sign(j, "+"))
        n = takt_jinja_pair(j, TAKT_JN_PLUS, takt_jinja_unary(j, false), NULL);
    else
        n = parse_primary(j);
    n = parse_postfix(j, n);
    while (has_filters && j->status == TAKT_OK) {
        if (takt_jinja_is(j, TAKT_JT_SIGN, "|"))
            n = takt_jinja_filters(j, n);
        else if (skip_word(j, "is"))
            n = parse_test(j, n);
        else if (skip_sign(j, "("))
            n = parse_call(j, n);
        else
            break;
    }
    j->nested--;
    return n;
}
