/* zoo_train.c - reproduces a model of the zoo: prepares its data, trains it, and quantises it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"
#include "signals.h"
#include "zoo.h"
#include "zoo_data.h"

typedef struct job {
    takt_tool *t;
    tool_zoo_model m;
    char folder[TOOL_ZOO_PATH];  /* for temporary files */
    char samples[TOOL_ZOO_PATH]; /* the data set */
    takt_model *model, *small;
    double chance; /* score of an answer without a model; NAN: unknown */
} job;

/* A handler has no argument to find it by. */
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

/* Runs a program that gets the same interrupt as this one; after an interrupt its messages are
 * dropped. */
static int spawn(const tool_command *c, tool_buffer *out)
{
    tool_buffer err = {0};
    int code = tool_spawn(c, out, &err) == 0 ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
    if (is_interrupted != 0)
        code = TAKT_EXIT_INTERRUPTED;
    else if (code != TAKT_EXIT_OK && err.at != NULL)
        (void)fputs(err.at, stderr);
    free(err.at);
    return code;
}

/* ---- data ---- */

static bool is_there(const char *path)
{
    struct stat s;
    return path[0] != '\0' && stat(path, &s) == 0;
}

static bool is_below(const char *folder, const char *where, char to[TOOL_ZOO_PATH])
{
    snprintf(to, TOOL_ZOO_PATH, "%.250s/%s", folder != NULL ? folder : "", where);
    return folder != NULL && is_there(to);
}

/* Where the recipe looks for data: --data or a folder below it, if given; otherwise below
 * TAKT_DATA, or where a Debian package installs it. */
static bool find_data(const job *j, char to[TOOL_ZOO_PATH])
{
    const char *given = tool_text_of(j->t, TAKT_F_DATA_SET), *where = j->m.where;
    to[0] = '\0';
    if (where[0] == '\0' && given != NULL) {
        (void)tool_usage_error(j->t, 1003, "leave it out",
                               "the data of %s is made by code: --data has no effect", j->m.name);
        return false;
    }
    if (where[0] == '\0' || is_below(given, where, to))
        return true;
    if (given == NULL && is_below(getenv("TAKT_DATA"), where, to))
        return true;
    snprintf(to, TOOL_ZOO_PATH, "%s", given != NULL ? given : where[0] == '/' ? where : "");
    if (is_there(to))
        return true;
    (void)tool_usage_error(j->t, 1003, "say where it lies with --data FOLDER",
                           "%s is trained on %s, which is not here", j->m.name, j->m.source);
    return false;
}

static const char *metric_of(const job *j)
{
    return j->m.metric[0] != '\0' ? j->m.metric : "top1";
}

/* The folder that samples are written to: the given one may exist. */
static int make_folder(job *j)
{
    const char *given = tool_text_of(j->t, TAKT_F_SAMPLES_FOLDER);
    if (given == NULL)
        snprintf(j->samples, sizeof j->samples, "%.400s/samples", j->folder);
    else if (snprintf(j->samples, sizeof j->samples, "%s", given) >= (int)sizeof j->samples)
        return tool_usage_error(j->t, 1003, "give a shorter one",
                                "the path of --samples has %zu bytes, and at most %zu fit",
                                strlen(given), sizeof j->samples - 1);
    const bool is_good =
        mkdir(j->samples, given != NULL ? 0777 : 0700) == 0 || (given != NULL && errno == EEXIST);
    return is_good ? TAKT_EXIT_OK : tool_cannot_write(j->t, j->samples);
}

static int prepare(job *j)
{
    char from[TOOL_ZOO_PATH];
    if (!find_data(j, from))
        return TAKT_EXIT_USAGE;
    if (j->m.prepare[0] != '\0') {
        const int code = make_folder(j);
        return code != TAKT_EXIT_OK ? code
                                    : tool_zoo_prepare(j->t, j->m.prepare, from, j->samples,
                                                       metric_of(j), &j->chance);
    }
    snprintf(j->samples, sizeof j->samples, "%s", from);
    if (tool_text_of(j->t, TAKT_F_SAMPLES_FOLDER) == NULL)
        return TAKT_EXIT_OK;
    return tool_usage_error(j->t, 1003, "use them where they lie",
                            "the data of %s is samples already: %s", j->m.name, from);
}

/* ---- training ---- */

static void add_words(tool_command *c, const char *text)
{
    char copy[TOOL_ZOO_TEXT], *rest;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        tool_command_add(c, "%s", word);
}

/* A separate process: `takt train` with the recipe's flags. */
static int train(job *j, const char *trained)
{
    char self[TOOL_ZOO_PATH];
    tool_command c = {.stop = &is_interrupted};
    tool_command_add(&c, "%s", tool_self(self, sizeof self));
    tool_command_add(&c, "train");
    tool_command_add(&c, "%s", j->m.text);
    tool_command_add(&c, "--data");
    tool_command_add(&c, "%s", j->samples);
    add_words(&c, j->m.train);
    if (tool_text_of(j->t, TAKT_F_THREADS) != NULL)
        tool_command_add(&c, "--threads=%s", tool_text_of(j->t, TAKT_F_THREADS));
    tool_command_add(&c, "-o");
    tool_command_add(&c, "%s", trained);
    const int code = spawn(&c, NULL);
    tool_command_free(&c);
    return code;
}

