/* screen.c - reports as the reader's screen can show them.
 *
 * On a terminal a row of a table stays one line. Files and pipes get everything in full. Where the
 * locale is not UTF-8, tables are drawn in ASCII.
 */
#define _DEFAULT_SOURCE
#include "screen.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_WIDTH = 80 };

static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = NULL;
    for (size_t i = 0; i < 3 && (value == NULL || value[0] == '\0'); i++)
        value = getenv(names[i]);
    const char *code = value != NULL ? strchr(value, '.') : NULL;
    return code != NULL &&
           (strncasecmp(code, ".utf-8", 6) == 0 || strncasecmp(code, ".utf8", 5) == 0);
}

size_t screen_room(void)
{
    struct winsize size;
    const char *said = getenv("COLUMNS");
    const long columns = said != NULL ? strtol(said, NULL, 10) : 0;
    if (!isatty(STDOUT_FILENO))
        return SIZE_MAX;
    if (columns > 0)
        return (size_t)columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return USUAL_WIDTH;
}

/* Into lines, without line ends; NULL if out of memory. */
static span *split(const char *text, size_t length, size_t *count)
{
    size_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    span *all = calloc(lines, sizeof *all);
    *count = 0;
    for (size_t i = 0; all != NULL && i < length;) {
        const char *end = memchr(text + i, '\n', length - i);
        const size_t bytes = end != NULL ? (size_t)(end - text) - i : length - i;
        all[(*count)++] = (span){text + i, bytes};
        i += bytes + 1;
    }
    return all;
}

int tool_to_screen(void *user, const char *text, size_t length)
{
    const takt_tool *t = user;
    const size_t room = screen_room();
    const bool is_ascii = !has_utf8();
    size_t count = 0;
    span *lines = tool_on(t, TAKT_F_JSON) || (room == SIZE_MAX && !is_ascii)
                      ? NULL
                      : split(text, length, &count);
    if (lines == NULL)
        return tool_to_stdout(NULL, text, length);
    for (size_t i = 0; i < count;) {
        const size_t first = i;
        while (i < count && screen_is_of_table(lines[i]))
            i++;
        screen_table(lines + first, i - first, room, is_ascii);
        if (i < count) {
            fwrite(lines[i].at, 1, lines[i].bytes, stdout);
            printf("\n");
            i++;
        }
    }
    free(lines);
    return ferror(stdout);
}
