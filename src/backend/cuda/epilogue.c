/* epilogue.c - epilogues of products: bias, residual and bounds in the kernel, the rest after it.
 */
#include <string.h>

#include "backend/cuda/step.h"
#include "op/ops.h"

const char *takt_cuda_absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (takt_type_of(g, anchor)->dtype != TAKT_F32 || n->type->dtype != TAKT_F32)
        return "only f32 values are finished inside the step";
    if (n->op == &takt_op_broadcast)
        return "it copies";
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE || takt_type_of(g, n->in[k])->dtype != TAKT_F32)
            return "it mixes element types";
    return takt_cuda_map_kind.accepts(g, node);
}

/* The operand of a binary node that is not `value`; TAKT_NONE if both are, or neither. */
static takt_id other_of(const takt_node *n, takt_id value)
{
    if (n->in_count != 2 || (n->in[0] == value) == (n->in[1] == value))
        return TAKT_NONE;
    return n->in[n->in[0] == value];
}

static bool is_one(const takt_type *t)
{
    size_t count;
    return takt_type_count(t, &count) && count == 1;
}

/* One row of the result, which all rows share. */
static bool is_row(const takt_type *t, const takt_type *result, size_t columns)
{
    size_t count;
    return t->rank > 0 && result->rank > 0 && takt_type_count(t, &count) && count == columns &&
           t->dim[t->rank - 1] == (int64_t)columns &&
           result->dim[result->rank - 1] == (int64_t)columns;
}

bool takt_cuda_adds_row(const takt_graph *g, const takt_node *n, takt_id value, size_t columns)
{
    const takt_id other = other_of(n, value);
    return n->op == &takt_op_add && other != TAKT_NONE &&
           is_row(takt_type_of(g, other), n->type, columns);
}

static bool is_full(const takt_type *t, const takt_type *result)
{
    return t->rank == result->rank &&
           memcmp(t->dim, result->dim, (size_t)t->rank * sizeof *t->dim) == 0;
}

static bool has_act(const takt_cuda_epilogue *e)
{
    return e->is_relu || e->low != NULL || e->high != NULL;
}

/* Where the other operand of `n` goes; NULL: the kernel does not know such a node here. */
static const float **slot_of(takt_cuda_epilogue *e, const takt_node *n, const takt_type *other,
                             size_t columns)
{
    if (e->residual_last)
        return NULL;
    if (n->op == &takt_op_max && is_one(other) && e->low == NULL && e->high == NULL)
        return &e->low;
    if (n->op == &takt_op_min && is_one(other) && e->high == NULL)
        return &e->high;
    if (n->op != &takt_op_add)
        return NULL;
    if (is_row(other, n->type, columns) && e->bias == NULL && e->residual == NULL && !has_act(e))
        return &e->bias;
    return is_full(other, n->type) && e->residual == NULL ? &e->residual : NULL;
}

takt_status takt_cuda_epilogue_of(takt_planner *p, size_t columns, takt_cuda_epilogue *e,
                                  size_t *taken)
{
    const takt_group *group = p->group;
    *e = (takt_cuda_epilogue){.residual_row = (int64_t)columns};
    for (*taken = 0; *taken + 1 < group->count; ++*taken) {
        const takt_id value = group->nodes[*taken];
        const takt_node *n = &p->graph->nodes[group->nodes[*taken + 1]];
        if (n->op == &takt_op_relu && n->in[0] == value) {
            if (has_act(e) || e->residual_last)
                return TAKT_OK;
            e->is_relu = 1;
            continue;
        }
        const takt_id other = other_of(n, value);
        const float **slot =
            other != TAKT_NONE ? slot_of(e, n, takt_type_of(p->graph, other), columns) : NULL;
        if (slot == NULL)
            return TAKT_OK;
        size_t index;
        const bool is_last = slot == &e->residual && has_act(e);
        TAKT_TRY(takt_planner_input(p, other, &index));
        *slot = takt_cuda_in(index);
        e->residual_last = is_last;
    }
    return TAKT_OK;
}

/* ---- packed matrices ---- */

enum { SIDE = 16 };

/* Lines [first, end) of k, and the line after each part that ends there. */
static void pack_parts(const takt_cuda_matrices *m, const float *x, float *y, size_t first,
                       size_t end)
{
    const size_t columns = takt_cuda_columns(m->n);
    for (size_t k = first; k < end; k++) {
        float *line = y + (k + k / m->part) * columns;
        for (size_t j = 0; j < columns; j++)
            line[j] = j < m->n ? x[k * m->row + j * m->col] : 0.0f;
        for (size_t j = 0; j < columns && (k + 1) % m->part == 0; j++)
            line[columns + j] = -0.0f;
    }
}

/* Sixteen lines of the packed matrices. Lines of y are columns of x, which are far apart: taken in
 * squares, both stay in the cache. */
static void pack_lines(const takt_cuda_matrices *m, const float *from, float *to, size_t index)
{
    const size_t columns = takt_cuda_columns(m->n), each = (m->k + SIDE - 1) / SIDE;
    const size_t matrix = index / each, first = index % each * SIDE;
    const size_t end = first + SIDE < m->k ? first + SIDE : m->k;
    const float *x = from + matrix * m->each;
    float *y = to + matrix * takt_cuda_lines(m) * columns;
    if (m->part > 0) {
        pack_parts(m, x, y, first, end);
        return;
    }
    if (columns != m->n)
        memset(y + first * columns, 0, (end - first) * columns * sizeof *y);
    for (size_t at = 0; at < m->n; at += SIDE)
        for (size_t k = first; k < end; k++)
            for (size_t j = at; j < m->n && j < at + SIDE; j++)
                y[k * columns + j] = x[k * m->row + j * m->col];
}

static takt_status pack_part(const void *user, const void *from, void *to, size_t index,
                             size_t count)
{
    const takt_cuda_matrices *m = user;
    const size_t all = m->count * ((m->k + SIDE - 1) / SIDE);
    for (size_t i = all * index / count; i < all * (index + 1) / count; i++)
        pack_lines(m, from, to, i);
    return TAKT_OK;
}

static takt_status pack(void *user, const void *from, void *to)
{
    return pack_part(user, from, to, 0, 1);
}

takt_status takt_cuda_packed(takt_planner *p, takt_id from, const takt_cuda_matrices *m,
                             size_t *index)
{
    takt_cuda_matrices *kept = takt_planner_get(p, sizeof *kept);
    const char *format = takt_planner_text(p, "cuda %zux%zux%zu %zu %zu %zu %zu", m->count, m->k,
                                           m->n, m->each, m->row, m->col, m->part);
    if (kept == NULL || format == NULL)
        return TAKT_ERR_MEMORY;
    *kept = *m;
    const size_t bytes = m->count * takt_cuda_lines(m) * takt_cuda_columns(m->n) * sizeof(float);
    const takt_filler filler = {format, bytes, pack, pack_part, NULL};
    return takt_planner_packed_by(p, from, &filler, kept, index);
}
