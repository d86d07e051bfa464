/* gather_sum.c - interpolation as one step: gathered elements are weighted and added at once.
 *
 * A block of indices is read and checked once, and used for all rows of x that share them.
 */
#include "backend/cpu/axis.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"
#include "kernel/gather_sum_f32/gather_sum_f32.h"

enum { X, INDEX, WEIGHT, INSIDE };
enum { AT_ONCE = 4096, MOST = 1024 }; /* indices in scratch memory; places of a block */
/* Floats of x and y that stay in the nearest caches, and planes at a time: positions are computed
 * once for all of them. */
enum { NEAR_X = 1 << 14, NEAR_Y = 1 << 13, MOST_PLANES = 32 };

typedef struct facts {
    takt_gather_sum_f32_fn *run;
    size_t batch, outer, size, inner; /* of x */
    size_t taps, places;
    size_t block, blocks; /* places at a time, and how often */
    size_t piece, planes; /* of inner, and of x, at a time */
    bool has_inside;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_gather_sum && n->type->dtype == TAKT_F32;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (!keeps(g, n))
        return "";
    const takt_type *x = takt_type_of(g, n->in[X]);
    const int64_t axis = takt_node_int(n, "axis");
    return x->dim[axis < 0 ? axis + x->rank : axis] > INT32_MAX
               ? "the axis is too long for indices of 32 bits"
               : NULL;
}

/* Places are counted along the axis: the kernel knows how many elements apart they are. */
static void read_places(const facts *f, takt_index_reader *r, size_t first, size_t count,
                        int32_t *to)
{
    enum { FEW = 256 };
    int64_t at[FEW];
    for (size_t i = 0; i < count; i += FEW) {
        const size_t n = count - i < FEW ? count - i : FEW;
        takt_index_list(r, first + i, n, (int64_t)f->size, at);
        for (size_t j = 0; j < n; j++)
            to[i + j] = (int32_t)at[j];
    }
}

/* Scratch for a block of positions: indices, masks, weights. */
static void begin_block(const facts *f, const takt_step *s, const takt_task *t,
                        takt_index_reader *r, size_t block, takt_gather_sum_f32 *g)
{
    const size_t b = block / f->blocks, from = block % f->blocks * f->block;
    const float *weight = takt_view_data(t, &s->in[WEIGHT]);
    const unsigned char *given = f->has_inside ? takt_view_data(t, &s->in[INSIDE]) : NULL;
    int32_t *at = t->scratch_own, *inside = at + f->taps * f->block;
    g->places = f->places - from < f->block ? f->places - from : f->block;
    g->weight = weight + b * f->taps * f->places + from;
    g->at = at;
    g->inside = f->has_inside ? inside : NULL;
    for (size_t k = 0; k < f->taps; k++) {
        const size_t first = (b * f->taps + k) * f->places + from;
        read_places(f, r, first, g->places, at + k * f->block);
        for (size_t p = 0; p < g->places && f->has_inside; p++)
            inside[k * f->block + p] = given[first + p] != 0 ? -1 : 0;
    }
}

/* All of inner at some places of some planes of x; false: the task must end. */
static bool run_planes(const facts *f, takt_gather_sum_f32 *g, const float *x, float *y,
                       takt_pace *pace)
{
    for (size_t i = 0; i < f->inner; i += f->piece) {
        g->inner = f->inner - i < f->piece ? f->inner - i : f->piece;
        g->x = x + i;
        g->y = y + i;
        f->run(g);
        if (takt_pace_stops(pace, g->planes * g->places * f->taps * g->inner))
            return false;
    }
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const float *x = takt_view_data(t, &s->in[X]);
    float *y = takt_view_data(t, &s->out[0]);
    takt_index_reader r = takt_index_open(t, &s->in[INDEX]);
    takt_gather_sum_f32 g = {.taps = f->taps,
                             .size = f->size,
                             .x_plane = f->size * f->inner,
                             .y_plane = f->places * f->inner,
                             .x_row = f->inner,
                             .y_row = f->inner,
                             .at_tap = f->block,
                             .weight_tap = f->places};
    takt_pace pace = takt_pace_of(t);
    size_t first, end, now = SIZE_MAX;
    takt_cpu_share(f->batch * f->blocks * f->outer, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i += g.planes) {
        const size_t block = i / f->outer, b = block / f->blocks, o = i % f->outer,
                     row = b * f->outer + o, from = block % f->blocks * f->block;
        if (block != now)
            begin_block(f, s, t, &r, now = block, &g);
        g.planes = least(f->planes, least(end - i, f->outer - o));
        if (f->size > 0 && !run_planes(f, &g, x + row * f->size * f->inner,
                                       y + (row * f->places + from) * f->inner, &pace))
            break;
    }
    takt_index_close(&r, t);
}

static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

static void set_sizes(facts *f, const takt_graph *g, const takt_node *n)
{
    const takt_type *x = takt_type_of(g, n->in[X]), *index = takt_type_of(g, n->in[INDEX]);
    const takt_axis_split split = takt_axis_split_of(x, takt_node_int(n, "axis"));
    f->batch = 1;
    for (int d = 0; d < index->rank - 2; d++)
        f->batch *= (size_t)x->dim[d];
    f->outer = split.outer / at_least_one(f->batch);
    f->size = split.size;
    f->inner = split.inner;
    f->taps = (size_t)index->dim[index->rank - 2];
    f->places = (size_t)index->dim[index->rank - 1];
    f->block = at_least_one(AT_ONCE / f->taps);
    f->block = least(f->block, MOST);
    f->block = least(f->block, at_least_one(TAKT_PACE / (f->taps * at_least_one(f->inner))));
    f->block = least(f->block, at_least_one(f->places));
    f->blocks = (f->places + f->block - 1) / f->block;
    f->piece = at_least_one(TAKT_PACE / (f->taps * f->block));
    f->planes = least(NEAR_X / at_least_one(f->size * f->inner), NEAR_Y / f->block);
    f->planes = at_least_one(least(f->planes, MOST_PLANES));
    f->has_inside = n->in_count > INSIDE && n->in[INSIDE] != TAKT_NONE;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    takt_step *s = p->step;
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    set_sizes(f, p->graph, n);
    f->run = takt_kernel_as_gather_sum_f32(takt_planner_kernel(p, "gather_sum_f32"));
    const double work = (double)(f->batch * f->outer * f->inner) * (double)(f->places * f->taps);
    s->data = f;
    s->run = run;
    s->scratch_each = f->taps * f->block * sizeof(int32_t) * (f->has_inside ? 2 : 1);
    s->can_fault = true;
    s->fault_id = TAKT_E_INDEX;
    s->task_count = takt_cpu_tasks(p, 8 * work, 8 * work / (double)f->taps,
                                   at_least_one(f->batch * f->blocks * f->outer));
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_gather_sum = {.name = "gather_sum",
                                           .family = TAKT_FAMILY_MAP,
                                           .accepts = accepts,
                                           .keeps = keeps,
                                           .compile = compile};
