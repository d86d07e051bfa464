/* inspect.c - the contents of a model, without running it. */
#include <string.h>

#include "ir/leaves.h"
#include "measure/report/report.h"

typedef struct tally {
    const char *name;
    uint64_t count, elements, bytes;
} tally;

typedef struct facts {
    takt_layers layers;
    takt_arena arena;
    tally *ops; /* one per op of the registry */
    tally dtypes[TAKT_DTYPE_COUNT];
    uint64_t parameters, state, bytes, nodes, constants, constant_bytes;
    double flops, macs;
    const takt_json *lineage; /* or NULL */
} facts;

static void tally_nodes(facts *f, const takt_model *m)
{
    for (size_t i = 0; i < takt_op_count; i++)
        f->ops[i].name = takt_ops[i]->name;
    for (size_t i = 0; i < m->graph->count; i++) {
        const takt_op *op = m->graph->nodes[i].op;
        if ((op->traits & TAKT_LEAF) != 0 || op == &takt_op_get)
            continue;
        f->nodes++;
        for (size_t k = 0; k < takt_op_count; k++)
            f->ops[k].count += takt_ops[k] == op;
    }
}

static void tally_constants(facts *f, const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        size_t count, bytes;
        if (g->nodes[i].op != &takt_op_constant || !takt_type_count(g->nodes[i].type, &count) ||
            !takt_type_bytes(g->nodes[i].type, &bytes))
            continue;
        f->constants += count;
        f->constant_bytes += bytes;
    }
}

static void tally_slots(facts *f)
{
    const takt_graph *g = f->layers.sized;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *s = &g->slots[i];
        size_t count = 0, bytes = 0;
        (void)takt_type_count(&s->type, &count);
        (void)takt_type_bytes(&s->type, &bytes);
        tally *t = &f->dtypes[s->type.dtype];
        t->count++;
        t->elements += count;
        t->bytes += bytes;
        f->bytes += bytes;
        *(s->is_trainable ? &f->parameters : &f->state) += count;
    }
}

static takt_status gather(facts *f, const takt_model *m)
{
    f->ops = takt_arena_array(&f->arena, takt_op_count, sizeof *f->ops);
    if (f->ops == NULL)
        return TAKT_ERR_MEMORY;
    tally_nodes(f, m);
    tally_slots(f);
    tally_constants(f, m->graph);
    for (size_t i = 0; i < f->layers.count; i++) {
        f->flops += f->layers.at[i].flops;
        f->macs += f->layers.at[i].macs;
    }
    return TAKT_OK;
}

/* ---- text ---- */

static void ports_text(takt_report *r, const char *title, const takt_graph *g,
                       const takt_port *ports, size_t count)
{
    char type[TAKT_TYPE_TEXT];
    takt_text_add(&r->text, "%s\n", title);
    for (size_t i = 0; i < count; i++)
        takt_text_add(&r->text, "  %s: %s\n", ports[i].name,
                      takt_type_text(g->dims, takt_type_of(g, ports[i].id), type));
}

/* "format: onnx", "opsets: ai.onnx 12". */
static void lineage_text(takt_report *r, const takt_json *lineage)
{
    for (const takt_json *v = lineage != NULL ? takt_json_first(lineage) : NULL; v != NULL;
         v = takt_json_next(v)) {
        takt_text_add(&r->text, "%s:", v->key);
        if (v->kind == TAKT_JSON_STRING)
            takt_text_add(&r->text, " %s", v->text);
        else if (v->kind == TAKT_JSON_NUMBER)
            takt_text_add(&r->text, " %.0f", v->number);
        const bool is_object = v->kind == TAKT_JSON_OBJECT;
        for (const takt_json *w = is_object ? takt_json_first(v) : NULL; w != NULL;
             w = takt_json_next(w)) {
            if (w->kind == TAKT_JSON_STRING)
                takt_text_add(&r->text, "\n  %s: %s", w->key, w->text);
            else if (w->kind == TAKT_JSON_NUMBER)
                takt_text_add(&r->text, " %s %.0f", w->key, w->number);
        }
        takt_text_add(&r->text, "\n");
    }
}

/* Whether names left in the table are irrelevant: every input has numbers. */
static bool is_sized(const takt_model *m)
{
    for (size_t i = 0; i < m->graph->input_count; i++)
        for (int d = 0; d < m->inputs[i].rank; d++)
            if (m->inputs[i].dim_names[d] != NULL)
                return false;
    return true;
}

