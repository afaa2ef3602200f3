/*===- FailCall.c - Makes one system call fail -----------------------------===//
//
// Preloaded by faults.sh. HONE_FAIL_CALL=N fails the N-th call of those below,
// N+ that and all later ones. The failed calls are written to $HONE_FAILED.
// Calls before main() are the loader's and do not count.
//
//===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static long first, last;

__attribute__((constructor)) static void start(void) {
  const char *text = getenv("HONE_FAIL_CALL");
  first = text ? atol(text) : 0;
  last = text && strchr(text, '+') ? 1L << 40 : first;
}

/* Whether this call fails, with errno. */
static int fails(const char *name, int error) {
  long call = atomic_fetch_add(&calls, 1) + 1;
  if (call < first || call > last)
    return 0;
  const char *path = getenv("HONE_FAILED");
  long file = !path ? -1
                    : syscall(SYS_openat, AT_FDCWD, path,
                              O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file >= 0) {
    syscall(SYS_write, file, name, strlen(name));
    syscall(SYS_close, file);
  }
  errno = error;
  return 1;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int mode = va_arg(arguments, int);
  va_end(arguments);
  /* What the program asks of itself is no file of a run. */
  if (strncmp(path, "/proc/", 6) != 0 &&
      fails("open", flags & O_CREAT ? ENOSPC : EMFILE))
    return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
    __attribute__((alias("open")));

ssize_t write(int file, const void *bytes, size_t size) {
  if (file > 2 && fails("write", ENOSPC))
    return -1;
  return syscall(SYS_write, file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  if (fails("pwrite", ENOSPC))
    return -1;
  return syscall(SYS_pwrite64, file, bytes, size, at);
}

int fsync(int file) {
  return fails("fsync", EIO) ? -1 : (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  return fails("fdatasync", EIO) ? -1 : (int)syscall(SYS_fdatasync, file);
}

int ftruncate(int file, off_t size) {
  return fails("ftruncate", EIO) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}

int rename(const char *from, const char *to) {
  return fails("rename", ENOSPC)
             ? -1
             : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdir(const char *path, mode_t mode) {
  return fails("mkdir", ENOSPC)
             ? -1
             : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int flock(int file, int operation) {
  return fails("flock", ENOLCK) ? -1 : (int)syscall(SYS_flock, file, operation);
}

void *mmap(void *at, size_t size, int protection, int flags, int file,
           off_t offset) {
  /* malloc and the loader do not come here. */
  if (fails("mmap", ENOMEM))
    return MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

/* Those below only ask, or remove. */

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int stat(const char *path, struct stat *info) {
  return fails("stat", EIO) ? -1 : NEXT(stat)(path, info);
}

int lstat(const char *path, struct stat *info) {
  return fails("lstat", EIO) ? -1 : NEXT(lstat)(path, info);
}

int fstat(int file, struct stat *info) {
  return fails("fstat", EIO) ? -1 : NEXT(fstat)(file, info);
}

ssize_t read(int file, void *bytes, size_t size) {
  return fails("read", EIO) ? -1 : syscall(SYS_read, file, bytes, size);
}

ssize_t pread(int file, void *bytes, size_t size, off_t at) {
  return fails("pread", EIO) ? -1
                             : syscall(SYS_pread64, file, bytes, size, at);
}

off_t lseek(int file, off_t at, int whence) {
  return fails("lseek", EIO) ? -1 : syscall(SYS_lseek, file, at, whence);
}

DIR *opendir(const char *path) {
  return fails("opendir", EMFILE) ? NULL : NEXT(opendir)(path);
}

struct dirent *readdir(DIR *folder) {
  return fails("readdir", EIO) ? NULL : NEXT(readdir)(folder);
}

int close(int file) {
  int result = (int)syscall(SYS_close, file);
  return fails("close", EIO) ? -1 : result;
}

int unlink(const char *path) {
  return fails("unlink", EIO) ? -1
                              : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rmdir(const char *path) {
  return fails("rmdir", EIO)
             ? -1
             : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
  return fails("getrandom", ENOSYS)
             ? -1
             : syscall(SYS_getrandom, bytes, size, flags);
}

int madvise(void *at, size_t size, int advice) {
  return fails("madvise", ENOMEM) ? -1
                                  : (int)syscall(SYS_madvise, at, size, advice);
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
  return fails("sched_getaffinity", EPERM)
             ? -1
             : NEXT(sched_getaffinity)(process, size, set);
}

int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *with) {
  if (fails("pthread_create", EAGAIN))
    return EAGAIN;
  return NEXT(pthread_create)(id, attributes, run, with);
}
