/* settle.c - the sizes of a session whose plan has ranges follow from the bound buffers.
 *
 * Buffers are bound one by one, so sizes may contradict each other in between: they are checked
 * when a run begins or a result is requested. Inputs in the session's own memory take the sizes
 * given by the others; they are then zero.
 */
#include <string.h>

#include "api/ranges.h"
#include "api/session/session.h"
#include "base/error_record.h"
#include "base/mem.h"
#include "plan/basis.h"
#include "plan/resize.h"

/* One block: the record with its views, then cells and sizes, then flags. */
static size_t views_bytes(const takt_plan *plan)
{
    const size_t ports = plan->graph->input_count + plan->graph->output_count;
    return sizeof(takt_session_range) + ports * sizeof(takt_tensor_view);
}

static size_t cell_count(const takt_plan *plan)
{
    return takt_sizes_cells(&plan->basis->template->sizes) + plan->name_count;
}

size_t takt_session_range_bytes(const takt_plan *plan)
{
    if (plan->ranges == NULL)
        return 0;
    return views_bytes(plan) + cell_count(plan) * sizeof(int64_t) + plan->graph->input_count +
           plan->name_count;
}

takt_status takt_session_make_range(takt_session *s)
{
    const takt_plan *plan = s->plan;
    void *block;
    if (plan->ranges == NULL)
        return TAKT_OK;
    TAKT_TRY(takt_mem_zero(s->ctx, 1, takt_session_range_bytes(plan), "session", &block));
    s->range = block;
    s->range->top = s->plan;
    s->range->ports = plan->graph->input_count + plan->graph->output_count;
    s->range->bytes = takt_session_range_bytes(plan);
    s->range->cells = (int64_t *)(void *)((char *)block + views_bytes(plan));
    s->range->is_own = (unsigned char *)(s->range->cells + cell_count(plan));
    s->range->is_none = s->range->is_own + plan->graph->input_count;
    s->range->is_new = plan->latest != NULL; /* a session's own plan can be resized inside a run */
    takt_plan_retain_internal(s->plan);
    return TAKT_OK;
}

void takt_session_put_range(takt_session *s)
{
    if (s->range == NULL)
        return;
    takt_resizer_destroy(s->range->resizer);
    takt_plan_release_internal(s->range->top);
    takt_mem_put(s->ctx, s->range, s->range->bytes);
}

static size_t port_of(const takt_session *s, takt_place_kind place, size_t index)
{
    return place == TAKT_PLACE_INPUT ? index : s->plan->graph->input_count + index;
}

takt_status takt_session_offer(takt_session *s, takt_place_kind place, size_t index,
                               const takt_tensor_view *view)
{
    const bool is_input = place == TAKT_PLACE_INPUT;
    const takt_desc *desc = is_input ? &s->input_descs[index] : &s->output_descs[index];
    takt_tensor_view *bound = &s->range->bound[port_of(s, place, index)];
    takt_desc like = *desc;
    if (view->data == NULL) {
        bound->data = NULL;
        return takt_session_bind_port(s, place, index, view);
    }
    if (view->rank == desc->rank)
        memcpy(like.dims, view->dims, sizeof like.dims);
    TAKT_TRY(takt_session_check(s, &like, view, is_input));
    *bound = *view;
    const size_t bytes = (size_t)desc->rank * sizeof *view->dims;
    if (s->range->is_new || memcmp(view->dims, desc->dims, bytes) != 0) {
        s->range->is_new = true;
        return TAKT_OK;
    }
    return takt_session_bind_port(s, place, index, view);
}

/* ---- sizes ---- */

static takt_status contradict(takt_session *s, size_t input, uint32_t dim, long long is,
                              long long would)
{
    takt_error_set(&s->error, TAKT_E_BINDING,
                   "%s: dimension %u is %lld in its buffer; by what else is bound it would be %lld",
                   s->input_descs[input].name, dim, is, would);
    return takt_error_hint(&s->error, "bind every input whose size changes before the run");
}

static size_t input_of(const takt_graph *g, takt_id node)
{
    size_t i = 0;
    while (i < g->input_count && g->inputs[i].id != node)
        i++;
    return i;
}

