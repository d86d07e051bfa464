/* traffic_loopback.c - TCP from this process to itself: a stream, and round trips of a byte. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "os/traffic.h"

enum { CHUNK = 1 << 18, CHUNKS = 400, TRIPS = 400, SECONDS = 5 };

typedef struct peer {
    int fd;
    unsigned char *bytes; /* its own CHUNK */
    int error;
} peer;

/* Two connected sockets, both with a timeout. */
static int connect_pair(int *client, int *server)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const struct timeval limit = {.tv_sec = SECONDS};
    const int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    *client = *server = -1;
    if (listener < 0)
        return errno;
    int error = bind(listener, (struct sockaddr *)&at, size) != 0 || listen(listener, 1) != 0 ||
                        getsockname(listener, (struct sockaddr *)&at, &size) != 0
                    ? errno
                    : 0;
    *client = error == 0 ? socket(AF_INET, SOCK_STREAM, 0) : -1;
    if (error == 0 && (*client < 0 || connect(*client, (struct sockaddr *)&at, size) != 0))
        error = errno;
    *server = error == 0 ? accept(listener, NULL, NULL) : -1;
    if (error == 0 && *server < 0)
        error = errno;
    close(listener);
    const int both[] = {*client, *server};
    for (int i = 0; i < 2 && error == 0; i++) {
        setsockopt(both[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(both[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(both[i], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    return error;
}

static int move_all(peer *p, size_t count, bool out)
{
    for (size_t done = 0; done < count;) {
        const ssize_t some = out ? send(p->fd, p->bytes + done, count - done, MSG_NOSIGNAL)
                                 : recv(p->fd, p->bytes + done, count - done, 0);
        if (some == 0)
            return ECONNRESET;
        if (some < 0 && errno != EINTR)
            return errno;
        done += some > 0 ? (size_t)some : 0;
    }
    return 0;
}

/* The far side: discards the stream, acknowledges it, and echoes every further byte. */
static void far_side(void *arg)
{
    peer *p = arg;
    for (int i = 0; i < CHUNKS && p->error == 0; i++)
        p->error = move_all(p, CHUNK, false);
    for (int i = 0; i < TRIPS + 1 && p->error == 0; i++) {
        p->error = move_all(p, 1, true);
        if (p->error == 0 && i < TRIPS)
            p->error = move_all(p, 1, false);
    }
}

static double micros_since(const takt_ctx *ctx, uint64_t start)
{
    return (double)(ctx->now_ns(ctx->clock_user) - start) * 1e-3;
}

static int near_side(takt_ctx *ctx, peer *p, takt_loopback_rates *r)
{
    uint64_t start = ctx->now_ns(ctx->clock_user);
    int error = 0;
    for (int i = 0; i < CHUNKS && error == 0; i++)
        error = move_all(p, CHUNK, true);
    error = error != 0 ? error : move_all(p, 1, false); /* the far side has received it all */
    r->mbs = (double)CHUNKS * CHUNK / micros_since(ctx, start);
    start = ctx->now_ns(ctx->clock_user);
    for (int i = 0; i < TRIPS && error == 0; i++) {
        error = move_all(p, 1, true);
        error = error != 0 ? error : move_all(p, 1, false);
    }
    r->round_trip_us = micros_since(ctx, start) / TRIPS;
    return error;
}

int takt_loopback_measure(takt_ctx *ctx, takt_loopback_rates *r)
{
    void *bytes, *thread;
    int client, server;
    *r = (takt_loopback_rates){0};
    if (takt_mem_zero(ctx, 2, CHUNK, "the network measurement", &bytes) != TAKT_OK)
        return ENOMEM;
    peer near_peer = {.bytes = bytes}, far_peer = {.bytes = near_peer.bytes + CHUNK};
    int error = connect_pair(&client, &server);
    near_peer.fd = client;
    far_peer.fd = server;
    if (error == 0) {
        error = ctx->threads.start(ctx->threads.user, far_side, &far_peer, &thread);
        if (error == 0) {
            error = near_side(ctx, &near_peer, r);
            if (error != 0)
                shutdown(client, SHUT_RDWR);
            ctx->threads.join(ctx->threads.user, thread);
        }
    }
    if (client >= 0)
        close(client);
    if (server >= 0)
        close(server);
    takt_mem_put(ctx, bytes, 2 * CHUNK);
    return error;
}
