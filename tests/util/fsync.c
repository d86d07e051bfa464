/* fsync.c - test programs do not wait for the disk: nothing they write has to outlive the machine.
 *
 * Linked into each of them, it stands before the system's. The command, which scripts test, waits.
 * A test that wants to know, or to make it fail, sets takt_test_synced.
 */
#include <fcntl.h>
#include <unistd.h>

extern int (*takt_test_synced)(int fd);
int (*takt_test_synced)(int fd);

/* As the system does, it refuses what is not an open file. */
int fsync(int fd)
{
    if (takt_test_synced != NULL && takt_test_synced(fd) != 0)
        return -1;
    return fcntl(fd, F_GETFD) == -1 ? -1 : 0;
}
