/* check_depthwise_body.h - what the checks of depthwise convolutions of all types share: geometry,
 * cases and times.
 *
 * A template: a check defines `depthwise`, its call's type, `elem`, that of x, w and y,
 * AS_DEPTHWISE and ZEROS_COUNT, how many rows of zeros it needs; includes this file, and supplies
 * fill_all.
 */
enum { X, W, Y, BIAS, ZEROS, REST, ROWS_MAX = 5 * 17 };

/* Rows of x that all lines read. */
static size_t rows_of(const depthwise *d)
{
    return (d->lines - 1) * d->x_step + d->rows;
}

/* Columns as a convolution would have them, and one more than fit. */
static size_t columns_of(const depthwise *d)
{
    const size_t reach = (d->taps - 1) * d->dilation, room = d->width + 2 * d->before;
    return room > reach ? (room - reach - 1) / d->stride + 1 : 1;
}

static void name_case(takt_check *c, const depthwise *d)
{
    check_case(c,
               "lines=%zu step %zu channels=%zu columns=%zu width=%zu taps=%zux%zu "
               "stride %zu dilation %zu before %zu",
               d->lines, d->x_step, d->channels, d->columns, d->width, d->rows, d->taps, d->stride,
               d->dilation, d->before);
}

/* Operands of the case, filled by the caller. Rows of x are parts of one buffer. */
typedef struct operands {
    elem *x, *w, *zeros;
    float *bias;
    size_t in, weights, out;
    const elem *rows[ROWS_MAX];
} operands;

static void place(takt_check *c, depthwise *d, int where, operands *o)
{
    const size_t n = d->channels;
    o->in = rows_of(d) * d->width * n;
    o->weights = d->rows * d->taps * n;
    o->out = d->lines * d->columns * n;
    o->x = check_place(c, X, o->in * sizeof *o->x, where);
    o->w = check_place(c, W, o->weights * sizeof *o->w, where);
    o->bias = check_place(c, BIAS, n * sizeof *o->bias, where);
    o->zeros = check_place(c, ZEROS, ZEROS_COUNT * n * sizeof *o->zeros, where);
    memset(o->zeros, 0, ZEROS_COUNT * n * sizeof *o->zeros);
    for (size_t i = 0; i < rows_of(d); i++)
        o->rows[i] = o->x + i * d->width * n;
    d->x = o->rows;
    d->w = o->w;
    d->zeros = o->zeros;
}

/* Some rows are missing. */
static void leave_out_rows(takt_check *c, const depthwise *d, operands *o)
{
    for (size_t i = 0; i < rows_of(d); i++)
        if (check_below(c, 4) == 0)
            o->rows[i] = NULL;
}

static depthwise some_case(takt_check *c, size_t channels, const size_t *taps, size_t stride,
                           int round)
{
    depthwise d = {.lines = 1 + check_below(c, 5),
                   .channels = channels,
                   .width = 1 + check_below(c, 23),
                   .rows = taps[0],
                   .taps = taps[1],
                   .stride = stride,
                   .dilation = 1 + (round % 5 == 4),
                   .before = check_below(c, 2) ? 1 : check_below(c, 4)};
    d.x_step = check_below(c, 3) > 0 ? stride : d.rows;
    d.columns = columns_of(&d);
    return d;
}

/* Random values, as the type wants them; and what else the call reads. */
static void fill_all(takt_check *c, const operands *o, depthwise *d);

static void bench(takt_check *c, size_t channels, size_t width, size_t stride)
{
    depthwise d = {.lines = 2,
                   .x_step = stride,
                   .channels = channels,
                   .columns = width / stride,
                   .width = width,
                   .rows = 3,
                   .taps = 3,
                   .stride = stride,
                   .dilation = 1,
                   .before = 1};
    operands o;
    place(c, &d, CHECK_AT_START, &o);
    fill_all(c, &o, &d);
    d.y = check_place(c, Y, o.out * sizeof *d.y, CHECK_AT_START);
    CHECK_BENCH(c, stride == 1 ? "3x3" : "3x3 stride 2", 0, 18.0 * (double)o.out,
                AS_DEPTHWISE(c->kernel)(&d));
}
