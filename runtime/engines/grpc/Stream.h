//===- Stream.h - One call, which frames go through both ways -------------===//
//
// Of either side: at most one read and one write are under way, and the call's
// end is asked for when neither is. All functions are called under the
// network's lock; none waits.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace hone::grpc_engine {

extern const char *const kMethod;
/// Metadata: the program that dials, the one that it dials, and its run; and
/// the other side's acceptance of a call.
extern const char *const kSelf, *const kPeer, *const kRun, *const kAccepted;

class Stream : public std::enable_shared_from_this<Stream> {
public:
  enum class Event { Arrived, Started, Opened, Read, Written, Left, Ended };
  /// The tag that gRPC gives back when an event has happened.
  struct Tag {
    std::shared_ptr<Stream> stream;
    Event event;
  };

  virtual ~Stream() = default;
  virtual void happen(Event event, bool isOk);

  bool isOpen() const { return phase == Phase::Open; }
  /// Whether nothing more will come.
  bool isLost() const { return phase > Phase::Open && !hasFrame; }
  bool isOver() const { return phase == Phase::Over; }
  bool isWriting() const { return writes; }

  /// Of an open one that is not writing.
  void send(const void *bytes, uint64_t size);
  /// Writes the frame that has come, if there is one, and asks for the next.
  /// Its size, 0, or -1 if it has more than `capacity` bytes.
  int64_t take(void *bytes, uint64_t capacity);

  /// Ends it after all frames have left.
  virtual void leave() = 0;
  /// Ends it at once.
  void cancel();

protected:
  enum class Phase { Opening, Open, Ending, Over };
  void *tag(Event event) { return new Tag{shared_from_this(), event}; }
  void opened();
  void end();
  void readOn();
  virtual void settle() = 0; ///< asks for the end when nothing is under way

  virtual void startRead() = 0;
  virtual void startWrite(const grpc::ByteBuffer &frame) = 0;
  virtual void tryCancel() = 0;

  Phase phase = Phase::Opening;
  bool reads = false, writes = false, finishes = false;
  /// Whether one has come, and another one after it.
  bool hasFrame = false, waits = false;
  grpc::ByteBuffer come, in;
};

/// Of the side that dials.
class DialledStream final : public Stream {
public:
  void start(const std::shared_ptr<grpc::Channel> &channel,
             grpc::CompletionQueue *queue, const std::string &self,
             const std::string &peer, const std::string &run);
  void happen(Event event, bool isOk) override;
  void leave() override;
  /// Why, of one that is over.
  grpc::Status status;

private:
  void settle() override;
  void startRead() override { call->Read(&in, tag(Event::Read)); }
  void startWrite(const grpc::ByteBuffer &frame) override {
    call->Write(frame, tag(Event::Written));
  }
  void tryCancel() override { context.TryCancel(); }

  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
  bool leaves = false;
};

/// Of the side that is dialled.
class ServedStream final : public Stream {
public:
  /// Waits for a call; Arrived happens.
  void request(grpc::AsyncGenericService &service,
               grpc::ServerCompletionQueue *queue);
  void accept();
  void refuse(const grpc::Status &reason);
  void leave() override;

  const std::string &method() const { return context.method(); }
  /// "" if there is none.
  std::string metadata(const char *key) const;
  /// Of the certificate that the other side has shown; "" if it has none.
  std::string certifiedName() const;

private:
  void settle() override;
  void startRead() override { call.Read(&in, tag(Event::Read)); }
  void startWrite(const grpc::ByteBuffer &frame) override {
    call.Write(frame, tag(Event::Written));
  }
  void tryCancel() override { context.TryCancel(); }

  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter call{&context};
  grpc::Status reason;
};

} // namespace hone::grpc_engine
