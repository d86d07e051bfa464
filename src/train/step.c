/* step.c - a training step as one graph. */
#include "train/builder.h"

#include <string.h>

#include "base/mem.h"
#include "grad/grad.h"
#include "grad/reverse.h"
#include "op/util/formula.h"
#include "pass/pass.h"

typedef takt_step_builder builder;
typedef takt_step_param param;

/* ---- the loss ---- */

static takt_id find_output(const builder *b, const char *name)
{
    for (size_t i = 0; i < b->output_count; i++)
        if (strcmp(b->outputs[i].name, name) == 0)
            return b->outputs[i].id;
    return TAKT_NONE;
}

/* A mean over the batch counts once per sample. */
static takt_status own_loss(builder *b, takt_id loss)
{
    takt_graph *g = b->g;
    if (takt_type_of(g, loss)->rank != 0 || !takt_dtype_is_float(takt_type_of(g, loss)->dtype))
        return takt_fail(g->ctx, TAKT_E_TRAIN_LOSS, "the output loss is not a scalar float");
    takt_id count = TAKT_NONE;
    for (size_t i = 0; i < g->input_count && count == TAKT_NONE; i++) {
        const takt_type *type = takt_type_of(g, g->inputs[i].id);
        const takt_named_attr axis = {"axis", takt_attr_i64(0)};
        if (type->rank > 0)
            count = takt_cast(g, takt_graph_call(g, &takt_op_dim, 1, &g->inputs[i].id, 1, &axis),
                              TAKT_F32);
    }
    const takt_id wide = takt_cast(g, loss, TAKT_F32);
    b->site.count = count != TAKT_NONE ? count : takt_scalar_like(g, wide, 1);
    b->site.sum = takt_mul(g, wide, b->site.count);
    return g->status;
}

/* The axis of the output that the loss calls its classes. */
static int64_t class_axis(const builder *b, int rank)
{
    int64_t axis = -1;
    for (int i = 0; i < TAKT_LOSS_HYPERS; i++)
        if (b->spec->loss->hyper[i].name != NULL &&
            strcmp(b->spec->loss->hyper[i].name, "axis") == 0)
            axis = (int64_t)b->spec->loss_hyper[i];
    return axis < 0 ? rank - 1 : axis;
}

/* The output with its classes on the last axis, as every loss expects them. */
static takt_id with_classes_last(builder *b, takt_id output)
{
    takt_graph *g = b->g;
    const int rank = takt_type_of(g, output)->rank;
    const int64_t axis = class_axis(b, rank);
    int64_t perm[TAKT_MAX_RANK];
    if (axis == rank - 1 || rank == 0)
        return output;
    if (axis >= rank) {
        takt_graph_fail(g,
                        takt_fail(g->ctx, TAKT_E_TRAIN_LOSS,
                                  "%s: axis %lld of the output %s, which has %d axes",
                                  b->spec->loss->name, (long long)axis, b->outputs[0].name, rank));
        return output;
    }
    for (int i = 0; i < rank - 1; i++)
        perm[i] = i < axis ? i : i + 1;
    perm[rank - 1] = axis;
    return takt_transpose(g, output, perm, (size_t)rank);
}

/* The output without the activation that is part of the loss. */
static takt_id without_activation(builder *b, takt_id output)
{
    const takt_node *n = takt_node_at(b->g, output);
    if (b->spec->loss->activation == NULL || n->op != b->spec->loss->activation)
        return output;
    if (n->op == &takt_op_softmax) { /* over the classes */
        const int64_t axis = n->attr[0].i64, rank = n->type[0].rank;
        if ((axis < 0 ? axis + rank : axis) != class_axis(b, (int)rank))
            return output;
    }
    if (b->notes != NULL)
        b->notes->removed = n->op->name;
    return n->in[0];
}

