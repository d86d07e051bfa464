/* gelu_dx.h - element-wise steps that are the gradient of gelu, as one kernel. */
#ifndef TAKT_BACKEND_CPU_GELU_DX_H
#define TAKT_BACKEND_CPU_GELU_DX_H

#include "backend/cpu/map_match.h"
#include "kernel/gelu_dx_f32/gelu_dx_f32.h"

typedef struct takt_gelu_dx_facts {
    const takt_map_program *program;
    takt_gelu_dx_f32_fn *run;
    takt_convert x_widens, dy_widens, narrows; /* casts of operands and result; from == to: none */
    int x, dy, root_half, one, half, minus_half, density; /* indices into step->in */
} takt_gelu_dx_facts;

/* Whether `program`, made of the nodes of p's group, computes the gradient and nothing else; `f`
 * then holds its operands. Bits are the same either way. */
bool takt_gelu_dx_find(const takt_planner *p, const takt_map_program *program,
                       takt_gelu_dx_facts *f);
/* Elements [first, end). */
void takt_gelu_dx_run(const takt_gelu_dx_facts *f, const takt_step *s, const takt_task *t,
                      size_t first, size_t end);

#endif
