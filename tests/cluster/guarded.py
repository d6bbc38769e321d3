"""Run a command that ends when the process that started it ends, however it ends.

    python guarded.py COMMAND...

The starter holds the other end of this process's standard input. When that closes, the command gets
SIGTERM and, 10 seconds later, SIGKILL. The process id of the command is the first line of output.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def main() -> None:
    """Run the command and exit with its code."""
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    print(process.pid, flush=True)

    def wait_for_the_end_of_input() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()

    threading.Thread(target=wait_for_the_end_of_input, daemon=True).start()
    code = process.wait()
    os._exit(code)  # the thread may still be waiting for input


if __name__ == "__main__":
    main()
