/* driver.c - offers every live node to the rules of a pass and writes the new graph. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ir/leaves.h"
#include "pass/pass.h"

void takt_pass_report_init(takt_pass_report *report, takt_ctx *ctx)
{
    *report = (takt_pass_report){0};
    takt_arena_init(&report->arena, ctx);
}

void takt_pass_report_deinit(takt_pass_report *report)
{
    takt_arena_deinit(&report->arena);
}

static const char *name_of(const takt_node *n)
{
    if (n->name != NULL)
        return n->name;
    return n->origin != NULL ? n->origin->name : n->op->name;
}

/* Where refusals of this hash are chained; NULL if the table cannot be allocated. */
static takt_pass_event **slot_of(takt_pass_report *report, const takt_pass_event *e)
{
    enum { SLOTS = 1024 };
    if (report->slots == NULL) {
        report->slots = takt_arena_array(&report->arena, SLOTS, sizeof(takt_pass_event *));
        if (report->slots == NULL)
            return NULL;
        memset(report->slots, 0, SLOTS * sizeof(takt_pass_event *));
    }
    uint64_t hash = takt_hash_bytes(0, e->node, strlen(e->node));
    hash = takt_hash_bytes(hash, e->pass, strlen(e->pass));
    return &report->slots[takt_hash_bytes(hash, e->law, strlen(e->law)) % SLOTS];
}

static bool is_among(const takt_pass_event *chain, const takt_pass_event *e)
{
    for (; chain != NULL; chain = chain->in_slot)
        if (strcmp(chain->node, e->node) == 0 && strcmp(chain->pass, e->pass) == 0 &&
            strcmp(chain->law, e->law) == 0 && strcmp(chain->refused, e->refused) == 0)
            return true;
    return false;
}

/* A lost event costs a line of a trace, never the compilation. */
static void append(takt_pass_report *report, takt_pass_event event)
{
    takt_pass_event *e = takt_arena_array(&report->arena, 1, sizeof *e);
    event.node = takt_arena_text(&report->arena, event.node, strlen(event.node));
    if (e == NULL || event.node == NULL)
        return;
    *e = event;
    if (report->last != NULL)
        report->last->next = e;
    else
        report->first = e;
    report->last = e;
    if (e->refused == NULL || report->slots == NULL)
        return;
    takt_pass_event **slot = slot_of(report, e);
    e->in_slot = *slot;
    *slot = e;
}

void takt_pass_fired(takt_pass_report *report, const char *pass, const char *law,
                     const takt_node *n)
{
    if (report == NULL)
        return;
    report->fired++;
    append(report, (takt_pass_event){.pass = pass, .law = law, .node = name_of(n)});
}

static void record(takt_rewrite *r, const takt_node *n, const char *refused)
{
    takt_pass_report *report = r->report;
    if (report == NULL)
        return;
    const takt_pass_event e = {
        .pass = r->pass->name, .law = r->law, .node = name_of(n), .refused = refused};
    if (refused != NULL) {
        takt_pass_event **slot = slot_of(report, &e);
        if (slot != NULL && is_among(*slot, &e))
            return;
    }
    *(refused != NULL ? &report->refused : &report->fired) += 1;
    append(report, e);
}

takt_id takt_refuse(takt_rewrite *r, const takt_node *n, const char *why)
{
    record(r, n, why);
    return TAKT_NONE;
}

static void count_uses(const takt_graph *g, const unsigned char *live, uint32_t *uses)
{
    memset(uses, 0, g->count * sizeof *uses);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                uses[g->nodes[i].in[k]]++;
    for (size_t i = 0; i < g->output_count; i++)
        uses[g->outputs[i].id]++;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            uses[g->slots[i].next]++;
    for (size_t i = 0; i < g->check_count; i++)
        uses[g->checks[i].id]++;
}

static takt_id offer(takt_rewrite *r, const takt_node *n)
{
    for (size_t i = 0; i < r->pass->rule_count; i++) {
        const takt_rule *rule = &r->pass->rules[i];
        if (rule->root != NULL && rule->root != n->op)
            continue;
        r->law = rule->law;
        const takt_id id = rule->apply(r, n);
        if (id != TAKT_NONE) {
            record(r, n, NULL);
            return id;
        }
        if (r->out->status != TAKT_OK)
            return TAKT_NONE;
    }
    return TAKT_NONE;
}

/* Whether a node that the rule made reads `id`. */
static bool is_read(const takt_graph *g, size_t from, takt_id id)
{
    for (size_t i = from; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] == id)
                return true;
    return false;
}

/* If the rule dropped an input that only this node read, its origin passes to the new node of the
 * same kind, or to the result. */
static void carry_origin(takt_graph *g, size_t from, takt_id left, takt_id result)
{
    takt_id heir = result;
    for (size_t i = from; i < g->count; i++)
        if (g->nodes[i].op == g->nodes[left].op)
            heir = (takt_id)i;
    takt_graph_merge_origin(g, heir, g->nodes[left].origin);
}

/* The rule replaced `n` by `result`; nodes from `from` on are new. */
static void carry_origins(takt_rewrite *r, const takt_node *n, size_t from, takt_id result)
{
    takt_graph *g = r->out;
    const takt_node *old = &r->in->nodes[r->id];
    if (result < from && (g->nodes[result].op->traits & TAKT_LEAF) == 0)
        takt_graph_merge_origin(g, result, g->origin);
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && n->in[k] != result && r->uses[old->in[k]] == 1 &&
            (g->nodes[n->in[k]].op->traits & TAKT_LEAF) == 0 && !is_read(g, from, n->in[k]))
            carry_origin(g, from, n->in[k], result);
}

