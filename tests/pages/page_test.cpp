/// Tests pages in a browser: the slider, the links between lines, and the policy of the page.

#include "tests/pages/in_browser.h"
#include "tests/tools/call_main.h"
#include "tools/pages/findings.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::Browser;
using test::InBrowser;
using test::Ran;
using test::Screen;
using testing::HasSubstr;

constexpr const char *first_rung = "document.querySelector('.steps')";

/// Requests the links of a rung, which the page otherwise creates when the rung is near the screen.
void request_links(Browser &browser) {
  browser.evaluate("document.querySelectorAll('.steps input[type=range]').forEach((it) => it.dispatchEvent(new "
                   "Event('input')))");
}

/// Returns the text in a pane of the first rung, without removed lines.
std::string shown(Browser &browser, const std::string &pane) {
  return browser.text(fmt::format("[...{}.querySelectorAll('.{} .line')].filter(line => line.tagName !== "
                                  "'DEL').map(line => line.textContent)"
                                  ".join('\\n')",
                                  first_rung, pane));
}

/// A chart is a heading, "PROBLEM" or "PROBLEM, GPU", and a list of bars. The charts without a GPU are those of
/// the GPU of the page: together they have one bar for each rung, in the order of the page. The charts of
/// another GPU have at most one bar for each rung, in this order, and each of them draws a measured time.
constexpr const char *trouble_of_climb = R"js((() => {
    const rungs = [...document.querySelectorAll('section[id^=rung-] .address')].map(it => it.hash);
    const name = it => it.querySelector('a').hash;
    const ofGpu = new Map([['', []]]);
    let bars = 0;
    for (const chart of document.querySelectorAll('#climb .bars')) {
      let heading = chart.previousElementSibling;
      while (heading && heading.tagName !== 'H3') heading = heading.previousElementSibling;
      if (!heading) return 'a chart without a heading';
      const gpu = heading.textContent.split(', ')[1] ?? '';
      const drawn = [...chart.querySelectorAll('.bar')];
      if (drawn.length === 0) return `${heading.textContent}: no bar`;
      if (gpu && drawn.some(it => !it.querySelector('rect.measured'))) return `${heading.textContent}: no measured time`;
      ofGpu.set(gpu, [...(ofGpu.get(gpu) ?? []), ...drawn.map(name)]);
      bars += drawn.length;
    }
    if (bars !== document.querySelectorAll('#climb .bar').length) return 'a bar outside of a chart';
    for (const [gpu, names] of ofGpu) {
      const expected = gpu ? rungs.filter(it => names.includes(it)) : rungs;
      if (names.join() !== expected.join()) return `${gpu}: bars of ${names}, expected ${expected}`;
    }
    return '';
  })())js";

class Tutorials : public InBrowser, public testing::WithParamInterface<std::string> {};

