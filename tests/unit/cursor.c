/* cursor.c - bounded reading, its failures, and checked sizes. */
#include "base/cursor.h"

#include <string.h>

#include "base/size.h"
#include "test.h"

static void reads(void)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    takt_cursor c = takt_cursor_of(bytes, sizeof bytes, 100);
    EXPECT_EQ(takt_cursor_left(&c), 16);
    EXPECT_EQ(takt_cursor_offset(&c), 100);
    EXPECT_EQ(takt_cursor_u8(&c), 1);
    EXPECT_EQ(takt_cursor_u16le(&c), 0x0302);
    EXPECT_EQ(takt_cursor_u32le(&c), 0x07060504u);
    EXPECT_EQ(takt_cursor_u64le(&c), 0x0F0E0D0C0B0A0908u);
    EXPECT_EQ(takt_cursor_left(&c), 1);
    EXPECT(!c.failed);
    EXPECT(takt_cursor_u16le(&c) == 0 && c.failed, "one byte is not two");
    EXPECT(takt_cursor_offset(&c) == 115, "the place of the failure stays");
    EXPECT(takt_cursor_u8(&c) == 0 && takt_cursor_left(&c) == 0, "failures stick");
    EXPECT(!takt_cursor_skip(&c, 0) && takt_cursor_take(&c, 0) == NULL);
}

static void nothing(void)
{
    takt_cursor c = takt_cursor_of(NULL, 0, 0);
    EXPECT(takt_cursor_take(&c, 0) != NULL && !c.failed, "no bytes of none are there");
    EXPECT(takt_cursor_take(&c, 1) == NULL && c.failed);
}

static void parts(void)
{
    const uint8_t bytes[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    takt_cursor c = takt_cursor_of(bytes, sizeof bytes, 1000);
    EXPECT(takt_cursor_skip(&c, 2));
    takt_cursor s = takt_cursor_sub(&c, 3);
    EXPECT_EQ(takt_cursor_offset(&s), 1002);
    EXPECT_EQ(takt_cursor_left(&s), 3);
    EXPECT_EQ(takt_cursor_u8(&s), 2);
    EXPECT_EQ(takt_cursor_u32le(&s), 0);
    EXPECT(s.failed);
    EXPECT(!c.failed && takt_cursor_u8(&c) == 5, "a part's failure is its own");
    s = takt_cursor_sub(&c, SIZE_MAX);
    EXPECT(s.failed);
    EXPECT(c.failed);
    EXPECT_EQ(takt_cursor_left(&s), 0);
    EXPECT_EQ(takt_cursor_u8(&s), 0);
    EXPECT_EQ(takt_cursor_offset(&s), 1006);
}

static uint64_t varint(const char *bytes, size_t length, bool *failed)
{
    takt_cursor c = takt_cursor_of(bytes, length, 0);
    const uint64_t value = takt_cursor_varint(&c);
    *failed = c.failed;
    EXPECT(!c.failed || c.pos == 0, "the place is where the number begins");
    return value;
}

static void varints(void)
{
    bool failed;
    EXPECT_EQ(varint("\0", 1, &failed), 0);
    EXPECT(!failed);
    EXPECT_EQ(varint("\x7F", 1, &failed), 127);
    EXPECT(!failed);
    EXPECT_EQ(varint("\x80\x01", 2, &failed), 128);
    EXPECT(!failed);
    EXPECT_EQ(varint("\xAC\x02", 2, &failed), 300);
    EXPECT(!failed);
    EXPECT_EQ(varint("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10, &failed), UINT64_MAX);
    EXPECT(!failed);
    EXPECT_EQ(varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, &failed), 0);
    EXPECT(!failed);
    EXPECT_EQ(varint("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 10, &failed), 0);
    EXPECT(failed);
    EXPECT_EQ(varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, &failed), 0);
    EXPECT(failed);
    EXPECT_EQ(varint("\x80", 1, &failed), 0);
    EXPECT(failed);
    EXPECT_EQ(varint("", 0, &failed), 0);
    EXPECT(failed);
}

static void sizes(void)
{
    size_t r = 7;
    int64_t i = 7;
    EXPECT(takt_size_add(2, 3, &r) && r == 5 && takt_size_mul(4, 5, &r) && r == 20);
    EXPECT(!takt_size_add(SIZE_MAX, 1, &r) && !takt_size_mul(SIZE_MAX / 2, 3, &r) && r == 20);
    EXPECT(takt_size_align(65, 64, &r) && r == 128 && takt_size_align(0, 64, &r) && r == 0);
    EXPECT_EQ(takt_round_up(65, 64), 128);
    EXPECT_EQ(takt_round_up(64, 64), 64);
    EXPECT_EQ(takt_round_up(0, 16), 0);
    EXPECT_EQ(takt_round_up(SIZE_MAX, 64), SIZE_MAX - 63);
    EXPECT_EQ(/* never a small value */
              takt_round_up(SIZE_MAX - 62, 64), SIZE_MAX - 63);
    EXPECT(!takt_size_align(SIZE_MAX - 5, 64, &r) && r == 0);
    EXPECT(takt_i64_add(-5, 3, &i) && i == -2 && !takt_i64_add(INT64_MAX, 1, &i));
    EXPECT(takt_i64_mul(-5, 3, &i) && i == -15 && !takt_i64_mul(INT64_MIN, -1, &i) && i == -15);
    EXPECT(takt_size_from_i64(9, &r) && r == 9 && !takt_size_from_i64(-1, &r) && r == 9);
}

TEST_MAIN(reads, nothing, parts, varints, sizes)
