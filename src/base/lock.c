/* lock.c - how a thread waits while another holds a lock. */
#include "base/lock.h"

#include <sched.h>

void takt_lock_wait(void)
{
    sched_yield();
}