TEST_P(Tutorials, ThePageOpensAndShowsEveryStep) {
  Browser browser(page(GetParam() + " --shape 64x64x64"));
  request_links(browser);
  EXPECT_LT(std::filesystem::file_size(folder_ / "page.html"), 2'000'000U);
  std::int64_t rungs = browser.number("document.querySelectorAll('section[id^=rung-]').length");
  EXPECT_EQ(rungs, browser.number("document.querySelectorAll('.steps').length"));
  EXPECT_EQ(0, browser.number("document.querySelectorAll('.trouble').length")) << "no rung is refused";
  EXPECT_EQ("", browser.text(trouble_of_climb));
  EXPECT_GE(rungs, browser.number("document.querySelectorAll('#roofline .point').length"));
  EXPECT_EQ(rungs, browser.number("document.querySelectorAll('#run tbody tr').length"));

  // Compares every rung at every step. The last step is the text of the page without a script.
  EXPECT_EQ("", browser.text(R"js((() => {
    for (const steps of document.querySelectorAll('.steps')) {
      const slider = steps.querySelector('input[type=range]');
      const text = () => [...steps.querySelectorAll('.program .line')].filter(line => line.tagName !== 'DEL')
        .map(line => line.textContent + '\n').join('');
      const last = text();
      for (let step = 0; step <= Number(slider.max); ++step) {
        slider.value = step;
        slider.dispatchEvent(new Event('input'));
        const open = steps.querySelectorAll('.owed:not([hidden]) li').length;
        const cuda = steps.querySelectorAll('.pane.cuda:not([hidden]) .line').length;
        if (!text().includes('for ')) return 'a step without a program';
        const stale = steps.querySelectorAll('.pane.cuda.stale').length;
        if (cuda === 0) return `step ${step} shows no kernel`;
        if ((open > 0) !== (stale > 0)) return `step ${step}: ${open} obligations, ${stale} kernels of an earlier step`;
      }
      if (text() !== last) return 'another last step';
    }
    return '';
  })())js"));
  expect_clean(browser);
}
INSTANTIATE_TEST_SUITE_P(Pages, Tutorials,
                         testing::Values("ladder", "deep_dive", "transposed", "tiling", "tvm_steps",
                                         "principles", "gemm", "worklog", "tensor", "fast", "hopper"));

TEST_F(InBrowser, TheSliderShowsTheProgramAfterEachDirective) {
  Browser browser(page("deep_dive/shared --shape 64x64x64"));
  request_links(browser);
  std::int64_t last =
      browser.number(fmt::format("Number({}.querySelector('input[type=range]').max)", first_rung));
  browser.evaluate(fmt::format("{}.querySelector('input[type=range]').focus()", first_rung));
  for (std::int64_t step = last; step >= 0; --step) {
    EXPECT_EQ(step,
              browser.number(fmt::format("Number({}.querySelector('input[type=range]').value)", first_rung)));
    Ran ran = test::nestsmith(fmt::format("show deep_dive/shared --shape 64x64x64 --json --step {}", step));
    EXPECT_EQ(shown(browser, "program") + "\n", test::parsed(ran).getAsObject()->getString("program")->str());
    browser.press("ArrowLeft");
  }
  EXPECT_EQ(browser.text(fmt::format("{}.querySelector('.directive').textContent", first_rung)),
            fmt::format("0 / {} the computation, without directives", last));
  browser.press("End");
  EXPECT_EQ(shown(browser, "kernels") + "\n",
            test::parsed(test::nestsmith("show deep_dive/shared --shape 64x64x64 --lowered --json"))
                .getAsObject()
                ->getString("kernel")
                ->str());
  expect_clean(browser);
}

TEST_F(InBrowser, ButtonsAndTheListOfDirectivesMoveTheSlider) {
  Browser browser(page("deep_dive/coalesced --shape 64x64x64"));
  auto value = [&] {
    return browser.number(fmt::format("Number({}.querySelector('input[type=range]').value)", first_rung));
  };
  std::int64_t last = value();
  EXPECT_TRUE(browser.holds("document.querySelector('.next').disabled"));
  browser.click(".previous");
  EXPECT_EQ(value(), last - 1);
  EXPECT_FALSE(browser.holds("document.querySelector('.next').disabled"));
  browser.click(".steps details summary");
  browser.click(".directives li:nth-child(2) .jump");
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(browser.text("document.querySelector('[aria-current=step] code').textContent"),
            browser.text("document.querySelector('.directive code').textContent"));
  EXPECT_EQ(browser.text("document.querySelector('.directive').getAttribute('aria-live')"), "polite");
  auto visible = [&](const char *pane) {
    return browser.holds(fmt::format("document.querySelector('.pane.{}').checkVisibility()", pane));
  };
  browser.evaluate(fmt::format("{}.querySelector('input[type=range]').focus()", first_rung));
  browser.press("End");
  EXPECT_TRUE(visible("cuda") && !visible("kernels"));
  browser.click(".show-kernel");
  EXPECT_TRUE(!visible("cuda") && visible("kernels"));
  expect_clean(browser);
}

