/* pack.c - keys and values of one head as products read them: panels of floats. */
#include <string.h>

#include "backend/cpu/attention/attention.h"

/* 8-bit keys that are converted to floats at a time, at least; fewer than two such groups make a
 * chunk. */
enum { PIECE = 128 };

/* `count` numbers of 16 bits, the upper half of as many floats, to these floats. */
static void widen(const takt_attention *f, takt_dtype from, float *to, size_t count)
{
    enum { HALVES = 1024 };
    const takt_convert how = {.to = TAKT_F32, .from = from};
    const uint16_t *rest = (const uint16_t *)(const void *)to + count;
    uint16_t piece[HALVES]; /* source and destination may overlap */
    for (size_t i = 0; i < count; i += HALVES) {
        const size_t n = count - i < HALVES ? count - i : HALVES;
        memcpy(piece, rest + i, n * sizeof *piece);
        f->convert(&how, to + i, piece, n);
    }
}

/* Packs to floats at `p.dst`, whatever the elements are. */
static void pack_floats(const takt_attention *f, takt_pack p, takt_dtype from)
{
    const size_t count = takt_panels_columns(f->panels, p.n) * p.k;
    float *to = p.dst;
    p.bytes = takt_attention_bytes(from);
    p.panels = f->panels;
    if (from != TAKT_F32)
        p.dst = (uint16_t *)p.dst + count;
    f->pack(&p);
    if (from != TAKT_F32)
        widen(f, from, to, count);
}

/* Blocks of q8_0 are converted to floats some keys at a time, in `wide`, and packed from there.
 * Keys are columns: all but the last piece are whole wide panels, and the last has as many at
 * least, so that it is split like the end of all columns. */
static void pack_key_blocks(const takt_attention *f, const takt_attention_pair *p, float *to,
                            float *wide)
{
    const takt_attention_rows rows = {p->k, p->k_row, f->dim, f->k_type};
    const size_t piece = PIECE / f->panels.wide * f->panels.wide;
    const size_t columns = takt_panels_columns(f->panels, p->keys);
    for (size_t first = 0, n; first < p->keys; first += n) {
        n = p->keys - first < 2 * piece ? p->keys - first : piece;
        takt_attention_widen(f, &rows, first, n, wide);
        for (size_t d = 0, deep; d < f->dim; d += deep) {
            deep = f->dim - d < TAKT_GEMM_CHUNK ? f->dim - d : TAKT_GEMM_CHUNK;
            const takt_pack keys = {.k = deep,
                                    .n = n,
                                    .src = wide + d,
                                    .row = 1,
                                    .col = f->dim,
                                    .dst = to + d * columns + first * deep,
                                    .bytes = sizeof *to,
                                    .panels = f->panels};
            f->pack(&keys);
        }
    }
}

/* Chunks of k one after another, stored contiguously. */
static void pack_value_blocks(const takt_attention *f, const takt_attention_pair *p, float *to,
                              float *wide)
{
    const takt_attention_rows rows = {p->v, p->v_row, f->value_dim, f->v_type};
    for (size_t first = 0, n; first < p->keys; first += n) {
        n = p->keys - first < TAKT_GEMM_CHUNK ? p->keys - first : TAKT_GEMM_CHUNK;
        takt_attention_widen(f, &rows, first, n, wide);
        const takt_pack values = {.k = n,
                                  .n = f->value_dim,
                                  .src = wide,
                                  .row = f->value_dim,
                                  .col = 1,
                                  .dst = to + first * takt_panels_columns(f->panels, f->value_dim),
                                  .bytes = sizeof *to,
                                  .panels = f->panels};
        f->pack(&values);
    }
}

void takt_attention_pack(const takt_attention *f, const takt_attention_pair *p, float *to,
                         float *wide)
{
    const takt_pack keys = {
        .k = f->dim, .n = p->keys, .src = p->k, .row = 1, .col = p->k_row, .dst = to};
    const takt_pack values = {.k = p->keys,
                              .n = f->value_dim,
                              .src = p->v,
                              .row = p->v_row,
                              .col = 1,
                              .dst = to + f->k_packed};
    if (f->k_type == TAKT_U8)
        pack_key_blocks(f, p, to, wide);
    else
        pack_floats(f, keys, f->k_type);
    if (f->v_type == TAKT_U8)
        pack_value_blocks(f, p, to + f->k_packed, wide);
    else
        pack_floats(f, values, f->v_type);
}

size_t takt_attention_wide_packed(const takt_attention *f)
{
    const size_t widest = f->dim > f->value_dim ? f->dim : f->value_dim;
    return f->k_type == TAKT_U8 || f->v_type == TAKT_U8 ? TAKT_GEMM_CHUNK * widest : 0;
}

void takt_attention_pack_rows(const takt_attention *f, takt_attention_matrix m, size_t from,
                              float *packed)
{
    const takt_pack rows = {.k = m.rows - from,
                            .n = m.columns,
                            .src = m.at + from * m.row,
                            .row = m.row,
                            .col = m.col,
                            .dst = packed + from * takt_panels_columns(f->panels, m.columns),
                            .bytes = sizeof *packed,
                            .panels = f->panels};
    f->pack(&rows);
}

/* Scratch memory of the products with `keys` keys. */
static size_t product_bytes(const takt_attention *f, const takt_gemm_f32_info *info, size_t keys)
{
    const takt_gemm_f32 first = {.m = f->block,
                                 .n = keys,
                                 .k = f->dim,
                                 .a_row = f->heads * f->dim,
                                 .a_col = 1,
                                 .blocking = f->blocking};
    const takt_gemm_f32 second = {.m = f->block,
                                  .n = f->value_dim,
                                  .k = keys,
                                  .a_row = keys,
                                  .a_col = 1,
                                  .blocking = f->blocking};
    takt_gemm_f32 single = second; /* a row without absent keys, fewer than all keys */
    single.m = 1;
    single.k = keys < TAKT_GEMM_CHUNK ? keys : TAKT_GEMM_CHUNK;
    const size_t a = info->scratch_bytes(&first), b = info->scratch_bytes(&second);
    const size_t c = f->is_causal ? info->scratch_bytes(&single) : 0;
    const size_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

/* The most for any number of keys that may be there or that a block sees. Fewer keys may need more:
 * more rows of A fit. Kernels round k up to four, and to more rows only below that; beyond a block
 * of k, which has at most BLOCK_OF_K, nothing changes. */
size_t takt_attention_kernel_bytes(const takt_attention *f, const takt_gemm_f32_info *info)
{
    enum { BLOCK_OF_K = 2048 };
    const size_t block = f->blocking != NULL && f->blocking->k > BLOCK_OF_K
                             ? f->blocking->k + TAKT_GEMM_CHUNK
                             : BLOCK_OF_K;
    const bool may_be_fewer = f->length >= 0 || f->is_causal;
    size_t most = product_bytes(f, info, f->keys);
    for (size_t keys = 3; may_be_fewer && keys < f->keys && keys < block + 4; keys += 4) {
        const size_t bytes = product_bytes(f, info, keys);
        most = bytes > most ? bytes : most;
    }
    return most;
}
