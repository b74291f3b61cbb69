// A prepared callback (Spin, EngineState.callOff, EngineCore.make): the engine's thread commits it by one exchange without the
// lock, others withdraw it by one with the lock. It is called once, or never and cancel() says so; a call that was withdrawn
// for an earlier timer's sake comes later; and none begins after cancel() returned true.
//
// WRONG_1: the thread looks whether it was withdrawn, and commits afterwards.
// WRONG_2: cancel() withdraws without looking whether it has begun.
// WRONG_3: what was withdrawn, and not cancelled, is not put back.
// WRONG_4: cancel() takes what somebody else has withdrawn for begun.
mtype = { idle, waiting, begun, broken };
mtype spin = idle;
bool locked, running, live = true, armed = true;
bool cancelled, isSaidPending, cancelReturned;
byte calls;

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }
inline exchange(from, to) {
    atomic { if :: spin == from -> spin = to; done = true :: else -> done = false fi }
}

active proctype Engine() {
    bool done;
    do
    ::  lock();
        if
        ::  live && armed ->
            armed = false; running = true; spin = waiting;
            unlock();
            // Up to here it spun, until the deadline or until it was woken.
#ifdef WRONG_1
            done = (spin == waiting);
            if :: done -> spin = begun :: else fi;
#else
            exchange(waiting, begun);
#endif
            if
            ::  done -> assert(!(cancelReturned && isSaidPending)); calls++
            ::  else
            fi;
            lock();
            done = (spin != broken);
            spin = idle; running = false;
            if
            ::  done -> live = false
#ifdef WRONG_3
            ::  else
#else
            ::  else -> armed = live
#endif
            fi;
            unlock()
        ::  else -> unlock(); break
        fi
    od
}

active proctype Canceller() {
    bool done;
    if :: skip :: goto out fi;  // or nobody cancels
    lock();
    if
    ::  live ->
        done = false;
        if
        ::  running ->
#ifdef WRONG_2
            spin = broken; done = true
#else
            exchange(waiting, broken)
#endif
        ::  else
        fi;
#ifdef WRONG_4
        isSaidPending = !running || done;
#else
        isSaidPending = !running || spin != begun;
#endif
        cancelled = true; live = false; armed = false
    ::  else
    fi;
    unlock();
    cancelReturned = true;
out: skip
}

// Somebody arms a timer for an earlier deadline: the thread has to look anew.
active proctype Earlier() {
    bool done;
    lock();
    if :: running -> exchange(waiting, broken) :: else fi;
    unlock()
}

active proctype Judge() {
    timeout;
    assert(calls == (isSaidPending -> 0 : 1))
}
