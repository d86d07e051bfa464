/* MsEmbed.c - com.microsoft's EmbedLayerNormalization: words, positions and segments, normalised.
 */
#include "io/onnx/heads.h"

/* Rows of the position table: the given positions, or the first ones. */
static takt_id positions(takt_call *c, takt_dim sequence)
{
    const takt_id table = takt_onnx_in(c, 3);
    if (takt_onnx_has(c, 8))
        return takt_onnx_gather(c, table, takt_onnx_in(c, 8), 0);
    takt_id at = takt_heads_count(c, sequence, 2);
    at = at == TAKT_NONE ? at : takt_reshape(c->g, at, (takt_dim[]){1, sequence}, 2);
    return takt_onnx_gather(c, table, at, 0);
}

/* Number of keys of each row that the mask shows; 0 without a mask. */
static takt_id shown(takt_call *c, takt_dim batch)
{
    const takt_id mask = takt_onnx_in(c, 7);
    const int64_t axis = 1;
    if (mask == TAKT_NONE)
        return takt_broadcast(c->g, takt_onnx_scalar(c, TAKT_I32, 0), &batch, 1);
    const takt_id one = takt_binary(c->g, &takt_op_eq, mask, takt_scalar_like(c->g, mask, 1));
    return takt_reduce_over(c->g, &takt_op_reduce_sum, takt_onnx_cast(c, one, TAKT_I32), &axis, 1,
                            false);
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (t.rank != 2)
        return takt_onnx_refuse(c, "input_ids has rank %d instead of 2", t.rank);
    if (takt_onnx_has(c, 1) != takt_onnx_has(c, 4))
        return takt_onnx_refuse(c, "segment_ids and segment_embedding belong together");
    takt_id sum = takt_onnx_gather(c, takt_onnx_in(c, 2), takt_onnx_in(c, 0), 0);
    const takt_id place = positions(c, t.dim[1]);
    if (sum == TAKT_NONE || place == TAKT_NONE || !takt_onnx_has(c, 5) || !takt_onnx_has(c, 6))
        return takt_onnx_refuse(c, "an input is missing");
    sum = takt_add(c->g, sum, place);
    if (takt_onnx_has(c, 1))
        sum =
            takt_heads_sum(c, sum, takt_onnx_gather(c, takt_onnx_in(c, 4), takt_onnx_in(c, 1), 0));
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(-1)},
                                     {"epsilon", takt_attr_f64(takt_onnx_f(c, "epsilon", 1e-12f))}};
    if (c->out_count > 1 && c->node->outputs[1].length > 0)
        takt_onnx_set(c, 1, shown(c, t.dim[0]));
    takt_onnx_set(c, 2, sum);
    if (sum == TAKT_NONE)
        return takt_onnx_done(c, sum);
    return takt_onnx_done(
        c, takt_graph_call(c->g, &takt_op_layer_norm, 3,
                           (takt_id[]){sum, takt_onnx_in(c, 5), takt_onnx_in(c, 6)}, 2, attrs));
}

const takt_onnx_op takt_onnx_MsEmbed = {
    .names = {"EmbedLayerNormalization"}, .domain = "com.microsoft", .adapt = adapt};
