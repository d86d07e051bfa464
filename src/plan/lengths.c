/* lengths.c - nodes that wait for sizes that values decide.
 *
 * An op `length` finds such sizes in the middle of a run; whatever mentions their names comes after
 * it, even if no value leads from one to the other. Lengths are numbered in the graph's order, and
 * found in that order: so one number, that of the last length a node needs, is enough. */
#include <string.h>

#include "ir/leaves.h"
#include "op/util/length.h"
#include "plan/basis.h"
#include "plan/builder.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static takt_status list_lengths(takt_builder *b, size_t *count)
{
    const takt_graph *g = b->p.graph;
    *count = 0;
    for (size_t i = 0; i < g->count; i++)
        *count += b->live[i] && g->nodes[i].op == &takt_op_length;
    if (*count == 0)
        return TAKT_OK;
    b->latest = takt_arena_array(&b->p.plan->arena, g->count, sizeof *b->latest);
    b->lengths = takt_arena_array(&b->scratch, *count + 1, sizeof *b->lengths);
    if (b->latest == NULL || b->lengths == NULL)
        return TAKT_ERR_MEMORY;
    memset(b->latest, 0, g->count * sizeof *b->latest);
    size_t at = 0;
    for (size_t i = 0; i < g->count; i++)
        if (b->live[i] && g->nodes[i].op == &takt_op_length)
            b->lengths[++at] = (takt_id)i;
    return TAKT_OK;
}

/* Names that inputs determine are known from the start; a length only compares them. */
static void forget_given(const takt_template *t, uint32_t *last)
{
    for (size_t i = 0; i < t->type_count; i++)
        if (t->types[i].cell < t->sizes.name_count &&
            t->graph->nodes[t->types[i].node].op == &takt_op_input)
            last[t->types[i].cell] = 0;
}

/* Per cell of the size program: the last length that it depends on. */
static uint32_t *cells_of(takt_builder *b, const takt_template *t, size_t count)
{
    const takt_sizes *s = &t->sizes;
    uint32_t *last = takt_arena_array(&b->scratch, takt_sizes_cells(s) + 1, sizeof *last);
    size_t name;
    if (last == NULL)
        return NULL;
    memset(last, 0, takt_sizes_cells(s) * sizeof *last);
    for (size_t i = 1; i <= count; i++) {
        const takt_attr *names = &t->graph->nodes[b->lengths[i]].attr[TAKT_LENGTH_NAMES];
        for (uint32_t k = 0; k < names->count; k++)
            if (takt_dim_is_name(t->graph->dims, names->dims[k], &name) && name < s->name_count &&
                last[name] == 0)
                last[name] = (uint32_t)i;
    }
    forget_given(t, last);
    for (size_t i = 0; i < s->count; i++)
        if (s->code[i].code != TAKT_SIZE_NUMBER)
            last[s->name_count + i] = larger(last[s->code[i].a], last[s->code[i].b]);
    return last;
}

static void mark(takt_builder *b, const uint32_t *last, const takt_patch *patches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        b->latest[patches[i].node] = larger(b->latest[patches[i].node], last[patches[i].cell]);
}

/* A subgraph may use names that are not in its inputs and results: it runs when all sizes before it
 * are known. */
static void mark_outer(takt_builder *b, const takt_template *t, size_t count)
{
    size_t before = 0;
    for (size_t i = 0; i < t->outer_count; i++) {
        while (before < count && b->lengths[before + 1] < t->outer[i])
            before++;
        b->latest[t->outer[i]] = larger(b->latest[t->outer[i]], (uint32_t)before);
    }
}

takt_status takt_builder_lengths(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    const takt_basis *basis = b->p.settings->basis;
    size_t count;
    TAKT_TRY(list_lengths(b, &count));
    if (count == 0)
        return TAKT_OK;
    const takt_template *t = basis != NULL ? basis->template : NULL;
    const uint32_t *last = t != NULL ? cells_of(b, t, count) : NULL;
    if (t != NULL && last == NULL)
        return TAKT_ERR_MEMORY;
    if (t != NULL) {
        mark(b, last, t->types, t->type_count);
        mark(b, last, t->shapes, t->shape_count);
        mark(b, last, t->values, t->value_count);
        mark_outer(b, t, count);
    }
    for (size_t i = 1; i <= count; i++) /* its own names are known after it */
        b->latest[b->lengths[i]] = (uint32_t)i - 1;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                b->latest[i] = larger(b->latest[i], b->latest[g->nodes[i].in[k]]);
    b->p.plan->latest = b->latest;
    return TAKT_OK;
}
