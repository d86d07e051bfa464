/* bind.c - where inputs and outputs are: the caller's buffers, or the session's own memory.
 */
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/near.h"
#include "pass/pass.h"

/* ---- checking ---- */

static bool is_plain(const takt_tensor_view *v)
{
    for (int d = 0; d < v->rank; d++)
        if (v->strides[d] != 0)
            return false;
    return true;
}

bool takt_view_is_dense(const takt_tensor_view *v)
{
    int64_t dense = 1;
    bool same = true;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->dims[d] == 0)
            return true;
        same = same && (v->strides[d] == dense || v->dims[d] == 1);
        dense *= v->dims[d];
    }
    return same || is_plain(v);
}

static bool is_aligned(const takt_tensor_view *v)
{
    const size_t bytes = (size_t)takt_dtype_bits(v->dtype) / 8;
    return bytes <= 1 || (uintptr_t)v->data % bytes == 0;
}

/* If two elements of an output shared an address, the result would be ambiguous. */
static bool repeats(const takt_tensor_view *v)
{
    for (int d = 0; d < v->rank; d++)
        if (v->strides[d] == 0 && v->dims[d] > 1)
            return true;
    return false;
}

/* Whether all elements are within the address space on both sides of the data. */
static bool is_within(const takt_tensor_view *v)
{
    const int64_t bytes = takt_dtype_bits(v->dtype) / 8;
    int64_t low = 0, high = 0, reach;
    for (int d = 0; d < v->rank; d++) {
        if (v->dims[d] == 0)
            return true;
        if (v->dims[d] == 1)
            continue;
        if (__builtin_mul_overflow(v->strides[d], v->dims[d] - 1, &reach) ||
            __builtin_mul_overflow(reach, bytes, &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    uintptr_t end;
    return low != INT64_MIN && (uintptr_t)v->data >= (uintptr_t)-low &&
           !__builtin_add_overflow((uintptr_t)v->data, (uintptr_t)high, &end);
}

takt_status takt_session_check(takt_session *s, const takt_desc *d, const takt_tensor_view *v,
                               bool is_input)
{
    if (v->dtype != d->dtype)
        return takt_error_set(&s->error, TAKT_E_BINDING, "%s is %s, the buffer is %s", d->name,
                              takt_dtype_name(d->dtype),
                              (unsigned)v->dtype < TAKT_DTYPE_COUNT ? takt_dtype_name(v->dtype)
                                                                    : "of no known type");
    if (v->rank != d->rank)
        return takt_error_set(&s->error, TAKT_E_BINDING, "%s has %d dimensions, the buffer has %d",
                              d->name, d->rank, v->rank);
    for (int i = 0; i < d->rank; i++)
        if (v->dims[i] != d->dims[i])
            return takt_error_set(&s->error, TAKT_E_BINDING,
                                  "%s: dimension %d is %lld, the buffer has %lld", d->name, i,
                                  (long long)d->dims[i], (long long)v->dims[i]);
    if (v->device != 0)
        return takt_session_check_device(s, d, v);
    if (takt_view_is_dense(v))
        return TAKT_OK;
    if (takt_dtype_bits(v->dtype) < 8)
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: %s elements share bytes, so the buffer must be dense row-major",
                              d->name, takt_dtype_name(v->dtype));
    if (v->data != NULL && !is_within(v))
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: the buffer's strides lead out of the address space", d->name);
    if (!is_input && repeats(v))
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: the output's buffer has several elements at one place", d->name);
    return TAKT_OK;
}

/* ---- binding ---- */

static int find(const takt_desc *descs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(descs[i].name, name) == 0)
            return (int)i;
    return -1;
}

static takt_session_port *port_at(takt_session *s, takt_place_kind place, size_t index)
{
    return place == TAKT_PLACE_INPUT ? &s->inputs[index] : &s->outputs[index];
}

/* A free place for the output in the arena. The caller's arena may serve other sessions between
 * runs, and the place changes with sizes. */
static bool has_place(const takt_session *s, size_t output)
{
    return s->arena_given == 0 && s->range == NULL && s->plan->output_at[output] != SIZE_MAX;
}

takt_status takt_session_own(takt_session *s, takt_place_kind place, size_t index)
{
    takt_session_port *port = port_at(s, place, index);
    if (port->view.device != 0)
        TAKT_TRY(takt_session_leave_device(s, place, index));
    if (port->own == NULL && port->own_bytes == 0)
        port->own = s; /* this memory is neither read nor written */
    if (port->own == NULL && place == TAKT_PLACE_OUTPUT && has_place(s, index)) {
        port->own =
            (s->first_arena != NULL ? s->first_arena : s->arena) + s->plan->output_at[index];
        port->is_in_arena = true;
        memset(port->own, 0, port->bytes);
    }
    if (port->own == NULL) {
        /* Not through takt_mem_get: other threads share the context's error. */
        const takt_allocator *memory = &s->ctx->allocator;
        port->own = memory->get(memory->user, port->own_bytes, TAKT_ALIGN);
        if (port->own == NULL)
            return takt_error_memory(&s->error, "an input or output", port->own_bytes);
        memset(port->own, 0, port->own_bytes);
    }
    port->view.data = port->own;
    takt_session_set_base(s, place, index, port->own);
    return TAKT_OK;
}

/* Logs that every run copies this buffer, and why. */
static void tell_copy(const takt_session *s, const char *name, const takt_tensor_view *view,
                      const takt_step *obstacle)
{
    takt_log(s->ctx, TAKT_LOG_INFO, "%.100s: the buffer is %s, so every run copies it%s%.100s",
             name,
             takt_view_is_dense(view) ? "not aligned for its elements" : "not dense row-major",
             obstacle != NULL ? ": dense is what is read by " : "",
             obstacle != NULL ? obstacle->name : "");
}

/* ---- views ---- */

static void set_view(takt_session *s, size_t index, bool is_view)
{
    takt_session_port *port = &s->inputs[index];
    s->view_count += (size_t)is_view - (size_t)port->is_view;
    port->is_view = is_view;
    s->strides[index] = is_view ? port->stride : NULL;
}

takt_status takt_session_copy_of(takt_session *s, size_t input, const takt_tensor_view *view)
{
    TAKT_TRY(takt_session_own(s, TAKT_PLACE_INPUT, input));
    set_view(s, input, false);
    s->inputs[input].strided = *view;
    return TAKT_OK;
}

/* Axes of one element may have any stride: here they get the dense one. */
static void normalise(const takt_tensor_view *v, int64_t *stride)
{
    int64_t dense = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        stride[d] = v->dims[d] == 1 ? dense : v->strides[d];
        dense *= v->dims[d];
    }
}

