/* concat.c - inputs side by side along an axis. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/transpose.h"

enum { SMALL_PIECE = 16, BLOCK_BYTES = 16 << 10 }; /* elements; bytes of the result */

typedef struct facts {
    size_t outer;  /* rows of the result */
    size_t row;    /* elements of one */
    size_t *piece; /* elements that each input contributes to a row */
    int bits;      /* of an element */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_concat ? NULL : "";
}

/* Rows [first, end) of the result, from element `at` of each row on. */
typedef struct part {
    void *to;
    size_t at, first, end;
} part;

/* Pieces of `n` elements, so small that a call for each would cost more. */
#define SMALL(name, type)                                                                          \
    static void name(const part *p, const void *all, size_t n, size_t row)                         \
    {                                                                                              \
        const type *from = (const type *)all + p->first * n;                                       \
        type *to = (type *)p->to + p->first * row + p->at;                                         \
        for (size_t r = p->first; r < p->end; r++, from += n, to += row)                           \
            for (size_t i = 0; i < n; i++)                                                         \
                to[i] = from[i];                                                                   \
    }
SMALL(small_8, uint8_t)
SMALL(small_16, uint16_t)
SMALL(small_32, uint32_t)
SMALL(small_64, uint64_t)

#define INTERLEAVE(name, type)                                                                     \
    static void name(const type *restrict a, const type *restrict b, type *restrict to, size_t n)  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            to[2 * i] = a[i];                                                                      \
            to[2 * i + 1] = b[i];                                                                  \
        }                                                                                          \
    }
INTERLEAVE(interleave_16, uint16_t)
INTERLEAVE(interleave_32, uint32_t)
INTERLEAVE(interleave_64, uint64_t)

#define COPY_ROWS(bytes)                                                                           \
    for (size_t r = 0; r < rows; r++, to += row, from += (bytes))                                  \
    memcpy(to, from, (bytes))

/* `rows` pieces of `piece` bytes, each `row` bytes behind the last one; short ones are frequent. */
static void copy_rows(char *to, size_t row, const char *from, size_t piece, size_t rows)
{
    switch (piece) {
    case 1: COPY_ROWS(1); break;
    case 2: COPY_ROWS(2); break;
    case 4: COPY_ROWS(4); break;
    case 8: COPY_ROWS(8); break;
    case 16: COPY_ROWS(16); break;
    case 32: COPY_ROWS(32); break;
    case 64: COPY_ROWS(64); break;
    default: COPY_ROWS(piece);
    }
}

static void small_piece(const facts *f, const part *p, const void *from, size_t n)
{
    const size_t each = (size_t)f->bits / 8, piece = n * each;
    if (piece <= 64 && (piece & (piece - 1)) == 0) {
        copy_rows((char *)p->to + (p->first * f->row + p->at) * each, f->row * each,
                  (const char *)from + p->first * piece, piece, p->end - p->first);
        return;
    }
    switch (f->bits) {
    case 8: small_8(p, from, n, f->row); break;
    case 16: small_16(p, from, n, f->row); break;
    case 32: small_32(p, from, n, f->row); break;
    default: small_64(p, from, n, f->row); break;
    }
}

/* Rows [first, end) of two inputs of one element each; false: another case. */
static bool interleave(const takt_step *s, const takt_task *t, const part *p)
{
    const facts *f = s->data;
    if (s->in_count != 2 || f->piece[0] != 1 || f->piece[1] != 1)
        return false;
    const void *a = takt_view_data(t, &s->in[0]), *b = takt_view_data(t, &s->in[1]);
    const size_t first = p->first, n = p->end - first;
    void *to = p->to;
    switch (f->bits) {
    case 8:
        takt_interleave_bytes((const char *)a + first, (const char *)b + first,
                              (char *)to + 2 * first, n);
        break;
    case 16:
        interleave_16((const uint16_t *)a + first, (const uint16_t *)b + first,
                      (uint16_t *)to + 2 * first, n);
        break;
    case 32:
        interleave_32((const uint32_t *)a + first, (const uint32_t *)b + first,
                      (uint32_t *)to + 2 * first, n);
        break;
    default:
        interleave_64((const uint64_t *)a + first, (const uint64_t *)b + first,
                      (uint64_t *)to + 2 * first, n);
        break;
    }
    return true;
}

