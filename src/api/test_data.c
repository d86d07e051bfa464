/* test_data.c - ONNX's test data: files with messages of the types that the model declares. */
#include <string.h>

#include <takt/array.h>

#include "base/mem.h"
#include "io/onnx/payload.h"

/* The values of one file. */
typedef struct values {
    takt_known_input *at;
    size_t count;
    struct values *next;
} values;

struct takt_test_data {
    takt_ctx *ctx;
    takt_arena arena;
    takt_skim skim; /* the model's file: external names are resolved against it */
    takt_pb_model model;
    values *all;
};

static bool is_initializer(const takt_pb_graph *g, takt_span name)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (g->initializers[i].name.length == name.length &&
            memcmp(g->initializers[i].name.at, name.at, name.length) == 0)
            return true;
    return false;
}

/* The declaration that file number `place` belongs to; NULL if the model has none. */
static const takt_pb_value *declared(const takt_test_data *d, bool is_output, size_t place)
{
    const takt_pb_graph *g = d->model.graph;
    if (g == NULL)
        return NULL;
    if (is_output)
        return place < g->output_count ? &g->outputs[place] : NULL;
    for (size_t i = 0; i < g->input_count; i++)
        if (!is_initializer(g, g->inputs[i].name) && place-- == 0)
            return &g->inputs[i];
    return NULL;
}

takt_status takt_test_data_open(takt_ctx *ctx, const char *model, takt_test_data **data)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, model);
    TAKT_NEED(ctx, data);
    void *block;
    *data = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_test_data), "test data", &block));
    takt_test_data *d = block;
    d->ctx = ctx;
    takt_status status = takt_skim_open(ctx, model, &d->skim);
    if (status != TAKT_OK) {
        takt_mem_put(ctx, d, sizeof *d);
        return status;
    }
    takt_arena_init(&d->arena, ctx);
    if (takt_reader_onnx.recognises(d->skim.bytes, d->skim.have)) {
        status = takt_read_skimmed(&d->skim);
        if (status == TAKT_OK)
            status = takt_pb_read_model(&d->arena, d->skim.bytes, d->skim.length, &d->model);
    }
    if (status != TAKT_OK) {
        takt_test_data_close(d);
        return status;
    }
    *data = d;
    return TAKT_OK;
}

void takt_test_data_close(takt_test_data *d)
{
    if (d == NULL)
        return;
    for (values *v = d->all; v != NULL; v = v->next)
        for (size_t i = 0; i < v->count; i++)
            takt_view_free(d->ctx, &v->at[i].view);
    takt_arena_deinit(&d->arena);
    takt_skim_close(&d->skim);
    takt_mem_put(d->ctx, d, sizeof *d);
}

/* ---- one file ---- */

static takt_status add(takt_test_data *d, values *to, const char *name, const takt_pb_tensor *t)
{
    takt_tensor made = {0};
    const takt_source source = {.ctx = d->ctx, .name = "test data"};
    TAKT_TRY(takt_onnx_tensor(&source, t, &made));
    takt_tensor_view view = {.dtype = made.type.dtype, .rank = made.type.rank};
    for (int i = 0; i < made.type.rank; i++)
        view.dims[i] = made.type.dim[i];
    const takt_status status = takt_view_alloc(d->ctx, &view);
    if (status == TAKT_OK) {
        if (takt_tensor_bytes(&made) > 0)
            memcpy(view.data, takt_tensor_data(&made), takt_tensor_bytes(&made));
        to->at[to->count++] = (takt_known_input){.name = name, .view = view};
    }
    takt_tensor_release(&made);
    return status;
}

/* The tensors "x.0", "x.1", ... */
static takt_status add_sequence(takt_test_data *d, values *to, const char *name,
                                const takt_pb_sequence *s)
{
    if (s->sequence_count > 0 || s->optional_count > 0)
        return takt_fail(d->ctx, TAKT_E_ONNX_UNSUPPORTED,
                         "%s is a sequence of sequences or optionals, which Takt does not have",
                         name);
    to->at = takt_arena_array(&d->arena, s->tensor_count, sizeof *to->at);
    if (to->at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < s->tensor_count; i++) {
        const char *item = takt_arena_format(&d->arena, "%s.%zu", name, i);
        if (item == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(add(d, to, item, &s->tensors[i]));
    }
    return TAKT_OK;
}

static takt_status add_tensor(takt_test_data *d, values *to, const char *name,
                              const takt_pb_tensor *t)
{
    to->at = takt_arena_array(&d->arena, 1, sizeof *to->at);
    return to->at != NULL ? add(d, to, name, t) : TAKT_ERR_MEMORY;
}

static takt_status read_values(takt_test_data *d, const takt_pb_type *type, const char *name,
                               takt_span file, values *to)
{
    const uint8_t *bytes = (const uint8_t *)file.at;
    takt_pb_tensor tensor;
    takt_pb_sequence sequence;
    takt_pb_optional optional;
    if (type != NULL && type->optional != NULL) {
        TAKT_TRY(takt_pb_read_optional(&d->arena, bytes, file.length, &optional));
        if (optional.sequence != NULL)
            return add_sequence(d, to, name, optional.sequence);
        return optional.tensor != NULL ? add_tensor(d, to, name, optional.tensor) : TAKT_OK;
    }
    if (type != NULL && type->sequence != NULL) {
        TAKT_TRY(takt_pb_read_sequence(&d->arena, bytes, file.length, &sequence));
        return add_sequence(d, to, name, &sequence);
    }
    TAKT_TRY(takt_pb_read_tensor(&d->arena, bytes, file.length, &tensor));
    enum { U16 = 4, BF16 = 16 }; /* old data stores BF16 as U16 */
    if (type != NULL && type->tensor != NULL && type->tensor->elem == BF16 &&
        tensor.data_type == U16)
        tensor.data_type = BF16;
    return add_tensor(d, to, name, &tensor);
}

takt_status takt_test_data_load(takt_test_data *d, bool is_output, size_t place, const char *path,
                                const takt_known_input **at, size_t *count)
{
    TAKT_NEED(NULL, d);
    void *bytes;
    size_t length;
    *at = NULL;
    *count = 0;
    const takt_pb_value *v = declared(d, is_output, place);
    const char *name = v != NULL ? takt_arena_text(&d->arena, v->name.at, v->name.length) : NULL;
    values *to = takt_arena_array(&d->arena, 1, sizeof *to);
    if (to == NULL || (v != NULL && name == NULL))
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_read_file(d->ctx, path, &bytes, &length));
    to->next = d->all;
    d->all = to;
    takt_status status =
        read_values(d, v != NULL ? v->type : NULL, name, (takt_span){bytes, length}, to);
    takt_mem_put(d->ctx, bytes, length);
    if (status != TAKT_OK && status != TAKT_ERR_MEMORY)
        return takt_fail_in_file(d->ctx, path);
    *at = to->at;
    *count = to->count;
    return status;
}
