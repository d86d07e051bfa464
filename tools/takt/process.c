/* process.c - starts programs and reads what they print. */
#define _POSIX_C_SOURCE 200809L
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

static void drain(int fd[2], tool_buffer *to[2])
{
    struct pollfd look[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
    char text[4096];
    while (look[0].fd >= 0 || look[1].fd >= 0) {
        if (poll(look, 2, -1) < 0 && errno != EINTR)
            break;
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

int tool_spawn(const tool_command *c, tool_buffer *out, tool_buffer *err)
{
    int pipes[2][2] = {{-1, -1}, {-1, -1}}, code = -1;
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (c->is_broken || pipe(pipes[0]) != 0)
        return -1;
    if (pipe(pipes[1]) == 0 && posix_spawn_file_actions_init(&actions) == 0) {
        for (int i = 0; i < 2; i++) {
            fcntl(pipes[i][0], F_SETFD, FD_CLOEXEC);
            posix_spawn_file_actions_adddup2(&actions, pipes[i][1], i + 1);
            posix_spawn_file_actions_addclose(&actions, pipes[i][1]);
        }
        const bool started =
            posix_spawnp(&child, c->words[0], &actions, NULL, c->words, environ) == 0;
        posix_spawn_file_actions_destroy(&actions);
        close(pipes[0][1]);
        close(pipes[1][1]);
        pipes[0][1] = pipes[1][1] = -1;
        if (started) {
            drain((int[2]){pipes[0][0], pipes[1][0]}, (tool_buffer *[2]){out, err});
            code = wait_for(child);
        }
    }
    for (int i = 0; i < 4; i++)
        if (pipes[i / 2][i % 2] >= 0)
            close(pipes[i / 2][i % 2]);
    if (out != NULL)
        tool_to_buffer(out, "", 1); /* terminated, for those who look for words */
    if (err != NULL)
        tool_to_buffer(err, "", 1);
    return code;
}
