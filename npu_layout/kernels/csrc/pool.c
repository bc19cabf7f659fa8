/* A pool of threads for one task at a time. Each thread has a share of neighbouring parts; if a task is repeated, the share is
 * the same, and its bytes may still be in the cache of the core. A thread that has finished its share continues with parts of
 * the others. The calling thread works too, so that a worker that wakes too late costs nothing. Workers spin for a moment before
 * they sleep, because waking one needs longer than most tasks. The caller can be stopped: then parts that no thread has begun are
 * skipped. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "pool.h"

#include "box.h"

/* AWAKE: pauses before a worker sleeps, some 50 us. Waking one needs longer than a small task: it pays from WAKE bytes on, or if
 * a task follows within RECENT nanoseconds of the last, as in a loop. EACH: parts of a share, so that a core of half the speed
 * leaves some to others. LINES: bytes that move between the caches of cores together. STACK: kernels use up to 0.3 MB, and glibc
 * takes from it what libraries keep for each thread, 0.8 MB under ThreadSanitizer. */
enum { MOST = 64, AWAKE = 4000, STACK = 2 << 20, WAKE = 4 << 20, RECENT = 200000, EACH = 2, LINES = 128 };

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER, sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t awake = PTHREAD_COND_INITIALIZER, more_wanted = PTHREAD_COND_INITIALIZER;
static atomic_int started; /* workers */
static unsigned forks; /* of which this process is the child, since the first worker was started */
static atomic_int wanted = 1;
static atomic_int sleepers; /* except those that are not required */
static _Atomic int64_t last_task; /* when it ended */

/* Incremented for each task; workers watch it. */
static struct {
    _Alignas(LINES) atomic_uint count;
} tickets;

/* These are stored before the shares, and do not change from the first share that has parts until all parts are done. */
static struct {
    _Alignas(LINES) Task *task;
    const void *context;
    int64_t parts;
    atomic_int threads;
} now_done;

/* Parts that no thread has begun. */
static struct {
    _Alignas(LINES) _Atomic int64_t left;
} shares[MOST];

static struct {
    _Alignas(LINES) _Atomic int64_t parts;
} finished;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static void pause_a_moment(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* The function that returns whether to stop, when it was called last, and what it returned. */
typedef struct {
    Stop *stop;
    void *whose;
    int64_t asked;
    int stopped;
} Asking;

static int stops(Asking *a) {
    if (!a->stop || now() - a->asked < ASK) return 0;
    a->stopped = a->stop(a->whose);
    a->asked = now();
    return a->stopped;
}

static int64_t first_of(int share) { return now_done.parts * share / atomic_load(&now_done.threads); }

/* Claim a part of a share; -1 if none is left. */
static int64_t take(int share) {
    _Atomic int64_t *left = &shares[share].left;
    if (atomic_load(left) <= 0) return -1;
    const int64_t found = atomic_fetch_sub(left, 1);
    return found <= 0 ? -1 : first_of(share + 1) - found;
}

/* Run parts, one after the other, until none is left, or until the function `stop` returns true or forks. */
static void work(int whose, Asking *asking) {
    const unsigned before = forks;
    const int threads = atomic_load(&now_done.threads);
    for (int i = 0; whose < threads && i < threads; ++i) {
        const int share = (whose + i) % threads;
        int64_t done = 0;
        int leaves = 0;
        for (int64_t part; !leaves && (part = take(share)) >= 0;) {
            now_done.task(now_done.context, part, now_done.parts);
            ++done;
            leaves = asking && (stops(asking) || forks != before);
        }
        if (done && forks == before) atomic_fetch_add(&finished.parts, done);
        if (leaves) return;
    }
}

static int run_here(Task *do_part, const void *its_context, int64_t count, Asking *asking) {
    for (int64_t i = 0; i < count; ++i) {
        do_part(its_context, i, count);
        if (stops(asking)) return 1;
    }
    return 0;
}

/* Wait until there is another task, or until threads are required again. */
static void sleep_after(unsigned seen, int whose) {
    pthread_mutex_lock(&sleep_lock);
    while (whose >= atomic_load(&wanted)) pthread_cond_wait(&more_wanted, &sleep_lock);
    atomic_fetch_add(&sleepers, 1);
    while (atomic_load(&tickets.count) == seen && whose < atomic_load(&wanted)) pthread_cond_wait(&awake, &sleep_lock);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&sleep_lock);
}

