/* data.c - constants: lists, hex data and weights of a file as tensors. */
#include <inttypes.h>
#include <string.h>

#include "lang/elab.h"
#include "op/ops.h"

typedef struct filling {
    takt_frame *f;
    const takt_ast *at;
    const takt_type *type;
    void *data;
    size_t count, done; /* elements */
} filling;

static bool wrong_count(filling *w, const takt_value *v, size_t wanted)
{
    char type[TAKT_TYPE_TEXT];
    takt_complain(w->f, w->at, TAKT_E_SHAPE, NULL, "%s wants %zu elements here, the list has %u",
                  takt_type_text(w->f->graph->dims, w->type, type), wanted, v->count);
    return false;
}

static bool element(filling *w, const takt_value *v)
{
    char text[TAKT_VALUE_TEXT];
    if (takt_put_element(v, w->type->dtype, w->data, w->done)) {
        w->done++;
        return true;
    }
    takt_complain(w->f, w->at, TAKT_E_DTYPE, NULL, "%s is not a value of %s",
                  takt_value_text(w->f->graph, v, text), takt_dtype_name(w->type->dtype));
    return false;
}

/* Lists nest no deeper than TAKT_MAX_RANK, so this recursion is bounded. */
static bool nested(filling *w, const takt_value *v, int axis)
{
    if (v->kind != TAKT_V_LIST)
        return element(w, v);
    if (axis >= w->type->rank || (int64_t)v->count != w->type->dim[axis])
        return wrong_count(w, v, axis < w->type->rank ? (size_t)w->type->dim[axis] : 1);
    for (uint32_t i = 0; i < v->count; i++) {
        if ((v->items[i].kind == TAKT_V_LIST) != (axis + 1 < w->type->rank))
            return wrong_count(w, v, w->count);
        if (!nested(w, &v->items[i], axis + 1))
            return false;
    }
    return true;
}

static bool from_list(filling *w, const takt_value *v)
{
    if (v->depth > 1)
        return nested(w, v, 0);
    for (uint32_t i = 0; i < v->count; i++)
        if (!element(w, &v->items[i]))
            return false;
    return true;
}

static unsigned hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

static void from_hex(unsigned char *to, takt_span digits)
{
    for (size_t i = 0; i < digits.length / 2; i++)
        to[i] = (unsigned char)(hex_digit(digits.at[2 * i]) << 4 | hex_digit(digits.at[2 * i + 1]));
}

/* Lists nest no deeper than TAKT_MAX_RANK, so this recursion is bounded. */
static size_t leaves(const takt_value *v)
{
    size_t count = 0;
    if (v->kind != TAKT_V_LIST)
        return 1;
    if (v->depth == 1)
        return v->count;
    for (uint32_t i = 0; i < v->count; i++)
        count += leaves(&v->items[i]);
    return count;
}

/* The length of the text bounds the allocation. */
static bool check_size(takt_frame *f, const takt_ast *at, const takt_type *type,
                       const takt_value *v)
{
    char text[TAKT_TYPE_TEXT];
    size_t bytes, count;
    takt_type_text(f->graph->dims, type, text);
    if (!takt_type_bytes(type, &bytes) || !takt_type_count(type, &count))
        takt_complain(f, at, TAKT_E_DIM, NULL, "a constant needs sizes that are numbers, not %s",
                      text);
    else if (bytes > f->e->ctx->limits.tensor_bytes)
        takt_complain(f, at, TAKT_E_OVERFLOW, "raise limits.tensor_bytes if that is meant",
                      "%s has %zu bytes, more than the context's limit", text, bytes);
    else if (v->kind == TAKT_V_BYTES && v->text.length / 2 != bytes)
        takt_complain(f, at, TAKT_E_SHAPE, NULL, "%s has %zu bytes, the hex data has %zu", text,
                      bytes, v->text.length / 2);
    else if (v->kind == TAKT_V_LIST && leaves(v) != count)
        takt_complain(f, at, TAKT_E_SHAPE, NULL, "%s has %zu elements, the list has %zu", text,
                      count, leaves(v));
    else
        return true;
    return false;
}

bool takt_elab_tensor(takt_frame *f, const takt_ast *at, const takt_type *type, const takt_value *v,
                      takt_tensor *out)
{
    filling w = {.f = f, .at = at, .type = type};
    *out = (takt_tensor){0};
    if (v->kind != TAKT_V_LIST && v->kind != TAKT_V_BYTES) {
        takt_complain(f, at, TAKT_E_CALL, NULL, "the elements are a list or hex data, not %s",
                      takt_value_kind_text(v));
        return false;
    }
    if (!check_size(f, at, type, v))
        return false;
    if (takt_tensor_create(f->e->ctx, type, out) != TAKT_OK) {
        takt_complain_last(f, at);
        return false;
    }
    w.data = takt_tensor_data(out);
    w.count = takt_tensor_count(out);
    memset(w.data, 0, takt_tensor_bytes(out));
    if (v->kind == TAKT_V_BYTES)
        from_hex(w.data, v->text);
    if (v->kind == TAKT_V_BYTES || from_list(&w, v))
        return true;
    takt_tensor_release(out);
    *out = (takt_tensor){0};
    return false;
}

