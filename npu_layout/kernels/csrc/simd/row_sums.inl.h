/* Sums of a row and of its columns, after powers.inl.h. SUM_LANES numbers are one vector of 32 bytes, or two of 16: the partial sums are
 * the same at every level. */
#define LANE_BYTES (VB < 32 ? VB : 32)
#define HALVES (8 * SUM_LANES / LANE_BYTES)
#define EACH_HALF for (int h = 0; h < HALVES; ++h)
typedef double HERE(Numbers) __attribute__((vector_size(LANE_BYTES)));
typedef int64_t HERE(Masks) __attribute__((vector_size(LANE_BYTES)));

#if VB >= 32
INLINE HERE(Numbers) HERE(singles)(const uint8_t *p) { return (HERE(Numbers))_mm256_cvtps_pd(_mm_loadu_ps((const float *)(const void *)p)); }
INLINE HERE(Numbers) HERE(least_of)(HERE(Numbers) a, HERE(Numbers) b) { return (HERE(Numbers))_mm256_min_pd((__m256d)a, (__m256d)b); }
INLINE HERE(Numbers) HERE(most_of)(HERE(Numbers) a, HERE(Numbers) b) { return (HERE(Numbers))_mm256_max_pd((__m256d)a, (__m256d)b); }
#elif defined(__SSE2__)
INLINE HERE(Numbers) HERE(singles)(const uint8_t *p) { return (HERE(Numbers))_mm_cvtps_pd((__m128)load8(p)); }
INLINE HERE(Numbers) HERE(least_of)(HERE(Numbers) a, HERE(Numbers) b) { return (HERE(Numbers))_mm_min_pd((__m128d)a, (__m128d)b); }
INLINE HERE(Numbers) HERE(most_of)(HERE(Numbers) a, HERE(Numbers) b) { return (HERE(Numbers))_mm_max_pd((__m128d)a, (__m128d)b); }
#else
INLINE HERE(Numbers) HERE(singles)(const uint8_t *p) {
    float two[2];
    memcpy(two, p, sizeof two);
    return (HERE(Numbers)){two[0], two[1]};
}
INLINE HERE(Numbers) HERE(of_both)(HERE(Masks) first, HERE(Numbers) a, HERE(Numbers) b) {
    return (HERE(Numbers))((first & (HERE(Masks))a) | (~first & (HERE(Masks))b));
}
INLINE HERE(Numbers) HERE(least_of)(HERE(Numbers) a, HERE(Numbers) b) { return HERE(of_both)(a < b, a, b); }
INLINE HERE(Numbers) HERE(most_of)(HERE(Numbers) a, HERE(Numbers) b) { return HERE(of_both)(a > b, a, b); }
#endif

INLINE HERE(Numbers) HERE(doubles_at)(const void *p) {
    HERE(Numbers) x;
    memcpy(&x, p, sizeof x);
    return x;
}
INLINE HERE(Numbers) HERE(numbers_at)(const uint8_t *p, int half, int item) {
    p += half * (LANE_BYTES / 8) * item;
    return item == 4 ? HERE(singles)(p) : HERE(doubles_at)(p);
}
#define IN_COLUMNS(k) ((k) * SUM_TILE + h * (LANE_BYTES / 8))
/* What is in the columns becomes this number and that in the columns together. */
#define IN_BOTH(k, number, together)                                                \
    do {                                                                            \
        const HERE(Numbers) number_ = (number);                                     \
        const HERE(Numbers) column_ = together(number_, HERE(doubles_at)(columns + IN_COLUMNS(k))); \
        row[k][h] = together(number_, row[k][h]);                                   \
        memcpy(columns + IN_COLUMNS(k), &column_, sizeof column_);                  \
    } while (0)
#define SUM_OF(a, b) ((b) + (a))