static takt_status labels_for(builder *b, takt_type type)
{
    takt_graph *g = b->g;
    for (size_t i = 0; i < g->input_count; i++)
        if (strcmp(g->inputs[i].name, TAKT_STEP_LABELS) == 0) {
            takt_fail(g->ctx, TAKT_E_TRAIN_LOSS, "the model has an input called labels already");
            return takt_fail_hint(g->ctx, "return the loss as an output called loss instead");
        }
    const takt_loss *loss = b->spec->loss;
    const takt_type alike = type;
    if (loss->labels_by != NULL)
        loss->labels_by(b->spec->loss_hyper, &type);
    else
        loss->labels(&type);
    const takt_dim last = alike.dim[alike.rank - 1];
    if (b->notes != NULL && loss->has_classes && type.dtype == TAKT_I64 && takt_dim_is_number(last))
        b->notes->classes = last;
    b->site.labels = takt_graph_input(g, TAKT_STEP_LABELS, &type);
    if (loss->extra != NULL)
        b->site.extra = takt_graph_input(g, loss->extra, &alike);
    return g->status;
}

static takt_status append_loss(builder *b)
{
    takt_graph *g = b->g;
    const takt_id own = find_output(b, "loss");
    b->site = (takt_loss_site){.g = g,
                               .hyper = b->spec->loss_hyper,
                               .labels = TAKT_NONE,
                               .extra = TAKT_NONE,
                               .weights = TAKT_NONE,
                               .hits = TAKT_NONE};
    if (b->spec->loss == NULL && own == TAKT_NONE) {
        takt_fail(g->ctx, TAKT_E_TRAIN_LOSS, "the model has no output called loss");
        return takt_fail_hint(g->ctx, "choose a loss, such as cross_entropy or mse");
    }
    if (b->spec->loss == NULL)
        return own_loss(b, own);
    if (b->output_count == 0)
        return takt_fail(g->ctx, TAKT_E_TRAIN_LOSS, "the model has no output to compute a loss of");
    b->site.output = with_classes_last(b, without_activation(b, b->outputs[0].id));
    if (g->status != TAKT_OK)
        return g->status;
    const takt_type type = *takt_type_of(g, b->site.output);
    if (!takt_dtype_is_float(type.dtype) || type.rank == 0)
        return takt_fail(g->ctx, TAKT_E_TRAIN_LOSS, "output %s is not a float tensor with a batch",
                         b->outputs[0].name);
    if (b->spec->loss->rank != 0 && type.rank != b->spec->loss->rank)
        return takt_fail(g->ctx, TAKT_E_TRAIN_LOSS, "%s needs an output of %d axes, %s has %d",
                         b->spec->loss->name, b->spec->loss->rank, b->outputs[0].name, type.rank);
    TAKT_TRY(labels_for(b, type));
    if (b->spec->class_weights != NULL)
        b->site.weights = takt_graph_constant(g, b->spec->class_weights);
    b->spec->loss->build(&b->site);
    return g->status;
}

/* ---- gradients ---- */

static bool is_trained(const builder *b, const takt_slot *slot)
{
    return slot->is_trainable && slot->next == TAKT_NONE && takt_dtype_is_float(slot->type.dtype) &&
           (b->spec->is_trained == NULL || b->spec->is_trained(b->spec->user, slot->name));
}

static takt_status list_params(builder *b)
{
    takt_graph *g = b->g;
    b->params = takt_arena_array(&g->arena, g->slot_count + 1, sizeof *b->params);
    if (b->params == NULL)
        return TAKT_ERR_MEMORY;
    size_t frozen = 0;
    for (size_t i = 0; i < g->slot_count; i++) {
        if (is_trained(b, &g->slots[i]))
            b->params[b->count++] = (param){.name = g->slots[i].name, .weight = g->slots[i].value};
        else
            frozen += g->slots[i].is_trainable;
    }
    if (b->notes != NULL) {
        b->notes->trained = b->count;
        b->notes->frozen = frozen;
    }
    if (b->count == 0) {
        (void)takt_fail(g->ctx, TAKT_E_TRAIN_PARAMETERS, "no parameter is left to train");
        return takt_fail_hint(g->ctx, "weights that are integers or computed are not trained: give "
                                      "the model that it was made of");
    }
    return TAKT_OK;
}

