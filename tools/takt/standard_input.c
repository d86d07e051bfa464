/* standard_input.c - "-" in place of a file that is read: a model, an array or a result that comes
 * through a pipe.
 *
 * Readers go back and forth in a file and open it more than once, and further processes of a
 * benchmark open it again. So piped data is stored in an unnamed file that replaces standard input,
 * and takes no more memory than any file.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zoo.h"

static const char device[] = "/dev/stdin";

const char *tool_readable(const char *path)
{
    return strcmp(path, TOOL_STDIN) == 0 ? device : tool_zoo_path(path);
}

/* ---- readers of standard input ---- */

static bool is_meant(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, device) == 0;
}

static bool reads_arguments(const takt_verb *v)
{
    return tool_verb_takes(v, TAKT_F_MODEL) || tool_verb_takes(v, TAKT_F_RESULTS) ||
           strstr(v->arguments, "MODEL") != NULL;
}

static bool rename_value(tool_value *v, size_t before)
{
    char *text = malloc(before + sizeof TOOL_STDIN);
    if (text == NULL)
        return false;
    memcpy(text, v->text, before);
    memcpy(text + before, TOOL_STDIN, sizeof TOOL_STDIN);
    free(v->text);
    v->text = text;
    return true;
}

/* How often it is named; all get its name for messages. */
static bool count_uses(takt_tool *t, size_t *uses)
{
    *uses = 0;
    for (size_t i = 0; i < t->arg_count && reads_arguments(t->verb); i++) {
        if (is_meant(t->args[i]))
            t->args[i] = TOOL_STDIN;
        *uses += strcmp(t->args[i], TOOL_STDIN) == 0;
    }
    for (size_t i = 0; i < t->value_count; i++) {
        tool_value *v = &t->values[i];
        if (!tool_flag_reads(v->id))
            continue;
        const char *file = tool_file_in(v->id, v->text);
        if (is_meant(file) && !rename_value(v, (size_t)(file - v->text)))
            return false;
        *uses += strcmp(tool_file_in(v->id, v->text), TOOL_STDIN) == 0;
    }
    return true;
}

/* ---- keeping it ---- */

/* Files that can be opened again and read at any offset. */
static bool is_plain_file(void)
{
    struct stat about;
    const int again = open(device, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    const bool is_plain = again >= 0 && fstat(again, &about) == 0 && S_ISREG(about.st_mode);
    if (again >= 0)
        close(again);
    return is_plain;
}

/* A new file without a name, or -1. */
static int nameless(const char *folder)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/takt-XXXXXX", folder);
    errno = ENAMETOOLONG;
    const int file = length > 0 && (size_t)length < sizeof path ? mkstemp(path) : -1;
    if (file >= 0)
        unlink(path);
    return file;
}

static int write_all(int file, const char *from, size_t count)
{
    while (count > 0) {
        const ssize_t put = write(file, from, count);
        if (put < 0 && errno != EINTR)
            return errno;
        from += put > 0 ? put : 0;
        count -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

typedef enum trouble { FINE, UNREADABLE, UNWRITABLE, TOO_LONG, UNKNOWN } trouble;

static trouble copy_to(int file, uint64_t most)
{
    static char part[1 << 16];
    for (uint64_t total = 0; total <= most;) {
        const ssize_t got = read(STDIN_FILENO, part, sizeof part);
        if (got == 0)
            return FINE;
        if (got < 0 && errno != EINTR)
            return UNREADABLE;
        if (total == 0 && got > 0 && !tool_may_be_read(part, (size_t)got))
            return UNKNOWN;
        errno = got > 0 ? write_all(file, part, (size_t)got) : 0;
        if (errno != 0)
            return UNWRITABLE;
        total += got > 0 ? (uint64_t)got : 0;
    }
    return TOO_LONG;
}

static int refuse(const takt_tool *t, trouble what, const char *folder, uint64_t most)
{
    takt_error e = {.status = TAKT_ERR_IO, .id = 3002, .offset = -1};
    if (what == UNREADABLE) {
        snprintf(e.message, sizeof e.message, "standard input cannot be read: %s", strerror(errno));
    } else if (what == UNWRITABLE) {
        snprintf(e.message, sizeof e.message, "standard input cannot be kept in %.200s: %s", folder,
                 strerror(errno));
        snprintf(e.hint, sizeof e.hint, "set TMPDIR to a folder with room, or name a file");
    } else if (what == UNKNOWN) {
        e.status = TAKT_ERR_FORMAT;
        e.id = 3006;
        snprintf(e.message, sizeof e.message,
                 "standard input begins with bytes of no format that is read here");
    } else {
        snprintf(e.message, sizeof e.message, "standard input has more than %llu bytes",
                 (unsigned long long)most);
    }
    return tool_report_error(t, &e);
}

static int keep(const takt_tool *t)
{
    const char *variable = getenv("TMPDIR");
    const char *folder = variable != NULL && variable[0] != '\0' ? variable : "/tmp";
    const uint64_t most = takt_ctx_limits(t->ctx)->file_bytes;
    const int file = nameless(folder);
    if (file < 0)
        return refuse(t, UNWRITABLE, folder, most);
    trouble found = copy_to(file, most);
    if (found == FINE && dup2(file, STDIN_FILENO) < 0)
        found = UNREADABLE;
    const int code = found != FINE ? refuse(t, found, folder, most) : TAKT_EXIT_OK;
    close(file);
    return code;
}

static int take(takt_tool *t, size_t uses)
{
    if (uses > 1)
        return tool_usage_error(
            t, 1003, "give files by their names",
            "standard input can be read for one thing, here it is named %zu times", uses);
    if (fcntl(STDIN_FILENO, F_GETFD) < 0) /* closed, and the next file would get its number */
        return refuse(t, UNREADABLE, NULL, 0);
    if (is_plain_file())
        return TAKT_EXIT_OK;
    if (isatty(STDIN_FILENO))
        return tool_usage_error(t, 1003, "write `... | takt VERB -`, or name a file",
                                "standard input is a terminal: nothing is piped in");
    return keep(t);
}

bool tool_take_stdin(takt_tool *t, int *code)
{
    size_t uses;
    if (!count_uses(t, &uses))
        return false;
    const int found = uses > 0 && !tool_wants_help(t) ? take(t, uses) : TAKT_EXIT_OK;
    *code = found != TAKT_EXIT_OK ? found : *code;
    return found == TAKT_EXIT_OK;
}
