/* formula_text.c - formulas and tuples as people write them. */
#include "logic/prove.h"

enum { LOOSE, IFF, IMPLIES, OR, AND, NOT, TIGHT };

typedef struct writer {
    const takt_rule *rule;
    const int64_t *env;
    takt_text *text;
} writer;

static void put(writer *w, const takt_formula *f, int around);

void takt_value_name(const takt_rule *rule, int variable, int64_t value, takt_text *text)
{
    takt_domain_entry(rule->variables[variable].range.domain, (uint32_t)value, text);
}

static void put_variable(writer *w, int variable)
{
    if (w->env != NULL && w->env[variable] >= 0)
        takt_value_name(w->rule, variable, w->env[variable], w->text);
    else
        takt_text_add(w->text, "%s", w->rule->variables[variable].name);
}

static void put_list(writer *w, const takt_formula *f, char open, char close)
{
    takt_text_add(w->text, "%s%c", f->predicate->name, open);
    for (size_t i = 0; i < f->term_count; i++) {
        takt_text_add(w->text, "%s", i > 0 ? ", " : "");
        if (f->terms[i]->kind == TAKT_LOGIC_INTEGER)
            takt_domain_entry(f->predicate->arg[i].domain, (uint32_t)f->terms[i]->integer, w->text);
        else
            put(w, f->terms[i], LOOSE);
    }
    takt_text_add(w->text, "%c", close);
}

static void put_quantifier(writer *w, const takt_formula *f, const char *word)
{
    takt_text_add(w->text, "%s", word);
    if (f->kind == TAKT_LOGIC_AT_LEAST)
        takt_text_add(w->text, "(%lld)", (long long)f->integer);
    for (size_t i = 0; i < f->bound_count; i++) {
        takt_text_add(w->text, "%s", i > 0 ? ", " : " ");
        put_variable(w, f->bound[i]);
    }
    if (f->b != NULL) {
        takt_text_add(w->text, " where ");
        put(w, f->b, LOOSE);
    }
    takt_text_add(w->text, ": ");
    put(w, f->a, LOOSE);
}

static void put_pair(writer *w, const takt_formula *f, const char *sign, int own)
{
    put(w, f->a, own);
    takt_text_add(w->text, " %s ", sign);
    put(w, f->b, own + (own < AND));
}

static int tightness(const takt_formula *f)
{
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_IFF: return IFF;
    case TAKT_LOGIC_IMPLIES: return IMPLIES;
    case TAKT_LOGIC_OR: return OR;
    case TAKT_LOGIC_AND: return AND;
    case TAKT_LOGIC_NOT:
    case TAKT_LOGIC_COMPARE: return NOT;
    case TAKT_LOGIC_EXISTS:
    case TAKT_LOGIC_FORALL:
    case TAKT_LOGIC_AT_LEAST:
    case TAKT_LOGIC_FOLD:
    case TAKT_LOGIC_CHOICE: return LOOSE;
    default: return TIGHT;
    }
}

static void put_plain(writer *w, const takt_formula *f)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "//", "%"};
    static const char *const folds[] = {"count", "sum", "min", "max", "mean", "product"};
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_ATOM: put_list(w, f, '(', ')'); break;
    case TAKT_LOGIC_ELEMENT: put_list(w, f, '[', ']'); break;
    case TAKT_LOGIC_COMPARE:
    case TAKT_LOGIC_ARITH:
        put_pair(w, f, signs[f->op], f->kind == TAKT_LOGIC_ARITH ? TIGHT : AND);
        break;
    case TAKT_LOGIC_AND: put_pair(w, f, "and", AND); break;
    case TAKT_LOGIC_OR: put_pair(w, f, "or", OR); break;
    case TAKT_LOGIC_IMPLIES: put_pair(w, f, "implies", IMPLIES); break;
    case TAKT_LOGIC_IFF: put_pair(w, f, "iff", IFF); break;
    case TAKT_LOGIC_NOT:
        takt_text_add(w->text, "not ");
        put(w, f->a, NOT);
        break;
    case TAKT_LOGIC_EXISTS: put_quantifier(w, f, "exists"); break;
    case TAKT_LOGIC_FORALL: put_quantifier(w, f, "forall"); break;
    case TAKT_LOGIC_AT_LEAST: put_quantifier(w, f, "at_least"); break;
    case TAKT_LOGIC_FOLD: put_quantifier(w, f, folds[f->op - TAKT_LOGIC_COUNT]); break;
    case TAKT_LOGIC_TRUTH: takt_text_add(w->text, "%s", f->number != 0 ? "true" : "false"); break;
    case TAKT_LOGIC_VARIABLE: put_variable(w, f->variable); break;
    case TAKT_LOGIC_INTEGER: takt_text_add(w->text, "%lld", (long long)f->integer); break;
    case TAKT_LOGIC_DECIMAL: takt_text_double(w->text, f->number); break;
    case TAKT_LOGIC_NAMED: takt_text_put(w->text, f->text.at, f->text.length); break;
    case TAKT_LOGIC_CHOICE:
        put(w, f->a, TIGHT);
        takt_text_add(w->text, " if ");
        put(w, f->b, TIGHT);
        takt_text_add(w->text, " else ");
        put(w, f->c, TIGHT);
        break;
    }
}

static void put(writer *w, const takt_formula *f, int around)
{
    const int own = tightness(f);
    /* a quantifier extends as far to the right as possible, so only the last one needs no
     * brackets */
    const bool has_brackets = own < around;
    takt_text_add(w->text, "%s", has_brackets ? "(" : "");
    put_plain(w, f);
    takt_text_add(w->text, "%s", has_brackets ? ")" : "");
}

void takt_formula_text(const takt_rule *rule, const takt_formula *f, const int64_t *env,
                       takt_text *text)
{
    put(&(writer){rule, env, text}, f, LOOSE);
}

void takt_tuple_text(const takt_predicate *p, const uint32_t *tuple, double value, takt_text *text)
{
    takt_text_add(text, "%s(", p->name);
    for (int i = 0; i < p->arity; i++) {
        takt_text_add(text, "%s", i > 0 ? ", " : "");
        if (p->form == TAKT_FORM_VALUE && i == p->arity - 1)
            takt_text_double(text, value);
        else
            takt_domain_entry(p->arg[i].domain, tuple[i], text);
    }
    takt_text_add(text, ")");
}
