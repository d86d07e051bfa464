/* quantize.c - quantize and dequantize: scale and zero point per tensor or along an axis.
 *
 * Between f32 and bytes, the usual types of weights and activations, there are kernels. Between f32
 * and other integers of at most 16 bits it is done in f32, which is exact except for the one
 * rounding of the definition; everything else is done in double.
 */
#include "backend/cpu/axis.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/affine_f32/affine_f32.h"
#include "kernel/convert/convert.h"

enum { TILE = 256 };

typedef struct facts {
    takt_axis_split axis; /* size 1 where there is one scale for all */
    size_t count;
    takt_dtype wide, narrow, scale; /* element types: float, quantised, scale */
    bool has_zero, is_fast;
    double low, high; /* of the quantised type */
    takt_convert_fn *convert;
    takt_affine_f32_fn *bytes; /* NULL: not between f32 and bytes */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_quantize || op == &takt_op_dequantize ? NULL : "";
}

/* Half to even by adding and taking away 1.5 * 2^52; the argument is far smaller. */
static double half_even(double x)
{
    const double shift = 0x1.8p52;
    return (x + shift) - shift;
}

static double limit(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The quotient is rounded to the type of x; NaN becomes the zero point. */
static void quantize_wide(const facts *f, const double *x, double scale, double zero, int64_t *to,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double q = takt_dtype_round(f->wide, x[i] / scale);
        to[i] = (int64_t)(half_even(limit(q == q ? q : 0, f->low - zero, f->high - zero)) + zero);
    }
}

static void quantize_fast(const facts *f, const float *x, float scale, float zero, int32_t *to,
                          size_t n)
{
    const float low = (float)f->low - zero, high = (float)f->high - zero;
    const float shift = 0x1.8p23F; /* |q| is below 2^17 after the limits */
    for (size_t i = 0; i < n; i++) {
        const float q = x[i] / scale;
        const float known = q == q ? q : 0;
        const float kept = known < low ? low : known > high ? high : known;
        const float whole = (kept + shift) - shift;
        to[i] = (int32_t)(whole + zero);
    }
}

static void convert(const facts *f, takt_dtype to, void *dst, takt_dtype from, const void *src,
                    size_t n)
{
    const takt_convert how = {.to = to, .from = from};
    f->convert(&how, dst, src, n);
}

/* Elements [at, at + n), which have one scale. n <= TILE, and `at` begins a byte. */
static void quantize(const facts *f, const char *x, char *y, size_t n, double scale, double zero)
{
    int64_t levels[TILE];
    double wide[TILE];
    if (f->is_fast) {
        quantize_fast(f, (const float *)(const void *)x, (float)scale, (float)zero,
                      (int32_t *)(void *)levels, n);
        convert(f, f->narrow, y, TAKT_I32, levels, n);
        return;
    }
    convert(f, TAKT_F64, wide, f->wide, x, n);
    quantize_wide(f, wide, scale, zero, levels, n);
    convert(f, f->narrow, y, TAKT_I64, levels, n);
}

