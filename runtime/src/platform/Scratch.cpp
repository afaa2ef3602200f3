//===- Scratch.cpp - A file for what does not fit into memory -------------===//

#include "platform/Scratch.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace hone::rt::platform {

static Error errorOf(int number) { return {number, std::generic_category()}; }

Error writeAt(const File &file, const void *bytes, uint64_t size,
              uint64_t offset) {
  const char *from = static_cast<const char *>(bytes);
  while (size > 0) {
    ssize_t some = ::pwrite(file.handle(), from, size, off_t(offset));
    if (some < 0 && errno == EINTR)
      continue;
    if (some <= 0)
      return errorOf(some < 0 ? errno : ENOSPC);
    from += some;
    offset += uint64_t(some);
    size -= uint64_t(some);
  }
  return {};
}

#ifdef __APPLE__

Error reserve(const File &file, uint64_t size) {
  fstore_t store = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, off_t(size), 0};
  if (::fcntl(file.handle(), F_PREALLOCATE, &store) < 0 && errno != ENOTSUP)
    return errorOf(errno);
  return file.truncate(size);
}

// From the first call on the system keeps nothing of the file.
Error dropCache(const File &file, uint64_t, uint64_t) {
  (void)::fcntl(file.handle(), F_NOCACHE, 1);
  return {};
}

#else

Error reserve(const File &file, uint64_t size) {
  int error;
  do
    error = ::posix_fallocate(file.handle(), 0, off_t(size));
  while (error == EINTR);
  // musl does without where the file system does; a write then says that there
  // is no room.
  return error == EOPNOTSUPP ? file.truncate(size) : errorOf(error);
}

Error dropCache(const File &file, uint64_t offset, uint64_t size) {
  constexpr unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;
  const int error =
      ::sync_file_range(file.handle(), off_t(offset), off_t(size), all) == 0
          ? 0
          : errno;
  (void)::posix_fadvise(file.handle(), off_t(offset), off_t(size),
                        POSIX_FADV_DONTNEED);
  // Other errors say that the file system does not know of it.
  return errorOf(error == EIO || error == ENOSPC || error == EDQUOT ? error
                                                                    : 0);
}

#endif

} // namespace hone::rt::platform
