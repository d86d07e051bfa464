/* answers.c - replays answers to backends when a plan is given other sizes. */
#include "plan/answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "plan/builder.h"

bool takt_answers_replayed(const takt_builder *b)
{
    return b->answers != NULL && b->answers->is_replay;
}

const takt_answer *takt_answers_next(takt_builder *b, takt_asked what)
{
    takt_answers *a = b->answers;
    if (a->at < a->count && a->list[a->at].what == what)
        return &a->list[a->at++];
    a->is_rigid = true;
    return NULL;
}

takt_status takt_answers_keep(takt_builder *b, takt_answer answer)
{
    takt_answers *a = b->answers;
    if (a == NULL)
        return TAKT_OK;
    void *list = a->list;
    const takt_status status =
        takt_mem_grow(b->p.ctx, &list, &a->capacity, a->count + 1, sizeof *a->list);
    a->list = list;
    if (status == TAKT_OK)
        a->list[a->count++] = answer;
    return status;
}

void takt_answers_give_up(takt_builder *b)
{
    if (b->answers != NULL)
        b->answers->is_rigid = true;
}

takt_status takt_answers_keep_step(takt_builder *b, const takt_step *step)
{
    takt_answers *a = b->answers;
    if (a == NULL)
        return TAKT_OK;
    void *steps = a->steps;
    const takt_status status =
        takt_mem_grow(b->p.ctx, &steps, &a->step_capacity, a->step_count + 1, sizeof *a->steps);
    a->steps = steps;
    if (status == TAKT_OK)
        a->steps[a->step_count++] = (takt_sized_step){b->p.group, *step};
    return status;
}

bool takt_answers_holds(const takt_builder *b, uint32_t buffer)
{
    for (size_t i = 0; b->sized != NULL && i < b->sized->count; i++)
        if (b->sized->list[i].what == TAKT_ASKED_VIEW && b->sized->list[i].buffer == buffer)
            return true;
    return false;
}

/* ---- blocks, texts, kinds ---- */

void *takt_planner_get(takt_planner *p, size_t bytes)
{
    takt_builder *b = takt_builder_of(p);
    if (takt_answers_replayed(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_BLOCK);
        if (a == NULL || a->bytes < bytes)
            return NULL;
        void *block = (void *)(uintptr_t)a->at; /* in the plan's arena, not used elsewhere */
        memset(block, 0, bytes);
        return block;
    }
    void *block = takt_arena_array(&p->plan->arena, 1, bytes);
    const takt_answer answer = {.what = TAKT_ASKED_BLOCK, .bytes = bytes, .at = block};
    return block != NULL && takt_answers_keep(b, answer) == TAKT_OK ? block : NULL;
}

static const char *text_of(takt_planner *p, const char *format, va_list args)
{
    enum { LONGEST = 256 };
    takt_builder *b = takt_builder_of(p);
    char text[LONGEST];
    const int length = vsnprintf(text, sizeof text, format, args);
    if (length < 0 || length >= LONGEST) {
        takt_answers_give_up(b);
        return takt_arena_text(&p->plan->arena, text, length < 0 ? 0 : LONGEST - 1);
    }
    if (takt_answers_replayed(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_TEXT);
        return a != NULL && strcmp(a->format, text) == 0 ? a->format : NULL;
    }
    const char *kept = takt_arena_text(&p->plan->arena, text, (size_t)length);
    const takt_answer answer = {.what = TAKT_ASKED_TEXT, .format = kept};
    return kept != NULL && takt_answers_keep(b, answer) == TAKT_OK ? kept : NULL;
}

const char *takt_planner_text(takt_planner *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = text_of(p, format, args);
    va_end(args);
    return text;
}

const char *takt_planner_same_text(takt_planner *p, const char *format, ...)
{
    takt_builder *b = takt_builder_of(p);
    if (takt_answers_replayed(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_TEXT);
        return a != NULL ? a->format : NULL;
    }
    va_list args;
    va_start(args, format);
    const char *text = text_of(p, format, args);
    va_end(args);
    return text;
}

void takt_planner_rigid(takt_planner *p)
{
    takt_answers_give_up(takt_builder_of(p));
}

const void *takt_planner_recall(takt_planner *p)
{
    takt_builder *b = takt_builder_of(p);
    const takt_answer *a = takt_answers_replayed(b) ? takt_answers_next(b, TAKT_ASKED_KIND) : NULL;
    return a != NULL ? a->at : NULL;
}

takt_status takt_planner_remember(takt_planner *p, const void *kind)
{
    takt_builder *b = takt_builder_of(p);
    if (takt_answers_replayed(b))
        return TAKT_OK;
    return takt_answers_keep(b, (takt_answer){.what = TAKT_ASKED_KIND, .at = kind});
}
