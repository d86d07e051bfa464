/* host_memory.c - the host memory of a session on a device, from its plan alone. */
#include "backend/cuda/body.h"
#include "backend/cuda/session.h"
#include "backend/cuda/step.h"

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + TAKT_CUDA_PINNED - 1) / TAKT_CUDA_PINNED * TAKT_CUDA_PINNED;
}

static void add_body(const takt_cuda_body *b, takt_host_memory *h)
{
    for (size_t i = 0; i < b->plan_count; i++) {
        const takt_plan *child = b->plans[i];
        h->bodies += takt_cuda_child_bytes(child, b);
        for (size_t k = 1; k < child->space_count; k++)
            takt_cuda_host_memory(child, (takt_space)k, h); /* nested to a limited depth */
    }
}

void takt_cuda_host_memory(const takt_plan *plan, takt_space space, takt_host_memory *h)
{
    uint64_t faults = 0;
    h->pinned += TAKT_CUDA_HEAD;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        if (s->space != space)
            continue;
        if (s->transfer.way == TAKT_COPY_UP || s->transfer.way == TAKT_COPY_DOWN)
            h->pinned += rounded(s->transfer.bytes);
        faults += s->transfer.way == TAKT_COPY_NONE && s->can_fault;
        if (s->is_driven)
            add_body(((const takt_cuda_step *)s->data)->body, h);
    }
    h->pinned += rounded(8 * faults);
}
