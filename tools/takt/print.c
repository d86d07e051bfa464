/* print.c - results to standard output, errors to standard error. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "tool.h"

int tool_to_stdout(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) != length;
}

takt_format tool_format_of(const takt_tool *t)
{
    return tool_on(t, TAKT_F_JSON) ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT;
}

/* Length in bytes of the UTF-8 character at `at`; 0 if it is not valid UTF-8, since file names can
 * hold any bytes. */
static int character(const unsigned char *at)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = at[0] < 0x80                     ? 1
                       : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                       : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                       : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                        : 0;
    unsigned code = length < 2 ? at[0] : at[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    return length < 2 ||
                   (code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff))
               ? length
               : 0;
}

void tool_print_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        const int length = character((const unsigned char *)text);
        if (length == 0) {
            fputs("\\ufffd", to);
        } else if (length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0) {
            fprintf(to, "\\u%04x", (unsigned char)text[1]);
            text++;
        } else if (length > 1) {
            fwrite(text, 1, (size_t)length, to);
            text += length - 1;
        } else if (c == '"' || c == '\\') {
            fprintf(to, "\\%c", c);
        } else if (c == '\n') {
            fputs("\\n", to);
        } else if (c < 0x20 || c == 0x7f) {
            fprintf(to, "\\u%04x", c);
        } else {
            fputc(c, to);
        }
    }
    fputc('"', to);
}

static void member(const char *key, const char *value)
{
    fprintf(stderr, ", \"%s\": ", key);
    tool_print_string(stderr, value);
}

static void error_json(const takt_tool *t, const takt_error *e)
{
    fprintf(stderr, "{\"error\": {\"id\": %d", e->id);
    member("status", takt_status_name(e->status));
    member("message", e->message);
    if (e->hint[0] != '\0')
        member("hint", e->hint);
    if (e->node[0] != '\0')
        member("node", e->node);
    if (e->line > 0)
        fprintf(stderr, ", \"line\": %d, \"column\": %d", e->line, e->column);
    if (e->offset >= 0)
        fprintf(stderr, ", \"offset\": %lld", (long long)e->offset);
    if (t->complaints != NULL)
        member("complaints", t->complaints);
    fprintf(stderr, "}}\n");
}

/* Names come from files and folders: they must not contain terminal commands. */
static void line(const char *before, const char *text)
{
    fputs(before, stderr);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        fputc((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F ? '?' : c, stderr);
    }
    fputc('\n', stderr);
}

static void error_text(const takt_error *e)
{
    fprintf(stderr, e->id != 0 ? "error[TAKT%d]" : "error", e->id);
    line(": ", e->message);
    if (e->node[0] != '\0')
        line("  node: ", e->node);
    if (e->line > 0)
        fprintf(stderr, "  line %d, column %d\n", e->line, e->column);
    char place[40];
    (void)snprintf(place, sizeof place, "at byte %lld", (long long)e->offset);
    if (e->offset >= 0 && strstr(e->message, place) == NULL)
        fprintf(stderr, "  %s\n", place);
    if (e->hint[0] != '\0')
        line("hint: ", e->hint);
}

static int exit_code(const takt_error *e)
{
    switch (e->status) {
    case TAKT_ERR_CANCELLED: return TAKT_EXIT_INTERRUPTED;
    case TAKT_ERR_DEADLINE:
    case TAKT_ERR_REQUIREMENT: return TAKT_EXIT_BUDGET;
    default: break;
    }
    if (e->id == 4002) /* the plan needs more than --memory-limit */
        return TAKT_EXIT_BUDGET;
    if (e->id == 2107 && e->line == 0) /* an op that the command line names */
        return TAKT_EXIT_USAGE;
    return e->id >= 1001 && e->id <= 1003 ? TAKT_EXIT_USAGE : TAKT_EXIT_FAILED;
}

/* Every verb opens files: the path is extracted from the one message that names it. */
static takt_error with_near_file(const takt_error *e)
{
    static const char words[] = "cannot open ";
    takt_error told = *e;
    const char *colon = strrchr(e->message, ':');
    if (e->id != 3001 || e->hint[0] != '\0' || colon == NULL ||
        strncmp(e->message, words, sizeof words - 1) != 0)
        return told;
    char path[TAKT_ERROR_TEXT];
    const char *begin = e->message + sizeof words - 1;
    snprintf(path, sizeof path, "%.*s", (int)(colon - begin), begin);
    tool_near_file(path, told.hint, sizeof told.hint);
    return told;
}

int tool_cannot_open(const takt_tool *t, const char *path)
{
    takt_error e = {.status = TAKT_ERR_IO, .id = 3001, .offset = -1};
    snprintf(e.message, sizeof e.message, "cannot open %.500s: %s", path, strerror(errno));
    return tool_report_error(t, &e);
}

int tool_output_failed(const takt_tool *t)
{
    takt_error e = {.status = TAKT_ERR_IO, .id = 3003, .offset = -1};
    const int reason = tool_output_error();
    snprintf(e.message, sizeof e.message, "cannot write standard output: %s",
             reason != 0 ? strerror(reason) : "it is full or closed");
    clearerr(stdout);
    return tool_report_error(t, &e);
}

int tool_report_error(const takt_tool *t, const takt_error *error)
{
    const takt_error told = with_near_file(error), *e = &told;
    fflush(stdout);
    if (error->status == TAKT_ERR_IO && ferror(stdout) != 0) /* the sink of a report failed */
        return tool_output_failed(t);
    if (tool_on(t, TAKT_F_JSON))
        error_json(t, e);
    else if (!t->has_complained) /* the library has printed a text's errors already */
        error_text(e);
    return exit_code(e);
}

int tool_usage_error(const takt_tool *t, int id, const char *hint, const char *format, ...)
{
    takt_error e = {
        .status = id == 1002 ? TAKT_ERR_NOT_FOUND : TAKT_ERR_ARGUMENT, .id = id, .offset = -1};
    va_list args;
    va_start(args, format);
    vsnprintf(e.message, sizeof e.message, format, args);
    va_end(args);
    if (hint != NULL)
        snprintf(e.hint, sizeof e.hint, "%s", hint);
    tool_report_error(t, &e);
    return TAKT_EXIT_USAGE;
}

int tool_finish(const takt_tool *t, takt_status status)
{
    tool_loaded(t);
    return status == TAKT_OK ? TAKT_EXIT_OK : tool_report_error(t, takt_last_error_info(t->ctx));
}
