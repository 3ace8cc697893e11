/// Tests the pictures of data in a browser: the mouse, the keyboard, and the requests of accesses.

#include "tests/pages/in_browser.h"
#include "tests/pages/row_sums.h"
#include "tests/tools/call_main.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::Browser;
using test::InBrowser;
using test::Screen;
using testing::HasSubstr;
using testing::StartsWith;

class PicturesInBrowser : public InBrowser {};

/// Requests the pictures of a rung, which the page otherwise draws when they are near the screen.
void request_pictures(Browser &browser) {
  browser.evaluate(
      "document.querySelector('.pictures').scrollIntoView(); new Promise((done) => setTimeout(done, 300))");
}

std::string owner(Browser &browser) {
  return browser.text("document.querySelector('.owner-line').textContent");
}

void focus(Browser &browser, int grid) {
  browser.evaluate(fmt::format("document.querySelectorAll('.cells')[{}].focus()", grid));
}

TEST_F(PicturesInBrowser, AnElementShowsItsThread) {
  Browser browser(page("ladder/async --shape 256x256x256 --set bk=8,stages=3"));
  request_pictures(browser);
  EXPECT_EQ(owner(browser), "thread 0, warp 0, lane 0; elements: C: 64, A_shared: 4, B_shared: 4");
  browser.hover(".tile:nth-child(2) svg");
  EXPECT_THAT(owner(browser), testing::MatchesRegex("C\\[6[34], 10\\]: thread .*"));

  // With the keyboard, moves to the first element.
  focus(browser, 1);
  for (int n = 0; n < 64; ++n)
    browser.press("ArrowUp");
  for (int n = 0; n < 11; ++n)
    browser.press("ArrowLeft");
  EXPECT_THAT(owner(browser), StartsWith("C[0, 0]: thread 0, "));
  for (int n = 0; n < 4; ++n)
    browser.press("ArrowRight");
  EXPECT_EQ(owner(browser), "C[0, 4]: thread 1, warp 0, lane 1; elements: C: 64, A_shared: 4, B_shared: 4");
  EXPECT_EQ(browser.number("document.querySelectorAll('.owned')[1].getAttribute('d').split('M').length - 1"),
            16)
      << "64 elements in runs of 4";
  expect_clean(browser);
}

TEST_F(PicturesInBrowser, AThreadShowsItsElements) {
  Browser browser(page("ladder/async --shape 256x256x256 --set bk=8,stages=3"));
  request_pictures(browser);
  std::string before = browser.text("document.querySelectorAll('.owned')[1].getAttribute('d')");
  focus(browser, 0);
  browser.press("ArrowDown");
  browser.press("ArrowRight");
  EXPECT_EQ(owner(browser), "thread 33, warp 1, lane 1; elements: C: 64, A_shared: 4, B_shared: 4");
  EXPECT_NE(browser.text("document.querySelectorAll('.owned')[1].getAttribute('d')"), before);
  EXPECT_EQ(browser.text("document.querySelector('.owner-line').getAttribute('role')"), "status");

  // The rows of A_shared are padded.
  focus(browser, 2);
  for (int n = 0; n < 131; ++n)
    browser.press("ArrowRight");
  EXPECT_EQ(owner(browser), "A_shared[0, 131]: padding, or not written");
  expect_clean(browser);
}

/// A matrix of a batch, and a vector, which is drawn in rows of 32 elements.
TEST_F(PicturesInBrowser, AnElementHasTheIndicesOfItsParameter) {
  Browser batched(page("gemm/batched --shape 3x64x64x64")), vector(page("principles/fused --shape 4096"));
  for (Browser *browser : {&batched, &vector}) {
    request_pictures(*browser);
    focus(*browser, 1);
    browser->press("ArrowDown");
    browser->press("ArrowRight");
  }
  EXPECT_THAT(owner(batched), StartsWith("C[0, 1, 1]: thread "));
  EXPECT_THAT(owner(vector), StartsWith("y[33]: thread 33, "));
}