/// While there are obligations, the page shows them beside the last kernel, and says of which step it is.
TEST_F(InBrowser, OpenObligationsStandBesideTheLastKernel) {
  Browser browser(page("deep_dive/shared --shape 64x64x64"));
  EXPECT_EQ(browser.text(R"js((() => {
    const steps = document.querySelector('.steps'), slider = steps.querySelector('input[type=range]');
    const text = () => [...steps.querySelectorAll('.cuda .line')].map((line) => line.textContent).join('\n');
    let open = 0, last = '', from = -1;
    for (let step = 0; step <= Number(slider.max); ++step) {
      slider.value = step;
      slider.dispatchEvent(new Event('input'));
      const owed = steps.querySelector('.owed'), cuda = steps.querySelector('.pane.cuda');
      if (cuda.hidden) return `step ${step} has no kernel`;
      if (owed.hidden === cuda.classList.contains('stale')) return `step ${step} does not mark its kernel`;
      if (!owed.hidden && !owed.querySelector('li')?.textContent.includes(' ')) return 'no obligation';
      if (!owed.hidden && text() !== last) return `step ${step} shows another kernel than the last one`;
      if (!owed.hidden && !cuda.querySelector('figcaption').textContent.includes(`after step ${from},`))
        return `step ${step} does not name step ${from}`;
      if (owed.hidden) [last, from] = [text(), step];
      open += owed.hidden ? 0 : 1;
    }
    return open > 0 ? 'good' : 'nothing was open';
  })())js"),
            "good");
  expect_clean(browser);
}

/// A step has an address, which opens it; the slider changes the address.
TEST_F(InBrowser, AStepHasAnAddress) {
  std::string path = page("deep_dive/naive deep_dive/shared --shape 64x64x64");
  Browser browser(path + "#deep_dive/shared/step9", {.height = 700});
  EXPECT_EQ(browser.text("document.querySelector('#rung-2 .directive .count').textContent").substr(0, 4),
            "9 / ");
  EXPECT_TRUE(
      browser.holds("Math.abs(document.querySelector('#rung-2 .steps').getBoundingClientRect().top) < 100"));
  browser.evaluate(
      "document.querySelector('#rung-2 .next').click(); new Promise((done) => setTimeout(done, 500))");
  EXPECT_EQ(browser.text("location.hash"), "#deep_dive/shared/step10");
  EXPECT_EQ(browser.text("document.querySelector('#rung-2 .count').getAttribute('href')"),
            "#deep_dive/shared/step10");
  browser.evaluate(
      "new Promise((done) => { addEventListener('hashchange', () => setTimeout(done, 50)); location.hash = "
      "'#deep_dive/naive/step1'; })");
  EXPECT_EQ(browser.text("document.querySelector('#rung-1 .count').textContent").substr(0, 4), "1 / ");
  for (const char *hash : {"#deep_dive/naive", "#deep_dive/shared"})
    EXPECT_TRUE(browser.holds(fmt::format(
        "document.getElementById('{0}'.slice(1)).closest('section') !== null && "
        "[...document.querySelectorAll('nav a')].some((link) => link.getAttribute('href') === '{0}')",
        hash)));
  expect_clean(browser);
}

/// The changed lines of a step are in the visible part of their texts.
TEST_F(InBrowser, TheChangedLineIsScrolledIntoView) {
  Browser browser(page("tensor/shared --shape 64x64x64"), {.height = 600});
  EXPECT_EQ(browser.text(R"js((() => {
    const steps = document.querySelector('.steps'), slider = steps.querySelector('input[type=range]');
    let scrolled = 0;
    for (let step = 1; step <= Number(slider.max); ++step) {
      slider.value = step;
      slider.dispatchEvent(new Event('input'));
      for (const pre of steps.querySelectorAll('.pane:not([hidden]) pre')) {
        const changed = [...pre.querySelectorAll('ins, del')].find((it) => !it.closest('[hidden]'));
        if (!changed) continue;
        const line = changed.getBoundingClientRect(), box = pre.getBoundingClientRect();
        if (line.top < box.top - 1 || line.bottom > box.bottom + 1) return `step ${step} hides its change`;
        scrolled += pre.scrollTop > 0 ? 1 : 0;
      }
    }
    return scrolled > 0 ? 'good' : 'nothing scrolled';
  })())js"),
            "good");
  expect_clean(browser);
}

