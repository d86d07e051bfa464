/* combine.c - combines elements with those already there. */
#include "backend/cpu/combine.h"

#include <math.h>
#include <string.h>

/* The scalar that x consists of; TAKT_NONE: x is an arbitrary tensor. */
static takt_id flat(const takt_planner *p, takt_id x)
{
    const takt_node *n = &p->graph->nodes[x];
    const bool is_flat = n->op == &takt_op_broadcast && takt_type_of(p->graph, n->in[0])->rank == 0;
    return is_flat ? n->in[0] : TAKT_NONE;
}

takt_status takt_combine_inputs(takt_planner *p, const takt_node *n)
{
    const takt_id number = flat(p, n->in[0]);
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_planner_input(p, k == 0 && number != TAKT_NONE ? number : n->in[k], &index));
    return TAKT_OK;
}

takt_status takt_indexed_begin(takt_planner *p, const takt_node *n, const void *data)
{
    if (data == NULL)
        return TAKT_ERR_MEMORY;
    p->step->data = data;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    return takt_planner_inputs(p, n);
}

takt_status takt_combine_compile(takt_planner *p, takt_scatter how, takt_combine *c)
{
    const takt_id id = p->group->nodes[0];
    const takt_type *type = takt_type_of(p->graph, id);
    size_t index;
    const bool is_flat = type->rank > 0 && p->step->in[0].rank == 0;
    TAKT_TRY(is_flat ? takt_planner_output(p, id, &index)
                     : takt_planner_output_over(p, id, 0, &index));
    *c = (takt_combine){.how = how, .dtype = type->dtype, .is_flat = is_flat};
    c->widens = how != TAKT_SET && (type->dtype == TAKT_F16 || type->dtype == TAKT_BF16);
    c->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    (void)takt_type_count(type, &c->count);
    if (c->widens)
        p->step->scratch_bytes = c->count * sizeof(float);
    return TAKT_OK;
}

/* Fills `to` with copies of the element `x`: writes it once, then doubles the filled part. */
static void spread(const takt_task *t, const void *x, void *to, size_t count, size_t each)
{
    size_t done = count < 1 ? 0 : 1;
    takt_pace pace = takt_pace_of(t);
    memcpy(to, x, done * each);
    for (size_t more; done < count && !takt_pace_stops(&pace, done); done += more) {
        more = done < count - done ? done : count - done;
        more = more < TAKT_PACE ? more : TAKT_PACE;
        memcpy((char *)to + done * each, to, more * each);
    }
}

void *takt_combine_begin(const takt_combine *c, const takt_step *s, const takt_task *t)
{
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    if (c->is_flat && c->widens) {
        float wide;
        const takt_convert widen = {.to = TAKT_F32, .from = c->dtype};
        c->convert(&widen, &wide, x, 1);
        spread(t, &wide, t->scratch, c->count, sizeof wide);
        return t->scratch;
    }
    if (c->is_flat) {
        spread(t, x, y, c->count, (size_t)takt_dtype_bits(c->dtype) / 8);
        return y;
    }
    if (c->widens) {
        const takt_convert widen = {.to = TAKT_F32, .from = c->dtype};
        takt_pace_convert(t, c->convert, &widen, t->scratch, x, c->count);
        return t->scratch;
    }
    if (x != y)
        takt_pace_copy(t, y, x, takt_element_bytes(takt_dtype_bits(c->dtype), c->count));
    return y;
}

void takt_combine_end(const takt_combine *c, const takt_step *s, const takt_task *t)
{
    const takt_convert narrow = {.to = c->dtype, .from = TAKT_F32};
    if (c->widens)
        takt_pace_convert(t, c->convert, &narrow, takt_view_data(t, &s->out[0]), t->scratch,
                          c->count);
}

/* NaN wins over everything, as in the op's definition. */
#define FLOATS(T)                                                                                  \
    static void combine_##T(takt_scatter how, T *to, const T *u, size_t n)                         \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T a = to[i], b = u[i];                                                           \
            const T nan = a + b; /* if one of them is */                                           \
            to[i] = how == TAKT_ADD                          ? a + b                               \
                    : how == TAKT_MUL                        ? a * b                               \
                    : isnan(a) || isnan(b)                   ? nan                                 \
                    : (how == TAKT_MAX) == (a > b) && a != b ? a                                   \
                                                             : b;                                  \
        }                                                                                          \
    }
FLOATS(float)
FLOATS(double)

#define INTS(T)                                                                                    \
    static void combine_##T(takt_scatter how, T *to, const T *u, size_t n)                         \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T a = to[i], b = u[i];                                                           \
            to[i] = how == TAKT_ADD   ? (T)((uint64_t)a + (uint64_t)b)                             \
                    : how == TAKT_MUL ? (T)((uint64_t)a * (uint64_t)b)                             \
                    : how == TAKT_MAX ? (a < b ? b : a)                                            \
                                      : (a < b ? a : b);                                           \
        }                                                                                          \
    }
INTS(int8_t)
INTS(int16_t)
INTS(int32_t)
INTS(int64_t)
INTS(uint8_t)
INTS(uint16_t)
INTS(uint32_t)
INTS(uint64_t)

static void widened(const takt_combine *c, float *to, const char *u, size_t n)
{
    enum { TILE = 256 };
    float tile[TILE];
    const takt_convert widen = {.to = TAKT_F32, .from = c->dtype};
    for (size_t i = 0; i < n; i += TILE) {
        const size_t m = n - i < TILE ? n - i : TILE;
        c->convert(&widen, tile, u + 2 * i, m);
        combine_float(c->how, to + i, tile, m);
    }
}

#define CASE(D, T)                                                                                 \
    case TAKT_##D: combine_##T(c->how, (T *)to + at, (const T *)u + from, n); break;

void takt_combine_put(const takt_combine *c, void *to, size_t at, const void *u, size_t from,
                      size_t n)
{
    if (c->how == TAKT_SET) {
        takt_copy_elements(takt_dtype_bits(c->dtype), to, at, u, from, n);
        return;
    }
    switch (c->dtype) {
        CASE(F64, double)
        CASE(F32, float)
        CASE(I64, int64_t)
        CASE(I32, int32_t)
        CASE(I16, int16_t)
        CASE(I8, int8_t)
        CASE(U64, uint64_t)
        CASE(U32, uint32_t)
        CASE(U16, uint16_t)
        CASE(U8, uint8_t)
    default: widened(c, (float *)to + at, (const char *)u + 2 * from, n); break;
    }
}

bool takt_combine_row(const takt_combine *c, void *to, size_t at, const void *u, size_t from,
                      takt_pace *pace)
{
    for (size_t i = 0, piece; i < c->row; i += piece) {
        piece = c->row - i < TAKT_PACE ? c->row - i : TAKT_PACE;
        takt_combine_put(c, to, at + i, u, from + i, piece);
        if (takt_pace_stops(pace, piece))
            return false;
    }
    return !takt_pace_stops(pace, 4);
}
