/* neon_fill.h - sixteen columns by sixteen k of levels that are floats in place
 * (blocks/neon_small.h), whole rows at a time, so that lines are written from end to end. */

/* Written out, since gcc 12 copies and spills what these keep: bytes of four vectors of words in
 * registers 0 to 15, scales in 16 to 19, the mask in 20; weights end up in 21 to 24. */
/* clang-format off */
#define FILL_AND(t, a) "and v" t ".16b, v" a ".16b, v20.16b\n\t"
#define FILL_ADD_OPEN(j)
#define FILL_ADD(a, b, c, d)                                                                       \
    FILL_AND("25", a) FILL_AND("26", b) FILL_AND("27", c) FILL_AND("28", d)                        \
    "ldp q21, q22, [%[o], #256]\n\tldp q23, q24, [%[o], #288]\n\t"                                 \
    "fmla v21.4s, v25.4s, v16.4s\n\tfmla v22.4s, v26.4s, v17.4s\n\t"                               \
    "fmla v23.4s, v27.4s, v18.4s\n\tfmla v24.4s, v28.4s, v19.4s\n\t"
#define FILL_SUBTRACT_OPEN(j)                                                                      \
    "ldp q25, q26, [%[o], #256+64*" j "]\n\tldp q27, q28, [%[o], #288+64*" j "]\n\t"
#define FILL_SUBTRACT(a, b, c, d)                                                                  \
    FILL_AND("21", a) FILL_AND("22", b) FILL_AND("23", c) FILL_AND("24", d)                        \
    "fsub v21.4s, v21.4s, v25.4s\n\tfsub v22.4s, v22.4s, v26.4s\n\t"                               \
    "fsub v23.4s, v23.4s, v27.4s\n\tfsub v24.4s, v24.4s, v28.4s\n\t"                               \
    "fmul v21.4s, v21.4s, v16.4s\n\tfmul v22.4s, v22.4s, v17.4s\n\t"                               \
    "fmul v23.4s, v23.4s, v18.4s\n\tfmul v24.4s, v24.4s, v19.4s\n\t"
/* Weights that come out scaled down are multiplied again, by register 29. */
#define FILL_WHOLE_OPEN
#define FILL_WHOLE
#define FILL_SHORT_OPEN "ld1r {v29.4s}, [%[l]]\n\t"
#define FILL_SHORT                                                                                 \
    "fmul v21.4s, v21.4s, v29.4s\n\tfmul v22.4s, v22.4s, v29.4s\n\t"                               \
    "fmul v23.4s, v23.4s, v29.4s\n\tfmul v24.4s, v24.4s, v29.4s\n\t"
#define FILL_ROW(make, size, a, b, c, d)                                                           \
    make(a, b, c, d) size                                                                          \
    "st1 {v21.4s}, [%[p]], %[x]\n\tst1 {v22.4s}, [%[q]], %[y]\n\t"                                 \
    "st1 {v23.4s}, [%[r]], %[z]\n\tst1 {v24.4s}, [%[s]], %[u]\n\t"
#define FILL_PART(make, size, j)                                                                   \
    "ldp q16, q17, [%[o], #64*" j "]\n\tldp q18, q19, [%[o], #32+64*" j "]\n\t"                    \
    "ldr q20, [%[m], #16*" j "]\n\t" make##_OPEN(j)                                                \
    FILL_ROW(make, size, "0", "4", "8", "12") FILL_ROW(make, size, "1", "5", "9", "13")            \
    FILL_ROW(make, size, "2", "6", "10", "14") FILL_ROW(make, size, "3", "7", "11", "15")
#define FILL_PARTS_8(make, size) FILL_PART(make, size, "0")
#define FILL_PARTS_4(make, size) FILL_PARTS_8(make, size) FILL_PART(make, size, "1")
#define FILL_PARTS_2(make, size)                                                                   \
    FILL_PARTS_4(make, size) FILL_PART(make, size, "2") FILL_PART(make, size, "3")