TEST_F(PicturesInBrowser, AnElementOfAFragmentShowsItsLaneAndRegister) {
  Browser browser(page("tensor/mma --shape 64x64x64"));
  request_pictures(browser);
  std::int64_t number = browser.number("[...document.querySelectorAll('.tile')].findIndex((it) => "
                                       "it.textContent.startsWith('AB,'))");
  focus(browser, static_cast<int>(number));
  browser.press("ArrowDown");
  browser.press("ArrowRight");
  EXPECT_THAT(owner(browser), StartsWith("AB[1, 1]: lane 4, register 1; "));
  EXPECT_EQ(browser.text("document.querySelector('.fragment .spot').textContent"), "0:0");
  expect_clean(browser);
}

TEST_F(PicturesInBrowser, AnElementOfAFragmentShowsAllItsLanes) {
  std::string path = (folder_ / "page.html").string();
  test::Called called = test::call_main({"report", "-o", path, "--device", "sim"}, {test::row_sums_rung()});
  ASSERT_EQ(called.code, 0) << called.err;
  Browser browser(path);
  request_pictures(browser);
  std::int64_t number = browser.number("[...document.querySelectorAll('.tile')].findIndex((it) => "
                                       "it.textContent.startsWith('Y_warp,'))");
  EXPECT_THAT(
      browser.text(fmt::format("document.querySelectorAll('.tile figcaption')[{}].textContent", number)),
      HasSubstr("32 lanes hold each element, and a cell shows the first of them"));
  focus(browser, static_cast<int>(number));
  browser.press("ArrowRight");
  EXPECT_THAT(owner(browser), StartsWith("Y_warp[0, 0]: lane 0, register 0 (also lanes 1–31); elements: "));

  // A thread in another lane holds a copy.
  focus(browser, 0);
  browser.press("ArrowRight");
  EXPECT_THAT(owner(browser), HasSubstr("Y_warp: 1"));
  EXPECT_NE(browser.text(fmt::format("document.querySelectorAll('.owned')[{}].getAttribute('d')", number)), "");
  expect_clean(browser);
}

/// Enter on the line of an access selects it in the CUDA text of the steps, and Enter there selects the access
/// again.
TEST_F(PicturesInBrowser, TheLineOfAnAccessIsSelectedInTheCudaText) {
  Browser browser(page("deep_dive/tile1d"));
  request_pictures(browser);
  auto current = [&] { return browser.text("document.querySelector('.cuda .current').textContent.trim()"); };
  std::int64_t accesses = browser.number("document.querySelectorAll('.access').length");
  for (std::int64_t n = 1; n <= accesses; ++n) {
    SCOPED_TRACE(n);
    browser.click(fmt::format(".access[value='{}'] .of-line", n));
    std::string buffer =
        browser.text(fmt::format("document.querySelector('.access[value=\"{}\"] b').textContent"
                                 ".split(' ').at(-1)",
                                 n));
    EXPECT_THAT(current(), HasSubstr(buffer + "["));
    EXPECT_THAT(browser.text("document.querySelector('.linked-lines').textContent"), HasSubstr("accesses "));
    EXPECT_TRUE(browser.holds("document.activeElement === document.querySelector('.cuda pre')"));
    browser.press("Enter");
    EXPECT_EQ(browser.text("document.activeElement.getAttribute('aria-pressed')"), "true");
    EXPECT_EQ(
        browser.text("document.activeElement.closest('li').querySelector('.of-line').dataset.line"),
        browser.text(fmt::format("document.querySelector('.access[value=\"{}\"] .of-line').dataset.line", n)));
  }

  // With the keyboard, from an earlier step and from the kernel.
  browser.click(".previous");
  browser.click(".show-kernel");
  browser.evaluate("document.querySelector('.access .of-line').focus()");
  browser.press("Enter");
  EXPECT_TRUE(browser.holds("document.querySelector('.cuda').checkVisibility()"));
  EXPECT_TRUE(browser.holds("document.querySelector('.next').disabled")) << "the last step";
  EXPECT_THAT(current(), HasSubstr("["));
  expect_clean(browser);
}

