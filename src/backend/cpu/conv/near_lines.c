/* near_lines.c - some lines of outputs by the kernel that reads its inputs in place. */
#include "backend/cpu/conv/near_lines.h"

#include "backend/cpu/conv/finish.h"
#include "backend/cpu/conv/patch.h"

/* Adds one chunk of k after the other; the last one also applies the epilogue. */
static void sum_chunks(takt_conv_f32_fn *run, const takt_conv_f32 *c)
{
    for (size_t i = 0; i < c->k; i += TAKT_GEMM_CHUNK) {
        takt_conv_f32 part = *c;
        part.k = c->k - i < TAKT_GEMM_CHUNK ? c->k - i : TAKT_GEMM_CHUNK;
        if (i > 0) { /* there may be none */
            part.at += i;
            part.pick += part.pick != NULL ? i * TAKT_CONV_PANEL : 0;
        }
        part.w += i * takt_panels_columns(takt_near_panels, c->channels);
        part.adds = i > 0;
        if (i + TAKT_GEMM_CHUNK < c->k) {
            part.bias = NULL;
            part.relu = part.clips = part.adds_zero = false;
        }
        run(&part);
    }
}

void takt_near_lines_run(const takt_near_lines *l, const takt_step *s, const takt_task *t,
                         takt_conv_f32 *c, size_t row, size_t column)
{
    takt_conv_ending ending = takt_conv_end_at(&l->end, s, t, l->registers, row, column);
    takt_epilogue_f32 e;
    const bool ends = takt_conv_end_for(&ending, &e);
    const bool clips = takt_conv_end_clips(&l->end);
    const bool is_known =
        l->end.epilogue.residual < 0 && (clips || takt_conv_end_is_simple(&l->end));
    c->bias = is_known && ends ? e.bias : NULL;
    c->relu = is_known && l->end.epilogue.act == TAKT_GEMM_ACT_RELU;
    c->clips = clips;
    c->lo = l->end.lo;
    c->limit = clips ? l->end.hi : l->end.limit;
    if (c->y == NULL)
        c->y = (float *)takt_view_data(t, &s->out[0]) + row * c->ld + column;
    sum_chunks(l->run, c);
    const takt_conv_block block = {
        .y = c->y, .ld = c->ld, .rows = c->lines * c->columns, .columns = c->channels};
    if (ends && !is_known && !(l->is_part && e.is_late))
        takt_conv_finish(&e, &block);
    else if (ends && is_known && e.tail != NULL)
        e.tail(e.user, block.y, block.ld, 0, 0, block.rows, block.columns);
}

void takt_near_lines_end(const takt_near_lines *l, const takt_step *s, const takt_task *t,
                         const takt_conv_block *b, size_t column)
{
    const size_t ld = l->end.epilogue.columns;
    takt_conv_ending ending = takt_conv_end_at(&l->end, s, t, l->registers, b->row, column);
    takt_epilogue_f32 e;
    float *y = (float *)takt_view_data(t, &s->out[0]) + b->row * ld + column;
    if (takt_conv_end_for(&ending, &e) && e.is_late)
        e.tail(e.user, y, ld, 0, 0, b->rows, b->columns);
}

void takt_near_pack(const takt_conv_shape *shape, const float *from, float *to)
{
    takt_conv_shape s = *shape;
    s.k_row = s.k;
    takt_conv_pack_weights(&s, takt_near_panels, from, to);
}
