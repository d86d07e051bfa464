/* child.c - the subgraphs of a step: their memory, inputs and results, and one run.
 *
 * A subgraph has a plan with segments on the device and, where an operation has no device code, on
 * the host. Its inputs and results are copied inside the device, from and to where the step has
 * them. Those that a step on the host reads or writes go through host memory. */
#include <string.h>

#include "backend/cuda/body.h"
#include "backend/cuda/session.h"
#include "backend/cuda/step.h"
#include "base/mem.h"
#include "base/size.h"

/* ---- opening ---- */

static size_t aligned(size_t bytes)
{
    return takt_round_up(bytes, TAKT_ALIGN);
}

static const takt_type *port_type(const takt_graph *g, size_t i)
{
    return takt_type_of(g,
                        i < g->input_count ? g->inputs[i].id : g->outputs[i - g->input_count].id);
}

/* The buffer of the caller's side of a port; UINT32_MAX: none, it is not used. */
static uint32_t buffer_of(const takt_plan *plan, size_t i)
{
    const bool is_in = i < plan->graph->input_count;
    const takt_place_kind place = is_in ? TAKT_PLACE_INPUT : TAKT_PLACE_OUTPUT;
    const size_t index = is_in ? i : i - plan->graph->input_count;
    for (size_t b = 0; b < plan->buffer_count; b++)
        if (plan->buffers[b].place == place && plan->buffers[b].index == index)
            return (uint32_t)b;
    return UINT32_MAX;
}

static bool has_view(const takt_view *views, size_t count, uint32_t buffer)
{
    for (size_t i = 0; i < count; i++)
        if (views[i].buffer == buffer)
            return true;
    return false;
}

/* Whether some step on the host uses the buffer itself. */
static bool is_used_here(const takt_plan *plan, uint32_t buffer)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        if (s->space == TAKT_HOST &&
            (has_view(s->in, s->in_count, buffer) || has_view(s->out, s->out_count, buffer)))
            return true;
    }
    return false;
}

/* Bytes of host memory for a port: those that stay on the device need none. */
static size_t host_bytes(const takt_plan *plan, const takt_cuda_body *b, size_t i)
{
    const size_t inputs = plan->graph->input_count;
    const bool is_held = b->control == TAKT_CUDA_LOOP && (i < 2 || i == inputs);
    const uint32_t buffer = buffer_of(plan, i);
    size_t bytes = 0;
    if (is_held || (buffer != UINT32_MAX && is_used_here(plan, buffer)))
        (void)takt_type_bytes(port_type(plan->graph, i), &bytes);
    return bytes;
}

size_t takt_cuda_child_bytes(const takt_plan *plan, const takt_cuda_body *b)
{
    const size_t ports = plan->graph->input_count + plan->graph->output_count;
    size_t bytes = aligned(plan->buffer_count * sizeof(void *)) +
                   aligned(ports * sizeof(takt_cuda_port)) + aligned(sizeof(takt_fault_slot)) +
                   aligned(plan->space[TAKT_HOST].arena);
    for (size_t i = 0; i < ports; i++)
        bytes += aligned(host_bytes(plan, b, i));
    return bytes;
}

static takt_status get_memory(takt_cuda_part *p, const takt_cuda_body *b, takt_cuda_child *c)
{
    const takt_plan *plan = c->plan;
    const takt_graph *g = plan->graph;
    c->port_count = g->input_count + g->output_count;
    const size_t bytes = takt_cuda_child_bytes(plan, b);
    TAKT_TRY(takt_mem_zero(p->ctx, 1, bytes, "cuda", &c->block));
    c->bytes = bytes;
    unsigned char *at = c->block;
    c->base = (void **)(void *)at;
    at += aligned(plan->buffer_count * sizeof *c->base);
    c->ports = (takt_cuda_port *)(void *)at;
    at += aligned(c->port_count * sizeof *c->ports);
    c->fault = (takt_fault_slot *)(void *)at;
    at += aligned(sizeof *c->fault);
    c->arena = at;
    at += aligned(plan->space[TAKT_HOST].arena);
    for (size_t i = 0; i < c->port_count; i++) {
        const size_t own = host_bytes(plan, b, i);
        (void)takt_type_bytes(port_type(g, i), &c->ports[i].bytes);
        c->ports[i].host = own > 0 ? at : NULL;
        at += aligned(own);
    }
    return TAKT_OK;
}

static void set_bases(takt_cuda_child *c, unsigned char *away)
{
    const takt_plan *plan = c->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_ARENA)
            c->base[i] = (b->space == TAKT_HOST ? c->arena : away) + b->offset;
        else if (b->place == TAKT_PLACE_CONSTANT && plan->constants[b->index].storage != NULL)
            c->base[i] = takt_tensor_data(&plan->constants[b->index]);
    }
    for (size_t i = 0; i < c->port_count; i++) {
        const uint32_t buffer = buffer_of(c->plan, i);
        if (buffer == UINT32_MAX)
            continue;
        c->base[buffer] = c->ports[i].host;
        c->ports[i].is_host = is_used_here(plan, buffer);
    }
}

static takt_status open_child(takt_cuda_part *p, const takt_cuda_body *b, takt_cuda_child *c,
                              unsigned char *away)
{
    TAKT_TRY(get_memory(p, b, c));
    set_bases(c, away);
    for (size_t i = 1; i < c->plan->space_count; i++) {
        const takt_plan_space *space = &c->plan->space[i];
        TAKT_TRY(space->backend->session_open(space->device, c->plan, c->base, away, &c->parts[i]));
    }
    return TAKT_OK;
}

