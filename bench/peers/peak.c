/* peak.c - runs a command and writes what it took: `peak FILE COMMAND ...`.
 *
 * Linux counts the memory of the process that calls exec as the new program's: of a program that
 * Python starts, ru_maxrss is never below Python's own. Here the caller is this small program. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status = 0;
    if (argc < 3)
        return 127;
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 127;
    FILE *file = fopen(argv[1], "w");
    if (file == NULL)
        return 127;
    fprintf(file, "%.6f %ld\n", seconds(&used.ru_utime) + seconds(&used.ru_stime), used.ru_maxrss);
    return fclose(file) == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}
