/* cumsum.c - running sums, added one by one; f16 and bf16 are summed in f32.
 *
 * Each sum waits for the one before it, so several are made at once: neighbours where there are
 * enough of them, else several lines side by side.
 */
#include <string.h>

#include "backend/cpu/axis.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/convert/convert.h"

typedef struct facts {
    takt_axis_split x;
    bool exclusive, reverse;
    takt_dtype dtype, compute;
    takt_convert_fn *convert;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_cumsum ? NULL : "";
}

/* Advances `n` sums by one element each. Integers wrap, so all types of one width are alike. */
#define ADD(T)                                                                                     \
    static void add_##T(T *restrict sum, const T *x, T *y, size_t n, bool exclusive)               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T next = (T)(sum[i] + x[i]);                                                     \
            y[i] = exclusive ? sum[i] : next;                                                      \
            sum[i] = next;                                                                         \
        }                                                                                          \
    }
ADD(double)
ADD(float)
ADD(uint64_t)
ADD(uint32_t)
ADD(uint16_t)
ADD(uint8_t)

/* Neighbours' sums, from those before; `y` may be `x`. */
#define ONTO(T)                                                                                    \
    static void onto_##T(const T *before, const T *x, T *y, size_t n)                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = (T)(before[i] + x[i]);                                                          \
    }
ONTO(float)
ONTO(double)

static void add(takt_dtype dtype, void *sum, const void *x, void *y, size_t n, bool exclusive)
{
    if (dtype == TAKT_F64)
        add_double(sum, x, y, n, exclusive);
    else if (dtype == TAKT_F32)
        add_float(sum, x, y, n, exclusive);
    else if (takt_dtype_bits(dtype) == 64)
        add_uint64_t(sum, x, y, n, exclusive);
    else if (takt_dtype_bits(dtype) == 32)
        add_uint32_t(sum, x, y, n, exclusive);
    else if (takt_dtype_bits(dtype) == 16)
        add_uint16_t(sum, x, y, n, exclusive);
    else
        add_uint8_t(sum, x, y, n, exclusive);
}

static void onto(takt_dtype dtype, const void *before, const void *x, void *y, size_t n)
{
    if (dtype == TAKT_F32)
        onto_float(before, x, y, n);
    else
        onto_double(before, x, y, n);
}

/* Neighbouring sums that a task has, and bytes of them that are made at once. */
enum { TILE = 256, SUM_BYTES = 4096 };

/* Sums [at, at + n) of the inner axes below one outer index. */
static void tile(const facts *f, const char *x, char *y, size_t n, takt_pace *pace)
{
    char sum[SUM_BYTES] = {0};
    float wide[TILE], result[TILE];
    const size_t bytes = (size_t)takt_dtype_bits(f->dtype) / 8;
    const takt_convert widen = {.to = TAKT_F32, .from = f->dtype};
    const takt_convert narrow = {.to = f->dtype, .from = TAKT_F32};
    const bool is_onto = !f->exclusive && (f->dtype == TAKT_F32 || f->dtype == TAKT_F64);
    const void *before = sum;
    for (size_t k = 0; k < f->x.size && !takt_pace_stops(pace, n + 4); k++) {
        const size_t at = (f->reverse ? f->x.size - 1 - k : k) * f->x.inner * bytes;
        if (is_onto) { /* half the stores */
            onto(f->dtype, before, x + at, y + at, n);
            before = y + at;
            continue;
        }
        if (f->compute == f->dtype) {
            add(f->dtype, sum, x + at, y + at, n, f->exclusive);
            continue;
        }
        f->convert(&widen, wide, x + at, n);
        add(TAKT_F32, sum, wide, result, n, f->exclusive);
        f->convert(&narrow, y + at, result, n);
    }
}

static void tiles(const facts *f, const takt_task *t, const takt_step *s)
{
    const size_t bytes = (size_t)takt_dtype_bits(f->dtype) / 8;
    const size_t count = (f->x.inner + TILE - 1) / TILE;
    const size_t most = f->compute == f->dtype ? SUM_BYTES / bytes / TILE : 1;
    const char *x = takt_view_data(t, &s->in[0]);
    char *y = takt_view_data(t, &s->out[0]);
    size_t first, end;
    takt_cpu_share(f->x.outer * count, 1, t->index, s->task_count, &first, &end);
    takt_pace pace = takt_pace_of(t);
    for (size_t i = first, n; i < end && !takt_pace_stops(&pace, 8); i += n) {
        const size_t left = end - i < count - i % count ? end - i : count - i % count;
        n = left < most ? left : most;
        const size_t column = i % count * TILE, rest = f->x.inner - column;
        const size_t at = (i / count * f->x.size * f->x.inner + column) * bytes;
        tile(f, x + at, y + at, rest < n * TILE ? rest : n * TILE, &pace);
    }
}

