/* train_log.c - log.jsonl and the curve of a training.
 *
 * With --checkpoint both are in its folder unless flags say otherwise, and grow when the training
 * is resumed. Lines of steps after the last checkpoint, which are repeated, are dropped.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"
#include "train.h"

/* ---- points ---- */

enum { ROOM = 1024 }; /* more than the width of the picture */

/* Memory is allocated once, whatever the number of steps. Without it the curve lacks points, and
 * training continues. */
static bool has_room(tool_points *p)
{
    if (p->step == NULL)
        p->step = malloc(ROOM * sizeof *p->step);
    if (p->loss == NULL)
        p->loss = malloc(ROOM * sizeof *p->loss);
    p->every = p->every > 0 ? p->every : 1;
    return p->step != NULL && p->loss != NULL;
}

static void add_point(tool_points *p, uint64_t step, double loss)
{
    if (!has_room(p) || p->seen++ % p->every != 0)
        return;
    if (p->count == ROOM) {
        for (size_t i = 0; i < ROOM / 2; i++) {
            p->step[i] = p->step[2 * i];
            p->loss[i] = p->loss[2 * i];
        }
        p->count = ROOM / 2;
        p->every *= 2;
    }
    p->step[p->count] = step;
    p->loss[p->count++] = loss;
}

static void forget_points(tool_points *p)
{
    free(p->step);
    free(p->loss);
    *p = (tool_points){0};
}

/* ---- lines ---- */

void tool_log_step(tool_training *g, const takt_step_result *r, double seconds)
{
    const bool is_number = isfinite(r->loss) && r->count > 0;
    if (is_number)
        add_point(&g->losses, r->step, r->loss);
    if (g->log == NULL)
        return;
    fprintf(g->log, "{\"step\": %llu, \"epoch\": %llu, ", (unsigned long long)r->step,
            (unsigned long long)g->epoch + 1);
    if (is_number)
        fprintf(g->log, "\"loss\": %.9g, \"rate\": %.9g", r->loss, r->rate);
    else
        fprintf(g->log, "\"loss\": null, \"rate\": %.9g", r->rate);
    if (r->hits >= 0 && is_number)
        fprintf(g->log, ", \"accuracy\": %.9g", r->hits / r->count);
    if (r->norm >= 0 && isfinite(r->norm))
        fprintf(g->log, ", \"norm\": %.9g", r->norm);
    if (r->scale != 1)
        fprintf(g->log, ", \"scale\": %.9g", r->scale);
    if (r->skipped)
        fprintf(g->log, ", \"skipped\": true");
    fprintf(g->log, ", \"ms\": %.4f}\n", seconds * 1e3);
}

void tool_log_check(tool_training *g, double loss, double accuracy)
{
    const uint64_t step = takt_trainer_steps(g->trainer);
    if (isfinite(loss))
        add_point(&g->checks, step, loss);
    if (g->log == NULL)
        return;
    fprintf(g->log,
            "{\"step\": %llu, \"epoch\": %llu, \"validation_loss\": ", (unsigned long long)step,
            (unsigned long long)g->epoch + 1);
    if (isfinite(loss))
        fprintf(g->log, "%.9g", loss);
    else
        fprintf(g->log, "null"); /* JSON has no NaN */
    if (accuracy >= 0)
        fprintf(g->log, ", \"validation_accuracy\": %.9g", accuracy);
    fprintf(g->log, "}\n");
}

/* ---- opening ---- */

/* The file of a flag, or `name` in the folder of checkpoints; "" if there is neither. */
static void path_of(const tool_training *g, tool_flag_id flag, const char *name, char *to,
                    size_t size)
{
    const char *own = tool_text_of(g->t, flag), *folder = tool_text_of(g->t, TAKT_F_CHECKPOINT);
    if (own != NULL)
        snprintf(to, size, "%s", own);
    else if (folder != NULL)
        snprintf(to, size, "%s/%s", folder, name);
    else
        to[0] = '\0';
}

/* Whether the evaluation after step `steps`, where this training continues, is still pending: then
 * an existing line about it is from a training that was stopped afterwards. */
static bool is_to_evaluate(const tool_training *g, uint64_t steps)
{
    return g->position == g->samples || (g->position > 0 && steps >= g->steps);
}

