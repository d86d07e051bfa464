/* model.c - a model or graph(...): inputs, body, outputs. */
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "lang/rule.h"

/* ---- inputs ---- */

static size_t count_of(const takt_ast *list)
{
    size_t count = 0;
    for (; list != NULL; list = list->next)
        count++;
    return count;
}

/* The types of parameters or results; after a complaint an entry has rank -1. */
static takt_type *types_of(takt_frame *f, const takt_ast *list)
{
    takt_type *types = takt_arena_array(&f->arena, count_of(list), sizeof *types);
    size_t i = 0;
    if (types == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    for (const takt_ast *p = list; p != NULL; p = p->next, i++) {
        bool good = p->a != NULL;
        if (!good)
            takt_complain(f, p, TAKT_E_SYNTAX, "as in x: f32[batch, 784]", "%s has no type",
                          p->name->text);
        else
            good = takt_eval_type(f, p->a, &types[i]);
        if (!good)
            types[i].rank = -1;
    }
    return types;
}

static void inputs(takt_frame *f)
{
    const takt_type *types = types_of(f, f->function->parameters);
    size_t i = 0;
    for (const takt_ast *p = f->function->parameters; p != NULL && types != NULL;
         p = p->next, i++) {
        takt_value v = takt_value_poison();
        if (p->b != NULL)
            takt_complain(f, p->b, TAKT_E_SYNTAX, NULL, "inputs have no defaults");
        if (types[i].rank >= 0 && takt_may_name(f, p)) {
            takt_graph_set_origin(f->graph, p->name->text, (int)p->line);
            v = takt_value_tensor(takt_graph_input(f->graph, p->name->text, &types[i]));
            if (v.kind == TAKT_V_POISON)
                takt_complain_last(f, p);
        }
        takt_frame_set(f, p->name, v);
    }
}

/* ---- options ---- */

static void seed(takt_frame *f, const takt_ast *o, const takt_value *v)
{
    if (v->kind != TAKT_V_INT || v->i < 0)
        takt_complain(f, o, TAKT_E_SYNTAX, NULL, "the seed is an integer of 0 or more");
    else /* seed 0 begins at stream 0, the others far apart from each other */
        f->e->stream_base = v->i == 0 ? 0 : (uint32_t)takt_hash_word((uint64_t)v->i, 0x7a);
}

/* For every layer and op of the model that has a layout and does not set its own. */
static void layout(takt_frame *f, const takt_ast *o, const takt_value *v)
{
    char text[TAKT_VALUE_TEXT];
    if (!takt_value_is_word(v, "nchw") && !takt_value_is_word(v, "nhwc"))
        takt_complain(f, o, TAKT_E_SYNTAX, NULL, "the layout is nchw or nhwc, not %s",
                      takt_value_text(f->graph, v, text));
    else
        f->e->layout = v->word;
}

/* Which backends exist is known when plans are made; here it only has to be a word. */
static void backend(takt_frame *f, const takt_ast *o, const takt_value *v)
{
    char text[TAKT_VALUE_TEXT];
    if (v->kind != TAKT_V_WORD)
        takt_complain(f, o, TAKT_E_SYNTAX, NULL,
                      "the backend is a name such as cpu or blas, not %s",
                      takt_value_text(f->graph, v, text));
    else
        f->graph->backend = takt_arena_text(&f->graph->arena, v->word->text, v->word->length);
    if (v->kind == TAKT_V_WORD && f->graph->backend == NULL)
        (void)takt_out_of_memory(f);
}

/* For rules of the model that do not set their own. */
static void semantics(takt_frame *f, const takt_ast *o, const takt_value *v)
{
    const takt_semantics *s = takt_rules_semantics(f, o, v);
    takt_rules *rules = s != NULL ? takt_rules_of(f) : NULL;
    if (rules != NULL)
        rules->semantics = s;
}

/* The element type of soft truth values. */
static void truth(takt_frame *f, const takt_ast *o, const takt_value *v)
{
    char text[TAKT_VALUE_TEXT];
    const bool is_good = v->kind == TAKT_V_DTYPE && (v->dtype == TAKT_F32 || v->dtype == TAKT_F64);
    takt_rules *rules = is_good ? takt_rules_of(f) : NULL;
    if (!is_good)
        takt_complain(f, o, TAKT_E_SYNTAX, NULL, "truth values are f32 or f64, not %s",
                      takt_value_text(f->graph, v, text));
    else if (rules != NULL)
        rules->truth = v->dtype;
}

static void options(takt_frame *f)
{
    for (const takt_ast *o = f->function->options; o != NULL; o = o->next) {
        const takt_value v = o->b != NULL ? takt_eval_word(f, o->b) : takt_value_poison();
        const takt_span name = {o->name->text, o->name->length};
        const bool is_graph = f->function->name == NULL;
        if (v.kind == TAKT_V_POISON && o->b != NULL)
            continue;
        if (takt_span_is(name, "seed") && !is_graph)
            seed(f, o, &v);
        else if (takt_span_is(name, "layout") && !is_graph)
            layout(f, o, &v);
        else if (takt_span_is(name, "backend") && !is_graph)
            backend(f, o, &v);
        else if (takt_span_is(name, "semantics") && !is_graph)
            semantics(f, o, &v);
        else if (takt_span_is(name, "truth") && !is_graph)
            truth(f, o, &v);
        else
            takt_complain(f, o, TAKT_E_SYNTAX,
                          "the options of a model are seed=7, layout=nhwc, backend=blas, "
                          "semantics=product and truth=f64",
                          "there is no option called %s", o->name->text);
    }
}

/* ---- outputs ---- */

static bool fits(takt_frame *f, const takt_type *want, takt_id id)
{
    const takt_type got = *takt_type_of(f->graph, id);
    bool good = want->dtype == got.dtype && want->rank == got.rank;
    for (int i = 0; good && i < got.rank; i++)
        good = takt_dim_unify(f->graph->dims, want->dim[i], got.dim[i]) == TAKT_OK;
    return good;
}

static void output(takt_frame *f, const takt_ast *at, const char *name, const takt_value *v,
                   const takt_type *want)
{
    char wanted[TAKT_TYPE_TEXT], got[TAKT_TYPE_TEXT];
    if (v->kind == TAKT_V_POISON)
        return;
    if (v->kind != TAKT_V_TENSOR) {
        takt_complain(f, at, TAKT_E_RETURN_TYPE,
                      v->kind == TAKT_V_RESULTS || v->kind == TAKT_V_TUPLE
                          ? "name them first: `a, b = ...`"
                          : "a number as a tensor is "
                            "constant(f32[], 3)",
                      "a model returns tensors, not %s", takt_value_kind_text(v));
        return;
    }
    if (want != NULL && want->rank >= 0 && !fits(f, want, v->id)) {
        takt_complain(f, at, TAKT_E_RETURN_TYPE, "mend the header or the value",
                      "the header promises %s for %s, but this is %s",
                      takt_type_text(f->graph->dims, want, wanted), name,
                      takt_type_text(f->graph->dims, takt_type_of(f->graph, v->id), got));
        return;
    }
    takt_graph_output(f->graph, name, v->id);
    if (f->graph->status != TAKT_OK)
        takt_complain_last(f, at);
}

/* By its own name, else the header's at the same position, else "out". */
static const char *output_name(takt_frame *f, const takt_ast *result, const takt_ast *promised,
                               size_t index)
{
    if (result->name != NULL)
        return result->name->text;
    if (promised != NULL && promised->name != NULL)
        return promised->name->text;
    const char *name = takt_rules_output_name(f, result->a);
    if (name == NULL)
        name = f->result.count == 1 ? "out" : takt_arena_format(&f->arena, "out%zu", index);
    if (name == NULL)
        takt_out_of_memory(f);
    return name;
}

static const takt_ast *promised_for(const takt_function *function, const takt_ast *result,
                                    size_t index, size_t *at)
{
    *at = 0;
    for (const takt_ast *p = function->results; p != NULL; p = p->next, ++*at)
        if (result->name != NULL && p->name != NULL ? p->name == result->name : *at == index)
            return p;
    return NULL;
}

static void outputs(takt_frame *f, const takt_type *types)
{
    const takt_function *function = f->function;
    if (f->returned == NULL) {
        bool has_next = false;
        for (size_t i = 0; i < f->graph->slot_count; i++)
            has_next = has_next || f->graph->slots[i].next != TAKT_NONE;
        if (f->e->rules != NULL && f->e->rules->held != NULL)
            takt_rules_outputs(f);
        else if (!f->has_failed && !has_next)
            takt_complain(f, function->place, TAKT_E_RETURN_TYPE, "end it with `return value`",
                          "the %s returns nothing", function->name != NULL ? "model" : "graph");
        return;
    }
    const size_t promised = count_of(function->results);
    if (function->has_results && promised != f->result.count) {
        takt_complain(f, f->returned, TAKT_E_RETURN_TYPE, NULL,
                      "the header promises %zu result%s, but %u %s returned", promised,
                      promised == 1 ? "" : "s", f->result.count,
                      f->result.count == 1 ? "is" : "are");
        return;
    }
    size_t i = 0;
    for (const takt_ast *r = f->returned->a; r != NULL && f->e->status == TAKT_OK;
         r = r->next, i++) {
        size_t at;
        const takt_ast *p = promised_for(function, r, i, &at);
        const char *name = output_name(f, r, p, i);
        if (function->has_results && p == NULL)
            takt_complain(f, r, TAKT_E_RETURN_TYPE, NULL, "the header promises no result called %s",
                          name);
        else if (name != NULL)
            output(f, r, name, &f->result.items[i], p != NULL ? &types[at] : NULL);
    }
    takt_rules_outputs(f);
}

void takt_eval_model(takt_frame *f)
{
    options(f);
    if (f->caller == NULL)
        takt_rules_domains(f);
    inputs(f);
    const takt_type *types = types_of(f, f->function->results);
    if (types == NULL)
        return;
    takt_eval_block(f, f->function->body);
    if (f->e->status == TAKT_OK)
        outputs(f, types);
}

/* ---- graph(a: f32[2]) { ... } ---- */

takt_graph *takt_elab_graph(takt_frame *f)
{
    takt_elab *e = f->e;
    void *array = e->graphs;
    takt_graph *graph = NULL;
    takt_status status =
        takt_mem_grow(e->ctx, &array, &e->graph_capacity, e->graph_count + 1, sizeof graph);
    e->graphs = array;
    if (status == TAKT_OK) /* room first: the new graph must be kept */
        status = takt_graph_create(e->ctx, f->graph, &graph);
    if (status == TAKT_OK)
        e->graphs[e->graph_count++] = graph;
    else
        (void)takt_out_of_memory(f);
    return graph;
}

takt_value takt_eval_graph(takt_frame *f, const takt_ast *a)
{
    takt_elab *e = f->e;
    takt_graph *graph = takt_elab_graph(f);
    if (graph == NULL)
        return takt_value_poison();
    const takt_ast *root = e->root;
    const char *root_name = e->root_name;
    const bool takes_dims = e->takes_dims;
    const size_t errors = e->diagnostics->complaints;
    takt_frame inner;
    takt_frame_init(&inner, e, f, a->function);
    inner.call = a;
    inner.graph = graph;
    inner.scope = "";
    inner.is_subgraph = true;
    e->takes_dims = false;
    const size_t held = takt_dims_hold(graph->dims); /* a branch may never run */
    takt_eval_model(&inner);
    takt_dims_let_go(graph->dims, held);
    takt_frame_deinit(&inner);
    e->takes_dims = takes_dims;
    e->root = root;
    e->root_name = root_name;
    f->graph->streams = graph->streams;
    if (e->diagnostics->complaints > errors || e->status != TAKT_OK)
        return takt_value_poison();
    return (takt_value){.kind = TAKT_V_GRAPH, .graph = graph};
}
