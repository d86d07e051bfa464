/* emit.c - tensors and operators of the model that is written. */
#include "io/tflite/write/emit.h"

#include <string.h>

#include "base/mem.h"
#include "ir/dtype.h"

#define TAKT_TFLW(stem) extern const takt_tflw_emitter takt_tflw_op_##stem;
#include "tflw_list.inc"
#undef TAKT_TFLW

static const takt_tflw_emitter *const emitters[] = {
#define TAKT_TFLW(stem) &takt_tflw_op_##stem,
#include "tflw_list.inc"
#undef TAKT_TFLW
};

takt_tflw_fn *takt_tflw_emitter_of(const takt_op *op)
{
    for (size_t i = 0; i < sizeof emitters / sizeof *emitters; i++)
        for (size_t k = 0; k < 32 && emitters[i]->ops[k] != NULL; k++)
            if (emitters[i]->ops[k] == op)
                return emitters[i]->emit;
    return NULL;
}

void takt_tflw_fail(takt_tflw *w, const char *format, ...)
{
    if (w->status != TAKT_OK)
        return;
    takt_text reason;
    va_list args;
    takt_text_init(&reason, w->ctx);
    va_start(args, format);
    takt_text_addv(&reason, format, args);
    va_end(args);
    const takt_node *n = &w->g->nodes[w->id];
    const char *name = n->name != NULL ? n->name : n->origin != NULL ? n->origin->name : NULL;
    w->status = reason.status != TAKT_OK ? reason.status
                : name != NULL ? takt_fail(w->ctx, TAKT_E_TFLITE_WRITE, "%s (%s): %s", name,
                                           n->op->name, takt_text_get(&reason))
                               : takt_fail(w->ctx, TAKT_E_TFLITE_WRITE, "%s: %s", n->op->name,
                                           takt_text_get(&reason));
    if (reason.status == TAKT_OK)
        (void)takt_fail_hint(w->ctx, "write it as .onnx, .taktp or .takt, or only the part before "
                                     "(takt extract)");
    takt_text_deinit(&reason);
}

/* ---- tensors ---- */

static int32_t add_tensor(takt_tflw *w, const takt_tflw_tensor *t)
{
    void *at = w->tensors;
    for (int d = 0; w->status == TAKT_OK && d < t->type.rank; d++)
        if (t->type.dim[d] > INT32_MAX)
            takt_tflw_fail(w, "a size is too large: %lld", (long long)t->type.dim[d]);
    if (w->status != TAKT_OK)
        return -1;
    w->status =
        takt_mem_grow(w->ctx, &at, &w->tensor_capacity, w->tensor_count + 1, sizeof *w->tensors);
    w->tensors = at;
    if (w->status != TAKT_OK)
        return -1;
    w->tensors[w->tensor_count] = *t;
    return (int32_t)w->tensor_count++;
}

/* Types that LiteRT has kernels for. */
static bool is_computed(takt_dtype dtype)
{
    return dtype == TAKT_F32 || dtype == TAKT_I32 || dtype == TAKT_I64 || dtype == TAKT_I8 ||
           dtype == TAKT_U8 || dtype == TAKT_I16 || dtype == TAKT_BOOL;
}

/* And types that weights may be stored in. */
static bool is_stored(takt_dtype dtype)
{
    return is_computed(dtype) || dtype == TAKT_F16 || dtype == TAKT_I4;
}

int32_t takt_tflw_tensor_new(takt_tflw *w, const char *name, const takt_type *type,
                             const takt_tflw_grid *grid)
{
    takt_tflw_tensor t = {.name = name, .type = *type};
    if (grid != NULL)
        t.grid = *grid;
    if (!is_computed(type->dtype))
        takt_tflw_fail(w, "TensorFlow Lite does not compute with %s", takt_dtype_name(type->dtype));
    else if (!takt_type_is_concrete(type))
        takt_tflw_fail(w, "a size is only known when the model runs");
    return add_tensor(w, &t);
}

int32_t takt_tflw_data(takt_tflw *w, const takt_type *type, const void *data,
                       const takt_tflw_grid *grid)
{
    takt_tflw_tensor t = {.type = *type, .data = data};
    if (grid != NULL)
        t.grid = *grid;
    if (!is_stored(type->dtype))
        takt_tflw_fail(w, "TensorFlow Lite does not compute with %s", takt_dtype_name(type->dtype));
    else if (!takt_type_bytes(type, &t.bytes))
        takt_tflw_fail(w, "a size is only known when the model runs");
    return add_tensor(w, &t);
}

