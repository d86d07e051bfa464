/* help.c - help texts: an overview, a screen per verb, a manual page. */
#include <stdint.h>
#include <string.h>

#include "screen.h"

static const char exits[] = "exit: 0 ok, 1 failed, 2 usage, 3 slower than --fail-on allows,\n"
                            "4 limit or deadline not met, 5 too noisy to tell, 130 interrupted";

/* A comfortable line width, also used for pipes, which have none. */
enum { WIDEST = 100, IN_PIPES = 80 };

static size_t page_width(void)
{
    const size_t room = screen_room();
    return room == SIZE_MAX ? IN_PIPES : room < WIDEST ? room : WIDEST;
}

/* To the right of the existing text, `indent` wide; wrapped below itself at the end of a line. */
static void prose(span text, size_t indent)
{
    const size_t room = page_width();
    screen_prose(text, room > indent + 20 ? room - indent : SIZE_MAX, indent);
    printf("\n");
}

static void summary(const char *text, size_t indent)
{
    prose((span){text, strlen(text)}, indent);
}

/* Paragraphs separated by empty lines. Line ends inside them do not matter. */
static void paragraphs(const char *text)
{
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        prose((span){text, (size_t)(end - text)}, 0);
        printf("\n");
    }
    summary(text, 0);
}

/* Bytes up to the next blank that separates words in a shell. */
static size_t argument_length(const char *text)
{
    bool is_quoted = false;
    size_t i = 0;
    for (; text[i] != '\0' && (text[i] != ' ' || is_quoted); i++)
        is_quoted ^= text[i] == '"';
    return i;
}

/* A command to copy: continued lines end in a backslash. */
static void example(const char *text)
{
    const size_t room = page_width();
    size_t used = (size_t)printf("\nexample:");
    while (*text != '\0') {
        const size_t length = argument_length(text);
        const bool is_last = text[length] == '\0';
        if (used + 1 + length + (is_last ? 0 : 2) > room && used > 8)
            used = (size_t)printf(" \\\n        ") - 3;
        used += (size_t)printf(" %.*s", (int)length, text);
        text += length + !is_last;
    }
    printf("\n");
}

static void print_flag(tool_flag_id id)
{
    const tool_flag *f = &tool_flags[id];
    char left[48], letter[8] = "    ";
    if (f->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, f->name, f->argument[0] != '\0' ? " " : "",
             f->argument);
    printf("  %-26s%s", left, strlen(left) > 26 ? "\n                             " : " ");
    summary(f->summary, 29);
}

const char *tool_typed(const takt_verb *v, char *to, size_t size)
{
    snprintf(to, size, "%s", v->name);
    char *dash = strchr(to, '-');
    if (dash != NULL)
        *dash = ' ';
    return to;
}

static void flags_of(const tool_flag_id *ids)
{
    for (; *ids != TAKT_FLAG_IDS; ids++)
        print_flag(*ids);
}

static void all_of(const tool_flag_id *ids)
{
    for (; *ids != TAKT_FLAG_IDS; ids++) {
        print_flag(*ids);
        if (tool_flag_companion(*ids) != TAKT_FLAG_IDS)
            print_flag(tool_flag_companion(*ids));
    }
}

static size_t count_of(const tool_flag_id *ids)
{
    size_t count = 0;
    for (; *ids != TAKT_FLAG_IDS; ids++)
        count += tool_flag_companion(*ids) != TAKT_FLAG_IDS ? 2 : 1;
    return count;
}

static size_t shown_of(const tool_flag_id *ids)
{
    size_t count = 0;
    while (ids[count] != TAKT_FLAG_IDS)
        count++;
    return count;
}

static void often(const takt_verb *v, const char *name)
{
    const size_t rest = count_of(v->flags) + count_of(tool_common_flags) - shown_of(v->often) - 4;
    printf("\nflags used most:\n");
    flags_of(v->often);
    print_flag(TAKT_F_JSON);
    print_flag(TAKT_F_QUIET);
    print_flag(TAKT_F_HELP);
    print_flag(TAKT_F_HELP_ALL);
    printf("\n%zu more: takt %s --help-all\n", rest, name);
}

