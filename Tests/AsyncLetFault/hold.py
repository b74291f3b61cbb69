# SPDX-License-Identifier: Apache-2.0
# Shows a fault of Swift's runtime (seen in 6.3.1, x86-64): AsyncTask::completeFuture says by one exchange that the task is
# done, and then reads the task's flags to see if it is a group's child. The task of an `async let` lives in its parent's memory, and
# the parent, if it runs on another thread, may have left the scope between the two and use that memory for something else.
#
# This holds the thread of the child between the two for 100 ms, while the others go on (non-stop mode). A child that somebody
# waits for already is left alone: there the order is right.
import re
import time

import gdb

gdb.execute("set pagination off")
gdb.execute("set non-stop on")
gdb.execute("break main")
gdb.execute("run")

NAME = "_ZN5swift9AsyncTask14completeFutureEPNS_12AsyncContextE"


def after_exchange():
    """The address of the instruction behind the exchange, and the register that holds what was there before."""
    code = gdb.execute("disassemble " + NAME, to_string=True).splitlines()
    for line, following in zip(code, code[1:]):
        exchange = re.search(r"\sxchg\s+%(\w+),0x0\(", line)
        if exchange:
            return following.split()[0], exchange.group(1)
    raise gdb.GdbError("no exchange found in completeFuture: look at its disassembly")


class Hold(gdb.Breakpoint):
    held = 0

    def stop(self):
        waiting = int(gdb.parse_and_eval("$" + self.register)) & ~3
        if waiting == 0:
            self.held += 1
            time.sleep(0.1)
        return False


address, register = after_exchange()
hold = Hold("*" + address)
hold.register = register
gdb.execute("continue")
crashed = [thread for thread in gdb.selected_inferior().threads() if thread.is_stopped()]
for thread in crashed:
    thread.switch()
    gdb.execute("bt 5")
print("held %d times: %s" % (hold.held, "the runtime crashed" if crashed else "no crash"))
