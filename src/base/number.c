/* number.c - decimals and doubles.
 *
 * Reading: most numbers have so few digits that one multiplication by an exact power of ten rounds
 * right (Clinger). The others are held as decimal digits and shifted by powers of two until 53 bits
 * are before the point; that is slow, simple and exact, and no digit string can fool it: digits
 * beyond DIGITS only matter as "something follows".
 */
#include "base/number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    DIGITS = 800, /* 767 decide every tie */
    SHIFT = 60,   /* a digit times 2^60 and its carry fit in 64 bits */
    EXPONENT_CAP = 100000,
};

typedef struct decimal { /* 0.d0 d1 d2 ... times 10^point */
    int count, point;
    bool is_cut; /* digits other than zero were dropped */
    uint8_t digit[DIGITS];
} decimal;

/* The number as written, before any rounding. */
typedef struct scan {
    bool is_negative, is_exact;
    uint64_t mantissa; /* the first 19 significant digits */
    int digits, exponent;
} scan;

static void trim(decimal *d)
{
    while (d->count > 0 && d->digit[d->count - 1] == 0)
        d->count--;
    if (d->count == 0)
        d->point = 0;
}

static void push(decimal *d, unsigned digit)
{
    if (d->count < DIGITS)
        d->digit[d->count++] = (uint8_t)digit;
    else if (digit != 0)
        d->is_cut = true;
}

/* Divides by 2^shift, shift <= SHIFT. */
static void shift_right(decimal *d, int shift)
{
    const uint64_t mask = (UINT64_C(1) << shift) - 1;
    uint64_t rest = 0;
    int read = 0;
    for (; rest >> shift == 0; read++) {
        if (read >= d->count && rest == 0) {
            d->count = 0;
            return;
        }
        rest = rest * 10 + (read < d->count ? d->digit[read] : 0u);
    }
    d->point -= read - 1;
    const int count = d->count;
    d->count = 0;
    for (; read < count; read++) {
        push(d, (unsigned)(rest >> shift)); /* never overtakes `read` */
        rest = (rest & mask) * 10 + d->digit[read];
    }
    while (rest > 0) {
        push(d, (unsigned)(rest >> shift));
        rest = (rest & mask) * 10;
    }
    trim(d);
}

