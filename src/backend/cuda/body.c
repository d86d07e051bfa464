/* body.c - If, Loop and Scan on a device: the host decides which subgraph runs, and how often. */
#include "backend/cuda/body.h"

#include <string.h>

#include "backend/cuda/step.h"
#include "base/error_record.h"

static char *view_at(const takt_cuda_run *r, const takt_view *v)
{
    return (char *)(uintptr_t)takt_cuda_place(v, r->p->base);
}

static takt_status run_if(const takt_cuda_run *r)
{
    unsigned char condition;
    TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_DOWN, &condition, view_at(r, &r->s->in[0]), 1));
    takt_cuda_child *c = &r->p->steps[r->s - r->p->plan->steps].children[condition != 0 ? 0 : 1];
    const size_t inputs = c->plan->graph->input_count;
    for (size_t i = 0; i < inputs; i++)
        TAKT_TRY(takt_cuda_child_set(c, i, view_at(r, &r->s->in[i + 1])));
    for (size_t i = inputs; i < c->port_count; i++)
        TAKT_TRY(takt_cuda_child_set(c, i, view_at(r, &r->s->out[i - inputs])));
    return takt_cuda_child_run(r, c);
}

/* ---- iterations ---- */

/* Where the value of an iteration is for port `i`. */
static char *slot_at(const takt_cuda_run *r, size_t i)
{
    return (char *)r->p->arena + r->s->scratch_offset + r->b->at[i];
}

/* Number and condition of a loop come before its carried values, on both sides. */
static size_t own_inputs(const takt_cuda_run *r)
{
    return r->b->control == TAKT_CUDA_LOOP ? 2 : 0;
}

static size_t first_result(const takt_cuda_run *r)
{
    return r->b->plans[0]->graph->input_count + (r->b->control == TAKT_CUDA_LOOP ? 1 : 0);
}

static takt_status set_ports(const takt_cuda_run *r, takt_cuda_child *c)
{
    for (size_t i = 0; i < c->port_count; i++) {
        const bool is_captured =
            i < c->plan->graph->input_count && r->b->at[i] == SIZE_MAX && i >= own_inputs(r);
        if (is_captured)
            TAKT_TRY(takt_cuda_child_set(c, i, view_at(r, &r->s->in[i])));
        else if (r->b->at[i] != SIZE_MAX)
            TAKT_TRY(takt_cuda_child_set(c, i, slot_at(r, i)));
    }
    return TAKT_OK;
}

/* Element `at` of a sequence to the iteration's value, or that to element `at` of a result. */
static takt_status copy_lane(const takt_cuda_run *r, size_t port, size_t at, bool is_in)
{
    const takt_cuda_lane *l = &r->b->lanes[port];
    char *line = view_at(r, is_in ? &r->s->in[port] : &r->s->out[port - first_result(r)]);
    for (size_t i = 0; i < l->rows; i++) {
        char *far = line + i * l->step + at * l->bytes, *near = slot_at(r, port) + i * l->bytes;
        TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_WITHIN, is_in ? near : far, is_in ? far : near,
                                      l->bytes));
    }
    return TAKT_OK;
}

/* One iteration, at element `at` of sequences and results; `number` counts. */
static takt_status iterate(const takt_cuda_run *r, takt_cuda_child *c, size_t number, size_t at)
{
    const takt_cuda_body *b = r->b;
    const size_t own = own_inputs(r), result = first_result(r);
    for (size_t k = 0; k < b->carried; k++)
        TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_WITHIN, slot_at(r, own + k),
                                      number == 0 ? view_at(r, &r->s->in[own + k])
                                                  : slot_at(r, result + k),
                                      b->bytes[own + k]));
    for (size_t k = own + b->carried; k < own + b->carried + b->sequences; k++)
        TAKT_TRY(copy_lane(r, k, at, true));
    TAKT_TRY(takt_cuda_child_run(r, c));
    for (size_t k = b->carried; k < r->s->out_count; k++)
        TAKT_TRY(copy_lane(r, result + k, at, false));
    return TAKT_OK;
}

