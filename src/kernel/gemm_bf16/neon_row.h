/* neon_row.h - one row by bfmmla, four distant panels alternately: one stream of reads leaves a
 * third of the memory's bandwidth unused.
 *
 * A part of gemm_bf16_bf16.c. v0-v3 are A, the row twice, v4-v7 pass B through, v8-v31 are the sums
 * of four times 12 columns, each twice.
 */
typedef struct row_job {
    const uint16_t *a, *b;
    size_t b_step; /* elements from one panel to the next */
    size_t steps;  /* groups of k */
    float *c;
    size_t c_step;
    bool adds;
} row_job;

/* A group of stream i by A in v#a, into six sums. */
#define GROUP_OF(i, a, p, q, r, s, t, u)                                                           \
    "ldp q4, q5, [%[b" #i "]], #96\n\tldp q6, q7, [%[b" #i "], #-64]\n\t" MM(p, a, 4) MM(q, a, 5)  \
        MM(r, a, 6) MM(s, a, 7) "ldp q4, q5, [%[b" #i "], #-32]\n\t" MM(t, a, 4) MM(u, a, 5)
#define FOUR_OF(i, p, q, r, s, t, u)                                                               \
    GROUP_OF(i, 0, p, q, r, s, t, u)                                                               \
    GROUP_OF(i, 1, p, q, r, s, t, u)                                                               \
    GROUP_OF(i, 2, p, q, r, s, t, u) GROUP_OF(i, 3, p, q, r, s, t, u)
#define ONE_OF(i, p, q, r, s, t, u) GROUP_OF(i, 0, p, q, r, s, t, u)
#define STREAMS(X)                                                                                 \
    X(0, 8, 9, 10, 11, 12, 13)                                                                     \
    X(1, 14, 15, 16, 17, 18, 19)                                                                   \
    X(2, 20, 21, 22, 23, 24, 25) X(3, 26, 27, 28, 29, 30, 31)
#define LOWER(x, y) "zip1 v" #x ".2d, v" #x ".2d, v" #y ".2d\n\t"
#define ROW_OF(i, p, q, r, s, t, u)                                                                \
    LOWER(p, q)                                                                                    \
    LOWER(r, s)                                                                                    \
    LOWER(t, u)                                                                                    \
    "cbz %[adds], 5f\n\t" SUM_6(p, r, t, 0, 1, 2) "5:\n\tstp q" #p ", q" #r ", [%[c]]\n\tstr q" #t \
                                                  ", [%[c], #32]\n\tadd %[c], %[c], %[next]\n\t"

