/* byte_pair.c - an operand of the result's shape is read where it lies; one that broadcasts is
 * spread out on the stack, a piece at a time, so that kernels see two runs of the same length. */
#include "backend/cpu/byte_pair.h"

#include "backend/cpu/flat.h"
#include "backend/cpu/pace.h"

enum { WHOLE_PIECE = TAKT_PACE / 4 }; /* an element takes as long as moving several */

static bool is_result_shape(const takt_view *in, const takt_type *out)
{
    size_t given = 1, count = 1;
    for (int d = 0; d < in->rank; d++)
        given *= (size_t)in->dim[d];
    for (int d = 0; d < out->rank; d++)
        count *= (size_t)out->dim[d];
    return given == count;
}

takt_status takt_byte_pair_plan(takt_planner *p, double operations, takt_byte_pair *pair)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    int64_t stride[TAKT_MAX_RANK];
    TAKT_TRY(takt_cpu_flat(p, operations, &pair->count));
    for (int k = 0; k < 2; k++) {
        const takt_view *in = &p->step->in[k];
        pair->is_spread[k] = !is_result_shape(in, n->type);
        pair->start[k] = takt_strided_source(n, in, stride);
        pair->from[k] = takt_strided_of(n->type->dim, stride, n->type->rank, 1);
    }
    return TAKT_OK;
}

/* `n` elements of an operand from `first` on. */
static const uint8_t *operand(const takt_byte_pair *pair, int k, const uint8_t *data, size_t first,
                              size_t n, uint8_t *room)
{
    if (!pair->is_spread[k])
        return data + first;
    takt_strided_copy(&pair->from[k], data + pair->start[k], room, first, first + n);
    return room;
}

void takt_byte_pair_run(const takt_byte_pair *pair, const takt_step *s, const takt_task *t,
                        takt_byte_pair_fn *run, const void *user)
{
    uint8_t room[2][TAKT_BYTE_PAIR_PIECE];
    const bool is_spread = pair->is_spread[0] || pair->is_spread[1];
    const size_t most = is_spread ? TAKT_BYTE_PAIR_PIECE : WHOLE_PIECE;
    const uint8_t *a = takt_view_data(t, &s->in[0]), *b = takt_view_data(t, &s->in[1]);
    uint8_t *y = takt_view_data(t, &s->out[0]);
    takt_pace pace = takt_pace_of(t);
    size_t first, end;
    takt_cpu_share(pair->count, TAKT_FLAT_GRAIN, t->index, s->task_count, &first, &end);
    for (takt_byte_piece piece; first < end; first += piece.n) {
        piece.n = end - first < most ? end - first : most;
        piece.a = operand(pair, 0, a, first, piece.n, room[0]);
        piece.b = operand(pair, 1, b, first, piece.n, room[1]);
        piece.y = y + first;
        run(user, &piece);
        if (takt_pace_stops(&pace, 4 * piece.n))
            return;
    }
}