/// Each line of the last kernel with an access has its cost, and no other line has one.
TEST_F(InBrowser, CostsStandAtTheLinesThatCauseThem) {
  Browser browser(page("deep_dive/naive deep_dive/shared --shape 64x64x64"));
  request_links(browser);
  EXPECT_EQ(browser.text(R"js((() => {
    for (const section of document.querySelectorAll('section[id^=rung-]')) {
      const lines = [...section.querySelectorAll('.cuda .line')];
      const priced = lines.flatMap((line, n) => line.dataset.cost ? [n + 1] : []).join(' ');
      const known = [...new Set([...section.querySelectorAll('.of-line')].map((it) => Number(it.dataset.line)))];
      if (priced !== known.sort((a, b) => a - b).join(' ')) return `costs at ${priced}, accesses at ${known}`;
    }
    return 'good';
  })())js"),
            "good");
  // 64 x 64 x 64: 128 warps make 64 requests each; a warp of `naive` reads 32 rows of A, and one element of B.
  EXPECT_EQ(
      browser.text("[...document.querySelectorAll('#rung-1 .cuda [data-cost]')].map((it) => it.dataset.cost)"
                   ".find((cost) => cost.includes('+'))"),
      "8192×(32+1) sec");
  browser.evaluate("document.querySelector('.cuda [data-cost]').click()");
  EXPECT_THAT(browser.text("document.querySelector('.linked-lines').textContent"), HasSubstr(" sec"));
  browser.evaluate("document.querySelector('.previous').click()");
  EXPECT_EQ(browser.number("document.querySelectorAll('#rung-1 [data-cost]').length"), 0)
      << "only the last kernel was analysed";
  expect_clean(browser);
}

/// The functions that a text declares before its kernel are folded.
TEST_F(InBrowser, HelperFunctionsAreFolded) {
  Browser browser(page("tensor/swizzled --shape 64x64x64"));
  request_links(browser);
  const char *visible = "[...document.querySelectorAll('.cuda .line')].filter((it) => it.checkVisibility() && "
                        "it.textContent.includes('__device__')).length";
  EXPECT_GT(browser.number("[...document.querySelectorAll('.cuda .line')].filter((it) => "
                           "it.textContent.includes('__device__')).length"),
            0);
  EXPECT_EQ(browser.number(visible), 0);
  EXPECT_TRUE(
      browser.holds("[...document.querySelectorAll('.cuda .line')].some((it) => it.checkVisibility() && "
                    "it.textContent.includes('__global__'))"));
  browser.click(".fold");
  EXPECT_GT(browser.number(visible), 0);
  EXPECT_EQ(browser.text("document.querySelector('.fold').getAttribute('aria-expanded')"), "true");
  expect_clean(browser);
}

