/* What is compiled once for each instruction set: the kinds of loops, the table of fast paths, and which levels this
 * machine has. Nothing here uses Python. */
#ifndef NPU_LAYOUT_LEVELS_H
#define NPU_LAYOUT_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "box.h"
#include "picture_loops.h"

typedef enum { I8, U8, I16, U16, I32, F16, BF16, F32, DTYPES } Dtype;
extern const int dtype_size[DTYPES];
extern const char *const dtype_name[DTYPES];

/* Numbers of channels for which there are loops. */
static inline int has_channel_loops(int64_t n) { return n <= 4 || n == 8; }

enum { STRIP = 1024 }; /* elements on a bench of a row or of a plane */

/* A division by d as fma(x, times, x * rest). */
typedef struct {
    float times, rest;
} Product;

/* How a loop runs: it stores past the caches; its source is in no cache; its result is in none, and stored through them. */
enum { PAST = 1, COLD = 2, COLD_RESULT = 4 };

/* Parameters of one row of a conversion: one value for the row (step 0) or one for each element. */
typedef struct {
    const float *shift, *scale, *divisor, *before, *low, *high;
    const int32_t *after;
    const uint16_t *factor;
    const int16_t *summand;
    const Product *products; /* or NULL */
    int bits, past, steps;
    int64_t more, src_step, dst_step; /* in one step: the number of further rows with these parameters, and their pitches */
    int cold; /* whether the source is in no cache: for transposed loops */
} Row;

typedef struct Move Move;
typedef void Mover(const Move *move, const uint8_t *src, uint8_t *dst);

/* n is at least the floats of a vector; the floats need not be aligned. */
typedef void Load(const uint8_t *src, uint8_t *floats, int64_t n, const Row *row);
typedef void Store(const uint8_t *floats, uint8_t *dst, int64_t n, const Row *row);

/* To bytes, saturated, or to int32; n is at least the bytes of a vector. */
typedef void Quantize(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row);
typedef void BytesToBytes(const uint8_t *src, uint8_t *dst, int64_t n, const Row *row);

/* Pixels of 2 to 4 neighbouring bytes, backwards if channel.s is -1, out of 2, 3, 4 or 8. Each channel has its own
 * parameters, in 16 bits. */
typedef void PixelsToPixels(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row);

/* Load: pixels of 3, 4, 8 or more neighbouring elements (channel.s is their bytes), 8 or more if they have 16 bits, to planes
 * of float32 (pixel.d is 4). Each channel has its own parameters.
 * Store: planes of float32 (pixel.s is 4) to 16 bytes of neighbours or more; with 8 bits the parameters are the same for
 * all channels, with 16 bits there is no divisor. 16 pixels or more. */
typedef void Transposed(Loop pixel, Loop channel, const uint8_t *src, uint8_t *dst, const Row *row);

/* n pixels with a step of s bytes, in three planes with equal steps, to n neighbours. */
typedef void Gray(const uint8_t *b, const uint8_t *g, const uint8_t *r, int64_t s, uint8_t *out, int64_t n, int how);

/* From `channels` planes of n bytes each (at least a vector), with a pitch of `step` bytes: store the largest element so far
 * in `best`, as a sortable integer or float, and one more than its channel in `at`, which does not change if no channel is
 * larger than `best` was. `first`: both are empty. */
typedef void Largest(const uint8_t *planes, int64_t step, int64_t channels, int64_t n, uint8_t *best, uint8_t *at, int first);

typedef int64_t Index __attribute__((aligned(1), may_alias));

/* The first largest of the `channels` floats at each of n positions, with a step of `step` bytes. */
typedef void Across(const uint8_t *p, int64_t step, int64_t n, int64_t channels, Index *where);

