//===- CheckpointTest.cpp - Saving, damage, and resuming ------------------===//
//
// Every file of a checkpoint is cut at every length and has every byte
// changed: the checkpoint before must load.
//
//===----------------------------------------------------------------------===//

#include "formats/Checkpoint.h"
#include "TemporaryFolder.h"
#include "base/Sha256.h"
#include "formats/Safetensors.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hone::rt;

static const CheckpointIdentity identity = {
    {{"--learning-rate", "0.1"}, {"data", "d0"}}, {{"target", "here"}}};

namespace {
/// A run with three parameters whose values follow from the step.
struct SavedRun {
  TemporaryFolder folder;
  std::string out = folder.file("out");
  CheckpointStore store = std::move(CheckpointStore::open(out).value());
  double theta[3] = {0, 0, 0};
  float state0[3] = {0, 0, 0};

  std::string name(int64_t step) const {
    char text[40];
    std::snprintf(text, sizeof text, "out/checkpoint-%06lld",
                  static_cast<long long>(step));
    return text;
  }
  Status save(int64_t step, const CheckpointFields &evaluation = {}) {
    for (int i = 0; i < 3; ++i)
      theta[i] = step + i * 0.1, state0[i] = step - i;
    return store.save(
        step, identity,
        {{"theta", Dtype::F64, 3, theta}, {"state0", Dtype::F32, 3, state0}},
        evaluation);
  }
  /// The newest checkpoint, and its contents.
  Result<CheckpointStore::Found> load() {
    std::fill(theta, theta + 3, -1);
    std::fill(state0, state0 + 3, -1);
    Result<CheckpointStore::Found> found = store.newest();
    if (!found.isOk() || found.value().directory.empty())
      return found;
    Status status =
        store.read(found.value(), {{"state0", Dtype::F32, 3, state0},
                                   {"theta", Dtype::F64, 3, theta}});
    return status.isOk() ? found : status;
  }
  /// Expects to resume from `step` with `notes` notes.
  void resumes(int64_t step, size_t notes = 0) {
    Result<CheckpointStore::Found> r = load();
    ASSERT_TRUE(r.isOk()) << r.status().render();
    ASSERT_FALSE(r.value().directory.empty());
    EXPECT_EQ(r.value().step, step);
    EXPECT_EQ(r.value().notes.size(), notes);
    EXPECT_EQ(r.value().directory, folder.file(name(step)));
    EXPECT_EQ(theta[2], step + 2 * 0.1);
    EXPECT_EQ(state0[1], step - 1);
    EXPECT_EQ(r.value().identity.run, identity.run);
    EXPECT_EQ(r.value().identity.numerics, identity.numerics);
  }
};
} // namespace

TEST(CheckpointTest, AnEmptyFolderHasNone) {
  SavedRun run;
  Result<CheckpointStore::Found> r = run.load();
  ASSERT_TRUE(r.isOk());
  EXPECT_TRUE(r.value().directory.empty());
  EXPECT_TRUE(r.value().notes.empty());
}

TEST(CheckpointTest, TheNewestIsLoaded) {
  SavedRun run;
  ASSERT_TRUE(run.save(0).isOk());
  run.resumes(0);
  ASSERT_TRUE(run.save(9).isOk());
  ASSERT_TRUE(run.save(10).isOk());
  run.resumes(10);
}

TEST(CheckpointTest, TheNewestTwoAreKept) {
  SavedRun run;
  for (int64_t step : {100, 200, 300, 999999, 1000000})
    ASSERT_TRUE(run.save(step).isOk());
  EXPECT_EQ(run.folder.count("out"), 2u);
  EXPECT_EQ(run.folder.count("out/checkpoint-1000000"), 3u);
  run.resumes(1000000);
  std::filesystem::remove_all(run.folder.file("out/checkpoint-1000000"));
  run.resumes(999999);
}

TEST(CheckpointTest, AsManyAreKeptAsAsked) {
  for (auto [asked, left] :
       {std::pair(1, 1), std::pair(3, 3), std::pair(0, 5)}) {
    SavedRun run;
    run.store.keep(uint64_t(asked));
    for (int64_t step : {1, 2, 3, 4, 5})
      ASSERT_TRUE(run.save(step).isOk());
    EXPECT_EQ(run.folder.count("out"), size_t(left));
    run.resumes(5);
  }
}

