/* sparse.c - rules whose relations are too large to be dense: sets of tuples, one op per stratum.
 *
 * A body becomes a disjunction of conjunctions of atoms, negated atoms and comparisons; anything
 * else is refused, with the advice to move it to a separate rule. */
#include <stdio.h>
#include <string.h>

#include "logic/lower.h"
#include "op/record/fixpoint.h"
#include "op/util/datalog.h"

enum { MOST_PARTS = 256, DEFAULT_CAPACITY = 1 << 16, MOST_CAPACITY = 1 << 27 };

/* ---- bodies as disjunctions ---- */

typedef struct conjunction {
    const takt_formula *at[TAKT_DL_BODY];
    int count;
} conjunction;

/* The term that a variable equals, by an equation of the conjunction; NULL: only itself. */
typedef struct equals {
    const takt_formula *of[TAKT_DL_VARIABLES];
} equals;

typedef struct parts {
    conjunction at[MOST_PARTS];
    size_t count;
} parts;

typedef struct writer {
    takt_lower *l;
    takt_predicate *const *members;
    size_t count;
    takt_predicate *inputs[TAKT_DL_RELATIONS];
    takt_id values[TAKT_DL_RELATIONS];
    size_t input_count;
    takt_text text;
    parts *room; /* for products: one more for every level */
    equals same; /* of the conjunction being written */
} writer;

static bool refuse(writer *w, const takt_formula *f, const char *what)
{
    w->l->place = f->place;
    takt_lower_fail(w->l, TAKT_E_RULE, "%s", what);
    takt_fail_hint(w->l->program->ctx, "a relation of tuples is an or of exists and and, of atoms, "
                                       "negated atoms and comparisons: give the rest a rule of its "
                                       "own");
    return false;
}

static bool expand(writer *w, const takt_formula *f, parts *out);

/* Combines every conjunction of a with every one of b. */
static bool multiply(writer *w, const takt_formula *a, const takt_formula *b, parts *out)
{
    parts *both = takt_arena_array(w->l->program->arena, 2, sizeof *both);
    if (both == NULL) {
        takt_graph_fail(w->l->g, TAKT_ERR_MEMORY);
        return false;
    }
    if (!expand(w, a, &both[0]) || !expand(w, b, &both[1]))
        return false;
    for (size_t i = 0; i < both[0].count; i++)
        for (size_t k = 0; k < both[1].count; k++) {
            const conjunction *x = &both[0].at[i], *y = &both[1].at[k];
            if (out->count == MOST_PARTS || x->count + y->count > TAKT_DL_BODY)
                return refuse(w, a, "the rule has too many parts for tuples");
            conjunction *to = &out->at[out->count++];
            *to = *x;
            memcpy(to->at + x->count, y->at, (size_t)y->count * sizeof *to->at);
            to->count += y->count;
        }
    return true;
}

static bool is_plain_term(const takt_formula *t)
{
    return t->kind == TAKT_LOGIC_VARIABLE || t->kind == TAKT_LOGIC_INTEGER;
}

/* exists v: p(v, ...) and v == t, the form of arguments like a repeated x: p(t, ...) itself. NULL
 * if it is anything else. */
static takt_formula *plain_atom(writer *w, const takt_formula *f)
{
    const takt_formula *at = f->kind == TAKT_LOGIC_EXISTS && f->b == NULL ? f->a : f;
    const takt_formula *atom = at;
    while (atom->kind == TAKT_LOGIC_AND)
        atom = atom->a;
    if (atom->kind != TAKT_LOGIC_ATOM)
        return NULL;
    takt_arena *arena = w->l->program->arena;
    takt_formula *copy = takt_arena_copy(arena, atom, sizeof *atom);
    takt_formula **terms = takt_arena_array(arena, atom->term_count + 1, sizeof *terms);
    if (copy == NULL || terms == NULL) {
        takt_graph_fail(w->l->g, TAKT_ERR_MEMORY);
        return NULL;
    }
    if (atom->term_count > 0)
        memcpy(terms, atom->terms, atom->term_count * sizeof *terms);
    copy->terms = terms;
    for (; at->kind == TAKT_LOGIC_AND; at = at->a) {
        const takt_formula *equal = at->b;
        bool is_used = false;
        if (equal->kind != TAKT_LOGIC_COMPARE || equal->op != TAKT_LOGIC_EQ ||
            equal->a->kind != TAKT_LOGIC_VARIABLE || !is_plain_term(equal->b))
            return NULL;
        for (size_t i = 0; i < atom->term_count; i++)
            if (terms[i]->kind == TAKT_LOGIC_VARIABLE && terms[i]->variable == equal->a->variable) {
                terms[i] = equal->b;
                is_used = true;
            }
        if (!is_used)
            return NULL;
    }
    return copy;
}

