/* infer_join.c - batches requests for one model: their samples become one batch, and each gets its
 * rows back. */
#include <string.h>

#include "serve/infer.h"

enum { ROWS_MOST = 256 };

/* ---- which requests ---- */

/* The name of the first dimension, if it is that of all inputs and outputs and of no other
 * dimension. */
static bool is_batch(const takt_desc *d, const char *name)
{
    if (d->rank < 1 || d->dim_names[0] == NULL || strcmp(d->dim_names[0], name) != 0)
        return false;
    for (int k = 1; k < d->rank; k++)
        if (d->dim_names[k] != NULL && strstr(d->dim_names[k], name) != NULL)
            return false;
    return true;
}

static bool can_join(const takt_model *m)
{
    const takt_desc *d = takt_model_input(m, 0);
    const char *name = d != NULL && d->rank > 0 ? d->dim_names[0] : NULL;
    if (name == NULL || name[strcspn(name, "+-*/ ")] != '\0')
        return false;
    for (size_t i = 0; (d = takt_model_input(m, i)) != NULL; i++)
        if (!is_batch(d, name))
            return false;
    for (size_t i = 0; (d = takt_model_output(m, i)) != NULL; i++)
        if (!is_batch(d, name))
            return false;
    return true;
}

static size_t input_count(const takt_model *m)
{
    size_t count = 0;
    while (takt_model_input(m, count) != NULL)
        count++;
    return count;
}

/* Same inputs in the same order, one sample count for all inputs of `b`, and the same other
 * dimensions. */
static bool fits(const takt_tensors *a, const takt_tensors *b)
{
    if (b->why != NULL || a->count != b->count || b->views[0].dims[0] < 1)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const takt_tensor_view *x = &a->views[i], *y = &b->views[i];
        if (strcmp(a->names[i], b->names[i]) != 0 || x->rank != y->rank ||
            y->dims[0] != b->views[0].dims[0] ||
            memcmp(x->dims + 1, y->dims + 1, (size_t)(x->rank - 1) * sizeof *x->dims) != 0)
            return false;
    }
    return true;
}

/* ---- one batch ---- */

typedef struct group {
    takt_arena *arena;
    takt_tensors *at;
    bool is_in[TAKT_SERVE_JOINED];
    size_t count, members, head;
    int64_t rows;
} group;

/* The first valid request, and those that can be batched with it. */
static void choose(group *g)
{
    const takt_model *model = g->at[0].model;
    const size_t inputs = input_count(model);
    while (g->head < g->count && (g->at[g->head].why != NULL || g->at[g->head].count != inputs))
        g->head++;
    if (g->head == g->count || inputs == 0 || !can_join(model))
        return;
    const takt_tensors *head = &g->at[g->head];
    for (size_t i = g->head; i < g->count; i++) {
        if (!fits(head, &g->at[i]) || g->rows + g->at[i].views[0].dims[0] > ROWS_MOST)
            continue;
        g->is_in[i] = true;
        g->members++;
        g->rows += g->at[i].views[0].dims[0];
    }
}

static size_t row_bytes(const takt_tensor_view *v)
{
    size_t bytes = (size_t)takt_dtype_bits(v->dtype) / 8;
    for (int k = 1; k < v->rank; k++)
        bytes *= (size_t)v->dims[k];
    return bytes;
}

/* All samples, padded with copies of the first to a power of two, so that few plans are made. */
static bool join(const group *g, takt_tensors *all, int64_t padded)
{
    for (size_t i = 0; i < all->count; i++) {
        takt_tensor_view *v = &all->views[i];
        const size_t bytes = row_bytes(v);
        char *to = takt_arena_array(g->arena, (size_t)padded, bytes > 0 ? bytes : 1);
        if (to == NULL)
            return false;
        v->data = to;
        v->dims[0] = padded;
        for (size_t k = 0; k < g->count; k++) {
            const size_t part = g->is_in[k] ? bytes * (size_t)g->at[k].views[i].dims[0] : 0;
            if (part > 0)
                memcpy(to, g->at[k].views[i].data, part);
            to += part;
        }
        for (int64_t k = g->rows; k < padded && bytes > 0; k++, to += bytes)
            memcpy(to, v->data, bytes);
    }
    return true;
}

/* Sends a reply and finishes the job. */
static void send(takt_tensors *t, takt_text *reply)
{
    takt_job *job = t->job;
    takt_serve_send(t->s, job, takt_text_get(reply), reply->length);
    takt_text_deinit(reply);
    t->job = NULL;
    job->taken = 1;
    takt_serve_done(t->s, job);
}

