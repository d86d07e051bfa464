/* join_scans.c - scans over the same values that carry the same become one with all results.
 *
 * A gradient needs the values with which every step of a scan began, and values inside its body. It
 * gets them from a second scan, which differs from the model's only in its results: joined, the
 * body runs once. Carried values must be computed by equal nodes, so no bit changes. */
#include "op/ops.h"
#include "pass/copier.h"
#include "pass/passes.h"

enum { BODY, CARRIED, SEQUENCES, AXES, OUT_AXES, REVERSE };

static const char law[] = "scan(x, f), scan(x, g) = scan(x, f and g)";

typedef struct joiner {
    takt_copier c;
    takt_pass_report *report;
    takt_id *scans; /* live ones, in order */
    size_t scan_count;
    size_t **place; /* per node: which result of the joined scan its own are; NULL: not joined */
} joiner;

/* The scan that is made of several. */
typedef struct joined {
    takt_graph *body;
    int64_t axes[TAKT_MAX_OUTPUTS]; /* of scanned results */
    size_t count;                   /* of results */
    size_t carried;
} joined;

static const takt_graph *body_of(const takt_node *n)
{
    return n->attr[BODY].graph;
}

static bool reads_the_same(const takt_node *a, const takt_node *b)
{
    static const int kept[] = {CARRIED, SEQUENCES, AXES, REVERSE};
    bool same = a->in_count == b->in_count;
    for (uint32_t k = 0; k < a->in_count && same; k++)
        same = a->in[k] == b->in[k];
    for (size_t k = 0; k < sizeof kept / sizeof *kept && same; k++)
        same = takt_attr_same(&a->op->attrs[kept[k]], &a->attr[kept[k]], &b->attr[kept[k]]);
    return same;
}

/* ---- bodies ---- */