/* ---- constant(type, value), constant(type, ref=3) ---- */

const takt_tensor *takt_elab_weight(takt_frame *f, const takt_ast *at, const takt_type *type,
                                    const takt_value *v)
{
    const takt_parse_options *options = f->e->options;
    char want[TAKT_TYPE_TEXT], got[TAKT_TYPE_TEXT];
    if (v->kind != TAKT_V_INT || v->i < 0 || (uint64_t)v->i >= options->weight_count) {
        takt_complain(f, at, TAKT_E_NAME, NULL,
                      "there are %zu weights to refer to, numbered from 0", options->weight_count);
        return NULL;
    }
    const takt_tensor *t = &options->weights[v->i];
    if (takt_type_same(f->graph->dims, type, &t->type))
        return t;
    takt_complain(f, at, TAKT_E_SHAPE, NULL, "weight %" PRId64 " is %s, not %s", v->i,
                  takt_type_text(f->graph->dims, &t->type, got),
                  takt_type_text(f->graph->dims, type, want));
    return NULL;
}

/* The next node's name is that of the value, if this call is the whole right side. */
static void name_root(takt_frame *f, const takt_call *c)
{
    if (f->e->root == c->ast && f->e->root_name != NULL)
        f->graph->next_name = takt_elab_root_name(f, c->ast);
}

static takt_value weight(takt_frame *f, const takt_call *c, const takt_type *type)
{
    const takt_tensor *t = takt_elab_weight(f, c->ast, type, &c->value[c->count - 1]);
    if (t == NULL)
        return takt_value_poison();
    name_root(f, c);
    const takt_id id = takt_graph_constant(f->graph, t);
    return id != TAKT_NONE ? takt_value_tensor(id) : takt_complain_last(f, c->ast);
}

/* One number for all elements: a scalar, broadcast. */
static takt_value uniform(takt_frame *f, const takt_call *c, const takt_type *type)
{
    const takt_id scalar = takt_elab_scalar(f, c->place[1], &c->value[1], type->dtype);
    if (scalar == TAKT_NONE || type->rank == 0)
        return takt_value_tensor(scalar);
    const takt_id id = takt_broadcast(f->graph, scalar, type->dim, (size_t)type->rank);
    return id != TAKT_NONE ? takt_value_tensor(id) : takt_complain_last(f, c->ast);
}

/* constant("table.npy"), constant(type, "all.safetensors", tensor="name") */
static takt_value from_file(takt_frame *f, const takt_call *c, const takt_type *type, size_t path)
{
    takt_tensor tensor;
    const bool has_name = c->count == c->positional + 1;
    if (c->positional != path + 1 || c->count > c->positional + 1 ||
        (has_name && strcmp(c->key[c->positional]->text, "tensor") != 0))
        return takt_complain(f, c->ast, TAKT_E_CALL,
                             "constant(\"table.npy\"), or constant(\"all.safetensors\", "
                             "tensor=\"name\")",
                             "constant takes the path of a file and the name of a tensor in it");
    if (!takt_elab_file(f, c->place[path], &c->value[path],
                        has_name ? &c->value[c->positional] : NULL, type, &tensor))
        return takt_value_poison();
    name_root(f, c);
    const takt_id id = takt_graph_constant(f->graph, &tensor);
    takt_tensor_release(&tensor);
    return id != TAKT_NONE ? takt_value_tensor(id) : takt_complain_last(f, c->ast);
}

takt_value takt_call_constant(takt_frame *f, const takt_call *c)
{
    const takt_type scalar = {.dtype = c->count > 0 ? c->value[0].dtype : TAKT_F32};
    takt_tensor tensor;
    const bool is_ref = c->count == 2 && c->positional == 1 && strcmp(c->key[1]->text, "ref") == 0;
    if (c->positional > 0 && c->value[0].kind == TAKT_V_STRING)
        return from_file(f, c, NULL, 0);
    if (c->positional > 1 && c->value[1].kind == TAKT_V_STRING && c->value[0].kind == TAKT_V_TYPE)
        return from_file(f, c, c->value[0].type, 1);
    if (c->count != 2 || (c->positional != 2 && !is_ref) ||
        (c->value[0].kind != TAKT_V_TYPE && c->value[0].kind != TAKT_V_DTYPE))
        return takt_complain(f, c->ast, TAKT_E_CALL,
                             "constant(f32[2, 2], [1, 2, 3, 4]), or one number "
                             "for all elements",
                             "constant takes a type and its elements");
    const takt_type *type = c->value[0].kind == TAKT_V_TYPE ? c->value[0].type : &scalar;
    if (is_ref)
        return weight(f, c, type);
    if (takt_value_is_number(&c->value[1]) || c->value[1].kind == TAKT_V_BOOL)
        return uniform(f, c, type);
    if (!takt_elab_tensor(f, c->place[1], type, &c->value[1], &tensor))
        return takt_value_poison();
    name_root(f, c);
    const takt_id id = takt_graph_constant(f->graph, &tensor);
    takt_tensor_release(&tensor);
    return id != TAKT_NONE ? takt_value_tensor(id) : takt_complain_last(f, c->ast);
}
