/* What is compiled once for each instruction set: the kinds of loops, the table of fast paths, and which levels this
 * machine has. Nothing here knows Python. */
#ifndef NPU_LAYOUT_LEVELS_H
#define NPU_LAYOUT_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "box.h"

typedef enum { I8, U8, I16, U16, I32, F16, BF16, F32, DTYPES } Dtype;
extern const int dtype_size[DTYPES];
extern const char *const dtype_name[DTYPES];

/* Channels that there are loops for. */
static inline int has_channel_loops(int64_t n) { return n <= 4 || n == 8; }

/* Whether a result is stored past the caches, which it would leave again anyway: without reading each line before it is
 * written. `touched`: the bytes that are read and written, at most; `shared`: by several threads. */
int past_caches(int64_t touched, int shared);
/* The bytes of the last cache of this machine. */
void set_last_cache(int64_t bytes);

enum { STRIP = 1024 }; /* elements on a bench of a row or of a plane */

/* A division by d as fma(x, times, x * rest). */
typedef struct {
    float times, rest;
} Product;

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

/* n is a vector's floats or more; the floats need not be aligned. */
typedef void Load(const uint8_t *src, uint8_t *floats, int64_t n, const Row *row);
typedef void Store(const uint8_t *floats, uint8_t *dst, int64_t n, const Row *row);

/* To bytes, saturated, or to int32; n is a vector's bytes or more. */
typedef void Quantize(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row);
typedef void BytesToBytes(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row);

/* Pixels of 2 to 4 neighbouring bytes, backwards where channel.s is -1, out of 2, 3, 4 or 8, each channel with parameters
 * of its own, in 16 bits. */
typedef void PixelsToPixels(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row);

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

/* Softmax of 1 to SOFTMAX_IN_REGISTERS channels of n positions, from planes that are s bytes apart to planes that are d
 * bytes apart; in place where n is a multiple of 16 and not past the caches, else n is 16 or more. */
enum { SOFTMAX_IN_REGISTERS = 8 };
typedef void SoftmaxInRegisters(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t channels, int64_t n, int past,
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

/* The parameters of a row: one value of each for all elements, or one for each; whether it is divided. Of bytes there are
 * I8 and U8; and the dtypes of gray pixels. */
enum { ONE_VALUE, EACH_VALUE, PARAMETERS };
enum { UNDIVIDED, DIVIDED, DIVISIONS };
enum { BYTES_TYPES = U8 + 1 };
enum { GRAY_U8, GRAY_U16, GRAY_F32, GRAYS };

/* The table of fast paths. A row says what it applies to, here, and in each level its loops and their step: no loop is
 * called but by way of its row. Tests and the benchmark are made from both. */
typedef struct {
    const char *name;
    const char *kind; /* move, convert, gray or reduce */
    const char *applies;
} Path;

enum {
    PATH_COPY, PATH_ROWS, PATH_TRANSPOSE, PATH_DETOUR, PATH_SPLIT, PATH_MERGE, PATH_PIXELS, PATH_REVERSE, PATH_PADDED, PATH_STRIDED,
    PATH_LOAD, PATH_LOAD_TRANSPOSED, PATH_STORE, PATH_STORE_I32, PATH_STORE_TRANSPOSED, PATH_QUANTIZE, PATH_AFFINE, PATH_FIXED, PATH_FIXED_PIXELS,
    PATH_GRAY, PATH_GRAY_WIDE,
    PATH_ARGMAX, PATH_ACROSS, PATH_TOP_K, PATH_TOP_K_ACROSS, PATH_SOFTMAX, PATH_SOFTMAX_ACROSS, PATH_SIGMOID, PATH_PEAKS,
    PATHS
};
extern const Path paths[PATHS];

typedef struct {
    int step; /* bytes of the vector that one step works on; 0: element by element, or no loop at all */
    union {
        Mover *move;
        Load *load[DTYPES][PARAMETERS][DIVISIONS];
        Store *store[DTYPES][PARAMETERS];
        Quantize *quantize[I32 + 1]; /* from float32: int8, uint8 and int32, ONE_VALUE */
        BytesToBytes *bytes[BYTES_TYPES][BYTES_TYPES][PARAMETERS]; /* from, to */
        PixelsToPixels *pixels[BYTES_TYPES][BYTES_TYPES];          /* from, to */
        Transposed *from[DTYPES][DIVISIONS]; /* none of 32 bits, and of 16 bits none that divides */
        Transposed *to[DTYPES];              /* int8, uint8, float16, bfloat16 */
        Gray *gray[GRAYS];
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
            SoftmaxInRegisters *softmax_in_registers;
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

int level_count(void);
const Level *level_at(int i); /* NULL where this machine lacks it; the best one last */

#endif
