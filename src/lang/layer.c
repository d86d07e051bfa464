/* layer.c - finding layers, and calling one: each call is a scope with its own parameters. */
#include <string.h>

#include "base/mem.h"
#include "lang/elab.h"
#include "lang/foreign.h"

/* ---- finding ---- */

/* Reads the text of a built-in layer, once. An error in it is ours. */
static const takt_function *read_builtin(takt_frame *f, const takt_symbol *name, const char *text)
{
    takt_elab *e = f->e;
    takt_function *models, *layers = NULL;
    takt_diagnostics list;
    takt_source *source = takt_arena_array(&e->arena, 1, sizeof *source);
    if (source == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    *source =
        (takt_source){.name = name->text, .text = text, .length = strlen(text), .is_builtin = true};
    takt_diagnostics_init(&list, e->ctx);
    takt_syntax s = {
        .ctx = e->ctx, .arena = &e->arena, .symbols = &e->symbols, .diagnostics = &list};
    takt_syntax_begin(&s, source);
    const takt_status status = takt_syntax_file(&s, &models, &layers);
    if (status == TAKT_ERR_MEMORY) {
        takt_out_of_memory(f);
    } else if (list.error_count > 0 || layers == NULL || layers->name != name) {
        takt_fail(e->ctx, TAKT_E_INTERNAL, "the built-in layer %s is not well written: line %d: %s",
                  name->text, list.count > 0 ? list.at[0].line : 0,
                  list.count > 0 ? list.at[0].message : "it does not define itself");
        takt_complain_last(f, f->call != NULL ? f->call : f->function->place);
        layers = NULL;
    }
    takt_diagnostics_deinit(&list);
    return layers;
}

const takt_function *takt_find_layer(takt_frame *f, const takt_symbol *name)
{
    takt_elab *e = f->e;
    const uint32_t *known = takt_symbol_map_get(&e->layer_index, name);
    if (known != NULL)
        return e->layers[*known];
    const char *text = takt_layer_text(name->text);
    if (text == NULL)
        return NULL;
    const takt_function *layer = read_builtin(f, name, text);
    void *array = e->layers;
    if (takt_mem_grow(e->ctx, &array, &e->layer_capacity, e->layer_count + 1, sizeof *e->layers) !=
        TAKT_OK) {
        e->layers = array;
        takt_out_of_memory(f);
        return NULL;
    }
    e->layers = array;
    uint32_t *index = takt_symbol_map_put(&e->layer_index, &e->arena, name);
    if (index == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    *index = (uint32_t)e->layer_count;
    e->layers[e->layer_count++] = layer;
    return layer;
}

void takt_nearest_layer(takt_frame *f, takt_nearest *n)
{
    for (size_t i = 0; i < f->e->layer_count; i++)
        if (f->e->layers[i] != NULL)
            takt_nearest_try(n, f->e->layers[i]->name->text);
    for (size_t i = 0; takt_layer_name(i) != NULL; i++)
        takt_nearest_try(n, takt_layer_name(i));
}

/* ---- arguments ---- */

/* The parameters as written, for hints. */
static const char *signature(takt_frame *f, const takt_function *layer)
{
    const takt_ast *first = layer->parameters, *last = first;
    while (last != NULL && last->next != NULL)
        last = last->next;
    if (first == NULL)
        return NULL;
    return takt_arena_format(&f->arena, "it is %s(%.*s)", layer->name->text,
                             (int)(last->at + last->length - first->at),
                             layer->source->text + first->at);
}

typedef struct kind {
    const char *name, *words;
    uint32_t set; /* of value kinds */
} kind;

#define IS(k) (UINT32_C(1) << TAKT_V_##k)
static const kind kinds[] = {
    {"int", "an integer", IS(INT)},
    {"size", "a size", IS(INT) | IS(DIM)},
    {"float", "a number", IS(INT) | IS(FLOAT) | IS(BIG)},
    {"bool", "true or false", IS(BOOL)},
    {"string", "a string", IS(STRING)},
    {"dtype", "an element type", IS(DTYPE)},
    {"word", "a word", IS(WORD)},
    {"list", "a list", IS(LIST)},
    {"tensor", "a tensor", IS(TENSOR)},
};

/* Checks a value against `name: kind`; a parameter without a kind takes anything. */
static bool has_kind(takt_frame *f, const takt_call *c, const takt_function *layer,
                     const takt_ast *parameter, size_t index)
{
    const takt_value *v = &c->value[index];
    char text[TAKT_VALUE_TEXT];
    if (parameter->a == NULL || v->kind == TAKT_V_POISON)
        return true;
    const char *wanted = parameter->a->kind == TAKT_A_NAME ? parameter->a->name->text : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, wanted) != 0)
            continue;
        if ((kinds[i].set & (UINT32_C(1) << v->kind)) != 0)
            return true;
        takt_complain(f, c->place[index], TAKT_E_CALL, signature(f, layer), "%s: %s is %s, not %s",
                      layer->name->text, parameter->name->text, kinds[i].words,
                      takt_value_text(f->graph, v, text));
        return false;
    }
    takt_complain(f, c->ast, TAKT_E_CALL,
                  "kinds are int, size, float, bool, string, dtype, word, "
                  "list and tensor",
                  "%s: parameter %s has an unknown kind", layer->name->text, parameter->name->text);
    return false;
}

