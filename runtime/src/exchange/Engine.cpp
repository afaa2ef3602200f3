//===- Engine.cpp - Which library carries messages ------------------------===//

#include "exchange/Engine.h"
#include "exchange/Pieces.h"

#include "platform/Files.h"
#include "platform/System.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

/// Gives way to that of an engine which is linked into the program.
extern "C" __attribute__((weak)) const hone_engine *hone_exchange_engine(void) {
  return nullptr;
}

namespace hone::rt {

static Status refuse(std::string_view path, Pieces problem) {
  return failed(ErrorCode::NoEngine, {path}, problem,
                "put the engine there that came with this version of Hone; a "
                "static program is linked with one, see hone/engine.h");
}

static Result<const hone_engine *> checked(const std::string &path,
                                           const hone_engine *engine) {
  if (engine->version != HONE_ENGINE_VERSION ||
      engine->size != sizeof(hone_engine)) {
    char problem[160];
    snprintf(problem, sizeof(problem),
             "expects version %d of %zu bytes but got version %" PRIu32
             " of %" PRIu32,
             HONE_ENGINE_VERSION, sizeof(hone_engine), engine->version,
             engine->size);
    return refuse(path, {problem});
  }
  return engine;
}

/// A library that may say why it carries nothing.
static Result<void *> load(const std::string &path, const std::string &name) {
  // A name, and no way to a library elsewhere.
  const bool isName = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!isName)
    return refuse(joined({"--exchange ", name}),
                  {"expects a name of letters a-z, digits and -"});
  if (!platform::exists(path))
    return refuse(path, {"there is no such engine"});
  std::string reason;
  void *library = platform::openLibrary(path.c_str(), reason);
  if (!library)
    return refuse(path, {"cannot be loaded: ", reason});
  auto *ask = reinterpret_cast<const char *(*)()>(
      platform::findSymbol(library, "hone_exchange_problem"));
  if (const char *problem = ask ? ask() : ""; *problem)
    return refuse(path, {problem});
  return library;
}

/// The engine `name`, if the program is linked with it.
static const hone_engine *linkedEngine(const std::string &name) {
  const hone_engine *linked = hone_exchange_engine();
  return linked && name == linked->name ? linked : nullptr;
}

static std::string pathOf(const std::string &folder, const std::string &name) {
  return joined({folder, "/hone-exchange-", name, ".so"});
}

Result<const hone_engine *> findEngine(const std::string &folder,
                                       const std::string &name) {
  if (const hone_engine *linked = linkedEngine(name))
    return checked(joined({"--exchange ", name}), linked);
  const std::string path = pathOf(folder, name);
  HONE_ASSIGN(void *library, load(path, name));
  auto *find = reinterpret_cast<const hone_engine *(*)()>(
      platform::findSymbol(library, "hone_exchange_engine"));
  const hone_engine *engine = find ? find() : nullptr;
  if (!engine)
    return refuse(path, {"is no engine: it has no hone_exchange_engine"});
  return checked(path, engine);
}

Status checkAddress(const std::string &folder, const std::string &name,
                    const std::string &address, const std::string &option) {
  if (linkedEngine(name))
    return Status::ok();
  HONE_ASSIGN(void *library, load(pathOf(folder, name), name));
  auto *check = reinterpret_cast<int (*)(const char *, char *, uint64_t)>(
      platform::findSymbol(library, "hone_exchange_check"));
  char why[1024] = "";
  if (!check || check(address.c_str(), why, sizeof(why)) == 0)
    return Status::ok();
  return failed(ErrorCode::NoMeeting, {option}, {why},
                "put it right; honec --explain H0827 says what programs need "
                "to meet");
}

Result<EnginePlace> findPlace(const std::string &folder,
                              const std::string &name) {
  if (linkedEngine(name))
    return EnginePlace{0, 0};
  const std::string path = pathOf(folder, name);
  HONE_ASSIGN(void *library, load(path, name));
  auto *find =
      reinterpret_cast<int (*)(uint32_t *, uint32_t *, char *, uint64_t)>(
          platform::findSymbol(library, "hone_exchange_place"));
  EnginePlace place{0, 0};
  char why[256] = "";
  if (!find || find(&place.rank, &place.ranks, why, sizeof(why)) == 0)
    return place;
  return failed(ErrorCode::NoMeeting, {path}, {why},
                "start the program with mpirun, or without --exchange");
}

} // namespace hone::rt
