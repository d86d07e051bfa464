/* parse.c - command line, environment and configuration file, in order of precedence. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* ---- the command line ---- */

/* `word` is the flag with its dashes. */
static int unknown_flag(takt_tool *t, const char *dashed, size_t length)
{
    const size_t dashes = strspn(dashed, "-");
    const char *word = dashed + dashes;
    const char *names[TAKT_FLAG_IDS];
    size_t count = 0;
    char name[64], verb[64], hint[160];
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (tool_verb_takes(t->verb, (tool_flag_id)id))
            names[count++] = tool_flags[id].name;
    length -= dashes;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const int nearest = takt_nearest(name, names, count);
    const char *foreign = tool_foreign_hint(t, word, length);
    if (foreign != NULL)
        snprintf(hint, sizeof hint, "%s", foreign);
    else if (nearest >= 0)
        snprintf(hint, sizeof hint, "did you mean --%s?", names[nearest]);
    else
        snprintf(hint, sizeof hint, "`takt %s --help` lists its flags",
                 tool_typed(t->verb, verb, sizeof verb));
    return tool_usage_error(t, 1002, hint, "takt %s has no flag %.*s%s",
                            tool_typed(t->verb, verb, sizeof verb), (int)dashes, dashed, name);
}

static tool_flag_id find_long(const takt_verb *verb, const char *word, size_t length)
{
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (strlen(tool_flags[id].name) == length &&
            strncmp(tool_flags[id].name, word, length) == 0 &&
            tool_verb_takes(verb, (tool_flag_id)id))
            return (tool_flag_id)id;
    return TAKT_FLAG_IDS;
}

static tool_flag_id find_short(const takt_verb *verb, char letter)
{
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (tool_flags[id].letter == letter && tool_verb_takes(verb, (tool_flag_id)id))
            return (tool_flag_id)id;
    return TAKT_FLAG_IDS;
}

typedef struct words {
    int count, next;
    char **at;
} words;

static bool is_switch(tool_flag_kind kind)
{
    return kind == TAKT_FLAG_SWITCH || kind == TAKT_FLAG_MAYBE_WRITE;
}

/* A switch does not consume the next word, unless it may take a file and the word is one. */
static bool takes_next(tool_flag_kind kind, const words *w)
{
    if (w->next >= w->count || kind == TAKT_FLAG_SWITCH)
        return false;
    const char *dot = strrchr(w->at[w->next], '.');
    return kind != TAKT_FLAG_MAYBE_WRITE || (dot != NULL && strcmp(dot, ".json") == 0);
}

/* `value`: the rest of the same word, or NULL: then the next word may be used. */
static bool take(takt_tool *t, tool_flag_id id, const char *value, words *w)
{
    const tool_flag *flag = &tool_flags[id];
    char where[40];
    snprintf(where, sizeof where, "--%s", flag->name);
    if (value == NULL && takes_next(flag->kind, w))
        value = w->at[w->next++];
    if (value == NULL && is_switch(flag->kind))
        value = "true";
    if (value == NULL) {
        tool_usage_error(t, 1003, NULL, "--%s needs a value: --%s %s", flag->name, flag->name,
                         flag->argument);
        return false;
    }
    if (id == TAKT_F_MEMORY_LIMIT && strchr(value, '=') != NULL &&
        tool_verb_takes(t->verb, TAKT_F_SPACE_LIMITS))
        id = TAKT_F_SPACE_LIMITS; /* cuda=2G: of one memory */
    return tool_value_take(t, id, TAKT_FROM_FLAG, value, where);
}

static bool take_long(takt_tool *t, const char *dashed, words *w)
{
    const char *word = dashed + strspn(dashed, "-");
    const size_t length = strcspn(word, "=");
    tool_flag_id id = find_long(t->verb, word, length);
    const char *ours = id == TAKT_FLAG_IDS ? tool_alias(t, word, length) : NULL;
    if (ours != NULL) {
        fprintf(stderr, "note: here --%.*s is called --%s\n", (int)length, word, ours);
        id = find_long(t->verb, ours, strlen(ours));
    }
    if (id == TAKT_FLAG_IDS) {
        unknown_flag(t, dashed, (size_t)(word - dashed) + length);
        return false;
    }
    return take(t, id, word[length] == '=' ? word + length + 1 : NULL, w);
}

