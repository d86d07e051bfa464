/* rnn_text.c - models around one recurrent cell. */
#include "rnn_text.h"

#include <stdarg.h>
#include <stdio.h>

static void add(rnn_text *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->length += (size_t)vsnprintf(w->text + w->length, sizeof w->text - w->length, format, args);
    va_end(args);
}

int rnn_text_gates(const rnn_text_form *f)
{
    return f->kind == RNN_PLAIN ? 1 : f->kind == RNN_LSTM ? 4 : 3;
}

/* Part `k` of something that has all gates; RNN_PLAIN has one and cuts nothing. */
static void cut(rnn_text *w, const rnn_text_form *f, const char *what, int part)
{
    if (f->kind == RNN_PLAIN)
        add(w, "%s", what);
    else
        add(w, "slice(%s, axes=[-1], start=[%d], stop=[%d])", what, part * f->units,
            (part + 1) * f->units);
}

/* Swaps the sides of a sum or product if the case requires it. */
static void pair(rnn_text *w, const rnn_text_form *f, const char *op, const char *a, const char *b)
{
    add(w, "%s(%s, %s)", op, f->swaps ? b : a, f->swaps ? a : b);
}

static void activate(rnn_text *w, const rnn_text_form *f, const char *name, int which)
{
    if (f->clip)
        add(w, "    %s = max(min(%s, constant(%s[], [0.375])), constant(%s[], [-0.375]))\n", name,
            name, f->dtype, f->dtype);
    add(w, "    %s = %s(%s)\n", name, f->acts[which], name);
}

static void gate(rnn_text *w, const rnn_text_form *f, const char *name, int which, int eye,
                 const char *cell)
{
    if (f->slices_first) {
        add(w, "    %s = ", name);
        rnn_text x = {.length = 0}, r = {.length = 0};
        cut(&x, f, "x", f->order[which]);
        cut(&r, f, "back", f->order[which]);
        pair(w, f, "add", x.text, r.text);
    } else {
        add(w, "    %s = ", name);
        cut(w, f, "all", f->order[which]);
    }
    add(w, "\n");
    if (f->peephole && eye >= 0) {
        rnn_text p = {.length = 0}, look = {.length = 0};
        add(&p, "slice(p, axes=[0], start=[%d], stop=[%d])", eye * f->units, (eye + 1) * f->units);
        pair(&look, f, "mul", p.text, cell);
        add(w, "    %s = ", name);
        pair(w, f, "add", name, look.text);
        add(w, "\n");
    }
    activate(w, f, name, which);
}

static void write_lstm(rnn_text *w, const rnn_text_form *f)
{
    gate(w, f, "i", 0, 0, "c");
    if (f->couples)
        add(w, "    f = sub(constant(%s[], [1]), i)\n", f->dtype);
    else
        gate(w, f, "f", 1, 1, "c");
    gate(w, f, "g", 2, -1, NULL);
    add(w, "    c1 = ");
    pair(w, f, "add", "mul(f, c)", "mul(g, i)");
    add(w, "\n");
    if (f->clips_cell && f->swaps)
        add(w, "    c1 = clip(c1, min=-0.125, max=0.25)\n");
    else if (f->clips_cell)
        add(w, "    c1 = max(min(c1, constant(%s[], [0.25])), constant(%s[], [-0.125]))\n",
            f->dtype, f->dtype);
    gate(w, f, "o", 3, 2, "c1");
    add(w, "    t = c1\n");
    activate(w, f, "t", 4);
    add(w, "    h1 = ");
    pair(w, f, "mul", "o", "t");
    add(w, "\n");
}

