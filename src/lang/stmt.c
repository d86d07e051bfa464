/* stmt.c - statements. Each is tried even if one before it failed. */
#include <string.h>

#include "ir/name.h"
#include "lang/rule.h"

/* A name with the scope before it, in the frame's arena. */
static const char *full_name(takt_frame *f, const takt_symbol *name)
{
    const char *full = f->scope[0] == '\0'
                           ? name->text
                           : takt_arena_format(&f->arena, "%s.%s", f->scope, name->text);
    if (full == NULL)
        takt_out_of_memory(f);
    return full;
}

static bool is_model(const takt_frame *f)
{
    return f->caller == NULL || f->function->name == NULL;
}

/* ---- a, b = value ---- */

bool takt_may_name(takt_frame *f, const takt_ast *target)
{
    if (target->is_quoted || !takt_name_is_reserved(target->name->text, target->name->length))
        return true;
    takt_complain(f, target, TAKT_E_SYNTAX, "choose another name, or put it in backquotes",
                  "%s is a word of the language", target->name->text);
    return false;
}

static bool is_unnamed(const takt_ast *target)
{
    return !target->is_quoted && strcmp(target->name->text, "_") == 0;
}

static void set(takt_frame *f, const takt_ast *target, takt_value v)
{
    if (!is_unnamed(target) && takt_may_name(f, target))
        takt_frame_set(f, target->name, v);
}

static takt_value part(takt_frame *f, const takt_ast *target, const takt_value *v, uint32_t index)
{
    takt_elab *e = f->e;
    e->root = target;
    e->root_name = full_name(f, target->name);
    if (v->kind == TAKT_V_LIST)
        return v->items[index];
    return is_unnamed(target) ? takt_value_poison() : takt_elab_result(f, target, v, index);
}

static void assign_several(takt_frame *f, const takt_ast *a, takt_value v, uint32_t count)
{
    const bool is_several =
        v.kind == TAKT_V_RESULTS || v.kind == TAKT_V_TUPLE || v.kind == TAKT_V_LIST;
    const uint32_t given = is_several ? v.count : 1;
    if (v.kind != TAKT_V_POISON && given != count) {
        takt_complain(f, a, TAKT_E_ARITY, given == 1 ? NULL : "use _ for those that are not wanted",
                      "%u value%s for %u name%s", given, given == 1 ? "" : "s", count,
                      count == 1 ? "" : "s");
        v = takt_value_poison();
    }
    uint32_t i = 0;
    for (const takt_ast *t = a->a; t != NULL; t = t->next, i++)
        set(f, t, v.kind == TAKT_V_POISON ? v : part(f, t, &v, i));
}

/* The origin of the nodes that follow. The graph of a model lives as long as its frame. */
static void begin(takt_frame *f, const takt_ast *a)
{
    struct takt_elab_origin *known = &f->e->origins[(uintptr_t)a / sizeof *a % TAKT_ORIGINS];
    if (f->caller == NULL && known->of == a) {
        f->graph->origin = known->origin;
        return;
    }
    takt_graph_set_origin(f->graph, a->a->name->text, (int)a->line);
    if (f->caller == NULL)
        *known = (struct takt_elab_origin){a, f->graph->origin};
}

static void assign(takt_frame *f, const takt_ast *a)
{
    takt_elab *e = f->e;
    const takt_ast *root = e->root;
    const char *root_name = e->root_name;
    uint32_t count = 0;
    for (const takt_ast *t = a->a; t != NULL; t = t->next)
        count++;
    if (is_model(f))
        begin(f, a);
    e->root = a->b;
    e->root_name = count == 1 ? full_name(f, a->a->name) : NULL;
    const takt_value v = takt_eval_expr(f, a->b);
    if (count > 1 || (v.kind == TAKT_V_RESULTS && !is_unnamed(a->a)))
        assign_several(f, a, v, count);
    else
        set(f, a->a, v);
    e->root = root;
    e->root_name = root_name;
}

/* ---- param, state, next ---- */

