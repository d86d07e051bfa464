/* narrow.h - weights that products read in 16 bits, and products that are computed in 16 bits.
 *
 * In the graph such weights are a constant that is widened to f32. The step packs the constant
 * itself, in its own type, and the kernel widens what it reads: half the bytes, and the bits of the
 * f32 product with the widened weights.
 *
 * Under `numerics = fast` constant weights are packed for arithmetic in 16 bits, where the machine
 * has it: those that are f16 in f16, unless bf16 is much faster there; others in bf16.
 */
#ifndef TAKT_BACKEND_CPU_NARROW_H
#define TAKT_BACKEND_CPU_NARROW_H

#include "backend/cpu/cpu.h"
#include "kernel/convert/convert.h"
#include "kernel/gemm_bf16/gemm_bf16.h"
#include "kernel/gemm_f16/gemm_f16.h"

typedef struct takt_narrow {
    takt_id from;     /* the 16-bit constant */
    takt_dtype dtype; /* its type; F32: the weights are not narrow */
    size_t bytes;     /* of an element as it is packed */
    bool is_rounded;  /* and widened for the product; otherwise the product itself has this type */
    takt_convert_fn *convert;
    const takt_gemm_f32_info *fast; /* of the fast kernel; NULL: the product is one of f32 */
    bool is_fast_f16;               /* the fast product is one of f16; else of bf16 */
} takt_narrow;

/* How `weights`, the factor of the group's product, are stored; `bytes` per element if they are not
 * narrow. */
takt_narrow takt_narrow_of(const takt_planner *p, takt_id weights, size_t bytes);
/* The kernel of f16 or bf16 arithmetic for a product with `rows` if the settings request one, the
 * weights are constants and the machine has it; `n` then describes it. Else NULL, and the step says
 * why there is none. */
const takt_kernel *takt_narrow_fast(takt_planner *p, takt_id weights, size_t rows, takt_narrow *n);
/* The same for products whose second factor is computed, in f32: a bf16 kernel or NULL. Each factor
 * is packed at run time, by: */
const takt_kernel *takt_narrow_computed(takt_planner *p, size_t rows, takt_narrow *n);
/* `to` has room for a rounded copy of the matrix. Its elements are contiguous, in either order. */
void takt_narrow_pack_computed(const takt_narrow *n, takt_convert_fn *convert,
                               const takt_gemm_bf16_matrix *m, uint16_t *to);
/* Whether this many f16 weights are multiplied in f16, given these kernels of the two families;
 * NULL: none. */
bool takt_narrow_prefers_f16(const takt_kernel *f16, const takt_kernel *bf16, size_t rows,
                             size_t weights);
/* Facts of the fast kernel if it is one of bf16; else NULL. */
const takt_gemm_bf16_info *takt_narrow_bf16(const takt_narrow *n);
/* Elements of a packed matrix of the fast kernel. */
size_t takt_narrow_count(const takt_narrow *n, size_t k, size_t columns);
/* Whether weights are packed in another type than f32, by the type of the constant. */
static inline bool takt_is_narrow(const takt_narrow *n)
{
    return n->dtype != TAKT_F32;
}
/* Makes `g` read `data`: packed weights, narrow or not, of `columns` columns with padding. `room`
 * must outlive the product. */
void takt_narrow_use(takt_gemm_f32 *g, const takt_narrow *n, const void *data, size_t columns,
                     takt_gemm_stored *room);
/* `count` elements that are to be packed: an error if one became infinite in f16. */
TAKT_MUST_USE takt_status takt_narrow_check(takt_ctx *ctx, const takt_narrow *n, const void *data,
                                            size_t count);
/* For weights that are packed element by element: `count` of them as f32, which `pack` turns into
 * `packed` f32, and those into the narrow type. */
typedef void takt_narrow_pack_fn(void *user, const float *from, float *to);
typedef struct takt_narrow_job {
    takt_ctx *ctx;
    size_t count, packed;
    takt_dtype to; /* packed type */
    takt_narrow_pack_fn *pack;
    void *user;
} takt_narrow_job;
TAKT_MUST_USE takt_status takt_narrow_pack(const takt_narrow_job *job, const takt_narrow *n,
                                           const void *from, void *to);
/* Matrices in f32, one after another, in the layout that the fast kernels' packing expects. */
typedef struct takt_fast_weights {
    size_t matrices, k, n;
    size_t row, col, each; /* elements between rows, columns and matrices */
} takt_fast_weights;
/* `job->pack`, if set, makes `job->packed` floats from the constant's, in that order. */
TAKT_MUST_USE takt_status takt_narrow_pack_fast(const takt_narrow_job *job, const takt_narrow *n,
                                                const takt_fast_weights *w, const void *from,
                                                void *to);
/* "panels" of f32, "panels f16", "panels bf16": formats of packed constants. */
const char *takt_narrow_format(takt_planner *p, const takt_narrow *n, const char *format);

#endif
