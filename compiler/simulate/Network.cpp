//===- Network.cpp - Messages between programs in virtual time ------------===//

#include "compiler/simulate/Network.h"

#include "exchange/LinkPlan.h"
#include "grpc/Memory.h"
#include "step/Transport.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hone::simulate {

using rt::FrameKind;

uint64_t grpcPayload(size_t programs) {
  const hone_engine engine = grpc_engine::planned();
  return rt::LinkPlan(engine, programs)
      .payloadFor(std::numeric_limits<uint64_t>::max());
}

Network::Network(uint32_t programs, Link link) : link(link), nodes(programs) {}

void Network::postSend(const Key &key, uint64_t size, double time) {
  travels[key].sent = size;
  add(time, Event::PostSend, {FrameKind::Data, key}, size);
}

void Network::postReceive(const Key &key, uint64_t size, double time) {
  travels[key].wanted = size;
  add(time, Event::PostReceive, {FrameKind::Data, key}, size);
}

std::optional<double> Network::endOf(const Key &key, bool isSent) const {
  const auto found = travels.find(key);
  if (found == travels.end()) // a small one that is over
    return 0.0;
  const Travel &travel = found->second;
  if (!isSent)
    return travel.isReceiving ? travel.received : std::nullopt;
  // Of a small message there is a copy, for which nobody waits.
  if (travel.sent <= rt::kEagerBytes)
    return 0.0;
  return travel.acknowledged;
}

bool Network::misfits(const Key &key) const {
  const auto found = travels.find(key);
  return found != travels.end() && found->second.isSending &&
         found->second.isReceiving &&
         found->second.sent != found->second.wanted;
}

void Network::forget(const Key &key, bool isSent) {
  const auto found = travels.find(key);
  if (found == travels.end())
    return;
  (isSent ? found->second.isSendForgotten : found->second.isReceiveForgotten) =
      true;
  clean(key);
}

void Network::clean(const Key &key) {
  const auto found = travels.find(key);
  if (found != travels.end() && found->second.acknowledged &&
      found->second.isReceiveForgotten &&
      (found->second.isSendForgotten || found->second.sent <= rt::kEagerBytes))
    travels.erase(found);
}

std::optional<Network::Key> Network::advance() {
  if (events.empty())
    return std::nullopt;
  const Event event = events.top();
  events.pop();
  const Key &key = event.frame.message;
  switch (event.kind) {
  case Event::PostSend: {
    Travel &travel = travels[key];
    travel.isSending = true;
    travel.isCredited |= event.size <= rt::kEagerBytes;
    send(key, travel, event.time);
    break;
  }
  case Event::PostReceive: {
    Travel &travel = travels[key];
    travel.isReceiving = true;
    if (travel.received)
      travel.received = std::max(*travel.received, event.time);
    else if (event.size > rt::kEagerBytes)
      sendControl(FrameKind::Credit, key, event.time);
    break;
  }
  case Event::Opens:
    begin(event.frame.from(), event.time);
    break;
  case Event::Left:
    nodes[event.frame.from()].isSending = false;
    begin(event.frame.from(), event.time);
    break;
  case Event::Comes: {
    // The frame comes in while the rest of it is still under way.
    Node &node = nodes[event.frame.to()];
    node.freeIn =
        std::max(node.freeIn, event.time) + seconds(event.frame.bytes);
    Session &session = sessionOf(event.frame.to(), event.frame.from());
    // One look finds all that has come.
    session.lookedAt =
        std::max(session.lookedAt,
                 node.freeIn + lateness(node.freeIn, session.quietSince));
    if (!event.frame.isRequest)
      session.quietSince = session.lookedAt;
    add(link.isMpi ? session.lookedAt : node.freeIn, Event::Arrives,
        event.frame);
    break;
  }
  case Event::Arrives:
    arrive(event.frame, event.time);
    break;
  case Event::Asks:
    askFor(event.frame, event.time);
    break;
  }
  return key;
}

double Network::lateness(double time, double quietSince) const {
  if (!link.isMpi)
    return 0;
  return std::min(std::max(0.0, time - quietSince) / 8, kMostSleep) / 2;
}

void Network::send(const Key &key, Travel &travel, double time) {
  if (!travel.isSending || !travel.isCredited || travel.next > 0)
    return;
  travel.ready = time;
  sessionOf(key.from, key.to).data.insert(key.name);
  begin(key.from, time);
}

/// Of a frame of `key` and its payload.
static uint64_t bytesOf(FrameKind kind, const Network::Key &key,
                        uint64_t offset, uint64_t size, uint64_t payload) {
  rt::Frame frame;
  frame.kind = kind;
  frame.name = key.name;
  frame.offset = offset;
  frame.size = size;
  frame.payloadBytes = uint32_t(payload);
  return rt::headerBytes(frame) + payload;
}

