/* completion.c - completion scripts for shells, made from the table of flags. */
#include <string.h>

#include "tool.h"

/* ---- verbs of two words: "benchmark-run" is typed as benchmark run ---- */

/* Length of the first word of a verb that has two, else 0. */
static size_t group_length(const takt_verb *v)
{
    const char *hyphen = strchr(v->name, '-');
    return hyphen != NULL ? (size_t)(hyphen - v->name) : 0;
}

/* The list is in alphabetical order: is this the first verb of its group? */
static bool begins_group(size_t i)
{
    const size_t length = group_length(tool_verbs[i]);
    return length > 0 && (i == 0 || group_length(tool_verbs[i - 1]) != length ||
                          strncmp(tool_verbs[i - 1]->name, tool_verbs[i]->name, length) != 0);
}

static bool is_in_group_of(const takt_verb *v, const takt_verb *of)
{
    const size_t length = group_length(of);
    return group_length(v) == length && strncmp(v->name, of->name, length) == 0;
}

/* The second words of the group, each before `after`. */
static void second_words(const takt_verb *of, const char *after)
{
    for (size_t i = 0; i < tool_verb_count; i++)
        if (is_in_group_of(tool_verbs[i], of))
            printf("%s%s", tool_verbs[i]->name + group_length(of) + 1, after);
}

/* Whatever may come first. */
static void first_words(void)
{
    for (size_t i = 0; i < tool_verb_count; i++)
        if (group_length(tool_verbs[i]) == 0 || begins_group(i))
            printf("%.*s ", (int)strcspn(tool_verbs[i]->name, "-"), tool_verbs[i]->name);
}

/* ---- bash ---- */

static void bash_verb(const takt_verb *v)
{
    printf("    %s) words=\"", v->name);
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (tool_verb_takes(v, (tool_flag_id)id))
            printf("--%s ", tool_flags[id].name);
    printf("\" ;;\n");
}

/* Candidates for the second word: NAME) words="..." ;; */
static void bash_second(void)
{
    for (size_t i = 0; i < tool_verb_count; i++) {
        if (!begins_group(i))
            continue;
        printf("    %.*s) words=\"", (int)group_length(tool_verbs[i]), tool_verbs[i]->name);
        second_words(tool_verbs[i], " ");
        printf("\" ;;\n");
    }
    printf("    completion) words=\"bash zsh fish\" ;;\n    help) words=\"all ");
    first_words();
    printf("\" ;;\n");
}

static void bash(void)
{
    printf("# takt completion for bash: eval \"$(takt completion bash)\"\n"
           "_takt() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words=\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    words=\"");
    first_words();
    printf("\"\n"
           "  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"${word#-}\" = \"$word\" ]; then\n"
           "    case $verb in\n");
    bash_second();
    printf("    esac\n"
           "  elif [ \"${word#-}\" != \"$word\" ]; then\n"
           "    case $verb in\n");
    for (size_t i = 0; i < tool_verb_count; i++)
        if (begins_group(i))
            printf("    %.*s) verb=$verb-${COMP_WORDS[2]} ;;\n", (int)group_length(tool_verbs[i]),
                   tool_verbs[i]->name);
    printf("    esac\n"
           "    case $verb in\n");
    for (size_t i = 0; i < tool_verb_count; i++)
        bash_verb(tool_verbs[i]);
    printf("    esac\n"
           "  fi\n"
           "  if [ -z \"$words\" ] && [ \"${word#-}\" = \"$word\" ]; then\n"
           "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "  else\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "  fi\n"
           "}\n"
           "complete -o filenames -F _takt takt\n");
}

/* ---- zsh ---- */

/* Inside single quotes, with a backslash before each of `special`. */
static void quoted(const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            printf("'\\'");
        else if (strchr(special, *text) != NULL)
            putchar('\\');
        putchar(*text);
    }
}

/* 'name:description' of the verbs in the group of `of`, or of the first words if it is NULL. */
static void zsh_words(const takt_verb *of)
{
    for (size_t i = 0; i < tool_verb_count; i++) {
        const takt_verb *v = tool_verbs[i];
        if (of != NULL ? !is_in_group_of(v, of) : group_length(v) > 0 && !begins_group(i))
            continue;
        const bool is_group = of == NULL && group_length(v) > 0;
        printf(" '%.*s:", is_group ? (int)group_length(v) : (int)strlen(v->name),
               of != NULL ? v->name + group_length(of) + 1 : v->name);
        if (is_group)
            second_words(v, " ");
        else
            quoted(v->summary, "\\");
        printf("'");
    }
}

/* Positions for words: (( CURRENT == 3 )) after `condition`. */
static void zsh_choice(const char *condition, const takt_verb *of)
{
    printf("  if [[ $verb == %s ]]; then\n    words_of=(", condition);
    zsh_words(of);
    printf("%s )\n    (( CURRENT == 3 )) && { _describe verb words_of; return; }\n",
           of == NULL ? " 'all:every verb'" : "");
}

static void zsh_flag(tool_flag_id id, const char *dashes, const char *name)
{
    const tool_flag *f = &tool_flags[id];
    const bool is_switch = f->kind == TAKT_FLAG_SWITCH || f->kind == TAKT_FLAG_MAYBE_WRITE;
    const bool is_file = tool_flag_reads(id) || tool_flag_writes(id);
    printf(" '");
    if (tool_flag_is_list(id))
        printf("*");
    else if (f->letter != 0)
        printf("(-%c --%s)", f->letter, f->name);
    printf("%s%s%s[", dashes, name, is_switch || dashes[1] == '\0' ? "" : "=");
    quoted(f->summary, "[]:\\");
    printf("]");
    if (!is_switch) {
        printf(":");
        quoted(f->argument, "[]:\\");
        printf(":%s", !is_file                               ? " "
                      : strstr(f->argument, "NAME=") != NULL ? "{compset -P \"*=\"; _files}"
                                                             : "_files");
    }
    printf("'");
}

