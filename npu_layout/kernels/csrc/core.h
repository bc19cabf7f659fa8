/* What the binding and the loops agree on. Nothing here knows Python. */
#ifndef NPU_LAYOUT_CORE_H
#define NPU_LAYOUT_CORE_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_LOOPS = 16, MAX_TILE = 16384, STRIP = 1024 };

/* Whether a result is stored past the caches, which it would leave again anyway: without reading each line before it is
 * written. `touched`: the bytes that are read and written, at most; `shared`: by several threads. */
int past_caches(int64_t touched, int shared);
/* What the last cache of this machine holds. */
void set_last_cache(int64_t bytes);

/* n elements; steps in bytes of source and destination, in elements of the parameters. */
typedef struct {
    int64_t n, s, d, p;
} Loop;

/* Nested loops, outermost first, and where they start. */
typedef struct {
    int count;
    Loop loops[MAX_LOOPS];
    int64_t src, dst, param;
} Box;

static inline int64_t size_of(int64_t x) { return x < 0 ? -x : x; }
static inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* Of rows so far apart, how many begin in one set of L1: all where that is a multiple of PAGE, or nearly, half of them where
 * it is half a page more, and otherwise too few to matter. CROWD: so many drive each other out. */
enum { PAGE = 4096, CROWD = 16 };
static inline int64_t in_one_set(int64_t rows, int64_t distance) {
    const int64_t apart = size_of(distance), offset = (apart + 8) & (PAGE - 16);
    return apart < PAGE / 2 - 8 ? 0 : offset == 0 ? rows : offset == PAGE / 2 ? rows / 2 : 0;
}

/* Channels that there are loops for. */
static inline int few(int64_t n) { return n <= 4 || n == 8; }

/* Put a loop of more than one element where its step in the destination belongs, the largest first. */
void box_add(Box *box, Loop k);
/* The last loop of these steps (0: any step), or -1. */
int box_find(const Box *box, int64_t s, int64_t d);
/* Let a loop begin at its end. */
void box_flip(Box *box, Loop *k);
/* Put loop i at the end, the rest in their order; the end. */
int box_last(Box *box, int i);

/* Call `body` with the offsets of every index of the first `count` loops. */
#define ODOMETER(loops, count, src, dst, param, body)                     \
    do {                                                                  \
        int64_t at[MAX_LOOPS] = {0};                                      \
        int64_t src_ = (src), dst_ = (dst), param_ = (param);             \
        for (;;) {                                                        \
            body;                                                         \
            int k_ = (count)-1;                                           \
            for (; k_ >= 0; --k_) {                                       \
                src_ += (loops)[k_].s, dst_ += (loops)[k_].d, param_ += (loops)[k_].p; \
                if (++at[k_] < (loops)[k_].n) break;                      \
                src_ -= at[k_] * (loops)[k_].s, dst_ -= at[k_] * (loops)[k_].d;        \
                param_ -= at[k_] * (loops)[k_].p;                         \
                at[k_] = 0;                                               \
            }                                                             \
            if (k_ < 0) break;                                            \
        }                                                                 \
    } while (0)

/* Part `part` of `parts` of a box: false where nothing is left of it. Loops keep their order. */
int box_cut(Box *box, int64_t part, int64_t parts);

typedef enum { I8, U8, I16, U16, I32, F16, BF16, F32, DTYPES } Dtype;
extern const int dtype_size[DTYPES];
extern const char *const dtype_name[DTYPES];

/* A division by d as fma(x, times, x * rest). */
typedef struct {
    float times, rest;
} Product;

/* y = ((x - shift) * scale) / divisor (0, 1 and 1 where a step is not taken), then for integers rint(y + before) clamped to low..high, plus after. */
typedef struct {
    Dtype from, to;
    int divides; /* divisor holds something */
    int steps;   /* any of shift, scale, divisor does */
    int past;    /* see past_caches */
    int brief;   /* bytes to bytes by rint(x * scale + before), saturated: whoever plans has tried every x */
    int bits;    /* not 0: brief in 16 bits, with u from 0 to 255: (u * factor / 256 - 32768 + summand) >> bits, tried too */
    int64_t channels;
    const float *shift, *scale, *divisor; /* `channels` values each */
    const float *before, *low, *high;     /* integers only; low and high have `after` taken off */
    const int32_t *after;
    const uint16_t *factor;
    const int16_t *summand;
    const Product *products; /* as products_of has found them; or NULL */
} Arithmetic;