/* Clauses, and assumptions that were not proved. */
static void rules_text(takt_report *r, const takt_model *m)
{
    const takt_graph *g = m->graph;
    enum { MOST = 8 };
    size_t count = 0;
    for (size_t i = 0; i < g->check_count; i++)
        takt_text_add(&r->text, "%s%s: %s%s%s\n", i == 0 ? "clauses\n  " : "  ",
                      g->checks[i].is_require ? "require" : "ensure", g->checks[i].text,
                      g->checks[i].message != NULL ? ", " : "",
                      g->checks[i].message != NULL ? g->checks[i].message : "");
    for (size_t i = 0; i < takt_dims_assumed(g->dims) && !is_sized(m); i++) {
        const takt_assumption a = takt_dims_assumption(g->dims, i);
        if (takt_dim_same(g->dims, a.left, a.right) || count++ >= MOST)
            continue;
        takt_text_add(&r->text, count == 1 ? "sizes must keep\n  " : "  ");
        takt_dim_print(g->dims, a.left, &r->text);
        takt_text_add(&r->text, " = ");
        takt_dim_print(g->dims, a.right, &r->text);
        takt_text_add(&r->text, "\n");
    }
    if (count > MOST)
        takt_text_add(&r->text, "  and %zu more equations\n", count - MOST);
}

static void dtypes_text(takt_report *r, const facts *f)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++)
        if (f->dtypes[d].count > 0)
            takt_text_add(&r->text, "  %s: %llu tensors, %s elements, %s bytes\n",
                          takt_dtype_name((takt_dtype)d), (unsigned long long)f->dtypes[d].count,
                          takt_figure(f->dtypes[d].elements, a),
                          takt_figure(f->dtypes[d].bytes, b));
}

/* The sizes at which arithmetic was counted. */
static void sizes_text(takt_report *r, const takt_model *m, const takt_layers *l)
{
    const takt_dims *dims = m->graph->dims;
    takt_text_add(&r->text, "arithmetic");
    if (is_sized(m)) {
        takt_text_add(&r->text, ": ");
        return;
    }
    if (l->is_all_one && l->size_count > 0)
        takt_text_add(&r->text, " with every named dimension 1");
    for (size_t i = 0; !l->is_all_one && i < l->size_count; i++)
        takt_text_add(&r->text, "%s%s=%lld", i == 0 ? " at " : ", ", takt_dims_name(dims, i),
                      (long long)l->sizes[i]);
    takt_text_add(&r->text, ": ");
}

static void write_text(takt_report *r, const takt_model *m, const facts *f)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    const takt_graph *g = m->graph;
    takt_text_add(&r->text, "model %s\n", g->name);
    takt_report_doc(r, g);
    lineage_text(r, f->lineage);
    ports_text(r, "inputs", g, g->inputs, g->input_count);
    ports_text(r, "outputs", g, g->outputs, g->output_count);
    rules_text(r, m);
    takt_text_add(&r->text, "parameters: %s", takt_figure(f->parameters, a));
    takt_text_add(&r->text, " (other state: %s), %s bytes\n", takt_figure(f->state, a),
                  takt_figure(f->bytes, b));
    dtypes_text(r, f);
    if (f->constants > 0)
        takt_text_add(&r->text, "constants: %s elements, %s bytes\n", takt_figure(f->constants, a),
                      takt_figure(f->constant_bytes, b));
    if (f->layers.is_unsized) {
        takt_text_add(&r->text, "arithmetic: depends on sizes, which -D or --shape gives\n");
    } else {
        sizes_text(r, m, &f->layers);
        takt_text_add(&r->text, "%s multiply-adds, ", takt_figure(takt_whole(f->macs), a));
        takt_text_add(&r->text, "%s operations in all\n", takt_figure(takt_whole(f->flops), a));
    }
    takt_text_add(&r->text, "operations: %llu\n", (unsigned long long)f->nodes);
    for (size_t i = 0; i < takt_op_count; i++)
        if (f->ops[i].count > 0)
            takt_text_add(&r->text, "  %s: %llu\n", f->ops[i].name,
                          (unsigned long long)f->ops[i].count);
}

/* ---- JSON ---- */

static void ports_json(takt_report *r, const char *key, const takt_desc *descs, size_t count)
{
    takt_json_put_open(&r->json, key, '[');
    for (size_t i = 0; i < count; i++) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "name", descs[i].name);
        takt_report_pair(r, "dtype", takt_dtype_name(descs[i].dtype));
        takt_json_put_open(&r->json, "shape", '[');
        for (int d = 0; d < descs[i].rank; d++) {
            if (descs[i].dim_names[d] != NULL)
                takt_json_string(&r->json, descs[i].dim_names[d]);
            else
                takt_json_integer(&r->json, descs[i].dims[d]);
        }
        takt_json_close(&r->json, ']');
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

static void lineage_json(takt_report *r, const takt_json *object)
{
    takt_json_open(&r->json, '{');
    for (const takt_json *v = takt_json_first(object); v != NULL; v = takt_json_next(v)) {
        if (v->kind == TAKT_JSON_STRING)
            takt_report_pair(r, v->key, v->text);
        else if (v->kind == TAKT_JSON_NUMBER)
            takt_report_count(r, v->key, takt_whole(v->number));
    }
    for (const takt_json *v = takt_json_first(object); v != NULL; v = takt_json_next(v)) {
        if (v->kind != TAKT_JSON_OBJECT)
            continue;
        takt_json_put_open(&r->json, v->key, '{');
        for (const takt_json *w = takt_json_first(v); w != NULL; w = takt_json_next(w)) {
            if (w->kind == TAKT_JSON_STRING)
                takt_report_pair(r, w->key, w->text);
            else if (w->kind == TAKT_JSON_NUMBER)
                takt_report_count(r, w->key, takt_whole(w->number));
        }
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, '}');
}

