/* node.c - imports nodes one after the other: adapters, op records, local functions. */
#include <string.h>

#include "base/hash.h"
#include "io/onnx/adapt.h"
#include "io/onnx/control.h"
#include "io/onnx/list.h"
#include "io/onnx/meet.h"

#define TAKT_ONNX(stem) extern const takt_onnx_op takt_onnx_##stem;
#include "onnx_list.inc"
#undef TAKT_ONNX

static const takt_onnx_op *const adapters[] = {
#define TAKT_ONNX(stem) &takt_onnx_##stem,
#include "onnx_list.inc"
#undef TAKT_ONNX
};

const takt_onnx_op *takt_onnx_find(takt_span domain, takt_span name)
{
    const bool own = domain.length == 0 || takt_span_is(domain, "ai.onnx");
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++) {
        const takt_onnx_op *a = adapters[i];
        if (own != (a->domain == NULL) || (!own && !takt_span_is(domain, a->domain)))
            continue;
        for (size_t k = 0; k < 24 && a->names[k] != NULL; k++)
            if (takt_span_is(name, a->names[k]))
                return a;
    }
    return NULL;
}

const takt_onnx_op *takt_onnx_adapter(size_t index)
{
    return index < sizeof adapters / sizeof *adapters ? adapters[index] : NULL;
}

static const char *hint_of(const takt_error *e, bool has_names)
{
    /* A shape error with named dimensions may go away once they have numbers. */
    const bool may_fit = e->status == TAKT_ERR_SHAPE && has_names;
    if (e->hint[0] != '\0' && !may_fit)
        return e->hint;
    return e->id == TAKT_E_ONNX_STATIC
               ? "give the inputs that it depends on, with -i NAME=FILE or --shape: they are "
                 "then built in"
           : e->status == TAKT_ERR_SHAPE
               ? "give numbers for named dimensions with --shape or -D"
               : "export the model with another opset, or with this node made of simpler ones";
}

/* The name of a node: its own, or that of its first result. */
static takt_span name_of(const takt_pb_node *n)
{
    return n->name.length > 0 || n->output_count == 0 ? n->name : n->outputs[0];
}

static takt_span or_say(takt_span text, const char *words)
{
    return text.length > 0 ? text : takt_span_of(words);
}

static const char *copy(takt_arena *arena, takt_span text)
{
    const char *made = takt_arena_text(arena, text.at, text.length);
    return made != NULL ? made : "";
}

static void list(takt_refusals *to, const takt_pb_node *node, int opset, const takt_error *e,
                 bool has_names)
{
    takt_refusal *r = takt_arena_array(to->arena, 1, sizeof *r);
    if (r == NULL)
        return;
    *r = (takt_refusal){.node = copy(to->arena, name_of(node)),
                        .type = copy(to->arena, node->op),
                        .domain = copy(to->arena, node->domain),
                        .reason = copy(to->arena, takt_span_of(e->message)),
                        .hint = copy(to->arena, takt_span_of(hint_of(e, has_names))),
                        .opset = opset};
    if (to->last != NULL)
        to->last->next = r;
    else
        to->first = r;
    to->last = r;
    to->count++;
}

static const struct {
    const char *name, *why;
} missing[] = {
#define X(name, why) {name, why},
#include "io/onnx/missing.def"
#undef X
};

const char *takt_onnx_missing(takt_span name)
{
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (takt_span_is(name, missing[i].name))
            return missing[i].why;
    return NULL;
}

void takt_onnx_each(takt_onnx_each_fn *visit, void *user)
{
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++)
        for (size_t k = 0; k < 24 && adapters[i]->names[k] != NULL; k++)
            visit(user, adapters[i]->names[k], adapters[i]->domain, NULL);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        visit(user, missing[i].name, NULL, missing[i].why);
}

/* The message, without the operator, which is named already. */
static const char *without_op(const takt_pb_node *node, const takt_error *e)
{
    const size_t begin = node->op.length + 2; /* "Conv: ..." (adapt.c) */
    const bool begins = e->id == TAKT_E_ONNX_UNSUPPORTED;
    return begins && strlen(e->message) > begin ? e->message + begin : e->message;
}

