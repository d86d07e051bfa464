/* ggml_pack.c - weights in ggml's block formats as panels, for the steps that read them. */
#include "backend/cpu/ggml_pack.h"

#include "backend/cpu/conv/run.h"
#include "base/size.h"

static takt_status fill(void *user, const void *from, void *to)
{
    takt_ggml_rows rows = ((const takt_ggml_operand *)user)->rows;
    rows.src = from;
    takt_ggml_pack(&rows, to);
    return TAKT_OK;
}

takt_status takt_ggml_operand_add(takt_planner *p, takt_id node, takt_ggml_format format,
                                  bool packs_late, takt_ggml_operand *o)
{
    const takt_type *t = takt_type_of(p->graph, node);
    const size_t blocks = (size_t)t->dim[1] / takt_ggml_formats[format].bytes;
    size_t bytes;
    o->rows = (takt_ggml_rows){.format = format, .n = (size_t)t->dim[0], .blocks = blocks};
    if (!takt_size_mul(takt_ggml_panels(o->rows.n), takt_ggml_panel_block(format), &bytes) ||
        !takt_size_mul(bytes, blocks, &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "panels of %s are too large",
                         takt_ggml_formats[format].name);
    o->is_packed = !takt_ggml_has_panels(format);
    if (o->is_packed) /* it is read as it is */
        return takt_planner_input(p, node, &o->in);
    o->is_packed = takt_planner_is_constant(p, node) && !takt_planner_in_prologue(p);
    if (!o->is_packed) {
        o->packed_at = packs_late ? takt_conv_reserve(p->step, bytes) : 0;
        return takt_planner_input(p, node, &o->in);
    }
    const char *name = takt_planner_same_text(p, "ggml-%s p16 n=%zu blocks=%zu",
                                              takt_ggml_formats[format].name, o->rows.n, blocks);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    return takt_planner_packed(p, node, name, bytes, fill, o, &o->in);
}

void takt_ggml_operand_before(const takt_ggml_operand *o, const takt_step *s, const takt_task *t)
{
    takt_ggml_rows rows = o->rows;
    rows.src = takt_view_data(t, &s->in[o->in]);
    if (!o->is_packed)
        takt_ggml_pack(&rows, (char *)t->scratch + o->packed_at);
}

const uint8_t *takt_ggml_operand_at(const takt_ggml_operand *o, const takt_step *s,
                                    const takt_task *t)
{
    return o->is_packed ? takt_view_data(t, &s->in[o->in])
                        : (const uint8_t *)t->scratch + o->packed_at;
}