static void rules_json(takt_report *r, const takt_model *m)
{
    const takt_graph *g = m->graph;
    bool is_first = true;
    if (g->check_count > 0)
        takt_json_put_open(&r->json, "clauses", '[');
    for (size_t i = 0; i < g->check_count; i++) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, g->checks[i].is_require ? "require" : "ensure", g->checks[i].text);
        if (g->checks[i].message != NULL)
            takt_report_pair(r, "message", g->checks[i].message);
        takt_json_close(&r->json, '}');
    }
    if (g->check_count > 0)
        takt_json_close(&r->json, ']');
    for (size_t i = 0; i < takt_dims_assumed(g->dims) && !is_sized(m); i++) {
        const takt_assumption a = takt_dims_assumption(g->dims, i);
        if (takt_dim_same(g->dims, a.left, a.right))
            continue;
        if (is_first)
            takt_json_put_open(&r->json, "assumed", '[');
        is_first = false;
        takt_text text;
        takt_text_init(&text, g->ctx);
        takt_dim_print(g->dims, a.left, &text);
        takt_text_add(&text, " = ");
        takt_dim_print(g->dims, a.right, &text);
        takt_json_string(&r->json, takt_text_get(&text));
        r->text.status = text.status != TAKT_OK ? text.status : r->text.status;
        takt_text_deinit(&text);
    }
    if (!is_first)
        takt_json_close(&r->json, ']');
}

static void write_json(takt_report *r, const takt_model *m, const facts *f)
{
    takt_report_pair(r, "model", m->graph->name);
    takt_report_doc(r, m->graph);
    if (f->lineage != NULL) {
        takt_json_key(&r->json, "lineage");
        lineage_json(r, f->lineage);
    }
    ports_json(r, "inputs", m->inputs, m->graph->input_count);
    ports_json(r, "outputs", m->outputs, m->graph->output_count);
    rules_json(r, m);
    takt_report_count(r, "parameters", f->parameters);
    takt_report_count(r, "state", f->state);
    takt_report_count(r, "bytes", f->bytes);
    takt_report_count(r, "constants", f->constants);
    takt_report_count(r, "constant_bytes", f->constant_bytes);
    takt_json_put_open(&r->json, "sizes", '{');
    for (size_t i = 0; i < f->layers.size_count && !f->layers.is_unsized; i++)
        takt_report_count(r, takt_dims_name(m->graph->dims, i), (uint64_t)f->layers.sizes[i]);
    takt_json_close(&r->json, '}');
    if (!f->layers.is_unsized) {
        takt_report_count(r, "macs", takt_whole(f->macs));
        takt_report_count(r, "flops", takt_whole(f->flops));
    }
    takt_json_put_open(&r->json, "dtypes", '{');
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++)
        if (f->dtypes[d].count > 0)
            takt_report_count(r, takt_dtype_name((takt_dtype)d), f->dtypes[d].elements);
    takt_json_close(&r->json, '}');
    takt_report_count(r, "nodes", f->nodes);
    takt_json_put_open(&r->json, "ops", '{');
    for (size_t i = 0; i < takt_op_count; i++)
        if (f->ops[i].count > 0)
            takt_report_count(r, f->ops[i].name, f->ops[i].count);
    takt_json_close(&r->json, '}');
}

takt_status takt_model_inspect(const takt_model *m, takt_format format, takt_sink_fn *sink,
                               void *user)
{
    TAKT_NEED(NULL, m);
    TAKT_NEED(NULL, sink);
    facts f = {.flops = 0};
    takt_report r;
    f.layers.may_be_unsized = true;
    TAKT_TRY(takt_layers_init(&f.layers, m, NULL));
    takt_arena_init(&f.arena, m->ctx);
    takt_report_begin(&r, m->ctx, format);
    takt_status status = gather(&f, m);
    if (status == TAKT_OK && m->lineage != NULL)
        status = takt_json_parse(m->ctx, &f.arena, m->lineage, strlen(m->lineage), &f.lineage);
    if (f.lineage != NULL && f.lineage->kind != TAKT_JSON_OBJECT)
        f.lineage = NULL;
    if (status == TAKT_OK && r.is_json)
        write_json(&r, m, &f);
    else if (status == TAKT_OK)
        write_text(&r, m, &f);
    takt_layers_deinit(&f.layers);
    takt_arena_deinit(&f.arena);
    return takt_report_end(&r, status, sink, user);
}