/* not p(...) with its atom in plain form; NULL if that cannot be. */
static const takt_formula *negated(writer *w, const takt_formula *f)
{
    takt_formula *atom = f->kind == TAKT_LOGIC_NOT ? plain_atom(w, f->a) : NULL;
    takt_formula *copy = atom != NULL ? takt_arena_copy(w->l->program->arena, f, sizeof *f) : NULL;
    if (copy != NULL)
        copy->a = atom;
    return copy;
}

static bool expand(writer *w, const takt_formula *f, parts *out)
{
    const takt_formula *other = negated(w, f);
    f = other != NULL ? other : f;
    const bool is_negated = other != NULL;
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_AND: return multiply(w, f->a, f->b, out);
    case TAKT_LOGIC_OR: return expand(w, f->a, out) && expand(w, f->b, out);
    case TAKT_LOGIC_EXISTS:
        if (f->has_power)
            break;
        return f->b != NULL ? multiply(w, f->b, f->a, out) : expand(w, f->a, out);
    case TAKT_LOGIC_TRUTH:
        if (out->count == MOST_PARTS)
            return refuse(w, f, "the rule has too many parts for tuples");
        out->count += f->number != 0; /* an empty conjunction; false adds nothing */
        return true;
    default: break;
    }
    const bool is_literal =
        f->kind == TAKT_LOGIC_ATOM || is_negated ||
        (f->kind == TAKT_LOGIC_COMPARE && is_plain_term(f->a) && is_plain_term(f->b));
    if (!is_literal)
        return refuse(w, f, "this formula has no form for tuples");
    if (out->count == MOST_PARTS)
        return refuse(w, f, "the rule has too many parts for tuples");
    out->at[out->count++] = (conjunction){.at = {f}, .count = 1};
    return true;
}

/* ---- as text ---- */

