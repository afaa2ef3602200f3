//===- PowerCut.cpp - The files that a power cut could leave --------------===//
//
//   power-cut TRACE CALLS WITHOUT STATE FOLDER
//
// Replays the first CALLS calls of RecordCalls.c's TRACE, takes the sync that
// is call WITHOUT for one that did nothing (0: none), and makes FOLDER what a
// power cut then could leave. POSIX promises no more than this: bytes and size
// of a file are durable after its fsync, names after the fsync of their folder;
// of what is not durable any part may be there. STATE chooses:
//
//   kept, lost      all names and NAMES-BYTES, e.g. kept-zeros:
//   kept lost       the names that are not durable are there, or are not
//   kept lost zeros gap
//                   the bytes that are not durable are there; the file is as
//                   it was last synced; it has its size, with zeros for all of
//                   them; with zeros for the first 64
//   a number        chosen for each file and folder by chance from this seed;
//                   of a folder's changes the first few are there
//
// Prints a digest of what FOLDER has and the last step that was logged.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using std::string;

namespace {

struct Node {
  bool isFolder = false;
  string bytes, durableBytes;
  using Names = std::map<string, int>;
  Names names, durableNames;
  std::vector<std::function<void(Names &)>> pending;
};

struct State {
  string names, bytes;
  std::mt19937 chance;
  bool isChance = false;
};

class Disk {
public:
  void replay(const string &trace, long calls, long without);
  void write(const fs::path &folder, State &state) {
    writeNode(0, folder, state);
  }
  uint64_t digest = 1469598103934665603u;
  long lastStep = 0;

private:
  int add(bool isFolder) {
    nodes.emplace_back();
    nodes.back().isFolder = isFolder;
    return int(nodes.size()) - 1;
  }
  void change(int folder, std::function<void(Node::Names &)> how) {
    how(nodes[folder].names);
    nodes[folder].pending.push_back(how);
  }
  int folderOf(const string &path, string &name);
  int find(const string &path);
  void hash(const string &text);
  void writeNode(int index, const fs::path &path, State &state);

  std::vector<Node> nodes{Node{true, {}, {}, {}, {}, {}}};
  std::map<int, int> files; ///< node of a descriptor
};

} // namespace

static void fail(const string &what) {
  std::cerr << "power-cut: " << what << "\n";
  exit(2);
}

/// The folder that `path` is in. Those that the trace did not make were there.
int Disk::folderOf(const string &path, string &name) {
  int at = 0;
  std::istringstream parts(path);
  for (string next; std::getline(parts, name, '/') && parts.peek() != EOF;) {
    auto found = nodes[at].names.find(name);
    int child = found == nodes[at].names.end() ? add(true) : found->second;
    if (found == nodes[at].names.end())
      nodes[at].names[name] = nodes[at].durableNames[name] = child;
    at = child;
  }
  return at;
}

int Disk::find(const string &path) {
  if (path == ".")
    return 0;
  string name;
  int folder = folderOf(path, name);
  auto found = nodes[folder].names.find(name);
  if (found == nodes[folder].names.end()) {
    nodes[folder].names[name] = nodes[folder].durableNames[name] = add(true);
    return nodes[folder].names[name];
  }
  return found->second;
}

void Disk::replay(const string &trace, long calls, long without) {
  std::ifstream lines(trace), data(trace + ".data");
  string line, name;
  for (long call = 1; call <= calls && std::getline(lines, line); ++call) {
    std::vector<string> word;
    std::istringstream split(line);
    for (string part; std::getline(split, part, '\t');)
      word.push_back(part);
    const string &what = word[0];
    if (what == "open") {
      files[std::stoi(word[1])] = find(word[2]);
    } else if (what == "create" || what == "mkdir") {
      int folder = folderOf(word.back(), name), node = add(what == "mkdir");
      change(folder, [name, node](auto &names) { names[name] = node; });
      if (what == "create")
        files[std::stoi(word[1])] = node;
    } else if (what == "write") {
      string &bytes = nodes[files.at(std::stoi(word[1]))].bytes;
      size_t at = std::stoul(word[2]), size = std::stoul(word[4]);
      string written(size, 0);
      data.seekg(std::stol(word[3]));
      data.read(written.data(), long(size));
      bytes.resize(std::max(bytes.size(), at + size));
      bytes.replace(at, size, written);
      if (written.compare(0, 9, "{\"step\": ") == 0)
        lastStep = std::max(lastStep, std::stol(written.substr(9)));
    } else if (what == "size") {
      nodes[files.at(std::stoi(word[1]))].bytes.resize(std::stoul(word[2]));
    } else if (what == "sync") {
      Node &node = nodes[files.at(std::stoi(word[1]))];
      if (call == without)
        continue;
      node.durableBytes = node.bytes;
      node.durableNames = node.names;
      node.pending.clear();
    } else if (what == "unlink") {
      change(folderOf(word[1], name),
             [name](auto &names) { names.erase(name); });
    } else if (what == "rename") {
      string to;
      int folder = folderOf(word[1], name);
      if (folderOf(word[2], to) != folder)
        fail("a rename from folder to folder is not modelled");
      change(folder, [name, to](auto &names) {
        // Where the old name is not durable the new one still is the file's.
        if (auto found = names.find(name); found != names.end()) {
          names[to] = found->second;
          names.erase(name);
        }
      });
    } else {
      fail("does not know " + what);
    }
  }
}

void Disk::hash(const string &text) {
  for (unsigned char c : text + '\0')
    digest = (digest ^ c) * 1099511628211u;
}

void Disk::writeNode(int index, const fs::path &path, State &state) {
  Node &node = nodes[index];
  auto pick = [&](unsigned choices) { return state.chance() % choices; };
  if (node.isFolder) {
    Node::Names names = node.durableNames;
    size_t kept = state.names == "kept" ? node.pending.size() : 0;
    if (state.isChance)
      kept = pick(3) == 0 ? 0 : pick(unsigned(node.pending.size()) + 1);
    for (size_t i = 0; i < kept; ++i)
      node.pending[i](names);
    fs::create_directories(path);
    hash(path.string() + "/");
    for (const auto &[name, child] : names)
      writeNode(child, path / name, state);
    return;
  }
  static const char *const Bytes[] = {"kept", "lost", "zeros", "gap"};
  string how = state.isChance ? Bytes[pick(4)] : state.bytes,
         bytes = node.bytes;
  if (how == "lost")
    bytes = node.durableBytes;
  const size_t from = node.durableBytes.size();
  const size_t end = how == "zeros" ? bytes.size()
                     : how == "gap" ? from + 64
                                    : 0;
  for (size_t i = from; i < std::min(end, bytes.size()); ++i)
    bytes[i] = 0;
  std::ofstream(path, std::ios::binary) << bytes;
  hash(path.string());
  hash(bytes);
}

int main(int argc, char **argv) {
  if (argc != 6)
    fail("expects TRACE CALLS WITHOUT STATE FOLDER");
  string chosen = argv[4];
  State state;
  size_t dash = chosen.find('-');
  state.isChance = dash == string::npos;
  if (state.isChance) {
    state.chance.seed(
        unsigned(std::stoul(chosen) * 7919 + std::stoul(argv[2])));
  } else {
    state.names = chosen.substr(0, dash);
    state.bytes = chosen.substr(dash + 1);
  }
  Disk disk;
  disk.replay(argv[1], std::stol(argv[2]), std::stol(argv[3]));
  fs::remove_all(argv[5]);
  disk.write(argv[5], state);
  std::printf("%016llx %ld\n", (unsigned long long)disk.digest, disk.lastStep);
}
