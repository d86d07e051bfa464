/* datalog_read.c - parses rules over sets of tuples. */
#include <string.h>

#include "op/util/datalog.h"

typedef struct reader {
    takt_arena *arena;
    const char *text;
    size_t at;
    takt_dl *program;
    /* Names of the current rule's variables. */
    takt_span name[TAKT_DL_VARIABLES];
    int variables;
} reader;

static takt_status wrong(const reader *r, const char *what)
{
    return takt_fail(r->arena->ctx, TAKT_E_ATTR, "fixpoint: %s at character %zu of the program",
                     what, r->at + 1);
}

static char peek(reader *r)
{
    while (r->text[r->at] == ' ')
        r->at++;
    return r->text[r->at];
}

static bool take(reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool number(reader *r, uint32_t *out)
{
    uint64_t value = 0;
    if (!is_digit(peek(r)))
        return false;
    for (; is_digit(r->text[r->at]); r->at++) {
        value = 10 * value + (uint64_t)(r->text[r->at] - '0');
        if (value >= TAKT_DL_ABSENT)
            return false;
    }
    *out = (uint32_t)value;
    return true;
}

static takt_status term(reader *r, takt_dl_term *t)
{
    if (take(r, '_')) {
        t->kind = TAKT_DL_ANY;
        return TAKT_OK;
    }
    if (is_digit(peek(r))) {
        t->kind = TAKT_DL_NUMBER;
        return number(r, &t->value) ? TAKT_OK : wrong(r, "a number is too large");
    }
    const size_t from = r->at;
    if (!is_letter(peek(r)))
        return wrong(r, "an argument is missing");
    for (r->at++; is_digit(r->text[r->at]);)
        r->at++;
    const takt_span name = {r->text + from, r->at - from};
    int i = 0;
    while (i < r->variables &&
           (r->name[i].length != name.length || memcmp(r->name[i].at, name.at, name.length) != 0))
        i++;
    if (i == TAKT_DL_VARIABLES)
        return wrong(r, "a rule has too many variables");
    r->name[i] = name;
    r->variables += i == r->variables;
    *t = (takt_dl_term){TAKT_DL_VARIABLE, (uint32_t)i};
    return TAKT_OK;
}

/* 1(a, 3, _) */
static takt_status atom(reader *r, takt_dl_literal *l)
{
    uint32_t relation;
    if (!number(r, &relation) || relation >= (uint32_t)r->program->relations)
        return wrong(r, "there is no such relation");
    l->relation = (int)relation;
    if (!take(r, '('))
        return wrong(r, "a bracket is missing");
    do {
        if (l->count == TAKT_DL_ARITY)
            return wrong(r, "an atom has too many arguments");
        TAKT_TRY(term(r, &l->term[l->count++]));
    } while (take(r, ','));
    if (!take(r, ')'))
        return wrong(r, "a bracket is missing");
    return l->count == r->program->arity[relation] ? TAKT_OK
                                                   : wrong(r, "a relation has another arity");
}

static takt_status compare(reader *r, takt_dl_literal *l)
{
    static const char *const signs[] = {"=", "!=", "<=", ">=", "<", ">"};
    static const int codes[] = {0, 1, 3, 5, 2, 4};
    l->kind = TAKT_DL_COMPARE;
    l->count = 2;
    TAKT_TRY(term(r, &l->term[0]));
    peek(r);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(r->text + r->at, signs[i], strlen(signs[i])) == 0) {
            l->relation = codes[i];
            r->at += strlen(signs[i]);
            return term(r, &l->term[1]);
        }
    return wrong(r, "a comparison is missing");
}

static takt_status literal(reader *r, takt_dl_literal *l)
{
    if (take(r, '!')) {
        l->kind = TAKT_DL_NOT;
        TAKT_TRY(atom(r, l));
        return l->relation >= r->program->derived ? TAKT_OK
                                                  : wrong(r, "only inputs can be negated");
    }
    /* Both may begin with a number: an atom is followed by a bracket. */
    size_t at = r->at + (peek(r) == ' ');
    while (is_digit(r->text[at]))
        at++;
    if (is_digit(peek(r)) && r->text[at] == '(')
        return atom(r, l);
    return compare(r, l);
}

/* Every variable is bound by an atom that is not negated. */
static takt_status check_bound(const reader *r, const takt_dl_rule *rule)
{
    bool is_bound[TAKT_DL_VARIABLES] = {false};
    for (int i = 0; i < rule->count; i++)
        for (int k = 0; rule->body[i].kind == TAKT_DL_ATOM && k < rule->body[i].count; k++)
            if (rule->body[i].term[k].kind == TAKT_DL_VARIABLE)
                is_bound[rule->body[i].term[k].value] = true;
    for (int i = -1; i < rule->count; i++) {
        const takt_dl_literal *l = i < 0 ? &rule->head : &rule->body[i];
        for (int k = 0; k < l->count; k++) {
            const bool is_any = l->term[k].kind == TAKT_DL_ANY;
            if (is_any && (i < 0 || l->kind == TAKT_DL_COMPARE))
                return wrong(r, "_ stands where a value is needed");
            if (l->term[k].kind == TAKT_DL_VARIABLE && !is_bound[l->term[k].value])
                return wrong(r, "a variable is not bound");
        }
    }
    return TAKT_OK;
}

static takt_status rule(reader *r, takt_dl_rule *to)
{
    r->variables = 0;
    TAKT_TRY(atom(r, &to->head));
    if (to->head.relation >= r->program->derived)
        return wrong(r, "an input is derived");
    if (!take(r, '<') || !take(r, '-'))
        return wrong(r, "<- is missing");
    do {
        if (to->count == TAKT_DL_BODY)
            return wrong(r, "a rule has too many literals");
        TAKT_TRY(literal(r, &to->body[to->count++]));
    } while (take(r, ','));
    to->variables = r->variables;
    return check_bound(r, to);
}

static takt_status arities(reader *r)
{
    takt_dl *p = r->program;
    uint32_t arity;
    while (number(r, &arity)) {
        if (p->relations == TAKT_DL_RELATIONS || arity == 0 || arity > TAKT_DL_ARITY)
            return wrong(r, "there are too many relations or arguments");
        p->arity[p->relations++] = (int)arity;
        if (take(r, ':'))
            p->derived = p->relations;
    }
    return p->derived > 0 ? TAKT_OK : wrong(r, "the arities of relations are missing");
}

takt_status takt_dl_read(takt_arena *arena, const char *text, takt_dl *program)
{
    reader r = {.arena = arena, .text = text, .program = program};
    int count = 0;
    for (const char *p = text; *p != '\0'; p++)
        count += *p == ';';
    *program = (takt_dl){.derived = 0};
    TAKT_TRY(arities(&r));
    if (count > TAKT_DL_RULES)
        return wrong(&r, "there are too many rules");
    program->rules = takt_arena_array(arena, (size_t)count + 1, sizeof *program->rules);
    if (program->rules == NULL)
        return TAKT_ERR_MEMORY;
    while (take(&r, ';'))
        TAKT_TRY(rule(&r, &program->rules[program->rule_count++]));
    return peek(&r) == '\0' ? TAKT_OK : wrong(&r, "something is left over");
}
