/* pad.c - elements added before and after each axis. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"

enum { CONSTANT, EDGE, REFLECT, WRAP };

typedef struct facts {
    int64_t mode;
    int rank;
    int64_t from[TAKT_MAX_RANK], to[TAKT_MAX_RANK],
        before[TAKT_MAX_RANK]; /* sizes; at least rank 1 */
    int bits;
    size_t rows;    /* of the result: everything but its last axis */
    uint64_t value; /* the element for mode constant, in its first bytes */
    bool is_bytes;  /* all bytes of the element are the same, as those of 0 */
    bool is_plain;  /* mode constant, whole bytes, and nothing cut off along the last axis */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_pad ? NULL : "";
}

/* Where place `i` of an axis of `size` comes from; -1: it is the constant. */
static int64_t source(int64_t mode, int64_t i, int64_t size)
{
    if (i >= 0 && i < size)
        return i;
    switch (mode) {
    case EDGE: return i < 0 ? 0 : size - 1;
    case REFLECT: return i < 0 ? -i : 2 * (size - 1) - i;
    case WRAP: return i < 0 ? i + size : i - size;
    default: return -1;
    }
}

/* The row of x that row `row` of the result comes from; -1: it is all constant. */
static int64_t source_row(const facts *f, size_t row)
{
    int64_t at = 0, size = 1;
    for (int d = f->rank - 2; d >= 0; d--) {
        const int64_t i = (int64_t)(d > 0 ? row % (size_t)f->to[d] : row); /* divisions are slow */
        row /= d > 0 ? (size_t)f->to[d] : 1;
        const int64_t from = source(f->mode, i - f->before[d], f->from[d]);
        if (from < 0)
            return -1;
        at += from * size;
        size *= f->from[d];
    }
    return at;
}

/* Elements [at, at + n) of the result become the constant; of whole bytes. */
static void fill(const facts *f, char *y, size_t at, size_t n)
{
    enum { BLOCK = 4096 };
    const size_t bytes = (size_t)f->bits / 8, all = n * bytes;
    char *to = y + at * bytes;
    if (n == 0)
        return;
    if (f->is_bytes) {
        memset(to, *(const unsigned char *)&f->value, all);
        return;
    }
    memcpy(to, &f->value, bytes);
    for (size_t done = bytes, some; done < all; done += some) {
        some = done < BLOCK ? done : BLOCK / bytes * bytes;
        some = some < all - done ? some : all - done;
        memcpy(to + done, to, some);
    }
}

/* Rows [first, end) of mode constant. The constant between two rows of x is filled at once: rows
 * are often short. */
static void constant_rows(const facts *f, takt_pace *pace, char *y, const char *x,
                          const size_t range[2])
{
    enum { MOST = 1 << 14 }; /* elements filled between two polls */
    const size_t wide = (size_t)f->to[f->rank - 1], size = (size_t)f->from[f->rank - 1];
    size_t filled = range[0] * wide; /* everything before it is written */
    for (size_t r = range[0]; r < range[1]; r++) {
        const int64_t row = size == 0 ? -1 : source_row(f, r);
        const size_t at = r * wide + (size_t)f->before[f->rank - 1];
        if (takt_pace_stops(pace, 1 + (wide - (row < 0 ? 0 : size)) / 4))
            return;
        if (row >= 0 || at - filled >= MOST) {
            fill(f, y, filled, (row >= 0 ? at : r * wide) - filled);
            filled = row >= 0 ? at : r * wide;
        }
        if (row < 0)
            continue;
        if (!takt_pace_elements(pace, y, at, x, (size_t)row * size, size))
            return;
        filled += size;
    }
    fill(f, y, filled, range[1] * wide - filled);
}

/* ---- other modes ---- */

/* Elements [first, end) of a row of the result: y[i] = x[start + i * by]. */
typedef struct piece {
    int64_t first, end, start, by;
} piece;

/* The pieces before and after the row of x itself. */
static void pieces_of(const facts *f, piece of[2])
{
    const int64_t size = f->from[f->rank - 1], wide = f->to[f->rank - 1],
                  skip = f->before[f->rank - 1];
    const int64_t low = skip < 0 ? 0 : skip < wide ? skip : wide;
    const int64_t high = skip + size < wide ? skip + size : wide;
    of[0] = (piece){.end = low};
    of[1] = (piece){.first = high < low ? low : high, .end = wide, .start = size - 1};
    if (f->mode == REFLECT) {
        of[0].start = skip;
        of[1].start = 2 * (size - 1) + skip;
        of[0].by = of[1].by = -1;
    } else if (f->mode == WRAP) {
        of[0].start = size - skip;
        of[1].start = -skip - size;
        of[0].by = of[1].by = 1;
    }
}

#define PIECE(T)                                                                                   \
    static void piece_##T(const piece *of, const void *from, void *to)                             \
    {                                                                                              \
        const T *x = from;                                                                         \
        T *y = to;                                                                                 \
        for (int64_t i = of->first, at = of->start + i * of->by; i < of->end; i++, at += of->by)   \
            y[i] = x[at];                                                                          \
    }
PIECE(uint8_t)
PIECE(uint16_t)
PIECE(uint32_t)
PIECE(uint64_t)

static void copy_piece(int bits, const piece *of, const void *x, void *y)
{
    if (bits == 32)
        piece_uint32_t(of, x, y);
    else if (bits == 64)
        piece_uint64_t(of, x, y);
    else if (bits == 16)
        piece_uint16_t(of, x, y);
    else
        piece_uint8_t(of, x, y);
}

/* Whether rows are two pieces around a copy. */
static bool has_pieces(const facts *f)
{
    const int64_t size = f->from[f->rank - 1], wide = f->to[f->rank - 1];
    return f->mode != CONSTANT && f->bits % 8 == 0 && f->bits <= 64 && size > 0 &&
           size <= TAKT_PACE && wide - size <= TAKT_PACE;
}

