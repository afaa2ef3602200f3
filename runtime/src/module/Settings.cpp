//===- Settings.cpp - Every setting of a training run ---------------------===//

#include "module/Settings.h"

#include <algorithm>
#include <cstring>

namespace hone::rt {

namespace {
struct NamedMethod {
  const char *name;
  MethodKind kind;
};
} // namespace

#define HONE_NAMED_METHOD(DESCRIPTION, NAME, KIND) {NAME, MethodKind::KIND},
static constexpr NamedMethod kMethods[] = {HONE_METHODS(HONE_NAMED_METHOD)};
#undef HONE_NAMED_METHOD

Methods methodsOf(MethodKind kind) {
  Methods names;
  for (const NamedMethod &method : kMethods)
    if (method.kind == kind)
      names.push_back(method.name);
  return names;
}

Standards standardsOf(MethodKind kind, const char *value) {
  Standards standards;
  for (const char *method : methodsOf(kind))
    standards.emplace_back(method, value);
  return standards;
}

std::vector<std::string> methodNames(const char *first) {
  std::vector<std::string> names;
  if (first)
    names.push_back(first);
  for (const NamedMethod &method : kMethods)
    names.push_back(method.name);
  return names;
}

PartList &PartList::operator=(const PartList &other) {
  if (this == &other)
    return *this;
  Owned copies;
  for (const auto &part : other) {
    copies.push_back(std::make_unique<PartSettings>(part->part));
    *copies.back() = *part;
  }
  all = std::move(copies);
  return *this;
}

PartSettings &PartList::add(const std::string &name) {
  all.push_back(std::make_unique<PartSettings>(name));
  return *all.back();
}

PartSettings *PartList::find(std::string_view name) const {
  for (const auto &part : all)
    if (part->part == name)
      return part.get();
  return nullptr;
}

std::vector<Setting *> Settings::all() {
  std::vector<Setting *> out = members();
  auto append = [&](const Section &section) {
    out.insert(out.end(), section.members().begin(), section.members().end());
  };
  append(weights);
  append(lora);
  append(train);
  for (const auto &part : parts)
    append(*part);
  append(exchange);
  append(generate);
  append(target);
  return out;
}

std::vector<const Setting *> Settings::all() const {
  std::vector<Setting *> out = const_cast<Settings *>(this)->all();
  return {out.begin(), out.end()};
}

std::vector<const MethodSettings *> Settings::methods() const {
  if (!hasParts())
    return {&train};
  std::vector<const MethodSettings *> out;
  for (const auto &part : parts)
    out.push_back(part.get());
  return out;
}

bool Settings::hasOwnTargets() const {
  return std::any_of(parts.begin(), parts.end(),
                     [](const auto &part) { return !part->target.empty(); });
}

std::vector<std::string> Settings::programs() const {
  std::vector<std::string> names;
  for (const auto &part : parts)
    if (!part->program.empty())
      names.push_back(part->program);
  for (int64_t i = 1; train.modules > 1 && i <= train.modules; ++i)
    names.push_back("module" + std::to_string(i));
  return names;
}

Settings::Neighbours Settings::neighboursOf(const std::string &program) const {
  const std::vector<std::string> all = programs();
  const auto own = std::find(all.begin(), all.end(), program);
  Neighbours found;
  if (own == all.end())
    return found;
  if (own != all.begin())
    found.before = own[-1];
  if (own + 1 != all.end())
    found.after = own[1];
  return found;
}

uint64_t Settings::stepsLate(const std::string &program) const {
  if (!train.asynchronous)
    return 0;
  const std::vector<std::string> all = programs();
  const auto own = std::find(all.begin(), all.end(), program);
  return own == all.end() ? 0 : uint64_t(all.end() - own) - 1;
}

Setting *Settings::find(MethodSettings &part, const Setting &setting) {
  for (Setting *own : part.members())
    if (!strcmp(own->name, setting.name))
      return own;
  return nullptr;
}

bool Settings::isOfMethod(const Setting &setting) {
  TrainSettings train;
  PartSettings part("");
  return find(train, setting) && find(part, setting);
}

bool Settings::isReadByComparison(const Setting &setting) const {
  return compares() && !strcmp(setting.section, train.name) &&
         setting.readBy.isCompared && setting.isReadBy(train.compare);
}

bool Settings::isReadByTraining(const Setting &setting) const {
  if (!strcmp(setting.key().c_str(), train.compare_every.key().c_str()))
    return false;
  if (!hasTask() && setting.key() == train.task.key())
    return false;
  if (!strcmp(setting.section, exchange.name))
    return hasPrograms();
  for (const auto &part : parts)
    if (setting.section == part->section)
      return setting.isReadBy(part->method);
  if (hasParts() && !strcmp(setting.section, train.name) && isOfMethod(setting))
    return false;
  std::vector<const MethodSettings *> all = methods();
  return std::any_of(all.begin(), all.end(), [&](const MethodSettings *each) {
    return setting.isReadBy(each->method);
  });
}

} // namespace hone::rt
