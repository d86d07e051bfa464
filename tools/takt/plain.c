/* plain.c - standard output and standard error without terminal escape sequences.
 *
 * Names, documentation and metadata come from files that others wrote. Whatever a verb prints goes
 * through one filter, which leaves line ends and tabs and replaces every other control character:
 * C0, DEL, and C1 in UTF-8. Binary results bypass it. On a terminal the same filter adds colours,
 * so that none of them comes from a file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "colour.h"
#include "tool.h"

static int output_error;

int tool_output_error(void)
{
    return output_error;
}

#if defined(__GLIBC__)

typedef struct channel {
    int file;
    bool is_open;   /* the last byte was the first of a C1 control, perhaps */
    bool is_inside; /* the last byte did not end a line */
    bool is_coloured;
} channel;

static bool put_all(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t done = write(file, bytes, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && file == STDOUT_FILENO && output_error == 0)
            output_error = errno;
        if (done <= 0)
            return false;
        bytes += done;
        length -= (size_t)done;
    }
    return true;
}

/* `to` has room for one more than `length`; returns the bytes to write now. */
static size_t filter(channel *c, const char *from, size_t length, char *to)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)from[i];
        if (c->is_open) { /* U+0080 to U+009F is C2 and 80 to 9F */
            const bool is_control = byte >= 0x80 && byte < 0xa0;
            c->is_open = false;
            to[count++] = is_control ? '?' : (char)0xc2;
            if (is_control)
                continue;
        }
        c->is_open = byte == 0xc2;
        if (!c->is_open)
            to[count++] =
                (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f ? '?' : (char)byte;
    }
    return count;
}

/* Up to the end of a line. */
static bool put_line(channel *c, const char *text, size_t length)
{
    size_t at, word;
    const char *colour = tool_colour_of(text, length, !c->is_inside, &at, &word);
    if (colour == NULL)
        return put_all(c->file, text, length);
    return put_all(c->file, text, at) && put_all(c->file, colour, strlen(colour)) &&
           put_all(c->file, text + at, word) && put_all(c->file, "\033[0m", 4) &&
           put_all(c->file, text + at + word, length - at - word);
}

static bool put_lines(channel *c, const char *text, size_t length)
{
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        const size_t line = end != NULL ? (size_t)(end - text) + 1 : length;
        if (!(c->is_coloured ? put_line(c, text, line) : put_all(c->file, text, line)))
            return false;
        c->is_inside = end == NULL;
        text += line;
        length -= line;
    }
    return true;
}

static ssize_t put(void *user, const char *bytes, size_t length)
{
    enum { PIECE = 4096 };
    channel *c = user;
    char piece[PIECE + 1];
    for (size_t at = 0; at < length; at += PIECE) {
        const size_t size = length - at < PIECE ? length - at : PIECE;
        if (!put_lines(c, piece, filter(c, bytes + at, size, piece)))
            return 0; /* what stdio treats as a failure */
    }
    return (ssize_t)length;
}

static channel out = {.file = STDOUT_FILENO}, err = {.file = STDERR_FILENO};
static FILE *raw;

static FILE *opened(channel *c, int mode)
{
    FILE *file = fopencookie(c, "w", (cookie_io_functions_t){.write = put});
    if (file != NULL)
        setvbuf(file, NULL, mode, BUFSIZ);
    return file;
}

static bool is_wanted(const channel *c, const char *when)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (when != NULL && strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return isatty(c->file) && (no == NULL || no[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void tool_colours(const char *when)
{
    out.is_coloured = is_wanted(&out, when);
    err.is_coloured = is_wanted(&err, when);
}

void tool_begin_plain(void)
{
    tool_colours(NULL);
    FILE *plain_out = opened(&out, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    FILE *plain_err = opened(&err, _IOLBF);
    raw = stdout;
    stdout = plain_out != NULL ? plain_out : stdout;
    stderr = plain_err != NULL ? plain_err : stderr;
}

#else

static FILE *raw;

void tool_colours(const char *when)
{
    (void)when; /* nowhere to add them */
}

void tool_begin_plain(void)
{
    raw = stdout;
}

#endif

int tool_to_raw(void *user, const char *bytes, size_t length)
{
    (void)user;
    FILE *to = raw != NULL ? raw : stdout;
    errno = 0;
    if (fflush(stdout) == 0 && fwrite(bytes, 1, length, to) == length && fflush(to) == 0)
        return 0;
    output_error = output_error != 0 ? output_error : errno;
    return 1;
}