/* ---- lines ---- */

enum { ABREAST = 8, SHORT = 1024 }; /* lines at a time, and elements of each between two polls */

/* Lines whose elements lie `step` apart, from `from[r]` on. */
typedef struct lines {
    size_t from[ABREAST], count;
    ptrdiff_t step;
    bool exclusive;
} lines;

#define LINES(T)                                                                                   \
    static inline __attribute__((always_inline)) void each_##T(                                    \
        const lines *l, T *total, const T *x, T *y, size_t n, const size_t count, const bool last) \
    {                                                                                              \
        T sum[ABREAST];                                                                            \
        memcpy(sum, total, sizeof sum);                                                            \
        for (; n > 0; n--, x += l->step, y += l->step)                                             \
            for (size_t r = 0; r < count; r++) {                                                   \
                const T before = sum[r];                                                           \
                sum[r] = (T)(sum[r] + x[l->from[r]]);                                              \
                y[l->from[r]] = last ? sum[r] : before;                                            \
            }                                                                                      \
        memcpy(total, sum, sizeof sum);                                                            \
    }                                                                                              \
    static void lines_##T(const lines *l, void *total, const void *x, void *y, size_t n)           \
    {                                                                                              \
        if (l->count == ABREAST && !l->exclusive)                                                  \
            each_##T(l, total, x, y, n, ABREAST, true);                                            \
        else                                                                                       \
            each_##T(l, total, x, y, n, l->count, !l->exclusive);                                  \
    }
LINES(double)
LINES(float)
LINES(uint64_t)
LINES(uint32_t)

typedef void lines_fn(const lines *l, void *total, const void *x, void *y, size_t n);

/* NULL: lines of this type have no loop. */
static lines_fn *lines_of(takt_dtype dtype)
{
    if (dtype == TAKT_F64)
        return lines_double;
    if (dtype == TAKT_F32)
        return lines_float;
    return takt_dtype_bits(dtype) == 64   ? lines_uint64_t
           : takt_dtype_bits(dtype) == 32 ? lines_uint32_t
                                          : NULL;
}

/* Whether vectors of neighbours would be shorter than several lines. */
static bool has_lines(const facts *f)
{
    return f->x.inner < ABREAST && lines_of(f->dtype) != NULL;
}

static void run_lines(const facts *f, const takt_task *t, const takt_step *s)
{
    const size_t bytes = (size_t)takt_dtype_bits(f->dtype) / 8, size = f->x.size;
    const char *x = takt_view_data(t, &s->in[0]);
    char *y = takt_view_data(t, &s->out[0]);
    size_t first, end;
    takt_cpu_share(f->x.outer * f->x.inner, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i += ABREAST) {
        lines l = {.count = end - i < ABREAST ? end - i : ABREAST,
                   .step = f->reverse ? -(ptrdiff_t)f->x.inner : (ptrdiff_t)f->x.inner,
                   .exclusive = f->exclusive};
        for (size_t r = 0; r < l.count; r++)
            l.from[r] = (i + r) / f->x.inner * size * f->x.inner + (i + r) % f->x.inner;
        uint64_t total[ABREAST] = {0};
        for (size_t k = 0; k < size && !takt_poll_stops(t->poll); k += SHORT) {
            const size_t at = (f->reverse ? size - 1 - k : k) * f->x.inner * bytes;
            lines_of(f->dtype)(&l, total, x + at, y + at, size - k < SHORT ? size - k : SHORT);
        }
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    if (has_lines(f))
        run_lines(f, t, s);
    else
        tiles(f, t, s);
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
    TAKT_TRY(takt_planner_output_over(p, id, 0, &index));
    f->x = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    f->exclusive = takt_node_int(n, "exclusive") != 0;
    f->reverse = takt_node_int(n, "reverse") != 0;
    f->dtype = f->compute = n->type->dtype;
    if (f->dtype == TAKT_F16 || f->dtype == TAKT_BF16)
        f->compute = TAKT_F32;
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    p->step->run = run;
    p->step->data = f;
    const double count = (double)f->x.outer * (double)f->x.size * (double)f->x.inner;
    p->step->task_count =
        takt_cpu_tasks(p, count, 8 * count,
                       f->x.outer * (has_lines(f) ? f->x.inner : (f->x.inner + TILE - 1) / TILE));
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_cumsum = {
    .name = "cumsum", .family = TAKT_FAMILY_ROWS, .accepts = accepts, .compile = compile};
