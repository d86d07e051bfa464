/* map_machine.h - the state of a running tile program: its tile, operands and results. */
#ifndef TAKT_BACKEND_CPU_MAP_MACHINE_H
#define TAKT_BACKEND_CPU_MAP_MACHINE_H

#include "backend/cpu/map_program.h"
#include "plan/execute.h"

/* Bound views are read in small tiles, which are gathered in memory of their own. */
enum { TAKT_MAP_VIEW_TILE = 128, TAKT_MAP_VIEW_BYTES = TAKT_MAP_VIEW_TILE * 8 };

typedef struct takt_map_machine {
    const takt_map_program *m;
    const takt_step *step;
    const takt_task *task;
    char *registers;
    size_t first, n;
    size_t run; /* tiles end where it does; 0: anywhere */
    float *hot;
    takt_fault fault;
    char (*room)[TAKT_MAP_VIEW_BYTES]; /* for the operands of an instruction; NULL: all are dense */
    uint64_t kept; /* operands whose expanded tiles are in their registers already */
} takt_map_machine;

static inline void *takt_map_reg(const takt_map_machine *x, uint32_t index)
{
    return x->registers + index * takt_map_register(x->m);
}

/* The tile that operand number `k` of an instruction is read from; gathered and widened before,
 * where that is needed. */
const void *takt_map_read(takt_map_machine *x, const takt_map_ref *ref, int k,
                          unsigned char *is_scalar);
/* The tile of an output; NULL if the instruction has none. */
char *takt_map_output(const takt_map_machine *x, const takt_map_instr *code);
/* Runs the instructions from `code` on that form one pass; false if they must run one by one. */
bool takt_map_pass(takt_map_machine *x, const takt_map_instr *code);

#endif