// Falling back to the one before must not lose the one that this names.
TEST(CheckpointTest, TheBestOfAKeptOneIsKept) {
  SavedRun run;
  const auto best = [](const char *step) {
    return CheckpointFields{{CheckpointStore::BestStep, step}};
  };
  ASSERT_TRUE(run.save(1, best("1")).isOk());
  ASSERT_TRUE(run.save(2, best("1")).isOk());
  ASSERT_TRUE(run.save(3, best("1")).isOk());
  ASSERT_TRUE(run.save(4, best("4")).isOk());
  EXPECT_TRUE(std::filesystem::exists(run.folder.file(run.name(1))));
  EXPECT_FALSE(std::filesystem::exists(run.folder.file(run.name(2))));
  const CheckpointStore::Need need = {"the best evaluation", "train again"};
  Result<CheckpointStore::Found> found = run.store.at(1, need);
  ASSERT_TRUE(found.isOk()) << found.status().render();
  EXPECT_EQ(found.value().evaluation, best("1"));
  ASSERT_TRUE(run.save(5, best("4")).isOk());
  EXPECT_FALSE(std::filesystem::exists(run.folder.file(run.name(1))));
  const Status gone = run.store.at(1, need).status();
  EXPECT_EQ(gone.errorCode(), ErrorCode::DamagedCheckpoint);
  EXPECT_NE(gone.message().problem.find("checkpoint of the best evaluation, "),
            std::string::npos);
  EXPECT_EQ(gone.message().remedy, "train again");
  run.resumes(5);
}

// A kill between a new checkpoint and the removal of the oldest.
TEST(CheckpointTest, LoadingRemovesWhatAKilledSaveKept) {
  SavedRun run;
  for (int64_t step : {1, 2, 3})
    ASSERT_TRUE(run.save(step).isOk());
  std::filesystem::copy(run.folder.file(run.name(2)),
                        run.folder.file(run.name(1)));
  EXPECT_EQ(run.folder.count("out"), 3u);
  run.resumes(3);
  EXPECT_EQ(run.folder.count("out"), 2u);
}

// Somebody moved it to another disk.
TEST(CheckpointTest, WhatALinkLeadsToIsNotOursToRemove) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  std::filesystem::rename(run.folder.file(run.name(1)),
                          run.folder.file("moved"));
  std::filesystem::create_symlink("../moved", run.folder.file(run.name(1)));
  run.resumes(1);
  for (int64_t step : {2, 3})
    ASSERT_TRUE(run.save(step).isOk());
  EXPECT_EQ(run.folder.count("out"), 2u);
  EXPECT_EQ(run.folder.count("moved"), 3u);
}

TEST(CheckpointTest, SavingAStepAgainReplacesIt) {
  SavedRun run;
  ASSERT_TRUE(run.save(5).isOk());
  run.folder.write("out/checkpoint-000005/MANIFEST.json", "damaged");
  ASSERT_TRUE(run.save(5).isOk());
  EXPECT_EQ(run.folder.count("out"), 1u);
  run.resumes(5);
}

TEST(CheckpointTest, LaterCheckpointsNeitherCountNorGo) {
  SavedRun run;
  ASSERT_TRUE(run.save(900).isOk());
  run.folder.write("out/checkpoint-000900/trainer.json", "damaged");
  for (int64_t step : {1, 2, 3})
    ASSERT_TRUE(run.save(step).isOk());
  EXPECT_EQ(run.folder.count("out"), 3u);
  run.resumes(3, 1);
}

TEST(CheckpointTest, EveryCutFileIsPassedOver) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  for (const char *file :
       {"state.safetensors", "trainer.json", "MANIFEST.json"}) {
    std::string name = std::string("out/checkpoint-000002/") + file;
    std::string bytes = run.folder.read(name);
    // The last byte of the manifest is a line break, which says nothing.
    size_t last = bytes.size() - (file[0] == 'M');
    for (size_t size = 0; size < last; ++size) {
      run.folder.write(name, bytes.substr(0, size));
      run.resumes(1, 1);
    }
    run.folder.write(name, bytes);
    run.resumes(2);
  }
}

TEST(CheckpointTest, EveryChangedByteOfTheContentsIsPassedOver) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  for (const char *file : {"state.safetensors", "trainer.json"}) {
    std::string name = std::string("out/checkpoint-000002/") + file;
    std::string bytes = run.folder.read(name);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string changed = bytes;
      changed[i] ^= 1;
      run.folder.write(name, changed);
      run.resumes(1, 1);
    }
    run.folder.write(name, bytes);
  }
  run.resumes(2);
}

