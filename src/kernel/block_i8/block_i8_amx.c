/* block_i8_amx.c - sixteen rows by a panel: levels are converted to bytes once for all rows,
 * tdpbssd sums a block of them, and vectors add up the sums while the next are computed. Few rows,
 * and blocks longer than a piece, use vpdpbusd. */
#include "kernel/block_i8/block_i8.h"

#include "kernel/block_i8/vnni.inc"
#include "kernel/simd/amx.inc"

#include "kernel/block_i8/body.inc"

#define LEFT_TO takt_unit_block_i8_avx512vnni
#include "kernel/block_i8/left.inc"

#include "kernel/block_i8/amx_spread.inc"

enum { BATCH = 2, SUMS = HEIGHT * TAKT_BLOCKS_PANEL, SUM_BYTES = BATCH * SUMS * 4, ROWS_FEW = 8 };

/* A strip of rows by a piece of a panel. */
typedef struct work {
    const takt_block_i8 *g;
    const tiling *o;
    const piece *p;
    strip a; /* from the piece's first block on */
    size_t blocks;
    int32_t (*sums)[SUMS]; /* BATCH of them */
    follower *next;        /* or NULL */
} work;

/* Sums of block `i`, in the tiles of the numbers given. */
#define PRODUCT(t, i, sum, a_tile, b_tile)                                                         \
    do {                                                                                           \
        const size_t line = (t)->o->width, bytes = HEIGHT * line;                                  \
        const char *a = (const char *)(t)->a.q + (i) * (t)->o->block * HEIGHT;                     \
        const char *b = (const char *)(t)->p->bytes + (i) * (t)->o->block * TAKT_BLOCKS_PANEL;     \
        _tile_zero(sum);                                                                           \
        for (size_t s = 0; s < (t)->o->steps; s++, a += bytes, b += bytes) {                       \
            _tile_loadd(a_tile, a, line);                                                          \
            _tile_loadd(b_tile, b, 64);                                                            \
            _tile_dpbssd(sum, a_tile, b_tile);                                                     \
        }                                                                                          \
    } while (0)

/* Sums of blocks from `i` on, at most BATCH of them, stay in their tiles while those before them
 * are added up. */
FIXED void products(const work *t, size_t i)
{
    TILES_WRITTEN(t->sums);
    PRODUCT(t, i, SUM_00, A_0, B_0);
    if (i + 1 < t->blocks)
        PRODUCT(t, i + 1, SUM_01, A_1, B_1);
}

FIXED void store_sums(int32_t (*to)[SUMS])
{
    _tile_stored(SUM_00, to[0], 64);
    _tile_stored(SUM_01, to[1], 64);
    TILES_WRITTEN(to);
}

/* acc += (scale * dx) * sums of block i. */
FIXED void join(const work *t, size_t i, const int32_t *sums, vf *acc, const size_t rows,
                const bool has_zero)
{
    const vf scale = vf_load(t->p->scale[i]);
    const vi zero = has_zero ? vi_load(t->p->zero[i]) : vi_set1(0);
    UNROLL for (size_t r = 0; r < rows; r++)
    {
        vi sum = vi_load(sums + r * TAKT_BLOCKS_PANEL);
        if (has_zero)
            sum = vi_sub(sum, vi_mul(zero, vi_set1(t->a.sums[i * HEIGHT + r])));
        const vf by = vf_mul(scale, vf_set1(t->a.dx[i * HEIGHT + r]));
        acc[r] = vf_fma(by, vf_from_vi(sum), acc[r]);
    }
}

/* All blocks of a piece, which may begin a chunk. */
FIXED void piece_fixed(const work *t, bool begins, const size_t rows, const bool has_zero)
{
    vf acc[HEIGHT];
    UNROLL for (size_t r = 0; r < rows; r++) acc[r] =
        begins ? vf_zero() : vf_load(t->a.acc + r * TAKT_BLOCKS_PANEL);
    products(t, 0);
    store_sums(t->sums);
    for (size_t i = 0; i < t->blocks; i += BATCH) {
        const bool more = i + BATCH < t->blocks;
        if (more)
            products(t, i + BATCH);
        for (size_t n = 0; n < least(BATCH, t->blocks - i); n++) {
            if (t->next)
                prefetch_follower(t->next);
            join(t, i + n, t->sums[n], acc, rows, has_zero);
        }
        if (more)
            store_sums(t->sums);
    }
    UNROLL for (size_t r = 0; r < rows; r++) vf_store(t->a.acc + r * TAKT_BLOCKS_PANEL, acc[r]);
}