int32_t takt_tflw_ints(takt_tflw *w, const int64_t *values, size_t count)
{
    const takt_type type = {.dtype = TAKT_I32, .rank = 1, .dim = {(int64_t)count}};
    int32_t *data = takt_arena_array(&w->arena, count + 1, sizeof *data);
    if (data == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (values[i] < INT32_MIN || values[i] > INT32_MAX)
            takt_tflw_fail(w, "a size or place is too large: %lld", (long long)values[i]);
        data[i] = (int32_t)values[i];
    }
    return takt_tflw_data(w, &type, data, NULL);
}

int32_t takt_tflw_number(takt_tflw *w, takt_dtype dtype, double value)
{
    uint64_t *raw = takt_arena_array(&w->arena, 1, sizeof *raw);
    if (raw == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return -1;
    }
    if (takt_dtype_is_float(dtype))
        takt_dtype_put_f(dtype, raw, 0, value);
    else
        takt_dtype_put_i(dtype, raw, 0, takt_dtype_from_double(dtype, value));
    return takt_tflw_data(w, &(takt_type){.dtype = dtype}, raw, NULL);
}

const takt_tflw_tensor *takt_tflw_at(const takt_tflw *w, int32_t tensor)
{
    static const takt_tflw_tensor none;
    return tensor >= 0 ? &w->tensors[tensor] : &none;
}

static const char *name_of(const takt_tflw *w, takt_id id)
{
    for (size_t i = 0; i < w->g->output_count; i++)
        if (w->g->outputs[i].id == id)
            return w->g->outputs[i].name;
    return w->g->nodes[id].name;
}

int32_t takt_tflw_result(takt_tflw *w, takt_id id, const takt_tflw_grid *grid)
{
    const bool is_known = (grid == NULL || grid->count == 0) && w->grids[id].count > 0;
    w->at[id] = takt_tflw_tensor_new(w, name_of(w, id), takt_type_of(w->g, id),
                                     is_known ? &w->grids[id] : grid);
    return w->at[id];
}

int32_t takt_tflw_value(takt_tflw *w, takt_id id)
{
    takt_tflw_constant c;
    if (w->status != TAKT_OK || id == TAKT_NONE)
        return -1;
    const takt_node *n = &w->g->nodes[id];
    if (w->at[id] >= 0)
        return w->at[id];
    if (takt_tflw_constant_of(w, id, &c)) {
        w->at[id] = takt_tflw_floats(w, &c);
        return w->at[id];
    }
    if (n->op != &takt_op_dequantize) {
        takt_tflw_fail(w, "%s was not written before it is read", n->op->name);
        return -1;
    }
    const int32_t from = takt_tflw_value(w, n->in[0]);
    takt_tflw_grid grid;
    if (takt_tflw_at(w, from)->grid.count == 0)
        takt_tflw_fail(w, "the scale of its integers is not known");
    else if (!takt_tflw_grid_of(w, n, &grid) ||
             !takt_tflw_same_grid(&takt_tflw_at(w, from)->grid, &grid))
        takt_tflw_fail(w, "its integers have another scale: a tensor of the file has one");
    (void)takt_tflw_1(w, "DEQUANTIZE", from, takt_tflw_result(w, id, NULL));
    return w->at[id];
}

/* ---- operators ---- */

static int code_of(const char *name)
{
    const char *at;
    for (int i = 0; (at = takt_tfl_builtin_name(i)) != NULL; i++)
        if (strcmp(at, name) == 0)
            return i;
    return -1;
}

takt_tflw_op *takt_tflw_call(takt_tflw *w, const char *name, size_t count, const int32_t *in,
                             int32_t out)
{
    void *at = w->ops;
    const int32_t *inputs = takt_arena_copy(&w->arena, in, count * sizeof *in);
    const int32_t *outputs = takt_arena_copy(&w->arena, &out, sizeof out);
    if (w->status == TAKT_OK && (inputs == NULL || outputs == NULL))
        w->status = TAKT_ERR_MEMORY;
    if (w->status == TAKT_OK)
        w->status = takt_mem_grow(w->ctx, &at, &w->op_capacity, w->op_count + 1, sizeof *w->ops);
    w->ops = at;
    takt_tflw_op *op = w->status == TAKT_OK ? &w->ops[w->op_count++] : NULL;
    if (op == NULL)
        return NULL;
    *op = (takt_tflw_op){.code = code_of(name),
                         .in = inputs,
                         .out = outputs,
                         .in_count = count,
                         .out_count = out >= 0};
    return op;
}

