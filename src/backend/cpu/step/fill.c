/* fill.c - values that depend on position and shape alone: iota and dim. */
#include "backend/cpu/axis.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/convert/convert.h"

typedef struct facts {
    takt_axis_split axis; /* of the result; the value is the place along `size` */
    size_t count;
    int64_t first; /* the value at place 0 */
    takt_convert how;
    takt_convert_fn *convert;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_iota || op == &takt_op_dim ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    enum { TILE = 512 };
    const facts *f = s->data;
    int64_t tile[TILE];
    char *to = takt_view_data(t, &s->out[0]);
    const size_t bytes = (size_t)takt_dtype_bits(f->how.to) / 8;
    takt_pace pace = takt_pace_of(t);
    for (size_t at = 0; at < f->count && !takt_pace_stops(&pace, 2 * TILE); at += TILE) {
        const size_t n = f->count - at < TILE ? f->count - at : TILE;
        for (size_t i = 0; i < n; i++)
            tile[i] = f->first + (int64_t)((at + i) / f->axis.inner % f->axis.size);
        f->convert(&f->how, to + at * bytes, tile, n);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, &f->count);
    f->axis = (takt_axis_split){1, 1, 1};
    if (n->op == &takt_op_iota)
        f->axis = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    else
        f->first =
            (int64_t)takt_axis_split_of(takt_type_of(p->graph, n->in[0]), takt_node_int(n, "axis"))
                .size;
    f->how = (takt_convert){.to = n->type->dtype, .from = TAKT_I64};
    f->convert = takt_kernel_as_convert(takt_planner_kernel(p, "convert"));
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_fill = {.name = "fill",
                                     .is_cheap = true,
                                     .family = TAKT_FAMILY_MAP,
                                     .accepts = accepts,
                                     .compile = compile};