static takt_id constant_of(writer *w, const takt_predicate *p)
{
    takt_tensor t;
    const takt_type type = {
        .dtype = TAKT_U32, .rank = 2, .dim = {(takt_dim)p->fact_count, p->arity}};
    const takt_status status = takt_tensor_create(w->l->g->ctx, &type, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(w->l->g, status);
    if (p->fact_count > 0)
        memcpy(takt_tensor_data(&t), p->facts, p->fact_count * (size_t)p->arity * sizeof *p->facts);
    const takt_id id = takt_graph_constant(w->l->g, &t);
    takt_tensor_release(&t);
    return id;
}

/* The number of a predicate in the program; -1 after a complaint. */
static int number_of(writer *w, const takt_formula *f)
{
    takt_predicate *p = f->predicate;
    for (size_t i = 0; i < w->count; i++)
        if (w->members[i] == p)
            return (int)i;
    for (size_t i = 0; i < w->input_count; i++)
        if (w->inputs[i] == p)
            return (int)(w->count + i);
    const bool has_facts = p->facts != NULL;
    if ((!has_facts && p->form != TAKT_FORM_TUPLES) || p->arity > TAKT_DL_ARITY || p->arity == 0) {
        refuse(w, f, "only facts and relations of tuples can be used here");
        return -1;
    }
    if (w->count + w->input_count == TAKT_DL_RELATIONS) {
        refuse(w, f, "the rules use too many relations");
        return -1;
    }
    w->inputs[w->input_count] = p;
    w->values[w->input_count] = p->form == TAKT_FORM_TUPLES ? p->value : constant_of(w, p);
    return (int)(w->count + w->input_count++);
}

/* The constant or variable that represents a term. */
static const takt_formula *resolve(const writer *w, const takt_formula *t)
{
    while (t->kind == TAKT_LOGIC_VARIABLE && t->variable < TAKT_DL_VARIABLES &&
           w->same.of[t->variable] != NULL)
        t = w->same.of[t->variable];
    return t;
}

/* Drops equations with a variable and substitutes the other side everywhere; false: two constants
 * differ, so that the conjunction never holds. */
static bool substitute(writer *w, conjunction *c)
{
    int kept = 0;
    w->same = (equals){0};
    for (int i = 0; i < c->count; i++) {
        const takt_formula *f = c->at[i];
        c->at[kept] = f;
        if (f->kind != TAKT_LOGIC_COMPARE || f->op != TAKT_LOGIC_EQ) {
            kept++;
            continue;
        }
        const takt_formula *a = resolve(w, f->a), *b = resolve(w, f->b);
        const takt_formula *variable = a->kind == TAKT_LOGIC_VARIABLE ? a : b;
        const takt_formula *other = variable == a ? b : a;
        if (variable->kind != TAKT_LOGIC_VARIABLE) {
            if (a->integer != b->integer)
                return false;
        } else if (variable->variable >= TAKT_DL_VARIABLES) {
            kept++;
        } else if (other->kind != TAKT_LOGIC_VARIABLE || other->variable != variable->variable) {
            w->same.of[variable->variable] = other;
        }
    }
    c->count = kept;
    return true;
}

static void put_term(writer *w, const takt_formula *term)
{
    const takt_formula *t = resolve(w, term);
    if (t->kind == TAKT_LOGIC_INTEGER)
        takt_text_add(&w->text, "%lld", (long long)t->integer);
    else if (t->variable < 26)
        takt_text_add(&w->text, "%c", 'a' + t->variable);
    else
        takt_text_add(&w->text, "%c%d", 'a' + t->variable % 26, t->variable / 26);
}

static bool put_literal(writer *w, const takt_formula *f)
{
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">="};
    if (f->kind == TAKT_LOGIC_COMPARE) {
        put_term(w, f->a);
        takt_text_add(&w->text, " %s ", signs[f->op]);
        put_term(w, f->b);
        return true;
    }
    const takt_formula *atom = f->kind == TAKT_LOGIC_NOT ? f->a : f;
    const int number = number_of(w, atom);
    if (number < 0)
        return false;
    takt_text_add(&w->text, "%s%d(", f->kind == TAKT_LOGIC_NOT ? "!" : "", number);
    for (size_t i = 0; i < atom->term_count; i++) {
        takt_text_add(&w->text, "%s", i > 0 ? ", " : "");
        put_term(w, atom->terms[i]);
    }
    takt_text_add(&w->text, ")");
    return true;
}

static bool binds(const writer *w, const conjunction *c, const takt_formula *term)
{
    for (int i = 0; i < c->count; i++)
        for (size_t k = 0; c->at[i]->kind == TAKT_LOGIC_ATOM && k < c->at[i]->term_count; k++) {
            const takt_formula *t = resolve(w, c->at[i]->terms[k]);
            if (t->kind == TAKT_LOGIC_VARIABLE && t->variable == term->variable)
                return true;
        }
    return term->kind == TAKT_LOGIC_INTEGER;
}

/* Variables that no atom binds have no finite set of values. */
static bool check_bound(writer *w, const takt_rule *rule, const conjunction *c)
{
    for (int i = 0; i < rule->head->arity; i++) {
        const takt_formula own = {.kind = TAKT_LOGIC_VARIABLE, .variable = i};
        if (!binds(w, c, resolve(w, &own))) {
            w->l->place = rule->place;
            takt_lower_fail(w->l, TAKT_E_UNBOUND,
                            "%s is bound by no relation in a part of the rule, as tuples need it",
                            rule->variables[i].name);
            return false;
        }
    }
    return true;
}

