/* lengths.c - value-dependent sizes: later steps are resized before the run continues.
 *
 * The session's own plan is resized in place, between two steps. Where that is impossible, the run
 * restarts with a separate plan for those sizes; state is unchanged, as after any run that did not
 * finish.
 */
#include <inttypes.h>
#include <string.h>

#include "api/ranges.h"
#include "api/session/session.h"
#include "base/error_record.h"
#include "base/mem.h"
#include "ir/leaves.h"
#include "op/util/length.h"
#include "plan/basis.h"
#include "plan/finish.h"
#include "plan/resize.h"

static int64_t *names_of(const takt_session *s)
{
    return s->range->cells + takt_sizes_cells(&s->range->top->basis->template->sizes);
}

/* Whether a dimension changes if all lengths are 0. */
static bool is_moved(const takt_session *s, takt_dim d)
{
    const takt_plan *top = s->range->top;
    int64_t *low = names_of(s); /* not in use between runs */
    takt_dim least = 0, most = 0;
    if (takt_dim_is_number(d))
        return false;
    for (size_t i = 0; i < top->name_count; i++)
        low[i] = top->ranges[i].is_length ? 0 : top->sizes[i];
    takt_error before;
    takt_error_copy(s->ctx, &before);
    const bool is_known =
        takt_dim_substitute(top->graph->dims, d, low, top->name_count, &least) == TAKT_OK &&
        takt_dim_substitute(top->graph->dims, d, top->sizes, top->name_count, &most) == TAKT_OK;
    if (!is_known)
        takt_error_put_back(s->ctx, &before);
    return !is_known || least != most;
}

bool takt_session_is_found(const takt_session *s, size_t output)
{
    const takt_id id = s->plan->graph->outputs[output].id;
    if (s->range == NULL || s->plan->latest == NULL || s->plan->latest[id] == 0)
        return false;
    const takt_type *type = takt_type_of(s->range->top->basis->template->graph, id);
    bool is_found = false;
    for (int d = 0; d < type->rank; d++)
        is_found = is_found || is_moved(s, type->dim[d]);
    return is_found;
}

/* ---- sizes that are not known yet ---- */

/* Sizes that were 0 in the last run are assumed to be 0 again, such as the batch of a branch that
 * is not taken: if that is right, the run need not be resized. */
void takt_session_clamp(takt_session *s, int64_t *cells, takt_id behind)
{
    takt_plan_clamp(s->range->top, cells, s->range->is_none, behind);
}

/* ---- what a point found ---- */

static takt_status fail_bound(takt_session *s, const takt_node *n, uint32_t k, int64_t found,
                              int64_t bound)
{
    const takt_graph *of = s->range->top->basis->template->graph;
    const takt_node *named = &of->nodes[n - s->plan->graph->nodes];
    size_t name;
    const bool is_name = takt_dim_is_name(of->dims, named->attr[TAKT_LENGTH_NAMES].dims[k], &name);
    takt_error_set(&s->error, TAKT_E_LENGTH, "%s: a size is %" PRId64 ", its bound %" PRId64,
                   takt_node_label(n), found, bound);
    (void)takt_error_node(&s->error, takt_node_label(n));
    if (found < 0 || !is_name)
        return takt_error_hint(&s->error, "no size is negative");
    return takt_error_hint(&s->error, "make the plan with a higher one: --bound %s=%" PRId64,
                           takt_dims_name(of->dims, name), found);
}

static takt_status fail_differs(takt_session *s, const takt_node *n, int64_t found, int64_t is)
{
    takt_error_set(&s->error, TAKT_E_LENGTH_DIFFERS,
                   "%s: a size is %" PRId64 ", and has to be %" PRId64, takt_node_label(n), found,
                   is);
    return takt_error_node(&s->error, takt_node_label(n));
}

/* Binds element `k` of a length's result to its name. */
static takt_status put_size(takt_session *s, takt_id node, uint32_t k, int64_t found)
{
    const takt_plan *top = s->range->top;
    const takt_graph *of = top->basis->template->graph;
    const takt_node *n = &s->plan->graph->nodes[node];
    const int64_t is = n->attr[TAKT_LENGTH_NAMES].dims[k];
    int64_t most = n->attr[TAKT_LENGTH_BOUNDS].dims[k];
    size_t name;
    const bool is_name =
        takt_dim_is_name(of->dims, of->nodes[node].attr[TAKT_LENGTH_NAMES].dims[k], &name) &&
        name < top->name_count;
    const bool is_length = is_name && top->ranges[name].is_length;
    if (is_name && top->ranges[name].high < most)
        most = top->ranges[name].high;
    if (found < 0 || (is_length && found > most)) /* other sizes are compared: no bound helps */
        return fail_bound(s, n, k, found, most);
    if (is_length && takt_plan_differs(top, names_of(s), name, found, node))
        return fail_differs(s, n, found, names_of(s)[name]);
    if (is_length) {
        names_of(s)[name] = found;
        s->range->is_none[name] = found == 0;
    } else if (found != is) {
        return fail_differs(s, n, found, is);
    }
    return TAKT_OK;
}