#define FILL_WORDS(bits, make, size)                                                               \
    __asm__ volatile(size##_OPEN                                                                   \
        SMALL_WORDS("0", "0", "1", "2", "3") SMALL_WORDS("16", "4", "5", "6", "7")                 \
        SMALL_WORDS("32", "8", "9", "10", "11") SMALL_WORDS("48", "12", "13", "14", "15")          \
        FILL_PARTS_##bits(make, size)                                                              \
        : [p] "+r"(at.at[0]), [q] "+r"(at.at[1]), [r] "+r"(at.at[2]), [s] "+r"(at.at[3])           \
        : [x] "r"(4 * at.width[0]), [y] "r"(4 * at.width[1]), [z] "r"(4 * at.width[2]),            \
          [u] "r"(4 * at.width[3]), [w] "r"(w), [m] "r"(mask), [o] "r"(&f->small), [l] "r"(&up)    \
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",  \
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",      \
          "v26", "v27", "v28", "v29", "memory")
#define FILL_WAYS(bits)                                                                            \
    do {                                                                                           \
        if (f->adds && !is_short)                                                               \
            FILL_WORDS(bits, FILL_ADD, FILL_WHOLE);                                                \
        else if (f->adds)                                                                          \
            FILL_WORDS(bits, FILL_ADD, FILL_SHORT);                                                \
        else if (!is_short)                                                                     \
            FILL_WORDS(bits, FILL_SUBTRACT, FILL_WHOLE);                                           \
        else                                                                                       \
            FILL_WORDS(bits, FILL_SUBTRACT, FILL_SHORT);                                           \
    } while (0)
/* clang-format on */

/* How the open block is filled. */
typedef struct filling {
    const takt_blocks *b;
    size_t count; /* blocks of a column */
    small_ways ways;
    bool is_small, adds;
    unsigned lift; /* of the last block that was small */
    block_parameters o;
    small_parameters small;
} filling;

static void filling_init(filling *f, const takt_blocks *b)
{
    f->b = b;
    f->count = takt_blocks_count(b);
    f->ways = small_find(b);
    f->lift = SMALL_LIFT;
}

#define FILL_OPEN(bits)                                                                            \
    f->adds = f->ways.adds && small_open_any(f->b, at, &f->lift, &f->small, bits, true);           \
    f->is_small = f->adds || small_open_any(f->b, at, &f->lift, &f->small, bits, false)

static void filling_open(filling *f, size_t panel, size_t block)
{
    const size_t at = (panel * f->count + block) * TAKT_BLOCKS_PANEL;
    f->is_small = false;
    if (block == 0)
        f->lift = SMALL_LIFT;
    if (f->ways.is_small && !f->b->zero_f32) {
        if (f->b->bits == 2) {
            FILL_OPEN(2);
        } else if (f->b->bits == 4) {
            FILL_OPEN(4);
        } else {
            FILL_OPEN(8);
        }
    }
    if (!f->is_small)
        block_open(f->b, panel, block, &f->o);
}

FIXED void small_fill(const filling *f, const uint32_t *w, const places *to, const unsigned bits)
{
    static const float up = SMALL_UP;
    const uint32_t(*mask)[4] = small_masks(bits);
    const bool is_short = f->lift != SMALL_LIFT;
    places at = *to;
    for (unsigned k = 0; k < 16; k += 32 / bits, w += TAKT_BLOCKS_PANEL)
        if (bits == 2)
            FILL_WAYS(2);
        else if (bits == 4)
            FILL_WAYS(4);
        else
            FILL_WAYS(8);
}

static void filling_fill(const filling *f, const uint32_t *w, const places *to)
{
    static fill_fn *const fns[3] = {fill_2, fill_4, fill_8};
    const unsigned bits = f->b->bits;
    if (!f->is_small)
        fns[bits / 4](w, &f->o, to, f->b->zero_f32 != NULL);
    else if (bits == 4)
        small_fill(f, w, to, 4);
    else if (bits == 2)
        small_fill(f, w, to, 2);
    else
        small_fill(f, w, to, 8);
}
