/* product.h - convolution as a product: what is known when the plan is made, and one task.
 *
 * Rows are output positions, columns output channels. A 1x1 convolution with channels last is a
 * product on the data in place. Otherwise each task gathers the patches of a block of positions
 * into its scratch and multiplies them there, so that the patch matrix never exists as a whole. The
 * sum's order is that of a product over the flat (taps, channels).
 */
#ifndef TAKT_BACKEND_CPU_CONV_PRODUCT_H
#define TAKT_BACKEND_CPU_CONV_PRODUCT_H

#include "backend/cpu/conv/end.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/shape.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/narrow.h"

typedef struct takt_conv_product {
    takt_conv_shape shape;
    takt_conv_memory memory;
    takt_conv_end end;
    takt_gemm_f32_fn *run;
    const takt_gemm_f32_info *info; /* of that kernel */
    takt_panels panels;
    size_t w;           /* index into step->in */
    bool is_packed;     /* w is packed already */
    takt_narrow narrow; /* how it is packed */
    takt_ctx *ctx;      /* for packing at plan time */
    takt_isa_set isas;
    size_t w_count;            /* elements of w */
    size_t packed_at;          /* else: offset of the packed form in shared scratch */
    bool is_direct;            /* patches are rows of x, which may overlap */
    size_t row;                /* then: floats from one to the next */
    bool reads_a;              /* by the kernel, in place */
    bool is_padded;            /* and of a copy of x, with zeros around it */
    size_t group_floats, rows; /* packed weights of a group; positions of a block */
    size_t grain;              /* rows of a tile */
    takt_cut cut;
    bool is_first; /* y has channels first, though the convolution has them last */
    size_t wide;   /* channels of a block at most; a multiple of every panel, or all */
    const takt_gemm_blocking *blocking; /* set by the caller, or NULL */
    size_t ways;                        /* of L1, for the kernel */
    size_t patches, tile, registers; /* offsets in a worker's scratch; the kernel's comes first */
} takt_conv_product;

/* Results of 16 bits with channels last are rounded block by block. */
static inline bool takt_conv_product_rounds(const takt_conv_product *f)
{
    return f->shape.dtype != TAKT_F32 && f->shape.is_nhwc;
}

/* Blocks of the result go through a tile to y. */
static inline bool takt_conv_product_tiles(const takt_conv_product *f)
{
    return f->is_first || !f->shape.is_nhwc || takt_conv_product_rounds(f);
}

/* For p->group, whose first node is the convolution, by whichever way is fastest. `first`: the
 * result with channels first, which alone is made, of f32; or TAKT_NONE. */
TAKT_MUST_USE takt_status takt_conv_compile(takt_planner *p, takt_id first);

/* Sets `wide`, and more `rows` where that makes rows of y long enough to write fast. */
void takt_conv_product_tile(takt_conv_product *f);

/* For a step with that data: widens operands and packs weights, computes one task, and rounds the
 * result to its type. */
void takt_conv_product_prepare(const takt_step *s, const takt_task *t);
void takt_conv_product_before(const takt_step *s, const takt_task *t);
void takt_conv_product_run(const takt_step *s, const takt_task *t);
void takt_conv_product_after(const takt_step *s, const takt_task *t);

#endif
