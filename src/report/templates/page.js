"use strict";
// The page is whole without this: it adds sorting, filtering, and a label at the pointer.
(function () {
  var all = function (selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); };
  var make = function (tag, text) { var made = document.createElement(tag); if (text) { made.textContent = text; } return made; };

  // A number as a reader writes it: 12.3, −4.5 %, 1e-5, "above 10"; text sorts after numbers.
  function value(cell) {
    var text = (cell.getAttribute("data-value") || cell.textContent).trim();
    var found = text.replace(/\u2212/g, "-").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return { number: found && /^[^a-z]*[-+\d]/i.test(text.replace(/\u2212/g, "-")) ? parseFloat(found[0]) : NaN, text: text };
  }

  function sortBy(table, column, down) {
    var rows = [];
    var bodies = all("tbody", table);
    bodies.forEach(function (body) { rows = rows.concat(all(":scope > tr", body)); });
    var keyed = rows.map(function (row, place) { return { row: row, place: place, key: value(row.cells[Math.min(column, row.cells.length - 1)]) }; });
    keyed.sort(function (a, b) {
      var x = a.key.number, y = b.key.number, order;
      if (isNaN(x) !== isNaN(y)) { return isNaN(x) ? 1 : -1; }
      order = isNaN(x) ? a.key.text.localeCompare(b.key.text, undefined, { numeric: true }) : x - y;
      return (down ? -order : order) || a.place - b.place;
    });
    keyed.forEach(function (entry) { bodies[0].appendChild(entry.row); });
  }

  all("table.sortable").forEach(function (table) {
    all("thead th", table).forEach(function (head, column) {
      if (head.classList.contains("fixed")) { return; }
      var button = make("button");
      button.type = "button";
      while (head.firstChild) { button.appendChild(head.firstChild); }
      head.appendChild(button);
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        all("th[aria-sort]", table).forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sortBy(table, column, down);
      });
    });
  });

  // One filter for all tables of cells and runs: words in the row, and the outcome that a bar was clicked for.
  var field = make("input"), status = make("p"), clear = make("button", "Show all"), label = make("label", "Show rows with ");
  var outcome = "";
  field.type = "search";
  field.id = "filter-words";
  label.htmlFor = field.id;
  clear.type = "button";
  status.setAttribute("role", "status");
  function apply() {
    var words = field.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0, total = 0;
    all("[data-row]").forEach(function (row) {
      var told = row.textContent.toLowerCase();
      var fits = words.every(function (word) { return told.indexOf(word) >= 0; }) &&
        (!outcome || row.getAttribute("data-row").split(" ").indexOf(outcome) >= 0);
      row.hidden = !fits;
      // A cell with figures has a row too.
      total += row.tagName === "TR" ? 1 : 0;
      shown += fits && row.tagName === "TR" ? 1 : 0;
    });
    var filtered = words.length || outcome;
    clear.hidden = !filtered;
    status.textContent = filtered ? shown + " of " + total + " rows of cells and runs" + (outcome ? ", only " + outcome.replace("_", " ") : "") : "";
  }
  var bar = document.getElementById("filter");
  if (bar) {
    [label, field, clear, status].forEach(function (part) { bar.appendChild(part); });
    bar.hidden = false;
    field.addEventListener("input", apply);
    clear.addEventListener("click", function () { field.value = ""; outcome = ""; apply(); field.focus(); });
    all("[data-filter]").forEach(function (part) {
      part.addEventListener("click", function () { outcome = part.getAttribute("data-filter"); apply(); });
    });
    apply();
  }

  // What an address names is opened and shown, whatever holds it.
  function follow() {
    var id = location.hash.slice(1), target = null;
    try { target = document.getElementById(id) || document.getElementById(decodeURIComponent(id)); } catch (ignored) { target = document.getElementById(id); }
    if (!target) { return; }
    if (target.hidden) { field.value = ""; outcome = ""; apply(); }
    for (var at = target; at; at = at.parentElement) { if (at.tagName === "DETAILS") { at.open = true; } }
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  follow();

  // The label of a mark, without the wait of the browser's own.
  var tip = make("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.appendChild(tip);
  function near(event) {
    var mark = event.target.closest ? event.target.closest("svg a, svg g") : null;
    var title = mark ? mark.querySelector("title") || mark.titleText : null;
    if (!title) { tip.hidden = true; return; }
    // Taken out, so that the browser's label does not come as well.
    if (title.nodeType) { mark.titleText = title.textContent; title.remove(); }
    tip.textContent = mark.titleText;
    tip.hidden = false;
    var box = mark.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, window.innerWidth - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, box.top - tip.offsetHeight - 6) + "px";
  }
  document.addEventListener("mouseover", near);
  document.addEventListener("focusin", near);
  document.addEventListener("scroll", function () { tip.hidden = true; }, true);
})();
