/* twins_find.c - which steps are compiled to the same facts at every size. */
#include <string.h>

#include "plan/look_back.h"
#include "plan/twins_fields.h"

enum {
    WORDS = 24, /* own ones of a step, on average */
    PAIRS = 96, /* of values that two steps read and write */
};

takt_twins *takt_twins_create(takt_builder *b, const takt_answers *answers)
{
    takt_arena *arena = &b->scratch;
    const takt_plan *plan = b->p.plan;
    const size_t nodes = plan->graph->count, steps = plan->step_count;
    takt_twins *t = takt_arena_array(arena, 1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->answers = answers;
    t->count = steps;
    t->piece_room = steps;
    for (size_t i = 0; i < steps; i++) {
        t->piece_room += 2 * (plan->steps[i].in_count + plan->steps[i].out_count);
        t->source_room += plan->steps[i].in_count;
    }
    for (size_t i = 0; i < answers->count; i++)
        t->piece_room += answers->list[i].what == TAKT_ASKED_BLOCK;
    t->word_room = WORDS * steps;
    t->list = takt_arena_array(arena, steps + 1, sizeof *t->list);
    t->pieces = takt_arena_array(arena, t->piece_room, sizeof *t->pieces);
    t->words = takt_arena_array(arena, t->word_room, sizeof *t->words);
    t->sources = takt_arena_array(arena, t->source_room, sizeof *t->sources);
    t->signs = takt_arena_array(arena, nodes, sizeof *t->signs);
    t->next = takt_arena_array(arena, nodes, sizeof *t->next);
    const bool is_whole = t->list != NULL && t->pieces != NULL && t->words != NULL &&
                          t->sources != NULL && t->signs != NULL && t->next != NULL;
    return is_whole ? t : NULL;
}

/* ---- two steps ---- */

/* Numbers of one step and their counterparts in the other: of nodes, or of buffers. */
typedef struct pairs {
    uint32_t one[PAIRS], other[PAIRS];
    size_t count;
} pairs;

/* False: one of them already has another counterpart, or there are too many. */
static bool pair(pairs *p, uint32_t one, uint32_t other)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->one[i] == one || p->other[i] == other)
            return p->one[i] == one && p->other[i] == other;
    if (p->count == PAIRS)
        return false;
    p->one[p->count] = one;
    p->other[p->count++] = other;
    return true;
}

static bool is_pair(const pairs *p, uint32_t one, uint32_t other)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->one[i] == one && p->other[i] == other)
            return true;
    return false;
}

typedef struct couple {
    takt_twins *t;
    const takt_builder *b;
    size_t leader, index;
    const takt_step *one, *other; /* of the leader, and of the step */
    pairs nodes, buffers;
} couple;

static bool same_group(const takt_builder *b, takt_id x, takt_id y)
{
    const takt_group *one = &b->groups[b->group_index[x]], *other = &b->groups[b->group_index[y]];
    return one->count == other->count && one->anchor == other->anchor &&
           one->is_map == other->is_map && !one->is_commit && !other->is_commit;
}

