/* net.c - sockets that never block, by POSIX. */
#define _GNU_SOURCE /* accept4, pipe2 */
#include "os/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

/* ---- sockets ---- */

static int settle(int socket)
{
    const int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(socket, F_SETFD, FD_CLOEXEC) != 0)
        return errno;
    return 0;
}

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

static int read_address(const char *host, int port, address *a, socklen_t *length)
{
    memset(a, 0, sizeof *a);
    host = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons((uint16_t)port);
        *length = sizeof a->v4;
        return 0;
    }
    if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)port);
        *length = sizeof a->v6;
        return 0;
    }
    return EADDRNOTAVAIL;
}

static int bind_to(int socket, const char *host, int *port)
{
    address a;
    socklen_t length;
    const int on = 1;
    int error = read_address(host, *port, &a, &length);
    if (error != 0)
        return error;
    (void)setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    error = settle(socket);
    if (error == 0 &&
        (bind(socket, &a.any, length) != 0 || getsockname(socket, &a.any, &length) != 0))
        error = errno;
    if (error == 0)
        *port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    return error;
}

int takt_net_bind(const char *host, int *port, int *socket_out)
{
    const int s = socket(strchr(host, ':') != NULL ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (s < 0)
        return errno;
    const int error = bind_to(s, host, port);
    if (error != 0)
        close(s);
    else
        *socket_out = s;
    return error;
}

int takt_net_listen(int socket)
{
    return listen(socket, 512) == 0 ? 0 : errno;
}

int takt_net_accept(int listener, int *socket_out)
{
    const int on = 1;
    const int s = accept(listener, NULL, NULL);
    if (s < 0)
        return errno;
    const int error = settle(s);
    if (error != 0) {
        close(s);
        return error;
    }
    (void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *socket_out = s;
    return 0;
}

int takt_net_read(int socket, void *to, size_t room, size_t *done)
{
    const ssize_t n = recv(socket, to, room, 0);
    *done = n > 0 ? (size_t)n : 0;
    return n < 0 ? errno : 0;
}

int takt_net_write(int socket, const void *from, size_t count, size_t *done)
{
    const ssize_t n = send(socket, from, count, MSG_NOSIGNAL);
    *done = n > 0 ? (size_t)n : 0;
    return n < 0 ? errno : 0;
}

void takt_net_finish(int socket)
{
    (void)shutdown(socket, SHUT_WR);
}

void takt_net_close(int socket)
{
    if (socket >= 0)
        close(socket);
}

bool takt_net_would_block(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

int takt_net_pipe(int *from, int *to)
{
    int ends[2];
    if (pipe(ends) != 0)
        return errno;
    const int first = settle(ends[0]), second = settle(ends[1]);
    *from = ends[0];
    *to = ends[1];
    return first != 0 ? first : second;
}

void takt_net_wake(int to)
{
    const int before = errno;
    const char byte = 0;
    const ssize_t unused = write(to, &byte, 1); /* full: the reader is awake anyway */
    (void)unused;
    errno = before;
}

void takt_net_drain(int from)
{
    char bytes[256];
    while (read(from, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        continue;
}

/* Only open sockets are passed to poll: it refuses a list longer than the limit of open files, even
 * if entries are -1. */
int takt_net_wait(takt_net_watch *watch, size_t count, int ms)
{
    static _Thread_local struct pollfd list[TAKT_NET_WATCHED];
    size_t open = 0, at = 0;
    count = count < TAKT_NET_WATCHED ? count : TAKT_NET_WATCHED;
    for (size_t i = 0; i < count; i++) {
        const int events = (watch[i].reads ? POLLIN : 0) | (watch[i].writes ? POLLOUT : 0);
        if (watch[i].socket >= 0)
            list[open++] = (struct pollfd){.fd = watch[i].socket, .events = (short)events};
    }
    const int n = poll(list, (nfds_t)open, ms);
    for (size_t i = 0; i < count; i++) {
        const int found = watch[i].socket >= 0 ? list[at++].revents : 0, got = n > 0 ? found : 0;
        watch[i].can_read = (got & POLLIN) != 0;
        watch[i].can_write = (got & POLLOUT) != 0;
        watch[i].is_closed = (got & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    }
    return n < 0 && errno != EINTR ? errno : 0;
}

int64_t takt_os_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 ? (int64_t)now.tv_sec : 0;
}
