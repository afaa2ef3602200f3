//===- Offloading.cpp - Values of a step that rest in a file --------------===//
//
// A wait for a value that does not pass the cache by ends once the system has a
// copy. The thread then still brings that copy to the disk before it begins
// with the next, so no more than one value is in the system's cache, and a disk
// that does not keep up slows the step down instead of filling memory.
//
//===----------------------------------------------------------------------===//

#include "device/Offloading.h"

#include "base/ByteCount.h"
#include "base/OutputFile.h"
#include "device/Device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hone::rt {

static const char *remedyFor(platform::Error error) {
  switch (error.value()) {
  case ENOSPC:
  case EDQUOT:
    return "free some space, choose another folder, or set "
           "train.activation_offloading to false";
  case EFBIG:
    return "raise the limit on file size (ulimit -f)";
  default:
    return "check the disk and the folder";
  }
}

Result<std::unique_ptr<Offloading>>
Offloading::create(const std::string &folder, uint64_t bytes) {
  std::unique_ptr<Offloading> made(new Offloading());
  made->folder = folder;
  made->fileBytes = bytes;
  auto refused = [&](const char *doing, platform::Error error) {
    return Status(ErrorCode::CannotCreate, folder,
                  std::string(doing) + " for " + describeBytes(bytes) +
                      " of offloaded activations failed: " + error.message(),
                  remedyFor(error));
  };
  if (made->file.createUnnamed(folder)) { // not on all file systems
    const std::string path = temporaryPath(folder + "/offloaded");
    if (platform::Error error =
            made->file.open(path, platform::File::Mode::Update))
      return refused("creating a file", error);
    platform::removeFile(path.c_str());
  }
  if (platform::Error error = platform::reserve(made->file, bytes))
    return refused("reserving room", error);
  made->bounce = std::make_unique<Bounce>();
  // Some file systems accept the flag and then refuse transfers.
  constexpr uint64_t block = platform::directBlock;
  made->isDirect =
      platform::passCacheBy(made->file, true) &&
      !platform::writeAt(made->file, made->bounce->bytes, block, 0) &&
      made->file.readAt(made->bounce->bytes, block, 0) == block;
  if (!made->isDirect)
    platform::passCacheBy(made->file, false);
  if (std::error_code error =
          made->thread.start(HONE_THREAD_STACK_BYTES, enter, made.get()))
    return Status(ErrorCode::NoThread, "train.activation_offloading",
                  "the system refused to start a thread: " + error.message(),
                  "raise the limit on threads (ulimit -u)");
  made->isStarted = true;
  return made;
}

Offloading::~Offloading() {
  if (!isStarted)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stops = true;
  }
  changed.notify_all();
  thread.join();
}

void Offloading::post(const Request &request) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return posted - ended < mostRequests; });
  requests[posted++ % mostRequests] = request;
  changed.notify_all();
}

// The thread only reads the memory that it writes to the file.
void Offloading::write(const void *start, uint64_t bytes, uint64_t offset) {
  written += bytes;
  post({static_cast<char *>(const_cast<void *>(start)), bytes, offset,
        /*isWrite=*/true});
}

void Offloading::read(void *start, uint64_t bytes, uint64_t offset) {
  post({static_cast<char *>(start), bytes, offset, /*isWrite=*/false});
}

void Offloading::await(const void *start) {
  std::unique_lock<std::mutex> lock(mutex);
  for (uint64_t number = posted; number > ended; --number) {
    if (requests[(number - 1) % mostRequests].start != start)
      continue;
    return changed.wait(lock, [&] { return ended >= number; });
  }
}

Status Offloading::settle() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return ended == posted; });
  if (!hasFailed())
    return Status::ok();
  return Status(errorIsOfWrite ? ErrorCode::WriteFailed : ErrorCode::ReadFailed,
                folder,
                std::string(errorIsOfWrite ? "writing" : "reading") +
                    " offloaded activations failed: " + error.message(),
                errorIsOfWrite ? remedyFor(error) : "check the disk");
}

platform::Error Offloading::transfer(const Request &request) const {
  if (request.isWrite)
    return platform::writeAt(file, request.start, request.bytes,
                             request.offset);
  for (uint64_t done = 0; done < request.bytes;) {
    const uint64_t some = file.readAt(
        request.start + done, request.bytes - done, request.offset + done);
    if (some == 0)
      return make_error_code(std::errc::io_error);
    done += some;
  }
  return {};
}

