/* file.c - tensors and operators as the bytes of a TensorFlow Lite model, schema 3. */
#include <stdio.h>
#include <string.h>

#include "io/tflite/write/emit.h"
#include "io/tflite/write/flat.h"

enum { SCHEMA = 3, OLD_CODES = 127 };
#define MOST ((size_t)0x7fff0000)

static int dtype_of(takt_dtype dtype)
{
    for (int i = 0; i < TAKT_TFL_DTYPES; i++)
        if (i != TAKT_TFL_COMPLEX64 && takt_tfl_dtype_of((takt_tfl_dtype)i) == dtype)
            return i;
    return TAKT_TFL_FLOAT32;
}

static size_t put_grid(takt_tflw *w, takt_text *to, const takt_tflw_grid *g)
{
    takt_fb_field f[] = {{.id = 2}, {.id = 3}, {.id = 6, .bytes = 4, .bits = (uint64_t)g->axis}};
    const int64_t *zero =
        g->zero != NULL ? g->zero : takt_arena_array(&w->arena, g->count, sizeof *zero);
    const size_t start = takt_fb_table(to, f, 3);
    if (zero == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return start;
    }
    takt_fb_link(to, f[0].place, takt_fb_numbers(to, g->scale, g->count, 4, 4));
    takt_fb_link(to, f[1].place, takt_fb_numbers(to, zero, g->count, 8, 8));
    return start;
}

static int kind_of(const takt_tflw_tensor *t)
{
    return t->is_handle ? TAKT_TFL_RESOURCE : dtype_of(t->type.dtype);
}

static size_t put_tensor(takt_tflw *w, takt_text *to, size_t i, uint32_t buffer)
{
    const takt_tflw_tensor *t = &w->tensors[i];
    char name[32];
    int32_t dims[TAKT_MAX_RANK];
    takt_fb_field f[6] = {{.id = 0},
                          {.id = 1, .bytes = 1, .bits = (uint64_t)kind_of(t)},
                          {.id = 2, .bytes = 4, .bits = buffer},
                          {.id = 3}};
    size_t count = 4;
    const size_t grid = count;
    if (t->grid.count > 0)
        f[count++].id = 4;
    if (t->is_variable)
        f[count++] = (takt_fb_field){.id = 5, .bytes = 1, .bits = 1};
    const size_t start = takt_fb_table(to, f, count);
    for (int d = 0; d < t->type.rank; d++)
        dims[d] = (int32_t)t->type.dim[d];
    takt_fb_link(to, f[0].place, takt_fb_numbers(to, dims, (size_t)t->type.rank, 4, 4));
    (void)snprintf(name, sizeof name, "t%zu", i);
    takt_fb_link(to, f[3].place, takt_fb_string(to, t->name != NULL ? t->name : name));
    if (t->grid.count > 0)
        takt_fb_link(to, f[grid].place, put_grid(w, to, &t->grid));
    return start;
}

/* ---- operators ---- */

/* The index of an operator's code in the list of codes in use. */
static size_t place_of(int code, const int *codes, size_t count)
{
    size_t i = 0;
    while (i < count && codes[i] != code)
        i++;
    return i;
}

static size_t put_options(takt_text *to, const takt_tflw_op *op)
{
    takt_fb_field f[TAKT_TFLW_FIELDS];
    for (size_t i = 0; i < op->field_count; i++)
        f[i] = (takt_fb_field){
            .id = op->field[i].id, .bytes = op->field[i].bytes, .bits = op->field[i].bits};
    const size_t start = takt_fb_table(to, f, op->field_count);
    for (size_t i = 0; i < op->field_count; i++)
        if (f[i].bytes == 0)
            takt_fb_link(to, f[i].place, takt_fb_string(to, op->field[i].text));
    return start;
}

static size_t put_op(takt_text *to, const takt_tflw_op *op, size_t code)
{
    takt_fb_field f[] = {{.id = 0, .bytes = 4, .bits = code},
                         {.id = 1},
                         {.id = 2},
                         {.id = 3, .bytes = 1, .bits = (uint64_t)op->options},
                         {.id = 4},
                         {.id = 8}};
    const size_t fields = op->between_count > 0 ? 6 : op->options != 0 ? 5 : 3;
    const size_t start = takt_fb_table(to, f, fields);
    takt_fb_link(to, f[1].place, takt_fb_numbers(to, op->in, op->in_count, 4, 4));
    takt_fb_link(to, f[2].place, takt_fb_numbers(to, op->out, op->out_count, 4, 4));
    if (fields > 3)
        takt_fb_link(to, f[4].place, put_options(to, op));
    if (fields > 5)
        takt_fb_link(to, f[5].place, takt_fb_numbers(to, op->between, op->between_count, 4, 4));
    return start;
}

/* The first version that LiteRT supports. */
static uint64_t version_of(int code)
{
    return strcmp(takt_tfl_builtin_name(code), "BROADCAST_TO") == 0 ? 2 : 1;
}

static size_t put_code(takt_text *to, int code)
{
    takt_fb_field f[] = {
        {.id = 0, .bytes = 1, .bits = (uint64_t)(code < OLD_CODES ? code : OLD_CODES)},
        {.id = 2, .bytes = 4, .bits = version_of(code)},
        {.id = 3, .bytes = 4, .bits = (uint64_t)code}};
    return takt_fb_table(to, f, 3);
}

/* ---- the graph ---- */