static void four_panels(const row_job *r)
{
    const uint16_t *a = r->a, *b0 = r->b, *b1 = b0 + r->b_step, *b2 = b1 + r->b_step,
                   *b3 = b2 + r->b_step;
    size_t fours = r->steps / 4, rest = r->steps % 4;
    float *c = r->c;
    /* clang-format off */
    __asm__ volatile(PAIRS_4(ZERO)
        "cbz %[fours], 2f\n"
        "1:\n\tldp q0, q1, [%[a]], #64\n\tldp q2, q3, [%[a], #-32]\n\t"
        STREAMS(FOUR_OF) "subs %[fours], %[fours], #1\n\tbne 1b\n"
        "2:\n\tcbz %[rest], 4f\n"
        "3:\n\tldr q0, [%[a]], #16\n\t" STREAMS(ONE_OF) "subs %[rest], %[rest], #1\n\tbne 3b\n"
        "4:\n\t" STREAMS(ROW_OF)
        : [a] "+r"(a), [b0] "+r"(b0), [b1] "+r"(b1), [b2] "+r"(b2), [b3] "+r"(b3), [c] "+r"(c),
          [fours] "+r"(fours), [rest] "+r"(rest)
        : [adds] "r"((size_t)r->adds), [next] "r"(r->c_step * sizeof *c)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    /* clang-format on */
}

/* Two neighbours of 8 columns, the last of a matrix: a single one stalls on its four sums. */
#define NARROW_OF(i, a, p, q, r, s)                                                                \
    "ldp q4, q5, [%[b" #i "]], #64\n\tldp q6, q7, [%[b" #i "], #-32]\n\t" MM(p, a, 4) MM(q, a, 5)  \
        MM(r, a, 6) MM(s, a, 7)
#define BOTH(a) NARROW_OF(0, a, 8, 9, 10, 11) NARROW_OF(1, a, 14, 15, 16, 17)
#define NARROW_ROW_OF(p, q, r, s)                                                                  \
    LOWER(p, q)                                                                                    \
    LOWER(r, s)                                                                                    \
    "cbz %[adds], 5f\n\tldp q4, q5, [%[c]]\n\t" AD(p, 4) AD(r, 5) "5:\n\tstp q" #p ", q" #r        \
                                                                  ", [%[c]], #32\n\t"

static void two_narrow(const row_job *r)
{
    const uint16_t *a = r->a, *b0 = r->b, *b1 = b0 + r->b_step;
    size_t fours = r->steps / 4, rest = r->steps % 4;
    float *c = r->c;
    /* clang-format off */
    __asm__ volatile(Z(8) Z(9) Z(10) Z(11) Z(14) Z(15) Z(16) Z(17)
        "cbz %[fours], 2f\n"
        "1:\n\tldp q0, q1, [%[a]], #64\n\tldp q2, q3, [%[a], #-32]\n\t"
        BOTH(0) BOTH(1) BOTH(2) BOTH(3) "subs %[fours], %[fours], #1\n\tbne 1b\n"
        "2:\n\tcbz %[rest], 4f\n"
        "3:\n\tldr q0, [%[a]], #16\n\t" BOTH(0) "subs %[rest], %[rest], #1\n\tbne 3b\n"
        "4:\n\t" NARROW_ROW_OF(8, 9, 10, 11) NARROW_ROW_OF(14, 15, 16, 17)
        : [a] "+r"(a), [b0] "+r"(b0), [b1] "+r"(b1), [c] "+r"(c), [fours] "+r"(fours),
          [rest] "+r"(rest)
        : [adds] "r"((size_t)r->adds)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v14", "v15",
          "v16", "v17", "cc", "memory");
    /* clang-format on */
}

/* Whole panels of one chunk: wide ones four at a time, and the last two if they are narrow. The
 * tiles compute the columns in between: `*count` columns from `*first` on. */
static void row_of_panels(const takt_gemm_f32 *g, const block *o, const uint16_t *b, size_t *first,
                          size_t *count)
{
    const size_t k = round_up(o->k, GROUP), all = WIDE * takt_panels_wide(widths, g->b_n),
                 wide = all > g->b_first ? least(all - g->b_first, g->n) : 0,
                 quarter = wide / WIDE / 4;
    row_job r = {.a = (const uint16_t *)(const void *)g->scratch,
                 .b = b,
                 .b_step = quarter * WIDE * k,
                 .steps = k / GROUP,
                 .c = g->c,
                 .c_step = quarter * WIDE,
                 .adds = o->p > 0};
    for (size_t i = 0; i < quarter; i++, r.b += WIDE * k, r.c += WIDE)
        four_panels(&r);
    *first = 4 * quarter * WIDE;
    *count = g->n - *first;
    if (g->n - wide != 2 * NARROW)
        return;
    r.b = b + wide * k;
    r.b_step = NARROW * k;
    r.c = g->c + wide;
    two_narrow(&r);
    *count = wide - *first;
}

static void one_row(const takt_gemm_f32 *g)
{
    block o = {.rows = 1, .edge = (float *)(void *)((char *)g->scratch + a_bytes(g))};
    do {
        o.k = least(g->k - o.p, CHUNK);
        pack_block(g, &o);
        const size_t k = round_up(o.k, GROUP), columns = takt_panels_columns(widths, g->b_n);
        const uint16_t *b = (const uint16_t *)g->stored->data + o.p * columns + g->b_first * k;
        takt_gemm_f32 rest = *g;
        size_t first;
        row_of_panels(g, &o, b, &first, &rest.n);
        rest.c += first;
        rest.b_first += first;
        multiply(&rest, &o);
        o.p += CHUNK;
    } while (o.p < g->k);
    finish_columns(g, &o, 0, g->n);
}

/* From L1 one stream is as good; from L2 its time differs from process to process. */
static void run_any(const takt_gemm_f32 *g)
{
    enum { LARGE = 1 << 16 }; /* elements of B */
    if (g->m == 1 && g->n > 0 && g->image == NULL && g->k >= LARGE / g->n)
        one_row(g);
    else
        run(g);
}
