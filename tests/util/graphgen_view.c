/* graphgen_view.c - random views of values, which are hard for fusion, aliasing and folding of
 * moves.
 */
#include "util/graphgen_view.h"

#include "op/ops.h"

static int64_t below(takt_random *r, int64_t count)
{
    return (int64_t)takt_random_below(r, (size_t)count);
}

static size_t count_of(const takt_graph *g, takt_id id)
{
    size_t count = 0;
    return takt_type_count(takt_type_of(g, id), &count) ? count : 0;
}

/* ---- single views ---- */

/* Some elements of one axis, perhaps with gaps, perhaps backwards. */
static takt_id slice(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    const int64_t axis = below(r, t.rank), size = t.dim[axis];
    if (size == 0)
        return id;
    const int64_t start = below(r, size), stop = start + 1 + below(r, size - start);
    if (below(r, 4) == 0)
        return takt_slice(g, id, axis, stop - 1, start > 0 ? start - 1 : -INT64_MAX,
                          -1 - below(r, 2));
    return takt_slice(g, id, axis, start, stop, 1 + below(r, 2) * below(r, 3));
}

/* Merges two axes, splits one, or merges all. */
static takt_id reshape(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    takt_dim dim[TAKT_MAX_RANK];
    int rank = 0;
    const int64_t at = below(r, t.rank), how = below(r, 3);
    const takt_dim flat = (takt_dim)count_of(g, id);
    if (how == 0)
        return takt_reshape(g, id, &flat, 1);
    for (int i = 0; i < t.rank; i++) {
        if (how == 1 && i == at && i + 1 < t.rank) {
            dim[rank++] = t.dim[i] * t.dim[i + 1];
            i++;
        } else if (how == 2 && i == at && t.rank < TAKT_MAX_RANK) {
            const int64_t part = t.dim[i] % 3 == 0 ? 3 : t.dim[i] % 2 == 0 ? 2 : 1;
            dim[rank++] = t.dim[i] / part;
            dim[rank++] = part;
        } else {
            dim[rank++] = t.dim[i];
        }
    }
    return takt_reshape(g, id, dim, (size_t)rank);
}

static takt_id transpose(takt_graph *g, takt_random *r, takt_id id)
{
    int64_t perm[TAKT_MAX_RANK];
    const int rank = takt_type_of(g, id)->rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        const int64_t k = below(r, i + 1), old = perm[i];
        perm[i] = perm[k];
        perm[k] = old;
    }
    return takt_transpose(g, id, perm, (size_t)rank);
}

/* One part of a split; the others stay dead unless drawn again. */
static takt_id split(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    const int64_t axis = below(r, t.rank), size = t.dim[axis], cut = below(r, size + 1);
    const int64_t sizes[2] = {cut, size - cut};
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(axis)},
                                     {"sizes", takt_attr_i64s(sizes, 2)}};
    const takt_id node = takt_graph_call(g, &takt_op_split, 1, &id, 2, attrs);
    return node == TAKT_NONE ? node : takt_graph_get(g, node, cut * 2 < size);
}

/* Concatenated with itself, or the end before the beginning. */
static takt_id concat(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    const int64_t axis = below(r, t.rank), size = t.dim[axis];
    if (size < 2 || below(r, 3) == 0)
        return takt_concat(g, (takt_id[]){id, id}, 2, axis);
    const int64_t cut = 1 + below(r, size - 1);
    const takt_id parts[] = {takt_slice(g, id, axis, cut, size, 1),
                             takt_slice(g, id, axis, 0, cut, 1)};
    return takt_concat(g, parts, 2, axis);
}

/* A new leading axis, or an axis of one element repeated. */
static takt_id broadcast(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    takt_dim dim[TAKT_MAX_RANK];
    int rank = 0;
    if (t.rank < TAKT_MAX_RANK)
        dim[rank++] = 1 + below(r, 3);
    for (int i = 0; i < t.rank; i++)
        dim[rank++] = t.dim[i] == 1 ? 1 + below(r, 4) : t.dim[i];
    return takt_broadcast(g, id, dim, (size_t)rank);
}

static takt_id pad(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    if ((takt_op_pad.dtypes & TAKT_IN(t.dtype)) == 0)
        return concat(g, r, id);
    int64_t before[TAKT_MAX_RANK], after[TAKT_MAX_RANK];
    int64_t mode = below(r, 4);
    for (int i = 0; i < t.rank; i++) {
        before[i] = below(r, 3);
        after[i] = below(r, 3);
        if (t.dim[i] < 3) /* too few to reflect */
            mode = 0;
    }
    const takt_named_attr attrs[] = {
        {"before", takt_attr_i64s(before, (size_t)t.rank)},
        {"after", takt_attr_i64s(after, (size_t)t.rank)},
        {"mode", takt_attr_i64(mode)},
    };
    return takt_graph_call(g, &takt_op_pad, 1, &id, 3, attrs);
}

