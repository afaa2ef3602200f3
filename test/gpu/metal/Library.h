//===- Library.h - Metal's text, compiled for this machine ----------------===//
//
// The text is C++ with a header of this folder in the place of Metal's, so the
// compiler that builds Hone compiles it, without optimisation: texts are long
// and data is small.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "Fibers.h"

#include <map>
#include <string_view>

namespace hone::metal {

struct Kernel {
  std::string name;
  bool hasClosure = false, hasShared = false;
  uint32_t closureBytes = 0; ///< of the struct of its parameters
  void (*run)(const void *closure, unsigned char *shared, uint32_t thread,
              uint32_t group) = nullptr;
};

class Library {
public:
  /// The same text is compiled only once. Null: `log` has the compiler's
  /// errors.
  static std::shared_ptr<Library> compile(std::string_view text,
                                          std::string &log);
  ~Library();

  /// Null: the text has none of this name.
  const Kernel *find(const std::string &name) const;

  /// Runs all workgroups one after another, each in `sharedBytes` that begin as
  /// numbers that are none. Empty, or the error.
  std::string launch(const Kernel &kernel, uint32_t groups, uint32_t threads,
                     const void *closure, uint32_t sharedBytes, Order order);

private:
  void *handle = nullptr;
  std::map<std::string, Kernel> kernels;
};

} // namespace hone::metal
