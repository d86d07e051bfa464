/* clamp.c - sizes that values decide and that are not known yet. */
#include "base/error_record.h"
#include "ir/leaves.h"
#include "op/util/length.h"
#include "plan/resize.h"

/* False: it can only be 0 now, but was not. */
static bool clamp(const takt_plan *top, int64_t *cells, const unsigned char *is_none, size_t name,
                  int64_t size)
{
    cells[name] = size < top->ranges[name].high ? size : top->ranges[name].high;
    if (is_none == NULL)
        return true;
    const bool is_known = cells[name] > 0 || is_none[name] != 0;
    if (is_none[name] != 0)
        cells[name] = 0;
    return is_known;
}

/* Which name element `k` of a length gives a number to; false: none that values decide. */
static bool decides(const takt_plan *top, const takt_node *n, uint32_t k, size_t *name)
{
    const takt_graph *g = top->basis->template->graph;
    return takt_dim_is_name(g->dims, n->attr[TAKT_LENGTH_NAMES].dims[k], name) &&
           *name < top->name_count && top->ranges[*name].is_length;
}

/* Whether a length before node `before` has given `name` its number. */
static bool is_decided(const takt_plan *top, size_t name, takt_id before)
{
    const takt_graph *g = top->basis->template->graph;
    size_t own;
    for (size_t i = 0; i < before; i++) {
        const takt_node *n = &g->nodes[i];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count; k++)
            if (decides(top, n, k, &own) && own == name)
                return true;
    }
    return false;
}

/* Whether another name was 0 before. */
static bool has_none(const takt_plan *top, const int64_t *names, size_t name, takt_id before)
{
    for (size_t i = 0; i < top->name_count; i++)
        if (i != name && names[i] == 0 && top->ranges[i].is_length && is_decided(top, i, before))
            return true;
    return false;
}

/* Whether the length at `node` gives `name` no number of its own. */
static bool only_compares(const takt_plan *top, takt_id node, size_t name)
{
    const takt_graph *g = top->basis->template->graph;
    const takt_node *n = &g->nodes[node];
    size_t own;
    for (uint32_t k = 0; k < n->attr[TAKT_LENGTH_NAMES].count; k++)
        if (takt_length_names(g, n, k, &own) && own == name)
            return false;
    return true;
}

bool takt_plan_differs(const takt_plan *top, const int64_t *names, size_t name, int64_t found,
                       takt_id before)
{
    if (found == names[name] || !is_decided(top, name, before))
        return false;
    if (only_compares(top, before, name))
        return true;
    return (found != 0 && names[name] != 0) || !has_none(top, names, name, before);
}

/* Names that received numbers from lengths before node `behind`, one bit each; those beyond the
 * last bit are searched one by one. */
enum { MARKS = 1024 };

static void mark(const takt_plan *top, takt_id behind, uint64_t marks[MARKS / 64])
{
    const takt_graph *g = top->basis->template->graph;
    size_t name;
    for (size_t i = 0; i < behind; i++) {
        const takt_node *n = &g->nodes[i];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count; k++)
            if (decides(top, n, k, &name) && name < MARKS)
                marks[name / 64] |= UINT64_C(1) << name % 64;
    }
}

/* Whether element `k` of this length is the first that gives `*name` its number: others with the
 * same name, because their values broadcast, only compare. */
static bool is_open(const takt_plan *top, const takt_node *n, uint32_t k, takt_id behind,
                    const uint64_t marks[MARKS / 64], size_t *name)
{
    if (!decides(top, n, k, name))
        return false;
    return *name < MARKS ? (marks[*name / 64] >> *name % 64 & 1) == 0
                         : !is_decided(top, *name, behind);
}

static bool clamp_all(const takt_plan *top, int64_t *cells, const unsigned char *is_none,
                      takt_id behind)
{
    bool is_known = true;
    const takt_template *t = top->basis->template;
    uint64_t marks[MARKS / 64] = {0};
    takt_error before;
    size_t name;
    mark(top, behind, marks);
    for (size_t i = behind; i < t->graph->count; i++) {
        const takt_node *n = &t->graph->nodes[i];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count; k++)
            if (takt_dim_is_number(n->attr[TAKT_LENGTH_TOPS].dims[k]) &&
                is_open(top, n, k, behind, marks, &name))
                is_known &= clamp(top, cells, is_none, name, n->attr[TAKT_LENGTH_TOPS].dims[k]);
    }
    for (size_t i = 0; i < t->shape_count; i++) {
        const takt_patch *p = &t->shapes[i];
        const takt_node *n = &t->graph->nodes[p->node];
        if (p->node < behind || n->op != &takt_op_length || p->which != TAKT_LENGTH_TOPS ||
            !is_open(top, n, p->index, behind, marks, &name))
            continue;
        takt_error_copy(top->ctx, &before);
        if (takt_sizes_run(&t->sizes, cells) != TAKT_OK) /* later ones may still be wrong */
            takt_error_put_back(top->ctx, &before);
        is_known &= clamp(top, cells, is_none, name, cells[p->cell]);
    }
    return is_known;
}

/* If a branch can no longer be taken, the other one will be, even if it was not before. */
void takt_plan_clamp(const takt_plan *top, int64_t *cells, const unsigned char *is_none,
                     takt_id behind)
{
    if (top->latest != NULL && !clamp_all(top, cells, is_none, behind))
        (void)clamp_all(top, cells, NULL, behind);
}
