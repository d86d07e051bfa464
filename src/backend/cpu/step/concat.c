/* concat.c - inputs side by side along an axis. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/transpose.h"

typedef struct facts {
    size_t outer;  /* rows of the result */
    size_t row;    /* elements of one */
    size_t *piece; /* elements that each input contributes to a row */
    int bits;      /* of an element */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_concat ? NULL : "";
}

/* Two inputs of bytes that take turns. */
static void run_two(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->outer, 64, t->index, s->task_count, &first, &end);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = end - first < TAKT_PACE / 2 ? end - first : TAKT_PACE / 2; /* of each input */
        takt_interleave_bytes((const char *)takt_view_data(t, &s->in[0]) + first,
                              (const char *)takt_view_data(t, &s->in[1]) + first,
                              (char *)takt_view_data(t, &s->out[0]) + 2 * first, n);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->outer, 1, t->index, s->task_count, &first, &end);
    void *to = takt_view_data(t, &s->out[0]);
    takt_pace pace = takt_pace_bits(t, f->bits);
    size_t at = 0;
    for (size_t k = 0; k < s->in_count; k++) {
        const void *from = takt_view_data(t, &s->in[k]);
        for (size_t r = first; r < end; r++)
            if (!takt_pace_elements(&pace, to, r * f->row + at, from, r * f->piece[k], f->piece[k]))
                return;
        at += f->piece[k];
    }
    takt_clear_tail(f->bits, to, f->outer * f->row);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t *piece = takt_planner_get(p, n->in_count * sizeof *piece);
    if (f == NULL || piece == NULL)
        return TAKT_ERR_MEMORY;
    int64_t axis = takt_node_int(n, "axis");
    axis += axis < 0 ? n->type->rank : 0;
    f->outer = 1;
    for (int d = 0; d < axis; d++)
        f->outer *= (size_t)n->type->dim[d];
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++) {
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
        piece[k] = 1;
        for (int d = (int)axis; d < n->type->rank; d++)
            piece[k] *= (size_t)takt_type_of(p->graph, n->in[k])->dim[d];
        f->row += piece[k];
    }
    f->piece = piece;
    f->bits = takt_dtype_bits(n->type->dtype);
    TAKT_TRY(takt_planner_output(p, id, &index));
    const bool take_turns =
        f->bits == 8 && p->step->in_count == 2 && piece[0] == 1 && piece[1] == 1;
    p->step->run = take_turns ? run_two : run;
    p->step->data = f;
    const double bytes = (double)(f->outer * f->row) * f->bits / 8;
    /* Two tasks may not write to one byte. */
    p->step->task_count = takt_cpu_tasks(p, 0, 2 * bytes, f->bits < 8 ? 1 : f->outer);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_concat = {
    .is_steady = true, .name = "move", .accepts = accepts, .compile = compile};
