/* check.c - copies a value and checks that all conditions hold. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "base/ctx.h"
#include "op/record/check.h"
#include "op/util/demand.h"
#include "plan/execute.h"

typedef struct facts {
    takt_ctx *ctx;
    const takt_node *node;
    size_t bytes, count; /* of x; of the conditions */
    bool has_values;     /* x has floats, one for each condition */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_check ? NULL : "";
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const void *x = takt_view_data(t, &s->in[0]);
    const uint8_t *ok = takt_view_data(t, &s->in[1]);
    void *out = takt_view_data(t, &s->out[0]);
    char text[TAKT_DEMAND_TEXT];
    if (out != x && f->bytes > 0)
        takt_pace_copy(t, out, x, f->bytes);
    const uint8_t *bad = NULL;
    for (size_t i = 0; bad == NULL && i < f->count && (i == 0 || !takt_poll_stops(t->poll));
         i += TAKT_PACE)
        bad = memchr(ok + i, 0, f->count - i < TAKT_PACE ? f->count - i : TAKT_PACE);
    if (bad == NULL)
        return;
    const size_t at = (size_t)(bad - ok);
    takt_error *error = t->execution != NULL ? t->execution->error : &f->ctx->error;
    takt_error_set(error, takt_demand_id(f->node), "%s",
                   takt_demand_text(
                       f->node, at,
                       f->has_values ? takt_dtype_get_f(f->node->type->dtype, x, at) : NAN, text));
    takt_fault_merge(t->fault, &(takt_fault){.index = at});
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index, count;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output_over(p, id, 0, &index));
    const takt_type *ok = takt_type_of(p->graph, n->in[1]);
    if (!takt_type_bytes(n->type, &f->bytes) || !takt_type_count(n->type, &count) ||
        !takt_type_count(ok, &f->count))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "check: the value is too large");
    f->ctx = p->ctx;
    f->node = n;
    f->has_values = takt_dtype_is_float(n->type->dtype) && count == f->count;
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_check = {
    .name = "check", .family = TAKT_FAMILY_MOVE, .accepts = accepts, .compile = compile};
