/* prologue.c - steps that depend on constants alone run while the plan is made, with the same
 * kernels as all others, so that folding cannot change bits. */
#include <string.h>

#include "base/mem.h"
#include "ir/late.h"
#include "plan/answers.h"
#include "plan/builder.h"
#include "plan/execute.h"

/* Base addresses of the buffers that a constant step may touch; constants never move. */
static takt_status constant_bases(takt_builder *b)
{
    const takt_plan *plan = b->p.plan;
    if (b->base_capacity < plan->buffer_count) {
        const size_t capacity = 2 * plan->buffer_count;
        void **more = takt_arena_array(&b->scratch, capacity, sizeof *more);
        if (more == NULL)
            return TAKT_ERR_MEMORY;
        if (b->base_count > 0)
            memcpy(more, b->bases, b->base_count * sizeof *more);
        b->bases = more;
        b->base_capacity = capacity;
    }
    for (; b->base_count < plan->buffer_count; b->base_count++) {
        const takt_buffer *buffer = &plan->buffers[b->base_count];
        if (buffer->place == TAKT_PLACE_CONSTANT &&
            plan->constants[buffer->index].storage != NULL) /* NULL: consumed */
            b->bases[b->base_count] =
                (void *)(uintptr_t)takt_tensor_address(&plan->constants[buffer->index]);
    }
    return TAKT_OK;
}

/* Weights that are in a file are brought into memory only for the steps that read them. */
static takt_status settle_inputs(const takt_builder *b, const takt_step *step)
{
    const takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < step->in_count; i++) {
        const takt_buffer *buffer = &plan->buffers[step->in[i].buffer];
        if (buffer->place == TAKT_PLACE_CONSTANT)
            TAKT_TRY(takt_storage_settle(plan->constants[buffer->index].storage));
    }
    return TAKT_OK;
}

/* Whether all threads of the plan compute a constant: it is large enough to wake them. */
static bool is_shared(const takt_builder *b, const takt_step *step)
{
    size_t bytes = 0;
    for (size_t i = 0; i < step->out_count && step->task_count > 1; i++)
        bytes += b->p.plan->buffers[step->out[i].buffer].bytes;
    return b->p.plan->threads > 1 && (step->shares_pool || bytes >= 1 << 18);
}

static takt_status run_step(takt_builder *b, const takt_step *step, void *scratch,
                            takt_fault_slot *fault)
{
    if (is_shared(b, step) && b->pool == NULL)
        TAKT_TRY(takt_pool_create(b->p.ctx, b->p.plan->threads, NULL, &b->pool));
    const bool is_leased = is_shared(b, step) && takt_pool_try_lease(b->pool);
    takt_execute_constant(step, b->bases, scratch, fault, is_leased ? b->pool : NULL);
    if (is_leased)
        takt_pool_release(b->pool);
    return TAKT_OK;
}

takt_status takt_builder_run_constant(takt_builder *b, takt_step *step)
{
    if (b->p.settings->is_dry)
        return TAKT_OK;
    TAKT_TRY(constant_bases(b));
    TAKT_TRY(settle_inputs(b, step));
    TAKT_TRY(takt_builder_align_scratch(b, step));
    const int workers = step->task_count > 1 && is_shared(b, step) ? b->p.plan->threads : 1;
    const size_t bytes = step->scratch_bytes + (size_t)workers * step->scratch_each;
    void *scratch;
    TAKT_TRY(takt_mem_get(b->p.ctx, bytes, "constant step", &scratch));
    takt_fault_slot fault = {.element = TAKT_FAULT_NONE};
    const takt_status status = run_step(b, step, scratch, &fault);
    takt_mem_put(b->p.ctx, scratch, bytes);
    TAKT_TRY(status);
    if (step->can_fault && fault.element != TAKT_FAULT_NONE && step->fault_id == 0)
        return b->p.ctx->error.status; /* recorded by the step itself */
    if (step->can_fault && fault.element != TAKT_FAULT_NONE)
        return takt_fail(b->p.ctx, step->fault_id,
                         "%s: a constant expression fails at element %llu", step->name,
                         (unsigned long long)fault.element);
    return takt_answers_keep_step(b, step);
}