#define PIECES(rows)                                                                               \
    static void piece_##rows(const work *t, bool begins, bool has_zero)                            \
    {                                                                                              \
        if (has_zero)                                                                              \
            piece_fixed(t, begins, rows, true);                                                    \
        else                                                                                       \
            piece_fixed(t, begins, rows, false);                                                   \
    }
PIECES(4)
PIECES(8)
PIECES(12)
PIECES(16)

/* The position of a strip in C. */
typedef struct target {
    size_t row, rows, panel;
} target;

static void put_strip(const takt_block_i8 *g, const target *to, const float *acc, bool adds,
                      bool ends)
{
    const tile_job job = {.g = g};
    for (size_t r = 0; r < to->rows; r++)
        put(&job, to->row + r, to->panel * TAKT_BLOCKS_PANEL, vf_load(acc + r * TAKT_BLOCKS_PANEL),
            adds, ends);
}

/* ---- scratch ---- */

/* Layout of the scratch, in bytes; strips are contiguous. */
typedef struct room {
    tiling o;
    size_t count;
    size_t strips; /* at a time */
    size_t strip_bytes;
    size_t acc_at, strips_at, bytes;
} room;

static room room_of(const takt_block_i8 *g)
{
    room o = {.o = tiling_of(&g->b), .count = takt_blocks_count(&g->b)};
    o.strip_bytes = HEIGHT * o.count * (o.o.block + 8);
    o.strips = least((g->m + HEIGHT - 1) / HEIGHT, 1 + A_BYTES / o.strip_bytes);
    o.acc_at = SUM_BYTES + sizeof(piece);
    o.strips_at = o.acc_at + o.strips * SUMS * sizeof(float);
    o.bytes = o.strips_at + (g->rounded ? 0 : o.strips * o.strip_bytes);
    return o;
}

/* Number `index` of those at `at`. */
static strip strip_at(const room *o, char *at, size_t index)
{
    const size_t bytes = o->count * o->o.block * HEIGHT, each = o->count * HEIGHT * sizeof(float);
    at += index * o->strip_bytes;
    return (strip){(int8_t *)at, (float *)(void *)(at + bytes),
                   (int32_t *)(void *)(at + bytes + each), NULL};
}

/* The one whose first row is `row`, number `index` of those in scratch. */
static strip strip_of(const takt_block_i8 *g, const room *o, size_t row, size_t index)
{
    char *own = g->scratch;
    strip a = g->rounded ? strip_at(o, (char *)(uintptr_t)g->rounded, row / HEIGHT)
                         : strip_at(o, own + o->strips_at, index);
    a.acc = (float *)(void *)(own + o->acc_at) + index * SUMS;
    return a;
}

/* ---- blocking ---- */

static void shapes(size_t width, size_t rows)
{
    tile_config c = {.palette = 1};
    for (int i = SUM_00; i <= B_1; i++) {
        c.column_bytes[i] = (uint16_t)(i == A_0 || i == A_1 ? width : 64);
        c.rows[i] = (uint8_t)(i >= B_0 ? width / 4 : rows);
    }
    _tile_loadconfig(&c);
}

typedef void piece_fn(const work *t, bool begins, bool has_zero);