/* Float32 to bytes, else 0: what divisions by a's divisors may be replaced by, `channels` of them, so that rint of the quotients,
 * saturated, is the same for every x. `times` is 0 for a divisor of which that is not known. */
int products_of(const Arithmetic *a, Product *products);

/* Parameters of one row of a conversion: one value for the row (step 0) or one for each element. */
typedef struct {
    const float *shift, *scale, *divisor, *before, *low, *high;
    const int32_t *after;
    const uint16_t *factor;
    const int16_t *summand;
    const Product *products; /* or NULL */
    int bits, past, steps;
    int64_t more, src_step, dst_step; /* of conversions in one step: so many rows more by the same parameters, and the bytes from one to the next */
} Row;

typedef struct Move Move;
typedef void Mover(const Move *move, const uint8_t *src, uint8_t *dst);
enum { LONG_ROW = 512 }; /* bytes of the longest row that is moved together with its neighbours on both sides */
enum { INNER = 2 }; /* loops that a mover walks itself, the last ones of the box; a detour has three */

struct Move {
    int path, size;
    int past;    /* see past_caches */
    int64_t pad; /* bytes to become zeros behind each run of neighbours in the destination */
    int64_t row; /* bytes of rows of which the path's loops want a whole vector; INT64_MAX: any level will do */
    Box box; /* the last INNER loops in the order that the path wants */
};

/* n is a vector's floats or more; the floats need not be aligned. */
typedef void Load(const uint8_t *src, uint8_t *floats, int64_t n, const Row *row);
typedef void Store(const uint8_t *floats, uint8_t *dst, int64_t n, const Row *row);

/* To bytes, saturated; n is a vector's bytes or more. */
typedef void Brief(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row);

/* Pixels of 2 to 4 neighbouring bytes, backwards where channel.s is -1, out of 2, 3, 4 or 8, each channel with parameters
 * of its own, in 16 bits. */
typedef void BriefPixels(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row);

/* Load: pixels of 3, 4, 8 or more neighbouring elements (channel.s is their bytes), 8 or more where these are of 16 bits, to
 * planes of float32 (pixel.d is 4). The parameters go with the channel.
 * Store: planes of float32 (pixel.s is 4) to 16 bytes of neighbours or more; with 8 bits the parameters are the same for
 * all channels, with 16 bits there is no divisor. 16 pixels or more. */
typedef void Transposed(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row);

/* n pixels of step s bytes in three planes of equal steps, to n neighbours. */
typedef void Gray(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n);

/* Of `channels` planes, `step` bytes apart, of n bytes each (one vector's or more): the largest element so far goes to
 * `best` as a sortable integer or float, to `at` one more than the channel that beat what was there before; where none
 * did it stays. `first`: nothing was there. */
typedef void Largest(const uint8_t *planes, int64_t step, int64_t channels, int64_t n, uint8_t *best, uint8_t *at, int first);

/* where[i] = before + at[i] for every i that has an `at`; elements of 1, 2 and 4 bytes. */
typedef int64_t Index __attribute__((aligned(1), may_alias));
typedef void Widen(const uint8_t *at, int64_t n, int64_t before, int first, Index *where);

/* The first of the largest of the `channels` floats at each of n places, `step` bytes apart. */
typedef void Across(const uint8_t *p, int64_t step, int64_t n, int64_t channels, Index *where);

/* n elements as integers in the same order; with room for a vector of them behind the last one. */
typedef void Keys(const uint8_t *p, int64_t n, int32_t *keys);
/* The k largest so far of each of n positions, a multiple of 16, in order: their keys, and which channels; in rows that are
 * `pitch` apart, as the planes of keys are. `before`: how many channels came before these planes. */
typedef void TopK(const int32_t *planes, int64_t pitch, int64_t channels, int64_t n, int64_t k, int64_t before, int32_t *best,
                  int32_t *at);
/* The same of one position whose channels are neighbours, with room for a vector behind them; `kept` of k are there already,
 * and how many are then. */
typedef int64_t TopKAcross(const int32_t *row, int64_t channels, int64_t k, int64_t before, int64_t kept, int32_t *best, int32_t *at);