const takt_step *takt_session_obstacle(const takt_session *s, size_t index, const int64_t *stride)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *step = &plan->steps[i];
        for (size_t k = 0; k < step->in_count + step->out_count; k++) {
            const bool reads = k < step->in_count;
            const takt_view *v = reads ? &step->in[k] : &step->out[k - step->in_count];
            const takt_buffer *b = &plan->buffers[v->buffer];
            if (b->place != TAKT_PLACE_INPUT || b->index != index)
                continue;
            const takt_desc *d = &s->input_descs[index];
            if (!reads || step->reads_view == NULL || v->offset != 0 || v->rank != d->rank ||
                memcmp(v->dim, d->dims, (size_t)d->rank * sizeof *v->dim) != 0 ||
                !step->reads_view(step, k, stride))
                return step;
        }
    }
    return NULL;
}

/* Not dense, or not aligned: a view if all readers support it, else a copy in every run. */
static takt_status bind_strided(takt_session *s, takt_place_kind place, size_t index,
                                const takt_tensor_view *view)
{
    takt_session_port *port = port_at(s, place, index);
    const bool is_input = place == TAKT_PLACE_INPUT;
    const takt_step *obstacle = NULL;
    int64_t stride[TAKT_MAX_RANK] = {0};
    normalise(view, stride);
    memcpy(port->stride, stride, sizeof stride);
    if (is_input && is_aligned(view)) {
        obstacle = takt_session_obstacle(s, index, stride);
        if (obstacle == NULL) {
            port->strided = *view;
            port->view.data = view->data;
            set_view(s, index, true);
            takt_session_set_base(s, place, index, view->data);
            return TAKT_OK;
        }
    }
    TAKT_TRY(takt_session_own(s, place, index));
    if (is_input)
        set_view(s, index, false);
    port->strided = *view;
    tell_copy(s, is_input ? s->input_descs[index].name : s->output_descs[index].name, view,
              obstacle);
    return TAKT_OK;
}

