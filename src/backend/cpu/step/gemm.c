/* gemm.c - products of f32 matrices, with the epilogue applied to the hot tile; f16 and bf16 in
 * f32.
 */
#include "backend/cpu/epilogue.h"
#include "backend/cpu/matrix.h"
#include "backend/cpu/narrow.h"
#include "backend/cpu/table.h"
#include "kernel/convert/convert.h"
#include "kernel/pack/pack.h"

#define real float
#define REAL TAKT_F32
#define GEMM(x) takt_gemm_f32##x
#define FAMILY "gemm_f32"
#define AS_GEMM takt_kernel_as_gemm_f32
#define FORMATS                                                                                    \
    {                                                                                              \
        "panels", "panels-t"                                                                       \
    }

typedef takt_cpu_epilogue ending;
typedef takt_epilogue_run ending_place; /* but for its epilogue */
typedef struct ending_room {
    takt_epilogue_run run;
    takt_epilogue_f32 epilogue;
} ending_room;

static takt_status ending_compile(takt_planner *p, size_t columns, ending *e)
{
    return takt_epilogue_compile(p, columns, e);
}

static size_t ending_scratch(const ending *e)
{
    return takt_epilogue_scratch(e);
}

static const takt_epilogue_f32 *ending_use(const ending *e, const ending_place *place,
                                           ending_room *room)
{
    room->run = *place;
    room->run.epilogue = e;
    return takt_epilogue_f32_for(&room->run, &room->epilogue) ? &room->epilogue : NULL;
}

#define ending_run takt_epilogue_product
#define use_packed takt_narrow_use

static const takt_kernel *fast_kernel(takt_planner *p, takt_id weights, const takt_product *mm,
                                      takt_narrow *n)
{
    if (!takt_planner_is_constant(p, weights))
        return takt_narrow_computed(p, mm->m, n);
    return takt_narrow_fast(p, weights, mm->m, n);
}

#include "backend/cpu/gemm_body.inc"

takt_status takt_table_add(takt_planner *p, takt_id product, takt_table *t, size_t *index)
{
    facts *f = takt_planner_get(p, sizeof *f);
    const takt_isa_set isas = p->step->isas;
    size_t bytes;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    p->step->isas = p->settings->family_isas[TAKT_FAMILY_GEMM]; /* those of the product */
    const GEMM(_info) *info = takt_planner_find(p, FAMILY)->info;
    describe(p, product, f);
    p->step->isas = isas;
    f->panels = info->panels;
    if (!measure_packed(f, &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a packed matrix is too large");
    f->b_count = f->mm.n * f->mm.k;
    *t = (takt_table){f->panels, f->mm.n, f->mm.k, f->narrow.bytes};
    return add_packed(p, p->graph->nodes[product].in[1], f, index);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_dtype dtype = takt_type_of(g, node)->dtype;
    const bool mine = dtype == TAKT_F32 || dtype == TAKT_F16 || dtype == TAKT_BF16;
    return g->nodes[node].op == &takt_op_matmul && mine ? NULL : "";
}

/* Factors in f32 are rounded where they are widened. */
static bool converts(const takt_graph *g, takt_id node, uint32_t k)
{
    return takt_type_of(g, g->nodes[node].in[k])->dtype != TAKT_F32;
}

const takt_cpu_kind takt_cpu_gemm = {.is_steady = true,
                                     .name = "gemm",
                                     .work = TAKT_WORK_PRODUCT,
                                     .family = TAKT_FAMILY_GEMM,
                                     .accepts = accepts,
                                     .absorbs = takt_epilogue_absorbs,
                                     .converts = converts,
                                     .compile = compile};