/* The argument for a parameter, or c->count. */
static size_t find_argument(const takt_call *c, const takt_ast *parameter, size_t position)
{
    if (position < c->positional)
        return position;
    for (size_t i = c->positional; i < c->count; i++)
        if (c->key[i] == parameter->name)
            return i;
    return c->count;
}

/* layout=nchw, which the model's own layout replaces. */
static bool is_layout(const takt_ast *p)
{
    return strcmp(p->name->text, "layout") == 0 && p->b != NULL && p->b->kind == TAKT_A_NAME &&
           (strcmp(p->b->name->text, "nchw") == 0 || strcmp(p->b->name->text, "nhwc") == 0);
}

/* Only for calls in the user's text: built-in layers know their defaults. */
static void warn_of_default(takt_frame *f, const takt_call *c, const takt_function *layer,
                            const takt_ast *parameter)
{
    const char *text = layer->source->is_builtin && !f->function->source->is_builtin
                           ? takt_foreign_default(layer->name->text, parameter->name->text)
                           : NULL;
    if (text != NULL)
        takt_warn(f, c->ast, text);
}

static bool bind(takt_frame *f, takt_frame *inner, const takt_call *c, const takt_function *layer)
{
    size_t position = 0;
    bool good = true;
    for (const takt_ast *p = layer->parameters; p != NULL; p = p->next, position++) {
        const size_t i = find_argument(c, p, position);
        takt_value v = takt_value_poison();
        if (i < c->count) {
            good = has_kind(f, c, layer, p, i) && good;
            v = c->value[i];
        } else if (p->b != NULL) {
            warn_of_default(f, c, layer, p);
            v = is_layout(p) && f->e->layout != NULL ? takt_value_word(f->e->layout)
                                                     : takt_eval_word(inner, p->b);
        } else {
            takt_complain(f, c->ast, TAKT_E_CALL, signature(f, layer), "%s: argument %s is missing",
                          layer->name->text, p->name->text);
            good = false;
        }
        good = takt_may_name(inner, p) && good;
        takt_frame_set(inner, p->name, v);
    }
    return good;
}

/* Arguments that no parameter takes, or that one takes twice. */
static bool check(takt_frame *f, const takt_call *c, const takt_function *layer)
{
    char hint[TAKT_HINT_TEXT];
    size_t count = 0;
    for (const takt_ast *p = layer->parameters; p != NULL; p = p->next)
        count++;
    if (c->positional > count) {
        takt_complain(f, c->place[count], TAKT_E_CALL, signature(f, layer),
                      "%s takes %zu argument%s, got %zu", layer->name->text, count,
                      count == 1 ? "" : "s", c->positional);
        return false;
    }
    for (size_t i = c->positional; i < c->count; i++) {
        takt_nearest near = takt_nearest_to(c->key[i]->text);
        size_t position = 0;
        const takt_ast *p = layer->parameters;
        for (; p != NULL && p->name != c->key[i]; p = p->next, position++)
            takt_foreign_keyword(&near, p->name->text);
        bool is_twice = p != NULL && position < c->positional;
        for (size_t k = c->positional; k < i; k++)
            is_twice = is_twice || c->key[k] == c->key[i];
        if ((p != NULL || strcmp(c->key[i]->text, "name") == 0) && !is_twice)
            continue;
        const char *nearest = takt_nearest_hint(&near, hint);
        takt_complain(f, c->place[i], TAKT_E_CALL, nearest != NULL ? nearest : signature(f, layer),
                      is_twice ? "%s: argument %s is given twice"
                               : "%s: there is no argument called %s",
                      layer->name->text, c->key[i]->text);
        return false;
    }
    return true;
}

