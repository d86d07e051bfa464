/* net.h - non-blocking sockets, and the primitives that two threads of a server need to
 * synchronise. */
#ifndef TAKT_OS_NET_H
#define TAKT_OS_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All return 0 or a positive errno; sockets do not block and are not inherited. */

/* Takes a numeric IPv4 or IPv6 address, or "localhost"; `*port` 0 is replaced by the one that was
 * chosen. Connections are refused until takt_net_listen. */
int takt_net_bind(const char *host, int *port, int *socket);
int takt_net_listen(int socket);
/* EAGAIN: no connection is waiting. */
int takt_net_accept(int listener, int *socket);
/* `*done` 0: the other side has closed. EAGAIN: no data yet. */
int takt_net_read(int socket, void *to, size_t room, size_t *done);
/* EAGAIN: no room. Never raises SIGPIPE. */
int takt_net_write(int socket, const void *from, size_t count, size_t *done);
/* Shuts down writing; data that the other side still sends can be read. */
void takt_net_finish(int socket);
void takt_net_close(int socket);
bool takt_net_would_block(int error); /* EAGAIN and the like: try later */

/* Two ends of a pipe: a byte written to `to` wakes the thread that waits for `from`. */
int takt_net_pipe(int *from, int *to);
void takt_net_wake(int to); /* may be called by signal handlers */
void takt_net_drain(int from);

typedef struct takt_net_watch {
    int socket; /* negative: not watched */
    bool reads, writes;
    bool can_read, can_write, is_closed; /* what happened */
} takt_net_watch;

enum { TAKT_NET_WATCHED = 4096 };
/* Waits until something happens to one of `count` sockets, or for `ms`. */
int takt_net_wait(takt_net_watch *watch, size_t count, int ms);

/* Seconds since 1970. */
int64_t takt_os_seconds(void);

#endif
