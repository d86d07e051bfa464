/* fixpoint.c - rules over sets of tuples; hash tables and indexes lie in planned scratch. */
#include "op/record/fixpoint.h"
#include "backend/cpu/cpu.h"
#include "base/ctx.h"
#include "ir/leaves.h"
#include "op/util/datalog.h"
#include "plan/execute.h"

typedef struct facts {
    takt_ctx *ctx;
    const takt_node *node;
    takt_dl program;
    takt_dl_plan plan;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_fixpoint ? NULL : "";
}

/* Whether the rows of an input are in order, as far as that is known before a run. */
static bool is_ordered(const takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    n = n->op == &takt_op_get ? &g->nodes[n->in[0]] : n;
    if (n->op == &takt_op_fixpoint)
        return true;
    const takt_tensor *t = n->op == &takt_op_constant ? n->attr[0].tensor : NULL;
    return t != NULL && t->storage != NULL &&
           takt_dl_ascends(takt_tensor_data(t), (size_t)t->type.dim[0], (size_t)t->type.dim[1]);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const uint32_t *in[TAKT_DL_RELATIONS];
    uint32_t *out[TAKT_DL_RELATIONS];
    char text[TAKT_DL_TEXT];
    for (size_t i = 0; i < s->in_count; i++)
        in[i] = takt_view_data(t, &s->in[i]);
    for (size_t i = 0; i < s->out_count; i++)
        out[i] = takt_view_data(t, &s->out[i]);
    const takt_dl_full full = takt_dl_run(&f->plan, in, out, t->scratch, t->poll, t->pool);
    if (full.relation < 0 || full.is_stopped)
        return;
    takt_error *error = t->execution != NULL ? t->execution->error : &f->ctx->error;
    takt_error_set(error, takt_dl_full_id(&full), "%s",
                   takt_dl_full_text(f->node, &f->plan, &full, text));
    takt_fault_merge(t->fault, &(takt_fault){.index = 0});
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t capacity[TAKT_DL_RELATIONS];
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    takt_planner_rigid(p);
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_outputs(p, id));
    f->ctx = p->ctx;
    f->node = n;
    TAKT_TRY(takt_dl_read(&p->plan->arena, n->attr[TAKT_DL_PROGRAM].string, &f->program));
    for (int i = 0; i < f->program.relations; i++)
        capacity[i] = i < f->program.derived
                          ? (size_t)n->type[i].dim[0]
                          : (size_t)takt_type_of(p->graph, n->in[i - f->program.derived])->dim[0];
    for (int i = f->program.derived; i < f->program.relations; i++)
        if (is_ordered(p->graph, n->in[i - f->program.derived]))
            f->program.ordered |= UINT32_C(1) << i;
    const size_t threads = (size_t)p->plan->threads;
    TAKT_TRY(takt_dl_prepare(&p->plan->arena, &f->program, capacity, threads, &f->plan));
    p->step->shares_pool = f->plan.workers > 1;
    p->step->scratch_bytes = f->plan.scratch_bytes;
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_fixpoint = {
    .name = "fixpoint", .family = TAKT_FAMILY_MOVE, .accepts = accepts, .compile = compile};
