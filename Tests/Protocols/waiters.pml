// The threads that wait for the sleeps of a process (Sleeps, hrt_shared_alarm): whom the timer wakes goes on with the task that it makes
// ready, which may never come back. Every sleep ends all the same, once.
//
// WRONG_1: a thread goes on with the task though nobody else waits.
// WRONG_2: nobody sets the timer for the next sleep.
// WRONG_3: a thread counts as waiting until it has looked.
#define SLEEPS 3
#define THREADS 2

byte now;
byte ended[SLEEPS];    // sleep i is over at instant i + 1
bool taken[SLEEPS];
byte timerAt = 1;      // 0 for disarmed
bool edge;             // the timer has expired and nobody was told
byte waiting, threads;
bool locked;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

proctype Thread() {
    byte found, next;
    bool canLeave, leaves, starts;
    do
    ::  waiting++;
end:    atomic { edge -> edge = false }
#ifndef WRONG_3
        waiting--;
#endif
        lock();
        canLeave = waiting > 0;
        found = SLEEPS; next = SLEEPS; starts = false;
        atomic {
            byte i;
            for (i : 0 .. SLEEPS - 1) {
                if
                ::  !taken[i] && i < now && found == SLEEPS -> found = i; taken[i] = true
                ::  !taken[i] && next == SLEEPS && !(i < now && found == SLEEPS) -> next = i
                ::  else
                fi
            }
        }
#ifndef WRONG_2
        atomic {
            if
            ::  next == SLEEPS -> timerAt = 0
            ::  else -> timerAt = next + 1; if :: timerAt <= now -> edge = true; timerAt = 0 :: else fi
            fi
        }
#endif
#ifdef WRONG_1
        leaves = found < SLEEPS;
#else
        leaves = found < SLEEPS && canLeave;
#endif
        if :: found < SLEEPS && !canLeave && threads < THREADS -> threads++; starts = true :: else fi;
        unlock();
#ifdef WRONG_3
        waiting--;
#endif
        if :: starts -> run Thread() :: else fi;
        if :: found < SLEEPS -> ended[found]++ :: else fi;
        if
        ::  leaves ->
            // The task goes on here: it comes back, or it never does.
            if :: skip :: break fi
        ::  else
        fi
    od
}

active proctype Clock() {
    do
    ::  now < SLEEPS -> atomic { now++; if :: timerAt != 0 && timerAt <= now -> edge = true; timerAt = 0 :: else fi }
    ::  now == SLEEPS -> break
    od
}

init {
    byte i;
    threads = 1;
    run Thread();
    timeout;
    for (i : 0 .. SLEEPS - 1) { assert(ended[i] == 1) }
}