/* Pieces of a few elements: blocks of rows that stay near, input after input. */
static void run_small(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    void *to = takt_view_data(t, &s->out[0]);
    size_t first, end;
    takt_cpu_share(f->outer, 16, t->index, s->task_count, &first, &end);
    const size_t block = 1 + BLOCK_BYTES * 8 / (f->row * (size_t)f->bits);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = end - first < block ? end - first : block;
        part p = {.to = to, .first = first, .end = first + n};
        if (interleave(s, t, &p))
            continue;
        for (size_t k = 0; k < s->in_count; p.at += f->piece[k++])
            small_piece(f, &p, takt_view_data(t, &s->in[k]), f->piece[k]);
    }
}

/* Rows of an input whose pieces are whole bytes, many of them between two checks of the clock;
 * false: the run must end. */
static bool run_rows(const facts *f, takt_pace *pace, const part *p, const char *from, size_t piece)
{
    const size_t bytes = (size_t)f->bits / 8, most = takt_pace_piece(piece, 1);
    for (size_t r = p->first, n; r < p->end; r += n) {
        n = p->end - r < most ? p->end - r : most;
        copy_rows((char *)p->to + (r * f->row + p->at) * bytes, f->row * bytes,
                  from + r * piece * bytes, piece * bytes, n);
        if (takt_pace_stops(pace, n * piece))
            return false;
    }
    return true;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end, at = 0;
    takt_cpu_share(f->outer, 1, t->index, s->task_count, &first, &end);
    char *to = takt_view_data(t, &s->out[0]);
    takt_pace pace = takt_pace_bits(t, f->bits);
    for (size_t k = 0; k < s->in_count; at += f->piece[k++]) {
        const size_t piece = f->piece[k];
        const char *from = takt_view_data(t, &s->in[k]);
        if (piece == 0)
            continue;
        if (f->bits >= 8 && piece <= TAKT_PACE) {
            const part p = {.to = to, .at = at, .first = first, .end = end};
            if (!run_rows(f, &pace, &p, from, piece))
                return;
            continue;
        }
        for (size_t r = first; r < end; r++)
            if (!takt_pace_elements(&pace, to, r * f->row + at, from, r * piece, piece))
                return;
    }
    takt_clear_tail(f->bits, to, f->outer * f->row);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t *piece = takt_planner_get(p, n->in_count * sizeof *piece);
    if (f == NULL || piece == NULL)
        return TAKT_ERR_MEMORY;
    int64_t axis = takt_node_int(n, "axis");
    axis += axis < 0 ? n->type->rank : 0;
    f->outer = 1;
    for (int d = 0; d < axis; d++)
        f->outer *= (size_t)n->type->dim[d];
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++) {
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
        piece[k] = 1;
        for (int d = (int)axis; d < n->type->rank; d++)
            piece[k] *= (size_t)takt_type_of(p->graph, n->in[k])->dim[d];
        f->row += piece[k];
    }
    f->piece = piece;
    f->bits = takt_dtype_bits(n->type->dtype);
    TAKT_TRY(takt_planner_output(p, id, &index));
    bool are_small = f->bits >= 8 && f->bits <= 64 && f->row > 0;
    for (uint32_t k = 0; k < n->in_count; k++)
        are_small = are_small && piece[k] <= SMALL_PIECE;
    p->step->run = are_small ? run_small : run;
    p->step->data = f;
    const double bytes = (double)(f->outer * f->row) * f->bits / 8;
    /* Two tasks may not write to one byte. */
    p->step->task_count = takt_cpu_tasks(p, 0, 2 * bytes, f->bits < 8 ? 1 : f->outer);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_concat = {
    .is_steady = true, .name = "move", .accepts = accepts, .compile = compile};
