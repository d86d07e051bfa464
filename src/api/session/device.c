/* device.c - the caller's buffers in device memory.
 *
 * The plan copies inputs to the device, and outputs from there. A buffer that is already there
 * replaces the copy, so that nothing is copied; where a step overwrites the copy, or the buffer is
 * not aligned, it is copied inside the device. If a step on the host needs the value, every run
 * copies it to or from the session's own memory.
 */
#include "api/session/session.h"
#include "plan/backend.h"

/* The space that holds views of device `number`; 0: the plan has none. */
static takt_space space_of(const takt_session *s, int32_t number)
{
    for (size_t i = 1; i < s->plan->space_count; i++) {
        const takt_plan_space *space = &s->plan->space[i];
        const takt_device *device = space->backend->device;
        if (device->number != NULL && device->number(space->device) == number)
            return (takt_space)i;
    }
    return TAKT_HOST;
}

static takt_status refuse_number(takt_session *s, const takt_desc *d, const takt_tensor_view *v)
{
    takt_error_set(&s->error, TAKT_E_BINDING,
                   "%s: the buffer lies in the memory of device %d (cuda:%d), and no step of the "
                   "plan runs there",
                   d->name, (int)v->device, (int)v->device - 1);
    return takt_error_hint(&s->error, "copy it to the host, or plan for that device");
}

takt_status takt_session_check_device(takt_session *s, const takt_desc *d,
                                      const takt_tensor_view *v)
{
    const takt_space at = space_of(s, v->device);
    if (at == TAKT_HOST)
        return refuse_number(s, d, v);
    const takt_plan_space *space = &s->plan->space[at];
    int32_t is = 0;
    size_t there = 0, bytes;
    const size_t element = (size_t)takt_dtype_bits(v->dtype) / 8;
    takt_type sized = {.dtype = v->dtype, .rank = v->rank};
    for (int i = 0; i < v->rank; i++)
        sized.dim[i] = v->dims[i];
    if (!takt_view_is_dense(v))
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: a buffer on a device is to be dense row-major", d->name);
    if (v->dtype == TAKT_BOOL)
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: bools are checked on the host: bind a buffer there", d->name);
    if (element > 1 && (uintptr_t)v->data % element != 0)
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s: the buffer on device %d is not aligned for %s", d->name,
                              (int)v->device, takt_dtype_name(v->dtype));
    if (!takt_type_bytes(&sized, &bytes) || bytes == 0)
        return TAKT_OK;
    space->backend->device->look(space->device, v->data, &is, &there);
    if (is != v->device)
        return takt_error_set(
            &s->error, TAKT_E_BINDING, "%s: the buffer is said to lie on device %d, and %s %d",
            d->name, (int)v->device,
            is == 0 ? "is not memory of a device: it has number" : "lies on device", (int)is);
    if (there < bytes)
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "%s takes %zu bytes, the buffer on device %d has %zu", d->name, bytes,
                              (int)v->device, there);
    return TAKT_OK;
}

/* ---- which copies a port has ---- */

static bool is_port(const takt_session *s, const takt_view *v, takt_place_kind place, size_t index)
{
    const takt_buffer *b = &s->plan->buffers[v->buffer];
    return b->place == place && b->index == index;
}

static bool is_copy_of(const takt_session *s, const takt_step *step, takt_place_kind place,
                       size_t index)
{
    return place == TAKT_PLACE_INPUT
               ? step->transfer.way == TAKT_COPY_UP && is_port(s, &step->in[0], place, index)
               : step->transfer.way == TAKT_COPY_DOWN && is_port(s, &step->out[0], place, index);
}

/* No step but copies from or to space `at` uses the caller's buffer. */
static bool is_away_only(const takt_session *s, takt_place_kind place, size_t index, takt_space at)
{
    bool has_copy = false;
    for (size_t i = 0; i < s->plan->step_count; i++) {
        const takt_step *step = &s->plan->steps[i];
        if (is_copy_of(s, step, place, index)) {
            if (step->space != at)
                return false;
            has_copy = true;
            continue;
        }
        for (size_t k = 0; k < step->in_count; k++)
            if (is_port(s, &step->in[k], place, index))
                return false;
        for (size_t k = 0; k < step->out_count; k++)
            if (is_port(s, &step->out[k], place, index))
                return false;
    }
    for (size_t i = 0; i < s->plan->segment_count; i++)
        if (s->plan->segments[i].is_point)
            return false; /* the data that such a run saves and repeats is on the host */
    return has_copy;
}

