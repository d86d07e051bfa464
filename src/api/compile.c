/* compile.c - a model into a file: compiled, as text, as ONNX, or as TensorFlow Lite. */
#include <string.h>

#include <takt/version.h>

#include "api/lineage.h"
#include "api/model.h"
#include "api/opts.h"
#include "base/mem.h"
#include "base/options.h"
#include "io/onnx/write/write.h"
#include "io/read.h"
#include "io/takt/taktp.h"
#include "io/tflite/write/write.h"
#include "ir/edge_index.h"
#include "ir/late.h"
#include "op/ops.h"
#include "pass/passes.h"
#include "text/pack.h"

/* ---- formats ---- */

/* `source`: the file that the model came from, whose tokenizer is kept; or NULL. */
static takt_status save_taktp(const takt_graph *g, const takt_tensor *slots, const char *path,
                              const char *lineage, const char *source)
{
    takt_text tokens;
    takt_text_init(&tokens, g->ctx);
    takt_status status = source != NULL ? takt_tokenizer_pack(g->ctx, source, &tokens) : TAKT_OK;
    if (status == TAKT_OK)
        status = takt_taktp_save(&(takt_taktp_parts){.graph = g,
                                                     .slots = slots,
                                                     .lineage = lineage,
                                                     .tokens = {tokens.at, tokens.length}},
                                 path);
    takt_text_deinit(&tokens);
    return status;
}

static takt_status save_onnx(const takt_graph *g, const takt_tensor *slots, const char *path,
                             const char *lineage)
{
    static const char *const keys[] = {"takt.lineage"};
    const takt_onnx_options options = {.slots = slots,
                                       .version = takt_version(),
                                       .keys = keys,
                                       .values = &lineage,
                                       .entry_count = 1};
    return takt_onnx_write(g, &options, path);
}

/* Parameters that still have the initial value of the text are written as in the text. */
static takt_status save_text(const takt_model *m, const takt_graph *g, const takt_tensor *slots,
                             const char *path)
{
    takt_arena arena;
    takt_text text;
    takt_arena_init(&arena, m->ctx);
    takt_text_init(&text, m->ctx);
    takt_tensor *given = takt_arena_array(&arena, g->slot_count + 1, sizeof *given);
    takt_status status = given != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && slots != NULL && i < g->slot_count; i++) {
        takt_tensor first;
        if (slots[i].storage == NULL)
            continue;
        status = takt_slot_fill(m->ctx, &g->slots[i], 0, &first);
        if (status != TAKT_OK)
            break;
        const size_t bytes = takt_tensor_bytes(&slots[i]);
        if (g->slots[i].init.kind == TAKT_INIT_TENSOR || first.storage == NULL ||
            memcmp(takt_tensor_data(&first), takt_tensor_data(&slots[i]), bytes) != 0)
            given[i] = slots[i];
        takt_tensor_release(&first);
    }
    if (status == TAKT_OK)
        takt_graph_print(g, &(takt_print_options){.slots = given}, &text);
    if (status == TAKT_OK)
        status = takt_write_text(m->ctx, path, &text);
    takt_text_deinit(&text);
    takt_arena_deinit(&arena);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* ---- what is written ---- */

static bool is_no_einsum(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op != &takt_op_einsum;
}

/* Products inside einsums have weights too. */
static takt_status narrow(const takt_graph *in, takt_dtype precision, takt_graph **out)
{
    takt_graph *lowered;
    TAKT_TRY(takt_graph_lower(in, is_no_einsum, NULL, &lowered));
    const takt_status status = takt_graph_narrow(lowered, precision, NULL, out);
    takt_graph_destroy(lowered);
    return status;
}

/* Passes that only suit our own kernels are left out. */
static takt_status optimized(const takt_model *m, const takt_graph *sized, takt_dtype precision,
                             takt_graph **out)
{
    takt_graph *frozen, *passed = NULL, *half = NULL;
    takt_pipeline_options pipeline = {0};
    TAKT_TRY(takt_pass_choose(m->ctx, "-layout,-padded-taps,-winograd", &pipeline.choice));
    TAKT_TRY(takt_graph_freeze(sized, m->slots, &frozen));
    takt_status status = takt_pipeline_run(m->ctx, frozen, &pipeline, &passed);
    takt_graph_destroy(frozen);
    if (status == TAKT_OK && precision != TAKT_F32)
        status = narrow(passed, precision, &half);
    if (status == TAKT_OK)
        status =
            takt_pass_apply(&takt_pass_fold_constants, half != NULL ? half : passed, NULL, out);
    takt_graph_destroy(half);
    takt_graph_destroy(passed);
    return status;
}