static void zsh_flags(const takt_verb *v)
{
    printf("    %s) _arguments", v->name);
    for (int id = 0; id < TAKT_FLAG_IDS; id++) {
        const char letter[2] = {tool_flags[id].letter, '\0'};
        if (!tool_verb_takes(v, (tool_flag_id)id))
            continue;
        if (letter[0] != '\0')
            zsh_flag((tool_flag_id)id, "-", letter);
        zsh_flag((tool_flag_id)id, "--", tool_flags[id].name);
    }
    printf(" '*:file:_files' ;;\n");
}

static void zsh(void)
{
    printf("#compdef takt\n"
           "# takt completion for zsh: eval \"$(takt completion zsh)\"\n"
           "_takt() {\n"
           "  local -a words_of\n"
           "  local verb=$words[2]\n"
           "  if (( CURRENT == 2 )); then\n"
           "    words_of=(");
    zsh_words(NULL);
    printf(" )\n    _describe verb words_of\n    return\n  fi\n");
    zsh_choice("help", NULL);
    printf("  fi\n  if [[ $verb == completion ]]; then\n"
           "    compadd bash zsh fish\n    return\n  fi\n");
    for (size_t i = 0; i < tool_verb_count; i++) {
        char group[64];
        if (!begins_group(i))
            continue;
        snprintf(group, sizeof group, "%.*s", (int)group_length(tool_verbs[i]),
                 tool_verbs[i]->name);
        zsh_choice(group, tool_verbs[i]);
        printf("    verb=$verb-$words[3]\n"
               "    shift words\n    (( CURRENT-- ))\n  fi\n");
    }
    printf("  shift words\n  (( CURRENT-- ))\n  case $verb in\n");
    for (size_t i = 0; i < tool_verb_count; i++)
        zsh_flags(tool_verbs[i]);
    printf("  esac\n}\n(( $+functions[compdef] )) && compdef _takt takt\n");
    printf("if [[ $funcstack[1] == _takt ]]; then _takt \"$@\"; fi\n"); /* autoloaded */
}

/* ---- fish ---- */

/* When a verb's flags are offered: `run` alone is not `benchmark run`. */
static void fish_seen(const takt_verb *v)
{
    const size_t length = group_length(v);
    if (length > 0) {
        printf("'__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s'",
               (int)length, v->name, v->name + length + 1);
        return;
    }
    printf("'__fish_seen_subcommand_from %s", v->name);
    for (size_t i = 0; i < tool_verb_count; i++)
        if (begins_group(i))
            printf("; and not __fish_seen_subcommand_from %.*s", (int)group_length(tool_verbs[i]),
                   tool_verbs[i]->name);
    printf("'");
}

/* Verbs; no file name can take their place (-f). */
static void fish_verb(size_t i)
{
    const takt_verb *v = tool_verbs[i];
    const size_t length = group_length(v);
    if (begins_group(i))
        printf("complete -c takt -f -n __fish_use_subcommand -a %.*s\n", (int)length, v->name);
    if (length > 0) {
        printf("complete -c takt -f -n '__fish_seen_subcommand_from %.*s; and not "
               "__fish_seen_subcommand_from ",
               (int)length, v->name);
        second_words(v, " ");
        printf("' -a %s -d '", v->name + length + 1);
    } else {
        printf("complete -c takt -f -n __fish_use_subcommand -a %s -d '", v->name);
    }
    quoted(v->summary, "\\");
    printf("'\n");
}

static void fish_flag(const takt_verb *v, tool_flag_id id)
{
    const tool_flag *f = &tool_flags[id];
    const bool is_switch = f->kind == TAKT_FLAG_SWITCH || f->kind == TAKT_FLAG_MAYBE_WRITE;
    const bool is_file = tool_flag_reads(id) || tool_flag_writes(id);
    printf("complete -c takt -n ");
    fish_seen(v);
    printf(" -l %s", f->name);
    if (f->letter != 0)
        printf(" -s %c", f->letter);
    printf("%s -d '", is_switch ? "" : is_file ? " -r" : " -x");
    quoted(f->summary, "\\");
    printf("'\n");
}

static void fish(void)
{
    printf("# takt completion for fish: takt completion fish | source\n"
           "complete -c takt -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
           "complete -c takt -f -n '__fish_seen_subcommand_from help' -a 'all ");
    first_words();
    printf("'\n");
    for (size_t i = 0; i < tool_verb_count; i++) {
        fish_verb(i);
        for (int id = 0; id < TAKT_FLAG_IDS; id++)
            if (tool_verb_takes(tool_verbs[i], (tool_flag_id)id))
                fish_flag(tool_verbs[i], (tool_flag_id)id);
    }
}

static int run(takt_tool *t)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(t->args[0], shells[i].name) != 0)
            continue;
        shells[i].print();
        return TAKT_EXIT_OK;
    }
    return tool_usage_error(t, 1003, "there are bash, zsh and fish",
                            "no completion for a shell called %s", t->args[0]);
}

const takt_verb takt_verb_completion = {
    .name = "completion",
    .task = TAKT_TASK_COMMAND,
    .summary = "print a completion script for bash, zsh or fish",
    .arguments = "SHELL",
    .arg_min = 1,
    .arg_max = 1,
    .example = "eval \"$(takt completion bash)\"",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
