/* body.h - depthwise convolution of bf16 by vectors of channels, shared by the vector variants.
 *
 * A template: a variant defines VECTOR, the channels of one, the types `factor` (a vector of x or
 * w) and `sums`, and the functions declared below; `n` is VECTOR or what is left of the channels.
 * Kernels of 3 x 3 compute four neighbouring outputs of two lines at a time, which share what they
 * read. Where each position is read is looked up in a table, so that borders need no special case:
 * what does not exist is read from zeros, and written to a row that is discarded.
 */
INLINE factor load(const uint16_t *p, size_t n);
INLINE sums load_bias(const takt_depthwise_bf16 *d, size_t c, size_t n);
INLINE sums add(sums s, factor x, factor w);
/* Between the bounds, and rounded. */
INLINE void store(const takt_depthwise_bf16 *d, uint16_t *p, size_t n, sums s);

enum { ABREAST = 4, LINES = 2, TAPS = 9 };
enum { ROWS_MAX = 5, COLUMNS_MAX = 9 }; /* read by four outputs of two lines with stride 2 */

typedef struct window {
    const uint16_t *x[ROWS_MAX][COLUMNS_MAX];
    uint16_t *y[LINES * ABREAST];
} window;

/* `n` channels from `c` on: weights and sums. */
typedef struct slice {
    size_t c, n;
    factor w[TAPS];
    sums sum[LINES * ABREAST];
} slice;

/* ---- 3 x 3 ---- */

/* The contribution of position (i, j) of the window to each output that reads it. */
INLINE void position(const window *o, slice *s, const size_t i, const size_t j, const size_t lines,
                     const size_t stride)
{
    const factor x = load(o->x[i][j] + s->c, s->n);
    for (size_t l = 0; l < lines; l++)
        for (size_t q = 0; q < ABREAST; q++) {
            const size_t a = i - l * stride, b = j - q * stride; /* wrap where there is no tap */
            if (a >= 3 || b >= 3)
                continue;
            s->sum[ABREAST * l + q] = add(s->sum[ABREAST * l + q], x, s->w[3 * a + b]);
        }
}

/* Written out, since compilers do not unroll loops of this length. */
INLINE void row(const window *o, slice *s, const size_t i, const size_t lines, const size_t stride)
{
    position(o, s, i, 0, lines, stride);
    position(o, s, i, 1, lines, stride);
    position(o, s, i, 2, lines, stride);
    position(o, s, i, 3, lines, stride);
    position(o, s, i, 4, lines, stride);
    position(o, s, i, 5, lines, stride);
    if (stride == 1)
        return;
    position(o, s, i, 6, lines, stride);
    position(o, s, i, 7, lines, stride);
    position(o, s, i, 8, lines, stride);
}

INLINE void vector(const takt_depthwise_bf16 *d, const window *o, size_t c, size_t n,
                   const size_t lines, const size_t stride)
{
    slice s = {.c = c, .n = n};
    const sums bias = load_bias(d, c, n);
    for (size_t t = 0; t < TAPS; t++)
        s.w[t] = load(d->w + t * d->channels + c, n);
    for (size_t q = 0; q < lines * ABREAST; q++)
        s.sum[q] = bias;
    row(o, &s, 0, lines, stride);
    row(o, &s, 1, lines, stride);
    row(o, &s, 2, lines, stride);
    if (lines == 2)
        row(o, &s, 3, lines, stride);
    if (lines == 2 && stride == 2)
        row(o, &s, 4, lines, stride);
    for (size_t q = 0; q < lines * ABREAST; q++)
        store(d, o->y[q] + c, n, s.sum[q]);
}

INLINE void vectors(const takt_depthwise_bf16 *given, const window *o, const size_t lines,
                    const size_t stride)
{
    const takt_depthwise_bf16 d = *given; /* a copy: stores cannot change its fields */
    size_t c = 0;
    for (; c + VECTOR <= d.channels; c += VECTOR)
        vector(&d, o, c, VECTOR, lines, stride);
    if (c < d.channels)
        vector(&d, o, c, d.channels - c, lines, stride);
}

static void vectors_2_1(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 2, 1);
}

static void vectors_1_1(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 1, 1);
}

static void vectors_2_2(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 2, 2);
}

static void vectors_1_2(const takt_depthwise_bf16 *d, const window *o)
{
    vectors(d, o, 1, 2);
}

/* Four outputs from column q on, of `lines` lines. */
static void find(const takt_depthwise_bf16 *d, size_t line, size_t lines, size_t q, window *o)
{
    const size_t rows = (lines - 1) * d->stride + 3, columns = (ABREAST - 1) * d->stride + 3;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            const size_t padded = q * d->stride + j;
            const uint16_t *from = d->x[line * d->x_step + i];
            const bool is_inside =
                from != NULL && padded >= d->before && padded - d->before < d->width;
            o->x[i][j] = is_inside ? from + (padded - d->before) * d->channels : d->zeros;
        }
    for (size_t l = 0; l < lines; l++)
        for (size_t a = 0; a < ABREAST; a++)
            o->y[ABREAST * l + a] = q + a < d->columns
                                        ? d->y + ((line + l) * d->columns + q + a) * d->channels
                                        : d->room;
}

static void three_by_three(const takt_depthwise_bf16 *d)
{
    typedef void vectors_fn(const takt_depthwise_bf16 *d, const window *o);
    static vectors_fn *const by_shape[2][2] = {{vectors_1_1, vectors_1_2},
                                               {vectors_2_1, vectors_2_2}};
    window o;
    for (size_t line = 0, lines; line < d->lines; line += lines) {
        lines = d->lines - line < LINES ? 1 : LINES;
        for (size_t q = 0; q < d->columns; q += ABREAST) {
            find(d, line, lines, q, &o);
            by_shape[lines - 1][d->stride - 1](d, &o);
        }
    }
}

/* ---- any other ---- */

INLINE void tap_vector(const takt_depthwise_bf16 *d, const uint16_t *const *from, uint16_t *y,
                       size_t c, size_t n)
{
    sums s = load_bias(d, c, n);
    const uint16_t *w = d->w + c;
    for (size_t t = 0; t < d->rows * d->taps; t++, w += d->channels)
        s = add(s, load(from[t] + c, n), load(w, n));
    store(d, y + c, n, s);
}

static void any(const takt_depthwise_bf16 *d, size_t line, size_t q)
{
    const uint16_t *from[TAKT_DEPTHWISE_BF16_TAPS];
    uint16_t *y = d->y + (line * d->columns + q) * d->channels;
    for (size_t i = 0; i < d->rows; i++)
        for (size_t j = 0; j < d->taps; j++)
            from[i * d->taps + j] = takt_depthwise_bf16_at(d, line * d->x_step + i, q, j);
    size_t c = 0;
    for (; c + VECTOR <= d->channels; c += VECTOR)
        tap_vector(d, from, y, c, VECTOR);
    if (c < d->channels)
        tap_vector(d, from, y, c, d->channels - c);
}

static void run(const takt_depthwise_bf16 *d)
{
    if (d->rows == 3 && d->taps == 3 && d->dilation == 1 && d->stride <= 2 &&
        d->x_step == d->stride) {
        three_by_three(d);
        return;
    }
    for (size_t line = 0; line < d->lines; line++)
        for (size_t q = 0; q < d->columns; q++)
            any(d, line, q);
}
