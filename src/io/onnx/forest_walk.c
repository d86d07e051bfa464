/* forest_walk.c - walks all trees of an ensemble at once. */
#include <math.h>

#include "io/onnx/forest.h"

/* What every step looks things up in: one entry for each place. TAKT_NONE: not needed. */
typedef struct lists {
    takt_id feature, split, next[2], tracks, mode[TAKT_FOREST_MODES], sets;
    int modes;
} lists;

static takt_id column(takt_forest *f, takt_dtype dtype, const double *v)
{
    const int64_t count = (int64_t)takt_forest_places(f);
    return takt_onnx_floats(f->c, dtype, v, &count, 1);
}

/* Sets of members, one row for each place, and NaN where there are no more. */
static takt_id member_sets(takt_forest *f)
{
    size_t used = 0, longest = 1, length = 0;
    for (size_t i = 0; i < f->members.count; i++) {
        length = isnan(f->members.at[i]) ? 0 : length + 1;
        longest = length > longest ? length : longest;
    }
    if (longest > TAKT_FOREST_MOST / takt_forest_places(f)) {
        (void)takt_onnx_refuse(f->c, "a set of %zu members", longest);
        return TAKT_NONE;
    }
    double *v = takt_onnx_get(f->c, takt_forest_places(f) * longest, sizeof *v);
    if (v == NULL)
        return TAKT_NONE;
    for (size_t i = 0; i < takt_forest_places(f) * longest; i++)
        v[i] = NAN;
    for (size_t i = 0; i < f->branches; i++) {
        if (f->mode[i] != TAKT_FOREST_MEMBER)
            continue;
        for (size_t k = 0; used < f->members.count && !isnan(f->members.at[used]); k++)
            v[i * longest + k] = f->members.at[used++];
        used++;
    }
    return takt_onnx_floats(f->c, f->dtype, v,
                            (int64_t[]){(int64_t)takt_forest_places(f), (int64_t)longest}, 2);
}

/* Masks of the modes, where there are several; of a single one all branches are. */
static void list_modes(takt_forest *f, lists *l, double *row)
{
    size_t count[TAKT_FOREST_MODES] = {0};
    for (size_t i = 0; i < f->branches; i++)
        count[f->mode[i]]++;
    for (int m = 0; m < TAKT_FOREST_MODES; m++) {
        l->mode[m] = TAKT_NONE;
        if (count[m] == 0)
            continue;
        l->modes |= 1 << m;
        for (size_t i = 0; i < takt_forest_places(f); i++)
            row[i] = i < f->branches && f->mode[i] == m;
        if (count[m] < f->branches)
            l->mode[m] = column(f, TAKT_BOOL, row);
    }
}

static lists make_lists(takt_forest *f)
{
    lists l = {.sets = TAKT_NONE, .tracks = TAKT_NONE};
    double *v = takt_onnx_get(f->c, 5 * takt_forest_places(f), sizeof *v), *row[5];
    bool is_tracked = false;
    if (v == NULL)
        return l;
    for (size_t k = 0; k < 5; k++)
        row[k] = v + k * takt_forest_places(f);
    for (size_t i = 0; i < takt_forest_places(f); i++) {
        const bool is_branch = i < f->branches;
        row[0][i] = is_branch ? (double)f->feature[i] : 0;
        row[1][i] = is_branch ? f->split[i] : 0;
        row[2][i] = is_branch ? (double)f->next[0][i] : (double)i;
        row[3][i] = is_branch ? (double)f->next[1][i] : (double)i;
        row[4][i] = is_branch && f->tracks[i];
        is_tracked = is_tracked || row[4][i] != 0;
    }
    l.feature = column(f, TAKT_I64, row[0]);
    l.split = column(f, f->dtype, row[1]);
    l.next[0] = column(f, TAKT_I64, row[2]);
    l.next[1] = column(f, TAKT_I64, row[3]);
    if (is_tracked)
        l.tracks = column(f, TAKT_BOOL, row[4]);
    list_modes(f, &l, row[0]);
    if ((l.modes & 1 << TAKT_FOREST_MEMBER) != 0)
        l.sets = member_sets(f);
    return l;
}

/* ---- walking ---- */

/* Entries of a list at the current places, [rows, trees]. */
static takt_id at_places(takt_forest *f, takt_id list, takt_id place)
{
    return takt_onnx_gather(f->c, list, place, 0);
}

static takt_id is_member(takt_forest *f, takt_id sets, takt_id place, takt_id value)
{
    const int64_t last = 2;
    const takt_id set = takt_onnx_gather(f->c, sets, place, 0);
    const takt_id same =
        takt_binary(f->c->g, &takt_op_eq, takt_onnx_unsqueeze(f->c, value, 2), set);
    const takt_id any = takt_reduce_over(f->c->g, &takt_op_reduce_max,
                                         takt_onnx_cast(f->c, same, TAKT_I32), &last, 1, false);
    return takt_onnx_cast(f->c, any, TAKT_BOOL);
}

static takt_id compare(takt_forest *f, const lists *l, int mode, takt_id place, takt_id value)
{
    static const takt_op *const ops[] = {&takt_op_le, &takt_op_lt, &takt_op_ge,
                                         &takt_op_gt, &takt_op_eq, &takt_op_ne};
    const takt_id holds = mode == TAKT_FOREST_MEMBER ? is_member(f, l->sets, place, value)
                                                     : takt_binary(f->c->g, ops[mode], value,
                                                                   at_places(f, l->split, place));
    return l->mode[mode] == TAKT_NONE
               ? holds
               : takt_binary(f->c->g, &takt_op_and, at_places(f, l->mode[mode], place), holds);
}

/* One level further. */
static takt_id step(takt_forest *f, const lists *l, takt_id place)
{
    takt_graph *g = f->c->g;
    const takt_id value =
        takt_onnx_op2(f->c, &takt_op_gather_elements, f->x, at_places(f, l->feature, place), 1,
                      &(takt_named_attr){"axis", takt_attr_i64(1)});
    takt_id yes = TAKT_NONE;
    if (value == TAKT_NONE)
        return value;
    if (l->tracks != TAKT_NONE)
        yes = takt_binary(g, &takt_op_and, takt_unary(g, &takt_op_is_nan, value),
                          at_places(f, l->tracks, place));
    for (int m = 0; m < TAKT_FOREST_MODES; m++) {
        if ((l->modes & 1 << m) == 0)
            continue;
        const takt_id holds = compare(f, l, m, place, value);
        yes = yes == TAKT_NONE ? holds : takt_binary(g, &takt_op_or, yes, holds);
    }
    return takt_select(g, yes, at_places(f, l->next[1], place), at_places(f, l->next[0], place));
}

takt_id takt_forest_walk(takt_forest *f)
{
    takt_call *c = f->c;
    const lists l = make_lists(f);
    if (c->status != TAKT_OK || c->g->status != TAKT_OK)
        return TAKT_NONE;
    takt_id place = takt_onnx_i64s(c, f->root, f->trees);
    place = takt_broadcast(c->g, place,
                           (takt_dim[]){takt_type_of(c->g, f->x)->dim[0], (takt_dim)f->trees}, 2);
    for (size_t i = 0; i < f->depth && c->g->status == TAKT_OK; i++)
        place = step(f, &l, place);
    return takt_sub(c->g, place, takt_scalar_i64(c->g, (int64_t)f->branches));
}
