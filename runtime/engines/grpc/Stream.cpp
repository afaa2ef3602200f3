//===- Stream.cpp - One call, which frames go through both ways -----------===//

#include "Stream.h"

#include <cstring>
#include <vector>

namespace hone::grpc_engine {

const char *const kMethod = "/hone.Exchange/Link";
const char *const kSelf = "hone-self", *const kPeer = "hone-peer",
                  *const kRun = "hone-run", *const kAccepted = "hone-link";

//===----------------------------------------------------------------------===//
// Of both sides
//===----------------------------------------------------------------------===//

void Stream::opened() {
  phase = Phase::Open;
  readOn();
}

void Stream::end() {
  if (phase < Phase::Ending)
    phase = Phase::Ending;
}

void Stream::happen(Event event, bool isOk) {
  switch (event) {
  case Event::Read:
    reads = false;
    if (!isOk) {
      end();
    } else if (phase != Phase::Open) { // nobody wants it
      readOn();
    } else if (hasFrame) {
      waits = true;
    } else {
      come.Swap(&in);
      hasFrame = true;
      readOn();
    }
    break;
  case Event::Written:
  case Event::Left:
    writes = false;
    if (!isOk)
      end();
    break;
  case Event::Ended:
    phase = Phase::Over;
    return;
  default:
    break;
  }
  settle();
}

void Stream::readOn() {
  in.Clear();
  reads = true;
  startRead();
}

void Stream::send(const void *bytes, uint64_t size) {
  const grpc::Slice slice(bytes, size);
  writes = true;
  startWrite(grpc::ByteBuffer(&slice, 1));
}

int64_t Stream::take(void *bytes, uint64_t capacity) {
  if (!hasFrame)
    return 0;
  int64_t size = int64_t(come.Length());
  std::vector<grpc::Slice> pieces;
  if (uint64_t(size) > capacity || !come.Dump(&pieces).ok())
    size = -1;
  auto *out = static_cast<char *>(bytes);
  for (const grpc::Slice &piece : pieces) {
    memcpy(out, piece.begin(), piece.size());
    out += piece.size();
  }
  come.Clear();
  hasFrame = std::exchange(waits, false);
  if (hasFrame) {
    come.Swap(&in);
    if (phase == Phase::Open)
      readOn();
  }
  return size;
}

void Stream::cancel() {
  if (phase == Phase::Over)
    return;
  end();
  hasFrame = waits = false;
  tryCancel();
  settle();
}

//===----------------------------------------------------------------------===//
// Of the side that dials
//===----------------------------------------------------------------------===//

void DialledStream::start(const std::shared_ptr<grpc::Channel> &channel,
                          grpc::CompletionQueue *queue, const std::string &self,
                          const std::string &peer, const std::string &run) {
  context.AddMetadata(kSelf, self);
  context.AddMetadata(kPeer, peer);
  context.AddMetadata(kRun, run);
  grpc::GenericStub stub(channel);
  call = stub.PrepareCall(&context, kMethod, queue);
  call->StartCall(tag(Event::Started));
}

void DialledStream::happen(Event event, bool isOk) {
  if (event == Event::Started && isOk) {
    call->ReadInitialMetadata(tag(Event::Opened));
    return;
  }
  // A side that refuses a call sends none of its own.
  const bool isAccepted =
      event == Event::Opened && isOk &&
      context.GetServerInitialMetadata().count(kAccepted) > 0;
  if (isAccepted && phase == Phase::Opening)
    opened();
  else if (event == Event::Started || event == Event::Opened)
    end();
  Stream::happen(event, isOk);
}

void DialledStream::leave() {
  if (phase != Phase::Open)
    return cancel();
  end();
  leaves = true;
  hasFrame = false;
  if (std::exchange(waits, false))
    readOn();
  settle();
}

void DialledStream::settle() {
  if (phase != Phase::Ending || writes || finishes)
    return;
  if (std::exchange(leaves, false)) {
    writes = true;
    call->WritesDone(tag(Event::Left));
  } else if (!reads) {
    finishes = true;
    call->Finish(&status, tag(Event::Ended));
  }
}

//===----------------------------------------------------------------------===//
// Of the side that is dialled
//===----------------------------------------------------------------------===//

void ServedStream::request(grpc::AsyncGenericService &service,
                           grpc::ServerCompletionQueue *queue) {
  service.RequestCall(&context, &call, queue, queue, tag(Event::Arrived));
}

void ServedStream::accept() {
  context.AddInitialMetadata(kAccepted, "1");
  writes = true;
  call.SendInitialMetadata(tag(Event::Written));
  opened();
}

void ServedStream::refuse(const grpc::Status &why) {
  reason = why;
  end();
  settle();
}

void ServedStream::leave() {
  hasFrame = waits = false;
  end();
  settle();
}

void ServedStream::settle() {
  // Its end may be told while a read is under way, which ends with it.
  if (phase != Phase::Ending || writes || finishes)
    return;
  finishes = true;
  call.Finish(reason, tag(Event::Ended));
}

std::string ServedStream::metadata(const char *key) const {
  const auto found = context.client_metadata().find(key);
  return found == context.client_metadata().end()
             ? ""
             : std::string(found->second.data(), found->second.size());
}

std::string ServedStream::certifiedName() const {
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  if (!shown || !shown->IsPeerAuthenticated())
    return "";
  const std::vector<grpc::string_ref> names =
      shown->FindPropertyValues("x509_common_name");
  return names.size() == 1 ? std::string(names[0].data(), names[0].size()) : "";
}

} // namespace hone::grpc_engine
