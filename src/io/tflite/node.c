/* node.c - imports operators one after the other, and collects those that are refused. */
#include <string.h>

#include "io/tflite/whole.h"

#define TAKT_TFLITE(stem) extern const takt_tflite_op takt_tflite_##stem;
#include "tflite_list.inc"
#undef TAKT_TFLITE

static const takt_tflite_op *const adapters[] = {
#define TAKT_TFLITE(stem) &takt_tflite_##stem,
#include "tflite_list.inc"
#undef TAKT_TFLITE
};

const takt_tflite_op *takt_tfl_adapter(size_t index)
{
    return index < sizeof adapters / sizeof *adapters ? adapters[index] : NULL;
}

static const takt_tflite_op *find(const char *name, bool is_custom)
{
    enum { NAMES = sizeof adapters[0]->names / sizeof adapters[0]->names[0] };
    for (size_t i = 0; i < sizeof adapters / sizeof *adapters; i++)
        for (size_t k = 0; k < NAMES && adapters[i]->names[k] != NULL; k++)
            if (adapters[i]->is_custom == is_custom && strcmp(name, adapters[i]->names[k]) == 0)
                return adapters[i];
    return NULL;
}

static const struct {
    const char *name, *why;
} missing[] = {
#define X(name, why) {name, why},
#include "io/tflite/missing.def"
#undef X
};

const char *takt_tfl_missing(const char *name)
{
    if (strncmp(name, "STABLEHLO_", 10) == 0)
        return "operators of StableHLO are not read: convert the model without them";
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        if (strcmp(name, missing[i].name) == 0)
            return missing[i].why;
    return NULL;
}

/* ---- refusals ---- */

static const char *copy(takt_arena *arena, const char *text)
{
    const char *made = takt_arena_text(arena, text, strlen(text));
    return made != NULL ? made : "";
}

/* The name of an operator: that of its first result. */
static const char *name_of(takt_tfl_call *c)
{
    const takt_tfl_tensor *t = takt_tfl_tensor_out(c, 0);
    const char *name = takt_arena_text(&c->im->arena, t->name.at, t->name.length);
    return name != NULL && name[0] != '\0' ? name : "an operator without a name";
}

static void list(takt_refusals *to, takt_tfl_call *c, const takt_error *e)
{
    takt_refusal *r = takt_arena_array(to->arena, 1, sizeof *r);
    if (r == NULL)
        return;
    *r = (takt_refusal){.node = copy(to->arena, name_of(c)),
                        .type = copy(to->arena, c->name),
                        .domain = "tflite",
                        .reason = copy(to->arena, e->message),
                        .hint = copy(to->arena, e->hint[0] != '\0'
                                                    ? e->hint
                                                    : "convert the model without this operator"),
                        .opset = c->op->code->version};
    if (to->last != NULL)
        to->last->next = r;
    else
        to->first = r;
    to->last = r;
    to->count++;
}

/* Results of a refused operator are poison: nodes that read them are left out without a report. */
static void refuse(takt_tfl_call *c)
{
    takt_tfl_import *im = c->im;
    if (im->ctx->error.offset < 0)
        (void)takt_fail_offset(im->ctx, c->op->at);
    (void)takt_fail_node(im->ctx, name_of(c));
    if (im->source->complaints != NULL)
        takt_text_add(im->source->complaints, "%s: error[TAKT%d]: %s (%s): %s\n", im->source->name,
                      (int)im->ctx->error.id, name_of(c), c->name, im->ctx->error.message);
    if (im->source->refusals != NULL)
        list(im->source->refusals, c, &im->ctx->error);
    if (!im->has_failed)
        im->first = im->ctx->error;
    im->has_failed = true;
    for (size_t i = 0; i < c->op->output_count; i++)
        c->scope->values[c->op->outputs[i]] = (takt_tfl_value){.state = TAKT_TFL_POISON};
}

/* ---- operators ---- */

static bool reads_poison(const takt_tfl_call *c)
{
    for (size_t i = 0; i < c->op->input_count; i++)
        if (takt_tfl_has(c, i) && c->scope->values[c->op->inputs[i]].state == TAKT_TFL_POISON)
            return true;
    return false;
}

static takt_status adapt(takt_tfl_call *c, bool is_custom)
{
    const takt_tflite_op *a = find(c->name, is_custom);
    const char *why = a == NULL && !is_custom ? takt_tfl_missing(c->name) : NULL;
    if (a == NULL)
        return takt_tfl_refuse(c, "%s", why != NULL ? why : "Takt has no such operator");
    if (a->options != 0 && c->op->options_type != 0 && c->op->options_type != a->options)
        return takt_flat_fail(c->flat, c->op->at, "%s has options of another operator", c->name);
    const bool is_whole = takt_tfl_is_whole(c);
    if (!is_whole)
        takt_tfl_keep_scales(c);
    const takt_status status = c->status != TAKT_OK ? c->status
                               : is_whole           ? takt_tfl_keep_whole(c, a)
                                                    : a->adapt(c);
    if (c->status == TAKT_OK)
        c->status = status;
    (void)takt_tfl_good(c);
    for (size_t i = 0; c->status == TAKT_OK && i < c->op->output_count; i++)
        if (c->scope->values[c->op->outputs[i]].state == TAKT_TFL_NEW)
            return takt_tfl_refuse(c, "result %zu is not made", i);
    return c->status;
}

/* Errors that no other operator could avoid: the file is damaged, or memory is short. */
static bool is_hopeless(const takt_tfl_call *c, takt_status status)
{
    return status == TAKT_ERR_MEMORY || c->flat->status != TAKT_OK;
}

static takt_status operator_at(takt_tfl_scope *s, const takt_tfl_op *op)
{
    takt_tfl_import *im = s->im;
    const bool is_custom = op->code->custom.length > 0 && op->code->builtin == 32;
    const char *name =
        is_custom ? takt_arena_text(&im->arena, op->code->custom.at, op->code->custom.length)
                  : takt_tfl_builtin_name(op->code->builtin);
    takt_tfl_call c = {.im = im,
                       .scope = s,
                       .g = s->g,
                       .ctx = im->ctx,
                       .flat = &im->model.flat,
                       .op = op,
                       .name = name != NULL ? name : "an operator of a later schema"};
    if (im->budget == 0)
        return takt_fail(im->ctx, TAKT_E_GRAPH_FULL, "the model has more operators than %llu",
                         (unsigned long long)im->ctx->limits.nodes);
    im->budget--;
    if (im->source->refusals != NULL)
        im->source->refusals->node_count++;
    takt_graph_set_origin(s->g, name_of(&c), 0);
    if (reads_poison(&c)) {
        for (size_t i = 0; i < op->output_count; i++)
            s->values[op->outputs[i]] = (takt_tfl_value){.state = TAKT_TFL_POISON};
        return TAKT_OK;
    }
    const takt_status status = adapt(&c, is_custom);
    if (status == TAKT_OK || is_hopeless(&c, status))
        return status;
    refuse(&c);
    s->g->status = TAKT_OK; /* so that all refusals are reported at once */
    return TAKT_OK;
}

takt_status takt_tfl_operators(takt_tfl_scope *s)
{
    for (size_t i = 0; i < s->graph->op_count; i++)
        TAKT_TRY(operator_at(s, &s->graph->ops[i]));
    return TAKT_OK;
}