/// Every access must have a line in the text of the steps, also at another shape.
TEST_F(PicturesInBrowser, EveryLineOfAnAccessIsLinked) {
  Browser browser(page("ladder/async worklog/6"));
  EXPECT_GT(browser.number("document.querySelectorAll('.access-list li').length"), 10);
  EXPECT_EQ(browser.number("document.querySelectorAll('.access-list li:not(:has(.of-line))').length"), 0);
  expect_clean(browser);
}

/// Compares every access of the list with `explain --heatmap`.
TEST_F(PicturesInBrowser, AnAccessShowsTheRequestOfTheHeatmap) {
  for (std::string rung : {"principles/transposed", "tensor/joined"}) {
    std::string shape = " --shape 256x256x256";
    Browser browser(page(rung + shape));
    request_pictures(browser);
    std::int64_t accesses = browser.number("document.querySelectorAll('.access button').length");
    EXPECT_GT(accesses, 4);
    for (std::int64_t n = 1; n <= accesses; ++n) {
      browser.click(fmt::format(".access[value='{}'] button", n));
      EXPECT_EQ(browser.number("Number(document.querySelector('.access:has([aria-pressed=true])').value)"), n);
      auto json =
          test::parsed(test::nestsmith(fmt::format("explain {}{} --heatmap {} --json", rung, shape, n)));
      auto expected = [&](const char *name) { return *json.getAsObject()->getInteger(name); };
      auto count = [&](const char *selector) {
        return browser.number(fmt::format("document.querySelectorAll('.access-table {}').length", selector));
      };
      SCOPED_TRACE(fmt::format("{} {}", rung, n));
      if (json.getAsObject()->getString("memory") == llvm::StringRef("shared")) {
        EXPECT_EQ(count(".banks tbody tr"), expected("wavefronts"));
        EXPECT_EQ(count(".banks tr.conflict"), expected("conflicts"));
      } else {
        EXPECT_EQ(count(".sectors td:is(.one, .many, .unused)"), 8 * expected("sectors"));
      }
      EXPECT_THAT(browser.text("document.querySelector('.access[value=\"" + std::to_string(n) +
                               "\"] code').textContent"),
                  json.getAsObject()->getString("text")->str());
    }
    expect_clean(browser);
  }
}

TEST_F(PicturesInBrowser, AConflictIsMarkedByAWord) {
  Browser browser(page("principles/transposed --shape 256x256x256"));
  request_pictures(browser);
  EXPECT_EQ(browser.number("document.querySelectorAll('.banks tr.conflict').length"), 31)
      << "the most expensive access is selected";
  EXPECT_EQ(browser.text("document.querySelector('tr.conflict th').textContent"), "✗ wavefront 2");
  browser.hover(".banks tbody tr:nth-child(2) td:nth-child(2)");
  EXPECT_EQ(browser.text("document.querySelector('.access-line').textContent"),
            "wavefront 2, bank 0, byte 4224–4227: lanes 1 (bank conflict)");
  browser.evaluate("document.querySelector('.access-table .wide').focus()");
  browser.press("ArrowRight");
  EXPECT_EQ(browser.text("document.querySelector('.access-line').textContent"), "wavefront 2, bank 1");
  expect_clean(browser);
}

TEST_F(PicturesInBrowser, ABarrierShowsItsHazards) {
  Browser browser(page("ladder/async --shape 256x256x256 --set bk=8,stages=3"));
  request_pictures(browser);
  auto line = [&] { return browser.text("document.querySelector('.hazard-line').textContent"); };
  browser.hover(".time-line .barrier");
  EXPECT_THAT(line(), StartsWith("barrier B1: "));
  EXPECT_THAT(line(), HasSubstr("write after read of A_shared"));
  EXPECT_EQ(browser.number("document.querySelectorAll('.time-line tr.linked').length"), 3);
  browser.evaluate("document.querySelector('.time-line .wait').focus()");
  EXPECT_THAT(line(), StartsWith("wait for copies W1: read after write of "));
  expect_clean(browser);
}

