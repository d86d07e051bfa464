/* neon_small.h - levels as the smallest floats: one operation makes a float of a level.
 *
 * The bits of a float, as a whole number below 2^24, are that many times 2^-149, subnormal or not.
 * A level among the bits 16 to 23 so is a float as it lies there, level * 2^(place - 149), and no
 * exponent has to be put in and taken away again. What was
 *
 *     tbl, orr, fsub, fmul    is    and, fsub, fmul    with a scale of 2^(149 - place) times as
 * much or                            and, fmla          where zero * scale is exact
 *
 * and a shift for each byte of the words, with the same bits, since only the last rounding is one.
 * (fmla gives +0 where fmul gave a zero with the sign of the scale: scales are above zero here.)
 * Arm's cores take subnormal floats at full speed, which x86-64's do not, unless the program has
 * them flushed to zero.
 */

/* In memory: a product of two vectors that were computed has half the rate on a Neoverse V1. */
typedef struct small_parameters {
    float scale[4][TAKT_BLOCKS_PANEL]; /* [j]: of levels at bit 16 + bits * j */
    float zero[4][TAKT_BLOCKS_PANEL];  /* as such levels; or -zero * scale, to which is added */
} small_parameters;

static void small_check(panel_job *t)
{
    const takt_blocks *b = &t->g->b;
    const volatile float least = 0x1p-149F;
    t->is_small = least * 0x1p127F == 0x1p-22F; /* subnormal floats are not flushed to zero */
    t->adds = !b->zero && (b->level & (b->level - 1)) == 0; /* zero * scale is exact */
}

/* False if a scale is zero or subnormal or too large for its factor, or negative and added to. */
FIXED bool small_open(const takt_blocks *b, size_t at, small_parameters *s, const shape f)
{
    const uint32_t least = 0x00800000, end = 0x3d000000; /* 2^-126, 2^-5 */
    uint32x4_t fits = vdupq_n_u32(~0U);
    vf scale[VECTORS];
    UNROLL for (size_t v = 0; v < VECTORS; v++) scale[v] =
        b->scale_is_f16 ? vf_load_f16((const uint16_t *)b->scale + at + v * VF)
                        : vf_load((const float *)b->scale + at + v * VF);
    UNROLL for (size_t v = 0; v < VECTORS; v++)
    {
        const uint32x4_t bits = vreinterpretq_u32_f32(scale[v]);
        const vf level =
            f.adds || !b->zero ? vf_set1(b->level) : vf_from_vi(vi_load_u8(b->zero + at + v * VF));
        const uint32x4_t size = f.adds ? bits : vbicq_u32(bits, vdupq_n_u32(0x80000000));
        fits = vandq_u32(fits,
                         vcltq_u32(vsubq_u32(size, vdupq_n_u32(least)), vdupq_n_u32(end - least)));
        UNROLL for (unsigned j = 0; j < 8 / f.bits; j++)
        {
            const uint32x4_t up = vaddq_u32(bits, vdupq_n_u32((133 - f.bits * j) << 23));
            const vf unit = vf_set1(0x1p-133F * (float)(1U << f.bits * j));
            vf_store(s->scale[j] + v * VF, vreinterpretq_f32_u32(up));
            if (!f.adds)
                vf_store(s->zero[j] + v * VF, vf_mul(level, unit));
        }
        if (f.adds)
            vf_store(s->zero[0] + v * VF, vf_mul(vnegq_f32(level), scale[v]));
    }
    return vminvq_u32(fits) != 0;
}

/* Written out, since gcc 12 copies and spills what these keep.
 *
 * SMALL_WORDS loads a vector of words and has each of its bytes at bits 16 to 23 of a register. ADD
 * and SUBTRACT make a weight of each; HALF is four rows of the weights, whose levels lie at the
 * same place, by four values of A. */
/* clang-format off */
#define SMALL_WORDS(at, a, b, c, d)                                                                \
    "ldr q" c ", [%[w], #" at "]\n\tshl v" a ".4s, v" c ".4s, #16\n\t"                             \
    "shl v" b ".4s, v" c ".4s, #8\n\tushr v" d ".4s, v" c ".4s, #8\n\t"

