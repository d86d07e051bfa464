/* direct_i8mm.h - products of few columns on i8mm: A is read in place, and sums become bytes before
 * they leave the registers.
 *
 * Packing A pays where many panels of B read it. A tile is six rows by one panel; a pair of rows
 * meets in a vector as it is loaded, eight bytes of each. Of at most eight columns half a panel is
 * multiplied, and a vector of sums then holds both rows of a pair.
 */

enum { DIRECT_COLS = 128, DIRECT_K = 1024, DIRECT_ROWS = 16 * MR };

/* Rows of a tile; those beyond the last repeat it. */
typedef struct direct_strip {
    const uint8_t *at[MR];
    size_t row, rows;
} direct_strip;

/* What the tiles of a panel share. */
typedef struct direct_panel {
    const takt_gemm_i8 *g;
    const int8_t *b;
    size_t taps, run;  /* runs of bytes of a row; those of an image are taps */
    const size_t *tap; /* where runs begin; NULL: there is one */
    size_t col, n;
    finish_16 f;
    sums_16 offset;
} direct_panel;

/* ---- multiplying ---- */

/* The last `left` < 8 bytes of k, and zeros. */
FINISH_INLINE uint8x8_t direct_part(const takt_gemm_i8 *g, const uint8_t *a, size_t left)
{
    uint64_t part = 0;
    if (g->a_open)
        return vld1_u8(a);
    if (g->k >= 8) {
        memcpy(&part, a + left - 8, 8);
        part >>= 64 - 8 * left;
    } else {
        for (size_t i = 0; i < left; i++)
            part |= (uint64_t)a[i] << 8 * i;
    }
    return vcreate_u8(part);
}

FINISH_INLINE int32x4_t direct_mm(int32x4_t s, uint8x16_t x, int8x16_t y, const bool is_unsigned)
{
    return is_unsigned ? vusmmlaq_s32(s, x, y) : vmmlaq_s32(s, vreinterpretq_s8_u8(x), y);
}

/* A vector of B. A plain load would be moved in front of what the vectors before it multiply, and
 * then there would be no register left for some sums. */
FINISH_INLINE int8x16_t direct_load(const int8_t *b)
{
    int8x16_t y;
    __asm__ volatile("ldr %q0, %1" : "=w"(y) : "m"(*(const int8x16_t *)(const void *)b));
    return y;
}

/* Two columns of three pairs of rows. */
typedef struct sums_3 {
    int32x4_t x, y, z;
} sums_3;

/* Sixteen columns, or the first eight. */
typedef struct direct_sums {
    sums_3 a, b, c, d, e, f, g, h;
} direct_sums;

typedef struct direct_pairs {
    uint8x16_t x, y, z;
} direct_pairs;

FINISH_INLINE sums_3 direct_three(sums_3 s, direct_pairs p, const int8_t *b, const bool is_unsigned)
{
    const int8x16_t v = direct_load(b);
    return (sums_3){direct_mm(s.x, p.x, v, is_unsigned), direct_mm(s.y, p.y, v, is_unsigned),
                    direct_mm(s.z, p.z, v, is_unsigned)};
}

/* Eight k. */
FINISH_INLINE direct_sums direct_step(direct_sums s, direct_pairs p, const int8_t *b,
                                      const bool is_wide, const bool is_unsigned)
{
    s.a = direct_three(s.a, p, b, is_unsigned);
    s.b = direct_three(s.b, p, b + 16, is_unsigned);
    s.c = direct_three(s.c, p, b + 32, is_unsigned);
    s.d = direct_three(s.d, p, b + 48, is_unsigned);
    if (!is_wide)
        return s;
    s.e = direct_three(s.e, p, b + 64, is_unsigned);
    s.f = direct_three(s.f, p, b + 80, is_unsigned);
    s.g = direct_three(s.g, p, b + 96, is_unsigned);
    s.h = direct_three(s.h, p, b + 112, is_unsigned);
    return s;
}