static void write_gru(rnn_text *w, const rnn_text_form *f)
{
    char rows[200], back[400];
    gate(w, f, "z", 0, -1, NULL);
    gate(w, f, "q", 1, -1, NULL);
    const int at = f->order[2] * f->units;
    rnn_text n = {.length = 0}, x = {.length = 0}, b = {.length = 0};
    cut(&x, f, "x", f->order[2]);
    cut(&b, f, "b", f->order[2]);
    if (f->kind == RNN_GRU) {
        rnn_text r = {.length = 0};
        cut(&r, f, "back", f->order[2]);
        add(w, "    m = %s\n", r.text);
        pair(&n, f, "mul", "q", "m");
    } else {
        snprintf(rows, sizeof rows, "slice(r, axes=[%d], start=[%d], stop=[%d])",
                 f->transposed ? 0 : 1, at, at + f->units);
        snprintf(back, sizeof back, "matmul(mul(q, h), %s, transpose_b=%s)", rows,
                 f->transposed ? "true" : "false");
        if (f->bias)
            pair(&n, f, "add", back, b.text);
        else
            add(&n, "%s", back);
    }
    add(w, "    n = ");
    pair(w, f, "add", x.text, n.text);
    add(w, "\n");
    activate(w, f, "n", 2);
    add(w, "    h1 = ");
    pair(w, f, "add", "mul(sub(1, z), n)", "mul(z, h)");
    add(w, "\n");
}

/* The gates that the cell keeps; the last letter is missing if gates are coupled. */
static const char *kept_of(const rnn_text_form *f, bool is_outside)
{
    static const char *const inside[] = {", h, h1", ", h, i, c, g, o, t, f", ", m, h, z, q, n",
                                         ", q, h, z, n"};
    static const char *const outside[] = {", k0, k1", ", k0, k1, k2, k3, k4, k5, k6",
                                          ", k0, k1, k2, k3, k4", ", k0, k1, k2, k3"};
    if (!f->keeps)
        return "";
    if (f->couples && f->kind == RNN_LSTM)
        return is_outside ? ", k0, k1, k2, k3, k4, k5" : ", h, i, c, g, o, t";
    return is_outside ? outside[f->kind] : inside[f->kind];
}

static void write_body(rnn_text *w, const rnn_text_form *f, bool gives_more)
{
    add(w, "    back = matmul(h, r, transpose_b=%s)\n", f->transposed ? "true" : "false");
    if (f->bias) {
        add(w, "    back = ");
        pair(w, f, "add", "back", "b");
        add(w, "\n");
    }
    add(w, "    all = ");
    pair(w, f, "add", "x", "back");
    add(w, "\n");
    if (f->kind == RNN_LSTM)
        write_lstm(w, f);
    else if (f->kind != RNN_PLAIN)
        write_gru(w, f);
    else
        gate(w, f, "h1", 0, -1, NULL);
    if (f->live) {
        add(w, "    y = select(live, h1, constant(%s[], [0]))\n", f->dtype);
        add(w, "    h2 = select(live, h1, h)\n");
        if (f->kind == RNN_LSTM)
            add(w, "    c1 = select(live, c1, c)\n");
    } else {
        add(w, "    y = h1\n    h2 = h1\n");
    }
    add(w, "    return h2%s, y%s%s\n", f->kind == RNN_LSTM ? ", c1" : "", kept_of(f, false),
        gives_more ? ", neg(h)" : "");
}

/* The captures after r, as parameters of the model, of the body, and as arguments. */
static void write_types(rnn_text *w, const rnn_text_form *f, bool is_body)
{
    const int wide = rnn_text_gates(f) * f->units;
    const char *t = f->dtype;
    add(w, "h: %s[%d, %d], ", t, f->batch, f->units);
    if (f->kind == RNN_LSTM)
        add(w, "c: %s[%d, %d], ", t, f->batch, f->units);
    if (is_body)
        add(w, "x: %s[%d, %d]", t, f->batch, wide);
    else
        add(w, "x: %s[%d, %d, %d]", t, f->batch_first ? f->batch : f->length,
            f->batch_first ? f->length : f->batch, wide);
    if (f->live && is_body)
        add(w, ", live: bool[%d, 1]", f->batch);
    else if (f->live)
        add(w, ", live: bool[%d, %d, 1]", f->length, f->batch);
    if (is_body || !f->param)
        add(w, ", r: %s[%d, %d]", t, f->transposed ? wide : f->units,
            f->transposed ? f->units : wide);
    if (f->bias)
        add(w, ", b: %s[%d]", t, wide);
    if (f->peephole)
        add(w, ", p: %s[%d]", t, 3 * f->units);
}