static void answer(takt_tensors *t, const takt_tensors *from, int64_t first, int64_t count,
                   takt_status status)
{
    takt_text reply;
    takt_text_init(&reply, t->s->ctx);
    if (t->why != NULL || status != TAKT_OK)
        takt_tensors_fail(t, status, &reply);
    else
        takt_tensors_reply(from, t->job, first, count, &reply);
    send(t, &reply);
}

/* If the batch fails they are computed one by one, and each gets its own response. */
static void run_joined(group *g)
{
    takt_tensors all = g->at[g->head];
    takt_server *s = all.s;
    int64_t padded = 1, row = 0;
    while (padded < g->rows)
        padded *= 2;
    const takt_error before = s->ctx->error;
    const bool good = join(g, &all, padded) && takt_tensors_run(&all) == TAKT_OK;
    takt_lock_take(&s->lock);
    s->metrics.joined += good ? g->members : 0;
    takt_lock_give(&s->lock);
    for (size_t i = 0; i < g->count && good; i++) {
        const int64_t count = g->is_in[i] ? g->at[i].views[0].dims[0] : 0;
        if (count > 0)
            answer(&g->at[i], &all, row, count, TAKT_OK);
        row += count;
    }
    if (!good)
        s->ctx->error = before;
    takt_tensors_free(&all);
}

static void run_unjoined(takt_tensors *t)
{
    const takt_status status = t->why == NULL ? takt_tensors_run(t) : TAKT_OK;
    const takt_tensors from = *t;
    answer(t, &from, 0, 0, status);
    takt_tensors_free(t);
}

/* Their tensors; NULL: out of memory. */
static takt_tensors *read_all(takt_server *s, takt_arena *arena, takt_job *const *jobs,
                              size_t count)
{
    takt_tensors *at = takt_arena_array(arena, count, sizeof *at);
    for (size_t i = 0; i < count && at != NULL; i++) {
        at[i] = (takt_tensors){.s = s, .job = jobs[i], .model = s->models[jobs[i]->model].model};
        takt_tensors_read(&at[i]);
    }
    return at;
}

void takt_serve_infer(takt_server *s, takt_job *const *jobs, size_t count)
{
    takt_arena arena;
    takt_arena_init(&arena, s->ctx);
    group g = {.arena = &arena, .at = read_all(s, &arena, jobs, count), .count = count};
    for (size_t i = 0; i < count && g.at == NULL; i++) {
        takt_tensors t = {.s = s, .job = jobs[i], .why = "out of memory for the request"};
        answer(&t, NULL, 0, 0, TAKT_ERR_MEMORY);
    }
    if (g.at != NULL && count > 1) {
        choose(&g);
        if (g.members > 1)
            run_joined(&g);
    }
    for (size_t i = 0; i < count && g.at != NULL; i++)
        if (g.at[i].job != NULL)
            run_unjoined(&g.at[i]);
    takt_arena_deinit(&arena);
}

/* ---- waiting for others ---- */

size_t takt_serve_gather(takt_server *s, takt_job *first, takt_job **jobs)
{
    size_t count = 0;
    jobs[count++] = first;
    takt_lock_take(&s->lock);
    takt_job *before = NULL;
    for (takt_job *job = s->first, *next; job != NULL && count < TAKT_SERVE_JOINED; job = next) {
        next = job->next;
        if (s->options.max_wait_ns <= 0 || job->kind != TAKT_JOB_INFER ||
            job->model != first->model || job->begun_ns != 0) {
            before = job;
            continue;
        }
        *(before != NULL ? &before->next : &s->first) = next;
        s->last = s->last == job ? before : s->last;
        s->queued--;
        s->running++;
        job->begun_ns = takt_serve_now(s);
        takt_serve_measure(&s->metrics.queued, (double)(job->begun_ns - job->queued_ns) * 1e-9);
        jobs[count++] = job;
    }
    takt_lock_give(&s->lock);
    return count;
}

bool takt_serve_delays(takt_server *s)
{
    const uint64_t now = takt_serve_now(s);
    size_t same = 0;
    takt_lock_take(&s->lock);
    const takt_job *first = s->first;
    const bool may = s->options.max_wait_ns > 0 && first != NULL && first->kind == TAKT_JOB_INFER &&
                     !first->is_left;
    for (const takt_job *job = may ? first : NULL; job != NULL; job = job->next)
        same += job->kind == TAKT_JOB_INFER && job->model == first->model;
    const size_t model = may ? first->model : 0;
    const uint64_t end = may ? first->queued_ns + (uint64_t)s->options.max_wait_ns : 0;
    takt_lock_give(&s->lock);
    return may && same < TAKT_SERVE_JOINED && now < end && can_join(s->models[model].model) &&
           !atomic_load_explicit(&s->is_stopping, memory_order_relaxed);
}
