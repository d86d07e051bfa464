/* print.c - a graph as text that the parser reads back to the same graph. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "ir/attr.h"
#include "ir/graph.h"
#include "ir/leaves.h"
#include "ir/name.h"

typedef struct printer {
    const takt_graph *g;
    const takt_print_options *options;
    takt_text *text;
    takt_name_table names; /* of the values of `g` */
    int indent;
} printer;

static void print_body(printer *p);

static void line(printer *p)
{
    takt_text_add(p->text, "%*s", 2 * p->indent, "");
}

static void name(printer *p, const char *text)
{
    takt_name_print(text, p->text);
}

static void value(printer *p, takt_id id)
{
    if (id == TAKT_NONE)
        takt_text_add(p->text, "none");
    else
        name(p, p->names.of[id]);
}

static void element(takt_text *text, const takt_tensor *t, size_t i)
{
    const void *data = takt_tensor_data(t);
    const takt_dtype dtype = t->type.dtype;
    if (takt_dtype_is_float(dtype))
        takt_text_double(text, takt_dtype_get_f(dtype, data, i));
    else if (takt_dtype_is_unsigned(dtype))
        takt_text_add(text, "%" PRIu64, (uint64_t)takt_dtype_get_i(dtype, data, i));
    else
        takt_text_add(text, "%" PRId64, takt_dtype_get_i(dtype, data, i));
}

static void hex(takt_text *text, const takt_tensor *t)
{
    static const char digit[] = "0123456789abcdef";
    const unsigned char *bytes = takt_tensor_data(t);
    const size_t count = takt_tensor_bytes(t);
    takt_text_add(text, "hex\"");
    for (size_t i = 0; i < count; i++) {
        const char pair[2] = {digit[bytes[i] >> 4], digit[bytes[i] & 15]};
        takt_text_put(text, pair, 2);
    }
    takt_text_add(text, "\"");
}

/* The beginning of a large constant, for a person to read. */
static void elided(takt_text *text, const takt_tensor *t)
{
    takt_text_add(text, "[");
    for (size_t i = 0; i < 4; i++) {
        element(text, t, i);
        takt_text_add(text, ", ");
    }
    takt_text_add(text, "...]");
}

/* Puts the tensor into the table of weights and its number into the text. */
static void reference(printer *p, const takt_tensor *t, const char *of)
{
    takt_weights *w = p->options->weights;
    void *at = w->at, *names = (void *)w->names;
    takt_status status = takt_mem_grow(w->ctx, &at, &w->capacity, w->count + 1, sizeof *w->at);
    w->at = at;
    if (status == TAKT_OK)
        status = takt_mem_grow(w->ctx, &names, &w->name_capacity, w->count + 1, sizeof *w->names);
    w->names = names;
    const char *kept = status == TAKT_OK ? takt_arena_text(&w->arena, of, strlen(of)) : NULL;
    if (kept == NULL) {
        p->text->status = status != TAKT_OK ? status : TAKT_ERR_MEMORY;
        return;
    }
    w->at[w->count] = *t;
    w->names[w->count] = kept;
    takt_text_add(p->text, "ref=%zu", w->count++);
}

/* `of`: the name of the data's owner, as the text form writes it, so that it can be read back. */
static void data(printer *p, const takt_tensor *t, const char *of)
{
    enum { LISTED = 64, KEPT = 8 };
    const size_t count = takt_tensor_count(t);
    if (count > KEPT && p->options->weights != NULL) {
        reference(p, t, of);
    } else if (count > LISTED && p->options->elide) {
        elided(p->text, t);
    } else if (count > LISTED) {
        hex(p->text, t);
    } else {
        takt_text_add(p->text, "[");
        for (size_t i = 0; i < count; i++) {
            takt_text_add(p->text, i > 0 ? ", " : "");
            element(p->text, t, i);
        }
        takt_text_add(p->text, "]");
    }
}

static void ports(printer *p, const takt_port *list, size_t count)
{
    takt_text_add(p->text, "(");
    for (size_t i = 0; i < count; i++) {
        takt_text_add(p->text, i > 0 ? ", " : "");
        name(p, list[i].name);
        takt_text_add(p->text, ": ");
        takt_type_print(p->g->dims, takt_type_of(p->g, list[i].id), p->text);
    }
    takt_text_add(p->text, ")");
}

