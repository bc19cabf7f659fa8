#include "masks.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WIDE __attribute__((target("avx2")))
#endif
#define INLINE static inline __attribute__((always_inline))

/* Sums of a row of cells that neighbour each other, channel after channel. */
#define NEIGHBOURS(name, type, attribute)                                                                                     \
    attribute static void name(const uint8_t *data, const int64_t *channel, int64_t count, const int16_t *c, int32_t *sum, int64_t n) { \
        int64_t k = 0;                                                                                                        \
        for (; k + 2 <= count; k += 2) {                                                                                      \
            const type *s = (const type *)data + channel[k], *t = (const type *)data + channel[k + 1];                        \
            const int32_t a = c[k], b = c[k + 1];                                                                             \
            for (int64_t x = 0; x < n; ++x) sum[x] += a * s[x] + b * t[x];                                                    \
        }                                                                                                                     \
        if (k < count) {                                                                                                      \
            const type *s = (const type *)data + channel[k];                                                                  \
            for (int64_t x = 0; x < n; ++x) sum[x] += c[k] * s[x];                                                            \
        }                                                                                                                     \
    }
/* The sum of a cell, whose channels are in runs that are 16 long. */
#define RUNS(name, type, attribute)                                                                              \
    attribute static int32_t name(const uint8_t *data, const int64_t *channel, int64_t count, const int16_t *c) { \
        int32_t sum = 0;                                                                                         \
        for (int64_t k = 0; k < count; k += 16) {                                                                \
            const type *s = (const type *)data + channel[k];                                                     \
            for (int i = 0; i < 16; ++i) sum += (int32_t)c[k + i] * (int16_t)s[i];                               \
        }                                                                                                        \
        return sum;                                                                                              \
    }
NEIGHBOURS(neighbours_i8, int8_t, )
NEIGHBOURS(neighbours_u8, uint8_t, )
RUNS(runs_i8, int8_t, )
RUNS(runs_u8, uint8_t, )

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t clamped(int64_t at, int64_t size) { return at < 0 ? 0 : at < size ? at : size - 1; }
INLINE int32_t floor_divided(int32_t a, int32_t b) { return a < 0 ? -((b - 1 - a) / b) : a / b; }

/* Sums of n cells of a row of prototypes, from `first` on. */
typedef struct {
    const Prototypes *from;
    const int16_t *c;
    int32_t shift; /* what the zero point of the prototypes subtracts */
    int beside, runs;
} Weights;

static void sums(const Weights *w, const uint8_t *row, int64_t first, int64_t n, int32_t *sum) {
    const Prototypes *from = w->from;
    const int64_t *column = from->column + first, *channel = from->channel, count = from->count;
    for (int64_t x = 0; x < n; ++x) sum[x] = w->shift;
    if (w->beside) {
        (from->is_signed ? neighbours_i8 : neighbours_u8)(row + column[0], channel, count, w->c, sum, n);
        return;
    }
    for (int64_t x = 0; x < n; ++x) {
        const uint8_t *p = row + column[x];
        if (w->runs) sum[x] += (from->is_signed ? runs_i8 : runs_u8)(p, channel, count, w->c);
        for (int64_t k = 0; !w->runs && k < count; ++k) sum[x] += w->c[k] * (from->is_signed ? (int8_t)p[channel[k]] : p[channel[k]]);
    }
}

#ifdef WIDE
enum { TOGETHER = 16 }; /* cells */
#define WIDENED(bytes) (is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes))

/* TOGETHER cells that neighbour each other: products of two channels at a time. */
WIDE INLINE void neighbours_wide(const Weights *w, const uint8_t *p, int is_signed, int32_t *sum) {
    const int64_t *channel = w->from->channel, count = w->from->count;
    __m256i low = _mm256_set1_epi32(w->shift), high = low;
    for (int64_t k = 0; k < count; k += 2) {
        const int both = k + 1 < count;
        const __m256i pair = _mm256_set1_epi32((uint16_t)w->c[k] | (int32_t)((uint32_t)(uint16_t)(both ? w->c[k + 1] : 0) << 16));
        const __m128i a = _mm_loadu_si128((const __m128i *)(p + channel[k])), b = _mm_loadu_si128((const __m128i *)(p + channel[k + both]));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(WIDENED(_mm_unpacklo_epi8(a, b)), pair));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(WIDENED(_mm_unpackhi_epi8(a, b)), pair));
    }
    _mm256_storeu_si256((__m256i *)sum, low);
    _mm256_storeu_si256((__m256i *)(sum + 8), high);
}

