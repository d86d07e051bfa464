/* pack_block.h - a block of A, packed strip by strip or several strips at a time: a part of
 * blocked.h. */
/* Elements of packed A for one k. */
static size_t packed_column(const block *o)
{
    size_t count = 0;
    for (size_t i = 0, height; i < o->rows; i += height) {
        height = strip_rows(o->rows - i, o->most);
        count += strip_elems(height, 1);
    }
    return count;
}

#ifdef TURNS
/* Full strips from row i on, up to as many as are packed at a time. */
static size_t full_strips(const block *o, size_t i)
{
    size_t count = 0;
    while (count < TURNS && i + count * MR < o->rows &&
           strip_rows(o->rows - i - count * MR, o->most) == MR)
        count++;
    return count;
}
#endif

/* Values of k from p to `end` of the strip at row i, before which `at` elements of one k lie, and
 * maybe of strips after it; how many rows that makes. */
static size_t pack_chunks(const gemm *g, const block *o, size_t i, size_t at, size_t p, size_t end)
{
    const size_t height = strip_rows(o->rows - i, o->most);
#ifdef TURNS
    const size_t strips = g->a_row == 1 && end - p <= CHUNK ? full_strips(o, i) : 0;
    if (strips > 0) {
        pack_turned(g->a + o->row + i + (o->p + p) * g->a_col, g->a_col, strips, end - p,
                    g->scratch + p * o->a_column + at * (end - p));
        return strips * MR;
    }
#endif
    for (size_t part; p < end; p += part) {
        part = least(end - p, CHUNK);
        pack_strip(g, g->a + (o->row + i) * g->a_row + (o->p + p) * g->a_col, height, part,
                   g->scratch + p * o->a_column + at * part);
    }
    return height;
}

/* Strips of one chunk lie behind each other, so that the hardware's prefetching runs on from one to
 * the next. They are made strip after strip, so that it runs on along the rows of A; but chunk
 * after chunk if its columns are rows, of which two strips share lines. */
static void pack_block(const gemm *g, block *o)
{
    const size_t span = g->a_col == 1 ? o->k : CHUNK;
    o->a_column = o->k > CHUNK ? packed_column(o) : 0;
    for (size_t p = 0; p < o->k; p += span)
        for (size_t i = 0, at = 0, height; i < o->rows; i += height) {
            height = pack_chunks(g, o, i, at, p, least(p + span, o->k));
            at += height > MR ? height : strip_elems(height, 1);
        }
}
