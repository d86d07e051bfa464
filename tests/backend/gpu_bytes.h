/* gpu_bytes.h - what a plan states of the device's memory is what its session takes there. */
#ifndef TAKT_TESTS_BACKEND_GPU_BYTES_H
#define TAKT_TESTS_BACKEND_GPU_BYTES_H

#include "plan/backend.h"
#include "test.h"
#include "util/gpu.h"

static inline size_t stated_device_bytes(const takt_plan *plan)
{
    size_t stated = 0;
    for (size_t i = 1; i < plan->space_count; i++) {
        const takt_plan_space *s = &plan->space[i];
        stated += s->constants + s->state + s->arena;
        stated += (size_t)takt_session_memory_of(plan, (takt_space)i).counters;
    }
    return stated;
}

/* For the only session of the tests' driver. */
static inline void expect_device_bytes(const char *name, const takt_plan *plan)
{
    const size_t stated = stated_device_bytes(plan);
    const size_t counted = gpu_count().live_bytes;
    EXPECT(counted == stated, "%s: the plan has %zu bytes, %zu counted", name, stated, counted);
}

#endif
