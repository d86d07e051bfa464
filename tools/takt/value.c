/* value.c - the values of flags: which source takes precedence, and what it means. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

bool tool_value_add(takt_tool *t, tool_flag_id id, tool_from from, const char *text)
{
    tool_value *grown = realloc(t->values, (t->value_count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    t->values = grown;
    char *copy = malloc(strlen(text) + 1);
    if (copy == NULL)
        return false;
    strcpy(copy, text);
    grown[t->value_count++] = (tool_value){.id = id, .from = from, .text = copy};
    return true;
}

void tool_free(takt_tool *t)
{
    for (size_t i = 0; i < t->value_count; i++)
        free(t->values[i].text);
    free(t->values);
    free(t->args);
    free(t->complaints);
    tool_free_context(t);
}

static bool is_true(const char *text)
{
    return strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0 ||
           strcmp(text, "on") == 0;
}

static bool is_false(const char *text)
{
    return strcmp(text, "0") == 0 || strcmp(text, "false") == 0 || strcmp(text, "no") == 0 ||
           strcmp(text, "off") == 0;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static bool is_good(tool_flag_kind kind, const char *text)
{
    uint64_t value;
    switch (kind) {
    case TAKT_FLAG_SWITCH: return is_true(text) || is_false(text);
    case TAKT_FLAG_MAYBE_WRITE: return is_true(text) || is_false(text) || ends_with(text, ".json");
    case TAKT_FLAG_TEXT:
    case TAKT_FLAG_LIST:
    case TAKT_FLAG_READ:
    case TAKT_FLAG_READS:
    case TAKT_FLAG_WRITE:
    case TAKT_FLAG_WRITES: return text[0] != '\0';
    default: return tool_read_number(kind, text, &value);
    }
}

bool tool_value_check(takt_tool *t, tool_flag_id id, const char *text, const char *where)
{
    static const char *const needs[] = {
        [TAKT_FLAG_SWITCH] = "true or false",
        [TAKT_FLAG_TEXT] = "a text",
        [TAKT_FLAG_LIST] = "a text",
        [TAKT_FLAG_READ] = "a file",
        [TAKT_FLAG_READS] = "a file",
        [TAKT_FLAG_WRITE] = "a file",
        [TAKT_FLAG_WRITES] = "a file",
        [TAKT_FLAG_MAYBE_WRITE] = "true, false or a file F.json",
        [TAKT_FLAG_COUNT] = "a number from 1",
        [TAKT_FLAG_NUMBER] = "a number from 0",
        [TAKT_FLAG_BYTES] = "a size such as 64M, 1.5GiB or 80%",
        [TAKT_FLAG_TIME] = "a time with its unit such as 5ms or 1s",
        [TAKT_FLAG_LEVEL] = "a level from 0 to 3",
    };
    const tool_flag_kind kind = tool_flags[id].kind;
    const bool good = is_good(kind, text);
    const char *hint = id == TAKT_F_TEXT_CONTEXT /* llama.cpp's 0 */
                           ? "without it the context is as trained, at most 4096 tokens"
                           : NULL;
    if (!good)
        tool_usage_error(t, 1003, hint, "%s needs %s, not \"%s\"", where, needs[kind], text);
    return good;
}

bool tool_value_take(takt_tool *t, tool_flag_id id, tool_from from, const char *text,
                     const char *where)
{
    if (id == TAKT_F_TEXT_LENGTH && (strcmp(text, "-1") == 0 || strcmp(text, "-2") == 0))
        text = "0"; /* llama.cpp: without end, and until the context is full */
    return tool_value_check(t, id, text, where) && tool_value_add(t, id, from, text);
}

/* The source that takes precedence for this flag; -1 if it is not given. */
static int winner(const takt_tool *t, tool_flag_id id)
{
    int best = -1;
    for (size_t i = 0; i < t->value_count; i++)
        if (t->values[i].id == id && (int)t->values[i].from > best)
            best = (int)t->values[i].from;
    return best;
}

bool tool_is_flag(const takt_tool *t, tool_flag_id id)
{
    return winner(t, id) == (int)TAKT_FROM_FLAG;
}

const char *tool_text_of(const takt_tool *t, tool_flag_id id)
{
    const int from = winner(t, id);
    for (size_t i = t->value_count; from >= 0 && i-- > 0;)
        if (t->values[i].id == id && (int)t->values[i].from == from)
            return t->values[i].text;
    return NULL;
}

bool tool_replace(takt_tool *t, tool_flag_id id, const char *text)
{
    const int from = winner(t, id);
    bool good = true;
    for (size_t i = 0; from >= 0 && i < t->value_count; i++) {
        if (t->values[i].id != id || (int)t->values[i].from != from)
            continue;
        char *copy = malloc(strlen(text) + 1);
        good = good && copy != NULL;
        if (copy == NULL)
            continue;
        free(t->values[i].text);
        t->values[i].text = strcpy(copy, text);
    }
    return good;
}