/* ---- calling ---- */

enum { CALL_STEPS = 64 }; /* overhead of a call besides its statements */

static const char *nameless(takt_frame *f)
{
    (void)takt_out_of_memory(f);
    return NULL;
}

/* "block_0.dense_1", or with name="head" "block_0.head"; NULL after an error was reported. */
static const char *scope_of(takt_frame *f, const takt_call *c, const takt_function *layer)
{
    const char *dot = f->scope[0] != '\0' ? "." : "", *name = NULL;
    for (size_t i = c->positional; i < c->count; i++) {
        if (strcmp(c->key[i]->text, "name") != 0)
            continue;
        if (c->value[i].kind == TAKT_V_STRING && c->value[i].text.length == 0 &&
            f->scope[0] != '\0')
            return f->scope; /* a layer that only wraps another */
        if (c->value[i].kind != TAKT_V_STRING || c->value[i].text.length == 0) {
            takt_complain(f, c->place[i], TAKT_E_CALL, "name=\"head\"",
                          "the name of a layer is a string");
            return NULL;
        }
        name = takt_arena_format(&f->arena, "%s%s%.*s", f->scope, dot, (int)c->value[i].text.length,
                                 c->value[i].text.at);
        return name != NULL ? name : nameless(f);
    }
    uint32_t *calls = takt_symbol_map_put(&f->layers, &f->arena, layer->name);
    if (calls != NULL) {
        *calls = *calls == UINT32_MAX ? 0 : *calls + 1;
        name = takt_arena_format(&f->arena, "%s%s%s_%u", f->scope, dot, layer->name->text, *calls);
    }
    return name != NULL ? name : nameless(f);
}

/* The line of the user's text from which this call comes. */
static int users_line(const takt_frame *f, const takt_call *c)
{
    const takt_ast *at = c->ast;
    for (; f->function->source->is_builtin && f->caller != NULL; f = f->caller)
        at = f->call;
    return (int)at->line;
}

static takt_value run(takt_frame *f, takt_frame *inner, const takt_call *c)
{
    const takt_function *layer = inner->function;
    const takt_origin *origin = f->graph->origin;
    takt_elab *e = f->e;
    const takt_ast *root = e->root;
    inner->result_name = root == c->ast ? e->root_name : NULL;
    if (inner->scope != f->scope) /* else it is part of the caller */
        takt_graph_set_layer(f->graph, inner->scope, layer->name->text, users_line(f, c));
    takt_eval_block(inner, layer->body);
    e->root = root;
    f->graph->origin = origin;
    if (inner->returned == NULL && e->status == TAKT_OK && !inner->has_failed)
        return takt_complain(f, c->ast, TAKT_E_CALL, "end it with `return value`",
                             "layer %s returns nothing", layer->name->text);
    return inner->returned != NULL ? takt_frame_keep(f, inner->result) : takt_value_poison();
}

takt_value takt_call_layer(takt_frame *f, const takt_call *c, const takt_function *layer)
{
    takt_elab *e = f->e;
    takt_value out = takt_value_poison();
    if ((uint64_t)e->call_depth >= e->ctx->limits.depth) {
        takt_complain(f, c->ast, TAKT_E_NESTING, "does a layer call itself?",
                      "layers call one another more than %d deep", e->call_depth);
        e->status = TAKT_ERR_LIMIT;
        return out;
    }
    const bool takes_dims = e->takes_dims;
    takt_frame inner;
    takt_frame_init(&inner, e, f, layer);
    inner.call = c->ast;
    inner.scope = scope_of(f, c, layer);
    e->call_depth++;
    e->steps += CALL_STEPS;
    e->takes_dims = false;
    if (inner.scope != NULL && check(f, c, layer) && bind(f, &inner, c, layer))
        out = run(f, &inner, c);
    e->takes_dims = takes_dims;
    e->call_depth--;
    takt_frame_deinit(&inner);
    return out;
}
