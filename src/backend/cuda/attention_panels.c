/* attention_panels.c - long attention: q and k are transposed, and one kernel takes panels of 128
 * queries from the scores to the product with v (gemm_f32/gemm_f32_cuda_attend.cu). */
#include "backend/cuda/attention.h"

enum { SIDE = TAKT_CUDA_ATTEND_SIDE, STEP = TAKT_CUDA_ATTEND_STEP, AT_ONCE = 2 /* blocks */ };

/* The kernel moves v and its result by quads; q and k it has in scratch. Buffers begin at multiples
 * of sixteen bytes, those of a caller too (device.c). */
static bool is_by_quads(const takt_step *s)
{
    return s->in[2].offset % 16 == 0 && s->out[0].offset % 16 == 0;
}

/* Smaller heads of v would leave half of the kernel's sums unused. */
static bool takes(const takt_cuda_attention *f)
{
    enum { KEYS_LEAST = 1024 };
    return f->weigh.mask == NULL && !f->weigh.is_causal && f->weigh.scale > 0 && f->is_transposed &&
           f->keys >= KEYS_LEAST && f->keys <= TAKT_CUDA_ATTEND_KEYS && f->keys % SIDE == 0 &&
           f->queries % 4 == 0 && f->dim <= SIDE && f->dim % STEP == 0 && f->size <= SIDE &&
           f->size > SIDE / 2 && f->size % 4 == 0 && f->batch * f->heads < UINT16_MAX;
}

/* Input `index`, [batch, rows, heads, dim], as [batch, heads, dim, rows], `at` bytes from the
 * beginning of the scratch. */
static void add_transposed(takt_cuda_step *s, const takt_cuda_attention *f, size_t index,
                           uint64_t at)
{
    const size_t rows = index == 0 ? f->queries : f->keys;
    const size_t heads = index == 0 ? f->heads : f->shared;
    const takt_cuda_transpose t = {.dst = takt_cuda_named(TAKT_CUDA_SCRATCH, at),
                                   .src = takt_cuda_in(index),
                                   .src_row = (int64_t)(heads * f->dim),
                                   .src_outer = (int64_t)(rows * heads * f->dim),
                                   .src_inner = (int64_t)f->dim,
                                   .rows = (uint32_t)rows,
                                   .cols = (uint32_t)f->dim,
                                   .inner = (uint32_t)heads};
    takt_cuda_launch_transpose(&t, (uint32_t)(f->batch * heads), &s->launches[s->count++]);
}

bool takt_cuda_attention_panels(takt_planner *p, const takt_cuda_attention *f, uint64_t other,
                                takt_cuda_step *s)
{
    const takt_cuda_block_room has = takt_cuda_room(p);
    const size_t panels = f->batch * f->heads * ((f->queries + SIDE - 1) / SIDE);
    const size_t most = AT_ONCE * (size_t)has.processors, blocks = panels < most ? panels : most;
    const uint64_t keys = takt_cuda_attention_bytes((uint64_t)blocks * SIDE * f->keys);
    const uint64_t queries =
        keys + takt_cuda_attention_bytes((uint64_t)f->batch * f->shared * f->keys * f->dim);
    const uint64_t bytes =
        queries + takt_cuda_attention_bytes((uint64_t)f->batch * f->heads * f->queries * f->dim);
    if (!takes(f) || !is_by_quads(p->step) || panels < has.processors || bytes > p->scratch_room ||
        (p->settings->hint == TAKT_HINT_MEMORY && bytes > other) ||
        takt_cuda_attend_long_bytes() > has.shared_bytes)
        return false;
    const takt_cuda_attend_long a = {.q = takt_cuda_named(TAKT_CUDA_SCRATCH, queries),
                                     .k = takt_cuda_named(TAKT_CUDA_SCRATCH, keys),
                                     .v = takt_cuda_in(2),
                                     .out = takt_cuda_out(0),
                                     .scores = takt_cuda_named(TAKT_CUDA_SCRATCH, 0),
                                     .heads = (uint32_t)f->heads,
                                     .group = (uint32_t)f->group,
                                     .queries = (uint32_t)f->queries,
                                     .keys = (uint32_t)f->keys,
                                     .dim = (uint32_t)f->dim,
                                     .size = (uint32_t)f->size,
                                     .blocks = (uint32_t)blocks,
                                     .scale = f->weigh.scale};
    p->step->scratch_bytes = (size_t)bytes;
    add_transposed(s, f, 1, keys);
    add_transposed(s, f, 0, queries);
    takt_cuda_launch_attend_long(&a, (uint32_t)f->batch, &s->launches[s->count]);
    takt_cuda_name_step(p, &s->launches[s->count++]);
    return true;
}
