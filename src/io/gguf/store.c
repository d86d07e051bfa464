/* store.c - nodes for the tensors of a file: parameters, products with matrices, rows of tables. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/gguf/model.h"
#include "op/util/ggml.h"

bool takt_gguf_is_stored(void *user, const char *name)
{
    const takt_gguf_model *m = user;
    return takt_gguf_tensor_find(m->g, name) != NULL;
}

/* ---- parameters ---- */

static bool is_blocks(const takt_gguf_tensor *t)
{
    return t->type->dtype == TAKT_DTYPE_COUNT;
}

/* One tensor. */
static takt_gguf_stack alone(const takt_gguf_tensor *t)
{
    takt_gguf_stack s = {.at = {t}, .count = 1, .rows = t->dims[0]};
    (void)snprintf(s.name, sizeof s.name, "%s", t->name);
    return s;
}

static takt_id parameter(takt_gguf_model *m, takt_graph *g, const takt_gguf_tensor *t)
{
    const takt_gguf_stack s = alone(t);
    return takt_gguf_parameter(m, g, &s);
}

static takt_named_attr format_of(const takt_gguf_tensor *t)
{
    return (takt_named_attr){"format", takt_attr_i64(takt_gguf_format(t->type))};
}

/* Floats of the tensor, or of some of its rows. */
static takt_id as_f32(takt_graph *g, const takt_gguf_tensor *t, takt_id id)
{
    if (id == TAKT_NONE || t->type->dtype == TAKT_F32)
        return id;
    if (!is_blocks(t))
        return takt_cast(g, id, TAKT_F32);
    const takt_named_attr format = format_of(t);
    return takt_graph_call(g, &takt_op_ggml_dequantize, 1, &id, 1, &format);
}

takt_id takt_gguf_stored(void *user, takt_graph *g, const char *name, const takt_type *type)
{
    takt_gguf_model *m = user;
    const takt_gguf_tensor *t = takt_gguf_need(m, g, name, type->rank, type->dim);
    return t != NULL ? as_f32(g, t, parameter(m, g, t)) : TAKT_NONE;
}

takt_id takt_gguf_packed(void *user, takt_graph *g, const char *name, const takt_type *type)
{
    takt_gguf_model *m = user;
    const takt_gguf_tensor *t = takt_gguf_need(m, g, name, type->rank, type->dim);
    return t != NULL ? parameter(m, g, t) : TAKT_NONE;
}

takt_id takt_gguf_unpacked(void *user, takt_graph *g, const char *name, takt_id x)
{
    takt_gguf_model *m = user;
    const takt_gguf_tensor *t = takt_gguf_tensor_find(m->g, name);
    if (t != NULL)
        return as_f32(g, t, x);
    return takt_graph_fail(
        g, takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, m->g->data, "the tensor %s is missing", name));
}

/* ---- products ---- */

static takt_id block_product(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s, takt_id x)
{
    takt_gguf_parts p;
    if (!takt_gguf_split(m, g, s, &p))
        return TAKT_NONE;
    takt_id in[4] = {x, p.levels, p.scales, TAKT_NONE};
    if (p.zero != 0) {
        takt_tensor zero = {0};
        const takt_type type = {.dtype = takt_type_of(g, p.levels)->dtype};
        const takt_status status = takt_tensor_create(m->ctx, &type, &zero);
        if (status != TAKT_OK)
            return takt_graph_fail(g, status);
        memset(takt_tensor_data(&zero), 0, takt_tensor_bytes(&zero));
        takt_dtype_put_i(type.dtype, takt_tensor_data(&zero), 0, (int64_t)p.zero);
        in[3] = takt_graph_constant(g, &zero);
        takt_tensor_release(&zero);
    }
    const takt_named_attr attrs[] = {{"block", takt_attr_i64(32)},
                                     {"compute", takt_attr_i64(m->is_int8 ? 1 : 0)}};
    return takt_graph_call(g, &takt_op_block_matmul, p.zero != 0 ? 4 : 3, in, 2, attrs);
}

/* A table that is also the head is read by rows, too, in the form that ggml_matmul reads. */
static takt_id product(takt_gguf_model *m, takt_graph *g, const takt_gguf_stack *s, takt_id x)
{
    const takt_gguf_tensor *t = s->at[0];
    const bool is_table = strcmp(t->name, "token_embd.weight") == 0;
    if (takt_gguf_has_parts(t->type) && !is_table)
        return block_product(m, g, s, x);
    const takt_id w = takt_gguf_parameter(m, g, s);
    if (!is_blocks(t) || w == TAKT_NONE)
        return takt_matmul(g, x, as_f32(g, t, w), false, true);
    const takt_named_attr format = format_of(t);
    return takt_graph_call(g, m->is_int8 ? &takt_op_ggml_matmul_i8 : &takt_op_ggml_matmul, 2,
                           (takt_id[]){x, w}, 1, &format);
}

bool takt_gguf_is_rounded(void *user, const char *name)
{
    const takt_gguf_model *m = user;
    const takt_gguf_tensor *t = takt_gguf_tensor_find(m->g, name);
    return m->is_int8 && t != NULL && is_blocks(t);
}

takt_id takt_gguf_chosen(void *user, takt_graph *g, const char *name, const takt_id in[2],
                         const int64_t dims[3])
{
    takt_gguf_model *m = user;
    const takt_gguf_tensor *t = takt_gguf_need(m, g, name, 3, dims);
    if (t == NULL)
        return TAKT_NONE;
    if (!is_blocks(t))
        return takt_graph_fail(g, takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, m->g->data,
                                                 "the tensor %s has no blocks", name));
    const takt_named_attr format = format_of(t);
    return takt_graph_call(g, &takt_op_ggml_experts_i8, 3,
                           (takt_id[]){in[0], parameter(m, g, t), in[1]}, 1, &format);
}