/* Two vectors from byte v of the panel on: levels in registers 24 and 25, scales in 12 and 13. */
#define SMALL_ADD_OPEN_2(j, v)
#define SMALL_ADD_2(v)                                                                             \
    "ldp q28, q29, [%[o], #256+" v "]\n\t"                                                         \
    "fmla v28.4s, v24.4s, v12.4s\n\tfmla v29.4s, v25.4s, v13.4s\n\t"
#define SMALL_SUBTRACT_OPEN_2(j, v) "ldp q10, q11, [%[o], #256+64*" j "+" v "]\n\t"
#define SMALL_SUBTRACT_2(v)                                                                        \
    "fsub v28.4s, v24.4s, v10.4s\n\tfsub v29.4s, v25.4s, v11.4s\n\t"                               \
    "fmul v28.4s, v28.4s, v12.4s\n\tfmul v29.4s, v29.4s, v13.4s\n\t"
#define SMALL_LANE_2(make, v, i, p, q, c, d)                                                       \
    "and v24.16b, v" p ".16b, v14.16b\n\tand v25.16b, v" q ".16b, v14.16b\n\t" make##_2(v)         \
    "fmla %[" c "].4s, v28.4s, v15.s[" i "]\n\tfmla %[" d "].4s, v29.4s, v15.s[" i "]\n\t"
#define SMALL_PART_2(make, j, v, c, d)                                                             \
    "ldp q12, q13, [%[o], #64*" j "+" v "]\n\t" make##_OPEN_2(j, v)                                \
    "ldr q14, [%[m], #16*" j "]\n\tldr q15, [%[a], #16*" j "]\n\t"                                 \
    SMALL_LANE_2(make, v, "0", "16", "20", c, d) SMALL_LANE_2(make, v, "1", "17", "21", c, d)      \
    SMALL_LANE_2(make, v, "2", "18", "22", c, d) SMALL_LANE_2(make, v, "3", "19", "23", c, d)
#define SMALL_PARTS_8_2(make, v, c, d) SMALL_PART_2(make, "0", v, c, d)
#define SMALL_PARTS_4_2(make, v, c, d)                                                             \
    SMALL_PARTS_8_2(make, v, c, d) SMALL_PART_2(make, "1", v, c, d)
#define SMALL_PARTS_2_2(make, v, c, d)                                                             \
    SMALL_PARTS_4_2(make, v, c, d) SMALL_PART_2(make, "2", v, c, d)                                \
    SMALL_PART_2(make, "3", v, c, d)
#define SMALL_2(bits, make, v, c, d)                                                               \
    SMALL_WORDS(v, "16", "17", "18", "19") SMALL_WORDS("16+" v, "20", "21", "22", "23")            \
    SMALL_PARTS_##bits##_2(make, v, c, d)
#define SMALL_ONE(bits, make)                                                                      \
    __asm__(SMALL_2(bits, make, "0", "c0", "c1") SMALL_2(bits, make, "32", "c2", "c3")             \
            : [c0] "+w"(sums[0]), [c1] "+w"(sums[1]), [c2] "+w"(sums[2]), [c3] "+w"(sums[3])       \
            : [w] "r"(w), [a] "r"(a), [m] "r"(mask), [o] "r"(o), "m"(*o),                          \
              "m"(*(const uint32_t (*)[16])w), "m"(*(const float (*)[32 / bits])a)                 \
            : "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",  \
              "v22", "v23", "v24", "v25", "v28", "v29")

/* One vector of four rows. */
#define SMALL_ADD_OPEN_1(j)
#define SMALL_ADD_1 "ldr q30, [%[o], #256]\n\tfmla v30.4s, v28.4s, v26.4s\n\t"
#define SMALL_SUBTRACT_OPEN_1(j) "ldr q29, [%[o], #256+64*" j "]\n\t"
#define SMALL_SUBTRACT_1                                                                           \
    "fsub v30.4s, v28.4s, v29.4s\n\tfmul v30.4s, v30.4s, v26.4s\n\t"
#define SMALL_LANE_1(make, i, p)                                                                   \
    "and v28.16b, v" p ".16b, v27.16b\n\t" make##_1                                                \
    "fmla %[c0].4s, v30.4s, v20.s[" i "]\n\tfmla %[c1].4s, v30.4s, v21.s[" i "]\n\t"               \
    "fmla %[c2].4s, v30.4s, v22.s[" i "]\n\tfmla %[c3].4s, v30.4s, v23.s[" i "]\n\t"
