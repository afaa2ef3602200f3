//===- ChainEngine.h - Links of one process, whose programs may die -------===//
//
// Programs of one process meet over links that lose nothing as long as both
// sides live. One dies instead of sending a frame: nothing of it leaves any
// more until its thread begins it anew.
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
#include <set>
#include <string>

namespace hone::test {

/// What programs of one run meet over. Runs may go on at the same time.
class Chain {
public:
  /// Whether a program dies in place of its frame of this number, from 1.
  using Dies = std::function<bool(const std::string &program, unsigned frame)>;

  explicit Chain(Dies dies = [](const std::string &, unsigned) {
    return false;
  });
  ~Chain();
  Chain(const Chain &) = delete;

  static const hone_engine &engine();
  /// That Ensemble::About has.
  const std::string &address() const { return name; }

  bool isDead(const std::string &program);
  /// It dies now.
  void kill(const std::string &program);
  /// It is started again.
  void revive(const std::string &program);

private:
  friend struct ChainCalls;
  struct Connection {
    std::deque<std::string> to[2]; ///< by side
    bool hasPeer = false, isClosed = false;
  };
  struct End;

  std::string name;
  const Dies dies;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> dead;
  std::map<std::string, unsigned> sent; ///< frames, in all lives
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Connection>>
      open; ///< by both names
};

} // namespace hone::test
