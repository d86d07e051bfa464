/* walk_amx.h - blocking of a large product by AMX; part of gemm_bf16_amx.c.
 *
 * Rows of A are packed for all of k, up to DEEP values of it, and stay in L2 while the panels of B
 * are read; sums stay in the tile registers over all of it. A tile's data is prefetched early: its
 * lines of C, and the next panel of B. The epilogue is done for several panels together, a row of
 * them every few steps of the next ones: vector units work while the tile unit does.
 */
enum { LATE_COLS = 256, LATE_FLOATS = 32 << 10 };

/* Sums that are complete, of which rows up to `next` are finished. */
typedef struct late {
    size_t row, end, col, cols;
} late;

typedef struct work {
    const takt_gemm_f32 *g;
    block o;
    size_t strips;
    late late;
    size_t every, until; /* steps from one row that is finished to the next */
} work;

/* Some rows of A by one panel. */
typedef struct strip_job {
    const uint16_t *a;
    size_t index, rows, col, width;
    float *c;
    size_t ldc;
    bool adds; /* to what is in c */
} strip_job;

/* ---- what follows the product ---- */

static size_t late_rows(size_t cols)
{
    return cols < LATE_COLS ? LATE_COLS / cols : 1;
}

/* A row, or several short ones. */
static void finish_next(work *w)
{
    late *l = &w->late;
    const size_t rows = least(l->end - l->row, late_rows(l->cols));
    w->until = w->every;
    if (rows > 0)
        finish_columns(w->g, &(block){.row = l->row, .rows = rows}, l->col, l->cols);
    l->row += rows;
}

static void finish_all(work *w)
{
    const late *l = &w->late;
    if (l->row < l->end)
        finish_columns(w->g, &(block){.row = l->row, .rows = l->end - l->row}, l->col, l->cols);
    w->late.row = l->end;
}

/* ---- a tile ---- */

/* Where a step is: in A; in the next panel, of which it prefetches some lines; and in C, of which
 * it prefetches a row or two. */
typedef struct place {
    const char *a, *ahead;
    size_t lines;
    float *c;
    size_t ldc, rows, rows_each;
} place;

static inline __attribute__((always_inline)) void ask_ahead(place *q)
{
    for (size_t i = 0; i < q->lines; i++)
        _mm_prefetch(q->ahead + 64 * i, _MM_HINT_T1);
    q->ahead = (const char *)((uintptr_t)q->ahead + 64 * q->lines);
    for (size_t i = 0; i < q->rows_each && q->rows > 0; i++) {
        tiles_ask_to_write(q->c);
        tiles_ask_to_write(q->c + WIDE - 1);
        q->c += q->ldc;
        q->rows--;
    }
}

/* All whole steps of a chunk. */
static inline __attribute__((always_inline)) void
steps_of(work *w, const char *b, size_t steps, place *q, const bool two_rows, const bool two_panels)
{
    enum { TILE = 16 * 64 };
    const size_t line = two_panels ? 128 : 64, a_step = two_rows ? 2 * TILE : TILE;
    tile_step o = {q->a, q->a + TILE, b, b + 64, 64, line};
    q->a += steps * a_step;
    if (steps > 0)
        TILES_LOAD(o, two_rows, two_panels);
    for (; steps > 0; steps--) {
        ask_ahead(q);
        o = (tile_step){o.a + a_step, o.a_next + a_step, o.b + 16 * line, o.b_next + 16 * line, 64,
                        line};
        if (steps > 1)
            TILES_MULTIPLY_LOADED(_tile_dpbf16ps, true, o, two_rows, two_panels);
        else
            TILES_MULTIPLY_LOADED(_tile_dpbf16ps, false, o, two_rows, two_panels);
        if (--w->until == 0)
            finish_next(w);
    }
}

static inline __attribute__((always_inline)) void
sums_of(work *w, const strip_job *t, const bool two_rows, const bool two_panels)
{
    const size_t line = two_panels ? 128 : 64, columns = takt_panels_columns(widths, w->g->b_n);
    place q = {.a = (const char *)t->a,
               .lines = w->strips > 1 ? (line / 4 + w->strips - 1) / w->strips : 0,
               .c = t->c,
               .ldc = t->ldc,
               .rows = t->rows,
               .rows_each = w->o.k / PIECE < t->rows ? 2 : 1};
    for (size_t p = 0; p < w->o.k; p += CHUNK) {
        const size_t k = round_up(least(w->o.k - p, CHUNK), GROUP), panel = t->width * k;
        const char *b =
            (const char *)(packed_b(w->g) + (w->o.p + p) * columns + (w->g->b_first + t->col) * k);
        const size_t whole = k / PIECE, rest = k % PIECE;
        q.ahead = (const char *)((uintptr_t)b + 2 * panel + t->index * whole * q.lines * 64);
        steps_of(w, b, whole, &q, two_rows, two_panels);
        if (rest == 0)
            continue;
        /* The k that fill no tile: B is completed with zeros. */
        uint16_t last[16 * 64] = {0};
        memcpy(last, b + whole * 16 * line, rest / GROUP * line);
        TILES_WRITTEN(last);
        steps_of(w, (const char *)last, 1, &q, two_rows, two_panels);
    }
}

