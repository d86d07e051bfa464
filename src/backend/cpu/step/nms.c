/* nms.c - nms: one class after another, numbers widened to f64 in scratch. */
#include "op/util/nms.h"
#include "op/record/nms.h"

#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"

enum { BOXES, SCORES, LIMIT, OVERLAP, THRESHOLD };

typedef struct facts {
    bool is_center;
    takt_dtype dtype;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_nms ? NULL : "";
}

typedef struct found {
    int64_t batch, class, rows, count;
    int64_t *out;
    takt_pace pace;
} found;

static bool use(void *user, int64_t box, size_t compared)
{
    enum { LOOK = 32 }; /* the work of finding the next box */
    found *f = user;
    if (takt_pace_stops(&f->pace, LOOK + 2 * compared))
        return false;
    if (box < 0)
        return true;
    int64_t *row = f->out + 3 * f->count;
    row[0] = f->batch;
    row[1] = f->class;
    row[2] = box;
    return ++f->count < f->rows;
}

static void widen(takt_dtype dtype, const void *from, int64_t first, int64_t count, double *to)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = takt_dtype_get_f(dtype, from, (size_t)(first + i));
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const int64_t n = s->in[BOXES].dim[1], classes = s->in[SCORES].dim[1];
    takt_nms_box *taken = t->scratch;
    double *boxes = (double *)(taken + n), *scores = boxes + 4 * n;
    takt_nms w = {.boxes = boxes,
                  .scores = scores,
                  .count = n,
                  .is_center = f->is_center,
                  .most = *(const int64_t *)takt_view_data(t, &s->in[LIMIT]),
                  .overlap = takt_dtype_get_f(f->dtype, takt_view_data(t, &s->in[OVERLAP]), 0),
                  .threshold = takt_dtype_get_f(f->dtype, takt_view_data(t, &s->in[THRESHOLD]), 0),
                  .taken = taken,
                  .order = (int64_t *)(void *)(scores + n)};
    found made = {
        .rows = s->out[0].dim[0], .out = takt_view_data(t, &s->out[0]), .pace = takt_pace_of(t)};
    const int64_t all = n > 0 ? s->in[SCORES].dim[0] * classes : 0;
    for (int64_t i = 0; made.count < made.rows && i < all && !takt_poll_stops(t->poll); i++) {
        made.batch = i / classes;
        made.class = i % classes;
        if (made.class == 0)
            widen(f->dtype, takt_view_data(t, &s->in[BOXES]), made.batch * n * 4, 4 * n, boxes);
        widen(f->dtype, takt_view_data(t, &s->in[SCORES]), i * n, n, scores);
        takt_nms_pick(&w, use, &made);
    }
    memset(made.out + 3 * made.count, 0, (size_t)(3 * (made.rows - made.count)) * sizeof *made.out);
    *(int64_t *)takt_view_data(t, &s->out[1]) = made.count;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_result(p, id, 0, &index));
    TAKT_TRY(takt_planner_result(p, id, 1, &index));
    f->is_center = takt_node_int(n, "center") != 0;
    f->dtype = p->step->in[BOXES].dtype;
    const size_t boxes = (size_t)p->step->in[BOXES].dim[1];
    p->step->scratch_bytes = takt_cpu_aligned(
        (boxes + 1) * (sizeof(takt_nms_box) + 5 * sizeof(double) + sizeof(int64_t)));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_nms = {.name = "nms",
                                    .family = TAKT_FAMILY_MOVE,
                                    .is_steady = true,
                                    .accepts = accepts,
                                    .compile = compile};
