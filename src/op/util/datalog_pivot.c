/* datalog_pivot.c - which rules can be evaluated for one value at a time. */
#include "op/util/datalog.h"

/* Whether a rule's derived literal, if it has one, has the head's variable in that column. */
static bool passes(const takt_dl *program, const takt_dl_rule *rule, int column)
{
    const takt_dl_term *head = &rule->head.term[column];
    int uses = 0;
    for (int i = 0; i < rule->count; i++) {
        const takt_dl_literal *l = &rule->body[i];
        if (l->kind != TAKT_DL_ATOM || l->relation >= program->derived)
            continue;
        uses++;
        if (head->kind != TAKT_DL_VARIABLE || l->term[column].kind != TAKT_DL_VARIABLE ||
            l->term[column].value != head->value)
            return false;
    }
    return uses <= 1;
}

static bool is_recursive(const takt_dl *program)
{
    for (int i = 0; i < program->rule_count; i++)
        for (int k = 0; k < program->rules[i].count; k++) {
            const takt_dl_literal *l = &program->rules[i].body[k];
            if (l->kind == TAKT_DL_ATOM && l->relation < program->derived)
                return true;
        }
    return false;
}

int takt_dl_pivot(const takt_dl *program)
{
    if (program->derived != 1 || program->arity[0] < 2 || !is_recursive(program))
        return -1;
    for (int column = program->arity[0] - 1; column >= 0; column--) {
        bool is_pivot = true;
        for (int i = 0; i < program->rule_count && is_pivot; i++)
            is_pivot = passes(program, &program->rules[i], column);
        if (is_pivot)
            return column;
    }
    return -1;
}

/* ---- closures ---- */

static bool is_pair(const takt_dl_literal *l, uint32_t first, uint32_t second)
{
    return l->kind == TAKT_DL_ATOM && l->count == 2 && l->term[0].kind == TAKT_DL_VARIABLE &&
           l->term[1].kind == TAKT_DL_VARIABLE && l->term[0].value == first &&
           l->term[1].value == second;
}

/* 0(a, c) <- 1(a, c) */
static bool is_base(const takt_dl_rule *r)
{
    const uint32_t a = r->head.term[0].value, c = r->head.term[1].value;
    return is_pair(&r->head, a, c) && a != c && r->count == 1 && is_pair(&r->body[0], a, c) &&
           r->body[0].relation == 1;
}

/* 0(a, c) <- p(a, b), q(b, c), where p and q are the relation or the input it is the closure of,
 * and at least one of them is the relation itself. */
static bool is_longer(const takt_dl_rule *r)
{
    const uint32_t a = r->head.term[0].value, c = r->head.term[1].value;
    if (r->count != 2 || !is_pair(&r->head, a, c) || a == c)
        return false;
    const int first = r->body[0].term[0].value != a || r->body[0].count != 2;
    const takt_dl_literal *p = &r->body[first], *q = &r->body[1 - first];
    const uint32_t b = p->term[1].value;
    return b != a && b != c && is_pair(p, a, b) && is_pair(q, b, c) && p->relation <= 1 &&
           q->relation <= 1 && p->relation + q->relation < 2;
}

static takt_dl_literal pair(int relation, uint32_t first, uint32_t second)
{
    return (takt_dl_literal){
        TAKT_DL_ATOM, relation, 2, {{TAKT_DL_VARIABLE, first}, {TAKT_DL_VARIABLE, second}}};
}

const takt_dl *takt_dl_closure(takt_arena *arena, const takt_dl *program)
{
    if (program->derived != 1 || program->relations != 2 || program->arity[0] != 2 ||
        program->arity[1] != 2 || program->rule_count != 2)
        return program;
    const takt_dl_rule *rule = program->rules;
    const int base = is_base(&rule[0]) ? 0 : 1;
    if (!is_base(&rule[base]) || !is_longer(&rule[1 - base]))
        return program;
    takt_dl *made = takt_arena_array(arena, 1, sizeof *made);
    takt_dl_rule *rules = takt_arena_array(arena, 3, sizeof *rules);
    if (made == NULL || rules == NULL)
        return NULL;
    enum { A, B, C };
    rules[0] = (takt_dl_rule){pair(0, A, C), {pair(1, A, C)}, 1, C + 1};
    rules[1] = (takt_dl_rule){pair(0, A, C), {pair(0, A, B), pair(1, B, C)}, 2, C + 1};
    rules[2] = (takt_dl_rule){pair(0, A, C), {pair(1, A, B), pair(0, B, C)}, 2, C + 1};
    *made = *program;
    made->rules = rules;
    made->rule_count = 3;
    return made;
}
