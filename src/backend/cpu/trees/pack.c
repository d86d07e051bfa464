/* pack.c - puts trees, columns and weights into one block. */
#include "backend/cpu/trees/pack.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/trees/nodes.h"

/* ---- the block ---- */

/* `count` elements of `size` bytes at a multiple of 64. */
static void *take(char *block, size_t *at, size_t count, size_t size)
{
    void *here = block != NULL ? block + *at : NULL;
    *at += takt_cpu_aligned(count * size);
    return here;
}

static takt_trees_packed lay_out(const takt_trees_form *f, char *block, size_t *bytes)
{
    size_t at = 0;
    takt_trees_packed p = {0};
    p.tree = take(block, &at, f->trees, sizeof *p.tree);
    if (f->is_wide)
        p.wide = take(block, &at, f->nodes, sizeof *p.wide);
    else
        p.pairs = take(block, &at, f->nodes, sizeof *p.pairs);
    p.leaf_of = take(block, &at, f->nodes, sizeof *p.leaf_of);
    p.column = take(block, &at, f->columns, sizeof *p.column);
    p.value_start = take(block, &at, f->columns + 1, sizeof *p.value_start);
    p.value = take(block, &at, f->values, sizeof *p.value);
    if (!f->is_dense) {
        p.start = take(block, &at, f->leaves + 1, sizeof *p.start);
        p.target = take(block, &at, f->gives, sizeof *p.target);
    }
    if (f->is_f64)
        p.weight_f64 = take(block, &at, f->gives, sizeof *p.weight_f64);
    else
        p.weight = take(block, &at, f->gives, sizeof *p.weight);
    *bytes = at;
    return p;
}

takt_trees_packed takt_trees_place(const takt_trees_form *f, void *at)
{
    size_t bytes;
    return lay_out(f, at, &bytes);
}

/* ---- weights ---- */

static bool is_dense(const takt_trees *t, const size_t *start, const size_t *order)
{
    if (t->gives != t->leaves * t->targets)
        return false;
    for (size_t leaf = 0; leaf < t->leaves; leaf++)
        for (size_t k = 0; k < t->targets; k++)
            if (start[leaf] != leaf * t->targets ||
                t->give[order[start[leaf] + k]][1] != (int64_t)k)
                return false;
    return start[t->leaves] == t->gives;
}

static void put_weights(const takt_trees *t, const takt_trees_index *index, takt_trees_packed *p)
{
    for (size_t i = 0; p->start != NULL && i <= t->leaves; i++)
        p->start[i] = (uint32_t)index->start[i];
    for (size_t i = 0; i < t->gives; i++) {
        const size_t at = index->order[i];
        if (p->target != NULL)
            p->target[i] = (uint32_t)t->give[at][1];
        if (p->weight_f64 != NULL)
            p->weight_f64[i] = t->weight[at];
        else
            p->weight[i] = (float)t->weight[at];
    }
}

/* ---- all of it ---- */

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
}

static takt_status put(takt_arena *arena, takt_trees_form *f, const takt_trees_nodes *n,
                       const takt_trees_tests *s, void **to)
{
    (void)lay_out(f, NULL, &f->bytes);
    *to = takt_arena_array(arena, 1, f->bytes);
    if (*to == NULL)
        return TAKT_ERR_MEMORY;
    const takt_trees_packed p = takt_trees_place(f, *to);
    copy(p.tree, n->tree, f->trees * sizeof *p.tree);
    if (f->is_wide)
        copy(p.wide, n->wide, f->nodes * sizeof *p.wide);
    else
        copy(p.pairs, n->pairs, f->nodes * sizeof *p.pairs);
    copy(p.leaf_of, n->leaf_of, f->nodes * sizeof *p.leaf_of);
    copy(p.column, s->column, f->columns * sizeof *p.column);
    copy(p.value_start, s->value_start, (f->columns + 1) * sizeof *p.value_start);
    copy(p.value, s->value, f->values * sizeof *p.value);
    return TAKT_OK;
}

takt_status takt_trees_pack(takt_arena *arena, const takt_trees *t, bool is_f64, takt_trees_form *f,
                            void **to)
{
    takt_trees_tests tests;
    takt_trees_nodes nodes;
    takt_trees_index index = {.start = takt_arena_array(arena, t->leaves + 1, sizeof(size_t)),
                              .order = takt_arena_array(arena, t->gives, sizeof(size_t))};
    *to = NULL;
    if (index.start == NULL || index.order == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_trees_make_tests(arena, t, is_f64, &tests));
    TAKT_TRY(takt_trees_make_nodes(arena, t, &tests, &nodes));
    if (nodes.tree == NULL)
        return TAKT_OK;
    takt_trees_sort(t, index.start, index.order);
    *f = (takt_trees_form){.is_wide = nodes.wide != NULL,
                           .is_f64 = is_f64,
                           .is_dense = is_dense(t, index.start, index.order),
                           .trees = t->trees,
                           .nodes = nodes.count,
                           .columns = tests.columns,
                           .values = tests.values,
                           .leaves = t->leaves,
                           .gives = t->gives};
    for (size_t i = 0; i < t->trees; i++)
        f->steps += nodes.tree[i].most;
    TAKT_TRY(put(arena, f, &nodes, &tests, to));
    takt_trees_packed p = takt_trees_place(f, *to);
    put_weights(t, &index, &p);
    return TAKT_OK;
}

/* ---- keys ---- */

/* 2r between values r - 1 and r, 2r + 1 at value r. */
static int32_t rank_of(const double *value, size_t count, double x)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (value[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return 2 * (int32_t)low + (low < count && value[low] == x);
}

void takt_trees_keys(const takt_trees_form *f, const takt_trees_packed *p, takt_dtype dtype,
                     const void *x, int32_t *to)
{
    if (f->is_f64)
        for (size_t c = 0; c < f->columns; c++) {
            const double v = ((const double *)x)[p->column[c] >> 1];
            const size_t start = p->value_start[c], count = p->value_start[c + 1] - start;
            to[c] = !isnan(v)          ? rank_of(p->value + start, count, v)
                    : p->column[c] & 1 ? INT32_MIN
                                       : INT32_MAX;
        }
    else
        for (size_t c = 0; c < f->columns; c++) {
            const size_t at = p->column[c] >> 1;
            const float v =
                dtype == TAKT_F32 ? ((const float *)x)[at] : (float)takt_dtype_get_f(dtype, x, at);
            const int32_t none = p->column[c] & 1 ? INT32_MIN : INT32_MAX;
            int32_t bits;
            const float plain = v + 0.0F; /* -0 becomes +0 */
            memcpy(&bits, &plain, sizeof bits);
            to[c] = v != v ? none : bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
        }
}
