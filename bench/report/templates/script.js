"use strict";
// Without this script the page lacks only sorting and the choice of theme.
(() => {
  const chooser = document.getElementById("theme");
  const remembered = (value) => {
    // A browser may deny storage to files; then the choice lasts as long as the page.
    try {
      if (value === undefined) return localStorage.getItem("c10k-theme") || "";
      localStorage.setItem("c10k-theme", value);
    } catch { /* no storage */ }
    return value || "";
  };
  const show = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  chooser.value = remembered();
  show(chooser.value);
  chooser.addEventListener("change", () => show(remembered(chooser.value)));
  chooser.closest("label").hidden = false;

  const key = (row, column) => {
    const text = row.cells[column].textContent.trim().replace(/(\d),(?=\d{3})/g, "$1");
    return { text, number: parseFloat(text) };
  };
  const byWords = (one, other, way) => way * one.text.localeCompare(other.text, "en", { numeric: true });
  const byNumber = (one, other, way) => {
    // Cells without a number go last in either order.
    const blank = Number(Number.isNaN(one.number)) - Number(Number.isNaN(other.number));
    return blank || (Number.isNaN(one.number) ? byWords(one, other, 1) : way * (one.number - other.number));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        for (const each of heads) each.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row, column), row]);
        const compare = head.classList.contains("number") ? byNumber : byWords;
        rows.sort(([one], [other]) => compare(one, other, rising ? 1 : -1));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
  // A link into a folded part opens it; browsers differ in whether they do.
  const unfold = () => {
    const aim = document.getElementById(location.hash.slice(1));
    for (let each = aim?.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
    if (aim?.closest("details")) aim.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  // Paper cannot unfold a table.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of folded) each.open = false; });
})();
