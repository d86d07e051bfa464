/* explain.c - what an error means, or what the compiler did to a model and why. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "facts.h"
#include "kept.h"

/* ---- errors ---- */

/* The digits in "2103", "TAKT2103" or, as messages have it, "error[TAKT2103]:"; "" if it is none
 * of these. */
static const char *error_id(const char *text, char digits[static 16])
{
    static const char bracket[] = "error[";
    const bool is_copied = strncasecmp(text, bracket, sizeof bracket - 1) == 0;
    text += is_copied ? sizeof bracket - 1 : 0;
    text += strncasecmp(text, "TAKT", 4) == 0 ? 4 : 0;
    const size_t length = strspn(text, "0123456789");
    const char *rest = text + length;
    rest += is_copied && rest[0] == ']' ? 1 + (rest[1] == ':') : 0;
    snprintf(digits, 16, "%.*s", length < 16 && *rest == '\0' ? (int)length : 0, text);
    return digits;
}

static void print_error(const takt_tool *t, int id, const char *before)
{
    const char *text = takt_error_explain(id);
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("TAKT%d: %s\n", id, text);
        return;
    }
    printf("%s{\"id\": %d, \"explanation\": ", before, id);
    tool_print_string(stdout, text);
    printf("}");
}

static int list_errors(const takt_tool *t)
{
    const char *before = "";
    const bool json = tool_on(t, TAKT_F_JSON);
    printf("%s", json ? "{\"errors\": [" : "");
    for (int id = 1000; id < 10000; id++) {
        if (takt_error_explain(id) == NULL)
            continue;
        print_error(t, id, before);
        before = ",\n";
    }
    printf("%s", json ? "]}\n" : "");
    return TAKT_EXIT_OK;
}

static int explain_error(const takt_tool *t, const char *digits)
{
    const int id = strlen(digits) == 4 ? atoi(digits) : 0;
    if (takt_error_explain(id) == NULL)
        return tool_usage_error(t, 1002, "`takt explain --list` lists them",
                                "there is no error %.40s", digits);
    print_error(t, id, "");
    printf("%s", tool_on(t, TAKT_F_JSON) ? "\n" : "");
    return TAKT_EXIT_OK;
}

/* ---- models ---- */

/* Explains the graph that is planned: numerics, precision and level decide which passes run. */
static int explain_passes(takt_tool *t, const takt_model *model, const tool_sizes *sizes)
{
    tool_request r;
    const int code = tool_request_init(t, sizes->text, &r);
    if (code != TAKT_EXIT_OK)
        return code;
    const takt_opt_options options = {.plan = &r.options, .only_trace = true};
    const takt_status status =
        takt_model_optimize(model, &options, tool_format_of(t), tool_to_stdout, NULL);
    tool_request_free(&r);
    return tool_finish(t, status);
}

/* ---- patterns that resemble an operation ---- */

/* The part of a trace line, "# PASS: NODE: LAW: refused: WHY", after the pass; NULL for another
 * pass, or if the rule fired. */
static char *missed_line(char *line)
{
    static const char *const passes[] = {"# recognise: ", "# join-attention: "};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strncmp(line, passes[i], strlen(passes[i])) == 0)
            return strstr(line, ": refused: ") != NULL ? line + strlen(passes[i]) : NULL;
    return NULL;
}

static void print_missed(const takt_tool *t, char *row, bool is_first)
{
    static const char refused[] = ": refused: ";
    char *why = strstr(row, refused);
    *why = '\0';
    why += sizeof refused - 1;
    if (!tool_on(t, TAKT_F_JSON)) {
        printf("%s: %s\n", row, why);
        return;
    }
    printf("%s{\"pattern\": ", is_first ? "" : ",\n");
    tool_print_string(stdout, row);
    printf(", \"reason\": ");
    tool_print_string(stdout, why);
    printf("}");
}