static bool put_rule(writer *w, int head, const takt_rule *rule)
{
    parts *all = takt_arena_array(w->l->program->arena, 1, sizeof *all);
    if (all == NULL) {
        takt_graph_fail(w->l->g, TAKT_ERR_MEMORY);
        return false;
    }
    w->l->rule = rule;
    if (!expand(w, rule->body, all))
        return false;
    for (size_t i = 0; i < all->count; i++) {
        if (!substitute(w, &all->at[i]))
            continue;
        if (!check_bound(w, rule, &all->at[i]))
            return false;
        takt_text_add(&w->text, " ; %d(", head);
        for (int k = 0; k < rule->head->arity; k++) {
            const takt_formula own = {.kind = TAKT_LOGIC_VARIABLE, .variable = k};
            takt_text_add(&w->text, "%s", k > 0 ? ", " : "");
            put_term(w, &own);
        }
        takt_text_add(&w->text, ") <- %s", all->at[i].count == 0 ? "0 = 0" : "");
        for (int k = 0; k < all->at[i].count; k++) {
            takt_text_add(&w->text, "%s", k > 0 ? ", " : "");
            if (!put_literal(w, all->at[i].at[k]))
                return false;
        }
    }
    return true;
}

/* ---- the op ---- */

static int64_t capacity_of(const writer *w, const takt_predicate *p)
{
    int64_t rows = 0;
    if (p->capacity > 0)
        return p->capacity;
    for (size_t i = 0; i < w->input_count; i++)
        rows += w->values[i] != TAKT_NONE ? takt_type_of(w->l->g, w->values[i])->dim[0] : 0;
    rows = rows < MOST_CAPACITY / 16 ? 16 * rows : MOST_CAPACITY;
    return rows > DEFAULT_CAPACITY ? rows : DEFAULT_CAPACITY;
}

static void call(writer *w, const char *rules)
{
    takt_graph *g = w->l->g;
    takt_text all;
    int64_t capacity[TAKT_DL_RELATIONS];
    const char *names[TAKT_DL_RELATIONS];
    takt_text_init(&all, g->ctx);
    for (size_t i = 0; i < w->count + w->input_count; i++) {
        const takt_predicate *p = i < w->count ? w->members[i] : w->inputs[i - w->count];
        takt_text_add(&all, "%d %s", p->arity, i + 1 == w->count ? ": " : "");
    }
    takt_text_add(&all, "%s", rules[0] != '\0' ? rules + 1 : "");
    for (size_t i = 0; i < w->count; i++) {
        capacity[i] = capacity_of(w, w->members[i]);
        names[i] = w->members[i]->name;
    }
    const takt_named_attr attrs[] = {
        {"program", takt_attr_string(takt_text_get(&all))},
        {"capacity", takt_attr_i64s(capacity, w->count)},
        {"names", {.strings = names, .count = (uint32_t)w->count, .is_set = true}}};
    if (all.status != TAKT_OK)
        takt_graph_fail(g, all.status);
    const takt_id id = takt_graph_call(g, &takt_op_fixpoint, w->input_count, w->values, 3, attrs);
    takt_text_deinit(&all);
    for (size_t i = 0; id != TAKT_NONE && i < w->count; i++)
        w->members[i]->value = w->count == 1 ? id : takt_graph_get(g, id, i);
}

void takt_lower_sparse(takt_lower *l, takt_predicate *const *members, size_t count)
{
    writer *w = takt_arena_array(l->program->arena, 1, sizeof *w);
    if (w == NULL) {
        takt_graph_fail(l->g, TAKT_ERR_MEMORY);
        return;
    }
    *w = (writer){.l = l, .members = members, .count = count};
    takt_text_init(&w->text, l->program->ctx);
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i++) {
        l->place = members[i]->place;
        if (members[i]->arity > TAKT_DL_ARITY || count > TAKT_MAX_OUTPUTS) {
            takt_lower_fail(l, TAKT_E_RULE, "relations of tuples have at most %d arguments",
                            TAKT_DL_ARITY);
            is_good = false;
        }
        for (const takt_rule *r = members[i]->rules; r != NULL && is_good; r = r->next)
            is_good = put_rule(w, (int)i, r);
    }
    l->place = members[0]->place;
    if (is_good && w->text.status == TAKT_OK)
        call(w, takt_text_get(&w->text));
    if (w->text.status != TAKT_OK)
        takt_graph_fail(l->g, w->text.status);
    takt_text_deinit(&w->text);
}