/// On a phone, the slider stays on the screen while the code is read, and what can be touched has 24 pixels.
TEST_F(InBrowser, FitsAPhone) {
  Browser browser(page("deep_dive --shape 64x64x64"), {.width = 390, .height = 844});
  request_links(browser);
  for (const char *pane : {".program", ".cuda"})
    EXPECT_TRUE(browser.holds(fmt::format(R"js((() => {{
      const section = document.getElementById('rung-3'), pane = section.querySelector('.pane{}');
      pane.scrollIntoView({{ block: 'center' }});
      const slider = section.querySelector('input[type=range]').getBoundingClientRect();
      const code = pane.querySelector('pre').getBoundingClientRect();
      return slider.top >= 0 && slider.bottom < 300 && code.bottom - Math.max(code.top, slider.bottom) > 120;
    }})())js",
                                          pane)))
        << pane;
  EXPECT_EQ(browser.text(R"js((() => {
    for (const it of document.querySelectorAll('a, button, summary, input[type=range], label')) {
      const box = it.getBoundingClientRect();
      if (it.checkVisibility() && !it.classList.contains('skip') && (box.height < 23.9 || box.width < 23.9))
        return `${it.outerHTML.slice(0, 80)}: ${box.width} x ${box.height}`;
    }
    return 'good';
  })())js"),
            "good");
  // The observers of sizes run after the next frame.
  browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  EXPECT_EQ(browser.text(R"js((() => {
    for (const wide of document.querySelectorAll('.wide')) {
      const scrolls = wide.scrollWidth > wide.clientWidth + 1;
      if (wide.checkVisibility() && scrolls !== wide.classList.contains('scrolls')) return wide.outerHTML.slice(0, 80);
      if (wide.dataset.hint !== 'This table scrolls sideways.') return 'no hint';
    }
    return document.querySelector('.wide.scrolls') ? 'good' : 'nothing scrolls';
  })())js"),
            "good");
  expect_clean(browser);
}

TEST_F(InBrowser, ALineOfCudaIsLinkedToTheProgramAndBack) {
  Browser browser(page("deep_dive/shared --shape 64x64x64"));
  request_links(browser);
  auto number = [&](const std::string &pane, const std::string &part) {
    std::int64_t found = browser.number(fmt::format(
        "1 + [...document.querySelectorAll('.{} .line')].findIndex(line => line.textContent.includes('{}'))",
        pane, part));
    EXPECT_GT(found, 0) << pane << ": " << part;
    return fmt::format(".{} .line:nth-child({})", pane, found);
  };
  auto linked = [&](const std::string &pane) {
    return browser.text(fmt::format(
        "[...document.querySelectorAll('.{} .linked')].map(line => line.textContent.trim()).join('\\n')",
        pane));
  };
  browser.hover(number("cuda", "A_shared["));
  browser.hover(number("cuda", "for (int k_outer"));
  EXPECT_THAT(linked("program"), testing::MatchesRegex("for k_outer < 2[^\n]*"));
  EXPECT_THAT(browser.text("document.querySelector('.linked-lines').textContent"),
              testing::HasSubstr("Program"));
  browser.hover(number("program", "block A_shared"));
  EXPECT_THAT(linked("cuda"), testing::HasSubstr("A_shared[tid] = A["));
  EXPECT_THAT(linked("cuda"), testing::Not(testing::HasSubstr("B_shared[tid] = B[")));

  // With the keyboard, arrows move from line to line.
  browser.evaluate("document.querySelector('.program pre').focus()");
  browser.press("ArrowDown");
  std::string before = browser.text("document.querySelector('.program .current').textContent");
  browser.press("ArrowDown");
  EXPECT_NE(before, browser.text("document.querySelector('.program .current').textContent"));
  expect_clean(browser);
}

/// A click on a line scrolls the other text to the first linked line, and scrolls nothing else.
TEST_F(InBrowser, AClickScrollsToTheLinkedLine) {
  Browser browser(page("tensor/shared --shape 64x64x64"), {.height = 500});
  request_links(browser);
  browser.evaluate(
      "document.querySelector('.panes').scrollIntoView(); document.querySelector('.cuda pre').scrollTop = 0");
  std::int64_t place = browser.number("Math.round(window.scrollY)");
  browser.evaluate("[...document.querySelectorAll('.program .line')].find((it) => "
                   "it.textContent.includes('block C(')).click()");
  EXPECT_EQ(browser.text(R"js((() => {
    const pane = document.querySelector('.cuda pre'), line = document.querySelector('.cuda .linked');
    const box = pane.getBoundingClientRect(), of_line = line.getBoundingClientRect();
    return of_line.top >= box.top && of_line.bottom <= box.bottom && pane.scrollTop > 0 ? 'visible' : 'hidden';
  })())js"),
            "visible");
  EXPECT_EQ(place, browser.number("Math.round(window.scrollY)"));
  expect_clean(browser);
}