/* The carried values after the last iteration. */
static takt_status give(const takt_cuda_run *r, bool is_changed)
{
    const size_t own = own_inputs(r), result = first_result(r);
    for (size_t k = 0; k < r->b->carried; k++)
        TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_WITHIN, view_at(r, &r->s->out[k]),
                                      is_changed ? slot_at(r, result + k)
                                                 : view_at(r, &r->s->in[own + k]),
                                      r->b->bytes[own + k]));
    return takt_cuda_child_settle(r);
}

static takt_status run_scan(const takt_cuda_run *r, takt_cuda_child *c)
{
    const size_t iterations = r->b->iterations;
    for (size_t i = 0; i < iterations; i++)
        TAKT_TRY(iterate(r, c, i, r->b->is_reverse ? iterations - 1 - i : i));
    return give(r, iterations > 0);
}

static takt_status refuse(const takt_cuda_run *r, const char *what, uint64_t number)
{
    takt_error_set(r->x->error, TAKT_E_TRIP_COUNT, "%s (%llu)", what, (unsigned long long)number);
    return takt_error_node(r->x->error, r->s->name);
}

/* Results of iterations that do not happen are 0. */
static takt_status clear(const takt_cuda_run *r)
{
    static const char zero[4] = {0};
    const size_t result = first_result(r);
    for (size_t k = r->b->carried; k < r->s->out_count; k++) {
        char *at = view_at(r, &r->s->out[k]);
        const size_t bytes = (size_t)r->s->out[k].dim[0] * r->b->bytes[result + k];
        takt_cuda_enter(r->p->cuda);
        const int filled =
            r->p->cuda->driver.fill((takt_cu_ptr)(uintptr_t)at, 0, bytes / 4, r->p->stream);
        takt_cuda_leave(r->p->cuda);
        TAKT_TRY(takt_cuda_check(r->p->cuda, r->x->error, filled, "a result of a loop"));
        if (bytes % 4 != 0)
            TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_UP, at + bytes / 4 * 4, zero, bytes % 4));
    }
    return TAKT_OK;
}

static takt_status run_loop(const takt_cuda_run *r, takt_cuda_child *c)
{
    const size_t result = c->plan->graph->input_count;
    int64_t trip, number = 0;
    unsigned char condition;
    TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_DOWN, &trip, view_at(r, &r->s->in[0]), sizeof trip));
    TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_DOWN, &condition, view_at(r, &r->s->in[1]), 1));
    TAKT_TRY(clear(r));
    for (; number < trip && condition != 0; number++) {
        if ((uint64_t)number >= r->b->most)
            return refuse(r, "loop: more iterations than limits.trip_count allows", r->b->most);
        for (size_t k = r->b->carried; k < r->s->out_count; k++)
            if (number >= r->s->out[k].dim[0])
                return refuse(r,
                              "loop: an iteration does not fit the length of the scanned results",
                              (uint64_t)number);
        memcpy(c->ports[0].host, &number, sizeof number);
        memcpy(c->ports[1].host, &condition, 1);
        TAKT_TRY(iterate(r, c, (size_t)number, (size_t)number));
        memcpy(&condition, c->ports[result].host, 1);
    }
    return give(r, number > 0);
}

takt_status takt_cuda_body_run(takt_cuda_part *p, const takt_execution *x, size_t index)
{
    const takt_step *s = &p->plan->steps[index];
    const takt_cuda_run r = {p, x, s, ((const takt_cuda_step *)s->data)->body};
    takt_cuda_child *c = p->steps[index].children;
    takt_status status = r.b->control == TAKT_CUDA_IF ? run_if(&r) : set_ports(&r, c);
    if (status == TAKT_OK && r.b->control == TAKT_CUDA_LOOP)
        status = run_loop(&r, c);
    else if (status == TAKT_OK && r.b->control == TAKT_CUDA_SCAN)
        status = run_scan(&r, c);
    return status;
}