/* Reads the log of an earlier training, up to the line that is to be dropped; returns its
 * offset. */
static long keep_lines(tool_training *g, FILE *file, uint64_t steps)
{
    char line[1024];
    long end = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long step, epoch;
        double loss;
        const size_t length = strlen(line);
        if (length == 0 || line[length - 1] != '\n' ||
            sscanf(line, "{\"step\": %llu", &step) != 1 || step > steps)
            break;
        if (sscanf(line, "{\"step\": %llu, \"epoch\": %llu, \"loss\": %lf", &step, &epoch, &loss) ==
            3)
            add_point(&g->losses, step, loss);
        else if (strstr(line, "\"validation_loss\"") != NULL) {
            if (step == steps && is_to_evaluate(g, steps))
                break;
            if (sscanf(line, "{\"step\": %llu, \"epoch\": %llu, \"validation_loss\": %lf", &step,
                       &epoch, &loss) == 3)
                add_point(&g->checks, step, loss);
        }
        end = ftell(file);
    }
    return end;
}

static FILE *reopen(tool_training *g, const char *path, uint64_t steps)
{
    FILE *file = fopen(path, "r+");
    if (file == NULL)
        return errno == ENOENT ? fopen(path, "w") : NULL;
    const long end = keep_lines(g, file, steps);
    if (end < 0 || fseek(file, end, SEEK_SET) != 0 || ftruncate(fileno(file), end) != 0) {
        fclose(file);
        return NULL;
    }
    return file;
}

bool tool_log_open(tool_training *g, uint64_t steps, int *code)
{
    char path[4096];
    const char *folder = tool_text_of(g->t, TAKT_F_CHECKPOINT);
    const char *curve = tool_text_of(g->t, TAKT_F_CURVE);
    const char *dot = curve != NULL ? strrchr(curve, '.') : NULL;
    if (curve != NULL && (dot == NULL || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0))) {
        *code = tool_usage_error(g->t, 1003, "write --curve curve.svg or curve.png",
                                 "a curve is a picture, not %s", curve);
        return false;
    }
    if (folder != NULL)
        mkdir(folder, 0777); /* may exist; if not writable, opening the file fails */
    path_of(g, TAKT_F_LOG, "log.jsonl", path, sizeof path);
    if (path[0] == '\0')
        return true;
    g->log = steps > 0 ? reopen(g, path, steps) : fopen(path, "w");
    if (g->log != NULL)
        return true;
    *code = tool_cannot_write(g->t, path);
    return false;
}

/* ---- closing ---- */

static int draw(tool_training *g)
{
    char path[4096];
    tool_buffer picture = {0};
    const tool_points *losses = &g->losses, *checks = &g->checks;
    path_of(g, TAKT_F_CURVE, "curve.svg", path, sizeof path);
    if (path[0] == '\0' || losses->count == 0)
        return TAKT_EXIT_OK;
    const takt_curve curve = {.title = takt_model_name(g->model),
                              .step = losses->step,
                              .loss = losses->loss,
                              .count = losses->count,
                              .check_step = checks->step,
                              .check_loss = checks->loss,
                              .checks = checks->count};
    const char *dot = strrchr(path, '.');
    const bool is_png = dot != NULL && strcmp(dot, ".png") == 0;
    const int code =
        tool_finish(g->t, takt_curve_write(g->t->ctx, &curve, is_png, tool_to_buffer, &picture));
    if (code == TAKT_EXIT_OK)
        return tool_buffer_save(g->t, &picture, path);
    free(picture.at);
    return code;
}

static int close_log(tool_training *g)
{
    char path[4096];
    const bool was_good = ferror(g->log) == 0;
    errno = was_good ? 0 : EIO;
    path_of(g, TAKT_F_LOG, "log.jsonl", path, sizeof path);
    if (fclose(g->log) == 0 && was_good)
        return TAKT_EXIT_OK;
    return tool_cannot_write(g->t, path);
}

int tool_log_close(tool_training *g, int code)
{
    const int logged = g->log != NULL ? close_log(g) : TAKT_EXIT_OK;
    code = code == TAKT_EXIT_OK ? logged : code;
    g->log = NULL;
    const int drawn = draw(g);
    forget_points(&g->losses);
    forget_points(&g->checks);
    return code != TAKT_EXIT_OK ? code : drawn;
}
