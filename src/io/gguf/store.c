/* store.c - nodes for the tensors of a file: parameters, products with matrices, rows of tables. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/gguf/model.h"
#include "op/ops.h"

bool takt_gguf_is_stored(void *user, const char *name)
{
    const takt_gguf_model *m = user;
    return takt_gguf_tensor_find(m->g, name) != NULL;
}

/* ---- finding ---- */

static takt_id refuse(takt_gguf_model *m, takt_graph *g, takt_status status)
{
    (void)m;
    return takt_graph_fail(g, status);
}

/* The tensor if it has these sizes; NULL after a failure. -1: any. */
static const takt_gguf_tensor *find(takt_gguf_model *m, takt_graph *g, const char *name, int rank,
                                    const int64_t *dims)
{
    const takt_gguf_tensor *t = takt_gguf_tensor_find(m->g, name);
    if (t == NULL) {
        takt_graph_fail(g, takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, m->g->data,
                                          "the tensor %s is missing", name));
        return NULL;
    }
    bool fits = t->rank == rank;
    for (int d = 0; fits && d < rank; d++)
        fits = dims[d] < 0 || dims[d] == t->dims[d];
    if (fits)
        return t;
    takt_graph_fail(g,
                    takt_gguf_fail(m->g, TAKT_E_GGUF_MODEL, t->offset,
                                   "the tensor %s is [%lld, %lld] where the settings want "
                                   "[%lld, %lld]",
                                   name, t->rank > 1 ? (long long)t->dims[0] : 1,
                                   (long long)t->dims[t->rank - 1],
                                   rank > 1 ? (long long)dims[0] : 1, (long long)dims[rank - 1]));
    return NULL;
}

/* ---- parameters ---- */

static bool is_blocks(const takt_gguf_tensor *t)
{
    return t->type->dtype == TAKT_DTYPE_COUNT;
}

/* Blocks are the bytes that they are in the file, u8[..., bytes of a row]. */
static takt_status load(takt_gguf_model *m, const takt_gguf_tensor *t, takt_tensor *out)
{
    takt_type type = {.dtype = t->type->dtype, .rank = t->rank};
    memcpy(type.dim, t->dims, sizeof t->dims);
    if (is_blocks(t)) {
        if (takt_gguf_format(t->type) == TAKT_GGML_FORMATS)
            return takt_gguf_fail(m->g, TAKT_E_GGUF_UNSUPPORTED, t->offset,
                                  "%s has blocks of type %s, which Takt does not read", t->name,
                                  t->type->name);
        type.dtype = TAKT_U8;
        type.dim[t->rank - 1] = t->dims[t->rank - 1] / t->type->elements * t->type->bytes;
    }
    TAKT_TRY(takt_tensor_create(m->ctx, &type, out));
    return takt_source_copy(m->source, m->source->bytes + t->offset, takt_tensor_data(out),
                            t->bytes);
}

/* A parameter of the graph under the tensor's name, declared once. */
static takt_id parameter(takt_gguf_model *m, takt_graph *g, const takt_gguf_tensor *t)
{
    for (size_t i = 0; i < g->slot_count; i++)
        if (strcmp(g->slots[i].name, t->name) == 0)
            return g->slots[i].value;
    takt_tensor tensor = {0};
    const takt_status status = load(m, t, &tensor);
    takt_id id = TAKT_NONE;
    if (status == TAKT_OK) {
        const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = &tensor};
        id = takt_graph_slot(g, t->name, &tensor.type, &init, true);
    } else {
        id = refuse(m, g, status);
    }
    takt_tensor_release(&tensor);
    return id;
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
    const takt_gguf_tensor *t = find(m, g, name, type->rank, type->dim);
    return t != NULL ? as_f32(g, t, parameter(m, g, t)) : TAKT_NONE;
}

/* ---- products ---- */

/* Sums of x over blocks, times the minima. */
static takt_id of_mins(takt_graph *g, takt_id x, takt_id mins)
{
    takt_type t = *takt_type_of(g, x);
    t.dim[t.rank - 1] /= 32;
    t.dim[t.rank] = 32;
    const takt_id apart = takt_reshape(g, x, t.dim, (size_t)t.rank + 1);
    const int64_t last = t.rank;
    const takt_id sums = takt_reduce_over(g, &takt_op_reduce_sum, apart, &last, 1, false);
    return takt_matmul(g, sums, takt_cast(g, mins, TAKT_F32), false, true);
}