/* Only the weights are taken back, so that the model does not reveal where it was trained. */
static takt_status take_weights(job *j, const char *trained)
{
    takt_model *from = NULL;
    takt_status status = takt_model_load(j->t->ctx, j->m.text, NULL, &j->model);
    if (status == TAKT_OK)
        status = takt_model_load(j->t->ctx, trained, NULL, &from);
    if (status == TAKT_OK)
        status = takt_model_copy_weights(j->model, from);
    takt_model_destroy(from);
    return status;
}

static int to_nowhere(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

static takt_status quantize(job *j)
{
    takt_data *calib = NULL;
    const takt_data_options first = {.split = "train",
                                     .limit = (uint64_t)strtoull(j->m.calib, NULL, 10)};
    takt_status status = takt_data_open(j->t->ctx, j->samples, &first, &calib);
    if (status == TAKT_OK) {
        const takt_quantize_options o = {.size = sizeof o,
                                         .calib = calib,
                                         .size_first = true,
                                         .whole = true,
                                         .layer_ns = 1000000,
                                         .threads = (int)tool_number_of(j->t, TAKT_F_THREADS, 0)};
        status = takt_model_quantize(j->model, &o, TAKT_FORMAT_TEXT, to_nowhere, NULL, &j->small);
    }
    takt_data_destroy(calib);
    return status;
}

/* ---- what came out ---- */

typedef struct scored {
    double value;
    unsigned long long rows; /* of outputs that were compared */
} scored;

static const char *after(const char *text, const char *word)
{
    const char *at = text != NULL ? strstr(text, word) : NULL;
    return at != NULL ? at + strlen(word) : "0";
}

/* A separate process: `takt eval` on the test part. */
static int score(const job *j, const char *path, scored *s)
{
    char self[TOOL_ZOO_PATH];
    tool_command c = {.stop = &is_interrupted};
    tool_buffer out = {0};
    const char *const words[] = {tool_self(self, sizeof self),
                                 "eval",
                                 path,
                                 "--data",
                                 j->samples,
                                 "--split",
                                 "test",
                                 "--metric",
                                 metric_of(j),
                                 "--json",
                                 "--threads=1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        tool_command_add(&c, "%s", words[i]);
    const int code = spawn(&c, &out);
    s->value = strtod(after(out.at, "\"value\": "), NULL);
    s->rows = strtoull(after(out.at, "\"rows\": "), NULL, 10);
    free(out.at);
    tool_command_free(&c);
    return code;
}

/* A score as recipes have it: "97.60 % of 125", "F1 0.853 of 960", "MAE 0.0312 of 800". */
static void print_score(const job *j, const char *key, const scored *s)
{
    const char *metric = metric_of(j);
    if (strcmp(metric, "mae") == 0)
        printf("%s: MAE %.4f", key, s->value);
    else if (strcmp(metric, "f1") == 0)
        printf("%s: F1 %.3f", key, s->value);
    else
        printf("%s: %.2f %%", key, 100 * s->value);
    if (s->rows > 0)
        printf(" of %llu", s->rows);
    printf("\n");
}

static takt_status save(const job *j, const char *path)
{
    char command[96];
    snprintf(command, sizeof command, "takt zoo train %s", j->m.name);
    return takt_model_save(j->small, path, &(takt_save_options){.command = command});
}

/* A digest of the compiled model as it is read back: other formats change names and graphs. */
static takt_status digest(const job *j, const char *path, char hex[TOOL_ZOO_HEX])
{
    takt_model *back = NULL;
    takt_status status = save(j, path);
    if (status == TAKT_OK)
        status = takt_model_load(j->t->ctx, path, NULL, &back);
    if (status == TAKT_OK)
        status = tool_zoo_digest(j->t, back, hex);
    takt_model_destroy(back);
    return status;
}

static int tell(const job *j, const char *trained, const char *made)
{
    char hex[TOOL_ZOO_HEX];
    const char *given = tool_text_of(j->t, TAKT_F_MODEL_FILE);
    scored floats = {0}, whole = {0};
    int code = tool_finish(j->t, digest(j, made, hex));
    if (code == TAKT_EXIT_OK)
        code = score(j, trained, &floats);
    if (code == TAKT_EXIT_OK)
        code = score(j, made, &whole);
    if (code == TAKT_EXIT_OK && given != NULL)
        code = tool_finish(j->t, save(j, given));
    if (code != TAKT_EXIT_OK)
        return code;
    const bool is_same = strcmp(hex, j->m.sha256) == 0;
    const double all = strcmp(metric_of(j), "top1") == 0 ? 100 : 1;
    if (tool_on(j->t, TAKT_F_JSON)) {
        printf("{\"name\": \"%s\", \"floats\": %.4f, \"score\": %.4f, \"samples\": %llu, "
               "\"sha256\": \"%s\", \"same\": %s}\n",
               j->m.name, all * floats.value, all * whole.value, whole.rows, hex,
               is_same ? "true" : "false");
    } else {
        print_score(j, "floats", &floats);
        print_score(j, "score", &whole);
        if (j->m.prepare[0] != '\0')
            print_score(j, "chance", &(scored){.value = j->chance});
        printf("sha256: %s\n%s\n", hex,
               is_same ? "the same as in the recipe" : "not the one in the recipe");
    }
    return !tool_on(j->t, TAKT_F_VERIFY) || is_same ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
}

static int make(job *j)
{
    char trained[TOOL_ZOO_PATH], made[TOOL_ZOO_PATH];
    snprintf(trained, sizeof trained, "%.400s/trained.taktp", j->folder);
    snprintf(made, sizeof made, "%.400s/%s.taktp", j->folder, j->m.name);
    int code = prepare(j);
    if (code != TAKT_EXIT_OK)
        return code;
    if (tool_text_of(j->t, TAKT_F_SAMPLES_FOLDER) != NULL) {
        if (!tool_on(j->t, TAKT_F_QUIET) && !tool_on(j->t, TAKT_F_JSON))
            printf("samples: %s/train.npz, %s/test.npz\n", j->samples, j->samples);
        return code;
    }
    code = is_interrupted != 0 ? TAKT_EXIT_INTERRUPTED : train(j, trained);
    if (code == TAKT_EXIT_OK)
        code = tool_finish(j->t, take_weights(j, trained));
    if (code == TAKT_EXIT_OK)
        code = tool_finish(j->t, quantize(j));
    if (code == TAKT_EXIT_OK)
        code = tell(j, trained, made);
    return code;
}

static void clean(const job *j)
{
    static const char *const names[] = {"samples/train.npz", "samples/test.npz", "trained.taktp"};
    char path[TOOL_ZOO_PATH + 80];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", j->folder, names[i]);
        (void)unlink(path);
    }
    snprintf(path, sizeof path, "%s/%s.taktp", j->folder, j->m.name);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/samples", j->folder);
    (void)rmdir(path);
    (void)rmdir(j->folder);
}

/* --samples ends before there is a model to compare or to write. */
static bool is_sound(const takt_tool *t)
{
    const bool verifies = tool_on(t, TAKT_F_VERIFY);
    if (tool_text_of(t, TAKT_F_SAMPLES_FOLDER) == NULL ||
        (!verifies && tool_text_of(t, TAKT_F_MODEL_FILE) == NULL))
        return true;
    (void)tool_usage_error(t, 1003, "call it twice",
                           "--samples trains nothing: there is no model to %s",
                           verifies ? "--verify" : "write with -o");
    return false;
}

static int with_job(job *j)
{
    const char *place = getenv("TMPDIR"), *path = tool_text_of(j->t, TAKT_F_MODEL_FILE);
    tool_signals before;
    if (!tool_zoo_find(j->t, j->t->args[0], &j->m) || !is_sound(j->t) ||
        (path != NULL && !tool_model_ending(j->t, path)))
        return TAKT_EXIT_USAGE;
    snprintf(j->folder, sizeof j->folder, "%.360s/takt-zoo-XXXXXX", place != NULL ? place : "/tmp");
    tool_signals_catch(&before, interrupt);
    int code = TAKT_EXIT_OK;
    if (mkdtemp(j->folder) == NULL) {
        code = tool_cannot_write(j->t, j->folder);
    } else {
        code = make(j);
        clean(j);
    }
    tool_signals_restore(&before);
    takt_model_destroy(j->small);
    takt_model_destroy(j->model);
    return code;
}

static int run(takt_tool *t)
{
    job *j = calloc(1, sizeof *j);
    if (j == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    j->t = t;
    const int code = with_job(j);
    free(j);
    return code;
}

const takt_verb takt_verb_zoo_train = {
    .name = "zoo-train",
    .task = TAKT_TASK_TRAIN,
    .summary = "train a model of the zoo again from its data",
    .arguments = "NAME [--data FOLDER] [-o F]",
    .arg_min = 1,
    .arg_max = 1,
    .about =
        "Prepares the data, trains and quantises as the recipe says, and prints the score and\n"
        "SHA-256, which do not depend on the machine. --verify: exit code 1 if the SHA-256 is\n"
        "not the recipe's. Data that is not synthetic is read from --data, or from where its\n"
        "recipe looks: `takt zoo show NAME`. --samples F writes train.npz and test.npz to F,\n"
        "to train the model elsewhere.",
    .example = "takt zoo train motor_fault --verify",
    .flags = {TAKT_F_DATA_SET, TAKT_F_MODEL_FILE, TAKT_F_VERIFY, TAKT_F_SAMPLES_FOLDER,
              TAKT_F_THREADS, TAKT_FLAG_IDS},
    .run = run,
};
