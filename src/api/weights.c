/* weights.c - parameters by name, from and to safetensors files, also in parts. */
#include <string.h>

#include "api/model.h"
#include "base/json.h"
#include "base/mem.h"
#include "io/read.h"
#include "io/safetensors/safetensors.h"

typedef struct loader {
    takt_model *m;
    takt_arena arena;
    const char *path;
    takt_tensor *fresh; /* one per slot; storage NULL until found */
} loader;

static const takt_slot *find_slot(const takt_model *m, const char *name, size_t *index)
{
    for (size_t i = 0; i < m->graph->slot_count; i++)
        if (strcmp(m->graph->slots[i].name, name) == 0) {
            *index = i;
            return &m->graph->slots[i];
        }
    return NULL;
}

/* ---- one file ---- */

static takt_status take(loader *l, const char *file, const takt_weight *w, const uint8_t *bytes)
{
    takt_ctx *ctx = l->m->ctx;
    char got[TAKT_TYPE_TEXT], want[TAKT_TYPE_TEXT];
    size_t at = 0;
    const takt_slot *slot = find_slot(l->m, w->name, &at);
    if (slot == NULL) {
        takt_log(ctx, TAKT_LOG_INFO, "%s: %s is no parameter of the model", file, w->name);
        return TAKT_OK;
    }
    if (l->fresh[at].storage != NULL)
        return takt_fail(ctx, TAKT_E_WEIGHTS, "%s: %s is in two files", file, w->name);
    if (!takt_type_same(l->m->graph->dims, &slot->type, &w->type))
        return takt_fail(ctx, TAKT_E_WEIGHTS, "%s: %s is %s, the model has %s", file, w->name,
                         takt_type_text(l->m->graph->dims, &w->type, got),
                         takt_type_text(l->m->graph->dims, &slot->type, want));
    TAKT_TRY(takt_tensor_create(ctx, &w->type, &l->fresh[at]));
    if (w->bytes > 0)
        memcpy(takt_tensor_data(&l->fresh[at]), bytes + w->offset, w->bytes);
    return TAKT_OK;
}

static takt_status take_all(loader *l, const char *file, const uint8_t *bytes, size_t length)
{
    takt_weight_list weights;
    TAKT_TRY(takt_safetensors_read(&l->arena, file, bytes, length, &weights));
    for (size_t i = 0; i < weights.count; i++)
        TAKT_TRY(take(l, file, &weights.at[i], bytes));
    return TAKT_OK;
}

/* ---- in parts ---- */

static takt_status read_part(loader *l, const char *folder, const char *name, void **bytes,
                             size_t *length)
{
    takt_ctx *ctx = l->m->ctx;
    takt_file *file;
    uint64_t size = 0;
    size_t done = 0;
    if (ctx->files.open_beneath(ctx->files.user, folder, name, 0, &file) != 0)
        return takt_fail(ctx, TAKT_E_FILE_OPEN, "%s: cannot open the part %s beneath %s", l->path,
                         name, folder);
    int error = ctx->files.size(ctx->files.user, file, &size);
    takt_status status = TAKT_OK;
    if (error != 0 || size > ctx->limits.file_bytes || size > SIZE_MAX)
        status = takt_fail(ctx, TAKT_E_FILE_SIZE, "%s: the part %s is too large", l->path, name);
    else
        status = takt_mem_get(ctx, (size_t)size, "weights", bytes);
    if (status == TAKT_OK) {
        *length = (size_t)size;
        error = ctx->files.read(ctx->files.user, file, 0, *bytes, *length, &done);
        if (error != 0 || done != *length) {
            takt_mem_put(ctx, *bytes, *length);
            status = takt_fail(ctx, TAKT_E_FILE_READ, "%s: cannot read the part %s", l->path, name);
        }
    }
    ctx->files.close(ctx->files.user, file);
    return status;
}

static bool is_new(const takt_json *first, const takt_json *v)
{
    for (const takt_json *p = first; p != v; p = takt_json_next(p))
        if (p->text_length == v->text_length && memcmp(p->text, v->text, v->text_length) == 0)
            return false;
    return true;
}

