/* process.c - starts programs and reads their output. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void tool_command_add(tool_command *c, const char *format, ...)
{
    char word[4096];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(word, sizeof word, format, args);
    va_end(args);
    char *copy =
        length >= 0 && (size_t)length < sizeof word && c->count < TOOL_WORDS ? strdup(word) : NULL;
    if (copy == NULL)
        c->is_broken = true;
    else
        c->words[c->count++] = copy;
    c->words[c->count] = NULL;
}

void tool_command_free(tool_command *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->words[i]);
    *c = (tool_command){0};
}

const char *tool_self(char *to, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", to, size - 1);
    snprintf(to + (length > 0 ? length : 0), length > 0 ? 1 : size, "%s", length > 0 ? "" : "takt");
    return to;
}

void tool_command_again(tool_command *c, const takt_tool *t, const tool_flag_id *except)
{
    for (size_t i = 0; i < t->value_count; i++) {
        const tool_value *v = &t->values[i];
        const tool_flag_id *at = except;
        while (*at != TAKT_FLAG_IDS && *at != v->id)
            at++;
        if (*at == TAKT_FLAG_IDS && v->from == TAKT_FROM_FLAG)
            tool_command_add(c, "--%s=%s", tool_flags[v->id].name, v->text);
    }
    for (size_t i = 0; i < t->arg_count; i++)
        tool_command_add(c, "%s", t->args[i]);
}

/* ---- running ---- */

static void drain(const tool_command *c, pid_t child, const int fd[2], tool_buffer *const to[2])
{
    bool asked = c->stop == NULL;
    struct pollfd look[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
    char text[4096];
    while (look[0].fd >= 0 || look[1].fd >= 0) {
        const int ready = poll(look, 2, asked ? -1 : 200); /* a signal may come before the poll */
        if (!asked && *c->stop != 0)
            asked = kill(child, SIGTERM) == 0;
        if (ready < 0 && errno != EINTR)
            break;
        if (ready <= 0)
            continue;
        for (int i = 0; i < 2; i++) {
            if (look[i].fd < 0 || look[i].revents == 0)
                continue;
            const ssize_t length = read(look[i].fd, text, sizeof text);
            if (length > 0 && to[i] != NULL)
                tool_to_buffer(to[i], text, (size_t)length);
            else if (length == 0 || (length < 0 && errno != EINTR))
                look[i].fd = -1;
        }
    }
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Between fork and exec: only async-signal-safe calls. */
static _Noreturn void become(const tool_command *c, pid_t parent, const int out[2])
{
    if (c->stop != NULL) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
    }
    if (dup2(out[0], 1) >= 0 && dup2(out[1], 2) >= 0)
        execvp(c->words[0], c->words);
    _exit(127);
}

/* Ends of the pipes that others must not inherit; those that the child writes to are copied. */
static bool make_pipes(int pipes[2][2])
{
    return pipe2(pipes[0], O_CLOEXEC) == 0 && pipe2(pipes[1], O_CLOEXEC) == 0;
}

int tool_spawn(const tool_command *c, tool_buffer *out, tool_buffer *err)
{
    int pipes[2][2] = {{-1, -1}, {-1, -1}}, code = -1;
    if (!c->is_broken && make_pipes(pipes)) {
        const pid_t parent = getpid(), child = fork();
        if (child == 0)
            become(c, parent, (int[2]){pipes[0][1], pipes[1][1]});
        close(pipes[0][1]);
        close(pipes[1][1]);
        pipes[0][1] = pipes[1][1] = -1;
        if (child > 0) {
            drain(c, child, (int[2]){pipes[0][0], pipes[1][0]}, (tool_buffer *[2]){out, err});
            code = wait_for(child);
        }
    }
    for (int i = 0; i < 4; i++)
        if (pipes[i / 2][i % 2] >= 0)
            close(pipes[i / 2][i % 2]);
    if (out != NULL)
        tool_to_buffer(out, "", 1); /* terminated, for string searches */
    if (err != NULL)
        tool_to_buffer(err, "", 1);
    return code;
}

bool tool_temporary(const takt_tool *t, char *to, size_t size)
{
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(to, size, "%s/takt-XXXXXX", folder != NULL ? folder : "/tmp");
    const int file = length > 0 && (size_t)length < size ? mkstemp(to) : -1;
    if (file >= 0)
        close(file);
    else
        tool_usage_error(t, 1003, "set TMPDIR to a folder that can be written",
                         "no temporary file can be made");
    return file >= 0;
}