/* Blocks [from, to) of a panel, which lie in one chunk, by all strips. */
static void piece_of_strips(const takt_block_i8 *g, const room *o, target at, size_t from,
                            size_t to, size_t rows)
{
    static piece_fn *const fns[] = {piece_4, piece_8, piece_12, piece_16};
    const bool begins = from % TAKT_GEMM_CHUNK == 0, ends = to == o->count;
    const bool has_zero = g->b.bits == 8 && (g->b.zero || g->b.level != 128);
    piece *p = (piece *)(void *)((char *)g->scratch + SUM_BYTES);
    follower next = follower_of(&g->b, &o->o, at.panel * o->count + to, to - from);
    spread(&g->b, &o->o, at.panel, from, to, p);
    for (size_t i = 0; i * HEIGHT < rows; i++) {
        const target now = {at.row + i * HEIGHT, least(rows - i * HEIGHT, HEIGHT), at.panel};
        work t = {
            g, &o->o, p, strip_of(g, o, now.row, i), to - from, g->scratch, i == 0 ? &next : NULL};
        t.a.q += from * o->o.block * HEIGHT;
        t.a.dx += from * HEIGHT;
        t.a.sums += from * HEIGHT;
        fns[(now.rows - 1) / 4](&t, begins, has_zero);
        if (ends || to % TAKT_GEMM_CHUNK == 0)
            put_strip(g, &now, t.a.acc, to > TAKT_GEMM_CHUNK, ends);
    }
}

/* Rows [row, row + rows), quantised, by all panels. */
static void all_panels(const takt_block_i8 *g, const room *o, size_t row, size_t rows)
{
    target at = {.row = row};
    for (; at.panel < takt_blocks_panels(g->b.n) && !takt_poll_stops(g->poll); at.panel++)
        for (size_t from = 0, to; from < o->count; from = to) {
            const size_t end = (from / TAKT_GEMM_CHUNK + 1) * TAKT_GEMM_CHUNK;
            to = least(least(from + o->o.most, end), o->count);
            piece_of_strips(g, o, at, from, to, rows);
        }
}

/* For fewer rows spreading the weights does not pay off. */
static bool takes_tiles(const takt_block_i8 *g)
{
    return g->m > ROWS_FEW && g->b.k > 0 && least(g->b.block, takt_blocks_deep(g->b.k)) <= PIECE;
}

static void run(const takt_block_i8 *g)
{
    if (!takes_tiles(g)) {
        run_rows(g);
        return;
    }
    if (g->b.n == 0)
        return;
    const room o = room_of(g);
    shapes(o.o.width, g->m < HEIGHT ? round_up(g->m, 4) : HEIGHT);
    for (size_t row = 0, rows; row < g->m && !takt_poll_stops(g->poll); row += rows) {
        rows = least(g->m - row, o.strips * HEIGHT);
        for (size_t i = 0; !g->rounded && i < rows; i += HEIGHT) {
            const strip to = strip_of(g, &o, row + i, i / HEIGHT);
            quantise_strip(g, &o.o, row + i, 0, o.count, &to);
        }
        all_panels(g, &o, row, rows);
    }
    tiles_end();
}

static size_t scratch_bytes(const takt_block_i8 *g)
{
    return takes_tiles(g) ? room_of(g).bytes : rows_scratch(g);
}

static size_t rounded_bytes(const takt_block_i8 *g)
{
    return takes_tiles(g) ? (g->m + HEIGHT - 1) / HEIGHT * room_of(g).strip_bytes
                          : rows_rounded_bytes(g);
}

/* Strips are cut between blocks: rows of one share lines of memory. */
static void round_part(const takt_block_i8 *g, size_t part, size_t parts, void *rounded)
{
    if (!takes_tiles(g)) {
        rows_round(g, part, parts, rounded);
        return;
    }
    const room o = room_of(g);
    const size_t all = (g->m + HEIGHT - 1) / HEIGHT * o.count, end = all * (part + 1) / parts;
    for (size_t at = all * part / parts, next; at < end; at = next) {
        const size_t index = at / o.count, first = index * o.count;
        const strip to = strip_at(&o, rounded, index);
        next = least(end, first + o.count);
        quantise_strip(g, &o.o, index * HEIGHT, at - first, next - first, &to);
    }
}

static const takt_block_i8_info info = {HEIGHT, scratch_bytes, rounded_bytes, round_part};

TAKT_KERNELS(block_i8, TAKT_KERNEL(block_i8, "amx_16x16", 50, run, &info));