/* Cache lines to fetch meanwhile: one for each channel of 16 positions; `at` may be NULL, or anything. */
typedef struct {
    const uint8_t *at;
    int64_t channel, line;
} Ahead;

/* Softmax of 1 to SOFTMAX_FEW channels of n positions, from planes that are s bytes apart to planes that are d bytes apart;
 * in place where n is a multiple of 16 and not past the caches, else n is 16 or more. */
enum { SOFTMAX_FEW = 8 };
typedef void SoftmaxOfFew(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t channels, int64_t n, int past,
                          Ahead ahead);

/* Sigmoid of n neighbours of float32, any n; in place too. */
typedef void Sigmoid(const uint8_t *src, uint8_t *dst, int64_t n, int past);

/* Planes of n floats, `pitch` floats apart, n a multiple of 16. The largest of each position; then, in place, the
 * exponentials of what they lack to it, their sums and, where there is room, the factors 1 / sum; then out = plane * factor
 * for any n. */
typedef void Maxima(const float *planes, int64_t pitch, int64_t channels, int64_t n, float *most, int first);
typedef void Exponentials(float *planes, int64_t pitch, int64_t channels, int64_t n, const float *most, double *sums, int first,
                          float *factor, Ahead ahead);
typedef void Scale(const float *planes, int64_t pitch, int64_t channels, int64_t n, const float *factor, uint8_t *out,
                   int64_t step, int past);

/* Softmax of 16 or more neighbouring channels (and a vector or more) of n positions, s bytes apart, to neighbours. The bench
 * has room for as many floats and 16 more; where there is another, both have it for four such rows, and four positions go
 * together. The other is used for more than four. `far`: what is read is farther than the caches. */
typedef void SoftmaxAcross(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n, int64_t channels, float *bench,
                           float *other, int far);

/* Whole cache lines past the caches. */
typedef void Copy(const uint8_t *src, uint8_t *dst, int64_t bytes);

/* Which of n neighbouring elements are above the threshold (integers: `least` or more), above those at the byte
 * offsets `earlier`, and not below those at `later`: their numbers, ascending; how many. */
typedef struct {
    int earliers, laters;
    int64_t earlier[4], later[4];
    int64_t least;
    float threshold;
} Nearby;
typedef int64_t Peak(const uint8_t *p, int64_t n, const Nearby *nearby, int32_t *found);

/* After stores past the caches: other threads see them. */
typedef void Fence(void);

/* The table of fast paths. A row says what it applies to, here, and in each level its loops and their step: no loop is
 * called but by way of its row. Tests and the benchmark are made from both. */
typedef struct {
    const char *name;
    const char *kind; /* move, convert, gray or reduce */
    const char *applies;
} Path;

enum {
    PATH_COPY, PATH_ROWS, PATH_TRANSPOSE, PATH_DETOUR, PATH_SPLIT, PATH_MERGE, PATH_PIXELS, PATH_REVERSE, PATH_PADDED, PATH_STRIDED,
    PATH_LOAD, PATH_LOAD_TRANSPOSED, PATH_STORE, PATH_STORE_I32, PATH_STORE_TRANSPOSED, PATH_QUANTIZE, PATH_BRIEF, PATH_SHORT, PATH_SHORT_PIXELS,
    PATH_GRAY, PATH_GRAY_WIDE,
    PATH_ARGMAX, PATH_ACROSS, PATH_TOP_K, PATH_TOP_K_ACROSS, PATH_SOFTMAX, PATH_SOFTMAX_ACROSS, PATH_SIGMOID, PATH_PEAKS,
    PATHS
};
extern const Path paths[PATHS];

typedef struct {
    int step; /* bytes of the vector that one step works on; 0: element by element, or no loop at all */
    union {
        Mover *move;
        Load *load[DTYPES][2][2];  /* [one value for each element][divides] */
        Store *store[DTYPES][2];   /* [one value for each element] */
        Brief *quantize[I32 + 1];  /* float32 to int8, uint8 and int32, one value for all */
        Brief *brief[2][2][2];     /* [from uint8][to uint8][one value for each element] */
        BriefPixels *pixels[2][2]; /* [from uint8][to uint8] */
        Transposed *from[DTYPES][2]; /* [divides]; none of 32 bits, and of 16 bits none that divides */
        Transposed *to[DTYPES];      /* int8, uint8, float16, bfloat16 */
        Gray *gray[3];             /* uint8, uint16, float32 */
        struct {
            Largest *largest[DTYPES];
            Widen *widen[3];
        };
        Across *across;
        struct {
            Keys *keys[DTYPES];
            TopK *top_k;
            TopKAcross *top_k_across;
        };
        struct {
            SoftmaxOfFew *softmax_of_few;
            Maxima *maxima;
            Exponentials *exponentials;
            Scale *scale;
            Copy *copy;
        };
        SoftmaxAcross *softmax_across;
        Sigmoid *sigmoid;
        Peak *peak[DTYPES]; /* none for float16 and bfloat16, which are converted */
    };
} Fast;