/* Rows [first, end); the divisions that find a row are made once for all rows of one plane. */
static void rows_of_pieces(const facts *f, takt_pace *pace, char *y, const char *x,
                           const size_t range[2])
{
    const int last = f->rank - 1;
    const size_t bytes = (size_t)f->bits / 8, wide = (size_t)f->to[last] * bytes;
    const int64_t lines = last > 0 ? f->to[last - 1] : 1, high = last > 0 ? f->from[last - 1] : 1,
                  skip = last > 0 ? f->before[last - 1] : 0;
    piece of[2];
    pieces_of(f, of);
    const size_t copied = (size_t)(of[1].first - of[0].end) * bytes;
    const int64_t cut = f->before[last] < 0 ? -f->before[last] : 0;
    int64_t line = (int64_t)(range[0] % (size_t)lines), plane = 0;
    for (size_t r = range[0]; r < range[1] && !takt_pace_stops(pace, wide / bytes); r++, line++) {
        line = line == lines ? 0 : line;
        if (line == 0 || r == range[0])
            plane = source_row(f, r) - source(f->mode, line - skip, high);
        const int64_t row = plane + source(f->mode, line - skip, high);
        const char *from = x + row * f->from[last] * (int64_t)bytes;
        char *to = y + r * wide;
        copy_piece(f->bits, &of[0], from, to);
        memcpy(to + (size_t)of[0].end * bytes, from + (size_t)cut * bytes, copied);
        copy_piece(f->bits, &of[1], from, to);
    }
}

/* Row `r`, from row `row` of x, element by element; -1: it is all constant. */
static bool row_of_elements(const facts *f, takt_pace *pace, char *y, const char *x,
                            const int64_t at[2])
{
    const int64_t row = at[1], size = f->from[f->rank - 1], wide = f->to[f->rank - 1],
                  skip = f->before[f->rank - 1];
    const size_t to = (size_t)at[0] * (size_t)wide;
    for (int64_t i = 0; i < wide; i++) {
        if (takt_pace_stops(pace, 4))
            return false;
        if (row >= 0 && i == skip && size > 0) {
            if (!takt_pace_elements(pace, y, to + (size_t)i, x, (size_t)(row * size), (size_t)size))
                return false;
            i += size - 1;
            continue;
        }
        const int64_t from = row < 0 ? -1 : source(f->mode, i - skip, size);
        const void *source_of = from < 0 ? (const void *)&f->value : x;
        const size_t element = from < 0 ? 0 : (size_t)(row * size + from);
        takt_copy_elements(f->bits, y, to + (size_t)i, source_of, element, 1);
    }
    return true;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    size_t range[2];
    takt_cpu_share(f->rows, 1, t->index, s->task_count, &range[0], &range[1]);
    takt_pace pace = takt_pace_bits(t, f->bits);
    if (f->is_plain)
        constant_rows(f, &pace, y, x, range);
    else if (has_pieces(f))
        rows_of_pieces(f, &pace, y, x, range);
    else
        for (size_t r = range[0]; r < range[1]; r++)
            if (!row_of_elements(f, &pace, y, x, (const int64_t[]){(int64_t)r, source_row(f, r)}))
                return;
}

static void set_value(facts *f, takt_dtype dtype, double value)
{
    if (takt_dtype_is_float(dtype))
        takt_dtype_put_f(dtype, &f->value, 0, value);
    else
        takt_dtype_put_i(dtype, &f->value, 0, takt_dtype_from_double(dtype, value));
    unsigned char byte[sizeof f->value];
    memcpy(byte, &f->value, sizeof byte);
    f->is_bytes = true;
    for (int i = 1; i < f->bits / 8; i++)
        f->is_bytes &= byte[i] == byte[0];
}

/* Adds an axis, or makes it part of the one before: rows of an axis without padding are contiguous
 * in x and in the result, and constants before and after them are whole rows. */
static void add_axis(facts *f, int64_t from, int64_t to, int64_t before)
{
    const int last = f->rank - 1;
    const bool is_whole = before == 0 && from == to,
               is_outer = f->rank > 0 && f->before[last] == 0 && f->from[last] == f->to[last];
    if (f->rank > 0 && is_whole && (f->mode == CONSTANT || is_outer)) {
        f->from[last] *= from;
        f->to[last] *= to;
        f->before[last] *= to;
        return;
    }
    f->from[f->rank] = from;
    f->to[f->rank] = to;
    f->before[f->rank++] = before;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_attr *before = takt_node_attr(n, "before");
    f->mode = takt_node_int(n, "mode");
    for (int d = 0; d < n->type->rank; d++)
        add_axis(f, p->step->in[0].dim[d], n->type->dim[d], before->i64s[d]);
    if (n->type->rank == 0) /* a scalar, which is only copied */
        add_axis(f, 1, 1, 0);
    f->rows = 1;
    for (int d = 0; d + 1 < f->rank; d++)
        f->rows *= (size_t)f->to[d];
    f->bits = takt_dtype_bits(n->type->dtype);
    set_value(f, n->type->dtype, takt_node_attr(n, "value")->f64);
    const int last = f->rank - 1;
    f->is_plain = f->mode == CONSTANT && f->bits >= 8 && f->before[last] >= 0 &&
                  f->before[last] + f->from[last] <= f->to[last];
    p->step->run = run;
    p->step->data = f;
    const double bytes = (double)f->rows * (double)f->to[f->rank - 1] * f->bits / 4;
    p->step->task_count = takt_cpu_tasks(p, 0, bytes, f->bits < 8 ? 1 : f->rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_pad = {.name = "move", .accepts = accepts, .compile = compile};
