/* product.c - one task of a convolution as a product. */
#include "backend/cpu/conv/product.h"

#include <string.h>

#include "backend/cpu/conv/patch.h"
#include "backend/cpu/conv/spread.h"

/* Of few inputs for each output: positions enough for a tile to write long rows of channels, and
 * then fewer of those. */
void takt_conv_product_tile(takt_conv_product *f)
{
    enum { INPUTS = 64, ROWS = 1008, FLOATS = 64 << 10, COLUMNS = 64 };
    const takt_conv_shape *c = &f->shape;
    const size_t m = c->batch * c->positions, rows = m < ROWS ? m : ROWS;
    f->wide = c->cout;
    if (!f->is_first || c->k_row > INPUTS || rows <= f->rows || f->blocking != NULL)
        return;
    f->rows = rows;
    f->wide = FLOATS / rows / COLUMNS * COLUMNS;
}

/* What one call of the product computes. */
typedef struct block {
    size_t group, row, rows, column, columns; /* columns: channels of the group */
    const void *weights;
} block;

static void multiply(const takt_step *s, const takt_task *t, const block *b, const float *x)
{
    const takt_conv_product *f = s->data;
    const takt_conv_shape *c = &f->shape;
    char *own = t->scratch_own;
    const size_t outputs = c->groups * c->cout, first = b->group * c->cout + b->column;
    takt_conv_ending ending = takt_conv_end_at(&f->end, s, t, f->registers, b->row, first);
    takt_epilogue_f32 epilogue;
    const bool rounds = takt_conv_product_rounds(f), tiles = takt_conv_product_tiles(f);
    const bool ends =
        takt_conv_end_for(&ending, &epilogue) && (c->groups == 1 || tiles || !epilogue.is_late);
    float *y = rounds ? NULL : takt_conv_out(&f->memory, s, t);
    float *tile = (float *)(void *)(own + f->tile);
    takt_gemm_stored stored;
    takt_gemm_f32 g = {.m = b->rows,
                       .n = b->columns,
                       .k = c->k_row,
                       .a = x,
                       .a_row = f->is_direct ? f->row : c->k_row,
                       .a_col = 1,
                       .reads_a = f->reads_a,
                       .b_n = c->cout,
                       .b_first = b->column,
                       .c = tiles ? tile : y + b->row * outputs + first,
                       .ldc = tiles ? b->columns : outputs,
                       .scratch = t->scratch_own,
                       .blocking = f->blocking,
                       .ways = f->ways,
                       .poll = t->poll};
    takt_narrow_use(&g, &f->narrow, b->weights, takt_panels_columns(f->panels, c->cout), &stored);
    takt_epilogue_product(f->run, &g, ends ? &epilogue : NULL);
    const takt_conv_rounded result = {tile, b->rows, b->columns, b->row, first, outputs};
    if (rounds)
        takt_conv_round(&f->memory, s, t, &result);
    else if (tiles)
        takt_conv_spread(&(takt_conv_tile){tile, b->row, b->rows, first, b->columns}, outputs,
                         c->positions, y);
}

/* What ends groups [unit, last) of some rows, if that is better done for all of them at once. */
static void end_groups(const takt_step *s, const takt_task *t, size_t row, size_t rows, size_t unit,
                       size_t last)
{
    const takt_conv_product *f = s->data;
    const takt_conv_shape *c = &f->shape;
    const size_t outputs = c->groups * c->cout, first = unit * c->cout;
    takt_conv_ending ending = takt_conv_end_at(&f->end, s, t, f->registers, row, first);
    takt_epilogue_f32 e;
    if (c->groups > 1 && !takt_conv_product_tiles(f) && takt_conv_end_for(&ending, &e) && e.is_late)
        e.tail(e.user, takt_conv_out(&f->memory, s, t) + row * outputs + first, outputs, 0, 0, rows,
               (last - unit) * c->cout);
}

/* Channels [unit, last), as many at a time as a tile has room for. */
static void multiply_parts(const takt_step *s, const takt_task *t, block *b, size_t unit,
                           size_t last, const float *x)
{
    const size_t wide = ((const takt_conv_product *)s->data)->wide;
    for (; unit < last; unit += b->columns) {
        b->column = unit;
        b->columns = last - unit < wide ? last - unit : wide;
        multiply(s, t, b, x);
    }
}