/// The nests of a step of k are in one column. Its cells are the load of k + 1, a part of each copy, and the
/// product.
TEST_F(PicturesInBrowser, ASpreadLoopHasAPartInEachColumn) {
  Browser browser(
      page("fast/gemm --shape 256x256x256 --set async=true,bk=16,fragments=true,joined=true,results=4x8,"
           "spread=true,copy_steps=0,warps=4x1"));
  request_pictures(browser);
  EXPECT_EQ(browser.text(R"js((() => {
    const rows = [...document.querySelectorAll('.time-line tbody tr')], box = (cell) => cell.getBoundingClientRect();
    const cell = (row, text) => [...rows[row].cells].find((it) => it.textContent === text);
    const column = [cell(0, '0.8'), cell(1, '0.8'), cell(3, '2[1]'), cell(4, '0.7')];
    if (column.some((it) => !it)) return 'a cell is missing';
    if (column.some((it) => Math.abs(box(it).x - box(column[0]).x) > 1)) return 'several columns';
    if (!cell(2, '2[7]').classList.contains('async')) return 'no copy';
    return [...rows[3].querySelectorAll('.nest')].map((it) => it.textContent).join(' ');
  })())js"),
            "0 1 2[0] 2[1] 3[0] 3[1] 4[0] 4[1] 15[0] 15[1]");
  EXPECT_THAT(browser.text("document.querySelector('.pipeline p').textContent"),
              HasSubstr("3[0] is part 0 of iteration 3 of a spread loop"));
  EXPECT_EQ(browser.number("document.querySelectorAll('.time-line thead tr:first-child .step').length"), 7);
  expect_clean(browser);
}

TEST_F(PicturesInBrowser, WithoutAScriptThePicturesShowThreadZero) {
  Browser browser(page("ladder/async --shape 256x256x256 --set bk=8,stages=3"), {.script = false});
  EXPECT_EQ(owner(browser), "thread 0, warp 0, lane 0; elements: C: 64, A_shared: 4, B_shared: 4");
  EXPECT_GT(browser.number("document.querySelectorAll('.access .cost').length"), 4);
  EXPECT_GT(browser.number("document.querySelectorAll('.time-line .nest').length"), 4);
  EXPECT_EQ(browser.number("document.querySelectorAll('.certificates > li').length"), 2);
  EXPECT_GT(browser.number("document.querySelectorAll('.occupancy .resident').length"), 2);
}

/// Only tables, lists and code may scroll horizontally.
TEST_F(PicturesInBrowser, FitNarrowScreensAndPaper) {
  std::string path = page("ladder/naive tensor/joined --shape 256x256x256");
  for (Screen screen : {Screen{.width = 360, .height = 740}, Screen{.width = 720, .print = true}}) {
    Browser browser(path, screen);
    browser.evaluate("dispatchEvent(new Event('beforeprint'))"); // draws all pictures
    EXPECT_EQ(browser.number("document.querySelectorAll('.access-table table').length"), 2);
    EXPECT_LE(browser.number("document.documentElement.scrollWidth"), screen.width);
    expect_clean(browser);
  }
}

TEST_F(PicturesInBrowser, PicturesAreInKorean) {
  Browser browser(page("ladder/async --shape 256x256x256 --set bk=8,stages=3 --lang ko"));
  request_pictures(browser);
  focus(browser, 0);
  browser.press("ArrowRight");
  EXPECT_THAT(owner(browser), StartsWith("스레드 1, 워프 0, 레인 1; "));
  expect_clean(browser);
}

} // namespace
} // namespace nestsmith
