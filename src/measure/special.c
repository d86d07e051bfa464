/* special.c - incomplete beta by its continued fraction; quantiles by bisection of the cdf. */
#include "measure/special.h"

#include <math.h>

/* The continued fraction of I_x(a, b), by Lentz's method; converges fast for x < (a+1)/(a+b+2). */
static double fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + even / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        d = 1 + odd * d;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = 1 + odd / c;
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return value;
}

double takt_beta_cdf(double a, double b, double x)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    const double scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return scale * fraction(a, b, x) / a;
    return 1 - scale * fraction(b, a, 1 - x) / b;
}

double takt_binomial_cdf(double k, double n, double p)
{
    if (k < 0)
        return 0;
    return k >= n ? 1 : takt_beta_cdf(n - k, k + 1, 1 - p);
}

double takt_student_cdf(double t, double freedom)
{
    const double tail = 0.5 * takt_beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t));
    return t > 0 ? 1 - tail : tail;
}

double takt_normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

typedef double cdf_fn(double x, double freedom);

static double normal(double z, double unused)
{
    (void)unused;
    return takt_normal_cdf(z);
}

/* For p < 1/2, where the cdf has its full precision: the point lies in (-2^64, 0). */
static double lower_quantile(cdf_fn *cdf, double p, double freedom)
{
    double low = -1, high = 0;
    while (cdf(low, freedom) > p && low > -0x1p64)
        low *= 2;
    for (int i = 0; i < 200 && low < high; i++) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (cdf(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static double quantile(cdf_fn *cdf, double p, double freedom)
{
    if (p == 0.5)
        return 0;
    return p < 0.5 ? lower_quantile(cdf, p, freedom) : -lower_quantile(cdf, 1 - p, freedom);
}

double takt_student_quantile(double p, double freedom)
{
    return quantile(takt_student_cdf, p, freedom);
}

double takt_normal_quantile(double p)
{
    return quantile(normal, p, 0);
}
