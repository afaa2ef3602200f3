//===- TemplateNames.h - Filters, tests, functions and methods by name ----===//
//
// The one table of names that templates may call, with the names of arguments
// as Jinja and Python have them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "chat/TemplateSyntax.h"

#include <cstddef>
#include <string_view>

namespace hone::rt {

struct TemplateSignature {
  const char *name;
  int which; ///< of the enum that the table is for
  unsigned least, most;
  const char *parameters[3] = {};
};

inline constexpr TemplateSignature TemplateFilters[] = {
    {"trim", int(TemplateFilter::Trim), 0, 1, {"chars"}},
    {"length", int(TemplateFilter::Length), 0, 0},
    {"count", int(TemplateFilter::Length), 0, 0},
    {"join", int(TemplateFilter::Join), 0, 1, {"d"}},
    // As Transformers has it: jinja2's own takes the indent first.
    {"tojson", int(TemplateFilter::ToJson), 0, 2, {"ensure_ascii", "indent"}},
    {"upper", int(TemplateFilter::Upper), 0, 0},
    {"lower", int(TemplateFilter::Lower), 0, 0},
    {"capitalize", int(TemplateFilter::Capitalize), 0, 0},
    {"title", int(TemplateFilter::Title), 0, 0},
    {"default",
     int(TemplateFilter::Default),
     0,
     2,
     {"default_value", "boolean"}},
    {"d", int(TemplateFilter::Default), 0, 2, {"default_value", "boolean"}},
    {"first", int(TemplateFilter::First), 0, 0},
    {"last", int(TemplateFilter::Last), 0, 0},
    {"list", int(TemplateFilter::List), 0, 0},
    {"string", int(TemplateFilter::String), 0, 0},
    {"int", int(TemplateFilter::Int), 0, 1, {"default"}},
    {"replace", int(TemplateFilter::Replace), 2, 3, {"old", "new", "count"}},
    {"reverse", int(TemplateFilter::Reverse), 0, 0},
    {"items", int(TemplateFilter::Items), 0, 0},
    {"dictsort", int(TemplateFilter::DictSort), 0, 0},
    {"indent", int(TemplateFilter::Indent), 0, 3, {"width", "first", "blank"}},
    {"safe", int(TemplateFilter::Safe), 0, 0},
    {"float", int(TemplateFilter::Float), 0, 1, {"default"}},
    {"abs", int(TemplateFilter::Abs), 0, 0},
    {"round", int(TemplateFilter::Round), 0, 2, {"precision", "method"}},
    {"unique",
     int(TemplateFilter::Unique),
     0,
     2,
     {"case_sensitive", "attribute"}},
    {"sort",
     int(TemplateFilter::Sort),
     0,
     3,
     {"reverse", "case_sensitive", "attribute"}},
    {"sum", int(TemplateFilter::Sum), 0, 2, {"attribute", "start"}},
    {"min", int(TemplateFilter::Min), 0, 2, {"case_sensitive", "attribute"}},
    {"max", int(TemplateFilter::Max), 0, 2, {"case_sensitive", "attribute"}},
    {"format", int(TemplateFilter::Format), 0, 3},
};

inline constexpr TemplateSignature TemplateTests[] = {
    {"defined", int(TemplateTest::Defined), 0, 0},
    {"undefined", int(TemplateTest::Undefined), 0, 0},
    {"none", int(TemplateTest::None), 0, 0},
    {"string", int(TemplateTest::String), 0, 0},
    {"mapping", int(TemplateTest::Mapping), 0, 0},
    {"iterable", int(TemplateTest::Iterable), 0, 0},
    {"sequence", int(TemplateTest::Sequence), 0, 0},
    {"number", int(TemplateTest::Number), 0, 0},
    {"integer", int(TemplateTest::Integer), 0, 0},
    {"float", int(TemplateTest::Float), 0, 0},
    {"boolean", int(TemplateTest::Boolean), 0, 0},
    {"true", int(TemplateTest::True), 0, 0},
    {"false", int(TemplateTest::False), 0, 0},
    {"equalto", int(TemplateTest::Equal), 1, 1},
    {"eq", int(TemplateTest::Equal), 1, 1},
    {"==", int(TemplateTest::Equal), 1, 1},
    {"ne", int(TemplateTest::NotEqual), 1, 1},
    {"!=", int(TemplateTest::NotEqual), 1, 1},
    {"lt", int(TemplateTest::Less), 1, 1},
    {"lessthan", int(TemplateTest::Less), 1, 1},
    {"le", int(TemplateTest::LessOrEqual), 1, 1},
    {"gt", int(TemplateTest::Greater), 1, 1},
    {"greaterthan", int(TemplateTest::Greater), 1, 1},
    {"ge", int(TemplateTest::GreaterOrEqual), 1, 1},
    {"in", int(TemplateTest::In), 1, 1},
    {"odd", int(TemplateTest::Odd), 0, 0},
    {"even", int(TemplateTest::Even), 0, 0},
    {"divisibleby", int(TemplateTest::DivisibleBy), 1, 1},
    {"lower", int(TemplateTest::LowerCase), 0, 0},
    {"upper", int(TemplateTest::UpperCase), 0, 0},
    {"callable", int(TemplateTest::Callable), 0, 0},
};

inline constexpr TemplateSignature TemplateFunctions[] = {
    {"raise_exception",
     int(TemplateFunction::RaiseException),
     1,
     1,
     {"message"}},
    {"strftime_now", int(TemplateFunction::StrftimeNow), 1, 1, {"format"}},
    {"range", int(TemplateFunction::Range), 1, 3},
    {"dict", int(TemplateFunction::Dict), 0, 1},
};

inline constexpr TemplateSignature TemplateMethods[] = {
    {"strip", int(TemplateMethod::Strip), 0, 1},
    {"lstrip", int(TemplateMethod::LStrip), 0, 1},
    {"rstrip", int(TemplateMethod::RStrip), 0, 1},
    {"split", int(TemplateMethod::Split), 0, 2, {"sep", "maxsplit"}},
    {"rsplit", int(TemplateMethod::RSplit), 0, 2, {"sep", "maxsplit"}},
    {"splitlines", int(TemplateMethod::SplitLines), 0, 0},
    {"startswith", int(TemplateMethod::StartsWith), 1, 1},
    {"endswith", int(TemplateMethod::EndsWith), 1, 1},
    {"replace", int(TemplateMethod::Replace), 2, 3},
    {"upper", int(TemplateMethod::Upper), 0, 0},
    {"lower", int(TemplateMethod::Lower), 0, 0},
    {"capitalize", int(TemplateMethod::Capitalize), 0, 0},
    {"title", int(TemplateMethod::Title), 0, 0},
    {"join", int(TemplateMethod::Join), 1, 1},
    {"find", int(TemplateMethod::Find), 1, 1},
    {"count", int(TemplateMethod::CountOf), 1, 1},
    {"removeprefix", int(TemplateMethod::RemovePrefix), 1, 1},
    {"removesuffix", int(TemplateMethod::RemoveSuffix), 1, 1},
    {"items", int(TemplateMethod::Items), 0, 0},
    {"keys", int(TemplateMethod::Keys), 0, 0},
    {"values", int(TemplateMethod::Values), 0, 0},
    {"get", int(TemplateMethod::Get), 1, 2},
    {"format", int(TemplateMethod::Format), 0, 3},
    {"isdigit", int(TemplateMethod::IsDigit), 0, 0},
    {"isalpha", int(TemplateMethod::IsAlpha), 0, 0},
    {"isspace", int(TemplateMethod::IsSpace), 0, 0},
};

/// The fields of `loop`.
inline constexpr const char *LoopFields[] = {
    "index",  "index0",   "revindex", "revindex0", "first", "last",
    "length", "previtem", "nextitem", "depth",     "depth0"};

template <size_t Size>
const TemplateSignature *findSignature(const TemplateSignature (&table)[Size],
                                       std::string_view name) {
  for (const TemplateSignature &signature : table)
    if (name == signature.name)
      return &signature;
  return nullptr;
}

} // namespace hone::rt