/* Multiplies by 2^shift, shift <= SHIFT. */
static void shift_left(decimal *d, int shift)
{
    uint8_t low[DIGITS + 20];
    int at = DIGITS + 20;
    uint64_t carry = 0;
    for (int i = d->count - 1; i >= 0 || carry > 0; i--) {
        carry += i >= 0 ? (uint64_t)d->digit[i] << shift : 0;
        low[--at] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    const int length = DIGITS + 20 - at;
    d->point += length - d->count;
    d->count = 0;
    for (int i = 0; i < length; i++)
        push(d, low[at + i]);
    trim(d);
}

/* The integer nearest to d, half to even; d < 2^54. */
static uint64_t to_integer(const decimal *d)
{
    uint64_t value = 0;
    for (int i = 0; i < d->point; i++)
        value = value * 10 + (i < d->count ? d->digit[i] : 0u);
    if (d->point < 0 || d->point >= d->count)
        return value;
    const bool is_tie = d->digit[d->point] == 5 && d->point + 1 == d->count && !d->is_cut;
    const bool is_up = is_tie ? (value & 1) != 0 : d->digit[d->point] >= 5;
    return value + is_up;
}

/* The power of two that scales a number of this many digits to just below 1. */
static int step_for(int digits)
{
    static const uint8_t bits[] = {1,  3,  6,  9,  13, 16, 19, 23, 26, 29,
                                   33, 36, 39, 43, 46, 49, 53, 56, 59};
    return digits < 19 ? bits[digits] : SHIFT;
}

static double slow(decimal *d)
{
    if (d->count == 0 || d->point < -330)
        return 0;
    if (d->point > 310)
        return HUGE_VAL;
    int exponent = 0; /* the number is d * 2^exponent; bring d into [1/2, 1) */
    while (d->point > 0) {
        const int n = step_for(d->point);
        shift_right(d, n);
        exponent += n;
    }
    while (d->point < 0 || (d->point == 0 && d->digit[0] < 5)) {
        const int n = d->point == 0 ? 1 : step_for(-d->point);
        shift_left(d, n);
        exponent -= n;
    }
    int bits = 53;
    if (exponent < -1021) /* a denormal has fewer bits */
        bits = exponent + 1074;
    if (bits < 0)
        return 0;
    if (bits > 0)
        shift_left(d, bits);
    if (exponent > 1024)
        return HUGE_VAL;
    return ldexp((double)to_integer(d), exponent - bits);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads "e-12"; a huge exponent is clamped to one that already means zero or infinity. */
static bool read_exponent(const char *text, size_t length, int *exponent)
{
    size_t i = 1;
    const bool is_negative = i < length && text[i] == '-';
    i += i < length && (text[i] == '-' || text[i] == '+');
    if (i == length)
        return false;
    int value = 0;
    for (; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        if (value < 10 * EXPONENT_CAP)
            value = value * 10 + (text[i] - '0');
    }
    *exponent = is_negative ? -value : value;
    return true;
}

/* Longer digit strings than this would let the exponent arithmetic wrap. */
static const size_t longest = 1000000000;

static bool read_digits(const char *text, size_t length, scan *s, decimal *d)
{
    bool has_digit = false, has_point = false;
    int64_t point = 0; /* digits before the point, minus leading zeros after it */
    size_t i = length > 0 && (text[0] == '-' || text[0] == '+');
    s->is_negative = i > 0 && text[0] == '-';
    for (; i < length && (is_digit(text[i]) || text[i] == '.'); i++) {
        if (text[i] == '.') {
            if (has_point)
                return false;
            has_point = true;
            continue;
        }
        has_digit = true;
        const unsigned digit = (unsigned)(text[i] - '0');
        const bool is_leading_zero = digit == 0 && d->count == 0;
        point += is_leading_zero ? -has_point : !has_point;
        if (is_leading_zero)
            continue;
        push(d, digit);
        if (s->digits < 19)
            s->mantissa = s->mantissa * 10 + digit;
        s->digits += s->digits < DIGITS;
    }
    int exponent = 0;
    if (!has_digit || (i < length && text[i] != 'e' && text[i] != 'E'))
        return false;
    if (i < length && !read_exponent(text + i, length - i, &exponent))
        return false;
    point += exponent;
    const int64_t cap = EXPONENT_CAP;
    d->point = (int)(point > cap ? cap : point < -cap ? -cap : point);
    s->exponent = d->point - s->digits;
    s->is_exact = s->digits <= 19;
    return true;
}

bool takt_number_read(const char *text, size_t length, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d;
    d.count = d.point = 0;
    d.is_cut = false;
    scan s = {0};
    if (length > longest || !read_digits(text, length, &s, &d))
        return false;
    double size;
    if (s.is_exact && s.mantissa <= UINT64_C(1) << 53 && s.exponent >= -22 && s.exponent <= 22) {
        const double m = (double)s.mantissa;
        size = s.exponent < 0 ? m / tens[-s.exponent] : m * tens[s.exponent];
    } else {
        trim(&d);
        size = slow(&d);
    }
    *value = s.is_negative ? -size : size;
    return true;
}

/* printf puts the locale's decimal point, one or more bytes, between the digits. */
static size_t mend_point(char *text)
{
    size_t to = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        const char c = text[i];
        if (is_digit(c) || c == '-' || c == '+' || c == 'e')
            text[to++] = c;
        else if (to > 0 && text[to - 1] != '.')
            text[to++] = '.';
    }
    text[to] = '\0';
    return to;
}

size_t takt_number_write(double value, char to[TAKT_NUMBER_TEXT])
{
    if (!isfinite(value)) {
        const char *name = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
        memcpy(to, name, strlen(name) + 1);
        return strlen(name);
    }
    /* Fifteen digits always survive conversion to a double and back; denormals have fewer
     * digits. */
    size_t length = 0;
    for (int digits = fabs(value) < 0x1p-1022 ? 1 : 15; digits <= 17; digits++) {
        double back;
        snprintf(to, TAKT_NUMBER_TEXT, "%.*g", digits, value);
        length = mend_point(to);
        if (takt_number_read(to, length, &back) && back == value)
            break;
    }
    return length;
}
