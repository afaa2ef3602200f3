//===- ChainEngine.h - Links of one process, whose programs may die -------===//
//
// Programs of one process meet over links that lose nothing as long as both
// sides live, or as badly as a test says. One dies instead of sending a frame:
// nothing of it leaves any more until its thread begins it anew.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "hone/engine.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>

namespace hone::test {

/// The meeting place of one run's programs. Several runs may go on at once.
class Chain {
public:
  /// Whether a program dies in place of its frame of this number, from 1.
  using Dies = std::function<bool(const std::string &program, unsigned frame)>;

  /// How badly its links carry frames, of 10,000: lost, sent twice and brought
  /// late, which ordered links do not, and after which a link is cut. Each
  /// frame takes up to `slow` microseconds to leave and to be taken.
  struct Badness {
    unsigned seed = 0, lose = 0, twice = 0, late = 0, cut = 0, slow = 0;
    bool isOrdered() const { return lose + twice + late == 0; }
  };

  explicit Chain(Dies dies = [](const std::string &, unsigned) {
    return false;
  });
  Chain(Dies dies, Badness badness);
  ~Chain();
  Chain(const Chain &) = delete;

  const hone_engine &engine() const;
  /// That Ensemble::About has.
  const std::string &address() const { return name; }

  bool isDead(const std::string &program);
  /// It dies now.
  void kill(const std::string &program);
  /// It is started again.
  void revive(const std::string &program);
  /// It trains with others, none of which is of this run.
  void occupy(const std::string &program);

private:
  friend struct ChainCalls;
  struct Connection {
    std::deque<std::string> to[2]; ///< by side
    std::condition_variable changed[2];
    bool hasPeer = false, isClosed = false;

    void notify() {
      for (std::condition_variable &each : changed)
        each.notify_one();
    }
  };
  struct End;

  void die(const std::string &program); ///< under the lock
  std::string name;
  const Dies dies;
  const Badness badness;
  std::mt19937 random; ///< under the lock
  std::mutex mutex;
  std::set<std::string> dead, busy;
  std::map<std::string, unsigned> sent; ///< frames, in all lives
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Connection>>
      open; ///< by both names
};

} // namespace hone::test
