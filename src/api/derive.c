/* derive.c - models made from models: a part of one, or one for many samples. */
#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/written.h"
#include "grad/grad.h"
#include "pass/pass.h"

takt_status takt_split_names(takt_arena *arena, const char *text, const char *const **names,
                             size_t *count)
{
    size_t room = 0;
    *count = 0;
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        room += at == text || *at == ',';
    const char **made = takt_arena_array(arena, room, sizeof *made);
    *names = made;
    if (made == NULL)
        return TAKT_ERR_MEMORY;
    for (const char *at = text; at != NULL && *at != '\0';) {
        const size_t length = takt_written_length(at, ",");
        char *name = length > 0 ? takt_arena_text(arena, at, length) : NULL;
        size_t kept;
        if (length > 0 && name == NULL)
            return TAKT_ERR_MEMORY;
        if (name != NULL && takt_written_read((takt_span){at, length}, name, length, &kept))
            name[kept] = '\0'; /* else it is unchanged, and names nothing */
        if (name != NULL)
            made[(*count)++] = name;
        at += length + (at[length] == ',');
    }
    return TAKT_OK;
}

/* State that a derived graph adds and that starts as zeros, such as an optimizer's: the zeros are
 * not stored, sessions clear theirs. */
static bool begins_as_zeros(const takt_slot *slot)
{
    return slot->init.kind == TAKT_INIT_CONSTANT && slot->init.a == 0 && !slot->is_trainable &&
           takt_type_is_concrete(&slot->type);
}

/* The values of slots come from the model; a slot whose type changed is initialised again. */
static takt_status fill(const takt_model *from, takt_model *m)
{
    const takt_graph *g = m->graph;
    m->seed = from->seed;
    m->slots = takt_arena_array(&m->arena, g->slot_count, sizeof *m->slots);
    if (m->slots == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *slot = takt_graph_find_slot(from->graph, g->slots[i].name);
        const takt_tensor *value = slot != NULL ? &from->slots[slot - from->graph->slots] : NULL;
        if (value != NULL && value->storage != NULL &&
            takt_type_same(g->dims, &value->type, &g->slots[i].type)) {
            m->slots[i] = *value;
            takt_storage_retain(value->storage);
        } else if (slot == NULL && begins_as_zeros(&g->slots[i])) {
            m->slots[i] = (takt_tensor){.type = g->slots[i].type};
        } else {
            TAKT_TRY(takt_slot_fill(m->ctx, &g->slots[i], m->seed, &m->slots[i]));
        }
    }
    TAKT_TRY(takt_describe_ports(&m->arena, g, g->inputs, g->input_count, &m->inputs));
    return takt_describe_ports(&m->arena, g, g->outputs, g->output_count, &m->outputs);
}

takt_status takt_model_derive(const takt_model *from, takt_graph *graph, takt_model **out)
{
    void *block = NULL;
    *out = NULL;
    takt_status status = takt_mem_zero(from->ctx, 1, sizeof(takt_model), "model", &block);
    if (status != TAKT_OK) {
        takt_graph_destroy(graph);
        return status;
    }
    takt_model *m = block;
    m->ctx = from->ctx;
    m->graph = graph;
    takt_arena_init(&m->arena, m->ctx);
    status = fill(from, m);
    if (status == TAKT_OK)
        *out = m;
    else
        takt_model_destroy(m);
    return status;
}

takt_status takt_model_extract(const takt_model *model, const char *from, const char *to,
                               takt_model **part)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, part);
    takt_arena arena;
    takt_cut cut = {.keep_inputs = false};
    takt_graph *graph = NULL;
    *part = NULL;
    takt_arena_init(&arena, model->ctx);
    takt_status status = takt_split_names(&arena, from, &cut.from, &cut.from_count);
    if (status == TAKT_OK)
        status = takt_split_names(&arena, to, &cut.to, &cut.to_count);
    if (status == TAKT_OK)
        status = takt_graph_extract(model->graph, &cut, &graph);
    takt_arena_deinit(&arena);
    return status == TAKT_OK ? takt_model_derive(model, graph, part) : status;
}

takt_status takt_model_sized(const takt_model *model, const char *sizes, takt_model **sized)
{
    takt_arena arena;
    takt_graph *graph = NULL;
    int64_t *numbers;
    size_t count;
    *sized = NULL;
    takt_arena_init(&arena, model->ctx);
    takt_status status =
        takt_parse_sizes(model->ctx, &arena, model->graph->dims, sizes, &numbers, &count);
    if (status == TAKT_OK)
        status = takt_graph_specialize(model->graph, numbers, count, &graph);
    takt_arena_deinit(&arena);
    if (status == TAKT_OK)
        status = takt_model_derive(model, graph, sized);
    if (status == TAKT_OK && model->lineage != NULL) {
        const size_t length = strlen(model->lineage);
        (*sized)->lineage = takt_arena_text(&(*sized)->arena, model->lineage, length);
        status = (*sized)->lineage != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    if (status != TAKT_OK) {
        takt_model_destroy(*sized);
        *sized = NULL;
    }
    return status;
}

takt_status takt_model_batch(const takt_model *model, const char *dim, takt_model **batched)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, batched);
    takt_graph *graph;
    *batched = NULL;
    if (dim == NULL)
        return takt_fail(model->ctx, TAKT_E_ARGUMENT, "takt_model_batch: dim is NULL");
    TAKT_TRY(takt_graph_batch(model->graph, dim, false, &graph));
    return takt_model_derive(model, graph, batched);
}

takt_status takt_model_batch_active(const takt_model *model, const char *dim, takt_model **batched)
{
    takt_graph *graph;
    *batched = NULL;
    TAKT_TRY(takt_graph_batch(model->graph, dim, true, &graph));
    return takt_model_derive(model, graph, batched);
}

takt_status takt_model_grow(const takt_model *model, int64_t room, takt_model **grown)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, grown);
    takt_graph *graph;
    *grown = NULL;
    if (room < 1 || room > INT32_MAX)
        return takt_fail(model->ctx, TAKT_E_ARGUMENT,
                         "takt_model_grow: room for %lld rows; it is 1 to %d", (long long)room,
                         INT32_MAX);
    TAKT_TRY(takt_graph_grow(model->graph, room, &graph));
    return takt_model_derive(model, graph, grown);
}

takt_status takt_model_gradient(const takt_model *model, const char *output, const char *names,
                                takt_model **gradient)
{
    takt_arena arena;
    const char *const *list = NULL;
    size_t count = 0;
    takt_graph *graph = NULL;
    if (gradient != NULL)
        *gradient = NULL;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    if (gradient == NULL || model->graph->output_count == 0)
        return takt_fail(model->ctx, TAKT_E_ARGUMENT, "takt_model_gradient: gradient is NULL");
    if (output == NULL)
        output = model->graph->outputs[0].name;
    takt_arena_init(&arena, model->ctx);
    takt_status status = takt_split_names(&arena, names, &list, &count);
    if (status == TAKT_OK)
        status =
            takt_grad(model->ctx, model->graph, output, names != NULL ? list : NULL, count, &graph);
    takt_arena_deinit(&arena);
    return status == TAKT_OK ? takt_model_derive(model, graph, gradient) : status;
}
