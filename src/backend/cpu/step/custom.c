/* custom.c - custom operations for which the caller registered a function. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/native.h"

enum { NAME };

typedef struct facts {
    const takt_op_def *def;
    const takt_tensor_view *in, *out; /* without data */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_custom && takt_native_find(g->ctx, n->attr[NAME].string) != NULL;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

static takt_tensor_view *describe(takt_planner *p, const takt_view *views, size_t count)
{
    takt_tensor_view *out = takt_planner_get(p, (count + 1) * sizeof *out);
    for (size_t i = 0; out != NULL && i < count; i++) {
        out[i].dtype = views[i].dtype;
        out[i].rank = views[i].rank;
        memcpy(out[i].dims, views[i].dim, sizeof out[i].dims);
    }
    return out;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_tensor_view *in = t->scratch, *out = in + s->in_count;
    for (size_t i = 0; i < s->in_count; i++) {
        in[i] = f->in[i];
        in[i].data = takt_view_data(t, &s->in[i]);
    }
    for (size_t i = 0; i < s->out_count; i++) {
        out[i] = f->out[i];
        out[i].data = takt_view_data(t, &s->out[i]);
    }
    f->def->run(f->def->user, in, s->in_count, out, s->out_count);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_outputs(p, id));
    f->def = takt_native_find(p->ctx, n->attr[NAME].string);
    f->in = describe(p, p->step->in, p->step->in_count);
    f->out = describe(p, p->step->out, p->step->out_count);
    if (f->in == NULL || f->out == NULL)
        return TAKT_ERR_MEMORY;
    p->step->kernel = "registered function";
    p->step->run = run;
    p->step->data = f;
    p->step->scratch_bytes = (p->step->in_count + p->step->out_count) * sizeof(takt_tensor_view);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_custom = {
    .name = "custom", .accepts = accepts, .keeps = keeps, .compile = compile};
