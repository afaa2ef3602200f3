//===- Objects.cpp - As much of Objective-C as Metal's methods need -------===//

#include "Objects.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace hone::metal {

struct Selector {
  std::string name;
};

static std::map<std::string, long> &living() {
  static auto *counts = new std::map<std::string, long>;
  return *counts;
}

static std::map<std::pair<std::string, std::string>, void *> &methods() {
  static auto *table =
      new std::map<std::pair<std::string, std::string>, void *>;
  return *table;
}

static std::vector<std::vector<Object *>> pools;

Object::Object(const char *kind) : kind(kind) { ++living()[kind]; }

Object::~Object() { --living()[kind]; }

void misuse(const std::string &what) {
  fprintf(stderr, "metal: %s\n", what.c_str());
  abort();
}

void defineMethod(const char *kind, const char *selector, void *function) {
  methods()[{kind, selector}] = function;
}

void retain(Object *object) { ++object->owners; }

void release(Object *object) {
  if (--object->owners == 0)
    delete object;
}

void addToPool(Object *object) {
  if (pools.empty())
    misuse(std::string(object->kind) + " is returned and there is no pool");
  pools.back().push_back(object);
}

std::string livingObjects() {
  std::string text;
  for (const auto &[kind, count] : living())
    if (count && kind != "Class")
      text += kind + ": " + std::to_string(count) + "\n";
  return text;
}

static uint64_t answerNil() { return 0; }

} // namespace hone::metal

using namespace hone::metal;

extern "C" {

/// Where objc_msgSend goes on.
__attribute__((visibility("hidden"))) void *hone_metal_method(Object *self,
                                                              Selector *name) {
  if (!self)
    return reinterpret_cast<void *>(answerNil);
  for (const char *kind : {self->kind, "Object"})
    if (auto found = methods().find({kind, name->name});
        found != methods().end())
      return found->second;
  misuse(std::string(self->kind) + " has no method " + name->name);
}

Selector *sel_registerName(const char *name) {
  static std::map<std::string, Selector> known;
  return &known.try_emplace(name, Selector{name}).first->second;
}

Object *objc_getClass(const char *name) {
  static std::map<std::string, Class *> known;
  Class *&found = known[name];
  if (!found)
    found = new Class(name);
  return found;
}

void *objc_autoreleasePoolPush() {
  pools.emplace_back();
  return reinterpret_cast<void *>(pools.size());
}

void objc_autoreleasePoolPop(void *pool) {
  if (reinterpret_cast<size_t>(pool) != pools.size())
    misuse("a pool ends before one inside of it");
  std::vector<Object *> objects = std::move(pools.back());
  pools.pop_back();
  for (Object *object : objects)
    release(object);
}

void objc_msgSend();
}

// Keeps all registers that arguments are in, asks for the method, and jumps
// there as if it had been called.
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend,@function
objc_msgSend:
  pushq %rbp
  movq %rsp, %rbp
  subq $176, %rsp
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movups %xmm0, 48(%rsp)
  movups %xmm1, 64(%rsp)
  movups %xmm2, 80(%rsp)
  movups %xmm3, 96(%rsp)
  movups %xmm4, 112(%rsp)
  movups %xmm5, 128(%rsp)
  movups %xmm6, 144(%rsp)
  movups %xmm7, 160(%rsp)
  call hone_metal_method
  movq %rax, %r11
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movups 48(%rsp), %xmm0
  movups 64(%rsp), %xmm1
  movups 80(%rsp), %xmm2
  movups 96(%rsp), %xmm3
  movups 112(%rsp), %xmm4
  movups 128(%rsp), %xmm5
  movups 144(%rsp), %xmm6
  movups 160(%rsp), %xmm7
  leave
  jmp *%r11
.size objc_msgSend,.-objc_msgSend
)");

namespace {

struct ObjectMethods {
  ObjectMethods() {
    define(
        "Object", "retain", +[](Object *self, Selector *) {
          retain(self);
          return self;
        });
    define(
        "Object", "release", +[](Object *self, Selector *) { release(self); });
    define("Object", "init", +[](Object *self, Selector *) { return self; });
    define(
        "Object",
        "respondsToSelector:", +[](Object *self, Selector *, Selector *asked) {
          return static_cast<signed char>(
              methods().count({self->kind, asked->name}));
        });
    define(
        "Class",
        "stringWithUTF8String:", +[](Class *, Selector *, const char *text) {
          return autorelease(new String(text));
        });
    define(
        "String", "UTF8String",
        +[](String *self, Selector *) { return self->text.c_str(); });
  }
} objectMethods;

} // namespace
