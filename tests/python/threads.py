# tests/python/threads.py -- threads beside the one that runs the tests.
import threading


def on_threads(*calls):
    """Make each call on a thread of its own, all at once, and wait until all have ended."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