void rnn_text_write(rnn_text *w, const rnn_text_form *f, bool gives_more)
{
    const int wide = rnn_text_gates(f) * f->units, carried = f->kind == RNN_LSTM ? 2 : 1;
    add(w, "model m(");
    write_types(w, f, false);
    add(w, ") seed=7 {\n");
    if (f->param)
        add(w, "  param r: %s[%d, %d] = uniform(-0.5, 0.5)\n", f->dtype,
            f->transposed ? wide : f->units, f->transposed ? f->units : wide);
    add(w,
        "  hl, %sys%s%s = scan(h, %sx%s, r%s%s, carried=%d, sequences=%d, axes=[%d%s], "
        "out_axes=[%d",
        carried == 2 ? "cl, " : "", kept_of(f, true), gives_more ? ", more" : "",
        carried == 2 ? "c, " : "", f->live ? ", live" : "", f->bias ? ", b" : "",
        f->peephole ? ", p" : "", carried, 1 + f->live, f->batch_first, f->live ? ", 0" : "",
        f->batch_first);
    int axis = 0;
    for (const char *k = kept_of(f, true); *k != '\0'; k++)
        if (*k == 'k')
            add(w, ", %d", axis++ % 2); /* results may have different layouts */
    add(w, "%s], reverse=%s,\n    body=graph(", gives_more ? ", 0" : "",
        f->reverse ? "true" : "false");
    write_types(w, f, true);
    add(w, ") {\n");
    write_body(w, f, gives_more);
    add(w, "  })\n  return hl, %sys%s\n}\n", carried == 2 ? "cl, " : "", kept_of(f, true));
}

/* ---- random forms ---- */

static int below(uint32_t *state, int limit)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (int)((*state >> 8) % (uint32_t)limit);
}

static bool coin(uint32_t *state)
{
    return below(state, 2) == 0;
}

rnn_text_form rnn_text_random(int i, uint32_t *state)
{
    static const char *const dtypes[] = {"f32", "f64", "f16", "bf16"};
    static const char *const acts[] = {"sigmoid", "tanh", "relu"};
    static const int sizes[] = {1, 3, 4, 7, 16, 33, 45, 130};
    rnn_text_form f = {.kind = i % 4, .dtype = dtypes[i / 4 % 4], .order = {0, 1, 2, 3}};
    f.length = below(state, 7);
    f.batch = 1 + below(state, 6);
    f.units = sizes[below(state, 8)];
    for (int k = 0; k < 5; k++)
        f.acts[k] = acts[below(state, 3)];
    for (int k = rnn_text_gates(&f) - 1; k > 0; k--) {
        const int j = below(state, k + 1), old = f.order[k];
        f.order[k] = f.order[j];
        f.order[j] = old;
    }
    f.bias = coin(state);
    f.transposed = coin(state);
    f.clip = below(state, 3) == 0;
    f.live = below(state, 3) == 0;
    f.peephole = f.kind == RNN_LSTM && coin(state);
    f.couples = f.kind == RNN_LSTM && below(state, 3) == 0;
    f.clips_cell = f.kind == RNN_LSTM && below(state, 3) == 0;
    f.slices_first = f.kind != RNN_LSTM || coin(state);
    f.param = coin(state);
    f.batch_first = coin(state);
    f.reverse = coin(state);
    f.swaps = coin(state);
    f.keeps = coin(state);
    return f;
}
