/* step_product.c - products of f32 matrices. */
#include "backend/cpu/matrix.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

bool takt_cuda_set_batches(const takt_product *mm, takt_cuda_gemm *g)
{
    int64_t dim[TAKT_MAX_RANK], a[TAKT_MAX_RANK], b[TAKT_MAX_RANK];
    const int64_t a_each = (int64_t)(mm->m * mm->k), b_each = (int64_t)(mm->k * mm->n);
    int rank = 0;
    for (int d = 0; d < mm->batch_rank; d++) {
        if (mm->batch_dim[d] == 1)
            continue;
        if (rank > 0 && a[rank - 1] == mm->a_batch[d] * mm->batch_dim[d] &&
            b[rank - 1] == mm->b_batch[d] * mm->batch_dim[d]) {
            dim[rank - 1] *= mm->batch_dim[d];
            a[rank - 1] = mm->a_batch[d];
            b[rank - 1] = mm->b_batch[d];
            continue;
        }
        dim[rank] = mm->batch_dim[d];
        a[rank] = mm->a_batch[d];
        b[rank++] = mm->b_batch[d];
    }
    g->inner = rank > 0 ? (uint32_t)dim[rank - 1] : 1;
    g->a_inner = rank > 0 ? a[rank - 1] * a_each : 0;
    g->b_inner = rank > 0 ? b[rank - 1] * b_each : 0;
    g->a_outer = rank > 1 ? a[0] * a_each : 0;
    g->b_outer = rank > 1 ? b[0] * b_each : 0;
    g->c_inner = (int64_t)(mm->m * mm->n);
    g->c_outer = g->c_inner * g->inner;
    return rank <= 2;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    enum { BATCHES = 65535 };
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_matmul)
        return "";
    if (n->type->dtype != TAKT_F32 || takt_type_of(g, n->in[0])->dtype != TAKT_F32 ||
        takt_type_of(g, n->in[1])->dtype != TAKT_F32)
        return "device code for products computes f32 only";
    const takt_product mm = takt_product_of(g, node);
    takt_cuda_gemm as;
    if (mm.m == 0 || mm.n == 0 || mm.k == 0 || mm.batch == 0)
        return "there is nothing to multiply";
    if (mm.m >= INT32_MAX || mm.n >= INT32_MAX || mm.k >= INT32_MAX || mm.batch > BATCHES)
        return "a product larger than a grid of the device";
    return takt_cuda_set_batches(&mm, &as) ? NULL : "batches that broadcast in more than two ways";
}

/* A softmax over the rows of a small product, whose blocks have whole rows: saves a launch, which
 * takes as long as the product. At most a bias may come between them. */
static const char *continues(const takt_planner *p, const takt_group *group, takt_id node)
{
    enum { ROWS = 32, DEEPEST = 1 << 14 };
    const takt_graph *g = p->graph;
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_softmax || takt_cuda_rows_kind.accepts(g, node) != NULL)
        return "";
    const takt_product mm = takt_product_of(g, group->nodes[0]);
    if (mm.batch != 1 || mm.m > ROWS || mm.n > TAKT_CUDA_GEMM_FEW_COLS || mm.k > DEEPEST)
        return "a block of the product has parts of rows";
    return group->count == 1 ||
                   (group->count == 2 &&
                    takt_cuda_adds_row(g, &g->nodes[group->nodes[1]], group->nodes[0], mm.n))
               ? NULL
               : "there is more than a bias between them";
}

static uint64_t turned_at(const takt_cuda_gemm_plan *plan)
{
    return takt_round_up(plan->scratch_bytes, 256);
}

static uint64_t turned_end(const takt_cuda_gemm *g, const takt_cuda_gemm_plan *plan)
{
    return turned_at(plan) + (uint64_t)g->m * g->k * sizeof(float);
}

/* Whether the product takes less time with A transposed first, and there is memory for that; then
 * `lined` is the product of it. */
static bool is_faster_turned(const takt_planner *p, const takt_cuda_gemm *g,
                             const takt_cuda_block_room *has, takt_cuda_gemm *lined)
{
    if (p->settings->hint == TAKT_HINT_MEMORY || !takt_cuda_gemm_lines(g, has, lined))
        return false;
    const takt_cuda_gemm_plan plan = takt_cuda_gemm_plan_of(lined, 1, has, TAKT_CUDA_GEMM_ANY);
    return turned_end(lined, &plan) <= p->scratch_room;
}

/* A, after the rest of the scratch, as lines of each k. */
static void add_transposed(takt_planner *p, takt_cuda_gemm *g, const takt_cuda_gemm_plan *plan,
                           takt_cuda_step *s)
{
    takt_cuda_transpose t = {.dst = takt_cuda_named(TAKT_CUDA_SCRATCH, turned_at(plan)),
                             .src = g->a,
                             .src_row = (int64_t)g->k,
                             .rows = g->m,
                             .cols = g->k,
                             .inner = 1};
    g->a = t.dst;
    p->step->scratch_bytes = turned_end(g, plan);
    takt_cuda_launch_transpose(&t, 1, &s->launches[s->count++]);
}