// The file has room for whole blocks.
platform::Error Offloading::transferDirectly(const Request &request) const {
  constexpr uint64_t block = platform::directBlock;
  char *const piece = bounce->bytes;
  for (uint64_t done = 0; done < request.bytes;) {
    const uint64_t bytes =
        std::min<uint64_t>(sizeof bounce->bytes, request.bytes - done);
    const uint64_t whole = (bytes + block - 1) / block * block;
    if (request.isWrite) {
      std::memcpy(piece, request.start + done, bytes);
      std::memset(piece + bytes, 0, whole - bytes);
    }
    if (platform::Error error =
            transfer({piece, whole, request.offset + done, request.isWrite}))
      return error;
    if (!request.isWrite)
      std::memcpy(request.start + done, piece, bytes);
    done += bytes;
  }
  return {};
}

platform::Error Offloading::run(const Request &request) const {
  return isDirect ? transferDirectly(request) : transfer(request);
}

void Offloading::fail(platform::Error reason, bool isWrite) {
  if (hasFailed())
    return;
  error = reason;
  errorIsOfWrite = isWrite;
  failed.store(true, std::memory_order_release);
}

void *Offloading::enter(void *self) {
  static_cast<Offloading *>(self)->serve();
  return nullptr;
}

void Offloading::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stops || ended < posted; });
    if (ended == posted)
      return;
    const Request request = requests[ended % mostRequests];
    lock.unlock();
    platform::Error did = hasFailed() ? platform::Error() : run(request);
    // After a short write the rest begins within a block, which a direct one
    // refuses: through the cache it is written, or the cause is said.
    if (isDirect && request.isWrite && did == std::errc::invalid_argument)
      did = writeThroughCache(request.start, request.bytes, request.offset);
    lock.lock();
    if (did)
      fail(did, request.isWrite);
    ++ended;
    changed.notify_all();
    if (isDirect)
      continue;
    lock.unlock();
    const platform::Error lost =
        platform::dropCache(file, request.offset, request.bytes);
    lock.lock();
    if (lost)
      fail(lost, /*isWrite=*/true);
  }
}

/// Bytes copied at a time.
static constexpr uint64_t pieceBytes = 16 * 1024;

Status Offloading::visit(
    const std::function<Status(const char *part, uint64_t size)> &to) const {
  char piece[pieceBytes];
  for (uint64_t offset = 0; offset < fileBytes; offset += pieceBytes) {
    const uint64_t bytes = std::min(pieceBytes, fileBytes - offset);
    if (platform::Error failure = run({piece, bytes, offset, false}))
      return Status(ErrorCode::ReadFailed, folder,
                    "reading offloaded activations failed: " +
                        failure.message(),
                    "check the disk");
    HONE_TRY(to(piece, bytes));
  }
  return Status::ok();
}

platform::Error Offloading::writeThroughCache(const char *part, uint64_t size,
                                              uint64_t offset) {
  const bool wasDirect = isDirect;
  if (wasDirect)
    platform::passCacheBy(file, false);
  platform::Error failure = platform::writeAt(file, part, size, offset);
  if (!failure)
    failure = platform::dropCache(file, offset, size);
  // Where the way back is refused, all that follows goes through the cache.
  isDirect = wasDirect && platform::passCacheBy(file, true);
  return failure;
}

// Parts are of any size.
Status Offloading::fill(uint64_t offset, const char *part, uint64_t size) {
  const platform::Error failure = writeThroughCache(part, size, offset);
  return failure ? Status(ErrorCode::WriteFailed, folder,
                          "writing offloaded activations failed: " +
                              failure.message(),
                          remedyFor(failure))
                 : Status::ok();
}

} // namespace hone::rt

using hone::rt::Offloading;

static Offloading *of(const hone_frame *frame) {
  return reinterpret_cast<hone::rt::Device *>(frame->device)->offloadsTo();
}

extern "C" void hone_offload(const hone_frame *frame, const void *start,
                             int64_t bytes, int64_t offset) {
  if (Offloading *file = of(frame))
    file->write(start, uint64_t(bytes), uint64_t(offset));
}

extern "C" void hone_reload(const hone_frame *frame, void *start, int64_t bytes,
                            int64_t offset) {
  if (Offloading *file = of(frame))
    file->read(start, uint64_t(bytes), uint64_t(offset));
}

extern "C" void hone_await(const hone_frame *frame, const void *start) {
  if (Offloading *file = of(frame))
    file->await(start);
}
