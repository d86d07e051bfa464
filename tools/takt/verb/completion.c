/* completion.c - completion scripts for shells, made from the table of flags. */
#include <string.h>

#include "tool.h"

static void bash_verb(const takt_verb *v)
{
    printf("    %s) words=\"", v->name);
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (tool_verb_takes(v, (tool_flag_id)id))
            printf("--%s ", tool_flags[id].name);
    printf("\" ;;\n");
}

static void bash(void)
{
    printf("# takt completion for bash: eval \"$(takt completion bash)\"\n"
           "_takt() {\n"
           "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    words=\"");
    for (size_t i = 0; i < tool_verb_count; i++)
        printf("%s ", tool_verbs[i]->name);
    printf("\"\n"
           "  elif [ \"${word#-}\" != \"$word\" ]; then\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < tool_verb_count; i++)
        bash_verb(tool_verbs[i]);
    printf("    esac\n"
           "  else\n"
           "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "    return\n"
           "  fi\n"
           "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -o filenames -F _takt takt\n");
}

/* Without what shells would take for their own. */
static void plain(const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("[]'`\":$\\", *text) == NULL)
            putchar(*text);
}

static void zsh(void)
{
    printf("#compdef takt\n"
           "# takt completion for zsh: eval \"$(takt completion zsh)\"\n"
           "_takt() {\n"
           "  if (( CURRENT == 2 )); then\n"
           "    local -a verbs=(");
    for (size_t i = 0; i < tool_verb_count; i++) {
        printf(" '%s:", tool_verbs[i]->name);
        plain(tool_verbs[i]->summary);
        printf("'");
    }
    printf(" )\n    _describe verb verbs\n    return\n  fi\n  case $words[2] in\n");
    for (size_t i = 0; i < tool_verb_count; i++) {
        printf("    %s) _arguments", tool_verbs[i]->name);
        for (int id = 0; id < TAKT_FLAG_IDS; id++) {
            if (!tool_verb_takes(tool_verbs[i], (tool_flag_id)id))
                continue;
            printf(" '--%s[", tool_flags[id].name);
            plain(tool_flags[id].summary);
            printf("]%s'", tool_flags[id].kind == TAKT_FLAG_SWITCH ? "" : ":value:_files");
        }
        printf(" '*:file:_files' ;;\n");
    }
    printf("  esac\n}\n(( $+functions[compdef] )) && compdef _takt takt\n");
}

static void fish(void)
{
    printf("# takt completion for fish: takt completion fish | source\n");
    for (size_t i = 0; i < tool_verb_count; i++) {
        printf("complete -c takt -n __fish_use_subcommand -a %s -d '", tool_verbs[i]->name);
        plain(tool_verbs[i]->summary);
        printf("'\n");
        for (int id = 0; id < TAKT_FLAG_IDS; id++) {
            if (!tool_verb_takes(tool_verbs[i], (tool_flag_id)id))
                continue;
            printf("complete -c takt -n '__fish_seen_subcommand_from %s' -l %s",
                   tool_verbs[i]->name, tool_flags[id].name);
            if (tool_flags[id].letter != 0)
                printf(" -s %c", tool_flags[id].letter);
            printf("%s -d '", tool_flags[id].kind == TAKT_FLAG_SWITCH ? "" : " -r");
            plain(tool_flags[id].summary);
            printf("'\n");
        }
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
    .summary = "a completion script for bash, zsh or fish",
    .arguments = "SHELL",
    .arg_min = 1,
    .arg_max = 1,
    .example = "eval \"$(takt completion bash)\"",
    .flags = {TAKT_FLAG_IDS},
    .run = run,
};
