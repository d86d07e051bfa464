/* dtype.c - facts about element types, and access to single elements of packed memory. */
#include "ir/dtype.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/size.h"

enum { CLASS_F, CLASS_I, CLASS_U, CLASS_B };

typedef struct facts {
    const char *name;
    int bits;
    int class;
} facts;

static const facts list[TAKT_DTYPE_COUNT] = {
#define X(NAME, name, bits, class) {name, bits, CLASS_##class},
    TAKT_DTYPE_LIST(X)
#undef X
};

static bool is_known(takt_dtype dtype)
{
    return (unsigned)dtype < TAKT_DTYPE_COUNT;
}

static bool has_class(takt_dtype dtype, int class)
{
    return is_known(dtype) && list[dtype].class == class;
}

const char *takt_dtype_name(takt_dtype dtype)
{
    return is_known(dtype) ? list[dtype].name : NULL;
}

takt_dtype takt_dtype_find(const char *name)
{
    for (int i = 0; name != NULL && i < TAKT_DTYPE_COUNT; i++)
        if (strcmp(list[i].name, name) == 0)
            return (takt_dtype)i;
    return TAKT_DTYPE_COUNT;
}

int takt_dtype_bits(takt_dtype dtype)
{
    return is_known(dtype) ? list[dtype].bits : 0;
}

bool takt_dtype_is_float(takt_dtype dtype)
{
    return has_class(dtype, CLASS_F);
}

bool takt_dtype_is_signed(takt_dtype dtype)
{
    return has_class(dtype, CLASS_I);
}

bool takt_dtype_is_unsigned(takt_dtype dtype)
{
    return has_class(dtype, CLASS_U);
}

bool takt_dtype_is_int(takt_dtype dtype)
{
    return takt_dtype_is_signed(dtype) || takt_dtype_is_unsigned(dtype);
}

/* With 32 bits TAKT_TENSOR_MOST would be 64 KiB. */
_Static_assert(sizeof(size_t) == 8, "sizes of tensors need 64 bits");

bool takt_dtype_bytes(takt_dtype dtype, size_t count, size_t *bytes)
{
    const size_t bits = (size_t)takt_dtype_bits(dtype);
    if (bits == 0)
        return false;
    const size_t per_byte = bits < 8 ? 8 / bits : 1;
    size_t all = count / per_byte + (count % per_byte != 0);
    if (!takt_size_mul(all, bits < 8 ? 1 : bits / 8, &all) || all > TAKT_TENSOR_MOST)
        return false;
    *bytes = all;
    return true;
}

/* The bits of a narrow float. In the 8-bit formats finite values saturate. Infinity stays infinity:
 * a cast that does not saturate has produced it on purpose. */
static uint32_t narrow_bits(takt_dtype dtype, double value)
{
    const bool saturate = isfinite(value);
    switch (dtype) {
    case TAKT_F16: return takt_f16_from_f64(value);
    case TAKT_BF16: return takt_bf16_from_f64(value);
    case TAKT_F8E4M3FN: return takt_f8_from_f64(TAKT_E4M3FN, value, saturate);
    case TAKT_F8E4M3FNUZ: return takt_f8_from_f64(TAKT_E4M3FNUZ, value, saturate);
    case TAKT_F8E5M2: return takt_f8_from_f64(TAKT_E5M2, value, saturate);
    case TAKT_F8E5M2FNUZ: return takt_f8_from_f64(TAKT_E5M2FNUZ, value, saturate);
    case TAKT_F4E2M1: return takt_f4_from_f64(value);
    case TAKT_F8E8M0: return takt_f8_from_f64(TAKT_E8M0, value, saturate);
    default: return 0;
    }
}

static double narrow_value(takt_dtype dtype, uint32_t bits)
{
    switch (dtype) {
    case TAKT_F16: return takt_f16_to_f64((uint16_t)bits);
    case TAKT_BF16: return takt_bf16_to_f64((uint16_t)bits);
    case TAKT_F8E4M3FN: return takt_f8_to_f64(TAKT_E4M3FN, (uint8_t)bits);
    case TAKT_F8E4M3FNUZ: return takt_f8_to_f64(TAKT_E4M3FNUZ, (uint8_t)bits);
    case TAKT_F8E5M2: return takt_f8_to_f64(TAKT_E5M2, (uint8_t)bits);
    case TAKT_F8E5M2FNUZ: return takt_f8_to_f64(TAKT_E5M2FNUZ, (uint8_t)bits);
    case TAKT_F4E2M1: return takt_f4_to_f64((uint8_t)bits);
    case TAKT_F8E8M0: return takt_f8_to_f64(TAKT_E8M0, (uint8_t)bits);
    default: return 0;
    }
}

