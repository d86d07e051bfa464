/* RotaryEmbedding.c - RotaryEmbedding: pairs of numbers rotated by an angle per position. */
#include "io/onnx/heads.h"

/* A cache [positions, half], or [batch, sequence, half], as [batch, sequence, 1, half]. */
static takt_id angles(takt_call *c, size_t input, int64_t half)
{
    takt_id t = takt_onnx_in(c, input);
    if (takt_onnx_has(c, 3))
        t = takt_onnx_gather(c, t, takt_onnx_in(c, 3), 0);
    t = takt_slice(c->g, t, -1, 0, half, 1);
    return takt_onnx_unsqueeze(c, t, 2);
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    const int64_t heads = takt_onnx_i(c, "num_heads", 0);
    const bool is_flat = t.rank == 3;
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if ((is_flat && (heads < 1 || t.dim[2] % heads != 0)) || t.rank < 3 || t.rank > 4)
        return takt_onnx_refuse(c, "rank %d and %lld heads", t.rank, (long long)heads);
    x = is_flat ? takt_heads_apart(c, x, heads) : takt_heads_swap(c, x);
    if (x == TAKT_NONE)
        return takt_onnx_done(c, x);
    const int64_t given = takt_onnx_i(c, "rotary_embedding_dim", 0);
    takt_rotation rotation = {.width = given > 0 ? given : takt_type_of(c->g, x)->dim[3],
                              .crossed = takt_onnx_i(c, "interleaved", 0) != 0};
    if (rotation.width < 0)
        return takt_onnx_refuse(c, "heads of a size that is not known");
    rotation.cosine = angles(c, 1, rotation.width / 2);
    rotation.sine = angles(c, 2, rotation.width / 2);
    takt_id y = takt_heads_rotate(c, x, &rotation);
    if (!is_flat)
        y = takt_heads_swap(c, y);
    return takt_onnx_done(c, y == TAKT_NONE ? y : takt_reshape(c->g, y, t.dim, (size_t)t.rank));
}

const takt_onnx_op takt_onnx_RotaryEmbedding = {.names = {"RotaryEmbedding"}, .adapt = adapt};
