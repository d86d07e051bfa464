/* ranges.c - bounds of all values of a model, and their least and greatest on data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "op/ops.h"
#include "verify/bounds.h"
#include "verify/box.h"
#include "verify/precision.h"
#include "verify/program.h"

static bool is_row(const takt_graph *g, size_t i)
{
    const takt_node *n = &g->nodes[i];
    if (n->out_count != 1 || n->op == &takt_op_get)
        return false;
    return takt_dtype_is_float(n->type[0].dtype) || n->op == &takt_op_quantize;
}

/* ---- the graph ---- */

static takt_status make_graph(takt_ranges *r, const takt_model *m, const takt_check_options *o)
{
    const takt_plan_options options = {
        .sizes = o->sizes, .threads = o->threads, .checks = "off", .backend = "cpu"};
    TAKT_TRY(takt_program_graph(m, &options, &r->graph));
    unsigned char *live = takt_arena_array(&r->arena, r->graph->count, 1);
    r->rows = takt_arena_array(&r->arena, r->graph->count, sizeof *r->rows);
    if (live == NULL || r->rows == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(r->graph, live);
    for (size_t i = 0; i < r->graph->count; i++)
        if (live[i] && is_row(r->graph, i))
            r->rows[r->count++] =
                (takt_value_row){.id = (takt_id)i, .lo = NAN, .hi = NAN, .least = NAN, .top = NAN};
    return TAKT_OK;
}

/* ---- least and greatest of a value, as outputs ---- */

/* The minimum of bounds in f32 is taken before widening: it is the same number. */
static takt_id all_of(takt_graph *g, const takt_op *op, takt_id x)
{
    const takt_node *n = takt_node_at(g, x);
    if (n->op == &takt_op_cast && n->type[0].dtype == TAKT_F64 &&
        takt_type_of(g, n->in[0])->dtype == TAKT_F32)
        x = n->in[0];
    return takt_cast(g, takt_reduce_over(g, op, x, NULL, 0, false), TAKT_F64);
}

/* An empty value has neither. */
static bool is_empty(const takt_type *type)
{
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d] == 0)
            return true;
    return false;
}

static void add_ends(takt_graph *g, size_t row, takt_id lo, takt_id hi)
{
    char name[32];
    snprintf(name, sizeof name, "lo%zu", row);
    takt_graph_output(g, name, all_of(g, &takt_op_reduce_min, lo));
    snprintf(name, sizeof name, "hi%zu", row);
    takt_graph_output(g, name, all_of(g, &takt_op_reduce_max, hi));
}

static void take_ends(takt_program *p, size_t *at, double *lo, double *hi)
{
    *lo = *takt_program_output(p, (*at)++);
    *hi = *takt_program_output(p, (*at)++);
}

/* ---- bounds ---- */

static void fill(takt_program *p, size_t index, size_t count, double value)
{
    double *to = takt_program_input(p, index);
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}

static takt_status bound(takt_ranges *r, const takt_box *boxes, int threads)
{
    const takt_graph *g = r->graph;
    takt_bounds i;
    takt_program p;
    bool *wanted = takt_arena_array(&r->arena, g->count, sizeof *wanted);
    if (wanted == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t k = 0; k < r->count; k++)
        wanted[r->rows[k].id] = true;
    TAKT_TRY(takt_bounds_init(g, &(takt_bounds_options){.is_wanted = wanted}, &i));
    for (size_t k = 0; k < r->count; k++) {
        const takt_range *range = &i.ranges[r->rows[k].id][0];
        if (!is_empty(takt_type_of(g, r->rows[k].id)))
            add_ends(i.graph, k, range->lo, range->hi);
    }
    takt_graph *built = i.graph;
    takt_graph_retain(built);
    takt_bounds_deinit(&i);
    TAKT_TRY(takt_program_init(built, threads, &p));
    takt_status status = TAKT_OK;
    for (size_t k = 0; k < g->input_count; k++) {
        size_t bytes = 0;
        takt_type type = *takt_type_of(g, g->inputs[k].id);
        type.dtype = TAKT_F64;
        (void)takt_type_bytes(&type, &bytes);
        if (takt_program_input(&p, 2 * k) == NULL || takt_program_input(&p, 2 * k + 1) == NULL)
            status = TAKT_ERR_MEMORY;
        if (status != TAKT_OK)
            break;
        fill(&p, 2 * k, bytes / sizeof(double), boxes[k].lo);
        fill(&p, 2 * k + 1, bytes / sizeof(double), boxes[k].hi);
    }
    const uint64_t start = r->ctx->now_ns(r->ctx->clock_user);
    if (status == TAKT_OK)
        status = takt_program_run(&p);
    r->seconds = (double)(r->ctx->now_ns(r->ctx->clock_user) - start) * 1e-9;
    size_t at = 0;
    for (size_t k = 0; status == TAKT_OK && k < r->count; k++)
        if (!is_empty(takt_type_of(g, r->rows[k].id)))
            take_ends(&p, &at, &r->rows[k].lo, &r->rows[k].hi);
    takt_program_deinit(&p);
    return status;
}

/* ---- data ---- */

