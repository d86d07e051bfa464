/* tile_parts.h - tiles whose chunk of k is walked in parts.
 *
 * A part of blocked.h, where PARTS is not 1. A strip of A and a tile's panels of B over a whole
 * chunk may be more than L1 holds; over a part of a chunk both fit. A few tiles take the first
 * part, then the same tiles take the next, and go on with what their sums were: the order of
 * operations, and so the bits, are those of one walk.
 */
enum { PART = CHUNK / PARTS, QUEUE = 3 };

typedef struct tile_queue {
    size_t count;
    tile_job job[QUEUE];
    _Alignas(64) elem sums[QUEUE][MR * NR];
} tile_queue;

/* k from `p` on, as far as a part goes. */
static void tile_part(const tile_job *whole, size_t rows, size_t p, elem *sums)
{
    tile_job t = *whole;
    t.a += p;
    t.b += p * PANEL;
    t.k = least(whole->k - p, PART);
    t.start = p > 0 ? sums : NULL;
    t.ahead += p / QUAD * t.ahead_step / sizeof(elem);
    if (p + PART < whole->k) {
        t.c = sums;
        t.ldc = NR;
        t.sum = t.bias = t.residual = NULL;
        t.act = TAKT_GEMM_ACT_NONE;
    }
    tile(rows, round_up(t.cols, PANEL), &t);
}

/* Takes a tile, and computes those it has taken when they are enough or no more will come. */
static void tile_in_parts(tile_queue *q, size_t rows, const tile_job *t, bool more)
{
    if (t->k <= PART) {
        tile(rows, round_up(t->cols, PANEL), t);
        return;
    }
    q->job[q->count++] = *t;
    if (more && q->count < QUEUE)
        return;
    for (size_t p = 0; p < t->k; p += PART)
        for (size_t i = 0; i < q->count; i++)
            tile_part(&q->job[i], rows, p, q->sums[i]);
    q->count = 0;
}