bool tool_set_list(takt_tool *t, tool_flag_id id, char *const *words, size_t count)
{
    size_t kept = 0;
    bool good = true;
    for (size_t i = 0; i < t->value_count; i++)
        if (t->values[i].id == id)
            free(t->values[i].text);
        else
            t->values[kept++] = t->values[i];
    t->value_count = kept;
    for (size_t i = 0; i < count && good; i++)
        good = tool_value_add(t, id, TAKT_FROM_FLAG, words[i]);
    return good;
}

const char *tool_item_of(const takt_tool *t, tool_flag_id id, size_t index)
{
    const int from = winner(t, id);
    for (size_t i = 0; i < t->value_count; i++)
        if (t->values[i].id == id && (int)t->values[i].from == from && index-- == 0)
            return t->values[i].text;
    return NULL;
}

bool tool_on(const takt_tool *t, tool_flag_id id)
{
    const char *text = tool_text_of(t, id);
    return text != NULL && (is_true(text) || tool_file_of(t, id, 0) != NULL);
}

const char *tool_file_in(tool_flag_id id, const char *text)
{
    const bool has_name = strstr(tool_flags[id].argument, "NAME=") != NULL;
    char name[TOOL_NAME];
    const char *file = has_name ? tool_after_name(text, '=', false, name) : NULL;
    return file != NULL ? file : text;
}

const char *tool_file_of(const takt_tool *t, tool_flag_id id, size_t index)
{
    const char *item = tool_item_of(t, id, index);
    if (item == NULL || (!tool_flag_reads(id) && !tool_flag_writes(id)))
        return NULL;
    if (tool_flags[id].kind == TAKT_FLAG_MAYBE_WRITE && (is_true(item) || is_false(item)))
        return NULL;
    return tool_file_in(id, item);
}

uint64_t tool_number_of(const takt_tool *t, tool_flag_id id, uint64_t fallback)
{
    const char *text = tool_text_of(t, id);
    uint64_t value;
    return text != NULL && tool_read_number(tool_flags[id].kind, text, &value) ? value : fallback;
}

char *tool_joined(const takt_tool *t, tool_flag_id id)
{
    size_t length = 0;
    const char *item;
    for (size_t i = 0; (item = tool_item_of(t, id, i)) != NULL; i++)
        length += strlen(item) + 1;
    char *all = length > 0 ? malloc(length) : NULL;
    if (all == NULL)
        return NULL;
    all[0] = '\0';
    for (size_t i = 0; (item = tool_item_of(t, id, i)) != NULL; i++) {
        if (i > 0)
            strcat(all, ",");
        strcat(all, item);
    }
    return all;
}

/* ---- the configuration in force ---- */

static void dump_value(FILE *to, tool_flag_id id, const char *text)
{
    uint64_t value;
    const tool_flag_kind kind = tool_flags[id].kind;
    const bool is_word = is_true(text) || is_false(text);
    if (kind == TAKT_FLAG_SWITCH || (kind == TAKT_FLAG_MAYBE_WRITE && is_word))
        fprintf(to, "%s", is_true(text) ? "true" : "false");
    else if ((kind == TAKT_FLAG_COUNT || kind == TAKT_FLAG_LEVEL) &&
             tool_read_number(kind, text, &value))
        fprintf(to, "%llu", (unsigned long long)value);
    else
        tool_print_string(to, text);
}

void tool_dump_flag(const takt_tool *t, FILE *to, tool_flag_id id, const char **before)
{
    const char *item = tool_text_of(t, id);
    if (item == NULL || id == TAKT_F_CONFIG || id == TAKT_F_DUMP_CONFIG || tool_flag_is_help(id))
        return;
    fprintf(to, "%s\n  \"%s\": ", *before, tool_flags[id].name);
    *before = ",";
    if (!tool_flag_is_list(id)) {
        dump_value(to, id, item);
        return;
    }
    fprintf(to, "[");
    for (size_t i = 0; (item = tool_item_of(t, id, i)) != NULL; i++) {
        fprintf(to, "%s", i > 0 ? ", " : "");
        dump_value(to, id, item);
    }
    fprintf(to, "]");
}

void tool_dump_config(const takt_tool *t)
{
    const char *before = "";
    FILE *to = stdout;
    fprintf(to, "{");
    if (tool_verb_takes(t->verb, TAKT_F_MODEL) && tool_text_of(t, TAKT_F_MODEL) == NULL &&
        t->arg_count > 0) {
        fprintf(to, "\n  \"model\": ");
        tool_print_string(to, t->args[0]);
        before = ",";
    }
    for (int id = 0; id < TAKT_FLAG_IDS; id++)
        if (tool_verb_takes(t->verb, (tool_flag_id)id))
            tool_dump_flag(t, to, (tool_flag_id)id, &before);
    fprintf(to, "%s}\n", before[0] == ',' ? "\n" : "");
}