/* The same of channels in runs of `run` neighbours, `far` bytes from one run to the next: whole vectors, up to ACROSS_RUNS of them. */
enum { ACROSS_RUNS = 32 };
typedef void AcrossRuns(const uint8_t *p, int64_t step, int64_t n, int64_t channels, int64_t run, int64_t far, Index *where);
/* The same of runs of 4 or 8 that are shorter than a vector, 2 to ACROSS_BLOCKS of them; those of neighbouring positions follow each other. */
enum { ACROSS_BLOCKS = 10 };
typedef void AcrossBlocks(const uint8_t *p, int64_t n, int64_t channels, int64_t run, int64_t far, Index *where);

/* From `lanes` planes of n elements, a vector apart: what `largest` stored of blocks of so many channels, and where. Store the
 * largest of all lanes in `best`, and the first channel that has it in `where`; there is room for whole vectors behind `best`. */
typedef void Fold(const uint8_t *best_of_lanes, const uint8_t *at, int64_t pitch, int64_t lanes, int64_t n, uint8_t *best, Index *where);

/* where[i] = before + at[i] for every i whose at[i] is not 0; elements of 1, 2 and 4 bytes. */
typedef void Widen(const uint8_t *at, int64_t n, int64_t before, int first, Index *where);

/* Rows of n elements, `step` bytes apart, as integers that sort in the same order, one row behind the other: one row, or n is a multiple of
 * 16. There is room for a vector behind the last one. */
typedef void Keys(const uint8_t *p, int64_t step, int64_t rows, int64_t n, int32_t *keys);
/* The k largest so far of each of n positions, a multiple of 16, in order: their keys and their channels, in rows of `most` each; planes of keys
 * have a pitch of n. `before`: the number of channels before these planes. */
typedef void TopK(const int32_t *planes, int64_t n, int64_t channels, int64_t most, int64_t k, int64_t before, int32_t *best, int32_t *at);
/* The same for one position whose channels are neighbours, with room for a vector behind them; `kept` of k are stored already.
 * Return how many are stored. */
typedef int64_t TopKAcross(const int32_t *row, int64_t channels, int64_t k, int64_t before, int64_t kept, int32_t *best, int32_t *at);

/* Cache lines to prefetch meanwhile: one for each channel of 16 positions, and `skip` bytes more after each `block` of channels,
 * a multiple of 4; `at` may be NULL, or any address. */
typedef struct {
    const uint8_t *at;
    int64_t channel, line, block, skip;
} Ahead;

/* Softmax of 1 to SOFTMAX_IN_REGISTERS channels of n positions, from planes with a pitch of s bytes to planes with a pitch of
 * d bytes. In place if n is a multiple of 16 and stores are not past the caches; otherwise n is 16 or more. */
enum { SOFTMAX_IN_REGISTERS = 8 };
typedef void SoftmaxInRegisters(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t channels, int64_t n, int past,
                          Ahead ahead);

/* Sigmoid of n neighbours of float32, any n; in place too. */
typedef void Sigmoid(const uint8_t *src, uint8_t *dst, int64_t n, int past);

/* Planes of n floats, with a pitch of `pitch` floats, n a multiple of 16. First the largest value of each position; then, in
 * place, the exponentials of the differences from it, their sums and, if `factor` is not NULL, the factors 1 / sum; then
 * out = plane * factor for any n. */
typedef void Maxima(const float *planes, int64_t pitch, int64_t channels, int64_t n, float *most, int first);
typedef void Exponentials(float *planes, int64_t pitch, int64_t channels, int64_t n, const float *most, double *sums, int first,
                          float *factor, Ahead ahead);
typedef void Scale(const float *planes, int64_t pitch, int64_t channels, int64_t n, const float *factor, uint8_t *out,
                   int64_t step, int past);

/* Softmax of 16 or more neighbouring channels (at least a vector) of n positions, with a step of s bytes, to neighbours. The
 * bench has room for as many floats and 16 more; if there is another one, both have room for four such rows, and four positions
 * are computed together. The other one is used for more than four. `far`: the source is not in the caches. */
typedef void SoftmaxAcross(const uint8_t *src, int64_t s, uint8_t *dst, int64_t d, int64_t n, int64_t channels, float *bench,
                           float *other, int far);