/* Updates outputs; inputs do not change inside a run. */
static void outputs_resized(takt_session *s)
{
    const takt_graph *g = s->plan->graph;
    for (size_t i = 0; i < g->output_count; i++) {
        const takt_type *type = takt_type_of(g, g->outputs[i].id);
        takt_session_port *port = &s->outputs[i];
        memcpy(s->output_descs[i].dims, type->dim, (size_t)type->rank * sizeof *type->dim);
        memcpy(port->view.dims, s->output_descs[i].dims, sizeof port->view.dims);
        (void)takt_type_bytes(type, &port->bytes);
    }
}

takt_status takt_session_point(void *session, size_t step)
{
    takt_session *s = session;
    takt_session_range *r = s->range;
    const takt_step *at = &s->plan->steps[step];
    const int64_t *found = takt_point_found(at, s->base);
    bool done = false;
    if (r == NULL) {
        takt_error_set(&s->error, TAKT_E_LENGTH_DIFFERS,
                       "%s: a size is %" PRId64 ", and has to be another one", at->name, found[0]);
        return takt_error_node(&s->error, at->name);
    }
    memcpy(names_of(s), s->plan->sizes, r->top->name_count * sizeof(int64_t));
    for (int64_t k = 0; k < at->out[0].dim[0]; k++)
        TAKT_TRY(put_size(s, at->nodes[0], (uint32_t)k, found[k]));
    memcpy(r->cells, names_of(s), r->top->name_count * sizeof(int64_t));
    takt_session_clamp(s, r->cells, at->nodes[0] + 1); /* later ones depend on it */
    memcpy(names_of(s), r->cells, r->top->name_count * sizeof(int64_t));
    if (r->resizer != NULL && s->plan == takt_resizer_plan(r->resizer)) {
        const takt_status status = takt_resizer_set(r->resizer, names_of(s), &done);
        if (status != TAKT_OK)
            takt_error_copy(s->ctx, &s->error);
        TAKT_TRY(status);
    }
    r->needs_replan = !done;
    if (done)
        outputs_resized(s);
    return done ? TAKT_OK : TAKT_ERR_STATE;
}

/* ---- again ---- */

/* Inputs in the session's own memory, in order. */
static size_t own_bytes(const takt_session *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->plan->graph->input_count; i++)
        bytes += s->range->is_own[i] ? s->inputs[i].bytes : 0;
    return bytes;
}

static void pass_own(takt_session *s, unsigned char *at, bool is_saved)
{
    for (size_t i = 0; i < s->plan->graph->input_count; i++) {
        if (!s->range->is_own[i])
            continue;
        memcpy(is_saved ? s->inputs[i].view.data : at, is_saved ? at : s->inputs[i].view.data,
               s->inputs[i].bytes);
        at += s->inputs[i].bytes;
    }
}

static takt_status change(takt_session *s)
{
    TAKT_TRY(takt_session_change(s, names_of(s)));
    return takt_session_bind_all(s) == TAKT_OK ? TAKT_OK : s->error.status;
}

takt_status takt_session_again(takt_session *s)
{
    takt_session_range *r = s->range;
    void *saved;
    r->needs_replan = false;
    r->is_new = true; /* until it is done: the plan may be partly resized */
    if (s->watch != NULL)
        return takt_session_refuse_watched(s);
    for (size_t i = 0; i < s->plan->graph->input_count; i++)
        r->is_own[i] = s->inputs[i].view.data != NULL && r->bound[i].data == NULL;
    const size_t bytes = own_bytes(s);
    takt_status status = takt_mem_get(s->ctx, bytes + 1, "inputs of a run", &saved);
    if (status == TAKT_OK) {
        pass_own(s, saved, false);
        status = change(s);
        if (status == TAKT_OK)
            pass_own(s, saved, true);
        takt_mem_put(s->ctx, saved, bytes + 1);
    }
    if (status != TAKT_OK)
        takt_error_copy(s->ctx, &s->error);
    r->is_new = status != TAKT_OK;
    return status;
}
