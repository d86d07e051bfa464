/* check.c - require and ensure: conditions known while the model is read are decided at once, the
 * rest become clauses of the graph. */
#include "lang/elab.h"

#include <string.h>

typedef struct clause {
    takt_span message, text; /* text: of the condition */
    int line;
} clause;

/* The condition as written, without the word before it. */
static takt_span written(const takt_frame *f, const takt_ast *a)
{
    const char *source = f->function->source->text;
    const size_t skip = a->kind == TAKT_A_REQUIRE ? strlen("require") : strlen("ensure");
    takt_span text = {source + a->at + skip, a->length - skip};
    while (text.length > 0 && (text.at[0] == ' ' || text.at[0] == '\t' || text.at[0] == '\n')) {
        text.at++;
        text.length--;
    }
    return text;
}

/* The strings and the number after the condition; false after a complaint. */
static bool read_rest(takt_frame *f, const takt_ast *a, clause *c)
{
    *c = (clause){.text = written(f, a), .line = (int)a->line};
    size_t count = 0;
    for (const takt_ast *at = a->b; at != NULL; at = at->next, count++) {
        const takt_value v = takt_eval_expr(f, at);
        if (v.kind == TAKT_V_POISON)
            return false;
        const bool is_line = count == 2;
        if (count > 2 || v.kind != (is_line ? TAKT_V_INT : TAKT_V_STRING)) {
            takt_complain(f, at, TAKT_E_CALL, "ensure abs(y) <= 1, \"y is scaled\"",
                          "after the condition comes one sentence, not %s",
                          takt_value_kind_text(&v));
            return false;
        }
        if (count == 0)
            c->message = v.text;
        else if (count == 1)
            c->text = v.text;
        else
            c->line = v.i >= 0 && v.i <= INT32_MAX ? (int)v.i : 0;
    }
    return true;
}

/* A violated clause is an error of the layer's caller. */
static void refuse(takt_frame *f, const takt_ast *a, const clause *c)
{
    const takt_frame *layer = f;
    while (layer->function->name == NULL && layer->caller != NULL)
        layer = layer->caller;
    const takt_span say = c->message.length > 0 ? c->message : c->text;
    takt_complain(f, a, TAKT_E_CALL, NULL, "%s: %.*s", layer->function->name->text, (int)say.length,
                  say.at);
    if (f->caller != NULL && f->function->name != NULL)
        f->returned = a; /* later code relies on it; a model still has outputs */
    f->result = takt_value_poison();
}

static void add(takt_frame *f, const takt_ast *a, const clause *c, takt_id id)
{
    const char *text = takt_arena_text(&f->arena, c->text.at, c->text.length);
    const char *message = takt_arena_text(&f->arena, c->message.at, c->message.length);
    if (text == NULL || message == NULL) {
        takt_out_of_memory(f);
        return;
    }
    takt_graph_check(f->graph, (takt_check){.text = text,
                                            .message = message[0] != '\0' ? message : NULL,
                                            .line = c->line,
                                            .is_require = a->kind == TAKT_A_REQUIRE,
                                            .id = id});
    if (f->graph->status != TAKT_OK)
        takt_complain_last(f, a);
}

void takt_eval_check(takt_frame *f, const takt_ast *a)
{
    const char *word = a->kind == TAKT_A_REQUIRE ? "require" : "ensure";
    clause c;
    const takt_value v = takt_eval_expr(f, a->a);
    if (v.kind == TAKT_V_POISON || !read_rest(f, a, &c))
        return;
    if (v.kind == TAKT_V_BOOL) {
        if (!v.b)
            refuse(f, a, &c);
        return;
    }
    const bool is_bool =
        v.kind == TAKT_V_TENSOR && takt_type_of(f->graph, v.id)->dtype == TAKT_BOOL;
    if (!is_bool) {
        char text[TAKT_VALUE_TEXT];
        takt_complain(f, a, TAKT_E_CALL, "compare, as in abs(x) <= 1",
                      "%s takes a truth value, not %s", word, takt_value_text(f->graph, &v, text));
        return;
    }
    if (f->is_subgraph || f->is_loop)
        takt_complain(f, a, TAKT_E_CALL, "return what is compared, and state it outside",
                      "%s is about the values of a whole run, and this is the inside of a graph, "
                      "a loop or a choice",
                      word);
    else
        add(f, a, &c, v.id);
}