TEST_F(InBrowser, ARungIsDrawnWhenItComesNearTheScreen) {
  Browser browser(page("deep_dive --shape 64x64x64"));
  auto drawn = [&] { return browser.number("document.querySelectorAll('#rung-4 .pane .line').length"); };
  EXPECT_EQ(drawn(), 0);
  browser.evaluate(
      "document.getElementById('rung-4').scrollIntoView(); new Promise((done) => setTimeout(done, 300))");
  EXPECT_GT(drawn(), 0);
  expect_clean(browser);
}

TEST_F(InBrowser, WithoutAScriptThePageShowsTheLastStep) {
  std::string path = page("deep_dive/shared --shape 64x64x64");
  Browser plain(path, {.script = false}), live(path);
  request_links(live);
  EXPECT_TRUE(plain.holds("document.querySelector('.controls').hidden"));
  EXPECT_EQ(plain.text("document.querySelector('.program code').textContent"), shown(live, "program") + "\n");
  EXPECT_EQ(plain.text("document.querySelector('.cuda code').textContent"), shown(live, "cuda") + "\n");
  EXPECT_TRUE(plain.holds("document.querySelector('.kernels').checkVisibility()"));
}

/// Ten times the lowest contrast between a text and its background, as defined by WCAG.
constexpr const char *least_contrast = R"js(Math.round(10 * (() => {
      const rgb = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number).map((c) => {
        c /= 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
      });
      const light = (colour) => { const [r, g, b] = rgb(colour); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const paper = (it) => {
        const colour = getComputedStyle(it).backgroundColor;
        return colour !== 'rgba(0, 0, 0, 0)' ? colour : it.parentElement ? paper(it.parentElement) : 'rgb(255, 255, 255)';
      };
      let least = 21;
      for (const it of document.querySelectorAll('h1, p, a, dt, dd, td, li, .line, .keyword, .hardware, .comment, .verdict'))
        if (it.textContent.trim() && it.checkVisibility()) {
          const [a, b] = [light(getComputedStyle(it).color), light(paper(it))].sort((x, y) => y - x);
          least = Math.min(least, (a + 0.05) / (b + 0.05));
        }
      return least;
    })()))js";

/// Tests each width, print, and both colour schemes.
TEST_F(InBrowser, FitsEveryScreen) {
  std::string path = page("deep_dive --shape 64x64x64");
  for (Screen screen : {Screen{.width = 360, .height = 740}, Screen{.width = 360, .height = 740, .dark = true},
                        Screen{.width = 1400}, Screen{.width = 1600}, Screen{.width = 1600, .dark = true},
                        Screen{.width = 720, .print = true}}) {
    Browser browser(path, screen);
    request_links(browser);
    EXPECT_LE(browser.number("document.documentElement.scrollWidth"), screen.width)
        << "only tables and code scroll";
    EXPECT_GE(browser.number(least_contrast), 45) << "a contrast of 4.5";
    EXPECT_NE(screen.print, browser.holds("document.querySelector('.controls').checkVisibility()"));
    expect_clean(browser);
  }
}

TEST_F(InBrowser, ALadderPrintsOn30Pages) {
  Browser browser(page("ladder --shape 64x64x64"));
  std::size_t opened = browser.printed_pages();
  EXPECT_GT(opened, 5U);
  EXPECT_LE(opened, 30U);
  request_links(browser);
  EXPECT_LE(browser.printed_pages(), 30U) << "after a reader has seen every rung";
  EXPECT_TRUE(browser.holds("document.querySelector('.controls').checkVisibility()")) << "it is a screen again";
}

