/* gather.c - rows at given indices along an axis, and a piece that starts at a given index. */
#include <string.h>

#include "backend/cpu/axis.h"
#include "backend/cpu/element.h"
#include "backend/cpu/index.h"
#include "backend/cpu/matrix.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/table.h"

typedef struct facts {
    takt_axis_split x;
    size_t picks;  /* indices, or rows of the piece */
    size_t row;    /* elements of x's inner part */
    int bits;      /* of an element */
    bool is_piece; /* dynamic_slice */
    bool is_table; /* x is in the panels of a product */
    takt_table table;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_gather || op == &takt_op_dynamic_slice ? NULL : "";
}

/* Indices that are read at a time: they, and the elements that they select from one row of x, stay
 * in L1. */
enum { AT_ONCE = 4096, FEW = 256 };

typedef struct places {
    int64_t *at;
    size_t count;
    takt_pace *pace;
} places;

/* Copies single words, that often; buffers of such elements are aligned to them. */
static void pick_words(uint32_t *restrict y, const uint32_t *restrict x, const int64_t *restrict at,
                       size_t count)
{
    for (size_t j = 0; j < count; j++)
        y[j] = x[at[j]];
}

/* Rows of `half` to twice as many bytes: their first and their last ones, which may overlap. */
static inline void pick_ends(char *y, const char *x, const places *p, size_t bytes,
                             const size_t half)
{
    for (size_t j = 0; j < p->count; j++, y += bytes) {
        const char *row = x + (size_t)p->at[j] * bytes;
        memcpy(y, row, half);
        memcpy(y + bytes - half, row + bytes - half, half);
    }
}

/* Rows of so few bytes that a call for each would cost more; false: they are not. */
static bool pick_small(char *y, const char *x, const places *p, size_t bytes)
{
    if (bytes < 4 || bytes > 64)
        return false;
    if (bytes <= 8)
        pick_ends(y, x, p, bytes, 4);
    else if (bytes <= 16)
        pick_ends(y, x, p, bytes, 8);
    else if (bytes <= 32)
        pick_ends(y, x, p, bytes, 16);
    else
        pick_ends(y, x, p, bytes, 32);
    return true;
}

/* Row `at` of x to y. */
static bool pick_row(const facts *f, void *y, size_t to, const void *x, size_t at, takt_pace *pace)
{
    if (!f->is_table)
        return takt_pace_elements(pace, y, to * f->row, x, at * f->row, f->row);
    takt_table_row(&f->table, x, at, (char *)y + to * f->row * f->table.bytes);
    return !takt_pace_stops(pace, 4 * f->row);
}

/* Copies rows of x at some positions after `from`; false: the task must end. */
static bool pick(const facts *f, void *y, size_t to, const void *x, size_t from, const places *p)
{
    enum { WORD = 32 };
    if (f->row == 1 && f->bits == WORD && !f->is_table) {
        pick_words((uint32_t *)y + to, (const uint32_t *)x + from, p->at, p->count);
        return !takt_pace_stops(p->pace, 2 * p->count);
    }
    const size_t bytes = f->row * (size_t)f->bits / 8;
    if (f->bits >= 8 && !f->is_table &&
        pick_small((char *)y + to * bytes, (const char *)x + from * bytes, p, bytes))
        return !takt_pace_stops(p->pace, p->count * (2 + f->row));
    for (size_t j = 0; j < p->count; j++)
        if (!pick_row(f, y, to + j, x, from + (size_t)p->at[j], p->pace))
            return false;
    return !takt_pace_stops(p->pace, 4 * p->count);
}

/* Split by the outer part if it is large enough: tasks that share one write into the same cache
 * lines. */
static void run_gather(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    size_t first = 0, end = f->picks, o_first = 0, o_end = f->x.outer;
    if (f->x.outer >= s->task_count)
        takt_cpu_share(f->x.outer, 1, t->index, s->task_count, &o_first, &o_end);
    else
        takt_cpu_share(f->picks, 1, t->index, s->task_count, &first, &end);
    takt_pace pace = takt_pace_bits(t, f->bits);
    int64_t few[FEW];
    bool goes_on = true;
    for (size_t j = first; j < end && goes_on; j += AT_ONCE) {
        const places p = {.at = f->picks <= FEW ? few : t->scratch_own,
                          .count = end - j < AT_ONCE ? end - j : AT_ONCE,
                          .pace = &pace};
        takt_index_list(&index, j, p.count, (int64_t)f->x.size, p.at);
        for (size_t o = o_first; o < o_end && f->x.size > 0 && goes_on; o++)
            goes_on = pick(f, y, o * f->picks + j, x, o * f->x.size, &p);
    }
    takt_clear_tail(f->bits, y, f->x.outer * f->picks * f->row);
    takt_index_close(&index, t);
}

static void run_piece(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    takt_index_reader index = takt_index_open(t, &s->in[1]);
    const size_t at = takt_index_start(&index, 0, f->x.size, f->picks);
    takt_pace pace = takt_pace_bits(t, f->bits);
    for (size_t o = 0; o < f->x.outer; o++)
        if (!takt_pace_elements(&pace, y, o * f->picks * f->row, x, (o * f->x.size + at) * f->row,
                                f->picks * f->row))
            break;
    takt_clear_tail(f->bits, y, f->x.outer * f->picks * f->row);
    takt_index_close(&index, t);
}

static takt_status add_operands(takt_planner *p, facts *f)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const bool by_rows = n->op == &takt_op_gather && takt_node_int(n, "axis") == 0;
    const takt_id product = by_rows ? takt_product_of_rows(p, n->in[0]) : TAKT_NONE;
    size_t index;
    f->is_table = product != TAKT_NONE;
    if (f->is_table)
        TAKT_TRY(takt_table_add(p, product, &f->table, &index));
    else
        TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    return takt_planner_output(p, id, &index);
}

static takt_status compile(takt_planner *p)
{
    enum { PICK = 60 }; /* cost in operations of copying a row, besides its bytes */
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(add_operands(p, f));
    f->x = takt_axis_split_of(takt_type_of(p->graph, n->in[0]), takt_node_int(n, "axis"));
    f->row = f->x.inner;
    f->bits = takt_dtype_bits(n->type->dtype);
    f->is_piece = n->op == &takt_op_dynamic_slice;
    if (f->is_piece)
        f->picks = takt_axis_split_of(n->type, takt_node_int(n, "axis")).size;
    else
        (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->picks);
    if (!f->is_piece && f->picks > FEW)
        p->step->scratch_each = (f->picks < AT_ONCE ? f->picks : AT_ONCE) * sizeof(int64_t);
    const size_t most = f->x.outer > f->picks ? f->x.outer : f->picks;
    p->step->run = f->is_piece ? run_piece : run_gather;
    p->step->data = f;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    if (!f->is_piece)
        p->step->task_count =
            takt_cpu_tasks(p, PICK * (double)(f->picks * f->x.outer),
                           (double)(f->picks * f->x.outer * f->row) * f->bits / 4,
                           f->bits < 8 ? 1 : most); /* two tasks may not write to one byte */
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_gather = {
    .is_steady = true, .name = "gather", .is_cheap = true, .accepts = accepts, .compile = compile};
