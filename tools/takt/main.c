/* main.c - finds the verb, reads the flags, and runs the verb. */
#include <signal.h>
#include <string.h>

#include "tool.h"

/* Is there a verb "group-..."? */
static bool is_group(const char *group)
{
    const size_t length = strlen(group);
    for (size_t i = 0; i < tool_verb_count; i++)
        if (strncmp(tool_verbs[i]->name, group, length) == 0 && tool_verbs[i]->name[length] == '-')
            return true;
    return false;
}

/* Names that other tools use: "info" is our inspect. */
static const char *synonym(const char *word)
{
    static const char *const pairs[][2] = {{"info", "inspect"},     {"show", "inspect"},
                                           {"describe", "inspect"}, {"layers", "summary"},
                                           {"infer", "run"},        {"inference", "run"},
                                           {"predict", "run"},      {"chat", "generate --chat"},
                                           {"test", "run --test"},  {"build", "compile"},
                                           {"export", "convert"},   {"optimize", "opt"},
                                           {"optimise", "opt"},     {"pull", "zoo get"},
                                           {"diagnose", "doctor"},  {"time", "benchmark run"},
                                           {"memory", "plan"},      {"perf", "profile"},
                                           {"trace", "profile"},    {"man", "help --man"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(word, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

/* "compare" by itself: the verb `benchmark compare`. */
static const takt_verb *by_second_word(const char *word)
{
    for (size_t i = 0; i < tool_verb_count; i++) {
        const char *dash = strchr(tool_verbs[i]->name, '-');
        if (dash != NULL && strcmp(dash + 1, word) == 0)
            return tool_verbs[i];
    }
    return NULL;
}

/* "benchmrk": the group whose name is nearest; NULL: none is near. */
static const char *nearest_group(const char *word, char *name, size_t size)
{
    for (size_t i = 0; i < tool_verb_count; i++) {
        const size_t length = strcspn(tool_verbs[i]->name, "-");
        snprintf(name, size, "%.*s", (int)length, tool_verbs[i]->name);
        const char *const names[] = {name};
        if (tool_verbs[i]->name[length] == '-' && takt_nearest(word, names, 1) == 0)
            return name;
    }
    return NULL;
}

static void hint_of_verb(const char *word, const char *group, char *hint, size_t size)
{
    const char *names[64];
    char typed[64];
    size_t count = 0;
    const size_t skipped = group != NULL ? strlen(group) + 1 : 0;
    for (size_t i = 0; i < tool_verb_count && count < sizeof names / sizeof *names; i++)
        if (group == NULL || strncmp(tool_verbs[i]->name, group, skipped - 1) == 0)
            names[count++] = tool_verbs[i]->name + skipped;
    const takt_verb *second = group == NULL ? by_second_word(word) : NULL;
    const char *ours = second != NULL  ? tool_typed(second, typed, sizeof typed)
                       : group == NULL ? synonym(word)
                                       : NULL;
    const int nearest = takt_nearest(word, names, count);
    if (ours != NULL)
        snprintf(hint, size, "did you mean `takt %s`?", ours);
    else if (nearest >= 0)
        snprintf(hint, size, "did you mean `takt %s%s%s`?", group != NULL ? group : "",
                 group != NULL ? " " : "", names[nearest]);
    else if (group != NULL)
        snprintf(hint, size, "`takt %s --help` lists its verbs", group);
    else if (nearest_group(word, typed, sizeof typed) != NULL)
        snprintf(hint, size, "did you mean `takt %s`?", typed);
    else
        snprintf(hint, size, "`takt help` lists the verbs");
}

int tool_unknown_verb(const takt_tool *t, const char *word, const char *second)
{
    char hint[160], group[64];
    const char *dash = strchr(word, '-');
    if (dash != NULL && dash != word && (size_t)(dash - word) < sizeof group) {
        snprintf(group, sizeof group, "%.*s", (int)(dash - word), word);
        if (is_group(group)) /* benchmark-x: only the part after the group is checked */
            return tool_unknown_verb(t, group, dash + 1);
    }
    const bool in_group = second != NULL && second[0] != '-' && is_group(word);
    if (!in_group && is_group(word)) {
        snprintf(hint, sizeof hint, "`takt %s --help` lists them", word);
        return tool_usage_error(t, 1002, hint, "takt %s is a group of verbs and needs one of them",
                                word);
    }
    if (word[0] == '-')
        return tool_usage_error(t, 1003, "write takt VERB [flags]; `takt help` lists the verbs",
                                "%s is not a verb: flags come after one", word);
    hint_of_verb(in_group ? second : word, in_group ? word : NULL, hint, sizeof hint);
    return tool_usage_error(t, 1002, hint, "there is no verb %s%s%s", word, in_group ? " " : "",
                            in_group ? second : "");
}

/* The argument to blame: a picture, which goes to standard output, or the last one. */
static const char *surplus_of(const takt_tool *t)
{
    for (size_t i = 0; i < t->arg_count; i++) {
        const char *dot = strrchr(t->args[i], '.');
        if (dot != NULL && strcmp(dot, ".svg") == 0)
            return t->args[i];
    }
    return t->arg_count > 0 ? t->args[t->arg_count - 1] : "--model";
}

/* Text verbs find the model before the text, also if it was given as --model. One of the
 * environment or of the settings is for command lines without any. */
static bool place_model(takt_tool *t)
{
    const char *path = tool_text_of(t, TAKT_F_MODEL);
    if (path == NULL || t->verb->task != TAKT_TASK_TEXT ||
        (t->arg_count > 0 && !tool_is_flag(t, TAKT_F_MODEL)))
        return false;
    memmove(t->args + 1, t->args, t->arg_count * sizeof *t->args); /* has room for one more */
    t->args[0] = path;
    t->arg_count++;
    return true;
}

static int check_args(takt_tool *t)
{
    const takt_verb *v = t->verb;
    const bool has_model = !place_model(t) && v->task != TAKT_TASK_TEXT &&
                           tool_verb_takes(v, TAKT_F_MODEL) &&
                           tool_text_of(t, TAKT_F_MODEL) != NULL;
    const int count = (int)t->arg_count + has_model;
    char hint[320];
    char name[64];
    tool_typed(v, name, sizeof name);
    snprintf(hint, sizeof hint, "`takt %s --help` shows how it is called, as in `%.200s`", name,
             v->example);
    if (count < v->arg_min)
        return tool_usage_error(t, 1003, hint, "takt %s needs %s", name, v->arguments);
    if (count > v->arg_max)
        return tool_usage_error(t, 1003, hint, "takt %s does not take the argument %s", name,
                                surplus_of(t));
    return TAKT_EXIT_OK;
}

/* Limits of the whole process: memory and processors. */
static int confine(takt_tool *t)
{
    const uint64_t bytes = tool_number_of(t, TAKT_F_MAX_RAM, 0);
    if (bytes > 0 && !tool_make_context(t, bytes))
        return tool_usage_error(t, 1003, NULL, "--max-ram is too small to begin with");
    const char *mask =
        tool_verb_takes(t->verb, TAKT_F_CPU_MASK) ? tool_text_of(t, TAKT_F_CPU_MASK) : NULL;
    return mask != NULL ? tool_finish(t, takt_cpu_mask(t->ctx, mask)) : TAKT_EXIT_OK;
}

static bool colour(const takt_tool *t, int *code)
{
    static const char *const words[] = {"auto", "always", "never"};
    const char *when = tool_text_of(t, TAKT_F_COLOR);
    for (size_t i = 0; i < 3; i++)
        if (when == NULL || strcmp(when, words[i]) == 0) {
            tool_colours(when);
            return true;
        }
    *code = tool_usage_error(t, 1003, "auto, always or never", "--color does not take %s", when);
    return false;
}

static int run(takt_tool *t, int argc, char **argv)
{
    int code;
    if (!tool_parse(t, argc, argv, &code) || !colour(t, &code))
        return code;
    if (tool_wants_help(t)) {
        tool_help_verb(t->verb, tool_on(t, TAKT_F_HELP_ALL));
        return TAKT_EXIT_OK;
    }
    if (tool_on(t, TAKT_F_DUMP_CONFIG)) {
        tool_dump_config(t);
        return TAKT_EXIT_OK;
    }
    code = check_args(t);
    if (code == TAKT_EXIT_OK && !tool_check_written(t))
        code = TAKT_EXIT_USAGE;
    if (code == TAKT_EXIT_OK)
        code = tool_check_folders(t);
    if (code == TAKT_EXIT_OK)
        code = confine(t);
    return code != TAKT_EXIT_OK ? code : t->verb->run(t);
}

/* "first-second", if there is such a verb. */
static bool join_words(int argc, char **argv, const char *first, char *to, size_t size)
{
    if (argc < 3 || argv[2][0] == '-')
        return false;
    const char *group = strcmp(first, "bench") == 0 ? "benchmark" : first;
    const int length = snprintf(to, size, "%s-%s", group, argv[2]);
    return length > 0 && (size_t)length < size && tool_verb_find(to) != NULL;
}

/* `takt --threads 2 run m.takt`: the error names the verb that comes later. */
static int misplaced(const takt_tool *t, int argc, char **argv)
{
    char hint[400] = "write takt ";
    int verb = 2;
    while (verb < argc && tool_verb_find(argv[verb]) == NULL && !is_group(argv[verb]))
        verb++;
    if (verb >= argc)
        return tool_unknown_verb(t, argv[1], NULL);
    const int last = is_group(argv[verb]) && verb + 1 < argc ? verb + 1 : verb;
    for (int i = verb; i <= last; i++)
        snprintf(hint + strlen(hint), sizeof hint - strlen(hint), "%.60s ", argv[i]);
    for (int i = 1; i < verb; i++)
        snprintf(hint + strlen(hint), sizeof hint - strlen(hint), "%.60s ", argv[i]);
    snprintf(hint + strlen(hint), sizeof hint - strlen(hint), "...");
    return tool_usage_error(t, 1003, hint, "%s is not a verb: flags come after one", argv[1]);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    tool_begin_plain();
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file size is reported as a write error */
    takt_tool t = {0};
    int code;
    if (!tool_make_context(&t, 0)) {
        fprintf(stderr, "error: out of memory\n");
        return TAKT_EXIT_FAILED;
    }
    const char *word = argc > 1 ? argv[1] : "help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    char pair[64]; /* `takt benchmark run` is the verb benchmark-run */
    const bool has_pair = join_words(argc, argv, word, pair, sizeof pair);
    const int taken = has_pair ? 3 : 2;
    t.verb = tool_verb_find(has_pair ? pair : word);
    const char *group = strcmp(word, "bench") == 0 ? "benchmark" : word;
    const bool is_bare = argc == 2 || (argc == 3 && is_help(argv[2]));
    if (t.verb == NULL && is_bare && tool_help_group(group))
        code = argc == 2 ? TAKT_EXIT_USAGE : TAKT_EXIT_OK; /* as for `takt` without a verb */
    else if (t.verb == NULL && word[0] == '-')
        code = misplaced(&t, argc, argv);
    else
        code = t.verb == NULL
                   ? tool_unknown_verb(&t, group, argc > 2 ? argv[2] : NULL)
                   : run(&t, argc > taken ? argc - taken : 0, argc > taken ? argv + taken : NULL);
    if (argc < 2) /* the overview helps people; scripts must not mistake it for success */
        code = TAKT_EXIT_USAGE;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == TAKT_EXIT_OK)
        code = tool_output_failed(&t);
    tool_free(&t);
    return code;
}