/* Whole cache lines past the caches. */
typedef void Copy(const uint8_t *src, uint8_t *dst, int64_t bytes);

/* Find those of n neighbouring elements that are above the threshold, above the elements at the byte offsets `earlier`, and not below those at
 * `later`. Only float32 has the threshold as a float: all others are `least` or more, which for floats of 16 bits is the integer that sorts as
 * they do (feature_map.h). Write the indices, ascending, and return how many there are. */
typedef struct {
    int earliers, laters;
    int64_t earlier[4], later[4];
    int64_t least;
    float threshold;
} Nearby;
typedef int64_t Peak(const uint8_t *p, int64_t n, const Nearby *nearby, int32_t *found);

/* Append the hits of `cells` cells of a feature map that follow each other, of which the first one, number `first`, is at `offset`:
 * those whose largest code is `least` or more, which is above the lowest code, with the first channel that has it; with `all`,
 * each channel whose code is. Return how many cells were looked at, from the first on, or -1: there is no memory. */
struct FeatureMap;
struct Hits;
typedef int64_t Scan(const struct FeatureMap *map, const uint8_t *data, int64_t offset, int64_t first, int64_t cells, int32_t least, int all,
                     struct Hits *hits);

/* Boxes that stay, BESIDE of them in a row, and the number of the next row of the same class, or -1; a place without a box is NaN. */
enum { BESIDE = 8 };
typedef struct {
    float x0[BESIDE], y0[BESIDE], x1[BESIDE], y1[BESIDE], area[BESIDE];
    int32_t count, next;
} KeptBoxes;
/* Whether the IoU of a box with one of the kept rows from `row` on is `least` or more. `extra` is added to each side's length,
 * `epsilon` to the union. */
typedef int Overlaps(const KeptBoxes *rows, int32_t row, const float box[4], float area, float extra, float epsilon, float least);

/* e**x of n numbers in place, with the bits of exponential.h. n is rounded up to a multiple of POWERS_STEP: the array has to have
 * room for it. */
enum { POWERS_STEP = 16 };
typedef void Powers(double *x, int64_t n);

/* A lower bound, but for rounding, of the sum of e**(x - the largest x) of n floats: from d = -64 on, e**d is at least (1 + d / 64)**64. n is
 * rounded up to a multiple of SUM_STEP: the floats behind the last one are -INFINITY. */
enum { SUM_STEP = 16 };
typedef float LeastSum(const float *x, int64_t n);

/* What is computed for each row, and, but for the last two, for each column, from the device's numbers, the model's, and the model's of the
 * frame before. Sums: of the model's, of the device's, of the model's squares, of the products of both, of the squared errors, of the
 * device's squares. Then the lowest of the model's and of the device's, the highest of both, and the largest squared error. Then two sums of
 * differences from the numbers before: of the model's squared, and of the products with the device's. */
enum { SUMS_LOW = 6, SUMS_HIGH = 8, SUMS_BY_COLUMN = 11, SUMS_BY_ROW = 13 };
enum { OF_DEVICE, OF_MODEL, OF_BEFORE, SUMMED_ARRAYS };
/* SUM_TILE: columns of a tile; SUM_LANES: partial sums of a row, each of every SUM_LANES-th column. */
enum { SUM_TILE = 256, SUM_LANES = 4 };
/* Write the sums, lowest and highest of n neighbours, 1 to SUM_TILE, of float32 or float64, to `row`, and join them into those of the columns,
 * in rows of SUM_TILE. The numbers before are NULL if there are none. All is computed in float64. */
typedef void RowSums(const uint8_t *const numbers[SUMMED_ARRAYS], int64_t n, double *columns, double *row);
enum { SUMS_F32, SUMS_F64, SUMS_TYPES };

