/* train_save.c - checkpoints: two generations in a folder, written alternately.
 *
 * A generation is replaced as a whole, so whatever interrupts a save leaves the other one, and the
 * old contents of this one. Training continues from the newer readable one.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measure.h"
#include "train.h"

enum { LONGEST = 2048 }; /* of a path */

static void path_of(const tool_training *g, int generation, char *to, size_t size)
{
    snprintf(to, size, "%s/checkpoint.%d", tool_text_of(g->t, TAKT_F_CHECKPOINT), generation);
}

bool tool_checkpoint_lock(tool_training *g, int *code)
{
    const char *folder = tool_text_of(g->t, TAKT_F_CHECKPOINT);
    char path[4096];
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    g->lock = -1;
    if (folder == NULL)
        return true;
    mkdir(folder, 0777); /* may exist; if not writable, opening the file fails */
    snprintf(path, sizeof path, "%s/lock", folder);
    g->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (g->lock < 0) {
        *code = tool_usage_error(g->t, 1003, "--checkpoint makes a folder in one that exists",
                                 "%s cannot be written: %s", path, strerror(errno));
        return false;
    }
    /* The system releases it when this process ends, for whatever reason. */
    if (fcntl(g->lock, F_SETLK, &all) == 0 || (errno != EACCES && errno != EAGAIN))
        return true;
    *code = tool_usage_error(g->t, 7007, "wait for it, or use another folder",
                             "another training uses %s", folder);
    return false;
}

/* Makes FOLDER/earlier.1, or the first number that is not taken. */
static bool make_earlier(const char *folder, char *to, size_t size)
{
    enum { MOST = 10000 };
    bool is_made = false;
    errno = EEXIST;
    for (int i = 1; i <= MOST && !is_made && errno == EEXIST; i++)
        is_made =
            snprintf(to, size, "%s/earlier.%d", folder, i) < (int)size && mkdir(to, 0777) == 0;
    return is_made;
}

static bool move_into(const char *to_folder, const char *folder, const char *name)
{
    char from[LONGEST], to[LONGEST];
    const bool is_short = snprintf(from, sizeof from, "%s/%s", folder, name) < LONGEST &&
                          snprintf(to, sizeof to, "%s/%s", to_folder, name) < LONGEST;
    return is_short && (rename(from, to) == 0 || errno == ENOENT);
}

bool tool_checkpoint_retire(tool_training *g, int *code)
{
    static const char *const names[] = {"checkpoint.0", "checkpoint.1", "log.jsonl"};
    char earlier[LONGEST];
    bool is_there = false, is_moved = true;
    const char *folder = tool_text_of(g->t, TAKT_F_CHECKPOINT);
    for (int i = 0; folder != NULL && i < 2; i++) {
        struct stat facts;
        path_of(g, i, earlier, sizeof earlier);
        is_there = is_there || (stat(earlier, &facts) == 0 && S_ISREG(facts.st_mode));
    }
    if (!is_there)
        return true;
    is_moved = make_earlier(folder, earlier, sizeof earlier);
    for (size_t i = 0; is_moved && i < sizeof names / sizeof *names; i++)
        is_moved = move_into(earlier, folder, names[i]);
    if (!is_moved)
        *code = tool_cannot_write(g->t, earlier);
    else if (!tool_on(g->t, TAKT_F_QUIET))
        fprintf(stderr,
                "takt: the checkpoints of an earlier training were moved; --checkpoint %s "
                "--resume continues it\n",
                earlier);
    return is_moved;
}

bool tool_checkpoint_init(tool_training *g)
{
    const char *text = tool_text_of(g->t, TAKT_F_CHECKPOINT_EVERY);
    if (text == NULL)
        return true;
    g->saved_ns = tool_now_ns();
    if (text[strspn(text, "0123456789")] != '\0')
        return tool_duration(g->t, TAKT_F_CHECKPOINT_EVERY, 0, &g->save_ns);
    if (tool_read_number(TAKT_FLAG_COUNT, text, &g->save_steps))
        return true;
    tool_usage_error(g->t, 1003, "write --checkpoint-every 500, or 60s",
                     "--checkpoint-every %s is neither a number of steps nor a time", text);
    return false;
}

takt_status tool_checkpoint_due(tool_training *g)
{
    const bool is_due =
        (g->save_steps > 0 && takt_trainer_steps(g->trainer) % g->save_steps == 0) ||
        (g->save_ns > 0 && tool_now_ns() - g->saved_ns >= g->save_ns);
    return is_due ? tool_checkpoint_save(g) : TAKT_OK;
}

takt_status tool_checkpoint_wait(tool_training *g)
{
    const takt_status status = takt_trainer_save_end(g->trainer);
    if (g->is_saving && status == TAKT_OK) {
        g->saved_step = g->begun_step;
        g->has_saved = true;
    }
    g->is_saving = false;
    return status;
}

