// hrt_lock (CSources/CHRTimer/clock/hrt_lock.c): nobody is inside with somebody else, and nobody sleeps for ever.
//
// WRONG_1: whoever has slept takes the lock without the bit that others may sleep.
// WRONG_2: it is let go without a wake.
#define THREADS 3
#define ROUNDS 2
#define FREE 0
#define HELD 1
#define CONTENDED 3

byte word = FREE;
byte asleep = 0;   // threads in futex(2)
byte wakes = 0;    // wakes on their way to them
byte inside = 0;

// futex(2), FUTEX_WAIT: looks at the word and goes to sleep at once, or not at all.
inline futex_wait(expected) {
    atomic { if :: word == expected -> asleep++; slept = true :: else -> slept = false fi }
    if :: slept -> atomic { wakes > 0 -> wakes--; asleep-- } :: else fi
}

inline futex_wake() {
    atomic { if :: asleep > wakes -> wakes++ :: else fi }
}

// From `from`, if the word is that; what it was is in `seen`.
inline exchange(from, to) {
    atomic { seen = word; if :: word == from -> word = to; done = true :: else -> done = false fi }
}

proctype Thread() {
    byte seen, round;
    bool done, slept;
    for (round : 1 .. ROUNDS) {
        exchange(FREE, HELD);
        if :: !done ->
            // It looked and paused in vain: as often as it likes, which is not at all here.
            do
            ::  done -> break
            ::  else ->
#ifdef WRONG_1
                exchange(FREE, HELD);
#else
                exchange(FREE, CONTENDED);
#endif
                if
                ::  done
                ::  !done && seen == CONTENDED -> futex_wait(CONTENDED)
                ::  !done && seen == HELD ->
                    exchange(HELD, CONTENDED);
                    if :: done -> done = false; futex_wait(CONTENDED) :: else fi
                ::  !done && seen == FREE
                fi
            od
        :: else
        fi;
        inside++;
        assert(inside == 1);
        inside--;
        atomic { seen = word; word = FREE }
#ifndef WRONG_2
        if :: seen == CONTENDED -> futex_wake() :: else fi
#endif
    }
}

init {
    byte i;
    atomic { for (i : 1 .. THREADS) { run Thread() } }
}