/* What is compiled once for each instruction set. */
typedef struct Level {
    const char *name;
    int vector; /* bytes */
    Fast fast[PATHS];
    Fence *fence;
    const struct Level *narrower; /* the next of shorter vectors, which is there where this one is; or NULL */
} Level;

extern const Level level_base, level_sse4, level_avx2, level_avx512;

/* How a conversion is done: tile by tile. DIRECT: what is converted lies in the same order on both sides. GATHER: it is
 * moved to a bench in L1 first, in the order of the destination, and converted from there. SCATTER: it is converted to
 * the bench, in the order of the source, and moved from there. BOTH: from one bench to another, with a move on either
 * side. PIXELS, TRANSPOSED: the order changes while
 * elements are converted. */
typedef enum { DIRECT, GATHER, SCATTER, BOTH, PIXELS, TRANSPOSED } Way;

typedef struct {
    Way way;
    Box box;   /* the last `inner` loops make a tile, the last `dense` of these go through neighbours where it is converted */
    int inner, dense;
    int64_t pad;                 /* as of a Move; then it is SCATTER, BOTH or PIXELS */
    int64_t rows_step, row_step; /* how much a tile takes of the first of the former and of the first of the latter */
    Move gather, scatter;
} Convert;

typedef struct {
    int is_fill;
    int size;
    int64_t pad;
    Move move;
    Convert convert;
} Job;

typedef struct {
    const Level *level;
    int converts;
    Arithmetic arithmetic;
    int64_t src_bytes, dst_bytes, fill_bytes, touched; /* touched: read and written, at most */
    int jobs;
    Job *job;
} Program;

int level_count(void);
const Level *level_at(int i); /* NULL where this machine lacks it; the best one last */

/* The bytes of a fill behind each run of neighbours that a move writes, where the move takes it over; else 0. */
int64_t pad_of(const Box *move, const Box *fill, int64_t src_size, int64_t dst_size);
void move_plan(Move *move, const Box *box, int size, int64_t pad);
void move_run(const Level *level, const Move *move, const uint8_t *src, uint8_t *dst);
void convert_plan(Convert *convert, const Box *box, const Arithmetic *arithmetic, int64_t pad);
void convert_run(const Level *level, const Convert *c, const Arithmetic *a, const uint8_t *src, uint8_t *dst);
/* The rows of the table that a whole tile takes, in their order; how many. */
int convert_paths(const Level *level, const Convert *c, const Arithmetic *a, int taken[4]);
/* First all fills, then the moves; the parts of either are the whole and may run at once. */
void program_fill(const Program *program, uint8_t *dst, int64_t part, int64_t parts);
void program_move(const Program *program, const uint8_t *src, uint8_t *dst, int64_t part, int64_t parts);

/* Do a task in parts on up to so many threads, alone where it moves too few bytes or the pool is busy. PART: bytes of
 * source and destination that are worth a part of their own. Between parts, SLICE bytes at most where it may be stopped,
 * whoever called is asked every ASK nanoseconds whether to leave the rest. True: it said so. */
enum { PART = 1 << 18, SLICE = 16 << 20, ASK = 20000000 };
typedef void Task(const void *context, int64_t part, int64_t parts);
typedef int Stop(void *whose);
int pool_run(Task *task, const void *context, int64_t bytes, Stop *stop, void *whose);
void pool_set_threads(int threads);
int pool_threads(void);

/* Loops over pixels (s: the planes, d: the result), the innermost one with neighbours in the result. */
void gray_run(const Level *level, int type, const Box *box, const uint8_t *b, const uint8_t *g, const uint8_t *r,
              uint8_t *out, int64_t part, int64_t parts);
int gray_path(int type); /* uint8, uint16, float32 */

#endif
