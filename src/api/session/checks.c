/* checks.c - clauses of a model in its runs: what a run found, and sampled runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/session/session.h"
#include "pass/copier.h"
#include "plan/finish.h"

/* "[1, 0, 3]" of the flat index of an element. */
static void write_place(const takt_type *type, int64_t flat, char *text, size_t size)
{
    int64_t index[TAKT_MAX_RANK];
    size_t length = 0;
    for (int d = type->rank - 1; d >= 0; d--) {
        index[d] = type->dim[d] > 0 ? flat % type->dim[d] : 0;
        flat = type->dim[d] > 0 ? flat / type->dim[d] : 0;
    }
    text[0] = '\0';
    for (int d = 0; d < type->rank && length < size; d++)
        length += (size_t)snprintf(text + length, size - length, "%s%" PRId64, d > 0 ? ", " : "[",
                                   index[d]);
    if (type->rank > 0 && length + 1 < size)
        snprintf(text + length, size - length, "]");
}

static const char *sign_of(const takt_op *op)
{
    static const struct {
        const char *name, *sign;
    } signs[] = {{"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}, {"eq", "=="}, {"ne", "!="}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strcmp(op->name, signs[i].name) == 0)
            return signs[i].sign;
    return NULL;
}

/* ---- both sides of the comparison ----
 *
 * A run keeps only the condition. The operands are computed again when there is an error to report:
 * the same nodes by the same kernels give the same bits.
 */

static void add_outputs(takt_copier *c, const takt_node *n)
{
    takt_graph_output(c->out, "a", c->map[n->in[0]]);
    if (n->in[1] != n->in[0])
        takt_graph_output(c->out, "b", c->map[n->in[1]]);
}

static takt_status sides_graph(const takt_graph *g, const takt_node *n, takt_graph **out)
{
    takt_copier c;
    takt_status status = takt_copier_init(&c, g);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(g, c.out, c.map);
    for (size_t i = 0; i < g->count && status == TAKT_OK; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node one = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_append(c.out, one.op, one.in_count, one.in, one.attr);
        status = c.out->status;
    }
    if (status == TAKT_OK) {
        add_outputs(&c, n);
        status = c.out->status;
    }
    takt_arena_deinit(&c.arena);
    *out = c.out;
    return status;
}

/* Element `place` of a view that was broadcast to `type`. */
static double element(const takt_tensor_view *v, const takt_type *type, int64_t place)
{
    int64_t at = 0, step = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        const int own = d - (type->rank - v->rank);
        const int64_t index = place % type->dim[d];
        place /= type->dim[d];
        if (own < 0)
            continue;
        at += v->dims[own] == 1 ? 0 : index * step;
        step *= v->dims[own];
    }
    return takt_dtype_is_float(v->dtype)
               ? takt_dtype_get_f(v->dtype, v->data, (size_t)at)
               : takt_dtype_to_double(v->dtype, takt_dtype_get_i(v->dtype, v->data, (size_t)at));
}

static takt_status run_again(takt_session *s, takt_session *again)
{
    for (size_t i = 0; i < s->plan->graph->input_count; i++)
        TAKT_TRY(takt_session_bind(again, s->input_descs[i].name, &s->inputs[i].view));
    return takt_session_run(again);
}

static bool find_sides(takt_session *s, const takt_node *n, int64_t place, double values[2])
{
    takt_graph *g = NULL;
    takt_plan *plan = NULL;
    takt_session *again = NULL;
    if (s->plan->graph->slot_count > 0 || s->plan->settings.donated != NULL)
        return false; /* the run's inputs are gone */
    takt_status status = sides_graph(s->plan->graph, n, &g);
    if (status == TAKT_OK)
        status = takt_plan_build(s->ctx, g, &s->plan->settings, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &again);
    if (status == TAKT_OK)
        status = run_again(s, again);
    for (size_t i = 0; status == TAKT_OK && i < 2; i++) {
        const size_t port = n->in[i] == n->in[0] ? 0 : 1;
        values[i] = element(takt_session_output(again, port), &n->type[0], place);
    }
    takt_session_destroy(again);
    takt_plan_release_internal(plan);
    takt_graph_destroy(g);
    return status == TAKT_OK;
}

/* ---- what a run found ---- */

static takt_status complain(takt_session *s, const takt_check *c, int64_t first, int64_t count)
{
    const takt_node *n = takt_node_at(s->plan->graph, c->id);
    const char *sign = sign_of(n->op);
    const takt_error before = s->ctx->error;
    char place[200], line[32] = "", sides[96] = "";
    double values[2];
    write_place(&n->type[0], first, place, sizeof place);
    if (c->line > 0)
        snprintf(line, sizeof line, " (line %d)", c->line);
    if (sign != NULL && find_sides(s, n, first, values))
        snprintf(sides, sizeof sides, ": %.9g %s %.9g is not so", values[0], sign, values[1]);
    s->ctx->error = before;
    takt_error_set(&s->error, c->is_require ? TAKT_E_REQUIRE_INPUT : TAKT_E_ENSURE,
                   "%s %.200s%s does not hold for %" PRId64 " element%s, the first is %s%s",
                   c->is_require ? "require" : "ensure", c->text, line, count,
                   count == 1 ? "" : "s", place[0] != '\0' ? place : "the only one", sides);
    takt_error_node(&s->error, takt_node_label(n));
    if (c->message != NULL)
        takt_error_hint(&s->error, "%.200s", c->message);
    return s->error.status;
}

static takt_status look(takt_session *s, size_t i)
{
    const takt_graph *g = s->plan->graph;
    const takt_session_port *port = &s->outputs[takt_graph_shown(g) + i];
    const unsigned char *holds = port->view.data, *first = memchr(holds, 0, port->bytes);
    int64_t count = 0;
    if (first == NULL)
        return TAKT_OK;
    for (size_t k = 0; k < port->bytes; k++)
        count += holds[k] == 0;
    return complain(s, &g->checks[i], first - holds, count);
}

takt_status takt_session_check_clauses(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    /* A violated requirement explains a violated guarantee, so it is reported first. */
    for (int require = 1; require >= 0; require--)
        for (size_t i = 0; i < g->check_count; i++)
            if (g->checks[i].is_require == (require != 0))
                TAKT_TRY(look(s, i));
    return TAKT_OK;
}

/* ---- samples ---- */

takt_status takt_session_add_checker(takt_session *s, takt_plan *checked, uint64_t every)
{
    const takt_graph *own = s->plan->graph, *other = checked->graph;
    if (every == 0 || own->slot_count != other->slot_count ||
        own->input_count != other->input_count)
        return takt_fail(s->ctx, TAKT_E_ARGUMENT,
                         "checked is the same plan with checks, and check_every at least 1");
    for (size_t i = 0; i < own->input_count; i++)
        if (!takt_type_same(own->dims, takt_type_of(own, own->inputs[i].id),
                            takt_type_of(other, other->inputs[i].id)))
            return takt_fail(s->ctx, TAKT_E_ARGUMENT, "checked is a plan of other sizes");
    const takt_session_options options = {.pool = s->pool};
    TAKT_TRY(takt_session_create(checked, &options, &s->checker));
    s->check_every = every;
    return TAKT_OK;
}

static takt_status copy_slot(takt_session *s, takt_session *to, size_t i)
{
    takt_tensor value;
    takt_status status = takt_session_look(s, i, &value);
    if (status == TAKT_OK) {
        status = takt_slot_write(to->slots[i].shared, takt_tensor_data(&value));
        takt_tensor_release(&value);
    }
    if (status != TAKT_OK)
        takt_error_copy(s->ctx, &s->error);
    return status;
}

/* The same inputs and state through the plan with checks; its results are dropped. */
takt_status takt_session_sample(takt_session *s)
{
    takt_session *c = s->checker;
    if (c == NULL || s->checked_runs++ % s->check_every != 0)
        return TAKT_OK;
    for (size_t i = 0; i < s->plan->graph->input_count; i++) {
        const takt_session_port *port = &s->inputs[i];
        const takt_tensor_view *view = port->strided.data != NULL ? &port->strided : &port->view;
        if (takt_session_bind(c, s->input_descs[i].name, view) != TAKT_OK) {
            s->error = c->error;
            return s->error.status;
        }
    }
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        TAKT_TRY(copy_slot(s, c, i));
    const takt_status status = takt_session_run(c);
    if (status != TAKT_OK)
        s->error = c->error;
    return status;
}
