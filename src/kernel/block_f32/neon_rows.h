/* neon_rows.h - one or four rows by levels that are floats in place (blocks/neon_small.h). */

/* Written out, since gcc 12 copies and spills what these keep.
 *
 * SMALL_WORDS loads a vector of words and has each of its bytes at bits 16 to 23 of a register. ADD
 * and SUBTRACT make a weight of each; HALF is four rows of the weights, whose levels lie at the
 * same place, by four values of A. */
/* clang-format off */
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
/* clang-format on */

FIXED void small_rows(stretch_job *t, const small_parameters *o, vf (*acc)[WIDTH], const shape f)
{
    const uint32_t(*mask)[4] = small_masks(f.bits), *w = t->w[0];
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
    t->w[0] = w;
}

/* The rows of A in this chunk, scaled up by what the scales lack; false if one is too large. */
static bool lift_rows(const panel_job *p, lifted_rows *o, size_t rows)
{
    uint32x4_t most = vdupq_n_u32(0);
    const size_t count = (o->end - o->first) / 4 * 4; /* the rest is not a whole group */
    for (size_t r = 0; r < rows; r++) {
        const float *from = p->g->a + (p->row + r) * p->g->a_row + o->first;
        for (size_t k = 0; k < count; k += 4) {
            const vf x = vf_load(from + k);
            most = vmaxq_u32(most, vreinterpretq_u32_f32(vabsq_f32(x)));
            vf_store(o->a[r] + k, vf_mul(x, vf_set1(SMALL_UP)));
        }
    }
    return vmaxvq_u32(most) < (255U - SMALL_SHORT) << 23;
}

/* All whole groups of 16 rows, if possible. Where weights come out scaled down, A is scaled up
 * instead, once per chunk: the products are the same. */
FIXED void small_stretch(const panel_job *p, stretch_job *t, lifted_rows *o, vf (*acc)[WIDTH],
                         const shape f)
{
    const takt_blocks *b = &p->g->b;
    const size_t at = (p->panel * p->blocks + t->block) * TAKT_BLOCKS_PANEL;
    small_parameters s;
    if (f.subtracts || !p->ways.is_small)
        return;
    shape add = f;
    add.adds = true;
    const bool adds = p->ways.adds && small_open_any(b, at, &o->lift, &s, f.bits, true);
    if (!adds && !small_open_any(b, at, &o->lift, &s, f.bits, false))
        return;
    stretch_job small = *t;
    size_t first = 0;
    if (o->lift != SMALL_LIFT) {
        if (o->state == UNKNOWN)
            o->state = lift_rows(p, o, f.rows) ? LIFTED : TOO_LARGE;
        if (o->state == TOO_LARGE) {
            o->lift = SMALL_LIFT;
            return;
        }
        first = o->first;
        UNROLL for (size_t r = 0; r < f.rows; r++) small.from[r] = o->a[r];
        small.k -= first;
        small.end -= first;
    }
    if (adds)
        small_rows(&small, &s, acc, add);
    else
        small_rows(&small, &s, acc, f);
    t->k = small.k + first;
    t->w[0] = small.w[0];
}
