// The keys j and k go through the rows of the list, x chooses the row, and one box chooses
// all rows of the page.
(function () {
  "use strict";
  function rows() { return Array.from(document.querySelectorAll("[data-rows] [data-row]")); }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], dialog[open]")) return;
    var all = rows();
    if (!all.length) return;
    var row = document.activeElement && document.activeElement.closest("tr");
    var at = all.findIndex(function (link) { return row && row.contains(link); });
    if (event.key === "j" || event.key === "k") {
      event.preventDefault();
      var next = all[event.key === "j" ? Math.min(at + 1, all.length - 1) : Math.max(at - 1, 0)];
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    } else if (event.key === "x" && at >= 0) {
      var box = row.querySelector("input[type=checkbox]");
      if (box) {
        event.preventDefault();
        box.checked = !box.checked;
      }
    }
  });

  document.addEventListener("change", function (event) {
    if (!event.target.matches("[data-choose-all]")) return;
    document.querySelectorAll("[data-rows] input[type=checkbox]").forEach(function (box) { box.checked = event.target.checked; });
  });
})();
