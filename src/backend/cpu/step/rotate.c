/* rotate.c - rotary embeddings as one step: pairs of each row's elements rotated by their angles.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/rotate_f32/rotate_f32.h"

typedef struct facts {
    takt_rotate_f32_fn *run;
    takt_rotate_f32 g; /* without pointers; rows that share their angles */
    size_t groups;     /* of such rows */
    int rank;          /* of the axes before them */
    int64_t dim[TAKT_MAX_RANK], stride[TAKT_MAX_RANK]; /* their sizes; steps of the angles */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_rotary_embedding && n->type->dtype == TAKT_F32;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* Where the angles of a group of rows begin. */
static size_t angles_at(const facts *f, size_t group)
{
    size_t at = 0;
    for (int d = f->rank - 1; d >= 0; d--) {
        at += group % (size_t)f->dim[d] * (size_t)f->stride[d];
        group /= (size_t)f->dim[d];
    }
    return at;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_rotate_f32 g = f->g;
    const float *x = takt_view_data(t, &s->in[0]), *c = takt_view_data(t, &s->in[1]);
    const float *sine = takt_view_data(t, &s->in[2]);
    float *y = takt_view_data(t, &s->out[0]);
    size_t first, end;
    takt_cpu_share(f->groups, 1, t->index, s->task_count, &first, &end);
    const size_t most = takt_pace_piece(g.n, 1);
    takt_pace pace = takt_pace_of(t);
    for (size_t i = first; i < end; i++) {
        const size_t at = angles_at(f, i);
        g.cos = c + at;
        g.sin = sine + at;
        for (size_t row = 0; row < f->g.rows; row += g.rows) {
            g.rows = f->g.rows - row < most ? f->g.rows - row : most;
            g.x = x + (i * f->g.rows + row) * g.n;
            g.y = y + (i * f->g.rows + row) * g.n;
            f->run(&g);
            if (takt_pace_stops(&pace, 2 * g.rows * g.n))
                return;
        }
    }
}

/* Trailing axes along which the angles stay the same are rows of one call. */
static void set_sizes(facts *f, const takt_type *x, const takt_type *c)
{
    const int shift = x->rank - c->rank;
    int64_t step = c->dim[c->rank - 1];
    f->g.n = f->g.x_row = (size_t)x->dim[x->rank - 1];
    f->g.half = (size_t)c->dim[c->rank - 1];
    f->g.rows = f->groups = 1;
    f->rank = 0;
    for (int d = x->rank - 2; d >= 0; d--) {
        const bool is_same = d < shift || c->dim[d - shift] == 1;
        f->dim[d] = x->dim[d];
        f->stride[d] = is_same ? 0 : step;
        step *= d < shift ? 1 : c->dim[d - shift];
        if (f->rank == 0 && is_same) {
            f->g.rows *= (size_t)x->dim[d];
        } else {
            f->rank = f->rank > 0 ? f->rank : d + 1;
            f->groups *= (size_t)x->dim[d];
        }
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index, count;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    set_sizes(f, n->type, takt_type_of(p->graph, n->in[1]));
    f->g.neighbours = takt_node_int(n, "interleaved") != 0;
    f->run = takt_kernel_as_rotate_f32(takt_planner_kernel(p, "rotate_f32"));
    (void)takt_type_count(n->type, &count);
    p->step->data = f;
    p->step->run = run;
    p->step->task_count =
        takt_cpu_tasks(p, 3.0 * (double)count, 8.0 * (double)count, f->groups > 0 ? f->groups : 1);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_rotate = {.is_steady = true,
                                       .name = "rotate",
                                       .family = TAKT_FAMILY_MAP,
                                       .accepts = accepts,
                                       .keeps = keeps,
                                       .compile = compile};
