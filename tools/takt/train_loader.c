/* train_loader.c - prefetching of batches.
 *
 * Workers fill a ring of batches in their order, also across the end of an epoch. Which samples a
 * batch has depends only on seed, epoch and position, so its contents do not depend on the workers.
 * The ring bounds what is prepared ahead. Without workers a batch is filled when it is requested.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

enum { AHEAD = 2, WORKERS = 16 };

typedef enum state { FREE, FILLING, READY } state;

typedef struct slot {
    tool_batch batch, other; /* mixed with the samples of `other`, if samples are mixed */
    uint64_t *rows, *others;
    double *shares;
    uint64_t number; /* of the batch in it */
    takt_status status;
    state state;
} slot;

struct tool_loader {
    const tool_training *g;
    slot *slots;
    size_t slot_count;
    pthread_t threads[WORKERS];
    size_t thread_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t epoch, first; /* where batch 0 begins */
    uint64_t taken;        /* batches that workers have started */
    uint64_t next;         /* the one that is requested next */
    bool is_stopped;       /* no more batches are started */
    bool is_over;
};

typedef struct place {
    uint64_t epoch, position;
    size_t count;
} place;

static uint64_t batches_from(const tool_training *g, uint64_t position)
{
    return (g->samples - position + g->batch.room - 1) / g->batch.room;
}

static place place_of(const tool_loader *l, uint64_t number)
{
    const tool_training *g = l->g;
    const uint64_t begun = batches_from(g, l->first), whole = batches_from(g, 0);
    const uint64_t later = number < begun ? 0 : number - begun;
    place p = {l->epoch, l->first + number * g->batch.room, g->batch.room};
    if (number >= begun)
        p = (place){l->epoch + 1 + later / whole, later % whole * g->batch.room, g->batch.room};
    const uint64_t left = g->samples - p.position;
    p.count = left < p.count ? (size_t)left : p.count;
    return p;
}

uint64_t tool_training_sample(const tool_training *g, uint64_t i)
{
    const uint64_t split = UINT64_MAX; /* no epoch */
    return g->drawn > 0 ? takt_shuffle(g->drawn, 0, split, i) : i;
}

static void draw(const tool_training *g, uint64_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = tool_training_sample(g, rows[i]);
}

/* Values and targets; both samples have been augmented before. */
static takt_status mix(const tool_training *g, slot *s, const takt_augment_key *key, size_t count)
{
    takt_ctx *ctx = g->t->ctx;
    takt_status status = tool_batch_fill(&s->other, g->data, s->others, count);
    if (status == TAKT_OK)
        status = takt_data_augment(ctx, g->augment, key, s->others, count, &s->other.view[0].view);
    for (size_t i = 0; i < s->batch.count && status == TAKT_OK; i++)
        status =
            takt_view_mix(ctx, s->shares, count, &s->batch.view[i].view, &s->other.view[i].view);
    return status;
}

static void fill(const tool_loader *l, slot *s)
{
    const tool_training *g = l->g;
    const place at = place_of(l, s->number);
    const size_t count = at.count;
    for (size_t i = 0; i < count; i++)
        s->rows[i] = g->in_order ? at.position + i
                                 : takt_shuffle(g->samples, g->seed, at.epoch, at.position + i);
    const takt_augment_key key = {g->seed, at.epoch};
    const takt_mixup how = {g->alpha, g->samples, key};
    s->status = TAKT_OK;
    if (g->alpha > 0)
        s->status = takt_data_mixup(g->t->ctx, &how, s->rows, count, s->others, s->shares);
    draw(g, s->rows, count);
    if (g->alpha > 0)
        draw(g, s->others, count);
    if (s->status == TAKT_OK)
        s->status = tool_batch_fill(&s->batch, g->data, s->rows, count);
    if (s->status == TAKT_OK && g->augment != NULL)
        s->status =
            takt_data_augment(g->t->ctx, g->augment, &key, s->rows, count, &s->batch.view[0].view);
    if (s->status == TAKT_OK && g->alpha > 0)
        s->status = mix(g, s, &key, count);
}

/* ---- workers ---- */

