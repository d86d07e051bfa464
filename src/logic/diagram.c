/* diagram.c - decision diagrams: one table of nodes, and `apply` on its own stack. */
#include "logic/diagram.h"

#include <string.h>

enum { FIRST_NODES = 256, KNOWN_MOST = 1 << 20, NO_VARIABLE = UINT32_MAX };

/* A pair being combined. */
struct takt_dd_frame {
    takt_dd a, b;
    uint32_t variable, next, count; /* the next child to make, of how many */
    size_t room;                    /* where its children are collected */
};

/* ---- memory ---- */

/* Room for `wanted` elements; existing ones are kept. */
static bool grow(takt_dds *d, void **at, size_t *capacity, size_t wanted, size_t size)
{
    if (wanted <= *capacity)
        return true;
    size_t more = *capacity > 0 ? *capacity : FIRST_NODES;
    while (more < wanted)
        more *= 2;
    void *fresh = takt_arena_array(d->arena, more, size);
    if (fresh == NULL) {
        d->status = TAKT_ERR_MEMORY;
        return false;
    }
    if (*capacity > 0)
        memcpy(fresh, *at, *capacity * size);
    *at = fresh;
    *capacity = more;
    return true;
}

void takt_dds_init(takt_dds *d, takt_arena *arena)
{
    *d = (takt_dds){.arena = arena};
}

/* ---- nodes ---- */

