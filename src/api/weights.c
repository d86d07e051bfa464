/* weights.c - parameters by name from files and to files, and one kind of file into another. */
#include <takt/weights.h>

#include <stdatomic.h>
#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "io/map.h"
#include "io/read.h"
#include "io/weights/rules.h"
#include "io/weights/weights.h"
#include "ir/edge_index.h"
#include "ir/storage.h"
#include "plan/basis.h"

/* ---- into a model ---- */

enum { ABSENT, FOUND, PLACED }; /* a slot's value in the file */

typedef struct loader {
    takt_model *m;
    takt_arena arena;
    const char *path;
    const takt_weight_rules *rules; /* or NULL */
    uint8_t *slots;                 /* ABSENT, FOUND or PLACED */
    takt_text problems;             /* all that do not fit, in sentences */
    size_t problem_count;
    takt_weights_file file;
} loader;

enum { SHOWN = 8 }; /* of the problems: an error's message has its limit */

static void complain(loader *l, const char *format, ...) TAKT_PRINTF(2, 3);

static void complain(loader *l, const char *format, ...)
{
    va_list args;
    if (l->problem_count++ >= SHOWN)
        return;
    takt_text_add(&l->problems, "%s", l->problem_count > 1 ? "; " : "");
    va_start(args, format);
    takt_text_addv(&l->problems, format, args);
    va_end(args);
}

/* One tensor of the file, and the parameter it is for. */
typedef struct arrival {
    size_t at; /* slot; SIZE_MAX: none */
    const char *name;
    const takt_type *stored;
    const takt_weight_rule *axes; /* the rule that changes their order, or NULL */
    char own[TAKT_WEIGHT_NAME];
} arrival;

/* False: a rule drops it. */
static bool arrive(const loader *l, const char *name, const takt_type *stored, arrival *a)
{
    const takt_weight_rule *rule =
        l->rules != NULL ? takt_weight_rules_find(l->rules, name, a->own) : NULL;
    if (rule != NULL && rule->to == NULL)
        return false;
    a->name = rule != NULL ? a->own : name;
    a->axes = rule != NULL && (rule->swaps || rule->axis_count > 0) ? rule : NULL;
    a->stored = stored;
    a->at = takt_edge_find(l->m->graph, TAKT_EDGE_SLOT, a->name);
    return true;
}

/* The first pass: whether all fit. */
static takt_status find(void *user, const char *file, const char *name, const takt_type *stored,
                        const void *bytes)
{
    loader *l = user;
    const takt_graph *g = l->m->graph;
    char got[TAKT_TYPE_TEXT], want[TAKT_TYPE_TEXT];
    arrival a;
    takt_type type = *stored;
    (void)file;
    (void)bytes;
    if (!arrive(l, name, stored, &a))
        return TAKT_OK;
    if (a.at == SIZE_MAX) {
        takt_log(l->m->ctx, TAKT_LOG_INFO, "%s: %s is not a parameter of the model", l->path,
                 a.name);
        return TAKT_OK;
    }
    if (l->slots[a.at] != ABSENT)
        complain(l, l->rules != NULL ? "%s is there twice" : "%s is in two files", a.name);
    else if (a.axes != NULL && !takt_weight_rule_type(a.axes, stored, &type))
        complain(l, "%s is %s, which does not have the axes of rule %zu", a.name,
                 takt_type_text(g->dims, stored, got), a.axes->line);
    else if (!takt_type_same(g->dims, &g->slots[a.at].type, &type))
        complain(l, "%s is %s, the model has %s", a.name, takt_type_text(g->dims, &type, got),
                 takt_type_text(g->dims, &g->slots[a.at].type, want));
    l->slots[a.at] = FOUND;
    return TAKT_OK;
}

static void write_value(const arrival *a, const void *bytes, const takt_tensor *to)
{
    const size_t count = takt_tensor_bytes(to);
    if (count > 0 && a->axes != NULL)
        takt_weight_rule_move(a->axes, a->stored, bytes, takt_tensor_data(to));
    else if (count > 0)
        memcpy(takt_tensor_data(to), bytes, count);
}

/* The second pass: copies values into the memory of the old ones, unless it is shared or
 * read-only. */
static takt_status place(void *user, const char *file, const char *name, const takt_type *stored,
                         const void *bytes)
{
    loader *l = user;
    const takt_graph *g = l->m->graph;
    arrival a;
    takt_type type = *stored;
    (void)file;
    if (!arrive(l, name, stored, &a) || a.at == SIZE_MAX)
        return TAKT_OK;
    takt_tensor fresh, *to = &l->m->slots[a.at];
    if (l->slots[a.at] != FOUND ||
        (a.axes != NULL && !takt_weight_rule_type(a.axes, stored, &type)) ||
        !takt_type_same(g->dims, &g->slots[a.at].type, &type))
        return takt_fail(l->m->ctx, TAKT_E_FILE_READ, "%s changed while it was read", l->path);
    l->slots[a.at] = PLACED;
    if (a.axes != NULL || !takt_map_tensor(l->file.mapping, l->file.length, &type, bytes, &fresh)) {
        if (to->storage != NULL && to->offset == 0 && takt_storage_room(to->storage) > 0 &&
            takt_type_same(g->dims, &to->type, &type)) {
            write_value(&a, bytes, to);
            return TAKT_OK;
        }
        TAKT_TRY(takt_tensor_create(l->m->ctx, &type, &fresh));
        write_value(&a, bytes, &fresh);
    }
    takt_tensor_release(to);
    *to = fresh;
    return TAKT_OK;
}

