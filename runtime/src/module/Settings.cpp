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

std::vector<Setting *> Settings::all() {
  std::vector<Setting *> out = members();
  for (const Section *section : {static_cast<const Section *>(&weights),
                                 static_cast<const Section *>(&lora),
                                 static_cast<const Section *>(&train),
                                 static_cast<const Section *>(&lower),
                                 static_cast<const Section *>(&upper),
                                 static_cast<const Section *>(&exchange),
                                 static_cast<const Section *>(&generate),
                                 static_cast<const Section *>(&target)})
    out.insert(out.end(), section->members().begin(), section->members().end());
  return out;
}

std::vector<const Setting *> Settings::all() const {
  std::vector<Setting *> out = const_cast<Settings *>(this)->all();
  return {out.begin(), out.end()};
}

std::vector<const MethodSettings *> Settings::methods() const {
  if (!hasParts())
    return {&train};
  return {&lower, &upper};
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
  for (const PartSettings *part : {&lower, &upper})
    if (!strcmp(setting.section, part->name))
      return hasParts() && setting.isReadBy(part->method);
  if (hasParts() && !strcmp(setting.section, train.name) && isOfMethod(setting))
    return false;
  std::vector<const MethodSettings *> all = methods();
  return std::any_of(all.begin(), all.end(), [&](const MethodSettings *each) {
    return setting.isReadBy(each->method);
  });
}

} // namespace hone::rt