TEST_F(InBrowser, MistakesAndFiguresFitAPhone) {
  using cli::report::Language;
  const cli::report::Findings found = cli::report::findings();
  for (const std::string &text : {write_mistakes(found, Language::en), write_figures(found, Language::ko)}) {
    std::string path = (folder_ / "found.html").string();
    test::write_file(path, text);
    Browser browser(path, {.width = 360, .height = 800});
    EXPECT_TRUE(browser.holds("document.documentElement.scrollWidth <= innerWidth"));
    EXPECT_GE(browser.number("document.querySelectorAll('main section').length"), 3);
    EXPECT_EQ(0, browser.number("[...document.querySelectorAll('nav a[href^=\"#\"]')].filter(link => "
                                "!document.getElementById(link.hash.slice(1))).length"));
    expect_clean(browser);
  }
}

/// Tests landmarks, the order of headings, the names of controls and of pictures, and that no name is used
/// twice.
TEST_F(InBrowser, IsReadByAScreenReader) {
  Browser browser(page("deep_dive --shape 64x64x64 --lang ko"));
  EXPECT_EQ(browser.text("document.documentElement.lang"), "ko");
  EXPECT_EQ(browser.text(R"js((() => {
    for (const tag of ['header', 'nav', 'main', 'footer', 'h1'])
      if (document.querySelectorAll('body ' + tag).length !== 1) return `one ${tag} is expected`;
    let level = 1;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
      const next = Number(heading.tagName[1]);
      if (next > level + 1) return `the heading ${heading.textContent} skips a level`;
      level = next;
    }
    const ids = [...document.querySelectorAll('[id]')].map((it) => it.id);
    if (new Set(ids).size !== ids.length) return 'an identifier is used twice';
    for (const control of document.querySelectorAll('input'))
      if (control.labels.length === 0) return 'a control has no label';
    for (const picture of document.querySelectorAll('svg[role=img]'))
      if (!picture.querySelector('title')?.textContent) return 'a picture has no title';
    for (const link of document.querySelectorAll('a[href^="#"]'))
      if (!document.getElementById(link.getAttribute('href').slice(1).replace(/\/step\d+$/, ''))) return `${link.href} leads nowhere`;
    return 'good';
  })())js"),
            "good");
  expect_clean(browser);
}

/// The name of a user's rung must be shown as text in every place.
TEST_F(InBrowser, NamesOfAUserAreNoMarkup) {
  std::string path = (folder_ / "page.html").string(), hostile = "</script><img src=x onerror=alert(1)>\"'&";
  std::vector<Rung> rungs = {{hostile, hostile, hostile, test::axpy, {128}, {1000}, {1000}}};
  test::Called called = test::call_main({"report", "-o", path, "--device", "sim"}, rungs,
                                        {{hostile, hostile, hostile, hostile, hostile}});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(test::read_file(path).find("<img"), std::string::npos);
  Browser browser(path);
  EXPECT_EQ(browser.text("document.querySelector('h1').textContent"), hostile);
  EXPECT_TRUE(
      browser.holds("document.querySelector('#rung-1-heading').textContent.includes('onerror=alert(1)')"));
  EXPECT_EQ(browser.number("document.querySelectorAll('img').length"), 0);
  expect_clean(browser);
}

