/* serve_futex.c - a server that cannot be opened ends no futex that it has not begun. */
#include <takt/serve.h>
#include <takt/takt.h>

#include "os/futex.h"
#include "test.h"

enum { MOST = 64 };

static const takt_futex *begun[MOST]; /* NULL: ended */
static int count, strange, fails_at = -1;

int takt_futex_init(takt_futex *futex)
{
    if (count == fails_at || count == MOST) {
        fails_at = -1;
        return 12;
    }
    begun[count++] = futex;
    return 0;
}

void takt_futex_deinit(takt_futex *futex)
{
    for (int i = 0; i < count; i++)
        if (begun[i] == futex) {
            begun[i] = NULL;
            return;
        }
    strange++;
}

/* Nothing runs. */
void takt_futex_wait(takt_futex *futex, _Atomic uint32_t *word, uint32_t value)
{
    (void)futex, (void)word, (void)value;
}

void takt_futex_wake(takt_futex *futex, _Atomic uint32_t *word, int n)
{
    (void)futex, (void)word, (void)n;
}

static void refused(int port, int fails)
{
    takt_ctx *ctx;
    takt_server *server;
    const char *const models[] = {"none"};
    const takt_server_options options = {.port = port};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    fails_at = fails < 0 ? -1 : count + fails;
    EXPECT(takt_server_open(ctx, models, 0, &options, &server) != TAKT_OK, "it opens");
    takt_ctx_destroy(ctx);
    EXPECT_EQ(strange, 0);
    for (int i = 0; i < count; i++)
        EXPECT(begun[i] == NULL, "port %d, %d: futex %d is not ended", port, fails, i);
    count = strange = 0;
}

static void ends(void)
{
    refused(-1, -1); /* an option is impossible */
    refused(0, 0);
    refused(0, 1);
}

TEST_MAIN(ends)
