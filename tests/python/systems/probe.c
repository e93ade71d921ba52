// tests/python/systems/probe.c -- a handler of a timer's signals that has no stack of its own, and
// notes where its frame lies.
//
// Compiled and loaded by beside_signals.py. A frame outside the stack of the main thread has
// overwritten what lay there.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

static const char* lowest;
static const char* highest;
static volatile long calls, calls_outside;

static void note(int number) {
  (void)number;
  const char* const frame = __builtin_frame_address(0);
  ++calls;
  if (gettid() == getpid() && (frame < lowest || frame > highest)) ++calls_outside;
}

/// From the main thread: a signal every so many microseconds from now on, none for 0.
void probe_every(long microseconds) {
  pthread_attr_t attributes;
  void* start;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  lowest = start;
  highest = lowest + size;
  struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct timeval period = {.tv_sec = 0, .tv_usec = microseconds};
  const struct itimerval timer = {.it_interval = period, .it_value = period};
  setitimer(ITIMER_REAL, &timer, NULL);
}

long probe_calls(void) { return calls; }
long probe_calls_outside(void) { return calls_outside; }
