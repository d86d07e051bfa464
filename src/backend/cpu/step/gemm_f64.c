/* gemm_f64.c - products of f64 matrices. */
#include "kernel/gemm_f64/gemm_f64.h"
#include "backend/cpu/matrix.h"
#include "backend/cpu/narrow.h"
#include "kernel/convert/convert.h"
#include "kernel/pack/pack.h"

#define real double
#define REAL TAKT_F64
#define GEMM(x) takt_gemm_f64##x
#define FAMILY "gemm_f64"
#define AS_GEMM takt_kernel_as_gemm_f64
#define FORMATS                                                                                    \
    {                                                                                              \
        "panels", "panels-t"                                                                       \
    }

/* Nothing is fused after it. */
typedef struct ending {
    size_t output;
} ending;
typedef struct ending_place {
    const takt_step *step;
    const takt_task *task;
    void *registers;
    size_t row, column;
} ending_place;
typedef struct ending_room {
    takt_epilogue_f64 epilogue;
} ending_room;

static takt_status ending_compile(takt_planner *p, size_t columns, ending *e)
{
    (void)columns;
    return takt_planner_output(p, p->group->nodes[0], &e->output);
}

static size_t ending_scratch(const ending *e)
{
    (void)e;
    return 0;
}

static const takt_epilogue_f64 *ending_use(const ending *e, const ending_place *place,
                                           ending_room *room)
{
    (void)e;
    (void)place;
    (void)room;
    return NULL;
}

static void ending_run(takt_gemm_f64_fn *run, takt_gemm_f64 *g, const takt_epilogue_f64 *e)
{
    g->epilogue = e;
    run(g);
}

static const takt_kernel *fast_kernel(takt_planner *p, takt_id weights, const takt_product *mm,
                                      takt_narrow *n)
{
    (void)p;
    (void)weights;
    (void)mm;
    (void)n;
    return NULL;
}

/* There are no narrow weights of f64. */
static void use_packed(takt_gemm_f64 *g, const takt_narrow *n, const void *data, size_t columns,
                       takt_gemm_stored *room)
{
    (void)n;
    (void)columns;
    (void)room;
    g->b = data;
}

#include "backend/cpu/gemm_body.inc"

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_matmul && takt_type_of(g, node)->dtype == TAKT_F64 ? NULL
                                                                                            : "";
}

const takt_cpu_kind takt_cpu_gemm_f64 = {
    .name = "gemm", .family = TAKT_FAMILY_GEMM, .accepts = accepts, .compile = compile};