static void dequantize(const facts *f, const char *x, char *y, size_t n, double scale, double zero)
{
    double wide[TILE];
    if (f->is_fast) {
        float *to = (float *)(void *)y;
        convert(f, TAKT_F32, to, f->narrow, x, n);
        for (size_t i = 0; i < n; i++)
            to[i] = (to[i] - (float)zero) * (float)scale;
        return;
    }
    convert(f, TAKT_F64, wide, f->narrow, x, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = (wide[i] - zero) * scale;
    convert(f, f->wide, y, TAKT_F64, wide, n);
}

typedef void piece_fn(const facts *f, const char *x, char *y, size_t n, double scale, double zero);

typedef struct job {
    const facts *f;
    piece_fn *fn;
    bool is_down;
    const char *x;
    char *y;
    const void *scales, *zeros; /* zeros: or NULL */
} job;

/* Elements [at, at + n) with scale number `which`. Sub-byte elements go through a tile, since the
 * elements of one scale may begin inside a byte. */
static void piece(const job *j, size_t at, size_t n, size_t which)
{
    const facts *f = j->f;
    const int narrow = takt_dtype_bits(f->narrow);
    const size_t wide = (size_t)takt_dtype_bits(f->wide) / 8, bytes = (size_t)narrow / 8;
    const double scale = takt_dtype_get_f(f->scale, j->scales, which);
    const double zero =
        j->zeros == NULL
            ? 0
            : takt_dtype_to_double(f->narrow, takt_dtype_get_i(f->narrow, j->zeros, which));
    char tile[TILE];
    if (narrow >= 8) {
        j->fn(f, j->x + at * (j->is_down ? wide : bytes), j->y + at * (j->is_down ? bytes : wide),
              n, scale, zero);
    } else if (j->is_down) {
        j->fn(f, j->x + at * wide, tile, n, scale, zero);
        takt_copy_packed(narrow, j->y, at, tile, 0, n);
    } else {
        takt_copy_packed(narrow, tile, 0, j->x, at, n);
        j->fn(f, tile, j->y + at * wide, n, scale, zero);
    }
}

/* All of elements [at, at + n) that have scale number `which`, by the kernel. */
static void piece_of_bytes(const job *j, size_t at, size_t n, size_t which)
{
    const facts *f = j->f;
    const bool is_unsigned = f->narrow == TAKT_U8;
    const uint8_t zero = j->zeros == NULL ? 0 : ((const uint8_t *)j->zeros)[which];
    f->bytes(&(takt_affine_f32){.kind = j->is_down ? TAKT_AFFINE_QUANTISE : TAKT_AFFINE_DEQUANTISE,
                                .is_unsigned = is_unsigned,
                                .x = j->x + at * (j->is_down ? sizeof(float) : 1),
                                .y = j->y + at * (j->is_down ? 1 : sizeof(float)),
                                .n = n,
                                .scale = ((const float *)j->scales)[which],
                                .zero = is_unsigned ? zero : (int8_t)zero});
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const bool is_down = takt_dtype_is_float(s->in[0].dtype);
    const job j = {.f = f,
                   .fn = is_down ? quantize : dequantize,
                   .is_down = is_down,
                   .x = takt_view_data(t, &s->in[0]),
                   .y = takt_view_data(t, &s->out[0]),
                   .scales = takt_view_data(t, &s->in[1]),
                   .zeros = f->has_zero ? takt_view_data(t, &s->in[2]) : NULL};
    size_t at, end;
    takt_cpu_share(f->count, TILE, t->index, s->task_count, &at, &end);
    takt_pace pace = takt_pace_of(t);
    while (at < end && !takt_pace_stops(&pace, 4)) {
        const size_t row = takt_quotient(at, f->axis.inner);
        const size_t left = (row + 1) * f->axis.inner - at,
                     which = takt_remainder(row, f->axis.size);
        size_t n = left < end - at ? left : end - at;
        n = f->bytes != NULL && n > TAKT_PACE ? TAKT_PACE : n;
        n = n < TILE || f->bytes != NULL ? n : TILE;
        if (f->bytes != NULL)
            piece_of_bytes(&j, at, n, which);
        else
            piece(&j, at, n, which);
        at += n;
        if (takt_pace_stops(&pace, n))
            break;
    }
    takt_clear_tail(takt_dtype_bits(s->out[0].dtype), j.y, f->count);
}

static void set_limits(facts *f)
{
    const int bits = takt_dtype_bits(f->narrow);
    const bool is_signed = takt_dtype_is_signed(f->narrow);
    const double range = (double)(UINT64_C(1) << (bits - 1));
    f->low = is_signed ? -range : 0;
    f->high = is_signed ? range - 1 : 2 * range - 1;
    f->is_fast = f->wide == TAKT_F32 && f->scale == TAKT_F32 && bits <= 16;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_view *x = &p->step->in[0], *scale = &p->step->in[1];
    (void)takt_type_count(n->type, &f->count);
    f->axis = (takt_axis_split){.outer = 1, .size = 1, .inner = f->count};
    if (scale->rank == 1)
        f->axis = takt_axis_split_of(n->type, takt_node_int(n, "axis"));
    f->has_zero = p->step->in_count > 2;
    const bool is_down = n->op == &takt_op_quantize;
    f->wide = is_down ? x->dtype : n->type->dtype;
    f->narrow = is_down ? n->type->dtype : x->dtype;
    f->scale = scale->dtype;
    set_limits(f);
    if (f->is_fast && takt_dtype_bits(f->narrow) == 8)
        f->bytes = takt_kernel_as_affine_f32(takt_planner_kernel(p, "affine_f32"));
    else
        f->convert = takt_kernel_as_convert(takt_planner_kernel(p, "convert"));
    p->step->run = run;
    p->step->data = f;
    const size_t most = takt_dtype_bits(f->narrow) < 8 ? 1 : (f->count + TILE - 1) / TILE;
    p->step->task_count = takt_cpu_tasks(p, 24.0 * (double)f->count, 0, most);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_quantize = {.name = "quantize",
                                         .is_cheap = true,
                                         .family = TAKT_FAMILY_MAP,
                                         .accepts = accepts,
                                         .compile = compile};
