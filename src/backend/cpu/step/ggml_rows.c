/* ggml_rows.c - floats of rows of a table in ggml's block formats, out of the panels that products
 * read: a table that is also the head is held once. */
#include "backend/cpu/ggml_pack.h"
#include "backend/cpu/index.h"
#include "backend/cpu/pace.h"
#include "op/util/ggml.h"

typedef struct facts {
    takt_ggml_f32_fn *decode;
    takt_ggml_operand table;
    size_t picks;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_ggml_rows && takt_ggml_has_panels(takt_ggml_of(n)) &&
           takt_type_of(g, n->in[0])->dim[0] > 0;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* Row `at` of the table to `to`, as floats. */
static void put_row(const facts *f, const uint8_t *from, size_t at, float *to)
{
    const takt_ggml_rows *r = &f->table.rows;
    const takt_ggml_info *info = &takt_ggml_formats[r->format];
    const uint8_t *panel =
        from + at / TAKT_GGML_PANEL * r->blocks * takt_ggml_panel_block(r->format);
    if (!f->table.is_packed) {
        const takt_ggml_f32 g = {r->format, r->blocks, from + at * r->blocks * info->bytes, to};
        f->decode(&g);
        return;
    }
    for (size_t b = 0; b < r->blocks; b++) {
        uint8_t block[256];
        const takt_ggml_f32 g = {r->format, 1, block, to + b * info->weights};
        takt_ggml_unpack(r->format, panel + b * takt_ggml_panel_block(r->format),
                         at % TAKT_GGML_PANEL, block);
        f->decode(&g);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_ggml_rows *r = &f->table.rows;
    const size_t width = r->blocks * takt_ggml_formats[r->format].weights;
    const uint8_t *table = takt_view_data(t, &s->in[f->table.in]);
    float *to = takt_view_data(t, &s->out[0]);
    takt_index_reader index = takt_index_open(t, &s->in[1 - f->table.in]);
    size_t first, end;
    takt_cpu_share(f->picks, 1, t->index, s->task_count, &first, &end);
    takt_pace pace = takt_pace_of(t);
    for (size_t i = first; i < end && !takt_pace_stops(&pace, 2 * width); i++)
        put_row(f, table, (size_t)takt_index_next(&index, i, (int64_t)r->n), to + i * width);
    takt_index_close(&index, t);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index, count;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_ggml_operand_add(p, n->in[0], takt_ggml_of(n), false, &f->table));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->decode = takt_kernel_as_ggml_f32(takt_planner_kernel(p, "ggml_f32"));
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->picks);
    (void)takt_type_count(n->type, &count);
    p->step->data = f;
    p->step->run = run;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    p->step->task_count =
        takt_cpu_tasks(p, 8.0 * (double)count, 5.0 * (double)count, f->picks > 0 ? f->picks : 1);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_ggml_rows = {
    .name = "ggml_rows", .accepts = accepts, .keeps = keeps, .compile = compile};