static bool is_written_elsewhere(const takt_session *s, const takt_step *by, uint32_t buffer)
{
    for (size_t i = 0; i < s->plan->step_count; i++) {
        const takt_step *step = &s->plan->steps[i];
        for (size_t k = 0; step != by && k < step->out_count; k++)
            if (step->out[k].buffer == buffer)
                return true;
    }
    return false;
}

/* Whether the device side of a copy may be at `data`. */
static bool may_share(const takt_session *s, const takt_step *copy, const void *data)
{
    const bool is_up = copy->transfer.way == TAKT_COPY_UP;
    const takt_view *there = is_up ? &copy->out[0] : &copy->in[0];
    const takt_buffer *b = &s->plan->buffers[there->buffer];
    const size_t alignment = s->plan->space[copy->space].backend->device->foreign_alignment;
    return b->place == TAKT_PLACE_ARENA && there->offset == 0 && b->bytes == copy->transfer.bytes &&
           (uintptr_t)data % alignment == 0 &&
           !(is_up && is_written_elsewhere(s, copy, there->buffer));
}

/* Sets both sides of all copies of a port, and notifies the backend. data NULL: back to the
 * arena. */
static takt_status set_copies(takt_session *s, takt_place_kind place, size_t index, void *data)
{
    for (size_t i = 0; i < s->plan->step_count; i++) {
        const takt_step *step = &s->plan->steps[i];
        if (!is_copy_of(s, step, place, index))
            continue;
        const bool is_up = place == TAKT_PLACE_INPUT;
        const uint32_t there = is_up ? step->out[0].buffer : step->in[0].buffer;
        const takt_buffer *b = &s->plan->buffers[there];
        if (b->place == TAKT_PLACE_ARENA)
            s->base[there] = data != NULL && may_share(s, step, data)
                                 ? data
                                 : (void *)(s->away[step->space].arena + b->offset);
        const takt_status status =
            step->backend->session_bind(s->parts[step->space], i, data != NULL);
        if (status != TAKT_OK) {
            takt_error_copy(s->ctx, &s->error);
            return status;
        }
    }
    return TAKT_OK;
}

/* ---- binding ---- */

takt_status takt_session_leave_device(takt_session *s, takt_place_kind place, size_t index)
{
    takt_session_port *port = place == TAKT_PLACE_INPUT ? &s->inputs[index] : &s->outputs[index];
    port->view.device = 0;
    port->view.data = port->own;
    takt_session_set_base(s, place, index, port->own);
    return set_copies(s, place, index, NULL);
}

takt_status takt_session_bind_device(takt_session *s, takt_place_kind place, size_t index,
                                     const takt_tensor_view *view)
{
    takt_session_port *port = place == TAKT_PLACE_INPUT ? &s->inputs[index] : &s->outputs[index];
    const takt_space at = space_of(s, view->device);
    if (at == TAKT_HOST || s->plan->space[at].backend->session_bind == NULL ||
        !is_away_only(s, place, index, at)) {
        TAKT_TRY(takt_session_own(s, place, index));
        port->strided = *view;
        return TAKT_OK;
    }
    port->strided.data = NULL;
    port->view.data = view->data;
    port->view.device = view->device;
    takt_session_set_base(s, place, index, view->data);
    const takt_status status = set_copies(s, place, index, view->data);
    if (status != TAKT_OK) {
        const takt_error why = s->error;
        if (takt_session_leave_device(s, place, index) != TAKT_OK)
            port->view.data = NULL; /* nothing is bound */
        s->error = why;
    }
    return status;
}

takt_status takt_session_copy_device(takt_session *s, const takt_session_port *port, bool is_in)
{
    const takt_space at = space_of(s, port->strided.device);
    if (at == TAKT_HOST)
        return takt_error_set(&s->error, TAKT_E_BINDING,
                              "a buffer lies on device %d, and no step of the plan runs there",
                              (int)port->strided.device);
    const takt_plan_space *space = &s->plan->space[at];
    const takt_status status =
        space->backend->device->copy(space->device, is_in ? TAKT_COPY_DOWN : TAKT_COPY_UP,
                                     is_in ? port->own : port->strided.data,
                                     is_in ? port->strided.data : port->own, port->bytes);
    if (status != TAKT_OK)
        takt_error_copy(s->ctx, &s->error);
    return status;
}
