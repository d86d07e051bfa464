/* distill.c - a student and its teacher as one model whose output is a loss.
 *
 * alpha * T^2 * KL(softmax(teacher / T) || softmax(student / T)) + (1 - alpha) * cross entropy of
 * the labels (G. Hinton, O. Vinyals, J. Dean, 2015). The teacher's weights are constants in it.
 */
#include <string.h>

#include <takt/shrink.h>

#include "api/model.h"
#include "base/options.h"
#include "op/ops.h"
#include "pass/pass.h"
#include "plan/basis.h"

typedef struct work {
    takt_ctx *ctx;
    const takt_model *student;
    takt_graph *teacher; /* its parameters are constants */
    takt_graph *g;       /* being built: the student's, then the teacher's nodes */
    takt_distill_options o;
    takt_id *map; /* per node of the teacher */
} work;

static takt_status differ(work *w, const char *what)
{
    takt_fail(w->ctx, TAKT_E_SHRINK_TEACHER, "teacher and student differ: %s", what);
    return takt_fail_hint(w->ctx, "both take the same inputs and give one row of scores a sample, "
                                  "of the same classes");
}

/* ---- the teacher's nodes ---- */

static takt_status resolved(const takt_graph *g, takt_dim dim, takt_dim *out)
{
    return takt_dim_resolve(g->dims, dim, out);
}

/* Renames the teacher's dimensions: those of its inputs become the student's. */
static takt_status translate(work *w, takt_dim dim, takt_dim *out)
{
    takt_dim own;
    TAKT_TRY(resolved(w->teacher, dim, &own));
    *out = own;
    if (takt_dim_is_number(own))
        return TAKT_OK;
    for (size_t i = 0; i < w->teacher->input_count; i++) {
        const takt_id id = w->teacher->inputs[i].id;
        const takt_type *a = takt_type_of(w->teacher, id), *b = takt_type_of(w->g, w->map[id]);
        for (int d = 0; d < a->rank; d++) {
            takt_dim of_input;
            TAKT_TRY(resolved(w->teacher, a->dim[d], &of_input));
            if (of_input == own) {
                *out = b->dim[d];
                return TAKT_OK;
            }
        }
    }
    return differ(w, "a shape of the teacher has a size that no input of it has");
}

static takt_status copy_node(work *w, takt_id id)
{
    const takt_node *n = &w->teacher->nodes[id];
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_dim dims[TAKT_MAX_RANK];
    takt_id in[64];
    if (n->in_count > 64)
        return differ(w, "a node of the teacher has more than 64 inputs");
    takt_node_attrs(n, attrs);
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++) {
        const takt_attr_type type = n->op->attrs[i].type;
        if (attrs[i].is_set && type == TAKT_ATTR_GRAPH)
            return differ(w, "the teacher has loops or branches");
        if (!attrs[i].is_set || type != TAKT_ATTR_SHAPE || attrs[i].count > TAKT_MAX_RANK)
            continue;
        for (uint32_t d = 0; d < attrs[i].count; d++)
            TAKT_TRY(translate(w, attrs[i].dims[d], &dims[d]));
        attrs[i].dims = dims;
    }
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : w->map[n->in[k]];
    w->map[id] = n->op == &takt_op_constant
                     ? takt_graph_constant(w->g, n->attr[0].tensor)
                     : takt_graph_append(w->g, n->op, n->in_count, in, attrs);
    return w->g->status;
}

/* Matches inputs by name, or the only input of each. */
static takt_status match_inputs(work *w)
{
    for (size_t i = 0; i < w->teacher->input_count; i++) {
        const takt_port *p = &w->teacher->inputs[i];
        const takt_type *a = takt_type_of(w->teacher, p->id);
        takt_id found =
            w->teacher->input_count == 1 && w->g->input_count == 1 ? w->g->inputs[0].id : TAKT_NONE;
        for (size_t k = 0; k < w->g->input_count; k++)
            if (strcmp(w->g->inputs[k].name, p->name) == 0)
                found = w->g->inputs[k].id;
        if (found == TAKT_NONE)
            return differ(w, "the student has no input of the teacher's name");
        const takt_type *b = takt_type_of(w->g, found);
        bool fits = a->dtype == b->dtype && a->rank == b->rank;
        for (int d = 0; fits && d < a->rank; d++)
            fits = !takt_dim_is_number(a->dim[d]) || a->dim[d] == b->dim[d];
        if (!fits)
            return differ(w, "their inputs have other types or shapes");
        w->map[p->id] = found;
    }
    return TAKT_OK;
}

/* ---- the loss ---- */

/* The argument of a final softmax. */
static takt_id logits_of(const takt_graph *g, takt_id id)
{
    const takt_op *op = g->nodes[id].op;
    return op == &takt_op_softmax || op == &takt_op_log_softmax ? g->nodes[id].in[0] : id;
}

static takt_id cooled(takt_graph *g, takt_id x, double temperature)
{
    const takt_named_attr axis = {"axis", takt_attr_i64(-1)};
    const takt_id scaled = takt_mul_scalar(g, x, 1 / temperature);
    return takt_graph_call(g, &takt_op_log_softmax, 1, &scaled, 1, &axis);
}