FINISH_INLINE direct_sums direct_multiply(const direct_panel *p, const direct_strip *o,
                                          const bool is_wide, const bool is_unsigned)
{
    const size_t whole = p->run / 8 * 8;
    const int8_t *b = p->b;
    const uint8_t *a0 = o->at[0], *a1 = o->at[1], *a2 = o->at[2], *a3 = o->at[3], *a4 = o->at[4],
                  *a5 = o->at[5];
    const int32x4_t zero = vdupq_n_s32(0);
    const sums_3 none = {zero, zero, zero};
    direct_sums s = {none, none, none, none, none, none, none, none};
    for (size_t t = 0; t < p->taps; t++) {
        const size_t first = p->tap != NULL ? p->tap[t] : 0, end = first + whole;
        for (size_t i = first; i < end; i += 8, b += LINE) {
            const direct_pairs x = {vcombine_u8(vld1_u8(a0 + i), vld1_u8(a1 + i)),
                                    vcombine_u8(vld1_u8(a2 + i), vld1_u8(a3 + i)),
                                    vcombine_u8(vld1_u8(a4 + i), vld1_u8(a5 + i))};
            s = direct_step(s, x, b, is_wide, is_unsigned);
        }
    }
    if (whole == p->run)
        return s;
    const takt_gemm_i8 *g = p->g;
    const size_t left = p->run - whole;
    const direct_pairs x = {
        vcombine_u8(direct_part(g, a0 + whole, left), direct_part(g, a1 + whole, left)),
        vcombine_u8(direct_part(g, a2 + whole, left), direct_part(g, a3 + whole, left)),
        vcombine_u8(direct_part(g, a4 + whole, left), direct_part(g, a5 + whole, left))};
    return direct_step(s, x, b, is_wide, is_unsigned);
}

/* ---- finishing ---- */

/* The even and the odd row of four columns. */
FINISH_INLINE int32x4_t direct_even(int32x4_t x, int32x4_t y)
{
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}

FINISH_INLINE int32x4_t direct_odd(int32x4_t x, int32x4_t y)
{
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y)));
}

/* Row r of C. Rows of fewer than sixteen columns without a gap may be written beyond their end
 * while the rows after them are yet to be written. */
FINISH_INLINE void direct_store(const direct_panel *p, size_t r, uint8x16_t y)
{
    const takt_gemm_i8 *g = p->g;
    uint8_t *c = (uint8_t *)g->c + r * g->ldc + p->col;
    if (p->n == 16 || (g->n < 16 && g->ldc == g->n && (g->m - r) * g->n >= 16))
        vst1q_u8(c, y);
    else
        finish_some(c, y, p->n);
}

/* The pair of rows r and r + 1 of a strip: its sums, two columns each. */
typedef struct direct_pair {
    int32x4_t a, b, c, d, e, f, g, h;
} direct_pair;

FINISH_INLINE void direct_finish(const direct_panel *p, const direct_strip *o, size_t r,
                                 direct_pair s, const bool is_wide, const finish_way way)
{
    const size_t row = o->row + r;
    const int32x4_t even = direct_even(s.a, s.b), more = direct_even(s.c, s.d),
                    odd = direct_odd(s.a, s.b), rest = direct_odd(s.c, s.d);
    if (r >= o->rows)
        return;
    if (!is_wide) {
        const sums_16 both = {even, more, odd, rest};
        const uint8x16_t y = finish_bytes(&p->f, add_sums(both, p->offset), way);
        direct_store(p, row, y);
        if (r + 1 < o->rows)
            direct_store(p, row + 1, vextq_u8(y, y, 8));
        return;
    }
    const sums_16 first = {even, more, direct_even(s.e, s.f), direct_even(s.g, s.h)};
    const sums_16 second = {odd, rest, direct_odd(s.e, s.f), direct_odd(s.g, s.h)};
    direct_store(p, row, finish_bytes(&p->f, add_sums(first, p->offset), way));
    if (r + 1 < o->rows)
        direct_store(p, row + 1, finish_bytes(&p->f, add_sums(second, p->offset), way));
}

/* ---- blocking ---- */