takt_status tool_checkpoint_save(tool_training *g)
{
    const char *folder = tool_text_of(g->t, TAKT_F_CHECKPOINT);
    char path[4096], place[256];
    if (folder == NULL)
        return TAKT_OK;
    mkdir(folder, 0777); /* may exist; if not writable, opening the file fails */
    if (g->log != NULL)
        fflush(g->log); /* every step of a checkpoint is in the log */
    const takt_status before = tool_checkpoint_wait(g);
    if (before != TAKT_OK)
        return before;
    path_of(g, g->generation, path, sizeof path);
    snprintf(place, sizeof place, "%llu %llu %llu %llu %.17g %llu", (unsigned long long)g->epoch,
             (unsigned long long)g->position, (unsigned long long)g->samples,
             (unsigned long long)g->batch_size, g->best, (unsigned long long)g->bad_evaluations);
    g->saved_ns = tool_now_ns();
    const size_t length = strlen(place) + (g->settings != NULL ? strlen(g->settings) : 0);
    char *note = malloc(length + 1);
    if (note == NULL)
        return TAKT_ERR_MEMORY;
    snprintf(note, length + 1, "%s%s", place, g->settings != NULL ? g->settings : "");
    const takt_status status = takt_trainer_save_begin(g->trainer, path, note);
    free(note);
    if (status == TAKT_OK) {
        g->generation = 1 - g->generation;
        g->begun_step = takt_trainer_steps(g->trainer);
        g->is_saving = true;
    }
    return status;
}

/* What one of the two files holds. */
typedef struct generation {
    bool is_there, is_good;
    uint64_t steps;
    takt_error error; /* why it cannot be loaded, unless it is good */
} generation;

static void look_at(tool_training *g, int number, generation *found)
{
    char path[LONGEST];
    struct stat facts;
    const char *note;
    path_of(g, number, path, sizeof path);
    *found = (generation){.is_there = stat(path, &facts) == 0};
    if (!found->is_there)
        return;
    found->is_good = takt_trainer_load(g->trainer, path, &note) == TAKT_OK;
    if (found->is_good)
        found->steps = takt_trainer_steps(g->trainer);
    else
        found->error = *takt_last_error_info(g->t->ctx);
}

/* A file that can be read is of another training: then the command line is wrong, not the file. */
static int tell_unfit(tool_training *g, int number, const generation *found)
{
    char path[LONGEST];
    takt_model *model;
    takt_error e = found->error;
    path_of(g, number, path, sizeof path);
    const bool is_model = takt_model_load(g->t->ctx, path, NULL, &model) == TAKT_OK;
    if (is_model)
        takt_model_destroy(model);
    else if (strstr(e.hint, "version") == NULL)
        snprintf(e.hint, sizeof e.hint,
                 "neither checkpoint can be read; without --resume the training starts at the "
                 "beginning, and these files are kept in a folder earlier.1");
    const int code = tool_report_error(g->t, &e);
    return is_model ? TAKT_EXIT_USAGE : code;
}

static bool take_note(tool_training *g, const char *note)
{
    unsigned long long epoch, position, samples, batch, bad;
    double best;
    if (sscanf(note, "%llu %llu %llu %llu %lf %llu", &epoch, &position, &samples, &batch, &best,
               &bad) != 6)
        return false;
    if (samples != g->samples || batch != g->batch_size)
        return false;
    g->epoch = epoch;
    g->position = position;
    g->best = best;
    g->bad_evaluations = bad;
    return true;
}

/* Loads the newer of the two. */
static bool load_newest(tool_training *g, const generation *both, const char **note, int *code)
{
    char path[LONGEST], lost[LONGEST];
    const int newest = both[1].is_good && (!both[0].is_good || both[1].steps > both[0].steps);
    path_of(g, newest, path, sizeof path);
    path_of(g, 1 - newest, lost, sizeof lost);
    if (both[1 - newest].is_there && !both[1 - newest].is_good && !tool_on(g->t, TAKT_F_QUIET))
        fprintf(stderr, "takt: %s; %s is used, of step %llu\n", both[1 - newest].error.message,
                path, (unsigned long long)both[newest].steps);
    *code = tool_finish(g->t, takt_trainer_load(g->trainer, path, note));
    if (*code != TAKT_EXIT_OK)
        return false;
    *code = TAKT_EXIT_USAGE;
    if (!tool_settings_fit(g, *note, "model")) {
        tool_usage_error(g->t, 7004, "use the same model, or another folder",
                         "%s belongs to a training of another model", path);
        return false;
    }
    if (!tool_settings_fit(g, *note, "data") || !take_note(g, *note)) {
        tool_usage_error(g->t, 7004, "use the same --data, --limit, --val-split and --batch-size",
                         "%s belongs to a training on other data or batches", path);
        return false;
    }
    g->generation = 1 - newest;
    g->saved_step = both[newest].steps;
    g->has_saved = true;
    return true;
}

static int load(tool_training *g, generation *both, bool *found)
{
    const char *note = "";
    int code;
    look_at(g, 0, &both[0]);
    look_at(g, 1, &both[1]);
    const int first = both[0].is_there ? 0 : 1;
    if (!both[first].is_there)
        return TAKT_EXIT_OK;
    if (!both[0].is_good && !both[1].is_good)
        return tell_unfit(g, first, &both[first]);
    if (!load_newest(g, both, &note, &code))
        return code;
    tool_settings_compare(g, note);
    *found = true;
    return TAKT_EXIT_OK;
}

int tool_checkpoint_load(tool_training *g, bool *found)
{
    generation *both = calloc(2, sizeof *both);
    *found = false;
    const int code = both != NULL ? load(g, both, found) : tool_finish(g->t, TAKT_ERR_MEMORY);
    free(both);
    return code;
}
