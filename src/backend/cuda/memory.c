/* memory.c - what a session on a device takes besides its buffers, from its plan alone. */
#include "backend/cuda/body.h"
#include "backend/cuda/part.h"
#include "backend/cuda/session.h"
#include "backend/cuda/step.h"

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + TAKT_CUDA_PINNED - 1) / TAKT_CUDA_PINNED * TAKT_CUDA_PINNED;
}

static void add_body(const takt_cuda_body *b, takt_session_memory *m)
{
    for (size_t i = 0; i < b->plan_count; i++) {
        const takt_plan *child = b->plans[i];
        m->bodies += takt_cuda_child_bytes(child, b);
        for (size_t k = 1; k < child->space_count; k++)
            takt_cuda_session_memory(child, (takt_space)k, m); /* nested to a limited depth */
    }
}

void takt_cuda_session_memory(const takt_plan *plan, takt_space space, takt_session_memory *m)
{
    size_t faults = 0, tickets = 0;
    m->pinned += TAKT_CUDA_HEAD;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        const takt_cuda_step *own = s->data;
        if (s->space != space)
            continue;
        if (s->transfer.way == TAKT_COPY_UP || s->transfer.way == TAKT_COPY_DOWN)
            m->pinned += rounded(s->transfer.bytes);
        if (s->transfer.way != TAKT_COPY_NONE)
            continue;
        faults += s->can_fault;
        for (size_t k = 0; k < own->count; k++)
            tickets += takt_cuda_tickets(&own->launches[k]);
        if (s->is_driven)
            add_body(own->body, m);
    }
    m->pinned += rounded(8 * faults);
    m->counters += takt_cuda_counters(faults, tickets);
}
