/* lengths_worth.c - sizes that are computed from other sizes alone, as detectors compute to what
 * size an image is scaled: with numbers for those they are numbers, and need no bound. */
#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "interp/interp.h"
#include "ir/leaves.h"
#include "op/ops.h"

enum { MOST_NODES = 4096, MOST_ELEMENTS = 64 };

typedef struct worth {
    const takt_graph *g;
    const int64_t *sizes; /* by index of names */
    size_t count;
    unsigned char *is_wanted; /* per node up to the one in question */
    takt_array **values;      /* per node: its results; NULL: not known */
    takt_arena *arena;
} worth;

/* Whether the node can be worked out by itself: its inputs are then wanted, too. A size is read
 * from a type, whatever the value is. */
static bool is_plain(const takt_node *n)
{
    const unsigned never = TAKT_CONTROL | TAKT_UNIQUE | TAKT_LEAF;
    return n->op == &takt_op_constant || n->op == &takt_op_length || n->op == &takt_op_get ||
           (n->op->traits & never) == 0;
}

static bool is_small(const takt_node *n)
{
    for (uint32_t k = 0; k < n->out_count; k++) {
        int64_t elements = 1;
        for (int d = 0; d < n->type[k].rank; d++) {
            const takt_dim size = n->type[k].dim[d];
            if (!takt_dim_is_number(size) || size > MOST_ELEMENTS)
                return false;
            elements *= size;
        }
        if (elements > MOST_ELEMENTS)
            return false;
    }
    return true;
}

/* Marks what `last` needs; false: that is too much, or something else than sizes. */
static bool mark(worth *w, takt_id last)
{
    size_t nodes = 0;
    w->is_wanted[last] = 1;
    for (takt_id i = last + 1; i-- > 0;) {
        const takt_node *n = &w->g->nodes[i];
        if (w->is_wanted[i] == 0)
            continue;
        if (!is_plain(n) || !is_small(n) || ++nodes > MOST_NODES)
            return false;
        for (uint32_t k = 0; n->op != &takt_op_dim && k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                w->is_wanted[n->in[k]] = 1;
    }
    return true;
}

static takt_status size_of(worth *w, const takt_node *n, takt_array *out)
{
    const takt_type *x = takt_type_of(w->g, n->in[0]);
    const int64_t axis = n->attr[0].i64 < 0 ? n->attr[0].i64 + x->rank : n->attr[0].i64;
    takt_dim size;
    TAKT_TRY(takt_dim_substitute(w->g->dims, x->dim[axis], w->sizes, w->count, &size));
    if (!takt_dim_is_number(size))
        return TAKT_ERR_SHAPE;
    TAKT_TRY(takt_array_create(w->g->ctx, &n->type[0], out));
    out->i[0] = size;
    return TAKT_OK;
}

static takt_status evaluate(worth *w, const takt_node *n, takt_array *out)
{
    takt_array *in = takt_arena_array(w->arena, n->in_count + 1, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    if (n->op == &takt_op_constant)
        return takt_array_from_tensor(w->g->ctx, n->attr[0].tensor, out);
    if (n->op == &takt_op_dim)
        return size_of(w, n, out);
    if (n->op == &takt_op_get)
        return takt_array_copy(w->g->ctx, &w->values[n->in[0]][n->attr[0].i64], out);
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = n->in[k] == TAKT_NONE ? (takt_array){.rank = -1} : w->values[n->in[k]][0];
    return takt_interpret_node(w->g->ctx, w->g, n, in, out);
}

static takt_status evaluate_all(worth *w, takt_id last)
{
    for (takt_id i = 0; i <= last; i++) {
        const takt_node *n = &w->g->nodes[i];
        if (w->is_wanted[i] == 0)
            continue;
        takt_array *out = takt_arena_array(w->arena, n->out_count, sizeof *out);
        if (out == NULL)
            return TAKT_ERR_MEMORY;
        memset(out, 0, n->out_count * sizeof *out);
        const takt_status status = evaluate(w, n, out);
        if (status != TAKT_OK)
            return status;
        w->values[i] = out;
    }
    return TAKT_OK;
}

static void release(worth *w, takt_id last)
{
    for (takt_id i = 0; i <= last; i++)
        for (uint32_t k = 0; w->values[i] != NULL && k < w->g->nodes[i].out_count; k++)
            takt_array_release(w->g->ctx, &w->values[i][k]);
}

takt_status takt_length_worth(const takt_graph *g, takt_id n, const int64_t *sizes, size_t count,
                              int64_t *out)
{
    takt_arena arena;
    const takt_error before = g->ctx->error;
    const size_t nodes = (size_t)n + 1;
    takt_arena_init(&arena, g->ctx);
    worth w = {.g = g, .sizes = sizes, .count = count, .arena = &arena};
    w.is_wanted = takt_arena_array(&arena, nodes, 1);
    w.values = takt_arena_array(&arena, nodes, sizeof *w.values);
    takt_status status = w.is_wanted != NULL && w.values != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    if (status == TAKT_OK) {
        memset(w.is_wanted, 0, nodes);
        memset(w.values, 0, nodes * sizeof *w.values);
        if (mark(&w, n))
            status = evaluate_all(&w, n);
        for (size_t k = 0; w.values[n] != NULL && k < w.values[n][0].count; k++)
            out[k] = w.values[n][0].i[k];
        release(&w, n);
    }
    takt_arena_deinit(&arena);
    if (status == TAKT_ERR_MEMORY)
        return status;
    g->ctx->error = before; /* a run says what is wrong */
    return TAKT_OK;
}
