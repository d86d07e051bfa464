/* finish_amx.h - sums of tiles become results, sixteen at a time; part of gemm_i8_amx.c.
 *
 * Where k is short that is as much work as the products. So sums wait until the next ones are
 * multiplied, and some rows of them are finished after every step of that.
 */

/* What is added to all sums of a column, and how they become bytes or floats. */
typedef struct constants {
    sums_16 base[2], scale[2]; /* scale: for floats */
    finish_16 f[2];
    size_t cols[2]; /* columns that exist */
    finish_way way;
} constants;

/* Sums of a tile; those at from[i] belong to row to[i] of the block. */
typedef struct tile_sums {
    uint32_t at[MR][NR];
    size_t count, done;
    uint8_t from[MR];
    size_t to[MR];
} tile_sums;

INLINE finish_16 finish_begin_any(const takt_requant *q, size_t col, size_t n, finish_way way)
{
    switch (way) {
    case FINISH_SCALE: return finish_begin(q, col, n, FINISH_SCALE);
    case FINISH_WIDE: return finish_begin(q, col, n, FINISH_WIDE);
    default: return finish_begin(q, col, n, FINISH_FIXED);
    }
}

/* Panel j of a block, which exists. */
INLINE void set_constants(const block *o, constants *c, size_t j)
{
    const takt_gemm_i8 *g = o->g;
    const takt_requant *q = g->requant;
    const size_t col = o->col + 16 * j, n = least(o->cols - 16 * j, 16);
    c->cols[j] = n;
    c->base[j] = q->bias ? load_first(q->bias + col, n) : no_sums();
    if (o->shift)
        c->base[j] = less_sums(c->base[j], load_first(g->b_sum + col, n), (int32_t)o->shift);
    if (finish_is_bytes(q))
        c->f[j] = finish_begin_any(q, col, n, c->way);
    else if (q->to == TAKT_REQUANT_F32)
        c->scale[j] =
            finish_load((const int32_t *)(const void *)q->scale, q->scale_per_column, col, n);
}

static void constants_of(const block *o, constants *c)
{
    c->way = finish_way_of(o->g->requant, o->col, o->cols);
    c->cols[1] = 0;
    set_constants(o, c, 0);
    if (o->cols > 16)
        set_constants(o, c, 1);
}

INLINE bytes_16 finish_bytes_any(const finish_16 *f, sums_16 x, finish_way way)
{
    switch (way) {
    case FINISH_SCALE: return finish_bytes(f, x, FINISH_SCALE);
    case FINISH_RIGHT: return finish_bytes(f, x, FINISH_RIGHT);
    case FINISH_WIDE: return finish_bytes(f, x, FINISH_WIDE);
    default: return finish_bytes(f, x, FINISH_FIXED);
    }
}

/* Exact sums of panel j of a row, to C. */
INLINE void put(const block *o, const constants *c, sums_16 x, size_t row, size_t j)
{
    const takt_requant *q = o->g->requant;
    const size_t at = row * o->g->ldc + o->col + 16 * j, n = c->cols[j];
    if (finish_is_bytes(q)) {
        finish_put((uint8_t *)o->g->c + at, finish_bytes_any(&c->f[j], x, c->way), n);
        return;
    }
    if (q->to == TAKT_REQUANT_F32)
        x = finish_floats(x, c->scale[j]);
    vi_store_n((int32_t *)o->g->c + at, x.at[0], n);
}

INLINE void finish_sums(const block *o, const constants *f, const uint32_t *x, size_t at)
{
    const takt_gemm_i8 *g = o->g;
    const takt_epilogue_f32 *e = g->requant->to == TAKT_REQUANT_F32 ? g->requant->epilogue : NULL;
    const size_t row = o->row + at;
    for (size_t j = 0; j < 2 && f->cols[j] > 0; j++) {
        sums_16 sum = add_sums(load_sums((const int32_t *)x + 16 * j), f->base[j]);
        if (g->b_zero)
            sum = less_sums(sum, load_first(g->b_zero + o->col + 16 * j, f->cols[j]),
                            (int32_t)o->row_sums[at]);
        put(o, f, sum, row, j);
    }
    if (e)
        finish_row(e, (float *)g->c + row * g->ldc + o->col, row, o->col, o->cols);
}

/* The next `rows` rows of sums that wait. */
INLINE void finish_waiting(const block *o, const constants *f, tile_sums *s, size_t rows)
{
    const size_t end = least(s->done + rows, s->count);
    for (; s->done < end; s->done++)
        finish_sums(o, f, s->at[s->from[s->done]], s->to[s->done]);
}