double takt_dtype_round(takt_dtype dtype, double value)
{
    if (dtype == TAKT_F64)
        return value;
    if (dtype == TAKT_F32)
        return (double)(float)value;
    return narrow_value(dtype, narrow_bits(dtype, value));
}

int64_t takt_dtype_wrap(takt_dtype dtype, int64_t value)
{
    if (dtype == TAKT_BOOL)
        return value != 0;
    const int bits = takt_dtype_bits(dtype);
    if (bits >= 64 || bits == 0)
        return value;
    const uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    if (takt_dtype_is_signed(dtype) && (low & sign) != 0)
        return (int64_t)low - (int64_t)(sign << 1);
    return (int64_t)low;
}

int64_t takt_dtype_from_double(takt_dtype dtype, double value)
{
    if (dtype == TAKT_BOOL)
        return value != 0;
    if (value != value)
        return 0;
    const int bits = takt_dtype_bits(dtype);
    if (takt_dtype_is_unsigned(dtype)) {
        const uint64_t top = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        if (value <= 0)
            return 0;
        return value >= (double)top ? (int64_t)top : (int64_t)(uint64_t)value;
    }
    const int64_t top = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    if (value <= (double)(-top - 1))
        return -top - 1;
    return value >= (double)top ? top : (int64_t)value;
}

double takt_dtype_to_double(takt_dtype dtype, int64_t value)
{
    return dtype == TAKT_U64 ? (double)(uint64_t)value : (double)value;
}

/* Element `index` as unsigned bits; memory need not be aligned. Sub-byte elements start at the low
 * bits of their byte. */
static uint64_t load_bits(int bits, const void *data, size_t index)
{
    const unsigned char *bytes = data;
    uint64_t word = 0;
    uint32_t half;
    uint16_t quarter;
    switch (bits) {
    case 64: memcpy(&word, bytes + 8 * index, 8); return word;
    case 32: memcpy(&half, bytes + 4 * index, 4); return half;
    case 16: memcpy(&quarter, bytes + 2 * index, 2); return quarter;
    case 8: return bytes[index];
    default: break;
    }
    const size_t per_byte = 8 / (size_t)bits;
    const unsigned shift = (unsigned)(index % per_byte) * (unsigned)bits;
    return ((unsigned)bytes[index / per_byte] >> shift) & ((1u << bits) - 1);
}

static void store_bits(int bits, void *data, size_t index, uint64_t word)
{
    unsigned char *bytes = data;
    const uint32_t half = (uint32_t)word;
    const uint16_t quarter = (uint16_t)word;
    switch (bits) {
    case 64: memcpy(bytes + 8 * index, &word, 8); return;
    case 32: memcpy(bytes + 4 * index, &half, 4); return;
    case 16: memcpy(bytes + 2 * index, &quarter, 2); return;
    case 8: bytes[index] = (unsigned char)word; return;
    default: break;
    }
    const size_t per_byte = 8 / (size_t)bits;
    const unsigned shift = (unsigned)(index % per_byte) * (unsigned)bits;
    const unsigned mask = ((1u << bits) - 1) << shift;
    unsigned char *at = &bytes[index / per_byte];
    *at = (unsigned char)((*at & ~mask) | (((unsigned)word << shift) & mask));
}

double takt_dtype_get_f(takt_dtype dtype, const void *data, size_t index)
{
    const uint64_t word = load_bits(takt_dtype_bits(dtype), data, index);
    if (dtype == TAKT_F64) {
        double value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    if (dtype == TAKT_F32) {
        const uint32_t half = (uint32_t)word;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    return narrow_value(dtype, (uint32_t)word);
}

int64_t takt_dtype_get_i(takt_dtype dtype, const void *data, size_t index)
{
    return takt_dtype_wrap(dtype, (int64_t)load_bits(takt_dtype_bits(dtype), data, index));
}

void takt_dtype_put_f(takt_dtype dtype, void *data, size_t index, double value)
{
    uint64_t word;
    if (dtype == TAKT_F64) {
        memcpy(&word, &value, sizeof word);
    } else if (dtype == TAKT_F32) {
        const float single = (float)value;
        uint32_t half;
        memcpy(&half, &single, sizeof half);
        word = half;
    } else {
        word = narrow_bits(dtype, value);
    }
    store_bits(takt_dtype_bits(dtype), data, index, word);
}

void takt_dtype_put_i(takt_dtype dtype, void *data, size_t index, int64_t value)
{
    store_bits(takt_dtype_bits(dtype), data, index, (uint64_t)takt_dtype_wrap(dtype, value));
}
