/* spread.h - a piece of a panel as bytes, in the order of smmla. A part of block_i8_i8mm.c. */
enum {
    PAIRS = 3,
    STRIP_ROWS = 2 * PAIRS,
    PIECE = 1024,
    HALF = 4,
    PIECE_BLOCKS = PIECE / TAKT_BLOCKS_STEP
};

/* What a strip of rows has in scratch, one block after the other. */
typedef struct strip {
    const int8_t *q;    /* [deep / 8][pairs][16] */
    const float *dx;    /* [blocks][pairs][x0 x0 x1 x1] */
    const int32_t *sum; /* the same; less their zero points, if that is one for all */
    size_t pairs;
} strip;

/* A piece of a panel. */
typedef struct piece {
    int8_t bytes[PIECE * 16];
    float scale[PIECE_BLOCKS][8][4];
    int32_t zero[PIECE_BLOCKS][8][4];
} piece;

/* Small sums and one zero point for all, which is known with the sums of A. */
static bool is_plain(const takt_blocks *b)
{
    return is_small(b) && !b->zero;
}

FIXED void spread_bits(const uint32_t *w, size_t k, int8_t *to, const unsigned bits)
{
    /* Sixteen k: sixteen vectors of two columns by eight k. */
    for (size_t i = 0; i < k; i += 16, w += bits / 2 * 16, to += 256) {
        UNROLL for (size_t c = 0; c < 4; c++)
        {
            int32x4_t x[4];
            UNROLL for (unsigned j = 0; j < 4; j++)
            {
                const uint32_t *at = w + j / (8 / bits) * 16 + 4 * c;
                x[j] = levels(vreinterpretq_s32_u32(vld1q_u32(at)), bits, j % (8 / bits));
            }
            UNROLL for (size_t h = 0; h < 2; h++)
            {
                int8_t *out = to + 128 * h + 32 * c;
                vst1q_s8(out, vreinterpretq_s8_s32(vzip1q_s32(x[2 * h], x[2 * h + 1])));
                vst1q_s8(out + 16, vreinterpretq_s8_s32(vzip2q_s32(x[2 * h], x[2 * h + 1])));
            }
        }
    }
}

/* Parameters of four columns as two pairs want them. */
FIXED void spread_four(int32x4_t x, void *to)
{
    const int64x2_t wide = vreinterpretq_s64_s32(x);
    vst1q_s64(to, vdupq_laneq_s64(wide, 0));
    vst1q_s64((int64_t *)to + 2, vdupq_laneq_s64(wide, 1));
}

/* Of `count` times four columns, from number `at` on. */
static void spread_scales(const takt_blocks *b, size_t at, size_t count, piece *to)
{
    const float *wide = (const float *)b->scale + at;
    const uint16_t *narrow = (const uint16_t *)b->scale + at;
    float(*out)[4] = to->scale[0];
    for (size_t i = 0; b->scale_is_f16 && i < count; i++)
        spread_four(vreinterpretq_s32_f32(vf_load_f16(narrow + 4 * i)), out[2 * i]);
    for (size_t i = 0; !b->scale_is_f16 && i < count; i++)
        spread_four(vreinterpretq_s32_f32(vf_load(wide + 4 * i)), out[2 * i]);
}

static void spread_zeros(const takt_blocks *b, size_t at, size_t count, piece *to)
{
    const int32x4_t shift = vdupq_n_s32(LEVEL_SHIFT(b->bits)), level = vdupq_n_s32(b->level);
    int32_t(*out)[4] = to->zero[0];
    for (size_t i = 0; i < count; i++) {
        const int32x4_t zero = b->zero ? vi_load_u8(b->zero + at + 4 * i) : level;
        spread_four(vsubq_s32(zero, shift), out[2 * i]);
    }
}

static void spread(const takt_blocks *b, size_t panel, size_t from, size_t blocks, piece *to)
{
    const size_t deep = takt_blocks_deep(b->k), k = from * b->block;
    const size_t steps = least(k + blocks * b->block, deep) - k;
    const uint32_t *w =
        b->words + panel * takt_blocks_words(b->bits, deep) + takt_blocks_words(b->bits, k);
    const size_t at = (panel * takt_blocks_count(b) + from) * TAKT_BLOCKS_PANEL;
    if (b->bits == 2)
        spread_bits(w, steps, to->bytes, 2);
    else if (b->bits == 4)
        spread_bits(w, steps, to->bytes, 4);
    else
        spread_bits(w, steps, to->bytes, 8);
    spread_scales(b, at, blocks * 4, to);
    if (!is_plain(b))
        spread_zeros(b, at, blocks * 4, to);
}

/* ---- the next piece, prefetched from memory while this one is processed ---- */

typedef struct follower {
    const char *words, *scale;
    size_t word_lines, scale_lines;
} follower;

/* Of `blocks` blocks, from number `at` of all panels on. */
static follower follower_of(const takt_blocks *b, size_t at, size_t blocks)
{
    const size_t count = takt_blocks_count(b), panel = at / count, size = b->scale_is_f16 ? 2 : 4;
    const size_t deep = panel * takt_blocks_deep(b->k) + at % count * b->block;
    return (follower){
        .words = (const char *)(b->words + takt_blocks_words(b->bits, deep)),
        .scale = (const char *)b->scale + at * TAKT_BLOCKS_PANEL * size,
        .word_lines = (takt_blocks_words(b->bits, blocks * b->block) * sizeof *b->words + 63) / 64,
        .scale_lines = (blocks * TAKT_BLOCKS_PANEL * size + 63) / 64};
}

/* Into L2; in assembly, because gcc 12 removes calls of functions that only prefetch. */
static void ask_lines(const char *at, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        __asm__ volatile("prfm pldl2keep, [%0]" ::"r"(at + 64 * i));
}

static void ask_for(const follower *f, size_t part, size_t parts)
{
    ask_lines(f->words, f->word_lines * part / parts, f->word_lines * (part + 1) / parts);
    ask_lines(f->scale, f->scale_lines * part / parts, f->scale_lines * (part + 1) / parts);
}
