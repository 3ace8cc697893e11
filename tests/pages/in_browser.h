#pragma once
/// The fixture for tests of pages in a browser.

#include "tests/pages/browser.h"
#include "tests/tools/run_binary.h"

#include <gmock/gmock.h>
#include <string>

namespace nestsmith::test {

class InBrowser : public testing::Test {
protected:
  void SetUp() override {
    if (std::string why = Browser::why_not(); !why.empty())
      GTEST_SKIP() << why;
  }

  /// Writes a page without advice, which takes most of the time, and returns its path.
  std::string page(const std::string &arguments) {
    std::string path = (folder_ / "page.html").string();
    Ran ran = test::nestsmith("report " + arguments + " --device sim --no-advice -o " + path);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    return path;
  }

  /// Expects that the page has requested only itself, and that the console has no message.
  static void expect_clean(const Browser &browser) {
    EXPECT_THAT(browser.complaints(), testing::IsEmpty());
    EXPECT_THAT(browser.requests(), testing::ElementsAre(testing::StartsWith("file://")));
  }

  TemporaryFolder folder_;
};

} // namespace nestsmith::test
