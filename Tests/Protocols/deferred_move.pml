// The move of a source that takes no lock (SourceCore.postpone, close, laterDeadline): never called before the deadline that
// the last move gave, called once in the end, and no move that said it was made is lost.
//
// WRONG_1: the engine reads the deadline and leaves the word open while it calls.
// WRONG_2: the engine does not arm what it was moved to.
#define CLOSED 9
#define LAST 5

byte now = 1;
byte movable = 2;       // open: the deadline that holds
byte deadline = 2;      // the record's, under the lock
byte armed = 2;         // what the engine waits for; CLOSED for nothing
byte asked = 2;         // what the last move that was made asked for
bool locked, called, isOver;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }
inline close() {
    atomic {
        if :: movable != CLOSED -> deadline = movable;
#ifndef WRONG_1
            movable = CLOSED
#endif
        :: else
        fi
    }
}
inline settle() { atomic { movable = deadline; armed = deadline } }

proctype Mover(byte wanted) {
    byte before;
    bool done;
    before = movable;
    if
    ::  before <= wanted && before != CLOSED ->
        atomic {
            if :: movable == before -> movable = wanted; asked = wanted; done = true :: else fi
        }
    ::  else
    fi;
    if
    ::  !done ->
        lock();
        close();
        // A call that is on its way, or was made, is not disarmed.
        if :: !called -> atomic { deadline = wanted; asked = wanted; settle() } :: else fi;
        unlock()
    ::  else
    fi
}

active proctype Engine() {
    byte before;
    do
    ::  !called && armed != CLOSED && now >= armed ->
        lock();
        before = deadline;
        close();
        if
        ::  deadline > before ->
            atomic {
                movable = deadline;
#ifdef WRONG_2
                armed = CLOSED
#else
                armed = deadline
#endif
            }
        ::  else ->
            close();
            if
            ::  deadline > now -> settle()
            ::  else -> assert(now >= asked); called = true; armed = CLOSED
            fi
        fi;
        unlock()
    ::  called || now == LAST && (armed == CLOSED || armed > now) -> break
    od
}

active proctype Clock() {
    do :: now < LAST -> now++ :: now == LAST -> break od
}

init {
    run Mover(3);
    run Mover(4);
    timeout;
    assert(called)
}
