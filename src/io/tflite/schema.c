/* schema.c - the tables of a TensorFlow Lite model, read and checked. */
#include "io/tflite/schema.h"

#include <math.h>

typedef struct parser {
    takt_arena *arena;
    takt_tfl_model *model;
    takt_flat *flat;
    size_t at; /* of the table that is read */
} parser;

const char *takt_tfl_builtin_name(int code)
{
    static const char *const names[] = {
#define X(name) #name,
#include "io/tflite/builtins.def"
#undef X
    };
    return code >= 0 && (size_t)code < sizeof names / sizeof *names ? names[code] : NULL;
}

static const struct {
    const char *name;
    takt_dtype dtype;
} dtypes[TAKT_TFL_DTYPES] = {
    {"FLOAT32", TAKT_F32},
    {"FLOAT16", TAKT_F16},
    {"INT32", TAKT_I32},
    {"UINT8", TAKT_U8},
    {"INT64", TAKT_I64},
    {"STRING", TAKT_DTYPE_COUNT},
    {"BOOL", TAKT_BOOL},
    {"INT16", TAKT_I16},
    {"COMPLEX64", TAKT_F32},
    {"INT8", TAKT_I8},
    {"FLOAT64", TAKT_F64},
    {"COMPLEX128", TAKT_DTYPE_COUNT},
    {"UINT64", TAKT_U64},
    {"RESOURCE", TAKT_DTYPE_COUNT},
    {"VARIANT", TAKT_DTYPE_COUNT},
    {"UINT32", TAKT_U32},
    {"UINT16", TAKT_U16},
    {"INT4", TAKT_I4},
    {"BFLOAT16", TAKT_BF16},
    {"INT2", TAKT_I2},
    {"UINT4", TAKT_U4},
};

takt_dtype takt_tfl_dtype_of(takt_tfl_dtype type)
{
    return dtypes[type].dtype;
}

const char *takt_tfl_dtype_name(takt_tfl_dtype type)
{
    return dtypes[type].name;
}

static void *room(parser *p, size_t count, size_t size)
{
    if (!takt_flat_spend(p->flat, p->at, (uint64_t)count * size))
        return NULL;
    void *at = takt_arena_array(p->arena, count + 1, size);
    if (at == NULL && p->flat->status == TAKT_OK)
        p->flat->status = TAKT_ERR_MEMORY;
    return at;
}

static const int32_t *ints(parser *p, const takt_flat_table *t, int field, size_t *count)
{
    const takt_flat_vector v = takt_flat_list(p->flat, t, field, 4);
    int32_t *to = room(p, v.count, sizeof *to);
    for (size_t i = 0; to != NULL && i < v.count; i++)
        to[i] = takt_flat_i32_at(p->flat, v, i);
    *count = to != NULL ? v.count : 0;
    return to;
}

/* ---- tensors ---- */

static void read_quantisation(parser *p, const takt_flat_table *t, takt_tfl_tensor *to)
{
    enum { SCALE = 2, ZERO = 3, DETAILS = 4, AXIS = 6 };
    const takt_flat_table q = takt_flat_child(p->flat, t, 4);
    const takt_flat_vector scale = takt_flat_list(p->flat, &q, SCALE, 4),
                           zero = takt_flat_list(p->flat, &q, ZERO, 8);
    to->is_odd = takt_flat_u8(p->flat, &q, DETAILS, 0) != 0;
    to->axis = takt_flat_i32(p->flat, &q, AXIS, 0);
    float *s = room(p, scale.count, sizeof *s);
    int64_t *z = room(p, zero.count > scale.count ? zero.count : scale.count, sizeof *z);
    if (s == NULL || z == NULL)
        return;
    for (size_t i = 0; i < scale.count; i++)
        s[i] = takt_flat_f32_at(p->flat, scale, i);
    for (size_t i = 0; i < zero.count; i++)
        z[i] = takt_flat_i64_at(p->flat, zero, i);
    to->scale = s;
    to->zero = z;
    to->scale_count = scale.count;
    to->zero_count = zero.count;
}

static void read_shape(parser *p, const takt_flat_table *t, takt_tfl_tensor *to)
{
    const takt_flat_vector shape = takt_flat_list(p->flat, t, 0, 4);
    if (shape.count > TAKT_MAX_RANK) {
        (void)takt_flat_fail(p->flat, t->at, "a tensor has %zu axes, at most %d are possible",
                             shape.count, TAKT_MAX_RANK);
        return;
    }
    to->rank = (int)shape.count;
    for (size_t i = 0; i < shape.count; i++) {
        to->dim[i] = takt_flat_i32_at(p->flat, shape, i);
        if (to->dim[i] < 0)
            (void)takt_flat_fail(p->flat, t->at, "axis %zu of tensor %.*s has %lld elements", i,
                                 (int)to->name.length, to->name.at, (long long)to->dim[i]);
    }
}

