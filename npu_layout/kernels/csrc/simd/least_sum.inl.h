/* A sum that the sum of exponentials reaches, of some floats at once, after numbers.inl.h: a softmax is computed only where it can reach a
 * threshold. */
static float HERE(least_sum)(const float *p, int64_t n) {
    const F zero = {0}, least = zero + 0.26f; /* whose power is no denormal number, and too little to change a sum of 1 */
    F x, most = zero - INFINITY, sum = zero;
    for (int64_t at = 0; at < n; at += WIDTH) memcpy(&x, p + at, sizeof x), most = larger(x, most);
    float top = most[0], total = 0;
    for (int i = 1; i < WIDTH; ++i) top = most[i] > top ? most[i] : top;
    for (int64_t at = 0; at < n; at += WIDTH) {
        memcpy(&x, p + at, sizeof x);
        F power = larger(1.0f + (x - top) * 0.015625f, least);
        for (int i = 0; i < 6; ++i) power *= power;
        sum += power;
    }
    for (int i = 0; i < WIDTH; ++i) total += sum[i];
    return total;
}
