/* fsync.c - test programs do not wait for the disk: nothing they write has to outlive the machine.
 *
 * Linked into each of them, it overrides the system's function. The command itself does wait. A
 * test that counts such calls, or makes them fail, sets takt_test_synced.
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
