//===- Network.cpp - The calls of one program -----------------------------===//

#include "Network.h"

#include "Listening.h"
#include "Memory.h"
#include "Timing.h"
#include "hone/engine.h"

#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

/// In the OpenSSL that gRPC brings; null: it brings another library.
extern "C" __attribute__((weak)) int OPENSSL_init_crypto(uint64_t options,
                                                         const void *settings);
/// OPENSSL_INIT_NO_ATEXIT.
static constexpr uint64_t kNoCleanup = 0x00080000;

namespace hone::grpc_engine {

using std::chrono::milliseconds;

/// Parts of a model are at most so many.
static constexpr size_t kMostSlots = 64;
/// Most bytes of a name that the other side gives.
static constexpr size_t kMostName = 128;
/// For the last frames to leave, when the process ends.
static constexpr milliseconds kMostLeave{300};
/// A wall clock that differs by less was not set.
static constexpr milliseconds kMostSlewed{500};

/// Both sides say that they are there, and permit the other to.
static const std::pair<const char *, int> kOfBothSides[] = {
    {GRPC_ARG_KEEPALIVE_TIME_MS, kPingEvery},
    {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingAnswer},
    {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
    {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
     kPingPermittedEvery},
    // Probing would let a slow receiver's window grow by 10 MiB on a fast
    // link, and no setting bounds it. Without it gRPC asks for each frame, of
    // the stream and of the connection in one record.
    {GRPC_ARG_HTTP2_BDP_PROBE, 0},
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindow},
    {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, HONE_FRAME_BYTES},
    {GRPC_ARG_MAX_METADATA_SIZE, 8192},
    {GRPC_ARG_ENABLE_CHANNELZ, 0},
};

//===----------------------------------------------------------------------===//
// Its beginning and its end
//===----------------------------------------------------------------------===//

namespace {
struct All {
  std::mutex mutex;
  std::map<std::string, Network *> byAddress;
};
} // namespace

/// Never destroyed, so that it outlives static objects.
static All &all() {
  static auto *one = new All;
  return *one;
}

Network *Network::of(const std::string &address, std::string &why) {
  std::lock_guard<std::mutex> lock(all().mutex);
  Network *&own = all().byAddress[address];
  if (own)
    return own;
  static const bool isBegun = [] {
    // All that a program has to say is in the errors of its own.
    setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
    // OpenSSL would clean up before endAll(), and under gRPC's own threads,
    // which nothing ends.
    if (OPENSSL_init_crypto)
      OPENSSL_init_crypto(kNoCleanup, nullptr);
    return atexit(endAll) == 0;
  }();
  (void)isBegun;
  auto made = std::make_unique<Network>();
  if (made->begin(address, why))
    own = made.release();
  return own;
}

bool Network::begin(const std::string &text, std::string &why) {
  if (!address.parse(text, why))
    return false;
  if (!address.keys.empty() && !keys.read(address.keys, why))
    return false;
  for (bool serves : {true, false})
    if ((serves ? !address.serve.empty() : !address.connect.empty()) &&
        !address.keys.empty() && !keys.isFor(serves)) {
      why =
          address.keys + "/cert.pem: is the certificate of a program that " +
          (serves ? "connects; hone-keys issue makes that of one that serves "
                    "with --dns HOST"
                  : "serves; hone-keys issue makes that of one that connects");
      return false;
    }
  std::string names;
  if (!address.admit.empty() && !readFile(address.admit, names, why))
    return false;
  if (!address.serve.empty() ? !serve(why) : !keysFit(why))
    return false;
  if (!queue)
    queue = std::make_unique<grpc::CompletionQueue>();
  thread = std::thread([this] { run(); });
  if (arrivals) {
    std::lock_guard<std::mutex> lock(mutex);
    requestCall();
  }
  return true;
}

std::shared_ptr<grpc::ServerCredentials> Network::ownCredentials() const {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = keys.authority;
  options.pem_key_cert_pairs.push_back({keys.key, keys.certificate});
  return grpc::SslServerCredentials(options);
}

bool Network::keysFit(std::string &why) const {
  if (address.keys.empty())
    return true;
  // gRPC's client says nothing of keys that it cannot use, and tries for ever.
  // Its server does not begin with them. This one is known to nobody.
  grpc::ServerBuilder builder;
  builder.AddListeningPort(
      "unix-abstract:hone-keys-" + std::to_string(getpid()), ownCredentials());
  const std::unique_ptr<grpc::ServerCompletionQueue> own =
      builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> tried = builder.BuildAndStart();
  if (tried)
    tried->Shutdown();
  own->Shutdown();
  void *tag;
  for (bool isOk; own->Next(&tag, &isOk);)
    ;
  if (!tried)
    why = address.keys +
          ": expects a certificate, its key and that of its authority, but "
          "they do not fit; hone-keys issue makes such a folder";
  return tried != nullptr;
}

bool Network::serve(std::string &why) {
  const std::string problem = problemOfListening(address.serve);
  if (!problem.empty()) {
    why = "cannot listen at " + address.serve + ": " + problem;
    return false;
  }
  grpc::ServerBuilder builder;
  std::shared_ptr<grpc::ServerCredentials> credentials =
      grpc::InsecureServerCredentials();
  if (!isLocal(address.serve)) {
    if (!keysFit(why))
      return false;
    credentials = ownCredentials();
  }
  int port = 0;
  builder.AddListeningPort(address.serve, credentials, &port);
  for (auto [name, value] : kOfBothSides)
    builder.AddChannelArgument(name, value);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 16);
  // Two programs at one port would share the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterAsyncGenericService(&service);
  std::unique_ptr<grpc::ServerCompletionQueue> own =
      builder.AddCompletionQueue();
  // A socket in the file system is for this user alone.
  const mode_t before = umask(077);
  server = builder.BuildAndStart();
  umask(before);
  if (!server || port == 0) {
    own->Shutdown();
    why = "cannot listen at " + address.serve +
          ": another program may have taken it";
    return false;
  }
  arrivals = own.get();
  queue = std::move(own);
  return true;
}