takt_status takt_cuda_product_step(takt_planner *p, takt_cuda_gemm *g, uint32_t batches,
                                   size_t columns, const takt_cuda_fours *fours)
{
    const takt_cuda_block_room has = takt_cuda_room(p);
    const takt_id last = p->group->nodes[p->group->count - 1];
    const int64_t bias_batch = g->end.bias_batch;
    takt_cuda_step *s;
    size_t index, taken;
    TAKT_TRY(takt_cuda_step_get(p, TAKT_CUDA_LAUNCHES + 1, &s));
    TAKT_TRY(takt_cuda_epilogue_of(p, columns, &g->end, &taken));
    g->end.bias_batch = bias_batch;
    g->end.residual_row = g->c_row;
    g->end.residual_batch = g->c_inner;
    g->is_softmax = p->group->anchor > 0; /* the only one that continues a product */
    taken += g->is_softmax;
    takt_cuda_gemm lined;
    const bool is_turned = fours == NULL && batches == 1 && is_faster_turned(p, g, &has, &lined);
    if (is_turned)
        *g = lined;
    const takt_cuda_gemm_plan plan = takt_cuda_gemm_plan_of(g, batches, &has, TAKT_CUDA_GEMM_ANY);
    if (plan.way == SIZE_MAX)
        return takt_fail(p->ctx, TAKT_E_INTERNAL, "a product that no device kernel computes");
    p->step->scratch_bytes = plan.scratch_bytes;
    p->step->facts.work = TAKT_WORK_PRODUCT;
    s->count = 0;
    if (fours != NULL) {
        const uint64_t at = takt_round_up(plan.scratch_bytes, 256);
        takt_cuda_fours f = *fours;
        g->a = f.dst = takt_cuda_named(TAKT_CUDA_SCRATCH, at);
        p->step->scratch_bytes = at + f.count * 4 * sizeof(float);
        takt_cuda_launch_fours(&f, &s->launches[s->count++]);
    }
    if (is_turned)
        add_transposed(p, g, &plan, s);
    takt_cuda_launch_gemm(g, batches, &plan, takt_cuda_named(TAKT_CUDA_SCRATCH, 0),
                          takt_cuda_named(TAKT_CUDA_TICKETS, 0), &s->launches[s->count]);
    takt_cuda_name_step(p, &s->launches[s->count++]);
    if (taken + 1 == p->group->count)
        return takt_planner_output(p, last, &index);
    return takt_cuda_map_after(p, taken + 1, &s->launches[s->count++]);
}

/* B unchanged, or packed if it is a constant that device code would read slowly. */
static takt_status add_b(takt_planner *p, takt_id b, const takt_product *mm, takt_cuda_gemm *g)
{
    size_t index;
    const size_t columns = takt_cuda_columns(mm->n);
    const bool is_slow = mm->b_col != 1 || columns != mm->n;
    g->keeps_b = takt_planner_is_constant(p, b) && !takt_planner_in_prologue(p);
    if (!is_slow || !g->keeps_b) {
        TAKT_TRY(takt_planner_input(p, b, &index));
        g->b = takt_cuda_in(index);
        return TAKT_OK;
    }
    const takt_cuda_matrices m = {.count = mm->b_matrices,
                                  .k = mm->k,
                                  .n = mm->n,
                                  .each = mm->k * mm->n,
                                  .row = mm->b_row,
                                  .col = mm->b_col};
    TAKT_TRY(takt_cuda_packed(p, b, &m, &index));
    g->b = takt_cuda_in(index);
    g->b_row = (int64_t)columns;
    g->b_col = 1;
    g->b_inner = g->b_inner / (int64_t)mm->n * (int64_t)columns;
    g->b_outer = g->b_outer / (int64_t)mm->n * (int64_t)columns;
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_product mm = takt_product_of(p->graph, id);
    size_t index;
    takt_cuda_gemm g = {.c = takt_cuda_out(0),
                        .m = (uint32_t)mm.m,
                        .n = (uint32_t)mm.n,
                        .k = (uint32_t)mm.k,
                        .a_row = (int64_t)mm.a_row,
                        .a_col = (int64_t)mm.a_col,
                        .b_row = (int64_t)mm.b_row,
                        .b_col = (int64_t)mm.b_col,
                        .c_row = (int64_t)mm.n};
    (void)takt_cuda_set_batches(&mm, &g);
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    g.a = takt_cuda_in(index);
    TAKT_TRY(add_b(p, n->in[1], &mm, &g));
    g.is_aligned =
        p->step->in[index].offset % 16 == 0 && p->step->in[p->step->in_count - 1].offset % 16 == 0;
    return takt_cuda_product_step(p, &g, (uint32_t)mm.batch, mm.n, NULL);
}

const takt_cuda_kind takt_cuda_product_kind = {.name = "gemm",
                                               .accepts = accepts,
                                               .absorbs = takt_cuda_absorbs,
                                               .continues = continues,
                                               .compile = compile};