void takt_tflw_outputs(takt_tflw *w, takt_tflw_op *op, const int32_t *out, size_t count)
{
    const int32_t *outputs = takt_arena_copy(&w->arena, out, count * sizeof *out);
    if (op == NULL)
        return;
    if (outputs == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return;
    }
    op->out = outputs;
    op->out_count = count;
}

takt_id takt_tflw_part(const takt_tflw *w, takt_id id, size_t index)
{
    for (size_t k = (size_t)id + 1; k < w->g->count; k++) {
        const takt_node *get = &w->g->nodes[k];
        if (get->op == &takt_op_get && get->in[0] == id && get->attr[0].i64 == (int64_t)index)
            return (takt_id)k;
    }
    return TAKT_NONE;
}

void takt_tflw_option(takt_tflw_op *op, int kind, int id, size_t bytes, int64_t value)
{
    if (op == NULL)
        return;
    op->options = kind;
    op->field[op->field_count++] =
        (takt_tflw_field){.id = id, .bytes = bytes, .bits = (uint32_t)value};
}

void takt_tflw_option_text(takt_tflw_op *op, int kind, int id, const char *text)
{
    takt_tflw_option(op, kind, id, 0, 0);
    if (op != NULL)
        op->field[op->field_count - 1].text = text;
}

void takt_tflw_option_f(takt_tflw_op *op, int kind, int id, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    takt_tflw_option(op, kind, id, sizeof bits, bits);
}

int32_t takt_tflw_reshaped(takt_tflw *w, int32_t x, const int64_t *dims, int rank, int32_t out)
{
    if (w->status != TAKT_OK)
        return -1;
    const takt_tflw_tensor from = *takt_tflw_at(w, x);
    takt_type type = {.dtype = from.type.dtype, .rank = rank};
    memcpy(type.dim, dims, (size_t)rank * sizeof *dims);
    const int32_t y = out >= 0 ? out : takt_tflw_tensor_new(w, NULL, &type, &from.grid);
    (void)takt_tflw_2(w, "RESHAPE", x, takt_tflw_ints(w, dims, (size_t)rank), y);
    return y;
}

int32_t takt_tflw_transposed(takt_tflw *w, int32_t x, const int64_t *perm, int32_t out)
{
    if (w->status != TAKT_OK)
        return -1;
    const takt_tflw_tensor from = *takt_tflw_at(w, x);
    takt_type type = from.type;
    for (int d = 0; d < type.rank; d++)
        type.dim[d] = from.type.dim[perm[d]];
    const int32_t y = out >= 0 ? out : takt_tflw_tensor_new(w, NULL, &type, &from.grid);
    (void)takt_tflw_2(w, "TRANSPOSE", x, takt_tflw_ints(w, perm, (size_t)type.rank), y);
    return y;
}

int32_t takt_tflw_padded(takt_tflw *w, int32_t x, const int64_t *before, const int64_t *after,
                         const double *value)
{
    if (w->status != TAKT_OK)
        return -1;
    const takt_tflw_tensor from = *takt_tflw_at(w, x);
    takt_type type = from.type;
    const takt_type table = {.dtype = TAKT_I32, .rank = 2, .dim = {type.rank, 2}};
    int64_t pairs[2 * TAKT_MAX_RANK];
    for (int d = 0; d < type.rank; d++) {
        pairs[2 * d] = before[d];
        pairs[2 * d + 1] = after[d];
        type.dim[d] += before[d] + after[d];
    }
    const int32_t pads = takt_tflw_ints(w, pairs, 2 * (size_t)type.rank);
    if (pads >= 0)
        w->tensors[pads].type = table;
    const int32_t y = takt_tflw_tensor_new(w, NULL, &type, &from.grid);
    if (value == NULL) {
        (void)takt_tflw_2(w, "PAD", x, pads, y);
        return y;
    }
    const int32_t fill = takt_tflw_number(w, type.dtype, *value);
    if (fill >= 0)
        w->tensors[fill].grid = from.grid;
    (void)takt_tflw_call(w, "PADV2", 3, (const int32_t[]){x, pads, fill}, y);
    return y;
}