takt_id takt_gen_view(takt_graph *g, takt_random *r, takt_id id)
{
    static takt_id (*const views[])(takt_graph *, takt_random *, takt_id) = {
        slice, slice, reshape, transpose, split, concat, broadcast, pad};
    if (takt_type_of(g, id)->rank == 0 || count_of(g, id) == 0)
        return broadcast(g, r, id);
    const takt_id view = views[below(r, sizeof views / sizeof *views)](g, r, id);
    if (view == TAKT_NONE || count_of(g, view) <= TAKT_GEN_LARGEST)
        return view;
    return slice(g, r, id);
}

/* ---- views that go with their source ---- */

/* One element of each axis in `axes`, a set; leading axes may then go. */
static takt_id narrow(takt_graph *g, takt_random *r, takt_id id, uint32_t axes)
{
    const takt_type t = *takt_type_of(g, id);
    int drop = 0;
    for (int i = 0; i < t.rank; i++)
        if ((axes >> i & 1) != 0 && t.dim[i] > 0) {
            const int64_t at = below(r, 2) == 0 ? t.dim[i] - 1 : below(r, t.dim[i]);
            id = takt_slice(g, id, i, at, at + 1, 1);
            drop += drop == i;
        }
    if (id == TAKT_NONE || drop == 0 || below(r, 2) == 0)
        return id;
    const takt_type now = *takt_type_of(g, id);
    return takt_reshape(g, id, now.dim + drop, (size_t)(now.rank - drop));
}

/* Rotates or reverses axis `axis`. */
static takt_id rotate(takt_graph *g, takt_random *r, takt_id id, int64_t axis)
{
    const int64_t size = takt_type_of(g, id)->dim[axis];
    if (size < 2)
        return id;
    if (below(r, 2) == 0)
        return takt_slice(g, id, axis, -1, -INT64_MAX, -1);
    const int64_t cut = 1 + below(r, size - 1);
    const takt_id parts[] = {takt_slice(g, id, axis, cut, size, 1),
                             takt_slice(g, id, axis, 0, cut, 1)};
    return takt_concat(g, parts, 2, axis);
}

takt_id takt_gen_operand(takt_graph *g, takt_random *r, takt_id id)
{
    const takt_type t = *takt_type_of(g, id);
    if (t.rank == 0)
        return id;
    const uint32_t axes = (uint32_t)takt_random_below(r, (size_t)1 << t.rank);
    if (axes != 0 && below(r, 3) != 0)
        return narrow(g, r, id, axes);
    if (t.rank >= 2 && t.dim[t.rank - 1] == t.dim[t.rank - 2] && below(r, 2) == 0) {
        int64_t perm[TAKT_MAX_RANK];
        for (int i = 0; i < t.rank; i++)
            perm[i] = i;
        perm[t.rank - 1] = t.rank - 2;
        perm[t.rank - 2] = t.rank - 1;
        return takt_transpose(g, id, perm, (size_t)t.rank);
    }
    return rotate(g, r, id, below(r, t.rank));
}

/* ---- fitting ---- */

/* `need` elements of the flat value `id` of `have`. */
static takt_id take(takt_graph *g, takt_random *r, takt_id id, int64_t have, int64_t need)
{
    if (have >= need) {
        const int64_t step = need > 0 && have / need > 1 ? 1 + below(r, 2) : 1;
        const int64_t span = need > 0 ? (need - 1) * step + 1 : 0;
        const int64_t start = below(r, have - span + 1);
        if (need > 0 && below(r, 4) == 0) /* backwards */
            return takt_slice(g, id, 0, start + span - 1, start > 0 ? start - 1 : -INT64_MAX,
                              -step);
        return takt_slice(g, id, 0, start, start + span, step);
    }
    const int64_t before = below(r, need - have + 1), after = need - have - before;
    const takt_named_attr attrs[] = {
        {"before", takt_attr_i64s(&before, 1)},
        {"after", takt_attr_i64s(&after, 1)},
    };
    return takt_graph_call(g, &takt_op_pad, 1, &id, 2, attrs);
}

takt_id takt_gen_fit(takt_graph *g, takt_random *r, takt_id id, const takt_type *want)
{
    size_t need;
    const takt_type type = *takt_type_of(g, id);
    if (takt_type_same(g->dims, &type, want))
        return id;
    const size_t have = count_of(g, id);
    if (!takt_type_count(want, &need) || have == 0 || have * 4 < need)
        return TAKT_NONE;
    if (have < need && (takt_op_pad.dtypes & TAKT_IN(want->dtype)) == 0)
        return TAKT_NONE;
    if (type.dtype != want->dtype)
        id = takt_cast(g, id, want->dtype);
    const takt_dim flat = (takt_dim)have;
    if (have != need) {
        id = takt_reshape(g, id, &flat, 1);
        id = take(g, r, id, (int64_t)have, (int64_t)need);
    }
    return takt_reshape(g, id, want->dim, (size_t)want->rank);
}