/* The model's graph with sizes substituted, and optimised, as the options say. */
static takt_status prepare(const takt_model *m, const takt_save_options *o, takt_graph **out)
{
    takt_arena arena;
    takt_graph *sized = NULL;
    int64_t *sizes;
    size_t count;
    takt_arena_init(&arena, m->ctx);
    takt_status status = takt_parse_sizes(m->ctx, &arena, m->graph->dims, o->sizes, &sizes, &count);
    if (status == TAKT_OK)
        status = takt_graph_specialize(m->graph, sizes, count, &sized);
    takt_arena_deinit(&arena);
    takt_dtype precision = TAKT_F32;
    if (status == TAKT_OK)
        status = takt_precision_of(m->ctx, o->precision, &precision);
    if (status != TAKT_OK || (!o->optimize && precision == TAKT_F32)) {
        *out = sized;
        return status;
    }
    status = optimized(m, sized, precision, out);
    takt_graph_destroy(sized);
    return status;
}

/* The values of the slots of `g`, which is derived from the model's graph: found by name. */
static takt_status slots_of(const takt_model *m, const takt_graph *g, takt_arena *arena,
                            takt_tensor **slots)
{
    *slots = takt_arena_array(arena, g->slot_count + 1, sizeof **slots);
    for (size_t i = 0; *slots != NULL && i < g->slot_count; i++) {
        const size_t at = takt_edge_find(m->graph, TAKT_EDGE_SLOT, g->slots[i].name);
        if (at != SIZE_MAX)
            (*slots)[i] = m->slots[at];
    }
    return *slots != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* Whether the path is that of a compiled model, and of no other form. */
static bool is_compiled(const char *path)
{
    return !ends_with(path, ".onnx") && !ends_with(path, ".tflite") && !ends_with(path, ".takt");
}

/* Weights that are still in their file, before anything is written; a compiled model takes them one
 * by one. */
static takt_status bring(const takt_graph *g, const takt_tensor *slots, const char *path)
{
    if (is_compiled(path))
        return takt_late_check(g->ctx);
    for (size_t i = 0; i < g->tensor_count; i++)
        TAKT_TRY(takt_storage_settle(g->tensors[i]->storage));
    for (size_t i = 0; i < g->slot_count; i++)
        TAKT_TRY(takt_storage_settle(slots[i].storage));
    return takt_late_check(g->ctx);
}

static takt_status save(const takt_model *m, const takt_graph *g, const takt_save_options *o,
                        const char *path)
{
    takt_arena arena;
    takt_text lineage;
    takt_tensor *slots;
    takt_arena_init(&arena, m->ctx);
    takt_text_init(&lineage, m->ctx);
    takt_status status = takt_lineage_write(m, o, &lineage);
    if (status == TAKT_OK)
        status = slots_of(m, g, &arena, &slots);
    if (status == TAKT_OK)
        status = bring(g, slots, path);
    if (status == TAKT_OK && ends_with(path, ".onnx"))
        status = save_onnx(g, slots, path, takt_text_get(&lineage));
    else if (status == TAKT_OK && ends_with(path, ".tflite"))
        status = takt_tflite_write(
            g, &(takt_tflite_options){.slots = slots, .lineage = takt_text_get(&lineage)}, path);
    else if (status == TAKT_OK && ends_with(path, ".takt"))
        status = save_text(m, g, slots, path);
    else if (status == TAKT_OK)
        status = save_taktp(g, slots, path, takt_text_get(&lineage), o->source);
    takt_text_deinit(&lineage);
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_model_save(const takt_model *m, const char *path, const takt_save_options *options)
{
    TAKT_NEED(NULL, m);
    takt_save_options o;
    TAKT_TRY(takt_options_read(m->ctx, "takt_save_options", options, &o, sizeof o));
    if (path == NULL)
        return takt_fail(m->ctx, TAKT_E_ARGUMENT, "takt_model_save: path is NULL");
    takt_graph *made = NULL;
    takt_status status = TAKT_OK;
    if (o.optimize || o.sizes != NULL || o.precision != NULL)
        status = prepare(m, &o, &made);
    if (status == TAKT_OK)
        status = save(m, made != NULL ? made : m->graph, &o, path);
    takt_graph_destroy(made);
    return status;
}

const char *takt_model_lineage(const takt_model *m)
{
    if (m == NULL)
        return NULL;
    return m->lineage;
}
