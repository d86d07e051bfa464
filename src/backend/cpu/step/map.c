/* map.c - the step for element-wise nodes: one pass over memory, tile by tile. */
#include "backend/cpu/adam.h"
#include "backend/cpu/cost_model.h"
#include "backend/cpu/gelu_dx.h"
#include "backend/cpu/map_program.h"
#include "backend/cpu/pace.h"
#include "kernel/convert/convert.h"
#include "plan/execute.h"
#include "plan/finish.h"

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 && n->op != &takt_op_broadcast)
        return "";
    return takt_map_accepts(g, node);
}

/* In narrower types the lowering rounds after each operation, and kernels once. */
static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return (n->op == &takt_op_hard_swish || n->op == &takt_op_silu) &&
           (n->type->dtype == TAKT_F32 || n->type->dtype == TAKT_F64);
}

/* Operands in 16 bits are widened tile by tile. */
static bool converts(const takt_graph *g, takt_id node, uint32_t k)
{
    return takt_type_of(g, g->nodes[node].in[k])->dtype == TAKT_F32;
}

static void run(const takt_step *step, const takt_task *task)
{
    const takt_map_program *m = step->data;
    size_t first, end;
    takt_cpu_share(m->count, TAKT_MAP_TILE, task->index, step->task_count, &first, &end);
    takt_map_run(m, step, task, task->scratch_own, first, end);
}

/* Any strides are supported; values in narrow types are widened on the way. */
static bool reads_view(const takt_step *s, size_t in, const int64_t *stride)
{
    (void)s;
    (void)in;
    (void)stride;
    return true;
}

/* ---- an update by Adam ---- */

static bool has_view(const takt_step *s, const takt_task *t)
{
    for (size_t i = 0; i < s->in_count; i++)
        if (takt_view_stride(t, &s->in[i]) != NULL)
            return true;
    return false;
}

static void run_adam(const takt_step *s, const takt_task *t)
{
    const takt_adam_facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->program->count, TAKT_MAP_TILE, t->index, s->task_count, &first, &end);
    if (has_view(s, t))
        takt_map_run(f->program, s, t, t->scratch_own, first, end);
    else
        takt_adam_run(f, s, t, first, end);
}

static takt_status use_adam(takt_planner *p, const takt_map_program *m)
{
    takt_adam_facts found, *f;
    if (!takt_adam_find(p, m, &found))
        return TAKT_OK;
    if ((f = takt_planner_get(p, sizeof *f)) == NULL)
        return TAKT_ERR_MEMORY;
    *f = found;
    p->step->kernel = NULL; /* the program's, which runs only for bound views */
    f->run = takt_kernel_as_adam_f32(takt_planner_kernel(p, "adam_f32"));
    p->step->run = run_adam;
    p->step->data = f;
    return TAKT_OK;
}

/* ---- the gradient of gelu ---- */

static void run_gelu_dx(const takt_step *s, const takt_task *t)
{
    const takt_gelu_dx_facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->program->count, TAKT_MAP_TILE, t->index, s->task_count, &first, &end);
    if (has_view(s, t))
        takt_map_run(f->program, s, t, t->scratch_own, first, end);
    else
        takt_gelu_dx_run(f, s, t, first, end);
}

static takt_status use_gelu_dx(takt_planner *p, const takt_map_program *m)
{
    takt_gelu_dx_facts found, *f;
    if (!takt_gelu_dx_find(p, m, &found))
        return TAKT_OK;
    if ((f = takt_planner_get(p, sizeof *f)) == NULL)
        return TAKT_ERR_MEMORY;
    *f = found;
    p->step->kernel = NULL; /* the program's, which runs only for bound views */
    f->run = takt_kernel_as_gelu_dx_f32(takt_planner_kernel(p, "gelu_dx_f32"));
    p->step->run = run_gelu_dx;
    p->step->data = f;
    return TAKT_OK;
}

/* ---- a conversion by itself ---- */

typedef struct cast {
    takt_convert_fn *convert;
    takt_convert how;
    size_t count, from, to; /* elements; bytes of one */
} cast;

static void run_cast(const takt_step *s, const takt_task *t)
{
    const cast *c = s->data;
    size_t first, end;
    takt_cpu_share(c->count, TAKT_MAP_TILE, t->index, s->task_count, &first, &end);
    takt_pace_convert(t, c->convert, &c->how, (char *)takt_view_data(t, &s->out[0]) + first * c->to,
                      (const char *)takt_view_data(t, &s->in[0]) + first * c->from, end - first);
}