void tool_help_verb(const takt_verb *v, bool all_flags)
{
    char name[64], title[256];
    tool_colours("never"); /* a help text may begin a line with "differs" */
    tool_typed(v, name, sizeof name);
    snprintf(title, sizeof title, "takt %s - %s", name, v->summary);
    paragraphs(title);
    printf("\nusage: takt %s [flags]%s%s\n", name, v->arguments[0] != '\0' ? " " : "",
           v->arguments);
    if (v->about != NULL) {
        printf("\n");
        paragraphs(v->about);
    }
    if (v->often != NULL && !all_flags) {
        often(v, name);
    } else {
        printf("\nflags:\n");
        all_of(v->flags);
        flags_of(tool_common_flags);
    }
    example(v->example);
}

static const char *const headings[] = {
#define HEADING(id, heading) heading,
    TAKT_TASKS(HEADING)
#undef HEADING
};

static void begin_overview(void)
{
    char title[128];
    snprintf(title, sizeof title,
             "takt %s - a neural-network engine: models in, plans out, the same bits",
             takt_version());
    summary(title, 0);
    printf("\nusage: takt VERB [flags] [arguments]\n\n");
}

static void print_verb(const takt_verb *v)
{
    char name[64];
    printf("  %-18s ", tool_typed(v, name, sizeof name));
    summary(v->summary, 21);
}

/* The names of a task's other verbs; of `benchmark run` and its like only `benchmark WORD`. */
static void name_others(takt_task task, char *to, size_t size)
{
    const char *before = "", *group = "";
    size_t used = 0;
    for (size_t i = 0; i < tool_verb_count; i++) {
        const takt_verb *v = tool_verbs[i];
        const size_t length = strcspn(v->name, "-");
        const bool is_of_group = v->name[length] == '-';
        if (v->task != task || v->is_main || used + length + 16 > size ||
            (is_of_group && strncmp(group, v->name, length + 1) == 0))
            continue;
        used += (size_t)snprintf(to + used, size - used, "%s%.*s%s", before, (int)length, v->name,
                                 is_of_group ? " WORD" : "");
        group = is_of_group ? v->name : group;
        before = ", ";
    }
}

void tool_help_overview(void)
{
    begin_overview();
    for (size_t task = 0; task < sizeof headings / sizeof *headings; task++) {
        char others[256] = "";
        name_others((takt_task)task, others, sizeof others);
        if (task == TAKT_TASK_COMMAND) {
            printf("%s: %s\n\n", headings[task], others);
            continue;
        }
        printf("%s:\n", headings[task]);
        for (size_t i = 0; i < tool_verb_count; i++)
            if (tool_verbs[i]->task == (takt_task)task && tool_verbs[i]->is_main)
                print_verb(tool_verbs[i]);
        printf("  %-18s ", "also");
        summary(others, 21);
    }
    summary("`takt help all` lists every verb; `takt VERB --help` shows a verb's flags.", 0);
    paragraphs(exits);
}

void tool_help_all(void)
{
    begin_overview();
    for (size_t task = 0; task < sizeof headings / sizeof *headings; task++) {
        printf("%s:\n", headings[task]);
        for (size_t i = 0; i < tool_verb_count; i++) {
            if (tool_verbs[i]->task == (takt_task)task)
                print_verb(tool_verbs[i]);
        }
        printf("\n");
    }
    paragraphs("`takt VERB --help` shows a verb's flags. Every flag can also be given in the\n"
               "environment (--memory-limit as TAKT_MEMORY_LIMIT) or in a file (--config).");
    paragraphs(exits);
}

static void member(const char *key, const char *value, const char *before)
{
    printf("%s\"%s\": ", before, key);
    tool_print_string(stdout, value);
}

static void flags_json(const takt_verb *v)
{
    static const char *const kinds[] = {
        [TAKT_FLAG_SWITCH] = "switch", [TAKT_FLAG_TEXT] = "text",
        [TAKT_FLAG_LIST] = "list",     [TAKT_FLAG_READ] = "text",
        [TAKT_FLAG_READS] = "list",    [TAKT_FLAG_WRITE] = "text",
        [TAKT_FLAG_WRITES] = "list",   [TAKT_FLAG_MAYBE_WRITE] = "switch",
        [TAKT_FLAG_COUNT] = "count",   [TAKT_FLAG_NUMBER] = "number",
        [TAKT_FLAG_BYTES] = "bytes",   [TAKT_FLAG_TIME] = "time",
        [TAKT_FLAG_LEVEL] = "level"};
    const char *before = "";
    for (int id = 0; id < TAKT_FLAG_IDS; id++) {
        const tool_flag *f = &tool_flags[id];
        const char letter[2] = {f->letter, '\0'};
        if (!tool_verb_takes(v, (tool_flag_id)id))
            continue;
        printf("%s\n    {", before);
        member("name", f->name, "");
        if (f->letter != 0)
            member("letter", letter, ", ");
        member("kind", kinds[f->kind], ", ");
        if (tool_flag_reads((tool_flag_id)id) || tool_flag_writes((tool_flag_id)id))
            member("file", tool_flag_reads((tool_flag_id)id) ? "read" : "written", ", ");
        member("argument", f->argument, ", ");
        member("summary", f->summary, ", ");
        printf("}");
        before = ",";
    }
}

