/* integer_image.c - convolutions of bytes that read a private image instead of patches.
 *
 * A task copies the rows of x that a block of its outputs needs, with the zero point around them,
 * and multiplies them in place, or packs them straight from there.
 */
#include "backend/cpu/conv/integer_image.h"

#include "backend/cpu/conv/images.h"

typedef struct facts {
    takt_integer integer;
    takt_image image;
    size_t image_at, zeros; /* offsets in a worker's scratch; the kernel's comes first */
} facts;

bool takt_integer_image_fits(const takt_planner *p, const takt_conv_shape *s,
                             const takt_gemm_i8_info *info)
{
    const bool has_blocks = p->settings->is_blocked && p->settings->blocking.rows > 0;
    return !has_blocks && takt_image_fits(s, takt_i8_image_multiple(info, s->cout));
}

static void multiply(const takt_step *s, const takt_task *t, takt_image_rows of, size_t column,
                     size_t columns)
{
    const facts *f = s->data;
    const takt_conv_shape *c = &f->image.shape;
    char *own = t->scratch_own;
    const takt_i8_image image = {.data = (const uint8_t *)own + f->image_at,
                                 .width = c->out[2],
                                 .pitch = f->image.pitch,
                                 .channels = c->cin,
                                 .at = f->image.at};
    const size_t at = of.row * c->out[2] * c->cout + column;
    const takt_integer_block b = {.step = s,
                                  .task = t,
                                  .image = &image,
                                  .flip = f->image.flip,
                                  .rows = of.rows * c->out[2],
                                  .column = column,
                                  .columns = columns,
                                  .c = (char *)takt_view_data(t, &s->out[0]) +
                                       at * f->integer.result_bytes,
                                  .ldc = c->cout,
                                  .scratch = own,
                                  .zeros = (int32_t *)(void *)(own + f->zeros)};
    takt_integer_product(&f->integer, &b);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[f->integer.in[TAKT_INTEGER_A]]);
    const int zero = (uint8_t)takt_integer_a_zero(&f->integer, s, t);
    const takt_cut cut = f->image.cut;
    size_t column, last;
    takt_cpu_share(f->image.shape.cout, 16, takt_remainder(t->index, cut.columns), cut.columns,
                   &column, &last);
    takt_image_rows rest = takt_image_share(&f->image, t->index);
    while (rest.rows > 0 && column < last) {
        const takt_image_rows of = takt_image_block(&f->image, rest);
        takt_image_fill(&f->image, x, of, zero, (char *)t->scratch_own + f->image_at);
        multiply(s, t, of, column, last - column);
        rest.row += of.rows;
        rest.rows -= of.rows;
    }
}

static void before(const takt_step *s, const takt_task *t)
{
    takt_integer_pack(&((const facts *)s->data)->integer, s, t);
}

/* The most for any block: fewer rows may need more. */
static size_t kernel_bytes(const facts *f)
{
    const takt_conv_shape *c = &f->image.shape;
    const takt_i8_image image = {.width = c->out[2], .pitch = f->image.pitch, .channels = c->cin};
    size_t most = 0;
    for (size_t rows = 1; rows <= f->image.rows; rows++) {
        const takt_gemm_i8 g = {.m = rows * c->out[2], .n = c->cout, .k = c->k, .image = &image};
        const size_t bytes = f->integer.info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

takt_status takt_integer_image_compile(takt_planner *p, const takt_conv_shape *s,
                                       const takt_integer *n)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    f->integer = *n;
    f->image =
        (takt_image){.shape = *s, .from_bytes = 1, .to_bytes = 1, .flip = takt_integer_flip(n)};
    TAKT_TRY(takt_image_plan(p, &f->image, TAKT_I8_BEYOND));
    const double operations =
        2.0 * (double)(s->batch * s->positions) * (double)s->k * (double)s->cout;
    takt_image_cut(p, &f->image, (s->cout + 15) / 16, operations / 4,
                   (double)s->k * (double)s->cout);
    f->image_at = kernel_bytes(f);
    f->zeros = f->image_at + takt_cpu_aligned(f->image.bytes);
    p->step->scratch_each = f->zeros + takt_integer_zeros_bytes(&f->integer, s->cout);
    p->step->data = f;
    p->step->run = run;
    p->step->before = f->integer.is_packed ? NULL : before;
    p->step->task_count = f->image.cut.rows * f->image.cut.columns;
    return TAKT_OK;
}