/* The value of a cell of the size program so far; -1: unknown. */
static int64_t known_cell(const takt_sizes *sizes, const int64_t *cells, uint32_t cell)
{
    if (cell < sizes->name_count)
        return cells[cell];
    const takt_size_op *op = &sizes->code[cell - sizes->name_count];
    if (op->code != TAKT_SIZE_NUMBER)
        return -1;
    return (int64_t)((uint64_t)op->a | (uint64_t)op->b << 32);
}

/* A name that is not an input's dimension by itself, solved from a sum with known sizes: past +
 * seq. */
static void solve_names(takt_session *s, int64_t *cells)
{
    const takt_session_range *r = s->range;
    const takt_template *t = r->top->basis->template;
    const size_t names = r->top->name_count;
    for (size_t i = 0; i < t->type_count; i++) {
        const takt_patch *p = &t->types[i];
        const size_t input = input_of(t->graph, p->node);
        if (input == t->graph->input_count || p->cell < t->sizes.name_count ||
            r->bound[input].data == NULL)
            continue;
        const takt_size_op *sum = &t->sizes.code[p->cell - t->sizes.name_count];
        const int64_t size = r->bound[input].dims[p->index];
        if (sum->code != TAKT_SIZE_ADD)
            continue;
        const bool is_first = sum->a < names && cells[sum->a] < 0;
        const uint32_t unknown = is_first ? sum->a : sum->b;
        const int64_t other = known_cell(&t->sizes, cells, is_first ? sum->b : sum->a);
        if (unknown < names && cells[unknown] < 0 && other >= 0 && size >= other &&
            !r->top->ranges[unknown].is_length)
            cells[unknown] = size - other;
    }
}

/* Names from dimensions that are just a name, and sums of two; other dimensions are compared
 * afterwards. */
static takt_status read_names(takt_session *s, int64_t *cells)
{
    const takt_session_range *r = s->range;
    const takt_template *t = r->top->basis->template;
    for (size_t i = 0; i < r->top->name_count; i++)
        cells[i] = -1;
    for (size_t i = 0; i < t->type_count; i++) {
        const takt_patch *p = &t->types[i];
        const size_t input = input_of(t->graph, p->node);
        if (input == t->graph->input_count || p->cell >= r->top->name_count ||
            r->bound[input].data == NULL)
            continue;
        const int64_t size = r->bound[input].dims[p->index];
        if (cells[p->cell] >= 0 && cells[p->cell] != size)
            return contradict(s, input, p->index, size, cells[p->cell]);
        cells[p->cell] = size;
    }
    solve_names(s, cells);
    for (size_t i = 0; i < r->top->name_count; i++)
        cells[i] = cells[i] < 0 ? s->plan->sizes[i] : cells[i];
    return TAKT_OK;
}

static takt_status compare(takt_session *s, const int64_t *cells)
{
    const takt_session_range *r = s->range;
    const takt_template *t = r->top->basis->template;
    const takt_graph *g = t->graph;
    for (size_t i = 0; i < t->type_count; i++) {
        const takt_patch *p = &t->types[i];
        const size_t input = input_of(g, p->node);
        if (input < g->input_count && r->bound[input].data != NULL &&
            r->bound[input].dims[p->index] != cells[p->cell])
            return contradict(s, input, p->index, r->bound[input].dims[p->index], cells[p->cell]);
    }
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_type *type = takt_type_of(g, g->inputs[i].id);
        for (int d = 0; r->bound[i].data != NULL && d < type->rank; d++)
            if (takt_dim_is_number(type->dim[d]) && r->bound[i].dims[d] != type->dim[d])
                return takt_error_set(&s->error, TAKT_E_BINDING,
                                      "%s: dimension %d is %lld, the buffer has %lld",
                                      s->input_descs[i].name, d, (long long)type->dim[d],
                                      (long long)r->bound[i].dims[d]);
    }
    return TAKT_OK;
}

/* ---- the plan ---- */

/* Resizes the session's own plan, if it has one that can take these sizes. */
static takt_status resize(takt_session *s, const int64_t *sizes, bool *done)
{
    takt_session_range *r = s->range;
    *done = false;
    if (s->static_shapes)
        return TAKT_OK;
    if (!r->has_resizer)
        TAKT_TRY(takt_plan_resizer(r->top, &r->resizer));
    r->has_resizer = true;
    if (r->resizer == NULL)
        return TAKT_OK;
    if (!takt_resizer_has(r->resizer, sizes) && takt_plan_has_at(r->top, sizes))
        return TAKT_OK; /* it was made because this one could not be resized */
    TAKT_TRY(takt_resizer_set(r->resizer, sizes, done));
    takt_plan *plan = takt_resizer_plan(r->resizer);
    if (*done && s->plan != plan)
        return takt_session_take(s, plan);
    if (*done)
        takt_session_resized(s);
    return TAKT_OK;
}