static takt_status differentiate(builder *b)
{
    takt_graph *g = b->g;
    takt_id *in = takt_arena_array(&g->arena, b->count, sizeof *in);
    takt_id *result = takt_arena_array(&g->arena, b->count, sizeof *result);
    if (in == NULL || result == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < b->count; i++)
        in[i] = b->params[i].weight;
    const takt_grad_request request = {.out_count = 1,
                                       .out = &b->site.sum,
                                       .seed = b->scale != TAKT_NONE ? &b->scale : NULL,
                                       .in_count = b->count,
                                       .in = in,
                                       .result = result};
    TAKT_TRY(takt_grad_append(g, &request));
    for (size_t i = 0; i < b->count; i++)
        b->params[i].grad = result[i];
    return TAKT_OK;
}

/* ---- the whole ---- */

static takt_status copy_with(builder *b, const takt_graph *model, takt_id *map)
{
    takt_graph *g = b->g;
    TAKT_TRY(takt_graph_begin_copy(model, g, map));
    TAKT_TRY(takt_grad_copy(model, g, map));
    b->outputs = takt_arena_array(&g->arena, model->output_count + 1, sizeof *b->outputs);
    if (b->outputs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < model->output_count; i++)
        b->outputs[b->output_count++] =
            (takt_port){.name = model->outputs[i].name, .id = map[model->outputs[i].id]};
    for (size_t i = 0; i < model->slot_count; i++)
        if (model->slots[i].next != TAKT_NONE)
            takt_graph_set_next(g, model->slots[i].name, map[model->slots[i].next]);
    return g->status;
}

static takt_status copy_model(builder *b, const takt_graph *model)
{
    void *map;
    TAKT_TRY(takt_mem_zero(model->ctx, model->count, sizeof(takt_id), "a map of nodes", &map));
    const takt_status status = copy_with(b, model, map);
    takt_mem_put(model->ctx, map, model->count * sizeof(takt_id));
    return status;
}

static takt_status add_outputs(builder *b)
{
    takt_graph_output(b->g, TAKT_STEP_SUM, b->site.sum);
    takt_graph_output(b->g, TAKT_STEP_COUNT, b->site.count);
    if (b->site.hits != TAKT_NONE)
        takt_graph_output(b->g, TAKT_STEP_HITS, b->site.hits);
    return b->g->status;
}

static takt_status build(const takt_graph *model, builder *b, bool is_eval)
{
    TAKT_TRY(copy_model(b, model));
    TAKT_TRY(append_loss(b));
    TAKT_TRY(add_outputs(b));
    if (is_eval)
        return TAKT_OK;
    /* Before the gradients, so that a parameter can be updated as soon as its gradient is known. */
    const takt_id size = takt_unary(b->g, &takt_op_abs, b->site.sum);
    b->is_good = takt_is_below(b->g, size, 3e38);
    TAKT_TRY(list_params(b));
    TAKT_TRY(takt_step_begin_scale(b));
    TAKT_TRY(differentiate(b));
    return takt_step_append_update(b);
}

static takt_status make(const takt_graph *model, builder *b, bool is_eval, takt_graph **out)
{
    *out = NULL;
    TAKT_TRY(takt_graph_create(model->ctx, model, &b->g));
    const takt_status status = build(model, b, is_eval);
    if (status == TAKT_OK)
        *out = b->g;
    else
        takt_graph_destroy(b->g);
    return status;
}

takt_status takt_step_build(const takt_graph *model, const takt_step_spec *spec,
                            takt_step_notes *notes, takt_graph **step)
{
    builder b = {.spec = spec, .notes = notes};
    takt_graph *narrow = NULL;
    *step = NULL;
    if (spec->has_amp)
        TAKT_TRY(takt_graph_amp(model, spec->amp, NULL, &narrow));
    takt_status status = make(narrow != NULL ? narrow : model, &b, false, step);
    takt_graph_destroy(narrow);
    if (status == TAKT_OK && spec->has_amp) {
        takt_graph *early = *step;
        status = takt_graph_amp_late(early, b.site.sum, step);
        takt_graph_destroy(early);
    }
    return status;
}

takt_status takt_step_build_eval(const takt_graph *model, const takt_step_spec *spec,
                                 takt_graph **eval)
{
    builder b = {.spec = spec};
    return make(model, &b, true, eval);
}