static takt_init fallback_init(takt_frame *f, const takt_ast *a, const takt_type *type, bool *good)
{
    takt_init init = {.kind = TAKT_INIT_CONSTANT};
    takt_tensor held;
    takt_ast glorot = *a;
    *good = true;
    if (a->kind != TAKT_A_PARAM || type->rank < 2)
        return init;
    glorot.kind = TAKT_A_NAME;
    glorot.name = takt_symbol_make(&f->e->symbols, "glorot", 6);
    *good = glorot.name != NULL ? takt_elab_init(f, &glorot, type, &init, &held)
                                : takt_out_of_memory(f).b;
    return init;
}

static takt_value declare(takt_frame *f, const takt_ast *a)
{
    takt_type type = {.dtype = TAKT_F32};
    takt_init init;
    takt_tensor held = {0};
    bool good;
    if (f->is_subgraph)
        return takt_complain(f, a, TAKT_E_CALL, "declare it outside and pass it in as an input",
                             "a graph, a loop or a choice at run time has no parameters and "
                             "states of its own");
    if (a->a != NULL && !takt_eval_type(f, a->a, &type))
        return takt_value_poison();
    if (a->b != NULL)
        good = takt_elab_init(f, a->b, &type, &init, &held);
    else
        init = fallback_init(f, a, &type, &good);
    const char *name = good ? full_name(f, a->name) : NULL;
    takt_value v = takt_value_poison();
    if (name != NULL) {
        v = takt_value_tensor(
            takt_graph_slot(f->graph, name, &type, &init, a->kind == TAKT_A_PARAM));
        if (v.kind == TAKT_V_POISON)
            takt_complain_last(f, a);
    }
    takt_tensor_release(&held);
    return v;
}

static void declaration(takt_frame *f, const takt_ast *a)
{
    if (is_model(f))
        takt_graph_set_origin(f->graph, a->name->text, (int)a->line);
    takt_frame_set(f, a->name, takt_may_name(f, a) ? declare(f, a) : takt_value_poison());
}

static void next(takt_frame *f, const takt_ast *a)
{
    char hint[TAKT_HINT_TEXT];
    const char *name = full_name(f, a->name);
    takt_value v = takt_eval_expr(f, a->a);
    if (v.kind == TAKT_V_POISON || name == NULL)
        return;
    const takt_slot *slot = takt_graph_find_slot(f->graph, name);
    if (slot == NULL) {
        takt_nearest near = takt_nearest_to(name);
        for (size_t i = 0; i < f->graph->slot_count; i++)
            takt_nearest_try(&near, f->graph->slots[i].name);
        takt_complain(f, a, TAKT_E_UNDEFINED, takt_nearest_hint(&near, hint),
                      "there is no state called %s here", name);
        return;
    }
    if (v.kind != TAKT_V_TENSOR)
        v = takt_value_tensor(takt_elab_scalar(f, a->a, &v, slot->type.dtype));
    if (v.kind == TAKT_V_POISON)
        return;
    takt_graph_set_next(f->graph, name, v.id);
    if (f->graph->status != TAKT_OK)
        takt_complain_last(f, a);
}

/* ---- return, repeat, if ---- */

static void give_back(takt_frame *f, const takt_ast *a)
{
    takt_elab *e = f->e;
    size_t count = 0, n = 0;
    for (const takt_ast *r = a->a; r != NULL; r = r->next)
        count++;
    takt_value *items = takt_frame_items(f, count);
    if (items == NULL)
        return;
    if (is_model(f))
        takt_graph_set_origin(f->graph, "return", (int)a->line);
    for (const takt_ast *r = a->a; r != NULL; r = r->next) {
        e->root = r->a;
        e->root_name = is_model(f) && r->name != NULL ? r->name->text
                       : count == 1                   ? f->result_name
                                                      : NULL;
        items[n++] = takt_eval_expr(f, r->a);
    }
    e->root = NULL;
    f->returned = a;
    if (count == 1 && !is_model(f))
        f->result = items[0];
    else
        f->result = (takt_value){.kind = TAKT_V_TUPLE, .count = (uint32_t)count, .items = items};
}

