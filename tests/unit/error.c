/* error.c - recording of failures, the catalogue, and the log. */
#include "base/error.h"

#include <string.h>

#include "test.h"

static takt_ctx *ctx;

static void begin(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(NULL, takt_last_error_info(ctx)->status);
    EXPECT_TEXT(takt_last_error(ctx), "");
    EXPECT_EQ(takt_last_error_info(ctx)->offset, -1);
}

static void records(void)
{
    EXPECT_STATUS(NULL, takt_fail(ctx, TAKT_E_SHAPE, "lhs is [%d,%d]", 4, 3), TAKT_ERR_SHAPE);
    const takt_error *e = takt_last_error_info(ctx);
    EXPECT_EQ(e->id, 2101);
    EXPECT_STATUS(NULL, e->status, TAKT_ERR_SHAPE);
    EXPECT(strcmp(e->message, "lhs is [4,3]") == 0, "%s", e->message);
    EXPECT_STATUS(NULL, takt_fail_hint(ctx, "transpose %s", "it"), TAKT_ERR_SHAPE);
    EXPECT_STATUS(NULL, takt_fail_node(ctx, "matmul_0"), TAKT_ERR_SHAPE);
    EXPECT_STATUS(NULL, takt_fail_offset(ctx, 17), TAKT_ERR_SHAPE);
    EXPECT_STATUS(NULL, takt_fail_place(ctx, 3, 9), TAKT_ERR_SHAPE);
    EXPECT_TEXT(e->hint, "transpose it");
    EXPECT_TEXT(e->node, "matmul_0");
    EXPECT_EQ(e->offset, 17);
    EXPECT_EQ(e->line, 3);
    EXPECT_EQ(e->column, 9);
    EXPECT_STATUS(NULL, takt_fail(ctx, TAKT_E_NAME, "no"), TAKT_ERR_NOT_FOUND);
    EXPECT(e->hint[0] == '\0' && e->node[0] == '\0', "additions belong to one failure");
    EXPECT_EQ(e->offset, -1);
    EXPECT_EQ(e->line, 0);
    EXPECT_EQ(e->column, 0);
    if (EXPECT_STATUS(NULL, takt_fail_offset(ctx, UINT64_MAX), TAKT_ERR_NOT_FOUND))
        EXPECT_EQ(e->offset, INT64_MAX);
    EXPECT_STATUS(NULL, takt_fail(NULL, TAKT_E_MEMORY, "nobody listens"), TAKT_ERR_MEMORY);
}

static void quotes_itself(void)
{
    takt_fail(ctx, TAKT_E_SHAPE, "inner");
    takt_fail(ctx, TAKT_E_NAME, "outer: %s", takt_last_error(ctx));
    EXPECT(strcmp(takt_last_error(ctx), "outer: inner") == 0, "%s", takt_last_error(ctx));
}

static void cuts_long_texts(void)
{
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 900; i + 1 < sizeof text - 1; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    for (size_t shift = 0; shift < 4; shift++) {
        takt_fail(ctx, TAKT_E_SHAPE, "%s", text + shift);
        const char *m = takt_last_error(ctx);
        const size_t length = strlen(m);
        EXPECT(length < TAKT_ERROR_TEXT && length > TAKT_ERROR_TEXT - 8, "%zu", length);
        EXPECT_TEXT(m + length - 3, "...");
        EXPECT((unsigned char)m[length - 4] == 0xA9, "a character was cut in two");
    }
    takt_fail_node(ctx, text);
    EXPECT_EQ(strlen(takt_last_error_info(ctx)->node), TAKT_ERROR_NODE - 1);
}

static void shows_no_control_codes(void)
{
    takt_fail(ctx, TAKT_E_NAME, "no input \"%s\"", "a\x1B[2Jb\x7F\rc\nd");
    EXPECT(strcmp(takt_last_error(ctx), "no input \"a?[2Jb??c\nd\"") == 0, "%s",
           takt_last_error(ctx));
}

static void own_record(void)
{
    takt_error own;
    memset(&own, 0xFF, sizeof own);
    EXPECT_STATUS(NULL, takt_error_set(&own, TAKT_E_INDEX, "index %d", 7), TAKT_ERR_RANGE);
    EXPECT_EQ(own.id, 5001);
    EXPECT_EQ(own.offset, -1);
    EXPECT_EQ(own.hint[0], '\0');
    EXPECT_TEXT(own.message, "index 7");
}

static void catalogue(void)
{
    const int *ids;
    const int count = takt_error_ids(&ids);
    EXPECT_IS(count, >, 20);
    for (int i = 0; i < count; i++) {
        const char *text = takt_error_explain(ids[i]);
        EXPECT(text != NULL && strlen(text) > 10, "%d", ids[i]);
        EXPECT(takt_error_name(ids[i]) != NULL, "%d", ids[i]);
        EXPECT(takt_error_class((takt_error_id)ids[i]) != TAKT_OK, "%d", ids[i]);
        EXPECT(ids[i] >= 1000 && ids[i] <= 9999, "%d", ids[i]);
        for (int j = 0; j < i; j++)
            EXPECT(strcmp(takt_error_name(ids[i]), takt_error_name(ids[j])) != 0, "%d", ids[i]);
    }
    EXPECT(takt_error_explain(0) == NULL && takt_error_explain(-1) == NULL);
    EXPECT(takt_error_name(1) == NULL);
    EXPECT_TEXT(takt_error_name(2101), "SHAPE");
}

static void statuses(void)
{
    EXPECT(TAKT_OK == 0 && TAKT_ERR_INTERNAL == 16, "values are stable");
    EXPECT_TEXT(takt_status_name(TAKT_ERR_SHAPE), "TAKT_ERR_SHAPE");
    EXPECT_TEXT(takt_status_sentence(TAKT_ERR_MEMORY), "an allocation failed");
    EXPECT(takt_status_name((takt_status)999) != NULL);
    EXPECT(takt_status_sentence((takt_status)999) != NULL);
}

static int lines;
static void count_line(void *user, takt_log_level level, const char *line)
{
    EXPECT(user == &lines && level == TAKT_LOG_INFO && strcmp(line, "seen 3") == 0, "%s", line);
    lines++;
}

static void logs(void)
{
    takt_log(ctx, TAKT_LOG_INFO, "nobody hears %d", 1);
    takt_log(NULL, TAKT_LOG_INFO, "nobody hears");
    const takt_config config = {.log = count_line, .log_user = &lines};
    takt_ctx *other;
    EXPECT_OK(NULL, takt_ctx_create(&config, &other));
    takt_log(other, TAKT_LOG_INFO, "seen %d", 3);
    EXPECT_EQ(lines, 1);
    takt_ctx_destroy(other);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, records, quotes_itself, cuts_long_texts, shows_no_control_codes, own_record,
          catalogue, statuses, logs, end)
