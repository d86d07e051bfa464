/* rotary_embedding.c - rotates pairs of the last axis by angles given as cosines and sines.
 *
 * x is [..., dim]; cos and sin are [..., dim/2] and broadcast against it. Pair i is (x[i], x[i +
 * dim/2]), or with `interleaved` (x[2i], x[2i + 1]). If cos has k elements, only the first 2*k are
 * rotated; the rest passes through.
 */
#include "op/util/check.h"

enum { INTERLEAVED };

static takt_status mismatch(takt_infer *in, const char *what)
{
    char x[TAKT_TYPE_TEXT], c[TAKT_TYPE_TEXT], s[TAKT_TYPE_TEXT];
    return takt_fail(in->ctx, TAKT_E_SHAPE, "rotary_embedding: %s: x is %s, cos is %s, sin is %s",
                     what, takt_type_text(in->dims, in->type[0], x),
                     takt_type_text(in->dims, in->type[1], c),
                     takt_type_text(in->dims, in->type[2], s));
}

static takt_status infer(takt_infer *in)
{
    const takt_type *x = in->type[0], *c = in->type[1];
    TAKT_TRY(takt_infer_rank(in, 0, 1, TAKT_MAX_RANK - 1));
    TAKT_TRY(takt_infer_rank(in, 1, 1, x->rank));
    TAKT_TRY(takt_check_shape(in, 2, c, "cos"));
    const takt_dim dim = x->dim[x->rank - 1], half = c->dim[c->rank - 1];
    if (!takt_dim_is_number(dim) || !takt_dim_is_number(half) || half < 1 || half > dim / 2)
        return mismatch(in, "the last dimension of cos must be at most half of x's");
    takt_type lead = *x, other = *c;
    bool fits = false;
    lead.rank--;
    other.rank--;
    TAKT_TRY(takt_type_broadcast(in->dims, &lead, &other, &fits));
    for (int i = 0; fits && i < lead.rank; i++) /* cos may not enlarge x */
        TAKT_TRY(takt_check_agree(in, lead.dim[i], x->dim[i], &fits));
    if (!fits)
        return mismatch(in, "cos does not broadcast to x");
    in->out[0] = *x;
    return TAKT_OK;
}

/* [..., 2 * half] as pairs, and one member of each. */
static takt_id member(takt_graph *g, const takt_node *n, takt_id x, int64_t half, int which)
{
    if (x == TAKT_NONE)
        return x;
    takt_type t = *takt_type_of(g, x);
    const int64_t last = t.rank - 1;
    if (!n->attr[INTERLEAVED].boolean)
        return takt_slice(g, x, last, which * half, (which + 1) * half, 1);
    return takt_slice(g, x, last, which, 2 * half, 2);
}

static takt_id join(takt_graph *g, const takt_node *n, takt_id a, takt_id b, int64_t half)
{
    const takt_type *t = &n->type[0];
    if (!n->attr[INTERLEAVED].boolean)
        return takt_concat(g, (takt_id[]){a, b}, 2, t->rank - 1);
    takt_type pair = *t, flat = *t;
    pair.dim[pair.rank - 1] = half;
    pair.dim[pair.rank++] = 1;
    flat.dim[flat.rank - 1] = 2 * half;
    const takt_id both[2] = {takt_reshape(g, a, pair.dim, (size_t)pair.rank),
                             takt_reshape(g, b, pair.dim, (size_t)pair.rank)};
    return takt_reshape(g, takt_concat(g, both, 2, t->rank), flat.dim, (size_t)flat.rank);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_type *t = &n->type[0], *c = takt_type_of(g, n->in[1]);
    const takt_id cosine = n->in[1], sine = n->in[2];
    const int64_t half = c->dim[c->rank - 1], last = t->rank - 1;
    const bool is_whole = 2 * half == t->dim[last];
    const takt_id x = is_whole ? n->in[0] : takt_slice(g, n->in[0], last, 0, 2 * half, 1);
    const takt_id a = member(g, n, x, half, 0), b = member(g, n, x, half, 1);
    const takt_id first = takt_sub(g, takt_mul(g, a, cosine), takt_mul(g, b, sine));
    const takt_id second = takt_add(g, takt_mul(g, b, cosine), takt_mul(g, a, sine));
    out[0] = join(g, n, first, second, half);
    if (!is_whole) {
        const takt_id rest = takt_slice(g, n->in[0], last, 2 * half, INT64_MAX, 1);
        out[0] = takt_concat(g, (takt_id[]){out[0], rest}, 2, last);
    }
}

const takt_op takt_op_rotary_embedding = {
    .name = "rotary_embedding",
    .summary = "pairs of the last axis rotated by angles given as cosines and sines",
    .in_min = 3,
    .in_max = 3,
    .in_names = {"x", "cos", "sin"},
    .attrs = {[INTERLEAVED] = {.name = "interleaved",
                               .type = TAKT_ATTR_BOOL,
                               .summary = "pairs are neighbours, else half of the axis apart"}},
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .lower = lower,
    .samples = {"rotary_embedding(f32[2, 3, 5, 8], f32[5, 4], f32[5, 4])",
                "rotary_embedding(f32[2, 5, 6], f32[2, 5, 3], f32[2, 5, 3], interleaved=true)",
                "rotary_embedding(f64[4, 9], f64[4, 3], f64[4, 3])"},
};