/* Matrices and biases that are one product. */
typedef struct projection {
    takt_gguf_stack weights, biases; /* biases.count is 0: there are none */
    const takt_gguf_tensor *scale;   /* of the whole matrix, as files of NVFP4 have it; or NULL */
} projection;

static void push(takt_gguf_stack *s, const takt_gguf_tensor *t)
{
    s->at[s->count++] = t;
    s->rows += t->dims[0];
}

/* Matrix number `i` of those that `name` stands for, and its bias. */
static bool find_one(takt_gguf_model *m, takt_graph *g, const char *name, size_t i,
                     const int64_t dims[2], projection *out)
{
    char full[TAKT_GGUF_NAME];
    const takt_gguf_tensor *bias = NULL;
    *out = (projection){.weights.name = ""};
    if (!takt_gguf_name(name, ".weight", i, 1, full)) {
        takt_graph_fail(g, takt_fail(m->ctx, TAKT_E_GGUF_MODEL, "a name is too long"));
        return false;
    }
    const takt_gguf_tensor *t = takt_gguf_need(m, g, full, 2, dims);
    const bool has_bias = takt_gguf_name(name, ".bias", i, 1, full) && takt_gguf_is_stored(m, full);
    if (t != NULL && has_bias)
        bias = takt_gguf_need(m, g, full, 1, dims);
    if (t == NULL || (has_bias && bias == NULL))
        return false;
    if (takt_gguf_name(name, ".scale", i, 1, full) && takt_gguf_is_stored(m, full)) {
        out->scale = takt_gguf_need(m, g, full, 1, (const int64_t[]){1});
        if (out->scale == NULL)
            return false;
    }
    push(&out->weights, t);
    if (bias != NULL)
        push(&out->biases, bias);
    return true;
}

static bool are_alike(const projection *a, const projection *b)
{
    return a->scale == NULL && b->scale == NULL &&
           a->weights.at[0]->type == b->weights.at[0]->type &&
           (a->biases.count == 0) == (b->biases.count == 0) &&
           (b->biases.count == 0 || a->biases.at[0]->type == b->biases.at[0]->type);
}

static takt_id projected(takt_gguf_model *m, takt_graph *g, const projection *p, takt_id x)
{
    takt_id y = product(m, g, &p->weights, x);
    if (y != TAKT_NONE && p->scale != NULL)
        y = takt_mul(g, y, as_f32(g, p->scale, parameter(m, g, p->scale)));
    if (y == TAKT_NONE || p->biases.count == 0)
        return y;
    return takt_add(g, y, as_f32(g, p->biases.at[0], takt_gguf_parameter(m, g, &p->biases)));
}

takt_id takt_gguf_project(void *user, takt_graph *g, const char *name, takt_id x,
                          const int64_t *units, size_t count)
{
    takt_gguf_model *m = user;
    const takt_type *type = takt_type_of(g, x);
    const int64_t inner = type->dim[type->rank - 1], last = type->rank - 1;
    takt_id part[TAKT_GGUF_STACK];
    size_t parts = 0;
    if (count != takt_gguf_choices(name) || count > TAKT_GGUF_STACK)
        return takt_graph_fail(g, takt_fail(m->ctx, TAKT_E_GGUF_MODEL,
                                            "%s stands for %zu matrices, and there are %zu sizes",
                                            name, takt_gguf_choices(name), count));
    for (size_t i = 0; i < count;) {
        projection all, next;
        size_t end = i + 1;
        if (!find_one(m, g, name, i, (int64_t[2]){units[i], inner}, &all))
            return TAKT_NONE;
        for (; end < count; end++) {
            if (!find_one(m, g, name, end, (int64_t[2]){units[end], inner}, &next))
                return TAKT_NONE;
            if (!are_alike(&all, &next))
                break;
            push(&all.weights, next.weights.at[0]);
            if (next.biases.count > 0)
                push(&all.biases, next.biases.at[0]);
        }
        (void)takt_gguf_name(name, ".weight", i, end - i, all.weights.name);
        (void)takt_gguf_name(name, ".bias", i, end - i, all.biases.name);
        part[parts] = projected(m, g, &all, x);
        if (part[parts++] == TAKT_NONE)
            return TAKT_NONE;
        i = end;
    }
    return parts == 1 ? part[0] : takt_concat(g, part, parts, last);
}

/* ---- tables ---- */

static takt_id gather(takt_graph *g, takt_id table, takt_id ids)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(0)}};
    return takt_graph_call(g, &takt_op_gather, 2, (takt_id[]){table, ids}, 1, attrs);
}

takt_id takt_gguf_rows(void *user, takt_graph *g, const char *name, takt_id ids, int64_t size)
{
    takt_gguf_model *m = user;
    const int64_t dims[2] = {-1, size};
    const takt_gguf_tensor *t = takt_gguf_need(m, g, name, 2, dims);
    if (t == NULL)
        return TAKT_NONE;
    const takt_id table = parameter(m, g, t);
    if (!is_blocks(t) || table == TAKT_NONE)
        return as_f32(g, t, gather(g, table, ids));
    const takt_named_attr format = format_of(t);
    return takt_graph_call(g, &takt_op_ggml_rows, 2, (takt_id[]){table, ids}, 1, &format);
}