TEST(CheckpointTest, NoChangedByteOfTheManifestGivesWrongNumbers) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  std::string name = "out/checkpoint-000002/MANIFEST.json";
  std::string bytes = run.folder.read(name);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 1;
    run.folder.write(name, changed);
    Result<CheckpointStore::Found> r = run.load();
    ASSERT_TRUE(r.isOk());
    ASSERT_FALSE(r.value().directory.empty());
    EXPECT_EQ(run.theta[0], r.value().step);
    EXPECT_EQ(r.value().notes.size(), r.value().step == 2 ? 0u : 1u);
  }
}

TEST(CheckpointTest, NotesNameTheDamagedFileAndTheRestIsTried) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  std::filesystem::remove(
      run.folder.file("out/checkpoint-000002/state.safetensors"));
  Result<CheckpointStore::Found> r = run.load();
  ASSERT_EQ(r.value().notes.size(), 1u);
  EXPECT_NE(r.value().notes[0].find("checkpoint-000002/state.safetensors"),
            std::string::npos);
  std::filesystem::remove(
      run.folder.file("out/checkpoint-000001/MANIFEST.json"));
  r = run.load();
  ASSERT_TRUE(r.isOk());
  EXPECT_TRUE(r.value().directory.empty());
  EXPECT_EQ(r.value().notes.size(), 2u);
  EXPECT_EQ(run.theta[0], -1);
}

TEST(CheckpointTest, ARenamedCheckpointIsNoCheckpointOfThatStep) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  std::filesystem::rename(run.folder.file("out/checkpoint-000002"),
                          run.folder.file("out/checkpoint-000007"));
  run.resumes(1, 1);
}

TEST(CheckpointTest, OtherNamesAreNotCheckpoints) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  for (const char *name :
       {"checkpoint-2", "checkpoint-0000002", "checkpoint-00000x",
        "checkpoint-", "checkpoint-99999999999999999999", "xcheckpoint-000002",
        "checkpoint--00002", "checkpoint-000002.bak"})
    std::filesystem::create_directory(run.folder.file("out/") + name);
  run.resumes(1);
}

TEST(CheckpointTest, OtherVectorsAreAnError) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  double theta[4] = {-1};
  auto refused = [&](std::vector<CheckpointTarget> targets,
                     const char *problem) {
    Status status = run.store.read(run.store.newest().value(), targets);
    EXPECT_EQ(status.errorCode(), ErrorCode::CheckpointMisfit);
    EXPECT_NE(status.render().find(problem), std::string::npos)
        << status.render();
    EXPECT_EQ(theta[0], -1);
  };
  refused({{"theta", Dtype::F64, 3, theta}}, "expected 1 vectors, found 2");
  refused({{"theta", Dtype::F64, 3, theta}, {"state0", Dtype::F32, 4, theta}},
          "expected F32 [4], found F32 [3]");
  refused({{"theta", Dtype::F64, 3, theta}, {"state0", Dtype::F64, 3, theta}},
          "expected F64 [3], found F32 [3]");
  refused({{"theta", Dtype::F64, 3, theta}, {"state1", Dtype::F32, 3, theta}},
          "found none");
}

/// Sets an element of state0, and the digest of the result.
static void resealWith(SavedRun &run, int64_t step, float element) {
  const std::string state = run.name(step) + "/state.safetensors";
  const std::string manifest = run.name(step) + "/MANIFEST.json";
  std::string bytes = run.folder.read(state), text = run.folder.read(manifest);
  const std::string old = Sha256::hex(bytes);
  std::memcpy(&bytes[bytes.size() - sizeof(float)], &element, sizeof(float));
  text.replace(text.find(old), old.size(), Sha256::hex(bytes));
  run.folder.write(state, bytes);
  run.folder.write(manifest, text);
}

TEST(CheckpointTest, NumbersThatAreNotFiniteAreRefused) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  resealWith(run, 2, 7);
  run.resumes(2); // with any numbers
  for (float element : {INFINITY, -INFINITY, NAN}) {
    resealWith(run, 2, element);
    const Status status = run.load().status();
    ASSERT_FALSE(status.isOk());
    EXPECT_EQ(status.errorCode(), ErrorCode::DamagedCheckpoint);
    EXPECT_NE(status.render().find("state.safetensors: tensor state0: expected "
                                   "finite numbers"),
              std::string::npos)
        << status.render();
  }
  std::filesystem::remove_all(run.folder.file(run.name(2)));
  run.resumes(1);
}

