/* combine.c - elements that meet what is already there. */
#include "backend/cpu/combine.h"

#include <math.h>

#include "backend/cpu/element.h"

takt_status takt_combine_compile(takt_planner *p, takt_scatter how, takt_combine *c)
{
    const takt_id id = p->group->nodes[0];
    const takt_type *type = takt_type_of(p->graph, id);
    size_t index;
    TAKT_TRY(takt_planner_output_over(p, id, 0, &index));
    *c = (takt_combine){.how = how, .dtype = type->dtype};
    c->widens = how != TAKT_SET && (type->dtype == TAKT_F16 || type->dtype == TAKT_BF16);
    c->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    (void)takt_type_count(type, &c->count);
    if (c->widens)
        p->step->scratch_bytes = c->count * sizeof(float);
    return TAKT_OK;
}

void *takt_combine_begin(const takt_combine *c, const takt_step *s, const takt_task *t)
{
    const void *x = takt_view_data(t, &s->in[0]);
    void *y = takt_view_data(t, &s->out[0]);
    if (c->widens) {
        const takt_convert widen = {.to = TAKT_F32, .from = c->dtype};
        c->convert(&widen, t->scratch, x, c->count);
        return t->scratch;
    }
    if (x != y)
        memcpy(y, x, takt_element_bytes(takt_dtype_bits(c->dtype), c->count));
    return y;
}

void takt_combine_end(const takt_combine *c, const takt_step *s, const takt_task *t)
{
    const takt_convert narrow = {.to = c->dtype, .from = TAKT_F32};
    if (c->widens)
        c->convert(&narrow, takt_view_data(t, &s->out[0]), t->scratch, c->count);
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