/* Add SUM_LANES numbers; zeros change nothing. */
INLINE void HERE(add_numbers)(const uint8_t *device, const uint8_t *model, const uint8_t *before, double *columns,
                              HERE(Numbers) row[SUMS_BY_ROW][HALVES], int item) {
    EACH_HALF {
        const HERE(Numbers) d = HERE(numbers_at)(device, h, item), m = HERE(numbers_at)(model, h, item), e = d - m;
        IN_BOTH(0, m, SUM_OF);
        IN_BOTH(1, d, SUM_OF);
        IN_BOTH(2, m * m, SUM_OF);
        IN_BOTH(3, m * d, SUM_OF);
        IN_BOTH(4, e * e, SUM_OF);
        IN_BOTH(5, d * d, SUM_OF);
        IN_BOTH(SUMS_HIGH + 2, e * e, HERE(most_of));
        if (!before) continue;
        const HERE(Numbers) b = HERE(numbers_at)(before, h, item), of_model = m - b, of_device = d - b;
        row[SUMS_BY_COLUMN][h] += of_model * of_model;
        row[SUMS_BY_COLUMN + 1][h] += of_model * of_device;
    }
}
INLINE void HERE(take_ends)(const uint8_t *device, const uint8_t *model, double *columns, HERE(Numbers) row[SUMS_BY_ROW][HALVES], int item) {
    EACH_HALF {
        const HERE(Numbers) d = HERE(numbers_at)(device, h, item), m = HERE(numbers_at)(model, h, item);
        IN_BOTH(SUMS_LOW, m, HERE(least_of));
        IN_BOTH(SUMS_LOW + 1, d, HERE(least_of));
        IN_BOTH(SUMS_HIGH, m, HERE(most_of));
        IN_BOTH(SUMS_HIGH + 1, d, HERE(most_of));
    }
}

/* The last numbers, less than SUM_LANES: behind them are zeros, where there are no ends, repetitions of the first number. */
INLINE void HERE(add_rest)(const uint8_t *const numbers[SUMMED_ARRAYS], int64_t n, double *columns, HERE(Numbers) row[SUMS_BY_ROW][HALVES],
                           int item, int changes) {
    uint8_t zeros[SUMMED_ARRAYS][8 * SUM_LANES] = {{0}}, repeated[2][8 * SUM_LANES];
    for (int k = 0; k < 2 + changes; ++k) memcpy(zeros[k], numbers[k], (size_t)(n * item));
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < SUM_LANES; ++i) memcpy(repeated[k] + i * item, numbers[k] + (i < n ? i * item : 0), (size_t)item);
    HERE(add_numbers)(zeros[OF_DEVICE], zeros[OF_MODEL], changes ? zeros[OF_BEFORE] : NULL, columns, row, item);
    HERE(take_ends)(repeated[OF_DEVICE], repeated[OF_MODEL], columns, row, item);
}

INLINE void HERE(row_sums)(const uint8_t *const numbers[SUMMED_ARRAYS], int64_t n, double *columns, double *found, int item, int changes) {
    const uint8_t *const device = numbers[OF_DEVICE], *const model = numbers[OF_MODEL], *const before = numbers[OF_BEFORE];
    HERE(Numbers) row[SUMS_BY_ROW][HALVES] = {{{0}}};
    const HERE(Numbers) zero = {0};
    EACH_HALF row[SUMS_LOW][h] = row[SUMS_LOW + 1][h] = zero + INFINITY, row[SUMS_HIGH][h] = row[SUMS_HIGH + 1][h] = zero - INFINITY;
    int64_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES) {
        const int64_t at = i * item;
        HERE(add_numbers)(device + at, model + at, changes ? before + at : NULL, columns + i, row, item);
        HERE(take_ends)(device + at, model + at, columns + i, row, item);
    }
    if (i < n) {
        const uint8_t *const rest[SUMMED_ARRAYS] = {device + i * item, model + i * item, changes ? before + i * item : NULL};
        HERE(add_rest)(rest, n - i, columns + i, row, item, changes);
    }
    for (int k = 0; k < SUMS_BY_ROW; ++k) {
        double x[SUM_LANES];
        memcpy(x, row[k], sizeof x);
        if (k < SUMS_LOW || k >= SUMS_BY_COLUMN) {
            found[k] = (x[0] + x[1]) + (x[2] + x[3]);
            continue;
        }
        found[k] = x[0];
        for (int l = 1; l < SUM_LANES; ++l)
            if (k < SUMS_HIGH ? x[l] < found[k] : x[l] > found[k]) found[k] = x[l];
    }
}
#define ROW_SUMS(name, item)                                                                                                     \
    static void HERE(row_sums_##name)(const uint8_t *const numbers[SUMMED_ARRAYS], int64_t n, double *columns, double *row) { \
        if (numbers[OF_BEFORE]) HERE(row_sums)(numbers, n, columns, row, item, 1);                                             \
        else HERE(row_sums)(numbers, n, columns, row, item, 0);                                                                \
    }
ROW_SUMS(f32, 4)
ROW_SUMS(f64, 8)
#undef IN_COLUMNS
#undef IN_BOTH
#undef SUM_OF
#undef EACH_HALF
#undef HALVES
#undef LANE_BYTES
