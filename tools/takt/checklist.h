/* checklist.h - checks of the guides' boxes: each runs once, and several boxes may use it. */
#ifndef TAKT_TOOL_CHECKLIST_H
#define TAKT_TOOL_CHECKLIST_H

#include "doctor.h"

/* The result of a check; for a box that is not ticked, a line says what would tick it. */
typedef struct check_result {
    bool is_known, ticked;
    char evidence[TAKT_FINDING_TEXT], fix[TAKT_FINDING_TEXT];
} check_result;

/* Every check; the profile is made by the first one that needs it. */
typedef struct check_sheet {
    tool_patient *p;
    takt_profile *profile;
    double floor_ns, profiled_ns;
    size_t hot_steps, steps; /* that take 80 % of the time, and all */
} check_sheet;

typedef void check_fn(check_sheet *s, check_result *r);

/* X(name) */
#define TAKT_CHECKS(X)                                                                             \
    X(types)                                                                                       \
    X(batch)                                                                                       \
    X(backend)                                                                                     \
    X(allocations)                                                                                 \
    X(warmup)                                                                                      \
    X(pauses)                                                                                      \
    X(layout)                                                                                      \
    X(distance)                                                                                    \
    X(latency)                                                                                     \
    X(rate)                                                                                        \
    X(profile)                                                                                     \
    X(flame)                                                                                       \
    X(hot)                                                                                         \
    X(memory)                                                                                      \
    X(targets)                                                                                     \
    X(simd)                                                                                        \
    X(threads)                                                                                     \
    X(fusion)                                                                                      \
    X(pooling)                                                                                     \
    X(in_place)                                                                                    \
    X(copies)                                                                                      \
    X(outputs)                                                                                     \
    X(passes)                                                                                      \
    X(cache)                                                                                       \
    X(order)                                                                                       \
    X(batch_dim)                                                                                   \
    X(transfers)                                                                                   \
    X(architecture)                                                                                \
    X(correct)                                                                                     \
    X(impact)                                                                                      \
    X(edges)                                                                                       \
    X(release)                                                                                     \
    X(lto)                                                                                         \
    X(machine)                                                                                     \
    X(caches)                                                                                      \
    X(limits)                                                                                      \
    X(report)

#define X(name) check_fn check_##name;
TAKT_CHECKS(X)
#undef X

#define CHECK_SAY(where, ...) (void)snprintf((where), TAKT_FINDING_TEXT, __VA_ARGS__)

#endif
