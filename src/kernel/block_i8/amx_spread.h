/* amx_spread.h - rows and pieces of panels as tiles of bytes. A part of block_i8_amx.c.
 *
 * A block is cut into `steps` of `width` k, which is what one tile takes; the last block is
 * completed with zeros. Bytes of weights are levels less their zero point, or, of 8 bits, less 128.
 */
enum { HEIGHT = 16, PIECE = 1024 }; /* rows of a tile; k of a piece, and the most of a block */

/* How blocks become tiles. */
typedef struct tiling {
    size_t block;        /* k of one, all alike */
    size_t width, steps; /* of a tile; tiles of a block */
    size_t most;         /* blocks of a piece */
} tiling;

/* Sixteen rows, in scratch. */
typedef struct strip {
    int8_t *q;     /* [blocks][steps][16][width] */
    float *dx;     /* [blocks][16] */
    int32_t *sums; /* [blocks][16] */
    float *acc;    /* [16][16], between pieces of a chunk */
} strip;

/* A piece of a panel, in scratch. */
typedef struct piece {
    int8_t bytes[PIECE * TAKT_BLOCKS_PANEL];
    float scale[PIECE / TAKT_BLOCKS_STEP][TAKT_BLOCKS_PANEL];
    int32_t zero[PIECE / TAKT_BLOCKS_STEP][TAKT_BLOCKS_PANEL]; /* less 128; only for 8 bits */
} piece;

static tiling tiling_of(const takt_blocks *b)
{
    const size_t deep = takt_blocks_deep(b->k), block = least(b->block, deep > 0 ? deep : 16);
    tiling o = {.block = block};
    for (o.width = 64; block % o.width != 0;)
        o.width -= 16;
    o.steps = block / o.width;
    o.most = PIECE / block;
    return o;
}

/* A block of a row, by way of bytes in a row, to its places in the tiles at `to`. */
static int32_t round_block(const tiling *o, const float *a, size_t n, float *most, int8_t *to)
{
    int8_t bytes[PIECE];
    if (n == o->block && o->steps == 1)
        return block_round(a, n, most, to);
    const int32_t sum = block_round(a, n, most, bytes);
    memset(bytes + n, 0, o->block - n);
    for (size_t i = 0; i < o->steps; i++)
        for (size_t j = 0; j < o->width; j += 16)
            _mm_storeu_si128(
                (__m128i *)(void *)(to + i * HEIGHT * o->width + j),
                _mm_loadu_si128((const __m128i *)(const void *)(bytes + i * o->width + j)));
    return sum;
}

/* Blocks [from, end) of sixteen rows of A, or those there are, from `row` on. */
static void quantise_strip(const takt_block_i8 *g, const tiling *o, size_t row, size_t from,
                           size_t end, const strip *to)
{
    const size_t rows = least(g->m - row, HEIGHT);
    if (rows < HEIGHT) {
        memset(to->q + from * o->block * HEIGHT, 0, (end - from) * o->block * HEIGHT);
        memset(to->dx + from * HEIGHT, 0, (end - from) * HEIGHT * sizeof *to->dx);
        memset(to->sums + from * HEIGHT, 0, (end - from) * HEIGHT * sizeof *to->sums);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t i = from; i < end; i++) {
            const size_t first = i * o->block;
            float most;
            const int32_t sum =
                round_block(o, g->a + (row + r) * g->a_row + first, least(g->b.k - first, o->block),
                            &most, to->q + first * HEIGHT + r * o->width);
            to->dx[i * HEIGHT + r] = most / 127;
            if (g->b.bits == 8)
                to->sums[i * HEIGHT + r] = sum;
        }
}

/* Rows of a panel, `k` of them. */
FIXED void spread_bits(const uint32_t *w, size_t k, __m512i minus, int8_t *to, const unsigned bits)
{
    for (const uint32_t *end = w + takt_blocks_words(bits, k); w < end; w += TAKT_BLOCKS_PANEL) {
        const __m512i words = _mm512_loadu_si512(w);
        UNROLL for (unsigned j = 0; j < 8 / bits; j++, to += 64)
            _mm512_storeu_si512(to, _mm512_sub_epi8(levels(words, bits, j), minus));
    }
}

