// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../vs_source.h"
#include "vs_xcb.h"

// Returns a connected socket, or a negative errno.
static int connect_local(long number, int is_abstract) {
    int fd = (int)HRT_CALL(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fd;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    // An abstract address begins with a zero byte (unix(7)).
    char *path = address.sun_path + is_abstract;
    int length = snprintf(path, sizeof address.sun_path - 1, "/tmp/.X11-unix/X%ld", number);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int status = HRT_STATUS(connect(fd, (struct sockaddr *)&address, bytes));
    if (status == 0) return fd;
    close(fd);
    return status;
}

int vs_x11_answers(const char *display, int within_ms) {
    if (!display) display = getenv("DISPLAY");
    if (!display) return -ECONNREFUSED;
    if (strncmp(display, "unix:", 5) == 0) display += 4;
    if (*display != ':') return 0;
    char *end;
    long number = strtol(display + 1, &end, 10);
    if (end == display + 1 || number < 0) return 0;
    int fd = connect_local(number, 1);
    if (fd < 0) fd = connect_local(number, 0);
    if (fd == -EAGAIN) return -ETIMEDOUT;  // the server's backlog is full
    if (fd < 0) return -ECONNREFUSED;
    // Introduces itself as a client of version 0, which every server refuses; the refusal is an
    // answer. A client that is accepted could be the last one to leave, at which servers reset
    // (CloseDownClient in dix/dispatch.c).
    static const unsigned char hello[12] = {'l', 0, 0, 0};
    int status = -ECONNREFUSED;
    if (HRT_CALL(send(fd, hello, sizeof hello, MSG_NOSIGNAL)) == sizeof hello) {
        char byte;
        if (!vs_wait_readable(fd, vs_now_ms() + within_ms)) {
            status = -ETIMEDOUT;
        } else if (HRT_CALL(recv(fd, &byte, 1, MSG_DONTWAIT)) == 1) {
            status = 0;
        }
    }
    close(fd);
    return status;
}
#endif