/* Depth is limited when subgraphs are added, so this recursion is bounded. */
static void subgraph(printer *outer, takt_graph *g)
{
    printer p = {
        .g = g, .options = outer->options, .text = outer->text, .indent = outer->indent + 1};
    takt_text_add(p.text, "graph");
    ports(&p, g->inputs, g->input_count);
    takt_text_add(p.text, " {\n");
    print_body(&p);
    takt_text_add(p.text, "%*s}", 2 * outer->indent, "");
}

static void attributes(printer *p, const takt_node *n, bool first)
{
    const size_t count = takt_op_attr_count(n->op);
    for (size_t i = 0; i < count; i++) {
        const takt_attr_def *def = &n->op->attrs[i];
        if (!n->attr[i].is_set)
            continue;
        if (!def->is_required && !def->is_optional &&
            takt_attr_same(def, &n->attr[i], &def->fallback))
            continue;
        takt_text_add(p->text, "%s%s=", first ? "" : ", ", def->name);
        first = false;
        if (def->type == TAKT_ATTR_GRAPH)
            subgraph(p, n->attr[i].graph);
        else
            takt_attr_print(p->g->dims, def, &n->attr[i], p->text);
    }
}

/* The left side: one name, or one per result with `_` for unused results. */
static void results(printer *p, takt_id id)
{
    const takt_node *n = &p->g->nodes[id];
    if (n->out_count == 1) {
        value(p, id);
        return;
    }
    for (uint32_t k = 0; k < n->out_count; k++) {
        takt_text_add(p->text, k > 0 ? ", " : "");
        const takt_id get = takt_name_table_get(&p->names, p->g, id, k);
        if (get == TAKT_NONE)
            takt_text_add(p->text, "_");
        else
            value(p, get);
    }
    if (n->out_count == 0)
        takt_text_add(p->text, "_");
}

static void comment(printer *p, const takt_node *n)
{
    const char *lead = "  # ";
    if (p->options->types && n->out_count == 1) {
        takt_text_add(p->text, "%s", lead);
        takt_type_print(p->g->dims, n->type, p->text);
        lead = " ";
    }
    for (const takt_origin *o = p->options->origins ? n->origin : NULL; o != NULL; o = o->next) {
        takt_text_add(p->text, "%sfrom %s", lead, o->name);
        if (o->line > 0)
            takt_text_add(p->text, ":%d", o->line);
        lead = ", ";
    }
}

static void node(printer *p, takt_id id)
{
    const takt_node *n = &p->g->nodes[id];
    line(p);
    results(p, id);
    /* With inputs left out, the call might be read as a layer of the same name. */
    const bool is_short = n->op->in_max != TAKT_VARIADIC && (int)n->in_count < n->op->in_max;
    takt_text_add(p->text, " = %s%s(", is_short ? "op." : "", n->op->name);
    if (n->op == &takt_op_constant) {
        takt_type_print(p->g->dims, n->type, p->text);
        takt_text_add(p->text, ", ");
        data(p, n->attr[0].tensor, p->names.of[id]);
    } else {
        for (uint32_t k = 0; k < n->in_count; k++) {
            takt_text_add(p->text, k > 0 ? ", " : "");
            value(p, n->in[k]);
        }
        attributes(p, n, n->in_count == 0);
    }
    takt_text_add(p->text, ")");
    comment(p, n);
    takt_text_add(p->text, "\n");
}

static void init(printer *p, const takt_init *i, const char *of)
{
    if (i->kind == TAKT_INIT_CONSTANT) {
        takt_text_double(p->text, i->a);
    } else if (i->kind == TAKT_INIT_TENSOR) {
        takt_text_add(p->text, "tensor(");
        data(p, i->tensor, of);
        takt_text_add(p->text, ")");
    } else {
        takt_text_add(p->text, i->kind == TAKT_INIT_UNIFORM ? "uniform(" : "normal(");
        takt_text_double(p->text, i->a);
        takt_text_add(p->text, ", ");
        takt_text_double(p->text, i->b);
        takt_text_add(p->text, ", stream=%" PRIu32 ")", i->stream);
    }
}