static void read_tensor(parser *p, const takt_flat_table *t, takt_tfl_tensor *to)
{
    enum { TYPE = 1, BUFFER, NAME, VARIABLE = 5, SPARSITY, EXTERNAL = 10 };
    takt_flat *f = p->flat;
    const unsigned type = takt_flat_u8(f, t, TYPE, 0);
    p->at = to->at = t->at;
    to->name = takt_flat_text(f, t, NAME);
    to->type = type < TAKT_TFL_DTYPES ? (takt_tfl_dtype)type : TAKT_TFL_VARIANT;
    to->buffer = (uint32_t)takt_flat_i32(f, t, BUFFER, 0);
    to->is_variable = takt_flat_u8(f, t, VARIABLE, 0) != 0;
    to->sparsity = takt_flat_child(f, t, SPARSITY);
    read_shape(p, t, to);
    read_quantisation(p, t, to);
    if (takt_flat_i32(f, t, EXTERNAL, 0) != 0)
        (void)takt_flat_fail(f, t->at, "tensor %.*s lies in another file, which is not read",
                             (int)to->name.length, to->name.at);
    if (to->buffer >= p->model->buffer_count && to->buffer != 0)
        (void)takt_flat_fail(f, t->at, "tensor %.*s has buffer %u, there are %zu",
                             (int)to->name.length, to->name.at, to->buffer, p->model->buffer_count);
}

/* ---- operators ---- */

/* Indices of tensors: -1 stands for one that was left out, where `allows_none`. */
static void check_indices(parser *p, const int32_t *at, size_t count, const takt_tfl_graph *g,
                          bool allows_none, size_t offset)
{
    for (size_t i = 0; at != NULL && i < count; i++)
        if (at[i] < (allows_none ? -1 : 0) || (at[i] >= 0 && (size_t)at[i] >= g->tensor_count))
            (void)takt_flat_fail(p->flat, offset, "tensor %d is used, there are %zu", at[i],
                                 g->tensor_count);
}

static void read_op(parser *p, const takt_flat_table *t, const takt_tfl_graph *g, takt_tfl_op *to)
{
    enum {
        CODE,
        INPUTS,
        OUTPUTS,
        OPTIONS_TYPE,
        OPTIONS,
        CUSTOM,
        BETWEEN = 8,
        TYPE_2 = 11,
        OPTIONS_2
    };
    takt_flat *f = p->flat;
    const uint32_t code = (uint32_t)takt_flat_i32(f, t, CODE, 0);
    to->at = t->at;
    if (code >= p->model->code_count) {
        (void)takt_flat_fail(f, t->at, "an operator has code %u, there are %zu", code,
                             p->model->code_count);
        return;
    }
    to->code = &p->model->codes[code];
    to->inputs = ints(p, t, INPUTS, &to->input_count);
    to->outputs = ints(p, t, OUTPUTS, &to->output_count);
    to->between = ints(p, t, BETWEEN, &to->between_count);
    check_indices(p, to->inputs, to->input_count, g, true, t->at);
    check_indices(p, to->outputs, to->output_count, g, false, t->at);
    check_indices(p, to->between, to->between_count, g, true, t->at);
    to->options_type = takt_flat_u8(f, t, OPTIONS_TYPE, 0);
    if (to->options_type != 0)
        to->options = takt_flat_child(f, t, OPTIONS);
    to->options2_type = takt_flat_u8(f, t, TYPE_2, 0);
    if (to->options2_type != 0)
        to->options2 = takt_flat_child(f, t, OPTIONS_2);
    to->custom = takt_flat_text(f, t, CUSTOM);
}

