//===- GrpcAddressTest.cpp - Where programs meet, and with which keys -----===//

#include "runtime/engines/grpc/Address.h"
#include "runtime/engines/grpc/Timing.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace hone::grpc_engine;

// The numbers of docs/split-training.md. Both ends have the same numbers, so a
// side that pings is not cut off for it, and a dead one is noticed.
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

namespace {

/// A certificate of `bytes`, in lines that end in `end`.
std::string pemOf(const std::string &bytes, const std::string &end = "\n") {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "-----BEGIN CERTIFICATE-----";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string three = bytes.substr(i, 3);
    const size_t kept = three.size() + 1;
    three.resize(3);
    const uint32_t bits = uint32_t(uint8_t(three[0])) << 16 |
                          uint32_t(uint8_t(three[1])) << 8 | uint8_t(three[2]);
    if (i % 48 == 0)
      text += end;
    for (size_t k = 0; k < 4; ++k)
      text += k < kept ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text + end + "-----END CERTIFICATE-----" + end;
}

bool isFor(const std::string &pem, bool serves) {
  Keys keys;
  keys.certificate = pem;
  return keys.isFor(serves);
}

} // namespace

// By any tool that wrote the certificate; its purposes are bytes within it.
TEST(GrpcAddressTest, ACertificateSaysWhatItIsFor) {
  const std::string purpose("\x06\x08\x2b\x06\x01\x05\x05\x07\x03", 9);
  const std::string server = purpose + '\x01', client = purpose + '\x02';
  const std::string text = "Subject: CN = phone, purposes: -----\n";
  // One, two or none of the three bytes of four digits are from the text
  // before.
  for (const std::string before : {"", "x", "xy", "of seventeen here"})
    for (const std::string end : {"\n", "\r\n"}) {
      const std::string none = pemOf(before + "no purpose", end),
                        both = pemOf(before + server + client + "z", end),
                        serves = pemOf(before + server + "zz", end),
                        dials = pemOf(before + client, end);
      for (const bool way : {false, true}) {
        EXPECT_TRUE(isFor(none, way));
        EXPECT_TRUE(isFor(both, way));
        EXPECT_EQ(isFor(serves, way), way);
        EXPECT_EQ(isFor(dials, way), !way);
        EXPECT_EQ(isFor(text + dials, way), !way);
        // The one that is shown is the first of a chain.
        EXPECT_EQ(isFor(dials + serves + both, way), !way);
        EXPECT_EQ(isFor(serves + none, way), way);
      }
    }
}
