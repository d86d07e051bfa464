/* kernel.c - the registry: every variant file of this build, and the choice among them. */
#include "kernel/kernel.h"

#include <string.h>

#include "base/inner.h"

#define TAKT_UNIT(stem, upper) extern const takt_kernel_unit takt_unit_##stem;
#include "kernel_list.inc"
#undef TAKT_UNIT

TAKT_INNER const takt_kernel_unit *const takt_kernel_units[] = {
#define TAKT_UNIT(stem, upper) &takt_unit_##stem,
#include "kernel_list.inc"
#undef TAKT_UNIT
    NULL, /* so that a build without any kernel is still C */
};

TAKT_INNER const size_t takt_kernel_unit_count =
    sizeof takt_kernel_units / sizeof *takt_kernel_units - 1;

static const char *needs(takt_isa isa)
{
    switch (isa) {
#define X(name, bit, arch, adds)                                                                   \
    case TAKT_ISA_##name:                                                                          \
        return "needs " #name " (" adds "), which this processor lacks or the cap excludes";
        TAKT_ISA_LIST(X)
#undef X
    }
    return "needs an unknown instruction set";
}

/* Fills choices[] in registry order; those that run are marked as not refused. */
static size_t candidates(const char *family, takt_isa_set isas, takt_kernel_choice *best,
                         takt_kernel_choice *choices, size_t capacity)
{
    size_t count = 0;
    for (size_t u = 0; u < takt_kernel_unit_count; u++) {
        const takt_kernel_unit *unit = takt_kernel_units[u];
        if (unit->family[0] != family[0] || strcmp(unit->family, family) != 0)
            continue;
        const bool runs = (isas & UINT32_C(1) << unit->isa) != 0;
        for (size_t k = 0; k < unit->count; k++) {
            const takt_kernel_choice c = {&unit->kernels[k], unit, runs ? NULL : needs(unit->isa)};
            if (runs && (best->kernel == NULL || c.kernel->rank > best->kernel->rank))
                *best = c;
            if (choices != NULL && count < capacity)
                choices[count++] = c;
        }
    }
    return count;
}

TAKT_INNER const takt_kernel *takt_kernel_find(const char *family, takt_isa_set isas,
                                               takt_kernel_choice *choices, size_t capacity,
                                               size_t *count)
{
    takt_kernel_choice best = {NULL, NULL, NULL};
    const size_t found = candidates(family, isas, &best, choices, capacity);
    for (size_t i = 0; i < found; i++)
        if (choices[i].refused == NULL && choices[i].kernel != best.kernel)
            choices[i].refused = "a variant of higher rank runs here";
    if (count != NULL)
        *count = found;
    return best.kernel;
}
