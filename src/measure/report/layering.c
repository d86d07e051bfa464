/* layering.c - Sugiyama's method: an edge over several rows gets a bend in each row between; rows
 * are sorted by the mean position of the neighbours, then moved towards it without overlap. */
#include "measure/report/layering.h"

#include <string.h>

#include "base/sort.h"

enum { SORTINGS = 8, MOVES = 9 };
/* With more bends than this the picture gets less clear: long edges are straight then. */
enum { MOST_BENDS = 50000 };
#define BEND_WIDTH 12.0

/* A box or a bend. */
typedef struct item {
    double width, x, wanted;
    uint32_t row, order;
    uint32_t *up, *down; /* neighbours in the rows before and after */
    uint32_t up_count, down_count;
} item;

typedef struct cluster cluster;

typedef struct rows {
    item *items;
    size_t item_count;
    const item ***row; /* items of each row, from left to right */
    size_t *count;
    size_t row_count;
    cluster *clusters; /* room for those of one row */
    double gap;
} rows;

static bool is_before(const void *left, const void *right)
{
    const item *a = left, *b = right;
    return a->wanted < b->wanted || (a->wanted <= b->wanted && a->order < b->order);
}

/* Boxes pull more strongly than bends, so that the main line stays straight next to long edges. */
static double weight_of(const item *i)
{
    return i->width > BEND_WIDTH ? 1 : 0.05;
}

static double mean_of(const rows *r, const item *i, bool is_down)
{
    const uint32_t *at = is_down ? i->up : i->down;
    const uint32_t count = is_down ? i->up_count : i->down_count;
    double sum = 0, weight = 0;
    for (uint32_t k = 0; k < count; k++) {
        const item *neighbour = &r->items[at[k]];
        sum += weight_of(neighbour) * neighbour->x;
        weight += weight_of(neighbour);
    }
    return weight > 0 ? sum / weight : i->x;
}

/* From left to right without gaps, about 0. */
static void pack(const rows *r, size_t row)
{
    double width = 0, at;
    for (size_t k = 0; k < r->count[row]; k++)
        width += r->row[row][k]->width + r->gap;
    at = -width / 2;
    for (size_t k = 0; k < r->count[row]; k++) {
        item *i = &r->items[r->row[row][k] - r->items];
        i->order = (uint32_t)k;
        i->x = at + (i->width + r->gap) / 2;
        at += i->width + r->gap;
    }
}

static void want(const rows *r, size_t row, bool is_down)
{
    for (size_t k = 0; k < r->count[row]; k++) {
        item *i = &r->items[r->row[row][k] - r->items];
        i->wanted = mean_of(r, i, is_down);
    }
}

static double apart(const rows *r, const item *a, const item *b)
{
    return (a->width + b->width) / 2 + r->gap;
}

/* Neighbours in a row that touch move as one, to the mean of their wanted positions. */
struct cluster {
    double sum, weight; /* of the position that its first item should have */
    size_t end;
};

/* As close as possible to the wanted positions, in the same order and without overlap: least
 * squares, by joining clusters that would overlap. */
static void move(const rows *r, size_t row)
{
    const item **at = r->row[row];
    cluster *c = r->clusters;
    size_t count = 0;
    double offset = 0;
    for (size_t k = 0; k < r->count[row]; k++) {
        offset += k > 0 ? apart(r, at[k - 1], at[k]) : 0;
        const double weight = weight_of(at[k]);
        c[count++] = (cluster){weight * (at[k]->wanted - offset), weight, k + 1};
        while (count > 1 &&
               c[count - 2].sum * c[count - 1].weight > c[count - 1].sum * c[count - 2].weight) {
            c[count - 2].sum += c[count - 1].sum;
            c[count - 2].weight += c[count - 1].weight;
            c[count - 2].end = c[count - 1].end;
            count--;
        }
    }
    offset = 0;
    for (size_t k = 0, of = 0; k < r->count[row]; k++) {
        offset += k > 0 ? apart(r, at[k - 1], at[k]) : 0;
        of += k == c[of].end;
        r->items[at[k] - r->items].x = c[of].sum / c[of].weight + offset;
    }
}

/* Alternately down and up; down at the end. */
static void arrange(rows *r)
{
    for (size_t row = 0; row < r->row_count; row++)
        pack(r, row);
    for (int sweep = 0; sweep < SORTINGS + MOVES; sweep++)
        for (size_t k = 0; k < r->row_count; k++) {
            const bool is_down = sweep % 2 == 0;
            const size_t row = is_down ? k : r->row_count - 1 - k;
            want(r, row, is_down);
            if (sweep < SORTINGS) {
                takt_sort_pointers((const void **)r->row[row], r->count[row], is_before);
                pack(r, row);
            } else {
                move(r, row);
            }
        }
}

/* ---- boxes, edges and bends as items ---- */

static size_t bends_of(const takt_layering *l, const takt_place_edge *e)
{
    return (size_t)(l->boxes[e->to].row - l->boxes[e->from].row - 1);
}