void Network::endAll() {
  std::lock_guard<std::mutex> lock(all().mutex);
  for (auto &[text, own] : all().byAddress)
    if (own)
      own->endOwn();
}

void Network::endOwn() {
  const Clock::time_point until = Clock::now() + kMostLeave;
  if (server) {
    server->Shutdown(gpr_time_from_millis(kMostLeave.count(), GPR_TIMESPAN));
    server->Wait();
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    for (auto &each : dialled) {
      const std::shared_ptr<DialledStream> call = each.second.call;
      if (!call)
        continue;
      auto hasEnded = [&] { return call->isOver(); };
      if (call->isOpen())
        call->leave();
      changed.wait_until(lock, until, hasEnded);
      call->cancel();
      changed.wait_until(lock, until + kMostLeave, hasEnded);
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
    queue->Shutdown();
  }
  thread.join();
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void Network::run() {
  void *given = nullptr;
  for (bool isOk = false; queue->Next(&given, &isOk);) {
    const std::unique_ptr<Stream::Tag> tag(static_cast<Stream::Tag *>(given));
    std::lock_guard<std::mutex> lock(mutex);
    if (isOver) // a call that is late begins nothing: gRPC would abort
      continue;
    if (tag->event != Stream::Event::Arrived)
      tag->stream->happen(tag->event, isOk);
    else if (isOk) // else the server ends
      answer(std::static_pointer_cast<ServedStream>(tag->stream));
    changed.notify_all();
  }
}

void Network::requestCall() {
  std::make_shared<ServedStream>()->request(service, arrivals);
}

void Network::answer(const std::shared_ptr<ServedStream> &call) {
  requestCall();
  Slot *slot = nullptr;
  const grpc::Status judged = judge(*call, slot);
  if (!judged.ok())
    return call->refuse(judged);
  // A peer that dials again knows that the stream before is lost.
  for (std::shared_ptr<Stream> *old : {&slot->waiting, &slot->current})
    if (*old)
      (*old)->cancel();
  slot->waiting = call;
  call->accept();
}

grpc::Status Network::judge(const ServedStream &call, Slot *&slot) {
  using grpc::StatusCode;
  std::string name;
  if (call.method() != kMethod)
    return {StatusCode::UNIMPLEMENTED, "expects a program that trains"};
  if (!isLocal(address.serve)) {
    name = call.certifiedName();
    if (!isAdmitted(address.admit, name))
      return {StatusCode::PERMISSION_DENIED,
              "'" + name + "' is not in the list of those to admit"};
  }
  const std::string theirs = call.metadata(kSelf), ours = call.metadata(kPeer),
                    owner = name + "/" + call.metadata(kRun);
  if (theirs.empty() || theirs.size() > kMostName ||
      owner.size() > 3 * kMostName)
    return {StatusCode::INVALID_ARGUMENT, "expects the name of a program"};
  if (self.empty())
    return {StatusCode::UNAVAILABLE, "the program has just begun"};
  if (ours != self)
    return {StatusCode::FAILED_PRECONDITION,
            "the program there is '" + self + "'"};
  if (slots.size() == kMostSlots && slots.count(theirs) == 0)
    return {StatusCode::FAILED_PRECONDITION, "there are too many programs"};
  slot = &slots[theirs];
  if (slot->owner.empty())
    slot->owner = owner;
  if (slot->owner != owner)
    return {StatusCode::ABORTED, "busy: '" + self +
                                     "' trains with another program as '" +
                                     theirs + "'"};
  return grpc::Status::OK;
}

//===----------------------------------------------------------------------===//
// A stream
//===----------------------------------------------------------------------===//

std::shared_ptr<Stream> Network::open(const std::string &own,
                                      const std::string &peer,
                                      Clock::time_point until, std::string &why,
                                      int &refusal) {
  std::unique_lock<std::mutex> lock(mutex);
  self = own;
  refusal = 0;
  const std::string where = address.toDial(peer);
  if (!where.empty())
    return dial(dialled[peer], peer, where, lock, until, why, refusal);
  if (arrivals)
    return await(slots[peer], lock, until, why);
  refusal = EINVAL;
  why = "expects the address of '" + peer + "', or one to serve at";
  return nullptr;
}

std::shared_ptr<Stream> Network::await(Slot &slot,
                                       std::unique_lock<std::mutex> &lock,
                                       Clock::time_point until,
                                       std::string &why) {
  auto isThere = [&] { return slot.waiting && slot.waiting->isOpen(); };
  if (!changed.wait_until(lock, until, isThere)) {
    why = "nobody has dialled";
    return nullptr;
  }
  slot.current = std::move(slot.waiting);
  slot.waiting = nullptr;
  return slot.current;
}

/// The error if a call has ended so that another try is of no use; 0: try
/// again.
static int refusalOf(const grpc::Status &status) {
  switch (status.error_code()) {
  case grpc::StatusCode::PERMISSION_DENIED:
    return EACCES;
  case grpc::StatusCode::ABORTED:
    return EBUSY;
  case grpc::StatusCode::FAILED_PRECONDITION:
  case grpc::StatusCode::INVALID_ARGUMENT:
  case grpc::StatusCode::UNIMPLEMENTED:
    return EINVAL;
  default:
    return 0;
  }
}

bool Network::Dialled::timersAreLate() {
  const Clock::time_point now = Clock::now();
  const auto ahead = std::chrono::duration_cast<Clock::duration>(
                         std::chrono::system_clock::now().time_since_epoch()) -
                     now.time_since_epoch();
  if (wallAhead && ahead < *wallAhead - kMostSlewed)
    lateUntil = std::max(lateUntil, now + (*wallAhead - ahead));
  wallAhead = ahead;
  return now < lateUntil;
}

std::shared_ptr<Stream> Network::dial(Dialled &own, const std::string &peer,
                                      const std::string &where,
                                      std::unique_lock<std::mutex> &lock,
                                      Clock::time_point until, std::string &why,
                                      int &refusal) {
  if (!own.channel) {
    grpc::ChannelArguments arguments;
    for (auto [name, value] : kOfBothSides)
      arguments.SetInt(name, value);
    // gRPC adds the jitter.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstPause);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMostPause);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    std::shared_ptr<grpc::ChannelCredentials> credentials =
        grpc::InsecureChannelCredentials();
    if (!isLocal(where))
      credentials =
          grpc::SslCredentials({keys.authority, keys.key, keys.certificate});
    own.channel = grpc::CreateCustomChannel(where, credentials, arguments);
  }
  if (own.timersAreLate())
    grpc::experimental::ChannelResetConnectionBackoff(own.channel.get());
  // The stream before is of no use once another is opened.
  if (own.call && own.call->isOpen())
    own.call->cancel();
  if (!own.call || own.call->isLost()) {
    own.call = std::make_shared<DialledStream>();
    own.call->start(own.channel, queue.get(), self, peer, address.run);
  }
  changed.wait_until(lock, until,
                     [&] { return own.call->isOpen() || own.call->isOver(); });
  if (own.call->isOpen())
    return own.call;
  if (!own.call->isOver()) {
    why = why.empty() ? where + " has not answered" : why;
    return nullptr;
  }
  why = own.call->status.error_message();
  refusal = refusalOf(own.call->status);
  own.call = nullptr;
  if (refusal == 0)
    changed.wait_until(lock, until, [] { return false; });
  return nullptr;
}

} // namespace hone::grpc_engine
