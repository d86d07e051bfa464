/* model.c - loading a model. */
#include "api/model.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "io/map.h"
#include "io/read.h"
#include "ir/normal.h"
#include "plan/basis.h"

/* ---- descriptions ---- */

static takt_status describe(takt_arena *arena, const takt_graph *g, const takt_port *port,
                            takt_desc *desc)
{
    const takt_type *type = takt_type_of(g, port->id);
    desc->name = takt_arena_text(arena, port->name, strlen(port->name));
    desc->dtype = type->dtype;
    desc->rank = type->rank;
    for (int d = 0; d < type->rank; d++) {
        takt_dim dim;
        TAKT_TRY(takt_dim_resolve(g->dims, type->dim[d], &dim));
        desc->dims[d] = takt_dim_is_number(dim) ? dim : -1;
        if (takt_dim_is_number(dim))
            continue;
        takt_text text;
        takt_text_init(&text, g->ctx);
        takt_dim_print(g->dims, dim, &text);
        if (text.status == TAKT_OK)
            desc->dim_names[d] = takt_arena_text(arena, takt_text_get(&text), text.length);
        takt_text_deinit(&text);
        if (desc->dim_names[d] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return desc->name != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_describe_ports(takt_arena *arena, const takt_graph *g, const takt_port *ports,
                                size_t count, takt_desc **out)
{
    *out = takt_arena_array(arena, count, sizeof **out);
    if (*out == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        TAKT_TRY(describe(arena, g, &ports[i], &(*out)[i]));
    return TAKT_OK;
}

/* ---- loading ---- */

static takt_status fill_model(takt_model *m, uint64_t seed)
{
    const takt_graph *g = m->graph;
    m->seed = seed;
    m->slots = takt_arena_array(&m->arena, g->slot_count, sizeof *m->slots);
    if (m->slots == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->slot_count; i++)
        TAKT_TRY(takt_slot_fill(m->ctx, &g->slots[i], seed, &m->slots[i]));
    (void)takt_dims_hold(g->dims); /* names have their final meaning: passes find nothing new */
    TAKT_TRY(takt_describe_ports(&m->arena, g, g->inputs, g->input_count, &m->inputs));
    return takt_describe_ports(&m->arena, g, g->outputs, g->output_count, &m->outputs);
}

takt_status takt_model_make(takt_ctx *ctx, takt_graph *graph, uint64_t seed, takt_model **model)
{
    void *block;
    *model = NULL;
    takt_status status = takt_mem_zero(ctx, 1, sizeof(takt_model), "model", &block);
    if (status != TAKT_OK) {
        takt_graph_destroy(graph);
        return status;
    }
    takt_model *m = block;
    m->ctx = ctx;
    m->graph = graph;
    takt_arena_init(&m->arena, ctx);
    status = fill_model(m, seed);
    if (status == TAKT_OK)
        *model = m;
    else
        takt_model_destroy(m);
    return status;
}

static takt_status read_model(takt_model *m, takt_source *source, const takt_load_options *options)
{
    takt_text complaints;
    takt_text_init(&complaints, m->ctx);
    source->complaints = options->complaint != NULL ? &complaints : NULL;
    takt_text lineage;
    takt_text_init(&lineage, m->ctx);
    source->lineage = &lineage;
    source->training = false;
    takt_status status = takt_read_graph(source, &m->graph);
    if (status == TAKT_OK && lineage.length > 0) {
        m->lineage = takt_arena_text(&m->arena, lineage.at, lineage.length);
        status = m->lineage != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    takt_text_deinit(&lineage);
    source->training = options->training;
    source->lineage = NULL;
    if (status == TAKT_OK && options->training)
        status = takt_read_graph(source, &m->training);
    if (complaints.length > 0 && options->complaint != NULL)
        options->complaint(options->complaint_user, complaints.at, complaints.length);
    takt_text_deinit(&complaints);
    return status == TAKT_OK ? fill_model(m, options->seed) : status;
}

static void drop_known(takt_fixed *fixed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        takt_tensor_release(&fixed[i].tensor);
}

/* The caller's views of inputs as tensors; `*fixed` lies in the model's arena. */
static takt_status take_known(takt_model *m, const takt_load_options *o, takt_fixed **fixed)
{
    *fixed = takt_arena_array(&m->arena, o->known_count, sizeof **fixed);
    if (*fixed == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < o->known_count; i++) {
        const takt_tensor_view *v = &o->known[i].view;
        takt_fixed *f = &(*fixed)[i];
        size_t bytes;
        f->name = o->known[i].name;
        f->tensor.type = (takt_type){.dtype = v->dtype, .rank = v->rank};
        for (int d = 0; d < v->rank && d < TAKT_MAX_RANK; d++)
            f->tensor.type.dim[d] = v->dims[d];
        const bool is_shape = v->data == NULL && v->dtype == TAKT_DTYPE_COUNT;
        bytes = 0;
        if (v->rank < 0 || v->rank > TAKT_MAX_RANK ||
            (!is_shape && !takt_type_bytes(&f->tensor.type, &bytes)))
            return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_load: known input %zu is invalid",
                             i);
        if (v->device != 0)
            return takt_fail(m->ctx, TAKT_E_DEVICE,
                             "takt_model_load: known input %zu lies in the memory of device %d", i,
                             (int)v->device);
        const size_t bad =
            v->data != NULL ? takt_normal_check(&f->tensor.type, v->data, bytes) : bytes;
        if (bad < bytes)
            return takt_fail(m->ctx, TAKT_E_BINDING, "known input %zu: " TAKT_NORMAL_BOOL, i, bad,
                             ((const uint8_t *)v->data)[bad]);
        if (v->data != NULL)
            TAKT_TRY(takt_storage_borrow(m->ctx, v->data, bytes, NULL, NULL, &f->tensor.storage));
    }
    return TAKT_OK;
}

static takt_status load(takt_ctx *ctx, takt_source *source, const takt_load_options *options,
                        takt_model **out)
{
    takt_load_options own;
    TAKT_TRY(takt_options_read(ctx, "takt_load_options", options, &own, sizeof own));
    options = &own;
    source->ctx = ctx;
    source->model = options->model;
    source->allow_links = options->allow_links;
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_model), "model", &block));
    takt_model *m = block;
    m->ctx = ctx;
    m->maps = options->map;
    takt_arena_init(&m->arena, ctx);
    takt_fixed *fixed;
    takt_status status = take_known(m, options, &fixed);
    source->fixed = options->known != NULL ? fixed : NULL;
    source->fixed_count = options->known_count;
    source->sizes = options->sizes;
    source->keep_scales = options->keep_scales;
    source->dense_limit = options->dense_limit;
    if (status == TAKT_OK)
        status = read_model(m, source, options);
    if (fixed != NULL)
        drop_known(fixed, options->known_count);
    if (status != TAKT_OK) {
        takt_model_destroy(m);
        return status;
    }
    *out = m;
    return TAKT_OK;
}

static takt_status folder_of(takt_ctx *ctx, const char *path, char **folder, size_t *bytes)
{
    const char *slash = strrchr(path, '/');
    const char *from = slash == NULL ? "." : path;
    const size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    void *block;
    *bytes = length + 1;
    TAKT_TRY(takt_mem_get(ctx, *bytes, "path", &block));
    memcpy(block, from, length);
    *folder = block;
    (*folder)[length] = '\0';
    return TAKT_OK;
}

takt_status takt_model_load(takt_ctx *ctx, const char *path, const takt_load_options *options,
                            takt_model **model)
{
    TAKT_NEED(ctx, model);
    return takt_model_load_listing(ctx, path, options, NULL, model);
}

/* `source` for a file whose folder may hold more of the model. */
static takt_status load_in_folder(takt_ctx *ctx, const char *path, takt_source source,
                                  const takt_load_options *options, takt_model **model)
{
    size_t folder_bytes;
    char *folder;
    TAKT_TRY(folder_of(ctx, path, &folder, &folder_bytes));
    source.folder = folder;
    const takt_status status = load(ctx, &source, options, model);
    takt_mem_put(ctx, folder, folder_bytes);
    return status;
}

static takt_status load_file(takt_ctx *ctx, const char *path, const takt_load_options *options,
                             takt_refusals *refusals, takt_model **model)
{
    takt_load_options own;
    TAKT_TRY(takt_options_read(ctx, "takt_load_options", options, &own, sizeof own));
    if (own.map) {
        takt_storage *mapping;
        size_t length;
        TAKT_TRY(takt_map_file(ctx, path, &mapping, &length));
        if (mapping != NULL) {
            const takt_source whole = {.name = path,
                                       .bytes = takt_storage_data(mapping),
                                       .length = length,
                                       .mapping = mapping,
                                       .refusals = refusals};
            const takt_status status = load_in_folder(ctx, path, whole, options, model);
            takt_storage_release(mapping);
            return status;
        }
    }
    takt_skim skim;
    TAKT_TRY(takt_skim_open(ctx, path, &skim));
    takt_status status = takt_read_skimmed(&skim);
    if (status == TAKT_OK) {
        const takt_source source = {.name = path,
                                    .bytes = skim.bytes,
                                    .length = skim.length,
                                    .skim = &skim,
                                    .refusals = refusals};
        status = load_in_folder(ctx, path, source, options, model);
    }
    takt_skim_close(&skim);
    return status;
}

/* Loads a folder by its config.json; a folder without one is not a model. */
takt_status takt_model_load_listing(takt_ctx *ctx, const char *path,
                                    const takt_load_options *options, takt_refusals *refusals,
                                    takt_model **model)
{
    takt_text inside;
    *model = NULL;
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    if (path == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_model_load: path is NULL");
    if (takt_file_refusal(ctx, path) != EISDIR)
        return load_file(ctx, path, options, refusals, model);
    takt_text_init(&inside, ctx);
    takt_text_add(&inside, "%s/config.json", path);
    takt_status status = inside.status;
    if (status == TAKT_OK) {
        const bool has_none = takt_file_refusal(ctx, takt_text_get(&inside)) == ENOENT;
        status = load_file(ctx, has_none ? path : takt_text_get(&inside), options, refusals, model);
    }
    takt_text_deinit(&inside);
    return status;
}

takt_status takt_model_load_memory(takt_ctx *ctx, const char *name, const void *bytes,
                                   size_t length, const takt_load_options *options,
                                   takt_model **model)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, model);
    *model = NULL;
    if (bytes == NULL && length > 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_model_load_memory: bytes is NULL");
    takt_source source = {.name = name != NULL ? name : "memory", .bytes = bytes, .length = length};
    return load(ctx, &source, options, model);
}

void takt_model_destroy(takt_model *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; m->slots != NULL && i < m->graph->slot_count; i++)
        takt_tensor_release(&m->slots[i]);
    takt_graph_destroy(m->graph);
    takt_graph_destroy(m->training);
    takt_basis_forget(m->ctx, &m->bases); /* last: then plans alone hold their subgraphs */
    takt_arena_deinit(&m->arena);
    takt_mem_put(m->ctx, m, sizeof *m);
}

/* ---- reading ---- */

const char *takt_model_name(const takt_model *model)
{
    if (model == NULL)
        return NULL;
    return model->graph->name;
}

size_t takt_model_input_count(const takt_model *model)
{
    if (model == NULL)
        return 0;
    return model->graph->input_count;
}

size_t takt_model_output_count(const takt_model *model)
{
    if (model == NULL)
        return 0;
    return model->graph->output_count;
}

const takt_desc *takt_model_input(const takt_model *model, size_t index)
{
    if (model == NULL)
        return NULL;
    return index < model->graph->input_count ? &model->inputs[index] : NULL;
}

const takt_desc *takt_model_output(const takt_model *model, size_t index)
{
    if (model == NULL)
        return NULL;
    return index < model->graph->output_count ? &model->outputs[index] : NULL;
}