void takt_import_refuse(takt_import *im, const takt_pb_node *node, int opset)
{
    takt_ctx *ctx = im->ctx;
    const takt_span name = or_say(name_of(node), "a node without a name");
    const takt_span op = or_say(node->op, "no operator");
    if (ctx->error.offset < 0) /* the graph, which refuses, knows nothing about the file */
        (void)takt_fail_offset(ctx, node->at);
    if (im->source->complaints != NULL)
        takt_text_add(im->source->complaints, "%s: error[TAKT%d]: %.*s (%.*s, opset %d): %s\n",
                      im->source->name, (int)ctx->error.id, (int)name.length, name.at,
                      (int)op.length, op.at, opset, without_op(node, &ctx->error));
    if (im->source->refusals != NULL)
        list(im->source->refusals, node, opset, &ctx->error,
             im->main != NULL && takt_dims_name_count(im->main->g->dims) > 0);
    if (!im->has_failed)
        im->first = ctx->error;
    im->has_failed = true;
}

/* ---- functions ---- */

/* The key of a function. */
typedef struct key {
    takt_span name, domain, overload;
} key;

/* Its place in the table, used or free. */
static size_t slot_of(const takt_import *im, const key *k)
{
    uint64_t hash = takt_hash_bytes(0, k->domain.at, k->domain.length);
    hash = takt_hash_bytes(hash, k->overload.at, k->overload.length);
    hash = takt_hash_bytes(hash, k->name.at, k->name.length);
    for (size_t at = (size_t)hash;; at++) {
        const takt_pb_function *f = im->functions[at & (im->function_slots - 1)];
        if (f == NULL ||
            (takt_onnx_same(f->name, k->name) && takt_onnx_same(f->domain, k->domain) &&
             takt_onnx_same(f->overload, k->overload)))
            return at & (im->function_slots - 1);
    }
}

/* A hash table of all functions, so that models with many functions and calls load in linear
 * time. */
takt_status takt_import_functions(takt_import *im)
{
    const size_t count = im->model.function_count;
    size_t size = 8;
    if (count == 0)
        return TAKT_OK;
    while (size < 2 * count)
        size *= 2;
    im->functions = takt_arena_array(&im->arena, size, sizeof *im->functions);
    if (im->functions == NULL)
        return TAKT_ERR_MEMORY;
    im->function_slots = size;
    for (size_t i = 0; i < count; i++) {
        const takt_pb_function *f = &im->model.functions[i];
        const size_t at = slot_of(im, &(key){f->name, f->domain, f->overload});
        if (im->functions[at] != NULL)
            return takt_wire_fail(im->ctx, f->at, "function %.*s is there twice",
                                  (int)f->name.length, f->name.at);
        im->functions[at] = f;
    }
    return TAKT_OK;
}

static const takt_pb_function *find_function(const takt_import *im, const takt_pb_node *n)
{
    if (im->function_slots == 0)
        return NULL;
    return im->functions[slot_of(im, &(key){n->op, n->domain, n->overload})];
}

static takt_status bind(takt_scope *inner, takt_call *c, const takt_pb_function *f)
{
    for (size_t i = 0; i < f->input_count; i++) {
        takt_onnx_value *v;
        TAKT_TRY(takt_scope_add(inner, f->inputs[i], f->at, &v));
        const takt_span name = v->name;
        if (takt_onnx_has(c, i))
            *v = *c->in[i];
        v->name = name;
    }
    return TAKT_OK;
}

