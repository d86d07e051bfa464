/* ggml_matmul_i8.c - product of floats, rounded to 8 bits by blocks, with weights in ggml's block
 * formats.
 *
 * Each block of a row of a, as long as a block of b, is rounded to multiples of max |a| / 127.
 * Products with whole numbers are exact then: kernel/ggml_i8/ggml_i8.h says in which order they are
 * summed.
 */
#include "kernel/ggml_i8/ggml_i8.h"
#include "op/util/bound.h"
#include "op/util/check.h"
#include "op/util/ggml.h"
#include "op/util/make.h"

enum { A, B };

/* Memory of one evaluation. */
typedef struct room {
    float *x, *y; /* all rows, and a column of the result */
    uint8_t *column, *panel;
    char *rounded;
} room;

static takt_status get_room(takt_eval *e, const takt_ggml_i8_info *how, size_t m, size_t blocks,
                            room *r)
{
    enum { LINE = 64 };
    const takt_ggml_format format = (takt_ggml_format)e->attr[0].i64;
    const size_t bytes = how->bytes(format, m, blocks);
    r->x = takt_arena_array(e->scratch, m * blocks * takt_ggml_formats[format].weights + 1, 4);
    r->y = takt_arena_array(e->scratch, m + 1, sizeof *r->y);
    r->column = takt_arena_array(e->scratch, blocks * takt_ggml_formats[format].bytes + 1, 1);
    r->panel = takt_arena_array(e->scratch, blocks * takt_ggml_panel_block(format) + 1, 1);
    char *rounded = takt_arena_array(e->scratch, bytes + LINE, 1);
    if (r->x == NULL || r->y == NULL || r->column == NULL || r->panel == NULL || rounded == NULL)
        return TAKT_ERR_MEMORY;
    r->rounded = rounded + (LINE - (uintptr_t)rounded % LINE) % LINE;
    return TAKT_OK;
}

/* The scalar kernel is the definition: its order of sums is a part of it. */
static takt_status eval(takt_eval *e)
{
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    const takt_kernel *k = takt_kernel_find("ggml_i8", scalar, NULL, 0, NULL);
    const takt_ggml_format format = (takt_ggml_format)e->attr[0].i64;
    const takt_array *a = &e->in[A], *b = &e->in[B];
    const size_t n = (size_t)b->dim[0], bytes = (size_t)b->dim[1],
                 m = n > 0 ? e->out[0].count / n : 0;
    const size_t blocks = bytes / takt_ggml_formats[format].bytes;
    const takt_ggml_i8_info *how = k->info;
    room r;
    TAKT_TRY(get_room(e, how, m, blocks, &r));
    for (size_t i = 0; i < a->count; i++)
        r.x[i] = (float)a->f[i];
    const size_t width = blocks * takt_ggml_formats[format].weights;
    how->round(&(takt_ggml_round){format, m, blocks, 0, m, r.x, width, r.rounded});
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < bytes; i++)
            r.column[i] = (uint8_t)b->i[j * bytes + i];
        const bool packs = takt_ggml_has_panels(format);
        if (packs)
            takt_ggml_pack(&(takt_ggml_rows){format, 1, blocks, r.column}, r.panel);
        takt_kernel_as_ggml_i8(k)(
            &(takt_ggml_i8){format, m, 1, blocks, packs ? r.panel : r.column, r.rounded, r.y, 1});
        for (size_t i = 0; i < m; i++)
            e->out[0].f[i * n + j] = (double)r.y[i];
    }
    return TAKT_OK;
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *cost)
{
    const takt_type *a = takt_type_of(g, n->in[A]);
    const takt_dim inner = a->dim[a->rank - 1];
    cost->flops = 2 * takt_make_count(&n->type[0]) * (double)(inner > 0 ? inner : 0);
    cost->bytes = takt_make_bytes(g, n);
}

const takt_op takt_op_ggml_matmul_i8 = {
    .name = "ggml_matmul_i8",
    .summary = "product of rows rounded to 8 bits by blocks with weights [n, k] in one of ggml's "
               "block formats",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"a", "b"},
    .attrs = {{.name = "format",
               .type = TAKT_ATTR_ENUM,
               .names = takt_ggml_names,
               .is_required = true,
               .summary = "ggml's name of the type"}},
    .traits = TAKT_PRIMITIVE,
    .dtypes = TAKT_IN(TAKT_F32) | TAKT_IN(TAKT_U8),
    .is_mixed = true,
    .infer = takt_ggml_product,
    .eval = eval,
    .no_gradient = "activations are rounded",
    .cost = cost,
    .no_bound = "bytes of blocks are no numbers",
    .samples = {"ggml_matmul_i8(f32[3, 64], u8[5, 40] in (0, 60), format=q4_1)",
                "ggml_matmul_i8(f32[20, 32], u8[33, 34] in (0, 60), format=q8_0)",
                "ggml_matmul_i8(f32[2, 3, 512], u8[17, 352] in (0, 60), format=q5_k)",
                "ggml_matmul_i8(f32[4, 256], u8[9, 136] in (0, 60), format=iq4_xs)",
                "ggml_matmul_i8(f32[2, 96], u8[19, 51] in (90, 130), format=mxfp4)",
                "ggml_matmul_i8(f32[3, 256], u8[17, 66] in (0, 60), format=iq2_xxs)",
                "ggml_matmul_i8(f32[256], u8[5, 110] in (0, 60), format=iq3_s)",
                "ggml_matmul_i8(f32[2, 128], u8[19, 72] in (0, 60), format=nvfp4)"},
};
