/* layers_tree.c - layers beneath the layer that called them, with its subtotal, as rows of a table.
 *
 * The tree is in the names: "block_0.attention_0.q". Layers that follow one another and have the
 * first part in common are a branch; a branch of one layer is a row with its whole name. */
#include <string.h>

#include "measure/report/report.h"

/* Names come from files: parts beyond this depth keep their dots. */
enum { MOST_DEPTH = 8, INDENT = 2 };

typedef struct branch {
    size_t first, end; /* layers */
    size_t said;       /* bytes of their names already in the row above, including the dot */
    int depth;
} branch;

static void row(takt_table *t, const takt_layers *l, int depth, const char *name, size_t length,
                const takt_layer *shown)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT], out[TAKT_TYPE_TEXT];
    takt_table_cell(t, "%*s%.*s%s(%s)", depth * INDENT, "", (int)length, name,
                    length > 0 ? " " : "", shown->type);
    takt_table_cell(t, "%s", takt_type_text(l->named->dims, shown->out, out));
    takt_table_cell(t, "%s", takt_figure(shown->parameters + shown->state, a));
    takt_table_cell(t, "%s", takt_figure(takt_whole(shown->macs), b));
}

/* The end of the layers from `first` on whose names continue with the same part of `*length` bytes.
 * The name of the calling layer ends before that part; it may be among them. */
static size_t run_of(const takt_layers *l, const branch *b, size_t first, size_t *length)
{
    const char *name = l->at[first].name + b->said;
    *length = strcspn(name, ".");
    for (size_t end = first + 1; end < b->end; end++) {
        if (strlen(l->at[end].name) < b->said)
            return end;
        const char *other = l->at[end].name + b->said;
        if (strncmp(other, name, *length) != 0 || (other[*length] != '.' && other[*length] != '\0'))
            return end;
    }
    return b->end;
}

/* All layers of a run as one. Its result is the last one computed; its type is that of the calling
 * layer, if it is among them. */
static takt_layer sum_of(const takt_layers *l, size_t first, size_t end, size_t whole)
{
    takt_layer sum = l->at[first];
    const char *type = "block";
    for (size_t i = first; i < end; i++) {
        const takt_layer *layer = &l->at[i];
        if (strlen(layer->name) == whole)
            type = layer->type;
        if (layer->last > sum.last) {
            sum.last = layer->last;
            sum.out = layer->out;
        }
        if (i > first) {
            sum.parameters += layer->parameters;
            sum.state += layer->state;
            sum.macs += layer->macs;
        }
    }
    sum.type = type;
    return sum;
}

/* The cost of a branch's caller itself, shown unless it is zero. */
static void own_work(takt_table *t, const takt_layers *l, const branch *b, const takt_layer *caller)
{
    if (caller->parameters + caller->state > 0 || caller->macs > 0)
        row(t, l, b->depth, "", 0, caller);
}

static void rows(takt_table *t, const takt_layers *l, const branch *b)
{
    for (size_t i = b->first, end; i < b->end; i = end) {
        const takt_layer *layer = &l->at[i];
        end = i + 1;
        if (strlen(layer->name) < b->said) {
            own_work(t, l, b, layer);
            continue;
        }
        const char *name = layer->name + b->said;
        size_t length = strlen(name);
        if (b->depth < MOST_DEPTH)
            end = run_of(l, b, i, &length);
        if (end == i + 1) {
            row(t, l, b->depth, name, strlen(name), layer);
            continue;
        }
        const takt_layer sum = sum_of(l, i, end, b->said + length);
        row(t, l, b->depth, name, length, &sum);
        rows(t, l, &(branch){i, end, b->said + length + 1, b->depth + 1});
    }
}

void takt_layers_tree(const takt_layers *l, takt_table *t)
{
    rows(t, l, &(branch){.end = l->count});
}