static takt_status call_function(takt_call *c, const takt_pb_function *f)
{
    takt_scope inner = {.im = c->im,
                        .room = c->scope->room,
                        .opsets = f->opset_count > 0 ? f->opsets : c->scope->opsets,
                        .opset_count = f->opset_count > 0 ? f->opset_count : c->scope->opset_count,
                        .caller = c->node,
                        .caller_scope = c->scope,
                        .function = f,
                        .depth = c->scope->depth + 1,
                        .has_gate = c->scope->has_gate,
                        .gate = c->scope->gate};
    c->im->is_hopeless = inner.depth > c->ctx->limits.depth;
    if (c->im->is_hopeless)
        return takt_wire_fail(c->ctx, c->node->at, "calls of function %.*s nest deeper than %llu",
                              (int)f->name.length, f->name.at,
                              (unsigned long long)c->ctx->limits.depth);
    size_t names = f->input_count;
    for (size_t i = 0; i < f->node_count; i++)
        names += f->nodes[i].output_count;
    TAKT_TRY(takt_scope_init(&inner, names));
    TAKT_TRY(bind(&inner, c, f));
    TAKT_TRY(takt_import_nodes(&inner, f->nodes, f->node_count));
    for (size_t i = 0; i < f->output_count && i < c->out_count; i++) {
        takt_onnx_value *v;
        TAKT_TRY(takt_scope_use(&inner, f->outputs[i], &v));
        if (v == NULL)
            return takt_wire_fail(c->ctx, f->at, "function %.*s never produces %.*s",
                                  (int)f->name.length, f->name.at, (int)f->outputs[i].length,
                                  f->outputs[i].at);
        c->out[i] = *v;
    }
    return TAKT_OK;
}

/* ---- one node ---- */

static takt_status adapt(takt_call *c)
{
    const takt_pb_node *n = c->node;
    if (n->op.length == 0)
        return takt_wire_fail(c->ctx, n->at, "the node names no operator");
    const takt_pb_function *f = find_function(c->im, n);
    if (f != NULL)
        return call_function(c, f);
    TAKT_TRY(takt_onnx_check_untaken(c));
    if (c->opset == 0)
        return takt_wire_fail(c->ctx, n->at, "the model imports no version of domain \"%.*s\"",
                              (int)n->domain.length, n->domain.at);
    TAKT_TRY(takt_onnx_meet(c));
    const takt_onnx_op *a = takt_onnx_find(n->domain, n->op);
    if (a != NULL)
        return a->adapt(c);
    const bool own = n->domain.length == 0 || takt_span_is(n->domain, "ai.onnx");
    const takt_op *op = own                               ? takt_onnx_record(n->op, c->opset)
                        : takt_span_is(n->domain, "takt") ? takt_op_find(n->op.at, n->op.length)
                                                          : NULL;
    if (op != NULL)
        return takt_import_record(c, op);
    const char *why = takt_onnx_missing(n->op);
    return why != NULL ? takt_onnx_refuse(c, "not imported: %s", why)
                       : takt_onnx_refuse(c, "Takt has no such operator");
}

/* Whether an adapter handles such a node, for nodes whose inputs were refused already. */
static bool is_known(takt_call *c)
{
    const takt_pb_node *n = c->node;
    const bool own = n->domain.length == 0 || takt_span_is(n->domain, "ai.onnx");
    return find_function(c->im, n) != NULL || takt_onnx_find(n->domain, n->op) != NULL ||
           (own && takt_onnx_record(n->op, c->opset) != NULL) || takt_span_is(n->domain, "takt");
}

static takt_status gather_inputs(takt_call *c, bool *is_poisoned)
{
    const takt_pb_node *n = c->node;
    c->in = takt_onnx_get(c, n->input_count, sizeof(takt_onnx_value *));
    c->out = takt_onnx_get(c, n->output_count, sizeof *c->out);
    if (c->in == NULL || c->out == NULL)
        return TAKT_ERR_MEMORY;
    c->in_count = n->input_count;
    c->out_count = n->output_count;
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i].length == 0)
            continue;
        TAKT_TRY(takt_scope_use(c->scope, n->inputs[i], &c->in[i]));
        if (c->in[i] == NULL)
            return takt_wire_fail(c->ctx, n->at, "%.*s uses %.*s, which nothing before it produces",
                                  (int)n->op.length, n->op.at, (int)n->inputs[i].length,
                                  n->inputs[i].at);
        *is_poisoned = *is_poisoned || c->in[i]->kind == TAKT_ONNX_POISON;
    }
    return TAKT_OK;
}