static takt_id rewrite(takt_rewrite *r, const takt_id *map, takt_id *inputs, size_t *fired)
{
    takt_node n = r->in->nodes[r->id];
    for (uint32_t k = 0; k < n.in_count; k++)
        inputs[k] = n.in[k] == TAKT_NONE ? TAKT_NONE : map[n.in[k]];
    n.in = inputs;
    takt_graph_inherit(r->out, &n);
    r->out->next_name = NULL;
    const size_t from = r->out->count;
    const takt_id id = offer(r, &n);
    if (id != TAKT_NONE) {
        ++*fired;
        carry_origins(r, &n, from, id);
        return id;
    }
    return takt_graph_copy_node(r->out, &n, inputs);
}

static size_t most_inputs(const takt_graph *g)
{
    size_t most = 1;
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].in_count > most)
            most = g->nodes[i].in_count;
    return most;
}

/* A running pass. */
typedef struct job {
    const takt_pass *pass;
    takt_pass_given given; /* its ranges belong to the graph of the sweep */
    takt_pass_report *report;
    takt_arena arena;           /* for ranges */
    const takt_value_range *of; /* the graph that the sweep has made */
} job;

/* A node that replaces another has its values, or nearly so. */
static takt_status carry_ranges(job *j, const takt_graph *in, const takt_graph *out,
                                const takt_id *map)
{
    takt_value_range *next = takt_arena_array(&j->arena, out->count, sizeof *next);
    if (next == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < out->count; i++)
        next[i] = (takt_value_range){1, 0};
    for (size_t i = 0; i < in->count; i++)
        if (map[i] != TAKT_NONE)
            next[map[i]] = j->given.ranges[i];
    j->of = next;
    return TAKT_OK;
}

/* One sweep; `*fired` counts rules that applied. */
static takt_status sweep(job *j, const takt_graph *in, size_t *fired, takt_graph *out)
{
    takt_arena arena;
    takt_arena_init(&arena, in->ctx);
    unsigned char *live = takt_arena_array(&arena, in->count, 1);
    uint32_t *uses = takt_arena_array(&arena, in->count, sizeof *uses);
    takt_id *map = takt_arena_array(&arena, in->count, sizeof *map);
    takt_id *inputs = takt_arena_array(&arena, most_inputs(in), sizeof *inputs);
    takt_status status = TAKT_ERR_MEMORY;
    if (live == NULL || uses == NULL || map == NULL || inputs == NULL)
        goto done;
    takt_graph_live(in, live);
    count_uses(in, live, uses);
    status = takt_graph_begin_copy(in, out, map);
    takt_rewrite r = {.in = in,
                      .out = out,
                      .uses = uses,
                      .map = map,
                      .pass = j->pass,
                      .given = &j->given,
                      .report = j->report};
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!live[i] || map[i] != TAKT_NONE)
            continue;
        r.id = (takt_id)i;
        map[i] = rewrite(&r, map, inputs, fired);
        status = out->status;
    }
    if (status == TAKT_OK)
        status = takt_graph_end_copy(in, out, map);
    if (status == TAKT_OK && *fired > 0 && j->given.ranges != NULL)
        status = carry_ranges(j, in, out, map);
done:
    takt_arena_deinit(&arena);
    return status;
}

static takt_status apply(job *j, const takt_graph *in, takt_graph **out)
{
    enum { ROUNDS = 8 };
    takt_graph *current = NULL;
    if (j->pass->reads_ranges && j->given.ranges == NULL) {
        j->given.ranges = takt_pass_constant_ranges(&j->arena, in);
        if (j->given.ranges == NULL)
            return TAKT_ERR_MEMORY;
    }
    for (int round = 0; round < ROUNDS; round++) {
        takt_graph *next;
        size_t fired = 0;
        const takt_graph *from = current != NULL ? current : in;
        takt_status status = takt_graph_create(in->ctx, from, &next);
        if (status == TAKT_OK)
            status = sweep(j, from, &fired, next);
        takt_graph_destroy(current);
        current = next;
        if (status != TAKT_OK) {
            takt_graph_destroy(current);
            return status;
        }
        if (fired == 0)
            break;
        j->given.ranges = j->of;
    }
    *out = current;
    return TAKT_OK;
}

takt_status takt_pass_apply_with(const takt_pass *pass, const takt_pass_given *given,
                                 const takt_graph *in, takt_pass_report *report, takt_graph **out)
{
    job j = {.pass = pass, .given = *given, .report = report};
    *out = NULL;
    if (pass->run != NULL)
        return pass->run(in, given, report, out);
    takt_arena_init(&j.arena, in->ctx);
    const takt_status status = apply(&j, in, out);
    takt_arena_deinit(&j.arena);
    return status;
}

takt_status takt_pass_apply(const takt_pass *pass, const takt_graph *in, takt_pass_report *report,
                            takt_graph **out)
{
    const takt_pass_given given = takt_pass_defaults(pass);
    return takt_pass_apply_with(pass, &given, in, report, out);
}