static void repeat(takt_frame *f, const takt_ast *a)
{
    const takt_value v = takt_eval_expr(f, a->a);
    char text[TAKT_VALUE_TEXT];
    if (v.kind == TAKT_V_POISON)
        return;
    if (v.kind != TAKT_V_INT || v.i < 0) {
        takt_complain(f, a->a, TAKT_E_CALL,
                      v.kind == TAKT_V_DIM || v.kind == TAKT_V_TENSOR
                          ? "a count that is known only at run time is `for i in count { ... }`"
                          : NULL,
                      "repeat takes a number of times, not %s",
                      takt_value_text(f->graph, &v, text));
        return;
    }
    const uint64_t most = f->e->ctx->limits.trip_count;
    if ((uint64_t)v.i > most) {
        takt_complain(f, a->a, TAKT_E_TRIP_COUNT, "raise limits.trip_count if that is meant",
                      "repeat %lld is more than the context's limit of %llu", (long long)v.i,
                      (unsigned long long)most);
        return;
    }
    for (int64_t i = 0; i < v.i && f->returned == NULL && f->e->status == TAKT_OK; i++) {
        if (a->name != NULL)
            takt_frame_set(f, a->name, takt_value_int(i));
        takt_eval_block(f, a->b);
        f->e->steps++;
    }
}

/* A chain of else-ifs is followed in a loop. */
static void condition(takt_frame *f, const takt_ast *a)
{
    while (a != NULL && a->kind == TAKT_A_IF && f->e->status == TAKT_OK) {
        const takt_value c = takt_eval_expr(f, a->a);
        if (c.kind == TAKT_V_POISON)
            return;
        if (c.kind != TAKT_V_BOOL) {
            takt_complain(
                f, a->a, TAKT_E_CALL,
                c.kind == TAKT_V_TENSOR
                    ? "a choice at run time is `a if c else b`, or select(c, a, b) for each element"
                    : NULL,
                "the condition is %s, not a truth value known now", takt_value_kind_text(&c));
            return;
        }
        if (c.b) {
            takt_eval_block(f, a->b);
            return;
        }
        const bool is_chain = a->c != NULL && a->c->is_chained;
        if (!is_chain) {
            takt_eval_block(f, a->c);
            return;
        }
        a = a->c;
    }
}

static void statement(takt_frame *f, const takt_ast *a)
{
    const bool is_rule =
        a->kind == TAKT_A_RELATION || a->kind == TAKT_A_RULE || a->kind == TAKT_A_CONSTRAINT;
    if (!is_rule)
        takt_rules_flush(f);
    switch ((takt_ast_kind)a->kind) {
    case TAKT_A_RELATION:
    case TAKT_A_RULE:
    case TAKT_A_CONSTRAINT: takt_eval_rule(f, a); break;
    case TAKT_A_ASSIGN: assign(f, a); break;
    case TAKT_A_PARAM:
    case TAKT_A_STATE: declaration(f, a); break;
    case TAKT_A_NEXT: next(f, a); break;
    case TAKT_A_RETURN: give_back(f, a); break;
    case TAKT_A_REPEAT: repeat(f, a); break;
    case TAKT_A_IF: condition(f, a); break;
    case TAKT_A_REQUIRE:
    case TAKT_A_ENSURE: takt_eval_check(f, a); break;
    case TAKT_A_FOR: takt_eval_for(f, a); break;
    case TAKT_A_COLLECT: takt_eval_collect(f, a); break;
    case TAKT_A_DOC:
        takt_complain(f, a, TAKT_E_SYNTAX, "elsewhere a remark is a comment: # ...",
                      "a string as a statement stands first in a model or a layer");
        break;
    default: takt_complain(f, a, TAKT_E_SYNTAX, NULL, "this is not a statement"); break;
    }
}

/* Blocks nest no deeper than the parser allows. */
void takt_eval_block(takt_frame *f, const takt_ast *first)
{
    for (const takt_ast *a = first; a != NULL && f->e->status == TAKT_OK; a = a->next) {
        statement(f, a);
        if (f->returned != NULL) {
            if (f->returned == a && a->next != NULL && a->kind == TAKT_A_RETURN)
                takt_warn(f, a->next, "nothing after `return` is evaluated");
            return;
        }
    }
    takt_rules_flush(f);
}