static void join(rows *r, uint32_t from, uint32_t to, bool is_counting)
{
    item *a = &r->items[from], *b = &r->items[to];
    if (!is_counting) {
        a->down[a->down_count] = to;
        b->up[b->up_count] = from;
    }
    a->down_count++;
    b->up_count++;
}

/* The pieces of every edge, counted or written down. */
static void join_all(const takt_layering *l, rows *r, bool is_counting)
{
    for (size_t e = 0; e < l->edge_count; e++) {
        const takt_place_edge *edge = &l->edges[e];
        uint32_t from = edge->from;
        for (uint32_t k = 0; k < edge->bend_count; k++) {
            const uint32_t bend = (uint32_t)l->box_count + edge->first + k;
            join(r, from, bend, is_counting);
            from = bend;
        }
        join(r, from, edge->to, is_counting);
    }
}

static bool neighbours(const takt_layering *l, rows *r, takt_arena *arena)
{
    join_all(l, r, true);
    for (size_t i = 0; i < r->item_count; i++) {
        item *at = &r->items[i];
        at->up = takt_arena_array(arena, at->up_count + 1, sizeof *at->up);
        at->down = takt_arena_array(arena, at->down_count + 1, sizeof *at->down);
        if (at->up == NULL || at->down == NULL)
            return false;
        at->up_count = at->down_count = 0;
    }
    join_all(l, r, false);
    return true;
}

static bool fill_rows(rows *r, takt_arena *arena)
{
    r->row = takt_arena_array(arena, r->row_count, sizeof *r->row);
    r->count = takt_arena_array(arena, r->row_count, sizeof *r->count);
    r->clusters = takt_arena_array(arena, r->item_count + 1, sizeof *r->clusters);
    if (r->row == NULL || r->count == NULL || r->clusters == NULL)
        return false;
    for (size_t i = 0; i < r->item_count; i++)
        r->count[r->items[i].row]++;
    for (size_t row = 0; row < r->row_count; row++) {
        r->row[row] = takt_arena_array(arena, r->count[row] + 1, sizeof **r->row);
        if (r->row[row] == NULL)
            return false;
        r->count[row] = 0;
    }
    for (size_t i = 0; i < r->item_count; i++) {
        const size_t row = r->items[i].row;
        r->row[row][r->count[row]++] = &r->items[i];
    }
    return true;
}

static void count_bends(takt_layering *l)
{
    l->rows = 0;
    l->bend_count = 0;
    for (size_t i = 0; i < l->box_count; i++)
        l->rows = l->boxes[i].row >= l->rows ? l->boxes[i].row + 1 : l->rows;
    for (size_t e = 0; e < l->edge_count; e++)
        l->bend_count += bends_of(l, &l->edges[e]);
    const bool is_straight = l->bend_count > MOST_BENDS;
    l->bend_count = 0;
    for (size_t e = 0; e < l->edge_count; e++) {
        l->edges[e].first = (uint32_t)l->bend_count;
        l->edges[e].bend_count = is_straight ? 0 : (uint32_t)bends_of(l, &l->edges[e]);
        l->bend_count += l->edges[e].bend_count;
    }
}

static void results(takt_layering *l, const rows *r)
{
    double least = 0, most = 0;
    for (size_t i = 0; i < r->item_count; i++) {
        const item *at = &r->items[i];
        if (i == 0) {
            least = at->x - at->width / 2;
            most = at->x + at->width / 2;
        }
        least = at->x - at->width / 2 < least ? at->x - at->width / 2 : least;
        most = at->x + at->width / 2 > most ? at->x + at->width / 2 : most;
    }
    l->width = most - least;
    for (size_t i = 0; i < l->box_count; i++)
        l->boxes[i].x = r->items[i].x - least;
    for (size_t i = 0; i < l->bend_count; i++)
        l->bends[i] = r->items[l->box_count + i].x - least;
}

bool takt_layering_place(takt_layering *l, takt_arena *arena, double gap)
{
    count_bends(l);
    rows r = {.item_count = l->box_count + l->bend_count, .row_count = (size_t)l->rows, .gap = gap};
    r.items = takt_arena_array(arena, r.item_count + 1, sizeof *r.items);
    l->bends = takt_arena_array(arena, l->bend_count + 1, sizeof *l->bends);
    if (r.items == NULL || l->bends == NULL)
        return false;
    for (size_t i = 0; i < l->box_count; i++) {
        r.items[i].width = l->boxes[i].width;
        r.items[i].row = (uint32_t)l->boxes[i].row;
    }
    for (size_t e = 0; e < l->edge_count; e++)
        for (uint32_t k = 0; k < l->edges[e].bend_count; k++) {
            item *bend = &r.items[l->box_count + l->edges[e].first + k];
            bend->width = BEND_WIDTH;
            bend->row = (uint32_t)l->boxes[l->edges[e].from].row + 1 + k;
        }
    if (!neighbours(l, &r, arena) || !fill_rows(&r, arena))
        return false;
    arrange(&r);
    results(l, &r);
    return true;
}