static takt_status check(loader *l)
{
    const takt_graph *g = l->m->graph;
    char want[TAKT_TYPE_TEXT];
    for (size_t i = 0; i < g->slot_count; i++)
        if (l->slots[i] == ABSENT && g->slots[i].next == TAKT_NONE)
            complain(l, "%s, %s in the model, is missing", g->slots[i].name,
                     takt_type_text(g->dims, &g->slots[i].type, want));
    TAKT_TRY(l->problems.status);
    if (l->problem_count == 0)
        return TAKT_OK;
    takt_fail(l->m->ctx, TAKT_E_WEIGHTS, "%s does not fit the model in %zu %s: %.800s%s", l->path,
              l->problem_count, l->problem_count == 1 ? "place" : "places",
              takt_text_get(&l->problems), l->problem_count > SHOWN ? "; ..." : "");
    return takt_fail_hint(l->m->ctx, "`takt convert MODEL -o names.safetensors` writes the model's "
                                     "parameters, `takt inspect names.safetensors` lists them");
}

static takt_status fail_without(const takt_model *m, const char *path)
{
    takt_fail(m->ctx, TAKT_E_WEIGHTS, "%s: model %s has no parameters, its weights are constants",
              path, m->graph->name);
    return takt_fail_hint(m->ctx,
                          "constants are saved with the model, as .onnx, .taktp or .takt; only "
                          "parameters that a .takt text declares by name, and initializers of "
                          "an ONNX file, can be read from or written to a file of weights");
}

/* A byte order mark of an editor is skipped, and a zero byte, which would end the text unnoticed,
 * is refused. */
static takt_status rules_text(takt_ctx *ctx, const char *path, const char **text, size_t *length)
{
    static const char mark[3] = {'\xEF', '\xBB', '\xBF'}; /* of UTF-8 */
    if (*length >= sizeof mark && memcmp(*text, mark, sizeof mark) == 0) {
        *text += sizeof mark;
        *length -= sizeof mark;
    }
    if (memchr(*text, '\0', *length) == NULL)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_WEIGHTS, "%s has a zero byte: it is not text", path);
    return takt_fail_hint(ctx, "save it as UTF-8; rules are `their.*.name -> our.*.name`");
}

/* Rules out of a file; a rule without a name to match is reported when the weights have been read.
 */
static takt_status read_rules(loader *l, const char *path, takt_weight_rules *rules)
{
    takt_ctx *ctx = l->m->ctx;
    void *bytes;
    size_t length;
    if (path == NULL)
        return TAKT_OK;
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    const char *from = bytes;
    size_t count = length;
    const takt_status status = rules_text(ctx, path, &from, &count);
    const char *text = status == TAKT_OK ? takt_arena_text(&l->arena, from, count) : NULL;
    takt_mem_put(ctx, bytes, length);
    TAKT_TRY(status);
    if (text == NULL)
        return TAKT_ERR_MEMORY;
    l->rules = rules;
    return takt_weight_rules_read(&l->arena, path, text, rules);
}

static void tell_unused(const loader *l, const char *path)
{
    for (size_t i = 0; l->rules != NULL && i < l->rules->count; i++)
        if (l->rules->at[i].used == 0)
            takt_log(l->m->ctx, TAKT_LOG_WARNING, "%s:%zu: no tensor of %s is called %s", path,
                     l->rules->at[i].line, l->path, l->rules->at[i].from);
}

static takt_status place_all(loader *l)
{
    takt_model *m = l->m;
    atomic_store_explicit(&m->key, 0, memory_order_relaxed);
    takt_basis_forget(m->ctx, &m->bases); /* the old weights are in them */
    TAKT_TRY(takt_weights_pass(&l->file, place, l));
    for (size_t i = 0; i < m->graph->slot_count; i++)
        if (l->slots[i] == FOUND)
            return takt_fail(m->ctx, TAKT_E_FILE_READ, "%s changed while it was read", l->path);
    return TAKT_OK;
}

/* Nothing is replaced before everything fits. */
static takt_status read_weights(loader *l, const char *rules)
{
    TAKT_TRY(takt_weights_open(l->m->ctx, l->path, l->m->maps, &l->file));
    takt_status status = takt_weights_pass_types(&l->file, find, l);
    if (status == TAKT_OK)
        status = check(l);
    if (status == TAKT_OK)
        status = place_all(l);
    if (status == TAKT_OK)
        tell_unused(l, rules);
    takt_weights_close(&l->file);
    return status;
}

takt_status takt_model_load_weights(takt_model *m, const char *path)
{
    return takt_model_load_weights_by(m, path, NULL);
}

