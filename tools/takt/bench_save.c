/* bench_save.c - writes a benchmark's result: once it is done, and after each of several cases. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_job.h"

void bench_keep(bench_job *j)
{
    if (j->cannot_keep || strcmp(j->path, "-") == 0 || !tool_is_plain(j->path))
        return;
    /* The error was printed; measuring continues, and the result is printed at the end if it still
     * cannot be written. */
    j->cannot_keep = bench_save(j, j->path, j->format) != TAKT_EXIT_OK;
}

int bench_save(bench_job *j, const char *path, takt_bench_format format)
{
    tool_buffer text = {0};
    char part[4096];
    const int length = snprintf(part, sizeof part, "%s.part", path);
    const bool by_name =
        strcmp(path, "-") != 0 && (size_t)length < sizeof part && tool_is_plain(path);
    const int code = tool_finish(j->t, takt_bench_write(j->bench, format, tool_to_buffer, &text));
    if (code != TAKT_EXIT_OK) {
        free(text.at);
        return code;
    }
    if (format == TAKT_BENCH_TEXT && strcmp(path, "-") == 0) {
        tool_to_screen(j->t, text.at, text.length); /* main() checks the stream's state */
        free(text.at);
        return TAKT_EXIT_OK;
    }
    if (!by_name)
        return tool_buffer_save(j->t, &text, path);
    /* Saved every second without waiting for the disk. */
    const bool is_saved = tool_write_through(&text, part) == 0 && rename(part, path) == 0;
    const int error = errno;
    free(text.at);
    if (is_saved)
        return TAKT_EXIT_OK;
    unlink(part);
    errno = error;
    return tool_cannot_write(j->t, path);
}
