/* A pool of threads for one task at a time. Each thread has a share of its parts, which are neighbours and in a loop the
 * same ones, whose bytes its core may still hold; whoever is through with its own takes parts of the others. Whoever calls
 * works too, so that a worker that wakes too late costs nothing; workers wait awake for a moment, because waking one takes
 * longer than most tasks. The caller can be stopped: then parts that no thread has begun are left. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "pool.h"

#include "box.h"

/* AWAKE: pauses before a worker goes to sleep, some 50 us. To wake one takes longer than a small task: that pays from
 * WAKE bytes on, or where a task comes within RECENT nanoseconds of the last, as in a loop. EACH: parts of a share, so that
 * a core of half the speed leaves some to others. LINES: bytes that cores take from each other at once. */
enum { MOST = 64, AWAKE = 4000, STACK = 1 << 20, WAKE = 4 << 20, RECENT = 200000, EACH = 2, LINES = 128 };

static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER, sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t awake = PTHREAD_COND_INITIALIZER, more_wanted = PTHREAD_COND_INITIALIZER;
static atomic_int started; /* workers */
static unsigned forks; /* that this process is the child of, since the first worker */
static atomic_int wanted = 1;
static atomic_int sleepers; /* but those that are not wanted */
static _Atomic int64_t last_task; /* when it ended */

/* One for each task: what workers watch. */
static struct {
    _Alignas(LINES) atomic_uint count;
} tickets;

/* These are stored before the shares, and stand still from the first one with parts left until all are done. */
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

/* Which function says whether to stop, when it was called last, and whether it said so. */
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

/* A part of a share, or -1. */
static int64_t take(int share) {
    _Atomic int64_t *left = &shares[share].left;
    if (atomic_load(left) <= 0) return -1;
    const int64_t found = atomic_fetch_sub(left, 1);
    return found <= 0 ? -1 : first_of(share + 1) - found;
}

/* Parts, one after the other, until none is left, or whoever is asked says so or forks. */
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

/* Until there is another task, or threads are wanted again. */
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

/* In the child of a fork there is no worker, and the thread that had a lock is gone. */
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
    while (started < workers) { /* counted before it can sleep, so that pool_set_threads wakes it */
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
    if (forks != before) /* by whoever was asked: this is the child, where nobody does the other parts or has the lock */
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