void Network::sendControl(FrameKind kind, const Key &key, double time) {
  Frame frame{kind, key};
  const uint64_t size = kind == FrameKind::Credit ? travels.at(key).wanted : 0;
  frame.bytes = bytesOf(kind, key, 0, size, 0);
  sessionOf(key.to, key.from).control.push_back(frame);
  begin(key.to, time);
}

std::optional<Network::Frame>
Network::takeWhole(Session &session, uint32_t from, uint32_t to, double time) {
  if (!session.control.empty()) {
    Frame frame = session.control.front();
    session.control.pop_front();
    return frame;
  }
  if (session.data.empty())
    return std::nullopt;
  Frame frame{FrameKind::Data, {from, to, *session.data.begin()}};
  Travel &travel = travels.at(frame.message);
  // As a session does, once the engine has taken the frame before.
  frame.payload =
      session.lengths.next(travel.onLink, travel.next, travel.sent,
                           std::max(travel.ready, session.beforeLast));
  frame.bytes = bytesOf(frame.kind, frame.message, travel.next, travel.sent,
                        frame.payload);
  travel.next += frame.payload;
  if (travel.next == travel.sent)
    session.data.erase(session.data.begin());
  return frame;
}

std::optional<Network::Frame> Network::take(Session &session, uint32_t from,
                                            uint32_t to, double time) {
  if (!session.requests.empty()) {
    Frame request = session.requests.front();
    session.requests.pop_front();
    return request;
  }
  if (session.rest) {
    if (time < session.open)
      return std::nullopt;
    session.leave(time);
    return std::exchange(session.rest, std::nullopt);
  }
  std::optional<Frame> frame = takeWhole(session, from, to, time);
  if (!frame || link.window == 0 || frame->bytes <= link.window ||
      (link.isMpi && frame->kind != FrameKind::Data)) {
    session.leave(time);
    return frame;
  }
  session.rest = frame;
  frame->isLast = false;
  if (link.isMpi) {
    frame->bytes = 0; // so few that it only waits for its turn
    session.open = std::numeric_limits<double>::infinity();
    return frame;
  }
  session.rest->bytes -= link.window;
  frame->bytes = link.window;
  session.open =
      time + 2 * link.latency + seconds(std::min(kFirstBytes, link.window));
  add(session.open, Event::Opens, *frame);
  return frame;
}

void Network::askFor(const Frame &announced, double time) {
  Frame request{FrameKind::Credit, announced.message};
  request.bytes = 0; // as of its announcement
  request.isRequest = true;
  sessionOf(announced.to(), announced.from()).requests.push_back(request);
  begin(announced.to(), time);
}

void Network::begin(uint32_t program, double time) {
  Node &node = nodes[program];
  if (node.isSending || node.peers.empty())
    return;
  // The peers in turn.
  auto peer = node.peers.upper_bound(node.last);
  for (size_t i = 0; i < node.peers.size(); ++i, ++peer) {
    if (peer == node.peers.end())
      peer = node.peers.begin();
    const std::optional<Frame> frame =
        take(peer->second, program, peer->first, time);
    if (!frame)
      continue;
    node.last = peer->first;
    node.isSending = true;
    if (!frame->isRequest)
      peer->second.quietSince = std::max(peer->second.quietSince, time);
    node.sent += frame->bytes;
    add(time + seconds(frame->bytes), Event::Left, *frame);
    add(time + link.latency, Event::Comes, *frame);
    return;
  }
}

void Network::arrive(const Frame &frame, double time) {
  const Key &key = frame.message;
  nodes[frame.to()].received += frame.bytes;
  if (frame.isRequest) {
    sessionOf(frame.to(), frame.from()).open = time;
    return begin(frame.to(), time);
  }
  if (!frame.isLast) {
    if (link.isMpi) // after all else that this look finds
      add(time, Event::Asks, frame);
    return;
  }
  Travel &travel = travels.at(key);
  switch (frame.kind) {
  case FrameKind::Credit:
    travel.isCredited = true;
    return send(key, travel, time);
  case FrameKind::Ack:
    sessionOf(key.from, key.to)
        .lengths.acknowledge(travel.onLink, travel.sent, time);
    travel.acknowledged = time;
    return clean(key);
  default:
    travel.got += frame.payload;
    if (travel.got < travel.sent)
      return;
    travel.received = time;
    return sendControl(FrameKind::Ack, key, time);
  }
}

} // namespace hone::simulate