static takt_status take_index(loader *l, const uint8_t *bytes, size_t length)
{
    const takt_json *root;
    TAKT_TRY(takt_json_parse(l->m->ctx, &l->arena, (const char *)bytes, length, &root));
    const takt_json *map =
        root->kind == TAKT_JSON_OBJECT ? takt_json_get(root, "weight_map") : NULL;
    if (map == NULL || map->kind != TAKT_JSON_OBJECT)
        return takt_fail(l->m->ctx, TAKT_E_SAFETENSORS, "%s: weight_map is missing", l->path);
    const char *slash = strrchr(l->path, '/');
    const char *folder =
        slash == NULL ? "." : takt_arena_text(&l->arena, l->path, (size_t)(slash - l->path) + 1);
    if (folder == NULL)
        return TAKT_ERR_MEMORY;
    const takt_json *first = takt_json_first(map);
    for (const takt_json *v = first; v != NULL; v = takt_json_next(v)) {
        void *part = NULL;
        size_t part_length = 0;
        if (v->kind != TAKT_JSON_STRING || strlen(v->text) != v->text_length)
            return takt_fail(l->m->ctx, TAKT_E_SAFETENSORS, "%s: the file of %s is no name",
                             l->path, v->key);
        if (!is_new(first, v))
            continue;
        TAKT_TRY(read_part(l, folder, v->text, &part, &part_length));
        const takt_status status = take_all(l, v->text, part, part_length);
        takt_mem_put(l->m->ctx, part, part_length);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

/* ---- all ---- */

static takt_status check_complete(const loader *l)
{
    const takt_graph *g = l->m->graph;
    for (size_t i = 0; i < g->slot_count; i++)
        if (l->fresh[i].storage == NULL && g->slots[i].next == TAKT_NONE)
            return takt_fail(l->m->ctx, TAKT_E_WEIGHTS, "%s has no parameter %s", l->path,
                             g->slots[i].name);
    return TAKT_OK;
}

static takt_status load(loader *l)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(l->m->ctx, l->path, &bytes, &length));
    takt_status status =
        length > 0 && *(const char *)bytes == '{' && !takt_safetensors_recognises(bytes, length)
            ? take_index(l, bytes, length)
            : take_all(l, l->path, bytes, length);
    takt_mem_put(l->m->ctx, bytes, length);
    return status == TAKT_OK ? check_complete(l) : status;
}

takt_status takt_model_load_weights(takt_model *m, const char *path)
{
    loader l = {.m = m, .path = path};
    if (path == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_load_weights: path is NULL");
    takt_arena_init(&l.arena, m->ctx);
    const size_t count = m->graph->slot_count;
    l.fresh = takt_arena_array(&l.arena, count, sizeof *l.fresh);
    takt_status status = l.fresh != NULL ? load(&l) : TAKT_ERR_MEMORY;
    for (size_t i = 0; l.fresh != NULL && i < count; i++) {
        if (status != TAKT_OK || l.fresh[i].storage == NULL) {
            takt_tensor_release(&l.fresh[i]);
            continue;
        }
        takt_tensor_release(&m->slots[i]);
        m->slots[i] = l.fresh[i];
    }
    takt_arena_deinit(&l.arena);
    return status;
}

takt_status takt_model_save_weights(const takt_model *m, const char *path)
{
    takt_arena arena;
    void *bytes = NULL;
    size_t length = 0, count = 0;
    if (path == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_save_weights: path is NULL");
    takt_arena_init(&arena, m->ctx);
    takt_named_tensor *list = takt_arena_array(&arena, m->graph->slot_count, sizeof *list);
    for (size_t i = 0; list != NULL && i < m->graph->slot_count; i++)
        if (m->slots[i].storage != NULL)
            list[count++] = (takt_named_tensor){m->graph->slots[i].name, &m->slots[i]};
    takt_status status = list != NULL ? takt_safetensors_write(m->ctx, list, count, &bytes, &length)
                                      : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = takt_write_file(m->ctx, path, bytes, length);
    takt_mem_put(m->ctx, bytes, length);
    takt_arena_deinit(&arena);
    return status;
}