static void *worker(void *number) {
    const int whose = (int)(intptr_t)number;
    unsigned seen = 0;
    for (;;) {
        int waited = 0;
        while (atomic_load(&tickets.count) == seen && waited < AWAKE) pause_a_moment(), ++waited;
        if (waited == AWAKE || whose >= atomic_load(&wanted)) sleep_after(seen, whose);
        seen = atomic_load(&tickets.count);
        work(whose, NULL);
    }
    return NULL;
}

/* In the child of a fork there are no workers, and the thread that had a lock does not exist. */
static void forked(void) {
    pthread_mutex_init(&in_use, NULL);
    pthread_mutex_init(&sleep_lock, NULL);
    pthread_cond_init(&awake, NULL);
    pthread_cond_init(&more_wanted, NULL);
    atomic_store(&tickets.count, 0);
    atomic_store(&sleepers, 0);
    for (int i = 0; i < MOST; ++i) atomic_store(&shares[i].left, 0);
    started = 0;
    ++forks;
}

static void start(int workers) {
    static int registered;
    pthread_attr_t attributes;
    if (!registered) registered = !pthread_atfork(NULL, NULL, forked);
    if (!registered || pthread_attr_init(&attributes)) return;
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (started < workers) { /* counted before it can sleep, so that pool_set_threads wakes it up */
        pthread_t thread;
        const int number = ++started;
        if (pthread_create(&thread, &attributes, worker, (void *)(intptr_t)number)) {
            --started;
            break;
        }
    }
    pthread_attr_destroy(&attributes);
}

static void wake(pthread_cond_t *who) {
    pthread_mutex_lock(&sleep_lock);
    pthread_cond_broadcast(who);
    pthread_mutex_unlock(&sleep_lock);
}

void pool_set_threads(int threads) {
    atomic_store(&wanted, threads < 1 ? 1 : threads > MOST ? MOST : threads);
    if (started) wake(&awake), wake(&more_wanted);
}

int pool_threads(void) { return atomic_load(&wanted); }

int pool_run(Task *do_part, const void *its_context, int64_t bytes, Stop *stop, void *whose) {
    const int threads = pool_threads();
    Asking asking = {stop, whose, stop ? now() : 0, 0};
    int64_t slices = stop ? bytes / SLICE : 1, count = bytes / PART;
    if (slices < 1) slices = 1;
    if (slices > 1 << 16) slices = 1 << 16;
    if (count >= threads) count = at_most(EACH, (bytes / threads + PART / 2) / PART) * threads;
    if (threads < 2 || count < 2 || pthread_mutex_trylock(&in_use)) return run_here(do_part, its_context, slices, &asking);
    const int asleep = started < threads - 1 || atomic_load(&sleepers) > 0;
    if (asleep && bytes < WAKE && now() - atomic_load(&last_task) > RECENT) {
        do_part(its_context, 0, 1);
        atomic_store(&last_task, now());
        pthread_mutex_unlock(&in_use);
        return 0;
    }
    if (count < slices) count = slices;
    const unsigned before = forks;
    if (started < threads - 1) start(threads - 1);
    const int sharing = (int)at_most(threads, count);
    now_done.task = do_part, now_done.context = its_context, now_done.parts = count;
    atomic_store_explicit(&now_done.threads, sharing, memory_order_release);
    atomic_store_explicit(&finished.parts, 0, memory_order_release);
    for (int i = 0; i < sharing; ++i)
        atomic_store_explicit(&shares[i].left, first_of(i + 1) - first_of(i), memory_order_release);
    atomic_fetch_add(&tickets.count, 1);
    if (atomic_load(&sleepers)) wake(&awake);
    work(0, &asking);
    if (forks != before) /* in `stop`: this is the child, in which no thread runs the other parts or has the lock */
        return asking.stopped || run_here(do_part, its_context, slices, &asking);
    if (asking.stopped) {
        for (int i = 0; i < sharing; ++i) {
            const int64_t rest = atomic_exchange(&shares[i].left, 0);
            if (rest > 0) count -= rest;
        }
    }
    while (atomic_load(&finished.parts) < count) pause_a_moment();
    atomic_store(&last_task, now());
    pthread_mutex_unlock(&in_use);
    return asking.stopped;
}