/* -jq, -O2, -i x=x.npy. */
static bool take_short(takt_tool *t, const char *word, words *w)
{
    for (; *word != '\0'; word++) {
        const tool_flag_id id = find_short(t->verb, *word);
        if (id == TAKT_FLAG_IDS) {
            char verb[64], hint[160];
            const char *foreign = tool_foreign_hint(t, word, 1);
            snprintf(hint, sizeof hint, "`takt %s --help` lists its flags",
                     tool_typed(t->verb, verb, sizeof verb));
            tool_usage_error(t, 1002, foreign != NULL ? foreign : hint, "takt %s has no flag -%c",
                             tool_typed(t->verb, verb, sizeof verb), *word);
            return false;
        }
        if (!is_switch(tool_flags[id].kind))
            return take(t, id, word[1] == '=' ? word + 2 : word[1] != '\0' ? word + 1 : NULL, w);
        if (!take(t, id, NULL, w))
            return false;
    }
    return true;
}

/* -md is --model-draft: whether the word is one of these; `*good` says whether it was accepted. */
static bool take_letters(takt_tool *t, const char *word, words *w, bool *good)
{
    const size_t length = strcspn(word, "=");
    const char *name = tool_letters(t, word, length);
    if (name != NULL)
        *good = take(t, find_long(t->verb, name, strlen(name)),
                     word[length] == '=' ? word + length + 1 : NULL, w);
    return name != NULL;
}

/* --long, or OpenVINO's -long, or llama.cpp's -ngl. */
static bool is_long(const takt_tool *t, const char *word)
{
    const size_t length = strcspn(word + 1, "=");
    return word[1] == '-' || (word[2] != '\0' && (tool_alias(t, word + 1, length) != NULL ||
                                                  tool_foreign_hint(t, word + 1, length) != NULL));
}