/* Rows of x of a block, all groups of them, as f32. */
static const float *widen_rows(const takt_step *s, const takt_task *t, size_t row, size_t rows,
                               float *to)
{
    const takt_conv_product *f = s->data;
    const takt_convert how = {.to = TAKT_F32, .from = f->memory.dtype};
    const size_t width = f->shape.x_at[2];
    f->memory.convert(&how, to, (const uint16_t *)takt_view_data(t, &s->in[0]) + row * width,
                      rows * width);
    return to;
}

/* The inputs of rows [first, end) of one line, with its border. */
static const float *pad_line(const takt_conv_shape *c, const float *x, size_t first, size_t end,
                             float *to)
{
    const size_t from = first * c->stride[2], width = c->x_at[2];
    const size_t count = (end - 1 - first) * c->stride[2] + c->kernel[2];
    const size_t border = c->before[2] > from ? c->before[2] - from : 0;
    const size_t lead = border < count ? border : count, at = from + lead - c->before[2];
    const size_t left = at < c->in[2] ? c->in[2] - at : 0;
    const size_t inside = left < count - lead ? left : count - lead;
    memset(to, 0, lead * width * sizeof *to);
    if (inside > 0)
        memcpy(to + lead * width, x + at * width, inside * width * sizeof *to);
    memset(to + (lead + inside) * width, 0, (count - lead - inside) * width * sizeof *to);
    return to;
}

static const char *packed_weights(const takt_step *s, const takt_task *t)
{
    const takt_conv_product *f = s->data;
    return f->is_packed ? takt_view_data(t, &s->in[f->w]) : (const char *)t->scratch + f->packed_at;
}

void takt_conv_product_run(const takt_step *s, const takt_task *t)
{
    const takt_conv_product *f = s->data;
    const takt_conv_shape *c = &f->shape;
    size_t first, end, unit, last;
    const size_t column = takt_cut_column(&f->cut, t->index);
    takt_cpu_share(c->batch * c->positions, f->cut.grain, takt_cut_row(&f->cut, t->index),
                   f->cut.rows, &first, &end);
    if (c->groups > 1)
        takt_cpu_share(c->groups, 1, column, f->cut.columns, &unit, &last);
    else
        takt_panels_share(f->panels, c->cout, column, f->cut.columns, &unit, &last);
    const float *x = takt_conv_in(&f->memory, s, t, 0);
    const char *weights = packed_weights(s, t);
    float *patches = (float *)(void *)((char *)t->scratch_own + f->patches);
    const bool rounds = takt_conv_product_rounds(f);
    const bool is_whole = f->is_direct && !takt_conv_product_tiles(f);
    const size_t step = is_whole ? end - first : f->rows;
    const float *line =
        f->is_padded && first < end ? pad_line(c, x, first, end, patches) : x + first * f->row;
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row += step) {
        const size_t rows = end - row < step ? end - row : step;
        const float *direct = line + (row - first) * f->row;
        if (f->is_direct && rounds)
            direct = widen_rows(s, t, row, rows, patches);
        for (size_t g = c->groups > 1 ? unit : 0; g < (c->groups > 1 ? last : 1) && unit < last;
             g++) {
            block b = {.group = g,
                       .row = row,
                       .rows = rows,
                       .columns = c->cout,
                       .weights = weights + g * f->group_floats * f->narrow.bytes};
            if (!f->is_direct)
                takt_conv_patches(c, x, g, row, b.rows, patches);
            const float *from = f->is_direct ? direct + g * c->cin : patches;
            if (c->groups == 1)
                multiply_parts(s, t, &b, unit, last, from);
            else
                multiply(s, t, &b, from);
        }
        end_groups(s, t, row, rows, unit, last);
    }
}

void takt_conv_product_before(const takt_step *s, const takt_task *t)
{
    const takt_conv_product *f = s->data;
    if (takt_conv_product_rounds(f))
        takt_conv_widen_w(&f->memory, s, t);
    else
        takt_conv_widen(&f->memory, s, t);
    if (!f->is_packed)
        takt_conv_pack_weights(&f->shape, f->panels, takt_conv_in(&f->memory, s, t, 1),
                               (float *)(void *)((char *)t->scratch + f->packed_at));
}

void takt_conv_product_prepare(const takt_step *s, const takt_task *t)
{
    takt_conv_widen_x(&((const takt_conv_product *)s->data)->memory, s, t);
}

void takt_conv_product_after(const takt_step *s, const takt_task *t)
{
    takt_conv_narrow(&((const takt_conv_product *)s->data)->memory, s, t);
}
