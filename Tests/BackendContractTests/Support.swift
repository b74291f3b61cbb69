import Glibc

func join(_ thread: pthread_t) {
    pthread_join(thread, nil)
}
