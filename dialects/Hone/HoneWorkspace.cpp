//===- HoneWorkspace.cpp - Memory that ops need while they run ------------===//
