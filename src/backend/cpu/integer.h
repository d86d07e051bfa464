/* integer.h - shared by the steps of integer_matmul and integer_conv: packed bytes, zero points,
 * and requantisation by the product kernels. */
#ifndef TAKT_BACKEND_CPU_INTEGER_H
#define TAKT_BACKEND_CPU_INTEGER_H

#include "backend/cpu/cpu.h"
#include "kernel/gemm_i8/gemm_i8.h"
#include "op/util/integer.h"

typedef struct takt_integer {
    takt_gemm_i8_fn *run;
    const takt_gemm_i8_info *info;
    size_t n, k, groups;         /* columns and inner size of one group */
    size_t row, col;             /* bytes between rows (k) and columns of B */
    size_t tap_run;              /* of runs in an image; else 0 */
    size_t in[TAKT_INTEGER_ALL]; /* into step->in; SIZE_MAX: absent */
    bool is_packed, a_unsigned, b_unsigned;
    bool has_no_zeros;                /* of packed B: known when the plan is made */
    bool is_wide;                     /* the scale is f64 */
    bool goes_right;                  /* constants in fixed point, as kernel/gemm_i8/fixed.h says */
    size_t packed_at;                 /* offset in shared scratch, if not packed already */
    size_t deep;                      /* rows of packed B */
    size_t padded_bytes;              /* of panels, without what aligns their sums */
    size_t panels_bytes, group_bytes; /* of a group: panels alone, and with their sums */
    takt_requant_to to;
    size_t result_bytes; /* of one element */
    int32_t low, high;   /* results of bytes are clamped to these */
} takt_integer;

/* A convolution of bytes, channels last, with one channel in and out of each group. */
bool takt_integer_is_depthwise(const takt_graph *g, const takt_node *n);

/* A bound on bytes, as from a relu before quantisation: NULL if `node` is one and may follow the
 * integer op `anchor` inside its step. */
const char *takt_integer_absorbs(const takt_graph *g, takt_id anchor, takt_id node);
/* n, k, groups, row and col are set. Adds the inputs and the result to the step; `use_panels`:
 * weights are packed for the product kernels; else the caller adds them. */
TAKT_MUST_USE takt_status takt_integer_compile(takt_planner *p, takt_integer *f, bool use_panels);
/* Packs weights that are not constant; NULL in step->before where they are. */
void takt_integer_pack(const takt_integer *f, const takt_step *s, const takt_task *t);

/* One block of a product. */
typedef struct takt_integer_block {
    const takt_step *step;
    const takt_task *task;
    const void *a;
    const takt_i8_image *image;    /* address of A instead, or NULL */
    size_t a_row, rows;            /* bytes; of A and C */
    bool a_open;                   /* TAKT_I8_OPEN bytes behind each row of A may be read */
    int flip;                      /* takt_integer_flip if A's bytes were combined with it */
    size_t group, column, columns; /* column: within the group */
    void *c;
    size_t ldc;     /* elements */
    void *scratch;  /* the kernel's */
    int32_t *zeros; /* room for `columns` zero points */
} takt_integer_block;

/* Bytes for the zero points of that many columns. */
static inline size_t takt_integer_zeros_bytes(const takt_integer *f, size_t columns)
{
    return f->has_no_zeros ? 0 : takt_cpu_aligned(columns * sizeof(int32_t));
}

/* What bytes of A are best combined with (exclusive or) by who copies them: 0 or 128, by which
 * signed bytes become unsigned. */
static inline int takt_integer_flip(const takt_integer *f)
{
    return f->info->wants_unsigned && !f->a_unsigned ? 128 : 0;
}

void takt_integer_product(const takt_integer *f, const takt_integer_block *b);
/* Parameters of the kernels for columns [column, ...). */
void takt_integer_requant_of(const takt_integer *f, const takt_step *s, const takt_task *t,
                             size_t column, takt_requant *q);
/* Zero point of A. */
int32_t takt_integer_a_zero(const takt_integer *f, const takt_step *s, const takt_task *t);
/* Zero points of `columns` columns of B, as they are. */
void takt_integer_b_zeros(const takt_integer *f, const takt_step *s, const takt_task *t,
                          size_t column, size_t columns, int32_t *to);

#endif