/* A state that still has its first value everywhere needs no data: caches are large. */
static bool is_untouched(const takt_slot *s, const takt_tensor *given)
{
    const takt_dtype dtype = s->type.dtype;
    if (s->is_trainable || s->init.kind != TAKT_INIT_CONSTANT)
        return false;
    const bool is_float = takt_dtype_is_float(dtype);
    const double first = is_float ? takt_dtype_round(dtype, s->init.a) : 0;
    const int64_t whole = is_float ? 0 : takt_dtype_from_double(dtype, s->init.a);
    const void *at = takt_tensor_data(given);
    for (size_t i = 0; i < takt_tensor_count(given); i++)
        if (is_float ? takt_dtype_get_f(dtype, at, i) != first
                     : takt_dtype_get_i(dtype, at, i) != whole)
            return false;
    return true;
}

static void slot(printer *p, const takt_slot *s)
{
    line(p);
    takt_text_add(p->text, s->is_trainable ? "param " : "state ");
    name(p, s->name);
    takt_text_add(p->text, ": ");
    takt_type_print(p->g->dims, &s->type, p->text);
    takt_text_add(p->text, " = ");
    const takt_weights *w = p->options->weights;
    const takt_tensor *all = w != NULL ? w->slots : p->options->slots;
    const takt_tensor *given = all != NULL ? &all[s - p->g->slots] : NULL;
    if (given != NULL && given->storage != NULL && !is_untouched(s, given))
        init(p, &(takt_init){.kind = TAKT_INIT_TENSOR, .tensor = given}, s->name);
    else
        init(p, &s->init, s->name);
    takt_text_add(p->text, "\n");
}

/* ensure c, "the author's sentence", "abs(x) <= 1", 3: the text and its line in the source. */
static void check(printer *p, const takt_check *c)
{
    line(p);
    takt_text_add(p->text, c->is_require ? "require " : "ensure ");
    value(p, c->id);
    takt_text_add(p->text, ", ");
    takt_string_print(c->message != NULL ? c->message : "", p->text);
    takt_text_add(p->text, ", ");
    takt_string_print(c->text, p->text);
    takt_text_add(p->text, ", %d\n", c->line);
}

static void ending(printer *p)
{
    for (size_t i = 0; i < p->g->check_count; i++)
        check(p, &p->g->checks[i]);
    for (size_t i = 0; i < p->g->slot_count; i++) {
        if (p->g->slots[i].next == TAKT_NONE)
            continue;
        line(p);
        takt_text_add(p->text, "next ");
        name(p, p->g->slots[i].name);
        takt_text_add(p->text, " = ");
        value(p, p->g->slots[i].next);
        takt_text_add(p->text, "\n");
    }
    line(p);
    takt_text_add(p->text, "return ");
    for (size_t i = 0; i < p->g->output_count; i++) {
        takt_text_add(p->text, i > 0 ? ", " : "");
        name(p, p->g->outputs[i].name);
        takt_text_add(p->text, " = ");
        value(p, p->g->outputs[i].id);
    }
    takt_text_add(p->text, "\n");
}

static void print_body(printer *p)
{
    if (takt_name_table_init(&p->names, p->g) != TAKT_OK) {
        p->text->status = TAKT_ERR_MEMORY;
        return;
    }
    for (size_t i = 0; i < p->g->slot_count; i++)
        slot(p, &p->g->slots[i]);
    for (size_t i = 0; i < p->g->count; i++) {
        const takt_op *op = p->g->nodes[i].op;
        if (op != &takt_op_input && op != &takt_op_state && op != &takt_op_get)
            node(p, (takt_id)i);
    }
    ending(p);
    takt_name_table_deinit(&p->names);
}

void takt_graph_print(const takt_graph *g, const takt_print_options *options, takt_text *text)
{
    static const takt_print_options plain = {0};
    printer p = {.g = g, .options = options != NULL ? options : &plain, .text = text, .indent = 1};
    takt_text_add(text, "model ");
    name(&p, g->name);
    ports(&p, g->inputs, g->input_count);
    takt_text_add(text, " -> ");
    ports(&p, g->outputs, g->output_count);
    if (g->backend != NULL)
        takt_text_add(text, " backend=%s", g->backend);
    takt_text_add(text, " {\n");
    if (g->doc != NULL) {
        line(&p);
        takt_string_print(g->doc, text);
        takt_text_add(text, "\n");
    }
    print_body(&p);
    takt_text_add(text, "}\n");
}
