/*===- RecordCalls.c - Records what a run does to files --------------------===//
//
// Preloaded by power-cut.sh. Appends a line to $HONE_TRACE for each call below
// that changes something under $HONE_TRACE_ROOT, and the bytes written to
// $HONE_TRACE.data; PowerCut.cpp reads both. With HONE_TRACE_CALLS=N the
// process is gone after the N-th. A call that is missing here shows: the replay
// of all of them differs from the run's files.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int trace = -1, data = -1;
static long calls, limit;
static char tracked[1024];
static const char *root;
static size_t rootSize;

static int openTrace(const char *path, const char *extension) {
  char name[4096];
  snprintf(name, sizeof(name), "%s%s", path, extension);
  /* Far from the descriptors of the run. */
  int file = (int)syscall(SYS_openat, AT_FDCWD, name,
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  int far = fcntl(file, F_DUPFD_CLOEXEC, 900);
  syscall(SYS_close, file);
  return far;
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("HONE_TRACE"), *most = getenv("HONE_TRACE_CALLS");
  root = getenv("HONE_TRACE_ROOT");
  if (!path || !root)
    return;
  rootSize = strlen(root);
  limit = most ? atol(most) : 0;
  data = openTrace(path, ".data");
  trace = openTrace(path, "");
}

/* `path` within the root, or null. */
static const char *inside(const char *path) {
  if (trace < 0 || strncmp(path, root, rootSize) != 0)
    return NULL;
  if (!path[rootSize])
    return ".";
  return path[rootSize] == '/' ? path + rootSize + 1 : NULL;
}

static int isTracked(int file) {
  return file >= 0 && file < (int)sizeof(tracked) && tracked[file];
}

static void record(const char *format, ...) {
  char line[8192];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&lock);
  syscall(SYS_write, trace, line, (size_t)size);
  if (++calls == limit)
    _exit(99);
  pthread_mutex_unlock(&lock);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = va_arg(arguments, int);
  va_end(arguments);
  const char *name = inside(path);
  struct stat info;
  int isNew = (flags & O_CREAT) && name && lstat(path, &info) != 0;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (file < 0 || file >= (int)sizeof(tracked))
    return file;
  /* A file without a name is gone with the power. */
  tracked[file] = name && (flags & O_TMPFILE) != O_TMPFILE;
  if (tracked[file] && (isNew || (flags & (O_ACCMODE | O_DIRECTORY))))
    record("%s\t%d\t%s\n", isNew ? "create" : "open", file, name);
  if (tracked[file] && !isNew && (flags & O_TRUNC))
    record("size\t%d\t0\n", file);
  return file;
}

int open64(const char *path, int flags, ...)
    __attribute__((alias("open")));

int close(int file) {
  if (isTracked(file))
    tracked[file] = 0;
  return (int)syscall(SYS_close, file);
}

static void recordWrite(int file, long long at, const void *bytes, long size) {
  long long from = lseek(data, 0, SEEK_END);
  syscall(SYS_write, data, bytes, (size_t)size);
  record("write\t%d\t%lld\t%lld\t%ld\n", file, at, from, size);
}

ssize_t write(int file, const void *bytes, size_t size) {
  long long at = -1;
  if (isTracked(file))
    at = lseek(file, 0, fcntl(file, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  ssize_t some = syscall(SYS_write, file, bytes, size);
  if (some > 0 && at >= 0)
    recordWrite(file, at, bytes, some);
  return some;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  ssize_t some = syscall(SYS_pwrite64, file, bytes, size, at);
  if (some > 0 && isTracked(file))
    recordWrite(file, at, bytes, some);
  return some;
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at)
    __attribute__((alias("pwrite")));

int ftruncate(int file, off_t size) {
  int result = (int)syscall(SYS_ftruncate, file, size);
  if (result == 0 && isTracked(file))
    record("size\t%d\t%lld\n", file, (long long)size);
  return result;
}

int ftruncate64(int file, off64_t size) __attribute__((alias("ftruncate")));

int fsync(int file) {
  if (isTracked(file))
    record("sync\t%d\n", file);
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) { return fsync(file); }

/* Of the calls on names only those that succeed are recorded. */
static int changed(int result, const char *call, const char *path,
                   const char *to) {
  if (result == 0 && inside(path))
    record("%s\t%s%s%s\n", call, inside(path), to ? "\t" : "",
           to ? inside(to) : "");
  return result;
}

int rename(const char *from, const char *to) {
  return changed(
      (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), "rename",
      from, to);
}

int unlink(const char *path) {
  return changed((int)syscall(SYS_unlinkat, AT_FDCWD, path, 0), "unlink", path,
                 NULL);
}

int rmdir(const char *path) {
  return changed((int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR),
                 "unlink", path, NULL);
}

int mkdir(const char *path, mode_t mode) {
  return changed((int)syscall(SYS_mkdirat, AT_FDCWD, path, mode), "mkdir", path,
                 NULL);
}