static takt_status same_shape(takt_ranges *r, const takt_desc *d, const takt_tensor_view *v,
                              size_t *runs)
{
    bool good = v->dtype == d->dtype && v->rank == d->rank;
    for (int k = 1; good && k < d->rank; k++)
        good = v->dims[k] == d->dims[k];
    const int64_t each = d->rank > 0 ? d->dims[0] : 1, all = d->rank > 0 && good ? v->dims[0] : 1;
    good = good && each > 0 && all >= each && all % each == 0;
    if (!good)
        return takt_fail(r->ctx, TAKT_E_BINDING,
                         "the data for %s does not have its type and shape, or a multiple of its "
                         "first dimension",
                         d->name);
    const size_t count = (size_t)(all / each);
    *runs = *runs == 0 || count < *runs ? count : *runs;
    return TAKT_OK;
}

static const takt_known_input *data_of(const takt_check_options *o, size_t input, const char *name)
{
    for (size_t i = 0; i < o->data_count; i++)
        if (o->data[i].name == NULL ? i == input : strcmp(o->data[i].name, name) == 0)
            return &o->data[i];
    return NULL;
}

static void note(takt_ranges *r, takt_program *p)
{
    size_t at = 0;
    for (size_t k = 0; k < r->count; k++) {
        takt_value_row *row = &r->rows[k];
        double lo, hi;
        if (is_empty(takt_type_of(r->graph, row->id)))
            continue;
        take_ends(p, &at, &lo, &hi);
        row->saw_nan = row->saw_nan || isnan(lo) || isnan(hi);
        row->least = !row->is_measured || lo < row->least ? lo : row->least;
        row->top = !row->is_measured || hi > row->top ? hi : row->top;
        row->is_measured = true;
    }
}

static takt_status run_data(takt_ranges *r, takt_program *p, const takt_check_options *o)
{
    size_t runs = 0;
    for (size_t k = 0; k < r->graph->input_count; k++) {
        const takt_desc *d = takt_session_input_desc(p->session, k);
        const takt_known_input *known = data_of(o, k, d->name);
        if (known == NULL)
            return takt_fail(r->ctx, TAKT_E_NAME, "there is no data for input %s", d->name);
        TAKT_TRY(same_shape(r, d, &known->view, &runs));
    }
    for (size_t i = 0; i < runs; i++) {
        for (size_t k = 0; k < r->graph->input_count; k++) {
            const takt_tensor_view *to = takt_session_input(p->session, k);
            const takt_desc *d = takt_session_input_desc(p->session, k);
            size_t bytes = 0, count = 1;
            for (int j = 0; j < d->rank; j++)
                count *= (size_t)d->dims[j];
            (void)takt_dtype_bytes(d->dtype, count, &bytes);
            if (to == NULL)
                return TAKT_ERR_MEMORY;
            memcpy(to->data, (const char *)data_of(o, k, d->name)->view.data + i * bytes, bytes);
        }
        TAKT_TRY(takt_program_run(p));
        note(r, p);
        r->runs++;
    }
    return TAKT_OK;
}

/* The graph that runs with the ends of every value as outputs. */
static takt_status measure(takt_ranges *r, const takt_check_options *o)
{
    takt_graph *g;
    takt_program p;
    TAKT_TRY(takt_graph_create(r->ctx, r->graph, &g));
    takt_id *map = takt_arena_array(&r->arena, r->graph->count, sizeof *map);
    takt_status status = map != NULL ? takt_graph_begin_copy(r->graph, g, map) : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < r->graph->count; i++) {
        const takt_node *n = &r->graph->nodes[i];
        takt_id *in = takt_arena_array(&r->arena, n->in_count, sizeof *in);
        if (map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; in != NULL && k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        map[i] = in != NULL ? takt_graph_copy_node(g, n, in) : TAKT_NONE;
        status = in != NULL ? g->status : TAKT_ERR_MEMORY;
    }
    for (size_t k = 0; status == TAKT_OK && k < r->count; k++)
        if (!is_empty(takt_type_of(r->graph, r->rows[k].id)))
            add_ends(g, k, map[r->rows[k].id], map[r->rows[k].id]);
    if (status != TAKT_OK) {
        takt_graph_destroy(g);
        return status;
    }
    TAKT_TRY(takt_program_init(g, o->threads, &p));
    status = run_data(r, &p, o);
    takt_program_deinit(&p);
    return status;
}

takt_status takt_ranges_init(takt_ranges *r, const takt_model *m, const takt_check_options *o)
{
    *r = (takt_ranges){.ctx = m->ctx};
    takt_arena_init(&r->arena, m->ctx);
    takt_box *boxes = takt_arena_array(&r->arena, m->graph->input_count, sizeof *boxes);
    takt_status status = boxes != NULL ? takt_box_read(m->graph, boxes) : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = make_graph(r, m, o);
    for (size_t i = 0; status == TAKT_OK && i < m->graph->input_count; i++)
        r->unbounded += isnan(boxes[i].lo) ? 1 : 0;
    if (status == TAKT_OK)
        status = bound(r, boxes, o->threads);
    if (status == TAKT_OK && o->data_count > 0)
        status = measure(r, o);
    if (status != TAKT_OK)
        takt_ranges_deinit(r);
    return status;
}

void takt_ranges_deinit(takt_ranges *r)
{
    takt_graph_destroy(r->graph);
    takt_arena_deinit(&r->arena);
    *r = (takt_ranges){0};
}
