// SPDX-License-Identifier: Apache-2.0
// epoll(7), which Swift's Glibc module leaves out. For Examples/LoopInEpoll; no target of the
// library uses it.
#include <sys/epoll.h>