/* A separate plan for the sizes. */
static takt_status replace(takt_session *s, const int64_t *sizes)
{
    takt_plan *plan;
    TAKT_TRY(takt_plan_at(s->range->top, sizes, !s->static_shapes, &plan));
    const takt_status status = plan != s->plan ? takt_session_take(s, plan) : TAKT_OK;
    takt_plan_release_internal(plan);
    return status;
}

takt_status takt_session_change(takt_session *s, const int64_t *sizes)
{
    bool done = false;
    const takt_session_range *r = s->range;
    takt_status status = resize(s, sizes, &done);
    if (status == TAKT_OK && !done)
        status = replace(s, sizes);
    if (status != TAKT_OK && r->resizer != NULL && s->plan == takt_resizer_plan(r->resizer)) {
        takt_error error; /* the old sizes, which it had before */
        takt_error_copy(s->ctx, &error);
        TAKT_TRY(takt_resizer_set(r->resizer, s->plan->sizes, &done));
        takt_error_put_back(s->ctx, &error);
    }
    return status;
}

/* A buffer for a result of value-dependent size has room for the largest. */
static takt_status check_room(takt_session *s, size_t output, const takt_tensor_view *view)
{
    const takt_graph *top = s->range->top->graph;
    takt_desc desc = s->output_descs[output];
    const takt_type *type = takt_type_of(top, top->outputs[output].id);
    memcpy(desc.dims, type->dim, (size_t)type->rank * sizeof *desc.dims);
    if (!takt_view_is_dense(view))
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: values decide its size, so its buffer is to be dense",
                              desc.name);
    return takt_session_check(s, &desc, view, false);
}

takt_status takt_session_bind_all(takt_session *s)
{
    const size_t inputs = s->plan->graph->input_count;
    for (size_t i = 0; i < s->range->ports; i++) {
        const takt_tensor_view *view = &s->range->bound[i];
        const bool is_input = i < inputs;
        const size_t index = is_input ? i : i - inputs;
        if (view->data == NULL && is_input && s->range->is_own[index])
            TAKT_TRY(takt_session_own(s, TAKT_PLACE_INPUT, index));
        if (view->data == NULL)
            continue;
        if (is_input || !takt_session_is_found(s, index))
            TAKT_TRY(takt_session_check(
                s, is_input ? &s->input_descs[index] : &s->output_descs[index], view, is_input));
        else
            TAKT_TRY(check_room(s, index, view));
        TAKT_TRY(takt_session_bind_port(s, is_input ? TAKT_PLACE_INPUT : TAKT_PLACE_OUTPUT, index,
                                        view));
    }
    return TAKT_OK;
}

takt_status takt_session_refuse_watched(takt_session *s)
{
    return takt_error_set(&s->error, TAKT_E_STATE,
                          "sizes do not change while steps are being measured");
}

takt_status takt_session_settle(takt_session *s)
{
    takt_session_range *r = s->range;
    if (r == NULL || !r->is_new)
        return TAKT_OK;
    if (s->watch != NULL)
        return takt_session_refuse_watched(s);
    int64_t *names = r->cells + takt_sizes_cells(&r->top->basis->template->sizes);
    TAKT_TRY(read_names(s, r->cells));
    takt_session_clamp(s, r->cells, 0);
    memcpy(names, r->cells, r->top->name_count * sizeof *names);
    takt_status status = takt_plan_holds(r->top, names);
    if (status == TAKT_OK)
        status = takt_sizes_run(&r->top->basis->template->sizes, r->cells);
    if (status == TAKT_OK) {
        TAKT_TRY(compare(s, r->cells));
        for (size_t i = 0; i < s->plan->graph->input_count; i++)
            r->is_own[i] = s->inputs[i].view.data != NULL && r->bound[i].data == NULL;
        status = takt_session_change(s, names);
    }
    if (status != TAKT_OK) {
        takt_error_copy(s->ctx, &s->error);
        return status;
    }
    TAKT_TRY(takt_session_bind_all(s));
    r->is_new = false;
    return TAKT_OK;
}
