/* rescale.c - rescale in ONNX's integers: shifts are quotients and products of powers of two, since
 * BitShift is for unsigned numbers. The shift must be a constant. */
#include "io/onnx/write/rescale.h"

#include "op/ops.h"

typedef int64_t entry_fn(int64_t x);

/* An i64 weight with the shape of input `i`, a constant, with `f` applied to each entry. */
static const char *weighed(takt_emit *e, size_t i, entry_fn *f)
{
    const takt_tensor *t = takt_emit_constant(e, i);
    const size_t count = takt_tensor_count(t);
    takt_type type = t->type;
    int64_t *to = takt_arena_array(&e->arena, count, sizeof *to);
    type.dtype = TAKT_I64;
    if (to == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return "";
    }
    for (size_t k = 0; k < count; k++)
        to[k] = f(takt_dtype_get_i(t->type.dtype, takt_tensor_data(t), k));
    const char *name = takt_emit_fresh(e);
    takt_emit_weigh(e, name, &type, to);
    return name;
}

static int64_t left(int64_t shift)
{
    return INT64_C(1) << (shift > 0 ? shift & 31 : 0);
}

static int64_t right(int64_t shift)
{
    return INT64_C(1) << (shift < 0 ? -shift & 31 : 0);
}

static int64_t half_right(int64_t shift)
{
    return right(shift) / 2;
}

/* For the 64-bit form: one power, bounded as in the op. */
static int64_t whole(int64_t shift)
{
    return INT64_C(1) << (shift < -47 ? 62 : shift > 15 ? 0 : 15 - shift);
}

static int64_t half_whole(int64_t shift)
{
    return whole(shift) / 2;
}

static int64_t sixteen(int64_t multiplier)
{
    return multiplier < INT64_C(0x7fff0000) ? (multiplier + 0x8000) >> 16 : 0x7fff;
}

/* Rounded down: the remainder has the divisor's sign. */
static const char *floored(takt_emit *e, const char *x, const char *by)
{
    const char *rest = takt_emit_2(e, "Mod", takt_emit_fresh(e), x, by);
    return takt_emit_2(e, "Div", takt_emit_fresh(e),
                       takt_emit_2(e, "Sub", takt_emit_fresh(e), x, rest), by);
}

const char *takt_emit_rescaled(takt_emit *e, const char *x, size_t multiplier, size_t shift,
                               const char *out)
{
    x = takt_emit_cast(e, takt_emit_fresh(e), x, TAKT_I64);
    const char *m = takt_emit_cast(e, takt_emit_fresh(e), takt_emit_in(e, multiplier), TAKT_I64);
    x = takt_emit_2(e, "Mul", takt_emit_fresh(e), x, weighed(e, shift, left));
    x = takt_emit_cast(e, takt_emit_fresh(e), x, TAKT_I32); /* wraps */
    x = takt_emit_cast(e, takt_emit_fresh(e), x, TAKT_I64);
    x = takt_emit_2(e, "Mul", takt_emit_fresh(e), x, m);
    x = takt_emit_2(e, "Add", takt_emit_fresh(e), x, takt_emit_number(e, INT64_C(1) << 30));
    x = floored(e, x, takt_emit_number(e, INT64_C(1) << 31));
    const char *sign = takt_emit_1(e, "Sign", takt_emit_fresh(e), x);
    const char *half =
        takt_emit_2(e, "Mul", takt_emit_fresh(e), sign, weighed(e, shift, half_right));
    x = takt_emit_2(e, "Add", takt_emit_fresh(e), x, half);
    x = takt_emit_2(e, "Div", takt_emit_fresh(e), x, weighed(e, shift, right));
    return takt_emit_cast(e, out, x, TAKT_I32);
}

static void wide(takt_emit *e)
{
    const char *x =
        takt_emit_2(e, "Mul", takt_emit_fresh(e), takt_emit_in(e, 0), weighed(e, 1, sixteen));
    x = takt_emit_2(e, "Add", takt_emit_fresh(e), x, weighed(e, 2, half_whole));
    x = takt_emit_cast(e, takt_emit_fresh(e), floored(e, x, weighed(e, 2, whole)), TAKT_I32);
    takt_emit_cast(e, e->out, x, TAKT_I64);
}

static bool emit(takt_emit *e, const takt_node *n)
{
    const bool is_wide = n->type[0].dtype == TAKT_I64;
    if (takt_emit_constant(e, 2) == NULL || (is_wide && takt_emit_constant(e, 1) == NULL))
        return false;
    if (is_wide)
        wide(e);
    else
        takt_emit_rescaled(e, takt_emit_in(e, 0), 1, 2, e->out);
    return true;
}

const takt_emitter takt_emit_op_rescale = {.ops = {&takt_op_rescale}, .emit = emit};
