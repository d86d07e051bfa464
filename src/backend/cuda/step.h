/* step.h - a step on a device is data: launches whose pointers are still names of views. */
#ifndef TAKT_BACKEND_CUDA_STEP_H
#define TAKT_BACKEND_CUDA_STEP_H

#include "backend/cuda/device.h"

/* step->data of all steps here. */
typedef struct takt_cuda_step {
    size_t count;
    takt_cuda_launch *launches;
} takt_cuda_step;

/* What a pointer in the arguments stands for until a session has addresses. */
typedef enum takt_cuda_name {
    TAKT_CUDA_NONE, /* a NULL pointer */
    TAKT_CUDA_SCRATCH,
    TAKT_CUDA_FAULT,
    TAKT_CUDA_VIEW /* and up: 2 * index, + 1 of step->out */
} takt_cuda_name;

static inline void *takt_cuda_named(uint32_t name, size_t offset)
{
    return (void *)(uintptr_t)((uint64_t)offset << 16 | name);
}
static inline void *takt_cuda_in(size_t index)
{
    return takt_cuda_named(TAKT_CUDA_VIEW + 2 * (uint32_t)index, 0);
}
static inline void *takt_cuda_out(size_t index)
{
    return takt_cuda_named(TAKT_CUDA_VIEW + 2 * (uint32_t)index + 1, 0);
}

/* One kind: a file step_<kind>.c. `accepts`: NULL, or the reason why it does not compute the node,
 * "" if nobody would think so. */
typedef struct takt_cuda_kind {
    const char *name;
    const char *(*accepts)(const takt_graph *g, takt_id node);
    bool (*keeps)(const takt_graph *g, const takt_node *n);
    takt_status (*compile)(takt_planner *p);
} takt_cuda_kind;

extern const takt_cuda_kind takt_cuda_map_kind, takt_cuda_product_kind, takt_cuda_rows_kind,
    takt_cuda_reduce_kind, takt_cuda_move_kind, takt_cuda_conv_kind;

/* Room for the launches of p->step, which become its data. */
TAKT_MUST_USE takt_status takt_cuda_step_get(takt_planner *p, size_t launches,
                                             takt_cuda_step **step);
/* The device that the plan is made for. */
const takt_cuda *takt_cuda_of(const takt_planner *p);

#endif