static direct_strip direct_strip_of(const takt_gemm_i8 *g, size_t row, size_t end)
{
    direct_strip o = {.row = row, .rows = least(end - row, MR)};
    const takt_i8_image *m = g->image;
    size_t y = m != NULL ? row / m->width : 0, x = m != NULL ? row % m->width : 0;
    for (size_t r = 0; r < o.rows; r++) {
        o.at[r] = m != NULL ? m->data + (y * m->pitch + x) * m->channels
                            : (const uint8_t *)g->a + (row + r) * g->a_row;
        if (m != NULL && ++x == m->width) {
            x = 0;
            y++;
        }
    }
    for (size_t r = o.rows; r < MR; r++)
        o.at[r] = o.at[o.rows - 1];
    return o;
}

FINISH_INLINE void direct_rows(const direct_panel *p, size_t row, size_t end, const bool is_wide,
                               const finish_way way)
{
    const takt_gemm_i8 *g = p->g;
    for (; row < end; row += MR) {
        const direct_strip o = direct_strip_of(g, row, end);
        const direct_sums s = g->a_unsigned ? direct_multiply(p, &o, is_wide, true)
                                            : direct_multiply(p, &o, is_wide, false);
        const direct_pair x = {s.a.x, s.b.x, s.c.x, s.d.x, s.e.x, s.f.x, s.g.x, s.h.x};
        const direct_pair y = {s.a.y, s.b.y, s.c.y, s.d.y, s.e.y, s.f.y, s.g.y, s.h.y};
        const direct_pair z = {s.a.z, s.b.z, s.c.z, s.d.z, s.e.z, s.f.z, s.g.z, s.h.z};
        direct_finish(p, &o, 0, x, is_wide, way);
        direct_finish(p, &o, 2, y, is_wide, way);
        direct_finish(p, &o, 4, z, is_wide, way);
    }
}

/* Columns 0 to 7 for the even row of a pair, and again for the odd one. */
FINISH_INLINE sums_16 direct_twice(sums_16 s)
{
    return (sums_16){s.a, s.b, s.a, s.b};
}

FINISH_INLINE void direct_way(direct_panel *p, const block *o, const finish_way way)
{
    const takt_gemm_i8 *g = p->g;
    p->f = finish_begin(g->requant, p->col, p->n, way);
    p->offset = finish_offset(g, o, p->col, p->n);
    if (p->n > 8) {
        direct_rows(p, o->row, o->row + o->rows, true, way);
        return;
    }
    finish_16 *f = &p->f;
    f->scale = direct_twice(f->scale);
    f->multiplier = direct_twice(f->multiplier);
    f->left = direct_twice(f->left);
    f->right = direct_twice(f->right);
    f->wide = (doubles_16){f->wide.a, f->wide.b, f->wide.c, f->wide.d,
                           f->wide.a, f->wide.b, f->wide.c, f->wide.d};
    p->offset = direct_twice(p->offset);
    direct_rows(p, o->row, o->row + o->rows, false, way);
}

/* Whether a product is computed this way. */
static bool direct_fits(const takt_gemm_i8 *g)
{
    return g->m > 1 && g->n <= DIRECT_COLS && g->k <= DIRECT_K && g->b_zero == NULL &&
           finish_is_bytes(g->requant);
}

static void direct_run(const takt_gemm_i8 *g)
{
    const takt_i8_image *m = g->image;
    direct_panel p = {.g = g,
                      .taps = m != NULL ? g->k / m->channels : 1,
                      .run = m != NULL ? m->channels : g->k,
                      .tap = m != NULL ? m->at : NULL};
    block o = {.shift = (uint32_t)g->a_zero};
    for (; o.row < g->m && !takt_poll_stops(g->poll); o.row += o.rows) {
        o.rows = least(g->m - o.row, DIRECT_ROWS);
        for (p.col = 0; p.col < g->n; p.col += 16) {
            p.b = g->b + p.col / 16 * g->b_panel;
            p.n = least(g->n - p.col, 16);
            switch (finish_way_of(g->requant, p.col, p.n)) {
            case FINISH_SCALE: direct_way(&p, &o, FINISH_SCALE); break;
            case FINISH_RIGHT: direct_way(&p, &o, FINISH_RIGHT); break;
            case FINISH_FIXED: direct_way(&p, &o, FINISH_FIXED); break;
            case FINISH_WIDE: direct_way(&p, &o, FINISH_WIDE); break;
            }
        }
    }
}
