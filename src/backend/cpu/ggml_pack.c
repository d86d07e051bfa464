/* ggml_pack.c - weights in ggml's block formats as panels, for the steps that read them. */
#include "backend/cpu/ggml_pack.h"

#include "backend/cpu/conv/run.h"
#include "base/size.h"

/* Panels [*begin, *end) of all matrices are part `index` of `count`. */
static void share(const takt_ggml_operand *o, size_t index, size_t count, size_t *begin,
                  size_t *end)
{
    const size_t all = takt_ggml_panels(o->rows.n) * o->matrices;
    const size_t each = all / count, more = all % count;
    *begin = index * each + (index < more ? index : more);
    *end = *begin + each + (index < more);
}

static size_t row_bytes(const takt_ggml_operand *o)
{
    return o->rows.blocks * takt_ggml_formats[o->rows.format].bytes;
}

/* Where the rows of a panel begin. */
static size_t row_of(const takt_ggml_operand *o, size_t panel)
{
    const size_t panels = takt_ggml_panels(o->rows.n);
    return panel / panels * o->rows.n + panel % panels * TAKT_GGML_PANEL;
}

static void span(const void *user, size_t index, size_t count, size_t bytes[2])
{
    const takt_ggml_operand *o = user;
    share(o, index, count, &bytes[0], &bytes[1]);
    bytes[0] = row_of(o, bytes[0]) * row_bytes(o);
    bytes[1] = row_of(o, bytes[1]) * row_bytes(o);
}

static takt_status pack_part(const void *user, const void *from, void *to, size_t index,
                             size_t count)
{
    const takt_ggml_operand *o = user;
    const size_t panels = takt_ggml_panels(o->rows.n);
    const size_t panel = o->rows.blocks * takt_ggml_panel_block(o->rows.format);
    size_t begin, end;
    share(o, index, count, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const size_t left = o->rows.n - i % panels * TAKT_GGML_PANEL;
        takt_ggml_rows rows = o->rows;
        rows.n = left < TAKT_GGML_PANEL ? left : TAKT_GGML_PANEL;
        rows.src =
            (const void *)((const char *)from + (row_of(o, i) - row_of(o, begin)) * row_bytes(o));
        takt_ggml_pack(&rows, (char *)to + i / panels * o->each + i % panels * panel);
    }
    return TAKT_OK;
}

static takt_status fill(void *user, const void *from, void *to)
{
    return pack_part(user, from, to, 0, 1);
}

/* Bytes of all panels; false: there are too many. */
static bool measure(takt_ggml_operand *o, size_t *bytes)
{
    const takt_ggml_rows *r = &o->rows;
    if (!takt_ggml_has_panels(r->format)) {
        o->each = r->n * r->blocks * takt_ggml_formats[r->format].bytes;
        *bytes = 0;
        return true;
    }
    return takt_size_mul(takt_ggml_panels(r->n), takt_ggml_panel_block(r->format), &o->each) &&
           takt_size_mul(o->each, r->blocks, &o->each) &&
           takt_size_mul(o->each, o->matrices, bytes);
}

takt_status takt_ggml_operand_add(takt_planner *p, takt_id node, takt_ggml_format format,
                                  bool packs_late, takt_ggml_operand *o)
{
    const takt_type *t = takt_type_of(p->graph, node);
    const takt_dim *dim = t->dim + t->rank - 2;
    const size_t blocks = (size_t)dim[1] / takt_ggml_formats[format].bytes;
    size_t bytes;
    o->rows = (takt_ggml_rows){.format = format, .n = (size_t)dim[0], .blocks = blocks};
    o->matrices = t->rank > 2 ? (size_t)t->dim[0] : 1;
    if (!measure(o, &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "panels of %s are too large",
                         takt_ggml_formats[format].name);
    o->is_packed = !takt_ggml_has_panels(format);
    if (o->is_packed) /* it is read in place */
        return takt_planner_input(p, node, &o->in);
    o->is_packed = takt_planner_is_constant(p, node) && !takt_planner_in_prologue(p);
    if (!o->is_packed) {
        o->packed_at = packs_late ? takt_conv_reserve(p->step, bytes) : 0;
        return takt_planner_input(p, node, &o->in);
    }
    const char *name =
        takt_planner_same_text(p, "ggml-%s p16 n=%zu blocks=%zu matrices=%zu",
                               takt_ggml_formats[format].name, o->rows.n, blocks, o->matrices);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    const takt_filler filler = {name, bytes, fill, pack_part, span};
    return takt_planner_packed_by(p, node, &filler, o, &o->in);
}

void takt_ggml_operand_before(const takt_ggml_operand *o, const takt_step *s, const takt_task *t)
{
    if (!o->is_packed)
        (void)pack_part(o, takt_view_data(t, &s->in[o->in]), (char *)t->scratch + o->packed_at, 0,
                        1);
}

const uint8_t *takt_ggml_operand_at(const takt_ggml_operand *o, const takt_step *s,
                                    const takt_task *t)
{
    return o->is_packed ? takt_view_data(t, &s->in[o->in])
                        : (const uint8_t *)t->scratch + o->packed_at;
}
