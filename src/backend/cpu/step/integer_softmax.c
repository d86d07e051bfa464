/* integer_softmax.c - softmax of bytes in fixed point: rows of the last axis, one after the other.
 */
#include "op/record/integer_softmax.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/gemm_i8/fixed.h"

enum { X, TABLE };

typedef struct facts {
    size_t rows, n;
    int bits;
    bool x_signed, is_signed; /* x and the result */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_integer_softmax;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* ---- running ---- */

static int32_t wrapped(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static int32_t high(int32_t a, int32_t b)
{
    return takt_fixed_scale((uint32_t)a, b, 0);
}

static int32_t reciprocal(int32_t a)
{
    const int32_t half = wrapped((int64_t)a / 2 + 1073741824);
    int32_t x = wrapped(INT64_C(1515870810) + high(half, -1010580540));
    for (int i = 0; i < 3; i++) {
        const int32_t error = wrapped(INT64_C(536870912) - high(half, x));
        x = wrapped(x + INT64_C(4) * high(x, error));
    }
    return x > 1073741823 ? INT32_MAX : wrapped(INT64_C(2) * x);
}

/* The common factor of all elements of a row. */
typedef struct scale {
    int32_t by;
    int64_t half, shift; /* of the divisor 2^shift: half of it */
    uint8_t top;         /* the greatest of x, flipped */
} scale;

static scale scale_of(int32_t sum, int bits)
{
    int z = 1;
    for (int k = 20; k <= 30; k++)
        z += sum < INT32_C(1) << k;
    const int32_t above = wrapped((int64_t)(int32_t)((uint32_t)sum << z) - INT32_MIN);
    const int shift = 43 - bits - z;
    return (scale){.by = reciprocal(above), .half = INT64_C(1) << (shift - 1), .shift = shift};
}

/* Quotients round towards 0; negative ones are clamped to 0 anyway. */
static int32_t level(int32_t e, scale s, int32_t most)
{
    const int64_t y = (high(e, s.by) + s.half) >> s.shift;
    return (int32_t)(y < 0 ? 0 : y > most ? most : y);
}

/* Part of a row: elements [first, end). */
typedef struct part {
    size_t first, end;
} part;

static uint8_t greatest(const uint8_t *x, part o, uint8_t flip, uint8_t most)
{
    for (size_t i = o.first; i < o.end; i++) {
        const uint8_t v = x[i] ^ flip;
        most = v > most ? v : most;
    }
    return most;
}

/* `top`: the greatest of x, both flipped; so that distances are right for signed bytes, too. */
static uint32_t summed(const uint8_t *x, part o, const int32_t *table, uint8_t top, uint8_t flip)
{
    uint32_t sum = 0;
    for (size_t i = o.first; i < o.end; i++) {
        const int32_t e = table[(uint8_t)(top - (x[i] ^ flip))];
        sum += (uint32_t)(int32_t)(((int64_t)e + (1 << 11)) / (1 << 12));
    }
    return sum;
}

static void scaled(const facts *f, const uint8_t *x, part o, const int32_t *table, scale s, void *y)
{
    const uint8_t flip = f->x_signed ? 0x80 : 0, top = s.top;
    const int32_t most = (1 << f->bits) - 1, low = f->is_signed ? -(1 << (f->bits - 1)) : 0;
    for (size_t i = o.first; i < o.end; i++) {
        const int32_t v = level(table[(uint8_t)(top - (x[i] ^ flip))], s, most) + low;
        if (f->bits == 16)
            ((int16_t *)y)[i] = (int16_t)v;
        else
            ((uint8_t *)y)[i] = (uint8_t)v;
    }
}

static part next(part o, size_t n)
{
    enum { PIECE = TAKT_PACE / 4 }; /* an element takes as long as moving several */
    return (part){o.end, n - o.end < PIECE ? n : o.end + PIECE};
}

static void row(const facts *f, const takt_poll *poll, const uint8_t *x, const int32_t *table,
                void *y)
{
    const uint8_t flip = f->x_signed ? 0x80 : 0;
    const part none = {0, 0};
    uint8_t top = 0;
    uint32_t sum = 0;
    for (part o = next(none, f->n); o.first < f->n && !takt_poll_stops(poll); o = next(o, f->n))
        top = greatest(x, o, flip, top);
    for (part o = next(none, f->n); o.first < f->n && !takt_poll_stops(poll); o = next(o, f->n))
        sum += summed(x, o, table, top, flip);
    scale s = scale_of((int32_t)sum, f->bits);
    s.top = top;
    for (part o = next(none, f->n); o.first < f->n && !takt_poll_stops(poll); o = next(o, f->n))
        scaled(f, x, o, table, s, y);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const uint8_t *x = takt_view_data(t, &s->in[X]);
    const int32_t *table = takt_view_data(t, &s->in[TABLE]);
    char *y = takt_view_data(t, &s->out[0]);
    size_t i, end;
    takt_cpu_share(f->rows, 1, t->index, s->task_count, &i, &end);
    for (; i < end; i++)
        row(f, t->poll, x + i * f->n, table, y + i * f->n * (size_t)(f->bits / 8));
}

/* ---- compiling ---- */

static takt_status compile(takt_planner *p)
{
    enum { ROW = 300, EACH = 40 }; /* operations for a row, and for an element */
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index, count;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, &count);
    f->n = (size_t)n->type->dim[n->type->rank - 1];
    f->rows = f->n > 0 ? count / f->n : 0;
    f->bits = takt_dtype_bits(n->type->dtype);
    f->x_signed = takt_dtype_is_signed(takt_type_of(p->graph, n->in[X])->dtype);
    f->is_signed = takt_dtype_is_signed(n->type->dtype);
    p->step->run = run;
    p->step->data = f;
    p->step->task_count =
        takt_cpu_tasks(p, EACH * (double)count + ROW * (double)f->rows, 0, f->rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_integer_softmax = {.name = "integer_softmax",
                                                .family = TAKT_FAMILY_ROWS,
                                                .accepts = accepts,
                                                .keeps = keeps,
                                                .compile = compile};
