/* twins.c - copies what a size changes from the leader of a step. */
#include <string.h>

#include "plan/twins_fields.h"

static uint32_t count_inner(const takt_twin *twin, const void *at, size_t bytes)
{
    const unsigned char *from = at;
    const uintptr_t low = (uintptr_t)twin->low, span = (uintptr_t)(twin->high - twin->low);
    uint32_t count = 0;
    for (size_t i = 0; i + sizeof low <= bytes; i += sizeof low) {
        uintptr_t word;
        memcpy(&word, from + i, sizeof word);
        count += word - low < span;
    }
    return count;
}

uint32_t takt_twins_inner(const takt_twins *t, const takt_step *s, size_t index)
{
    const takt_twin *twin = &t->list[index];
    uint32_t count = count_inner(twin, s, sizeof *s);
    for (size_t i = takt_twins_first_answer(t, index); i < t->after[index]; i++)
        if (t->answers->list[i].what == TAKT_ASKED_BLOCK)
            count += count_inner(twin, t->answers->list[i].at, t->answers->list[i].bytes);
    return count;
}

void takt_twins_begin(takt_twins *t)
{
    t->turn++;
}

size_t takt_twins_count(const takt_twins *t)
{
    return t->found;
}

static bool is_steady(takt_twins *t, const takt_builder *b, size_t index)
{
    takt_twin *twin = &t->list[index];
    if (twin->checked != t->turn)
        twin->is_steady = takt_twins_inner(t, &b->p.plan->steps[index], index) == twin->inner;
    twin->checked = t->turn;
    return twin->is_steady;
}

/* Where the values of both steps begin in their buffers. */
static bool same_places(const takt_twins *t, const takt_builder *b, size_t index, size_t leader)
{
    const takt_answer *x = &t->answers->list[takt_twins_first_answer(t, index)];
    const takt_answer *y = &t->answers->list[takt_twins_first_answer(t, leader)];
    const takt_answer *end = &t->answers->list[t->after[index]];
    for (; x < end; x++, y++)
        if (x->what == TAKT_ASKED_VIEW && b->root_offset[x->node] != b->root_offset[y->node])
            return false;
    return true;
}

/* How steps divide their work depends on whether earlier steps divided what they read. */
static bool same_sources(const takt_twins *t, const takt_step *steps, const takt_twin *twin)
{
    for (uint32_t i = twin->source; i < twin[1].source; i++) {
        const takt_twin_source *s = &t->sources[i];
        if ((s->own >= 0 && steps[s->own].task_count > 1) !=
            (s->leaders >= 0 && steps[s->leaders].task_count > 1))
            return false;
    }
    return true;
}

bool takt_twins_copy(takt_twins *t, const takt_builder *b, size_t index)
{
    const takt_twin *twin = &t->list[index];
    if (t->found == 0 || twin->leader < 0 || !is_steady(t, b, (size_t)twin->leader) ||
        !same_places(t, b, index, (size_t)twin->leader) || !same_sources(t, b->p.plan->steps, twin))
        return false;
    const takt_twin_word *words = &t->words[twin->word], *end = &t->words[twin[1].word];
    for (const takt_twin_word *w = words; w < end; w++)
        if (memcmp(w->from, &w->leaders, sizeof w->leaders) != 0)
            return false;
    for (uint32_t i = twin->piece; i < twin[1].piece; i++)
        memcpy(t->pieces[i].to, t->pieces[i].from, t->pieces[i].bytes);
    for (const takt_twin_word *w = words; w < end; w++)
        memcpy(w->to, &w->own, sizeof w->own);
    return true;
}
