/* RotaryEmbedding.c - RotaryEmbedding: pairs of numbers turned by an angle per position. */
#include "io/onnx/adapt.h"

typedef struct pair {
    takt_id real, imaginary;
} pair;

static takt_id part(takt_call *c, takt_id x, int64_t start, int64_t stop, int64_t step)
{
    return takt_slice(c->g, x, 3, start, stop, step);
}

static pair turned(takt_call *c, takt_id a, takt_id b, takt_id cosine, takt_id sine)
{
    takt_graph *g = c->g;
    return (pair){takt_sub(g, takt_mul(g, cosine, a), takt_mul(g, sine, b)),
                  takt_add(g, takt_mul(g, sine, a), takt_mul(g, cosine, b))};
}

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
    const bool is_flat = t.rank == 3, crossed = takt_onnx_i(c, "interleaved", 0) != 0;
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if ((is_flat && (heads < 1 || t.dim[2] % heads != 0)) || t.rank < 3 || t.rank > 4)
        return takt_onnx_refuse(c, "rank %d and %lld heads", t.rank, (long long)heads);
    x = is_flat
            ? takt_reshape(c->g, x, (takt_dim[]){t.dim[0], t.dim[1], heads, t.dim[2] / heads}, 4)
            : takt_transpose(c->g, x, (int64_t[]){0, 2, 1, 3}, 4);
    if (x == TAKT_NONE)
        return takt_onnx_done(c, x);
    const int64_t size = takt_type_of(c->g, x)->dim[3],
                  given = takt_onnx_i(c, "rotary_embedding_dim", 0);
    const int64_t width = given > 0 ? given : size, half = width / 2;
    const takt_id cosine = angles(c, 1, half), sine = angles(c, 2, half);
    const pair p =
        crossed ? turned(c, part(c, x, 0, width, 2), part(c, x, 1, width, 2), cosine, sine)
                : turned(c, part(c, x, 0, half, 1), part(c, x, half, width, 1), cosine, sine);
    takt_id y;
    if (p.real == TAKT_NONE || p.imaginary == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    if (crossed) {
        takt_type whole = *takt_type_of(c->g, p.real);
        whole.dim[3] = width;
        y = takt_concat(
            c->g,
            (takt_id[]){takt_onnx_unsqueeze(c, p.real, 4), takt_onnx_unsqueeze(c, p.imaginary, 4)},
            2, 4);
        y = takt_reshape(c->g, y, whole.dim, 4);
    } else {
        y = takt_concat(c->g, (takt_id[]){p.real, p.imaginary}, 2, 3);
    }
    if (width < size)
        y = takt_concat(c->g, (takt_id[]){y, part(c, x, width, size, 1)}, 2, 3);
    if (!is_flat)
        y = takt_transpose(c->g, y, (int64_t[]){0, 2, 1, 3}, 4);
    return takt_onnx_done(c, takt_reshape(c->g, y, t.dim, (size_t)t.rank));
}

const takt_onnx_op takt_onnx_RotaryEmbedding = {.names = {"RotaryEmbedding"}, .adapt = adapt};
