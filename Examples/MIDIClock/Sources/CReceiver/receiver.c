// SPDX-License-Identifier: Apache-2.0
#include "receiver.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

static struct sockaddr_in loopback(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int receiver_open(uint16_t *port) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    int on = 1;
    struct timeval patience = {.tv_sec = 1};
    // SO_TIMESTAMPNS: socket(7). The receiver's own wake-up is not in the stamp.
    if (bind(descriptor, (struct sockaddr *)&address, length) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &length) != 0 ||
        setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0 ||
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        return -1;
    *port = ntohs(address.sin_port);
    return descriptor;
}

int receiver_read(int descriptor, int64_t *stamp_ns) {
    unsigned char byte = 0;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct timespec))];
    struct iovec vector = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    if (recvmsg(descriptor, &message, 0) != 1) return -1;
    for (struct cmsghdr *entry = CMSG_FIRSTHDR(&message); entry;
         entry = CMSG_NXTHDR(&message, entry)) {
        if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(entry), sizeof stamp);
        *stamp_ns = (int64_t)stamp.tv_sec * 1000000000 + stamp.tv_nsec;
        return byte;
    }
    return -1;
}

int sender_open(uint16_t port) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(port);
    return connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0 ? descriptor : -1;
}
