# tests/python/threads.py -- threads beside the one that runs the tests.
import threading


def on_threads(*calls):
    """Make each call on a thread of its own, all at once, and wait until all have ended.

    Raises what the first that failed raised: else an assertion on a thread would fail no test.
    """
    errors = []

    def run(call):
        try:
            call()
        except BaseException as error:  # of the test, not of its thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