#define SMALL_PART_1(make, j)                                                                      \
    "ldr q26, [%[o], #64*" j "]\n\tldr q27, [%[m], #16*" j "]\n\t" make##_OPEN_1(j)                \
    "ldr q20, [%[a], #16*" j "]\n\tldr q21, [%[b], #16*" j "]\n\t"                                 \
    "ldr q22, [%[d], #16*" j "]\n\tldr q23, [%[e], #16*" j "]\n\t"                                 \
    SMALL_LANE_1(make, "0", "16") SMALL_LANE_1(make, "1", "17")                                    \
    SMALL_LANE_1(make, "2", "18") SMALL_LANE_1(make, "3", "19")
#define SMALL_PARTS_8_1(make) SMALL_PART_1(make, "0")
#define SMALL_PARTS_4_1(make) SMALL_PARTS_8_1(make) SMALL_PART_1(make, "1")
#define SMALL_PARTS_2_1(make)                                                                      \
    SMALL_PARTS_4_1(make) SMALL_PART_1(make, "2") SMALL_PART_1(make, "3")
#define SMALL_FOUR(bits, make)                                                                     \
    __asm__(SMALL_WORDS("0", "16", "17", "18", "19") SMALL_PARTS_##bits##_1(make)                  \
            : [c0] "+w"(acc[0][v]), [c1] "+w"(acc[1][v]), [c2] "+w"(acc[2][v]),                    \
              [c3] "+w"(acc[3][v])                                                                 \
            : [w] "r"(w + v * VF), [a] "r"(t->from[0] + k), [b] "r"(t->from[1] + k),               \
              [d] "r"(t->from[2] + k), [e] "r"(t->from[3] + k), [m] "r"(mask),                     \
              [o] "r"(&o->scale[0][v * VF])                                                        \
            : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v26", "v27", "v28", "v29",  \
              "v30", "memory")
#define SMALL_WAYS(rows)                                                                           \
    do {                                                                                           \
        if (f.bits == 2 && f.adds)                                                                 \
            rows(2, SMALL_ADD);                                                                    \
        else if (f.bits == 2)                                                                      \
            rows(2, SMALL_SUBTRACT);                                                               \
        else if (f.bits == 4 && f.adds)                                                            \
            rows(4, SMALL_ADD);                                                                    \
        else if (f.bits == 4)                                                                      \
            rows(4, SMALL_SUBTRACT);                                                               \
        else if (f.adds)                                                                           \
            rows(8, SMALL_ADD);                                                                    \
        else                                                                                       \
            rows(8, SMALL_SUBTRACT);                                                               \
    } while (0)
#define SMALL_MASK(x) {(x) << 16, (x) << 16, (x) << 16, (x) << 16}
/* clang-format on */

FIXED void small_rows(stretch_job *t, const small_parameters *o, vf (*acc)[VECTORS], const shape f)
{
    static const uint32_t masks[3][4][4] = {
        {SMALL_MASK(0x03U), SMALL_MASK(0x0cU), SMALL_MASK(0x30U), SMALL_MASK(0xc0U)},
        {SMALL_MASK(0x0fU), SMALL_MASK(0xf0U)},
        {SMALL_MASK(0xffU)},
    };
    const uint32_t(*mask)[4] = masks[f.bits / 4], *w = t->w;
    const size_t end = t->end - t->end % TAKT_BLOCKS_STEP;
    for (size_t k = t->k; k < end; k += 32 / f.bits, w += TAKT_BLOCKS_PANEL)
        if (f.rows == 1) {
            vf *sums = acc[0];
            const float *a = t->from[0] + k;
            SMALL_WAYS(SMALL_ONE);
        } else {
            UNROLL for (size_t v = 0; v < VECTORS; v++) SMALL_WAYS(SMALL_FOUR);
        }
    t->k = end;
    t->w = w;
}

/* All whole groups of 16 rows, if it can. */
FIXED void small_stretch(const panel_job *p, stretch_job *t, vf (*acc)[VECTORS], const shape f)
{
    const takt_blocks *b = &p->g->b;
    const size_t at = (p->panel * p->blocks + t->block) * TAKT_BLOCKS_PANEL;
    small_parameters s;
    if (f.is_float || !p->is_small)
        return;
    const shape add = {f.rows, f.bits, false, true};
    if (p->adds && small_open(b, at, &s, add))
        small_rows(t, &s, acc, add);
    else if (small_open(b, at, &s, f))
        small_rows(t, &s, acc, f);
}