TEST(CheckpointTest, NumbersThatAreNotFiniteAreNotSaved) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  run.state0[1] = INFINITY;
  const Status status = run.store.save(2, identity,
                                       {{"theta", Dtype::F64, 3, run.theta},
                                        {"state0", Dtype::F32, 3, run.state0}});
  EXPECT_EQ(status.errorCode(), ErrorCode::Diverged);
  EXPECT_NE(
      status.render().find("step 2: expects finite numbers but got NaN or "
                           "infinity in state0"),
      std::string::npos)
      << status.render();
  run.resumes(1);
}

TEST(CheckpointTest, TemporariesOfDeadRunsGoAtTheNextStart) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  std::string stray = "out/checkpoint-000002.tmp-0123456789abcdef";
  std::filesystem::create_directory(run.folder.file(stray));
  run.folder.write(stray + "/state.safetensors", "half");
  run.folder.write("out/notes.tmp-0123456789abcdef", "the user's");
  EXPECT_EQ(run.folder.count("out"), 3u);
  ASSERT_TRUE(CheckpointStore::open(run.out).isOk());
  EXPECT_EQ(run.folder.count("out"), 2u);
  run.resumes(1);
}

/// The result of `body` in a process that may not read forbidden files.
template <typename Body> static bool holdsForAUser(Body body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit((::geteuid() != 0 || ::setresuid(65534, 65534, 65534) == 0) &&
                    body()
                ? 0
                : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

// An unreadable checkpoint may be the newest: to go on from the one before
// would throw its work away.
TEST(CheckpointTest, OneThatCannotBeOpenedStopsTheRun) {
  // A folder of the tests may be its owner's alone; this one any user enters.
  ::setenv("TMPDIR", "/tmp", 1);
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  ASSERT_TRUE(run.save(2).isOk());
  std::string newest = run.folder.file(run.name(2));
  for (const std::string &path :
       {run.out, newest, newest + "/MANIFEST.json", newest + "/trainer.json",
        newest + "/state.safetensors"}) {
    std::filesystem::permissions(run.folder.path, std::filesystem::perms(0755));
    std::filesystem::permissions(path, std::filesystem::perms(0));
    EXPECT_TRUE(holdsForAUser([&] {
      Result<CheckpointStore::Found> r = run.load();
      return r.status().errorCode() == ErrorCode::CannotRead &&
             r.status().message().place.compare(0, path.size(), path) == 0;
    })) << path;
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  run.resumes(2);
}

TEST(CheckpointTest, TooManyOpenFilesAreNoDamage) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  EXPECT_TRUE(holdsForAUser([&] {
    while (::dup(0) >= 0) {
    }
    return run.load().status().errorCode() == ErrorCode::ReadFailed;
  }));
}

TEST(CheckpointTest, AFailedSaveLeavesTheOldOnes) {
  SavedRun run;
  ASSERT_TRUE(run.save(1).isOk());
  // Two vectors of one name cannot be written.
  Status s = run.store.save(2, identity,
                            {{"theta", Dtype::F64, 3, run.theta},
                             {"theta", Dtype::F64, 3, run.theta}});
  EXPECT_FALSE(s.isOk());
  EXPECT_EQ(run.folder.count("out"), 1u);
  run.resumes(1);
}

TEST(CheckpointTest, SavingIntoAFolderThatWentAwayIsCannotCreate) {
  SavedRun run;
  std::filesystem::remove_all(run.out);
  EXPECT_EQ(run.save(1).errorCode(), ErrorCode::CannotCreate);
}

TEST(CheckpointTest, IdentitiesOfAnyTextReadBack) {
  SavedRun run;
  CheckpointIdentity odd = {{{"", ""}, {"a\"\n", "\\u0000\t\x01"}}, {}};
  ASSERT_TRUE(run.store.save(1, odd, {}).isOk());
  Result<CheckpointStore::Found> r = run.store.newest();
  ASSERT_TRUE(r.isOk()) << r.status().render();
  EXPECT_EQ(r.value().identity.run, odd.run);
  EXPECT_TRUE(r.value().identity.numerics.empty());
}
