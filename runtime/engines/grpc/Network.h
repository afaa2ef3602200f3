//===- Network.h - The calls of one program -------------------------------===//
//
// One thread takes the events of all calls from gRPC, under one lock; threads
// that send and receive wait for it. It lives as long as the process: a link
// that was lost finds its port still open and its peers' addresses known.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Address.h"
#include "Stream.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace hone::grpc_engine {

class Network {
public:
  using Clock = std::chrono::steady_clock;

  /// Of `address`, which is opened the first time. Null: `why` is the reason.
  static Network *of(const std::string &address, std::string &why);

  /// A stream of `self` to `peer`. Null if there is none by `until`: `why` is
  /// the reason, and `refusal` is not 0 if it is of no use to try again:
  /// EACCES, EBUSY or EINVAL, as hone_engine::open has them.
  std::shared_ptr<Stream> open(const std::string &self, const std::string &peer,
                               Clock::time_point until, std::string &why,
                               int &refusal);

  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false; ///< the queue takes nothing more

private:
  /// The program that may dial as one peer: the first that did, as long as this
  /// process lives.
  struct Slot {
    std::string owner;
    std::shared_ptr<Stream> waiting, current;
  };
  struct Dialled {
    std::shared_ptr<grpc::Channel> channel;
    std::shared_ptr<DialledStream> call;
    /// How far the wall clock was ahead of the one that nobody sets.
    std::optional<Clock::duration> wallAhead;
    Clock::time_point lateUntil;

    /// Whether gRPC may be late to dial again, since its thread of timers
    /// sleeps by the wall clock and that was set back: by as much, at most.
    bool timersAreLate();
  };

  bool begin(const std::string &text, std::string &why);
  bool serve(std::string &why);
  std::shared_ptr<grpc::ServerCredentials> ownCredentials() const;
  /// Checks that the keys belong together, if there are any.
  bool keysFit(std::string &why) const;
  void run();
  static void endAll();
  void endOwn();

  void requestCall();
  void answer(const std::shared_ptr<ServedStream> &call);
  grpc::Status judge(const ServedStream &call, Slot *&slot);

  std::shared_ptr<Stream> dial(Dialled &own, const std::string &peer,
                               const std::string &where,
                               std::unique_lock<std::mutex> &lock,
                               Clock::time_point until, std::string &why,
                               int &refusal);
  std::shared_ptr<Stream> await(Slot &slot, std::unique_lock<std::mutex> &lock,
                                Clock::time_point until, std::string &why);

  Address address;
  Keys keys;
  std::string self; ///< the program of this process
  grpc::AsyncGenericService service;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::CompletionQueue>
      queue; ///< the server's, if there is one
  grpc::ServerCompletionQueue *arrivals = nullptr;
  std::map<std::string, Slot> slots;
  std::map<std::string, Dialled> dialled;
  std::thread thread;
};

} // namespace hone::grpc_engine