/* Tensors of the model's ports; the subgraph of first values has none. */
static size_t put_ports(takt_tflw *w, takt_text *to, const takt_port *ports, size_t count)
{
    int32_t *at = takt_arena_array(&w->arena, count + 1, sizeof *at);
    if (at == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        at[i] = ports == w->g->inputs ? w->at[ports[i].id] : w->shown[i];
    return takt_fb_numbers(to, at, count, 4, 4);
}

typedef struct codes {
    int *at;
    size_t count;
} codes;

/* `*buffer` is the last one given to a constant. */
static size_t put_graph(takt_tflw *w, takt_text *to, const codes *used, uint32_t *buffer)
{
    takt_fb_field f[] = {{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}};
    const takt_graph *g = w->g;
    const bool is_main = w->source != NULL;
    const size_t start = takt_fb_table(to, f, 5);
    const size_t tensors = takt_fb_references(to, w->tensor_count);
    takt_fb_link(to, f[0].place, tensors);
    for (size_t i = 0; i < w->tensor_count; i++) {
        *buffer += w->tensors[i].data != NULL;
        takt_fb_link(to, tensors + 4 + 4 * i,
                     put_tensor(w, to, i, w->tensors[i].data != NULL ? *buffer : 0));
    }
    takt_fb_link(to, f[1].place, put_ports(w, to, g->inputs, is_main ? g->input_count : 0));
    takt_fb_link(to, f[2].place, put_ports(w, to, g->outputs, is_main ? g->output_count : 0));
    const size_t ops = takt_fb_references(to, w->op_count);
    takt_fb_link(to, f[3].place, ops);
    for (size_t i = 0; i < w->op_count; i++)
        takt_fb_link(to, ops + 4 + 4 * i,
                     put_op(to, &w->ops[i], place_of(w->ops[i].code, used->at, used->count)));
    const char *name = !is_main ? "first" : g->name != NULL ? g->name : "model";
    takt_fb_link(to, f[4].place, takt_fb_string(to, name));
    return start;
}

static void put_constants(takt_tflw *w, takt_text *to, size_t list, size_t *at)
{
    for (size_t i = 0; i < w->tensor_count && w->status == TAKT_OK; i++) {
        const takt_tflw_tensor *t = &w->tensors[i];
        takt_fb_field f[] = {{.id = 0}};
        if (t->data == NULL)
            continue;
        if (t->bytes > MOST || to->length > MOST - t->bytes) {
            w->status = takt_fail(w->ctx, TAKT_E_TFLITE_WRITE,
                                  "the weights have more than the 2 GiB that one file can hold");
            w->status = takt_fail_hint(w->ctx, "write it as .onnx or .taktp");
            break;
        }
        takt_fb_link(to, list + 4 + 4 * (*at)++, takt_fb_table(to, f, 1));
        takt_fb_link(to, f[0].place, takt_fb_numbers(to, t->data, t->bytes, 1, 16));
    }
}

/* Buffer 0 is empty, for everything that is not a constant. */
static size_t put_buffers(takt_tflw *w, takt_text *to)
{
    size_t count = 1, at = 1;
    for (const takt_tflw *s = w; s != NULL; s = s->first)
        for (size_t i = 0; i < s->tensor_count; i++)
            count += s->tensors[i].data != NULL;
    const size_t start = takt_fb_references(to, count);
    takt_fb_link(to, start + 4, takt_fb_table(to, NULL, 0));
    for (takt_tflw *s = w; s != NULL; s = s->first) {
        put_constants(s, to, start, &at);
        w->status = w->status == TAKT_OK ? s->status : w->status;
    }
    return start;
}

/* The codes in use, each once. */
static codes codes_of(takt_tflw *w)
{
    size_t most = 1;
    for (const takt_tflw *s = w; s != NULL; s = s->first)
        most += s->op_count;
    codes c = {.at = takt_arena_array(&w->arena, most, sizeof *c.at)};
    for (const takt_tflw *s = w; s != NULL && c.at != NULL; s = s->first)
        for (size_t i = 0; i < s->op_count; i++)
            if (place_of(s->ops[i].code, c.at, c.count) == c.count)
                c.at[c.count++] = s->ops[i].code;
    return c;
}

takt_status takt_tflw_file(takt_tflw *w, const char *lineage, takt_text *to)
{
    takt_fb_field f[] = {
        {.id = 0, .bytes = 4, .bits = SCHEMA}, {.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}};
    const codes used = codes_of(w);
    uint32_t buffer = 0;
    if (used.at == NULL)
        return TAKT_ERR_MEMORY;
    takt_fb_put(to, 0, 4);
    takt_text_put(to, "TFL3", 4);
    takt_fb_link(to, 0, takt_fb_table(to, f, 5));
    const size_t list = takt_fb_references(to, used.count);
    takt_fb_link(to, f[1].place, list);
    for (size_t i = 0; i < used.count; i++)
        takt_fb_link(to, list + 4 + 4 * i, put_code(to, used.at[i]));
    size_t graphs = takt_fb_references(to, w->first != NULL ? 2 : 1);
    takt_fb_link(to, f[2].place, graphs);
    for (takt_tflw *s = w; s != NULL; s = s->first)
        takt_fb_link(to, graphs += 4, put_graph(s, to, &used, &buffer));
    takt_fb_link(to, f[3].place, takt_fb_string(to, lineage != NULL ? lineage : "takt"));
    takt_fb_link(to, f[4].place, put_buffers(w, to));
    takt_fb_align(to, 16);
    for (const takt_tflw *s = w; s != NULL && w->status == TAKT_OK; s = s->first)
        w->status = s->status;
    return w->status != TAKT_OK ? w->status : to->status;
}
