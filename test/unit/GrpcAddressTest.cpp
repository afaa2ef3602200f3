//===- GrpcAddressTest.cpp - Where programs meet, and with which keys -----===//

#include "runtime/engines/grpc/Address.h"
#include "runtime/engines/grpc/Timing.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace hone::grpc_engine;

// What docs/split-training.md says. Both ends have the same numbers, so a side
// that pings is not cut off for it, and one that is dead is noticed.
TEST(GrpcTimingTest, BothSidesPermitThePingsThatTheySend) {
  EXPECT_GE(kPingEvery, 2 * kPingPermittedEvery);
  EXPECT_EQ(kPingEvery + kPingAnswer, 140 * 1000);
  EXPECT_GT(kPingAnswer, 65536 + 1000); // at 1 KB/s a window of 64 KiB
}

TEST(GrpcTimingTest, ItIsDialledAgainAfterOneToSixtySeconds) {
  EXPECT_EQ(kFirstPause, 1000);
  EXPECT_EQ(kMostPause, 60000);
}

static std::string problemOf(const std::string &text) {
  Address address;
  std::string why;
  const bool isOne = address.parse(text, why);
  EXPECT_EQ(isOne, why.empty()) << text;
  return why;
}

TEST(GrpcAddressTest, SaysWhoIsDialledWhere) {
  Address address;
  std::string why;
  ASSERT_TRUE(address.parse("serve=[::]:7700,admit=names,connect.last=[::1]:1,"
                            "keys=folder,run=1",
                            why))
      << why;
  EXPECT_EQ(address.toDial("last"), "[::1]:1");
  EXPECT_EQ(address.toDial("first"), "");
  EXPECT_EQ(address.serve, "[::]:7700");
  EXPECT_EQ(address.run, "1");
  Address any;
  ASSERT_TRUE(any.parse("connect=unix:a=b,connect.last=unix:c", why)) << why;
  EXPECT_EQ(any.toDial("last"), "unix:c");
  EXPECT_EQ(any.toDial("first"), "unix:a=b");
}

TEST(GrpcAddressTest, RefusesWhatIsNone) {
  for (const char *text :
       {"serve", "serve=", "other=1", "connect=a:1,connect=b:1", "=a:1",
        "connectx=a:1", "serve=unix:a,,"})
    EXPECT_NE(problemOf(text).find("each once"), std::string::npos) << text;
  for (const char *text :
       {"connect=host", "connect=host:", "connect=:1", "connect=host:http",
        "connect=host:123456", "connect=host:0", "serve=host:65536",
        "connect=::1:1", "connect=xds:///a:1",
        "serve=unix:", "connect=dns://1.1.1.1/a:1"})
    EXPECT_NE(problemOf(text).find("HOST:PORT"), std::string::npos) << text;
  EXPECT_NE(problemOf(""), "");
  EXPECT_NE(problemOf("keys=folder"), "");
}

// Nothing goes over a network without keys on both sides and a list.
TEST(GrpcAddressTest, NeedsKeysOffThisMachine) {
  EXPECT_EQ(problemOf("serve=unix:a"), "");
  EXPECT_EQ(problemOf("connect=unix:a"), "");
  for (const char *text :
       {"serve=h:1,admit=a", "connect=h:1", "connect=unix:a,connect.b=h:1"})
    EXPECT_NE(problemOf(text).find("keys"), std::string::npos) << text;
  EXPECT_NE(problemOf("serve=h:1,keys=a").find("admit"), std::string::npos);
  EXPECT_EQ(problemOf("serve=h:1,keys=a,admit=b"), "");
  EXPECT_EQ(problemOf("connect=h:1,keys=a"), "");
}

TEST(GrpcAddressTest, AdmitsNamesThatAreWholeLines) {
  const std::string file = testing::TempDir() + "/admitted";
  std::ofstream(file) << "# all phones\nphone\r\n  tablet # of Ann\n\n#watch\n";
  for (const char *name : {"phone", "tablet"})
    EXPECT_TRUE(isAdmitted(file, name)) << name;
  for (const char *name :
       {"", "phon", "phones", "watch", "#watch", "tablet # of Ann", "phone\r"})
    EXPECT_FALSE(isAdmitted(file, name)) << name;
  EXPECT_FALSE(isAdmitted(file + ".none", "phone"));
  std::string text, why;
  EXPECT_FALSE(readFile(testing::TempDir(), text, why));
  EXPECT_NE(why.find("but got a folder"), std::string::npos) << why;
  std::remove(file.c_str());
}