static takt_status fail_unknown(takt_session *s, const char *name)
{
    const takt_graph *g = s->plan->graph;
    takt_nearest near = takt_nearest_to(name);
    for (size_t i = 0; i < g->input_count; i++)
        takt_nearest_try(&near, s->input_descs[i].name);
    for (size_t i = 0; i < g->output_count; i++)
        takt_nearest_try(&near, s->output_descs[i].name);
    takt_error_set(&s->error, TAKT_E_NAME, "the model has no input or output called %s", name);
    if (near.best != NULL)
        return takt_error_hint(&s->error, "did you mean %.100s?", near.best);
    return takt_error_hint(&s->error, "the first of its %zu inputs is %.100s", g->input_count,
                           g->input_count > 0 ? s->input_descs[0].name : "none");
}

takt_status takt_session_bind(takt_session *s, const char *name, const takt_tensor_view *view)
{
    if (s == NULL)
        return TAKT_ERR_ARGUMENT;
    const takt_graph *g = s->plan->graph;
    if (atomic_load(&s->runs) % 2 != 0)
        return takt_session_refuse(s);
    if (name == NULL || view == NULL)
        return takt_error_set(&s->error, TAKT_E_ARGUMENT, "takt_session_bind: %s is NULL",
                              name == NULL ? "the name" : "the view");
    int index = find(s->input_descs, g->input_count, name);
    const bool is_input = index >= 0;
    if (!is_input)
        index = find(s->output_descs, takt_graph_shown(g), name);
    if (index < 0)
        return fail_unknown(s, name);
    const takt_place_kind place = is_input ? TAKT_PLACE_INPUT : TAKT_PLACE_OUTPUT;
    if (s->range != NULL)
        return takt_session_offer(s, place, (size_t)index, view);
    const takt_desc *desc = is_input ? &s->input_descs[index] : &s->output_descs[index];
    if (view->data != NULL)
        TAKT_TRY(takt_session_check(s, desc, view, is_input));
    return takt_session_bind_port(s, place, (size_t)index, view);
}

takt_status takt_session_bind_port(takt_session *s, takt_place_kind place, size_t index,
                                   const takt_tensor_view *view)
{
    takt_session_port *port = port_at(s, place, index);
    if (view->data != NULL && view->device != 0) {
        if (place == TAKT_PLACE_INPUT)
            set_view(s, index, false);
        return takt_session_bind_device(s, place, index, view);
    }
    if (port->view.device != 0)
        TAKT_TRY(takt_session_leave_device(s, place, index));
    if (view->data != NULL && (!takt_view_is_dense(view) || !is_aligned(view)))
        return bind_strided(s, place, index, view);
    /* The old value may be an input of the next run, or be read later. */
    if (view->data != NULL && port->is_in_arena && port->is_shown && s->first_arena == NULL)
        TAKT_TRY(takt_session_part_arena(s));
    if (place == TAKT_PLACE_INPUT)
        set_view(s, index, false);
    port->strided.data = NULL;
    port->view.data = view->data != NULL ? view->data : port->own;
    takt_session_set_base(s, place, index, port->view.data);
    return TAKT_OK;
}

/* ---- looking ---- */

static const takt_tensor_view *look(takt_session *s, takt_place_kind place, size_t index)
{
    if (takt_session_settle(s) != TAKT_OK)
        return NULL;
    takt_session_port *port = port_at(s, place, index);
    if (port->strided.data != NULL)
        return &port->strided;
    if (port->view.data == NULL && takt_session_own(s, place, index) != TAKT_OK)
        return NULL;
    port->is_shown = port->is_shown || port->view.data == port->own;
    return &port->view;
}

const takt_tensor_view *takt_session_input(takt_session *s, size_t index)
{
    return index < takt_session_input_count(s) ? look(s, TAKT_PLACE_INPUT, index) : NULL;
}

const takt_tensor_view *takt_session_output(takt_session *s, size_t index)
{
    return index < takt_session_output_count(s) ? look(s, TAKT_PLACE_OUTPUT, index) : NULL;
}

size_t takt_session_input_count(const takt_session *s)
{
    return s != NULL ? s->plan->graph->input_count : 0;
}

size_t takt_session_output_count(const takt_session *s)
{
    return s != NULL ? takt_graph_shown(s->plan->graph) : 0;
}

const takt_desc *takt_session_input_desc(const takt_session *s, size_t index)
{
    return index < takt_session_input_count(s) ? &s->input_descs[index] : NULL;
}

const takt_desc *takt_session_output_desc(const takt_session *s, size_t index)
{
    return index < takt_session_output_count(s) ? &s->output_descs[index] : NULL;
}

bool takt_session_output_varies(const takt_session *s, size_t index)
{
    return index < takt_session_output_count(s) && takt_session_is_found(s, index);
}
