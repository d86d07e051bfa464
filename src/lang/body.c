/* body.c - pieces of a text that become subgraphs, and the names they share with their
 * surroundings. */
#include "lang/body.h"

bool takt_names_have(const takt_names *n, const takt_symbol *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->at[i] == name)
            return true;
    return false;
}

static void add(takt_names *n, const takt_symbol *name)
{
    if (takt_names_have(n, name))
        return;
    if (n->count == TAKT_NAMES)
        n->is_full = true;
    else
        n->at[n->count++] = name;
}

/* ---- names used in a piece of text ---- */

static bool is_leaf(const takt_ast *a)
{
    return a->kind == TAKT_A_INTEGER || a->kind == TAKT_A_DECIMAL || a->kind == TAKT_A_STRING ||
           a->kind == TAKT_A_HEX || a->kind == TAKT_A_DOTS || a->kind == TAKT_A_GRAPH ||
           a->kind == TAKT_A_DOC;
}

static bool is_assigning(const takt_ast *a)
{
    return a->kind == TAKT_A_ASSIGN || a->kind == TAKT_A_FOR;
}

/* Adds names that are read, or with `assigned` those that are assigned to. Descends the left side
 * in a loop; the rest nests no deeper than the parser allows. */
void takt_names_walk(const takt_ast *list, bool assigned, takt_names *to)
{
    for (const takt_ast *a = list; a != NULL; a = a->next) {
        for (const takt_ast *p = a; p != NULL && !is_leaf(p);) {
            if (p->kind == TAKT_A_NAME) {
                if (!assigned)
                    add(to, p->name);
                break;
            }
            for (const takt_ast *t = p->kind == TAKT_A_ASSIGN ? p->a : NULL; t != NULL; t = t->next)
                add(to, t->name); /* read too: a loop takes its previous value as input */
            takt_names_walk(p->b, assigned, to);
            takt_names_walk(p->c, assigned, to);
            if (is_assigning(p) && assigned)
                break;
            if (p->a != NULL)
                takt_names_walk(p->a->next, assigned, to);
            p = p->a;
        }
    }
}

/* Only those that are tensors of this frame. */
void takt_names_keep_tensors(takt_frame *f, takt_names *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->count; i++) {
        const takt_value *v = takt_frame_find(f, n->at[i]);
        if (v != NULL && v->kind == TAKT_V_TENSOR)
            n->at[kept++] = n->at[i];
    }
    n->count = kept;
}

/* ---- subgraphs ---- */

bool takt_body_begin(takt_frame *f, const takt_ast *at, takt_body *b)
{
    *b = (takt_body){.at = at};
    b->function = (takt_function){.source = f->function->source, .place = f->function->place};
    takt_frame_init(&b->frame, f->e, f, &b->function);
    b->frame.call = at;
    b->frame.is_subgraph = true;
    b->frame.graph = takt_elab_graph(f);
    b->is_good = b->frame.graph != NULL;
    return b->is_good;
}

/* A tensor of the outer frame, or an element of it, is captured under its name. */
void takt_body_take(takt_body *b, const takt_symbol *name, const takt_type *type)
{
    takt_value v = takt_value_tensor(takt_graph_input(b->frame.graph, name->text, type));
    if (v.kind == TAKT_V_POISON) {
        takt_complain_last(&b->frame, b->at);
        b->is_good = false;
    }
    takt_frame_set(&b->frame, name, v);
}

void takt_body_take_all(takt_frame *f, takt_body *b, const takt_names *n)
{
    for (size_t i = 0; b->is_good && i < n->count; i++)
        takt_body_take(b, n->at[i], takt_type_of(f->graph, takt_frame_find(f, n->at[i])->id));
}

void takt_body_give(takt_body *b, const takt_ast *at, const char *name, takt_value v,
                    takt_dtype dtype)
{
    if (v.kind == TAKT_V_POISON) {
        b->is_good = false;
        return;
    }
    if (v.kind == TAKT_V_RESULTS || v.kind == TAKT_V_TUPLE) {
        takt_complain(&b->frame, at, TAKT_E_ARITY, "name them first: `a, b = ...`",
                      "one tensor is wanted here, not %u results", v.count);
        b->is_good = false;
        return;
    }
    const takt_id id = v.kind == TAKT_V_TENSOR ? v.id : takt_elab_scalar(&b->frame, at, &v, dtype);
    if (id != TAKT_NONE)
        takt_graph_output(b->frame.graph, name, id);
    if (id == TAKT_NONE || b->frame.graph->status != TAKT_OK) {
        if (id != TAKT_NONE)
            takt_complain_last(&b->frame, at);
        b->is_good = false;
    }
}

void takt_body_end(takt_frame *f, takt_body *b)
{
    f->graph->streams = b->frame.graph != NULL ? b->frame.graph->streams : f->graph->streams;
    f->has_failed = f->has_failed || b->frame.has_failed;
    takt_frame_deinit(&b->frame);
}