static bool take_words(takt_tool *t, words *w)
{
    bool only_args = false;
    while (w->next < w->count) {
        const char *word = w->at[w->next++];
        bool good = true;
        if (only_args || word[0] != '-' || word[1] == '\0') {
            t->args[t->arg_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_args = true;
        } else if (word[1] != '-' && take_letters(t, word + 1, w, &good)) {
            if (!good)
                return false;
        } else if (!(is_long(t, word) ? take_long(t, word, w) : take_short(t, word + 1, w))) {
            return false;
        }
    }
    return true;
}

/* ---- the environment ---- */

/* "--memory-limit" is TAKT_MEMORY_LIMIT. */
static void mirror(const char *flag, char to[static 48])
{
    snprintf(to, 48, "TAKT_%.40s", flag);
    for (char *at = to; *at != '\0'; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* A misspelt variable would be ignored silently. Only names that start with TAKT_ are compared; a
 * name that is far from every flag belongs to another program. */
static void note_misspelt(const takt_tool *t)
{
    extern char **environ;
    static char mirrors[TAKT_FLAG_IDS][48]; /* more than a stack frame may hold */
    const char *names[TAKT_FLAG_IDS];
    for (int id = 0; id < TAKT_FLAG_IDS; id++) {
        mirror(tool_flags[id].name, mirrors[id]);
        names[id] = mirrors[id] + 5;
    }
    for (char **at = environ; *at != NULL && !tool_on(t, TAKT_F_QUIET); at++) {
        char name[48];
        bool is_flag = strncmp(*at, "TAKT_", 5) != 0;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*at, "="), *at);
        for (int id = 0; id < TAKT_FLAG_IDS && !is_flag; id++)
            is_flag = strcmp(name, mirrors[id]) == 0;
        const int nearest = is_flag ? -1 : takt_nearest(name + 5, names, TAKT_FLAG_IDS);
        if (nearest >= 0 && names[nearest][0] == name[5])
            fprintf(stderr, "note: %s mirrors no flag; did you mean %s?\n", name, mirrors[nearest]);
    }
}

/* TAKT_DATA is the search folder for data sets, set for all verbs: taken as --data it would name a
 * data set that the user did not ask for. */
static bool has_mirror(tool_flag_id id)
{
    return !tool_flag_is_help(id) && strcmp(tool_flags[id].name, "data") != 0;
}

static bool take_environment(takt_tool *t)
{
    note_misspelt(t);
    for (int id = 0; id < TAKT_FLAG_IDS; id++) {
        char name[48];
        if (!has_mirror((tool_flag_id)id) || !tool_verb_takes(t->verb, (tool_flag_id)id))
            continue;
        mirror(tool_flags[id].name, name);
        const char *value = getenv(name);
        if (value != NULL && value[0] != '\0' &&
            !tool_value_take(t, (tool_flag_id)id, TAKT_FROM_ENVIRONMENT, value, name))
            return false;
    }
    return true;
}

/* ---- the configuration file ---- */

/* Python's spelling, batch_size, is accepted for batch-size. */
static const char *hyphened(const char *key, char to[static 64])
{
    snprintf(to, 64, "%s", key);
    for (char *at = to; *at != '\0'; at++)
        *at = *at == '_' ? '-' : *at;
    return to;
}

/* Settings are shipped with models, so they cannot choose which code runs: neither a library by its
 * path nor a program. Words that stand for system libraries are not paths. */
static bool names_code(tool_flag_id id, const char *value)
{
    return id == TAKT_F_BIN_A || id == TAKT_F_BIN_B ||
           (id == TAKT_F_BLAS && strpbrk(value, "/\\.") != NULL);
}

static takt_status refuse_code(const takt_tool *t, const char *key, const char *where)
{
    char hint[160], name[48];
    mirror(key, name);
    snprintf(hint, sizeof hint, "give it with --%s, or by %s in the environment", key, name);
    tool_usage_error(t, 1003, hint, "%s names code, which a settings file cannot do", where);
    return TAKT_ERR_CANCELLED;
}

/* A file may serve several verbs: a flag of another verb is not an error, an unknown one is. */
static takt_status take_setting(void *user, const char *given, const char *value)
{
    takt_tool *t = user;
    const char *names[TAKT_FLAG_IDS];
    char where[96], spelled[64];
    const char *key = hyphened(given, spelled);
    bool is_known = false;
    for (int id = 0; id < TAKT_FLAG_IDS; id++) {
        names[id] = tool_flags[id].name;
        if (strcmp(key, names[id]) != 0)
            continue;
        is_known = true;
        snprintf(where, sizeof where, "\"%s\" in %s", key, tool_text_of(t, TAKT_F_CONFIG));
        if (names_code((tool_flag_id)id, value))
            return refuse_code(t, key, where);
        if (id == TAKT_F_CONFIG || tool_flag_is_help((tool_flag_id)id) ||
            !tool_verb_takes(t->verb, (tool_flag_id)id))
            continue; /* verbs may have flags of one name and different kinds */
        return tool_value_take(t, (tool_flag_id)id, TAKT_FROM_CONFIG, value, where)
                   ? TAKT_OK
                   : TAKT_ERR_CANCELLED; /* and printed */
    }
    if (is_known)
        return TAKT_OK;
    const int nearest = takt_nearest(key, names, TAKT_FLAG_IDS);
    char hint[160] = "`takt help` lists verbs, `takt help VERB` their flags";
    if (nearest >= 0)
        snprintf(hint, sizeof hint, "did you mean \"%s\"?", names[nearest]);
    tool_usage_error(t, 1002, hint, "%s: there is no flag \"%s\"", tool_text_of(t, TAKT_F_CONFIG),
                     given);
    return TAKT_ERR_CANCELLED;
}

static bool take_config(takt_tool *t)
{
    const char *path = tool_text_of(t, TAKT_F_CONFIG);
    if (path == NULL)
        return true;
    const takt_status status = takt_settings_read(t->ctx, path, take_setting, t);
    if (status != TAKT_OK && status != TAKT_ERR_CANCELLED)
        tool_report_error(t, takt_last_error_info(t->ctx));
    return status == TAKT_OK;
}

bool tool_parse(takt_tool *t, int argc, char **argv, int *code)
{
    words w = {.count = argc, .at = argv};
    t->args = calloc((size_t)argc + 1, sizeof *t->args);
    *code = TAKT_EXIT_USAGE;
    return t->args != NULL && take_words(t, &w) && take_environment(t) &&
           tool_take_stdin(t, code) && take_config(t) && tool_take_stdin(t, code);
}
