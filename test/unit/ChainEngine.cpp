//===- ChainEngine.cpp - Links of one process, whose programs may die -----===//

#include "ChainEngine.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace hone::test {

namespace {
std::mutex chains;
std::map<std::string, Chain *> byAddress;
} // namespace

struct Chain::End {
  Chain *chain;
  std::string self;
  std::shared_ptr<Connection> connection;
  int side;
  bool isWoken = false;
};

Chain::Chain(Dies dies) : Chain(std::move(dies), Badness()) {}

Chain::Chain(Dies dies, Badness badness)
    : name("chain " + std::to_string(uintptr_t(this))), dies(std::move(dies)),
      badness(badness), random(badness.seed) {
  std::lock_guard<std::mutex> lock(chains);
  byAddress[name] = this;
}

Chain::~Chain() {
  std::lock_guard<std::mutex> lock(chains);
  byAddress.erase(name);
}

bool Chain::isDead(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  return dead.count(program) > 0;
}

void Chain::kill(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  die(program);
}

void Chain::die(const std::string &program) {
  dead.insert(program);
  for (auto &[names, connection] : open)
    connection->notify();
}

void Chain::revive(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  dead.erase(program);
}

void Chain::occupy(const std::string &program) {
  std::lock_guard<std::mutex> lock(mutex);
  busy.insert(program);
}

struct ChainCalls {
  static Chain::End &of(hone_link *link) {
    return *reinterpret_cast<Chain::End *>(link);
  }
  static bool draw(Chain &chain, unsigned of10000) {
    return of10000 > 0 && chain.random() % 10000 < of10000;
  }
  static void pause(Chain &chain) {
    if (chain.badness.slow == 0)
      return;
    unsigned waits;
    {
      std::lock_guard<std::mutex> lock(chain.mutex);
      waits = unsigned(chain.random() % chain.badness.slow);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(waits));
  }
  static void close(Chain::Connection &connection) {
    connection.isClosed = true;
    connection.notify();
  }
  static bool isLost(const Chain::End &end) {
    return end.connection->isClosed || end.chain->dead.count(end.self) > 0;
  }

  static hone_link *open(const char *address, const char *self,
                         const char *peer, int, char *why, uint64_t capacity) {
    Chain *chain;
    {
      std::lock_guard<std::mutex> lock(chains);
      chain = byAddress.at(address);
    }
    std::unique_lock<std::mutex> lock(chain->mutex);
    if (chain->dead.count(self) > 0) {
      strncpy(why, "dead", capacity);
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return nullptr;
    }
    const std::string own = self, other = peer;
    if (chain->busy.count(other) > 0) {
      snprintf(why, capacity, "'%s' is busy", peer);
      errno = EBUSY;
      return nullptr;
    }
    const int side = own < other ? 0 : 1;
    std::shared_ptr<Chain::Connection> &known =
        chain->open[std::minmax(own, other)];
    // The second program joins, unless the first one has gone.
    if (known && !known->isClosed && !known->hasPeer) {
      known->hasPeer = true;
    } else {
      if (known)
        close(*known);
      known = std::make_shared<Chain::Connection>();
    }
    return reinterpret_cast<hone_link *>(
        new Chain::End{chain, own, known, side});
  }

  static int send(hone_link *link, const void *bytes, uint64_t size) {
    Chain::End &end = of(link);
    Chain &chain = *end.chain;
    pause(chain);
    std::lock_guard<std::mutex> lock(chain.mutex);
    if (!isLost(end) && chain.dies(end.self, ++chain.sent[end.self]))
      chain.die(end.self);
    if (isLost(end))
      return -1;
    const Chain::Badness &bad = chain.badness;
    std::deque<std::string> &out = end.connection->to[1 - end.side];
    for (int copies = draw(chain, bad.lose) ? 0 : 1 + draw(chain, bad.twice);
         copies > 0; --copies) {
      // In place of one that comes later then.
      const auto at = draw(chain, bad.late) && !out.empty()
                          ? out.begin() + long(chain.random() % out.size())
                          : out.end();
      out.emplace(at, static_cast<const char *>(bytes), size);
    }
    end.connection->changed[1 - end.side].notify_one();
    if (!draw(chain, bad.cut))
      return 0;
    // Frames under way are lost, from some frame on.
    for (std::deque<std::string> &each : end.connection->to)
      each.resize(chain.random() % (each.size() + 1));
    close(*end.connection);
    return -1;
  }

  static int64_t next(hone_link *link, void *bytes, uint64_t,
                      int milliseconds) {
    Chain::End &end = of(link);
    pause(*end.chain);
    std::unique_lock<std::mutex> lock(end.chain->mutex);
    std::deque<std::string> &own = end.connection->to[end.side];
    end.connection->changed[end.side].wait_for(
        lock, std::chrono::milliseconds(milliseconds),
        [&] { return !own.empty() || end.isWoken || isLost(end); });
    end.isWoken = false;
    // Messages from before the other side left are there.
    if (own.empty() || (isLost(end) && !end.connection->isClosed))
      return isLost(end) ? -1 : 0;
    const std::string frame = std::move(own.front());
    own.pop_front();
    memcpy(bytes, frame.data(), frame.size());
    return int64_t(frame.size());
  }

  static void wake(hone_link *link) {
    Chain::End &end = of(link);
    std::lock_guard<std::mutex> lock(end.chain->mutex);
    end.isWoken = true;
    end.connection->changed[end.side].notify_one();
  }

  static void close(hone_link *link) {
    Chain::End &end = of(link);
    {
      std::lock_guard<std::mutex> lock(end.chain->mutex);
      close(*end.connection);
    }
    delete &end;
  }
};

static hone_engine engineOf(const char *name, bool isOrdered) {
  return {HONE_ENGINE_VERSION,
          sizeof(hone_engine),
          name,
          ChainCalls::open,
          ChainCalls::send,
          ChainCalls::next,
          ChainCalls::wake,
          ChainCalls::close,
          /*bytes=*/0,
          /*program_bytes=*/0,
          /*link_bytes=*/0,
          isOrdered,
          /*link_frames=*/0,
          /*piece_bytes=*/0,
          /*least_piece_bytes=*/0,
          /*plan_bytes=*/0};
}

const hone_engine &Chain::engine() const {
  static const hone_engine ordered = engineOf("chain", true),
                           loose = engineOf("loose chain", false);
  return badness.isOrdered() ? ordered : loose;
}

} // namespace hone::test
