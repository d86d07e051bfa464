/* skip.c - a skipped program says so, but never hides an earlier failure. */
#include <sys/wait.h>
#include <unistd.h>

#include "../test.h"

static void child(bool fails)
{
    if (freopen("/dev/null", "w", stdout) == NULL)
        _exit(2);
    test_failures = 0;
    EXPECT(!fails);
    TEST_SKIP("for a reason");
}

static int status_of(bool fails)
{
    int status = -1;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0)
        child(fails);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

static void skips(void)
{
    EXPECT_EQ(status_of(false), TEST_EXIT_SKIPPED);
}

static void fails(void)
{
    EXPECT_EQ(status_of(true), 1);
}

TEST_MAIN(skips, fails)