takt_status takt_cuda_body_open(takt_cuda_part *p, size_t index)
{
    const takt_step *s = &p->plan->steps[index];
    const takt_cuda_body *b = ((const takt_cuda_step *)s->data)->body;
    void *block;
    TAKT_TRY(takt_mem_zero(p->ctx, b->plan_count, sizeof(takt_cuda_child), "cuda", &block));
    takt_cuda_child *children = block;
    p->steps[index].children = children;
    for (size_t i = 0; i < b->plan_count; i++) {
        children[i].plan = b->plans[i];
        TAKT_TRY(open_child(p, b, &children[i], p->arena + s->scratch_offset + b->arena_at[i]));
    }
    return TAKT_OK;
}

void takt_cuda_body_close(takt_cuda_part *p, size_t index)
{
    takt_cuda_child *children = p->steps[index].children;
    if (children == NULL)
        return;
    const takt_cuda_body *b = ((const takt_cuda_step *)p->plan->steps[index].data)->body;
    for (size_t i = 0; i < b->plan_count; i++) {
        takt_cuda_child *c = &children[i];
        for (size_t k = 1; c->plan != NULL && k < c->plan->space_count; k++)
            if (c->parts[k] != NULL)
                c->plan->space[k].backend->session_close(c->parts[k]);
        takt_mem_put(p->ctx, c->block, c->bytes);
    }
    takt_mem_put(p->ctx, children, b->plan_count * sizeof *children);
}

/* ---- one run of a body ---- */

static int settle(takt_cuda_part *p)
{
    return takt_cuda_settle(p, p->ctx->now_ns(p->ctx->clock_user), false);
}

takt_status takt_cuda_child_copy(const takt_cuda_run *r, takt_copy way, void *to, const void *from,
                                 size_t bytes)
{
    const takt_cuda_driver *d = &r->p->cuda->driver;
    const takt_cu_ptr there = (takt_cu_ptr)(uintptr_t)(way == TAKT_COPY_DOWN ? from : to);
    int result;
    takt_cuda_enter(r->p->cuda);
    if (way == TAKT_COPY_WITHIN)
        result = d->copy_within(there, (takt_cu_ptr)(uintptr_t)from, bytes, r->p->stream);
    else if (way == TAKT_COPY_UP)
        result = d->copy_up(there, from, bytes, r->p->stream);
    else
        result = d->copy_down(to, there, bytes, r->p->stream);
    if (result == TAKT_CU_OK && way != TAKT_COPY_WITHIN)
        result = settle(r->p);
    takt_cuda_leave(r->p->cuda);
    return takt_cuda_waited(r->p->cuda, r->x->error, result, "a value of a subgraph");
}

takt_status takt_cuda_child_settle(const takt_cuda_run *r)
{
    takt_cuda_enter(r->p->cuda);
    const int result = settle(r->p);
    takt_cuda_leave(r->p->cuda);
    return takt_cuda_waited(r->p->cuda, r->x->error, result, "a value of a subgraph");
}

takt_status takt_cuda_child_set(takt_cuda_child *c, size_t i, char *away)
{
    takt_cuda_port *own = &c->ports[i];
    const uint32_t buffer = buffer_of(c->plan, i);
    const bool is_in = i < c->plan->graph->input_count;
    if (own->away == away || buffer == UINT32_MAX)
        return TAKT_OK;
    own->away = away;
    if (own->is_host)
        return TAKT_OK;
    c->base[buffer] = away;
    for (size_t k = 0; k < c->plan->step_count; k++) {
        const takt_step *s = &c->plan->steps[k];
        const bool is_it = is_in ? s->transfer.way == TAKT_COPY_UP && s->in[0].buffer == buffer
                                 : s->transfer.way == TAKT_COPY_DOWN && s->out[0].buffer == buffer;
        if (is_it)
            TAKT_TRY(c->plan->space[s->space].backend->session_bind(c->parts[s->space], k, true));
    }
    return TAKT_OK;
}

takt_status takt_cuda_child_run(const takt_cuda_run *r, takt_cuda_child *c)
{
    const takt_execution *outer = r->x;
    const size_t inputs = c->plan->graph->input_count;
    const takt_execution x = {.plan = c->plan,
                              .base = c->base,
                              .arena = c->arena,
                              .parts = c->parts,
                              .is_leased = true, /* there is no pool to lease */
                              .fault = c->fault,
                              .error = outer->error,
                              .cancel = outer->cancel,
                              .run = outer->run,
                              .deadline_ns = outer->deadline_ns};
    for (size_t i = 0; i < inputs; i++)
        if (c->ports[i].is_host && c->ports[i].away != NULL)
            TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_DOWN, c->ports[i].host, c->ports[i].away,
                                          c->ports[i].bytes));
    TAKT_TRY(takt_cuda_child_settle(r));
    const takt_status status = takt_execute(&x);
    for (size_t i = inputs; status == TAKT_OK && i < c->port_count; i++)
        if (c->ports[i].is_host && c->ports[i].away != NULL)
            TAKT_TRY(takt_cuda_child_copy(r, TAKT_COPY_UP, c->ports[i].away, c->ports[i].host,
                                          c->ports[i].bytes));
    return status;
}