/* The sums of the lanes of eight vectors. */
WIDE INLINE __m256i lanes_added(const __m256i v[8]) {
    const __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
    const __m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]), _mm256_hadd_epi32(v[6], v[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

/* TOGETHER cells whose channels are in runs that are 16 long. */
WIDE INLINE void runs_wide(const Weights *w, const uint8_t *row, const int64_t *column, int is_signed, int32_t *sum) {
    for (int at = 0; at < TOGETHER; at += 8) {
        __m256i each[8];
        for (int i = 0; i < 8; ++i) each[i] = _mm256_setzero_si256();
        for (int64_t k = 0; k < w->from->count; k += 16) {
            const __m256i c = _mm256_loadu_si256((const __m256i *)(w->c + k));
            const uint8_t *p = row + w->from->channel[k];
            for (int i = 0; i < 8; ++i)
                each[i] = _mm256_add_epi32(
                    each[i], _mm256_madd_epi16(WIDENED(_mm_loadu_si128((const __m128i *)(p + column[at + i]))), c));
        }
        _mm256_storeu_si256((__m256i *)(sum + at), _mm256_add_epi32(_mm256_set1_epi32(w->shift), lanes_added(each)));
    }
}

/* TOGETHER cells. `is_signed` is a constant of each call. */
WIDE INLINE void together(const Weights *w, const uint8_t *row, int64_t first, int is_signed, int32_t *sum) {
    const int64_t *column = w->from->column + first;
    if (w->beside)
        neighbours_wide(w, row + column[0], is_signed, sum);
    else
        runs_wide(w, row, column, is_signed, sum);
}

/* The same as `sums`; the last cells of a row begin earlier, those of short rows too. */
WIDE static void sums_wide(const Weights *w, const uint8_t *row, int64_t first, int64_t n, int32_t *sum) {
    int32_t some[TOGETHER];
    const int64_t columns = w->from->columns;
    if (columns < TOGETHER || !(w->beside || w->runs)) {
        sums(w, row, first, n, sum);
        return;
    }
    for (int64_t x = 0; x < n; x += TOGETHER) {
        const int64_t from = n < TOGETHER ? smaller(first, columns - TOGETHER) : first + smaller(x, n - TOGETHER);
        int32_t *const to = n < TOGETHER ? some : sum + (from - first);
        if (w->from->is_signed) together(w, row, from, 1, to);
        else together(w, row, from, 0, to);
    }
    if (n < TOGETHER) memcpy(sum, some + (first - smaller(first, columns - TOGETHER)), (size_t)n * sizeof *sum);
}
#endif

/* Cells at once, at most: what is behind a row is computed too, and not used. */
enum { LANES = 8, FOUR = 4 };
typedef int32_t Cells4 __attribute__((vector_size(16)));
typedef int32_t Cells8 __attribute__((vector_size(4 * LANES)));

/* The pixels between n cells of two rows and the next ones, four each way: a pixel is at 1, 3, 5 or 7 eighths between the centres of two
 * cells. Pixels of a row are `pitch` bytes before those of the next. */
#define QUADS(name, Cells, attribute)                                                                                                 \
    attribute static void name(const int32_t *a, const int32_t *b, int64_t n, uint8_t *out, int64_t pitch) {                          \
        for (int64_t x = 0; x < n; x += (int64_t)sizeof(Cells) / 4) {                                                                 \
            Cells la, ra, lb, rb;                                                                                                     \
            memcpy(&la, a + x, sizeof la), memcpy(&ra, a + x + 1, sizeof ra), memcpy(&lb, b + x, sizeof lb), memcpy(&rb, b + x + 1, sizeof rb); \
            const Cells left = lb - la, right = rb - ra;                                                                              \
            Cells l = la * 8 + left, r = ra * 8 + right;                                                                              \
            for (int y = 0; y < FOUR; ++y, l += left * 2, r += right * 2) {                                                           \
                const Cells d = r - l, step = d * 2, first = l * 8 + d, second = first + step, third = second + step, last = third + step; \
                const Cells pixels = ((first > 0) & 1) | ((second > 0) & 0x100) | ((third > 0) & 0x10000) | ((last > 0) & 0x1000000);   \
                memcpy(out + y * pitch + FOUR * x, &pixels, sizeof pixels);                                                           \
            }                                                                                                                         \
        }                                                                                                                             \
    }
QUADS(quads, Cells4, )
#ifdef WIDE
QUADS(quads_wide, Cells8, WIDE)
#endif

/* Bytes of a row of quads, and cells with a copy of their ends. */
static int64_t pitch_of(const Prototypes *from) { return FOUR * (from->columns + 2 + LANES); }
/* Cells with a copy of the ends, and what is read behind them; pixels, or a line. */
int64_t mask_room(const Prototypes *from) { return from->rows * (from->columns + 2) + 2 * LANES + pitch_of(from); }

static int all_steps(const int64_t *table, int64_t n, int64_t every) {
    for (int64_t i = 1; i < n; ++i)
        if ((every ? i % every : 1) && table[i] != table[i - 1] + 1) return 0;
    return 1;
}

void mask_write(const Prototypes *from, const int16_t *c, const int32_t window[4], uint8_t *out, int32_t *work, int wide) {
    const int f = from->factor, whole = 2 * f;
    const int x0 = window[0], y0 = window[1], x1 = window[2], y1 = window[3];
    /* A pixel is between the cells floor((2 x + 1 - f) / 2 f) and the next; cells outside are those at the borders. */
    const int left = floor_divided(2 * x0 + 1 - f, whole), top = floor_divided(2 * y0 + 1 - f, whole);
    const int64_t wd = floor_divided(2 * x1 - 1 - f, whole) + 2 - left, ht = floor_divided(2 * y1 - 1 - f, whole) + 2 - top;
    const int64_t first = clamped(left, from->columns), n = clamped(left + wd - 1, from->columns) + 1 - first;
    Weights w = {from, c, 0, all_steps(from->column, from->columns, 0), 0};
    w.runs = !w.beside && from->count % 16 == 0 && all_steps(from->channel, from->count, 16);
    for (int64_t k = 0; k < from->count; ++k) w.shift -= c[k] * from->zero;
    int32_t *line = work + from->rows * (from->columns + 2) + 2 * LANES;
    void (*sums_of)(const Weights *, const uint8_t *, int64_t, int64_t, int32_t *) = sums;
    void (*quads_of)(const int32_t *, const int32_t *, int64_t, uint8_t *, int64_t) = quads;
#ifdef WIDE
    if (wide) sums_of = sums_wide, quads_of = quads_wide;
#else
    (void)wide;
#endif
    const int64_t above = clamped(top, from->rows), lines = clamped(top + ht - 1, from->rows) + 1 - above;
    for (int64_t y = 0; y < lines; ++y) {
        int32_t *sum = work + y * wd;
        sums_of(&w, from->data + from->row[above + y], first, n, sum + (first - left));
        for (int64_t x = 0; x < first - left; ++x) sum[x] = sum[first - left];
        for (int64_t x = first - left + n; x < wd; ++x) sum[x] = sum[x - 1];
    }
    memset(work + lines * wd, 0, 2 * LANES * sizeof *work);
    for (int64_t low = top; f == FOUR && low < top + ht - 1; ++low) {
        const int32_t *a = work + (clamped(low, from->rows) - above) * wd, *b = work + (clamped(low + 1, from->rows) - above) * wd;
        const int64_t pitch = pitch_of(from), begin = FOUR * low + 2;
        uint8_t *const pixels = (uint8_t *)line + (x0 - (FOUR * left + 2));
        quads_of(a, b, wd - 1, (uint8_t *)line, pitch);
        for (int64_t y = begin; y < begin + FOUR; ++y)
            if (y >= y0 && y < y1) memcpy(out + (y - y0) * (x1 - x0), pixels + (y - begin) * pitch, (size_t)(x1 - x0));
    }
    for (int y = y0; f != FOUR && y < y1; ++y, out += x1 - x0) {
        const int low = floor_divided(2 * y + 1 - f, whole), part = 2 * y + 1 - f - low * whole;
        const int32_t *a = work + (clamped(low, from->rows) - above) * wd, *b = work + (clamped(low + 1, from->rows) - above) * wd;
        for (int64_t x = 0; x < wd; ++x) line[x] = a[x] * (whole - part) + b[x] * part;
        for (int x = x0; x < x1; ++x) {
            const int at = floor_divided(2 * x + 1 - f, whole), q = 2 * x + 1 - f - at * whole;
            out[x - x0] = line[at - left] * (whole - q) + line[at - left + 1] * q > 0;
        }
    }
}