static void spread_rows(const takt_blocks *b, const uint32_t *w, size_t k, __m512i minus,
                        int8_t *to)
{
    if (b->bits == 2)
        spread_bits(w, k, minus, to, 2);
    else if (b->bits == 4)
        spread_bits(w, k, minus, to, 4);
    else
        spread_bits(w, k, minus, to, 8);
}

/* Bytes of blocks [from, to) of a panel, whose zero points are of one block each. */
static void spread_blocks(const takt_blocks *b, const tiling *o, const uint32_t *w, size_t at,
                          size_t k, int8_t *to)
{
    for (size_t i = 0; i < k; i += o->block, at += TAKT_BLOCKS_PANEL)
        spread_rows(b, w + takt_blocks_words(b->bits, i), least(k - i, o->block),
                    vi_mul(vi_load_u8(b->zero + at), vi_set1(0x01010101)),
                    to + i * TAKT_BLOCKS_PANEL);
}

/* Zero points of 8 bits, less 128. */
static void spread_zeros(const takt_blocks *b, size_t at, size_t blocks, piece *out)
{
    for (size_t i = 0; i < blocks; i++) {
        const vi zero =
            b->zero ? vi_load_u8(b->zero + at + i * TAKT_BLOCKS_PANEL) : vi_set1(b->level);
        vi_store(out->zero[i], vi_sub(zero, vi_set1(128)));
    }
}

/* Blocks [from, to) of a panel. */
static void spread(const takt_blocks *b, const tiling *o, size_t panel, size_t from, size_t to,
                   piece *out)
{
    const size_t deep = takt_blocks_deep(b->k), first = from * o->block, blocks = to - from;
    const size_t k = least(deep - first, blocks * o->block);
    const size_t at = (panel * takt_blocks_count(b) + from) * TAKT_BLOCKS_PANEL;
    const uint32_t *w =
        b->words + panel * takt_blocks_words(b->bits, deep) + takt_blocks_words(b->bits, first);
    if (b->bits < 8 && b->zero)
        spread_blocks(b, o, w, at, k, out->bytes);
    else
        spread_rows(b, w, k, _mm512_set1_epi8((char)(b->bits == 8 ? 128 : b->level)), out->bytes);
    if (k < blocks * o->block)
        memset(out->bytes + k * TAKT_BLOCKS_PANEL, 0, (blocks * o->block - k) * TAKT_BLOCKS_PANEL);
    if (b->bits == 8)
        spread_zeros(b, at, blocks, out);
    for (size_t i = 0; i < blocks * TAKT_BLOCKS_PANEL; i += TAKT_BLOCKS_PANEL)
        vf_store(out->scale[0] + i, b->scale_is_f16
                                        ? vf_load_f16((const uint16_t *)b->scale + at + i)
                                        : vf_load((const float *)b->scale + at + i));
}

/* ---- the next piece, prefetched from memory while this one is processed ---- */

typedef struct follower {
    const char *words, *words_end, *scale, *scale_end;
    size_t word_bytes, scale_bytes; /* of a block */
} follower;

/* Of up to `blocks` blocks, from number `at` of all panels on: they follow each other. */
static follower follower_of(const takt_blocks *b, const tiling *o, size_t at, size_t blocks)
{
    const size_t count = takt_blocks_count(b), panels = takt_blocks_panels(b->n);
    const size_t deep = takt_blocks_deep(b->k), each = TAKT_BLOCKS_PANEL * b->bits / 8;
    const size_t first = at / count * deep + at % count * o->block;
    follower f = {.word_bytes = o->block * each,
                  .scale_bytes = TAKT_BLOCKS_PANEL * (b->scale_is_f16 ? 2 : 4)};
    f.words = (const char *)b->words + first * each;
    f.words_end = f.words + least(blocks * o->block, panels * deep - first) * each;
    f.scale = (const char *)b->scale + at * f.scale_bytes;
    f.scale_end = f.scale + least(blocks, panels * count - at) * f.scale_bytes;
    return f;
}

/* One block of it, into L2. */
FIXED void ask_for(follower *f)
{
    const size_t bytes = least(f->word_bytes, (size_t)(f->words_end - f->words));
    for (size_t i = 0; i < bytes; i += 64)
        _mm_prefetch(f->words + i, _MM_HINT_T1);
    f->words += bytes;
    if (f->scale < f->scale_end) {
        _mm_prefetch(f->scale, _MM_HINT_T1);
        f->scale += f->scale_bytes;
    }
}