/* Sums go straight to C where it has all rows of them, else through separate memory: either way
 * they begin with what is in C. */
static void tile_of(work *w, const strip_job *t)
{
    const bool two_rows = t->rows > 16, two_panels = t->width == WIDE, is_whole = t->rows % 16 == 0;
    float sums[MR][WIDE];
    float *c = is_whole ? t->c : sums[0];
    const size_t step = is_whole ? t->ldc * sizeof *c : sizeof sums[0];
    for (size_t r = 0; !is_whole && t->adds && r < MR; r++)
        memcpy(sums[r], t->c + (r < t->rows ? r : 0) * t->ldc, t->width * sizeof *c);
    if (t->adds)
        tiles_load(c, step, two_rows, two_panels);
    else
        tiles_clear();
    TILES_WRITTEN(t->a);
    TILES_CALL(sums_of, two_rows, two_panels, w, t);
    tiles_store(c, step, two_rows, two_panels);
    for (size_t r = 0; !is_whole && r < t->rows; r++)
        memcpy(t->c + r * t->ldc, sums[r], t->width * sizeof *c);
}

/* A panel of which C lacks some columns: through a tile in scratch. */
static void tile_at_edge(work *w, const strip_job *t, size_t cols)
{
    float *edge = w->o.edge;
    strip_job whole = *t;
    whole.c = edge;
    whole.ldc = t->width;
    for (size_t i = 0; t->adds && i < t->rows; i++)
        memcpy(edge + i * t->width, t->c + i * t->ldc, cols * sizeof *edge);
    tile_of(w, &whole);
    for (size_t i = 0; i < t->rows; i++)
        memcpy(t->c + i * t->ldc, edge + i * t->width, cols * sizeof *edge);
}

/* ---- blocking ---- */

/* One panel by all strips of the block. */
static void panel_of(work *w, size_t col, size_t width)
{
    const takt_gemm_f32 *g = w->g;
    strip_job t = {.a = (const uint16_t *)(const void *)g->scratch,
                   .col = col,
                   .width = width,
                   .c = g->c + w->o.row * g->ldc + col,
                   .ldc = g->ldc,
                   .adds = w->o.p > 0};
    for (size_t i = 0; i < w->o.rows; i += t.rows, t.index++) {
        t.rows = strip_rows(w->o.rows - i);
        if (g->n - col < width)
            tile_at_edge(w, &t, g->n - col);
        else
            tile_of(w, &t);
        t.a += strip_elems(t.rows, w->o.k);
        t.c += t.rows * g->ldc;
    }
}

/* Sums of columns [first, end) of the block wait to be finished. */
static void put_off(work *w, size_t first, size_t end)
{
    if (w->g->epilogue == NULL || w->o.p + w->o.k < w->g->k)
        return;
    finish_all(w);
    w->late = (late){w->o.row, w->o.row + w->o.rows, first, end - first};
    const size_t steps = (end - first) / WIDE * w->strips * (w->o.k / PIECE);
    w->every = w->until = steps / (w->o.rows / late_rows(end - first) + 1) + 1;
}

/* All panels by one block of rows. */
static void multiply(work *w)
{
    const takt_gemm_f32 *g = w->g;
    const size_t wide = WIDE * takt_panels_wide(widths, g->b_n);
    const size_t fit = least(LATE_FLOATS / w->o.rows, LATE_COLS);
    size_t first = 0;
    for (size_t col = 0, width; col < g->n; col += width) {
        if (takt_poll_stops(g->poll))
            return;
        width = g->b_first + col < wide ? WIDE : NARROW;
        if (col > first && col + width - first > fit) {
            put_off(w, first, col);
            first = col;
        }
        panel_of(w, col, width);
    }
    put_off(w, first, g->n);
}

static void pack_block(const work *w)
{
    const takt_gemm_f32 *g = w->g;
    const float *a = g->a + w->o.row * g->a_row + w->o.p * g->a_col;
    uint16_t *to = (uint16_t *)(void *)g->scratch;
    for (size_t i = 0, rows; i < w->o.rows; i += rows) {
        rows = strip_rows(w->o.rows - i);
        pack_strip(g, a + i * g->a_row, rows, w->o.k, to);
        to += strip_elems(rows, w->o.k);
    }
}

static void run(const takt_gemm_f32 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    const size_t most = block_rows(g);
    work w = {.g = g,
              .o.edge = (float *)(void *)((char *)g->scratch + a_bytes(g)),
              .every = SIZE_MAX,
              .until = SIZE_MAX};
    tiles_begin();
    for (; w.o.row < g->m && !takt_poll_stops(g->poll); w.o.row += w.o.rows) {
        w.o.rows = least(g->m - w.o.row, most);
        w.strips = (w.o.rows + MR - 1) / MR;
        w.o.p = 0;
        do {
            w.o.k = least(g->k - w.o.p, DEEP);
            pack_block(&w);
            multiply(&w);
            w.o.p += DEEP;
        } while (w.o.p < g->k && !takt_poll_stops(g->poll));
    }
    finish_all(&w);
    tiles_end();
}