/* The loops of detectors. */
typedef struct {
    Scan *scan[3][DTYPES]; /* by the kind of map; the last kind has none */
    Scan *listed[DTYPES];  /* of neighbouring channels: lists every channel that passes, in any order of cells; returns 0 if these are many, or the line is short */
    Overlaps *overlaps;
    Powers *powers;
    LeastSum *least_sum;
} DetectLoops;

/* The parameters of a row: one value for all elements, or one for each; and whether there is a divisor. The dtypes of bytes are
 * I8 and U8; then the dtypes of gray pixels. */
enum { ONE_VALUE, EACH_VALUE, PARAMETERS };
enum { UNDIVIDED, DIVIDED, DIVISIONS };
enum { BYTES_TYPES = U8 + 1 };
enum { GRAY_U8, GRAY_U16, GRAY_F32, GRAYS };

/* The table of fast paths. A row here names what it applies to; the row of each level has the loops and their step. Every loop
 * is called through its row. Tests and the benchmark are generated from both. */
typedef struct {
    const char *name;
    const char *kind; /* move, convert, gray or reduce */
    const char *applies;
} Path;

enum {
    PATH_COPY, PATH_ROWS, PATH_TRANSPOSE, PATH_DETOUR, PATH_SPLIT, PATH_MERGE, PATH_PIXELS, PATH_REVERSE, PATH_PADDED, PATH_STRIDED,
    PATH_LOAD, PATH_LOAD_TRANSPOSED, PATH_STORE, PATH_STORE_I32, PATH_STORE_TRANSPOSED, PATH_QUANTIZE, PATH_AFFINE, PATH_FIXED, PATH_FIXED_PIXELS,
    PATH_GRAY, PATH_GRAY_WIDE,
    PATH_ARGMAX, PATH_ARGMAX_BLOCKS, PATH_ACROSS, PATH_TOP_K, PATH_TOP_K_ACROSS, PATH_SOFTMAX, PATH_SOFTMAX_ACROSS, PATH_SIGMOID, PATH_PEAKS,
    PATHS
};
/* The paths by the unit that has their loops, one after the other. */
enum { FIRST_CONVERSION = PATH_LOAD, FIRST_GRAY = PATH_GRAY, FIRST_REDUCTION = PATH_ARGMAX };
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
        Transposed *from[DTYPES][DIVISIONS]; /* none for 32 bits, and none with a divisor for 16 bits */
        Transposed *to[DTYPES];              /* int8, uint8, float16, bfloat16 */
        Gray *gray[GRAYS];
        struct {
            Largest *largest[DTYPES];
            Widen *widen[3];
            Fold *fold[DTYPES];
        };
        struct {
            Across *across;
            AcrossRuns *across_runs;
            AcrossBlocks *across_blocks;
        };
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

/* What is compiled once for each instruction set, in units of simd/ that the compiler works on side by side. */
typedef struct {
    const char *name;
    int vector; /* bytes */
    const Fast *moves, *conversions, *grays, *reductions;
    const PictureLoops *pictures;
    const DetectLoops *detect;
    RowSums *const *row_sums; /* of SUMS_F32 and SUMS_F64 */
} Level;

static inline const Fast *fast_of(const Level *level, int path) {
    return path < FIRST_CONVERSION  ? &level->moves[path]
           : path < FIRST_GRAY      ? &level->conversions[path - FIRST_CONVERSION]
           : path < FIRST_REDUCTION ? &level->grays[path - FIRST_GRAY]
                                    : &level->reductions[path - FIRST_REDUCTION];
}

/* After stores past the caches: makes them visible to other threads. */
void fence(void);

int level_count(void);
/* Whether this machine has AVX-512 VBMI, for the gathers of WIDE_*. */
int has_wide_gathers(void);
/* Whether this processor is Intel's. */
int is_intel(void);
const char *level_name(int i);   /* also of one that this machine lacks */
const Level *level_at(int i); /* NULL if this machine lacks it; the best one last */
/* The best level with shorter vectors, which every machine with this one has; NULL if none was compiled. */
const Level *level_below(const Level *level);

#endif
