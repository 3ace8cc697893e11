"use strict";
// The pictures of data: who owns an element, and the request of an access. tools/pages/pictures.h writes the page, which
// already shows the elements of thread 0.
(() => {
  const data = (id) => JSON.parse(document.getElementById(id).textContent);
  const labels = data("picture-labels");
  const lanesPerWarp = 32;

  const element = (tag, css, text) => {
    const made = document.createElement(tag);
    if (css) made.className = css;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const drawn = (tag, attributes) => {
    const made = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  // The values that `packed` of tools/pages/ownership.h stores; -1 is nobody.
  function unpack(packed) {
    const values = [];
    for (let n = 0; n < packed.rows.length; n += 2) {
      const shape = packed.shapes[packed.rows[n]], first = packed.rows[n + 1];
      for (let run = 0; run < shape.length; run += 2)
        for (let count = 0; count < shape[run + 1]; ++count) values.push(shape[run] === null ? -1 : first + shape[run]);
    }
    return values;
  }

  // Calls `move(by)` for the arrow keys, with the change of the row and of the column.
  function arrows(box, move) {
    box.tabIndex = 0;
    box.addEventListener("keydown", (event) => {
      const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!by) return;
      event.preventDefault();
      move(by);
    });
  }
  const within = (value, extent) => Math.min(Math.max(value, 0), extent - 1);

  // A grid of elements in an SVG. `select` is called for the element under the mouse, and for that of the keyboard.
  function Cells(box, rows, columns, owners, replicas, select) {
    const svg = box.querySelector("svg"), owned = svg.querySelector(".owned");
    const wide = svg.viewBox.baseVal.width / columns, tall = svg.viewBox.baseVal.height / rows; // of an element
    const cursor = drawn("rect", { class: "cursor", width: wide, height: tall });
    svg.append(cursor);
    let at = [0, 0];
    const go = (row, column) => {
      at = [row, column];
      select(row * columns + column);
    };
    const point = (event) => {
      const place = svg.getBoundingClientRect();
      go(within(Math.floor((event.clientY - place.top) / place.height * rows), rows),
        within(Math.floor((event.clientX - place.left) / place.width * columns), columns));
    };
    box.setAttribute("role", "application");
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    box.addEventListener("focus", () => { if (box.matches(":focus-visible")) go(...at); });
    arrows(box, ([down, right]) => {
      go(within(at[0] + down, rows), within(at[1] + right, columns));
      cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    return {
      // Marks the elements of an owner, and returns their number.
      mark(owner) {
        const holds = (n) => owners[n] === owner ||
          (owners[n] >= 0 && replicas.some((distance) => owners[n] + distance === owner));
        let path = "", count = 0;
        for (let n = 0; n < owners.length;) {
          let end = n + 1;
          if (holds(n)) {
            while (end < owners.length && end % columns !== 0 && holds(end)) ++end;
            path += `M${wide * (n % columns)} ${tall * Math.floor(n / columns)}h${wide * (end - n)}v${tall}h${wide * (n - end)}z`;
            count += end - n;
          }
          n = end;
        }
        owned.setAttribute("d", path);
        return count;
      },
      // Moves the cursor to an element; null removes it.
      show(element) {
        cursor.setAttribute("visibility", element === null ? "hidden" : "visible");
        if (element === null) return;
        at = [Math.floor(element / columns), element % columns];
        cursor.setAttribute("x", wide * at[1]);
        cursor.setAttribute("y", tall * at[0]);
      },
      write(texts) {
        const size = Math.min(svg.viewBox.baseVal.width / svg.width.baseVal.value * 10, 0.4);
        texts.forEach((text, n) => {
          const made = drawn("text", {
            x: wide * (n % columns + 0.5), y: tall * (Math.floor(n / columns) + 0.5), dy: "0.35em", "text-anchor": "middle",
            "font-size": size, class: "spot"
          });
          made.textContent = text;
          svg.insertBefore(made, cursor);
        });
      },
    };
  }

  function Ownership(root, { threads, shape, grids }) {
    const line = root.querySelector(".owner-line");
    const boxes = [...root.querySelectorAll(".cells")];
    const all = [{ name: "", rows: Math.ceil(threads / lanesPerWarp), columns: Math.min(threads, lanesPerWarp),
      first: [0, 0], owners: [...Array(threads).keys()] },
    ...grids.map((grid) => ({ ...grid, owners: unpack(grid.owners), registers: grid.registers && unpack(grid.registers) }))];
    // "C[3, 17]": an element of a parameter; or the row and the column of another grid.
    const nameOf = (grid, element) => {
      let row = Math.floor(element / grid.columns) + grid.first[0], column = element % grid.columns + grid.first[1];
      if (grid.folded) [row, column] = [grid.first[0], grid.first[1] + element];
      const indices = [column];
      for (const extent of (grid.extents || [0, 0]).slice(1, -1).reverse()) {
        indices.unshift(row % extent);
        row = Math.floor(row / extent);
      }
      if (!grid.extents || grid.extents.length > 1) indices.unshift(row);
      return `${grid.name}[${indices.join(", ")}]`;
    };
    const describe = (thread) => {
      const warp = Math.floor(thread / lanesPerWarp), lane = thread % lanesPerWarp;
      const index = [thread % shape[0], Math.floor(thread / shape[0]) % shape[1], Math.floor(thread / shape[0] / shape[1])];
      const place = shape[1] * shape[2] === 1 ? "" : ` (${index.slice(0, shape[2] === 1 ? 2 : 3).join(", ")})`;
      return `${labels.thread} ${thread}${place}, ${labels.warp} ${warp}, ${labels.lane} ${lane}`;
    };

    function select(which, element) {
      const grid = all[which], owner = grid.owners[element];
      all.forEach((it, n) => it.cells.show(n === which ? element : null));
      if (owner === undefined) return;
      if (owner < 0) {
        line.textContent = `${nameOf(grid, element)}: ${labels.nobody}`;
        return;
      }
      const counts = [];
      for (const it of all) {
        const count = it.cells.mark(it.registers ? owner % lanesPerWarp : grid.registers ? -2 : owner);
        if (it.name && count > 0) counts.push(`${it.name}: ${count}${it.part ? "+" : ""}`);
      }
      const copies = (grid.replicas || []).map((distance) => owner + distance);
      const others = copies.length > 1 && copies[1] === copies[0] + 1 ? `${copies[0]}–${copies.at(-1)}` : copies.join(", ");
      const who = grid.registers
        ? `${labels.lane} ${owner}, ${labels.register} ${grid.registers[element]}` +
          (copies.length > 0 ? ` (${labels.also_lanes.replace("{}", others)})` : "") : describe(owner);
      line.textContent = `${grid.name ? nameOf(grid, element) + ": " : ""}${who}; ${labels.elements}: ${counts.join(", ")}`;
    }
    all.forEach((grid, which) => {
      grid.cells = Cells(boxes[which], grid.rows, grid.columns, grid.owners, grid.replicas || [],
        (element) => select(which, element));
      if (grid.registers && grid.owners.length <= 256)
        grid.cells.write(grid.owners.map((lane, n) => `${lane}:${grid.registers[n]}`));
      grid.cells.show(null);
    });
  }

  // The lanes of a request with the first byte that each accesses.
  function lanesOf(access) {
    const addresses = [access.addresses[0]];
    for (let n = 1; n < access.addresses.length; n += 2)
      for (let count = 0; count < access.addresses[n + 1]; ++count) addresses.push(addresses.at(-1) + access.addresses[n]);
    return addresses.map((byte, lane) => ({ lane, byte })).filter(({ lane }) => access.mask >>> lane & 1);
  }

  // The words of 4 bytes that a lane accesses.
  function wordsOf(byte, bytes) {
    const words = [];
    for (let word = Math.floor(byte / 4); word * 4 < byte + bytes; ++word) words.push(word);
    return words;
  }

  // Rows of 32 cells: a wavefront with its banks. A cell has the word and its lanes.
  function bankRows(access) {
    const rows = [];
    for (let first = 0; first < lanesPerWarp; first += access.each) {
      const part = [];
      for (const { lane, byte } of lanesOf(access).filter((it) => it.lane >= first && it.lane < first + access.each))
        for (const word of wordsOf(byte, access.bytes)) {
          const bank = word % 32;
          let wave = part.findIndex((row) => row[bank] === undefined || row[bank].word === word);
          if (wave < 0) wave = part.push(Array(32)) - 1;
          part[wave][bank] = part[wave][bank] || { word, lanes: [] };
          if (!part[wave][bank].lanes.includes(lane)) part[wave][bank].lanes.push(lane);
        }
      part.forEach((cells, wave) => rows.push({
        cells, conflict: wave > 0,
        title: (access.each < 32 ? `${labels.lanes} ${first}–${first + access.each - 1}, ` : "") + `${labels.wavefront} ${wave + 1}`,
      }));
    }
    return rows;
  }

  // The same for global memory: a line of 128 bytes with its words.
  function sectorRows(access) {
    const lines = new Map();
    for (const { lane, byte } of lanesOf(access))
      for (const word of wordsOf(byte, access.bytes)) {
        const line = Math.floor(word / 32);
        if (!lines.has(line)) lines.set(line, Array(32));
        const cells = lines.get(line);
        cells[word % 32] = cells[word % 32] || { word, lanes: [] };
        if (!cells[word % 32].lanes.includes(lane)) cells[word % 32].lanes.push(lane);
      }
    return [...lines].sort(([a], [b]) => a - b).map(([line, cells]) => {
      for (let n = 0; n < 32; ++n) // a sector of 8 words moves as a whole
        if (!cells[n] && cells.slice(n - n % 8, n - n % 8 + 8).some((it) => it && it.lanes.length > 0))
          cells[n] = { word: line * 32 + n, lanes: [] };
      return { cells, conflict: false, title: `${labels.byte} ${line * 128}` };
    });
  }

  function drawAccess(root, access, name) {
    const shared = access.each > 0, rows = shared ? bankRows(access) : sectorRows(access);
    const status = root.querySelector(".access-line");
    const table = element("table", shared ? "banks" : "sectors");
    const head = element("tr");
    head.append(element("th", "", shared ? labels.bank : ""));
    for (let n = 0; n < 32; ++n) head.append(element("th", "", String(n)));
    table.append(element("thead"), element("tbody"));
    table.tHead.append(head);
    const cells = rows.map((row) => {
      const line = element("tr", row.conflict ? "conflict" : "");
      const title = element("th", "", (row.conflict ? "✗ " : "") + row.title);
      title.scope = "row";
      if (row.conflict) title.title = labels.conflict;
      line.append(title);
      table.tBodies[0].append(line);
      return Array.from({ length: 32 }, (_, n) => {
        const it = row.cells[n], lanes = it ? it.lanes : [];
        const made = element("td", !it ? "" : lanes.length === 0 ? "unused" : lanes.length > 1 ? "many" : "one",
          !it ? "" : lanes.length === 0 ? "·" : lanes[0] + (lanes.length > 1 ? "+" : ""));
        line.append(made);
        return made;
      });
    });
    let at = [0, 0];
    const show = (row, column) => {
      cells[at[0]][at[1]].classList.remove("current");
      at = [row, column];
      cells[row][column].classList.add("current");
      const it = rows[row].cells[column];
      const place = `${rows[row].title}, ${shared ? `${labels.bank} ${column}` : ""}`.replace(/, $/, "");
      status.textContent = !it ? place : `${place}, ${labels.byte} ${it.word * 4}–${it.word * 4 + 3}: ` +
        (it.lanes.length > 0 ? `${labels.lanes} ${it.lanes.join(", ")}` : labels.unused) +
        (rows[row].conflict && it.lanes.length > 0 ? ` (${labels.conflict})` : "");
    };
    const scroll = element("div", "wide");
    scroll.setAttribute("role", "application");
    scroll.setAttribute("aria-label", name);
    scroll.append(table);
    arrows(scroll, ([down, right]) => {
      show(within(at[0] + down, rows.length), within(at[1] + right, 32));
      cells[at[0]][at[1]].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    table.addEventListener("pointermove", (event) => {
      cells.forEach((row, n) => { if (row.includes(event.target)) show(n, row.indexOf(event.target)); });
    });
    status.textContent = "";
    root.querySelector(".access-table").replaceChildren(
      element("p", "quiet", name), scroll, element("p", "quiet", shared ? labels.banks_text : labels.sectors_text));
    document.dispatchEvent(new CustomEvent("widetable", { detail: scroll }));
  }

  function Accesses(root, accesses) {
    const items = [...root.querySelectorAll(".access")];
    const buttons = items.map((item, n) => {
      const button = element("button", "jump");
      button.type = "button";
      button.append(...item.querySelector(".pick").childNodes);
      item.querySelector(".pick").append(button);
      button.addEventListener("click", () => select(n));
      return button;
    });
    function select(n) {
      buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === n)));
      const name = `${items[n].value}: ${items[n].querySelector("b").textContent}; ${items[n].querySelector(".cost").textContent}`;
      drawAccess(root, accesses[n], name);
    }
    // At first, the one with the most wavefronts or sectors.
    const costs = accesses.map((access) => access.each > 0 ? bankRows(access).length * 8
      : new Set(lanesOf(access).flatMap(({ byte }) => wordsOf(byte, access.bytes)).map((word) => word >> 3)).size);
    if (costs.length === 0) return;
    const first = costs.indexOf(Math.max(...costs)), list = root.querySelector(".access-list");
    select(first);
    list.scrollTop += items[first].getBoundingClientRect().top - list.getBoundingClientRect().top;
  }

  // The hazards of a barrier or a wait, and the nests that they are about.
  function Pipeline(root) {
    const status = root.querySelector(".hazard-line");
    const show = (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      root.querySelectorAll(".linked, .current").forEach((it) => it.classList.remove("linked", "current"));
      button.classList.add("current");
      for (const row of button.dataset.rows.split(" ").filter(Boolean))
        root.querySelector(`tr[data-row="${row}"]`).classList.add("linked");
      status.textContent = button.getAttribute("aria-label");
    };
    for (const button of root.querySelectorAll("button")) { // the line below takes the place of the tool tip
      button.setAttribute("aria-label", button.title);
      button.removeAttribute("title");
    }
    for (const kind of ["pointermove", "focusin", "click"]) root.addEventListener(kind, show);
  }

  // A rung is drawn when it is near the screen, or when it is printed.
  const waiting = new Map();
  const draw = (root) => {
    if (waiting.delete(root)) {
      const { owners, accesses } = data(root.dataset.pictures);
      if (root.querySelector(".ownership")) Ownership(root.querySelector(".ownership"), owners);
      root.querySelectorAll(".pipeline").forEach(Pipeline);
      if (root.querySelector(".accesses")) Accesses(root.querySelector(".accesses"), accesses);
    }
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting) {
        observer.unobserve(target);
        draw(target);
      }
  }, { rootMargin: "1000px" });
  for (const root of document.querySelectorAll(".pictures")) {
    waiting.set(root, true);
    observer.observe(root);
    // The line of an access, in the pane of tools/pages/page.js, and from there back to the access.
    root.addEventListener("click", (event) => {
      const line = event.target.closest(".of-line");
      if (!line) return;
      event.preventDefault();
      root.closest("section").querySelector(".steps")
        .dispatchEvent(new CustomEvent("showline", { detail: Number(line.dataset.line) }));
    });
    root.addEventListener("showaccess", (event) => {
      draw(root);
      const button = event.target.closest("li").querySelector("button");
      if (!button) return; // the first warp does not execute it
      button.click();
      button.focus();
    });
  }
  window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(draw));
})();