/* Whether anything outside the step reads one of its values. */
static bool escapes(const takt_builder *b, const takt_step *s, takt_id id)
{
    uint32_t inside = 0;
    for (size_t i = 0; i < s->node_count; i++) {
        const takt_node *n = &b->p.graph->nodes[s->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            inside += n->in[k] == id;
    }
    return b->uses[id] > inside;
}

/* The same operations on values that are related in the same way. */
static bool same_nodes(couple *c, const takt_graph *named)
{
    const takt_step *one = c->one, *other = c->other;
    for (size_t i = 0; i < one->node_count; i++)
        if (!pair(&c->nodes, one->nodes[i], other->nodes[i]) ||
            c->t->signs[one->nodes[i]] != c->t->signs[other->nodes[i]] ||
            escapes(c->b, one, one->nodes[i]) != escapes(c->b, other, other->nodes[i]))
            return false;
    for (size_t i = 0; i < one->node_count; i++) {
        const takt_node *x = &named->nodes[one->nodes[i]], *y = &named->nodes[other->nodes[i]];
        for (uint32_t k = 0; k < x->in_count; k++)
            if ((x->in[k] == TAKT_NONE) != (y->in[k] == TAKT_NONE) ||
                (x->in[k] != TAKT_NONE && !pair(&c->nodes, x->in[k], y->in[k])))
                return false;
    }
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_answer(couple *c, const takt_answer *x, const takt_answer *y)
{
    if (x->what != y->what || x->bytes != y->bytes)
        return false;
    switch (x->what) {
    case TAKT_ASKED_BLOCK: return true;
    case TAKT_ASKED_TEXT: return same_text(x->format, y->format);
    case TAKT_ASKED_KIND: return x->at == y->at;
    case TAKT_ASKED_CHILD: return false;
    case TAKT_ASKED_PACK:
    case TAKT_ASKED_VIEW:
    case TAKT_ASKED_RESULT: break;
    }
    const takt_buffer *buffers = c->b->p.plan->buffers;
    return same_text(x->format, y->format) && (x->node == TAKT_NONE) == (y->node == TAKT_NONE) &&
           (x->node == TAKT_NONE || pair(&c->nodes, x->node, y->node)) &&
           pair(&c->buffers, x->buffer, y->buffer) &&
           buffers[x->buffer].place == buffers[y->buffer].place &&
           buffers[x->buffer].space == buffers[y->buffer].space;
}

static bool same_answers(couple *c)
{
    const takt_twins *t = c->t;
    const size_t from = takt_twins_first_answer(t, c->leader), to = t->after[c->leader];
    const size_t other = takt_twins_first_answer(t, c->index);
    if (to - from != t->after[c->index] - other)
        return false;
    for (size_t i = 0; from + i < to; i++)
        if (!same_answer(c, &t->answers->list[from + i], &t->answers->list[other + i]))
            return false;
    return true;
}

static void add_sources(couple *c)
{
    const takt_plan *plan = c->b->p.plan;
    takt_twins *t = c->t;
    for (size_t i = 0; plan->threads > 1 && i < c->one->in_count; i++) {
        const takt_twin_source s = {takt_look_back(plan, c->index, c->other->in[i].buffer),
                                    takt_look_back(plan, c->leader, c->one->in[i].buffer)};
        if (s.own >= 0 || s.leaders >= 0)
            t->sources[t->source_count++] = s;
    }
}

/* ---- their memory ---- */

static void reach(takt_twin *twin, const void *at, size_t bytes)
{
    const unsigned char *from = at;
    if (bytes == 0)
        return;
    twin->low = twin->low == NULL || from < twin->low ? from : twin->low;
    twin->high = from + bytes > twin->high ? from + bytes : twin->high;
}

static void find_memory(takt_twins *t, const takt_step *s, size_t index)
{
    takt_twin *twin = &t->list[index];
    reach(twin, s->name, s->name != NULL ? strlen(s->name) + 1 : 0);
    reach(twin, s->nodes, s->node_count * sizeof *s->nodes);
    reach(twin, s->in, s->in_count * sizeof *s->in);
    reach(twin, s->out, s->out_count * sizeof *s->out);
    for (size_t i = takt_twins_first_answer(t, index); i < t->after[index]; i++) {
        const takt_answer *a = &t->answers->list[i];
        if (a->what == TAKT_ASKED_BLOCK)
            reach(twin, a->at, a->bytes);
        else if (a->what == TAKT_ASKED_TEXT && a->format != NULL)
            reach(twin, a->format, strlen(a->format) + 1);
    }
}

static bool is_inside(const takt_twin *twin, uint64_t word)
{
    return word >= (uintptr_t)twin->low && word < (uintptr_t)twin->high;
}

/* Whether a word differs because it is an address, or the number of a buffer or a node. */
static bool is_explained(const couple *c, const unsigned char *from, const unsigned char *to,
                         size_t at)
{
    uint64_t x, y;
    uint32_t one, other;
    memcpy(&one, from + at, sizeof one);
    memcpy(&other, to + at, sizeof other);
    if (is_pair(&c->buffers, one, other) || is_pair(&c->nodes, one, other))
        return true;
    memcpy(&x, from + at / 8 * 8, sizeof x);
    memcpy(&y, to + at / 8 * 8, sizeof y);
    const bool are_inside =
        is_inside(&c->t->list[c->leader], x) && is_inside(&c->t->list[c->index], y);
    return are_inside || (x >> 32 != 0 && y >> 32 != 0 && x >> 48 == 0 && y >> 48 == 0);
}

static bool add_word(couple *c, const unsigned char *from, unsigned char *to)
{
    takt_twins *t = c->t;
    if (t->word_count == t->word_room)
        return false;
    takt_twin_word *w = &t->words[t->word_count++];
    w->from = from;
    w->to = to;
    memcpy(&w->leaders, from, sizeof w->leaders);
    memcpy(&w->own, to, sizeof w->own);
    return true;
}

/* `own`: the place of a word that always belongs to the step, or SIZE_MAX. */
static bool add_piece(couple *c, const void *from, void *to, size_t bytes, size_t own)
{
    takt_twins *t = c->t;
    const unsigned char *x = from;
    unsigned char *y = to;
    const size_t whole = bytes / 4 * 4;
    if (t->piece_count == t->piece_room || memcmp(x + whole, y + whole, bytes - whole) != 0)
        return false;
    t->pieces[t->piece_count++] = (takt_twin_piece){y, x, (uint32_t)bytes};
    for (size_t i = 0; i < whole; i += 4) {
        uint64_t word = 0;
        const bool is_own = i == own || i == own + 4;
        memcpy(&word, x + i / 8 * 8, i / 8 * 8 + 8 <= bytes ? 8 : 4);
        const bool is_same = memcmp(x + i, y + i, 4) == 0;
        if (is_same && !is_own && is_inside(&t->list[c->leader], word) &&
            memcmp(x + i / 8 * 8, y + i / 8 * 8, 8) == 0)
            return false; /* the other step points into the leader's memory */
        if ((!is_same || is_own) &&
            (!(is_own || is_explained(c, x, y, i)) || !add_word(c, x + i, y + i)))
            return false;
    }
    return true;
}

static bool add_views(couple *c, const takt_view *from, takt_view *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = (size_t)from[i].rank * sizeof *from[i].dim;
        if (from[i].rank != to[i].rank || from[i].dtype != to[i].dtype ||
            !add_piece(c, &from[i], &to[i], offsetof(takt_view, dim) + bytes, SIZE_MAX - 8) ||
            !add_piece(c, from[i].stride, to[i].stride, bytes, SIZE_MAX - 8))
            return false;
    }
    return true;
}

static bool add_all(couple *c)
{
    const takt_twins *t = c->t;
    takt_step *other = &c->b->p.plan->steps[c->index];
    const size_t own = offsetof(takt_step, scratch_offset);
    const size_t from = takt_twins_first_answer(t, c->leader);
    const size_t to = takt_twins_first_answer(t, c->index);
    if (!add_piece(c, c->one, other, sizeof *other, own) ||
        !add_views(c, c->one->in, other->in, other->in_count) ||
        !add_views(c, c->one->out, other->out, other->out_count))
        return false;
    for (size_t i = 0; from + i < t->after[c->leader]; i++) {
        const takt_answer *x = &t->answers->list[from + i], *y = &t->answers->list[to + i];
        if (x->what == TAKT_ASKED_BLOCK &&
            !add_piece(c, x->at, (void *)(uintptr_t)y->at, x->bytes, SIZE_MAX - 8))
            return false;
    }
    return true;
}

/* ---- all ---- */

static bool is_single(const takt_step *s)
{
    return s->nodes != NULL && s->node_count > 0 && !s->packs_state && !s->is_commit &&
           !s->is_point && s->space == TAKT_HOST;
}

static bool are_twins(couple *c, const takt_graph *named, const size_t *scratch)
{
    const takt_step *x = c->one, *y = c->other;
    return x->node_count == y->node_count && x->in_count == y->in_count &&
           x->out_count == y->out_count && x->backend == y->backend &&
           scratch[c->leader] == scratch[c->index] && same_group(c->b, x->nodes[0], y->nodes[0]) &&
           same_nodes(c, named) && same_answers(c) && add_all(c);
}

/* Nearly all others have a different sign: nothing else of them is examined. */
static void look(takt_twins *t, const takt_builder *b, const takt_named *of, size_t index)
{
    const takt_plan *plan = b->p.plan;
    const size_t pieces = t->piece_count, words = t->word_count;
    takt_twin *twin = &t->list[index];
    for (size_t i = 0; i < index && twin->sign != 0 && twin->leader < 0; i++) {
        if (t->list[i].sign != twin->sign || t->list[i].leader >= 0)
            continue;
        couple c = {.t = t,
                    .b = b,
                    .leader = i,
                    .index = index,
                    .one = &plan->steps[i],
                    .other = &plan->steps[index]};
        if (are_twins(&c, of->graph, of->scratch)) {
            add_sources(&c);
            twin->leader = (int32_t)i;
            t->found++;
        } else {
            t->piece_count = pieces;
            t->word_count = words;
        }
    }
}

void takt_twins_find(takt_twins *t, takt_builder *b, const takt_named *of, const size_t *after)
{
    const takt_plan *plan = b->p.plan;
    const bool may = plan->step_count == t->count && b->p.settings->single_count == 0 &&
                     b->p.settings->remat_count == 0 && b->copy_in[TAKT_HOST] == NULL;
    t->after = after;
    if (!may)
        return;
    takt_twins_sign(t, b, of->graph);
    for (size_t i = 0; i < t->count; i++) {
        const takt_step *s = &plan->steps[i];
        t->list[i] = (takt_twin){.leader = -1,
                                 .sign = is_single(s) ? t->signs[s->nodes[0]] : 0,
                                 .piece = (uint32_t)t->piece_count,
                                 .word = (uint32_t)t->word_count,
                                 .source = (uint32_t)t->source_count};
        find_memory(t, s, i);
        look(t, b, of, i);
    }
    t->list[t->count] = (takt_twin){.piece = (uint32_t)t->piece_count,
                                    .word = (uint32_t)t->word_count,
                                    .source = (uint32_t)t->source_count};
    for (size_t i = 0; i < t->count; i++)
        t->list[i].inner = takt_twins_inner(t, &plan->steps[i], i);
}