/* The slot of the next batch, if it is free; called with the lock. */
static slot *claim(tool_loader *l)
{
    slot *s = &l->slots[l->taken % l->slot_count];
    if (l->is_stopped || s->state != FREE || place_of(l, l->taken).epoch >= l->g->epochs)
        return NULL;
    s->state = FILLING;
    s->number = l->taken++;
    return s;
}

static void *work(void *user)
{
    tool_loader *l = user;
    pthread_mutex_lock(&l->lock);
    while (!l->is_over) {
        slot *s = claim(l);
        if (s == NULL) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        fill(l, s);
        pthread_mutex_lock(&l->lock);
        s->state = READY;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- making ---- */

static bool make_slot(const tool_training *g, slot *s)
{
    const tool_batch *like = &g->batch;
    s->rows = calloc(like->room + 1, sizeof *s->rows);
    if (s->rows == NULL || !tool_batch_copy(&s->batch, like, g->t->ctx))
        return false;
    if (g->alpha == 0)
        return true;
    s->others = calloc(like->room + 1, sizeof *s->others);
    s->shares = calloc(like->room + 1, sizeof *s->shares);
    return s->others != NULL && s->shares != NULL && tool_batch_copy(&s->other, like, g->t->ctx);
}

/* Signals go to the main thread, whose handler and loop share plain variables. Fewer workers than
 * asked for are slower, but not a failure. */
static void start(tool_loader *l, uint64_t workers)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return;
    while (l->thread_count < workers &&
           pthread_create(&l->threads[l->thread_count], NULL, work, l) == 0)
        l->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

tool_loader *tool_loader_create(const tool_training *g, uint64_t workers)
{
    tool_loader *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->g = g;
    l->epoch = g->epoch;
    l->first = g->position;
    workers = workers < WORKERS ? workers : WORKERS;
    l->slot_count = workers > 0 ? (size_t)workers + AHEAD : 1;
    l->slots = calloc(l->slot_count, sizeof *l->slots);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    bool ok = l->slots != NULL;
    for (size_t i = 0; i < l->slot_count && ok; i++)
        ok = make_slot(g, &l->slots[i]);
    if (!ok) {
        tool_loader_destroy(l);
        return NULL;
    }
    start(l, workers);
    return l;
}

void tool_loader_destroy(tool_loader *l)
{
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_over = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < l->thread_count; i++)
        pthread_join(l->threads[i], NULL);
    for (size_t i = 0; l->slots != NULL && i < l->slot_count; i++) {
        tool_batch_free(&l->slots[i].batch, l->g->t->ctx);
        tool_batch_free(&l->slots[i].other, l->g->t->ctx);
        free(l->slots[i].rows);
        free(l->slots[i].others);
        free(l->slots[i].shares);
    }
    free(l->slots);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- use ---- */

/* Waits until no worker fills anything; called with the lock. */
static void stop(tool_loader *l)
{
    l->is_stopped = true;
    for (size_t i = 0; i < l->slot_count; i++)
        while (l->slots[i].state == FILLING)
            pthread_cond_wait(&l->changed, &l->lock);
}

takt_status tool_loader_next(tool_loader *l, const tool_batch **batch, size_t *count)
{
    slot *s = &l->slots[l->next % l->slot_count];
    *batch = &s->batch;
    *count = place_of(l, l->next).count;
    if (l->thread_count == 0) {
        s->number = l->next++;
        fill(l, s);
        return s->status;
    }
    pthread_mutex_lock(&l->lock);
    while (s->state != READY || s->number != l->next)
        pthread_cond_wait(&l->changed, &l->lock);
    l->next++;
    if (s->status != TAKT_OK)
        stop(l);
    pthread_mutex_unlock(&l->lock);
    if (s->status != TAKT_OK)
        fill(l, s); /* without workers, so that the context's error is that of this batch */
    return s->status;
}

uint64_t tool_loader_sample(const tool_loader *l, const tool_batch *batch, size_t row)
{
    for (size_t i = 0; i < l->slot_count; i++)
        if (&l->slots[i].batch == batch)
            return l->slots[i].rows[row];
    return 0;
}

void tool_loader_done(tool_loader *l, const tool_batch *batch)
{
    if (l->thread_count == 0)
        return;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->slot_count; i++)
        if (&l->slots[i].batch == batch)
            l->slots[i].state = FREE;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}
