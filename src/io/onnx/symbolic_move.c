/* symbolic_move.c - transposing, slicing and joining tables of dimensions.
 *
 * The origin of each element is found by moving element indices instead of the elements. */
#include "interp/interp.h"
#include "io/onnx/import.h"
#include "ir/array.h"

enum { MOST_INPUTS = 16, MOST = 64 };

typedef struct move {
    takt_room *room;
    const takt_node *n;
    takt_array in[MOST_INPUTS]; /* owned, except for an index */
    takt_array out;
    takt_sym from[MOST_INPUTS * MOST]; /* the elements of all inputs */
    size_t count;
    uint32_t made; /* of `in` */
} move;

bool takt_symbolic_moves(const takt_graph *g, const takt_node *n)
{
    const takt_op *op = n->op;
    bool is_table = n->type[0].rank > 1;
    for (uint32_t i = 0; i < n->in_count; i++)
        is_table = is_table || (n->in[i] != TAKT_NONE && takt_type_of(g, n->in[i])->rank > 1);
    if (op == &takt_op_transpose || op == &takt_op_tile)
        return true;
    return is_table && (op == &takt_op_slice || op == &takt_op_gather || op == &takt_op_concat ||
                        op == &takt_op_stack || op == &takt_op_broadcast);
}

static bool is_index(const takt_node *n, uint32_t i)
{
    return n->op == &takt_op_gather && i == 1;
}

/* Indices of its elements; false if they are unknown, or too many. */
static takt_status number_input(move *m, uint32_t i, bool *is_good)
{
    takt_syms syms;
    const takt_array *known;
    takt_ctx *ctx = m->room->im->ctx;
    *is_good = false;
    if (is_index(m->n, i)) {
        TAKT_TRY(takt_fold_known(m->room, m->n->in[i], &known));
        if (known == NULL)
            return TAKT_OK;
        TAKT_TRY(takt_array_copy(ctx, known, &m->in[i]));
    } else {
        TAKT_TRY(takt_fold_syms(m->room, m->n->in[i], &syms));
        if (syms.at == NULL || syms.count > MOST)
            return TAKT_OK;
        takt_type type = *takt_type_of(m->room->g, m->n->in[i]);
        type.dtype = TAKT_I64;
        TAKT_TRY(takt_array_create(ctx, &type, &m->in[i]));
        for (size_t k = 0; k < syms.count && k < m->in[i].count; k++) {
            m->in[i].i[k] = (int64_t)m->count;
            m->from[m->count++] = syms.at[k];
        }
    }
    m->made = i + 1;
    *is_good = true;
    return TAKT_OK;
}

static takt_status follow(move *m, takt_sym *out, size_t count, bool *is_done)
{
    takt_ctx *ctx = m->room->im->ctx;
    bool is_good = true;
    for (uint32_t i = 0; i < m->n->in_count && is_good; i++)
        TAKT_TRY(number_input(m, i, &is_good));
    if (!is_good)
        return TAKT_OK;
    const takt_error before = ctx->error;
    const takt_status status = takt_interpret_node(ctx, m->room->g, m->n, m->in, &m->out);
    if (status != TAKT_OK) {
        if (status != TAKT_ERR_MEMORY)
            ctx->error = before;
        return status == TAKT_ERR_MEMORY ? status : TAKT_OK;
    }
    *is_done = m->out.count == count;
    for (size_t i = 0; i < count && *is_done; i++)
        out[i] = m->from[m->out.i[i]];
    takt_array_release(ctx, &m->out);
    return TAKT_OK;
}

takt_status takt_symbolic_move(takt_room *room, const takt_node *n, takt_sym *out, size_t count,
                               bool *is_done)
{
    *is_done = false;
    const bool is_wide = n->type[0].dtype == TAKT_I64 || n->type[0].dtype == TAKT_I32;
    if (n->in_count > MOST_INPUTS || !is_wide)
        return TAKT_OK;
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] == TAKT_NONE)
            return TAKT_OK;
    move *m = takt_arena_array(&room->im->arena, 1, sizeof *m);
    if (m == NULL)
        return TAKT_ERR_MEMORY;
    m->room = room;
    m->n = n;
    const takt_status status = follow(m, out, count, is_done);
    for (uint32_t i = 0; i < m->made; i++)
        takt_array_release(room->im->ctx, &m->in[i]);
    return status;
}