/* Types of whole bytes, at least one of them narrow: a tile program would widen them first. */
static bool is_cast(const takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    if (p->group->count != 1 || n->op != &takt_op_cast)
        return false;
    const int to = takt_dtype_bits(n->type->dtype),
              from = takt_dtype_bits(takt_type_of(p->graph, n->in[0])->dtype);
    return to >= 8 && from >= 8 && (to == 16 || from == 16);
}

static takt_status compile_cast(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    takt_step *s = p->step;
    cast *c = takt_planner_get(p, sizeof *c);
    size_t index;
    if (c == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, p->group->nodes[0], &index));
    const takt_attr *saturate = takt_node_attr(n, "saturate");
    c->how = (takt_convert){.to = n->type->dtype,
                            .from = s->in[0].dtype,
                            .saturate = saturate == NULL || saturate->boolean};
    (void)takt_type_count(n->type, &c->count);
    c->from = (size_t)takt_dtype_bits(c->how.from) / 8;
    c->to = (size_t)takt_dtype_bits(c->how.to) / 8;
    c->convert = takt_kernel_as_convert(takt_planner_kernel(p, "convert"));
    s->data = c;
    s->run = run_cast;
    s->task_count = takt_cpu_tasks(p, (double)c->count, (double)(c->count * (c->from + c->to)),
                                   (c->count + TAKT_MAP_TILE - 1) / TAKT_MAP_TILE);
    return TAKT_OK;
}

static double written(const takt_step *s)
{
    double bytes = 0;
    for (size_t i = 0; i < s->out_count; i++) {
        double count = takt_dtype_bits(s->out[i].dtype) / 8.0;
        for (int d = 0; d < s->out[i].rank; d++)
            count *= (double)s->out[i].dim[d];
        bytes += count;
    }
    return bytes;
}

/* Work that only moves bytes stalls when a task begins, because the task's description has left the
 * caches. With few threads, tasks are therefore 4 MB; with many they are small, since some threads
 * are slower. */
static size_t longer_tasks(const takt_planner *p, size_t tasks, double flops, double bytes)
{
    enum { MANY_THREADS = 8, LEAST_BYTES = 4 << 20 };
    const takt_cost_model *w = takt_cost_model_of(p->step->isas);
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const bool moves = takt_cost_model_us(w, flops, 0) < takt_cost_model_us(w, 0, bytes);
    if (!moves || threads >= MANY_THREADS || tasks <= threads)
        return tasks;
    const size_t each = (size_t)(bytes / LEAST_BYTES) / threads, now = tasks / threads;
    return threads * (each < 1 ? 1 : each < now ? each : now);
}

static takt_status compile(takt_planner *p)
{
    enum { PACE = 4 }; /* how many times slower operations are than those of products */
    if (is_cast(p))
        return compile_cast(p);
    takt_map_program *m;
    TAKT_TRY(takt_map_compile(p, p->group->nodes, p->group->count, TAKT_NONE, &m));
    takt_step *s = p->step;
    double bytes = 0;
    takt_cost cost = {0};
    for (size_t i = 0; i < p->group->count; i++)
        takt_add_cost(p->graph, p->group->nodes[i], &cost);
    for (size_t i = 0; i < m->operand_count; i++)
        bytes += (double)m->count * m->operands[i].bytes;
    s->run = run;
    s->reads_view = reads_view;
    s->data = m;
    TAKT_TRY(use_adam(p, m));
    TAKT_TRY(use_gelu_dx(p, m));
    s->scratch_each = takt_map_scratch(m);
    s->can_fault = m->can_fault;
    s->fault_id = TAKT_E_DIVIDE;
    const double flops = PACE * cost.flops, moved = bytes + written(s);
    s->task_count = takt_cpu_tasks(p, flops, bytes, (m->count + TAKT_MAP_TILE - 1) / TAKT_MAP_TILE);
    s->task_count = longer_tasks(p, s->task_count, flops, moved);
    if (s->task_count == 1)
        s->task_count = takt_cpu_reversible_parts(p, moved, m->count / TAKT_MAP_TILE);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_map = {.is_steady = true,
                                    .name = "map",
                                    .work = TAKT_WORK_MAP,
                                    .is_cheap = true,
                                    .family = TAKT_FAMILY_MAP,
                                    .accepts = accepts,
                                    .keeps = keeps,
                                    .converts = converts,
                                    .compile = compile};
