/* train_loop.c - epochs of steps, with evaluation, log, progress and checkpoints. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "progress.h"
#include "signals.h"
#include "train.h"

static volatile sig_atomic_t is_interrupted;
/* A handler has no argument to find it by. */
static takt_trainer *volatile trainer;

/* The step under way is cancelled, with the state before it, so that a long one is not waited
 * for. */
static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
    takt_trainer_cancel(trainer);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sums over the steps since the epoch began. */
typedef struct tally {
    double loss, count, hits, started, waited;
    uint64_t samples, steps, skipped;
} tally;

/* ---- one batch ---- */

/* Samples [first, first + count) of the training or after it. */
static takt_status fill(tool_training *g, uint64_t first, size_t count)
{
    uint64_t *rows = malloc((count > 0 ? count : 1) * sizeof *rows);
    if (rows == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        rows[i] = tool_training_sample(g, first + i);
    const takt_status status = tool_batch_fill(&g->batch, g->data, rows, count);
    free(rows);
    return status;
}

/* The weights are not to blame if a sample is not finite: training goes on. */
static void tell_bad_check(tool_training *g, uint64_t first, size_t count)
{
    const char *field;
    size_t row;
    if (g->has_bad_check || !tool_batch_bad(&g->batch, count, &row, &field))
        return;
    g->has_bad_check = true; /* once is enough */
    const uint64_t sample = tool_training_sample(g, first + row);
    tool_progress_wipe(g->t);
    fprintf(stderr, "takt: the validation loss is not finite: %s of sample %llu of %s is not\n",
            field, (unsigned long long)sample, takt_data_source(g->data, field, sample));
}

takt_status tool_evaluate(tool_training *g, uint64_t first, uint64_t count, double *loss,
                          double *accuracy)
{
    double sum = 0, weight = 0, hits = 0;
    for (uint64_t at = 0; at < count; at += g->batch.room) {
        const uint64_t left = count - at;
        const size_t size = left < g->batch.room ? (size_t)left : g->batch.room;
        takt_step_result r;
        takt_status status = fill(g, first + at, size);
        if (status == TAKT_OK)
            status = takt_trainer_eval(g->trainer, g->batch.view, g->batch.count, &r);
        if (status != TAKT_OK)
            return status;
        if (!isfinite(r.loss))
            tell_bad_check(g, first + at, size);
        sum += r.loss * r.count;
        weight += r.count;
        hits += r.hits;
    }
    *loss = sum / weight;
    if (weight == 0 && !g->has_bad_check) {
        g->has_bad_check = true;
        tool_progress_wipe(g->t);
        fprintf(stderr, "takt: there is no validation loss: none of these labels counts\n");
    }
    *accuracy = hits >= 0 && weight > 0 ? hits / weight : -1;
    return TAKT_OK;
}

/* ---- what people see ---- */

static void bar(const tool_training *g, const tally *sum, uint64_t done)
{
    static double last;
    const double at = now();
    if (!tool_progress_wanted(g->t) || at - last < 0.1)
        return;
    last = at;
    char cells[TOOL_BAR + 1];
    tool_progress_bar(done, g->steps_per_epoch, cells);
    const double passed = at - sum->started;
    const uint64_t left = g->steps - takt_trainer_steps(g->trainer);
    char epoch[48], chart[TOOL_BAR + 4], loss[32], metric[32] = "", rate[48], wait[32], rest[32];
    snprintf(epoch, sizeof epoch, "epoch %llu/%llu", (unsigned long long)g->epoch + 1,
             (unsigned long long)g->epochs);
    snprintf(chart, sizeof chart, " [%s]", cells);
    snprintf(loss, sizeof loss, " loss %.4f", sum->count > 0 ? sum->loss / sum->count : 0);
    if (sum->hits >= 0 && sum->count > 0)
        snprintf(metric, sizeof metric, "  accuracy %.4f", sum->hits / sum->count);
    snprintf(rate, sizeof rate, "  %.0f samples/s", (double)sum->samples / passed);
    snprintf(wait, sizeof wait, "  %.0f %% waiting", 100 * sum->waited / passed);
    snprintf(rest, sizeof rest, "  %.0f s left",
             (double)left * passed / (double)(sum->steps > 0 ? sum->steps : 1));
    tool_progress_show(
        (const tool_progress_piece[]){
            {epoch, 0}, {chart, 2}, {loss, 0}, {metric, 1}, {rate, 3}, {wait, 4}, {rest, 0}},
        7);
}

static void tell_epoch(const tool_training *g, const tally *sum, double loss, double accuracy)
{
    const double seconds = now() - sum->started;
    tool_progress_wipe(g->t);
    if (tool_on(g->t, TAKT_F_QUIET))
        return;
    FILE *to = tool_on(g->t, TAKT_F_JSON) ? stderr : stdout;
    fprintf(to, "epoch %llu: loss %.6f", (unsigned long long)g->epoch + 1, sum->loss / sum->count);
    if (sum->hits >= 0)
        fprintf(to, ", accuracy %.4f", sum->hits / sum->count);
    if (g->held_out > 0 && isfinite(loss))
        fprintf(to, "; validation loss %.6f", loss);
    else if (g->held_out > 0)
        fprintf(to, "; validation loss not finite");
    if (g->held_out > 0 && accuracy >= 0)
        fprintf(to, ", accuracy %.4f", accuracy);
    if (sum->skipped > 0)
        fprintf(to, "; %llu step%s skipped", (unsigned long long)sum->skipped,
                sum->skipped == 1 ? "" : "s");
    fprintf(to, "; %.0f samples/s, %.1f %% waiting for data\n", (double)sum->samples / seconds,
            100 * sum->waited / seconds);
    fflush(to);
}

/* ---- an epoch ---- */

/* The name of the field is kept from the training's own batch, since those of the loader are freed
 * before it is reported. */
static void find_bad(tool_training *g, const tool_batch *batch, size_t count)
{
    size_t row;
    const char *field;
    if (!tool_batch_bad(batch, count, &row, &field))
        return;
    g->bad_sample = tool_loader_sample(g->loader, batch, row);
    for (size_t i = 0; i < g->batch.count; i++)
        if (strcmp(g->batch.field[i], field) == 0)
            g->bad_field = g->batch.field[i];
}

static takt_status one_step(tool_training *g, tally *sum)
{
    takt_step_result r;
    const tool_batch *batch;
    size_t size;
    const double start = now();
    takt_status status = tool_loader_next(g->loader, &batch, &size);
    sum->waited += now() - start;
    if (status == TAKT_OK)
        status = takt_trainer_step(g->trainer, batch->view, batch->count, &r);
    if (status == TAKT_ERR_RANGE)
        find_bad(g, batch, size);
    tool_loader_done(g->loader, batch);
    if (status != TAKT_OK)
        return status;
    tool_log_step(g, &r, now() - start);
    sum->skipped += r.skipped;
    if (isfinite(r.loss)) {
        sum->loss += r.loss * r.count;
        sum->count += r.count;
        sum->hits += r.hits;
    }
    sum->samples += size;
    sum->steps++;
    g->position += size;
    return TAKT_OK;
}

/* Whether the validation loss has stopped falling (early stopping). */
static bool has_given_up(const tool_training *g)
{
    const uint64_t patience = tool_number_of(g->t, TAKT_F_PATIENCE, 0);
    return patience > 0 && g->bad_evaluations >= patience;
}

static bool gives_up(tool_training *g, double loss)
{
    takt_trainer_observe(g->trainer, loss);
    g->bad_evaluations = loss < g->best ? 0 : g->bad_evaluations + 1;
    g->best = loss < g->best ? loss : g->best;
    return has_given_up(g);
}

static void tell_given_up(const tool_training *g)
{
    if (!tool_on(g->t, TAKT_F_QUIET))
        fprintf(stderr,
                "takt: stopped after epoch %llu of %llu: %llu evaluation%s without a better "
                "validation loss than %.6f\n",
                (unsigned long long)g->epoch, (unsigned long long)g->epochs,
                (unsigned long long)g->bad_evaluations, g->bad_evaluations == 1 ? "" : "s",
                g->best);
}

/* A step that Ctrl-C cancelled was not made: that is not a failure. */
static takt_status without_cancel(takt_status status)
{
    return is_interrupted && status == TAKT_ERR_CANCELLED ? TAKT_OK : status;
}

/* `*is_lost`: no step of the epoch had a finite loss. */
static takt_status run_epoch(tool_training *g, bool *is_over, bool *is_lost)
{
    tally sum = {.started = now()};
    double loss = -1, accuracy = -1;
    takt_status status = TAKT_OK;
    while (g->position < g->samples && status == TAKT_OK && !is_interrupted &&
           takt_trainer_steps(g->trainer) < g->steps) {
        status = one_step(g, &sum);
        bar(g, &sum, g->position / g->batch.room);
        if (status == TAKT_OK)
            status = tool_checkpoint_due(g);
    }
    if (status != TAKT_OK || is_interrupted)
        return without_cancel(status);
    if (sum.steps > 0 && sum.count == 0) { /* each of them was skipped */
        *is_lost = true;
        return TAKT_OK;
    }
    if (g->held_out > 0) {
        status = tool_evaluate(g, g->samples, g->held_out, &loss, &accuracy);
        if (is_interrupted) /* resumed, the epoch ends with this evaluation */
            return without_cancel(status);
        *is_over = status == TAKT_OK && gives_up(g, loss);
        if (status == TAKT_OK)
            tool_log_check(g, loss, accuracy);
    }
    if (status == TAKT_OK && sum.steps > 0)
        tell_epoch(g, &sum, loss, accuracy);
    if (g->position < g->samples) { /* --steps ended it: a longer training can continue from here */
        *is_over = true;
    } else {
        g->epoch++;
        g->position = 0;
    }
    return status == TAKT_OK ? tool_checkpoint_save(g) : status;
}

static int tell_lost(const tool_training *g)
{
    takt_error e = {.status = TAKT_ERR_RANGE, .id = 7003, .offset = -1};
    snprintf(e.message, sizeof e.message,
             "epoch %llu: no step had a finite loss and labels that count, all were skipped",
             (unsigned long long)g->epoch + 1);
    snprintf(e.hint, sizeof e.hint,
             "takt data lists the samples that are not finite, and how many labels each class has");
    return tool_report_error(g->t, &e);
}

/* Reports a failed step, and the checkpoint to resume from. */
static int tell_failed(tool_training *g, takt_status status)
{
    takt_error e = *takt_last_error_info(g->t->ctx);
    if (g->bad_field != NULL && e.id == 7003)
        snprintf(e.hint, sizeof e.hint,
                 "it is sample %llu of %.600s; takt data lists all that are not finite, --on-nan "
                 "skip leaves out their steps",
                 (unsigned long long)g->bad_sample,
                 takt_data_source(g->data, g->bad_field, g->bad_sample));
    const int code = e.id == 7003 ? tool_report_error(g->t, &e) : tool_finish(g->t, status);
    if (tool_checkpoint_wait(g) == TAKT_OK && g->has_saved)
        fprintf(stderr, "takt: %s has the state after step %llu; --resume goes on from there\n",
                tool_text_of(g->t, TAKT_F_CHECKPOINT), (unsigned long long)g->saved_step);
    return code;
}

bool tool_is_trained(const tool_training *g)
{
    return g->epoch >= g->epochs || takt_trainer_steps(g->trainer) >= g->steps;
}

void tool_train_catch(struct tool_signals *before)
{
    is_interrupted = 0;
    tool_signals_catch(before, interrupt);
}

int tool_train_loop(tool_training *g)
{
    takt_status status = TAKT_OK;
    bool is_over = has_given_up(g), is_lost = false; /* as the checkpoint says */
    g->in_order = tool_on(g->t, TAKT_F_NO_SHUFFLE);
    g->loader = tool_loader_create(g, tool_number_of(g->t, TAKT_F_WORKERS, 1));
    if (g->loader == NULL)
        return tool_finish(g->t, TAKT_ERR_MEMORY);
    trainer = g->trainer;
    while (g->epoch < g->epochs && status == TAKT_OK && !is_over && !is_interrupted && !is_lost)
        status = run_epoch(g, &is_over, &is_lost);
    trainer = NULL;
    tool_loader_destroy(g->loader);
    g->loader = NULL;
    if (status == TAKT_OK && is_interrupted)
        status = tool_checkpoint_save(g);
    if (status == TAKT_OK)
        status = tool_checkpoint_wait(g);
    g->is_cut = is_lost || is_interrupted;
    if (status != TAKT_OK)
        return tell_failed(g, status);
    if (is_lost)
        return tell_lost(g);
    if (!is_interrupted && has_given_up(g) && !tool_is_trained(g))
        tell_given_up(g);
    if (!is_interrupted)
        return TAKT_EXIT_OK;
    fprintf(stderr, "\ntakt: interrupted after step %llu%s\n",
            (unsigned long long)takt_trainer_steps(g->trainer),
            tool_is_trained(g) ? ", which was the last"
            : tool_text_of(g->t, TAKT_F_CHECKPOINT) != NULL
                ? "; --resume goes on from here"
                : ", and nothing was kept: --checkpoint DIR keeps the state");
    return TAKT_EXIT_INTERRUPTED;
}
