/* bias.c - which sums are biases: Conv and Gemm of ONNX add them on their own. */
#include "io/onnx/write/emit.h"
#include "op/util/conv.h"

/* How often each value is read, by live nodes or as a result. */
static bool count_uses(takt_emit *e, const takt_graph *g, const unsigned char *live, uint32_t *uses)
{
    if (uses == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return false;
    }
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                uses[g->nodes[i].in[k]]++;
    for (size_t i = 0; i < g->output_count; i++)
        uses[g->outputs[i].id]++;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            uses[g->slots[i].next]++;
    return true;
}

static bool is_same(const takt_type *a, const takt_type *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

/* [C, 1, 1] or [1, C, 1, 1] next to a value of rank 4 whose dimension 1 is C. */
static bool is_per_channel(const takt_type *t, const takt_type *y)
{
    const int at = 1 - (y->rank - t->rank);
    bool good = (at == 0 || at == 1) && t->dim[at] == y->dim[1];
    for (int i = 0; good && i < t->rank; i++)
        good = i == at || t->dim[i] == 1;
    return good;
}

/* The vector that `added` adds to the channels of product `n`; TAKT_NONE: it is not a bias. */
static takt_id vector_of(const takt_graph *g, const takt_node *n, takt_id added)
{
    const takt_node *q = takt_node_at(g, added);
    const takt_type *y = &n->type[0], *t = takt_type_of(g, added);
    const bool is_conv = n->op == &takt_op_conv;
    if (!is_conv && (y->rank != 2 || takt_type_of(g, n->in[0])->rank != 2 ||
                     takt_type_of(g, n->in[1])->rank != 2))
        return TAKT_NONE;
    if (!is_conv || n->attr[TAKT_CONV_LAYOUT].i64 != 0)
        return t->rank == 1 && t->dim[0] == y->dim[y->rank - 1] ? added : TAKT_NONE;
    if (q->op != &takt_op_reshape || takt_type_of(g, q->in[0])->rank != 1)
        return TAKT_NONE;
    return is_per_channel(t, y) ? q->in[0] : TAKT_NONE;
}

void takt_emit_find_biases(takt_emit *e, takt_emit_frame *f, const unsigned char *live)
{
    const takt_graph *g = f->g;
    uint32_t *uses = takt_arena_array(&e->arena, g->count + 1, sizeof *uses);
    f->biases = takt_arena_array(&e->arena, g->count + 1, sizeof *f->biases);
    f->is_within = takt_arena_array(&e->arena, g->count + 1, sizeof *f->is_within);
    if (!count_uses(e, g, live, f->biases != NULL && f->is_within != NULL ? uses : NULL))
        return;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *sum = &g->nodes[i];
        if (!live[i] || sum->op != &takt_op_add)
            continue;
        const takt_node *n = takt_node_at(g, sum->in[0]);
        if ((n->op != &takt_op_conv && n->op != &takt_op_matmul) || uses[sum->in[0]] != 1 ||
            (TAKT_FLOATS & TAKT_IN(n->type[0].dtype)) == 0 || !is_same(n->type, sum->type))
            continue;
        const takt_id vector = vector_of(g, n, sum->in[1]);
        if (vector == TAKT_NONE)
            continue;
        f->biases[i] = (takt_emit_bias){sum->in[0], vector, true};
        f->is_within[sum->in[0]] = true;
        f->is_within[sum->in[1]] = vector != sum->in[1] && uses[sum->in[1]] == 1;
    }
}