static takt_status publish(takt_call *c, bool is_poisoned)
{
    const takt_pb_node *n = c->node;
    for (size_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i].length == 0)
            continue;
        takt_onnx_value *v;
        TAKT_TRY(takt_scope_add(c->scope, n->outputs[i], n->at, &v));
        const takt_span name = v->name;
        *v = c->out[i];
        v->name = name;
        if (is_poisoned || v->kind == TAKT_ONNX_ABSENT)
            v->kind = TAKT_ONNX_POISON;
    }
    return TAKT_OK;
}

/* One node. An If whose branches differ in rank is not read if `sinks` is given: it is set. */
static takt_status import_node(takt_scope *scope, const takt_pb_node *n, bool *sinks)
{
    takt_import *im = scope->im;
    takt_call c = {.im = im,
                   .scope = scope,
                   .g = scope->room->g,
                   .ctx = im->ctx,
                   .node = n,
                   .opset = takt_scope_opset(scope, n->domain)};
    bool is_poisoned = false;
    im->is_hopeless = im->budget-- == 0;
    if (im->is_hopeless)
        return takt_wire_fail(im->ctx, n->at,
                              "the model has more nodes, functions inlined, than are allowed");
    if (im->source->refusals != NULL)
        im->source->refusals->node_count++;
    TAKT_TRY(gather_inputs(&c, &is_poisoned));
    if (is_poisoned && n->op.length > 0 && !is_known(&c)) {
        (void)takt_onnx_refuse(&c, "Takt has no such operator");
        takt_import_refuse(im, n, c.opset);
    }
    if (!is_poisoned) {
        const takt_span name = name_of(n);
        const char *text = takt_arena_text(&im->arena, name.at, name.length);
        takt_graph_set_origin(c.g, text != NULL ? text : "", 0);
        const takt_onnx_attempt attempt = takt_onnx_try(&c);
        im->has_other_ranks = false;
        takt_status status = adapt(&c);
        im->is_wanted_inside = im->is_wanted_inside || attempt.wanted;
        status = status != TAKT_OK ? status : c.status != TAKT_OK ? c.status : c.g->status;
        status = takt_dims_blame(c.g->dims, status);
        const bool is_short = c.status == TAKT_ERR_MEMORY || c.g->status == TAKT_ERR_MEMORY;
        if (is_short && im->ctx->error.status != TAKT_ERR_MEMORY) /* what else is wrong follows */
            status = takt_fail_memory(im->ctx, "nodes", sizeof(takt_node));
        if (status == TAKT_ERR_MEMORY || im->is_hopeless)
            return status;
        if (status != TAKT_OK && sinks != NULL && im->has_other_ranks) {
            takt_onnx_untry(&c, &attempt);
            c.g->status = TAKT_OK;
            *sinks = true;
            return TAKT_OK;
        }
        if (status != TAKT_OK) {
            takt_import_refuse(im, n, c.opset);
            c.g->status = TAKT_OK; /* so that all refusals are reported at once */
            is_poisoned = true;
        }
    }
    return publish(&c, is_poisoned);
}

takt_status takt_import_nodes(takt_scope *scope, const takt_pb_node *nodes, size_t count)
{
    /* The subgraph's inputs did not fit: a refusal of its first node would hide that. */
    TAKT_TRY(scope->room->g->status);
    for (size_t i = 0; i < count; i++) {
        bool sinks = false;
        const bool may_sink = takt_onnx_may_sink(scope, &nodes[i], count - i);
        TAKT_TRY(import_node(scope, &nodes[i], may_sink ? &sinks : NULL));
        if (sinks)
            return takt_onnx_sink(scope, nodes + i, count - i);
    }
    return TAKT_OK;
}