static void print_all_missed(const takt_tool *t, const tool_kept *m)
{
    size_t count = 0;
    printf("%s", tool_on(t, TAKT_F_JSON) ? "{\"missed\": [" : "");
    for (char *line = strtok(m->at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *row = missed_line(line);
        if (row != NULL)
            print_missed(t, row, count++ == 0);
    }
    if (tool_on(t, TAKT_F_JSON))
        printf("]}\n");
    else
        printf("%zu pattern%s like an operation and %s not recognised\n", count,
               count == 1 ? " looks" : "s look", count == 1 ? "was" : "were");
}

static int explain_missed(takt_tool *t, const takt_model *model, const tool_sizes *sizes)
{
    tool_request r;
    tool_kept m = {0};
    const int code = tool_request_init(t, sizes->text, &r);
    if (code != TAKT_EXIT_OK)
        return code;
    const takt_opt_options options = {.plan = &r.options, .only_trace = true};
    const takt_status status =
        takt_model_optimize(model, &options, TAKT_FORMAT_TEXT, tool_keep_text, &m);
    tool_request_free(&r);
    if (status == TAKT_OK && m.at != NULL)
        print_all_missed(t, &m);
    free(m.at);
    return tool_finish(t, status);
}

static int explain_plan(takt_tool *t, const takt_model *model, const tool_sizes *sizes)
{
    int code;
    takt_plan *plan = tool_make_plan(t, model, sizes, false, &code);
    if (plan == NULL)
        return code;
    code = tool_finish(t, takt_plan_explain(plan, tool_text_of(t, TAKT_F_NODE), tool_format_of(t),
                                            tool_to_screen, t));
    takt_plan_destroy(plan);
    return code;
}

static int explain_model(takt_tool *t, const takt_model *model)
{
    tool_sizes sizes;
    int code = TAKT_EXIT_OK;
    const bool json = tool_on(t, TAKT_F_JSON);
    const bool only_steps = tool_on(t, TAKT_F_FUSIONS) || tool_text_of(t, TAKT_F_NODE) != NULL;
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    if (tool_on(t, TAKT_F_MISSED))
        return explain_missed(t, model, &sizes);
    if (only_steps)
        return explain_plan(t, model, &sizes);
    printf("%s", json ? "{\"passes\": " : "passes:\n");
    code = explain_passes(t, model, &sizes);
    if (code != TAKT_EXIT_OK)
        return code;
    printf("%s", json ? ", \"plan\": " : "\nsteps:\n");
    code = explain_plan(t, model, &sizes);
    printf("%s", json ? "}\n" : "");
    return code;
}

/* Flags that would do nothing: of a fact, or of an error's number. */
static int check_flags(const takt_tool *t, bool is_error)
{
    const bool has_fact = tool_text_of(t, TAKT_F_FACT) != NULL;
    const char *other = tool_on(t, TAKT_F_LIST)                   ? "--list"
                        : tool_on(t, TAKT_F_FUSIONS)              ? "--fusions"
                        : tool_on(t, TAKT_F_MISSED)               ? "--missed"
                        : tool_text_of(t, TAKT_F_NODE) != NULL    ? "--node"
                        : tool_text_of(t, TAKT_F_OUTPUTS) != NULL ? "--outputs"
                                                                  : NULL;
    if (has_fact && other != NULL)
        return tool_usage_error(t, 1003, NULL, "--fact and %s do not go together", other);
    if (is_error && (has_fact || other != NULL))
        return tool_usage_error(t, 1003, "`takt explain MODEL` says what was done to a model",
                                "%s and %s, the number of an error, do not go together",
                                has_fact ? "--fact" : other, t->args[0]);
    if (!has_fact && tool_on(t, TAKT_F_WHY_NOT))
        return tool_usage_error(t, 1003, "name the fact: --fact \"ancestor(ann, bo)\"",
                                "--why-not needs --fact");
    return TAKT_EXIT_OK;
}

static int run(takt_tool *t)
{
    char digits[16];
    const bool is_error = t->arg_count > 0 && error_id(t->args[0], digits)[0] != '\0';
    int code = check_flags(t, is_error);
    if (code != TAKT_EXIT_OK)
        return code;
    if (tool_on(t, TAKT_F_LIST))
        return list_errors(t);
    if (t->arg_count == 0 && tool_text_of(t, TAKT_F_MODEL) == NULL)
        return tool_usage_error(t, 1003, "`takt explain --list` lists the errors",
                                "takt explain needs MODEL or the number of an error");
    if (is_error)
        return explain_error(t, digits);
    if (t->arg_count > 0 && access(tool_readable(t->args[0]), F_OK) != 0 &&
        strpbrk(t->args[0], "./") == NULL)
        return tool_usage_error(t, 1003, "`takt explain --list` lists the errors",
                                "%s is neither a file nor the number of an error", t->args[0]);
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = tool_text_of(t, TAKT_F_FACT) != NULL ? tool_explain_fact(t, model)
                                                : explain_model(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_explain = {
    .name = "explain",
    .task = TAKT_TASK_MEASURE,
    .summary = "explain an error, what the compiler did to a model, or why a fact holds",
    .arguments = "MODEL | ERROR",
    .arg_min = 0,
    .arg_max = 1,
    .about = "Passes run before and after composite operations are lowered, so what is refused\n"
             "both times is listed twice. --fact prints the lowest proof of a fact of the model's\n"
             "rules; --why-not prints the first literal that fails of every rule.",
    .example = "takt explain 2103; takt explain examples/family.takt --fact \"ancestor(ann, eve)\"",
    .often =
        (const tool_flag_id[]){TAKT_F_LIST, TAKT_F_NODE, TAKT_F_FUSIONS, TAKT_F_MISSED, TAKT_F_FACT,
                               TAKT_F_WHY_NOT, TAKT_F_DIM, TAKT_F_BACKEND, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_DENSE_LIMIT,
              TAKT_F_INPUT, TAKT_F_LIST, TAKT_F_NODE, TAKT_F_FUSIONS, TAKT_F_MISSED, TAKT_F_FACT,
              TAKT_F_WHY_NOT, TAKT_F_SEED, TAKT_F_RANDOM, TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_THREADS,
              TOOL_PLAN_FLAGS, TAKT_FLAG_IDS},
    .run = run,
};