static takt_id block_product(takt_gguf_model *m, takt_graph *g, const takt_gguf_tensor *t,
                             takt_id x)
{
    takt_gguf_parts p;
    if (!takt_gguf_split(m, g, t, &p))
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
    const takt_id y = takt_graph_call(g, &takt_op_block_matmul, p.zero != 0 ? 4 : 3, in, 2, attrs);
    return p.mins == TAKT_NONE ? y : takt_add(g, y, of_mins(g, x, p.mins));
}

static takt_id product(takt_gguf_model *m, takt_graph *g, const takt_gguf_tensor *t, takt_id x)
{
    if (takt_gguf_has_parts(m, t->type))
        return block_product(m, g, t, x);
    const takt_id w = parameter(m, g, t);
    if (!is_blocks(t) || w == TAKT_NONE)
        return takt_matmul(g, x, as_f32(g, t, w), false, true);
    const takt_named_attr format = format_of(t);
    return takt_graph_call(g, &takt_op_ggml_matmul, 2, (takt_id[]){x, w}, 1, &format);
}

takt_id takt_gguf_project(void *user, takt_graph *g, const char *name, takt_id x, int64_t units)
{
    takt_gguf_model *m = user;
    const takt_type *type = takt_type_of(g, x);
    const int64_t dims[2] = {units, type->dim[type->rank - 1]};
    char full[128];
    if (snprintf(full, sizeof full, "%s.weight", name) >= (int)sizeof full)
        return takt_graph_fail(g, takt_fail(m->ctx, TAKT_E_GGUF_MODEL, "a name is too long"));
    const takt_gguf_tensor *t = find(m, g, full, 2, dims);
    if (t == NULL)
        return TAKT_NONE;
    const takt_id y = product(m, g, t, x);
    (void)snprintf(full, sizeof full, "%s.bias", name);
    if (y == TAKT_NONE || !takt_gguf_is_stored(m, full))
        return y;
    const takt_gguf_tensor *bias = find(m, g, full, 1, dims);
    return bias != NULL ? takt_add(g, y, as_f32(g, bias, parameter(m, g, bias))) : TAKT_NONE;
}

/* ---- tables ---- */

static takt_id gather(takt_graph *g, takt_id table, takt_id ids)
{
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(0)}};
    return takt_graph_call(g, &takt_op_gather, 2, (takt_id[]){table, ids}, 1, attrs);
}

/* A factor or summand of each block of the rows, next to its 32 elements. */
static takt_id per_block(takt_graph *g, takt_id table, takt_id ids)
{
    const takt_id x = takt_cast(g, gather(g, table, ids), TAKT_F32);
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(g, x);
    return takt_reshape(g, x, (takt_dim[]){t.dim[0], t.dim[1], 1}, 3);
}

static takt_id block_rows(takt_gguf_model *m, takt_graph *g, const takt_gguf_tensor *t, takt_id ids)
{
    takt_gguf_parts p;
    if (!takt_gguf_split(m, g, t, &p))
        return TAKT_NONE;
    takt_id x = takt_cast(g, gather(g, p.levels, ids), TAKT_F32);
    if (x == TAKT_NONE)
        return x;
    const takt_type flat = *takt_type_of(g, x);
    x = takt_reshape(g, x, (takt_dim[]){flat.dim[0], flat.dim[1] / 32, 32}, 3);
    if (p.zero != 0)
        x = takt_add_scalar(g, x, -p.zero);
    x = takt_mul(g, x, per_block(g, p.scales, ids));
    if (p.mins != TAKT_NONE)
        x = takt_add(g, x, per_block(g, p.mins, ids));
    return takt_reshape(g, x, flat.dim, 2);
}

takt_id takt_gguf_rows(void *user, takt_graph *g, const char *name, takt_id ids, int64_t size)
{
    takt_gguf_model *m = user;
    const int64_t dims[2] = {-1, size};
    const takt_gguf_tensor *t = find(m, g, name, 2, dims);
    if (t == NULL)
        return TAKT_NONE;
    return takt_gguf_has_parts(m, t->type) ? block_rows(m, g, t, ids)
                                           : as_f32(g, t, gather(g, parameter(m, g, t), ids));
}
