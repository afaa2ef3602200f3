//===- Objects.h - As much of Objective-C as Metal's methods need ---------===//
//
// Objects count their owners. Methods are functions in a table, which
// objc_msgSend jumps to; a missing one ends the process.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::metal {

struct Selector;

/// The metal::Id of the programs under test.
struct Object {
  explicit Object(const char *kind);
  virtual ~Object();
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  const char *const kind; ///< as in defineMethod
  long owners = 1;
};

struct Class : Object {
  explicit Class(std::string name) : Object("Class"), name(std::move(name)) {}
  const std::string name;
};

struct String : Object {
  explicit String(std::string text) : Object("String"), text(std::move(text)) {}
  const std::string text;
};

void defineMethod(const char *kind, const char *selector, void *function);
/// A function of self, its selector and arguments.
template <typename R, typename Self, typename... A>
void define(const char *kind, const char *selector,
            R (*function)(Self *, Selector *, A...)) {
  defineMethod(kind, selector, reinterpret_cast<void *>(function));
}

void retain(Object *object);
void release(Object *object);
/// Lives until the pool around ends; without one nobody would release it.
template <typename T> T *autorelease(T *object);
void addToPool(Object *object);
template <typename T> T *autorelease(T *object) {
  addToPool(object);
  return object;
}

/// "Buffer: 2" a line, of those that are not Class.
std::string livingObjects();

/// A program that uses Metal as no validation layer would let it.
[[noreturn]] void misuse(const std::string &what);

} // namespace hone::metal