void tool_help_json(const takt_verb *only)
{
    const char *before = "";
    char name[64];
    printf("{\"version\": \"%s\", \"verbs\": [", takt_version());
    for (size_t i = 0; i < tool_verb_count; i++) {
        const takt_verb *v = tool_verbs[i];
        if (only != NULL && v != only)
            continue;
        printf("%s\n  {", before);
        member("name", tool_typed(v, name, sizeof name), "");
        member("summary", v->summary, ", ");
        member("arguments", v->arguments, ", ");
        member("example", v->example, ", ");
        printf(", \"flags\": [");
        flags_json(v);
        printf("]}");
        before = ",";
    }
    printf("]}\n");
}

bool tool_help_group(const char *group)
{
    const size_t length = strlen(group);
    bool found = false;
    for (size_t i = 0; i < tool_verb_count; i++) {
        const takt_verb *v = tool_verbs[i];
        if (strncmp(v->name, group, length) != 0 || v->name[length] != '-')
            continue;
        if (!found)
            printf("usage: takt %s WORD [flags] [arguments]\n\n", group);
        found = true;
        printf("  %s %-11s ", group, v->name + length + 1);
        summary(v->summary, length + 15);
    }
    if (found) {
        printf("\n`takt %s WORD --help` shows the flags of one.\n", group);
        paragraphs(exits);
    }
    return found;
}

/* ---- the manual page ---- */

/* Hyphens and leading points mean something to troff. */
static void roff(const char *text)
{
    for (bool starts = true; *text != '\0'; text++) {
        if (starts && (*text == '.' || *text == '\''))
            printf("\\&");
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text);
        starts = *text == '\n';
    }
}

static void man_flag(tool_flag_id id)
{
    const tool_flag *f = &tool_flags[id];
    printf(".TP\n\\fB");
    if (f->letter != 0)
        printf("\\-%c\\fR, \\fB", f->letter);
    printf("\\-\\-");
    roff(f->name);
    printf("\\fR");
    if (f->argument[0] != '\0') {
        printf(" \\fI");
        roff(f->argument);
        printf("\\fR");
    }
    printf("\n");
    roff(f->summary);
    printf("\n");
}

static void man_verb(const takt_verb *v)
{
    printf(".SS takt ");
    roff(v->name);
    printf(" [flags] ");
    roff(v->arguments);
    printf("\n");
    roff(v->summary);
    printf(".\n");
    if (v->about != NULL) {
        printf(".PP\n");
        roff(v->about);
        printf("\n");
    }
    for (const tool_flag_id *id = v->flags; *id != TAKT_FLAG_IDS; id++) {
        man_flag(*id);
        if (tool_flag_companion(*id) != TAKT_FLAG_IDS)
            man_flag(tool_flag_companion(*id));
    }
    printf(".PP\nExample:\n.PP\n.nf\n");
    roff(v->example);
    printf("\n.fi\n");
}

void tool_help_man(void)
{
    printf(".TH TAKT 1 \"\" \"takt %s\" \"User Commands\"\n.SH NAME\ntakt \\- a neural\\-network "
           "engine\n.SH SYNOPSIS\n.B takt\n.I verb\n[flags] [arguments]\n.SH VERBS\n",
           takt_version());
    for (size_t i = 0; i < tool_verb_count; i++)
        man_verb(tool_verbs[i]);
    printf(".SH FLAGS OF ALL VERBS\n");
    for (const tool_flag_id *id = tool_common_flags; *id != TAKT_FLAG_IDS; id++)
        man_flag(*id);
    printf(
        ".SH ENVIRONMENT\nEvery flag is also read from the environment: TAKT_ and its name in "
        "capitals, hyphens as underscores. Command line goes before environment, environment "
        "before the file of \\-\\-config. TAKT_DATA is not \\-\\-data but the folder in which data "
        "sets are looked for by name. TAKT_PROGRESS is the number of seconds after which a "
        "terminal shows a bar (1).\n.SH EXIT STATUS\n");
    roff(exits);
    printf("\n");
}