/// The last directive is refused. The steps before it must be shown as for any rung.
TEST_F(InBrowser, TheSliderEndsWithTheRefusedDirective) {
  auto refused = [](const Shape &shape, DType dtype, const Target &target) {
    Schedule s = test::axpy(shape, dtype, target);
    s.bind(s.loop("i_inner"), Axis::thread_x);
    return s;
  };
  std::string path = (folder_ / "page.html").string();
  test::Called called = test::call_main({"report", "-o", path, "--device", "sim"},
                                        {{"", "axpy", "", refused, {128}, {1000}, {1000}}});
  EXPECT_EQ(called.code, 3) << called.err;
  for (bool script : {false, true}) {
    Browser browser(path, {.script = script});
    if (script)
      request_links(browser);
    EXPECT_EQ(browser.text("document.querySelector('.directive').textContent"),
              "4 / 4 s.bind(i_inner, Axis::thread_x); Refused");
    EXPECT_THAT(browser.text("document.querySelector('.owed').textContent"),
                HasSubstr("the loop i_inner is bound to threadIdx.x, expected a serial loop"));
    EXPECT_THAT(browser.text("document.querySelector('.program code').textContent"),
                HasSubstr("    for i_inner < 128 in threadIdx.x:\n    ^^^^^^"));
    EXPECT_THAT(browser.text("document.querySelector('.cuda.stale figcaption').textContent"),
                HasSubstr("CUDA C, after step 3,"));
    expect_clean(browser);
  }
  Browser browser(path);
  request_links(browser);
  EXPECT_EQ(browser.number("document.querySelectorAll('.culprit').length"), 1);
  EXPECT_EQ(browser.number("document.querySelectorAll('ins, del').length"), 0)
      << "the program and the kernel are those of step 3";
  browser.evaluate(fmt::format("{}.querySelector('input[type=range]').focus()", first_rung));
  browser.press("ArrowLeft");
  EXPECT_EQ(browser.text("document.querySelector('.directive').textContent"),
            "3 / 4 s.bind(i_inner, Axis::thread_x);");
  EXPECT_TRUE(browser.holds("document.querySelector('.owed').hidden"));
  EXPECT_TRUE(browser.holds("document.querySelector('.cuda').checkVisibility()"));
  EXPECT_EQ(browser.number("document.querySelectorAll('.culprit').length"), 0);
  expect_clean(browser);
}

/// A wrong handle is refused before a directive is recorded.
TEST_F(InBrowser, ALoopThatDoesNotExistIsTheLastStep) {
  auto lost = [](const Shape &shape, DType dtype, const Target &target) {
    Schedule s = test::axpy(shape, dtype, target);
    s.loop("j");
    return s;
  };
  std::string path = (folder_ / "page.html").string();
  EXPECT_EQ(test::call_main({"report", "-o", path, "--device", "sim"},
                            {{"", "axpy", "", lost, {128}, {1000}, {1000}}})
                .code,
            3);
  Browser browser(path);
  request_links(browser);
  EXPECT_EQ(browser.text("document.querySelector('.directive').textContent"), "4 / 4  Refused");
  EXPECT_THAT(browser.text("document.querySelector('.owed').textContent"), HasSubstr("there is no loop 'j'"));
  EXPECT_THAT(shown(browser, "program"), HasSubstr("for i_outer < 8 in blockIdx.x:"));
  expect_clean(browser);
}

/// For developers: NESTSMITH_SCREENSHOTS=FOLDER writes the pictures to this folder, and
/// NESTSMITH_PAGE=FILE.html#rung-2 selects a page and a place in it.
TEST_F(InBrowser, TakesPicturesForTheDeveloper) {
  std::string path = page("deep_dive/naive deep_dive/coalesced --shape 64x64x64");
  const char *folder = std::getenv("NESTSMITH_SCREENSHOTS");
  const char *given = std::getenv("NESTSMITH_PAGE");
  for (int width : {360, 1600})
    for (bool dark : {false, true}) {
      Browser browser(given ? given : path, {.width = width, .height = 1600, .dark = dark});
      std::string picture =
          fmt::format("{}/page_{}_{}.png", folder ? folder : folder_.string(), width, dark ? "dark" : "light");
      browser.screenshot(picture);
      EXPECT_TRUE(test::read_file(picture).starts_with("\x89PNG"));
    }
}

} // namespace
} // namespace nestsmith