static uint32_t variable_of(const takt_dds *d, takt_dd a)
{
    return a <= TAKT_DD_TRUE ? NO_VARIABLE : d->nodes[a].variable;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static size_t hash(uint32_t variable, const takt_dd *children, uint32_t count)
{
    uint64_t h = mix(variable, 0x51);
    for (uint32_t i = 0; i < count; i++)
        h = mix(h, children[i]);
    return (size_t)h;
}

static bool rehash(takt_dds *d)
{
    const size_t size = d->table_size > 0 ? 2 * d->table_size : 4 * (size_t)FIRST_NODES;
    uint32_t *table = takt_arena_array(d->arena, size, sizeof *table);
    if (table == NULL) {
        d->status = TAKT_ERR_MEMORY;
        return false;
    }
    for (size_t n = TAKT_DD_TRUE + 1; n < d->count; n++) {
        const takt_dd_node *node = &d->nodes[n];
        size_t at = hash(node->variable, d->children + node->first, d->values[node->variable]);
        while (table[at & (size - 1)] != 0)
            at++;
        table[at & (size - 1)] = (uint32_t)n;
    }
    d->table = table;
    d->table_size = size;
    return true;
}

/* The node with these children, which may be in d->room; the child itself if all are equal. */
static takt_dd make(takt_dds *d, uint32_t variable, const takt_dd *children)
{
    const uint32_t count = d->values[variable];
    const size_t bytes = count * sizeof *children;
    bool is_same = true;
    for (uint32_t i = 1; i < count; i++)
        is_same = is_same && children[i] == children[0];
    if (is_same)
        return children[0];
    if (d->status != TAKT_OK || (2 * d->count >= d->table_size && !rehash(d)))
        return TAKT_DD_FALSE;
    size_t at = hash(variable, children, count) & (d->table_size - 1);
    for (; d->table[at] != 0; at = (at + 1) & (d->table_size - 1)) {
        const takt_dd_node *n = &d->nodes[d->table[at]];
        if (n->variable == variable && memcmp(d->children + n->first, children, bytes) == 0)
            return d->table[at];
    }
    if (d->count >= TAKT_DD_NODES) {
        d->status = TAKT_ERR_LIMIT;
        return TAKT_DD_FALSE;
    }
    void *nodes = d->nodes, *all = d->children;
    const size_t first = d->count > 0 ? d->count : TAKT_DD_TRUE + 1;
    if (!grow(d, &nodes, &d->capacity, first + 1, sizeof *d->nodes))
        return TAKT_DD_FALSE;
    d->nodes = nodes;
    if (!grow(d, &all, &d->child_capacity, d->child_count + count, sizeof *d->children))
        return TAKT_DD_FALSE;
    d->children = all;
    d->nodes[first] = (takt_dd_node){variable, (uint32_t)d->child_count};
    memcpy(d->children + d->child_count, children, bytes);
    d->child_count += count;
    d->count = first + 1;
    d->table[at] = (uint32_t)first;
    return (takt_dd)first;
}

uint32_t takt_dd_variable(takt_dds *d, uint32_t values)
{
    void *all = d->values;
    if (!grow(d, &all, &d->variable_capacity, d->variable_count + 1, sizeof *d->values))
        return 0;
    d->values = all;
    d->values[d->variable_count] = values;
    return (uint32_t)d->variable_count++;
}

/* Room for the children of one more node, from `from` on. */
static bool take_room(takt_dds *d, size_t from, uint32_t count)
{
    void *room = d->room;
    if (!grow(d, &room, &d->room_capacity, from + count, sizeof *d->room))
        return false;
    d->room = room;
    return true;
}

takt_dd takt_dd_is(takt_dds *d, uint32_t variable, uint32_t value)
{
    if (d->status != TAKT_OK || variable >= d->variable_count ||
        !take_room(d, 0, d->values[variable]))
        return TAKT_DD_FALSE;
    memset(d->room, 0, d->values[variable] * sizeof *d->room);
    d->room[value] = TAKT_DD_TRUE;
    return make(d, variable, d->room);
}

/* ---- apply ---- */

/* The result if one side determines it. */
static bool is_plain(takt_dd_op op, takt_dd a, takt_dd b, takt_dd *result)
{
    if (op == TAKT_DD_XOR) {
        *result = a == b ? TAKT_DD_FALSE : a == TAKT_DD_FALSE ? b : a;
        return a == b || a == TAKT_DD_FALSE || b == TAKT_DD_FALSE;
    }
    const takt_dd strong = op == TAKT_DD_AND ? TAKT_DD_FALSE : TAKT_DD_TRUE;
    const takt_dd weak = strong == TAKT_DD_TRUE ? TAKT_DD_FALSE : TAKT_DD_TRUE;
    *result = a == strong || b == strong ? strong : a == weak ? b : a;
    return a <= TAKT_DD_TRUE || b <= TAKT_DD_TRUE || a == b;
}

static takt_dd_known *place_of(const takt_dds *d, takt_dd_op op, takt_dd a, takt_dd b)
{
    return &d->known[mix(mix(mix(op, 0x51), a), b) & (d->known_size - 1)];
}

/* As many entries as there are nodes: with fewer, results would be computed repeatedly. */
static bool grow_known(takt_dds *d)
{
    if (d->known_size >= KNOWN_MOST || d->known_size >= d->count)
        return true;
    size_t size = d->known_size > 0 ? d->known_size : 4 * (size_t)FIRST_NODES;
    while (size < d->count && size < KNOWN_MOST)
        size *= 4;
    takt_dd_known *old = d->known;
    const size_t count = d->known_size;
    takt_dd_known *fresh = takt_arena_array(d->arena, size, sizeof *fresh);
    if (fresh == NULL) {
        d->status = TAKT_ERR_MEMORY;
        return false;
    }
    d->known = fresh;
    d->known_size = size;
    for (size_t i = 0; i < count; i++)
        if (old[i].op != 0)
            *place_of(d, (takt_dd_op)(old[i].op - 1), old[i].a, old[i].b) = old[i];
    return true;
}

static takt_dd child(const takt_dds *d, takt_dd a, uint32_t variable, uint32_t value)
{
    return variable_of(d, a) == variable ? d->children[d->nodes[a].first + value] : a;
}

/* A pair's result if it is known immediately; else a frame for it. */
static bool begin(takt_dds *d, takt_dd_op op, takt_dd a, takt_dd b, size_t depth, takt_dd *result)
{
    if (is_plain(op, a, b, result))
        return true;
    if (a > b) { /* all three commute */
        const takt_dd other = a;
        a = b;
        b = other;
    }
    const takt_dd_known *k = place_of(d, op, a, b);
    if (k->op == (uint32_t)op + 1 && k->a == a && k->b == b) {
        *result = k->result;
        return true;
    }
    void *frames = d->frames;
    const uint32_t va = variable_of(d, a), vb = variable_of(d, b);
    const uint32_t variable = va < vb ? va : vb;
    const size_t room = depth > 0 ? d->frames[depth - 1].room + d->frames[depth - 1].count : 0;
    if (!grow(d, &frames, &d->frame_capacity, depth + 1, sizeof *d->frames) ||
        !take_room(d, room, d->values[variable])) {
        *result = TAKT_DD_FALSE;
        return true;
    }
    d->frames = frames;
    d->frames[depth] =
        (takt_dd_frame){.a = a, .b = b, .variable = variable, .count = d->values[variable]};
    d->frames[depth].room = room;
    return false;
}

takt_dd takt_dd_apply(takt_dds *d, takt_dd_op op, takt_dd a, takt_dd b)
{
    takt_dd result = TAKT_DD_FALSE;
    size_t depth = 0;
    if (d->status != TAKT_OK || !grow_known(d))
        return TAKT_DD_FALSE;
    if (begin(d, op, a, b, depth, &result))
        return result;
    for (depth = 1; depth > 0 && d->status == TAKT_OK;) {
        takt_dd_frame *f = &d->frames[depth - 1];
        if (f->next < f->count) {
            const takt_dd x = child(d, f->a, f->variable, f->next);
            const takt_dd y = child(d, f->b, f->variable, f->next);
            if (!begin(d, op, x, y, depth, &result)) {
                depth++;
                continue;
            }
            f = &d->frames[depth - 1];
            d->room[f->room + f->next++] = result;
            continue;
        }
        result = make(d, f->variable, d->room + f->room);
        if (!grow_known(d))
            return TAKT_DD_FALSE;
        *place_of(d, op, f->a, f->b) = (takt_dd_known){f->a, f->b, result, (uint32_t)op + 1};
        if (--depth > 0) {
            f = &d->frames[depth - 1];
            d->room[f->room + f->next++] = result;
        }
    }
    return d->status == TAKT_OK ? result : TAKT_DD_FALSE;
}

/* ---- folds ---- */

void takt_dd_fold_begin(takt_dd_fold *f, takt_dds *d, takt_dd_op op)
{
    f->d = d;
    f->op = op;
    f->count = 0;
}

/* at[i] holds the combination of 2^i operands where bit i of the count is set. */
bool takt_dd_fold_add(takt_dd_fold *f, takt_dd a)
{
    const takt_dd weak = f->op == TAKT_DD_AND ? TAKT_DD_TRUE : TAKT_DD_FALSE;
    if (a == weak)
        return f->d->status == TAKT_OK;
    int i = 0;
    for (uint64_t bits = f->count++; (bits & 1) != 0; bits >>= 1)
        a = takt_dd_apply(f->d, f->op, f->at[i++], a);
    f->at[i] = a;
    return f->d->status == TAKT_OK && (a > TAKT_DD_TRUE || a == weak);
}

takt_dd takt_dd_fold_end(takt_dd_fold *f)
{
    takt_dd all = f->op == TAKT_DD_AND ? TAKT_DD_TRUE : TAKT_DD_FALSE;
    for (int i = 0; i < TAKT_DD_HEAP; i++)
        if ((f->count >> i & 1) != 0)
            all = takt_dd_apply(f->d, f->op, f->at[i], all);
    return all;
}
