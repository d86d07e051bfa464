/* copy.c - copies between the session's own memory and the caller's buffers that are not dense or
 * are on a device. */
#include <string.h>

#include "api/session/session.h"

typedef struct walk {
    int64_t at[TAKT_MAX_RANK], stride[TAKT_MAX_RANK]; /* strides in bytes */
    size_t element, row;                              /* bytes of one, and how many in a row */
} walk;

static walk walk_of(const takt_tensor_view *v)
{
    walk w = {.element = (size_t)takt_dtype_bits(v->dtype) / 8, .row = 1};
    int64_t dense = 1;
    bool is_plain = true; /* no strides: dense row-major */
    for (int d = 0; d < v->rank; d++)
        is_plain = is_plain && v->strides[d] == 0;
    for (int d = v->rank - 1; d >= 0; d--) {
        w.stride[d] = (is_plain ? dense : v->strides[d]) * (int64_t)w.element;
        dense *= v->dims[d];
    }
    if (v->rank > 0)
        w.row = (size_t)v->dims[v->rank - 1];
    return w;
}

static void copy_row(const walk *w, char *dense, char *strided, int64_t step, bool is_in)
{
    if (step == (int64_t)w->element) {
        memcpy(is_in ? dense : strided, is_in ? strided : dense, w->row * w->element);
        return;
    }
    for (size_t i = 0; i < w->row; i++, dense += w->element, strided += step)
        memcpy(is_in ? dense : strided, is_in ? strided : dense, w->element);
}

static void copy(const takt_session_port *port, bool is_in)
{
    const takt_tensor_view *v = &port->strided;
    walk w = walk_of(v);
    char *dense = port->own, *strided = v->data;
    const int last = v->rank - 1;
    if (port->bytes == 0)
        return;
    for (;;) {
        copy_row(&w, dense, strided, last >= 0 ? w.stride[last] : 0, is_in);
        dense += w.row * w.element;
        int d = last - 1;
        for (; d >= 0 && ++w.at[d] == v->dims[d]; d--) {
            strided -= w.stride[d] * (v->dims[d] - 1);
            w.at[d] = 0;
        }
        if (d < 0)
            return;
        strided += w.stride[d];
    }
}

static takt_status copy_all(takt_session *s, takt_session_port *ports, size_t count, bool is_in)
{
    for (size_t i = 0; i < count; i++) {
        if (takt_port_moves(&ports[i]) && ports[i].strided.device != 0)
            TAKT_TRY(takt_session_copy_device(s, &ports[i], is_in));
        else if (takt_port_moves(&ports[i]))
            copy(&ports[i], is_in);
    }
    return TAKT_OK;
}

takt_status takt_session_copy_in(takt_session *s)
{
    return copy_all(s, s->inputs, s->plan->graph->input_count, true);
}

takt_status takt_session_copy_out(takt_session *s)
{
    return copy_all(s, s->outputs, s->plan->graph->output_count, false);
}