/* Appends the nodes of `from` to `to`; inputs are the same by their number. */
static takt_id *append_body(joiner *j, const takt_graph *from, takt_graph *to)
{
    size_t widest = 1;
    for (size_t i = 0; i < from->count; i++)
        widest = from->nodes[i].in_count > widest ? from->nodes[i].in_count : widest;
    takt_id *map = takt_arena_array(&j->c.arena, from->count, sizeof *map);
    takt_id *in = takt_arena_array(&j->c.arena, widest, sizeof *in);
    if (map == NULL || in == NULL)
        return NULL;
    for (size_t i = 0; i < from->count; i++)
        map[i] = TAKT_NONE;
    for (size_t i = 0; i < from->input_count; i++)
        map[from->inputs[i].id] = to->inputs[i].id;
    for (size_t i = 0; i < from->count; i++) {
        const takt_node *n = &from->nodes[i];
        for (uint32_t k = 0; k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        if (map[i] == TAKT_NONE) {
            takt_graph_inherit(to, n);
            map[i] = takt_graph_copy_node(to, n, in);
        }
    }
    return to->status == TAKT_OK ? map : NULL;
}

static takt_status create_body(joiner *j, const takt_graph *like, takt_graph **body)
{
    TAKT_TRY(takt_graph_create(j->c.in->ctx, j->c.in, body));
    for (size_t i = 0; i < like->input_count; i++)
        takt_graph_input(*body, like->inputs[i].name, takt_type_of(like, like->inputs[i].id));
    return (*body)->status;
}

/* Both bodies compute what they carry by equal nodes. */
static takt_status carries_the_same(joiner *j, const takt_node *a, const takt_node *b, bool *same)
{
    const takt_graph *const bodies[2] = {body_of(a), body_of(b)};
    takt_graph *both = NULL;
    takt_id *map[2] = {0};
    takt_status status = create_body(j, bodies[0], &both);
    for (int i = 0; i < 2 && status == TAKT_OK; i++) {
        map[i] = append_body(j, bodies[i], both);
        status = map[i] != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    *same = status == TAKT_OK;
    for (size_t k = 0; k < (size_t)a->attr[CARRIED].i64 && *same; k++)
        *same = map[0][bodies[0]->outputs[k].id] == map[1][bodies[1]->outputs[k].id];
    takt_graph_destroy(both);
    return status;
}

static int64_t axis_of(const takt_node *n, size_t scanned, int rank)
{
    const takt_attr *list = &n->attr[OUT_AXES];
    const int64_t axis = scanned < list->count ? list->i64s[scanned] : 0;
    return axis < 0 ? axis + rank : axis;
}

static void add_output(takt_graph *body, takt_id id, takt_arena *arena)
{
    const char *name = takt_arena_format(arena, "out.%zu", body->output_count);
    if (name == NULL)
        takt_graph_fail(body, TAKT_ERR_MEMORY);
    else
        takt_graph_output(body, name, id);
}

/* Adds the results of one scan to those of all and records where they are. */
static takt_status add_scan(joiner *j, takt_id scan, joined *to)
{
    const takt_node *n = &j->c.in->nodes[scan];
    const takt_graph *from = body_of(n);
    const takt_id *map = append_body(j, from, to->body);
    size_t *place = takt_arena_array(&j->c.arena, n->out_count, sizeof *place);
    if (map == NULL || place == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t k = 0; k < n->out_count; k++) {
        const takt_id id = map[from->outputs[k].id];
        const bool is_carried = k < to->carried;
        const int64_t axis = is_carried ? 0 : axis_of(n, k - to->carried, n->type[k].rank);
        size_t at = is_carried ? k : to->carried;
        while (at < to->count && !is_carried &&
               (to->body->outputs[at].id != id || to->axes[at - to->carried] != axis))
            at++;
        if (at >= to->count) {
            add_output(to->body, id, &j->c.arena);
            if (!is_carried)
                to->axes[at - to->carried] = axis;
            to->count++;
        }
        place[k] = at;
    }
    j->place[scan] = place;
    return to->body->status;
}

/* ---- the sweep ---- */

/* The scan's value in the new graph, if it is used without selecting one of its results. */
static takt_id value_of(joiner *j, takt_id scan, takt_id whole)
{
    const bool is_single = j->c.in->nodes[scan].out_count == 1 && j->c.out->status == TAKT_OK &&
                           j->c.out->nodes[whole].out_count > 1;
    return is_single ? takt_graph_get(j->c.out, whole, 0) : whole;
}

static takt_status append_joined(joiner *j, const takt_id *group, size_t count, const joined *to)
{
    const takt_node n = takt_copier_node(&j->c, group[0]);
    const takt_named_attr attrs[] = {
        {"body", takt_attr_graph(to->body)},
        {"carried", n.attr[CARRIED]},
        {"sequences", n.attr[SEQUENCES]},
        {"axes", n.attr[AXES]},
        {"out_axes", takt_attr_i64s(to->axes, to->count - to->carried)},
        {"reverse", n.attr[REVERSE]}};
    const takt_id id = takt_graph_call(j->c.out, n.op, n.in_count, n.in, 6, attrs);
    for (size_t i = 0; i < count; i++) {
        j->c.map[group[i]] = value_of(j, group[i], id);
        takt_pass_fired(j->report, takt_pass_join_scans.name, law, &j->c.in->nodes[group[i]]);
    }
    return j->c.out->status;
}

static takt_status join(joiner *j, const takt_id *group, size_t count)
{
    const takt_node *n = &j->c.in->nodes[group[0]];
    joined to = {.carried = (size_t)n->attr[CARRIED].i64};
    takt_status status = create_body(j, body_of(n), &to.body);
    for (size_t i = 0; i < count && status == TAKT_OK; i++)
        status = add_scan(j, group[i], &to);
    if (status == TAKT_OK)
        status = append_joined(j, group, count, &to);
    takt_graph_destroy(to.body);
    return status;
}

/* The scan and the later ones that can be joined to it; if only one, it is unchanged. */
static takt_status find_group(joiner *j, size_t first, takt_id *group, size_t *count)
{
    const takt_node *nodes = j->c.in->nodes, *a = &nodes[j->scans[first]];
    size_t results = a->out_count;
    *count = 1;
    group[0] = j->scans[first];
    for (size_t i = first + 1; i < j->scan_count; i++) {
        const takt_node *b = &nodes[j->scans[i]];
        bool same = false;
        if (j->place[j->scans[i]] != NULL || !reads_the_same(a, b) ||
            results + b->out_count > TAKT_MAX_OUTPUTS)
            continue;
        TAKT_TRY(carries_the_same(j, a, b, &same));
        if (!same)
            continue;
        group[(*count)++] = j->scans[i];
        results += b->out_count;
    }
    return TAKT_OK;
}

static takt_status sweep(joiner *j)
{
    const takt_graph *g = j->c.in;
    takt_id *group = takt_arena_array(&j->c.arena, j->scan_count + 1, sizeof *group);
    if (group == NULL)
        return TAKT_ERR_MEMORY;
    size_t next = 0, count = 0;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < g->count && status == TAKT_OK; i++) {
        const bool is_scan = next < j->scan_count && j->scans[next] == (takt_id)i;
        if (is_scan && j->place[i] == NULL)
            status = find_group(j, next, group, &count);
        if (is_scan && j->place[i] == NULL && status == TAKT_OK && count > 1)
            status = join(j, group, count);
        next += is_scan;
        if (!j->c.live[i] || j->c.map[i] != TAKT_NONE || status != TAKT_OK)
            continue;
        const takt_node n = takt_copier_node(&j->c, (takt_id)i);
        const size_t *place = n.op == &takt_op_get ? j->place[g->nodes[i].in[0]] : NULL;
        j->c.map[i] = place != NULL ? takt_graph_get(j->c.out, n.in[0], place[n.attr[0].i64])
                                    : takt_graph_copy_node(j->c.out, &g->nodes[i], n.in);
        status = j->c.out->status;
    }
    return status;
}

static takt_status find_scans(joiner *j)
{
    const takt_graph *g = j->c.in;
    j->scans = takt_arena_array(&j->c.arena, g->count, sizeof *j->scans);
    j->place = takt_arena_array(&j->c.arena, g->count, sizeof *j->place);
    if (j->scans == NULL || j->place == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++) {
        j->place[i] = NULL;
        if (j->c.live[i] && g->nodes[i].op == &takt_op_scan)
            j->scans[j->scan_count++] = (takt_id)i;
    }
    return TAKT_OK;
}

static takt_status run(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out)
{
    (void)given;
    joiner j = {.report = report};
    takt_status status = takt_copier_init(&j.c, in);
    if (status == TAKT_OK)
        status = find_scans(&j);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(in, j.c.out, j.c.map);
    if (status == TAKT_OK)
        status = sweep(&j);
    return takt_copier_done(&j.c, status, out);
}

const takt_pass takt_pass_join_scans = {
    .name = "join-scans",
    .summary = "run scans that differ in their results alone as one",
    .run = run,
};