static void read_graph(parser *p, const takt_flat_table *t, takt_tfl_graph *to)
{
    enum { TENSORS, INPUTS, OUTPUTS, OPS, NAME };
    takt_flat *f = p->flat;
    const takt_flat_vector tensors = takt_flat_list(f, t, TENSORS, 4),
                           ops = takt_flat_list(f, t, OPS, 4);
    to->at = t->at;
    to->name = takt_flat_text(f, t, NAME);
    to->tensors = room(p, tensors.count, sizeof *to->tensors);
    to->ops = room(p, ops.count, sizeof *to->ops);
    for (size_t i = 0; f->status == TAKT_OK && i < tensors.count; i++) {
        const takt_flat_table tensor = takt_flat_item(f, tensors, i);
        read_tensor(p, &tensor, &to->tensors[i]);
    }
    to->tensor_count = tensors.count;
    to->inputs = ints(p, t, INPUTS, &to->input_count);
    to->outputs = ints(p, t, OUTPUTS, &to->output_count);
    check_indices(p, to->inputs, to->input_count, to, false, t->at);
    check_indices(p, to->outputs, to->output_count, to, false, t->at);
    for (size_t i = 0; f->status == TAKT_OK && i < ops.count; i++) {
        const takt_flat_table op = takt_flat_item(f, ops, i);
        read_op(p, &op, to, &to->ops[i]);
    }
    to->op_count = ops.count;
}

/* ---- the model ---- */

static void read_codes(parser *p, takt_flat_vector v)
{
    enum { OLD, CUSTOM, VERSION, BUILTIN };
    takt_tfl_model *m = p->model;
    m->codes = room(p, v.count, sizeof *m->codes);
    for (size_t i = 0; p->flat->status == TAKT_OK && i < v.count; i++) {
        const takt_flat_table t = takt_flat_item(p->flat, v, i);
        const int old = (int8_t)takt_flat_u8(p->flat, &t, OLD, 0),
                  now = takt_flat_i32(p->flat, &t, BUILTIN, 0);
        m->codes[i] = (takt_tfl_code){.builtin = now > old ? now : old,
                                      .version = takt_flat_i32(p->flat, &t, VERSION, 1),
                                      .custom = takt_flat_text(p->flat, &t, CUSTOM)};
    }
    m->code_count = v.count;
}

/* Data in the flatbuffer, or behind it in the same file. */
static takt_tfl_buffer read_buffer(parser *p, const takt_flat_table *t)
{
    enum { DATA, OFFSET, SIZE };
    takt_flat *f = p->flat;
    const takt_flat_vector data = takt_flat_list(f, t, DATA, 1);
    const uint64_t at = takt_flat_u64(f, t, OFFSET, 0), size = takt_flat_u64(f, t, SIZE, 0);
    if (at <= 1)
        return (takt_tfl_buffer){data.at, data.count};
    if (at > f->all.end || size > f->all.end - at) {
        (void)takt_flat_fail(f, t->at, "a buffer of %llu bytes at %llu ends beyond the file",
                             (unsigned long long)size, (unsigned long long)at);
        return (takt_tfl_buffer){0};
    }
    return (takt_tfl_buffer){(size_t)at, (size_t)size};
}

static void read_buffers(parser *p, takt_flat_vector v)
{
    takt_tfl_model *m = p->model;
    m->buffers = room(p, v.count, sizeof *m->buffers);
    for (size_t i = 0; p->flat->status == TAKT_OK && i < v.count; i++) {
        const takt_flat_table t = takt_flat_item(p->flat, v, i);
        m->buffers[i] = read_buffer(p, &t);
    }
    m->buffer_count = v.count;
}

takt_status takt_tfl_parse(takt_arena *arena, const uint8_t *bytes, size_t length,
                           const takt_skim *skim, takt_tfl_model *model)
{
    enum { VERSION, CODES, GRAPHS, DESCRIPTION, BUFFERS };
    model->flat = takt_flat_of(arena->ctx, bytes, length);
    model->flat.skim = skim;
    takt_flat *f = &model->flat;
    parser p = {.arena = arena, .model = model, .flat = f};
    const takt_flat_table root = takt_flat_root(f);
    const int32_t version = takt_flat_i32(f, &root, VERSION, 0);
    if (version != 3)
        return takt_flat_fail(f, root.at, "schema version %d, not 3", version);
    model->description = takt_flat_text(f, &root, DESCRIPTION);
    read_codes(&p, takt_flat_list(f, &root, CODES, 4));
    read_buffers(&p, takt_flat_list(f, &root, BUFFERS, 4));
    const takt_flat_vector graphs = takt_flat_list(f, &root, GRAPHS, 4);
    model->graphs = room(&p, graphs.count, sizeof *model->graphs);
    for (size_t i = 0; f->status == TAKT_OK && i < graphs.count; i++) {
        const takt_flat_table g = takt_flat_item(f, graphs, i);
        read_graph(&p, &g, &model->graphs[i]);
    }
    model->graph_count = graphs.count;
    if (f->status == TAKT_OK && graphs.count == 0)
        return takt_flat_fail(f, root.at, "the model has no graph");
    return f->status;
}
