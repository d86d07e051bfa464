/* ggml_pack.h - weights in ggml's block formats as panels, for the steps that read them. */
#ifndef TAKT_BACKEND_CPU_GGML_PACK_H
#define TAKT_BACKEND_CPU_GGML_PACK_H

#include "backend/cpu/cpu.h"
#include "kernel/ggml_panels/ggml_panels.h"

typedef struct takt_ggml_operand {
    takt_ggml_rows rows; /* of a matrix, without their bytes */
    size_t matrices;     /* 1, or the first dimension of u8[matrices, n, bytes] */
    size_t each;         /* bytes of the panels of a matrix, or of its rows */
    size_t in;           /* into step->in */
    bool is_packed; /* already, or without panels; else packed in shared scratch at every run */
    size_t packed_at;
} takt_ggml_operand;

/* Adds `node`, u8[n, bytes] or u8[matrices, n, bytes], to the step. `packs_late`: if it is not a
 * constant it is packed at every run by takt_ggml_operand_before; otherwise it stays in rows. All
 * steps share the panels. */
TAKT_MUST_USE takt_status takt_ggml_operand_add(takt_planner *p, takt_id node,
                                                takt_ggml_format format, bool packs_late,
                                                takt_ggml_operand *o);
void takt_ggml_operand_before(const takt_ggml_operand *o, const takt_step *s, const takt_task *t);
/* The panels, or rows of formats that have none. */
const uint8_t *takt_ggml_operand_at(const takt_ggml_operand *o, const takt_step *s,
                                    const takt_task *t);

#endif