takt_status takt_model_load_weights_by(takt_model *m, const char *path, const char *rules)
{
    TAKT_NEED(NULL, m);
    loader l = {.m = m, .path = path};
    takt_weight_rules own;
    if (path == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_load_weights: path is NULL");
    if (m->graph->slot_count == 0)
        return fail_without(m, path);
    takt_arena_init(&l.arena, m->ctx);
    takt_text_init(&l.problems, m->ctx);
    l.slots = takt_arena_array(&l.arena, m->graph->slot_count, sizeof *l.slots);
    takt_status status = l.slots != NULL ? read_rules(&l, rules, &own) : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = read_weights(&l, rules);
    takt_text_deinit(&l.problems);
    takt_arena_deinit(&l.arena);
    return status;
}

takt_status takt_model_save_weights(const takt_model *m, const char *path,
                                    const takt_convert_options *options)
{
    TAKT_NEED(NULL, m);
    takt_arena arena;
    size_t count = 0;
    if (path == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_save_weights: path is NULL");
    if (m->graph->slot_count == 0)
        return fail_without(m, path);
    takt_arena_init(&arena, m->ctx);
    takt_named_tensor *list = takt_arena_array(&arena, m->graph->slot_count, sizeof *list);
    for (size_t i = 0; list != NULL && i < m->graph->slot_count; i++)
        if (m->slots[i].storage != NULL)
            list[count++] = (takt_named_tensor){m->graph->slots[i].name, &m->slots[i]};
    const uint64_t shard_bytes = options != NULL ? options->shard_bytes : 0;
    const takt_status status =
        list != NULL ? takt_weights_save(m->ctx, path, list, count, shard_bytes) : TAKT_ERR_MEMORY;
    takt_arena_deinit(&arena);
    return status;
}

/* ---- from one file to another ---- */

typedef struct gatherer {
    takt_ctx *ctx;
    takt_arena arena;
    takt_tensor *tensors;
    const char **names;
    size_t count, capacity, name_capacity;
} gatherer;

static takt_status gather(void *user, const char *file, const char *name, const takt_type *type,
                          const void *bytes)
{
    gatherer *t = user;
    void *tensors = t->tensors, *names = (void *)t->names;
    (void)file;
    takt_status status =
        takt_mem_grow(t->ctx, &tensors, &t->capacity, t->count + 1, sizeof *t->tensors);
    t->tensors = tensors;
    if (status == TAKT_OK)
        status = takt_mem_grow(t->ctx, &names, &t->name_capacity, t->count + 1, sizeof *t->names);
    t->names = names;
    TAKT_TRY(status);
    t->names[t->count] = takt_arena_text(&t->arena, name, strlen(name));
    if (t->names[t->count] == NULL)
        return TAKT_ERR_MEMORY;
    takt_tensor *to = &t->tensors[t->count];
    TAKT_TRY(takt_tensor_create(t->ctx, type, to));
    if (takt_tensor_bytes(to) > 0)
        memcpy(takt_tensor_data(to), bytes, takt_tensor_bytes(to));
    t->count++;
    return TAKT_OK;
}

static takt_status save(gatherer *t, const char *to, uint64_t shard_bytes)
{
    takt_named_tensor *list = takt_arena_array(&t->arena, t->count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < t->count; i++)
        list[i] = (takt_named_tensor){t->names[i], &t->tensors[i]};
    return list != NULL ? takt_weights_save(t->ctx, to, list, t->count, shard_bytes)
                        : TAKT_ERR_MEMORY;
}

takt_status takt_weights_convert(takt_ctx *ctx, const char *from, const char *to,
                                 const takt_convert_options *options)
{
    gatherer t = {.ctx = ctx};
    if (from == NULL || to == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_weights_convert: a path is NULL");
    char endings[128];
    takt_weights_endings(endings, sizeof endings);
    if (!takt_weights_ending(to))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "%s: weights are written as %s", to, endings);
    takt_arena_init(&t.arena, ctx);
    takt_status status = takt_weights_each(ctx, from, gather, &t);
    if (status == TAKT_OK)
        status = save(&t, to, options != NULL ? options->shard_bytes : 0);
    for (size_t i = 0; i < t.count; i++)
        takt_tensor_release(&t.tensors[i]);
    takt_mem_put(ctx, t.tensors, t.capacity * sizeof *t.tensors);
    takt_mem_put(ctx, (void *)t.names, t.name_capacity * sizeof *t.names);
    takt_arena_deinit(&t.arena);
    return status;
}

takt_status takt_weights_probe(takt_ctx *ctx, const char *path, bool *holds)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, holds);
    uint8_t start[64];
    size_t done = 0;
    takt_file *file;
    *holds = false;
    if (path == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_weights_probe: the path is NULL");
    int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    error = ctx->files.read(ctx->files.user, file, 0, start, sizeof start, &done);
    ctx->files.close(ctx->files.user, file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_READ, path, "read", error);
    *holds = takt_weights_recognises(start, done);
    return TAKT_OK;
}