static takt_status add_loss(work *w, takt_id student, takt_id teacher)
{
    takt_graph *g = w->g;
    takt_type labels = *takt_type_of(g, student);
    const takt_type *other = takt_type_of(g, teacher);
    const double t = w->o.temperature, alpha = w->o.alpha;
    const int64_t last = -1;
    if (labels.rank < 2 || labels.rank != other->rank || labels.dtype != TAKT_F32 ||
        other->dtype != TAKT_F32 || labels.dim[labels.rank - 1] != other->dim[other->rank - 1])
        return differ(w, "their first outputs have other classes, or are not rows of scores");
    labels.rank--;
    labels.dtype = TAKT_I64;
    const takt_id given = takt_graph_input(g, "labels", &labels);
    const takt_id want = cooled(g, teacher, t), have = cooled(g, student, t);
    const takt_id terms = takt_mul(g, takt_unary(g, &takt_op_exp, want), takt_sub(g, want, have));
    const takt_id each = takt_reduce_over(g, &takt_op_reduce_sum, terms, &last, 1, false);
    const takt_id soft = takt_reduce_over(g, &takt_op_reduce_mean, each, NULL, 0, false);
    const takt_id hard =
        takt_graph_call(g, &takt_op_cross_entropy, 2, (const takt_id[]){student, given}, 0, NULL);
    takt_graph_output(
        g, "loss",
        takt_add(g, takt_mul_scalar(g, soft, alpha * t * t), takt_mul_scalar(g, hard, 1 - alpha)));
    return g->status;
}

/* One graph of the student, in training mode or not, with the teacher and the loss. */
static takt_status join(work *w, const takt_graph *student, takt_graph **out)
{
    static const takt_pass copy = {.name = "copy", .summary = "copy what is live"};
    takt_arena arena;
    TAKT_TRY(takt_pass_apply(&copy, student, NULL, &w->g));
    takt_arena_init(&arena, w->ctx);
    w->map = takt_arena_array(&arena, w->teacher->count, sizeof *w->map);
    takt_status status = w->map != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < w->teacher->count; i++)
        w->map[i] = TAKT_NONE;
    if (status == TAKT_OK && (w->g->output_count == 0 || w->teacher->output_count == 0))
        status = differ(w, "one of them has no output");
    if (status == TAKT_OK && w->teacher->slot_count > 0)
        status = differ(w, "the teacher has states that runs change");
    if (status == TAKT_OK)
        status = match_inputs(w);
    for (size_t i = 0; status == TAKT_OK && i < w->teacher->count; i++)
        if (w->map[i] == TAKT_NONE)
            status = copy_node(w, (takt_id)i);
    if (status == TAKT_OK) {
        const takt_id id = logits_of(w->teacher, w->teacher->outputs[0].id);
        status = add_loss(w, logits_of(w->g, w->g->outputs[0].id), w->map[id]);
    }
    takt_arena_deinit(&arena);
    if (status != TAKT_OK) {
        takt_graph_destroy(w->g);
        w->g = NULL;
    }
    *out = w->g;
    return status;
}

static takt_status run(work *w, takt_model **out)
{
    takt_graph *plain, *training;
    TAKT_TRY(join(w, w->student->graph, &plain));
    takt_status status = join(w, w->student->training, &training);
    if (status != TAKT_OK) {
        takt_graph_destroy(plain);
        return status;
    }
    status = takt_model_derive(w->student, plain, out);
    if (status == TAKT_OK)
        (*out)->training = training;
    else
        takt_graph_destroy(training);
    return status;
}

takt_status takt_model_distill(const takt_model *student, const takt_model *teacher,
                               const takt_distill_options *options, takt_model **both)
{
    work w = {.student = student};
    if (both != NULL)
        *both = NULL;
    if (student == NULL || teacher == NULL)
        return TAKT_ERR_ARGUMENT;
    w.ctx = student->ctx;
    if (both == NULL || student->training == NULL)
        return takt_fail(w.ctx, TAKT_E_ARGUMENT,
                         "takt_model_distill: the student was not loaded for training, or both is "
                         "NULL");
    TAKT_TRY(takt_options_read(w.ctx, "takt_distill_options", options, &w.o, sizeof w.o));
    w.o.temperature = w.o.temperature != 0 ? w.o.temperature : 2;
    w.o.alpha = w.o.labels_only ? 0 : w.o.alpha != 0 ? w.o.alpha : 0.5;
    if (!(w.o.temperature > 0) || !(w.o.alpha >= 0 && w.o.alpha <= 1))
        return takt_fail(w.ctx, TAKT_E_OPTION,
                         "a temperature is above 0, alpha from 0 to 1, not %g and %g",
                         w.o.temperature, w.o.alpha);
    TAKT_TRY(takt_graph_freeze(teacher->graph, teacher->slots, &w.teacher));
    const takt_status status = run(&w, both);
    takt_graph_destroy(w.teacher);
    return status;
}

takt_status takt_model_copy_weights(takt_model *to, const takt_model *from)
{
    size_t copied = 0;
    if (to == NULL || from == NULL)
        return TAKT_ERR_ARGUMENT;
    for (size_t i = 0; i < to->graph->slot_count; i++) {
        const takt_slot *slot = takt_graph_find_slot(from->graph, to->graph->slots[i].name);
        const takt_tensor *value = slot != NULL ? &from->slots[slot - from->graph->slots] : NULL;
        if (value == NULL || value->storage == NULL || to->slots[i].storage == NULL ||
            takt_tensor_bytes(value) != takt_tensor_bytes(&to->slots[i]))
            continue;
        takt_storage_retain(value->storage);
        takt_tensor_release(&to->slots[i]);
        to->slots[i] = *value;
        copied++;
    }
    to->key = 0;
    takt_basis_forget(to->ctx, &to->bases);
    return copied > 0 ? TAKT_OK
                      : takt_fail(to->ctx, TAKT_E_NAME, "the models have no parameter in common");
}
