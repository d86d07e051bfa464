/* Gather.c - GATHER, GATHER_ND and EMBEDDING_LOOKUP. */
#include "io/tflite/quant.h"

/* Shared leading axes (batch_dims): gathers from one flat x, with an offset for each block. */
static takt_id batched(takt_tfl_call *c, takt_id x, takt_id index, int axis, int batch)
{
    const takt_type t = *takt_type_of(c->g, x), ti = *takt_type_of(c->g, index);
    int64_t perm[TAKT_MAX_RANK], back[TAKT_MAX_RANK], n = 0;
    takt_graph *g = c->g;
    if (batch > t.rank || batch > ti.rank || axis < batch) {
        (void)takt_tfl_refuse(c, "%d axes in common", batch);
        return TAKT_NONE;
    }
    for (int d = 0; d < t.rank; d++) /* the axis comes right after those in common */
        if (d != axis)
            perm[n + (n >= batch)] = d, n++;
    perm[batch] = axis;
    const takt_named_attr attr = {"batch", takt_attr_i64(batch)};
    const takt_id places = takt_tfl_unsqueeze(c, index, ti.rank);
    const takt_id y = takt_tfl_op2(c, &takt_op_gather_nd,
                                   takt_transpose(g, x, perm, (size_t)t.rank), places, 1, &attr);
    if (y == TAKT_NONE)
        return y;
    const int rank = takt_type_of(g, y)->rank, more = ti.rank - batch, before = axis - batch;
    for (int d = 0; d < rank; d++) /* axes before `axis` go in front of those of the index */
        back[d] = d < batch                   ? d
                  : d < batch + before        ? d + more
                  : d < batch + before + more ? d - before
                                              : d;
    return takt_transpose(g, y, back, (size_t)rank);
}

/* Weights of an embedding may be bytes while the result is floats. */
static takt_id as_result(takt_tfl_call *c, takt_id y, const takt_tfl_tensor *from)
{
    const takt_dtype to = takt_tfl_dtype_of(takt_tfl_tensor_out(c, 0)->type);
    if (y == TAKT_NONE || takt_type_of(c->g, y)->dtype == to || !takt_dtype_is_float(to))
        return y;
    if (from->scale_count > 1) {
        (void)takt_tfl_refuse(c, "rows with scales of their own");
        return TAKT_NONE;
    }
    return takt_tfl_dequantise(c, takt_tfl_as_bytes(c, y), from);
}

static takt_status adapt(takt_tfl_call *c)
{
    const bool is_embedding = takt_tfl_is(c, "EMBEDDING_LOOKUP");
    const takt_tfl_tensor *table = takt_tfl_tensor_in(c, is_embedding ? 1 : 0);
    const takt_id x = takt_tfl_need(c, is_embedding ? 1 : 0);
    takt_id index = takt_tfl_need(c, is_embedding ? 0 : 1);
    if (!takt_tfl_good(c))
        return c->status;
    const takt_dtype dtype = takt_type_of(c->g, index)->dtype;
    if (dtype != TAKT_I32 && dtype != TAKT_I64)
        index = takt_tfl_cast(c, index, TAKT_I32);
    if (is_embedding && table->scale_count > 1) { /* each row has its scale */
        const takt_id wide = takt_tfl_dequantise(c, takt_tfl_as_bytes(c, x), table);
        return takt_tfl_done(c, takt_tfl_gather(c, wide, index, 0));
    }
    if (is_embedding)
        return takt_tfl_done(c, as_result(c, takt_tfl_gather(c, x, index, 0), table));
    if (takt_tfl_is(c, "GATHER_ND"))
        return takt_tfl_done(c, takt_tfl_op2(c, &takt_op_gather_nd, x, index, 0, NULL));
    const int rank = takt_type_of(c->g, x)->rank, index_rank = takt_type_of(c->g, index)->rank;
    const int axis = takt_tfl_axis(c, takt_tfl_i32(c, 0, 0), rank);
    int batch = takt_tfl_i32(c, 1, 0);
    batch = batch < 0 ? batch + index_rank : batch;
    if (!takt_tfl_good(c) || batch < 0)
        return takt_tfl_refuse(c, "%d axes in common", batch);
    return takt_tfl_done(c, batch > 0 ? batched(c, x, index, axis, batch)
                                      : takt_tfl_gather(c, x, index, axis));
}

const takt_tflite_op takt_tflite_Gather = {.names = {"GATHER", "GATHER_ND", "EMBEDDING_LOOKUP"},
                                           .adapt = adapt};
