//===- Sha256Test.cpp - Known answers of FIPS 180-4 and NIST CAVP ---------===//
//
// Also every split of a message into two updates.
//
//===----------------------------------------------------------------------===//

#include "base/Sha256.h"

#include <gtest/gtest.h>

using hone::rt::Sha256;

TEST(Sha256Test, MatchesPublishedVectors) {
  EXPECT_EQ(Sha256::hex(""), "e3b0c44298fc1c149afbf4c8996fb924"
                             "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256::hex("abc"), "ba7816bf8f01cfea414140de5dae2223"
                                "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      Sha256::hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      Sha256::hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(Sha256::hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(Sha256::hex("\xbd"),
            "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

TEST(Sha256Test, ChunksDoNotMatter) {
  std::string message;
  for (int i = 0; i < 200; ++i)
    message += char(i * 7);
  std::string whole = Sha256::hex(message);
  for (size_t cut = 0; cut <= message.size(); ++cut) {
    Sha256 hash;
    hash.update(message.substr(0, cut));
    hash.update(message.substr(cut));
    EXPECT_EQ(hash.finishHex(), whole) << cut;
  }
}

TEST(Sha256Test, EveryPaddingLengthMatchesByteByByteUpdates) {
  for (size_t size = 0; size < 130; ++size) {
    std::string message(size, 'x');
    Sha256 hash;
    for (char c : message)
      hash.update(&c, 1);
    EXPECT_EQ(hash.finishHex(), Sha256::hex(message)) << size;
  }
}

TEST(Sha256Test, InstructionsGiveWhatPlainCodeGives) {
  std::string message;
  for (int i = 0; i < 5000; ++i)
    message += char(i * i + i / 7);
  for (size_t size = 0; size < message.size(); size += 61) {
    Sha256 plain(Sha256::Code::Plain);
    plain.update(message.substr(0, size));
    EXPECT_EQ(plain.finishHex(), Sha256::hex(message.substr(0, size))) << size;
  }
}

TEST(Sha256Test, FinishStartsANewMessage) {
  Sha256 hash;
  hash.update("abc");
  hash.finish();
  hash.update("abc");
  EXPECT_EQ(hash.finishHex(), Sha256::hex("abc"));
}
